// Regex: RE2 patterns, compiled to one constant block of bytes and matched by walking its tables.
//
// sb_regex_compile runs in the compiler. Its result has no pointers inside, only offsets from its
// start. So the code generator emits the `bytes` bytes as one constant, aligned to 16. The
// interpreter uses them as they are. While the automaton stays within REGEX_STATES_MAX states,
// finding the bounds of a match is a walk through its table. Larger patterns, groups and the rare
// texts on which repeated walks would not be linear run the program itself, which visits each
// (instruction, position) once. Where those are more than REGEX_VISITS_MAX, the result is
// SB_FAULT_REGEX_LIMIT. No pattern and no text takes more than linear time.
//
// The text is UTF-8. Matches are leftmost-first, as in RE2 and Perl: of the matches that begin
// leftmost, the one that the pattern prefers. docs: stdlib/regex/README.md.
#ifndef SBC_STDLIB_REGEX_H
#define SBC_STDLIB_REGEX_H

#include "runtime/abi/call.h"

enum {
    REGEX_VERSION = 7,
    REGEX_STATES_MAX = 2000,
    REGEX_TABLE_MAX = 128 * 1024,   // Entries: states times columns.
    REGEX_INSTS_MAX = 20000,
    REGEX_VISITS_MAX = 1 << 28,
    REGEX_PATTERN_MAX = 10000,  // Bytes of a pattern.
    REGEX_REPEAT_MAX = 1000,    // In x{n,m}, as in RE2.
    REGEX_GROUPS_MAX = 99,
};

enum : uint32_t {
    REGEX_HAS_TABLE = 1u << 0,  // The automaton is there; else only the program.
    REGEX_RUNS = 1u << 1,       // Bytes alone tell where matches are: SbRegexRuns.
    REGEX_CAN_BE_EMPTY = 1u << 2,
    REGEX_ANCHORED = 1u << 3,   // A match begins at the start of the text or nowhere.
    REGEX_MANY_STARTS = 1u << 4,  // Most bytes can begin a match.
    REGEX_EXACT_STARTS = 1u << 5,  // Places of starts are all of a match, and it has no others.
};

typedef enum SbRegexBefore {  // What stands before the next byte.
    REGEX_BEFORE_NOTHING,     // The edge of the text.
    REGEX_BEFORE_LINE,        // "\n"
    REGEX_BEFORE_WORD,        // [0-9A-Za-z_]
    REGEX_BEFORE_OTHER,
    REGEX_BEFORES,
} SbRegexBefore;

// The automaton. A state is the index of its row in `next`; the state after `byte` is
// next[state + class_of[byte]], after the end of the text next[state + columns - 1]. States from
// `dead` on are special: `dead` itself, then states that say that a match ended. It ended just
// before the byte that led to the state. From the last one, `dead_match`, there is no way on.
typedef struct SbRegexTable {
    uint32_t classes;      // Offset of uint8_t[256].
    uint32_t next;         // Offset of uint32_t[state_count * columns].
    uint32_t columns, state_count;
    uint32_t dead, dead_match;
    uint32_t begin[REGEX_BEFORES];  // First states of a search for a match that begins here.
    uint32_t find[REGEX_BEFORES];   // First states of a search for a match that begins here or
                                    // later.
} SbRegexTable;

// The program that the automaton came from; also run directly (stdlib/regex/regex_backtrack.c).
typedef enum SbRegexOp : uint32_t {
    REGEX_OP_RANGES,  // The next byte selects one of ranges[a .. a + b), sorted; none: fail.
    REGEX_OP_SPLIT,   // Go on at a; if that fails, at b.
    REGEX_OP_SAVE,    // Note the position in slot b, go on at a.
    REGEX_OP_ASSERT,  // Go on at a if assertion b holds.
    REGEX_OP_MATCH,
} SbRegexOp;

typedef enum SbRegexAssert {
    REGEX_TEXT_BEGIN,
    REGEX_TEXT_END,
    REGEX_LINE_BEGIN,
    REGEX_LINE_END,
    REGEX_WORD_EDGE,
    REGEX_NO_WORD_EDGE,
} SbRegexAssert;

typedef struct SbRegexInst {
    SbRegexOp op;
    uint32_t  a, b;
} SbRegexInst;

typedef struct SbRegexByteRange {
    uint8_t  first, last;
    uint32_t target;
} SbRegexByteRange;

typedef struct SbRegexName {
    uint32_t text, len;  // Offset in the block.
    uint32_t group;
} SbRegexName;

// What can stand at the first places of a match (stdlib/regex/regex_starts.h). A byte of ASCII is
// in the set of place k where low[k][byte & 15] has the bit of its high half, byte >> 4. All other
// bytes share bit 0.
enum { REGEX_STARTS = 3 };

typedef struct SbRegexStarts {
    uint32_t count;  // Places; 0 where a match can be empty. No match has fewer bytes.
    uint8_t  low[REGEX_STARTS][16];
} SbRegexStarts;

// Groups of a pattern in which the next byte always says which way to go ("one-pass", after RE2's
// onepass.cc). A state is the index of its row; a row has an entry for each class of the automaton,
// and one for the end of the match.
typedef struct SbRegexOnepass {
    uint32_t rows;     // Offset of SbRegexStep[]; 0: the pattern is none of these.
    uint32_t columns;
} SbRegexOnepass;

typedef struct SbRegexStep {
    uint32_t state;  // The row that comes next, plus 1; 0: no way.
    uint32_t slots;  // Bit k: the place of the byte goes to slot k.
} SbRegexStep;

// Where a group begins or ends, if that is known of each match: bytes after its begin, or before
// its end (stdlib/regex/regex_places.c).
typedef struct SbRegexPlace {
    uint32_t bytes, from_end;
} SbRegexPlace;

// A part of a replacement: a piece of its text, and the group that comes after it.
typedef struct SbRegexPiece {
    uint32_t begin, len;
    int32_t  group;  // -1: none.
} SbRegexPiece;

// A pattern like [a-z0-9]+|[^a-z0-9 ]: runs of sets, and single characters of one more set. Each
// byte of a character tells which set the character is in, and no character is in two of them. So
// matches are where runs of a set begin and end, and where single characters do. 64 bytes are
// looked at together (stdlib/regex/regex_runs.h).
enum { REGEX_RUN_SETS = 4, REGEX_RUN_RANGES = 16 };

typedef struct SbRegexRuns {
    uint32_t set_count;                // Of runs.
    uint32_t range_count;              // Of all sets.
    uint32_t single_count;             // Ranges of single characters: the first ones.
    uint32_t run_ends[REGEX_RUN_SETS]; // Where the ranges of each set of runs end.
    uint8_t  first[REGEX_RUN_RANGES], span[REGEX_RUN_RANGES];  // (uint8_t)(c - first) <= span.
} SbRegexRuns;

typedef struct SbRegex {
    uint32_t version;
    uint32_t bytes;           // Of the whole block.
    uint32_t flags;
    uint32_t group_count;     // Without group 0, the whole match.
    uint32_t insts, inst_count, inst_begin;  // Offset of SbRegexInst[]; where a match begins.
    uint32_t ranges, range_count;            // Offset of SbRegexByteRange[].
    uint32_t names, name_count;              // Offset of SbRegexName[].
    uint8_t  first[256];      // 1: the byte can begin a match, or a match can be empty.
    SbRegexRuns  runs;        // REGEX_RUNS
    SbRegexStarts starts;
    uint32_t last_bytes;      // So many last bytes, less one, of a text may begin a match; 0: all.
    uint32_t places;          // Offset of SbRegexPlace[], by slot; 0: some group has none.
    uint32_t pieces, piece_count;  // Offset of SbRegexPiece[]; 0: replacements are not known yet.
    SbRegexOnepass onepass;
    SbRegexTable table;
} SbRegex;

typedef struct SbRegexError {
    int64_t position;        // In the pattern, bytes.
    char    message[120];    // Lower case, without a full stop.
} SbRegexError;

// The block for a pattern, or nullptr after filling `error`. Free it with sb_regex_free.
SbRegex *sb_regex_compile(const char *pattern, int64_t len, SbRegexError *error);
void sb_regex_free(SbRegex *regex);

bool    sb_regex_has_group(const SbRegex *regex, int64_t group);
int64_t sb_regex_group_named(const SbRegex *regex, SbStr name);  // -1: there is none.
// The same block for one replacement alone, which has no fault: functions that replace need not
// read it. Frees the other one. nullptr: out of memory, and it is freed too.
SbRegex *sb_regex_with(SbRegex *regex, SbStr with);
// Where a replacement has a $ before neither a group of the pattern nor another $, or -1. Does it
// name a group above 0?
int64_t sb_regex_replacement_fault(const SbRegex *regex, SbStr with, bool *has_groups);

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
int32_t sb_regex_extract_named(SbCall *call, SbStr text, const SbRegex *regex, SbStr name,
                               SbStr *out);
int32_t sb_regex_groups(SbCall *call, SbStr text, const SbRegex *regex, SbList *out);
int32_t sb_regex_find_all(SbCall *call, SbStr text, const SbRegex *regex, SbList *out);
int32_t sb_regex_find_all_group(SbCall *call, SbStr text, const SbRegex *regex, int64_t group,
                                SbList *out);
int32_t sb_regex_find_all_named(SbCall *call, SbStr text, const SbRegex *regex, SbStr name,
                                SbList *out);
int32_t sb_regex_count(SbCall *call, SbStr text, const SbRegex *regex, int64_t *out);
int32_t sb_regex_index(SbCall *call, SbStr text, const SbRegex *regex, int64_t *out);
int32_t sb_regex_replace(SbCall *call, SbStr text, const SbRegex *regex, SbStr with, SbStr *out);
int32_t sb_regex_replace_first(SbCall *call, SbStr text, const SbRegex *regex, SbStr with,
                               SbStr *out);
int32_t sb_regex_split(SbCall *call, SbStr text, const SbRegex *regex, SbList *out);

#endif
