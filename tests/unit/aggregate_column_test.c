// Aggregates over columns against the same values added one by one.
#include "stdlib/aggregate/aggregate.h"
#include "tests/unit/random.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

static bool same(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

// A column: how many values, and which of them count.
typedef struct Rows {
    int64_t        rows;
    const uint8_t *counts;   // Null: all.
    uint8_t        bytes[SB_COLUMN_ROWS];
} Rows;

static void make_rows(Rows *rows, int round) {
    static const int64_t sizes[] = {1, 7, 8, 9, 64, 1000, 1023, 1024};
    rows->rows = sizes[(size_t)round % (sizeof sizes / sizeof *sizes)];
    for (int64_t i = 0; i < rows->rows; i++)
        rows->bytes[i] = random_u64() % 4 > (uint64_t)round % 5;
    rows->counts = round % 3 ? rows->bytes : nullptr;
}

static bool counts(const Rows *rows, int64_t i) { return !rows->counts || rows->counts[i]; }

// ---- floats -------------------------------------------------------------------------------------

enum { KINDS = 7 };

// Kinds of columns: money, all magnitudes of a window, any float, whole numbers, powers that cancel
// out, denormals, and one that holds everything.
static double float_of(int kind) {
    uint64_t bits = random_u64();
    double value;
    switch (kind) {
    case 0: return (double)(int64_t)(bits % 2000000) / 100 - 5000;
    case 1: return ldexp((double)(int64_t)bits, -(int)(random_u64() % 160));
    case 2: bits &= ~(UINT64_C(1) << 62); break;
    case 3: return (double)(int64_t)(bits % 17) - 8;
    case 4: return (bits & 1 ? 1 : -1) * ldexp(1, (int)(bits >> 8 & 63));
    case 5: bits &= UINT64_C(0x800fffffffffffff); break;
    default: return bits % 50 == 0 ? (bits & 64 ? INFINITY : NAN) : float_of((int)(bits % 6));
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void float_sums(void) {
    double values[SB_COLUMN_ROWS];
    Rows rows;
    for (int round = 0; round < 4000; round++) {
        make_rows(&rows, round);
        for (int64_t i = 0; i < rows.rows; i++) values[i] = float_of(round / 8 % KINDS);
        SbCall *call = scratch();
        SbExactSum column = {}, single = {};
        sb_sum_f64_add(call, &column, 0.1);
        sb_sum_f64_add(call, &single, 0.1);
        CHECK(sb_sum_f64_column(call, &column, values, rows.counts, rows.rows) == SB_OK);
        for (int64_t i = 0; i < rows.rows; i++)
            if (counts(&rows, i)) CHECK(sb_sum_f64_add(call, &single, values[i]) == SB_OK);
        double a = sb_sum_f64_end(call, &column), b = sb_sum_f64_end(call, &single), mean;
        CHECK_SAYS(same(a, b), "round %d: %a, not %a", round, a, b);
        CHECK_SAYS(column.count == single.count, "round %d: %zu values", round,
                   (size_t)column.count);
        // What is left when the rows are taken away again must be what was there before.
        for (int64_t i = 0; i < rows.rows; i++)
            if (counts(&rows, i)) sb_sum_f64_add(call, &column, -values[i]);
        if (round / 8 % KINDS != 6) CHECK(same(sb_sum_f64_end(call, &column), 0.1));
        CHECK(sb_mean_f64_end(call, &column, &mean) == SB_OK);
    }
}

// Kinds of f32 columns: the exponents of a chunk differ by up to 29; then kinds of any floats.
static float narrow_of(int kind) {
    if (kind > 0) return (float)float_of(kind - 1);
    uint64_t bits = random_u64();
    float value = ldexpf((float)(int32_t)(bits >> 40) - (1 << 23), -(int)(bits % 30));
    return bits % 40 ? value : 0;
}

// Exponents that differ by so much that the sum just fits, or just does not.
static float bordering(int64_t i, int round) {
    float least = ldexpf(1, -(round / 8 % 60) - 40);
    float most = ldexpf(2 - 0x1p-23f, (int)(round / 480 % 5) + 17) * least;
    return i == 0 ? least + least * 0x1p-23f : round % 2 ? -most : most;
}

static void narrow_sums(void) {
    float values[SB_COLUMN_ROWS];
    Rows rows;
    for (int round = 0; round < 8000; round++) {
        make_rows(&rows, round);
        int kind = round / 8 % (KINDS + 2);
        for (int64_t i = 0; i < rows.rows; i++)
            values[i] = kind ? narrow_of(kind - 1) : bordering(i, round);
        SbCall *call = scratch();
        SbExactSum column = {}, single = {};
        CHECK(sb_sum_f64_column_f32(call, &column, values, rows.counts, rows.rows) == SB_OK);
        for (int64_t i = 0; i < rows.rows; i++)
            if (counts(&rows, i)) sb_sum_f64_add(call, &single, (double)values[i]);
        double a = sb_sum_f64_end(call, &column), b = sb_sum_f64_end(call, &single);
        CHECK_SAYS(same(a, b), "round %d: %a, not %a", round, a, b);
        CHECK(column.count == single.count);
        for (int64_t i = 0; i < rows.rows; i++)
            if (counts(&rows, i)) sb_sum_f64_add(call, &column, -(double)values[i]);
        CHECK(!isfinite(a) || sb_sum_f64_end(call, &column) == 0);
    }
}

static void float_extremes(void) {
    double values[SB_COLUMN_ROWS];
    float narrow[SB_COLUMN_ROWS];
    Rows rows;
    for (int round = 0; round < 2000; round++) {
        make_rows(&rows, round);
        SbExtreme_f64 least[2] = {}, most[2] = {};
        SbExtreme_f32 least_narrow[2] = {}, most_narrow[2] = {};
        for (int64_t i = 0; i < rows.rows; i++) {
            values[i] = round % 16 == 3 ? -0.0 : round % 16 == 4 ? NAN : float_of(round % KINDS);
            narrow[i] = (float)values[i];
            if (!counts(&rows, i)) continue;
            sb_min_f64_add(&least[0], values[i]);
            sb_max_f64_add(&most[0], values[i]);
            sb_min_f32_add(&least_narrow[0], narrow[i]);
            sb_max_f32_add(&most_narrow[0], narrow[i]);
        }
        sb_min_f64_column(&least[1], values, rows.counts, rows.rows);
        sb_max_f64_column(&most[1], values, rows.counts, rows.rows);
        sb_min_f32_column(&least_narrow[1], narrow, rows.counts, rows.rows);
        sb_max_f32_column(&most_narrow[1], narrow, rows.counts, rows.rows);
        CHECK(least[0].seen == least[1].seen && same(least[0].value, least[1].value));
        CHECK(most[0].seen == most[1].seen && same(most[0].value, most[1].value));
        CHECK(same((double)least_narrow[0].value, (double)least_narrow[1].value));
        CHECK(same((double)most_narrow[0].value, (double)most_narrow[1].value));
    }
}

// ---- integers -----------------------------------------------------------------------------------

static void integer_sums(void) {
    int64_t values[SB_COLUMN_ROWS];
    uint64_t words[SB_COLUMN_ROWS];
    Rows rows;
    for (int round = 0; round < 1000; round++) {
        make_rows(&rows, round);
        SbIntegerSum sums[2] = {}, word_sums[2] = {};
        SbDecimalSum decimals[2] = {};
        int64_t count = 0, found = 0;
        for (int64_t i = 0; i < rows.rows; i++) {
            values[i] = (int64_t)random_u64() >> round % 60;
            if (round % 16 == 5) values[i] = INT64_MIN;
            words[i] = (uint64_t)values[i];
            if (!counts(&rows, i)) continue;
            sb_sum_i64_add(&sums[0], values[i]);
            sb_sum_u64_add(&word_sums[0], words[i]);
            sb_sum_decimal_add(&decimals[0], values[i]);
            count++;
        }
        sb_sum_i64_column(&sums[1], values, rows.counts, rows.rows);
        sb_sum_u64_column(&word_sums[1], words, rows.counts, rows.rows);
        sb_sum_decimal_column(&decimals[1], values, rows.counts, rows.rows);
        sb_count_column(&found, values, rows.counts, rows.rows);
        CHECK(sums[0].total == sums[1].total && sums[0].count == sums[1].count);
        CHECK(word_sums[0].total == word_sums[1].total && word_sums[0].count == word_sums[1].count);
        CHECK(decimals[0].low == decimals[1].low && decimals[0].carry == decimals[1].carry);
        CHECK(decimals[0].count == decimals[1].count && found == count);
    }
}

#define INTEGER_EXTREME(name, T)                                                                   \
    static void extremes_##name(int round) {                                                       \
        T values[SB_COLUMN_ROWS];                                                                  \
        Rows rows;                                                                                 \
        make_rows(&rows, round);                                                                   \
        SbExtreme_##name least[2] = {}, most[2] = {};                                              \
        for (int64_t i = 0; i < rows.rows; i++) {                                                  \
            values[i] = (T)(random_u64() >> round % 64);                                           \
            if (!counts(&rows, i)) continue;                                                       \
            sb_min_##name##_add(&least[0], values[i]);                                             \
            sb_max_##name##_add(&most[0], values[i]);                                              \
        }                                                                                          \
        sb_min_##name##_column(&least[1], values, rows.counts, rows.rows);                         \
        sb_max_##name##_column(&most[1], values, rows.counts, rows.rows);                          \
        CHECK(least[0].seen == least[1].seen && least[0].value == least[1].value);                 \
        CHECK(most[0].seen == most[1].seen && most[0].value == most[1].value);                     \
    }
INTEGER_EXTREME(i8, int8_t)
INTEGER_EXTREME(i16, int16_t)
INTEGER_EXTREME(i32, int32_t)
INTEGER_EXTREME(i64, int64_t)
INTEGER_EXTREME(u8, uint8_t)
INTEGER_EXTREME(u16, uint16_t)
INTEGER_EXTREME(u32, uint32_t)
INTEGER_EXTREME(u64, uint64_t)

static void integer_extremes(void) {
    for (int round = 0; round < 300; round++) {
        extremes_i8(round), extremes_i16(round), extremes_i32(round), extremes_i64(round);
        extremes_u8(round), extremes_u16(round), extremes_u32(round), extremes_u64(round);
    }
}

static void bools(void) {
    bool values[SB_COLUMN_ROWS];
    Rows rows;
    for (int round = 0; round < 300; round++) {
        make_rows(&rows, round);
        uint8_t any[2] = {}, all[2] = {};
        for (int64_t i = 0; i < rows.rows; i++) {
            values[i] = round % 4 == 0 || (round % 4 == 1 && random_u64() % 64 == 0);
            if (!counts(&rows, i)) continue;
            sb_any_add(&any[0], values[i]);
            sb_all_add(&all[0], values[i]);
        }
        sb_any_column(&any[1], values, rows.counts, rows.rows);
        sb_all_column(&all[1], values, rows.counts, rows.rows);
        CHECK(any[0] == any[1] && all[0] == all[1]);
    }
}

static void places(void) {
    Rows rows;
    uint16_t found[SB_COLUMN_ROWS + SB_PLACES_SPARE];
    for (int round = 0; round < 1000; round++) {
        make_rows(&rows, round);
        sb_column_places(rows.bytes, rows.rows, found);
        int64_t count = 0;
        for (int64_t i = 0; i < rows.rows; i++)
            if (rows.bytes[i]) CHECK(found[count++] == i);
    }
}

static void picks(void) {
    Rows rows;
    uint16_t found[SB_COLUMN_ROWS + SB_PLACES_SPARE];
    char values[8 * SB_COLUMN_ROWS], picked[8 * SB_COLUMN_ROWS + 1];
    for (int round = 0; round < 400; round++) {
        int32_t size = 1 << round % 4;
        make_rows(&rows, round);
        sb_column_places(rows.bytes, rows.rows, found);
        for (size_t i = 0; i < sizeof values; i++) values[i] = (char)random_u64();
        int64_t count = 0;
        for (int64_t i = 0; i < rows.rows; i++) count += rows.bytes[i];
        picked[count * size] = 'x';
        sb_column_pick(picked, values, found, count, size);
        CHECK(picked[count * size] == 'x');
        for (int64_t i = 0; i < count; i++)
            CHECK(memcmp(picked + i * size, values + found[i] * size, (size_t)size) == 0);
    }
}

static const UnitTest TESTS[] = {
    {"float_sums", float_sums},     {"float_extremes", float_extremes},
    {"narrow_sums", narrow_sums},   {"picks", picks},
    {"integer_sums", integer_sums}, {"integer_extremes", integer_extremes},
    {"bools", bools},               {"places", places},
};

UNIT_MAIN("aggregate_column", TESTS)
