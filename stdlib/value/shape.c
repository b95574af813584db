// Shape: sizes of tensors while the job runs, what goes together, and what to say if not.
#include "stdlib/value/shape.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 256, NAME_SHOWN = 40 };

char *sb_tensor_room(SbCall *call, const SbType *type, const int64_t *sizes, SbList *out) {
    int64_t count = 1, lead = sb_lead_bytes(type);
    for (uint32_t i = 0; i < type->rank; i++) {
        if (sizes[i] > SB_TENSOR_BYTES_MAX) return nullptr;
        count *= sizes[i];  // Below 2^60: both are at most 2^30.
        if (count * type->elem->size > SB_TENSOR_BYTES_MAX) return nullptr;
    }
    char *memory = sb_alloc(call, lead + count * type->elem->size);
    if (!memory) return nullptr;
    uint64_t *words = (uint64_t *)(void *)memory;
    for (uint32_t i = 0; lead && i < type->rank; i++)
        if (!type->shape[i]) *words++ = (uint64_t)sizes[i];
    *out = (SbList){memory + lead, count};
    return memory + lead;
}

// ---- what a fault says --------------------------------------------------------------------------

static const char *const kinds[] = {
    [SB_BOOL] = "bool", [SB_I8] = "i8", [SB_I16] = "i16", [SB_I32] = "i32", [SB_I64] = "i64",
    [SB_U8] = "u8", [SB_U16] = "u16", [SB_U32] = "u32", [SB_U64] = "u64", [SB_F16] = "f16",
    [SB_BF16] = "bf16", [SB_F32] = "f32", [SB_F64] = "f64",
};

// "f32[n = 3, 3]"
static int say(char *to, int room, const SbType *type, const int64_t *sizes) {
    int len = snprintf(to, (size_t)room, "%s[", kinds[type->elem->kind]);
    for (uint32_t i = 0; i < type->rank && len < room; i++) {
        if (i) len += snprintf(to + len, (size_t)(room - len), ", ");
        SbStr name = type->shape[i] ? (SbStr){0} : type->names[i];
        int shown = name.len < NAME_SHOWN ? (int)name.len : NAME_SHOWN;
        if (name.len && len < room)
            len += snprintf(to + len, (size_t)(room - len), "%.*s = ", shown,
                            (const char *)name.ptr);
        if (len < room)
            len += snprintf(to + len, (size_t)(room - len), "%lld", (long long)sizes[i]);
    }
    if (len < room) len += snprintf(to + len, (size_t)(room - len), "]");
    return len < room ? len : room - 1;
}

static void say_both(SbCall *call, const SbType *a, const int64_t *x, const char *between,
                     const SbType *b, const int64_t *y) {
    char *words = sb_alloc(call, WORDS_MAX);
    if (!words) return;
    int len = say(words, WORDS_MAX / 2 - 16, a, x);
    len += snprintf(words + len, (size_t)(WORDS_MAX - len), "%s", between);
    len += say(words + len, WORDS_MAX - len, b, y);
    call->detail = (SbStr){words, len};
}

typedef struct Pair {
    const SbType *a, *b;
    int64_t x[SB_RANK_MAX], y[SB_RANK_MAX];
} Pair;

static Pair pair_of(const SbType *a, SbList x, const SbType *b, SbList y) {
    Pair pair = {.a = a, .b = b};
    sb_tensor_sizes(a, &x, pair.x);
    sb_tensor_sizes(b, &y, pair.y);
    return pair;
}

static int32_t differ(SbCall *call, const Pair *pair) {
    say_both(call, pair->a, pair->x, " and ", pair->b, pair->y);
    return SB_FAULT_SHAPES;
}

// ---- what goes together -------------------------------------------------------------------------

int32_t sb_shapes_meet(SbCall *call, const SbType *a, SbList x, const SbType *b, SbList y,
                       bool *out) {
    Pair pair = pair_of(a, x, b, y);
    *out = true;
    for (uint32_t i = 1; i <= a->rank && i <= b->rank; i++) {
        uint32_t k = a->rank - i, l = b->rank - i;
        if (a->shape[k] == 1 || b->shape[l] == 1 || pair.x[k] == pair.y[l]) continue;
        return differ(call, &pair);
    }
    return SB_OK;
}

int32_t sb_shapes_beside(SbCall *call, const SbType *a, SbList x, const SbType *b, SbList y,
                         int64_t axis, bool *out) {
    Pair pair = pair_of(a, x, b, y);
    *out = true;
    for (uint32_t i = 0; i < a->rank; i++)
        if (i != axis && pair.x[i] != pair.y[i]) return differ(call, &pair);
    return SB_OK;
}

// `_` promises nothing.
static bool is_name(const SbType *type, uint32_t i) {
    if (type->shape[i]) return false;
    return type->names[i].len != 1 || *(const char *)type->names[i].ptr != '_';
}

static bool one_name(const SbType *a, uint32_t i, const SbType *b, uint32_t k) {
    return is_name(a, i) && is_name(b, k) && a->names[i].len == b->names[k].len &&
           memcmp(a->names[i].ptr, b->names[k].ptr, (size_t)a->names[i].len) == 0;
}

int32_t sb_shapes_agree(SbCall *call, const SbType *a, SbList x, const SbType *b, SbList y,
                        SbList *out) {
    *out = x;
    if (!x.len || !y.len) return SB_OK;
    Pair pair = pair_of(a, x, b, y);
    for (uint32_t i = 0; a->names && b->names && i < a->rank; i++)
        for (uint32_t k = 0; k < b->rank; k++)
            if (one_name(a, i, b, k) && pair.x[i] != pair.y[k]) return differ(call, &pair);
    return SB_OK;
}

// ---- other shapes -------------------------------------------------------------------------------

// The elements of `x` as a tensor of `to` with these sizes: where they lie, if what stands before
// them is right.
static int32_t shaped(SbCall *call, const SbType *from, SbList x, const SbType *to,
                      const int64_t *sizes, SbList *out) {
    int64_t lead = sb_lead_bytes(to);
    bool same = lead == 0 || lead == sb_lead_bytes(from);
    const uint64_t *words = (const uint64_t *)((const char *)x.ptr - lead);
    for (uint32_t i = 0; same && lead && i < to->rank; i++)
        if (!to->shape[i]) same = *words++ == (uint64_t)sizes[i];
    *out = x;
    if (same) return SB_OK;
    char *elems = sb_tensor_room(call, to, sizes, out);
    if (!elems) return SB_FAULT_TOO_LARGE;
    memcpy(elems, x.ptr, (size_t)(x.len * to->elem->size));
    return SB_OK;
}

int32_t sb_shape_as(SbCall *call, const SbType *from, SbList x, const SbType *to, SbList *out) {
    int64_t sizes[SB_RANK_MAX], wanted[SB_RANK_MAX];
    bool same = true;
    *out = x;
    if (!x.len) return SB_OK;
    sb_tensor_sizes(from, &x, sizes);
    for (uint32_t i = 0; i < to->rank; i++) {
        wanted[i] = to->shape[i] ? to->shape[i] : sizes[i];
        same &= wanted[i] == sizes[i];
    }
    if (same) return shaped(call, from, x, to, sizes, out);
    say_both(call, from, sizes, " is no ", to, wanted);
    return SB_FAULT_SHAPES;
}

int32_t sb_list_as_tensor(SbCall *call, SbList x, const SbType *to, SbList *out) {
    int64_t sizes[SB_RANK_MAX] = {to->shape[0] ? to->shape[0] : x.len};
    *out = x;
    if (x.len == 0) {
        call->detail = (SbStr){"[]", 2};
        return SB_FAULT_NO_ELEMENTS;
    }
    if (x.len > SB_TENSOR_BYTES_MAX / to->elem->size) return SB_FAULT_TOO_LARGE;
    if (sizes[0] == x.len) return SB_OK;
    char *words = sb_alloc(call, WORDS_MAX);
    if (!words) return SB_FAULT_TOO_LARGE;
    int len = snprintf(words, WORDS_MAX, "a list of %lld is no ", (long long)x.len);
    len += say(words + len, WORDS_MAX - len, to, sizes);
    call->detail = (SbStr){words, len};
    return SB_FAULT_SHAPES;
}

// The sizes of `to`. False: the elements do not fill them.
static bool fill_sizes(const SbType *from, const SbList *x, const SbType *to, const int64_t *given,
                       int64_t *sizes) {
    int64_t own[SB_RANK_MAX], known = 1, *rest = nullptr;
    uint32_t next = 0, open = sb_open_count(to);
    bool good = true;
    sb_tensor_sizes(from, x, own);
    for (uint32_t i = 0; i < to->rank; i++) {
        sizes[i] = to->shape[i];
        if (!sizes[i] && given) sizes[i] = given[next++];
        else if (!sizes[i] && open == 1) sizes[i] = -1;
        else if (!sizes[i]) {
            while (from->shape[next]) next++;
            sizes[i] = own[next++];
        }
        if (sizes[i] == -1 && !rest) {
            rest = &sizes[i];
            continue;
        }
        good &= sizes[i] >= 1 && sizes[i] <= SB_TENSOR_BYTES_MAX && known <= x->len;
        if (good) known *= sizes[i];
    }
    if (!good) return false;
    if (rest) *rest = x->len / known;
    return known <= x->len && (rest ? x->len % known == 0 : known == x->len);
}

int32_t sb_reshape(SbCall *call, const SbType *from, SbList x, const SbType *to,
                   const int64_t *given, SbList *out) {
    int64_t sizes[SB_RANK_MAX], own[SB_RANK_MAX];
    if (fill_sizes(from, &x, to, given, sizes)) return shaped(call, from, x, to, sizes, out);
    sb_tensor_sizes(from, &x, own);
    say_both(call, from, own, " as ", to, sizes);
    return SB_FAULT_RESHAPED;
}
