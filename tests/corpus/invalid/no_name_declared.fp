!!ARBfp1.0
# expect 3:5 expected a name
TEMP;
END
