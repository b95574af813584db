// Rows that are equal so far are a segment; the first one has all rows. The next words of a segment
// are taken once. Buckets between sampled splitters are filled and sorted by all threads. Rows with
// one word go to one bucket. If such a bucket is large it is the next segment.
#include "runtime/rows/sort.h"

#include "runtime/rows/sort_items.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 256,
    SAMPLES_PER_BUCKET = 8,
    SAMPLES = BUCKETS * SAMPLES_PER_BUCKET,
    SERIAL_MAX = 1 << 15,
    SHARE_MAX = 64,        // A larger part of all rows is no work for one thread.
    CHUNKS_PER_THREAD = 4,
};

typedef struct Segment {
    int64_t   begin, count;
    SortPlace place;
} Segment;

typedef struct Chunk {
    SortSeen seen;
    int64_t  shared;              // Bytes of a text that its rows have as the first one has.
    int64_t  starts[BUCKETS];     // Where its items go.
} Chunk;

typedef struct Sort {
    const SbEntry **entries;
    SbSortItem     *items;        // By bucket.
    uint64_t       *words;        // By entry.
    uint8_t        *bucket_of;    // By entry.
    int64_t         count, charged;
    const SbSortBy *by;
    uint32_t        chunk_count;
    Chunk          *chunks;
    Segment         now;
    SbSortPart      part;                 // What the segment's place is in.
    uint64_t        split_words[BUCKETS]; // BUCKETS - 1 of them, ascending,
    const SbEntry  *split_rows[BUCKETS];  // and the rows where no word decides.
    int64_t         bounds[BUCKETS + 1];  // Within the segment.
    SbSortItem     *spares;               // For each thread room for the largest bucket.
    int64_t         spare_items;
    Segment         later[SHARE_MAX + 1]; // Each of more than a share of the rows.
    uint32_t        later_count;
} Sort;

static void chunk_bounds(const Sort *sort, uint32_t chunk, int64_t *begin, int64_t *end) {
    *begin = sort->now.begin + sort->now.count * chunk / sort->chunk_count;
    *end = sort->now.begin + sort->now.count * (chunk + 1) / sort->chunk_count;
}

// ---- words -------------------------------------------------------------------------------------

static void word_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin, end;
    chunk_bounds(sort, chunk, &begin, &end);
    sort->chunks[chunk].seen = sort_key_list(&sort->part, sort->now.place, sort->entries + begin,
                                             end - begin, sort->words + begin);
}

static bool words_differ(const Sort *sort) {
    uint64_t differ = 0;
    for (uint32_t c = 0; c < sort->chunk_count; c++) {
        int64_t begin, end;
        chunk_bounds(sort, c, &begin, &end);
        differ |= sort->chunks[c].seen.differ;
        differ |= sort->words[begin] ^ sort->words[sort->now.begin];
    }
    return differ;
}

static void share_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin, end, shared = INT64_MAX;
    chunk_bounds(sort, chunk, &begin, &end);
    const SbEntry *first = sort->entries[sort->now.begin];
    for (int64_t i = begin; i < end && shared; i++)
        shared = sort_key_shared(&sort->part, sort->now.place, first, sort->entries[i], shared);
    sort->chunks[chunk].shared = shared;
}

// All words are the same: goes on to the first place where the keys may differ.
static void pass_shared(Sort *sort, SbParallel *parallel) {
    Segment *now = &sort->now;
    uint32_t step = now->place.step;
    now->place = sort_key_after(sort->by, now->place, sort->words[now->begin]);
    if (now->place.step != step || sort->part.kind != SB_SORT_TEXT) return;
    parallel->each(parallel, sort->chunk_count, share_chunk, sort);
    int64_t shared = INT64_MAX;
    for (uint32_t c = 0; c < sort->chunk_count; c++)
        if (sort->chunks[c].shared < shared) shared = sort->chunks[c].shared;
    now->place.offset += shared;
}

// Takes the segment's words at the first place where they differ. False: they differ nowhere.
static bool take_words(Sort *sort, SbParallel *parallel) {
    while (sort_key_part(sort->by, &sort->now.place, &sort->part)) {
        if (sort->part.kind == SB_SORT_REST) {
            memset(sort->words + sort->now.begin, 0,
                   (size_t)sort->now.count * sizeof *sort->words);
            return true;
        }
        parallel->each(parallel, sort->chunk_count, word_chunk, sort);
        if (words_differ(sort)) return true;
        pass_shared(sort, parallel);
    }
    return false;
}

// ---- buckets -----------------------------------------------------------------------------------

// Splitters that are not greater than a word.
static uint32_t bucket_of_word(const Sort *sort, uint64_t word) {
    uint32_t at = 0;
    for (uint32_t step = BUCKETS / 2; step; step /= 2)
        at += sort->split_words[at + step - 1] <= word ? step : 0;
    return at;
}

static uint32_t bucket_of_row(const Sort *sort, const SbEntry *entry) {
    uint32_t at = 0;
    for (uint32_t step = BUCKETS / 2; step; step /= 2)
        at += sb_sort_less(entry, sort->split_rows[at + step - 1], sort->by) ? 0 : step;
    return at;
}

static void choose_splitters(Sort *sort) {
    SbSortItem samples[SAMPLES], spare[SAMPLES];
    const Segment *now = &sort->now;
    bool by_word = sort->part.kind != SB_SORT_REST;
    for (int64_t i = 0; i < SAMPLES; i++) {
        int64_t at = now->begin + now->count / SAMPLES * i;
        samples[i] = (SbSortItem){sort->words[at], sort->entries[at]};
    }
    if (by_word) sort_by_word(samples, spare, SAMPLES, UINT64_MAX);
    else sort_run(sort->by, (SortRun){samples, spare, SAMPLES, now->place}, nullptr);
    for (uint32_t b = 0; b + 1 < BUCKETS; b++) {
        const SbSortItem *sample = &samples[(b + 1) * SAMPLES_PER_BUCKET];
        uint64_t before = b ? sort->split_words[b - 1] : 0, word = sample->key;
        // A word that is there again ends its own bucket.
        if (b && word <= before) word = before + (before < UINT64_MAX);
        sort->split_words[b] = word;
        sort->split_rows[b] = sample->entry;
    }
}

static void count_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin, end, *counts = sort->chunks[chunk].starts;
    chunk_bounds(sort, chunk, &begin, &end);
    memset(counts, 0, sizeof sort->chunks[chunk].starts);
    bool by_word = sort->part.kind != SB_SORT_REST;
    for (int64_t i = begin; i < end; i++) {
        uint32_t bucket = by_word ? bucket_of_word(sort, sort->words[i])
                                  : bucket_of_row(sort, sort->entries[i]);
        sort->bucket_of[i] = (uint8_t)bucket;
        counts[bucket]++;
    }
}

static void place_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    Sort *sort = arg;
    int64_t begin, end, *starts = sort->chunks[chunk].starts;
    chunk_bounds(sort, chunk, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        sort->items[starts[sort->bucket_of[i]]++] = (SbSortItem){sort->words[i], sort->entries[i]};
}

// Turns counts into the place of each chunk's first item of each bucket.
static void prefix_sums(Sort *sort) {
    int64_t at = sort->now.begin;
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        sort->bounds[bucket] = at;
        for (uint32_t chunk = 0; chunk < sort->chunk_count; chunk++) {
            int64_t *start = &sort->chunks[chunk].starts[bucket], here = *start;
            *start = at;
            at += here;
        }
    }
    sort->bounds[BUCKETS] = at;
}

// More rows of one word than one thread is to sort. A bucket of several words is no larger but by
// bad luck.
static bool is_segment(const Sort *sort, uint32_t bucket) {
    int64_t begin = sort->bounds[bucket], end = sort->bounds[bucket + 1];
    if (sort->part.kind == SB_SORT_REST || end - begin <= SERIAL_MAX ||
        end - begin <= sort->count / SHARE_MAX)
        return false;
    for (int64_t i = begin + 1; i < end; i++)
        if (sort->items[i].key != sort->items[begin].key) return false;
    return true;
}

// Keeps large buckets of one word for later, and what room the others need.
static void share_buckets(Sort *sort) {
    sort->spare_items = 0;
    for (uint32_t b = 0; b < BUCKETS; b++) {
        int64_t begin = sort->bounds[b], count = sort->bounds[b + 1] - begin;
        if (is_segment(sort, b)) {
            SortPlace next = sort_key_after(sort->by, sort->now.place, sort->items[begin].key);
            sort->later[sort->later_count++] = (Segment){begin, count, next};
        } else if (count > sort->spare_items) {
            sort->spare_items = count;
        }
    }
}

static bool is_later(const Sort *sort, int64_t begin, int64_t count) {
    for (uint32_t i = 0; i < sort->later_count; i++)
        if (sort->later[i].begin == begin && sort->later[i].count == count) return true;
    return false;
}

static void sort_bucket(void *arg, uint32_t bucket, uint32_t thread) {
    Sort *sort = arg;
    int64_t begin = sort->bounds[bucket], count = sort->bounds[bucket + 1] - begin;
    SbSortItem *items = sort->items + begin;
    if (!is_later(sort, begin, count)) {
        SortSeen seen = {0};
        for (int64_t i = 1; i < count; i++) {
            seen.differ |= items[i].key ^ items[i - 1].key;
            seen.descents += items[i].key < items[i - 1].key;
        }
        SortRun run = {items, sort->spares + sort->spare_items * thread, count, sort->now.place};
        sort_run(sort->by, run, &seen);
    }
    for (int64_t i = 0; i < count; i++) sort->entries[begin + i] = items[i].entry;
}

// ---- in parallel -------------------------------------------------------------------------------

static void *charged_alloc(Sort *sort, SbMemory *memory, int64_t count, size_t size) {
    int64_t bytes = count * (int64_t)size;
    void *pages = sb_memory_pages(memory, bytes);
    if (pages) sort->charged += bytes;
    return pages;
}

// Sorts the segment `now`, but for what is a segment of its own. The words are no more needed once
// items are in their buckets, so that they are room for the buckets.
static bool sort_segment(Sort *sort, SbMemory *memory, SbParallel *parallel) {
    if (!take_words(sort, parallel)) return true;
    choose_splitters(sort);
    parallel->each(parallel, sort->chunk_count, count_chunk, sort);
    prefix_sums(sort);
    parallel->each(parallel, sort->chunk_count, place_chunk, sort);
    share_buckets(sort);
    int64_t room = sort->spare_items * parallel->threads;
    bool fits = room * (int64_t)sizeof(SbSortItem) <= sort->count * (int64_t)sizeof *sort->words;
    sort->spares = fits ? (SbSortItem *)(void *)sort->words
                        : charged_alloc(sort, memory, room, sizeof *sort->spares);
    if (!sort->spares) return false;
    parallel->each(parallel, BUCKETS, sort_bucket, sort);
    if (fits) return true;
    sb_memory_free(memory, sort->spares, room * (int64_t)sizeof *sort->spares);
    sort->charged -= room * (int64_t)sizeof *sort->spares;
    return true;
}

static bool sort_parallel(Sort *sort, SbMemory *memory, SbParallel *parallel) {
    sort->items = charged_alloc(sort, memory, sort->count, sizeof *sort->items);
    sort->words = charged_alloc(sort, memory, sort->count, sizeof *sort->words);
    sort->bucket_of = charged_alloc(sort, memory, sort->count, 1);
    sort->chunks = calloc(sort->chunk_count, sizeof *sort->chunks);
    if (!sort->items || !sort->words || !sort->bucket_of || !sort->chunks) return false;
    sort->later[sort->later_count++] = (Segment){0, sort->count, {0}};
    while (sort->later_count > 0) {
        sort->now = sort->later[--sort->later_count];
        if (!sort_segment(sort, memory, parallel)) return false;
    }
    return true;
}

void sb_sort_serial(const SbEntry **entries, SbSortItem *room, int64_t count,
                    const SbSortBy *by) {
    for (int64_t i = 0; i < count; i++) room[i] = (SbSortItem){0, entries[i]};
    sort_run(by, (SortRun){room, room + count, count, {0}}, nullptr);
    for (int64_t i = 0; i < count; i++) entries[i] = room[i].entry;
}

static bool sort_serial(Sort *sort, SbMemory *memory) {
    sort->items = charged_alloc(sort, memory, sort->count * 2 + 1, sizeof *sort->items);
    if (sort->items) sb_sort_serial(sort->entries, sort->items, sort->count, sort->by);
    return sort->items;
}

int32_t sb_sort(const SbEntry **entries, int64_t count, const SbSortBy *by, SbMemory *memory,
                SbParallel *parallel) {
    Sort sort = {.entries = entries, .count = count, .by = by,
                 .chunk_count = parallel->threads * CHUNKS_PER_THREAD};
    bool sorted = count > SERIAL_MAX ? sort_parallel(&sort, memory, parallel)
                                     : sort_serial(&sort, memory);
    free(sort.items);
    free(sort.words);
    free(sort.bucket_of);
    free(sort.chunks);
    sb_memory_release(memory, sort.charged);
    return sorted ? SB_OK : SB_FAULT_TOO_LARGE;
}

// ---- in order already ---------------------------------------------------------------------------

typedef struct Look {
    const SbEntry *const *entries;
    int64_t         count;
    const SbSortBy *by;
    uint32_t        pieces;
    _Atomic bool    disorder;
} Look;

static void look_at_piece(void *arg, uint32_t piece, uint32_t thread) {
    enum : int64_t { STEP = 1024 };
    (void)thread;
    Look *look = arg;
    int64_t at = look->count * piece / look->pieces;
    int64_t end = look->count * (piece + 1) / look->pieces;
    for (at += at == 0; at < end && !look->disorder; at += STEP)
        for (int64_t i = at; i < at + STEP && i < end; i++) {
            if (!sb_sort_before(look->entries[i], look->entries[i - 1], look->by)) continue;
            look->disorder = true;
            return;
        }
}

bool sb_is_sorted(const SbEntry *const *entries, int64_t count, const SbSortBy *by,
                  SbParallel *parallel) {
    Look look = {entries, count, by, parallel->threads * CHUNKS_PER_THREAD, false};
    parallel->each(parallel, look.pieces, look_at_piece, &look);
    return !look.disorder;
}
