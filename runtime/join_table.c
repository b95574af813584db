#include "runtime/join_table.h"

#include <stdlib.h>
#include <string.h>

// The slots are shared out in ranges, so that each is filled by one thread, and the entries by the
// range in which they begin. An entry whose range is full from there to its end would go on in the
// next one: such entries wait until all ranges are done, and with them all others of their keys.
enum { RANGES = 64, LISTERS_PER_THREAD = 2, AHEAD = 16 };

typedef struct Fill {
    SbJoinBuild *build;
    uint32_t  listers;
    int64_t  *begins;           // [range * listers + lister]: where its entries lie in the lists.
    int64_t   left[RANGES];     // How many wait; they lie at the end of its list.
} Fill;

static bool has_key(const SbJoinBuild *build, const SbEntry *entry) {
    enum { NULL_KEY = 2 };
    return ((const char *)entry)[build->what->matched_offset] != NULL_KEY;
}

static uint32_t range_of(const SbJoinBuild *build, const SbEntry *entry) {
    return (uint32_t)((entry->hash & build->mask) / ((build->mask + 1) / RANGES));
}

static void lister_span(const Fill *fill, uint32_t lister, int64_t *begin, int64_t *end) {
    *begin = fill->build->count * lister / fill->listers;
    *end = fill->build->count * (lister + 1) / fill->listers;
}

static void count_span(void *arg, uint32_t lister, uint32_t thread) {
    (void)thread;
    Fill *fill = arg;
    int64_t begin, end, counts[RANGES] = {0};
    lister_span(fill, lister, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const SbEntry *entry = fill->build->entries[i];
        counts[range_of(fill->build, entry)] += has_key(fill->build, entry);
    }
    for (uint32_t r = 0; r < RANGES; r++) fill->begins[r * fill->listers + lister] = counts[r];
}

static void list_span(void *arg, uint32_t lister, uint32_t thread) {
    (void)thread;
    Fill *fill = arg;
    int64_t begin, end, at[RANGES];
    for (uint32_t r = 0; r < RANGES; r++) at[r] = fill->begins[r * fill->listers + lister];
    lister_span(fill, lister, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const SbEntry *entry = fill->build->entries[i];
        if (has_key(fill->build, entry))
            fill->build->lists[at[range_of(fill->build, entry)]++] = entry;
    }
}

// Puts `entry` before the entries of its key, so that going backwards gives right order. False: no
// slot before `end` (of all slots: behind the last one comes the first).
static bool chain(const SbJoinBuild *build, const SbEntry *entry, uint64_t end) {
    uint64_t *slots = build->slots, at = entry->hash & build->mask;
    for (; slots[at]; at = (at + 1) & build->mask) {
        if (((slots[at] ^ entry->hash) & ~SB_SLOT_ADDRESS) == 0) {
            const SbEntry *head = sb_slot_entry(slots[at]);
            if (build->what->equal(head, entry)) {
                memcpy((char *)(uintptr_t)entry + build->what->next_offset, &head, sizeof head);
                break;
            }
        }
        if (at + 1 == end) return false;
    }
    slots[at] = sb_slot(entry);
    return true;
}

static void fill_range(void *arg, uint32_t range, uint32_t thread) {
    (void)thread;
    Fill *fill = arg;
    const SbJoinBuild *build = fill->build;
    uint64_t last = (build->mask + 1) / RANGES * (range + 1);
    int64_t begin = fill->begins[range * fill->listers],
            end = fill->begins[(range + 1) * fill->listers], left = end;
    for (int64_t i = end - 1; i >= begin; i--) {
        if (i - AHEAD >= begin) __builtin_prefetch(build->lists[i - AHEAD], 1);
        if (!chain(build, build->lists[i], last)) build->lists[--left] = build->lists[i];
    }
    fill->left[range] = end - left;
}

int32_t sb_join_table_build(SbJoinBuild *build, SbParallel *parallel) {
    Fill fill = {.build = build, .listers = parallel->threads * LISTERS_PER_THREAD};
    size_t cells = (size_t)RANGES * fill.listers;
    fill.begins = calloc(cells + 1, sizeof *fill.begins);
    if (!fill.begins) return SB_FAULT_TOO_LARGE;
    parallel->each(parallel, fill.listers, count_span, &fill);
    int64_t sum = 0;
    for (size_t i = 0; i <= cells; i++) {
        int64_t count = fill.begins[i];
        fill.begins[i] = sum;
        sum += count;
    }
    parallel->each(parallel, fill.listers, list_span, &fill);
    parallel->each(parallel, RANGES, fill_range, &fill);
    for (uint32_t r = 0; r < RANGES; r++) {
        int64_t end = fill.begins[(r + 1) * fill.listers];
        for (int64_t i = end - 1; i >= end - fill.left[r]; i--)
            chain(build, build->lists[i], UINT64_MAX);
    }
    free(fill.begins);
    return SB_OK;
}
