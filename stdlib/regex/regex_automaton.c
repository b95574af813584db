// Regex automaton: subset construction over the program, keeping the order of preference.
//
// A state is the list of instructions that wait for the next byte, most preferred first, taken
// before assertions are followed: those are judged when the next byte is known. So a state also
// holds what stood before (SbRegexBefore), and a match shows one byte late, in the state that the
// byte after it leads to. Instructions after a match are dropped: the match is preferred.
#include "stdlib/regex/regex_program.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORK_MAX = 40000000,  // Instructions looked at before the table is given up.
    SLOTS = 8192,         // Of the hash table of states.
    NO_STATE = -1,
};

typedef enum Next { NEXT_LINE, NEXT_WORD, NEXT_OTHER, NEXT_END, NEXTS } Next;

typedef struct State {
    uint32_t offset, count;  // Into Builder.pool.
    uint8_t  before;         // SbRegexBefore
    bool     matched;
    uint32_t *row;           // Column -> state.
} State;

typedef struct Builder {
    const RegexProgram *program;
    State    *states;
    size_t    state_count;
    uint32_t *pool;
    size_t    pool_count, pool_cap;
    int32_t  *slots;
    uint32_t *seen;          // By instruction: the last round that visited it.
    uint32_t  round;
    uint32_t *stack, *list, *kernel;  // Each with room for all instructions (stack: twice).
    uint32_t  list_count, kernel_count;
    bool      matched;       // The closure reached the end of the pattern.
    bool      sees[6];       // By SbRegexAssert: the program uses it.
    uint8_t   classes[256];
    uint8_t   sample[257];   // A byte of each class.
    uint32_t  columns;
    int64_t   work;
    bool      failed;
} Builder;

static bool is_word(uint32_t c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
}

static Next next_kind(uint8_t byte) {
    return byte == '\n' ? NEXT_LINE : is_word(byte) ? NEXT_WORD : NEXT_OTHER;
}

// ---- classes of bytes ---------------------------------------------------------------------------

static void classes_fill(Builder *b) {
    bool cut[257] = {true};
    for (size_t i = 0; i < b->program->range_count; i++) {
        cut[b->program->ranges[i].first] = true;
        cut[b->program->ranges[i].last + 1] = true;
    }
    for (size_t i = 0; i < b->program->inst_count; i++) {
        if (b->program->insts[i].op == REGEX_OP_ASSERT) b->sees[b->program->insts[i].b] = true;
    }
    bool words = b->sees[REGEX_WORD_EDGE] || b->sees[REGEX_NO_WORD_EDGE];
    bool lines = b->sees[REGEX_LINE_BEGIN] || b->sees[REGEX_LINE_END];
    uint32_t class = 0;
    for (uint32_t c = 0; c < 256; c++) {
        if (c && words && is_word(c) != is_word(c - 1)) cut[c] = true;
        if (lines && (c == '\n' || c == '\n' + 1)) cut[c] = true;
        if (c && cut[c]) class++;
        b->classes[c] = (uint8_t)class;
        b->sample[class] = (uint8_t)c;
    }
    b->columns = class + 2;  // And the end of the text.
}

// What stands before, as far as the pattern can tell.
static uint8_t before_seen(const Builder *b, SbRegexBefore before) {
    bool words = b->sees[REGEX_WORD_EDGE] || b->sees[REGEX_NO_WORD_EDGE];
    bool told = true;
    switch (before) {
    case REGEX_BEFORE_NOTHING:
        told = b->sees[REGEX_TEXT_BEGIN] || b->sees[REGEX_LINE_BEGIN];
        break;
    case REGEX_BEFORE_LINE: told = b->sees[REGEX_LINE_BEGIN]; break;
    case REGEX_BEFORE_WORD: told = words; break;
    case REGEX_BEFORE_OTHER: case REGEX_BEFORES: break;
    }
    return (uint8_t)(told ? before : REGEX_BEFORE_OTHER);
}

static uint8_t before_of(const Builder *b, Next next) {
    static const SbRegexBefore of[NEXTS] = {REGEX_BEFORE_LINE, REGEX_BEFORE_WORD,
                                            REGEX_BEFORE_OTHER, REGEX_BEFORE_OTHER};
    return before_seen(b, of[next]);
}

// ---- states -------------------------------------------------------------------------------------

static uint64_t state_hash(const uint32_t *kernel, size_t count, uint8_t before, bool matched) {
    uint64_t hash = 14695981039346656037u ^ (uint64_t)(before * 2 + matched);
    for (size_t i = 0; i < count; i++) hash = (hash ^ kernel[i]) * 1099511628211u;
    return hash ^ hash >> 29;
}

static bool state_add(Builder *b, uint8_t before, bool matched) {
    if (b->state_count >= REGEX_STATES_MAX ||
        (b->state_count + 1) * b->columns > REGEX_TABLE_MAX)
        return false;
    State *state = &b->states[b->state_count];
    *state = (State){.offset = (uint32_t)b->pool_count, .count = b->kernel_count,
                     .before = before, .matched = matched};
    for (uint32_t i = 0; i < b->kernel_count; i++) {
        if (!regex_grow(&b->pool, b->pool_count, &b->pool_cap, sizeof *b->pool)) return false;
        b->pool[b->pool_count++] = b->kernel[i];
    }
    state->row = calloc(b->columns, sizeof *state->row);
    b->state_count++;
    return state->row;
}

// The state of the kernel; a new one if there is none yet.
static uint32_t state_of(Builder *b, uint8_t before, bool matched) {
    if (!b->kernel_count) before = REGEX_BEFORE_OTHER;
    uint64_t slot = state_hash(b->kernel, b->kernel_count, before, matched);
    for (;; slot++) {
        int32_t at = b->slots[slot % SLOTS];
        if (at == NO_STATE) break;
        const State *state = &b->states[at];
        bool same = state->count == b->kernel_count && state->before == before &&
                    state->matched == matched &&
                    (!state->count || memcmp(b->pool + state->offset, b->kernel,
                                             state->count * sizeof *b->kernel) == 0);
        if (same) return (uint32_t)at;
    }
    if (!state_add(b, before, matched)) {
        b->failed = true;
        return 0;
    }
    b->slots[slot % SLOTS] = (int32_t)b->state_count - 1;
    return (uint32_t)b->state_count - 1;
}

// ---- transitions --------------------------------------------------------------------------------

static bool holds(SbRegexAssert assertion, uint8_t before, Next next) {
    bool edge = (before == REGEX_BEFORE_WORD) != (next == NEXT_WORD);
    switch (assertion) {
    case REGEX_TEXT_BEGIN: return before == REGEX_BEFORE_NOTHING;
    case REGEX_TEXT_END: return next == NEXT_END;
    case REGEX_LINE_BEGIN: return before == REGEX_BEFORE_NOTHING || before == REGEX_BEFORE_LINE;
    case REGEX_LINE_END: return next == NEXT_END || next == NEXT_LINE;
    case REGEX_WORD_EDGE: return edge;
    case REGEX_NO_WORD_EDGE: return !edge;
    }
    __builtin_trap();
}

// Follows `pc` to the instructions that take a byte. True: a match ends here.
static bool follow(Builder *b, uint32_t pc, uint8_t before, Next next) {
    size_t depth = 0;
    b->stack[depth++] = pc;
    while (depth) {
        pc = b->stack[--depth];
        if (b->seen[pc] == b->round) continue;
        b->seen[pc] = b->round;
        b->work++;
        const SbRegexInst *inst = &b->program->insts[pc];
        switch (inst->op) {
        case REGEX_OP_MATCH: return true;
        case REGEX_OP_RANGES: b->list[b->list_count++] = pc; break;
        case REGEX_OP_SAVE: b->stack[depth++] = inst->a; break;
        case REGEX_OP_ASSERT:
            if (holds((SbRegexAssert)inst->b, before, next)) b->stack[depth++] = inst->a;
            break;
        case REGEX_OP_SPLIT:
            b->stack[depth++] = inst->b;
            b->stack[depth++] = inst->a;
            break;
        }
    }
    return false;
}

static void closure(Builder *b, uint32_t id, Next next) {
    const State *state = &b->states[id];
    b->round++;
    b->list_count = 0;
    b->matched = false;
    for (uint32_t i = 0; i < state->count && !b->matched; i++) {
        b->matched = follow(b, b->pool[state->offset + i], state->before, next);
    }
}

// The kernel after the closure and `byte`.
static void step(Builder *b, uint8_t byte) {
    b->round++;
    b->kernel_count = 0;
    for (uint32_t i = 0; i < b->list_count; i++) {
        const SbRegexInst *inst = &b->program->insts[b->list[i]];
        for (uint32_t r = inst->a; r < inst->a + inst->b; r++) {
            const SbRegexByteRange *range = &b->program->ranges[r];
            b->work++;
            if (byte < range->first || byte > range->last) continue;
            if (b->seen[range->target] != b->round) b->kernel[b->kernel_count++] = range->target;
            b->seen[range->target] = b->round;
            break;
        }
    }
}

static void state_expand(Builder *b, uint32_t id) {
    for (int next = 0; next < NEXTS && !b->failed; next++) {
        closure(b, id, (Next)next);
        if (next == NEXT_END) {
            b->kernel_count = 0;
            b->states[id].row[b->columns - 1] = state_of(b, REGEX_BEFORE_OTHER, b->matched);
            break;
        }
        uint8_t before = before_of(b, (Next)next);
        for (uint32_t class = 0; class + 1 < b->columns && !b->failed; class++) {


            if (next_kind(b->sample[class]) != (Next)next) continue;
            step(b, b->sample[class]);
            b->states[id].row[class] = state_of(b, before, b->matched);
        }
    }
    if (b->work > WORK_MAX) b->failed = true;
}

static bool builder_open(Builder *b, const RegexProgram *program) {
    size_t insts = program->inst_count;
    *b = (Builder){.program = program};
    b->states = calloc(REGEX_STATES_MAX, sizeof *b->states);
    b->slots = malloc(SLOTS * sizeof *b->slots);
    b->seen = calloc(insts, sizeof *b->seen);
    b->stack = calloc(2 * insts + 2, sizeof *b->stack);
    b->list = calloc(insts, sizeof *b->list);
    b->kernel = calloc(insts, sizeof *b->kernel);
    if (!b->states || !b->slots || !b->seen || !b->stack || !b->list || !b->kernel) return false;
    for (int i = 0; i < SLOTS; i++) b->slots[i] = NO_STATE;
    classes_fill(b);
    return true;
}

static void builder_close(Builder *b) {
    for (size_t i = 0; i < b->state_count; i++) free(b->states[i].row);
    free(b->states);
    free(b->slots);
    free(b->seen);
    free(b->stack);
    free(b->list);
    free(b->kernel);
    free(b->pool);
}

static uint32_t state_begin(Builder *b, uint32_t pc, SbRegexBefore before) {
    b->kernel[0] = pc;
    b->kernel_count = 1;
    return state_of(b, before_seen(b, before), false);
}

// Numbers the states anew (plain, dead, matched, dead after a match) and fills the table.
static bool automaton_fill(const Builder *b, RegexAutomaton *out, const uint32_t dead[2]) {
    uint32_t *number = calloc(b->state_count, sizeof *number), count = 0;
    out->next = calloc(b->state_count * b->columns, sizeof *out->next);
    if (!number || !out->next) {
        free(number);
        free(out->next);
        return false;
    }
    for (int matched = 0; matched < 2; matched++) {
        for (uint32_t i = 0; i < b->state_count; i++) {
            if (b->states[i].matched == matched && i != dead[matched])
                number[i] = count++ * b->columns;
        }
        number[dead[matched]] = count++ * b->columns;
    }
    for (uint32_t i = 0; i < b->state_count; i++) {
        for (uint32_t c = 0; c < b->columns; c++) {
            out->next[number[i] + c] = number[b->states[i].row[c]];
        }
    }
    out->table.state_count = count;
    out->table.columns = b->columns;
    out->table.dead = number[dead[0]];
    out->table.dead_match = number[dead[1]];
    for (int i = 0; i < REGEX_BEFORES; i++) {
        out->table.begin[i] = number[out->table.begin[i]];
        out->table.find[i] = number[out->table.find[i]];
    }
    memcpy(out->classes, b->classes, sizeof out->classes);
    free(number);
    return true;
}

bool regex_automaton_build(RegexAutomaton *automaton, const RegexProgram *program) {
    Builder b;
    *automaton = (RegexAutomaton){0};
    bool good = builder_open(&b, program);
    if (good) {
        uint32_t dead[2];
        b.kernel_count = 0;
        dead[0] = state_of(&b, REGEX_BEFORE_OTHER, false);
        dead[1] = state_of(&b, REGEX_BEFORE_OTHER, true);
        for (int i = 0; i < REGEX_BEFORES; i++) {
            automaton->table.begin[i] = state_begin(&b, program->begin, (SbRegexBefore)i);
            automaton->table.find[i] = state_begin(&b, program->find, (SbRegexBefore)i);
        }
        for (uint32_t i = 0; i < b.state_count && !b.failed; i++) state_expand(&b, i);
        good = !b.failed && automaton_fill(&b, automaton, dead);
    }
    builder_close(&b);
    return good;
}
