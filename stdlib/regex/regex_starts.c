// Regex starts: what can stand at the first places of a match, found by following the program.
#include "stdlib/regex/regex_program.h"

#include <stdlib.h>
#include <string.h>

// Instructions at which a match may be after so many bytes.
typedef struct Front {
    uint8_t  *in;     // By instruction.
    uint32_t *list;
    uint32_t  count;
} Front;

static void front_add(Front *front, uint32_t pc) {
    if (front->in[pc]) return;
    front->in[pc] = 1;
    front->list[front->count++] = pc;
}

// Follows the front to instructions that take a byte; assertions count as if they held. Adds the
// bytes to `bytes` and what comes after them to `after`. False: a match may end here.
static bool front_step(const RegexProgram *program, Front *front, Front *after,
                       uint8_t bytes[256]) {
    for (uint32_t i = 0; i < front->count; i++) {
        const SbRegexInst *inst = &program->insts[front->list[i]];
        switch (inst->op) {
        case REGEX_OP_MATCH: return false;
        case REGEX_OP_SAVE: case REGEX_OP_ASSERT: front_add(front, inst->a); break;
        case REGEX_OP_SPLIT:
            front_add(front, inst->a);
            front_add(front, inst->b);
            break;
        case REGEX_OP_RANGES:
            for (uint32_t r = inst->a; r < inst->a + inst->b; r++) {
                const SbRegexByteRange *range = &program->ranges[r];
                memset(bytes + range->first, 1, (size_t)(range->last - range->first + 1));
                front_add(after, range->target);
            }
            break;
        }
    }
    return true;
}

static void set_low(uint8_t low[16], const uint8_t bytes[256]) {
    for (uint32_t c = 0; c < 256; c++)
        if (bytes[c]) low[c & 15] |= (uint8_t)(c < 0x80 ? 1u << (c >> 4) : 1u);
}

// Does one way alone lead on from a front that was followed: by an instruction of this kind, with
// nothing asked about?
static bool is_single(const RegexProgram *program, const Front *front, SbRegexOp op) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < front->count; i++) {
        const SbRegexInst *inst = &program->insts[front->list[i]];
        if (inst->op == REGEX_OP_SAVE) continue;
        if (inst->op != op) return false;
        count++;
    }
    return count == 1;
}

// Does `low` of the set hold these bytes alone? All bytes share bit 0 but those of this range.
static bool is_exact_set(const uint8_t bytes[256]) {
    for (uint32_t c = 0; c < 256; c++)
        if (bytes[c] && (c < 0x10 || c >= 0x80)) return false;
    return true;
}

// The places of starts, until a match may end or there are enough.
static void follow_starts(const RegexProgram *program, Front fronts[2], SbRegexStarts *starts,
                          uint32_t *flags) {
    bool exact = true;
    front_add(&fronts[0], program->begin);
    for (;;) {
        Front *front = &fronts[starts->count % 2], *after = &fronts[(starts->count + 1) % 2];
        uint8_t bytes[256] = {0};
        memset(after->in, 0, program->inst_count);
        after->count = 0;
        const bool goes_on = front_step(program, front, after, bytes);
        if (!goes_on) exact &= is_single(program, front, REGEX_OP_MATCH) && starts->count > 0;
        if (!goes_on || starts->count == REGEX_STARTS) {
            if (exact && !goes_on) *flags |= REGEX_EXACT_STARTS;
            return;
        }
        exact &= is_single(program, front, REGEX_OP_RANGES) && after->count == 1 &&
                 is_exact_set(bytes);
        uint32_t all = 0;
        for (uint32_t c = 0; c < 0x80; c++) all += bytes[c];
        if (!starts->count && all >= 0x80 / 2) *flags |= REGEX_MANY_STARTS;
        set_low(starts->low[starts->count++], bytes);
    }
}

uint32_t regex_starts_of(const RegexProgram *program, SbRegexStarts *starts) {
    Front fronts[2];
    uint32_t flags = 0;
    bool good = true;
    *starts = (SbRegexStarts){0};
    for (int i = 0; i < 2; i++) {
        fronts[i] = (Front){calloc(program->inst_count, 1),
                            calloc(program->inst_count, sizeof(uint32_t)), 0};
        good &= fronts[i].in && fronts[i].list;
    }
    if (good) follow_starts(program, fronts, starts, &flags);
    for (int i = 0; i < 2; i++) {
        free(fronts[i].in);
        free(fronts[i].list);
    }
    return flags;
}

// Does every way from `pc` ask for the start of the text before it takes a byte or ends?
static bool asks(const RegexProgram *program, uint32_t pc, uint8_t *seen) {
    while (!seen[pc]) {
        const SbRegexInst *inst = &program->insts[pc];
        seen[pc] = 1;
        switch (inst->op) {
        case REGEX_OP_MATCH: case REGEX_OP_RANGES: return false;
        case REGEX_OP_ASSERT:
            if (inst->b == REGEX_TEXT_BEGIN) return true;
            pc = inst->a;
            break;
        case REGEX_OP_SAVE: pc = inst->a; break;
        case REGEX_OP_SPLIT:
            if (!asks(program, inst->a, seen)) return false;
            pc = inst->b;
            break;
        }
    }
    return true;
}

bool regex_is_anchored(const RegexProgram *program) {
    uint8_t *seen = calloc(program->inst_count, 1);
    const bool anchored = seen && asks(program, program->begin, seen);
    free(seen);
    return anchored;
}
