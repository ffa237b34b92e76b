!!ARBfp1.0
# expect 4:18 
TEMP R0, R1;
MOV R0, fragment.fogcoord[0];
END
