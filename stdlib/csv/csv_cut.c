// Finds row ends in CSV without indexing it: where text is cut into units.
#define _GNU_SOURCE  // memrchr
#include "stdlib/csv/csv.h"
#include "stdlib/csv/csv_quotes.h"

#include <string.h>

// Position of `byte` in text[pos, end), or -1.
static int64_t find(const char *text, int64_t pos, int64_t end, char byte) {
    const char *found = pos < end ? memchr(text + pos, byte, (size_t)(end - pos)) : nullptr;
    return found ? found - text : -1;
}

bool sb_csv_has_quote(const char *text, int64_t begin, int64_t end, const SbCsvDialect *dialect) {
    return dialect->quote && find(text, begin, end, dialect->quote) >= 0;
}

// As sb_csv_row_end, through blocks that prove their quotes. -1: go on at the row start *pos.
static int64_t end_in_blocks(const SbCsvText *in, int64_t *pos, int64_t from) {
    SbCsvQuotes state = {.start = 1};
    SbCsvBlock block;
    int64_t at = *pos, last = at - SB_CSV_BLOCK;  // The last block with a row end,
    uint64_t last_feeds = 0;                      // and where they are.
    for (; at + SB_CSV_BLOCK <= in->end; at += SB_CSV_BLOCK) {
        if (!sb_csv_block(in, &state, at, &block)) break;
        const uint64_t feeds = block.newlines;
        const int64_t before = from - 1 - at;  // Bytes of the block where a row may not end yet.
        if (before < SB_CSV_BLOCK) {
            uint64_t late = before > 0 ? feeds >> before << before : feeds;
            if (late) return at + (int64_t)_tzcnt_u64(late) + 1;
        }
        last = feeds ? at : last;
        last_feeds = feeds ? feeds : last_feeds;
    }
    if (last >= *pos) *pos = last + SB_CSV_BLOCK - (int64_t)_lzcnt_u64(last_feeds);
    return -1;
}

// After the row or skipped line at `pos`; -1 when the text ends first.
static int64_t end_of_one(const SbCsvText *in, int64_t pos) {
    const SbStr comment = in->dialect->comment;
    if (comment.len > 0 && comment.len <= in->end - pos &&
        memcmp(in->text + pos, comment.ptr, (size_t)comment.len) == 0) {
        int64_t feed = find(in->text, pos, in->end, '\n');
        return feed < 0 ? -1 : feed + 1;
    }
    SbCsvRow row;
    if (sb_csv_row(in, pos, nullptr, &row) == SB_FAULT_OPEN_QUOTE) return -1;
    return in->text[row.next - 1] == '\n' ? row.next : -1;
}

int64_t sb_csv_row_end(const char *text, int64_t pos, int64_t from, int64_t end,
                       const SbCsvDialect *dialect) {
    const SbCsvText in = {text, end, 0, dialect};
    int64_t quote = -1;  // The first at or after pos, once known.
    while (pos < end) {
        int64_t feed = find(text, from - 1 > pos ? from - 1 : pos, end, '\n');
        if (quote < pos) {
            quote = dialect->quote ? find(text, pos, feed < 0 ? end : feed, dialect->quote) : -1;
            if (quote < 0) return feed < 0 ? -1 : feed + 1;
        }
        // Rows before the one that holds the quote end at their line ends.
        const char *start = memrchr(text + pos, '\n', (size_t)(quote - pos));
        if (start) pos = start + 1 - text;
        // A quote in a comment proves nothing.
        int64_t found = dialect->comment.len ? -1 : end_in_blocks(&in, &pos, from);
        if (found >= 0) return found;
        pos = pos < end ? end_of_one(&in, pos) : -1;
        if (pos < 0 || pos >= from) return pos;
    }
    return -1;
}
