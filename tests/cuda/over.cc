// Division by constants in kernels (codegen/cuda/device.cuh), against `/`: for each divisor all
// significands of the dividend, dividends of all sizes, and integers. Prints how many differ.
#include "tests/cuda/host.h"

#include "codegen/cuda/device.cuh"

extern "C" {
#include "codegen/cuda/divide.h"
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIVISORS = 60, SIGNIFICANDS = 1 << 23, STEP = 1021 };

static f32 of(u32 bits) {
    f32 x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <int signs> static f32 over(f32 x, f32 c, CudaInverse by) {
    u8 far = 0;
    const f32 q = sb_over<SB_LATER, signs>(x, c, by.high, by.low, far);
    const f32 is = far ? sb_over<SB_FAR, signs>(x, c, by.high, by.low, far) : q;
    const f32 at_once = sb_over<SB_AT_ONCE, signs>(x, c, by.high, by.low, far);
    return memcmp(&is, &at_once, sizeof is) == 0 || is != is ? is : 0x1.2345p6f;
}

static bool differs(f32 x, f32 a, f32 b) { return x == x && memcmp(&a, &b, sizeof a) != 0; }

template <int signs> static long check(f32 c, CudaInverse by) {
    long wrong = 0;
    for (u32 bits = 0; bits < SIGNIFICANDS; bits++) {
        const f32 x = of(bits | 0x3f800000u);
        wrong += differs(x, over<signs>(x, c, by), x / c);
    }
    for (u64 bits = 0; bits >> 32 == 0; bits += STEP) {
        const f32 x = of((u32)bits);
        wrong += differs(x, over<signs>(x, c, by), x / c);
    }
    for (i32 whole = -65535; whole <= 65535; whole++) {
        const f32 x = (f32)whole;
        wrong += differs(x, sb_over_near<signs>(x, by.high, by.low), x / c);
    }
    return wrong;
}

int main(void) {
    f32 divisors[DIVISORS] = {255,  0.229f, 0.224f, 0.225f, 3,     7,    10,   100,
                              1e-3f, 1000,  60,     86400,  1.7f,  0.1f, of(0x3f800001), -3};
    long wrong = 0, cut = 0, none = 0;
    srand(1);
    for (int i = 16; i < DIVISORS; i++)
        divisors[i] = of((u32)(rand() & 0x7fffff) | (u32)(127 - 25 + rand() % 50) << 23);
    for (int i = 0; i < DIVISORS; i++) {
        CudaInverse by;
        if (!cuda_inverse(divisors[i], &by)) none++;
        else wrong += by.signs ? check<1>(divisors[i], by) : check<0>(divisors[i], by);
        cut += by.signs;
    }
    printf("%ld wrong, %ld of %d with their sign, %ld without an inverse\n", wrong, cut, DIVISORS, none);
    // Both forms were tried, and hardly a constant has neither.
    return wrong || none > DIVISORS / 10 || cut < DIVISORS / 2 || cut == DIVISORS;
}
