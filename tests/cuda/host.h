// What a kernel's text needs to compile for the host: the words of CUDA, and a launch.
//
// Blocks run one after the other, in an order that a seed shuffles. Lanes of a block are fibers:
// each runs until it comes to a barrier, a shuffle or its end, and then another one does, in an
// order that is new in each round. Some warps rest for as long as others can go on. A lane goes on
// when all lanes of the block have come to a barrier, or all of its warp to a shuffle. Where that
// never comes to be, as one of them has ended, the test ends. Memory that a block shares is
// poisoned when the block begins. So whatever the order, and whatever another block has left, the
// bytes must be the same.
#pragma once

#include <stdlib.h>
#include <string.h>

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


static inline long long __mul64hi(long long a, long long b) {
    return (long long)((__int128)a * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
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
#ifndef HOST_LOST
#define HOST_LOST 0  // How far a shuffle goes that gives each lane its own value; 64: one to all.
#endif

enum { HOST_LANES_MAX = 1024, HOST_STACK = 1 << 16, HOST_SHARED_MAX = 64, HOST_WARP = 32 };
enum HostState { HOST_RUNS, HOST_AT_BARRIER, HOST_AT_SHUFFLE, HOST_ENDED };

// Goes to another fiber: what a call keeps is put on the stack of this one. (swapcontext would ask
// the system for signals each time.)
extern "C" __attribute__((visibility("hidden"))) void host_switch(void **from, void *to);
asm(".text\n.hidden host_switch\n.globl host_switch\nhost_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

static struct {
    void      *lanes[HOST_LANES_MAX], *home;  // The stacks of those that wait.
    char      *stacks;
    unsigned   lane, threads;                 // That runs; of the block.
    HostState  state[HOST_LANES_MAX];
    unsigned   given[HOST_LANES_MAX][2];      // To this shuffle of a lane and to the one before.
    unsigned   shuffles[HOST_LANES_MAX];
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

static inline void host_wait(HostState state) {
    host.state[host.lane] = state;
    host_switch(&host.lanes[host.lane], host.home);
}

static inline void __syncthreads() { host_wait(HOST_AT_BARRIER); }

// The value that lane `from` gives. Values stay until all lanes are at the next shuffle.
static inline unsigned host_exchange(unsigned mask, unsigned value, unsigned from) {
    if (mask != 0xffffffffu || host.threads % HOST_WARP) abort();
    unsigned turn = host.shuffles[host.lane]++ % 2;
    host.given[host.lane][turn] = value;
    host_wait(HOST_AT_SHUFFLE);
    return host.given[host.lane / HOST_WARP * HOST_WARP + from][turn];
}

static inline unsigned __shfl_sync(unsigned mask, unsigned value, unsigned from, unsigned width) {
    unsigned lane = host.lane % HOST_WARP;
    return host_exchange(mask, value, HOST_LOST == 64 ? lane : lane / width * width + from);
}

static inline unsigned __shfl_down_sync(unsigned mask, unsigned value, unsigned by,
                                        unsigned width) {
    unsigned lane = host.lane % HOST_WARP;
    bool inside = lane % width + by < width && HOST_LOST != by;
    return host_exchange(mask, value, inside ? lane + by : lane);
}

static inline void host_lane() {
    host.kernel(host.args);
    host_wait(HOST_ENDED);
}

// Do all of these lanes wait for each other?
static inline bool host_together(unsigned first, unsigned count, HostState state) {
    for (unsigned i = first; i < first + count; i++)
        if (host.state[i] != state) return false;
    return true;
}

// Lets those go on that have come together. False: nobody can, as some lane never comes.
static inline bool host_release(unsigned threads) {
    bool some = false;
    for (unsigned first = 0; first < threads; first += HOST_WARP) {
        if (threads - first < HOST_WARP || !host_together(first, HOST_WARP, HOST_AT_SHUFFLE))
            continue;
        some = true;
        for (unsigned i = 0; i < HOST_WARP; i++) host.state[first + i] = HOST_RUNS;
    }
    if (!some && (some = host_together(0, threads, HOST_AT_BARRIER)))
        for (unsigned i = 0; i < threads; i++) host.state[i] = HOST_RUNS;
    for (unsigned i = 0; i < threads; i++) some |= host.state[i] == HOST_RUNS;
    return some;
}

static inline void host_block(unsigned threads) {
    unsigned order[HOST_LANES_MAX];
    host.shared_count = 0;
    host.threads = threads;
    if (!HOST_BARRIERS) {
        host_shuffle(order, threads);
        for (unsigned i = 0; i < threads; i++) {
            threadIdx.x = order[i];
            host.kernel(host.args);
        }
        return;
    }
    for (unsigned i = 0; i < threads; i++) {
        // As if host_lane had been called, with six registers on the stack.
        void **top = (void **)(host.stacks + (size_t)(i + 1) * HOST_STACK) - 2;
        *top = (void *)host_lane;
        host.lanes[i] = top - 6;
        host.state[i] = HOST_RUNS;
        host.shuffles[i] = 0;
    }
    unsigned rests = host_random(1u << 31);
    for (unsigned ended = 0, ran = 0; ended < threads; ran = 0) {
        host_shuffle(order, threads);
        for (unsigned i = 0; i < threads; i++) {
            if (host.state[order[i]] != HOST_RUNS || rests >> order[i] / HOST_WARP & 1) continue;
            ran++;
            host.lane = threadIdx.x = order[i];
            host_switch(&host.home, host.lanes[host.lane]);
            ended += host.state[host.lane] == HOST_ENDED;
        }
        if (ended < threads && !host_release(threads)) abort();
        if (!ran) rests = host_random(1u << 31);
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
    if (!host.stacks) host.stacks = (char *)aligned_alloc(16, (size_t)HOST_LANES_MAX * HOST_STACK);
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
    free(order);
}
