// String: hostile texts, combining characters, far positions.
#include "runtime/memory/scratch.h"
#include "stdlib/text/resemble.h"
#include "stdlib/text/string.h"
#include "tests/unit/texts.h"

static SbCall call;

static void positions_count_characters(void) {
    SbStr s = str("hé\xf0\x9f\x98\x80llo, a long one");
    CHECK(sb_str_len(s) == 18 && sb_byte_len(s) == 22);
    CHECK(is(sb_substr(s, 1, 3), "é😀l") && is(sb_substr(s, -3, 2), "on"));
    CHECK(is(sb_substr(s, 17, 5), "e") && is(sb_substr(s, 18, 5), "") &&
          is(sb_substr(s, 2, -1), ""));
    CHECK(is(sb_substr(s, INT64_MIN, INT64_MAX), "hé😀llo, a long one"));
    CHECK(is(sb_substr(s, INT64_MAX, INT64_MAX), "") && is(sb_substr_rest(s, 14), " one"));
    CHECK(is(sb_left(s, 3), "hé😀") && is(sb_left(s, -15), "hé😀") && is(sb_left(s, INT64_MIN), ""));
    CHECK(is(sb_right(s, 3), "one") && is(sb_right(s, -15), "one") &&
          is(sb_right(s, INT64_MIN), ""));
    int64_t at = -1;
    CHECK(sb_index_of(s, str("😀"), &at) == SB_OK && at == 2);
    CHECK(sb_index_of(s, str("😁"), &at) == SB_NULL);
    CHECK(sb_index_of(s, str(""), &at) == SB_OK && at == 0);
    CHECK(sb_last_index_of(s, str("l"), &at) == SB_OK && at == 10);
    CHECK(sb_last_index_of(s, str(""), &at) == SB_OK && at == 18);
}

static void searching_ends_at_the_end(void) {
    CHECK(!sb_contains(str("bb"), str("bba")));  // The slack holds an a.
    CHECK(!sb_contains(str(""), str("a")) && sb_contains(str(""), str("")));
    CHECK(sb_count_of(str("aaaa"), str("aa")) == 2 && sb_count_of(str("x"), str("")) == 0);
    CHECK(!sb_starts_with(str("a"), str("aa")) && !sb_ends_with(str("a"), str("aa")));
    static char many[40000 + SB_SLACK], part[102];
    memset(many, 'a', sizeof many);
    memset(part, 'a', 100);
    part[100] = 'b';
    CHECK(!sb_contains((SbStr){many, 40000}, (SbStr){part, 101}));
    memcpy(many + 39899, part, 101);
    CHECK(sb_find_bytes((SbStr){many, 40000}, (SbStr){part, 101}, 0) == 39899);
    CHECK(sb_find_bytes((SbStr){many, 39999}, (SbStr){part, 101}, 0) == -1);
}

static void trimming_knows_unicode(void) {
    CHECK(is(sb_trim(str("\u00a0\u2003 a b\u3000\r\n")), "a b") && is(sb_trim(str(" \t")), ""));
    CHECK(is(sb_ltrim(str(" é ")), "é ") && is(sb_rtrim(str(" é ")), " é"));
    CHECK(is(sb_trim_of(str("éxaxé"), str("xé")), "a") && is(sb_trim_of(str("é"), str("")), "é"));
    CHECK(is(sb_ltrim_of(str("ééa"), str("é")), "a") && is(sb_rtrim_of(str("aéé"), str("é")), "a"));
    CHECK(is(sb_remove_prefix(str("aab"), str("a")), "ab") &&
          is(sb_remove_suffix(str("a"), str("b")), "a"));
}

static void paths_are_cut_at_slashes(void) {
    static const struct { const char *path, *base, *dir, *extension, *stem; } cases[] = {
        {"a/b.c", "b.c", "a", ".c", "b"}, {"b", "b", "", "", "b"}, {"/b", "b", "/", "", "b"},
        {"/", "/", "/", "", "/"}, {"", "", "", "", ""}, {"a/b/", "b", "a", "", "b"},
        {"a//b", "b", "a", "", "b"}, {"a.b/c", "c", "a.b", "", "c"}, {".x", ".x", "", "", ".x"},
        {"x.", "x.", "", ".", "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SbStr path = str(cases[i].path);
        CHECK_SAYS(is(sb_basename(path), cases[i].base) && is(sb_dirname(path), cases[i].dir) &&
                       is(sb_extension(path), cases[i].extension) &&
                       is(sb_stem(path), cases[i].stem),
                   "%s", cases[i].path);
    }
}

#define MADE(expression, text) CHECK((expression) == SB_OK && is(out, text))

static void case_is_mapped(void) {
    SbStr out;
    MADE(sb_lower(&call, str("ABC xyz @[`{ 019"), &out), "abc xyz @[`{ 019");
    MADE(sb_upper(&call, str("abc XYZ @[`{"), &out), "ABC XYZ @[`{");
    MADE(sb_lower(&call, str("ÀÉÎ ΑΒΓ ПРИ İ"), &out), "àéî αβγ при i");
    MADE(sb_upper(&call, str("straße ﬁ ÿ"), &out), "STRAẞE ﬁ Ÿ");
    MADE(sb_lower(&call, str("ȺȺȺȺȺȺȺȺ"), &out), "ⱥⱥⱥⱥⱥⱥⱥⱥ");  // Grows by a half.
    MADE(sb_title(&call, str("o'neil e\u0301TÉ 2nd ǆ"), &out), "O'neil E\u0301té 2Nd ǅ");
    MADE(sb_capitalize(&call, str("ÉTÉ à"), &out), "Été à");
    MADE(sb_capitalize(&call, str(""), &out), "");
}

static void normal_forms_compose(void) {
    SbStr out;
    MADE(sb_nfc(&call, str("e\u0301 \u1112\u1161\u11ab"), &out), "\u00e9 \ud55c");
    MADE(sb_nfc(&call, str("ﬁ\u0323\u0307s\u0307\u0323"), &out), "ﬁ\u0323\u0307\u1e69");
    MADE(sb_nfkc(&call, str("ﬁ²ＡＢ"), &out), "fi2AB");
    MADE(sb_nfc(&call, str(""), &out), "");
    CHECK(sb_nfc(&call, (SbStr){"a\0é", 4}, &out) == SB_OK && out.len == 4 && !out.ptr[1]);
}

// The case of a text is that of its characters, wherever those beyond ASCII stand.
static void case_goes_by_characters(void) {
    enum { LEN_MAX = 200, PIECE_MAX = 80, TEXTS = 3000 };
    static const char *const pieces[] = {"a", "Zq", "É", "ß", "Ⱥ", "Ж", "ǆ", "[", "İ", "😀", "K",
                                         "A PART OF ASCII that is longer than SIXTY-FOUR bytes, "
                                         "by a few of them"};
    static char room[LEN_MAX + PIECE_MAX + SB_SLACK];
    uint64_t seed = 1;
    for (int t = 0; t < TEXTS; t++) {
        int64_t len = 0;
        do {
            seed = seed * 6364136223846793005 + 1442695040888963407;
            const char *piece = pieces[(seed >> 33) % (sizeof pieces / sizeof *pieces)];
            for (const char *c = piece; *c; c++) room[len++] = *c;
        } while (len < LEN_MAX && seed >> 59);
        SbStr lower, upper, each;
        CHECK(sb_lower(&call, (SbStr){room, len}, &lower) == SB_OK);
        CHECK(sb_upper(&call, (SbStr){room, len}, &upper) == SB_OK);
        int64_t at[2] = {0};
        for (int64_t i = 0; i < len; i += sb_utf8_bytes(room[i])) {
            const SbStr one = {room + i, sb_utf8_bytes(room[i])}, all[] = {lower, upper};
            for (int k = 0; k < 2; k++) {
                CHECK((k ? sb_upper : sb_lower)(&call, one, &each) == SB_OK);
                CHECK(at[k] + each.len <= all[k].len &&
                      memcmp(all[k].ptr + at[k], each.ptr, (size_t)each.len) == 0);
                at[k] += each.len;
            }
        }
        CHECK(at[0] == lower.len && at[1] == upper.len);
        sb_scratch_rewind(&call);
    }
}

// A mark joins the letter before it, wherever both stand.
static void marks_join_letters(void) {
    enum { LEN = 200 };
    static char room[LEN + SB_SLACK];
    for (int64_t at = 0; at + 5 <= LEN; at++) {
        SbStr composed, plain;
        memset(room, 'x', sizeof room);
        memcpy(room + at, "e\u0301\u0323", 5);
        CHECK(sb_nfc(&call, (SbStr){room, LEN}, &composed) == SB_OK && composed.len == LEN);
        CHECK(sb_strip_accents(&call, (SbStr){room, LEN}, &plain) == SB_OK && plain.len == LEN - 4);
        CHECK(memcmp(composed.ptr + at, "\u1eb9\u0301", 5) == 0 && plain.ptr[at] == 'e');
        for (int64_t i = 0; i < LEN; i++)
            CHECK((i >= at && i < at + 5) || composed.ptr[i] == 'x');
        for (int64_t i = 0; i < plain.len; i++) CHECK(i == at || plain.ptr[i] == 'x');
        sb_scratch_rewind(&call);
    }
    SbStr out;
    MADE(sb_strip_accents(&call, str("\u0301"), &out), "");
    MADE(sb_strip_accents(&call, str("\u0301a"), &out), "a");
    MADE(sb_title(&call, str("l'été d'ÉMILE o'n"), &out), "L'été D'émile O'n");
}

static void texts_are_made(void) {
    SbStr out;
    MADE(sb_replace(&call, str("aXbX"), str("X"), str("--"), &out), "a--b--");
    MADE(sb_replace(&call, str("aaa"), str("aa"), str("b"), &out), "ba");
    MADE(sb_replace(&call, str("abc"), str(""), str("x"), &out), "abc");
    MADE(sb_replace_first(&call, str("a.b.c"), str("."), str(""), &out), "ab.c");
    MADE(sb_reverse(&call, str("aé😀"), &out), "😀éa");
    MADE(sb_repeat(&call, str("é"), 3, &out), "ééé");
    MADE(sb_repeat(&call, str(""), INT64_MAX, &out), "");
    CHECK(sb_repeat(&call, str("ab"), INT64_MAX, &out) == SB_FAULT_TOO_LARGE);
    CHECK(sb_repeat(&call, str("ab"), -1, &out) == SB_FAULT_BAD_ARGUMENT);
    MADE(sb_pad_left(&call, str("é"), 3, &out), "  é");
    MADE(sb_pad_right_with(&call, str("é"), 3, str("·"), &out), "é··");
    MADE(sb_pad_left_with(&call, str("abc"), INT64_MIN, str("0"), &out), "abc");
    CHECK(sb_pad_left_with(&call, str("a"), 3, str("ab"), &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_pad_left_with(&call, str("a"), 3, str(""), &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_pad_left(&call, str("a"), INT64_MAX, &out) == SB_FAULT_TOO_LARGE);
    MADE(sb_char_of(&call, 0x1f600, &out), "😀");
    CHECK(sb_char_of(&call, 0xd800, &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_str_of_bytes(SB_LITERAL("\xff"), &out) == SB_FAULT_BAD_UTF8);
    int64_t n = 0;
    CHECK(sb_levenshtein(&call, str(""), str("é😀"), &n) == SB_OK && n == 2);
    CHECK(sb_levenshtein(&call, str("flaw"), str("lawn"), &n) == SB_OK && n == 2);
}

static void lists_of_texts(void) {
    SbList list;
    SbStr out;
    CHECK(sb_split(&call, str(",a,,é,"), str(","), &list) == SB_OK && list.len == 5);
    MADE(sb_join(&call, list, str("|"), &out), "|a||é|");
    CHECK(sb_split(&call, str(""), str(","), &list) == SB_OK && list.len == 1);
    CHECK(sb_split(&call, str("aé"), str(""), &list) == SB_OK && list.len == 2);
    MADE(sb_join(&call, list, str(""), &out), "aé");
    CHECK(sb_lines_of(&call, str("a\n\r\nb\rc"), &list) == SB_OK && list.len == 3);
    MADE(sb_join(&call, list, str("|"), &out), "a||b\rc");
    CHECK(sb_words(&call, str("\u3000a  é\n"), &list) == SB_OK && list.len == 2);
    MADE(sb_join(&call, list, str("|"), &out), "a|é");
    CHECK(sb_words(&call, str(" "), &list) == SB_OK && list.len == 0);
    MADE(sb_join(&call, list, str("|"), &out), "");
    static char many[200000 + SB_SLACK];
    memset(many, ',', sizeof many);
    CHECK(sb_split(&call, (SbStr){many, 200000}, str(","), &list) == SB_OK && list.len == 200001);
}

// Pieces of all lengths up to several vectors, against a search byte by byte.
static void pieces_of_all_lengths(void) {
    static char text[300 + SB_SLACK];
    for (int64_t every = 1; every < 140; every++) {
        for (int64_t i = 0; i < (int64_t)sizeof text; i++)
            text[i] = i % every == every - 1 ? ';' : 'A';
        for (int64_t len = 0; len <= 300; len += every % 7 + 1) {
            SbList list;
            CHECK(sb_split(&call, (SbStr){text, len}, str(";"), &list) == SB_OK);
            CHECK(list.len == len / every + 1);
            const SbStr *items = list.ptr;
            int bad = 0;
            for (int64_t i = 0; i < list.len; i++) {
                int64_t rest = len - i * every, want = rest < every - 1 ? rest : every - 1;
                bad += items[i].ptr != text + i * every || items[i].len != want;
            }
            CHECK(bad == 0);
            SbStr out;
            CHECK(sb_lower(&call, (SbStr){text, len}, &out) == SB_OK && out.len == len);
            for (int64_t i = 0; i < len; i++) bad += out.ptr[i] != (text[i] == 'A' ? 'a' : ';');
            CHECK(bad == 0);
        }
    }
}

// What stands behind the end of a text has no say in whether it is ASCII.
static void ascii_up_to_the_end(void) {
    static char text[200 + SB_SLACK];
    for (int64_t len = 0; len <= 200; len++) {
        memset(text, 'a', sizeof text);
        text[len] = (char)0x80;
        CHECK(sb_is_ascii((SbStr){text, len}));
        if (len) CHECK(!sb_is_ascii((SbStr){text + 1, len}));
    }
}

static const UnitTest tests[] = {
    {"positions_count_characters", positions_count_characters},
    {"searching_ends_at_the_end", searching_ends_at_the_end},
    {"trimming_knows_unicode", trimming_knows_unicode},
    {"paths_are_cut_at_slashes", paths_are_cut_at_slashes},
    {"case_is_mapped", case_is_mapped},
    {"normal_forms_compose", normal_forms_compose},
    {"case_goes_by_characters", case_goes_by_characters},
    {"marks_join_letters", marks_join_letters},
    {"texts_are_made", texts_are_made},
    {"lists_of_texts", lists_of_texts},
    {"pieces_of_all_lengths", pieces_of_all_lengths},
    {"ascii_up_to_the_end", ascii_up_to_the_end},
};

int main(int argc, char **argv) {
    if (sb_scratch_open(&call, 1 << 16)) return 2;
    int status = unit_main("string", tests, sizeof tests / sizeof *tests, argc, argv);
    sb_scratch_close(&call);
    return status;
}
