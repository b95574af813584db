// Regex compile: pattern -> tree -> program -> automaton -> one block of bytes.
#include "stdlib/regex/regex_match.h"
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

// The sets of a pattern while it may be one of runs.
typedef struct Runs {
    SbRegexRuns out;
    uint8_t     owner[256];  // By byte: 0 for no set, 1 for that of single characters, then runs.
} Runs;

// Adds the set as ranges of bytes. False: a byte does not tell whether its character is in the set,
// or is in another one too.
static bool add_set(Runs *runs, const RegexTree *tree, const RegexNode *set, uint8_t owner) {
    SbRegexRuns *out = &runs->out;
    for (uint32_t i = 0; i < set->set_count; i++) {
        const RegexRange range = tree->ranges[set->set_begin + i];
        const bool ascii = range.last < 0x80, rest = range.first <= 0x80 && range.last == 0x10ffff;
        if ((!ascii && !rest) || out->range_count == REGEX_RUN_RANGES) return false;
        const uint32_t last = ascii ? range.last : 0xff;
        for (uint32_t c = range.first; c <= last; c++) {
            if (runs->owner[c] && runs->owner[c] != owner) return false;
            runs->owner[c] = owner;
        }
        out->first[out->range_count] = (uint8_t)range.first;
        out->span[out->range_count++] = (uint8_t)(last - range.first);
    }
    return true;
}

// Adds the sets of the pattern, which is [set]+ or [set] or an alternation of these: those of runs,
// or those of single characters. False: it is none of these.
static bool add_sets(Runs *runs, const RegexTree *tree, bool of_runs) {
    const RegexNode *root = &tree->nodes[tree->root];
    const bool many = root->kind == REGEX_ALT;
    uint32_t next;
    for (uint32_t at = many ? root->child : tree->root; at; at = next) {
        const RegexNode *node = &tree->nodes[at], *set = node;
        next = many ? node->previous : 0;
        const bool run = node->kind == REGEX_REPEAT;
        if (run && (node->min != 1 || node->max != REGEX_NO_MAX || node->lazy)) return false;
        if (run) set = &tree->nodes[node->child];
        if (set->kind != REGEX_SET || !set->set_count) return false;
        if (run != of_runs) continue;
        SbRegexRuns *out = &runs->out;
        if (run && out->set_count == REGEX_RUN_SETS) return false;
        const uint32_t owner = run ? out->set_count + 2 : 1;
        if (!add_set(runs, tree, set, (uint8_t)owner)) return false;
        if (run) out->run_ends[out->set_count++] = out->range_count;
        else out->single_count = out->range_count;
    }
    return true;
}

static void note_runs(SbRegex *layout, const RegexTree *tree) {
    Runs runs = {0};
    if (!add_sets(&runs, tree, false) || !add_sets(&runs, tree, true)) return;
    layout->runs = runs.out;
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

// What the pattern needs beside its tree.
typedef struct Parts {
    const RegexProgram   *program;
    const RegexAutomaton *automaton;  // nullptr: too large.
    const SbRegexPlace   *places;     // nullptr: some group has none.
    const SbRegexStep    *onepass;    // nullptr: there is none.
    uint32_t onepass_count;
} Parts;

static SbRegex *block_build(const RegexTree *tree, const Parts *parts) {
    const RegexProgram *program = parts->program;
    const RegexAutomaton *automaton = parts->automaton;
    SbRegex layout = {.version = REGEX_VERSION, .bytes = aligned(sizeof layout),
                      .group_count = tree->group_count, .inst_begin = program->begin,
                      .inst_count = (uint32_t)program->inst_count,
                      .range_count = (uint32_t)program->range_count};
    note_runs(&layout, tree);
    if (regex_first_bytes(program, layout.first)) layout.flags |= REGEX_CAN_BE_EMPTY;
    layout.flags |= regex_starts_of(program, &layout.starts);
    if (regex_is_anchored(program)) layout.flags |= REGEX_ANCHORED;
    layout.last_bytes = regex_last_bytes(tree);
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
    const size_t onepass_bytes = parts->onepass_count * sizeof *parts->onepass;
    if (parts->onepass)
        layout.onepass = (SbRegexOnepass){.rows = reserve(&layout, onepass_bytes),
                                          .columns = automaton->table.columns};
    const size_t places_bytes = (2 * tree->group_count + 2) * sizeof *parts->places;
    if (parts->places) layout.places = reserve(&layout, places_bytes);
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
    if (parts->places) memcpy(base + layout.places, parts->places, places_bytes);
    if (parts->onepass) memcpy(base + layout.onepass.rows, parts->onepass, onepass_bytes);
    return block;
}

SbRegex *sb_regex_compile(const char *pattern, int64_t len, SbRegexError *error) {
    RegexTree tree;
    RegexProgram program = {0};
    RegexAutomaton automaton = {0};
    SbRegex *block = nullptr;
    SbRegexStep *onepass = nullptr;
    if (!regex_parse(&tree, pattern, len, error)) goto done;
    *error = (SbRegexError){.message = "the pattern is too large"};
    if (!regex_program_build(&program, &tree)) goto done;
    SbRegexPlace places[2 * (REGEX_GROUPS_MAX + 1)] = {0};
    Parts parts = {.program = &program};
    if (regex_places_of(&tree, places)) parts.places = places;
    if (regex_automaton_build(&automaton, &program)) {
        parts.automaton = &automaton;
        parts.onepass = onepass = regex_onepass_build(&program, &automaton, tree.group_count,
                                                      &parts.onepass_count);
    }
    block = block_build(&tree, &parts);
    if (!block) *error = (SbRegexError){.message = "out of memory"};
done:
    free(onepass);
    free(automaton.next);
    regex_program_free(&program);
    regex_tree_free(&tree);
    return block;
}

void sb_regex_free(SbRegex *regex) { free(regex); }

SbRegex *sb_regex_with(SbRegex *regex, SbStr with) {
    SbRegex layout = *regex;
    layout.pieces = reserve(&layout, (size_t)regex_count_pieces(with) * sizeof(SbRegexPiece));
    SbRegex *block = aligned_alloc(BLOCK_ALIGN, layout.bytes);
    if (block) {
        memset(block, 0, layout.bytes);
        memcpy(block, regex, regex->bytes);
        *block = layout;
        regex_read_pieces(regex, with, (SbRegexPiece *)((char *)block + layout.pieces),
                          &block->piece_count);
    }
    sb_regex_free(regex);
    return block;
}
