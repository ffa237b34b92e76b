!!ARBfp1.0
# expect 3:7 OUTPUT is a reserved word
PARAM OUTPUT = 1;
END
