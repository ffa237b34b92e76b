!!ARBfp1.0
# expect 4:9 one component
TEMP R0;
RCP R0, R0;
END
