// Regex match: one text searched again and again, the state after find_all, split and replace.
#ifndef SBC_STDLIB_REGEX_MATCH_H
#define SBC_STDLIB_REGEX_MATCH_H

#include "stdlib/regex/regex.h"

enum { REGEX_SLOTS = 2 * (REGEX_GROUPS_MAX + 1) };

typedef struct RegexSearch {
    SbCall        *call;
    const SbRegex *regex;
    SbStr          text;
    int64_t        begin, end;  // Matches are looked for in text[begin, end).
    int64_t        wasted;   // Bytes walked beyond what matches covered.
    uint64_t      *visited;  // One bit for each (position, instruction), once backtracking began.
    bool           backtracks;
    int64_t        block;    // Where the starts at hand were looked for; -1: nowhere yet.
    uint32_t       starts;   // Bit i: a match may begin at block + i.
} RegexSearch;

static inline RegexSearch regex_search_of(SbCall *call, const SbRegex *regex, SbStr text) {
    return (RegexSearch){.call = call, .regex = regex, .text = text, .end = text.len,
                         .block = -1};
}

// The next match that begins at or after `from`: SB_OK, SB_NULL or SB_FAULT_REGEX_LIMIT.
int32_t regex_search(RegexSearch *search, int64_t from, SbRegexSpan *span);

// Runs the program from `from`, in the positions after it too unless `anchored`. Fills the bounds
// of groups (-1: not taken part) in slots[0 .. 2 * group_count + 2). `to_end`: only a match that
// ends at search->end counts.
typedef struct RegexBacktrack {
    int64_t from;
    bool    anchored, to_end;
    int64_t *slots;
} RegexBacktrack;

int32_t regex_backtrack(RegexSearch *search, const RegexBacktrack *run);

// The bounds of the groups of a match that regex_search found: slots[2 * group], [2 * group + 1].
int32_t regex_groups(const RegexSearch *search, SbRegexSpan span, int64_t slots[REGEX_SLOTS]);

// The pieces of a replacement at most, and these. SB_FAULT_BAD_ARGUMENT: it names no group of the
// pattern.
int64_t regex_count_pieces(SbStr with);
int32_t regex_read_pieces(const SbRegex *regex, SbStr with, SbRegexPiece *pieces, uint32_t *count);

static inline bool regex_is_word(uint8_t c) {
    return (uint8_t)(c - '0') < 10 || (uint8_t)((c | 0x20) - 'a') < 26 || c == '_';
}

static inline SbRegexBefore regex_before(SbStr text, int64_t at) {
    if (at == 0) return REGEX_BEFORE_NOTHING;
    uint8_t c = (uint8_t)text.ptr[at - 1];
    return c == '\n'          ? REGEX_BEFORE_LINE
           : regex_is_word(c) ? REGEX_BEFORE_WORD
                              : REGEX_BEFORE_OTHER;
}

// Between two characters, not inside one.
static inline bool regex_at_edge(SbStr text, int64_t at) {
    return at >= text.len || ((uint8_t)text.ptr[at] & 0xc0) != 0x80;
}

#endif
