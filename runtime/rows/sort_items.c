// The most significant bits that differ share items out, until a few are left, which are inserted
// where they belong. Then each run of equal words goes on with the word after.
#include "runtime/rows/sort_items.h"

#include <string.h>

enum {
    INSERTION_MAX = 24,
    DIGIT_BITS_MIN = 3,
    DIGIT_BITS_MAX = 10,
    DEPTH_MAX = 64,       // Words, after which a run is compared: the stack has an end.
    FALLS_MAX = 8,        // So many descents, or fewer: what ascends already is merged.
};

static void insert(SbSortItem *items, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        SbSortItem item = items[i];
        int64_t j = i;
        for (; j > 0 && item.key < items[j - 1].key; j--) items[j] = items[j - 1];
        items[j] = item;
    }
}

// Inserts the items of `from` one by one; `items` is elsewhere.
static void insert_from(SbSortItem *items, const SbSortItem *from, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        SbSortItem item = from[i];
        int64_t j = i;
        for (; j > 0 && item.key < items[j - 1].key; j--) items[j] = items[j - 1];
        items[j] = item;
    }
}

static uint64_t copy_back(SbSortItem *items, const SbSortItem *from, int64_t count) {
    uint64_t differ = 0;
    for (int64_t i = 0; i < count; i++) {
        items[i] = from[i];
        differ |= from[i].key ^ from[0].key;
    }
    return differ;
}

// So many that a few items share a digit.
static int digit_bits(int64_t count) {
    int bits = 64 - __builtin_clzll((uint64_t)count) - 3;
    return bits < DIGIT_BITS_MIN ? DIGIT_BITS_MIN : bits > DIGIT_BITS_MAX ? DIGIT_BITS_MAX : bits;
}

void sort_by_word(SbSortItem *items, SbSortItem *spare, int64_t count, uint64_t differ) {
    if (count <= INSERTION_MAX || !differ) {
        if (differ) insert(items, count);
        return;
    }
    int bits = digit_bits(count), top = 64 - __builtin_clzll(differ);
    int shift = top > bits ? top - bits : 0;
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    int64_t ends[1 << DIGIT_BITS_MAX], at = 0;
    memset(ends, 0, (mask + 1) * sizeof *ends);
    for (int64_t i = 0; i < count; i++) ends[items[i].key >> shift & mask]++;
    for (uint64_t d = 0; d <= mask; d++) {
        int64_t here = ends[d];
        ends[d] = at;
        at += here;
    }
    for (int64_t i = 0; i < count; i++) spare[ends[items[i].key >> shift & mask]++] = items[i];
    for (uint64_t d = 0; d <= mask; d++) {
        int64_t begin = d ? ends[d - 1] : 0, here = ends[d] - begin;
        if (here <= INSERTION_MAX) {
            insert_from(items + begin, spare + begin, here);
            continue;
        }
        uint64_t left = copy_back(items + begin, spare + begin, here);
        sort_by_word(items + begin, spare + begin, here, left);
    }
}

// ---- what ascends -------------------------------------------------------------------------------

// Items [0, middle) and [middle, count) ascend.
static void merge_two(SbSortItem *items, SbSortItem *spare, int64_t middle, int64_t count) {
    memcpy(spare, items, (size_t)middle * sizeof *spare);
    int64_t a = 0, b = middle, out = 0;
    while (a < middle && b < count)
        items[out++] = items[b].key < spare[a].key ? items[b++] : spare[a++];
    memcpy(items + out, spare + a, (size_t)(middle - a) * sizeof *items);
}

// Few descents: the rows of each thread ascend by their order.
static void merge_ascending(SbSortItem *items, SbSortItem *spare, int64_t count) {
    for (int64_t middle = 1; middle < count; middle++) {
        if (items[middle - 1].key <= items[middle].key) continue;
        int64_t end = middle + 1;
        while (end < count && items[end - 1].key <= items[end].key) end++;
        merge_two(items, spare, middle, end);
        middle = end - 1;
    }
}

// ---- by comparison ------------------------------------------------------------------------------

static void insert_compared(SbSortItem *items, int64_t count, const SbSortBy *by) {
    for (int64_t i = 1; i < count; i++) {
        SbSortItem item = items[i];
        int64_t j = i;
        for (; j > 0 && sb_sort_less(item.entry, items[j - 1].entry, by); j--)
            items[j] = items[j - 1];
        items[j] = item;
    }
}

// Rows that are equal by their prefixes.
static void merge_sort(SortRun run, const SbSortBy *by) {
    enum { WIDTH = 16 };
    int64_t count = run.count;
    for (int64_t i = 0; i < count; i += WIDTH)
        insert_compared(run.items + i, count - i < WIDTH ? count - i : WIDTH, by);
    SbSortItem *from = run.items, *to = run.spare;
    for (int64_t width = WIDTH; width < count; width *= 2) {
        for (int64_t start = 0; start < count; start += 2 * width) {
            int64_t middle = start + width < count ? start + width : count;
            int64_t end = middle + width < count ? middle + width : count;
            int64_t a = start, b = middle;
            for (int64_t out = start; out < end; out++) {
                bool left = b >= end ||
                            (a < middle && !sb_sort_less(from[b].entry, from[a].entry, by));
                to[out] = left ? from[a++] : from[b++];
            }
        }
        SbSortItem *swap = from;
        from = to;
        to = swap;
    }
    if (from != run.items) memcpy(run.items, from, (size_t)count * sizeof *from);
}

// ---- word by word -------------------------------------------------------------------------------

static void sort_words(const SortRun *run, SortSeen seen) {
    if (seen.descents == 0) return;
    if (run->count <= INSERTION_MAX) insert(run->items, run->count);
    else if (seen.descents <= FALLS_MAX) merge_ascending(run->items, run->spare, run->count);
    else sort_by_word(run->items, run->spare, run->count, seen.differ);
}

// The word at the place is the same for all: on to the first place that may differ.
static SortPlace pass_shared(const SbSortBy *by, const SortRun *run) {
    SortPlace next = sort_key_after(by, run->place, run->items[0].key);
    SbSortPart part;
    if (next.step != run->place.step || !sort_key_part(by, &next, &part)) return next;
    int64_t shared = INT64_MAX;
    for (int64_t i = 1; i < run->count && shared; i++)
        shared = sort_key_shared(&part, next, run->items[0].entry, run->items[i].entry, shared);
    next.offset += shared;
    return next;
}

static void sort_deep(const SbSortBy *by, SortRun run, const SortSeen *known, int depth) {
    SbSortPart part;
    SortSeen seen;
    for (;; known = nullptr) {
        if (!sort_key_part(by, &run.place, &part)) return;
        if (part.kind == SB_SORT_REST || depth == DEPTH_MAX) {
            merge_sort(run, by);
            return;
        }
        seen = known ? *known : sort_key_words(&part, run.place, run.items, run.count);
        if (seen.differ) break;
        run.place = pass_shared(by, &run);
    }
    sort_words(&run, seen);
    for (int64_t i = 0, end; i < run.count; i = end) {
        uint64_t word = run.items[i].key;
        for (end = i + 1; end < run.count && run.items[end].key == word;) end++;
        if (end - i == 1) continue;
        SortRun next = {run.items + i, run.spare + i, end - i,
                        sort_key_after(by, run.place, word)};
        sort_deep(by, next, nullptr, depth + 1);
    }
}

void sort_run(const SbSortBy *by, SortRun run, const SortSeen *seen) {
    if (run.count > 1) sort_deep(by, run, seen, 0);
}
