!!ARBfp1.0
# expect 5:5 a cannot be written
TEMP R0, R1;
ATTRIB a = fragment.color;
MOV a, R0;
END
