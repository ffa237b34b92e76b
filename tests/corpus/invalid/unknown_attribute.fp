!!ARBfp1.0
# expect 4:18 fragment attributes are
TEMP R0, R1;
MOV R0, fragment.normal;
END
