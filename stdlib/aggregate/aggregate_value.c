// Aggregates over values of any type: first, last, min, max, count_distinct, mode, collect, and
// arg_min and arg_max.
#include "stdlib/aggregate/word_list.h"
#include "stdlib/hash.h"
#include "stdlib/value.h"

#include <string.h>

// ---- copies -------------------------------------------------------------------------------------

static int32_t copy_text(SbCall *call, SbStr *text) {
    char *copy = sb_alloc(call, text->len);
    if (!copy) return SB_FAULT_TOO_LARGE;
    if (text->len) memcpy(copy, text->ptr, (size_t)text->len);
    text->ptr = copy;
    return SB_OK;
}

static int32_t copy_list(SbCall *call, const SbType *type, SbList *list) {
    const SbType *elem = type->elem;
    int64_t size = elem->size, lead = sb_lead_bytes(type);
    char *copy = sb_alloc(call, lead + size * list->len);
    if (!copy) return SB_FAULT_TOO_LARGE;
    if (lead) memcpy(copy, (const char *)list->ptr - lead, (size_t)lead);
    copy += lead;
    for (int64_t i = 0; i < list->len; i++) {
        int32_t status = sb_value_copy(call, elem, copy + i * size,
                                       (const char *)list->ptr + i * size);
        if (status != SB_OK) return status;
    }
    list->ptr = copy;
    return SB_OK;
}

int32_t sb_value_copy(SbCall *call, const SbType *type, void *to, const void *from) {
    memcpy(to, from, type->size);
    if (!sb_is_valid(type, from)) return SB_OK;
    switch ((SbKind)type->kind) {
    case SB_STR: case SB_BYTES: case SB_JSON: return copy_text(call, to);
    case SB_LIST: case SB_TENSOR: case SB_MAP: return copy_list(call, type, to);
    case SB_STRUCT:
        for (uint32_t i = 0; i < type->field_count; i++) {
            const SbField *field = &type->fields[i];
            int32_t status = sb_value_copy(call, field->type, (char *)to + field->offset,
                                           (const char *)from + field->offset);
            if (status != SB_OK) return status;
        }
        return SB_OK;
    case SB_BOOL: case SB_I8: case SB_I16: case SB_I32: case SB_I64: case SB_U8: case SB_U16:
    case SB_U32: case SB_U64: case SB_F16: case SB_BF16: case SB_F32: case SB_F64: case SB_DECIMAL:
    case SB_DATE: case SB_TIMESTAMP: case SB_DURATION:
        return SB_OK;
    }
    return SB_OK;
}

// Scalars overwrite the value kept before; what points elsewhere is copied anew.
static int32_t keep(SbCall *call, SbKept *state, uint64_t order, const SbType *type,
                    const void *x) {
    if (!state->value) state->value = sb_alloc(call, type->size);
    if (!state->value) return SB_FAULT_TOO_LARGE;
    state->order = order;
    return sb_value_copy(call, type, state->value, x);
}

static int32_t kept_value(const SbKept *state, const SbType *type, void *out) {
    if (!state->value) return SB_NULL;
    memcpy(out, state->value, (size_t)sb_base_size(type));
    return SB_OK;
}

// ---- min, max, first, last ----------------------------------------------------------------------

int32_t sb_min_add_any(SbCall *call, SbKept *state, const SbType *type, const void *x) {
    if (state->value && sb_compare(type, x, state->value) >= 0) return SB_OK;
    return keep(call, state, 0, type, x);
}

int32_t sb_max_add_any(SbCall *call, SbKept *state, const SbType *type, const void *x) {
    if (state->value && sb_compare(type, x, state->value) <= 0) return SB_OK;
    return keep(call, state, 0, type, x);
}

int32_t sb_first_add(SbCall *call, SbKept *state, uint64_t order, const SbType *type,
                     const void *x) {
    if (state->value && order > state->order) return SB_OK;
    return keep(call, state, order, type, x);
}

int32_t sb_last_add(SbCall *call, SbKept *state, uint64_t order, const SbType *type,
                    const void *x) {
    if (state->value && order < state->order) return SB_OK;
    return keep(call, state, order, type, x);
}

int32_t sb_min_merge(SbCall *call, SbKept *into, const SbType *type, const SbKept *from) {
    return from->value ? sb_min_add_any(call, into, type, from->value) : SB_OK;
}

int32_t sb_max_merge(SbCall *call, SbKept *into, const SbType *type, const SbKept *from) {
    return from->value ? sb_max_add_any(call, into, type, from->value) : SB_OK;
}

int32_t sb_first_merge(SbCall *call, SbKept *into, const SbType *type, const SbKept *from) {
    return from->value ? sb_first_add(call, into, from->order, type, from->value) : SB_OK;
}

int32_t sb_last_merge(SbCall *call, SbKept *into, const SbType *type, const SbKept *from) {
    return from->value ? sb_last_add(call, into, from->order, type, from->value) : SB_OK;
}

int32_t sb_min_end(SbCall *, const SbKept *state, const SbType *type, void *out) {
    return kept_value(state, type, out);
}

int32_t sb_max_end(SbCall *, const SbKept *state, const SbType *type, void *out) {
    return kept_value(state, type, out);
}

int32_t sb_first_end(SbCall *, const SbKept *state, const SbType *type, void *out) {
    return kept_value(state, type, out);
}

int32_t sb_last_end(SbCall *, const SbKept *state, const SbType *type, void *out) {
    return kept_value(state, type, out);
}

// ---- mode, and count_distinct of any type -------------------------------------------------------

#define WORD(T)                                                                                   \
    do {                                                                                          \
        T narrow;                                                                                 \
        memcpy(&narrow, x, sizeof narrow);                                                        \
        *word = (uint64_t)narrow;                                                                 \
        return SB_SET_WORDS;                                                                      \
    } while (0)

// Of a value that fits 64 bits `*word`, which only equal values share; x: null for the kind alone.
static SbSetKind set_kind(const SbType *type, const void *x, uint64_t *word) {
    static const uint64_t NOTHING[2];
    if (!x) x = NOTHING;
    switch ((SbKind)type->kind) {
    case SB_BOOL: case SB_U8: WORD(uint8_t);
    case SB_I8: WORD(int8_t);
    case SB_I16: WORD(int16_t);
    case SB_I32: case SB_DATE: WORD(int32_t);
    case SB_I64: case SB_TIMESTAMP: case SB_DURATION: WORD(int64_t);
    case SB_U16: WORD(uint16_t);
    case SB_U32: WORD(uint32_t);
    case SB_U64: WORD(uint64_t);
    case SB_F16: case SB_BF16: case SB_F32: case SB_F64:
        *word = sb_float_key(type, x);
        return SB_SET_WORDS;
    case SB_DECIMAL:
        if (type->precision <= 18) WORD(int64_t);
        return SB_SET_VALUES;
    case SB_STR: case SB_BYTES: case SB_JSON: return SB_SET_TEXTS;
    case SB_LIST: case SB_STRUCT: case SB_TENSOR: case SB_MAP: return SB_SET_VALUES;
    }
    __builtin_trap();
}

// The hash of a short text has this bit. Only equal texts share it, as only equal words of values
// share a hash: none of them has to be looked at.
static const uint64_t BY_WORD = UINT64_C(1) << 63;

// Of a text of up to seven bytes: these and its length.
static bool short_text(const void *x, uint64_t *word) {
    enum { LEN_MAX = 7, LEN_SHIFT = 56 };
    const SbStr *text = x;
    if (text->len > LEN_MAX) return false;
    *word = (uint64_t)text->len << LEN_SHIFT;
    for (int64_t i = 0; i < text->len; i++)
        *word |= (uint64_t)(unsigned char)text->ptr[i] << (8 * i);
    return true;
}

// Products with odd numbers lose nothing: of 64 bits, and of 63 for a short text.
static uint64_t slot_hash(SbSetKind kind, const SbType *type, const void *x, uint64_t word) {
    enum : uint64_t { SEED = 0x9e3779b97f4a7c15 };
    if (kind == SB_SET_TEXTS && short_text(x, &word)) {
        word = word * SEED & ~BY_WORD;
        return ((word ^ word >> 32) * SEED & ~BY_WORD) | BY_WORD;
    }
    if (kind != SB_SET_WORDS) return sb_hash_value(SEED, type, x) & ~BY_WORD;
    word *= SEED;
    return (word ^ word >> 32) * SEED;
}

static bool same_text(const void *a, const void *b) {
    const SbStr *x = a, *y = b;
    return x->len == y->len && (x->len == 0 || memcmp(x->ptr, y->ptr, (size_t)x->len) == 0);
}

static SbDistinctSlot *find(const SbDistinct *state, SbSetKind kind, const SbType *type,
                            uint64_t hash, const void *x) {
    for (uint64_t at = hash & (state->room - 1);; at = (at + 1) & (state->room - 1)) {
        SbDistinctSlot *slot = &state->slots[at];
        if (slot->count == 0) return slot;
        if (slot->hash != hash) continue;
        if (kind == SB_SET_WORDS || (kind == SB_SET_TEXTS && hash & BY_WORD)) return slot;
        if (kind == SB_SET_TEXTS ? same_text(slot->value, x) : !sb_compare(type, slot->value, x))
            return slot;
    }
}

static int32_t grow(SbCall *call, SbDistinct *state) {
    enum { ROOM_MIN = 4 };
    SbDistinct wider = {.room = state->room ? 2 * state->room : ROOM_MIN, .used = state->used};
    int64_t bytes = (int64_t)(wider.room * sizeof *wider.slots);
    wider.slots = sb_alloc(call, bytes);
    if (!wider.slots) return SB_FAULT_TOO_LARGE;
    memset(wider.slots, 0, (size_t)bytes);
    for (uint64_t i = 0; i < state->room; i++) {
        if (!state->slots[i].count) continue;
        uint64_t at = state->slots[i].hash & (wider.room - 1);
        while (wider.slots[at].count) at = (at + 1) & (wider.room - 1);
        wider.slots[at] = state->slots[i];
    }
    *state = wider;
    return SB_OK;
}

// A copy of the value. That of a text lies before its bytes: both are looked at together.
static void *slot_value(SbCall *call, SbSetKind kind, const SbType *type, const void *x) {
    if (kind != SB_SET_TEXTS) {
        void *value = sb_alloc(call, type->size);
        return value && sb_value_copy(call, type, value, x) == SB_OK ? value : nullptr;
    }
    const SbStr *text = x;
    char *value = sb_alloc(call, type->size + text->len);
    if (!value) return nullptr;
    memcpy(value, x, type->size);
    if (text->len) memcpy(value + type->size, text->ptr, (size_t)text->len);
    ((SbStr *)(void *)value)->ptr = value + type->size;
    return value;
}

// Adds the value, count and order of `from`.
static int32_t add_distinct(SbCall *call, SbDistinct *state, const SbType *type,
                            SbDistinctSlot from) {
    if (4 * state->used >= 3 * state->room) {
        int32_t status = grow(call, state);
        if (status != SB_OK) return status;
    }
    uint64_t word = 0;
    SbSetKind kind = set_kind(type, from.value, &word);
    uint64_t hash = slot_hash(kind, type, from.value, word);
    SbDistinctSlot *slot = find(state, kind, type, hash, from.value);
    if (slot->count == 0) {
        void *value = slot_value(call, kind, type, from.value);
        if (!value) return SB_FAULT_TOO_LARGE;
        *slot = (SbDistinctSlot){.hash = hash, .order = from.order, .value = value};
        state->used++;
    }
    slot->count += from.count;
    if (from.order < slot->order) slot->order = from.order;
    return SB_OK;
}

static int32_t merge_distinct(SbCall *call, SbDistinct *into, const SbType *type,
                              const SbDistinct *from) {
    for (uint64_t i = 0; i < from->room; i++) {
        const SbDistinctSlot *slot = &from->slots[i];
        if (!slot->count) continue;
        int32_t status = add_distinct(call, into, type, *slot);
        if (status != SB_OK) return status;
    }
    return SB_OK;
}

SbSetKind sb_set_kind(const SbType *type) {
    uint64_t word;
    return set_kind(type, nullptr, &word);
}

int32_t sb_count_distinct_add(SbCall *call, SbAnySet *state, const SbType *type, const void *x) {
    uint64_t word;
    switch (set_kind(type, x, &word)) {
    case SB_SET_WORDS: return sb_count_distinct_u64_add(call, &state->words, word);
    case SB_SET_TEXTS: return sb_count_distinct_str_add(call, &state->texts, *(const SbStr *)x);
    case SB_SET_VALUES: break;
    }
    return add_distinct(call, &state->values, type,
                        (SbDistinctSlot){.count = 1, .value = (void *)(uintptr_t)x});
}

int32_t sb_count_distinct_merge(SbCall *call, SbAnySet *into, const SbType *type,
                                const SbAnySet *from) {
    switch (sb_set_kind(type)) {
    case SB_SET_WORDS: return sb_count_distinct_u64_merge(call, &into->words, &from->words);
    case SB_SET_TEXTS: return sb_count_distinct_str_merge(call, &into->texts, &from->texts);
    case SB_SET_VALUES: break;
    }
    return merge_distinct(call, &into->values, type, &from->values);
}

int64_t sb_count_distinct_end(SbCall *call, const SbAnySet *state, const SbType *type) {
    switch (sb_set_kind(type)) {
    case SB_SET_WORDS: return sb_words_count(call, &state->words);
    case SB_SET_TEXTS: return (int64_t)state->texts.used;
    case SB_SET_VALUES: break;
    }
    return (int64_t)state->values.used;
}

int32_t sb_mode_add(SbCall *call, SbDistinct *state, uint64_t order, const SbType *type,
                    const void *x) {
    SbDistinctSlot one = {.count = 1, .order = order, .value = (void *)(uintptr_t)x};
    return add_distinct(call, state, type, one);
}

int32_t sb_mode_merge(SbCall *call, SbDistinct *into, const SbType *type, const SbDistinct *from) {
    return merge_distinct(call, into, type, from);
}

int32_t sb_mode_end(SbCall *, const SbDistinct *state, const SbType *type, void *out) {
    const SbDistinctSlot *best = nullptr;
    for (uint64_t i = 0; i < state->room; i++) {
        const SbDistinctSlot *slot = &state->slots[i];
        if (!slot->count || (best && slot->count < best->count)) continue;
        if (best && slot->count == best->count && slot->order > best->order) continue;
        best = slot;
    }
    if (!best) return SB_NULL;
    memcpy(out, best->value, (size_t)sb_base_size(type));
    return SB_OK;
}

// ---- collect ------------------------------------------------------------------------------------

int32_t sb_collect_add(SbCall *call, SbCollected *state, uint64_t order, const SbType *type,
                       const void *x) {
    if (state->count == state->room) {
        uint64_t room = state->room ? 2 * state->room : 8;
        SbKept *items = sb_alloc(call, (int64_t)(room * sizeof *items));
        if (!items) return SB_FAULT_TOO_LARGE;
        if (state->count) memcpy(items, state->items, state->count * sizeof *items);
        state->items = items;
        state->room = room;
    }
    state->items[state->count] = (SbKept){};
    return keep(call, &state->items[state->count++], order, type, x);
}

int32_t sb_collect_merge(SbCall *call, SbCollected *into, const SbType *type,
                         const SbCollected *from) {
    for (uint64_t i = 0; i < from->count; i++) {
        int32_t status = sb_collect_add(call, into, from->items[i].order, type,
                                        from->items[i].value);
        if (status != SB_OK) return status;
    }
    return SB_OK;
}

// Merges runs of doubling length; each pass goes from one array to the other.
static SbKept *sort_by_order(SbKept *items, SbKept *spare, uint64_t count) {
    for (uint64_t run = 1; run < count; run *= 2) {
        for (uint64_t low = 0; low < count; low += 2 * run) {
            uint64_t middle = low + run < count ? low + run : count;
            uint64_t high = middle + run < count ? middle + run : count;
            for (uint64_t a = low, b = middle, to = low; to < high; to++) {
                bool left = b == high || (a < middle && items[a].order <= items[b].order);
                spare[to] = items[left ? a++ : b++];
            }
        }
        SbKept *sorted = spare;
        spare = items;
        items = sorted;
    }
    return items;
}

// What was collected, in row order; null: no memory.
static const SbKept *in_order(SbCall *call, const SbCollected *state) {
    int64_t bytes = (int64_t)(state->count * sizeof(SbKept));
    SbKept *items = sb_alloc(call, bytes), *spare = items ? sb_alloc(call, bytes) : nullptr;
    if (!spare) return nullptr;
    memcpy(items, state->items, (size_t)bytes);
    return sort_by_order(items, spare, state->count);
}

// The values are of type T? where the column may be null; the list is of T.
int32_t sb_collect_end(SbCall *call, const SbCollected *state, const SbType *type, SbList *out) {
    if (state->count == 0) return SB_NULL;
    size_t size = (size_t)sb_base_size(type);
    const SbKept *items = in_order(call, state);
    char *values = items ? sb_alloc(call, (int64_t)(state->count * size)) : nullptr;
    if (!values) return SB_FAULT_TOO_LARGE;
    for (uint64_t i = 0; i < state->count; i++)
        memcpy(values + i * size, items[i].value, size);
    *out = (SbList){values, (int64_t)state->count};
    return SB_OK;
}

// ---- string_agg ---------------------------------------------------------------------------------

int32_t sb_string_agg_add(SbCall *call, SbCollected *state, uint64_t order, const SbType *type,
                          SbStr x) {
    return sb_collect_add(call, state, order, type, &x);
}

int32_t sb_string_agg_merge(SbCall *call, SbCollected *into, const SbType *type,
                            const SbCollected *from) {
    return sb_collect_merge(call, into, type, from);
}

static char *append(char *to, SbStr text) {
    if (text.len) memcpy(to, text.ptr, (size_t)text.len);
    return to + text.len;
}

int32_t sb_string_agg_end(SbCall *call, const SbCollected *state, const SbType *,
                          SbStr separator, SbStr *out) {
    if (state->count == 0) return SB_NULL;
    int64_t bytes;
    bool fits = !__builtin_mul_overflow(separator.len, (int64_t)state->count - 1, &bytes);
    for (uint64_t i = 0; i < state->count && fits; i++) {
        const SbStr *value = state->items[i].value;
        fits = !__builtin_add_overflow(bytes, value->len, &bytes);
    }
    const SbKept *items = fits ? in_order(call, state) : nullptr;
    char *text = items ? sb_alloc(call, bytes + 1) : nullptr, *at = text;  // Of nothing too.
    if (!text) return SB_FAULT_TOO_LARGE;
    for (uint64_t i = 0; i < state->count; i++) {
        if (i) at = append(at, separator);
        at = append(at, *(const SbStr *)items[i].value);
    }
    *out = (SbStr){text, bytes};
    return SB_OK;
}

// ---- arg_min and arg_max ------------------------------------------------------------------------

static int order_i64(const SbArgState *state, int64_t by) {
    return (by > state->by.i64) - (by < state->by.i64);
}

static int order_date(const SbArgState *state, int32_t by) { return order_i64(state, by); }

static int order_u64(const SbArgState *state, uint64_t by) {
    return (by > state->by.u64) - (by < state->by.u64);
}

static int order_f64(const SbArgState *state, double by) {
    double old = state->by.f64;
    if (by != by || old != old) return (by != by) - (old != old);
    return (by > old) - (by < old);
}

static int order_str(const SbArgState *state, SbStr by) {
    return sb_compare_bytes(by, (SbStr){state->by.str.ptr, state->by.str.len});
}

static int32_t set_i64(SbCall *, SbArgState *state, int64_t by) {
    return state->by.i64 = by, SB_OK;
}
static int32_t set_date(SbCall *, SbArgState *state, int32_t by) {
    return state->by.i64 = by, SB_OK;
}
static int32_t set_u64(SbCall *, SbArgState *state, uint64_t by) {
    return state->by.u64 = by, SB_OK;
}
static int32_t set_f64(SbCall *, SbArgState *state, double by) { return state->by.f64 = by, SB_OK; }

static int32_t set_str(SbCall *call, SbArgState *state, SbStr by) {
    SbExtremeStr empty = {};
    state->by.str = empty;
    return sb_min_str_add(call, &state->by.str, by);
}

static int64_t by_i64(const SbArgState *state) { return state->by.i64; }
static int32_t by_date(const SbArgState *state) { return (int32_t)state->by.i64; }
static uint64_t by_u64(const SbArgState *state) { return state->by.u64; }
static double by_f64(const SbArgState *state) { return state->by.f64; }
static SbStr by_str(const SbArgState *state) {
    return (SbStr){state->by.str.ptr, state->by.str.len};
}

// `sign` turns the order round: 1 for the least, -1 for the greatest.
#define ARG(name, kind, T, sign)                                                                  \
    int32_t name##_add(SbCall *call, SbArgState *state, uint64_t order, const SbType *type,       \
                       const void *x, T by) {                                                     \
        if (state->kept.value) {                                                                  \
            int than = (sign) * order_##kind(state, by);                                          \
            if (than > 0 || (than == 0 && order > state->kept.order)) return SB_OK;               \
        }                                                                                         \
        int32_t status = set_##kind(call, state, by);                                             \
        return status == SB_OK ? keep(call, &state->kept, order, type, x) : status;               \
    }                                                                                             \
    int32_t name##_merge(SbCall *call, SbArgState *into, const SbType *type,                      \
                         const SbArgState *from) {                                                \
        if (!from->kept.value) return SB_OK;                                                      \
        T by = by_##kind(from);                                                                   \
        return name##_add(call, into, from->kept.order, type, from->kept.value, by);              \
    }                                                                                             \
    int32_t name##_end(SbCall *, const SbArgState *state, const SbType *type, void *out) {        \
        return kept_value(&state->kept, type, out);                                               \
    }

ARG(sb_arg_min_i64, i64, int64_t, 1)
ARG(sb_arg_min_date, date, int32_t, 1)
ARG(sb_arg_min_u64, u64, uint64_t, 1)
ARG(sb_arg_min_f64, f64, double, 1)
ARG(sb_arg_min_str, str, SbStr, 1)
ARG(sb_arg_max_i64, i64, int64_t, -1)
ARG(sb_arg_max_date, date, int32_t, -1)
ARG(sb_arg_max_u64, u64, uint64_t, -1)
ARG(sb_arg_max_f64, f64, double, -1)
ARG(sb_arg_max_str, str, SbStr, -1)
