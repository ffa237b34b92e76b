!!ARBfp1.0
#= TEMP R0;
#= MOV R0, R0.x;
# a comment before everything
TEMP R0; # TEMP R1; END
MOV R0, #, R9;
  # in the middle: @ ? !!ARBfp1.0
R0.x;#
##
END # and after, with no newline