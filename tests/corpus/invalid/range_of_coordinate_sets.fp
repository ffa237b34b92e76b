!!ARBfp1.0
# expect 4:18 
TEMP R0, R1;
MOV R0, fragment.texcoord[0..1];
END
