!!ARBfp1.0
# expect 3:8 OPTION NV_nothing is not supported
OPTION NV_nothing;
END
