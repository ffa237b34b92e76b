!!ARBfp1.0
#= PARAM p = {1, 1, 1, 1};
#= TEMP R0, R1;
#= MOV R0, {0, 0, 0, 0};
#= MOV R1, R0;
#= ADD R1, R1, p;
TEMP R0;
MOV R0, 0;
TEMP R1;
MOV R1, R0;
PARAM p = 1;
ADD R1, R1, p;
END
