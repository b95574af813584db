// Division by constants in kernels (codegen/cuda/device.cuh), against `/`: for each divisor all
// significands of the dividend, dividends of all sizes, and integers. Prints how many differ.
#include "tests/cuda/host.h"

#include "codegen/cuda/device.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIVISORS = 60, SIGNIFICANDS = 1 << 23, STEP = 1021 };

static f32 of(u32 bits) {
    f32 x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <int steps> static f32 over(f32 x, f32 c, f32 r) {
    u8 far = 0;
    const f32 q = sb_over<SB_LATER, steps>(x, c, r, far);
    const f32 is = far ? sb_over<SB_FAR, steps>(x, c, r, far) : q;
    const f32 at_once = sb_over<SB_AT_ONCE, steps>(x, c, r, far);
    return memcmp(&is, &at_once, sizeof is) == 0 || is != is ? is : 0x1.2345p6f;
}

static bool differs(f32 x, f32 a, f32 b) { return x == x && memcmp(&a, &b, sizeof a) != 0; }

template <int steps> static long check(f32 c, f32 r) {
    long wrong = 0;
    for (u32 bits = 0; bits < SIGNIFICANDS; bits++) {
        const f32 x = of(bits | 0x3f800000u);
        wrong += differs(x, over<steps>(x, c, r), x / c);
    }
    for (u64 bits = 0; bits >> 32 == 0; bits += STEP) {
        const f32 x = of((u32)bits);
        wrong += differs(x, over<steps>(x, c, r), x / c);
    }
    for (i32 whole = -65535; whole <= 65535; whole++) {
        const f32 x = (f32)whole;
        wrong += differs(x, sb_over_near<steps>(x, c, r), x / c);
    }
    return wrong;
}

// As codegen/cuda/expr.c chooses the steps.
static long check_divisor(f32 c) {
    const f32 r = (f32)(1 / (f64)c);
    const f64 away = (f64)r * c - 1;
    return fabs(away) <= 0x1p-25 ? check<1>(c, r) : check<2>(c, r);
}

int main(void) {
    f32 divisors[DIVISORS] = {255,  0.229f, 0.224f, 0.225f, 3,     7,    10,   100,
                              1e-3f, 1000,  60,     86400,  1.7f,  0.1f, of(0x3f800001), -3};
    long wrong = 0;
    srand(1);
    for (int i = 16; i < DIVISORS; i++)
        divisors[i] = of((u32)(rand() & 0x7ffffe) | (u32)(127 - 26 + rand() % 52) << 23);
    for (int i = 0; i < DIVISORS; i++) wrong += check_divisor(divisors[i]);
    printf("%ld wrong\n", wrong);
    return wrong != 0;
}
