// Reading numbers of any form and length: what the short cuts of number.c leave over.
//
// Floats: up to 19 digits w and a power of ten go through one 64 x 128 bit product with the table
// of powers (D. Lemire, "Number Parsing at a Gigabyte per Second", arXiv 2101.11408). The product
// is a little below the true value; only if that could change the rounding is the text compared
// exactly with the midpoint between two floats.
#include "stdlib/number/number.h"

#include "stdlib/number/digits.h"

#include <string.h>

static bool is_space(char c) { return c == ' ' || c == '\t'; }

// A number without the spaces around it and its sign.
typedef struct Trimmed {
    const char *at, *end;
    bool        minus;
} Trimmed;

static Trimmed trim(const char *ptr, int64_t len) {
    Trimmed text = {ptr, ptr + len, false};
    while (text.at < text.end && is_space(*text.at)) text.at++;
    while (text.at < text.end && is_space(text.end[-1])) text.end--;
    if (text.at < text.end && (*text.at == '-' || *text.at == '+')) text.minus = *text.at++ == '-';
    return text;
}

// The same of a text that has no spaces and no plus.
static inline Trimmed after_minus(const char *ptr, int64_t len) {
    const bool minus = len > 0 && *ptr == '-';
    return (Trimmed){ptr + minus, ptr + len, minus};
}

// Is it a quoted field of CSV? It is tried with its quotes first.
static inline bool is_quoted(const char *ptr, int64_t len) { return len > 0 && *ptr == '"'; }

// ---- integers ----------------------------------------------------------------------------------

// Digits to the end of the text. Faults: BAD_INTEGER, OUT_OF_RANGE beyond 64 bits.
static int32_t read_digits(Trimmed text, uint64_t *out) {
    if (text.at == text.end) return SB_FAULT_BAD_INTEGER;
    uint64_t value = 0;
    bool over = false;
    const char *at = text.at;
    while (text.end - at >= 8 && sb_digits_wrong(sb_digits_load(at)) == 0) {
        over |= __builtin_mul_overflow(value, UINT64_C(100000000), &value);
        over |= __builtin_add_overflow(value, sb_digits_value(sb_digits_load(at)), &value);
        at += 8;
    }
    for (; at < text.end; at++) {
        if (!sb_is_digit(*at)) return SB_FAULT_BAD_INTEGER;
        over |= __builtin_mul_overflow(value, UINT64_C(10), &value);
        over |= __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
    }
    *out = value;
    return over ? SB_FAULT_OUT_OF_RANGE : SB_OK;
}

int32_t sb_read_signed(const char *ptr, int64_t len, int64_t low, int64_t high, int64_t *out) {
    if (is_quoted(ptr, len)) return SB_FAULT_BAD_INTEGER;
    Trimmed text = trim(ptr, len);
    uint64_t size;
    int32_t status = read_digits(text, &size);
    if (status != SB_OK) return status;
    if (size > (text.minus ? -(uint64_t)low : (uint64_t)high)) return SB_FAULT_OUT_OF_RANGE;
    *out = (int64_t)(text.minus ? -size : size);
    return SB_OK;
}

int32_t sb_read_unsigned(const char *ptr, int64_t len, uint64_t high, uint64_t *out) {
    if (is_quoted(ptr, len)) return SB_FAULT_BAD_INTEGER;
    Trimmed text = trim(ptr, len);
    uint64_t size;
    int32_t status = read_digits(text, &size);
    if (status != SB_OK) return status;
    if (size > (text.minus ? 0 : high)) return SB_FAULT_OUT_OF_RANGE;
    *out = size;
    return SB_OK;
}

// ---- floats ------------------------------------------------------------------------------------

// A binary format: bits of the significand with the leading one, and the exponent's bias.
typedef struct Format {
    int bits, bias;
} Format;

static const Format F64 = {53, 1023}, F32 = {24, 127}, F16 = {11, 15}, BF16 = {8, 127};

static uint64_t infinity_of(Format format) {
    return (uint64_t)(2 * format.bias + 1) << (format.bits - 1);
}

// A decimal number as read: about digits * 10^exponent.
typedef struct Decimal {
    uint64_t digits;     // The first 19.
    int64_t  exponent;
    bool     cut;        // Digits that are not zero were left out: the value lies above.
    const char *first;   // The first digit of the text that is not zero.
    const char *last;    // After its last digit.
    int64_t  scale;      // The power of ten of the text's last digit.
} Decimal;

enum { EXPONENT_MAX = 1000000 };  // Beyond, every number is zero or too large.

// Digits to the end of the text, however many.
static bool read_long_exponent(const char *at, const char *end, int64_t *value) {
    *value = 0;
    for (; at < end; at++) {
        if (!sb_is_digit(*at)) return false;
        if (*value < EXPONENT_MAX) *value = *value * 10 + (*at - '0');
    }
    return true;
}

// e [+-] digits, to the end of the text; false if there is anything else. No branch depends on the
// sign or on how many digits there are.
[[gnu::always_inline]] static inline bool read_exponent(const char *at, const char *end,
                                                        int64_t *exponent) {
    if ((*at | 0x20) != 'e') return false;
    const int64_t minus = at[1] == '-', sign = minus | (at[1] == '+');
    const char *first = at + 1 + sign;
    if (end <= first) return false;
    const uint64_t count = (uint64_t)(end - first);
    int64_t value;
    if (__builtin_expect(count <= PLACES, 1)) {
        const __m128i digits = digits_of(load(first), load(move_last + count));
        if (!all_digits(digits)) return false;
        const uint64_t all = value_of(digits);
        value = all < EXPONENT_MAX ? (int64_t)all : EXPONENT_MAX;
    } else if (!read_long_exponent(first, end, &value)) {
        return false;
    }
    *exponent = (value ^ -minus) + minus;
    return true;
}

// Takes digits and at most one point from the text into `decimal`.
static bool read_decimal(Trimmed text, char point, Decimal *decimal) {
    const char *at = text.at, *dot = nullptr;
    int64_t seen = 0, used = 0, dropped = 0;
    *decimal = (Decimal){.first = text.end, .last = text.at};
    for (; at < text.end; at++) {
        if (sb_is_digit(*at)) {
            seen++;
            decimal->last = at + 1;
            if (used == 0 && *at == '0') continue;
            if (used == 0) decimal->first = at;
            if (used < 19) {
                decimal->digits = decimal->digits * 10 + (uint64_t)(*at - '0');
                used++;
            } else {
                dropped++;
                decimal->cut |= *at != '0';
            }
        } else if (*at == point && !dot) {
            dot = at;
        } else {
            break;
        }
    }
    int64_t written = 0;
    if (seen == 0 || (at < text.end && !read_exponent(at, text.end, &written))) return false;
    decimal->scale = written - (dot ? at - dot - 1 : 0);
    decimal->exponent = decimal->scale + dropped;
    return true;
}

// The bits of digits * 10^exponent in the format, without sign; `unsure`: the true value may round
// up where this one was rounded down.
static uint64_t to_bits(uint64_t digits, int64_t exponent, Format format, bool *unsure) {
    *unsure = false;
    if (digits == 0 || exponent < SB_POWER_MIN) return 0;
    if (exponent > 308) return infinity_of(format);
    int lead = __builtin_clzll(digits);
    digits <<= lead;
    SbPower power = sb_powers_of_ten[exponent - SB_POWER_MIN];
    bool exact = exponent >= 0 && exponent <= SB_POWER_EXACT_MAX;
    unsigned __int128 low = (unsigned __int128)power.low * digits;
    unsigned __int128 sum = (unsigned __int128)power.high * digits + (uint64_t)(low >> 64);
    int top = 191 - lead + (int)((exponent * 217706) >> 16) - 127;  // Exponent of bit 191.
    if (!(sum >> 127)) {
        sum = sum << 1 | ((uint64_t)low >> 63);
        low <<= 1;
        top--;
    }
    uint64_t high = (uint64_t)(sum >> 64), rest = (uint64_t)sum;
    if (top > format.bias) return infinity_of(format);
    int keep = format.bits;
    bool normal = top > -format.bias;
    if (!normal) keep += top + format.bias - 1;
    if (keep < 0) return 0;
    uint64_t below = high << keep << 1 >> 1;  // What stands under the half bit.
    uint64_t bits = keep ? high >> (64 - keep) : 0;
    bool half = high << keep >> 63;
    bool sticky = below || rest || (uint64_t)low || !exact;
    uint64_t all_ones = UINT64_MAX << keep << 1 >> 1;
    *unsure = !exact && !half && below == all_ones && rest >= UINT64_MAX - 2;
    bits += half && (sticky || (bits & 1));
    return normal ? bits + ((uint64_t)(top + format.bias - 1) << (format.bits - 1)) : bits;
}

// ---- exact comparison --------------------------------------------------------------------------

// A natural number. The largest that occurs is 801 digits times 2^1100.
enum { BIG_WORDS = 96, DIGITS_MAX = 800 };

typedef struct Big {
    uint64_t words[BIG_WORDS];  // Lowest first.
    int      count;
} Big;

static void big_multiply_add(Big *big, uint64_t factor, uint64_t addend) {
    unsigned __int128 carry = addend;
    for (int i = 0; i < big->count; i++) {
        carry += (unsigned __int128)big->words[i] * factor;
        big->words[i] = (uint64_t)carry;
        carry >>= 64;
    }
    if (carry && big->count < BIG_WORDS) big->words[big->count++] = (uint64_t)carry;
}

static void big_multiply_power_of_5(Big *big, int64_t power) {
    for (; power >= 27; power -= 27) big_multiply_add(big, 7450580596923828125, 0);  // 5^27
    for (; power > 0; power--) big_multiply_add(big, 5, 0);
}

static void big_shift_left(Big *big, int64_t bits) {
    for (; bits >= 63; bits -= 63) big_multiply_add(big, UINT64_C(1) << 63, 0);
    big_multiply_add(big, UINT64_C(1) << bits, 0);
}

static int big_compare(const Big *a, const Big *b) {
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (int i = a->count - 1; i >= 0; i--) {
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    }
    return 0;
}

// All digits of the text up to DIGITS_MAX and one that stands for the rest. A midpoint of floats
// has fewer than 800 digits, so the comparison is exact. Returns the power of ten of the last
// digit.
static int64_t big_read(Big *big, const Decimal *decimal) {
    int64_t scale = decimal->scale, used = 0;
    bool rest = false;
    for (const char *at = decimal->first; at < decimal->last; at++) {
        if (!sb_is_digit(*at)) continue;
        if (used < DIGITS_MAX) {
            big_multiply_add(big, 10, (uint64_t)(*at - '0'));
            used++;
        } else {
            rest |= *at != '0';
            scale++;
        }
    }
    if (!rest) return scale;
    big_multiply_add(big, 10, 1);
    return scale - 1;
}

// The text's value lies at or above the float `bits` and at most a little over the next midpoint:
// rounds it by comparing with that midpoint exactly.
static uint64_t round_exactly(const Decimal *decimal, uint64_t bits, Format format) {
    uint64_t biased = bits >> (format.bits - 1), lead = UINT64_C(1) << (format.bits - 1);
    uint64_t significand = (bits & (lead - 1)) | (biased ? lead : 0);
    int64_t exponent = (int64_t)(biased ? biased : 1) - format.bias - format.bits + 1;
    Big text = {}, midpoint = {};
    int64_t scale = big_read(&text, decimal);
    big_multiply_add(&midpoint, 1, 2 * significand + 1);
    big_multiply_power_of_5(scale < 0 ? &midpoint : &text, scale < 0 ? -scale : scale);
    int64_t shift = scale - (exponent - 1);
    big_shift_left(shift < 0 ? &midpoint : &text, shift < 0 ? -shift : shift);
    int order = big_compare(&text, &midpoint);
    return bits + (order > 0 || (order == 0 && (bits & 1)));
}

// ---- numbers of up to 32 characters -------------------------------------------------------------

// As read_decimal where the digits and the point are up to 31 characters, and those of the digits
// that count up to nineteen. False: not of this form.
[[gnu::always_inline]] static inline bool read_plain(Trimmed text, char point, uint64_t *digits,
                                                     int64_t *exponent) {
    enum : uint64_t { DIGITS_COUNT = 19 };
    static const uint64_t tens[] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
        100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
        10000000000000000, 100000000000000000, 1000000000000000000, UINT64_C(10000000000000000000),
    };
    const uint64_t len = (uint64_t)(text.end - text.at);
    uint64_t others = not_digits(text.at);
    if (len < MANY_PLACES) others |= UINT64_C(1) << len;
    if (!others) return false;
    const uint64_t before = _tzcnt_u64(others);
    uint64_t end = before, behind = 0;
    if (before < len && text.at[before] == point) {
        others &= others - 1;
        if (!others) return false;
        end = _tzcnt_u64(others);
        behind = end - before - 1;
    }
    *exponent = 0;
    if (before + behind == 0) return false;
    if (end < len && !read_exponent(text.at + end, text.end, exponent)) return false;
    const unsigned __int128 whole = run_of(text.at, before);
    const unsigned __int128 rest = run_of(text.at + before + 1, behind);
    *exponent -= (int64_t)behind;
    if (before + behind > DIGITS_COUNT) {
        *digits = (uint64_t)rest;
        return !whole && rest < tens[DIGITS_COUNT];
    }
    *digits = (uint64_t)whole * tens[behind] + (uint64_t)rest;
    return true;
}

// As to_bits by the higher half of the power, which is enough where the bits under the half bit are
// neither all set, as a carry might come, nor all clear under a half bit, as it might be a tie: the
// product is less than 2 below the true one in its higher word. False: not sure, or no normal
// number.
[[gnu::always_inline]] static inline bool to_normal_bits(uint64_t digits, int64_t exponent,
                                                         Format format, uint64_t *bits) {
    enum : int64_t { POWER_MAX = 308 };
    if (digits == 0) {
        *bits = 0;
        return true;
    }
    const uint64_t power = (uint64_t)(exponent - SB_POWER_MIN);
    if (power > (uint64_t)(POWER_MAX - SB_POWER_MIN)) return false;
    const int lead = __builtin_clzll(digits);
    const unsigned __int128 product =
        (unsigned __int128)(digits << lead) * sb_powers_of_ten[power].high;
    const uint64_t high = (uint64_t)(product >> 64), up = high >> 63;
    const int64_t top = 63 - lead + ((exponent * 217706) >> 16) + (int64_t)up;
    const uint64_t drop = 63 - (uint64_t)format.bits + up, half = UINT64_C(1) << (drop - 1);
    const uint64_t below = high & (half - 1), rounds = high >> (drop - 1) & 1;
    const uint64_t biased = (uint64_t)(top + format.bias - 1);
    if (below == (rounds ? 0 : half - 1) || biased >= 2 * (uint64_t)format.bias - 1) return false;
    *bits = (high >> drop) + rounds + (biased << (format.bits - 1));
    return true;
}

// The bits of the float, without sign, of a number of the usual form. False: of another one, none
// that is normal, or too near the middle between two floats.
[[gnu::always_inline]] static inline bool read_plain_bits(Trimmed text, char point, Format format,
                                                          uint64_t *bits) {
    uint64_t digits;
    int64_t exponent;
    return read_plain(text, point, &digits, &exponent) &&
           to_normal_bits(digits, exponent, format, bits);
}

static bool word_is(Trimmed text, const char *word) {
    int64_t len = (int64_t)strlen(word);
    if (text.end - text.at != len) return false;
    for (int64_t i = 0; i < len; i++) {
        if ((text.at[i] | 0x20) != word[i]) return false;
    }
    return true;
}

// The bits of the float that the text stands for, whatever its form, with the sign.
[[gnu::noinline]]
static int32_t read_float(const char *ptr, int64_t len, char point, Format format, uint64_t *out) {
    if (is_quoted(ptr, len)) return SB_FAULT_BAD_FLOAT;
    const Trimmed text = trim(ptr, len);
    const uint64_t infinity = infinity_of(format);
    const uint64_t sign = text.minus ? infinity + (UINT64_C(1) << (format.bits - 1)) : 0;
    uint64_t bits;
    Decimal decimal;
    *out = sign | infinity;
    if (word_is(text, "inf") || word_is(text, "infinity")) return SB_OK;
    if (word_is(text, "nan")) {
        *out |= UINT64_C(1) << (format.bits - 2);
        return SB_OK;
    }
    if (read_plain_bits(text, point, format, &bits)) {
        *out = sign | bits;
        return SB_OK;
    }
    if (!read_decimal(text, point, &decimal)) return SB_FAULT_BAD_FLOAT;
    bool unsure;
    bits = to_bits(decimal.digits, decimal.exponent, format, &unsure);
    if (decimal.cut && bits < infinity) {
        bool unsure_above;
        unsure |= to_bits(decimal.digits + 1, decimal.exponent, format, &unsure_above) != bits;
        unsure |= unsure_above;
    }
    if (unsure) bits = round_exactly(&decimal, bits, format);
    *out = sign | bits;
    return bits >= infinity ? SB_FAULT_OUT_OF_RANGE : SB_OK;
}

#define READ_ANY(name, T, Bits, format)                                                           \
    int32_t name(const char *ptr, int64_t len, char point, T *out) {                              \
        const Trimmed text = after_minus(ptr, len);                                               \
        uint64_t bits;                                                                            \
        int32_t status = SB_OK;                                                                   \
        if (__builtin_expect(read_plain_bits(text, point, format, &bits), 1))                     \
            bits |= (uint64_t)text.minus << (8 * sizeof(Bits) - 1);                               \
        else                                                                                      \
            status = read_float(ptr, len, point, format, &bits);                                  \
        if (status != SB_OK) return status;                                                       \
        Bits word = (Bits)bits;                                                                   \
        memcpy(out, &word, sizeof *out);                                                          \
        return SB_OK;                                                                             \
    }

READ_ANY(sb_read_f64_any, double, uint64_t, F64)
READ_ANY(sb_read_f32_any, float, uint32_t, F32)
READ_ANY(sb_read_f16_point, uint16_t, uint16_t, F16)
READ_ANY(sb_read_bf16_point, uint16_t, uint16_t, BF16)

int32_t sb_read_f16(const char *ptr, int64_t len, uint16_t *out) {
    return sb_read_f16_point(ptr, len, '.', out);
}

int32_t sb_read_bf16(const char *ptr, int64_t len, uint16_t *out) {
    return sb_read_bf16_point(ptr, len, '.', out);
}

// ---- spellings ----------------------------------------------------------------------------------

// [0-9]* at `at`; the end of it.
static const char *skip_digits(const char *at, const char *end) {
    while (at < end && sb_is_digit(*at)) at++;
    return at;
}

static bool is_any_json_number(const char *at, const char *end) {
    if (at == end || !sb_is_digit(*at)) return false;
    at = *at == '0' ? at + 1 : skip_digits(at, end);
    if (at < end && *at == '.') {
        const char *digits = ++at;
        at = skip_digits(at, end);
        if (at == digits) return false;
    }
    if (at < end && (*at | 32) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        const char *digits = at;
        at = skip_digits(at, end);
        if (at == digits) return false;
    }
    return at == end;
}

// Digits and a point within 32 characters are told from one vector.
bool sb_is_json_number(const char *ptr, int64_t len) {
    const Trimmed text = after_minus(ptr, len);
    const uint64_t count = (uint64_t)(text.end - text.at);
    if (count - 1 >= MANY_PLACES) return is_any_json_number(text.at, text.end);
    const uint64_t others = not_digits(text.at) | UINT64_C(1) << count, before = _tzcnt_u64(others);
    if (before == 0 || (before > 1 && *text.at == '0')) return false;
    if (before == count) return true;
    const uint64_t behind = _tzcnt_u64(others & (others - 1)) - before - 1;
    if (text.at[before] == '.' && before + 1 + behind == count) return behind > 0;
    return is_any_json_number(text.at, text.end);
}
