!!ARBfp1.0
# expect 3:12 fragment.
ATTRIB a = result.color;
END
