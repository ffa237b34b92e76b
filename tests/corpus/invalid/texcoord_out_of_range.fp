!!ARBfp1.0
# expect 4:27 texcoord[8] does not exist
TEMP R0;
MOV R0, fragment.texcoord[8];
END
