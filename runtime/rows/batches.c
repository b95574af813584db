#include "runtime/rows/batches.h"

#include "runtime/report.h"

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// What a row of the stage's input takes: about, and never less than what is kept of it for sure.
static int64_t row_bytes(const SbJob *job, const SbStage *stage) {
    int64_t least = stage->input == SB_INPUT_ROWS ? job->breakers[stage->input_index].entry_bytes
                                                  : (int64_t)sizeof(int64_t);
    return larger(stage->row_bytes, least);
}

bool batches_check(const SbJob *job, int64_t room, Trouble *trouble) {
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbStage *stage = &job->stages[s];
        int64_t row = row_bytes(job, stage), bytes;
        if (__builtin_mul_overflow(stage->batch, row, &bytes)) bytes = INT64_MAX;
        if (stage->batch <= 1 || bytes <= room) continue;
        char takes[SIZE_TEXT], there[SIZE_TEXT];
        size_say(bytes, takes);
        size_say(room, there);
        trouble_set(trouble, TROUBLE_BATCH,
                    "a batch of %lld rows of '%.*s' takes about %s, and %s are there for rows",
                    (long long)stage->batch, (int)stage->label.len, stage->label.ptr, takes, there);
        trouble_fix(trouble, "write batch = %lld or less, or raise --memory",
                    (long long)larger(room / row, 1));
        return false;
    }
    return true;
}

// The same through so many borders; partitions stay as they are after a stage that keeps its rows.
static int64_t wanted(const SbJob *job, uint32_t edge, int borders) {
    int64_t most = 0;
    for (uint32_t s = 0; s < job->stage_count && borders > 0; s++) {
        const SbStage *stage = &job->stages[s];
        if (stage->input != SB_INPUT_ROWS || stage->input_index != edge) continue;
        most = larger(most, stage->batch);
        for (uint32_t t = 0; t < stage->terminal_count; t++) {
            uint32_t next = stage->terminals[t];
            if (sb_is_edge(job, next))
                most = larger(most, wanted(job, next, borders - 1));
        }
    }
    return most;
}

int64_t batches_wanted(const SbJob *job, uint32_t edge) {
    enum { BORDERS_MAX = 8 };
    int64_t most = wanted(job, edge, BORDERS_MAX);
    return most > 1 ? most : 0;
}

int64_t batches_piece_end(int64_t batch, int64_t begin, int64_t rows) {
    enum { PIECE_MIN = 8, PIECES_MAX = 64 };  // Rows: fewer are not worth it; of a batch.
    int64_t at = begin + rows, pieces = 1, first = 0;
    if (begin == 0 && at >= batch) return (at / batch + 1) * batch;
    while (pieces < PIECES_MAX && batch / (2 * pieces) >= PIECE_MIN) pieces *= 2;
    while (batch * first / pieces < begin) first++;
    int64_t border = batch * first / pieces;
    if (border > begin) return at < border ? border : INT64_MAX;
    for (int64_t size = 1; size <= pieces && first % size == 0; size *= 2)
        if (batch * (first + size) / pieces > at) return batch * (first + size) / pieces;
    return INT64_MAX;
}

int64_t batches_unit_rows(int64_t batch, int64_t rows, int64_t count, int64_t tasks) {
    if (batch <= 1) return rows;
    if (batch <= rows) return rows - rows % batch;
    return count / batch >= tasks ? batch : rows;
}
