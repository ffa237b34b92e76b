!!ARBfp1.0
# One step of heat flow: u + k (west + east + south + north - 4 u).
PARAM k = program.local[0];
TEMP west, east, south, north, u, flow;

ADD west, fragment.texcoord[0], { -1, 0, 0, 0 };
ADD east, fragment.texcoord[0], { 1, 0, 0, 0 };
ADD south, fragment.texcoord[0], { 0, -1, 0, 0 };
ADD north, fragment.texcoord[0], { 0, 1, 0, 0 };

TEX u, fragment.texcoord[0], texture[0], RECT;
TEX west, west, texture[0], RECT;
TEX east, east, texture[0], RECT;
TEX south, south, texture[0], RECT;
TEX north, north, texture[0], RECT;

ADD flow, west, east;
ADD flow, flow, south;
ADD flow, flow, north;
MAD flow, u, { -4, -4, -4, -4 }, flow;
MAD result.color, flow, k, u;
END
