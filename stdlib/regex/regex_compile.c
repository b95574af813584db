// Regex compile: pattern -> tree -> program -> automaton -> one block of bytes.
#include "stdlib/regex/regex_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ALIGN = 16 };

static uint32_t aligned(size_t bytes) {
    return (uint32_t)((bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN);
}

// Takes `bytes` of the block; returns their offset.
static uint32_t reserve(SbRegex *layout, size_t bytes) {
    uint32_t offset = layout->bytes;
    layout->bytes += aligned(bytes);
    return offset;
}

// If the pattern is a greedy [set]+ of which every byte tells whether its character is in the
// set, notes the set as ranges of bytes.
static void note_runs(SbRegex *layout, const RegexTree *tree) {
    const RegexNode *plus = &tree->nodes[tree->root];
    if (plus->kind != REGEX_REPEAT || plus->min != 1 || plus->max != REGEX_NO_MAX || plus->lazy)
        return;
    const RegexNode *set = &tree->nodes[plus->child];
    if (set->kind != REGEX_SET || !set->set_count) return;
    uint32_t count = 0;
    for (uint32_t i = 0; i < set->set_count; i++) {
        RegexRange range = tree->ranges[set->set_begin + i];
        bool ascii = range.last < 0x80, rest = range.first <= 0x80 && range.last == 0x10ffff;
        if ((!ascii && !rest) || count == sizeof layout->run_first) return;
        layout->run_first[count] = (uint8_t)range.first;
        layout->run_span[count++] = (uint8_t)((ascii ? range.last : 0xff) - range.first);
    }
    layout->run_ranges = count;
    layout->flags |= REGEX_RUNS;
}

// The names of the groups; their texts stand from `at` on.
static void put_names(SbRegex *block, const RegexTree *tree, uint32_t at) {
    char *base = (char *)block;
    SbRegexName *names = (SbRegexName *)(base + block->names);
    for (uint32_t i = 0; i < tree->name_count; i++) {
        RegexName name = tree->names[i];
        names[i] = (SbRegexName){at, name.len, name.group};
        memcpy(base + at, name.text, name.len);
        at += name.len;
    }
}

static SbRegex *block_build(const RegexTree *tree, const RegexProgram *program,
                            const RegexAutomaton *automaton) {
    SbRegex layout = {.version = REGEX_VERSION, .bytes = aligned(sizeof layout),
                      .group_count = tree->group_count, .inst_begin = program->begin,
                      .inst_count = (uint32_t)program->inst_count,
                      .range_count = (uint32_t)program->range_count};
    note_runs(&layout, tree);
    if (regex_first_bytes(program, layout.first)) layout.flags |= REGEX_CAN_BE_EMPTY;
    layout.insts = reserve(&layout, program->inst_count * sizeof *program->insts);
    layout.ranges = reserve(&layout, program->range_count * sizeof *program->ranges);
    layout.name_count = tree->name_count;
    layout.names = reserve(&layout, tree->name_count * sizeof(SbRegexName));
    size_t text_bytes = 0, next_bytes = 0;
    for (uint32_t i = 0; i < tree->name_count; i++) text_bytes += tree->names[i].len;
    uint32_t texts = reserve(&layout, text_bytes);
    if (automaton) {
        layout.flags |= REGEX_HAS_TABLE;
        layout.table = automaton->table;
        next_bytes = (size_t)automaton->table.state_count * automaton->table.columns *
                     sizeof *automaton->next;
        layout.table.classes = reserve(&layout, sizeof automaton->classes);
        layout.table.next = reserve(&layout, next_bytes);
    }
    SbRegex *block = aligned_alloc(BLOCK_ALIGN, layout.bytes);
    if (!block) return nullptr;
    memset(block, 0, layout.bytes);
    *block = layout;
    char *base = (char *)block;
    memcpy(base + layout.insts, program->insts, program->inst_count * sizeof *program->insts);
    SbRegexByteRange *ranges = (SbRegexByteRange *)(base + layout.ranges);
    for (size_t i = 0; i < program->range_count; i++) {  // Not memcpy: padding stays zero.
        ranges[i].first = program->ranges[i].first;
        ranges[i].last = program->ranges[i].last;
        ranges[i].target = program->ranges[i].target;
    }
    put_names(block, tree, texts);
    if (automaton) {
        memcpy(base + layout.table.classes, automaton->classes, sizeof automaton->classes);
        memcpy(base + layout.table.next, automaton->next, next_bytes);
    }
    return block;
}

SbRegex *sb_regex_compile(const char *pattern, int64_t len, SbRegexError *error) {
    RegexTree tree;
    RegexProgram program = {0};
    RegexAutomaton automaton = {0};
    SbRegex *block = nullptr;
    if (!regex_parse(&tree, pattern, len, error)) goto done;
    *error = (SbRegexError){.message = "the pattern is too large"};
    if (!regex_program_build(&program, &tree)) goto done;
    bool table = regex_automaton_build(&automaton, &program);
    block = block_build(&tree, &program, table ? &automaton : nullptr);
    if (!block) *error = (SbRegexError){.message = "out of memory"};
done:
    free(automaton.next);
    regex_program_free(&program);
    regex_tree_free(&tree);
    return block;
}

void sb_regex_free(SbRegex *regex) { free(regex); }
