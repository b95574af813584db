#include "codegen/reference/aggregate.h"

#include "codegen/reference/big.h"
#include "codegen/reference/eval.h"
#include "codegen/reference/library.h"

#include <math.h>
#include <stdlib.h>

static Value value_at(const AggCall *call, size_t i) { return call->input->rows[i].x; }

// ---- sums -------------------------------------------------------------------------------------

// The sum of the values and of their squares. Integers and decimals stand in their own unit,
// floats in units of 2^BIG_HALF_UNIT and 2^BIG_UNIT.
typedef struct Sums {
    Big  x, xx;
    bool nan, up, down;   // What was not finite.
} Sums;

static void add_float(Sums *sums, double f, bool squares) {
    Big term = {0};
    if (isnan(f)) sums->nan = true;
    else if (isinf(f)) *(f > 0 ? &sums->up : &sums->down) = true;
    if (!isfinite(f)) return;
    big_add_f64(&term, f);
    big_add(&sums->x, &term);
    if (!squares) return;
    Big square = big_product(&term, &term);
    big_add(&sums->xx, &square);
}

static void add_integer(Sums *sums, __int128 number, bool squares) {
    Big term = {0};
    big_add_i128(&term, number, 0);
    big_add(&sums->x, &term);
    if (!squares) return;
    Big square = big_product(&term, &term);
    big_add(&sums->xx, &square);
}

static Sums sums_of(const AggCall *call, bool squares) {
    Sums sums = {0};
    for (size_t i = 0; i < call->input->count; i++) {
        Value value = value_at(call, i);
        if (type_is_float(call->type)) add_float(&sums, value.f, squares);
        else if (call->type->kind == TYPE_DECIMAL) add_integer(&sums, value.decimal, squares);
        else add_integer(&sums, value_integer(call->type, &value), squares);
    }
    return sums;
}

// The sum of floats as f64 or f32.
static double rounded_sum(const Sums *sums, int bits) {
    if (sums->nan || (sums->up && sums->down)) return (double)NAN;
    if (sums->up || sums->down) return sums->up ? (double)INFINITY : -(double)INFINITY;
    return big_round(&sums->x, BIG_HALF_UNIT, bits);
}

// The low 128 bits; false if the number has more.
static bool big_to_i128(const Big *big, __int128 *out) {
    unsigned __int128 low = 0;
    for (int i = 3; i >= 0; i--) low = low << 32 | big->limb[i];
    *out = (__int128)low;
    uint32_t sign = *out < 0 ? UINT32_MAX : 0;
    for (int i = 4; i < BIG_LIMBS; i++) {
        if (big->limb[i] != sign) return false;
    }
    return true;
}

static int32_t sum(const AggCall *call, Value *out) {
    const Type *type = type_base(call->agg->type);
    Sums sums = sums_of(call, false);
    __int128 number;
    if (type_is_float(call->type)) {
        *out = value_f64(rounded_sum(&sums, type->kind == TYPE_F32 ? 24 : 53));
        return SB_OK;
    }
    if (!big_to_i128(&sums.x, &number)) return SB_FAULT_OVERFLOW;
    if (type->kind == TYPE_DECIMAL) {
        __int128 limit = (__int128)power_of_ten(type->precision);
        *out = (Value){.decimal = number};
        return number < limit && number > -limit ? SB_OK : SB_FAULT_OVERFLOW;
    }
    *out = value_of_integer(type, number);
    return integer_fits(type, number) ? SB_OK : SB_FAULT_OVERFLOW;
}

// 1 of nothing. A product with a zero is zero, whatever the others are.
static int32_t product(const AggCall *call, Value *out) {
    const Type *type = type_base(call->agg->type);
    unsigned __int128 size = 1;   // It stays when 64 bits do not hold it.
    bool zero = false, minus = false;
    for (size_t i = 0; i < call->input->count; i++) {
        Value value = value_at(call, i);
        __int128 factor = value_integer(call->type, &value);
        zero |= factor == 0;
        minus ^= factor < 0;
        if (factor && size <= UINT64_MAX)
            size *= (unsigned __int128)(factor < 0 ? -factor : factor);
    }
    if (!zero && size > UINT64_MAX) return SB_FAULT_OVERFLOW;
    __int128 number = zero ? 0 : minus ? -(__int128)size : (__int128)size;
    *out = value_of_integer(type, number);
    return integer_fits(type, number) ? SB_OK : SB_FAULT_OVERFLOW;
}

// The sum of whole numbers * 10^-scale, rounded once to f64.
static double rounded_integer_sum(const Sums *sums, const Type *type) {
    return big_decimal(&sums->x, type->kind == TYPE_DECIMAL ? type->scale : 0);
}

static int32_t mean(const AggCall *call, Value *out) {
    Sums sums = sums_of(call, false);
    int64_t count = (int64_t)call->input->count;
    __int128 number;
    if (call->type->kind == TYPE_DURATION) {  // Whole microseconds, halves away from zero.
        if (!big_to_i128(&sums.x, &number)) return SB_FAULT_OVERFLOW;
        *out = value_i64((int64_t)((number + (number < 0 ? -(count / 2) : count / 2)) / count));
        return SB_OK;
    }
    if (call->type->kind == TYPE_DATE || call->type->kind == TYPE_TIMESTAMP) {
        if (!big_to_i128(&sums.x, &number)) return SB_FAULT_OVERFLOW;
        *out = value_i64((int64_t)floor_divide(number, count));
        return SB_OK;
    }
    double total = type_is_float(call->type) ? rounded_sum(&sums, 53)
                                             : rounded_integer_sum(&sums, call->type);
    *out = value_f64(total / (double)count);
    return SB_OK;
}

typedef struct Spread {
    bool root, sample;   // The square root; over n (n - 1), not n n.
} Spread;

// f64(n Sxx - Sx Sx) / (f64(n) f64(n - 1)); the numerator is exact.
static int32_t variance(const AggCall *call, Value *out, Spread spread) {
    uint64_t n = call->input->count;
    *out = value_null();
    if (n < 1 + (uint64_t)spread.sample) return SB_OK;
    Sums sums = sums_of(call, true);
    Big count = big_of(n), square = big_product(&sums.x, &sums.x);
    Big numerator = big_product(&count, &sums.xx);
    big_negate(&square);
    big_add(&numerator, &square);
    unsigned scale = call->type->kind == TYPE_DECIMAL ? 2 * call->type->scale : 0;
    double above = type_is_float(call->type) ? big_round(&numerator, BIG_UNIT, 53)
                                             : big_decimal(&numerator, scale);
    double result = above / ((double)n * (double)(n - spread.sample));
    if (sums.nan || sums.up || sums.down) result = (double)NAN;
    *out = value_f64(spread.root ? sqrt(result) : result);
    return SB_OK;
}

// ---- pairs ------------------------------------------------------------------------------------

// n Sxx - Sx Sx, n Syy - Sy Sy and n Sxy - Sx Sy of pairs, in units of 2^BIG_UNIT.
typedef struct Pairs {
    Big  xx, yy, xy;
    bool special;   // Some number is not finite.
} Pairs;

static double as_f64(const Type *type, const Value *value);

static void add_product(Big *sum, const Big *a, const Big *b) {
    Big product = big_product(a, b);
    big_add(sum, &product);
}

// n * squares - x * y.
static Big centred(Big squares, Big count, const Big *x, const Big *y) {
    Big product = big_product(x, y), all = big_product(&count, &squares);
    big_negate(&product);
    big_add(&all, &product);
    return all;
}

static Pairs pairs_of(const AggCall *call) {
    Pairs sums = {0};
    Big x = {0}, y = {0}, n = big_of(call->input->count);
    for (size_t i = 0; i < call->input->count; i++) {
        const AggRow *row = &call->input->rows[i];
        double a = as_f64(call->type, &row->x), b = as_f64(call->by_type, &row->by);
        Big of_a = {0}, of_b = {0};
        if (!isfinite(a) || !isfinite(b)) return (Pairs){.special = true};
        big_add_f64(&of_a, a);
        big_add_f64(&of_b, b);
        big_add(&x, &of_a);
        big_add(&y, &of_b);
        add_product(&sums.xx, &of_a, &of_a);
        add_product(&sums.yy, &of_b, &of_b);
        add_product(&sums.xy, &of_a, &of_b);
    }
    return (Pairs){centred(sums.xx, n, &x, &x), centred(sums.yy, n, &y, &y),
                   centred(sums.xy, n, &x, &y), false};
}

static int32_t covariance(const AggCall *call, bool sample, Value *out) {
    uint64_t n = call->input->count;
    if (n < 1 + (uint64_t)sample) return SB_OK;
    Pairs sums = pairs_of(call);
    double above = big_round(&sums.xy, BIG_UNIT, 53) + 0.0;
    double result = above / ((double)n * (double)(n - sample));
    *out = value_f64(sums.special ? (double)NAN : result);
    return SB_OK;
}

// The first 53 bits of `big`, which are worth 2^exponent units more; the exponent is even.
static double first_bits(const Big *big, int *exponent) {
    Big size = *big;
    if (big_is_negative(big)) big_negate(&size);
    int top = BIG_LIMBS - 1;
    while (top && !size.limb[top]) top--;
    *exponent = 32 * top;
    return big_round(big, -32 * top, 53);
}

static int32_t correlation(const AggCall *call, Value *out) {
    if (call->input->count < 2) return SB_OK;
    Pairs sums = pairs_of(call);
    int ex, ey, e;
    double x = first_bits(&sums.xx, &ex), y = first_bits(&sums.yy, &ey);
    double xy = first_bits(&sums.xy, &e);
    if (!sums.special && (x == 0 || y == 0)) return SB_OK;
    double result = ldexp(xy / sqrt(x * y), e - ex / 2 - ey / 2) + 0.0;
    if (fabs(result) > 1) result = copysign(1, result);
    *out = value_f64(sums.special ? (double)NAN : result);
    return SB_OK;
}

// ---- order ------------------------------------------------------------------------------------

// The first row whose value (or `by`) is least or greatest.
static int32_t extreme(const AggCall *call, bool greatest, Value *out) {
    bool by = call->by_type;
    const AggRow *best = &call->input->rows[0];
    for (size_t i = 1; i < call->input->count; i++) {
        const AggRow *row = &call->input->rows[i];
        int sign = by ? value_compare(call->by_type, &row->by, &best->by)
                      : value_compare(call->type, &row->x, &best->x);
        if (greatest ? sign > 0 : sign < 0) best = row;
    }
    *out = best->x;
    if (!by && type_is_float(call->type)) out->f += 0.0;  // -0.0 is 0.0, whichever came first.
    return SB_OK;
}

// Insertion keeps it plain; merge sort is in sort.c for the rows of flows.
static Value *sorted_values(const AggCall *call) {
    size_t count = call->input->count;
    Value *values = arena_new_array(call->arena, Value, count + 1);
    for (size_t i = 0; i < count; i++) {
        Value value = value_at(call, i);
        size_t low = 0, high = i;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (value_compare(call->type, &values[middle], &value) <= 0) low = middle + 1;
            else high = middle;
        }
        for (size_t k = i; k > low; k--) values[k] = values[k - 1];
        values[low] = value;
    }
    return values;
}

static double as_f64(const Type *type, const Value *value) {
    if (type_is_float(type)) return value->f;
    if (type->kind == TYPE_DURATION) return (double)value->i;
    if (type->kind == TYPE_DECIMAL) return decimal_to_f64(value->decimal, type->scale);
    return integer_to_f64(value_integer(type, value));
}

static bool of_times(const AggCall *call) {
    TypeKind kind = call->type->kind;
    return kind == TYPE_DATE || kind == TYPE_TIMESTAMP || kind == TYPE_DURATION;
}

// low + (high - low) part of whole numbers: durations with halves away from zero, else rounded
// down. What a float has after the point is a whole number of 2^-places.
static int64_t time_between(const AggCall *call, int64_t low, int64_t high, double part) {
    int exponent;
    __int128 size = (__int128)ldexp(frexp(part, &exponent), 53);
    int places = 53 - exponent;
    __int128 way = ((__int128)high - low) * size, whole = places > 120 ? 0 : way >> places;
    if (call->type->kind != TYPE_DURATION || places > 120) return (int64_t)(low + whole);
    __int128 twice = (way - (whole << places)) * 2, one = (__int128)1 << places;
    bool up = twice > one || (twice == one && low + whole >= 0);
    return (int64_t)(low + whole + up);
}

static int32_t quantile(const AggCall *call, double fraction, Value *out) {
    if (!(fraction >= 0 && fraction <= 1)) return SB_FAULT_BAD_ARGUMENT;
    const Value *values = sorted_values(call);
    double place = fraction * (double)(call->input->count - 1), whole = floor(place);
    size_t i = (size_t)whole;
    if (of_times(call)) {
        *out = value_i64(values[i].i);
        if (place != whole)
            out->i = time_between(call, values[i].i, values[i + 1].i, place - whole);
        return SB_OK;
    }
    double low = as_f64(call->type, &values[i]) + 0.0;  // -0.0 counts as 0.0.
    if (place != whole) {
        double high = as_f64(call->type, &values[i + 1]);
        low = low + (high - low) * (place - whole);
    }
    *out = value_f64(low);
    return SB_OK;
}

// The moments about the mean, as docs/aggregates.md has them: `power` 3 or 4.
static int32_t moment(const AggCall *call, int power, bool sample, Value *out) {
    const Value *values = sorted_values(call);
    size_t count = call->input->count;
    double n = (double)count, total = 0, left = 0, m2 = 0, m = 0;
    double *x = arena_new_array(call->arena, double, count + 1);
    if (count < (sample ? (size_t)power : 1)) return SB_OK;
    for (size_t i = 0; i < count; i++) total += x[i] = as_f64(call->type, &values[i]) + 0.0;
    for (size_t i = 0; i < count; i++) left += x[i] - total / n;
    double middle = total / n + left / n;
    double most = fmax(middle - x[0], x[count - 1] - middle);
    *out = value_f64((double)NAN);
    if (!isfinite(middle - x[0]) || !isfinite(x[count - 1] - middle)) return SB_OK;
    *out = value_null();
    if (x[0] == x[count - 1]) return SB_OK;
    for (size_t i = 0; i < count; i++) {
        double u = (x[i] - middle) / most;
        m2 += u * u;
        m += u * u * (power == 4 ? u * u : u);
    }
    m2 /= n, m /= n;
    double g = power == 4 ? m / (m2 * m2) - 3 : m / (m2 * sqrt(m2));
    if (sample && power == 3) g = g * sqrt(n * (n - 1)) / (n - 2);
    if (sample && power == 4) g = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * g + 6);
    *out = value_f64(g);
    return SB_OK;
}

// The middle of all numbers of the sign that have the first 8 bits of |x| in common, those of
// subnormal numbers counted from the first bit that they may have.
static double middle_of_bucket(double x) {
    int exponent;
    double size = fabs(x);
    if (!isfinite(x)) return x;
    frexp(size, &exponent);
    double step = ldexp(1, (exponent - 1 < -1022 ? -1022 : exponent - 1) - 7);
    if (size < step) return 0;
    return copysign((floor(size / step) + 0.5) * step, x);
}

// The middle of the values of which all but the last `bits` bits are those of x, where `bits` is
// the least with which there are 1,001 such parts of all values.
static int64_t middle_of_span(const AggCall *call, const Value *values, int64_t x) {
    for (int bits = 0;; bits++) {
        size_t parts = 1;
        for (size_t i = 1; i < call->input->count; i++)
            parts += values[i].i >> bits != values[i - 1].i >> bits;
        int64_t width = INT64_C(1) << bits;
        if (parts <= 1001) return (x >> bits) * width + width / 2;
    }
}

static int32_t approx_quantile(const AggCall *call, double fraction, Value *out) {
    if (!(fraction >= 0 && fraction <= 1)) return SB_FAULT_BAD_ARGUMENT;
    const Value *values = sorted_values(call);
    size_t last = call->input->count - 1, place = (size_t)(fraction * (double)last);
    if (of_times(call) && call->type->kind != TYPE_DURATION) {
        int64_t at = values[place].i;
        if (place && place < last) at = middle_of_span(call, values, at);
        if (at < values[0].i) at = values[0].i;
        *out = value_i64(at > values[last].i ? values[last].i : at);
        return SB_OK;
    }
    double x = as_f64(call->type, &values[place]) + 0.0;
    double least = as_f64(call->type, &values[0]) + 0.0;
    double greatest = as_f64(call->type, &values[last]) + 0.0;
    if (place && place < last) x = middle_of_bucket(x);
    if (x < least) x = least;
    if (x > greatest) x = greatest;
    *out = value_f64(x);
    if (call->type->kind == TYPE_DURATION)
        *out = value_i64(round(x) >= 0x1p63 ? INT64_MAX : (int64_t)round(x));
    return SB_OK;
}

// The longest run of sorted values; of equal ones the value that came first.
static int32_t mode(const AggCall *call, Value *out) {
    const Value *values = sorted_values(call);
    size_t count = call->input->count, best = 0;
    size_t *runs = arena_new_array(call->arena, size_t, count);
    for (size_t i = 0, run = 0; i < count; i++) {
        run = i && value_same(call->type, &values[i - 1], &values[i]) ? run + 1 : 1;
        runs[i] = run;
        if (run > best) best = run;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            if (runs[k] != best || !value_same(call->type, &values[k], &call->input->rows[i].x))
                continue;
            *out = call->input->rows[i].x;
            return SB_OK;
        }
    }
    return SB_OK;
}

static int64_t distinct_values(const AggCall *call) {
    const Value *values = sorted_values(call);
    int64_t count = 0;
    for (size_t i = 0; i < call->input->count; i++)
        count += !i || !value_same(call->type, &values[i - 1], &values[i]);
    return count;
}

typedef int32_t HashAny(SbCall *call, const SbType *type, const void *x, uint64_t *out);

// Flajolet's registers and Ertl's estimate, from the hashes of all values at once.
static int64_t approx_distinct(const AggCall *call) {
    enum { REGISTERS = 4096, RANKS = 53, FEW = 256 };
    HashAny *hash_any = (HashAny *)library_symbol(TEXT("sb_hash_any"));
    const SbType *type = library_type(call->arena, call->type);
    int64_t different = distinct_values(call);
    double ranks[RANKS + 1] = {REGISTERS}, z, x, y;
    uint8_t registers[REGISTERS] = {0};
    if (different <= FEW) return different;
    for (size_t i = 0; i < call->input->count; i++) {
        Value value = value_at(call, i);
        char *memory = arena_alloc(call->arena, type->size + SB_SLACK, 16);
        uint64_t hash = 0;
        library_put(call->arena, call->type, &value, memory);
        hash_any(call->scratch, type, memory, &hash);
        uint8_t *place = &registers[hash >> 52], rank = 1;
        while (rank < RANKS && !(hash << 12 >> (64 - rank) & 1)) rank++;
        if (*place >= rank) continue;
        ranks[*place]--;
        ranks[*place = rank]++;
    }
    // tau of the registers that are full, the others by rank, sigma of those that are empty.
    x = 1 - ranks[RANKS] / REGISTERS, z = 1 - x;
    for (double last = -1, part = 1; x != 0 && x != 1 && z != last;) {
        x = sqrt(x), last = z, part *= 0.5;
        z -= (1 - x) * (1 - x) * part;
    }
    z = x == 0 || x == 1 ? 0 : REGISTERS * (z / 3);
    for (int rank = RANKS - 1; rank >= 1; rank--) z = 0.5 * (z + ranks[rank]);
    x = y = ranks[0] / REGISTERS;
    for (double last = -1, part = 1; x != 1 && y != last; part += part) {
        x *= x, last = y;
        y += x * part;
    }
    if (x == 1) return 0;
    z += REGISTERS * y;
    return (int64_t)floor((double)REGISTERS * REGISTERS / (2 * 0.69314718055994530942 * z) + 0.5);
}

static int32_t collect(const AggCall *call, Value *out) {
    size_t count = call->input->count;
    *out = (Value){.items = arena_new_array(call->arena, Value, count + 1)};
    out->item_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) out->items[i] = value_at(call, i);
    return SB_OK;
}

static int32_t string_agg(const AggCall *call, Value *out) {
    TextBuf buf = {0};
    for (size_t i = 0; i < call->input->count; i++) {
        if (i) text_buf_add(&buf, call->option.text);
        text_buf_add(&buf, value_at(call, i).text);
    }
    *out = value_text(text_buf_take(&buf, call->arena));
    return SB_OK;
}

static int32_t truth(const AggCall *call, bool all, Value *out) {
    *out = value_bool(all);
    for (size_t i = 0; i < call->input->count; i++) {
        if (value_at(call, i).i != all) out->i = !all;
    }
    return SB_OK;
}

int32_t aggregate(const AggCall *call, Value *out) {
    Text name = call->agg->fn ? call->agg->fn->name : TEXT("count");
    size_t count = call->input->count;
    *out = value_i64((int64_t)count);
    if (text_is(name, "count")) return SB_OK;
    if (text_is(name, "sum")) return sum(call, out);
    if (text_is(name, "product")) return product(call, out);
    if (text_is(name, "count_distinct")) {
        out->i = distinct_values(call);
        return SB_OK;
    }
    if (text_is(name, "approx_count_distinct")) {
        out->i = approx_distinct(call);
        return SB_OK;
    }
    *out = value_null();
    if (!count) return SB_OK;
    if (text_is(name, "mean")) return mean(call, out);
    if (text_is(name, "variance")) return variance(call, out, (Spread){false, true});
    if (text_is(name, "stddev")) return variance(call, out, (Spread){true, true});
    if (text_is(name, "variance_pop")) return variance(call, out, (Spread){false, false});
    if (text_is(name, "stddev_pop")) return variance(call, out, (Spread){true, false});
    if (text_is(name, "corr")) return correlation(call, out);
    if (text_is(name, "covar_samp")) return covariance(call, true, out);
    if (text_is(name, "covar_pop")) return covariance(call, false, out);
    if (text_is(name, "min") || text_is(name, "arg_min")) return extreme(call, false, out);
    if (text_is(name, "max") || text_is(name, "arg_max")) return extreme(call, true, out);
    if (text_is(name, "quantile")) return quantile(call, call->option.f, out);
    if (text_is(name, "approx_quantile")) return approx_quantile(call, call->option.f, out);
    if (text_is(name, "median")) return quantile(call, 0.5, out);
    if (text_is(name, "skewness")) return moment(call, 3, true, out);
    if (text_is(name, "skewness_pop")) return moment(call, 3, false, out);
    if (text_is(name, "kurtosis")) return moment(call, 4, true, out);
    if (text_is(name, "kurtosis_pop")) return moment(call, 4, false, out);
    if (text_is(name, "mode")) return mode(call, out);
    if (text_is(name, "collect")) return collect(call, out);
    if (text_is(name, "string_agg")) return string_agg(call, out);
    if (text_is(name, "any")) return truth(call, false, out);
    if (text_is(name, "all")) return truth(call, true, out);
    if (text_is(name, "first")) *out = value_at(call, 0);
    else if (text_is(name, "last")) *out = value_at(call, count - 1);
    else return SB_FAULT_BAD_ARGUMENT;
    return SB_OK;
}
