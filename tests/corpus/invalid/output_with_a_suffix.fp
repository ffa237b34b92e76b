!!ARBfp1.0
# expect 3:25 no suffix
OUTPUT o = result.color.xyz;
END
