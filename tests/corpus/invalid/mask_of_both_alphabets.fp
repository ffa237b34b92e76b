!!ARBfp1.0
# expect 4:8 not both
TEMP R0, R1;
MOV R0.rgw, R1;
END
