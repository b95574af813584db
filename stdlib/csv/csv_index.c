// The fast CSV scanner: 64 bytes at a time into the ends of fields, checked row by row afterwards.
//
// A region starts at a row start and goes through batches of blocks. Each batch appends the
// positions of its delimiters and line ends to index->ends as if every row were good. Then accept()
// proves the rows: every field_count-th separator must be a line end and no other may be.
// Without quotes that is all there is. With quotes, a prefix xor over the quote bits says which
// bytes are inside. It is trusted only while every quote opens at a field start, closes before a
// separator, or is doubled. What cannot be proved is left to sb_csv_row, one row at a
// time, so that the rules stand in one place.
#include "stdlib/csv/csv.h"
#include "stdlib/csv/csv_quotes.h"
#include "stdlib/text.h"

#include <assert.h>

enum { BLOCK = SB_CSV_BLOCK, BATCH_MIN = 2, BATCH_MAX = 64, QUOTED_CALM = 4 };

typedef struct Scan {
    SbCsvText in;
    SbIndex  *index;
    int64_t   pos;      // The first row that is not accepted starts here.
    int64_t   newlines; // Separators that were line ends, since the region's start.
    uint32_t  count;    // Ends written, those of rows that are not accepted included.
    int       comment;  // First byte of a comment, or -1.
    bool      high;     // Bytes beyond ASCII since `pos`.
    bool      inner;    // Line ends inside quotes since `pos`.
    bool      quoted;   // The next region expects quotes.
} Scan;

// What a batch without quotes showed.
typedef struct Plain {
    uint32_t count;     // Ends written in all.
    int64_t  newlines;
    bool     high, quotes;
} Plain;

static inline int64_t sum_bytes(__m256i bytes) {
    __m256i sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return _mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1);
}

// The batch of `blocks` blocks at `at`, should it hold no quote.
static Plain plain_batch(const Scan *scan, int64_t at, int64_t blocks) {
    const SbCsvDialect *dialect = scan->in.dialect;
    const __m256i newline = _mm256_set1_epi8('\n');
    const __m256i delimiter = _mm256_set1_epi8(dialect->delimiter);
    // Without a quote character, LF stands in and what is found is not looked at.
    const __m256i quote = _mm256_set1_epi8(dialect->quote ? dialect->quote : '\n');
    __m256i newlines = _mm256_setzero_si256(), quotes = newlines, high = newlines;
    const char *text = scan->in.text;
    uint32_t *const ends = scan->index->ends, *out = ends + scan->count;
    const __m256i half = _mm256_set1_epi32(BLOCK / 2), whole = _mm256_set1_epi32(BLOCK);
    __m256i base = _mm256_set1_epi32((int)at);
    for (int64_t stop = at + blocks * BLOCK; at < stop; at += BLOCK) {
        __m256i a = sb_csv_load(text + at), b = sb_csv_load(text + at + 32);
        __m256i a_newline = _mm256_cmpeq_epi8(a, newline);
        __m256i b_newline = _mm256_cmpeq_epi8(b, newline);
        newlines = _mm256_sub_epi8(_mm256_sub_epi8(newlines, a_newline), b_newline);
        quotes = _mm256_or_si256(quotes, _mm256_cmpeq_epi8(a, quote));
        quotes = _mm256_or_si256(quotes, _mm256_cmpeq_epi8(b, quote));
        high = _mm256_or_si256(high, _mm256_or_si256(a, b));
        __m256i a_end = _mm256_or_si256(a_newline, _mm256_cmpeq_epi8(a, delimiter));
        __m256i b_end = _mm256_or_si256(b_newline, _mm256_cmpeq_epi8(b, delimiter));
        out = sb_put_places(out, (uint32_t)_mm256_movemask_epi8(a_end), base);
        out = sb_put_places(out, (uint32_t)_mm256_movemask_epi8(b_end),
                            _mm256_add_epi32(base, half));
        base = _mm256_add_epi32(base, whole);
    }
    return (Plain){
        .count = (uint32_t)(out - ends),
        .newlines = sum_bytes(newlines),
        .high = _mm256_movemask_epi8(high) != 0,
        .quotes = dialect->quote && !_mm256_testz_si256(quotes, quotes),
    };
}

// What a batch with quotes showed, up to the first block whose quotes prove nothing.
typedef struct Quoted {
    uint32_t count;     // Ends written in all.
    int64_t  newlines;  // Outside quotes.
    int64_t  at;        // After the last block.
    bool     high, quotes, inner;
} Quoted;

// Appends the places of the bits of each mask, of the blocks from `at` on.
[[gnu::noinline]]
static uint32_t *put_masks(uint32_t *out, const uint64_t *masks, int64_t count, int64_t at) {
    const __m256i half = _mm256_set1_epi32(BLOCK / 2);
    __m256i base = _mm256_set1_epi32((int)at);
    for (int64_t i = 0; i < count; i++) {
        out = sb_put_places(out, (uint32_t)masks[i], base);
        base = _mm256_add_epi32(base, half);
        out = sb_put_places(out, (uint32_t)(masks[i] >> 32), base);
        base = _mm256_add_epi32(base, half);
    }
    return out;
}

// Masks first and places next: both together need more registers than there are.
[[gnu::noinline]]
static Quoted quoted_batch(const Scan *scan, SbCsvQuotes *state, int64_t at, int64_t blocks) {
    uint32_t *const ends = scan->index->ends;
    uint64_t separators[BATCH_MAX], quotes = 0, inner = 0;
    __m256i high = _mm256_setzero_si256();
    int64_t newlines = 0, count = 0;
    SbCsvQuotes now = *state;
    for (SbCsvBlock block; count < blocks; count++) {
        if (!sb_csv_block(&scan->in, &now, at + count * BLOCK, &block)) break;
        separators[count] = block.separators;
        newlines += __builtin_popcountll(block.newlines);
        high = _mm256_or_si256(high, block.bytes);
        quotes |= block.quotes;
        inner |= block.inner;
    }
    *state = now;
    uint32_t *out = put_masks(ends + scan->count, separators, count, at);
    return (Quoted){(uint32_t)(out - ends), newlines, at + count * BLOCK,
                    _mm256_movemask_epi8(high) != 0, quotes != 0, inner != 0};
}

// Accepts rows until `rows` are complete, while a line end stands where each should end. With
// `edges` it stops at what may be a comment or a blank line too.
static void accept_each(Scan *scan, uint32_t rows, bool edges) {
    const char *text = scan->in.text;
    const uint32_t fields = scan->in.field_count;
    SbIndex *index = scan->index;
    const bool blank = fields == 1 && !scan->in.dialect->blank_rows;
    uint32_t *last = index->ends + (uint64_t)index->rows * fields + fields - 1;
    uint32_t row = index->rows, start = (uint32_t)scan->pos;
    for (; row < rows; row++, last += fields) {
        uint32_t feed = *last;
        if (text[feed] != '\n') break;
        if (edges) {
            if ((unsigned char)text[start] == scan->comment) break;
            if (blank && (feed == start || (feed == start + 1 && text[start] == '\r'))) break;
        }
        index->starts[row] = start;
        if (text[(int64_t)feed - 1] == '\r') *last = feed - 1;
        start = feed + 1;
    }
    index->rows = row;
    scan->pos = start;
}

// As accept_each without edges, eight rows at a time while they end in LF alone.
static void accept_eights(Scan *scan, uint32_t rows) {
    const uint32_t fields = scan->in.field_count;
    SbIndex *index = scan->index;
    const int *last = (const int *)index->ends + (uint64_t)index->rows * fields + fields - 1;
    // At an offset: the byte before it in bits 0 to 7, the byte itself in bits 8 to 15.
    const int *before = (const int *)(const void *)(scan->in.text - 1);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i steps = _mm256_mullo_epi32(lanes, _mm256_set1_epi32((int)fields));
    const __m256i rotate = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    __m256i start = _mm256_set1_epi32((int)scan->pos);
    uint32_t row = index->rows;
    for (; row + 8 <= rows; row += 8, last += 8 * (uint64_t)fields) {
        __m256i feeds = _mm256_i32gather_epi32(last, steps, 4);
        __m256i around = _mm256_i32gather_epi32(before, feeds, 1);
        __m256i low = _mm256_and_si256(around, _mm256_set1_epi32(0xff));
        __m256i is_feed = _mm256_cmpeq_epi32(_mm256_and_si256(around, _mm256_set1_epi32(0xff00)),
                                             _mm256_set1_epi32('\n' << 8));
        __m256i is_return = _mm256_cmpeq_epi32(low, _mm256_set1_epi32('\r'));
        if (_mm256_movemask_epi8(_mm256_andnot_si256(is_return, is_feed)) != -1) break;
        __m256i next = _mm256_add_epi32(feeds, _mm256_set1_epi32(1));
        next = _mm256_permutevar8x32_epi32(next, rotate);
        __m256i starts = _mm256_blend_epi32(next, start, 1);
        _mm256_storeu_si256((__m256i *)(index->starts + row), starts);
        start = next;
    }
    index->rows = row;
    scan->pos = (uint32_t)_mm256_cvtsi256_si32(start);
}

// Takes accepted rows back from the first, at or after `first`, that holds a line end too early.
static void check_early(Scan *scan, uint32_t first) {
    SbIndex *index = scan->index;
    const uint32_t fields = scan->in.field_count;
    const uint32_t *end = index->ends + (uint64_t)first * fields;
    for (uint32_t row = first; row < index->rows; row++, end++) {
        for (uint32_t f = 0; f + 1 < fields; f++) {
            if (scan->in.text[*end++] != '\n') continue;
            index->rows = row;
            scan->pos = index->starts[row];
            return;
        }
    }
}

// Takes accepted rows back from the first with bad UTF-8 on. `first` is the first to look at, at
// `begin`. True when all are good.
static bool check_utf8(Scan *scan, uint32_t first, int64_t begin) {
    SbIndex *index = scan->index;
    const char *text = scan->in.text;
    if (sb_utf8_valid(text + begin, scan->pos - begin)) return true;
    for (uint32_t row = first; row < index->rows; row++) {
        uint32_t start = index->starts[row];
        int64_t next = row + 1 < index->rows ? index->starts[row + 1] : scan->pos;
        if (sb_utf8_valid(text + start, next - start)) continue;
        index->rows = row;
        scan->pos = start;
        return false;
    }
    return true;
}

// Proves what a batch appended, which had bytes beyond ASCII or not. True when every complete row
// is good. Each row counts as one line.
static bool accept(Scan *scan, bool high) {
    SbIndex *index = scan->index;
    const uint32_t fields = scan->in.field_count, first = index->rows;
    const int64_t begin = scan->pos;
    uint32_t complete = scan->count / fields;
    // Rows that are not looked at prove nothing.
    const bool balanced = scan->newlines == complete && complete <= index->rows_max;
    if (complete > index->rows_max) complete = index->rows_max;
    if (scan->comment >= 0 || (fields == 1 && !scan->in.dialect->blank_rows)) {
        accept_each(scan, complete, true);
    } else {
        // Offsets are signed in a gather.
        if (scan->in.end <= INT32_MAX) accept_eights(scan, complete);
        accept_each(scan, complete, false);
    }
    // All rows end in line ends and there are no more of those: none stands inside a row.
    bool good = balanced && index->rows == complete;
    if (!good) check_early(scan, first);
    if (scan->high | high) good &= check_utf8(scan, first, begin);
    scan->high = high | (scan->high & (index->rows == first));
    index->lines += index->rows - first;
    return good;
}

// As accept, of a batch that had line ends inside quotes or not.
static bool accept_quoted(Scan *scan, bool high, bool inner) {
    SbIndex *index = scan->index;
    const uint32_t first = index->rows;
    const int64_t begin = scan->pos;
    const bool good = accept(scan, high);
    const int64_t rows = index->rows - first;
    if (scan->inner || inner)
        index->lines += sb_lines_count(scan->in.text + begin, scan->pos - begin) - rows;
    scan->inner = inner || (scan->inner && rows == 0);
    return good;
}

// Blocks of the next batch at `at`: not beyond the text, the room for ends, or the rows wanted.
static int64_t batch_blocks(const Scan *scan, int64_t at, int64_t batch) {
    const SbIndex *index = scan->index;
    int64_t blocks = (scan->in.end - at) / BLOCK;
    if (blocks > batch) blocks = batch;
    int64_t room = ((int64_t)index->ends_max - scan->count - 8) / BLOCK;
    if (blocks > room) blocks = room;
    int64_t wanted = (int64_t)index->rows_max * scan->in.field_count - scan->count;
    if (blocks > wanted / 8 + 1) blocks = wanted / 8 + 1;
    return blocks > 0 ? blocks : 0;
}

static bool full(const Scan *scan) {
    const SbIndex *index = scan->index;
    return index->rows == index->rows_max ||
           (uint64_t)(index->rows + 1) * scan->in.field_count > index->ends_max;
}

static void start_region(Scan *scan) {
    scan->count = scan->index->rows * scan->in.field_count;
    scan->newlines = scan->index->rows;
    scan->high = scan->inner = false;
}

// Both regions accept rows from scan->pos on, up to the first row that needs another look.
static void plain_region(Scan *scan) {
    start_region(scan);
    int64_t at = scan->pos;
    for (int64_t batch = BATCH_MIN; !full(scan); batch = batch < BATCH_MAX ? batch * 2 : batch) {
        int64_t blocks = batch_blocks(scan, at, batch);
        if (blocks == 0) return;
        Plain plain = plain_batch(scan, at, blocks);
        scan->quoted = plain.quotes;
        if (plain.quotes) return;
        scan->count = plain.count;
        scan->newlines += plain.newlines;
        if (!accept(scan, plain.high)) return;
        at += blocks * BLOCK;
    }
}

static void quoted_region(Scan *scan) {
    start_region(scan);
    SbCsvQuotes state = {.start = 1};
    int64_t at = scan->pos;
    int calm = 0;  // Batches without quotes, in a row.
    for (int64_t batch = BATCH_MIN; !full(scan); batch = batch < BATCH_MAX ? batch * 2 : batch) {
        int64_t blocks = batch_blocks(scan, at, batch);
        const Quoted quoted = quoted_batch(scan, &state, at, blocks);
        const bool proved = blocks > 0 && quoted.at == at + blocks * BLOCK;
        at = quoted.at;
        scan->count = quoted.count;
        scan->newlines += quoted.newlines;
        if (!accept_quoted(scan, quoted.high, quoted.inner) || !proved) return;
        calm = quoted.quotes || state.inside ? 0 : calm + 1;
        scan->quoted = calm < QUOTED_CALM;
        if (!scan->quoted) return;
    }
}

// Reads one row, whatever it holds. False: it is bad.
static bool slow_row(Scan *scan) {
    SbIndex *index = scan->index;
    const char *text = scan->in.text;
    int64_t start = sb_csv_skip(&scan->in, scan->pos);
    index->lines += sb_lines_count(text + scan->pos, start - scan->pos);
    scan->pos = start;
    if (start >= scan->in.end) return true;
    SbCsvRow row;
    uint32_t *ends = index->ends + (uint64_t)index->rows * scan->in.field_count;
    int32_t fault = sb_csv_row(&scan->in, start, ends, &row);
    if (fault == SB_OK && !sb_utf8_valid(text + start, row.end - start)) fault = SB_FAULT_BAD_UTF8;
    scan->pos = row.next;
    int64_t lines = sb_lines_count(text + start, row.next - start);
    index->lines += lines;
    if (fault == SB_OK) {
        index->starts[index->rows++] = (uint32_t)start;
        return true;
    }
    index->fault = fault;
    index->fault_begin = start;
    index->fault_end = row.end;
    index->fault_lines = lines + (text[row.next - 1] != '\n');
    return false;
}

void sb_csv_index(SbIndex *index, const char *text, int64_t pos, int64_t end, uint32_t field_count,
                  const SbCsvDialect *dialect) {
    assert(field_count > 0 && field_count <= index->ends_max && end <= UINT32_MAX);
    Scan scan = {
        .in = {text, end, field_count, dialect},
        .index = index,
        .pos = pos,
        .comment = dialect->comment.len ? (unsigned char)dialect->comment.ptr[0] : -1,
    };
    sb_index_next(index);
    // accept_each looks at the byte before a row: the first row of a text is read slowly.
    bool good = pos > 0 || slow_row(&scan);
    while (good && !full(&scan) && scan.pos < end) {
        if (!scan.quoted) plain_region(&scan);
        if (scan.quoted) quoted_region(&scan);
        if (!full(&scan) && scan.pos < end) good = slow_row(&scan);
    }
    index->next = scan.pos;
}
