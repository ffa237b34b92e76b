!!ARBfp1.0
# expect 3:30 unexpected '.5'
PARAM p[] = { program.local[3.5] };
END
