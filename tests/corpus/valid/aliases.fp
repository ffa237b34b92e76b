!!ARBfp1.0
#= ATTRIB a = fragment.position;
#= PARAM p = {1, 1, 1, 1};
#= PARAM q[2] = { {1, 1, 1, 1}, {2, 2, 2, 2} };
#= TEMP R0;
#= MOV R0.x, R0.y;
#= MOV R0, p;
#= MOV R0, q[1];
#= MOV R0, fragment.position;
#= MOV result.color, R0;
TEMP R0;
PARAM p = 1;
PARAM q[] = {1, 2};
ATTRIB a = fragment.position;
OUTPUT o = result.color;
ALIAS S = R0;
ALIAS T = S;
ALIAS pp = p;
ALIAS qq = q;
ALIAS aa = a;
ALIAS oo = o;
MOV S.x, T.y;
MOV R0, pp;
MOV R0, qq[1];
MOV R0, aa;
MOV oo, T;
END
