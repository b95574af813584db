#include "runtime/breakers/window.h"

#include "runtime/breakers/window_state.h"
#include "runtime/disk.h"
#include "stdlib/time.h"
#include "stdlib/value.h"

#include <stdlib.h>
#include <string.h>

enum { SCRATCH_BYTES = 4096 };

// ---- rows and values ----------------------------------------------------------------------------

static SbEntry *row_at(const WindowRun *window, int64_t number) {
    return window->rows[number - window->first];
}

static void *result_of(const SbWindowFn *fn, SbEntry *entry) {
    return (char *)entry + fn->result_offset;
}

// The value of the row; null: it is null, or the function takes none.
static const void *value_of(const SbWindowFn *fn, const SbEntry *entry) {
    const void *value = (const char *)entry + fn->value_offset;
    return fn->type && sb_is_valid(fn->type, value) ? value : nullptr;
}

// The value of `from`, or null where there is no row, becomes the result of `to`.
static void give(const SbWindowFn *fn, const SbEntry *from, SbEntry *to) {
    const void *value = from ? value_of(fn, from) : nullptr;
    char *out = result_of(fn, to);
    if (value) memcpy(out, value, (size_t)sb_base_size(fn->type));
    if (fn->result->nullable) out[fn->result->valid_offset] = value != nullptr;
}

static void give_number(const SbWindowFn *fn, SbEntry *to, int64_t number) {
    *(int64_t *)result_of(fn, to) = number;
}

// ---- keys of ranges -----------------------------------------------------------------------------

static __int128 whole_at(const SbType *type, const void *value) {
    switch (type->kind) {
    case SB_I8: return *(const int8_t *)value;
    case SB_I16: return *(const int16_t *)value;
    case SB_I32: case SB_DATE: return *(const int32_t *)value;
    case SB_U8: return *(const uint8_t *)value;
    case SB_U16: return *(const uint16_t *)value;
    case SB_U32: return *(const uint32_t *)value;
    case SB_U64: return *(const uint64_t *)value;
    default: return *(const int64_t *)value;
    }
}

// How far row `b`, which comes after row `a`, is from it. False: one of them has no key.
static bool distance(const WindowRun *window, int64_t a, int64_t b, __int128 *out) {
    const SbType *type = window->what->key;
    const char *from = (const char *)row_at(window, a) + window->what->key_offset;
    const char *to = (const char *)row_at(window, b) + window->what->key_offset;
    if (!sb_is_valid(type, from) || !sb_is_valid(type, to)) {
        *out = 0;  // Rows without a key are near each other, and near no other row.
        return sb_is_valid(type, from) == sb_is_valid(type, to);
    }
    *out = whole_at(type, to) - whole_at(type, from);
    if (window->what->descending) *out = -*out;
    return true;
}

// Is the date `to` at most so many months from `from`, which it is before or after? Counted from
// the row whose frame it is: March 31 has February 28 a month back, which has March 28 ahead.
static bool within_months(int32_t from, int32_t to, bool later, int64_t months) {
    int32_t last;
    if (sb_add_months_date(from, later ? months : -months, &last) != SB_OK) return true;
    return later ? to <= last : to >= last;
}

typedef enum Side { BACK, AHEAD } Side;

// Row `b` comes after row `a`. Is `a` in the frame of `b`, so far as it goes back? Or `b` in that
// of `a`, ahead?
static bool within(const WindowRun *window, const SbWindowFn *fn, int64_t a, int64_t b, Side side) {
    __int128 far;
    int64_t most = side == BACK ? fn->back : fn->ahead;
    if (!distance(window, a, b, &far)) return false;
    bool near = far == 0 || most == SB_FRAME_ALL;
    if (fn->unit == SB_FRAME_RANGE || near) return far <= most;
    int32_t dates[2];
    memcpy(&dates[0], (const char *)row_at(window, a) + window->what->key_offset, sizeof *dates);
    memcpy(&dates[1], (const char *)row_at(window, b) + window->what->key_offset, sizeof *dates);
    bool later = (side == AHEAD) != window->what->descending;
    return within_months(dates[side == BACK], dates[side == AHEAD], later, most);
}

// Is the frame all of the partition?
static bool of_whole(const SbWindowFn *fn) {
    return fn->back == SB_FRAME_ALL && fn->ahead == SB_FRAME_ALL;
}

// ---- frames -------------------------------------------------------------------------------------

// Moves the frame to the next row.
static void move_frame(const WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    int64_t row = state->next;
    if (fn->unit != SB_FRAME_ROWS) {
        if (state->high <= row) state->high = row + 1;
        while (state->high < window->end && within(window, fn, row, state->high, AHEAD))
            state->high++;
        while (!within(window, fn, state->low, row, BACK)) state->low++;
        return;
    }
    bool open = fn->ahead == SB_FRAME_ALL || window->end - row <= fn->ahead;
    state->high = open ? window->end : row + fn->ahead + 1;
    state->low = row > fn->back ? row - fn->back : 0;
}

// Has the function to know all rows before the first one gets its result?
static bool wants_whole(const SbWindowFn *fn) {
    return of_whole(fn) || fn->kind == SB_WINDOW_NTILE;
}

// How far the function can give results: all that belongs to these is there.
static int64_t reach(const WindowRun *window, const WindowState *state) {
    const SbWindowFn *fn = state->fn;
    int64_t end = window->end, next = state->next;
    if (window->complete) return end;
    if (wants_whole(fn)) return window->rows_in_all < 0 ? next : end;
    int64_t ahead = fn->kind == SB_WINDOW_LEAD ? fn->n : fn->ahead;
    if (fn->unit == SB_FRAME_ROWS) return end - next > ahead ? end - ahead : next;
    int64_t low = next, high = end;  // The last row is within reach of those from `low` on.
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (within(window, fn, middle, end - 1, AHEAD)) high = middle;
        else low = middle + 1;
    }
    return low;
}

// ---- functions of places ------------------------------------------------------------------------

// Of the partition; -1: not known yet.
static int64_t rows_in_all(const WindowRun *window) {
    return window->complete ? window->end : window->rows_in_all;
}

static int32_t run_numbers(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    for (; state->next < window->limit; state->next++)
        give_number(fn, row_at(window, state->next), state->next + 1);
    return SB_OK;
}

static int32_t run_ranks(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    for (; state->next < window->limit; state->next++) {
        SbEntry *row = row_at(window, state->next);
        bool other = state->next == 0 ||
                     window->what->peers(row_at(window, state->next - 1), row) != 0;
        if (other) state->number = state->next + 1;
        state->dense += other;
        give_number(fn, row, fn->kind == SB_WINDOW_RANK ? state->number : state->dense);
    }
    return SB_OK;
}

static int32_t run_tiles(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    int64_t all = rows_in_all(window);
    int64_t rows = all / fn->n, longer = all % fn->n;
    int64_t of_longer = longer * (rows + 1);
    for (; state->next < window->limit; state->next++) {
        int64_t i = state->next;
        int64_t tile = i < of_longer ? i / (rows + 1) : longer + (i - of_longer) / rows;
        give_number(fn, row_at(window, i), tile + 1);
    }
    return SB_OK;
}

static int32_t run_lag(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    for (; state->next < window->limit; state->next++)
        give(fn, state->next >= fn->n ? row_at(window, state->next - fn->n) : nullptr,
             row_at(window, state->next));
    return SB_OK;
}

static int32_t run_lead(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    for (; state->next < window->limit; state->next++) {
        bool there = window->end - state->next > fn->n;
        give(fn, there ? row_at(window, state->next + fn->n) : nullptr,
             row_at(window, state->next));
    }
    return SB_OK;
}

// The same result for all rows, once it is known.
static bool run_whole(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    if (!window->whole || !of_whole(fn)) return false;
    const void *result = (const char *)window->whole + fn->result_offset;
    for (; state->next < window->limit; state->next++)
        memcpy(result_of(fn, row_at(window, state->next)), result, fn->result->size);
    return true;
}

// First, last and nth of a frame.
static int32_t run_picks(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    if (run_whole(window, state)) return SB_OK;
    for (; state->next < window->limit; state->next++) {
        move_frame(window, state);
        int64_t pick = state->low;
        if (fn->kind == SB_WINDOW_LAST) pick = state->high - 1;
        bool there = fn->kind != SB_WINDOW_NTH || state->high - state->low >= fn->n;
        if (fn->kind == SB_WINDOW_NTH && there) pick = state->low + fn->n - 1;
        give(fn, there ? row_at(window, pick) : nullptr, row_at(window, state->next));
    }
    return SB_OK;
}

static int32_t run_fill(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    for (; state->next < window->limit; state->next++) {
        SbEntry *row = row_at(window, state->next);
        if (value_of(fn, row)) state->last = row;
        give(fn, state->last, row);
    }
    return SB_OK;
}

static int32_t run_sessions(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    for (; state->next < window->limit; state->next++) {
        SbEntry *row = row_at(window, state->next);
        bool begins = state->next == 0;
        if (!begins) {
            __int128 gap = whole_at(fn->type, value_of(fn, row)) -
                           whole_at(fn->type, value_of(fn, row_at(window, state->next - 1)));
            begins = (gap < 0 ? -gap : gap) > fn->n;
        }
        state->number += begins;
        give_number(fn, row, state->number);
    }
    return SB_OK;
}

// ---- functions of frames ------------------------------------------------------------------------

static int32_t add_row(WindowState *state, SbCall *call, void *into, const SbEntry *row) {
    const void *value = value_of(state->fn, row);
    return value || !state->fn->type ? window_add(state->fn, call, into, value) : SB_OK;
}

static void forget_states(WindowState *state) {
    sb_scratch_rewind(&state->call);
    state->front = nullptr;
    memset(state->back, 0, WINDOW_STATE_BYTES);
}

// All rows of the frame go to the front: a state for each, of the rows from it to the last one.
static int32_t turn(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    int64_t rows = state->high - state->low;
    forget_states(state);
    state->front = sb_alloc(&state->call, rows * WINDOW_STATE_BYTES);
    if (!state->front) return SB_FAULT_TOO_LARGE;
    memset(state->front, 0, (size_t)(rows * WINDOW_STATE_BYTES));
    state->front_from = state->low;
    state->middle = state->high;
    int32_t status = SB_OK;
    for (int64_t i = rows; i-- > 0 && !status;) {
        char *here = state->front + i * WINDOW_STATE_BYTES;
        status = add_row(state, &state->call, here, row_at(window, state->low + i));
        if (i + 1 < rows && !status)
            status = window_merge(fn, &state->call, here, here + WINDOW_STATE_BYTES);
    }
    return status;
}

// The result of the frame.
static int32_t end_frame(WindowState *state, SbEntry *row) {
    const SbWindowFn *fn = state->fn;
    alignas(16) char whole[WINDOW_STATE_BYTES] = {0};
    void *out = result_of(fn, row);
    if (state->low >= state->middle) return window_end(fn, &state->query, state->back, out);
    const char *front = state->front + (state->low - state->front_from) * WINDOW_STATE_BYTES;
    int32_t status = window_merge(fn, &state->query, whole, front);
    if (!status) status = window_merge(fn, &state->query, whole, state->back);
    if (!status) status = window_end(fn, &state->query, whole, out);
    if (state->query.at != state->query.begin) sb_scratch_rewind(&state->query);
    return status;
}

static int32_t run_frames(WindowRun *window, WindowState *state) {
    const SbWindowFn *fn = state->fn;
    int32_t status = SB_OK;
    bool same = of_whole(fn);
    if (run_whole(window, state)) return SB_OK;
    for (; state->next < window->limit && !status; state->next++) {
        SbEntry *row = row_at(window, state->next);
        if (same && state->next > window->first) {
            memcpy(result_of(fn, row), result_of(fn, row_at(window, window->first)),
                   fn->result->size);
            continue;
        }
        int64_t from = state->high;
        move_frame(window, state);
        if (from < state->low) from = state->low;
        for (int64_t i = from; i < state->high && !status; i++)
            status = add_row(state, &state->call, state->back, row_at(window, i));
        bool slides = state->low > state->middle;  // Else `back` holds no row before the frame.
        if (slides && !status) status = turn(window, state);
        if (!status) status = end_frame(state, row);
    }
    return status;
}

// ---- all ----------------------------------------------------------------------------------------

static int32_t run_state(WindowRun *window, WindowState *state) {
    switch ((SbWindowKind)state->fn->kind) {
    case SB_WINDOW_ROW_NUMBER: return run_numbers(window, state);
    case SB_WINDOW_RANK: case SB_WINDOW_DENSE_RANK: return run_ranks(window, state);
    case SB_WINDOW_NTILE: return run_tiles(window, state);
    case SB_WINDOW_LAG: return run_lag(window, state);
    case SB_WINDOW_LEAD: return run_lead(window, state);
    case SB_WINDOW_FIRST: case SB_WINDOW_LAST: case SB_WINDOW_NTH: return run_picks(window, state);
    case SB_WINDOW_FILL: return run_fill(window, state);
    case SB_WINDOW_SESSION: return run_sessions(window, state);
    case SB_WINDOW_COUNT: case SB_WINDOW_SUM: case SB_WINDOW_MEAN: case SB_WINDOW_MIN:
    case SB_WINDOW_MAX:
        return run_frames(window, state);
    }
    return SB_OK;
}

int32_t window_run(WindowRun *window) {
    int32_t status = SB_OK;
    window->limit = window->end;
    for (uint32_t i = 0; i < window->what->fn_count; i++) {
        int64_t far = reach(window, &window->states[i]);
        if (far < window->limit) window->limit = far;
    }
    for (uint32_t i = 0; i < window->what->fn_count && !status; i++)
        status = run_state(window, &window->states[i]);
    return status;
}

// ---- rows that go -------------------------------------------------------------------------------

static bool is_running(const SbWindowFn *fn) {
    return fn->kind >= SB_WINDOW_COUNT && fn->back == SB_FRAME_ALL && !of_whole(fn);
}

static int64_t needed_by(const WindowState *state) {
    const SbWindowFn *fn = state->fn;
    int64_t before = state->next > 0 ? state->next - 1 : 0;
    switch (fn->kind) {
    case SB_WINDOW_LAG: return state->next > fn->n ? state->next - fn->n : 0;
    case SB_WINDOW_RANK: case SB_WINDOW_DENSE_RANK: case SB_WINDOW_SESSION: return before;
    case SB_WINDOW_ROW_NUMBER: case SB_WINDOW_NTILE: case SB_WINDOW_LEAD: case SB_WINDOW_FILL:
        return state->next;
    default: break;
    }
    if (of_whole(fn) || is_running(fn)) return state->next;
    return state->low < before ? state->low : before;
}

int64_t window_needed(const WindowRun *window) {
    int64_t needed = window->end > 0 ? window->end - 1 : 0;
    for (uint32_t i = 0; i < window->what->fn_count; i++) {
        const WindowState *state = &window->states[i];
        if (wants_whole(state->fn) && window->rows_in_all < 0) return -1;
        int64_t by = needed_by(state);
        if (by < needed) needed = by;
    }
    return needed;
}

static bool lies_before(const WindowRun *window, const SbEntry *entry, int64_t row) {
    for (int64_t i = window->first; i < row && i < window->end; i++)
        if (row_at(window, i) == entry) return true;
    return false;
}

// The row whose value the function still has; null: it has none.
static const SbEntry *held_row(const WindowState *state) {
    const SbWindowFn *fn = state->fn;
    if (fn->kind == SB_WINDOW_FILL) return state->last;
    bool best = fn->kind == SB_WINDOW_MIN || fn->kind == SB_WINDOW_MAX;
    const void *value = best && is_running(fn) ? window_best(state->back) : nullptr;
    return value ? (const SbEntry *)(const void *)((const char *)value - fn->value_offset)
                 : nullptr;
}

bool window_keep(WindowRun *window, int64_t row) {
    for (uint32_t i = 0; i < window->what->fn_count; i++) {
        WindowState *state = &window->states[i];
        const SbEntry *held = held_row(state);
        if (!held || !lies_before(window, held, row)) continue;
        sb_rows_clear(&state->kept);
        const SbEntry *copy = spill_copy(&state->kept, window->breaker, held);
        if (!copy) return false;
        if (state->fn->kind == SB_WINDOW_FILL) state->last = copy;
        else window_set_best(state->back, (const char *)copy + state->fn->value_offset);
    }
    return true;
}

// ---- all of a partition -------------------------------------------------------------------------

bool window_totals_open(WindowTotals *totals, const SbBreaker *breaker, const SbBreaker *bare,
                        SbMemory *memory) {
    const SbWindow *what = breaker->window;
    size_t count = what->fn_count + 1;
    *totals = (WindowTotals){.breaker = breaker, .bare = bare};
    totals->states = aligned_alloc(16, count * WINDOW_STATE_BYTES);
    totals->kept = calloc(count, sizeof *totals->kept);
    totals->picks = calloc(count, sizeof *totals->picks);
    totals->whole = calloc(1, breaker->entry_bytes);
    bool good = totals->states && totals->kept && totals->picks && totals->whole &&
                !sb_scratch_open(&totals->call, SCRATCH_BYTES);
    if (!good) return false;
    memset(totals->states, 0, count * WINDOW_STATE_BYTES);
    sb_scratch_charge(&totals->call, memory);
    for (uint32_t i = 0; i < what->fn_count && good; i++)
        good = sb_rows_init(&totals->kept[i], memory, breaker->entry_bytes) == SB_OK;
    return good;
}

void window_totals_close(WindowTotals *totals) {
    for (uint32_t i = 0; totals->kept && i < totals->breaker->window->fn_count; i++)
        if (totals->kept[i].state) sb_rows_fini(&totals->kept[i]);
    if (totals->call.scratch) sb_scratch_close(&totals->call);
    free(totals->states);
    free(totals->kept);
    free(totals->picks);
    free(totals->whole);
    *totals = (WindowTotals){0};
}

// The row is the one whose value function `i` gives.
static bool pick(WindowTotals *totals, uint32_t i, const SbEntry *entry) {
    sb_rows_clear(&totals->kept[i]);
    totals->picks[i] = spill_copy(&totals->kept[i], totals->bare, entry);
    return totals->picks[i];
}

static int32_t total_of(WindowTotals *totals, uint32_t i, const SbEntry *entry) {
    const SbWindowFn *fn = &totals->breaker->window->fns[i];
    char *state = totals->states + i * WINDOW_STATE_BYTES;
    if (!of_whole(fn)) return SB_OK;
    if (fn->kind < SB_WINDOW_COUNT) {
        bool wanted = fn->kind == SB_WINDOW_LAST || totals->rows == (fn->n ? fn->n - 1 : 0);
        return !wanted || pick(totals, i, entry) ? SB_OK : SB_FAULT_TOO_LARGE;
    }
    const void *value = value_of(fn, entry);
    if (!value && fn->type) return SB_OK;
    int32_t status = window_add(fn, &totals->call, state, value);
    bool best = fn->kind == SB_WINDOW_MIN || fn->kind == SB_WINDOW_MAX;
    if (status || !best || window_best(state) != value) return status;
    if (!pick(totals, i, entry)) return SB_FAULT_TOO_LARGE;
    window_set_best(state, (const char *)totals->picks[i] + fn->value_offset);
    return SB_OK;
}

int32_t window_totals_add(WindowTotals *totals, const SbEntry *entry) {
    int32_t status = SB_OK;
    for (uint32_t i = 0; i < totals->breaker->window->fn_count && !status; i++)
        status = total_of(totals, i, entry);
    totals->rows++;
    return status;
}

int32_t window_totals_end(WindowTotals *totals, WindowRun *window) {
    const SbWindow *what = totals->breaker->window;
    int32_t status = SB_OK;
    for (uint32_t i = 0; i < what->fn_count && !status; i++) {
        const SbWindowFn *fn = &what->fns[i];
        if (!of_whole(fn)) continue;
        if (fn->kind < SB_WINDOW_COUNT) give(fn, totals->picks[i], totals->whole);
        else
            status = window_end(fn, &totals->call, totals->states + i * WINDOW_STATE_BYTES,
                                result_of(fn, totals->whole));
    }
    window->whole = totals->whole;
    window->rows_in_all = totals->rows;
    return status;
}

// ---- life ---------------------------------------------------------------------------------------

// Results stand behind all else in an entry.
bool window_bare(const SbBreaker *what, SbBreaker *bare, SbHeld **held) {
    const SbWindow *window = what->window;
    uint32_t end = what->entry_bytes, count = 0;
    for (uint32_t i = 0; i < window->fn_count; i++)
        if (window->fns[i].result_offset < end) end = window->fns[i].result_offset;
    if (what->identity_offset != UINT32_MAX && what->identity_offset >= end)
        end = what->entry_bytes;
    *held = calloc(what->held_count + 1, sizeof **held);
    if (!*held) return false;
    for (uint32_t i = 0; i < what->held_count; i++)
        if (what->held[i].offset < end) (*held)[count++] = what->held[i];
    *bare = *what;
    bare->entry_bytes = end;
    bare->held = *held;
    bare->held_count = count;
    return true;
}

void window_begin(WindowRun *window) {
    window->first = window->end = window->limit = 0;
    window->complete = false;
    window->whole = nullptr;
    window->rows_in_all = -1;
    for (uint32_t i = 0; i < window->what->fn_count; i++) {
        WindowState *state = &window->states[i];
        state->next = state->low = state->high = state->middle = 0;
        state->number = state->dense = 0;
        state->last = nullptr;
        if (state->kept.count) sb_rows_clear(&state->kept);
        forget_states(state);
    }
}

bool window_open(WindowRun *window, const SbBreaker *breaker, SbMemory *memory) {
    const SbWindow *what = breaker->window;
    *window = (WindowRun){.breaker = breaker, .what = what, .memory = memory};
    window->states = calloc(what->fn_count + 1, sizeof *window->states);
    bool good = window->states;
    for (uint32_t i = 0; i < what->fn_count && good; i++) {
        WindowState *state = &window->states[i];
        state->fn = &what->fns[i];
        state->back = aligned_alloc(16, WINDOW_STATE_BYTES);
        good = state->back && !sb_scratch_open(&state->call, SCRATCH_BYTES) &&
               !sb_scratch_open(&state->query, SCRATCH_BYTES) &&
               sb_rows_init(&state->kept, memory, breaker->entry_bytes) == SB_OK;
        if (!good) break;
        sb_scratch_charge(&state->call, memory);
        sb_scratch_charge(&state->query, memory);
    }
    if (good) window_begin(window);
    return good;
}

void window_close(WindowRun *window) {
    for (uint32_t i = 0; window->states && i < window->what->fn_count; i++) {
        WindowState *state = &window->states[i];
        sb_scratch_close(&state->call);
        sb_scratch_close(&state->query);
        if (state->kept.state) sb_rows_fini(&state->kept);
        free(state->back);
    }
    free(window->states);
    *window = (WindowRun){0};
}

// ---- in memory ----------------------------------------------------------------------------------

typedef struct Pieces {
    const SbBreaker *breaker;
    const SbWindow  *what;
    SbEntry        **entries;
    int64_t          count;
    uint32_t         pieces;
    SbMemory       *memory;
    _Atomic int32_t status;
} Pieces;

bool window_same_partition(const SbWindow *what, const SbEntry *a, const SbEntry *b) {
    return !what->partition || what->partition(a, b) == 0;
}

// Where piece `number` begins: with a partition.
static int64_t piece_begin(const Pieces *all, uint32_t number) {
    int64_t at = (int64_t)((__int128)all->count * number / all->pieces);
    while (at > 0 && at < all->count &&
           window_same_partition(all->what, all->entries[at - 1], all->entries[at]))
        at++;
    return at;
}

static void run_piece(void *arg, uint32_t number, uint32_t thread) {
    (void)thread;
    Pieces *all = arg;
    int64_t at = piece_begin(all, number), end = piece_begin(all, number + 1);
    WindowRun window;
    int32_t status = window_open(&window, all->breaker, all->memory) ? SB_OK : SB_FAULT_TOO_LARGE;
    while (at < end && !status) {
        int64_t next = at + 1;
        while (next < end && window_same_partition(all->what, all->entries[at],
                                                   all->entries[next]))
            next++;
        window_begin(&window);
        window.rows = all->entries + at;
        window.end = next - at;
        window.complete = true;
        status = window_run(&window);
        at = next;
    }
    window_close(&window);
    if (status) all->status = status;
}

int32_t window_all(const SbBreaker *breaker, const SbEntry **entries, int64_t count,
                   SbMemory *memory, SbParallel *parallel) {
    enum { PIECES_PER_THREAD = 4 };
    Pieces all = {.breaker = breaker,
                  .what = breaker->window,
                  .entries = (SbEntry **)(uintptr_t)entries,
                  .count = count,
                  .pieces = parallel->threads * PIECES_PER_THREAD,
                  .memory = memory};
    if (count == 0) return SB_OK;
    parallel->each(parallel, all.pieces, run_piece, &all);
    return all.status;
}
