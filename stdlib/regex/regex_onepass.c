// Regex onepass: the table of a pattern in which the next byte always says which way to go. Then
// one walk along a match tells where its groups are (after RE2's onepass.cc).
#include "stdlib/regex/regex_program.h"

#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_MAX = 4096,
    GROUPS_MAX = 15,  // Their slots are bits of a word.
};

typedef struct Way {  // Go on at `pc`, with these slots noted since the last byte.
    uint32_t pc, slots;
} Way;

typedef struct Builder {
    const RegexProgram *program;
    const RegexAutomaton *automaton;
    uint8_t   sample[256];  // A byte of each class.
    uint32_t *state_at;     // By instruction: its state plus 1; 0: none yet.
    uint32_t *starts;       // By state: its instruction.
    uint32_t *seen;         // By instruction: the last round that visited it.
    Way      *ways;
    SbRegexStep *rows;
    uint32_t  count, columns;
} Builder;

// The state that begins at the instruction; UINT32_MAX: too many.
static uint32_t state_of(Builder *b, uint32_t pc) {
    if (b->state_at[pc]) return b->state_at[pc] - 1;
    if ((b->count + 1) * b->columns > ENTRIES_MAX) return UINT32_MAX;
    b->starts[b->count] = pc;
    b->state_at[pc] = ++b->count;
    return b->count - 1;
}

// Adds the ways of one instruction to the row. False: a byte has two.
static bool add_ranges(Builder *b, SbRegexStep *row, const SbRegexInst *inst, uint32_t slots) {
    for (uint32_t r = inst->a; r < inst->a + inst->b; r++) {
        const SbRegexByteRange *range = &b->program->ranges[r];
        const uint32_t state = state_of(b, range->target);
        if (state == UINT32_MAX) return false;
        for (uint32_t class = 0; class + 1 < b->columns; class++) {
            if (b->sample[class] < range->first || b->sample[class] > range->last) continue;
            if (row[class].state) return false;
            row[class] = (SbRegexStep){state * b->columns + 1, slots};
        }
    }
    return true;
}

// Fills the row of a state. False: two ways lead on, or an assertion would have to be judged.
static bool fill(Builder *b, uint32_t state) {
    SbRegexStep *row = &b->rows[state * b->columns];
    size_t depth = 0;
    b->ways[depth++] = (Way){b->starts[state], 0};
    while (depth) {
        const Way way = b->ways[--depth];
        const SbRegexInst *inst = &b->program->insts[way.pc];
        if (b->seen[way.pc] == state + 1) return false;
        b->seen[way.pc] = state + 1;
        switch (inst->op) {
        case REGEX_OP_ASSERT: return false;
        case REGEX_OP_MATCH: row[b->columns - 1] = (SbRegexStep){1, way.slots}; break;
        case REGEX_OP_SAVE:
            b->ways[depth++] = (Way){inst->a, way.slots | UINT32_C(1) << inst->b};
            break;
        case REGEX_OP_SPLIT:
            b->ways[depth++] = (Way){inst->b, way.slots};
            b->ways[depth++] = (Way){inst->a, way.slots};
            break;
        case REGEX_OP_RANGES:
            if (!add_ranges(b, row, inst, way.slots)) return false;
            break;
        }
    }
    return true;
}

SbRegexStep *regex_onepass_build(const RegexProgram *program, const RegexAutomaton *automaton,
                                 uint32_t group_count, uint32_t *count) {
    if (!group_count || group_count > GROUPS_MAX) return nullptr;
    Builder b = {.program = program, .automaton = automaton, .columns = automaton->table.columns};
    for (uint32_t c = 0; c < 256; c++) b.sample[automaton->classes[c]] = (uint8_t)c;
    b.state_at = calloc(program->inst_count, sizeof *b.state_at);
    b.starts = calloc(program->inst_count, sizeof *b.starts);
    b.seen = calloc(program->inst_count, sizeof *b.seen);
    b.ways = calloc(2 * program->inst_count + 2, sizeof *b.ways);
    b.rows = calloc(ENTRIES_MAX, sizeof *b.rows);
    bool good = b.state_at && b.starts && b.seen && b.ways && b.rows &&
                state_of(&b, program->begin) != UINT32_MAX;
    for (uint32_t state = 0; good && state < b.count; state++) good = fill(&b, state);
    free(b.state_at);
    free(b.starts);
    free(b.seen);
    free(b.ways);
    *count = b.count * b.columns;
    if (good) return b.rows;
    free(b.rows);
    return nullptr;
}
