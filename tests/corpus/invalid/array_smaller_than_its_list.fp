!!ARBfp1.0
# expect 3:7 1 elements
PARAM p[1] = { program.env[0..1] };
END
