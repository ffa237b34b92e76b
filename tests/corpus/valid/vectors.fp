!!ARBfp1.0
#= PARAM a = {-3, 0, 0, 1};
#= PARAM b = {1, 2, 0, 1};
#= PARAM c = {1, 2, 3, 1};
#= PARAM d = {1, 2, 3, 4};
#= PARAM e = {-2.5, -2.5, -2.5, -2.5};
#= TEMP R0;
#= MOV R0, {5, 0, 0, 1};
#= MOV R0, -{5, -6, 0, 1};
#= MOV R0, -{2, 2, 2, 2};
#= MOV R0, {2, 2, 2, 2};
PARAM a = {-3};
PARAM b = {1, 2};
PARAM c = {1, 2, 3};
PARAM d = {1, 2, 3, 4};
PARAM e = -2.5;
TEMP R0;
MOV R0, {5};
MOV R0, -{5, -6};
MOV R0, -2;
MOV R0, +2;
END
