// What a kernel's text needs to compile for the host: the words of CUDA, and a launch.
//
// Blocks run one after the other, in an order that a seed shuffles. Lanes of a block are fibers:
// each runs until it comes to a barrier or to its end, and then another one does, in an order that
// is new after each barrier. Memory that a block shares is poisoned when the block begins. So
// whatever the order, and whatever another block has left, the bytes must be the same.
#pragma once

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

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

// Lanes run one at a time, until they come to a barrier: nothing comes in between.
template <typename T> static inline T host_atomic(T *at, T value) {
    T before = *at;
    *at = value;
    return before;
}
template <typename T> static inline T atomicAdd(T *at, T x) {
    return host_atomic(at, (T)(*at + x));
}
template <typename T> static inline T atomicMax(T *at, T x) {
    return host_atomic(at, *at > x ? *at : x);
}
template <typename T> static inline T atomicCAS(T *at, T is, T x) {
    return host_atomic(at, *at == is ? x : *at);
}
template <typename T> static inline void __stcs(T *to, T value) { *to = value; }
union uint4 { unsigned at[4]; __int128 whole; };
union uint2 { unsigned at[2]; unsigned long long whole; };

// ---- a block ------------------------------------------------------------------------------------

#ifndef HOST_BARRIERS
#define HOST_BARRIERS 1  // 0: the kernels have none, and lanes need not be fibers.
#endif

enum { HOST_LANES_MAX = 1024, HOST_STACK = 1 << 16, HOST_SHARED_MAX = 64 };

static struct {
    ucontext_t lanes[HOST_LANES_MAX], home;
    char      *stacks;
    unsigned   lane;                          // That runs.
    bool       ended[HOST_LANES_MAX];
    void      *shared[HOST_SHARED_MAX];       // Poisoned in this block.
    int        shared_count;
    unsigned long long seed;
    void     (*kernel)(const void *);         // Calls the kernel with its arguments.
    const void *args;
} host;

static inline unsigned host_random(unsigned below) {
    host.seed = host.seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((host.seed >> 33) % below);
}

static inline void host_shuffle(unsigned *order, unsigned count) {
    for (unsigned i = 0; i < count; i++) order[i] = i;
    for (unsigned i = count; i > 1; i--) {
        unsigned j = host_random(i), held = order[i - 1];
        order[i - 1] = order[j];
        order[j] = held;
    }
}

static inline void host_poison(void *memory, size_t bytes) {
    for (int i = 0; i < host.shared_count; i++)
        if (host.shared[i] == memory) return;
    host.shared[host.shared_count++] = memory;
    memset(memory, 0xb5, bytes);
}

#define SB_SHARED(T, name, count)                                                                  \
    alignas(16) static T name[count];                                                              \
    host_poison(name, sizeof name)

static inline void __syncthreads() { swapcontext(&host.lanes[host.lane], &host.home); }

static inline void host_lane() {
    host.kernel(host.args);
    host.ended[host.lane] = true;
}

// A kernel whose lanes come to different numbers of barriers never ends: each has to come to all.
static inline void host_block(unsigned threads) {
    unsigned order[HOST_LANES_MAX];
    host.shared_count = 0;
    if (!HOST_BARRIERS) {
        host_shuffle(order, threads);
        for (unsigned i = 0; i < threads; i++) {
            threadIdx.x = order[i];
            host.kernel(host.args);
        }
        return;
    }
    for (unsigned i = 0; i < threads; i++) {
        getcontext(&host.lanes[i]);
        host.lanes[i].uc_stack.ss_sp = host.stacks + (size_t)i * HOST_STACK;
        host.lanes[i].uc_stack.ss_size = HOST_STACK;
        host.lanes[i].uc_link = &host.home;
        host.ended[i] = false;
        makecontext(&host.lanes[i], host_lane, 0);
    }
    for (unsigned ended = 0; ended < threads;) {
        host_shuffle(order, threads);
        if (ended) abort();
        for (unsigned i = 0; i < threads; i++) {
            host.lane = threadIdx.x = order[i];
            swapcontext(&host.home, &host.lanes[host.lane]);
            ended += host.ended[host.lane];
        }
    }
}

// ---- a launch -----------------------------------------------------------------------------------

template <typename Args> struct HostKernel {
    static void (*kernel)(const Args);
    static void call(const void *args) { kernel(*(const Args *)args); }
};
template <typename Args> void (*HostKernel<Args>::kernel)(const Args);

// Runs the kernel with so many blocks and threads of a block.
template <typename Args>
void host_launch(void (*kernel)(const Args), const Args &args, unsigned blocks, unsigned threads,
                 unsigned long long seed) {
    unsigned *order = (unsigned *)malloc(blocks * sizeof *order);
    host.stacks = (char *)malloc((size_t)threads * HOST_STACK);
    host.seed = seed;
    host.kernel = HostKernel<Args>::call;
    host.args = &args;
    HostKernel<Args>::kernel = kernel;
    gridDim.x = blocks;
    blockDim.x = threads;
    host_shuffle(order, blocks);
    for (unsigned i = 0; i < blocks; i++) {
        blockIdx.x = order[i];
        host_block(threads);
    }
    free(host.stacks);
    free(order);
}
