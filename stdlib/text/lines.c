#include "stdlib/text/lines.h"

#include "stdlib/text/utf8.h"

#include <assert.h>
#include <immintrin.h>
#include <string.h>

enum { BLOCK = 64 };

typedef struct Scan {
    SbIndex    *index;
    const char *text;
    int64_t     end;
    int64_t     pos;         // The first line that is not taken starts here.
    uint32_t    rules;
} Scan;

static inline __m256i load(const char *ptr) {
    return _mm256_loadu_si256((const __m256i *)ptr);
}

static inline uint64_t bits(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

static bool is_blank(const char *ptr, const char *end) {
    while (ptr < end && (*ptr == ' ' || *ptr == '\t' || *ptr == '\r')) ptr++;
    return ptr == end;
}

// Takes the line [scan->pos, feed), whose LF, if any, stands at `feed`.
static inline void take(Scan *scan, int64_t feed) {
    SbIndex *index = scan->index;
    const char *text = scan->text;
    int64_t start = scan->pos;
    scan->pos = feed + (feed < scan->end);
    index->lines += feed < scan->end;
    if ((scan->rules & SB_LINES_SKIP_BLANK) && (uint8_t)text[start] <= ' ' &&
        is_blank(text + start, text + feed)) {
        return;
    }
    bool carriage = feed > start && feed < scan->end && text[feed - 1] == '\r';
    index->starts[index->rows] = (uint32_t)start;
    index->ends[index->rows++] = (uint32_t)(feed - carriage);
}

// Takes rows back from the first, at or after `first`, that is not UTF-8: it is the fault.
static void check_utf8(Scan *scan, uint32_t first, int64_t begin) {
    SbIndex *index = scan->index;
    const char *text = scan->text;
    if (scan->rules & SB_LINES_ANY_BYTES) return;
    if (sb_utf8_valid(text + begin, scan->pos - begin)) return;
    for (uint32_t row = first; row < index->rows; row++) {
        uint32_t start = index->starts[row], end = index->ends[row];
        if (sb_utf8_valid(text + start, end - start)) continue;
        int64_t old = scan->pos;
        const char *feed = memchr(text + end, '\n', (size_t)(old - end));
        scan->pos = feed ? feed + 1 - text : old;
        for (int64_t at = scan->pos; at < old; at++) index->lines -= text[at] == '\n';
        index->rows = row;
        index->fault = SB_FAULT_BAD_UTF8;
        index->fault_begin = start;
        index->fault_end = end;
        index->fault_lines = 1;
        return;
    }
}

// Takes the lines that end in full blocks, from scan->pos on.
static void take_blocks(Scan *scan, uint32_t rows_max) {
    SbIndex *index = scan->index;
    const __m256i newline = _mm256_set1_epi8('\n');
    __m256i high = _mm256_setzero_si256();
    uint32_t first = index->rows;
    int64_t begin = scan->pos;
    for (int64_t at = scan->pos; at + BLOCK <= scan->end; at += BLOCK) {
        __m256i a = load(scan->text + at), b = load(scan->text + at + 32);
        high = _mm256_or_si256(high, _mm256_or_si256(a, b));
        uint64_t feeds = bits(_mm256_cmpeq_epi8(a, newline), _mm256_cmpeq_epi8(b, newline));
        for (; feeds && index->rows < rows_max; feeds &= feeds - 1) {
            take(scan, at + (int64_t)_tzcnt_u64(feeds));
        }
        if (index->rows == rows_max) break;
        // Checked while it is in the first-level cache.
        if (index->rows - first < 64 && scan->pos - begin < 8192) continue;
        if (_mm256_movemask_epi8(high)) check_utf8(scan, first, begin);
        if (index->fault) return;
        high = at + BLOCK > scan->pos ? _mm256_or_si256(a, b) : _mm256_setzero_si256();
        if (scan->pos < at) high = _mm256_set1_epi8(-1);  // A long line: its check is still due.
        first = index->rows;
        begin = scan->pos;
    }
    if (_mm256_movemask_epi8(high)) check_utf8(scan, first, begin);
}

void sb_lines_index(SbIndex *index, const char *text, int64_t pos, int64_t end, uint32_t rules) {
    assert(end <= UINT32_MAX);
    const uint32_t rows_max = index->rows_max < index->ends_max ? index->rows_max : index->ends_max;
    Scan scan = {index, text, end, pos, rules};
    sb_index_next(index);
    take_blocks(&scan, rows_max);
    while (!index->fault && index->rows < rows_max && scan.pos < end) {
        const char *feed = memchr(text + scan.pos, '\n', (size_t)(end - scan.pos));
        uint32_t first = index->rows;
        int64_t begin = scan.pos;
        take(&scan, feed ? feed - text : end);
        check_utf8(&scan, first, begin);
    }
    index->next = scan.pos;
}

int64_t sb_lines_count(const char *text, int64_t len) {
    enum { STRIDE = 32, ROUND = 255 * STRIDE };  // A byte of the sums holds 255.
    const __m256i newline = _mm256_set1_epi8('\n'), zero = _mm256_setzero_si256();
    int64_t count = 0, at = 0;
    while (at + STRIDE <= len) {
        int64_t stop = len - at < ROUND ? at + (len - at) / STRIDE * STRIDE : at + ROUND;
        __m256i sums = zero;
        for (; at < stop; at += STRIDE)
            sums = _mm256_sub_epi8(sums, _mm256_cmpeq_epi8(load(text + at), newline));
        __m256i words = _mm256_sad_epu8(sums, zero);
        count += _mm256_extract_epi64(words, 0) + _mm256_extract_epi64(words, 1) +
                 _mm256_extract_epi64(words, 2) + _mm256_extract_epi64(words, 3);
    }
    for (; at < len; at++) count += text[at] == '\n';
    return count;
}

int64_t sb_lines_end(const char *text, int64_t pos, int64_t from, int64_t end) {
    int64_t at = from - 1 > pos ? from - 1 : pos;
    if (at >= end) return -1;
    const char *feed = memchr(text + at, '\n', (size_t)(end - at));
    return feed ? feed + 1 - text : -1;
}
