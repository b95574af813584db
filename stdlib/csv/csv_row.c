// The exact, byte-by-byte reader of CSV rows, and of quoted fields.
#include "stdlib/csv/csv.h"
#include "stdlib/csv/csv_quotes.h"
#include "stdlib/text.h"

#include <string.h>

// Position of `byte` in text[pos, end), or -1.
static int64_t find(const char *text, int64_t pos, int64_t end, char byte) {
    const char *found = pos < end ? memchr(text + pos, byte, (size_t)(end - pos)) : nullptr;
    return found ? found - text : -1;
}

// The LF at or after `pos` ends the row.
static void end_at_line(const SbCsvText *in, int64_t pos, SbCsvRow *row) {
    int64_t feed = find(in->text, pos, in->end, '\n');
    if (feed < 0) {
        row->end = row->next = in->end;
        return;
    }
    row->next = feed + 1;
    row->end = feed > pos && in->text[feed - 1] == '\r' ? feed - 1 : feed;
}

// After the closing quote of the field whose opening quote is at `pos`, or -1.
static int64_t skip_quoted(const SbCsvText *in, int64_t pos, char quote) {
    for (pos++;; pos++) {
        pos = find(in->text, pos, in->end, quote);
        if (pos < 0) return -1;
        pos++;
        if (pos == in->end || in->text[pos] != quote) return pos;
    }
}

static bool line_end_at(const SbCsvText *in, int64_t pos) {
    const char *at = in->text + pos;
    return pos == in->end || *at == '\n' ||
           (*at == '\r' && pos + 1 < in->end && at[1] == '\n');
}

int32_t sb_csv_row(const SbCsvText *in, int64_t pos, uint32_t *ends, SbCsvRow *row) {
    const char *text = in->text;
    const char delimiter = in->dialect->delimiter, quote = in->dialect->quote;
    row->fields = 0;
    for (uint32_t field = 0;; field++, pos++) {
        if (quote && pos < in->end && text[pos] == quote) {
            int64_t close = skip_quoted(in, pos, quote);
            if (close < 0) {
                row->end = row->next = in->end;
                return SB_FAULT_OPEN_QUOTE;
            }
            pos = close;
            if (!line_end_at(in, pos) && text[pos] != delimiter) {
                end_at_line(in, pos, row);
                return SB_FAULT_BAD_QUOTE;
            }
        } else {
            while (pos < in->end && text[pos] != delimiter && !line_end_at(in, pos)) pos++;
        }
        if (field < in->field_count) ends[field] = (uint32_t)pos;
        if (!line_end_at(in, pos)) continue;
        end_at_line(in, pos, row);
        row->end = pos;
        row->fields = field + 1;
        return field + 1 == in->field_count || in->field_count == 0 ? SB_OK : SB_FAULT_FIELD_COUNT;
    }
}

int64_t sb_csv_skip(const SbCsvText *in, int64_t pos) {
    const SbStr comment = in->dialect->comment;
    while (pos < in->end) {
        bool blank_rows = in->dialect->blank_rows && in->field_count == 1;
        bool skipped = !blank_rows && line_end_at(in, pos);
        skipped |= comment.len > 0 && comment.len <= in->end - pos &&
                   memcmp(in->text + pos, comment.ptr, (size_t)comment.len) == 0;
        if (!skipped) break;
        SbCsvRow line;
        end_at_line(in, pos, &line);
        pos = line.next;
    }
    return pos;
}

// The text [at, end), in which quotes are doubled. Writes whole vectors: what is written after the
// end is written again, or lies in the slack.
static SbStr halve_quotes(SbCall *call, const char *at, const char *end, char quote) {
    enum { STEP = 32 };
    char *out = sb_alloc(call, end - at);
    SbStr text = {out, 0};
    while (out && at < end) {
        const __m256i bytes = sb_csv_load(at);
        const __m256i quotes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(quote));
        const uint32_t found = (uint32_t)_mm256_movemask_epi8(quotes);
        // Up to and with the first of the two, and on after the second.
        const int64_t left = end - at, part = found ? (int64_t)_tzcnt_u32(found) + 1 : STEP;
        _mm256_storeu_si256((__m256i *)out, bytes);
        out += part < left ? part : left;
        at += part + (found != 0);
    }
    text.len = out - text.ptr;
    return text;
}

SbStr sb_csv_unquote(SbCall *call, const char *ptr, int64_t len, char quote) {
    const char *begin = ptr + 1, *end = ptr + len - 1;
    for (const char *at = begin; at < end; at += 64)
        if (bytes64_until(bytes64_hits(at, quote), end - at))
            return halve_quotes(call, begin, end, quote);
    return (SbStr){begin, end - begin};
}

static SbStr field_of(const SbCsvFields *row, uint32_t field) {
    int64_t begin = field ? (int64_t)row->ends[field - 1] + 1 : row->begin;
    return (SbStr){row->text + begin, (int64_t)row->ends[field] - begin};
}

bool sb_csv_straight(const uint32_t *fields, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (fields[i] != fields[i - 1] + 1) return false;
    return true;
}

static bool is_space(char c) { return c == ' ' || c == '\t'; }

// The null word where the field is that and spaces.
static SbStr without_padding(SbStr field, SbStr null_word) {
    SbStr word = field;
    while (word.len && is_space(word.ptr[0])) word.ptr++, word.len--;
    while (word.len && is_space(word.ptr[word.len - 1])) word.len--;
    bool same = word.len == null_word.len &&
                memcmp(word.ptr, null_word.ptr, (size_t)word.len) == 0;
    return same ? null_word : field;
}

SbStr sb_csv_join(SbCall *call, const SbCsvFields *row, const uint32_t *fields,
                  const SbCsvSpan *span) {
    int64_t len = span->count;
    for (uint32_t i = 0; i < span->count; i++) len += field_of(row, fields[i]).len;
    char *out = sb_alloc(call, len);
    if (!out) return (SbStr){nullptr, 0};
    char *at = out;
    for (uint32_t i = 0; i < span->count; i++) {
        SbStr field = field_of(row, fields[i]);
        if (span->pads[i]) field = without_padding(field, span->null_word);
        if (i) *at++ = span->delimiter;
        memcpy(at, field.ptr, (size_t)field.len);
        at += field.len;
    }
    return (SbStr){out, at - out};
}
