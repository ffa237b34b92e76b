#version 430 core
// Dobravec & Bulic 2017, Listing 1, matrixMulH: the host's triple loop, as a kernel of one invocation.
layout(local_size_x = 1, local_size_y = 1, local_size_z = 1) in;

uniform int hA;
uniform int wA;
uniform int wB;

layout(std430, binding = 0) readonly buffer buffer_A { float A[]; };
layout(std430, binding = 1) readonly buffer buffer_B { float B[]; };
layout(std430, binding = 2) writeonly buffer buffer_C { float C[]; };

void main()
{
    for (int i = 0; i < hA; ++i)
        for (int j = 0; j < wB; ++j) {
            double sum = 0;
            for (int k = 0; k < wA; ++k) {
                double a = A[i * wA + k];
                double b = B[k * wB + j];
                sum += a * b;
            }
            C[i * wB + j] = float(sum);
        }
}
