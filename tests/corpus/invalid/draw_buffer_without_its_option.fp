!!ARBfp1.0
# expect 3:12 ARB_draw_buffers
MOV result.color[1], 1;
END
