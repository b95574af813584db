// One bucket for each range between sampled splitters, filled and sorted in parallel. Inside a
// bucket a radix sort by key, then each run of equal keys by what the key does not hold.
#include "runtime/rows/sort.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 256,
    SAMPLES_PER_BUCKET = 8,
    SAMPLES = BUCKETS * SAMPLES_PER_BUCKET,
    SERIAL_MAX = 1 << 15,
    RADIX_MIN = 256,
    INSERTION_MAX = 16,
};

typedef struct Sort {
    const SbEntry **entries;
    SbSortItem       *items;                // By bucket.
    uint8_t        *bucket_of;            // By entry.
    int64_t         count, charged;
    const SbSortBy *by;
    uint32_t        chunks;
    SbSortItem        splitters[BUCKETS];   // BUCKETS - 1 of them, ascending.
    int64_t       (*starts)[BUCKETS];     // [chunk][bucket]: where its items go.
    int64_t         bounds[BUCKETS + 1];
    SbSortItem       *spares;               // For each thread room for the largest bucket.
    int64_t         spare_items;
} Sort;

uint64_t sb_entry_order(const SbEntry *entry) { return entry->order; }

static uint64_t key_of(const SbEntry *entry, const SbSortBy *by) {
    return by->prefix ? by->prefix(entry) : 0;
}

static bool less_tie(const SbEntry *a, const SbEntry *b, const SbSortBy *by) {
    if (by->prefix_more) {
        uint64_t x = by->prefix_more(a), y = by->prefix_more(b);
        if (x != y) return x < y;
    }
    int32_t order = by->compare ? by->compare(a, b) : 0;
    return order ? order < 0 : a->order < b->order;
}

static inline bool less(const SbSortItem *a, const SbSortItem *b, const SbSortBy *by) {
    return a->key != b->key ? a->key < b->key : less_tie(a->entry, b->entry, by);
}

bool sb_sort_less(const SbSortItem *a, const SbSortItem *b, const SbSortBy *by) {
    return less(a, b, by);
}

static void insertion_sort(SbSortItem *items, int64_t count, const SbSortBy *by) {
    for (int64_t i = 1; i < count; i++) {
        SbSortItem item = items[i];
        int64_t j = i;
        for (; j > 0 && less(&item, &items[j - 1], by); j--) items[j] = items[j - 1];
        items[j] = item;
    }
}

// Sorts `items` through `spare`, bottom up.
static void merge_sort(SbSortItem *items, SbSortItem *spare, int64_t count, const SbSortBy *by) {
    for (int64_t i = 0; i < count; i += INSERTION_MAX)
        insertion_sort(items + i, count - i < INSERTION_MAX ? count - i : INSERTION_MAX, by);
    SbSortItem *from = items, *to = spare;
    for (int64_t width = INSERTION_MAX; width < count; width *= 2) {
        for (int64_t start = 0; start < count; start += 2 * width) {
            int64_t middle = start + width < count ? start + width : count;
            int64_t end = middle + width < count ? middle + width : count;
            int64_t a = start, b = middle;
            for (int64_t out = start; out < end; out++)
                to[out] = b >= end || (a < middle && !less(&from[b], &from[a], by)) ? from[a++]
                                                                                     : from[b++];
        }
        SbSortItem *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, (size_t)count * sizeof *items);
}

// Least significant byte first; bytes that all keys share are skipped.
static void radix_sort(SbSortItem *items, SbSortItem *spare, int64_t count) {
    static const int DIGITS = 8;
    int64_t counts[8][256] = {0};
    for (int64_t i = 0; i < count; i++)
        for (int d = 0; d < DIGITS; d++) counts[d][items[i].key >> (8 * d) & 255]++;
    SbSortItem *from = items, *to = spare;
    for (int d = 0; d < DIGITS; d++) {
        if (counts[d][from[0].key >> (8 * d) & 255] == count) continue;
        int64_t at = 0;
        for (int v = 0; v < 256; v++) {
            int64_t here = counts[d][v];
            counts[d][v] = at;
            at += here;
        }
        for (int64_t i = 0; i < count; i++) to[counts[d][from[i].key >> (8 * d) & 255]++] = from[i];
        SbSortItem *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, (size_t)count * sizeof *items);
}

// `more`: runs of equal keys are sorted by the bits that follow.
static void sort_items(SbSortItem *items, SbSortItem *spare, int64_t count, const SbSortBy *by,
                       bool more) {
    if (count < RADIX_MIN) {
        merge_sort(items, spare, count, by);
        return;
    }
    radix_sort(items, spare, count);
    for (int64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && items[end].key == items[i].key;) end++;
        if (end - i == 1) continue;
        if (!more) {
            merge_sort(items + i, spare + i, end - i, by);
            continue;
        }
        for (int64_t j = i; j < end; j++) items[j].key = by->prefix_more(items[j].entry);
        sort_items(items + i, spare + i, end - i, by, false);
    }
}

static void sort_entries(const SbEntry **entries, SbSortItem *items, SbSortItem *spare,
                         int64_t count, const SbSortBy *by) {
    sort_items(items, spare, count, by, by->prefix_more != nullptr);
    for (int64_t i = 0; i < count; i++) entries[i] = items[i].entry;
}

// ---- in parallel -------------------------------------------------------------------------------

static void chunk_bounds(const Sort *sort, uint32_t chunk, int64_t *begin, int64_t *end) {
    *begin = sort->count * chunk / sort->chunks;
    *end = sort->count * (chunk + 1) / sort->chunks;
}

// Splitters that are not greater.
static uint32_t bucket_of(const Sort *sort, const SbSortItem *item) {
    uint32_t at = 0;
    for (uint32_t step = BUCKETS / 2; step; step /= 2)
        at += sort->splitters[at + step - 1].key < item->key ? step : 0;
    while (at < BUCKETS - 1 && sort->splitters[at].key == item->key &&
           !less_tie(item->entry, sort->splitters[at].entry, sort->by)) {
        at++;
    }
    return at;
}

static void count_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin, end;
    chunk_bounds(sort, chunk, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        SbSortItem item = {key_of(sort->entries[i], sort->by), sort->entries[i]};
        uint32_t bucket = bucket_of(sort, &item);
        sort->bucket_of[i] = (uint8_t)bucket;
        sort->starts[chunk][bucket]++;
    }
}

static void place_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin, end;
    chunk_bounds(sort, chunk, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        SbSortItem item = {key_of(sort->entries[i], sort->by), sort->entries[i]};
        sort->items[sort->starts[chunk][sort->bucket_of[i]]++] = item;
    }
}

static void sort_bucket(void *arg, uint32_t bucket, uint32_t thread) {
    Sort *sort = arg;
    int64_t begin = sort->bounds[bucket], count = sort->bounds[bucket + 1] - begin;
    sort_entries(sort->entries + begin, sort->items + begin,
                 sort->spares + sort->spare_items * thread, count, sort->by);
}

static void choose_splitters(Sort *sort) {
    SbSortItem samples[SAMPLES], spare[SAMPLES];
    for (int64_t i = 0; i < SAMPLES; i++) {
        const SbEntry *entry = sort->entries[sort->count / SAMPLES * i];
        samples[i] = (SbSortItem){key_of(entry, sort->by), entry};
    }
    merge_sort(samples, spare, SAMPLES, sort->by);
    for (uint32_t b = 0; b + 1 < BUCKETS; b++)
        sort->splitters[b] = samples[(b + 1) * SAMPLES_PER_BUCKET];
}

// Turns counts into the place of each chunk's first item of each bucket.
static void prefix_sums(Sort *sort) {
    int64_t at = 0;
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        sort->bounds[bucket] = at;
        for (uint32_t chunk = 0; chunk < sort->chunks; chunk++) {
            int64_t here = sort->starts[chunk][bucket];
            sort->starts[chunk][bucket] = at;
            at += here;
        }
        int64_t here = at - sort->bounds[bucket];
        if (here > sort->spare_items) sort->spare_items = here;
    }
    sort->bounds[BUCKETS] = at;
}

static void *charged_alloc(Sort *sort, SbMemory *memory, int64_t count, size_t size) {
    int64_t bytes = count * (int64_t)size;
    void *pages = sb_memory_pages(memory, bytes);
    if (pages) sort->charged += bytes;
    return pages;
}

static bool sort_parallel(Sort *sort, SbMemory *memory, SbParallel *parallel) {
    sort->items = charged_alloc(sort, memory, sort->count, sizeof *sort->items);
    sort->bucket_of = charged_alloc(sort, memory, sort->count, 1);
    sort->starts = calloc(sort->chunks, sizeof *sort->starts);
    if (!sort->items || !sort->bucket_of || !sort->starts) return false;
    choose_splitters(sort);
    parallel->each(parallel, sort->chunks, count_chunk, sort);
    prefix_sums(sort);
    parallel->each(parallel, sort->chunks, place_chunk, sort);
    sort->spares = charged_alloc(sort, memory, sort->spare_items * parallel->threads,
                                 sizeof *sort->spares);
    if (!sort->spares) return false;
    parallel->each(parallel, BUCKETS, sort_bucket, sort);
    return true;
}

void sb_sort_serial(const SbEntry **entries, SbSortItem *room, int64_t count,
                    const SbSortBy *by) {
    for (int64_t i = 0; i < count; i++)
        room[i] = (SbSortItem){key_of(entries[i], by), entries[i]};
    sort_entries(entries, room, room + count, count, by);
}

static bool sort_serial(Sort *sort, SbMemory *memory) {
    sort->items = charged_alloc(sort, memory, sort->count * 2 + 1, sizeof *sort->items);
    if (sort->items) sb_sort_serial(sort->entries, sort->items, sort->count, sort->by);
    return sort->items;
}

int32_t sb_sort(const SbEntry **entries, int64_t count, const SbSortBy *by, SbMemory *memory,
                SbParallel *parallel) {
    Sort sort = {.entries = entries, .count = count, .by = by, .chunks = parallel->threads * 4};
    bool sorted = count > SERIAL_MAX ? sort_parallel(&sort, memory, parallel)
                                     : sort_serial(&sort, memory);
    free(sort.items);
    free(sort.bucket_of);
    free(sort.starts);
    free(sort.spares);
    sb_memory_release(memory, sort.charged);
    return sorted ? SB_OK : SB_FAULT_TOO_LARGE;
}
