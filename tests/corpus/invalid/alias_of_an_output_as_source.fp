!!ARBfp1.0
# expect 6:9 only be written
TEMP R0, R1;
OUTPUT o = result.color;
ALIAS p = o;
MOV R0, p;
END
