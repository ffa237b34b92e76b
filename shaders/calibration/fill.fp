!!ARBfp1.0
# Fills the framebuffer with a colour: only writes take time.
MOV result.color, program.local[0];
END
