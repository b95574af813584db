#include "runtime/rows/runs.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNKS_PER_THREAD = 4 };

typedef struct Merge {
    const SbEntry **out;
    SbRun   *cursors;   // [chunk * runs + run]: the part of the run that falls into the chunk.
    int64_t *begins;    // By chunk: where its entries go.
    uint32_t runs;
} Merge;

// How many entries of the run come before `order`.
static int64_t count_before(const SbRun *run, uint64_t order) {
    int64_t low = 0, high = run->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (run->entries[middle]->order < order) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Of the runs the one that begins first; `bound` becomes the order where the next one begins.
static SbRun *first_run(SbRun *runs, uint32_t count, uint64_t *bound) {
    SbRun *first = nullptr;
    *bound = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (!runs[i].count) continue;
        if (!first || runs[i].entries[0]->order < first->entries[0]->order) {
            if (first) *bound = first->entries[0]->order;
            first = &runs[i];
        } else if (runs[i].entries[0]->order < *bound) {
            *bound = runs[i].entries[0]->order;
        }
    }
    return first;
}

// Threads take turns unit by unit, not row by row: a run goes on up to the begin of the next.
static void merge_chunk(void *arg, uint32_t chunk, uint32_t thread) {
    (void)thread;
    const Merge *merge = arg;
    SbRun *cursors = merge->cursors + (size_t)chunk * merge->runs, *run;
    const SbEntry **out = merge->out + merge->begins[chunk];
    uint64_t bound;
    while ((run = first_run(cursors, merge->runs, &bound))) {
        int64_t i = 0;
        do *out++ = run->entries[i++];
        while (i < run->count && run->entries[i]->order < bound);
        run->entries += i;
        run->count -= i;
    }
}

// Chunks of about the same size: the longest run is cut evenly, the others where its cuts are.
static void cut_chunks(Merge *merge, const SbRun *runs, uint32_t chunks) {
    const SbRun *longest = runs;
    for (uint32_t r = 1; r < merge->runs; r++)
        if (runs[r].count > longest->count) longest = &runs[r];
    for (uint32_t r = 0; r < merge->runs; r++) {
        int64_t begin = 0;
        for (uint32_t c = 0; c < chunks; c++) {
            int64_t cut = longest->count * (c + 1) / chunks, end = runs[r].count;
            if (cut < longest->count) end = count_before(&runs[r], longest->entries[cut]->order);
            merge->cursors[(size_t)c * merge->runs + r] =
                (SbRun){runs[r].entries + begin, end - begin};
            merge->begins[c] += begin;
            begin = end;
        }
    }
}

int32_t sb_runs_merge(const SbRun *runs, uint32_t count, const SbEntry **out,
                      SbParallel *parallel) {
    uint32_t chunks = parallel->threads * CHUNKS_PER_THREAD;
    Merge merge = {.out = out, .runs = count};
    merge.cursors = calloc((size_t)chunks * count, sizeof *merge.cursors);
    merge.begins = calloc(chunks, sizeof *merge.begins);
    int32_t status = merge.cursors && merge.begins ? SB_OK : SB_FAULT_TOO_LARGE;
    if (!status) {
        cut_chunks(&merge, runs, chunks);
        parallel->each(parallel, chunks, merge_chunk, &merge);
    }
    free(merge.cursors);
    free(merge.begins);
    return status;
}
