#version 430 core
// A further dispatch after a product P: alpha P, element by element.
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;

uniform uint width;
uniform float alpha;

layout(std430, binding = 0) readonly buffer buffer_P { float P[]; };
layout(std430, binding = 1) writeonly buffer buffer_R { float R[]; };

void main()
{
    uint x = gl_GlobalInvocationID.x;
    uint i = gl_WorkGroupID.y * width + x;
    if (x < width)
        R[i] = alpha * P[i];
}
