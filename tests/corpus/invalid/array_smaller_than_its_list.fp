!!ARBfp1.0
# expect 3:9 1 element but
PARAM p[1] = { program.env[0..1] };
END
