// List: looking into, cutting, ordering and summing lists.
#include "stdlib/value/list.h"

#include "stdlib/number.h"
#include "stdlib/text.h"
#include "stdlib/value/generic.h"

static const char *element(const SbType *type, SbList xs, int64_t i) {
    return (const char *)xs.ptr + i * (int64_t)type->elem->size;
}

// ---- looking ------------------------------------------------------------------------------------

int64_t sb_list_len(SbList xs) { return xs.len; }

int32_t sb_list_index_of(const SbType *type, SbList xs, const void *x, int64_t *out) {
    for (int64_t i = 0; i < xs.len; i++) {
        if (sb_compare(type->elem, element(type, xs, i), x) != 0) continue;
        *out = i;
        return SB_OK;
    }
    return SB_NULL;
}

bool sb_list_contains(const SbType *type, SbList xs, const void *x) {
    int64_t index;
    return sb_list_index_of(type, xs, x, &index) == SB_OK;
}

int64_t sb_list_count_of(const SbType *type, SbList xs, const void *x) {
    int64_t count = 0;
    for (int64_t i = 0; i < xs.len; i++) count += !sb_compare(type->elem, element(type, xs, i), x);
    return count;
}

int32_t sb_list_get(const SbType *type, SbList xs, int64_t index, void *out) {
    if (index < 0) index += xs.len;
    if (index < 0 || index >= xs.len) return SB_NULL;
    const char *value = element(type, xs, index);
    if (!sb_is_valid(type->elem, value)) return SB_NULL;
    memcpy(out, value, (size_t)sb_base_size(type->elem));
    return SB_OK;
}

int32_t sb_list_first(const SbType *type, SbList xs, void *out) {
    return sb_list_get(type, xs, 0, out);
}

int32_t sb_list_last(const SbType *type, SbList xs, void *out) {
    return sb_list_get(type, xs, -1, out);
}

// The first of the elements that are least (sign 1) or greatest (-1); nulls do not count.
static int32_t extreme(const SbType *type, SbList xs, int32_t sign, void *out) {
    int64_t best = -1;
    for (int64_t i = 0; i < xs.len; i++) {
        const char *x = element(type, xs, i);
        if (!sb_is_valid(type->elem, x)) continue;
        if (best < 0 || sign * sb_compare(type->elem, x, element(type, xs, best)) < 0) best = i;
    }
    return best < 0 ? SB_NULL : sb_list_get(type, xs, best, out);
}

int32_t sb_list_min(const SbType *type, SbList xs, void *out) { return extreme(type, xs, 1, out); }
int32_t sb_list_max(const SbType *type, SbList xs, void *out) { return extreme(type, xs, -1, out); }

// ---- cutting ------------------------------------------------------------------------------------

SbList sb_list_slice_rest(const SbType *type, SbList xs, int64_t begin) {
    if (begin < 0) begin = begin < -xs.len ? 0 : begin + xs.len;
    if (begin > xs.len) begin = xs.len;
    return (SbList){xs.len ? element(type, xs, begin) : xs.ptr, xs.len - begin};
}

SbList sb_list_slice(const SbType *type, SbList xs, int64_t begin, int64_t count) {
    SbList rest = sb_list_slice_rest(type, xs, begin);
    if (count < 0) count = 0;
    if (rest.len > count) rest.len = count;
    return rest;
}

// ---- making -------------------------------------------------------------------------------------

// The elements at these places, in memory that was taken before that of the places.
static void take_places(const SbType *type, SbList xs, SbList places, char *copy) {
    const int64_t size = type->elem->size, *place = places.ptr;
    for (int64_t i = 0; i < places.len; i++)
        memcpy(copy + i * size, element(type, xs, place[i]), (size_t)size);
}

typedef struct Merge {
    const SbType *type;
    SbList        xs;
    int32_t       sign;  // 1 ascending, -1 descending; nulls last.
} Merge;

static bool goes_first(const Merge *merge, int64_t i, int64_t k) {
    const SbType *elem = merge->type->elem;
    const char *a = element(merge->type, merge->xs, i), *b = element(merge->type, merge->xs, k);
    if (!sb_is_valid(elem, a) || !sb_is_valid(elem, b))
        return sb_is_valid(elem, a) || !sb_is_valid(elem, b);
    return merge->sign * sb_compare(elem, a, b) <= 0;
}

// Merges the sorted runs [begin, middle) and [middle, end) of `from` into `to`.
static void merge_runs(const Merge *merge, const int64_t *from, int64_t *to,
                       const int64_t bounds[3]) {
    int64_t a = bounds[0], b = bounds[1];
    for (int64_t i = bounds[0]; i < bounds[2]; i++) {
        bool left = a < bounds[1] && (b == bounds[2] || goes_first(merge, from[a], from[b]));
        to[i] = from[left ? a++ : b++];
    }
}

// The positions of the elements in order; equal ones stay as they are. nullptr: out of memory.
static int64_t *order(SbCall *call, const Merge *merge) {
    const int64_t len = merge->xs.len;
    int64_t *from = sb_alloc(call, len * (int64_t)sizeof *from);
    int64_t *to = sb_alloc(call, len * (int64_t)sizeof *to);
    if (!from || !to) return nullptr;
    for (int64_t i = 0; i < len; i++) from[i] = i;
    for (int64_t run = 1; run < len; run *= 2) {
        for (int64_t begin = 0; begin < len; begin += 2 * run) {
            int64_t middle = begin + run < len ? begin + run : len;
            int64_t end = middle + run < len ? middle + run : len;
            merge_runs(merge, from, to, (int64_t[]){begin, middle, end});
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static int32_t argsort(SbCall *call, const Merge *merge, SbList *out) {
    const int64_t *places = order(call, merge);
    *out = (SbList){places, merge->xs.len};
    return places ? SB_OK : SB_FAULT_TOO_LARGE;
}

static int32_t sort(SbCall *call, const Merge *merge, SbList *out) {
    const int64_t size = merge->type->elem->size, len = merge->xs.len;
    char *copy = sb_alloc(call, len * size);
    const SbCall before = *call;
    const int64_t *places = copy ? order(call, merge) : nullptr;
    if (!places) return SB_FAULT_TOO_LARGE;
    take_places(merge->type, merge->xs, (SbList){places, len}, copy);
    sb_release(call, &before);
    *out = (SbList){copy, len};
    return SB_OK;
}

int32_t sb_list_sort(SbCall *call, const SbType *type, SbList xs, SbList *out) {
    return sort(call, &(Merge){type, xs, 1}, out);
}

int32_t sb_list_sort_desc(SbCall *call, const SbType *type, SbList xs, SbList *out) {
    return sort(call, &(Merge){type, xs, -1}, out);
}

int32_t sb_list_argsort(SbCall *call, const SbType *type, SbList xs, SbList *out) {
    return argsort(call, &(Merge){type, xs, 1}, out);
}

int32_t sb_list_argsort_desc(SbCall *call, const SbType *type, SbList xs, SbList *out) {
    return argsort(call, &(Merge){type, xs, -1}, out);
}

int32_t sb_list_reverse(SbCall *call, const SbType *type, SbList xs, SbList *out) {
    int64_t size = type->elem->size;
    char *copy = sb_alloc(call, xs.len * size);
    if (!copy) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < xs.len; i++)
        memcpy(copy + i * size, element(type, xs, xs.len - 1 - i), (size_t)size);
    *out = (SbList){copy, xs.len};
    return SB_OK;
}

// The first of equal elements: a table of positions, probed linearly.
int32_t sb_list_argdistinct(SbCall *call, const SbType *type, SbList xs, SbList *out) {
    int64_t slots = 16, kept = 0;
    while (slots < xs.len * 2) slots *= 2;
    int64_t *places = sb_alloc(call, xs.len * (int64_t)sizeof *places);
    const SbCall before = *call;
    int64_t *table = sb_alloc(call, slots * (int64_t)sizeof *table);
    if (!places || !table) return SB_FAULT_TOO_LARGE;
    memset(table, 0, (size_t)slots * sizeof *table);
    for (int64_t i = 0; i < xs.len; i++) {
        const char *x = element(type, xs, i);
        uint64_t at = sb_hash_value(0, type->elem, x) & (uint64_t)(slots - 1);
        while (table[at] && sb_compare(type->elem, element(type, xs, table[at] - 1), x) != 0)
            at = (at + 1) & (uint64_t)(slots - 1);
        if (table[at]) continue;
        table[at] = i + 1;
        places[kept++] = i;
    }
    sb_release(call, &before);
    *out = (SbList){places, kept};
    return SB_OK;
}

int32_t sb_list_distinct(SbCall *call, const SbType *type, SbList xs, SbList *out) {
    char *copy = sb_alloc(call, xs.len * (int64_t)type->elem->size);
    const SbCall before = *call;
    SbList places;
    if (!copy || sb_list_argdistinct(call, type, xs, &places)) return SB_FAULT_TOO_LARGE;
    take_places(type, xs, places, copy);
    sb_release(call, &before);
    *out = (SbList){copy, places.len};
    return SB_OK;
}

int32_t sb_list_concat(SbCall *call, const SbType *type, SbList xs, SbList ys, SbList *out) {
    int64_t size = type->elem->size;
    char *copy = sb_alloc(call, (xs.len + ys.len) * size);
    if (!copy) return SB_FAULT_TOO_LARGE;
    if (xs.len) memcpy(copy, xs.ptr, (size_t)(xs.len * size));
    if (ys.len) memcpy(copy + xs.len * size, ys.ptr, (size_t)(ys.len * size));
    *out = (SbList){copy, xs.len + ys.len};
    return SB_OK;
}

int32_t sb_list_flatten(SbCall *call, const SbType *type, SbList xss, SbList *out) {
    const SbList *lists = xss.ptr;
    int64_t size = type->elem->elem->size, len = 0;
    for (int64_t i = 0; i < xss.len; i++) len += lists[i].len;
    char *copy = sb_alloc(call, len * size);
    if (!copy) return SB_FAULT_TOO_LARGE;
    *out = (SbList){copy, len};
    for (int64_t i = 0; i < xss.len; i++) {
        if (lists[i].len) memcpy(copy, lists[i].ptr, (size_t)(lists[i].len * size));
        copy += lists[i].len * size;
    }
    return SB_OK;
}

// The distinct elements of xs that are in ys, or that are not: a table of the positions in ys.
static int32_t pick(SbCall *call, const SbType *type, SbList xs, SbList ys, bool wanted,
                    SbList *out) {
    int64_t slots = 16, kept = 0, size = type->elem->size;
    while (slots < ys.len * 2) slots *= 2;
    int64_t *table = sb_alloc(call, slots * (int64_t)sizeof *table);
    int32_t status = sb_list_distinct(call, type, xs, &xs);
    if (!table || status) return SB_FAULT_TOO_LARGE;
    memset(table, 0, (size_t)slots * sizeof *table);
    for (int64_t i = 0; i < ys.len; i++) {
        uint64_t at = sb_hash_value(0, type->elem, element(type, ys, i)) & (uint64_t)(slots - 1);
        while (table[at]) at = (at + 1) & (uint64_t)(slots - 1);
        table[at] = i + 1;
    }
    char *copy = (char *)xs.ptr;  // The list of distinct elements is our own.
    for (int64_t i = 0; i < xs.len; i++) {
        const char *x = element(type, xs, i);
        uint64_t at = sb_hash_value(0, type->elem, x) & (uint64_t)(slots - 1);
        while (table[at] && sb_compare(type->elem, element(type, ys, table[at] - 1), x) != 0)
            at = (at + 1) & (uint64_t)(slots - 1);
        if ((table[at] != 0) == wanted) memmove(copy + kept++ * size, x, (size_t)size);
    }
    *out = (SbList){copy, kept};
    return SB_OK;
}

int32_t sb_list_intersect(SbCall *call, const SbType *type, SbList xs, SbList ys, SbList *out) {
    return pick(call, type, xs, ys, true, out);
}

int32_t sb_list_except(SbCall *call, const SbType *type, SbList xs, SbList ys, SbList *out) {
    return pick(call, type, xs, ys, false, out);
}

int32_t sb_list_jaccard(SbCall *call, const SbType *type, SbList xs, SbList ys, double *out) {
    SbCall before = *call;
    SbList common;
    int32_t status = sb_list_distinct(call, type, xs, &xs);
    if (!status) status = sb_list_distinct(call, type, ys, &ys);
    if (!status) status = pick(call, type, xs, ys, true, &common);
    if (status) return status;
    int64_t all = xs.len + ys.len - common.len;
    *out = all ? (double)common.len / (double)all : 1;
    sb_release(call, &before);
    return SB_OK;
}

int32_t sb_sequence(SbCall *call, int64_t begin, int64_t end, SbList *out) {
    enum : uint64_t { LEN_MAX = 1 << 28 };
    uint64_t len = end > begin ? (uint64_t)end - (uint64_t)begin : 0;
    int64_t *items = len > LEN_MAX ? nullptr : sb_alloc(call, (int64_t)(len * sizeof *items));
    if (!items) return SB_FAULT_TOO_LARGE;
    for (uint64_t i = 0; i < len; i++) items[i] = begin + (int64_t)i;
    *out = (SbList){items, (int64_t)len};
    return SB_OK;
}

// ---- numbers ------------------------------------------------------------------------------------

int32_t sb_list_sum_f64(SbCall *call, SbList xs, double *out) {
    const double *items = xs.ptr;
    SbExactSum sum = {0};
    for (int64_t i = 0; i < xs.len; i++) {
        int32_t status = sb_exact_add(call, &sum, items[i]);
        if (status) return status;
    }
    *out = sb_exact_value(&sum);
    return SB_OK;
}

int32_t sb_list_sum_i64(SbList xs, int64_t *out) {
    const int64_t *items = xs.ptr;
    __int128 sum = 0;
    for (int64_t i = 0; i < xs.len; i++) sum += items[i];
    *out = (int64_t)sum;
    return *out == sum ? SB_OK : SB_FAULT_OVERFLOW;
}

int32_t sb_list_mean_f64(SbCall *call, SbList xs, double *out) {
    if (!xs.len) return SB_NULL;
    int32_t status = sb_list_sum_f64(call, xs, out);
    if (status == SB_OK) *out /= (double)xs.len;
    return status;
}

int32_t sb_list_mean_i64(SbList xs, double *out) {
    const int64_t *items = xs.ptr;
    __int128 sum = 0;
    if (!xs.len) return SB_NULL;
    for (int64_t i = 0; i < xs.len; i++) sum += items[i];
    *out = (double)sum / (double)xs.len;
    return SB_OK;
}

bool sb_list_any(SbList xs) { return xs.len && memchr(xs.ptr, 1, (size_t)xs.len); }
bool sb_list_all(SbList xs) { return !xs.len || !memchr(xs.ptr, 0, (size_t)xs.len); }
