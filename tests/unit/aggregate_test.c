// Aggregates: exact sums against other orders and wide arithmetic, the rest against plain loops.
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/aggregate/approx.h"
#include "stdlib/number/decimal.h"
#include "tests/unit/random.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

static bool same(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static double sum_of(const double *values, size_t count) {
    SbCall *call = scratch();
    SbExactSum sum = {};
    for (size_t i = 0; i < count; i++) CHECK(sb_sum_f64_add(call, &sum, values[i]) == SB_OK);
    return sb_sum_f64_end(call, &sum);
}

#define SUM(...)                                                                                   \
    sum_of((const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static void exact_sums(void) {
    CHECK(same(SUM(0.1, 0.2, 0.3), 0.6) && same(SUM(1e16, 1, -1e16), 1));
    CHECK(same(SUM(1e308, 1e308, -1e308, -1e308), 0) && same(SUM(1e308, 1e308), INFINITY));
    CHECK(same(SUM(1e308, 1e308, -1e308), 1e308) && same(SUM(5e-324, 5e-324), 1e-323));
    CHECK(same(SUM(1e300, 5e-324, -1e300), 5e-324) &&
          same(SUM(-1e-300, 1e-310), -9.999999999e-301));
    CHECK(same(SUM(0x1p53, 1, 0x1p-1074), 0x1.0000000000001p53) && same(SUM(0x1p53, 1), 0x1p53));
    CHECK(same(SUM(0x1p53, 3), 0x1.0000000000002p53) && same(SUM(-0.0), 0) &&
          same(SUM(INFINITY, 1), INFINITY));
    CHECK(same(SUM(INFINITY, -INFINITY), NAN) && same(SUM(NAN, 1), NAN) &&
          same(SUM(-INFINITY), -INFINITY));
    CHECK(same(SUM(0x1p46, 0x1p46, 0x1p46, -0x1p-80), 0x3p46) &&
          same(SUM(2.2250738585072014e-308, -5e-324), 0x1.ffffffffffffep-1023));
    CHECK(same(SUM(1.7976931348623157e308, 9.9792015476735990e291), INFINITY));
    CHECK(same(SUM(1.7976931348623157e308, 9.9792015476735972e291), 1.7976931348623157e308));
}

// A random value; kinds of magnitudes that stay in the window, and all floats.
static double random_value(int kind) {
    uint64_t bits = random_u64();
    if (kind == 0) return (double)(int64_t)(bits % 2000000) / 100 - 5000;
    if (kind == 1) return ldexp((double)(int64_t)bits, -(int)(random_u64() % 160));
    bits &= ~(UINT64_C(1) << 62);  // No infinities, and room for a sum.
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The same sum in other orders and spread over states; then what is left after taking it away.
static void any_order(void) {
    enum { COUNT = 300 };
    for (int round = 0; round < 300; round++) {
        double values[COUNT];
        for (int i = 0; i < COUNT; i++) values[i] = random_value(round % 3);
        double sum = sum_of(values, COUNT);
        SbCall *call = scratch();
        SbExactSum states[4] = {}, all = {};
        for (int i = COUNT - 1; i >= 0; i--)
            sb_sum_f64_add(call, &states[random_u64() % 4], values[i]);
        for (int i = 0; i < 4; i++) CHECK(sb_sum_f64_merge(call, &all, &states[i]) == SB_OK);
        CHECK_SAYS(same(sb_sum_f64_end(call, &all), sum), "%a, not %a", sb_sum_f64_end(call, &all),
                   sum);
        CHECK(all.count == COUNT);
        // The rounded sum and the rest: |rest| <= half an ulp.
        sb_sum_f64_add(call, &all, -sum);
        double rest = sb_sum_f64_end(call, &all), ulp = nextafter(fabs(sum), INFINITY) - fabs(sum);
        CHECK_SAYS(fabs(rest) <= ulp / 2, "%a left of %a", rest, sum);
        for (int i = 0; i < COUNT; i++) sb_sum_f64_add(call, &all, -values[i]);
        sb_sum_f64_add(call, &all, sum);
        CHECK(same(sb_sum_f64_end(call, &all), 0));
    }
}

// Many additions to one wide chunk: carries are passed on in time.
static void many_carries(void) {
    SbCall *call = scratch();
    SbWide *wide = sb_wide_new(call, SB_WIDE_CHUNKS);
    wide->pending = (1 << 30) - 3;
    SbExactSum sum = {.wide = wide};
    for (int i = 0; i < 100; i++) sb_sum_f64_add(call, &sum, -0x1.fffffffffffffp200);
    CHECK(same(sb_sum_f64_end(call, &sum), -100 * 0x1.fffffffffffffp200));
    SbExactSum other = {};
    for (int i = 0; i < 100; i++) sb_sum_f64_merge(call, &other, &sum);
    CHECK(same(sb_sum_f64_end(call, &other), -1e4 * 0x1.fffffffffffffp200));
}

static void integers(void) {
    SbIntegerSum sum = {}, other = {};
    int64_t out = 1;
    uint64_t unsigned_out = 1;
    double mean = 0;
    CHECK(sb_sum_i64_end(&sum, &out) == SB_OK && out == 0 &&
          sb_mean_i64_end(&sum, &mean) == SB_NULL);
    sb_sum_i64_add(&sum, INT64_MAX);
    sb_sum_i64_add(&sum, 1);
    CHECK(sb_sum_i64_end(&sum, &out) == SB_FAULT_OVERFLOW);
    sb_sum_i64_add(&other, -1);
    sb_sum_i64_merge(&sum, &other);
    CHECK(sb_sum_i64_end(&sum, &out) == SB_OK && out == INT64_MAX && sum.count == 3);
    CHECK(sb_mean_i64_end(&sum, &mean) == SB_OK && same(mean, 0x1p63 / 3));
    sum = (SbIntegerSum){};
    sb_sum_u64_add(&sum, UINT64_MAX);
    CHECK(sb_sum_u64_end(&sum, &unsigned_out) == SB_OK && unsigned_out == UINT64_MAX);
    sb_sum_u64_add(&sum, 1);
    CHECK(sb_sum_u64_end(&sum, &unsigned_out) == SB_FAULT_OVERFLOW);
    sum = (SbIntegerSum){};
    sb_mean_duration_add(&sum, -1);
    sb_mean_duration_add(&sum, -2);
    CHECK(sb_mean_duration_end(&sum, &out) == SB_OK && out == -2);
}

static void decimals(void) {
    SbDecimalSum sum = {}, other = {};
    SbDecimal big = sb_decimal_tens(38) - 1, out = 0;
    for (int i = 0; i < 5; i++) sb_sum_decimal_add(&sum, big);
    CHECK(sb_sum_decimal_end(&sum, &out) == SB_FAULT_OVERFLOW);
    for (int i = 0; i < 4; i++) sb_sum_decimal_add(&other, -big);
    sb_sum_decimal_merge(&sum, &other);
    CHECK(sb_sum_decimal_end(&sum, &out) == SB_OK && out == big && sum.count == 9);
    const SbType cents = {.kind = SB_DECIMAL, .precision = 38, .scale = 2};
    double mean = 0;
    sum = (SbDecimalSum){};
    CHECK(sb_mean_decimal_end(&sum, &cents, &mean) == SB_NULL);
    sb_mean_decimal_add(&sum, &cents, 110);
    sb_mean_decimal_add(&sum, &cents, 220);
    CHECK(sb_mean_decimal_end(&sum, &cents, &mean) == SB_OK && same(mean, 1.65));
}

static void extremes(void) {
    SbExtreme_f64 low = {}, high = {};
    double out = 0;
    CHECK(sb_min_f64_end(&low, &out) == SB_NULL);
    sb_min_f64_add(&low, NAN);
    CHECK(sb_min_f64_end(&low, &out) == SB_OK && isnan(out));
    sb_min_f64_add(&low, 3);
    sb_min_f64_add(&low, NAN);
    sb_min_f64_add(&low, -0.0);
    CHECK(sb_min_f64_end(&low, &out) == SB_OK && same(out, 0.0));
    sb_max_f64_add(&high, -INFINITY);
    sb_max_f64_add(&high, 2);
    CHECK(sb_max_f64_end(&high, &out) == SB_OK && same(out, 2));
    sb_max_f64_add(&high, NAN);
    sb_max_f64_add(&high, INFINITY);
    CHECK(sb_max_f64_end(&high, &out) == SB_OK && isnan(out));
    SbExtreme_i8 small = {};
    int8_t value = 0;
    sb_min_i8_add(&small, INT8_MAX);
    sb_min_i8_add(&small, INT8_MIN);
    CHECK(sb_min_i8_end(&small, &value) == SB_OK && value == INT8_MIN);
}

// A view of the text with SB_SLACK bytes behind, of the last few calls.
static SbStr str(const char *text) {
    static char ring[16][256];
    static unsigned next;
    char *bytes = ring[next++ % 16];
    snprintf(bytes, 256 - SB_SLACK, "%s", text);
    return (SbStr){bytes, (int64_t)strlen(bytes)};
}

static void texts(void) {
    SbCall *call = scratch();
    SbExtremeStr low = {}, high = {}, other = {};
    SbStr out;
    CHECK(sb_max_str_end(call, &high, &out) == SB_NULL);
    const char *words[] = {"pear", "apple", "",
                           "zebra with a name that is longer than thirty-two bytes", "appl"};
    for (size_t i = 0; i < 5; i++) {
        sb_min_str_add(call, i & 1 ? &low : &other, str(words[i]));
        sb_max_str_add(call, &high, str(words[i]));
    }
    sb_min_str_merge(call, &low, &other);
    CHECK(sb_min_str_end(call, &low, &out) == SB_OK && out.len == 0);
    CHECK(sb_max_str_end(call, &high, &out) == SB_OK && out.len == (int64_t)strlen(words[3]) &&
          memcmp(out.ptr, words[3], (size_t)out.len) == 0);
}

static const SbType I64 = {.kind = SB_I64, .size = 8, .align = 8},
                    F64 = {.kind = SB_F64, .size = 8, .align = 8},
                    STR = {.kind = SB_STR, .size = 16, .align = 8};

static void values(void) {
    SbCall *call = scratch();
    SbKept first = {}, last = {}, other = {};
    int64_t out = 0;
    CHECK(sb_first_end(call, &first, &I64, &out) == SB_NULL);
    for (int64_t i = 0; i < 10; i++) {
        int64_t x = (i * 7 + 3) % 10;  // Also its order.
        sb_first_add(call, i & 1 ? &first : &other, (uint64_t)x + 5, &I64, &x);
        sb_last_add(call, &last, (uint64_t)x + 5, &I64, &x);
    }
    sb_first_merge(call, &first, &I64, &other);
    CHECK(sb_first_end(call, &first, &I64, &out) == SB_OK && out == 0);
    CHECK(sb_last_end(call, &last, &I64, &out) == SB_OK && out == 9);
    SbArgState least = {}, most = {};
    const char *names[] = {"b", "a", "c", "a"};
    for (int64_t i = 3; i >= 0; i--) {
        sb_arg_min_str_add(call, &least, (uint64_t)i, &I64, &i, str(names[i]));
        sb_arg_max_f64_add(call, &most, (uint64_t)i, &I64, &i, i == 2 ? (double)NAN : 1e9);
    }
    CHECK(sb_arg_min_str_end(call, &least, &I64, &out) == SB_OK && out == 1);
    CHECK(sb_arg_max_f64_end(call, &most, &I64, &out) == SB_OK && out == 2);
}

static void distinct_and_mode(void) {
    SbCall *call = scratch();
    SbAnySet one = {}, two = {};
    SbStr out;
    CHECK(sb_count_distinct_end(call, &one, &STR) == 0 &&
          sb_mode_end(call, &(SbDistinct){}, &STR, &out) == SB_NULL);
    for (int i = 0; i < 5000; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i * i % 1000);
        SbStr x = str(text);
        CHECK(sb_count_distinct_add(call, i & 1 ? &one : &two, &STR, &x) == SB_OK);
    }
    CHECK(sb_count_distinct_merge(call, &one, &STR, &two) == SB_OK);
    CHECK(sb_count_distinct_end(call, &one, &STR) == 159);  // Squares modulo 1000.
    SbDistinct mode = {};
    const char *words[] = {"b", "a", "c", "b", "a"};
    for (int i = 0; i < 5; i++) {
        SbStr x = str(words[i]);
        sb_mode_add(call, &mode, (uint64_t)(i < 2 ? 1 - i : i), &STR, &x);  // "a" is the first row.
    }
    CHECK(sb_mode_end(call, &mode, &STR, &out) == SB_OK && out.len == 1 && out.ptr[0] == 'a');
}

// Words of all sizes through the typed functions and the generic one; both parts hold the same.
static void distinct_words(void) {
    SbCall *call = scratch();
    SbWordSet one = {}, two = {};
    SbAnySet any = {};
    for (uint64_t i = 0; i < 6000; i++) {
        uint64_t x = i % 1000 * UINT64_C(0x100000000);  // 0 too; low bits are all equal.
        CHECK(sb_count_distinct_u64_add(call, i & 1 ? &one : &two, x) == SB_OK);
        CHECK(sb_count_distinct_add(call, &any, &I64, &x) == SB_OK);
    }
    CHECK(sb_count_distinct_u64_end(call, &one) == 500 && one.has_zero + two.has_zero == 1);
    CHECK(sb_count_distinct_u64_merge(call, &one, &two) == SB_OK);
    CHECK(sb_count_distinct_u64_merge(call, &one, &two) == SB_OK);
    CHECK(sb_count_distinct_u64_end(call, &one) == 1000);
    CHECK(sb_count_distinct_end(call, &any, &I64) == 1000);
    CHECK(2 * (one.used - 1) <= one.room);
    SbWordSet signs = {};
    const int64_t signs_of[] = {INT64_MIN, -1, 0, 1, INT64_MAX, 0, -1};
    for (size_t i = 0; i < sizeof signs_of / sizeof *signs_of; i++)
        CHECK(sb_count_distinct_i64_add(call, &signs, signs_of[i]) == SB_OK);
    CHECK(sb_count_distinct_i64_end(call, &signs) == 5);
}

// Words that most often differ are listed; repeats come alone, in runs, and in rounds.
static void distinct_listed(void) {
    enum : uint64_t { ROWS = 60'000, OTHERS = 20'000 };
    const uint64_t periods[] = {ROWS, ROWS / 2, OTHERS, 9000, 8193, 100};
    for (size_t p = 0; p < sizeof periods / sizeof *periods; p++) {
        SbCall *call = scratch();
        SbWordSet parts[3] = {}, all = {};
        for (uint64_t i = 0; i < ROWS; i++)
            CHECK(sb_count_distinct_u64_add(call, &parts[i % 3], i % periods[p]) == SB_OK);
        if (p == 0) CHECK(parts[0].list_room > 0 && parts[0].room == 0);
        for (size_t i = 0; i < 3; i++)
            CHECK(sb_count_distinct_u64_merge(call, &all, &parts[i]) == SB_OK);
        CHECK(sb_count_distinct_u64_end(call, &all) == (int64_t)periods[p]);
        CHECK(sb_count_distinct_u64_end(nullptr, &all) == (int64_t)periods[p]);
        // Most are known now: rows look them up again.
        for (uint64_t i = 0; i < 4 * ROWS; i++)
            CHECK(sb_count_distinct_u64_add(call, &all, i % OTHERS) == SB_OK);
        CHECK(all.room > 0 && all.list_room == 0);
        int64_t most = (int64_t)(periods[p] > OTHERS ? periods[p] : OTHERS);
        CHECK(sb_count_distinct_u64_end(call, &all) == most);
    }
}

static void distinct_floats(void) {
    SbCall *call = scratch();
    const double values[] = {0.0, -0.0, __builtin_nan(""), -__builtin_nan("1"), 1.0, -1.0,
                             __builtin_inf(), -__builtin_inf(), 1.0};
    SbWordSet one = {}, none = {};
    SbAnySet any = {}, copy = {};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        CHECK(sb_count_distinct_f64_add(call, &one, values[i]) == SB_OK);
        CHECK(sb_count_distinct_add(call, &any, &F64, &values[i]) == SB_OK);
    }
    CHECK(sb_count_distinct_f64_merge(call, &none, &one) == SB_OK);
    CHECK(sb_count_distinct_f64_end(call, &none) == 6);
    CHECK(sb_count_distinct_merge(call, &copy, &F64, &any) == SB_OK);
    CHECK(sb_count_distinct_end(call, &copy, &F64) == 6);
}

// Empty, at both sides of what a slot holds, huge; texts that differ in their last byte only.
static void distinct_texts(void) {
    enum { HUGE = 100000 };
    SbCall *call = scratch();
    static char huge[HUGE + SB_SLACK];
    memset(huge, 'x', HUGE);
    SbTextSet one = {}, two = {};
    const int64_t lengths[] = {0, 1, 7, 8, 9, 15, 16, 17, 24, 4096, HUGE};
    int64_t count = sizeof lengths / sizeof *lengths;
    for (int64_t i = 0; i < count * 4; i++) {
        int64_t len = lengths[i % count];
        huge[len ? len - 1 : 0] = i / count & 1 ? 'y' : 'x';
        CHECK(sb_count_distinct_str_add(call, i & 1 ? &one : &two, (SbStr){huge, len}) == SB_OK);
        huge[len ? len - 1 : 0] = 'x';
    }
    CHECK(sb_count_distinct_str_merge(call, &one, &two) == SB_OK);
    CHECK(sb_count_distinct_str_end(call, &one) == 2 * count - 1);
}

static void collected(void) {
    SbCall *call = scratch();
    SbCollected one = {}, two = {};
    SbList out = {};
    CHECK(sb_collect_end(call, &one, &STR, &out) == SB_NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t order = i * 7919 % 1000;
        char text[8];
        snprintf(text, sizeof text, "%d", (int)order);
        SbStr x = str(text);
        CHECK(sb_collect_add(call, i % 3 ? &one : &two, order, &STR, &x) == SB_OK);
    }
    CHECK(sb_collect_merge(call, &one, &STR, &two) == SB_OK);
    CHECK(sb_collect_end(call, &one, &STR, &out) == SB_OK && out.len == 1000);
    int bad = 0;
    for (int64_t i = 0; i < out.len; i++) {
        SbStr text = ((const SbStr *)out.ptr)[i];
        char want[8];
        snprintf(want, sizeof want, "%d", (int)i);
        bad += text.len != (int64_t)strlen(want) || memcmp(text.ptr, want, (size_t)text.len) != 0;
    }
    CHECK(bad == 0);
}

static void joined(void) {
    SbCall *call = scratch();
    SbCollected one = {}, two = {};
    SbStr out = {}, comma = str(", "), nothing = str(""), texts[] = {str("b"), nothing, str("cc")};
    CHECK(sb_string_agg_end(call, &one, &STR, comma, &out) == SB_NULL);
    CHECK(sb_string_agg_add(call, &one, 7, &STR, nothing) == SB_OK);
    CHECK(sb_string_agg_end(call, &one, &STR, comma, &out) == SB_OK && out.len == 0);
    for (uint64_t i = 0; i < 3; i++)
        CHECK(sb_string_agg_add(call, &two, 6 - i, &STR, texts[i]) == SB_OK);
    CHECK(sb_string_agg_merge(call, &one, &STR, &two) == SB_OK);
    CHECK(sb_string_agg_end(call, &one, &STR, comma, &out) == SB_OK && out.len == 9);
    CHECK(memcmp(out.ptr, "cc, , b, ", 9) == 0);
    CHECK(sb_string_agg_end(call, &one, &STR, nothing, &out) == SB_OK && out.len == 3);
}

static void quantiles(void) {
    SbCall *call = scratch();
    SbSample sample = {}, other = {};
    double out = 0;
    CHECK(sb_median_f64_end(call, &sample, &out) == SB_NULL);
    for (int i = 0; i < 101; i++)
        sb_quantile_f64_add(call, i % 2 ? &sample : &other, (double)(i * 37 % 101) - 50);
    sb_quantile_f64_merge(call, &sample, &other);
    CHECK(sb_quantile_f64_end(call, &sample, 0, &out) == SB_OK && same(out, -50));
    CHECK(sb_quantile_f64_end(call, &sample, 1, &out) == SB_OK && same(out, 50));
    CHECK(sb_quantile_f64_end(call, &sample, 0.25, &out) == SB_OK && same(out, -25));
    CHECK(sb_quantile_f64_end(call, &sample, 0.255, &out) == SB_OK && same(out, -25 + 0.5));
    CHECK(sb_median_f64_end(call, &sample, &out) == SB_OK && same(out, 0));
    CHECK(sb_quantile_f64_end(call, &sample, 1.5, &out) == SB_FAULT_BAD_ARGUMENT);
    SbSample two = {};
    sb_median_i64_add(call, &two, 4);
    sb_median_i64_add(call, &two, 1);
    CHECK(sb_median_i64_end(call, &two, &out) == SB_OK && same(out, 2.5));
    sb_median_f64_add(call, &two, INFINITY);
    sb_median_f64_add(call, &two, INFINITY);
    CHECK(sb_quantile_f64_end(call, &two, 1, &out) == SB_OK && same(out, INFINITY));
}

// Far apart, the whole numbers have more digits than a float.
static void quantiles_of_times(void) {
    SbCall *call = scratch();
    SbSample far = {}, odd = {}, minus = {}, tiny = {};
    int64_t out = 0;
    CHECK(sb_median_timestamp_end(call, &far, nullptr, &out) == SB_NULL);
    sb_quantile_timestamp_add(call, &far, nullptr, INT64_MIN);
    sb_quantile_timestamp_add(call, &far, nullptr, INT64_MAX);
    CHECK(sb_median_timestamp_end(call, &far, nullptr, &out) == SB_OK && out == -1);
    CHECK(sb_median_duration_end(call, &far, &out) == SB_OK && out == -1);  // -0.5.
    CHECK(sb_quantile_timestamp_end(call, &far, nullptr, 0.25, &out) == SB_OK &&
          out == -4611686018427387905);
    CHECK(sb_quantile_timestamp_end(call, &far, nullptr, 1, &out) == SB_OK && out == INT64_MAX);
    CHECK(sb_quantile_timestamp_end(call, &far, nullptr, 2, &out) == SB_FAULT_BAD_ARGUMENT);
    for (int64_t i = 0; i < 2; i++) {
        sb_quantile_duration_add(call, &odd, 9007199254740993 + 1000 * i);
        sb_quantile_duration_add(call, &minus, -3 + i);
        sb_quantile_duration_add(call, &tiny, 7 * i);
    }
    CHECK(sb_median_duration_end(call, &odd, &out) == SB_OK && out == 9007199254741493);
    CHECK(sb_median_duration_end(call, &minus, &out) == SB_OK && out == -3);  // -2.5.
    CHECK(sb_quantile_duration_end(call, &minus, 0.6, &out) == SB_OK && out == -2);
    CHECK(sb_quantile_timestamp_end(call, &minus, nullptr, 0.6, &out) == SB_OK && out == -3);
    CHECK(sb_quantile_duration_end(call, &tiny, 5e-324, &out) == SB_OK && out == 0);
    CHECK(sb_quantile_duration_end(call, &tiny, 1e-30, &out) == SB_OK && out == 0);
    CHECK(sb_median_duration_end(call, &tiny, &out) == SB_OK && out == 4);
}

// Any order and any merges give the same instants, exact for few of them and near for many.
static void quantiles_of_spans(void) {
    enum : int64_t { MANY = 20000, STEP = 86399999983 };
    SbCall *call = scratch();
    for (int64_t count = 1; count <= MANY; count = count < 1000 ? count * 1001 : count * 20 - 19) {
        SbBuckets one = {}, parts[3] = {}, all = {};
        for (int64_t i = 0; i < count; i++) {
            int64_t x = i * STEP - count * STEP / 2, y = (count - 1 - i) * STEP - count * STEP / 2;
            CHECK(sb_approx_quantile_timestamp_add(call, &one, nullptr, x) == SB_OK);
            SbBuckets *part = &parts[i < 500 ? 0 : 1 + i % 2];
            CHECK(sb_approx_quantile_timestamp_add(call, part, nullptr, y) == SB_OK);
        }
        for (int i = 0; i < 3; i++)
            CHECK(sb_approx_quantile_timestamp_merge(call, &all, nullptr, &parts[i]) == SB_OK);
        for (int q = 0; q <= 20; q++) {
            int64_t x = 0, y = 1, at = (int64_t)(q / 20.0 * (double)(count - 1));
            CHECK(sb_approx_quantile_timestamp_end(call, &one, nullptr, q / 20.0, &x) == SB_OK);
            CHECK(sb_approx_quantile_timestamp_end(call, &all, nullptr, q / 20.0, &y) == SB_OK);
            int64_t off = x - (at * STEP - count * STEP / 2);
            int64_t most = count <= 1001 || q % 20 == 0 ? 0 : (count - 1) * STEP / 1000;
            CHECK_SAYS(x == y && off <= most && -off <= most, "%d of %d: %lld", q, (int)count,
                       (long long)off);
        }
    }
    SbBuckets empty = {};
    int64_t out = 0;
    CHECK(sb_approx_quantile_timestamp_end(call, &empty, nullptr, 0.5, &out) == SB_NULL);
    CHECK(sb_approx_quantile_duration_add(call, &empty, INT64_MAX) == SB_OK);
    CHECK(sb_approx_quantile_duration_end(call, &empty, 0.5, &out) == SB_OK && out == INT64_MAX);
}

static double variance_of(const double *x, size_t count) {
    SbCall *call = scratch();
    SbSpread one = {}, two = {};
    double out = -1;
    for (size_t i = 0; i < count; i++)
        CHECK(sb_variance_add(call, i % 3 ? &one : &two, x[i]) == SB_OK);
    CHECK(sb_variance_merge(call, &two, &one) == SB_OK);
    return sb_variance_end(call, &two, &out) == SB_OK ? out : -1;
}

#define VARIANCE(...)                                                                              \
    variance_of((const double[]){__VA_ARGS__},                                                     \
                sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static void spread(void) {
    CHECK(VARIANCE(1) == -1 && same(VARIANCE(1, 2, 3, 4), 5.0 / 3) && same(VARIANCE(7, 7, 7), 0));
    CHECK(same(VARIANCE(1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16), 30));
    CHECK(
        same(VARIANCE(0.1, 0.2, 0.4), 0.023333333333333334));  // Of the floats, by exact fractions.
    CHECK(same(VARIANCE(1e200, 0), INFINITY) && same(VARIANCE(0x1p100, 0), 0x1p199) &&
          same(VARIANCE(0x1p-300, 0), 0x1p-601) && same(VARIANCE(0x1p-530, 0), 0x1p-1061));
    CHECK(same(VARIANCE(-0x1p100, 0x1p100, 0x1p-300), 0x1p200) && isnan(VARIANCE(INFINITY, 1)));
    double x[64];
    for (int i = 0; i < 64; i++) x[i] = 1e15 + (i & 1);
    CHECK(same(variance_of(x, 64), 16.0 / 63));
    SbCall *call = scratch();
    SbSpread state = {};
    double out = 0;
    sb_stddev_add(call, &state, 1);
    sb_stddev_add(call, &state, 5);
    CHECK(sb_stddev_end(call, &state, &out) == SB_OK && same(out, sqrt(8)));
}

// One of three states takes each pair; they are merged in an order that goes round with `turn`.
static SbPairs pairs_of(const double *x, const double *y, size_t count, size_t turn) {
    SbCall *call = scratch();
    SbPairs parts[3] = {}, all = {};
    for (size_t i = 0; i < count; i++)
        CHECK(sb_corr_add(call, &parts[(i + turn) % 3], x[i], y[i]) == SB_OK);
    for (size_t i = 0; i < 3; i++) {
        const SbPairs *part = &parts[(i + turn) % 3];
        CHECK(sb_corr_merge(call, &all, part) == SB_OK);
    }
    return all;
}

static double corr_of(const double *x, const double *y, size_t count) {
    double out[3] = {};
    for (size_t turn = 0; turn < 3; turn++) {
        SbPairs state = pairs_of(x, y, count, turn);
        if (sb_corr_end(scratch(), &state, &out[turn]) != SB_OK) out[turn] = -2;
    }
    CHECK(isnan(out[0]) || (same(out[0], out[1]) && same(out[0], out[2])));
    return out[0];
}

static double covar_of(const double *x, const double *y, size_t count) {
    SbPairs state = pairs_of(x, y, count, 1);
    double out = -2;
    return sb_covar_samp_end(scratch(), &state, &out) == SB_OK ? out : -2;
}

static void pairs(void) {
    enum { COUNT = 4 };
    const double x[COUNT] = {1, 2, 3, 5}, down[COUNT] = {-1, -2, -3, -5}, one[COUNT] = {7, 7, 7, 7};
    const double big[COUNT] = {1e300, 2e300, -1e308, 1.5e308}, mixed[COUNT] = {3, 1, -4, 1};
    const double small[COUNT] = {1e-300, 0x1p-1074, -3e-308, 2e-300};
    double most[COUNT], least[COUNT];
    for (int i = 0; i < COUNT; i++) most[i] = x[i] * 0x1p1000, least[i] = mixed[i] * 0x1p-1070;
    CHECK(same(corr_of(x, x, COUNT), 1) && same(corr_of(x, down, COUNT), -1));
    CHECK(corr_of(x, one, COUNT) == -2 && corr_of(x, x, 1) == -2 && covar_of(x, x, 1) == -2);
    CHECK(same(corr_of(big, big, COUNT), 1) && same(corr_of(small, small, COUNT), 1));
    CHECK(same(corr_of(most, least, COUNT), corr_of(x, mixed, COUNT)));
    CHECK(same(covar_of(most, least, COUNT), covar_of(x, mixed, COUNT) * 0x1p-70));
    CHECK(same(covar_of(x, one, COUNT), 0) && same(covar_of(big, big, COUNT), INFINITY));
    CHECK(same(covar_of(big, (const double[]){-1e300, 0, 1e308, 0}, COUNT), -INFINITY));
    CHECK(isnan(corr_of((const double[]){1, INFINITY}, x, 2)));
    CHECK(isnan(covar_of(x, (const double[]){1, NAN}, 2)));
}

// All is exact until one rounding: powers of two change nothing but the exponent, wherever products
// come to lie.
static void powers_of_two(void) {
    enum { COUNT = 40, POWER_MAX = 200, ODD_TURNS = 7 };
    double x[COUNT], y[COUNT], wide[COUNT], tall[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = i % ODD_TURNS ? (double)(int64_t)random_u64() * 0x1p-60 : 0;
        y[i] = i % 3 ? (double)(int32_t)random_u64() : 0x1p-20 * i;
    }
    double spread = variance_of(x, COUNT), both = covar_of(x, y, COUNT);
    double like = corr_of(x, y, COUNT);
    for (int power = -POWER_MAX; power <= POWER_MAX; power++) {
        for (int i = 0; i < COUNT; i++) {
            wide[i] = ldexp(x[i], power);
            tall[i] = ldexp(y[i], 3 * power / 2);
        }
        CHECK(same(variance_of(wide, COUNT), ldexp(spread, 2 * power)));
        CHECK(same(covar_of(wide, tall, COUNT), ldexp(both, power + 3 * power / 2)));
        CHECK(same(corr_of(wide, tall, COUNT), like));
    }
}

static int64_t product_of(const int64_t *x, size_t count) {
    SbProduct one = {}, two = {};
    int64_t out = -99;
    for (size_t i = 0; i < count; i++) sb_product_i64_add(i % 2 ? &one : &two, x[i]);
    sb_product_i64_merge(&one, &two);
    return sb_product_i64_end(&one, &out) == SB_OK ? out : -99;
}

static void products(void) {
    const int64_t least = INT64_MIN, half = INT64_C(1) << 62, most = INT64_MAX;
    CHECK(product_of(nullptr, 0) == 1 && product_of((const int64_t[]){2, -3, 7}, 3) == -42);
    CHECK(product_of(&least, 1) == least && product_of((const int64_t[]){least, -1}, 2) == -99);
    CHECK(product_of((const int64_t[]){half, -2}, 2) == least);
    CHECK(product_of((const int64_t[]){half, 2}, 2) == -99);
    CHECK(product_of((const int64_t[]){most, most, most, most, 1}, 5) == -99);
    CHECK(product_of((const int64_t[]){most, 0, most, most, least}, 5) == 0);
    SbProduct state = {};
    uint64_t out = 0;
    sb_product_u64_add(&state, UINT64_MAX);
    sb_product_u64_add(&state, 1);
    CHECK(sb_product_u64_end(&state, &out) == SB_OK && out == UINT64_MAX);
    sb_product_u64_add(&state, 2);
    CHECK(sb_product_u64_end(&state, &out) == SB_FAULT_OVERFLOW);
}

static void bools(void) {
    uint8_t any = 0, all = 0;
    bool out = true;
    CHECK(sb_any_end(&any, &out) == SB_NULL && sb_all_end(&all, &out) == SB_NULL);
    sb_any_add(&any, false);
    sb_all_add(&all, true);
    CHECK(sb_any_end(&any, &out) == SB_OK && !out && sb_all_end(&all, &out) == SB_OK && out);
    sb_any_merge(&any, &all);
    sb_all_merge(&all, &any);
    CHECK(sb_any_end(&any, &out) == SB_OK && out && sb_all_end(&all, &out) == SB_OK && !out);
}

static const UnitTest TESTS[] = {
    {"exact_sums", exact_sums}, {"any_order", any_order}, {"many_carries", many_carries},
    {"integers", integers}, {"decimals", decimals}, {"extremes", extremes}, {"texts", texts},
    {"values", values}, {"distinct_and_mode", distinct_and_mode},
    {"distinct_words", distinct_words}, {"distinct_floats", distinct_floats},
    {"distinct_texts", distinct_texts}, {"collected", collected}, {"joined", joined},
    {"quantiles", quantiles}, {"quantiles_of_times", quantiles_of_times},
    {"quantiles_of_spans", quantiles_of_spans}, {"spread", spread}, {"pairs", pairs},
    {"powers_of_two", powers_of_two}, {"distinct_listed", distinct_listed},
    {"products", products}, {"bools", bools},
};

UNIT_MAIN("aggregate_test", TESTS)
