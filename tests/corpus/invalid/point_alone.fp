!!ARBfp1.0
# expect 4:9 unexpected '.'
TEMP R0, R1;
MOV R0, .;
END
