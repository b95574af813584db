// Fuzzes regular expressions: any bytes as a pattern and a text. The automaton and the program
// must agree on every match, and so must runs that are found 64 bytes at a time. Nothing may be
// read beyond the text and its slack.
//
//     ONLY=regex tests/fuzz/run.sh [SECONDS]
#include "runtime/memory/scratch.h"
#include "stdlib/regex/cut.h"
#include "stdlib/regex/regex_match.h"
#include "stdlib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good) {
    if (!good) abort();
}

// Every match of the text, one after the other; returns a hash of their bounds.
static uint64_t walk(SbCall *call, const SbRegex *regex, SbStr text) {
    RegexSearch search = regex_search_of(call, regex, text);
    SbRegexSpan span;
    uint64_t hash = 1;
    for (int64_t from = 0; from <= text.len;) {
        int32_t status = regex_search(&search, from, &span);
        if (status == SB_NULL) break;
        if (status) return 0;
        check(span.begin >= from && span.end >= span.begin && span.end <= text.len);
        int64_t slots[REGEX_SLOTS];
        check(regex_groups(&search, span, slots) == SB_OK && slots[1] == span.end);
        for (uint32_t i = 0; i < 2 * regex->group_count + 2; i++)
            hash = hash * 1099511628211u + (uint64_t)slots[i];
        hash = hash * 1099511628211u + (uint64_t)(span.begin * 4096 + span.end);
        from = span.end > span.begin ? span.end : span.end + 1;
        while (from < text.len && !regex_at_edge(text, from)) from++;
    }
    return hash;
}

// The pieces of a pattern of runs, in a list and one by one, are what a search finds.
static void runs(SbCall *call, const SbRegex *regex, SbStr text, SbList list) {
    RegexSearch search = regex_search_of(call, regex, text);
    SbRegexSpan span = {0};
    SbCut cut;
    sb_cut_start(&cut, text);
    const SbStr *pieces = list.ptr;
    int64_t count = 0, counted;
    for (; regex_search(&search, span.end, &span) == SB_OK; count++) {
        const char *begin = text.ptr + span.begin;
        check(count < list.len && pieces[count].ptr == begin);
        check(pieces[count].len == span.end - span.begin);
        check(cut.edges || sb_regex_find_all_look(&cut, text, regex));
        sb_regex_find_all_take(&cut, text, regex);
        check(cut.piece.ptr == begin && cut.piece.len == span.end - span.begin);
    }
    check(count == list.len && !cut.edges && !sb_regex_find_all_look(&cut, text, regex));
    check(sb_regex_count(call, text, regex, &counted) == SB_OK && counted == count);
}

static void match(SbRegex *regex, SbStr text) {
    SbCall call;
    bool found = false, by_program = false, full;
    SbList list;
    check(sb_scratch_open(&call, 1 << 16) == SB_OK);
    uint64_t by_table = walk(&call, regex, text);
    check(sb_regex_matches(&call, text, regex, &found) != SB_NULL);
    check(sb_regex_full_match(&call, text, regex, &full) != SB_NULL);
    check(sb_regex_find_all(&call, text, regex, &list) != SB_NULL);
    if (regex->flags & REGEX_RUNS) runs(&call, regex, text, list);
    regex->flags &= ~(uint32_t)REGEX_HAS_TABLE;
    regex->places = regex->onepass.rows = regex->last_bytes = 0;
    uint64_t again = walk(&call, regex, text);
    check(!by_table || !again || by_table == again);
    if (sb_regex_matches(&call, text, regex, &by_program) == SB_OK) check(found == by_program);
    sb_scratch_close(&call);
}

// The first byte says how long the pattern is; the rest is the text.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    size_t cut = data[0] < size - 1 ? data[0] : size - 1;
    SbRegexError error = {.position = -1};
    SbRegex *regex = sb_regex_compile((const char *)data + 1, (int64_t)cut, &error);
    if (!regex) {
        check(error.position >= 0 && error.position <= (int64_t)cut && error.message[0]);
        return 0;
    }
    int64_t len = (int64_t)(size - 1 - cut);
    char *text = calloc(1, (size_t)len + SB_SLACK);
    check(text);
    memcpy(text, data + 1 + cut, (size_t)len);
    if (sb_utf8_valid(text, len)) match(regex, (SbStr){text, len});
    free(text);
    sb_regex_free(regex);
    return 0;
}
