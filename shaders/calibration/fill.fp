!!ARBfp1.0
# A colour and nothing else: what is left is the writing.
MOV result.color, program.local[0];
END
