// Edges: rows between stages that need no order but that of their units.
#include "runtime/job.h"

#include <stdlib.h>
#include <string.h>

bool edge_add(Job *job, uint32_t breaker, EdgeBatch batch) {
    Edge *edge = &job->edges[breaker];
    if (edge->count == edge->cap) {
        uint32_t cap = edge->cap ? 2 * edge->cap : 16;
        EdgeBatch *batches = realloc(edge->batches, cap * sizeof *batches);
        if (!batches) return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for rows");
        edge->batches = batches;
        edge->cap = cap;
    }
    uint32_t at = edge->count++;
    for (; at > 0 && edge->batches[at - 1].rank > batch.rank; at--) edge->batches[at] = edge->batches[at - 1];
    edge->batches[at] = batch;
    edge->rows += batch.rows->count;
    return true;
}

// in = rows that were needed; the skipped ones are filtered.
static void count_limit(Job *job, uint32_t breaker) {
    const Edge *edge = &job->edges[breaker];
    int64_t in = edge->rows < edge->limit ? edge->rows : edge->limit;
    int64_t skipped = in < edge->skip ? in : edge->skip;
    int64_t *counts = &job->counts[job->what->breakers[breaker].step * SB_COUNTS];
    memset(counts, 0, SB_COUNTS * sizeof *counts);
    counts[SB_IN] = in;
    counts[SB_FILTERED] = skipped;
    counts[SB_ON] = in - skipped;
}

bool edge_finish(Job *job, uint32_t breaker) {
    Edge *edge = &job->edges[breaker];
    if (edge->limited) count_limit(job, breaker);
    int64_t bytes = edge->rows * (int64_t)sizeof *edge->entries;
    if (bytes == 0) return true;
    if (sb_memory_charge(&job->memory, bytes)) {
        edge->entries = malloc((size_t)bytes);
        if (!edge->entries) sb_memory_release(&job->memory, bytes);
    }
    if (!edge->entries) {
        SbStr step = job->what->steps[job->what->breakers[breaker].step].label;
        return trouble_set(&job->trouble, TROUBLE_MEMORY, "'%.*s' needs more than --memory gives",
                           (int)step.len, step.ptr);
    }
    int64_t at = 0, seen = 0;
    for (uint32_t b = 0; b < edge->count; b++) {
        SbRows *rows = edge->batches[b].rows;
        if (rows->count == 0) continue;
        const SbEntry *const *entries = sb_rows_entries(rows);
        if (!entries) return trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for rows");
        for (int64_t i = 0; i < rows->count; i++, seen++) {
            if (seen >= edge->skip && seen < edge->limit) edge->entries[at++] = entries[i];
        }
    }
    edge->entry_count = at;
    return true;
}

void edge_close(Job *job, uint32_t breaker) {
    Edge *edge = &job->edges[breaker];
    for (uint32_t b = 0; b < edge->count; b++) sb_rows_close(edge->batches[b].rows);
    free(edge->batches);
    if (edge->entries) {
        sb_memory_release(&job->memory, edge->rows * (int64_t)sizeof *edge->entries);
        free(edge->entries);
    }
    edge->batches = nullptr;
    edge->entries = nullptr;
    edge->count = edge->cap = 0;
}
