!!ARBfp1.0
# expect 3:32 program.local[2048]
PARAM p[] = { program.local[0..2048] };
END
