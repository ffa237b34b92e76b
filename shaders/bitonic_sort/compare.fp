!!ARBfp1.0
# A step of a bitonic sort: compare an element with its partner, and keep the smaller or the larger.
# Partners differ in one bit of their number, the bit of the distance; a run is sorted upwards where
# the bit of its length is 0. Of a bit, the number's share is either in the column or in the row:
#   program.local[0].xy   0.5 / distance, for the column or for the row; the other is 0
#   program.local[1].xy   0.5 / length of the run, likewise
#   program.local[2].xy   the way to the partner of an element whose bit of the distance is 0
# At the texel's centre, half a texel further, a bit is the same: it only asks whether the fraction
# is at least one half.

PARAM distance = program.local[0];
PARAM run = program.local[1];
PARAM way = program.local[2];
PARAM constants = { 0.5, -2, 1, 0 };
TEMP bits, partner, own, smaller, larger;

DP3 bits.x, fragment.position, distance;
DP3 bits.y, fragment.position, run;
FRC bits.xy, bits;
SGE bits.xy, bits, constants.x;

MAD bits.z, bits.x, constants.y, constants.z;
MAD partner, way, bits.z, fragment.position;

TEX own, fragment.position, texture[0], RECT;
TEX partner, partner, texture[0], RECT;

# The larger one stays where the two bits differ.
MIN smaller, own, partner;
MAX larger, own, partner;
SUB bits.x, bits.x, bits.y;
ABS bits.x, bits.x;
CMP result.color, -bits.x, larger, smaller;
END
