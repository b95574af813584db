// libFuzzer target: the CSV and UTF-8 scanners against the automata of the unit tests.
//   ONLY=csv tests/fuzz/run.sh 60
#include "stdlib/csv/csv.h"
#include "stdlib/text/utf8.h"
#include "tests/unit/csv_oracle.h"

#include <stdlib.h>

enum { ROWS_MAX = 300, HEADER = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool so) {
    if (!so) abort();
}

// The whole text, by as many calls as it takes.
static void check_csv(const char *text, int64_t len, uint32_t fields, const SbCsvDialect *dialect,
                      uint32_t rows_max) {
    static uint32_t ends[ROWS_MAX * ORACLE_FIELDS + SB_CSV_SPARE], starts[ROWS_MAX];
    for (int64_t pos = 0; pos < len;) {
        SbIndex index = {.ends = ends, .starts = starts, .rows_max = rows_max,
                         .ends_max = ROWS_MAX * ORACLE_FIELDS + SB_CSV_SPARE};
        sb_csv_index(&index, text, pos, len, fields, dialect);
        require(oracle_agrees(&index, text, pos, len, fields, dialect));
        require(index.next > pos);
        pos = index.next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < HEADER) return 0;
    const SbCsvDialect dialects[] = {
        {',', '"', false, {nullptr, 0}},
        {',', '"', true, {nullptr, 0}},
        {';', '\'', false, {"#", 1}},
        {'\t', 0, false, {nullptr, 0}},
    };
    const SbCsvDialect *dialect = &dialects[data[0] % 4];
    const uint32_t fields = 1 + data[0] / 4 % ORACLE_FIELDS;
    const uint32_t rows_max = 1 + data[1] * ROWS_MAX / 256;
    const int64_t len = (int64_t)(size - HEADER);
    // Exactly the room that is promised, so that a read outside of it is seen.
    char *text = malloc((size_t)len + SB_SLACK);
    memcpy(text, data + HEADER, (size_t)len);
    memset(text + len, data[2], SB_SLACK);
    check_csv(text, len, fields, dialect, rows_max);
    int64_t from = len * data[2] / 255;
    require(sb_csv_row_end(text, 0, from, len, dialect) ==
            oracle_row_end(text, 0, from, len, dialect));
    require(sb_utf8_valid(text, len) == oracle_utf8_valid(text, len));
    free(text);
    return 0;
}
