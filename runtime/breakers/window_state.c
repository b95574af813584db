#include "runtime/breakers/window_state.h"

#include "stdlib/aggregate.h"
#include "stdlib/number.h"
#include "stdlib/value.h"

#include <string.h>

// What is added up: integers of both kinds and durations in 128 bits, decimals, exact floats; else
// rows are counted, or the address of the least or greatest value is kept.
typedef enum Adds {
    ADDS_ROWS, ADDS_SIGNED, ADDS_UNSIGNED, ADDS_DECIMAL, ADDS_FLOAT, ADDS_BEST,
} Adds;

typedef union State {
    int64_t      rows;
    SbIntegerSum integer;
    SbDecimalSum decimal;
    SbExactSum   real;
    const void  *best;    // In the entry of a row that is there.
} State;

static_assert(sizeof(State) <= WINDOW_STATE_BYTES);

static Adds adds(const SbWindowFn *fn) {
    if (fn->kind == SB_WINDOW_COUNT) return ADDS_ROWS;
    if (fn->kind == SB_WINDOW_MIN || fn->kind == SB_WINDOW_MAX) return ADDS_BEST;
    switch (fn->type->kind) {
    case SB_U64: return ADDS_UNSIGNED;
    case SB_DECIMAL: return ADDS_DECIMAL;
    case SB_F64: return ADDS_FLOAT;
    default: return ADDS_SIGNED;  // i64, dates, timestamps and durations.
    }
}

static int64_t integer_at(const SbType *type, const void *value) {
    return type->kind == SB_DATE ? *(const int32_t *)value : *(const int64_t *)value;
}

static SbDecimal decimal_at(const SbType *type, const void *value) {
    enum { NARROW_DIGITS = 18 };
    if (type->precision > NARROW_DIGITS) return *(const SbDecimal *)value;
    return *(const int64_t *)value;
}

// Of equal values the first one stays.
static void take_best(const SbWindowFn *fn, State *state, const void *value) {
    if (!state->best) {
        state->best = value;
        return;
    }
    int32_t order = sb_compare(fn->type, value, state->best);
    if (fn->kind == SB_WINDOW_MIN ? order < 0 : order > 0) state->best = value;
}

int32_t window_add(const SbWindowFn *fn, SbCall *call, void *into, const void *value) {
    State *state = into;
    switch (adds(fn)) {
    case ADDS_ROWS: state->rows++; return SB_OK;
    case ADDS_SIGNED: sb_sum_i64_add(&state->integer, integer_at(fn->type, value)); return SB_OK;
    case ADDS_UNSIGNED: sb_sum_u64_add(&state->integer, *(const uint64_t *)value); return SB_OK;
    case ADDS_DECIMAL:
        sb_sum_decimal_add(&state->decimal, decimal_at(fn->type, value));
        return SB_OK;
    case ADDS_FLOAT: return sb_sum_f64_add(call, &state->real, *(const double *)value);
    case ADDS_BEST: take_best(fn, state, value); return SB_OK;
    }
    return SB_OK;
}

int32_t window_merge(const SbWindowFn *fn, SbCall *call, void *into, const void *other) {
    State *state = into;
    const State *from = other;
    switch (adds(fn)) {
    case ADDS_ROWS: state->rows += from->rows; return SB_OK;
    case ADDS_SIGNED: case ADDS_UNSIGNED:
        sb_sum_i64_merge(&state->integer, &from->integer);
        return SB_OK;
    case ADDS_DECIMAL: sb_sum_decimal_merge(&state->decimal, &from->decimal); return SB_OK;
    case ADDS_FLOAT: return sb_sum_f64_merge(call, &state->real, &from->real);
    case ADDS_BEST:
        if (from->best) take_best(fn, state, from->best);
        return SB_OK;
    }
    return SB_OK;
}

static int32_t end_sum(const SbWindowFn *fn, const State *state, void *out) {
    switch (adds(fn)) {
    case ADDS_SIGNED: return sb_sum_i64_end(&state->integer, out);
    case ADDS_UNSIGNED: return sb_sum_u64_end(&state->integer, out);
    case ADDS_DECIMAL: return sb_sum_decimal_end(&state->decimal, out);
    default: *(double *)out = sb_exact_value(&state->real); return SB_OK;
    }
}

static int32_t end_mean(const SbWindowFn *fn, SbCall *call, const State *state, void *out) {
    uint32_t kind = fn->type->kind;
    if (kind == SB_DATE) return sb_mean_date_end(&state->integer, out);
    if (kind == SB_TIMESTAMP) return sb_mean_timestamp_end(&state->integer, fn->type, out);
    if (kind == SB_DURATION) return sb_mean_duration_end(&state->integer, out);
    switch (adds(fn)) {
    case ADDS_SIGNED: return sb_mean_i64_end(&state->integer, out);
    case ADDS_UNSIGNED: return sb_mean_u64_end(&state->integer, out);
    case ADDS_DECIMAL: return sb_mean_decimal_end(&state->decimal, fn->type, out);
    default: return sb_mean_f64_end(call, &state->real, out);
    }
}

// A zero is 0.0, as in `min(x)` of a group.
static int32_t end_best(const SbWindowFn *fn, const State *state, void *out) {
    if (!state->best) return SB_NULL;
    memcpy(out, state->best, (size_t)sb_base_size(fn->type));
    if (fn->type->kind == SB_F64) *(double *)out += 0.0;
    if (fn->type->kind == SB_F32) *(float *)out += 0.0F;
    return SB_OK;
}

int32_t window_end(const SbWindowFn *fn, SbCall *call, const void *from, void *out) {
    const State *state = from;
    int32_t status = SB_OK;
    if (fn->kind == SB_WINDOW_COUNT) *(int64_t *)out = state->rows;
    else if (fn->kind == SB_WINDOW_SUM) status = end_sum(fn, state, out);
    else if (fn->kind == SB_WINDOW_MEAN) status = end_mean(fn, call, state, out);
    else status = end_best(fn, state, out);
    if (fn->result->nullable)
        ((uint8_t *)out)[fn->result->valid_offset] = status == SB_OK;
    return status == SB_NULL ? SB_OK : status;
}

const void *window_best(const void *state) { return ((const State *)state)->best; }

void window_set_best(void *state, const void *value) { ((State *)state)->best = value; }
