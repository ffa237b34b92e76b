!!ARBfp1.0
# expect 4:1 unexpected ';'
TEMP R0, R1;
;
END
