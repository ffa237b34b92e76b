!!ARBfp1.0
# expect 4:19 did you mean normal?
TEMP normal;
MOV result.color, nromal;
END
