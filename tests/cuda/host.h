// What a kernel's text needs to compile for the host: the words of CUDA, and a launch.
//
// Lanes run one after the other in an order that a seed shuffles. Kernels of this version need no
// order between lanes, so every order must give the same bytes.
#pragma once

#define __global__
#define __device__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))

struct HostIndex { unsigned x; };
static HostIndex blockIdx, blockDim, gridDim, threadIdx;

static inline double trunc(double x) { return __builtin_trunc(x); }
static inline double floor(double x) { return __builtin_floor(x); }
static inline double ceil(double x) { return __builtin_ceil(x); }
static inline double sqrt(double x) { return __builtin_sqrt(x); }
static inline double fabs(double x) { return __builtin_fabs(x); }
static inline float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
static inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline float fabsf(float x) { return __builtin_fabsf(x); }
static inline float floorf(float x) { return __builtin_floorf(x); }
static inline float ceilf(float x) { return __builtin_ceilf(x); }
static inline float truncf(float x) { return __builtin_truncf(x); }
static inline float sqrtf(float x) { return __builtin_sqrtf(x); }
static inline double rint(double x) { return __builtin_rint(x); }
static inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
static inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
static inline double fmod(double x, double y) { return __builtin_fmod(x, y); }

template <typename T> static inline T __ldg(const T *from) { return *from; }

// Runs the kernel with so many blocks and threads of a block.
template <typename Args>
void host_launch(void (*kernel)(const Args), const Args &args, unsigned blocks, unsigned threads,
                 unsigned long long seed) {
    unsigned lanes = blocks * threads, *order = new unsigned[lanes];
    for (unsigned i = 0; i < lanes; i++) order[i] = i;
    for (unsigned i = lanes; i > 1; i--) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        unsigned j = (unsigned)((seed >> 33) % i), held = order[i - 1];
        order[i - 1] = order[j];
        order[j] = held;
    }
    gridDim.x = blocks;
    blockDim.x = threads;
    for (unsigned i = 0; i < lanes; i++) {
        blockIdx.x = order[i] / threads;
        threadIdx.x = order[i] % threads;
        kernel(args);
    }
    delete[] order;
}
