#include "stdlib/value/generic.h"
#include "tests/unit/unit.h"

#include <math.h>

static const SbType i32_type = {.kind = SB_I32, .size = 4, .align = 4};
static const SbType f64_type = {.kind = SB_F64, .size = 8, .align = 8};
static const SbType str_type = {.kind = SB_STR, .size = 16, .align = 8};
static const SbType maybe_i32 = {.kind = SB_I32, .nullable = 1, .size = 8, .align = 4,
                                 .valid_offset = 4};

static int32_t order_f64(double a, double b) {
    int32_t order = sb_compare(&f64_type, &a, &b);
    if (!order) CHECK(sb_hash_value(1, &f64_type, &a) == sb_hash_value(1, &f64_type, &b));
    return order;
}

static void floats_have_one_order(void) {
    CHECK(order_f64(NAN, -NAN) == 0);
    CHECK(order_f64(NAN, INFINITY) > 0 && order_f64(INFINITY, NAN) < 0);
    CHECK(order_f64(-0.0, 0.0) == 0);
    CHECK(order_f64(-1.0, 1.0) < 0 && order_f64(2.0, 1.0) > 0);
    SbType half = {.kind = SB_F16, .size = 2, .align = 2};
    uint16_t minus_one = 0xbc00, one = 0x3c00, nan = 0xfe00, inf = 0x7c00, minus_zero = 0x8000,
             zero = 0;
    CHECK(sb_compare(&half, &minus_one, &one) < 0 && sb_compare(&half, &nan, &inf) > 0);
    CHECK(sb_compare(&half, &minus_zero, &zero) == 0);
}

static void null_is_greatest_and_equal(void) {
    struct { int32_t value; uint8_t valid; } null_a = {5, 0}, null_b = {6, 0}, one = {1, 1};
    CHECK(sb_compare(&maybe_i32, &null_a, &null_b) == 0);
    CHECK(sb_compare(&maybe_i32, &null_a, &one) > 0 && sb_compare(&maybe_i32, &one, &null_a) < 0);
    CHECK(sb_hash_value(7, &maybe_i32, &null_a) == sb_hash_value(7, &maybe_i32, &null_b));
}

static void texts_compare_by_bytes(void) {
    SbStr a = {"abc", 3}, b = {"ab\xff", 3}, c = {"ab", 2}, none = {nullptr, 0};
    CHECK(sb_compare(&str_type, &a, &b) < 0 && sb_compare(&str_type, &c, &a) < 0);
    CHECK(sb_compare(&str_type, &none, &none) == 0 && sb_compare(&str_type, &none, &c) < 0);
}

static void nested_values_compare_in_order(void) {
    int32_t x[] = {1, 2, 3}, y[] = {1, 3}, z[] = {1, 2};
    SbList a = {x, 3}, b = {y, 2}, c = {z, 2};
    SbType list = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &i32_type};
    CHECK(sb_compare(&list, &a, &b) < 0 && sb_compare(&list, &a, &c) > 0);
    CHECK(sb_compare(&list, &a, &a) == 0);
    struct Row {
        double f;
        SbStr s;
    } p = {0.0, {"k", 1}}, q = {-0.0, {"k", 1}}, r = {0.0, {"l", 1}};
    SbField fields[] = {{.type = &f64_type, .offset = 0}, {.type = &str_type, .offset = 8}};
    SbType row = {.kind = SB_STRUCT, .size = 24, .align = 8, .fields = fields, .field_count = 2};
    CHECK(sb_compare(&row, &p, &q) == 0 && sb_compare(&row, &p, &r) < 0);
    char slack_p[SB_SLACK + 1] = "k", slack_q[SB_SLACK + 1] = "kx";
    p.s.ptr = slack_p, q.s.ptr = slack_q;
    CHECK(sb_hash_value(3, &row, &p) == sb_hash_value(3, &row, &q));
}

static void decimals_use_their_width(void) {
    SbType narrow = {.kind = SB_DECIMAL, .precision = 18, .size = 8, .align = 8};
    SbType wide = {.kind = SB_DECIMAL, .precision = 38, .size = 16, .align = 16};
    int64_t a = -5, b = 4;
    SbDecimal c = -((SbDecimal)1 << 100), d = (SbDecimal)1 << 100;
    CHECK(sb_compare(&narrow, &a, &b) < 0);
    CHECK(sb_compare(&wide, &c, &d) < 0 && sb_compare(&wide, &d, &d) == 0);
}

static const UnitTest tests[] = {
    {"floats_have_one_order", floats_have_one_order},
    {"null_is_greatest_and_equal", null_is_greatest_and_equal},
    {"texts_compare_by_bytes", texts_compare_by_bytes},
    {"nested_values_compare_in_order", nested_values_compare_in_order},
    {"decimals_use_their_width", decimals_use_their_width},
};

UNIT_MAIN("generic", tests)
