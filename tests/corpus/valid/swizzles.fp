!!ARBfp1.0
#= TEMP R0, R1;
#= MOV R0, R1;
#= MOV R0, R1;
#= MOV R0, R1;
#= MOV R0, R1.x;
#= MOV R0, R1.w;
#= MOV R0, R1.z;
#= MOV R0, R1.y;
#= MOV R0, -R1.wzyx;
#= MOV R0, R1.wwxy;
#= ADD R0, R0.x, -R0.y;
TEMP R0, R1;
MOV R0, R1;
MOV R0, R1.xyzw;
MOV R0, R1.rgba;
MOV R0, R1.x;
MOV R0, R1.a;
MOV R0, +R1.b;
MOV R0, R1.gggg;
MOV R0, -R1.wzyx;
MOV R0, R1.aarg;
ADD R0, R0.x, -R0.g;
END
