// Private to codegen/cuda: constants that two operations divide by, with the bits of a division.
#ifndef SBC_CODEGEN_CUDA_DIVIDE_H
#define SBC_CODEGEN_CUDA_DIVIDE_H

// 1 / c as the sum of two floats. fma(x, high, x * low) is x / c for sizes of x from 2^-70 to 2^90.
typedef struct CudaInverse {
    float high, low;
    bool  signs;  // So is its sign where x is zero: `low` has the sign of `high`.
} CudaInverse;

// False: there is no such pair, or c has a size below 2^-27, or of 2^26 or more.
bool cuda_inverse(float c, CudaInverse *to);

#endif
