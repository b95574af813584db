// scan_bench: speed of the text scanners on made-up data. `scan_bench [NAME [ROUNDS]]` prints GB/s;
// under `valgrind --tool=callgrind`, with two numbers of rounds, the instructions per byte.
#include "runtime/memory/scratch.h"
#include "stdlib/csv/csv.h"
#include "stdlib/json/json.h"
#include "stdlib/text/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_BYTES = 1 << 20, ROWS_MAX = 1024 };

static char *text;
static int64_t text_len;
static uint32_t ends[ROWS_MAX * 8 + SB_CSV_SPARE], starts[ROWS_MAX];

static void fill(const char *const *rows, size_t count) {
    text = malloc(TEXT_BYTES + SB_SLACK);
    text_len = 0;
    for (size_t i = 0; text_len + 256 < TEXT_BYTES; i++) {
        size_t len = strlen(rows[i % count]);
        memcpy(text + text_len, rows[i % count], len);
        text_len += (int64_t)len;
    }
}

static int64_t index_csv(void) {
    const SbCsvDialect dialect = {.delimiter = ',', .quote = '"'};
    int64_t rows = 0;
    for (int64_t pos = 0; pos < text_len;) {
        SbIndex index = {.ends = ends,
                         .starts = starts,
                         .ends_max = ROWS_MAX * 8 + SB_CSV_SPARE,
                         .rows_max = ROWS_MAX};
        sb_csv_index(&index, text, pos, text_len, 8, &dialect);
        rows += index.rows;
        if (index.fault) abort();
        pos = index.next;
    }
    return rows;
}

static int64_t index_lines(void) {
    int64_t rows = 0;
    for (int64_t pos = 0; pos < text_len;) {
        SbIndex index = {
            .ends = ends, .starts = starts, .ends_max = ROWS_MAX, .rows_max = ROWS_MAX};
        sb_lines_index(&index, text, pos, text_len, 0);
        rows += index.rows;
        pos = index.next;
    }
    return rows;
}

// Checks every line and finds three keys.
static int64_t read_json(void) {
    static const SbStr names[] = {{"id", 2}, {"user", 4}, {"tags", 4}};
    SbJsonKey keys[3];
    SbJsonSlot slots[3];
    SbJsonShape shape = {.keys = keys, .count = 3};
    SbCall call;
    int64_t rows = 0;
    if (sb_scratch_open(&call, 4096)) abort();
    for (int i = 0; i < 3; i++) {
        keys[i] = (SbJsonKey){names[i], sb_json_head(names[i])};
        shape.lengths |= UINT64_C(1) << names[i].len;
    }
    for (int64_t pos = 0; pos < text_len;) {
        SbIndex index = {
            .ends = ends, .starts = starts, .ends_max = ROWS_MAX, .rows_max = ROWS_MAX};
        sb_lines_index(&index, text, pos, text_len, SB_LINES_SKIP_BLANK);
        for (uint32_t row = 0; row < index.rows; row++) {
            uint32_t start = starts[row];
            if (sb_json_row(&call, text + start, ends[row] - start, &shape, slots)) abort();
            rows += slots[2].kind == SB_JSON_ARRAY;
        }
        pos = index.next;
    }
    sb_scratch_close(&call);
    return rows;
}

typedef struct Bench {
    const char *name;
    int64_t (*run)(void);
    const char *rows[3];
} Bench;

static const Bench benches[] = {
    {"csv",
     index_csv,
     {
         "1234567,ab,2013-01-01,517.25,UA,hello world,12,N14228\n",
         "89,abcdefgh,2013-01-02,5.5,AA,good morning,-3,N24211XY\n",
         "7654321,abc,2013-01-03,1024.125,B6,sun,128,N619AA000001\n",
     }},
    {"quoted",
     index_csv,
     {
         "1234567,\"ab\",2013-01-01,517.25,UA,\"hello, world\",12,N14228\n",
         "89,\"abcdefgh\",2013-01-02,5.5,AA,\"good \"\"morning\"\"\",-3,N24211XY\n",
         "7654321,\"abc\",2013-01-03,1024.125,B6,\"sun\",128,N619AA000001\n",
     }},
    {"lines",
     index_lines,
     {
         "1234567 ab 2013-01-01 517.25 UA hello world 12 N14228\n",
         "89 abcdefgh 2013-01-02 5.5 AA good morning -3 N24211XY and so on\n",
         "7654321 abc\n",
     }},
    {"json",
     read_json,
     {
         "{\"id\":1234567,\"created_at\":\"2013-01-01T08:30:00Z\",\"user\":{\"name\":\"Ann "
         "Smith\",\"age\":31,"
         "\"geo\":[52.52,13.405]},\"tags\":[\"a\",\"bb\",\"ccc\"],\"text\":\"a sentence with some "
         "words\"}\n",
         "{\"id\":89,\"created_at\":\"2013-01-02T09:00:00Z\",\"user\":{\"name\":\"Bob\",\"age\":7,"
         "\"geo\":null},\"tags\":[],\"text\":\"another \\\"sentence\\\" that is rather longer than "
         "the first\"}\n",
         "{\"id\":-5,\"created_at\":\"\",\"user\":{},\"tags\":[true,false],\"text\":\"\"}\n",
     }},
};

int main(int argc, char **argv) {
    const int rounds = argc > 2 ? atoi(argv[2]) : 1000;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        const Bench *bench = &benches[i];
        if (argc > 1 && strcmp(argv[1], bench->name) != 0) continue;
        struct timespec begin, done;
        int64_t rows = 0;
        fill(bench->rows, 3);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int round = 0; round < rounds; round++) rows += bench->run();
        clock_gettime(CLOCK_MONOTONIC, &done);
        double seconds =
            (double)(done.tv_sec - begin.tv_sec) + (double)(done.tv_nsec - begin.tv_nsec) / 1e9;
        double bytes = (double)text_len * rounds;
        printf("%s: %.0f bytes, %lld rows, %.2f GB/s\n", bench->name, bytes, (long long)rows,
               bytes / seconds / 1e9);
        free(text);
    }
}
