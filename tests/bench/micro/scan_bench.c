// scan_bench: speed of the text scanners on made-up data. `scan_bench NAME [ROUNDS]`; prints bytes and
// GB/s; under `valgrind --tool=callgrind` the instructions per byte.
#include "stdlib/csv.h"
#include "stdlib/lines.h"

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
        SbIndex index = {.ends = ends, .starts = starts, .ends_max = ROWS_MAX * 8 + SB_CSV_SPARE,
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
        SbIndex index = {.ends = ends, .starts = starts, .ends_max = ROWS_MAX, .rows_max = ROWS_MAX};
        sb_lines_index(&index, text, pos, text_len, 0);
        rows += index.rows;
        pos = index.next;
    }
    return rows;
}

int main(int argc, char **argv) {
    static const char *plain[] = {
        "1234567,ab,2013-01-01,517.25,UA,hello world,12,N14228\n",
        "89,abcdefgh,2013-01-02,5.5,AA,good morning,-3,N24211XY\n",
        "7654321,abc,2013-01-03,1024.125,B6,sun,128,N619AA000001\n",
    };
    static const char *quoted[] = {
        "1234567,\"ab\",2013-01-01,517.25,UA,\"hello, world\",12,N14228\n",
        "89,\"abcdefgh\",2013-01-02,5.5,AA,\"good \"\"morning\"\"\",-3,N24211XY\n",
    };
    const char *name = argc > 1 ? argv[1] : "csv";
    const int rounds = argc > 2 ? atoi(argv[2]) : 2000;
    bool quotes = strcmp(name, "quoted") == 0;
    fill(quotes ? quoted : plain, quotes ? 2 : 3);
    struct timespec begin, done;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int64_t rows = 0;
    for (int i = 0; i < rounds; i++) rows += strcmp(name, "lines") == 0 ? index_lines() : index_csv();
    clock_gettime(CLOCK_MONOTONIC, &done);
    double seconds = (double)(done.tv_sec - begin.tv_sec) + (double)(done.tv_nsec - begin.tv_nsec) / 1e9;
    double bytes = (double)text_len * rounds;
    printf("%s: %.0f bytes, %lld rows, %.2f GB/s\n", name, bytes, (long long)rows, bytes / seconds / 1e9);
}
