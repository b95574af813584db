#include "tests/sim/restart.h"

#include <stdlib.h>
#include <string.h>

// Room for all rows of the sinks.
static void journal_open(Journal *journal, const Workload *load) {
    Streams streams;
    streams_make(&streams, load, false);
    size_t stages = load->plan.stage_count;
    *journal = (Journal){.rows = calloc(stages * stages, sizeof *journal->rows),
                         .stage_count = (uint16_t)stages};
    for (uint16_t s = 0; s < load->plan.stage_count; s++) {
        if (load->plan.stages[s].kind != STAGE_SINK) continue;
        const Stream *stream = &streams.made[s];
        journal->count += stream_rows(stream);
        for (int i = 0; i < stream->count; i++)
            *journal_rows(journal, s, stream->segments[i].root) =
                calloc((size_t)stream->segments[i].rows, 1);
    }
}

static void journal_close(Journal *journal) {
    for (size_t i = 0; i < (size_t)journal->stage_count * journal->stage_count; i++)
        free(journal->rows[i]);
    free(journal->rows);
}

void journal_write(Journal *journal, StageId sink, const Rows *rows) {
    uint8_t *committed = *journal_rows(journal, sink.i, rows->root);
    for (int64_t row = rows->row; row < rows->row + rows->rows; row++) {
        journal->dropped += committed[row];
        journal->written += !committed[row];
        committed[row] = 1;
    }
}

// What happened in a life, on top of those before.
static void add(SimResult *all, const SimResult *life) {
    all->wrong = life->wrong;
    memcpy(all->text, life->text, sizeof all->text);
    all->skipped = life->skipped;
    all->steps += life->steps, all->messages += life->messages, all->losses += life->losses;
    all->launches += life->launches, all->reruns += life->reruns, all->twins += life->twins;
    all->ahead += life->ahead;
}

SimResult lives_run(const Workload *load, const SimOptions *options) {
    enum { LIVES = 10, STEPS_MAX = 400 };
    SimOptions life = *options;
    SimResult all = {0};
    Journal journal;
    if (!workload_told_apart(load)) return all;
    if (load->bounds) return sim_run(load, options);  // A bound is of one life.
    journal_open(&journal, load);
    life.journal = &journal;
    for (uint32_t i = 1; !journal.whole && !all.wrong && !all.skipped; i++, life.seed++) {
        // The last one may live to its end.
        uint64_t random = life.seed;
        life.stop_after = i < LIVES ? (uint64_t)between(&random, 1, STEPS_MAX) : 0;
        SimResult result = sim_run(load, &life);
        add(&all, &result);
        all.deaths += !journal.whole;
    }
    if (journal.count) all.again = (double)journal.dropped / (double)journal.count;
    journal_close(&journal);
    return all;
}
