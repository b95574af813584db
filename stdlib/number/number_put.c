// Printing numbers: integers by pairs of digits, floats by their shortest digits (Schubfach).
//
// R. Giulietti, "The Schubfach way to render doubles". All values that round to a float v = c 2^q
// form an interval around v. The exponent k is chosen so that the multiples of 10^k are at least as
// dense as one in the interval, and those of 10^(k+1) at most one. So the answer is among four
// candidates, which are compared with the interval's ends in units of 10^k / 4, rounded to odd.
#include "stdlib/number/number.h"

#include <string.h>

// "00" "01" ... "99"
static const char PAIRS[201] = "00010203040506070809" "10111213141516171819" "20212223242526272829"
                               "30313233343536373839" "40414243444546474849" "50515253545556575859"
                               "60616263646566676869" "70717273747576777879" "80818283848586878889"
                               "90919293949596979899";

int sb_digit_count(uint64_t value) {
    static const uint64_t tens[20] = {
        0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
        100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
        10000000000000000, 100000000000000000, 1000000000000000000, 10000000000000000000u,
    };
    int guess = (64 - __builtin_clzll(value | 1)) * 1233 >> 12;  // bits * log10(2)
    return guess + (value >= tens[guess]);
}

void sb_put_digits(char *out, uint64_t value, int count) {
    for (; count >= 2; count -= 2, value /= 100)
        memcpy(out + count - 2, PAIRS + value % 100 * 2, 2);
    if (count) *out = (char)('0' + value % 10);
}

char *sb_put_u64(char *out, uint64_t value) {
    int count = sb_digit_count(value);
    sb_put_digits(out, value, count);
    return out + count;
}

char *sb_put_i64(char *out, int64_t value) {
    uint64_t size = (uint64_t)value;
    if (value < 0) {
        *out++ = '-';
        size = -size;
    }
    return sb_put_u64(out, size);
}

// digits * 10^exponent
typedef struct Decimal {
    uint64_t digits;
    int      exponent;
} Decimal;

// floor(power * c / 2^128) for a power rounded up, its last bit set when something was cut off.
static uint64_t round_to_odd(SbPower power, uint64_t c) {
    uint64_t carry = (uint64_t)((unsigned __int128)power.low * c >> 64);
    unsigned __int128 product = (unsigned __int128)power.high * c + carry;
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

// The power of ten that Schubfach wants: rounded up.
static SbPower power_above(int exponent) {
    SbPower power = sb_powers_of_ten[exponent - SB_POWER_MIN];
    if (exponent < 0 || exponent > SB_POWER_EXACT_MAX) power.high += ++power.low == 0;
    return power;
}

// The shortest decimal that rounds to c 2^q, the closest of those. `narrow`: c is a power of two
// whose lower neighbour is only half as far.
static Decimal shortest(uint64_t c, int q, bool narrow) {
    uint64_t odd = c & 1;  // An odd float does not own the ends of its interval.
    int k = narrow ? (q * 1262611 - 524031) >> 22
                   : (q * 1262611) >> 22;        // floor(log10 of the width)
    int shift = q + ((-k * 1741647) >> 19) + 1;  // floor(log2(10^-k))
    SbPower power = power_above(-k);
    uint64_t middle = round_to_odd(power, (4 * c) << shift);
    uint64_t low = round_to_odd(power, (4 * c - 2 + narrow) << shift);
    uint64_t high = round_to_odd(power, (4 * c + 2) << shift);
    uint64_t below = middle / 4;
    if (below >= 10) {
        uint64_t tens_below = below / 10 * 10, tens_above = tens_below + 10;
        bool below_fits = low + odd <= 4 * tens_below;
        bool above_fits = 4 * tens_above + odd <= high;
        if (below_fits != above_fits) {
            return (Decimal){(below_fits ? tens_below : tens_above) / 10, k + 1};
        }
    }
    bool below_fits = low + odd <= 4 * below;
    bool above_fits = 4 * (below + 1) + odd <= high;
    if (below_fits != above_fits) return (Decimal){below_fits ? below : below + 1, k};
    uint64_t half = 4 * below + 2;
    bool up = middle > half || (middle == half && (below & 1));
    return (Decimal){below + up, k};
}

// Lays out digits * 10^exponent as Python's repr does.
static char *put_decimal(char *out, Decimal decimal) {
    while (decimal.digits % 100 == 0) decimal.digits /= 100, decimal.exponent += 2;
    if (decimal.digits % 10 == 0) decimal.digits /= 10, decimal.exponent++;
    int count = sb_digit_count(decimal.digits);
    int point = count + decimal.exponent;  // Digits before the point.
    if (point > 16 || point < -3) {
        sb_put_digits(out + 1, decimal.digits, count);
        out[0] = out[1];
        out[1] = '.';
        out += count == 1 ? 1 : count + 1;
        *out++ = 'e';
        int power = point - 1;
        *out++ = power < 0 ? '-' : '+';
        unsigned size = power < 0 ? (unsigned)-power : (unsigned)power;
        int width = size < 100 ? 2 : 3;
        sb_put_digits(out, size, width);
        return out + width;
    }
    if (point <= 0) {
        memcpy(out, "0.0000", 6);
        sb_put_digits(out + 2 - point, decimal.digits, count);
        return out + 2 - point + count;
    }
    if (point >= count) {
        sb_put_digits(out, decimal.digits, count);
        memset(out + count, '0', (size_t)(point - count));
        memcpy(out + point, ".0", 2);
        return out + point + 2;
    }
    sb_put_digits(out + 1, decimal.digits, count);
    memmove(out, out + 1, (size_t)point);
    out[point] = '.';
    return out + count + 1;
}

static char *put_words(char *out, const char *word) {
    size_t len = strlen(word);
    memcpy(out, word, len);
    return out + len;
}

// A float given by its parts: sign taken off, `stored` the bits of the fraction, `bits` of them.
static char *put_float(char *out, uint64_t stored, int biased, int bits, int bias) {
    if (biased == 2 * bias + 1) return put_words(out, stored ? "nan" : "inf");
    if (biased == 0 && stored == 0) return put_words(out, "0.0");
    uint64_t c = biased ? stored | UINT64_C(1) << bits : stored;
    int q = (biased ? biased : 1) - bias - bits;
    if (q <= 0 && q >= -bits && (c & ((UINT64_C(1) << -q) - 1)) == 0) {
        out = sb_put_u64(out, c >> -q);  // An integer below 2^53.
        return put_words(out, ".0");
    }
    return put_decimal(out, shortest(c, q, stored == 0 && biased > 1));
}

char *sb_put_f64(char *out, double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    int biased = (int)(word >> 52 & 0x7ff);
    uint64_t stored = word & ((UINT64_C(1) << 52) - 1);
    if (word >> 63 && !(biased == 0x7ff && stored)) *out++ = '-';
    return put_float(out, stored, biased, 52, 1023);
}

char *sb_put_f32(char *out, float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    int biased = (int)(word >> 23 & 0xff);
    uint64_t stored = word & ((1u << 23) - 1);
    if (word >> 31 && !(biased == 0xff && stored)) *out++ = '-';
    return put_float(out, stored, biased, 23, 127);
}

char *sb_put_f16(char *out, float value) {
    uint16_t word = sb_f64_f16((double)value);
    if (word >> 15) *out++ = '-';  // No NaN has a sign.
    return put_float(out, word & 0x3ff, word >> 10 & 0x1f, 10, 15);
}

char *sb_put_bf16(char *out, float value) {
    uint16_t word = sb_f64_bf16((double)value);
    if (word >> 15) *out++ = '-';
    return put_float(out, word & 0x7f, word >> 7 & 0xff, 7, 127);
}
