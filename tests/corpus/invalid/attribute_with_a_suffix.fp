!!ARBfp1.0
# expect 3:33 no suffix
ATTRIB a = fragment.texcoord[1].x;
END
