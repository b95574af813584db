// Cut: pieces that are taken one by one are those of the list.
#include "stdlib/regex/cut.h"
#include "runtime/memory/scratch.h"
#include "stdlib/text/string.h"
#include "tests/unit/unit.h"

#include <string.h>

static SbCall call;

enum { LEN_MAX = 300, TEXTS = 20 };

// A text of two kinds of bytes; what stands in the slack must not matter.
static SbStr text_of(char *room, int64_t len, uint64_t seed) {
    for (int64_t i = 0; i < len + SB_SLACK; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        room[i] = "ab  a7.Z"[seed >> 61];
    }
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
    SbRegexError error;
    SbRegex *regex = sb_regex_compile("[a-z0-9]+", 9, &error);
    CHECK(regex && regex->flags & REGEX_RUNS);
    for (int64_t len = 0; len <= LEN_MAX; len++) {
        for (uint64_t i = 0; i < TEXTS; i++) {
            SbStr text = text_of(room, len, (uint64_t)len * TEXTS + i);
            CHECK_SAYS(splits_alike(text, SB_LITERAL(" ")), "split, %d bytes", (int)len);
            CHECK_SAYS(finds_alike(text, regex), "find_all, %d bytes", (int)len);
            sb_scratch_rewind(&call);
        }
    }
    sb_regex_free(regex);
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
    {"one_piece_of_any_length", one_piece_of_any_length},
};

int main(int argc, char **argv) {
    if (sb_scratch_open(&call, 1 << 16)) return 2;
    int status = unit_main("cut", tests, sizeof tests / sizeof *tests, argc, argv);
    sb_scratch_close(&call);
    return status;
}
