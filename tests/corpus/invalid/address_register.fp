!!ARBfp1.0
# expect 3:1 ADDRESS is not
ADDRESS A0;
END
