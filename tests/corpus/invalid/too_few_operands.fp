!!ARBfp1.0
# expect 4:17 MAD takes 4 operands
TEMP R0, R1;
  MAD R0, R1, R1;
END
