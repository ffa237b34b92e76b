!!ARBfp1.0
# expect 3:23 program.env[256]
PARAM p = program.env[256];
END
