// What rendered kernels call. NVRTC compiles this file with them, and the tests compile both for the
// host (tests/cuda/host.h).
//
// Integers wrap in their unsigned types, and a second function says whether they did: no operation
// here is undefined, whatever its operands.
#pragma once

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
typedef float f32;
typedef double f64;

#define SB_FN static __device__ __forceinline__
#define SB_MEMBER __device__ __forceinline__

// ---- whole numbers -----------------------------------------------------------------------------

// Is the wrapped result not that of whole numbers without bounds? Of 128 bits the compiler would
// make many more operations.
template <typename T> SB_FN u8 sb_add_over(T a, T b, T is) {
    if ((T)-1 > 0) return is < a;
    return (T)((a ^ is) & (b ^ is)) < 0;
}

template <typename T> SB_FN u8 sb_sub_over(T a, T b, T is) {
    if ((T)-1 > 0) return a < b;
    return (T)((a ^ b) & (a ^ is)) < 0;
}

template <typename T> SB_FN u8 sb_mul_over(T a, T b, T is) {
    if (sizeof(T) < sizeof(i64)) return (T)-1 > 0 ? (u64)a * (u64)b != (u64)is
                                                  : (i64)a * (i64)b != (i64)is;
    if ((T)-1 > 0) return __umul64hi((u64)a, (u64)b) != 0;
    return __mul64hi((i64)a, (i64)b) != (i64)is >> 63;
}

// Of type T with unsigned U, T in i128 and the least value.
#define SB_WHOLE(T, U, least)                                                                      \
    SB_FN T sb_add_##T(T a, T b) { return (T)(U)((U)a + (U)b); }                                   \
    SB_FN T sb_sub_##T(T a, T b) { return (T)(U)((U)a - (U)b); }                                   \
    SB_FN T sb_mul_##T(T a, T b) { return (T)(U)((u64)(U)a * (u64)(U)b); }                         \
    SB_FN u8 sb_add_over_##T(T a, T b) { return sb_add_over(a, b, sb_add_##T(a, b)); }             \
    SB_FN u8 sb_sub_over_##T(T a, T b) { return sb_sub_over(a, b, sb_sub_##T(a, b)); }             \
    SB_FN u8 sb_mul_over_##T(T a, T b) { return sb_mul_over(a, b, sb_mul_##T(a, b)); }             \
    SB_FN u8 sb_div_fault_##T(T a, T b) {                                                          \
        return b == 0 || ((T)-1 < (T)0 && a == (T)(least) && b == (T)-1);                          \
    }                                                                                              \
    SB_FN T sb_div_##T(T a, T b) { return sb_div_fault_##T(a, b) ? (T)0 : (T)(a / b); }            \
    SB_FN T sb_mod_##T(T a, T b) { return sb_div_fault_##T(a, b) ? (T)0 : (T)(a % b); }            \
    SB_FN T sb_whole_##T(f64 x) { return sb_fits_##T(x) ? (T)x : (T)0; }

// Does a float fit without a fraction? The bounds are powers of two.
#define SB_FITS(T, low, high)                                                                      \
    SB_FN u8 sb_fits_##T(f64 x) { return x >= low && x < high && trunc(x) == x; }

SB_FITS(i8, -0x1p7, 0x1p7)
SB_FITS(i16, -0x1p15, 0x1p15)
SB_FITS(i32, -0x1p31, 0x1p31)
SB_FITS(i64, -0x1p63, 0x1p63)
SB_FITS(u8, 0.0, 0x1p8)
SB_FITS(u16, 0.0, 0x1p16)
SB_FITS(u32, 0.0, 0x1p32)
SB_FITS(u64, 0.0, 0x1p64)

SB_WHOLE(i8, u8, -0x7f - 1)
SB_WHOLE(i16, u16, -0x7fff - 1)
SB_WHOLE(i32, u32, -0x7fffffff - 1)
SB_WHOLE(i64, u64, -0x7fffffffffffffffll - 1)
SB_WHOLE(u8, u8, 0)
SB_WHOLE(u16, u16, 0)
SB_WHOLE(u32, u32, 0)
SB_WHOLE(u64, u64, 0)

// Has the whole number more significant bits than a float of so many holds?
SB_FN u8 sb_inexact(i128 x, int bits) {
    u64 size = x < 0 ? (u64)-x : (u64)x, lowest = size & (0 - size);
    return lowest < (u64)1 << (64 - bits) && size >= lowest << bits && size;
}

// ---- floats ------------------------------------------------------------------------------------

// Did a finite number become infinite?
SB_FN u8 sb_too_large(f64 before, f32 after) { return before - before == 0 && after - after != 0; }

SB_FN f32 sb_f32_of(u32 bits) {
    union { u32 bits; f32 value; } as = {bits};
    return as.value;
}

SB_FN u32 sb_bits(f32 value) {
    union { f32 value; u32 bits; } as = {value};
    return as.bits;
}

SB_FN f64 sb_f64_of(u64 bits) {
    union { u64 bits; f64 value; } as = {bits};
    return as.value;
}

// x / c, where `high` + `low` is 1 / c (codegen/cuda/divide.c), and neither x nor the quotient comes
// near the ends of the normal numbers. With `signs` 0 the sum loses the sign of -0.
template <int signs> SB_FN f32 sb_over_near(f32 x, f32 high, f32 low) {
    const f32 q = fmaf(x, high, x * low);
    return signs ? q : copysignf(q, x * high);
}

// One copy of what is hardly ever needed.
static __device__ __noinline__ f32 sb_over_far(f32 x, f32 c) { return x / c; }

// How x goes that are neither zero nor of a size from 2^-70 to 2^90: the long way at once; or it sets
// bit 1 of `far`, and the caller takes the form SB_FAR of all after that. The latter is for kernels
// that load values one by one: nothing branches between these loads.
enum { SB_AT_ONCE, SB_LATER, SB_FAR };

template <int way, int signs> SB_FN f32 sb_over(f32 x, f32 c, f32 high, f32 low, u8 &far) {
    if (way == SB_FAR) return x / c;
    const u32 size = sb_bits(x) & 0x7fffffffu, least = 0x1c800000u, most = 0x6c800000u;
    const bool is_far = size - least > most - least && size != 0;
    f32 q = sb_over_near<signs>(x, high, low);
    if (way == SB_LATER) far |= is_far << 1;
    else if (is_far) q = sb_over_far(x, c);
    return q;
}

SB_FN u8 sb_nan(f64 x) { return x != x; }

// ---- columns -----------------------------------------------------------------------------------

// Values that one lane loads or stores at once: 16 bytes of the widest type that a kernel handles.
template <typename T, int N> struct alignas(sizeof(T) * N) SbPack {
    T at[N];
};

template <typename T, int N> SB_FN SbPack<T, N> sb_load(const T *from) {
    return *(const SbPack<T, N> *)from;
}

// Nothing on the GPU reads what is stored: it leaves the caches before other lines do.
template <typename Word, typename Pack> SB_FN void sb_store_as(void *to, const Pack &values) {
    Word word;
    memcpy(&word, &values, sizeof word);
    __stcs((Word *)to, word);
}

template <typename T, int N> SB_FN void sb_store(T *to, const SbPack<T, N> &values) {
    if constexpr (sizeof values == 16) sb_store_as<uint4>(to, values);
    else if constexpr (sizeof values == 8) sb_store_as<uint2>(to, values);
    else *(SbPack<T, N> *)to = values;
}

// One value of a column that is read. No kernel writes what it reads, so that loads need not wait for
// stores.
template <typename T> SB_FN T sb_read(const T *from) { return __ldg(from); }

// Memory of a block, shared by its lanes.
#ifndef SB_SHARED
#define SB_SHARED(T, name, count) __shared__ alignas(16) T name[count]
#endif

// All lanes of a block store what they have put together, 16 bytes at a time where it begins so.
template <typename T> SB_FN void sb_store_tile(T *to, const T *tile, u32 count) {
    const u32 width = 16 / sizeof(T), packs = (u64)to % 16 ? 0 : count / width;
    for (u32 i = threadIdx.x; i < packs; i += blockDim.x)
        sb_store<T, 16 / sizeof(T)>(to + i * width, sb_load<T, 16 / sizeof(T)>(tile + i * width));
    for (u32 i = packs * width + threadIdx.x; i < count; i += blockDim.x) to[i] = tile[i];
}

// ---- the library -------------------------------------------------------------------------------

#define int64_t i64
#define uint64_t u64
#define __builtin_fabsf fabsf
#define __builtin_floorf floorf
#define __builtin_ceilf ceilf
#define __builtin_truncf truncf
#define __builtin_sqrtf sqrtf
#define __builtin_copysignf(x, sign) copysignf((f32)(x), (f32)(sign))
#define __builtin_rint rint
#define __builtin_fma fma
#define __builtin_floor floor
#define __builtin_ceil ceil
#define __builtin_trunc trunc
#define __builtin_sqrt sqrt
#define __builtin_fabs fabs
#define __builtin_copysign(x, sign) copysign((f64)(x), (f64)(sign))
#define __builtin_inff() sb_f32_of(0x7f800000u)
#define uint32_t u32
#define uint16_t u16
#include "stdlib/number/half.h"
#include "stdlib/number/math_lanes.h"
#include "stdlib/number/math_f64.h"
#undef int64_t
#undef uint64_t
#undef uint32_t
#undef uint16_t

// ---- f16 and bf16 ------------------------------------------------------------------------------
//
// In memory; everywhere else they are f32. On a GPU the conversions are its own, whose results are
// those of stdlib/number/half.h.

SB_FN u16 sb_f16_bits(f32 x) {
#ifdef __CUDA_ARCH__
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    return sb_f64_f16(x);
#endif
}

SB_FN f32 sb_f16_value(u16 bits) {
#ifdef __CUDA_ARCH__
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#else
    return sb_f16_f32(bits);
#endif
}

SB_FN f32 sb_round_f16(f32 x) { return sb_f16_value(sb_f16_bits(x)); }

SB_FN f32 sb_round_f16(f64 x) {
#ifdef __CUDA_ARCH__
    u16 bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return sb_f16_value(bits);
#else
    return sb_f16_f32(sb_f64_f16(x));
#endif
}

SB_FN u16 sb_bf16_bits(f32 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    u16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#elif defined(__CUDA_ARCH__)
    u32 bits = sb_bits(x);
    return x != x ? 0x7fc0 : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
#else
    return sb_f64_bf16(x);
#endif
}

SB_FN f32 sb_bf16_value(u16 bits) { return sb_f32_of((u32)bits << 16); }
SB_FN f32 sb_round_bf16(f32 x) { return sb_bf16_value(sb_bf16_bits(x)); }
SB_FN f32 sb_round_bf16(f64 x) { return sb_bf16_value(sb_f64_bf16(x)); }

#define SB_HALF(T)                                                                                 \
    struct T {                                                                                     \
        u16 bits;                                                                                  \
        SB_MEMBER operator f32() const { return sb_##T##_value(bits); }                            \
        SB_MEMBER T &operator=(f32 x) { return bits = sb_##T##_bits(x), *this; }                   \
    };                                                                                             \
    SB_FN T sb_read(const T *from) { return T{__ldg(&from->bits)}; }

SB_HALF(f16)
SB_HALF(bf16)
