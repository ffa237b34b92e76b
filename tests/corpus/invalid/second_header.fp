!!ARBfp1.0
# expect 3:1 unexpected '!!ARBfp1.0'
!!ARBfp1.0
END
