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
    for (; at > 0 && edge->batches[at - 1].rank > batch.rank; at--)
        edge->batches[at] = edge->batches[at - 1];
    edge->batches[at] = batch;
    edge->rows += batch.rows->count;
    return true;
}

// The rows that the readers of an edge need of it: known where each is a limit directly behind.
static int64_t rows_needed(const Job *job, uint32_t breaker) {
    const SbJob *what = job->what;
    int64_t most = -1;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        if (stage->right_index == breaker) return INT64_MAX;
        if (stage->input != SB_INPUT_ROWS || stage->input_index != breaker) continue;
        for (uint32_t t = 0; t < stage->terminal_count; t++) {
            uint32_t reader = stage->terminals[t];
            if (reader & SB_TERMINAL_SINK || !job->edges[reader].limited) return INT64_MAX;
            uint32_t before = what->steps[what->breakers[reader].step].from[0];
            if (before != what->breakers[breaker].step) return INT64_MAX;
            if (job->edges[reader].limit > most) most = job->edges[reader].limit;
        }
    }
    return most < 0 ? INT64_MAX : most;
}

void edges_narrow(Job *job) {
    for (uint32_t b = job->what->breaker_count; b-- > 0;) {
        Edge *edge = &job->edges[b];
        if (!edge->limited) continue;
        int64_t limit;
        if (__builtin_add_overflow(rows_needed(job, b), edge->skip, &limit)) continue;
        if (limit < edge->limit) edge->limit = limit;
    }
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
