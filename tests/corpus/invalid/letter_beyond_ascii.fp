!!ARBfp1.0
# expect 4:10 'é'
TEMP R0, R1;
MOV R0, Ré;
END
