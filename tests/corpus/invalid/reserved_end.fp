!!ARBfp1.0
# expect 3:6 END is a reserved word
TEMP END;
END
