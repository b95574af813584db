// CSV: examples of every rule, and the fast scanner against a plain automaton on millions of small
// hostile texts.
#include "stdlib/csv/csv.h"
#include "stdlib/text/utf8.h"
#include "runtime/memory/scratch.h"
#include "tests/unit/csv_oracle.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static const SbCsvDialect plain = {.delimiter = ',', .quote = '"'};

// Indexes a whole text by calls of few rows and compares each with the oracle.
static bool same(const char *text, int64_t pos, int64_t end, uint32_t fields,
                 const SbCsvDialect *dialect, uint32_t rows_max) {
    static uint32_t ends[8192], starts[1024];
    while (pos < end) {
        SbIndex index = {.ends = ends, .starts = starts, .ends_max = 8192, .rows_max = rows_max};
        sb_csv_index(&index, text, pos, end, fields, dialect);
        if (!oracle_agrees(&index, text, pos, end, fields, dialect)) {
            fprintf(stderr, "the call from byte %lld, %u fields, of:\n", (long long)pos, fields);
            fwrite(text + pos, 1, (size_t)(end - pos), stderr);
            return false;
        }
        if (index.next <= pos) return false;
        pos = index.next;
    }
    return true;
}

static bool same_text(const char *bytes, uint32_t fields, const SbCsvDialect *dialect) {
    char text[512] = {0};
    size_t len = strlen(bytes);
    memcpy(text, bytes, len);
    return same(text, 0, (int64_t)len, fields, dialect, 1000);
}

static void examples_are_read(void) {
    const char *text = "a,\"b,\n\"\"\",c\r\n\n1,2\n\"x\"y,2,3\n\"é\",2,3\n\"open";
    char room[128] = {0};
    strcpy(room, text);
    uint32_t ends[512], starts[16];
    SbIndex index = {.ends = ends, .starts = starts, .ends_max = 512, .rows_max = 16};
    int64_t len = (int64_t)strlen(text);
    sb_csv_index(&index, room, 0, len, 3, &plain);
    CHECK(index.rows == 1 && index.fault == SB_FAULT_FIELD_COUNT && index.lines == 4);
    CHECK(starts[0] == 0 && ends[0] == 1 && ends[1] == 9 && ends[2] == 11);
    CHECK(index.fault_begin == 14 && index.fault_end == 17 && index.next == 18);
    sb_csv_index(&index, room, index.next, len, 3, &plain);
    CHECK(index.rows == 0 && index.fault == SB_FAULT_BAD_QUOTE && index.fault_end == 26);
    sb_csv_index(&index, room, index.next, len, 3, &plain);
    CHECK(index.rows == 1 && index.fault == SB_FAULT_OPEN_QUOTE && index.fault_lines == 1);
    CHECK(index.next == len && index.lines == 1);
}

static void hand_written_texts_agree(void) {
    static const char *texts[] = {
        "",
        "a",
        "a,b\n",
        "a,b\r\nc,d\r\n",
        "a\r,b\r\r\n",
        "\"a\"\"b\",c\n",
        "5\" pipe,x\n",
        "\"a\" ,b\nc,d\n",
        "\"a\nb\nc",
        ",\n,\n",
        "\n\n\na,b\n",
        "\r\n\r\na,b",
        "\"\",\"\"\n",
        "\xff,b\nc,d\n",
        "a,\xc3\n\xa9,b\n",
        "#x\n#\"\na,b\n",
        "a,b\n#,c\n",
        "\"a\"\r\n",
        "\"a\"\r",
    };
    const SbCsvDialect comment = {',', '"', false, {"#", 1}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (uint32_t fields = 1; fields <= 3; fields++) {
            CHECK_SAYS(same_text(texts[i], fields, &plain), "text %zu, %u fields", i, fields);
            CHECK_SAYS(same_text(texts[i], fields, &comment), "text %zu, %u fields", i, fields);
        }
    }
}

// One of several kinds of text: nearly all good rows, or anything.
static int64_t random_text(char *out, int64_t room, uint32_t fields) {
    static const char *parts[] = {",",     "\n",    "\r\n", "\"",       "\"\"",
                                  "a",     "bcdef", "\r",   "\xc3\xa9", "\xff",
                                  "\",\"", "\"\n",  "#",    "",         "\xf0\x9f\x98\x80",
                                  ",\"",   "\xc3"};
    const uint32_t noise = random_below(4) * random_below(30), kind = random_below(4);
    int64_t len = 0;
    while (len < room - 32) {
        for (uint32_t f = 0; f < fields && len < room - 32; f++) {
            bool quoted = kind == 1 ? random_below(2) : kind == 2 ? random_below(20) == 0 : false;
            if (quoted) out[len++] = '"';
            for (uint32_t i = random_below(12); i > 0; i--) {
                const char *part = quoted && random_below(8) == 0 ? parts[random_below(3)] : "x";
                if (quoted && random_below(12) == 0) part = "\"\"";
                if (random_below(100) < noise) part = parts[random_below(17)];
                if (kind == 3 && random_below(6) == 0) part = "\xc3\xa9";
                for (; *part; part++) out[len++] = *part;
                if (len > room - 32) break;
            }
            if (quoted) out[len++] = '"';
            if (f + 1 < fields) out[len++] = ',';
        }
        if (noise && random_below(10) == 0) out[len++] = '\r';
        out[len++] = '\n';
    }
    return random_below((uint32_t)len + 1);
}

static void random_texts_agree(void) {
    static char text[4096 + SB_SLACK];
    const SbCsvDialect dialects[] = {
        plain,
        {',', '"', true, {nullptr, 0}},
        {',', 0, false, {nullptr, 0}},
        {',', '"', false, {"#", 1}},
        {'x', '"', false, {"", 0}},
    };
    const char *rounds_text = getenv("CSV_ROUNDS");
    const int rounds = rounds_text ? atoi(rounds_text) : 20000;
    for (int round = 0; round < rounds && !unit_failures; round++) {
        uint64_t seed = random_state;
        uint32_t fields = 1 + random_below(5), rows_max = 1 + random_below(300);
        int64_t room = 64 + random_below(random_below(8) ? 500 : 4000);
        int64_t len = random_text(text, room, fields);
        for (int i = 0; i < SB_SLACK; i++) text[len + i] = "\"\n,\xff"[random_below(4)];
        for (size_t d = 0; d < sizeof dialects / sizeof *dialects; d++) {
            CHECK_SAYS(same(text, 0, len, fields, &dialects[d], rows_max),
                       "round %d, dialect %zu, state %llx", round, d, (unsigned long long)seed);
            int64_t from = random_below((uint32_t)len + 1);
            CHECK_SAYS(oracle_row_end(text, 0, from, len, &dialects[d]) ==
                           sb_csv_row_end(text, 0, from, len, &dialects[d]),
                       "row end, round %d, dialect %zu, from %lld", round, d, (long long)from);
        }
    }
}

static void quoted_fields_are_read(void) {
    SbCall call;
    CHECK(sb_scratch_open(&call, 4096) == SB_OK);
    struct {
        const char *in, *out;
    } cases[] = {
        {"\"\"", ""},
        {"\"a\"", "a"},
        {"\"\"\"\"", "\""},
        {"\"a\"\"b\"", "a\"b"},
        {"\"\"\"a\"\"\"", "\"a\""},
        {"\"a,\nb\"", "a,\nb"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SbStr text = sb_csv_unquote(&call, cases[i].in, (int64_t)strlen(cases[i].in), '"');
        CHECK(text.len == (int64_t)strlen(cases[i].out));
        CHECK(memcmp(text.ptr, cases[i].out, (size_t)text.len) == 0);
    }
    sb_scratch_close(&call);
}

static void fields_are_joined(void) {
    SbCall call;
    CHECK(sb_scratch_open(&call, 4096) == SB_OK);
    static const uint32_t ends[] = {3, 4, 9, 10};  // Of the row's four fields.
    const SbCsvFields row = {"--a,,\"b,\",\n", ends, 2};
    static const uint32_t order[] = {2, 0, 1, 0, 3};
    static const bool pads[5] = {0};
    const SbCsvSpan five = {pads, {"", 0}, 5, ','}, one = {pads, {"", 0}, 1, ','};
    SbStr text = sb_csv_join(&call, &row, order, &five);
    CHECK(text.len == 10 && memcmp(text.ptr, "\"b,\",a,,a,", 10) == 0);
    text = sb_csv_join(&call, &row, order + 2, &one);
    CHECK(text.len == 0 && text.ptr);
    sb_scratch_close(&call);
}

static void nulls_are_joined_without_spaces(void) {
    SbCall call;
    CHECK(sb_scratch_open(&call, 4096) == SB_OK);
    static const uint32_t ends[] = {4, 9, 14, 17}, order[] = {0, 1, 2, 3};
    static const bool pads[] = {true, false, true, true};
    const SbCsvFields row = {" NA ; NA ;NA 1; \t\n", ends, 0};
    const SbCsvSpan word = {pads, {"NA", 2}, 4, ';'}, empty = {pads, {"", 0}, 4, ';'};
    SbStr text = sb_csv_join(&call, &row, order, &word);
    CHECK_SAYS(text.len == 15 && memcmp(text.ptr, "NA; NA ;NA 1; \t", 15) == 0, "%.*s",
               (int)text.len, text.ptr);
    text = sb_csv_join(&call, &row, order, &empty);
    CHECK_SAYS(text.len == 15 && memcmp(text.ptr, " NA ; NA ;NA 1;", 15) == 0, "%.*s",
               (int)text.len, text.ptr);
    sb_scratch_close(&call);
}

static const UnitTest tests[] = {
    {"examples_are_read", examples_are_read},
    {"hand_written_texts_agree", hand_written_texts_agree},
    {"random_texts_agree", random_texts_agree},
    {"quoted_fields_are_read", quoted_fields_are_read},
    {"fields_are_joined", fields_are_joined},
    {"nulls_are_joined_without_spaces", nulls_are_joined_without_spaces},
};

UNIT_MAIN("csv_test", tests)
