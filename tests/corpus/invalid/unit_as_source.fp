!!ARBfp1.0
# expect 4:9 texture
TEMP R0, R1;
MOV R0, texture[0];
END
