// Cut: pieces that are taken one by one are those of the list.
#include "stdlib/regex/cut.h"
#include "runtime/memory/scratch.h"
#include "stdlib/text/string.h"
#include "tests/unit/unit.h"

#include <string.h>

static SbCall call;

enum { LEN_MAX = 300, TEXTS = 20 };

// A text of a few kinds of characters, cut anywhere; what stands in the slack must not matter.
static SbStr text_of(char *room, int64_t len, uint64_t seed) {
    static const char *const pieces[] = {"a", "b", " ", "é", "a", "7", ".", "Z😀"};
    for (int64_t i = 0; i < len + SB_SLACK;) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        for (const char *c = pieces[seed >> 61]; *c && i < len + SB_SLACK; c++) room[i++] = *c;
    }
    while (len > 0 && sb_utf8_inside(room[len])) len--;
    return (SbStr){room, len};
}

static bool is_item(SbList list, int64_t i, SbStr piece) {
    const SbStr *items = list.ptr;
    return i < list.len && items[i].ptr == piece.ptr && items[i].len == piece.len;
}

static bool splits_alike(SbStr text, SbStr separator) {
    SbList list;
    SbCut cut;
    int64_t count = 0;
    if (sb_split(&call, text, separator, &list)) return false;
    for (sb_cut_start(&cut, text); cut.edges || sb_split_look(&cut, text, separator); count++) {
        sb_split_take(&cut, text, separator);
        if (!is_item(list, count, cut.piece)) return false;
    }
    return count == list.len;
}

static bool finds_alike(SbStr text, const SbRegex *regex) {
    SbList list;
    SbCut cut;
    int64_t count = 0;
    if (sb_regex_find_all(&call, text, regex, &list)) return false;
    for (sb_cut_start(&cut, text); cut.edges || sb_regex_find_all_look(&cut, text, regex);
         count++) {
        sb_regex_find_all_take(&cut, text, regex);
        if (!is_item(list, count, cut.piece)) return false;
    }
    return count == list.len;
}

static void pieces_are_those_of_the_list(void) {
    static char room[LEN_MAX + SB_SLACK];
    for (int64_t len = 0; len <= LEN_MAX; len++) {
        for (uint64_t i = 0; i < TEXTS; i++) {
            SbStr text = text_of(room, len, (uint64_t)len * TEXTS + i);
            CHECK_SAYS(splits_alike(text, SB_LITERAL(" ")), "split, %d bytes", (int)len);
            sb_scratch_rewind(&call);
        }
    }
}

// What a search finds, one match after the other, is the list.
static bool searches_alike(SbStr text, const SbRegex *regex) {
    SbList list;
    SbRegexSpan span = {0};
    int64_t count = 0, counted = -1;
    if (sb_regex_find_all(&call, text, regex, &list)) return false;
    for (; sb_regex_find(&call, regex, text, span.end, &span) == SB_OK; count++)
        if (!is_item(list, count, (SbStr){text.ptr + span.begin, span.end - span.begin}))
            return false;
    return count == list.len && sb_regex_count(&call, text, regex, &counted) == SB_OK &&
           counted == count;
}

static void runs_are_what_a_search_finds(void) {
    static char room[LEN_MAX + SB_SLACK];
    static const char *const patterns[] = {
        "[a-z0-9]+", "[^a-z]+", "[a-z0-9]+|[^a-z0-9 ]", "\\w+|[^\\w\\s]", "[a-z]+|[0-9]+|[A-Z]+",
        "[^a7]+|7|a", ".", "[ab]|[^ab]+", "(?i)[a-y]+|[.é]*?[^a-z]",
    };
    enum { OF_RUNS = 8 };  // The last pattern is none.
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        SbRegexError error;
        SbRegex *regex = sb_regex_compile(patterns[p], (int64_t)strlen(patterns[p]), &error);
        CHECK_SAYS(regex && !(regex->flags & REGEX_RUNS) == (p == OF_RUNS), "%s", patterns[p]);
        for (int64_t len = 0; regex && len <= LEN_MAX; len++) {
            SbStr text = text_of(room, len, (uint64_t)len + p);
            CHECK_SAYS(searches_alike(text, regex), "%s, %d bytes", patterns[p], (int)len);
            if (p != OF_RUNS)
                CHECK_SAYS(finds_alike(text, regex), "%s cut, %d bytes", patterns[p], (int)len);
            sb_scratch_rewind(&call);
        }
        sb_regex_free(regex);
    }
}

// Sets that share a character, or of which no byte tells, are no runs.
static void not_of_runs(void) {
    static const char *const patterns[] = {"[a-z]+|[x-z0-9]+", "[a-z]+|z",  "[a-z]+|é",  "\\p{L}+",
                                           "[a-z]+?|[0-9]",    "[a-z]{2,}", "[a-z]+|ab", "([a-z]+)",
                                           "a+|b+|c+|d+|e+"};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        SbRegexError error;
        SbRegex *regex = sb_regex_compile(patterns[p], (int64_t)strlen(patterns[p]), &error);
        CHECK_SAYS(regex && !(regex->flags & REGEX_RUNS), "%s", patterns[p]);
        sb_regex_free(regex);
    }
}

static void one_piece_of_any_length(void) {
    static char room[LEN_MAX + SB_SLACK];
    SbRegexError error;
    SbRegex *regex = sb_regex_compile("[ab]+", 5, &error);
    for (int64_t len = 0; len <= LEN_MAX; len++) {
        memset(room, 'a', sizeof room);
        CHECK_SAYS(splits_alike((SbStr){room, len}, SB_LITERAL(" ")), "%d bytes", (int)len);
        CHECK_SAYS(splits_alike((SbStr){room, len}, SB_LITERAL("a")), "%d separators", (int)len);
        CHECK_SAYS(finds_alike((SbStr){room, len}, regex), "a run of %d bytes", (int)len);
        sb_scratch_rewind(&call);
    }
    sb_regex_free(regex);
}

static const UnitTest tests[] = {
    {"pieces_are_those_of_the_list", pieces_are_those_of_the_list},
    {"runs_are_what_a_search_finds", runs_are_what_a_search_finds},
    {"not_of_runs", not_of_runs},
    {"one_piece_of_any_length", one_piece_of_any_length},
};

int main(int argc, char **argv) {
    if (sb_scratch_open(&call, 1 << 16)) return 2;
    int status = unit_main("cut", tests, sizeof tests / sizeof *tests, argc, argv);
    sb_scratch_close(&call);
    return status;
}
