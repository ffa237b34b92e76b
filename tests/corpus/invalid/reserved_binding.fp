!!ARBfp1.0
# expect 3:6 texture is a reserved word
TEMP texture;
END
