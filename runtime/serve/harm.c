// Harm: what failpoints do to the rows of a worker, as foreign code that writes where it should
// not, or memory that fails. Whoever reads the rows is to find that.
#include "runtime/serve/state.h"

#include "runtime/host.h"

#include "stdlib/aggregate.h"

#include <stdio.h>
#include <string.h>

enum : int64_t { HIGH_BIT = INT64_C(1) << 44 };

static void flip(const void *at) {
    int64_t word;
    memcpy(&word, at, sizeof word);
    word ^= HIGH_BIT;
    memcpy((void *)(uintptr_t)at, &word, sizeof word);
}

// The first address of a row that it is shown.
typedef struct Finder {
    SbHolder holder;
    void    *field;
} Finder;

static void *find(SbHolder *self, void *field, int64_t bytes, bool aligned) {
    Finder *finder = (Finder *)(void *)self;
    (void)aligned;
    if (bytes > 0 && !finder->field) finder->field = field;
    return nullptr;
}

static void *first_address(const SbBreaker *edge, const SbEntry *entry) {
    Finder finder = {.holder.bytes = find};
    for (uint32_t h = 0; h < edge->held_count; h++)
        edge->held[h].hold(&finder.holder, edge->held[h].type,
                           (char *)(uintptr_t)entry + edge->held[h].offset);
    return finder.field;
}

// Of the N-th such partition, or of the N-th of that stage: "rows-made.2".
static bool flips(const StageRun *run, const char *name) {
    char of_stage[32];
    snprintf(of_stage, sizeof of_stage, "%s.%u", name, run->index);
    bool any = failpoint_flips(name);
    return failpoint_flips(of_stage) || any;
}

static void harm_batch(const StageRun *run, const SbBreaker *edge, const Batch *batch) {
    const SbEntry *entry = batch->entries[batch->count / 2];
    void *address = first_address(edge, entry);
    if (flips(run, "rows-made")) flip(&entry->order);
    if (address && flips(run, "rows-held")) flip(address);
    if (flips(run, "rows-listed")) flip(&batch->entries[batch->count / 2]);
}

void harm_made(const Serve *s, const StageRun *run, const Partition *partition) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        const Batch *batch = partition->handed[t];
        const SbOut *out = &partition->outs[t];
        int64_t len = out->state->begin ? out->at - out->state->begin : 0;
        if (batch && batch->count > 0)
            harm_batch(run, &s->job->ask.what->breakers[run->edges[t]], batch);
        else if (len >= (int64_t)sizeof(int64_t) && flips(run, "bytes-made"))
            flip(out->state->begin + (len - (int64_t)sizeof(int64_t)) / 2);
    }
}

void harm_left(const Serve *s, const Flushed *flushed, bool sealed) {
    const SbStage *stage = &s->job->ask.what->stages[flushed->stage];
    for (uint32_t i = 0; i < flushed->part_count; i++) {
        const FlushedPart *is = &flushed->parts[i];
        const RowBlock *span = &is->part.spans[is->part.span_count / 2];
        const SbEntry *entry = (const SbEntry *)(const void *)span->begin;
        const SbBreaker *what = &s->job->ask.what->breakers[stage->terminals[is->terminal]];
        void *address = sealed ? nullptr : first_address(what, entry);
        if (address && flips(&s->runs[flushed->stage], "rows-kept")) flip(address);
        if (sealed && flips(&s->runs[flushed->stage], "rows-left")) flip(&entry->hash);
    }
}
