!!ARBfp1.0
# expect 4:18 color[8] does not exist
OPTION ARB_draw_buffers;
MOV result.color[8], 1;
END
