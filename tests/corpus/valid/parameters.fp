!!ARBfp1.0
#= PARAM one = program.local[3];
#= PARAM two[6] = { program.local[0], program.local[1], program.local[2], program.local[3], {1, 1, 1, 1}, program.env[7] };
#= PARAM three[2] = { {1, 2, 0, 1}, {-4, -4, -4, -4} };
#= PARAM four[1] = { program.env[2] };
#= TEMP R0;
#= MOV R0, one;
#= MOV R0, two[0].x;
#= MOV R0, two[5];
#= MOV R0, -three[1];
#= MOV R0, four[0];
#= MOV R0, program.local[9];
#= MOV R0, program.env[0].yzwx;
PARAM one = program.local[3];
PARAM two[] = { program.local[0..3], 1, program.env[7] };
PARAM three[2] = { {1, 2}, -4.0 };
PARAM four[] = { program.env[2..2] };
TEMP R0;
MOV R0, one;
MOV R0, two[0].x;
MOV R0, two[5];
MOV R0, -three[1];
MOV R0, four[0];
MOV R0, program.local[9];
MOV R0, program.env[0].yzwx;
END
