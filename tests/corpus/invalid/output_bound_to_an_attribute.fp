!!ARBfp1.0
# expect 3:12 result.
OUTPUT o = fragment.color;
END
