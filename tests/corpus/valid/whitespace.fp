!!ARBfp1.0
#= PARAM p[2] = { program.local[1], program.local[2] };
#= TEMP R0;
#= MOV R0.x, -R0.y;
#= TEX R0, fragment.texcoord[1].x, texture[2], RECT;
#= MOV R0, p[1];
#= ADD R0, R0, {1, -2, 0, 1};
TEMP	R0 ;PARAM p [ ] = { program . local [ 1 .. 2 ] } ; MOV
R0 . x	,	- R0 .
y ;
TEX R0,fragment.texcoord [ 1 ] . x,texture [ 2 ],RECT;MOV R0,p [ 1 ];ADD R0,R0,{ 1 ,
- 2 };
END