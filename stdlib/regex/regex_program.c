// Regex program: instructions are built from the end of the pattern to its start, so that each
// one is given what follows it. Sets become small deterministic trees over UTF-8 bytes.
#include "stdlib/regex/regex_program.h"

#include <stdlib.h>
#include <string.h>

enum { UTF8_MAX = 4 };

// A sequence of byte ranges: the UTF-8 of some consecutive code points.
typedef struct Sequence {
    uint8_t count;
    uint8_t first[UTF8_MAX], last[UTF8_MAX];
} Sequence;

typedef struct Sequences {
    Sequence *items;
    size_t    count, cap;
    bool      failed;
} Sequences;

static uint32_t inst_new(RegexProgram *program, SbRegexOp op, uint32_t a, uint32_t b) {
    if (program->inst_count >= REGEX_INSTS_MAX ||
        !regex_grow(&program->insts, program->inst_count, &program->inst_cap,
                    sizeof *program->insts)) {
        program->failed = true;
        return 0;
    }
    program->insts[program->inst_count] = (SbRegexInst){op, a, b};
    return (uint32_t)program->inst_count++;
}

// ---- sets ---------------------------------------------------------------------------------------

static int encode(uint32_t c, uint8_t out[UTF8_MAX]) {
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    int count = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = count - 1; i > 0; i--, c >>= 6) out[i] = (uint8_t)(0x80 | (c & 0x3f));
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    out[0] = (uint8_t)(lead[count] | c);
    return count;
}

static void sequence_add(Sequences *all, uint32_t first, uint32_t last) {
    if (!regex_grow(&all->items, all->count, &all->cap, sizeof *all->items)) {
        all->failed = true;
        return;
    }
    Sequence *sequence = &all->items[all->count++];
    sequence->count = (uint8_t)encode(first, sequence->first);
    encode(last, sequence->last);
}

// Splits [first, last] where the length of the encoding changes, at the surrogates, and until
// the bytes after the first differing one run over their whole range.
static void sequences_of_range(Sequences *all, uint32_t first, uint32_t last) {
    static const uint32_t ends[] = {0x7f, 0x7ff, 0xd7ff, 0xdfff, 0xffff};
    while (first <= last) {
        uint32_t end = last;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            if (first <= ends[i] && ends[i] < end) end = ends[i];
        }
        for (uint32_t low = 0x3f; low < 0x200000 && first >= 0x80; low = low << 6 | 0x3f) {
            if ((first & ~low) == (end & ~low)) break;
            if (first & low) {
                end = first | low;
            } else if ((end & low) != low) {
                end = (end & ~low) - 1;
            }
        }
        bool surrogates = first >= 0xd800 && first <= 0xdfff;
        if (!surrogates) sequence_add(all, first, end);
        first = end + 1;
    }
}

static bool same_ranges(const RegexProgram *program, uint32_t inst, const SbRegexByteRange *ranges,
                        size_t count) {
    const SbRegexInst *other = &program->insts[inst];
    if (other->op != REGEX_OP_RANGES || other->b != count) return false;
    for (size_t i = 0; i < count; i++) {
        const SbRegexByteRange *x = &program->ranges[other->a + i], *y = &ranges[i];
        if (x->first != y->first || x->last != y->last || x->target != y->target) return false;
    }
    return true;
}

// An instruction for the sequences [begin, end), which agree in the bytes before `depth`.
// `reuse`: instructions from there on may be shared.
static uint32_t tree_build(RegexProgram *program, const Sequence *begin, const Sequence *end,
                           int depth, uint32_t reuse, uint32_t next) {
    SbRegexByteRange made[256];
    size_t count = 0;
    while (begin < end && !program->failed) {
        const Sequence *stop = begin + 1;
        while (stop < end && stop->count > depth && stop->first[depth] == begin->first[depth])
            stop++;
        bool last = depth == begin->count - 1;
        uint32_t target = last ? next : tree_build(program, begin, stop, depth + 1, reuse, next);
        SbRegexByteRange *before = count ? &made[count - 1] : nullptr;
        bool joins = before && before->target == target &&
                     before->last + 1 == begin->first[depth];
        if (joins) before->last = begin->last[depth];
        else made[count++] = (SbRegexByteRange){begin->first[depth], begin->last[depth], target};
        begin = stop;
    }
    for (uint32_t i = reuse; i < program->inst_count; i++) {
        if (same_ranges(program, i, made, count)) return i;
    }
    uint32_t offset = (uint32_t)program->range_count;
    for (size_t i = 0; i < count; i++) {
        if (!regex_grow(&program->ranges, program->range_count, &program->range_cap,
                        sizeof *program->ranges)) {
            program->failed = true;
            return 0;
        }
        program->ranges[program->range_count++] = made[i];
    }
    return inst_new(program, REGEX_OP_RANGES, offset, (uint32_t)count);
}

static uint32_t set_build(RegexProgram *program, const RegexRange *ranges, uint32_t count,
                          uint32_t next) {
    Sequences all = {0};
    for (uint32_t i = 0; i < count; i++) {
        sequences_of_range(&all, ranges[i].first, ranges[i].last);
    }
    uint32_t inst = 0;
    if (all.failed) program->failed = true;
    else inst = tree_build(program, all.items, all.items + all.count, 0,
                           (uint32_t)program->inst_count, next);
    free(all.items);
    return inst;
}

// ---- the other nodes ----------------------------------------------------------------------------

static uint32_t node_build(RegexProgram *program, const RegexTree *tree, uint32_t id,
                           uint32_t next);

static bool can_be_empty(const RegexTree *tree, uint32_t id) {
    const RegexNode *node = &tree->nodes[id];
    switch (node->kind) {
    case REGEX_EMPTY: case REGEX_ASSERT: return true;
    case REGEX_SET: return false;
    case REGEX_GROUP: return can_be_empty(tree, node->child);
    case REGEX_REPEAT: return node->min == 0 || can_be_empty(tree, node->child);
    case REGEX_CAT:
        for (uint32_t i = node->child; i; i = tree->nodes[i].previous)
            if (!can_be_empty(tree, i)) return false;
        return true;
    case REGEX_ALT:
        for (uint32_t i = node->child; i; i = tree->nodes[i].previous)
            if (can_be_empty(tree, i)) return true;
        return false;
    }
    __builtin_trap();
}

static uint32_t split_new(RegexProgram *program, bool lazy, uint32_t body, uint32_t next) {
    return lazy ? inst_new(program, REGEX_OP_SPLIT, next, body)
                : inst_new(program, REGEX_OP_SPLIT, body, next);
}

// One or more: the loop's split stands after the body, which is returned.
static uint32_t plus_build(RegexProgram *program, const RegexTree *tree, const RegexNode *node,
                           uint32_t next) {
    uint32_t loop = split_new(program, node->lazy, next, next);
    uint32_t body = node_build(program, tree, node->child, loop);
    if (program->failed) return 0;
    if (node->lazy) program->insts[loop].b = body;
    else program->insts[loop].a = body;
    return body;
}

static uint32_t star_build(RegexProgram *program, const RegexTree *tree, const RegexNode *node,
                           uint32_t next) {
    if (can_be_empty(tree, node->child)) {  // x* is (x+)?, or an empty x would hide the way out.
        return split_new(program, node->lazy, plus_build(program, tree, node, next), next);
    }
    uint32_t loop = split_new(program, node->lazy, next, next);
    uint32_t body = node_build(program, tree, node->child, loop);
    if (program->failed) return 0;
    if (node->lazy) program->insts[loop].b = body;
    else program->insts[loop].a = body;
    return loop;
}

static uint32_t repeat_build(RegexProgram *program, const RegexTree *tree, const RegexNode *node,
                             uint32_t next) {
    uint32_t copies = node->min, pc = next;
    if (node->max == REGEX_NO_MAX) {
        if (!copies) return star_build(program, tree, node, next);
        pc = plus_build(program, tree, node, next);
        copies--;
    } else {
        for (uint32_t i = node->min; i < node->max && !program->failed; i++) {
            uint32_t body = node_build(program, tree, node->child, pc);
            pc = split_new(program, node->lazy, body, next);
        }
    }
    for (uint32_t i = 0; i < copies && !program->failed; i++) {
        uint32_t copy = node_build(program, tree, node->child, pc);
        if (copy == pc) break;  // Nothing, however often.
        pc = copy;
    }
    return pc;
}

static uint32_t alt_build(RegexProgram *program, const RegexTree *tree, const RegexNode *node,
                          uint32_t next) {
    uint32_t pc = node_build(program, tree, node->child, next);
    for (uint32_t i = tree->nodes[node->child].previous; i; i = tree->nodes[i].previous) {
        uint32_t preferred = node_build(program, tree, i, next);
        pc = inst_new(program, REGEX_OP_SPLIT, preferred, pc);
    }
    return pc;
}

static uint32_t node_build(RegexProgram *program, const RegexTree *tree, uint32_t id,
                           uint32_t next) {
    const RegexNode *node = &tree->nodes[id];
    if (program->failed) return 0;
    switch (node->kind) {
    case REGEX_EMPTY: return next;
    case REGEX_SET:
        return set_build(program, tree->ranges + node->set_begin, node->set_count, next);
    case REGEX_CAT:
        for (uint32_t i = node->child; i; i = tree->nodes[i].previous)
            next = node_build(program, tree, i, next);
        return next;
    case REGEX_ALT: return alt_build(program, tree, node, next);
    case REGEX_REPEAT: return repeat_build(program, tree, node, next);
    case REGEX_GROUP:
        next = inst_new(program, REGEX_OP_SAVE, next, 2 * node->number + 1);
        next = node_build(program, tree, node->child, next);
        return inst_new(program, REGEX_OP_SAVE, next, 2 * node->number);
    case REGEX_ASSERT: return inst_new(program, REGEX_OP_ASSERT, next, node->assertion);
    }
    __builtin_trap();
}

bool regex_program_build(RegexProgram *program, const RegexTree *tree) {
    *program = (RegexProgram){0};
    uint32_t match = inst_new(program, REGEX_OP_MATCH, 0, 0);
    program->begin = node_build(program, tree, tree->root, match);
    program->find = inst_new(program, REGEX_OP_SPLIT, program->begin, 0);
    RegexRange any = {0, 0x10ffff};
    uint32_t skip = set_build(program, &any, 1, program->find);
    if (!program->failed) program->insts[program->find].b = skip;
    return !program->failed;
}

void regex_program_free(RegexProgram *program) {
    free(program->insts);
    free(program->ranges);
    *program = (RegexProgram){0};
}

static bool first_visit(const RegexProgram *program, uint32_t pc, uint8_t *seen,
                        uint8_t first[256]) {
    bool empty = false;
    while (!seen[pc]) {
        const SbRegexInst *inst = &program->insts[pc];
        seen[pc] = 1;
        switch (inst->op) {
        case REGEX_OP_MATCH: return true;
        case REGEX_OP_SAVE: case REGEX_OP_ASSERT: pc = inst->a; break;
        case REGEX_OP_SPLIT:
            empty |= first_visit(program, inst->a, seen, first);
            pc = inst->b;
            break;
        case REGEX_OP_RANGES:
            for (uint32_t i = inst->a; i < inst->a + inst->b; i++) {
                const SbRegexByteRange *range = &program->ranges[i];
                memset(first + range->first, 1, (size_t)(range->last - range->first + 1));
            }
            return empty;
        }
    }
    return empty;
}

bool regex_first_bytes(const RegexProgram *program, uint8_t first[256]) {
    memset(first, 0, 256);
    uint8_t *seen = calloc(program->inst_count, 1);
    bool empty = !seen || first_visit(program, program->begin, seen, first);
    free(seen);
    if (empty) memset(first, 1, 256);
    return empty;
}
