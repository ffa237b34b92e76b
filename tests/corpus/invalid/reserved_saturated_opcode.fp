!!ARBfp1.0
# expect 3:6 RSQ_SAT is a reserved word
TEMP RSQ_SAT;
END
