!!ARBfp1.0
# expect 4:8 a is declared twice
ATTRIB a = fragment.color;
OUTPUT a = result.color;
END
