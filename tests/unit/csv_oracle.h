// csv_oracle.h: CSV read one byte at a time by a state machine, to compare the scanner with. It
// shares no code with it, and is slow and short on purpose.
#ifndef SBC_TESTS_UNIT_CSV_ORACLE_H
#define SBC_TESTS_UNIT_CSV_ORACLE_H

#include "stdlib/csv/csv.h"
#include "tests/unit/utf8_oracle.h"

#include <string.h>

enum { ORACLE_FIELDS = 16 };

typedef struct OracleRow {
    int64_t begin, end, next;  // The row; behind its line end.
    int64_t field_ends[ORACLE_FIELDS];
    uint32_t fields;
    bool skipped;  // A comment or a blank line.
    bool closed;   // A line end stands at its end.
    int32_t fault;
} OracleRow;

static OracleRow oracle_row(const char *text, int64_t pos, int64_t end, uint32_t fields,
                            const SbCsvDialect *dialect) {
    enum { START, BARE, QUOTED, CLOSED, WRONG, COMMENT } state = START;
    OracleRow row = {.begin = pos, .end = end, .next = end};
    int64_t hash = dialect->comment.len;
    if (hash > 0 && end - pos >= hash &&
        memcmp(text + pos, dialect->comment.ptr, (size_t)hash) == 0)
        state = COMMENT;
    row.skipped = state == COMMENT;
    for (int64_t i = pos; i < end; i++) {
        char byte = text[i];
        bool quote = dialect->quote && byte == dialect->quote;
        if (state == QUOTED) {
            if (quote) state = CLOSED;
            continue;
        }
        if (state == CLOSED && quote) {
            state = QUOTED;
            continue;
        }
        if (byte == '\n') {
            row.closed = true;
            row.next = i + 1;
            row.end = i > pos && text[i - 1] == '\r' ? i - 1 : i;
            break;
        }
        bool line_end = byte == '\r' && i + 1 < end && text[i + 1] == '\n';
        if (state == WRONG || state == COMMENT || line_end) continue;
        if (byte == dialect->delimiter) {
            if (row.fields < ORACLE_FIELDS) row.field_ends[row.fields] = i;
            row.fields++;
            state = START;
        } else if (state == START) {
            state = quote ? QUOTED : BARE;
        } else if (state == CLOSED) {
            state = WRONG;
        }
    }
    if (row.fields < ORACLE_FIELDS) row.field_ends[row.fields] = row.end;
    row.fields++;
    if (row.end == pos && row.closed && !(dialect->blank_rows && fields == 1)) row.skipped = true;
    if (state == QUOTED) row.fault = SB_FAULT_OPEN_QUOTE;
    else if (state == WRONG) row.fault = SB_FAULT_BAD_QUOTE;
    else if (row.fields != fields) row.fault = SB_FAULT_FIELD_COUNT;
    else if (!oracle_utf8_valid(text + pos, row.end - pos)) row.fault = SB_FAULT_BAD_UTF8;
    return row;
}

static int64_t oracle_lines(const char *text, int64_t begin, int64_t end) {
    int64_t lines = 0;
    for (; begin < end; begin++) lines += text[begin] == '\n';
    return lines;
}

// Is `index` what one call from `pos` must give? It may stop early only when it is full.
static inline bool oracle_agrees(const SbIndex *index, const char *text, int64_t pos, int64_t end,
                                 uint32_t fields, const SbCsvDialect *dialect) {
    uint32_t rows = 0;
    int64_t at = pos;
    int32_t fault = SB_OK;
    while (at < end && rows < index->rows_max && (rows + 1) * fields <= index->ends_max && !fault) {
        OracleRow row = oracle_row(text, at, end, fields, dialect);
        at = row.next;
        if (row.skipped) continue;
        fault = row.fault;
        if (!fault) {
            if (rows >= index->rows || index->starts[rows] != row.begin) return false;
            for (uint32_t f = 0; f < fields; f++) {
                if (index->ends[rows * fields + f] != row.field_ends[f]) return false;
            }
            rows++;
            continue;
        }
        int64_t lines = oracle_lines(text, row.begin, row.next) + (text[row.next - 1] != '\n');
        if (index->fault_begin != row.begin || index->fault_end != row.end) return false;
        if (index->fault_lines != lines) return false;
    }
    return rows == index->rows && fault == index->fault && at == index->next &&
           index->lines == oracle_lines(text, pos, at);
}

static inline int64_t oracle_row_end(const char *text, int64_t pos, int64_t from, int64_t end,
                                     const SbCsvDialect *dialect) {
    while (pos < end) {
        OracleRow row = oracle_row(text, pos, end, 0, dialect);
        if (row.fault == SB_FAULT_OPEN_QUOTE && !row.skipped) return -1;
        if (!row.closed) return -1;
        pos = row.next;
        if (pos >= from) return pos;
    }
    return -1;
}

#endif
