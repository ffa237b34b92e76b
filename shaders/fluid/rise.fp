!!ARBfp1.0
# Smoke rises: the velocity, and upwards the buoyancy of the smoke here in a time step.
# Texture 0 holds the velocity, texture 1 the smoke. program.local[0].y is buoyancy times time.

TEMP velocity, smoke;

TEX velocity, fragment.position, texture[0], RECT;
TEX smoke, fragment.position, texture[1], RECT;

MAD result.color, smoke.x, program.local[0], velocity;
END
