// sin, cos, tan and their inverses. An angle is reduced by as many bits of 2/pi as it takes (M.
// Payne and R. Hanek), to a pair within pi/4; an arc tangent is reduced by a table of 17.
#include "stdlib/number/math.h"
#include "stdlib/number/math_pair.h"

#include <string.h>

typedef unsigned _BitInt(256) U256;
typedef unsigned _BitInt(320) U320;

static const double INF = (double)__builtin_inff();
static const SbPair HALF_PI = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

// 2/pi, 64 bits a word, the highest first.
static const uint64_t TWO_OVER_PI[21] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
    0xa9e391615ee61b08,
};

// 256 bits of 2/pi from bit `from` on; bit 0 is worth 1/2.
static U256 bits_from(int from) {
    int word = from / 64, shift = from % 64;
    U320 bits = 0;
    for (int i = 0; i < 5; i++) bits = bits << 64 | (word + i < 21 ? TWO_OVER_PI[word + i] : 0);
    return (U256)(bits >> (64 - shift));
}

// x = quadrant pi/2 + the pair returned, |pair| <= pi/4; x positive and finite.
static SbPair reduce(double x, int *quadrant) {
    if (x < 0.7853981633974483) {
        *quadrant = 0;
        return (SbPair){x, 0};
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1075;  // x = m 2^exponent
    uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    // Bits of 2/pi whose products with m are multiples of 4 are left out.
    int from = exponent >= 2 ? exponent - 2 : 0;
    U320 product = (U320)bits_from(from) * m;
    // Two bits of quadrant above 254 bits of fraction.
    int over = 256 - exponent + from - 254;
    U256 turns = (U256)(product >> over);
    unsigned turn = (unsigned)(turns >> 254);
    U256 fraction = turns << 2;
    bool above = fraction >> 255;
    if (above) fraction = -fraction;
    *quadrant = (int)((turn + above) & 3);
    int zeros = 0;
    for (; zeros < 192 && !(fraction >> 255); zeros++) fraction <<= 1;
    double high = (double)(uint64_t)(fraction >> 203);
    double low = (double)(uint64_t)(fraction >> 150 & (((U256)1 << 53) - 1));
    uint64_t unit_bits = (uint64_t)(1023 - 53 - zeros) << 52;
    double unit;
    memcpy(&unit, &unit_bits, sizeof unit);
    SbPair part = sb_pair_fast(high * unit, low * unit * 0x1p-53);
    part = sb_pair_multiply(part, HALF_PI);
    return above ? sb_pair_negate(part) : part;
}

// sin r: r - r^3/6 + ...
static SbPair sine(SbPair r) {
    double z = r.high * r.high, sum = 1.0 / 355687428096000;
    static const double inverse[] = {-1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                                     1.0 / 362880, -1.0 / 5040, 1.0 / 120};
    for (int i = 0; i < 6; i++) sum = sum * z + inverse[i];
    double cube = r.high * z;
    double tail = (cube * z * sum - cube / 6) + r.low * (1 - z / 2);
    return sb_pair_fast(r.high, tail);
}

// cos r: 1 - r^2/2 + r^4/24 - ...
static SbPair cosine(SbPair r) {
    double z = r.high * r.high, sum = 1.0 / 20922789888000;
    static const double inverse[] = {-1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
                                     1.0 / 40320, -1.0 / 720, 1.0 / 24};
    for (int i = 0; i < 6; i++) sum = sum * z + inverse[i];
    SbPair square = sb_pair_product(r.high, r.high);
    SbPair head = sb_pair_fast(1, -square.high / 2);
    return sb_pair_fast(head.high, head.low - square.low / 2 - r.high * r.low + z * z * sum);
}

// The sine of the angle, `turns` quarters on.
static double sine_at(double x, int turns) {
    double size = __builtin_fabs(x);
    if (!(size < INF)) return (double)__builtin_nanf("");
    int quadrant;
    SbPair r = reduce(size, &quadrant);
    bool minus = turns == 0 && x < 0;
    quadrant += turns;
    SbPair value = quadrant & 1 ? cosine(r) : sine(r);
    double sum = value.high + value.low;
    return ((quadrant & 2) != 0) != minus ? -sum : sum;
}

double sb_sin(double x) { return __builtin_fabs(x) < 0x1p-27 ? x : sine_at(x, 0); }
double sb_cos(double x) { return sine_at(x, 1); }

double sb_tan(double x) {
    double size = __builtin_fabs(x);
    if (size < 0x1p-27) return x;
    if (!(size < INF)) return (double)__builtin_nanf("");
    int quadrant;
    SbPair r = reduce(size, &quadrant), s = sine(r), c = cosine(r);
    SbPair value = quadrant & 1 ? sb_pair_divide(sb_pair_negate(c), s) : sb_pair_divide(s, c);
    double sum = value.high + value.low;
    return x < 0 ? -sum : sum;
}

// ---- inverses -----------------------------------------------------------------------------------

// atan(i / 16)
static const SbPair ARCS[17] = {
    {0x0.0p+0, 0x0.0p+0},
    {0x1.ff55bb72cfdeap-5, -0x1.c934d86d23f1dp-60}, {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
    {0x1.7b97b4bce5b02p-3, 0x1.347b0b4f881cap-58},  {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
    {0x1.362773707ebccp-2, -0x1.963a544b672d8p-57}, {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
    {0x1.a64eec3cc23fdp-2, -0x1.24dec1b50b7ffp-56}, {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
    {0x1.0657e94db30d0p-1, -0x1.d5b495f6349e6p-56}, {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
    {0x1.345f01cce37bbp-1, 0x1.1021137c71102p-55},  {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
    {0x1.5d58987169b18p-1, 0x1.0028e4bc5e7cap-57},  {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
    {0x1.819d0b7158a4dp-1, -0x1.bf76229d3b917p-56}, {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
};

// atan(y / x) for 0 <= y <= x: atan(c) + atan((y - c x) / (x + c y)), c the nearest sixteenth.
static SbPair arc(SbPair y, SbPair x) {
    int i = (int)(16 * (y.high / x.high) + 0.5);
    SbPair c = {i / 16.0, 0};
    SbPair t = sb_pair_divide(sb_pair_add(y, sb_pair_negate(sb_pair_multiply(c, x))),
                              sb_pair_add(x, sb_pair_multiply(c, y)));
    double z = t.high * t.high, sum = -1.0 / 11;
    for (int n = 9; n >= 3; n -= 2) sum = sum * z + (n % 4 == 1 ? 1.0 : -1.0) / n;
    t = sb_pair_fast(t.high, t.low + t.high * z * sum);
    return sb_pair_add(ARCS[i], t);
}

// The angle of (x, y), both >= 0 and not both zero, 0 to pi/2.
static SbPair first_quadrant(SbPair y, SbPair x) {
    if (y.high <= x.high) return arc(y, x);
    return sb_pair_add(HALF_PI, sb_pair_negate(arc(x, y)));
}

// From the first quadrant to the one of the signs.
static double turn(SbPair angle, bool left, bool below) {
    if (left) {
        SbPair pi = {2 * HALF_PI.high, 2 * HALF_PI.low};
        angle = sb_pair_add(pi, sb_pair_negate(angle));
    }
    double sum = angle.high + angle.low;
    return below ? -sum : sum;
}

double sb_atan2(double y, double x) {
    if (x != x || y != y) return (double)__builtin_nanf("");
    bool left = __builtin_signbit(x), below = __builtin_signbit(y);
    x = __builtin_fabs(x);
    y = __builtin_fabs(y);
    SbPair zero = {0, 0};
    if (y == 0) return turn(zero, left, below);
    if (x == INF || y == INF) {
        SbPair angle = x == y ? ARCS[16] : y == INF ? HALF_PI : zero;
        return turn(angle, left, below);
    }
    if (x == 0 || y * 0x1p-64 > x) return turn(HALF_PI, left, below);
    if (x * 0x1p-64 > y) return left ? turn(zero, left, below) : below ? -(y / x) : y / x;
    double factor = x > 0x1p500 || y > 0x1p500     ? 0x1p-600
                    : x < 0x1p-500 || y < 0x1p-500 ? 0x1p500
                                                   : 1;
    return turn(first_quadrant((SbPair){y * factor, 0}, (SbPair){x * factor, 0}), left, below);
}

double sb_atan(double x) { return __builtin_fabs(x) < 0x1p-27 ? x : sb_atan2(x, 1); }

// sqrt(1 - x^2)
static SbPair other_side(double x) {
    return sb_pair_root(sb_pair_multiply(sb_pair_sum(1, -x), sb_pair_sum(1, x)));
}

double sb_asin(double x) {
    double size = __builtin_fabs(x);
    if (!(size <= 1)) return (double)__builtin_nanf("");
    if (size < 0x1p-27) return x;
    return turn(first_quadrant((SbPair){size, 0}, other_side(size)), false, x < 0);
}

double sb_acos(double x) {
    double size = __builtin_fabs(x);
    if (!(size <= 1)) return (double)__builtin_nanf("");
    return turn(first_quadrant(other_side(size), (SbPair){size, 0}), x < 0, false);
}

// pi/180 and 180/pi
double sb_radians(double degrees) {
    SbPair factor = {0x1.1df46a2529d39p-6, 0x1.5c1d8becdd291p-62};
    SbPair value = sb_pair_multiply((SbPair){degrees, 0}, factor);
    return value.high == value.high && __builtin_fabs(value.high) < INF ? value.high + value.low
                                                                        : degrees * factor.high;
}

double sb_degrees(double radians) {
    SbPair factor = {0x1.ca5dc1a63c1f8p+5, -0x1.1e7ab456405f9p-49};
    SbPair value = sb_pair_multiply((SbPair){radians, 0}, factor);
    return value.high == value.high && __builtin_fabs(value.high) < INF ? value.high + value.low
                                                                        : radians * factor.high;
}
