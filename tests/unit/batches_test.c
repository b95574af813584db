// Batches: where partitions may end so that batches can be made up of them.
#include "runtime/rows/batches.h"
#include "tests/unit/unit.h"

#include <string.h>

// From each place where a partition may begin, the ends that follow are those of pieces that lie
// side by side: whoever goes from end to end comes to the end of the batch.
static void ends_meet(void) {
    for (int64_t batch = 2; batch <= 1000; batch++) {
        int64_t begin = 0, pieces = 0;
        while (begin < batch) {
            int64_t end = batches_piece_end(batch, begin, 0);
            CHECK_SAYS(end > begin && end <= batch, "batch %lld, from %lld: %lld",
                       (long long)batch, (long long)begin, (long long)end);
            if (end <= begin || end > batch) return;
            begin = end;
            pieces++;
        }
        CHECK_SAYS(pieces <= 64, "%lld of batch %lld", (long long)pieces, (long long)batch);
    }
}

// Ends grow to the whole batch where a partition begins with it, and then by whole batches.
static void pieces_double(void) {
    static const int64_t ends[] = {12, 25, 50, 100, 200, 300};
    int64_t rows = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        CHECK(batches_piece_end(100, 0, rows) == ends[i]);
        CHECK(batches_piece_end(100, 0, ends[i] - 1) == ends[i]);
        rows = ends[i];
    }
    CHECK(batches_piece_end(100, 12, 0) == 25);
    CHECK(batches_piece_end(100, 12, 13) == INT64_MAX);
    CHECK(batches_piece_end(100, 50, 13) == 75);
    CHECK(batches_piece_end(100, 50, 25) == 100);
    CHECK(batches_piece_end(100, 50, 50) == INT64_MAX);
    // Behind a partition that a long row ended elsewhere.
    CHECK(batches_piece_end(100, 30, 0) == 37);
    CHECK(batches_piece_end(100, 30, 7) == INT64_MAX);
}

static void units_of_whole_batches(void) {
    CHECK(batches_unit_rows(0, 1000, 5000, 4) == 1000);
    CHECK(batches_unit_rows(300, 1000, 5000, 4) == 900);
    CHECK(batches_unit_rows(2000, 1000, 8000, 4) == 2000);
    CHECK(batches_unit_rows(2000, 1000, 7999, 4) == 1000);
}

static SbStage stages[] = {
    {.label = {"one", 3}, .input = SB_INPUT_ROWS, .input_index = 1, .batch = 100, .row_bytes = 50},
    {.label = {"two", 3}, .input = SB_INPUT_ROWS, .input_index = 1, .batch = 300, .row_bytes = 8},
    {.label = {"three", 5}, .input = SB_INPUT_RANGE, .input_index = 0, .batch = 1},
};
static const SbBreaker breakers[] = {{.entry_bytes = 16}, {.entry_bytes = 24}};
static const SbJob job = {
    .stages = stages, .stage_count = 3, .breakers = breakers, .breaker_count = 2};

static void readers_ask(void) {
    CHECK(batches_wanted(&job, 1) == 300);
    CHECK(batches_wanted(&job, 0) == 0);
}

static void memory_has_to_hold_it(void) {
    Trouble trouble = {0};
    // Entries of 24 bytes are more than the 8 that the second stage guesses.
    CHECK(batches_check(&job, 7200, &trouble));
    CHECK(!batches_check(&job, 7199, &trouble));
    CHECK(trouble.kind == TROUBLE_BATCH);
    CHECK(strstr(trouble.text, "a batch of 300 rows of 'two' takes about 7.0 KiB"));
    CHECK(strstr(trouble.fix, "batch = 299 "));
    trouble = (Trouble){0};
    CHECK(!batches_check(&job, 4999, &trouble));
    CHECK(strstr(trouble.text, "a batch of 100 rows of 'one'"));
    trouble = (Trouble){0};
    stages[2].batch = INT64_MAX, stages[2].row_bytes = 16;
    CHECK(!batches_check(&job, INT64_C(1) << 40, &trouble));
    // A number of a range is no row of a byte.
    trouble = (Trouble){0};
    stages[2].batch = 1000, stages[2].row_bytes = 0;
    CHECK(!batches_check(&job, 7999, &trouble));
    CHECK(strstr(trouble.fix, "batch = 999 "));
    stages[2].batch = 1;
}

int main(int argc, char **argv) {
    static const UnitTest tests[] = {
        {"ends_meet", ends_meet},
        {"pieces_double", pieces_double},
        {"units_of_whole_batches", units_of_whole_batches},
        {"readers_ask", readers_ask},
        {"memory_has_to_hold_it", memory_has_to_hold_it},
    };
    return unit_main("batches", tests, sizeof tests / sizeof *tests, argc, argv);
}
