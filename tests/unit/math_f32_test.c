// Functions of f32 against those of long double, over numbers of all sizes: within 0.5001 units in
// the last place.
#include "stdlib/number/math.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { STEP = 4999 };

static const struct {
    const char *name;
    float     (*ours)(float);
    long double (*theirs)(long double);
} functions[] = {
    {"exp", sb_exp_f32, expl},       {"exp2", sb_exp2_f32, exp2l},
    {"expm1", sb_expm1_f32, expm1l}, {"tanh", sb_tanh_f32, tanhl},
    {"log", sb_log_f32, logl},       {"log2", sb_log2_f32, log2l},
    {"log10", sb_log10_f32, log10l}, {"log1p", sb_log1p_f32, log1pl},
    {"sqrt", sb_sqrt_f32, sqrtl},    {"round", sb_round_f32, roundl},
    {"floor", sb_floor_f32, floorl}, {"ceil", sb_ceil_f32, ceill},
    {"trunc", sb_trunc_f32, truncl}, {"abs", sb_abs_f32, fabsl},
};

// How far a result is from the truth, in units of its last place. Beyond the finite ones the truth
// is what it rounds to.
static long double distance(float is, long double truth) {
    float rounded = (float)truth;
    if (isnan(rounded) || isinf(rounded))
        return isnan(rounded) ? !isnan(is) : is != rounded && fabsf(is) < 0x1.fffffep127f;
    if (truth == 0) return is != 0 || signbit(is) != signbit(rounded);
    int exponent = ilogbl(truth) - 23;
    return fabsl(is - truth) / ldexpl(1, exponent < -149 ? -149 : exponent);
}

static void units(void) {
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        long double most = 0;
        for (uint64_t bits = 0; bits >> 32 == 0; bits += STEP) {
            uint32_t low = (uint32_t)bits;
            float x;
            memcpy(&x, &low, sizeof x);
            long double away = distance(functions[f].ours(x), functions[f].theirs(x));
            if (away > most) most = away;
        }
        CHECK_SAYS(most < 0.5001L, "%s is %Lf units away", functions[f].name, most);
    }
}

static const UnitTest TESTS[] = {{"units", units}};

UNIT_MAIN("math_f32_test", TESTS)
