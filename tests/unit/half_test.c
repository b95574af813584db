// f16 and bf16: all 65,536 values of each, what lies between them, and their texts.
#include "ir/type.h"
#include "stdlib/number.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

typedef struct Half {
    const char *name;
    int         fraction, bias;
    uint16_t    nan;
    uint16_t  (*narrow)(double x);
    float     (*wide)(uint16_t bits);
    int32_t   (*read)(const char *ptr, int64_t len, uint16_t *out);
    char     *(*put)(char *out, float value);
    Type        type;
} Half;

static const Half HALVES[] = {
    {"f16", 10, 15, 0x7e00, sb_f64_f16, sb_f16_f32, sb_read_f16, sb_put_f16, {.kind = TYPE_F16}},
    {"bf16", 7, 127, 0x7fc0, sb_f64_bf16, sb_bf16_f32, sb_read_bf16, sb_put_bf16,
     {.kind = TYPE_BF16}},
};
enum { KINDS = sizeof HALVES / sizeof *HALVES, VALUES = 1 << 16 };

// By the definition of the type.
static double value_of(const Half *half, unsigned bits) {
    int all = 2 * half->bias + 1, stored = (int)(bits >> half->fraction) & all;
    int fraction = (int)bits & ((1 << half->fraction) - 1);
    double size = ldexp(fraction + (stored ? 1 << half->fraction : 0),
                        (stored ? stored : 1) - half->bias - half->fraction);
    if (stored == all) size = fraction ? (double)NAN : (double)INFINITY;
    return bits >> 15 ? -size : size;
}

static bool same(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void values(void) {
    for (int k = 0; k < KINDS; k++) {
        const Half *half = &HALVES[k];
        for (unsigned bits = 0; bits < VALUES; bits++) {
            double is = value_of(half, bits);
            CHECK_SAYS(same((double)half->wide((uint16_t)bits), is), "%s %x", half->name, bits);
            uint16_t back = half->narrow(is), want = isnan(is) ? half->nan : (uint16_t)bits;
            CHECK_SAYS(back == want, "%s %x comes back as %x", half->name, bits, back);
            CHECK_SAYS(same(type_round(&half->type, is), is), "%s %x is rounded", half->name, bits);
        }
    }
}

static void rounds_to(const Half *half, double x, unsigned bits) {
    CHECK_SAYS(half->narrow(x) == bits, "%s of %a is %x, not %x", half->name, x, half->narrow(x),
               bits);
    CHECK_SAYS(half->narrow(-x) == (bits | 0x8000), "%s of %a", half->name, -x);
    CHECK_SAYS(same(type_round(&half->type, x), value_of(half, bits)), "%s of %a", half->name, x);
}

// The middle between two goes to the even one, and what lies beside it to the nearer one: also
// where an f32 between would have gone to the middle itself.
static void middles(void) {
    for (int k = 0; k < KINDS; k++) {
        const Half *half = &HALVES[k];
        unsigned infinity = (unsigned)(2 * half->bias + 1) << half->fraction;
        for (unsigned bits = 0; bits < infinity; bits++) {
            double low = value_of(half, bits), high = value_of(half, bits + 1);
            if (bits + 1 == infinity) high = ldexp(1, half->bias + 1);
            double middle = (low + high) / 2;
            rounds_to(half, middle, bits + (bits & 1));
            rounds_to(half, nextafter(middle, 0), bits);
            rounds_to(half, nextafter(middle, (double)INFINITY), bits + 1);
        }
        rounds_to(half, (double)INFINITY, infinity);
        rounds_to(half, 1e300, infinity);
        rounds_to(half, 1e-300, 0);
    }
}

static void any_number(void) {
    for (int i = 0; i < 2'000'000; i++) {
        uint64_t bits = random_u64();
        double x;
        memcpy(&x, &bits, sizeof x);
        if (i % 2) x = ldexp(x - floor(x), (int)(bits % 320) - 160);
        for (int k = 0; k < KINDS; k++) {
            double is = value_of(&HALVES[k], HALVES[k].narrow(x));
            CHECK_SAYS(same(is, type_round(&HALVES[k].type, x)), "%s of %a", HALVES[k].name, x);
        }
    }
}

// What reads back, with no digit that could be left out.
static void texts(void) {
    for (int k = 0; k < KINDS; k++) {
        const Half *half = &HALVES[k];
        for (unsigned bits = 0; bits < VALUES; bits++) {
            char text[SB_NUMBER_MAX + SB_SLACK] = {}, fewer[40 + SB_SLACK] = {};
            float is = half->wide((uint16_t)bits);
            int64_t len = half->put(text, is) - text;
            uint16_t back = 0;
            CHECK_SAYS(half->read(text, len, &back) == SB_OK && back == half->narrow((double)is),
                       "%s %x as %s", half->name, bits, text);
            int digits = 0, used = 0;
            for (const char *at = text; *at && *at != 'e'; at++) {
                if (*at < '0' || *at > '9' || (*at == '0' && !digits)) continue;
                digits++;
                if (*at != '0') used = digits;
            }
            if (used < 2 || !isfinite(is)) continue;
            snprintf(fewer, 40, "%.*e", used - 2, (double)is);
            int32_t status = half->read(fewer, (int64_t)strlen(fewer), &back);
            CHECK_SAYS(status != SB_OK || back != bits, "%s %x: %s is longer than %s", half->name,
                       bits, text, fewer);
        }
    }
}

// A text is rounded once: a middle with one more digit far after it is no middle.
static void long_texts(void) {
    static const struct { const char *text; uint16_t f16; } cases[] = {
        {"1.00048828125", 0x3c00}, {"1.000488281250000000000000000000000001", 0x3c01},
        {"1.00146484375", 0x3c02}, {"1.001464843749999999999999999999999999", 0x3c01},
        {"65519.99999999999999999", 0x7bff}, {"2.98023223876953125e-8", 0x0000},
        {"2.980232238769531250000000000000001e-8", 0x0001}, {"-0", 0x8000}, {"Infinity", 0x7c00},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64 + SB_SLACK] = {};
        uint16_t bits = 0;
        memcpy(text, cases[i].text, strlen(cases[i].text));
        CHECK_SAYS(sb_read_f16(text, (int64_t)strlen(text), &bits) == SB_OK && bits == cases[i].f16,
                   "%s is %x", text, bits);
    }
    uint16_t bits;
    char large[16 + SB_SLACK] = "65520", comma[16 + SB_SLACK] = "0,5";
    CHECK(sb_read_f16(large, 5, &bits) == SB_FAULT_OUT_OF_RANGE);
    CHECK(sb_read_bf16(large, 5, &bits) == SB_OK && bits == 0x4780);
    CHECK(sb_read_bf16_point(comma, 3, ',', &bits) == SB_OK && bits == 0x3f00);
}

static const UnitTest TESTS[] = {
    {"values", values}, {"middles", middles}, {"any_number", any_number},
    {"texts", texts},   {"long_texts", long_texts},
};

UNIT_MAIN("half_test", TESTS)
