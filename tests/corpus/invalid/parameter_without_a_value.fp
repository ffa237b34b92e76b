!!ARBfp1.0
# expect 3:8 unexpected ';'
PARAM p;
END
