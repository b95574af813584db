// Casts and decimals: text, alignment, limits, exactness.
#include "stdlib/cast/cast.h"
#include "stdlib/number/decimal.h"
#include "tests/unit/unit.h"

#include <math.h>

static SbStr str(const char *text) {
    static char bytes[256];
    memset(bytes, '7', sizeof bytes);
    memcpy(bytes, text, strlen(text));
    return (SbStr){bytes, (int64_t)strlen(text)};
}

static void decimal_texts(void) {
    static const struct {
        const char *text;
        unsigned precision, scale;
        bool exponent;
        int32_t status;
        const char *canonical;
    } cases[] = {
        {"12.34", 5, 2, false, SB_OK, "12.34"},
        {"-12.3400", 5, 2, false, SB_OK, "-12.34"},
        {" +.5 ", 3, 2, false, SB_OK, "0.50"},
        {"7", 3, 0, false, SB_OK, "7"},
        {"7.", 3, 2, false, SB_OK, "7.00"},
        {"-0", 3, 2, false, SB_OK, "0.00"},
        {"000000000000000000000000000000000000000000000001.00", 3, 2, false, SB_OK, "1.00"},
        {"0.00000000000000000000000000000000000000000000000", 3, 2, false, SB_OK, "0.00"},
        {"99999999999999999999999999999999999999", 38, 0, false, SB_OK,
         "99999999999999999999999999999999999999"},
        {"-0.99999999999999999999999999999999999999", 38, 38, false, SB_OK,
         "-0.99999999999999999999999999999999999999"},
        {"100000000000000000000000000000000000000", 38, 0, false, SB_FAULT_BAD_DECIMAL, ""},
        {"12.345", 5, 2, false, SB_FAULT_BAD_DECIMAL, ""},
        {"1234.5", 5, 2, false, SB_FAULT_BAD_DECIMAL, ""},
        {"", 5, 2, false, SB_FAULT_BAD_DECIMAL, ""},
        {".", 5, 2, false, SB_FAULT_BAD_DECIMAL, ""},
        {"1.2.3", 5, 2, false, SB_FAULT_BAD_DECIMAL, ""},
        {"1e2", 5, 2, false, SB_FAULT_BAD_DECIMAL, ""},
        {"1e2", 5, 2, true, SB_OK, "100.00"},
        {"12345e-2", 5, 2, true, SB_OK, "123.45"},
        {"1.5E+1", 5, 2, true, SB_OK, "15.00"},
        {"1e", 5, 2, true, SB_FAULT_BAD_DECIMAL, ""},
        {"1e99999999999", 5, 2, true, SB_FAULT_BAD_DECIMAL, ""},
        {"0e99999999999", 5, 2, true, SB_OK, "0.00"},
        {"--1", 5, 2, false, SB_FAULT_BAD_DECIMAL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SbDecimalForm form = {(uint8_t)cases[i].precision, (uint8_t)cases[i].scale, '.',
                              cases[i].exponent};
        SbDecimal value = 0;
        SbStr text = str(cases[i].text);
        int32_t status = sb_read_decimal(text.ptr, text.len, form, &value);
        CHECK_SAYS(status == cases[i].status, "'%s' is %d", cases[i].text, status);
        if (status != SB_OK) continue;
        char put[SB_DECIMAL_MAX + 1];
        *sb_put_decimal(put, value, cases[i].scale, '.') = 0;
        CHECK_SAYS(strcmp(put, cases[i].canonical) == 0, "'%s' is '%s'", cases[i].text, put);
    }
}

// ---- texts at random, beside a reader that only moves characters --------------------------------

static uint64_t seed = 1;

static unsigned draw(unsigned below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static size_t put_digits(char *to, unsigned most) {
    unsigned count = draw(most + 1), zeros = draw(4) * 3;
    for (unsigned i = 0; i < count; i++)
        to[i] = (char)('0' + (draw(9) < zeros ? 0 : draw(10)));
    return count;
}

// Mostly a decimal; now and then a character is another one.
static size_t put_text(char *to, unsigned whole, unsigned behind) {
    char *at = to;
    if (draw(6) == 0) *at++ = ' ';
    if (draw(3) == 0) *at++ = draw(4) ? '-' : '+';
    at += put_digits(at, whole);
    if (draw(5)) *at++ = '.';
    at += put_digits(at, behind);
    if (draw(6) == 0) *at++ = ' ';
    if (draw(10) == 0 && at > to) to[draw((unsigned)(at - to))] = ".e-+,x/:0"[draw(9)];
    return (size_t)(at - to);
}

static int64_t digits_at(const char *at, const char *end) {
    const char *from = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at - from;
}

// The canonical text, at most 96 bytes; false: it is no decimal of the form.
static bool expect(SbStr text, SbDecimalForm form, char *out) {
    const char *at = text.ptr, *end = at + text.len;
    while (at < end && *at == ' ') at++;
    while (at < end && end[-1] == ' ') end--;
    bool minus = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    int64_t whole = digits_at(at, end), behind = 0;
    const char *fraction = at + whole + 1;
    if (at + whole < end) {
        behind = digits_at(fraction, end);
        if (at[whole] != '.' || fraction + behind != end) return false;
    }
    if (whole + behind == 0) return false;
    for (; whole && *at == '0'; whole--) at++;
    while (behind && fraction[behind - 1] == '0') behind--;
    if (behind > form.scale || whole > form.precision - form.scale) return false;
    snprintf(out, 96, "%s%.*s%s%.*s%.*s", minus && whole + behind ? "-" : "",
             whole ? (int)whole : 1, whole ? at : "0", form.scale ? "." : "", (int)behind, fraction,
             (int)(form.scale - behind), "00000000000000000000000000000000000000");
    return true;
}

static void decimal_random_texts(void) {
    for (int i = 0; i < 200000; i++) {
        unsigned precision = 1 + draw(i % 2 ? 18 : 38), scale = draw(precision + 1);
        SbDecimalForm form = {(uint8_t)precision, (uint8_t)scale, '.', false};
        char bytes[160], want[96], put[SB_DECIMAL_MAX + 1];
        memset(bytes, draw(2) ? '7' : '.', sizeof bytes);  // What stands after the field.
        unsigned extra = draw(4);
        SbStr text = {bytes, (int64_t)put_text(bytes, precision - scale + extra, scale + extra)};
        bool good = expect(text, form, want);
        SbDecimal value = 0;
        int32_t status = sb_read_decimal(text.ptr, text.len, form, &value);
        CHECK_SAYS(status == (good ? SB_OK : SB_FAULT_BAD_DECIMAL), "'%.*s' (%u, %u) is %d",
                   (int)text.len, text.ptr, precision, scale, status);
        *sb_put_decimal(put, value, scale, '.') = 0;
        CHECK_SAYS(!good || strcmp(put, want) == 0, "'%s' is '%s'", want, put);
        if (precision > 18) continue;
        int64_t narrow = 0;
        CHECK(sb_read_decimal64(text.ptr, text.len, form, &narrow) == status && narrow == value);
        CHECK(!good || sb_decimal64_f64(narrow, scale) == sb_decimal_f64(value, scale));
    }
}

static void decimal_arithmetic(void) {
    SbDecimal most = sb_decimal_tens(38) - 1, out = 0;
    CHECK(sb_decimal_add(most, 1, 38, &out) == SB_FAULT_OVERFLOW &&
          sb_decimal_add(most, -1, 38, &out) == SB_OK && out == most - 1);
    CHECK(sb_decimal_sub(-most, most, 38, &out) == SB_FAULT_OVERFLOW &&
          sb_decimal_add(999, 1, 3, &out) == SB_FAULT_OVERFLOW);
    CHECK(sb_decimal_mul(sb_decimal_tens(19), -sb_decimal_tens(18), 38, &out) == SB_OK &&
          out == -sb_decimal_tens(37));
    CHECK(sb_decimal_mul(sb_decimal_tens(19), sb_decimal_tens(19), 38, &out) == SB_FAULT_OVERFLOW);
    CHECK(sb_decimal_mul(most, most, 38, &out) == SB_FAULT_OVERFLOW &&
          sb_decimal_mul(most, -1, 38, &out) == SB_OK && out == -most);
    CHECK(sb_decimal_mul((SbDecimal)1 << 70, (SbDecimal)1 << 58, 38, &out) == SB_FAULT_OVERFLOW);
    CHECK(sb_decimal_rescale(150, 2, 1, 38, &out) == SB_OK && out == 15 &&
          sb_decimal_rescale(155, 2, 1, 38, &out) == SB_FAULT_BAD_CAST);
    CHECK(sb_decimal_rescale(15, 1, 3, 3, &out) == SB_FAULT_OVERFLOW &&
          sb_decimal_rescale(most, 0, 38, 38, &out) == SB_FAULT_OVERFLOW);
    CHECK(sb_decimal_compare(15, 1, 150, 2) == 0 && sb_decimal_compare(15, 1, 151, 2) < 0 &&
          sb_decimal_compare(-15, 1, -151, 2) > 0);
    CHECK(sb_decimal_compare(most, 0, most, 38) > 0 && sb_decimal_compare(most, 38, most, 0) < 0 &&
          sb_decimal_compare(0, 38, 0, 0) == 0);
    CHECK(sb_decimal_round(12345, 2, 1, &out) == SB_OK && out == 12350 &&
          sb_decimal_round(-12345, 2, 1, &out) == SB_OK && out == -12350);
    CHECK(sb_decimal_round(12344, 2, 1, &out) == SB_OK && out == 12340 &&
          sb_decimal_round(12345, 2, -3, &out) == SB_OK && out == 0);
    CHECK(sb_decimal_round(most, 0, -38, &out) == SB_FAULT_OVERFLOW &&
          sb_decimal_round(most, 2, 9, &out) == SB_OK && out == most);
    CHECK(sb_decimal_f64(1234, 2) == 12.34 && sb_decimal_f64(most, 38) == 1.0 &&
          sb_decimal_f64(-1, 38) == -1e-38);
}

static void numbers(void) {
    SbDecimal decimal = 0;
    int64_t i = 0;
    uint64_t u = 0;
    float f = 0;
    double d = 0;
    CHECK(sb_cast_f64_decimal(0.1, 5, 2, &decimal) == SB_OK && decimal == 10 &&
          sb_cast_f64_decimal(1e-7, 9, 8, &decimal) == SB_OK && decimal == 10);
    CHECK(sb_cast_f64_decimal(0.125, 5, 2, &decimal) == SB_FAULT_BAD_CAST &&
          sb_cast_f64_decimal((double)NAN, 5, 2, &decimal) == SB_FAULT_BAD_CAST);
    CHECK(sb_cast_f64_decimal(1e20, 38, 2, &decimal) == SB_OK && decimal == sb_decimal_tens(22));
    CHECK(sb_cast_i64_decimal(-5, 3, 2, &decimal) == SB_OK && decimal == -500 &&
          sb_cast_u64_decimal(UINT64_MAX, 20, 2, &decimal) == SB_FAULT_BAD_CAST);
    CHECK(sb_cast_decimal_i64(500, 2, &i) == SB_OK && i == 5 &&
          sb_cast_decimal_i64(501, 2, &i) == SB_FAULT_BAD_CAST);
    CHECK(sb_cast_decimal_i64(sb_decimal_tens(20), 0, &i) == SB_FAULT_BAD_CAST &&
          sb_cast_decimal_u64(-1, 0, &u) == SB_FAULT_BAD_CAST);
    CHECK(sb_cast_decimal_f32(1, 1) == 0.1f && sb_cast_decimal_f64(1, 1) == 0.1);
    CHECK(sb_cast_f64_i64(-0x1p63, &i) == SB_OK && i == INT64_MIN &&
          sb_cast_f64_i64(0x1p63, &i) == SB_FAULT_BAD_CAST);
    CHECK(sb_cast_f64_i64(1.5, &i) == SB_FAULT_BAD_CAST &&
          sb_cast_f64_i64((double)NAN, &i) == SB_FAULT_BAD_CAST &&
          sb_cast_f64_u64(-1, &u) == SB_FAULT_BAD_CAST);
    CHECK(sb_cast_f64_f32(1e300, &f) == SB_FAULT_BAD_CAST && sb_cast_f64_f32(0.1, &f) == SB_OK &&
          f == 0.1f && sb_cast_f64_f32((double)INFINITY, &f) == SB_OK);
    CHECK(sb_cast_i64_f64((INT64_C(1) << 53) + 1, &d) == SB_FAULT_BAD_CAST &&
          sb_cast_i64_f64(INT64_MAX, &d) == SB_FAULT_BAD_CAST &&
          sb_cast_i64_f64(INT64_MIN, &d) == SB_OK);
    CHECK(sb_cast_u64_f64(UINT64_MAX, &d) == SB_FAULT_BAD_CAST &&
          sb_cast_i64_f32(16777217, &f) == SB_FAULT_BAD_CAST &&
          sb_cast_u64_f32(UINT64_C(1) << 63, &f) == SB_OK);
}

static void dates(void) {
    int64_t t = 0;
    int32_t d = 0;
    CHECK(sb_cast_date_timestamp(1, 2, &t) == SB_OK && t == 86400000000 &&
          sb_cast_date_timestamp(INT32_MAX, 3, &t) == SB_FAULT_BAD_CAST);
    CHECK(sb_cast_timestamp_date(-1, 2, &d) == SB_OK && d == -1 &&
          sb_cast_timestamp_date(INT64_MAX, 0, &d) == SB_FAULT_BAD_CAST);
    CHECK(sb_cast_str_date(str("1970-01-02"), &d) == SB_OK && d == 1 &&
          sb_cast_str_timestamp(str("1970-01-01T00:00:01Z"), 0, &t) == SB_OK && t == 1);
    bool b = false;
    CHECK(sb_cast_str_bool(str("true"), &b) == SB_OK && b &&
          sb_cast_str_bool(str("yes"), &b) == SB_FAULT_BAD_BOOL);
    CHECK(sb_cast_str_duration(str("1s"), &t) == SB_OK && t == 1000000);
}

static const UnitTest TESTS[] = {
    {"decimal_texts", decimal_texts},
    {"decimal_random_texts", decimal_random_texts},
    {"decimal_arithmetic", decimal_arithmetic},
    {"numbers", numbers},
    {"dates", dates},
};

UNIT_MAIN("cast_test", TESTS)
