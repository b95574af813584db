// Regex: RE2 patterns, compiled to one constant block of bytes and matched by walking its tables.
//
// sb_regex_compile runs in the compiler. Its result has no pointers inside, only offsets from its
// start, so the code generator emits the `bytes` bytes as one constant, aligned to 16, and the
// interpreter uses them as they are. While the pattern's automata stay within REGEX_STATES_MAX
// states, finding bounds is a table walk of linear time per match; a larger pattern, and groups,
// run PCRE2 with a match limit (stdlib/regex_pcre.c), whose overrun is SB_FAULT_REGEX_LIMIT.
//
// The text is UTF-8. Matches are leftmost-first, as in RE2 and Perl: of the matches that begin
// leftmost, the one that the pattern prefers. docs: stdlib/README.md, Regular expressions.
#ifndef SBC_STDLIB_REGEX_H
#define SBC_STDLIB_REGEX_H

#include "runtime/abi.h"

enum {
    REGEX_VERSION = 1,
    REGEX_STATES_MAX = 2000,    // Of both automata together.
    REGEX_PATTERN_MAX = 10000,  // Bytes of a pattern.
    REGEX_REPEAT_MAX = 1000,    // In x{n,m}, as in RE2.
    REGEX_GROUPS_MAX = 99,
};

enum : uint32_t {
    REGEX_HAS_TABLES = 1u << 0,  // The automata are there; else only the pattern's text.
    REGEX_RUNS = 1u << 1,        // The pattern is [set]+ over ASCII: `set` holds its bytes.
    REGEX_ANCHORED = 1u << 2,    // A match can begin only at the start of the text.
};

// One automaton: next state = table[state * columns + class_of[byte]], column `columns - 1` being
// the end of the text. State 0 is dead. A state >= match_first says that a match ended just before
// the byte that led to it (of a reversed automaton: begins behind that byte).
typedef struct SbRegexTable {
    uint32_t classes;      // Offset of 256 bytes.
    uint32_t next;         // Offset of uint16_t[state_count * columns].
    uint32_t columns;
    uint32_t state_count;
    uint32_t match_first;
    uint16_t start[5];     // By what stands before the first byte: SbRegexBefore.
    uint16_t find[5];      // Forward only: the same with any prefix allowed.
} SbRegexTable;

typedef enum SbRegexBefore {
    REGEX_BEFORE_NOTHING,  // The edge of the text.
    REGEX_BEFORE_LINE,     // "\n"
    REGEX_BEFORE_WORD,     // [0-9A-Za-z_]
    REGEX_BEFORE_OTHER,
} SbRegexBefore;

typedef struct SbRegex {
    uint32_t version;
    uint32_t bytes;          // Of the whole block.
    uint32_t flags;
    uint32_t group_count;    // Without group 0.
    uint32_t pattern;        // Offset of the text for PCRE2.
    uint32_t pattern_bytes;
    uint8_t  first[32];      // Bit set of bytes that can begin a match; all ones if one can be empty.
    uint8_t  set[32];        // REGEX_RUNS.
    SbRegexTable forward, reverse;
} SbRegex;

typedef struct SbRegexError {
    int64_t position;        // In the pattern, bytes.
    char    message[120];    // Lower case, without a full stop.
} SbRegexError;

// The block for a pattern, or nullptr after filling `error`. Free it with sb_regex_free.
SbRegex *sb_regex_compile(const char *pattern, int64_t len, SbRegexError *error);
void sb_regex_free(SbRegex *regex);

// Bounds of a match: text[begin, end).
typedef struct SbRegexSpan {
    int64_t begin, end;
} SbRegexSpan;

// The first match that begins at or after `from`. SB_OK, SB_NULL (none) or SB_FAULT_REGEX_LIMIT.
int32_t sb_regex_find(SbCall *call, const SbRegex *regex, SbStr text, int64_t from,
                      SbRegexSpan *span);

// ---- functions of the language ----------------------------------------------------------------

int32_t sb_regex_matches(SbCall *call, SbStr text, const SbRegex *regex, bool *out);
int32_t sb_regex_full_match(SbCall *call, SbStr text, const SbRegex *regex, bool *out);
int32_t sb_regex_extract(SbCall *call, SbStr text, const SbRegex *regex, SbStr *out);
int32_t sb_regex_extract_group(SbCall *call, SbStr text, const SbRegex *regex, int64_t group,
                               SbStr *out);
int32_t sb_regex_find_all(SbCall *call, SbStr text, const SbRegex *regex, SbList *out);
int32_t sb_regex_find_all_group(SbCall *call, SbStr text, const SbRegex *regex, int64_t group,
                                SbList *out);
int32_t sb_regex_count(SbCall *call, SbStr text, const SbRegex *regex, int64_t *out);
int32_t sb_regex_index(SbCall *call, SbStr text, const SbRegex *regex, int64_t *out);
int32_t sb_regex_replace(SbCall *call, SbStr text, const SbRegex *regex, SbStr with, SbStr *out);
int32_t sb_regex_replace_first(SbCall *call, SbStr text, const SbRegex *regex, SbStr with,
                               SbStr *out);
int32_t sb_regex_split(SbCall *call, SbStr text, const SbRegex *regex, SbList *out);

#endif
