#version 430 core
// Mali OpenCL SDK v1.1.0, sgemm.cl: C = alpha A B + beta C, one thread per element, four products at a time.
layout(local_size_x = 8, local_size_y = 8, local_size_z = 1) in;

uniform int matrixOrder;   // the inner dimension, a multiple of 4
uniform int columns;       // of B and C
uniform float alpha;
uniform float beta;

layout(std430, binding = 0) readonly buffer buffer_A { float matrixA[]; };
layout(std430, binding = 1) readonly buffer buffer_B { float matrixB[]; };
layout(std430, binding = 2) buffer buffer_C { float matrixC[]; };

void main()
{
    int i = int(gl_GlobalInvocationID.y);
    int j = int(gl_GlobalInvocationID.x);
    vec4 sum = vec4(0.0);
    vec4 matrixBColumn;

    int aOffset = i * matrixOrder;
    int bOffset = j;
    for (int k = 0; k < matrixOrder; k += 4)
    {
        // Load 4 values from a column of matrixB, and 4 values from a row of matrixA.
        matrixBColumn.x = matrixB[bOffset];
        bOffset += columns;
        matrixBColumn.y = matrixB[bOffset];
        bOffset += columns;
        matrixBColumn.z = matrixB[bOffset];
        bOffset += columns;
        matrixBColumn.w = matrixB[bOffset];
        bOffset += columns;
        sum += vec4(matrixA[aOffset], matrixA[aOffset + 1], matrixA[aOffset + 2], matrixA[aOffset + 3])
            * matrixBColumn;
        aOffset += 4;
    }
    // Sum the 4 results to get the single output of a row of matrixA by a column of matrixB.
    matrixC[i * columns + j] = alpha * (sum.x + sum.y + sum.z + sum.w) + beta * matrixC[i * columns + j];
}
