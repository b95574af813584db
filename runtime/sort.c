// One bucket for each range between sampled splitters, filled and sorted in parallel; inside a
// bucket a radix sort by key, then a merge sort of each run of equal keys.
#include "runtime/sort.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS_MAX = 64, SAMPLES_PER_BUCKET = 16, SERIAL_MAX = 1 << 14, INSERTION_MAX = 16 };

typedef struct Sort {
    SbSortItem  *items, *spare;
    int64_t      count;
    SbCompareFn *compare;
    uint32_t     buckets, chunks;
    SbSortItem   splitters[BUCKETS_MAX];   // buckets - 1 of them, ascending.
    int64_t    (*starts)[BUCKETS_MAX + 1]; // [chunk][bucket]: where its items go in spare.
    int64_t      bounds[BUCKETS_MAX + 1];
} Sort;

static bool less_tie(const SbEntry *a, const SbEntry *b, SbCompareFn *compare) {
    int32_t order = compare ? compare(a, b) : 0;
    return order ? order < 0 : a->order < b->order;
}

static bool less(const SbSortItem *a, const SbSortItem *b, SbCompareFn *compare) {
    return a->key != b->key ? a->key < b->key : less_tie(a->entry, b->entry, compare);
}

static void insertion_sort(SbSortItem *items, int64_t count, SbCompareFn *compare) {
    for (int64_t i = 1; i < count; i++) {
        SbSortItem item = items[i];
        int64_t j = i;
        for (; j > 0 && less(&item, &items[j - 1], compare); j--) items[j] = items[j - 1];
        items[j] = item;
    }
}

// Sorts `items` through `spare`, bottom up.
static void merge_sort(SbSortItem *items, SbSortItem *spare, int64_t count, SbCompareFn *compare) {
    for (int64_t i = 0; i < count; i += INSERTION_MAX)
        insertion_sort(items + i, count - i < INSERTION_MAX ? count - i : INSERTION_MAX, compare);
    SbSortItem *from = items, *to = spare;
    for (int64_t width = INSERTION_MAX; width < count; width *= 2) {
        for (int64_t start = 0; start < count; start += 2 * width) {
            int64_t middle = start + width < count ? start + width : count;
            int64_t end = middle + width < count ? middle + width : count;
            int64_t a = start, b = middle;
            for (int64_t out = start; out < end; out++)
                to[out] = b >= end || (a < middle && !less(&from[b], &from[a], compare))
                              ? from[a++]
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

static void sort_serial(SbSortItem *items, SbSortItem *spare, int64_t count, SbCompareFn *compare) {
    if (count < 256) {
        merge_sort(items, spare, count, compare);
        return;
    }
    radix_sort(items, spare, count);
    for (int64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && items[end].key == items[i].key;) end++;
        if (end - i > 1) merge_sort(items + i, spare + i, end - i, compare);
    }
}

static uint32_t bucket_of(const Sort *sort, const SbSortItem *item) {
    uint32_t low = 0, high = sort->buckets - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (less(item, &sort->splitters[middle], sort->compare)) high = middle;
        else low = middle + 1;
    }
    return low;
}

static void chunk_bounds(const Sort *sort, uint32_t chunk, int64_t *begin, int64_t *end) {
    *begin = sort->count * chunk / sort->chunks;
    *end = sort->count * (chunk + 1) / sort->chunks;
}

static void count_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin, end;
    chunk_bounds(sort, chunk, &begin, &end);
    for (int64_t i = begin; i < end; i++) sort->starts[chunk][bucket_of(sort, &sort->items[i])]++;
}

static void place_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin, end;
    chunk_bounds(sort, chunk, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        uint32_t bucket = bucket_of(sort, &sort->items[i]);
        sort->spare[sort->starts[chunk][bucket]++] = sort->items[i];
    }
}

static void sort_bucket(void *arg, uint32_t bucket, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin = sort->bounds[bucket], count = sort->bounds[bucket + 1] - begin;
    if (!count) return;
    sort_serial(sort->spare + begin, sort->items + begin, count, sort->compare);
    memcpy(sort->items + begin, sort->spare + begin, (size_t)count * sizeof *sort->items);
}

static void choose_splitters(Sort *sort) {
    SbSortItem samples[BUCKETS_MAX * SAMPLES_PER_BUCKET], spare[BUCKETS_MAX * SAMPLES_PER_BUCKET];
    int64_t count = (int64_t)sort->buckets * SAMPLES_PER_BUCKET;
    for (int64_t i = 0; i < count; i++) samples[i] = sort->items[sort->count / count * i];
    merge_sort(samples, spare, count, sort->compare);
    for (uint32_t b = 0; b + 1 < sort->buckets; b++)
        sort->splitters[b] = samples[(b + 1) * SAMPLES_PER_BUCKET];
}

// Turns counts into the place of each chunk's first item of each bucket.
static void prefix_sums(Sort *sort) {
    int64_t at = 0;
    for (uint32_t bucket = 0; bucket < sort->buckets; bucket++) {
        sort->bounds[bucket] = at;
        for (uint32_t chunk = 0; chunk < sort->chunks; chunk++) {
            int64_t here = sort->starts[chunk][bucket];
            sort->starts[chunk][bucket] = at;
            at += here;
        }
    }
    sort->bounds[sort->buckets] = at;
}

void sb_sort(SbSortItem *items, SbSortItem *spare, int64_t count, SbCompareFn *compare,
             SbParallel *parallel) {
    Sort sort = {.items = items, .spare = spare, .count = count, .compare = compare};
    sort.buckets = parallel->threads * 4 < BUCKETS_MAX ? parallel->threads * 4 : BUCKETS_MAX;
    sort.chunks = sort.buckets;
    if (count > SERIAL_MAX && parallel->threads > 1)
        sort.starts = calloc(sort.chunks, sizeof *sort.starts);
    if (!sort.starts) {  // Small, or no memory for the fast way.
        if (count > 1) sort_serial(items, spare, count, compare);
        return;
    }
    choose_splitters(&sort);
    parallel->each(parallel, sort.chunks, count_chunk, &sort);
    prefix_sums(&sort);
    parallel->each(parallel, sort.chunks, place_chunk, &sort);
    parallel->each(parallel, sort.buckets, sort_bucket, &sort);
    free(sort.starts);
}
