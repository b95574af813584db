// Regex program: a pattern's tree to instructions over bytes, and those to an automaton.
#ifndef SBC_STDLIB_REGEX_PROGRAM_H
#define SBC_STDLIB_REGEX_PROGRAM_H

#include "stdlib/regex/regex_syntax.h"

typedef struct RegexProgram {
    SbRegexInst      *insts;
    size_t            inst_count, inst_cap;
    SbRegexByteRange *ranges;
    size_t            range_count, range_cap;
    uint32_t begin;    // A match begins here.
    uint32_t find;     // A match begins here, or after any number of other characters.
    bool     failed;   // Out of memory or of instructions.
} RegexProgram;

// False: too large, or out of memory.
bool regex_program_build(RegexProgram *program, const RegexTree *tree);
void regex_program_free(RegexProgram *program);

// The automaton in its final form; `next` has state_count * columns entries.
typedef struct RegexAutomaton {
    SbRegexTable table;     // Without the offsets.
    uint8_t      classes[256];
    uint32_t    *next;
} RegexAutomaton;

// False: more states than a table may have, or out of memory; nothing to free then.
bool regex_automaton_build(RegexAutomaton *automaton, const RegexProgram *program);

// Bytes that can begin a match go to `first`; returns whether a match can be empty.
bool regex_first_bytes(const RegexProgram *program, uint8_t first[256]);

// What can stand at the first places of a match. REGEX_MANY_STARTS, REGEX_EXACT_STARTS.
uint32_t regex_starts_of(const RegexProgram *program, SbRegexStarts *starts);

// Does a match begin at the start of the text or nowhere?
bool regex_is_anchored(const RegexProgram *program);

// The `count` entries of the pattern's table for groups, to be freed; nullptr: it has no groups, or
// there are bytes after which two ways lead on.
SbRegexStep *regex_onepass_build(const RegexProgram *program, const RegexAutomaton *automaton,
                                 uint32_t group_count, uint32_t *count);

// SbRegex.last_bytes.
uint32_t regex_last_bytes(const RegexTree *tree);
// Fills the places of all groups, two of each: 2 * group_count + 2. False: there is no group, or
// one has none.
bool regex_places_of(const RegexTree *tree, SbRegexPlace *places);

#endif
