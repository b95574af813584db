// Lines and UTF-8: the fast scanners against plain loops.
#include "stdlib/text/lines.h"
#include "stdlib/text/utf8.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"
#include "tests/unit/utf8_oracle.h"

static bool blank(const char *text, int64_t begin, int64_t end) {
    for (; begin < end; begin++) {
        if (text[begin] != ' ' && text[begin] != '\t' && text[begin] != '\r') return false;
    }
    return true;
}

// Is `index` what a call from `pos` must give?
static bool agrees(const SbIndex *index, const char *text, int64_t pos, int64_t end,
                   uint32_t rules) {
    uint32_t rows = 0;
    int64_t lines = 0;
    int32_t fault = SB_OK;
    while (pos < end && rows < index->rows_max && !fault) {
        int64_t feed = pos;
        while (feed < end && text[feed] != '\n') feed++;
        int64_t stop = feed > pos && feed < end && text[feed - 1] == '\r' ? feed - 1 : feed;
        int64_t start = pos;
        pos = feed + (feed < end);
        lines += feed < end;
        if ((rules & SB_LINES_SKIP_BLANK) && blank(text, start, feed)) continue;
        if ((rules & SB_LINES_ANY_BYTES) || oracle_utf8_valid(text + start, stop - start)) {
            if (rows >= index->rows) return false;
            if (index->starts[rows] != start || index->ends[rows] != stop) return false;
            rows++;
            continue;
        }
        fault = SB_FAULT_BAD_UTF8;
        if (index->fault_begin != start || index->fault_end != stop) return false;
        if (index->fault_lines != 1) return false;
    }
    return rows == index->rows && fault == index->fault && pos == index->next &&
           lines == index->lines;
}

static void random_lines_agree(void) {
    static char text[20000 + SB_SLACK];
    static uint32_t starts[600], ends[600];
    static const char *parts[] = {"\n",  "\r\n",     " ",    "\t",   "\r",
                                  "abc", "\xc3\xa9", "\xff", "\n\n", "{}"};
    for (int round = 0; round < 20000 && !unit_failures; round++) {
        uint64_t seed = random_state;
        int64_t room = 1 + random_below(round % 50 ? 400 : 19000), len = 0;
        uint32_t filler = random_below(200), bad = random_below(3);
        while (len < room) {
            const char *part = random_below(1 + filler) ? "x" : parts[random_below(10)];
            if (*part == '\xff' && bad == 0) part = "y";
            for (; *part; part++) text[len++] = *part;
        }
        uint32_t rows_max = 1 + random_below(500);
        for (uint32_t rules = 0; rules < 4; rules++) {
            for (int64_t pos = 0; pos < len;) {
                SbIndex index = {
                    .starts = starts, .ends = ends, .ends_max = 600, .rows_max = rows_max};
                sb_lines_index(&index, text, pos, len, rules);
                CHECK_SAYS(agrees(&index, text, pos, len, rules), "round %d, state %llx", round,
                           (unsigned long long)seed);
                if (unit_failures || index.next <= pos) break;
                pos = index.next;
            }
        }
    }
}

static void line_ends_are_found(void) {
    const char *text = "ab\ncd\n\nef";
    CHECK(sb_lines_end(text, 0, 0, 9) == 3 && sb_lines_end(text, 0, 3, 9) == 3);
    CHECK(sb_lines_end(text, 0, 4, 9) == 6 && sb_lines_end(text, 6, 0, 9) == 7);
    CHECK(sb_lines_end(text, 0, 8, 9) == -1 && sb_lines_end(text, 9, 0, 9) == -1);
}

// Every sequence of up to four bytes of interest, at several places around a vector border.
static void utf8_agrees_at_borders(void) {
    static const unsigned char bytes[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
                                          0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed,
                                          0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
    enum { N = sizeof bytes };
    char text[160];
    for (uint32_t code = 0; code < N * N * N * N; code++) {
        memset(text, 'a', sizeof text);
        int64_t at = 27 + code % 9;
        text[at] = (char)bytes[code % N];
        text[at + 1] = (char)bytes[code / N % N];
        text[at + 2] = (char)bytes[code / N / N % N];
        text[at + 3] = (char)bytes[code / N / N / N];
        int64_t len = code % 7 == 0 ? at + 4 : 70;
        CHECK_SAYS(sb_utf8_valid(text, len) == oracle_utf8_valid(text, len), "code %u", code);
        if (unit_failures) return;
    }
}

static void utf8_agrees_on_random_texts(void) {
    static const char *parts[] = {"a",        "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                  "abcdefgh", "\x80",     "\xed\xa0\x80"};
    char text[400];
    for (int round = 0; round < 200000 && !unit_failures; round++) {
        int64_t len = 0, room = random_below(300), chars = 0;
        bool bad = random_below(4) == 0;
        while (len < room) {
            const char *part = parts[random_below(bad && random_below(20) == 0 ? 7 : 5)];
            for (; *part; part++) text[len++] = *part;
        }
        if (random_below(4) == 0 && len) len -= random_below(2);
        memset(text + len, 0xc3, SB_SLACK);
        bool valid = oracle_utf8_valid(text, len);
        CHECK(sb_utf8_valid(text, len) == valid);
        for (int64_t i = 0; i < len; i++) chars += (text[i] & 0xc0) != 0x80;
        if (valid) CHECK(sb_utf8_count(text, len) == chars);
    }
}

static void points_are_written(void) {
    for (uint32_t point = 0; point < 0x110000; point++) {
        if (point >= 0xd800 && point < 0xe000) continue;
        char text[4 + SB_SLACK] = {0};
        int len = sb_utf8_put(text, point);
        CHECK(oracle_utf8_valid(text, len) && sb_utf8_count(text, len) == 1);
        if (unit_failures) return;
    }
}

static void line_ends_are_counted(void) {
    enum { MAX = 20000 };  // More than one round of byte sums.
    static char text[MAX];
    int64_t seen = 0;
    memset(text, '\n', MAX);
    CHECK(sb_lines_count(text, MAX) == MAX);
    for (int64_t len = 0; len < MAX; len++) {
        if (len % 100 < 40) CHECK(sb_lines_count(text, len) == seen);
        text[len] = random_below(3) ? 'x' : '\n';
        seen += text[len] == '\n';
    }
    CHECK(sb_lines_count(text, MAX) == seen && seen > 0);
}

static const UnitTest tests[] = {
    {"line_ends_are_counted", line_ends_are_counted},
    {"random_lines_agree", random_lines_agree},
    {"line_ends_are_found", line_ends_are_found},
    {"utf8_agrees_at_borders", utf8_agrees_at_borders},
    {"utf8_agrees_on_random_texts", utf8_agrees_on_random_texts},
    {"points_are_written", points_are_written},
};

UNIT_MAIN("lines_test", tests)
