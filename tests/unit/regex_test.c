// Regex: known matches, errors with their place, and random patterns against PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "stdlib/regex/regex_match.h"
#include "runtime/memory/scratch.h"
#include "tests/unit/unit.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

static SbCall call;

static SbStr str(const char *text) {
    static char room[8][4096];
    static unsigned turn;
    char *copy = room[turn++ % 8];
    size_t len = strlen(text);
    memset(copy + len, 'x', SB_SLACK);  // What stands in the slack must not matter.
    memcpy(copy, text, len);
    return (SbStr){copy, (int64_t)len};
}

static SbRegex *compiled(const char *pattern) {
    SbRegexError error = {0};
    SbRegex *regex = sb_regex_compile(pattern, (int64_t)strlen(pattern), &error);
    CHECK_SAYS(regex, "%s at %lld: %s", pattern, (long long)error.position, error.message);
    return regex;
}

// As "begin-end" of the first match; "none"; by the table, then by the program alone.
static void expect_match(const char *pattern, const char *text, int64_t begin, int64_t end) {
    SbRegex *regex = compiled(pattern);
    for (int round = 0; regex && round < 2; round++) {
        SbRegexSpan span = {-1, -1};
        int32_t status = sb_regex_find(&call, regex, str(text), 0, &span);
        bool matches = !status;
        sb_regex_matches(&call, str(text), regex, &matches);
        CHECK_SAYS(status == (begin < 0 ? SB_NULL : SB_OK) && matches == !status &&
                       span.begin == begin && span.end == end,
                   "%s on '%s' round %d: %d, %lld-%lld", pattern, text, round, status,
                   (long long)span.begin, (long long)span.end);
        regex->flags &= ~REGEX_HAS_TABLE;
    }
    sb_regex_free(regex);
    sb_scratch_rewind(&call);
}

static const struct { const char *pattern, *text; int begin, end; } known[] = {
    {"", "", 0, 0},
    {"", "abc", 0, 0},
    {"a", "", -1, -1},
    {"b+", "abbc", 1, 3},
    {"a|ab", "ab", 0, 1},
    {"ab|a", "ab", 0, 2},
    {"a*?b", "aab", 0, 3},
    {"a+?", "aaa", 0, 1},
    {"^b", "ab", -1, -1},
    {"(?m)^b", "a\nb", 2, 3},
    {"a$", "a\n", -1, -1},
    {"(?m)a$", "a\nb", 0, 1},
    {"\\bfoo\\b", "a foo.", 2, 5},
    {"\\bfoo\\b", "afoo", -1, -1},
    {"\\Bo", "foo", 1, 2},
    {"\\b", "  a", 2, 2},
    {"a.c", "a\nc", -1, -1},
    {"(?s)a.c", "a\nc", 0, 3},
    {".", "é", 0, 2},
    {"[^a]", "é", 0, 2},
    {"é+", "aéé", 1, 5},
    {"(?i)straße", "STRAßE", 0, 7},
    {"(?i)É", "é", 0, 2},
    {"(?i)k", "\xe2\x84\xaa", 0, 3},
    {"(?i)σ", "ς", 0, 2},
    {"\\x{1F600}", "😀", 0, 4},
    {"[\\x{1F600}-\\x{1F64F}]", "a😂", 1, 5},
    {"\\pL+", "1éa2", 1, 4},
    {"\\p{Lu}", "aÉ", 1, 3},
    {"\\PL", "é1", 2, 3},
    {"\\p{Greek}+", "aαΩb", 1, 5},
    {"\\p{^Greek}", "αb", 2, 3},
    {"[\\P{Greek}]", "αb", 2, 3},
    {"\\p{Old_Italic}", "\xf0\x90\x8c\x80", 0, 4},
    {"(?i)\\p{Lu}+", "1aÉ", 1, 4},
    {"(?i)\\P{Lu}", "aÉ1", 3, 4},
    {"\\p{Any}", "\n", 0, 1},
    {"[[:alpha:]]+", "12ab", 2, 4},
    {"[^[:alpha:]]", "ab1", 2, 3},
    {"[]a]+", "a]b", 0, 2},
    {"[a-]+", "b-a", 1, 3},
    {"\\Qa.b\\E+", "a.bb", 0, 4},
    {"a{2,3}", "aaaa", 0, 3},
    {"a{2}", "a", -1, -1},
    {"a{,2}", "a{,2}", 0, 5},
    {"x{", "x{", 0, 2},
    {"(a|b)*c", "abac", 0, 4},
    {"(?U)a+", "aa", 0, 1},
    {"(?i:A)b", "ab", 0, 2},
    {"(?i:A)b", "aB", -1, -1},
    {"(?P<y>\\d{4})-(\\d\\d)", "on 2026-11", 3, 10},
    {"\\A\\z", "", 0, 0},
    {"\\z", "ab", 2, 2},
    {"[\\d\\-]+", "a1-2", 1, 4},
    {"\\s\\S\\w\\W\\D", " a_-x", 0, 5},
    {"\\101\\x42", "AB", 0, 2},
    {"(|a)+", "aa", 0, 0},
    {"(a|)+", "aab", 0, 2},
    {"(a*)*b", "aab", 0, 3},
    {"\\.\\/", "./", 0, 2},
    {"(?:){1000}x", "x", 0, 1},
    {"^*a", "a", 0, 1},
    {"\\B", "\xc3\xa9", 0, 0},
    {"\\b", "\xc3\xa9", -1, -1},
};

static void known_matches(void) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        expect_match(known[i].pattern, known[i].text, known[i].begin, known[i].end);
    }
}

static void errors_name_their_place(void) {
    static const struct { const char *pattern; int position; const char *says; } cases[] = {
        {"a(b", 1, "never closed"}, {"ab)", 2, "without"}, {"[a", 0, "never closed"},
        {"*a", 0, "repeat"}, {"a**", 2, "repeat of a repeat"}, {"a*+", 2, "possessive"},
        {"(a)\\1", 3, "backreference"}, {"(?=a)", 0, "lookaround"}, {"x(?<!a)", 1, "lookaround"},
        {"(?P=n)", 0, "backreference"}, {"\\k<n>", 0, "backreference"}, {"\\Z", 0, "RE2"},
        {"a{1001}", 1, "1000"}, {"a{3,2}", 1, "wrong way"}, {"[b-a]", 1, "ends before"},
        {"\\p{greek}", 0, "scripts"}, {"\\p{", 0, "closed"}, {"\\pX", 0, "property"},
        {"(?P<a>b)(?<a>c)", 8, "one name"},
        {"[[:foo:]]", 1, "[:foo:]"}, {"\\x{110000}", 0, "10FFFF"}, {"\\x4", 0, "two"},
        {"(?i-)a", 0, "minus"}, {"(?z)", 0, "flags"}, {"a\\", 1, "end of the pattern"},
        {"(?P<a b>c)", 0, "letters"}, {"\xff", 0, "UTF-8"}, {"\xed\xa0\x80", 0, "UTF-8"},
        {"((a{1000}){1000})", 0, "too large"}, {"(?", 0, "closed"}, {"(?<", 0, "name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SbRegexError error = {.position = -1};
        const char *pattern = cases[i].pattern;
        SbRegex *regex = sb_regex_compile(pattern, (int64_t)strlen(pattern), &error);
        CHECK_SAYS(!regex && error.position == cases[i].position &&
                       strstr(error.message, cases[i].says),
                   "%s: %lld '%s'", pattern, (long long)error.position, error.message);
        sb_regex_free(regex);
    }
    char deep[1201] = "";
    for (int i = 0; i < 300; i++) memcpy(deep + 3 * i, "(?:", 4);
    memset(deep + 900, ')', 300);
    SbRegexError error;
    CHECK(!sb_regex_compile(deep, 1200, &error) && strstr(error.message, "deeper"));
}

static void expect_list(const char *what, SbList list, const char *joined) {
    char text[256] = "";
    for (int64_t i = 0; i < list.len; i++) {
        SbStr item = ((const SbStr *)list.ptr)[i];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.*s", i ? "|" : "",
                 (int)item.len, item.ptr);
    }
    CHECK_SAYS(strcmp(text, joined) == 0, "%s: %s", what, text);
}

static void lists_hold_every_match(void) {
    static const struct { const char *pattern, *text, *all, *split; int count; } cases[] = {
        {"[a-z0-9]+", "the 2 cats, 10", "the|2|cats|10", "| | |, |", 4},
        {"[a-z0-9]+", "", "", "", 0},
        {"[^,]+", ",,é,b", "é|b", ",,|,|", 2},
        {",\\s*", "a, b,c", ", |,", "a|b|c", 2},
        {"x*", "axb", "|x|", "a|b", 3},
        {"", "aé", "||", "a|é", 3},
        {"\\b", "a b", "|||", "a| |b", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SbRegex *regex = compiled(cases[i].pattern);
        SbList list;
        int64_t count;
        CHECK(sb_regex_find_all(&call, str(cases[i].text), regex, &list) == SB_OK);
        expect_list(cases[i].pattern, list, cases[i].all);
        CHECK(sb_regex_count(&call, str(cases[i].text), regex, &count) == SB_OK);
        CHECK_SAYS(count == cases[i].count, "%s: %lld", cases[i].pattern, (long long)count);
        CHECK(sb_regex_split(&call, str(cases[i].text), regex, &list) == SB_OK);
        expect_list(cases[i].pattern, list, cases[i].split);
        sb_regex_free(regex);
    }
}

static void groups_and_replacements(void) {
    SbRegex *regex = compiled("(\\w+)@(\\w+)(\\.org)?");
    SbStr out;
    SbList list;
    CHECK(sb_regex_extract_group(&call, str("to bob@site now"), regex, 2, &out) == SB_OK);
    CHECK(out.len == 4 && memcmp(out.ptr, "site", 4) == 0);
    CHECK(sb_regex_extract_group(&call, str("a@b"), regex, 3, &out) == SB_NULL);
    CHECK(sb_regex_extract_group(&call, str("a@b"), regex, 4, &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_regex_extract_group(&call, str("a@b"), regex, -1, &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_regex_groups(&call, str("x a@b.org"), regex, &list) == SB_OK);
    expect_list("groups", list, "a|b|.org");
    CHECK(sb_regex_find_all_group(&call, str("a@b c@d"), regex, 2, &list) == SB_OK);
    expect_list("all of a group", list, "b|d");
    CHECK(sb_regex_replace(&call, str("a@b, c@d!"), regex, str("$2$$${1}x$3"), &out) == SB_OK);
    CHECK_SAYS(out.len == 11 && memcmp(out.ptr, "b$ax, d$cx!", 11) == 0, "%.*s", (int)out.len,
               out.ptr);
    CHECK(sb_regex_replace_first(&call, str("a@b, c@d!"), regex, str(""), &out) == SB_OK);
    CHECK(out.len == 6 && memcmp(out.ptr, ", c@d!", 6) == 0);
    CHECK(sb_regex_replace(&call, str("a@b"), regex, str("$4"), &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_regex_replace(&call, str("a@b"), regex, str("$"), &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_regex_replace(&call, str("a@b"), regex, str("${1"), &out) == SB_FAULT_BAD_ARGUMENT);
    sb_regex_free(regex);
    bool full = false;
    regex = compiled("a|ab");
    CHECK(sb_regex_full_match(&call, str("ab"), regex, &full) == SB_OK && full);
    CHECK(sb_regex_full_match(&call, str("abc"), regex, &full) == SB_OK && !full);
    sb_regex_free(regex);
}

static void groups_have_names(void) {
    SbRegex *regex = compiled("(?P<user>\\w+)@(?:x|(?<host>\\w+))");
    SbStr out;
    CHECK(sb_regex_extract_named(&call, str("me@site"), regex, str("host"), &out) == SB_OK &&
          out.len == 4);
    CHECK(sb_regex_extract_named(&call, str("me@x"), regex, str("host"), &out) == SB_NULL);
    CHECK(sb_regex_extract_named(&call, str("me"), regex, str("user"), &out) == SB_NULL);
    CHECK(sb_regex_extract_named(&call, str("me@x"), regex, str("us"), &out) ==
          SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_regex_replace(&call, str("me@site"), regex, str("${host}.${user}"), &out) == SB_OK &&
          out.len == 7);
    CHECK(sb_regex_replace(&call, str("me@site"), regex, str("${no}"), &out) ==
          SB_FAULT_BAD_ARGUMENT);
    sb_regex_free(regex);
}

// Each of these takes quadratic time when every start is tried by itself.
static void time_stays_linear(void) {
    static const char *const patterns[] = {"a*b", "(a|aa)*c", "a+x|a", "(?:a{1,50}){1,20}b", ".*z"};
    enum { LEN = 60000 };
    char *text = malloc(LEN + SB_SLACK);
    memset(text, 'a', LEN + SB_SLACK);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        SbRegex *regex = compiled(patterns[i]);
        int64_t count = -1;
        int32_t status = sb_regex_count(&call, (SbStr){text, LEN}, regex, &count);
        CHECK_SAYS(status == SB_FAULT_REGEX_LIMIT ||
                       (status == SB_OK && (count == 0 || count == LEN)),
                   "%s: %d %lld", patterns[i], status, (long long)count);
        bool matches = true;
        status = sb_regex_matches(&call, (SbStr){text, LEN}, regex, &matches);
        CHECK(status == SB_FAULT_REGEX_LIMIT || matches == (i == 2));
        sb_regex_free(regex);
        sb_scratch_rewind(&call);
    }
    free(text);
}

// ---- scripts, against PCRE2 ---------------------------------------------------------------------

static const struct { const char *name; uint32_t first, last; } scripts[] = {
#include "stdlib/regex/regex_scripts.def"
};

static size_t put_character(char *out, uint32_t c) {
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)c, (utf8proc_uint8_t *)out);
}

// PCRE2 may know an older Unicode: does it say of the character, too, that it is assigned or not?
static bool both_know(const pcre2_code *unassigned, const char *bytes, size_t len, uint32_t c) {
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(unassigned, nullptr);
    bool theirs = pcre2_match(unassigned, (PCRE2_SPTR)bytes, len, 0, 0, data, nullptr) > 0;
    pcre2_match_data_free(data);
    return theirs == (utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_CN);
}

// What stands at both sides of every edge of a script.
static size_t edges(char *out) {
    int error;
    PCRE2_SIZE place;
    char *at = out;
    pcre2_code *unassigned = pcre2_compile((PCRE2_SPTR) "\\p{Cn}", PCRE2_ZERO_TERMINATED, PCRE2_UTF,
                                           &error, &place, nullptr);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        uint32_t first = scripts[i].first, last = scripts[i].last;
        uint32_t around[] = {first ? first - 1 : 0, first, last, last + 1};
        for (size_t k = 0; k < sizeof around / sizeof *around; k++) {
            size_t len = put_character(at, around[k]);
            if (len && both_know(unassigned, at, len, around[k])) at += len;
        }
    }
    pcre2_code_free(unassigned);
    return (size_t)(at - out);
}

static void compare_script(const char *name, const char *text, size_t len) {
    char ours[64], theirs[64];
    int error;
    PCRE2_SIZE place;
    snprintf(ours, sizeof ours, "\\p{%s}+", name);
    snprintf(theirs, sizeof theirs, "\\p{sc:%s}+", name);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)theirs, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error,
                                     &place, nullptr);
    if (!code) return;  // A script that PCRE2 does not know yet.
    SbRegex *regex = compiled(ours);
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, nullptr);
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(data);
    for (size_t from = 0; from < len; from = bounds[1]) {
        int found = pcre2_match(code, (PCRE2_SPTR)text, len, from, 0, data, nullptr);
        SbRegexSpan span = {-1, -1};
        int32_t status = sb_regex_find(&call, regex, (SbStr){text, (int64_t)len}, (int64_t)from,
                                       &span);
        bool same = found < 0 ? status == SB_NULL
                              : span.begin == (int64_t)bounds[0] && span.end == (int64_t)bounds[1];
        CHECK_SAYS(same, "%s: %lld to %lld", name, (long long)span.begin, (long long)span.end);
        if (!same || found < 0) break;
    }
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    sb_regex_free(regex);
}

static void scripts_agree_with_pcre2(void) {
    enum { BYTES_MAX = 4 };
    size_t room = sizeof scripts / sizeof *scripts * 4 * BYTES_MAX;
    char *text = calloc(room + SB_SLACK, 1);
    size_t len = edges(text);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        bool first = !i || strcmp(scripts[i].name, scripts[i - 1].name) != 0;
        if (first) compare_script(scripts[i].name, text, len);
    }
    free(text);
}

// ---- against PCRE2 ------------------------------------------------------------------------------

static uint64_t seed;

static unsigned dice(unsigned sides) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % sides;
}

// A random pattern at the end of `out`. Repeats take only what cannot match nothing: Perl and RE2
// differ in how often an empty body runs. Returns whether it can match nothing.
static bool random_pattern(char *out, int depth) {
    static const char *const atoms[] = {"a", "b", "c", "é", "[ab]", "[^a]", ".", "\\w", "\\d", "ab",
                                        "\\pL", "[a-cé]", "(?i:B)", "\\s", "\\n", "[^\\w]", "1"};
    static const char *const asserts[] = {"^", "$", "\\b", "\\B", "(?m:^)", "(?m:$)", "\\A", "\\z"};
    static const char *const repeats[] = {"*",  "+",   "?",     "*?",    "+?",
                                          "??", "{2}", "{1,3}", "{0,2}?"};
    char *at = out + strlen(out);
    unsigned kind = depth > 3 ? 0 : dice(10);
    if (kind < 4) {
        strcat(at, atoms[dice(sizeof atoms / sizeof *atoms)]);
        return false;
    }
    if (kind == 4) {
        strcat(at, asserts[dice(sizeof asserts / sizeof *asserts)]);
        return true;
    }
    if (kind < 7) {
        bool empty = random_pattern(at, depth + 1);
        return random_pattern(at, depth + 1) && empty;
    }
    strcat(at, dice(2) ? "(" : "(?:");
    bool empty = random_pattern(at, depth + 1);
    if (kind == 7) {
        strcat(at, "|");
        if (dice(5)) empty |= random_pattern(at, depth + 1);
        else empty = true;
    }
    strcat(at, ")");
    if (kind < 9 || empty) return empty;
    unsigned repeat = dice(sizeof repeats / sizeof *repeats);
    strcat(at, repeats[repeat]);
    return repeat != 1 && repeat != 4 && repeat != 6 && repeat != 7;
}

static void random_text_of(char *out, unsigned pieces_max) {
    static const char *const pieces[] = {"a", "b", "c", "é", " ", "\n", "1", "B", "É", "_", "ab"};
    *out = 0;
    for (unsigned i = dice(pieces_max); i; i--)
        strcat(out, pieces[dice(sizeof pieces / sizeof *pieces)]);
}

static void random_text(char *out) { random_text_of(out, 12); }

static void compare_once(const SbRegex *regex, pcre2_code *code, const char *pattern,
                         const char *text) {
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, nullptr);
    int count = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, nullptr);
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(data);
    RegexSearch search = regex_search_of(&call, regex, str(text));
    SbRegexSpan span = {-1, -1};
    int32_t status = regex_search(&search, 0, &span);
    bool same = status == (count < 0 ? SB_NULL : SB_OK) &&
                (count < 0 ||
                 ((PCRE2_SIZE)span.begin == bounds[0] && (PCRE2_SIZE)span.end == bounds[1]));
    CHECK_SAYS(same, "pattern '%s' text '%s': %lld-%lld, PCRE2 %d %zd-%zd", pattern, text,
               (long long)span.begin, (long long)span.end, count,
               count < 0 ? -1 : (ssize_t)bounds[0], count < 0 ? -1 : (ssize_t)bounds[1]);
    int64_t slots[REGEX_SLOTS];
    if (same && status == SB_OK) {
        CHECK(regex_groups(&search, span, slots) == SB_OK && slots[1] == span.end);
        for (int i = 1; i < count; i++) {
            CHECK_SAYS(slots[2 * i] == (int64_t)bounds[2 * i] &&
                           slots[2 * i + 1] == (int64_t)bounds[2 * i + 1],
                       "pattern '%s' text '%s' group %d: %lld-%lld", pattern, text, i,
                       (long long)slots[2 * i], (long long)slots[2 * i + 1]);
        }
    }
    bool matches = false;
    CHECK_SAYS(sb_regex_matches(&call, str(text), regex, &matches) == SB_OK &&
                   matches == (count >= 0),
               "pattern '%s' text '%s': matches %d", pattern, text, matches);
    pcre2_match_data_free(data);
    sb_scratch_rewind(&call);
}

// All matches of a text, what replaces them, and the pieces between them, joined by bars.
static void put_all(char *out, const SbRegex *regex, SbStr text, const char *with) {
    SbList lists[2];
    SbStr replaced = {0};
    bool good = sb_regex_find_all(&call, text, regex, &lists[0]) == SB_OK &&
                sb_regex_split(&call, text, regex, &lists[1]) == SB_OK &&
                sb_regex_replace(&call, text, regex, str(with), &replaced) == SB_OK;
    int at = sprintf(out, "%d %.*s", good, (int)replaced.len, replaced.ptr);
    for (int k = 0; good && k < 2; k++)
        for (int64_t i = 0; i < lists[k].len; i++) {
            SbStr item = ((const SbStr *)lists[k].ptr)[i];
            at += sprintf(out + at, "|%.*s", (int)item.len, item.ptr);
        }
    sb_scratch_rewind(&call);
}

// Starts are looked for in blocks, groups by their places or by one pass, and runs by 64 bytes: the
// program alone has none of these.
static void long_texts_agree_with_the_program(void) {
    enum { PATTERNS = 1000, TEXTS = 6, PIECES = 120, ROOM = 8 * 1024 };
    static const char *const fixed[] = {
        "[ab]", "[a-c]+", "[a-c]+|[^a-c ]", "aab", "(a)(b+)", "^a", "(?i)b1", "c?(.)\\n",
        "\\w_[ab]", "a(b|c)*B", "[^a]B$", "a(.*?)b", "(a(b*)c)[ab]", "[ab](c)(.*)_", "((a))",
        "[a-c]{1,3}$", "(?:é|b)(?:a|1b)?$", "^a{0,3}$", "$", "(a|b$)c?$"};
    seed = 20261127;
    for (size_t i = 0; i < PATTERNS && unit_failures < 10; i++) {
        char pattern[4096] = "", text[512], table[ROOM], program[ROOM];
        if (i < sizeof fixed / sizeof *fixed) strcpy(pattern, fixed[i]);
        else random_pattern(pattern, 0);
        SbRegex *regex = compiled(pattern);
        for (int j = 0; regex && j < TEXTS; j++) {
            static const char *const withs[] = {"", "<>", "<$0$$", "much longer than it was "};
            const char *with = regex->group_count && dice(2) ? "($1)" : withs[dice(4)];
            const uint32_t flags = regex->flags, rows = regex->onepass.rows;
            const uint32_t places = regex->places, last_bytes = regex->last_bytes;
            random_text_of(text, PIECES);
            put_all(table, regex, str(text), with);
            regex->flags &= ~(REGEX_HAS_TABLE | REGEX_RUNS | REGEX_ANCHORED);
            regex->onepass.rows = regex->places = regex->last_bytes = 0;
            put_all(program, regex, str(text), with);
            CHECK_SAYS(strcmp(table, program) == 0, "pattern '%s' text '%s' with '%s':\n%s\n%s",
                       pattern, text, with, table, program);
            regex->flags = flags;
            regex->onepass.rows = rows;
            regex->places = places;
            regex->last_bytes = last_bytes;
        }
        sb_regex_free(regex);
    }
}

static void random_patterns_agree_with_pcre2(void) {
    enum { PATTERNS = 1000, TEXTS = 6 };
    seed = 20261121;
    for (int i = 0; i < PATTERNS && unit_failures < 10; i++) {
        char pattern[4096] = "", text[256];
        random_pattern(pattern, 0);
        int error;
        PCRE2_SIZE offset;
        pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                         PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX,
                                         &error, &offset, nullptr);
        SbRegex *regex = compiled(pattern);
        CHECK_SAYS(code, "%s", pattern);
        for (int round = 0; code && regex && round < 2; round++) {
            for (int j = 0; j < TEXTS; j++) {
                random_text(text);
                compare_once(regex, code, pattern, text);
            }
            regex->flags &= ~REGEX_HAS_TABLE;
        }
        pcre2_code_free(code);
        sb_regex_free(regex);
    }
}

static const UnitTest tests[] = {
    {"known_matches", known_matches},
    {"errors_name_their_place", errors_name_their_place},
    {"lists_hold_every_match", lists_hold_every_match},
    {"groups_and_replacements", groups_and_replacements},
    {"time_stays_linear", time_stays_linear},
    {"groups_have_names", groups_have_names},
    {"scripts_agree_with_pcre2", scripts_agree_with_pcre2},
    {"long_texts_agree_with_the_program", long_texts_agree_with_the_program},
    {"random_patterns_agree_with_pcre2", random_patterns_agree_with_pcre2},
};

int main(int argc, char **argv) {
    if (sb_scratch_open(&call, 1 << 16)) return 2;
    int status = unit_main("regex", tests, sizeof tests / sizeof *tests, argc, argv);
    sb_scratch_close(&call);
    return status;
}
