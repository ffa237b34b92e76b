!!ARBfp1.0
# expect 5:9 only be written
TEMP R0, R1;
OUTPUT o = result.color;
MOV R0, o;
END
