!!ARBfp1.0
# expect 3:8 did you mean ARB_draw_buffers?
OPTION ARB_drawbuffers;
END
