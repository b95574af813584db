// Numbers as text: readers against strtod and exact limits, printers for round trips and length.
#include "stdlib/number/number.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

// The text in a buffer with SB_SLACK bytes of rubbish behind.
typedef struct Padded {
    char    bytes[1200];
    int64_t len;
} Padded;

static Padded padded(const char *text) {
    Padded p;
    memset(p.bytes, '7', sizeof p.bytes);
    p.len = (int64_t)strlen(text);
    memcpy(p.bytes, text, (size_t)p.len);
    return p;
}

static double f64_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float f32_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

// ---- integers ----------------------------------------------------------------------------------

static void integers(void) {
    static const struct {
        const char *text;
        int32_t     status;
        int64_t     value;
    } cases[] = {
        {"0", SB_OK, 0}, {"7", SB_OK, 7}, {"12345678", SB_OK, 12345678}, {"-1", SB_OK, -1},
        {"+5", SB_OK, 5}, {"123456789", SB_OK, 123456789}, {" 42\t", SB_OK, 42}, {"-0", SB_OK, 0},
        {"0000000000000000000000000000012", SB_OK, 12}, {"-12345678", SB_OK, -12345678},
        {"9223372036854775807", SB_OK, INT64_MAX}, {"-9223372036854775808", SB_OK, INT64_MIN},
        {"9223372036854775808", SB_FAULT_OUT_OF_RANGE, 0},
        {"-9223372036854775809", SB_FAULT_OUT_OF_RANGE, 0},
        {"99999999999999999999999999999", SB_FAULT_OUT_OF_RANGE, 0},
        {"", SB_FAULT_BAD_INTEGER, 0}, {" ", SB_FAULT_BAD_INTEGER, 0}, {"-", SB_FAULT_BAD_INTEGER,
            0},
        {"1.0", SB_FAULT_BAD_INTEGER, 0}, {"1e3", SB_FAULT_BAD_INTEGER, 0},
        {"1,000", SB_FAULT_BAD_INTEGER, 0}, {"1 2", SB_FAULT_BAD_INTEGER, 0},
        {"--1", SB_FAULT_BAD_INTEGER, 0}, {"12345678a", SB_FAULT_BAD_INTEGER, 0},
        {"0x10", SB_FAULT_BAD_INTEGER, 0}, {"99999999999999999999999999x", SB_FAULT_BAD_INTEGER, 0},
        {"\xb1", SB_FAULT_BAD_INTEGER, 0}, {"- 1", SB_FAULT_BAD_INTEGER, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Padded p = padded(cases[i].text);
        int64_t value = 0;
        int32_t status = sb_read_i64(p.bytes, p.len, &value);
        CHECK_SAYS(status == cases[i].status && value == cases[i].value, "'%s' is %d, %" PRId64,
                   cases[i].text, status, value);
    }
}

#define CHECK_LIMITS(T, read, low, below, high, above)                                            \
    do {                                                                                          \
        T value = 1;                                                                              \
        Padded p = padded(low);                                                                   \
        CHECK(read(p.bytes, p.len, &value) == SB_OK);                                             \
        char text[40];                                                                            \
        *((T)-1 < 1 ? sb_put_i64(text, (int64_t)value) : sb_put_u64(text, (uint64_t)value)) = 0;  \
        CHECK(strcmp(text, low) == 0);                                                            \
        p = padded(high);                                                                         \
        CHECK(read(p.bytes, p.len, &value) == SB_OK);                                             \
        *((T)-1 < 1 ? sb_put_i64(text, (int64_t)value) : sb_put_u64(text, (uint64_t)value)) = 0;  \
        CHECK(strcmp(text, high) == 0);                                                           \
        p = padded(below);                                                                        \
        CHECK(read(p.bytes, p.len, &value) == SB_FAULT_OUT_OF_RANGE);                             \
        p = padded(above);                                                                        \
        CHECK(read(p.bytes, p.len, &value) == SB_FAULT_OUT_OF_RANGE);                             \
    } while (0)

static void limits(void) {
    CHECK_LIMITS(int8_t, sb_read_i8, "-128", "-129", "127", "128");
    CHECK_LIMITS(int16_t, sb_read_i16, "-32768", "-32769", "32767", "32768");
    CHECK_LIMITS(int32_t, sb_read_i32, "-2147483648", "-2147483649", "2147483647", "2147483648");
    CHECK_LIMITS(int64_t, sb_read_i64, "-9223372036854775808", "-9223372036854775809",
                 "9223372036854775807", "9223372036854775808");
    CHECK_LIMITS(uint8_t, sb_read_u8, "0", "-1", "255", "256");
    CHECK_LIMITS(uint16_t, sb_read_u16, "0", "-1", "65535", "65536");
    CHECK_LIMITS(uint32_t, sb_read_u32, "0", "-1", "4294967295", "4294967296");
    CHECK_LIMITS(uint64_t, sb_read_u64, "0", "-1", "18446744073709551615", "18446744073709551616");
}

// Every length of integer, signed, printed and read back.
static void integer_round_trips(void) {
    for (int i = 0; i < 200000; i++) {
        int64_t value = (int64_t)random_u64() >> (random_u64() & 63);
        char text[SB_NUMBER_MAX + SB_SLACK], want[40];
        char *end = sb_put_i64(text, value);
        snprintf(want, sizeof want, "%" PRId64, value);
        CHECK(strlen(want) == (size_t)(end - text) && memcmp(want, text, strlen(want)) == 0);
        int64_t back = 0;
        CHECK(sb_read_i64(text, end - text, &back) == SB_OK && back == value);
    }
}

static void bools(void) {
    uint8_t value = 9;
    Padded p = padded("true");
    CHECK(sb_read_bool(p.bytes, p.len, &value) == SB_OK && value == 1);
    p = padded("FALSE");
    CHECK(sb_read_bool(p.bytes, p.len, &value) == SB_OK && value == 0);
    p = padded("True");
    CHECK(sb_read_bool(p.bytes, p.len, &value) == SB_OK && value == 1);
    for (const char *const *bad = (const char *const[]){"", "t", "1", " true", "truex", "fals",
        nullptr};
         *bad; bad++) {
        p = padded(*bad);
        CHECK_SAYS(sb_read_bool(p.bytes, p.len, &value) == SB_FAULT_BAD_BOOL, "'%s'", *bad);
    }
}

// ---- floats ------------------------------------------------------------------------------------

static void check_f64(const char *text) {
    Padded p = padded(text);
    double value = 0, want = strtod(text, nullptr);
    int32_t status = sb_read_f64(p.bytes, p.len, &value);
    if (isinf(want)) {
        CHECK_SAYS(status == SB_FAULT_OUT_OF_RANGE, "'%s' is %d", text, status);
    } else {
        CHECK_SAYS(status == SB_OK && same(value, want), "'%s' is %d, %a, not %a", text, status,
                   value, want);
    }
    float small = 0, small_want = strtof(text, nullptr);
    status = sb_read_f32(p.bytes, p.len, &small);
    if (isinf(small_want)) {
        CHECK_SAYS(status == SB_FAULT_OUT_OF_RANGE, "f32 '%s' is %d", text, status);
    } else {
        CHECK_SAYS(status == SB_OK && same(small, small_want), "f32 '%s' is %d, %a, not %a", text,
                   status, (double)small, (double)small_want);
    }
}

static void float_forms(void) {
    static const char *const good[] = {
        "0", "1", "12.34", "-12.34", ".5", "5.", "+1.5", " 2.5 ", "-0", "-0.0", "1e3", "1E+3",
        "1e-3",
        "00001.5", "99999999", "9999999.", ".9999999", "123456789", "0.000001", "1e22", "1e23",
        "8.5e-300", "1e308", "1.7976931348623157e308", "1.7976931348623158e308",
        "1.7976931348623159e308", "1e309", "1e400", "1e99999999999", "1e-99999999999", "0e999999",
        "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.47e-324", "1e-400",
        "2.2250738585072011e-308", "2.2250738585072012e-308", "2.2250738585072014e-308",
        "9007199254740993", "9007199254740992.9999999999999999999",
        "9007199254740993.0000000000001",
        "9007199254740991.5", "9007199254740995", "1.00000005960464477539062500",
        "1.000000059604644775390624999", "1.000000059604644775390625001", "3.4028235677973366e38",
        "3.4028235e38", "1.4e-45", "7e-46", "7.1e-46", "1.1754943e-38", "16777217", "16777216.9",
        "6.631236846766476e-316", "3.2378839133029012895883524125015321748630094232e-318",
        "7.2057594037927933e16", "0.500000000000000166533453693773481063544750213623046875",
        "100000000000000016777215", "100000000000000016777216",
        "2.2250738585072013830902327173324e-308",
        "1.448997445238699", "123456789012345678901234567890", "0.1e-5",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) check_f64(good[i]);
    static const char *const bad[] = {"", " ", ".", "-", "+.", "e5", "1e", "1e+", "1.2.3", "1,5",
        "0x1p3",
                                      "1_0", "1f", "in", "nanx", "- 1", "--1", "1 2", "/5", "1/5",
                                      "1\x1e"};
    double value;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Padded p = padded(bad[i]);
        CHECK_SAYS(sb_read_f64(p.bytes, p.len, &value) == SB_FAULT_BAD_FLOAT, "'%s'", bad[i]);
    }
}

static void float_words(void) {
    double value = 0;
    Padded p = padded(" -Inf");
    CHECK(sb_read_f64(p.bytes, p.len, &value) == SB_OK && same(value, -INFINITY));
    p = padded("infinity");
    CHECK(sb_read_f64(p.bytes, p.len, &value) == SB_OK && same(value, INFINITY));
    p = padded("NaN");
    CHECK(sb_read_f64(p.bytes, p.len, &value) == SB_OK && isnan(value));
    float small = 0;
    p = padded("-inf");
    CHECK(sb_read_f32(p.bytes, p.len, &small) == SB_OK && small == -INFINITY);
    p = padded("1,25");
    CHECK(sb_read_f64_point(p.bytes, p.len, ',', &value) == SB_OK && same(value, 1.25));
    p = padded("1.25");
    CHECK(sb_read_f64_point(p.bytes, p.len, ',', &value) == SB_FAULT_BAD_FLOAT);
    p = padded("-123456789,5");
    CHECK(sb_read_f64_point(p.bytes, p.len, ',', &value) == SB_OK && same(value, -123456789.5));
}

// Random digits, points and exponents; many digits stress the exact comparison.
static void random_texts(void) {
    for (int i = 0; i < 60000; i++) {
        char text[128];
        int len = 0, digits = 1 + (int)(random_u64() % (i % 3 ? 20 : 60));
        int point = (int)(random_u64() % (uint64_t)(digits + 1));
        if (random_u64() & 1) text[len++] = '-';
        for (int d = 0; d < digits; d++) {
            if (d == point) text[len++] = '.';
            text[len++] = (char)('0' + random_u64() % 10);
        }
        if (i % 4) len += snprintf(text + len, 8, "e%d", (int)(random_u64() % 700) - 350);
        text[len] = 0;
        check_f64(text);
    }
}

// Every byte at every place: zeros in front change nothing but the way that reads the text.
static void float_bytes(void) {
    static const char *const texts[] = {"1234567.8", "12.3456789", "12345678901", "9.99999999999",
                                        "12345678.12345", "123456789.1234", "0.9007199254740993"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        for (size_t at = 1; at < strlen(texts[t]); at++) {
            for (int byte = 1; byte < 256; byte++) {
                char text[64] = "00000000000000000000";
                char *own = strcat(text, texts[t]) + 20;
                own[at] = (char)byte;
                Padded brief = padded(own), full = padded(text);
                double value = 0, want = 0;
                int32_t status = sb_read_f64(brief.bytes, brief.len, &value);
                CHECK_SAYS(status == sb_read_f64(full.bytes, full.len, &want) && same(value, want),
                           "'%s' is %d, %a, not %a", own, status, value, want);
            }
        }
    }
}

// The short ways against the readers of any text, with anything behind the end.
static void short_ways(void) {
    static const char usual[] = "0123456789012345678901234567890123456789.....-";
    static const char rest[] = "+ ,e/:x";
    for (int i = 0; i < 500000; i++) {
        char text[24 + SB_SLACK];
        const int64_t len = (int64_t)(random_u64() % 20);
        for (size_t b = 0; b < sizeof text; b++)
            text[b] = usual[random_u64() % (sizeof usual - (i % 4 ? 7 : 1))];
        if (i % 2) text[random_u64() % 20] = '.';
        if (i % 3 == 0) text[0] = '-';
        if (i % 16 == 0) text[random_u64() % 20] = rest[random_u64() % (sizeof rest - 1)];
        const char point = i % 5 ? '.' : ',';
        int64_t integer = 0, integer_want = 0;
        int32_t status = sb_read_i64(text, len, &integer);
        CHECK_SAYS(status == sb_read_signed(text, len, INT64_MIN, INT64_MAX, &integer_want) &&
                       integer == integer_want,
                   "'%.*s' is %d, %" PRId64, (int)len, text, status, integer);
        double value = 0, want = 0;
        status = sb_read_f64_point(text, len, point, &value);
        CHECK_SAYS(status == sb_read_f64_any(text, len, point, &want) && same(value, want),
                   "'%.*s' is %d, %a, not %a", (int)len, text, status, value, want);
        float small = 0, small_want = 0;
        status = sb_read_f32_point(text, len, point, &small);
        CHECK_SAYS(status == sb_read_f32_any(text, len, point, &small_want) &&
                       same(small, small_want),
                   "f32 '%.*s' is %d, %a, not %a", (int)len, text, status, (double)small,
                   (double)small_want);
    }
}

// Midpoints between floats, exactly and with a digit more or less.
static void midpoints(void) {
    for (int i = 0; i < 3000; i++) {
        uint64_t bits = random_u64() % ((UINT64_C(0x7fe) << 52));
        if (i % 3 == 0) bits %= UINT64_C(1) << 53;
        if (i % 3 == 1) bits = (1000 + bits % 80) << 52 | (bits & ((UINT64_C(1) << 52) - 1));
        // 17 digits and more of both neighbours agree; %.*e of a long double is exact with enough.
        long double middle = ((long double)f64_of(bits) + (long double)f64_of(bits + 1)) / 2;
        char text[1200];
        int len = snprintf(text, sizeof text, "%.780Le", middle);
        check_f64(text);
        char *exponent = strchr(text, 'e');
        (void)len;
        if (exponent && exponent[-1] == '0') {
            exponent[-1] = '1';
            check_f64(text);
        }
    }
}

// Midpoints of few digits, and what lies beside them: whole numbers of up to nineteen digits, and
// halves and quarters. Of both widths, as a midpoint of one lies between numbers of the other.
static void short_midpoints(void) {
    for (int i = 0; i < 20000; i++) {
        const int bits = i % 2 ? 54 : 25, more = (int)(random_u64() % (uint64_t)(63 - bits));
        const uint64_t odd = random_u64() >> (64 - bits) | UINT64_C(1) << (bits - 1) | 1;
        char text[64];
        for (int64_t beside = -1; beside <= 1; beside++) {
            const uint64_t whole = (odd << more) + (uint64_t)beside;
            snprintf(text, sizeof text, "%s%" PRIu64 "%s", i % 3 ? "" : "-", whole,
                     i % 5 ? "" : ".0e0");
            check_f64(text);
            snprintf(text, sizeof text, "%" PRIu64 ".%s", odd / 4, odd % 4 == 1 ? "25" : "75");
            check_f64(text);
            snprintf(text, sizeof text, "%" PRIu64 ".5", odd / 2);
            check_f64(text);
        }
    }
}

// The digits of a text without sign, point, exponent and zeros at both ends.
static int significant(const char *text) {
    int count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (!sb_is_digit(*text)) continue;
        if (*text == '0') zeros += count > 0;
        else count += zeros + 1, zeros = 0;
    }
    return count ? count : 1;
}

static void check_put_f64(double value) {
    char text[SB_NUMBER_MAX + SB_SLACK], shorter[40];
    char *end = sb_put_f64(text, value);
    CHECK(end - text < SB_NUMBER_MAX);
    *end = 0;
    CHECK_SAYS(same(strtod(text, nullptr), value), "%a is '%s'", value, text);
    double back = 0;
    CHECK_SAYS(sb_read_f64(text, end - text, &back) == SB_OK && same(back, value), "'%s'", text);
    int digits = significant(text);
    if (digits < 2) return;
    snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
    CHECK_SAYS(!same(strtod(shorter, nullptr), value), "'%s' is longer than '%s'", text, shorter);
    // Of the texts of this length it is the closest: the one that rounds the exact value, unless
    // that one does not read back.
    snprintf(shorter, sizeof shorter, "%.*e", digits - 1, value);
    CHECK_SAYS(!same(strtod(shorter, nullptr), value) || strtold(shorter, nullptr) == strtold(text,
        nullptr),
               "'%s' is farther than '%s'", text, shorter);
}

static void put_f64(void) {
    for (int i = 0; i < 100000; i++) {
        double value = f64_of(random_u64());
        if (i % 4 == 1) value = (double)(int64_t)(random_u64() % 1000000) / 100;
        if (i % 4 == 2) value = (double)(random_u64() >> (random_u64() & 63));
        if (i % 4 == 3) value = f64_of(random_u64() % 0x7ff << 52 | (random_u64() & 3));
        if (isfinite(value)) check_put_f64(value);
    }
    for (uint64_t power = 0; power < 0x7ff; power++) {
        check_put_f64(f64_of(power << 52));
        check_put_f64(f64_of((power << 52) + 1));
        if (power) check_put_f64(f64_of((power << 52) - 1));
    }
}

static void put_f32(void) {
    for (uint32_t i = 0; i < 0xff * 400; i++) {
        uint32_t fraction = i / 0xff;
        fraction = fraction < 2    ? fraction
                   : fraction == 2 ? 0x7fffff
                                   : (uint32_t)random_u64() & 0x7fffff;
        float value = f32_of(i % 0xff << 23 | fraction);
        char text[SB_NUMBER_MAX + SB_SLACK], shorter[40];
        char *end = sb_put_f32(text, value);
        *end = 0;
        CHECK_SAYS(same(strtof(text, nullptr), value), "%a is '%s'", (double)value, text);
        float back = 1;
        CHECK_SAYS(sb_read_f32(text, end - text, &back) == SB_OK && same(back, value), "'%s'",
            text);
        int digits = significant(text);
        if (digits < 2) continue;
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)value);
        CHECK_SAYS(!same(strtof(shorter, nullptr), value), "'%s' is longer than '%s'", text,
            shorter);
    }
}

static void layout(void) {
    static const struct {
        double      value;
        const char *text;
    } cases[] = {
        {0, "0.0"}, {-0.0, "-0.0"}, {1, "1.0"}, {12.34, "12.34"}, {0.1, "0.1"}, {-2.5, "-2.5"},
        {0.0001, "0.0001"}, {0.00001, "1e-05"}, {0.000123, "0.000123"}, {1.5e-7, "1.5e-07"},
        {1e15, "1000000000000000.0"}, {1e16, "1e+16"}, {123456789012345680.0,
            "1.2345678901234568e+17"},
        {1e22, "1e+22"}, {1e100, "1e+100"}, {5e-324, "5e-324"}, {0.3, "0.3"}, {100, "100.0"},
        {1.7976931348623157e308, "1.7976931348623157e+308"}, {9007199254740992.0,
            "9007199254740992.0"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"}, {INFINITY, "inf"}, {-INFINITY,
            "-inf"},
        {9.5367431640625e-7, "9.5367431640625e-07"}, {2251799813685248.5, "2251799813685248.5"},
    };
    char text[SB_NUMBER_MAX + 1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        *sb_put_f64(text, cases[i].value) = 0;
        CHECK_SAYS(strcmp(text, cases[i].text) == 0, "'%s', not '%s'", text, cases[i].text);
    }
    *sb_put_f64(text, -(double)NAN) = 0;
    CHECK(strcmp(text, "nan") == 0);
    *sb_put_f32(text, 0.1f) = 0;
    CHECK(strcmp(text, "0.1") == 0);
    *sb_put_f32(text, 16777216.0f) = 0;
    CHECK(strcmp(text, "16777216.0") == 0);
}

// ---- the table ---------------------------------------------------------------------------------

enum { WIDE = 64 };

static void wide_multiply(uint32_t *wide, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < WIDE; i++) {
        carry += (uint64_t)wide[i] * factor;
        wide[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int wide_bits(const uint32_t *wide) {
    for (int i = WIDE - 1; i >= 0; i--) {
        if (wide[i]) return 32 * i + 32 - __builtin_clz(wide[i]);
    }
    return 0;
}

static int wide_bit(const uint32_t *wide,
    int at) { return at < 0 ? 0 : wide[at / 32] >> at % 32 & 1; }

// 10^q for q >= 0 has the top bits of 5^q; for q < 0, table * 5^-q is the largest multiple that is
// at most the power of two it stands for.
static void powers(void) {
    uint32_t five[WIDE] = {1};
    for (int q = 0; q <= 342; q++) {
        int bits = wide_bits(five);
        if (q <= SB_POWER_MAX) {
            SbPower power = sb_powers_of_ten[q - SB_POWER_MIN], want = {};
            for (int i = 0; i < 64; i++) {
                want.high = want.high << 1 | (uint64_t)wide_bit(five, bits - 1 - i);
                want.low = want.low << 1 | (uint64_t)wide_bit(five, bits - 65 - i);
            }
            CHECK_SAYS(power.high == want.high && power.low == want.low, "10^%d", q);
        }
        if (q > 0) {
            SbPower power = sb_powers_of_ten[-q - SB_POWER_MIN];
            uint32_t product[WIDE] = {}, partial[WIDE];
            uint32_t words[4] = {(uint32_t)power.low, (uint32_t)(power.low >> 32),
                                 (uint32_t)power.high, (uint32_t)(power.high >> 32)};
            for (int w = 3; w >= 0; w--) {
                memmove(product + 1, product, sizeof product - sizeof *product);
                product[0] = 0;
                memcpy(partial, five, sizeof partial);
                wide_multiply(partial, words[w]);
                uint64_t carry = 0;
                for (int i = 0; i < WIDE; i++) {
                    carry += (uint64_t)product[i] + partial[i];
                    product[i] = (uint32_t)carry;
                    carry >>= 32;
                }
            }
            // product < 2^n <= product + 5^q, and the table's number has its top bit set.
            int n = wide_bits(product);
            uint64_t carry = 0;
            for (int i = 0; i < WIDE; i++) {
                carry += (uint64_t)product[i] + five[i];
                product[i] = (uint32_t)carry;
                carry >>= 32;
            }
            CHECK_SAYS(power.high >> 63 && wide_bits(product) == n + 1, "10^-%d", q);
        }
        wide_multiply(five, 5);
    }
}

static const UnitTest TESTS[] = {
    {"integers", integers}, {"limits", limits}, {"integer_round_trips", integer_round_trips},
    {"bools", bools}, {"float_forms", float_forms}, {"float_words", float_words},
    {"random_texts", random_texts}, {"float_bytes", float_bytes}, {"short_ways", short_ways},
    {"midpoints", midpoints}, {"short_midpoints", short_midpoints}, {"put_f64", put_f64},
    {"put_f32", put_f32}, {"layout", layout},
    {"powers", powers},
};

UNIT_MAIN("number_test", TESTS)
