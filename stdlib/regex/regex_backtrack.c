// Regex backtrack: runs a pattern's program, which also tells where groups matched.
//
// Depth first by preference; a bit for each (position, instruction) keeps it from trying anything
// twice, so time and memory are at most instructions times bytes. A bit stays set when a later
// position, or a later search in the same text, comes by: what failed once fails again.
#include "stdlib/regex/regex_match.h"
#include "stdlib/text.h"

#include <string.h>

typedef struct Job {     // Try `pc` at `at`; or, slot >= 0: put back slots[slot] = at.
    uint32_t pc;
    int32_t  slot;
    int64_t  at;
} Job;

typedef struct Machine {
    RegexSearch       *search;
    const RegexBacktrack *run;
    const SbRegexInst *insts;
    const SbRegexByteRange *ranges;
    Job    *jobs;
    int64_t count, cap;
    bool    failed;      // Out of memory.
} Machine;

static void push(Machine *m, Job job) {
    if (m->count == m->cap) {
        int64_t cap = m->cap ? m->cap * 2 : 64;
        Job *jobs = cap > REGEX_VISITS_MAX / 16
                        ? nullptr
                        : sb_alloc(m->search->call, cap * (int64_t)sizeof *jobs);
        if (!jobs) {
            m->failed = true;
            return;
        }
        if (m->count) memcpy(jobs, m->jobs, (size_t)m->count * sizeof *jobs);
        m->jobs = jobs;
        m->cap = cap;
    }
    m->jobs[m->count++] = job;
}

// Sets the bit of (at, pc); false: it was set.
static bool visit(Machine *m, uint32_t pc, int64_t at) {
    const RegexSearch *search = m->search;
    uint64_t bit = (uint64_t)(at - search->begin) * search->regex->inst_count + pc;
    uint64_t *word = &search->visited[bit >> 6], mask = UINT64_C(1) << (bit & 63);
    if (*word & mask) return false;
    *word |= mask;
    return true;
}

static void forget(const RegexSearch *search, int64_t at) {
    uint64_t count = search->regex->inst_count, bit = (uint64_t)(at - search->begin) * count;
    for (uint64_t end = bit + count; bit < end; bit++)
        search->visited[bit >> 6] &= ~(UINT64_C(1) << (bit & 63));
}

static bool holds(SbRegexAssert assertion, SbStr text, int64_t at) {
    bool before = at > 0 && regex_is_word((uint8_t)text.ptr[at - 1]);
    bool after = at < text.len && regex_is_word((uint8_t)text.ptr[at]);
    switch (assertion) {
    case REGEX_TEXT_BEGIN: return at == 0;
    case REGEX_TEXT_END: return at == text.len;
    case REGEX_LINE_BEGIN: return at == 0 || text.ptr[at - 1] == '\n';
    case REGEX_LINE_END: return at == text.len || text.ptr[at] == '\n';
    case REGEX_WORD_EDGE: return before != after;
    case REGEX_NO_WORD_EDGE: return before == after;
    }
    __builtin_trap();
}

static const SbRegexByteRange *range_find(const Machine *m, const SbRegexInst *inst, uint8_t byte) {
    const SbRegexByteRange *low = m->ranges + inst->a;
    for (uint32_t count = inst->b; count;) {
        uint32_t half = count / 2;
        const SbRegexByteRange *middle = low + half;
        if (byte > middle->last) {
            low = middle + 1;
            count -= half + 1;
        } else if (byte < middle->first) {
            count = half;
        } else {
            return middle;
        }
    }
    return nullptr;
}

// Follows one job until it fails, leaving alternatives on the stack. True: it matched.
static bool follow(Machine *m, uint32_t pc, int64_t at) {
    SbStr text = m->search->text;
    while (visit(m, pc, at)) {
        const SbRegexInst *inst = &m->insts[pc];
        switch (inst->op) {
        case REGEX_OP_MATCH:
            if (m->run->to_end && at != m->search->end) return false;
            m->run->slots[1] = at;
            return true;
        case REGEX_OP_SPLIT:
            push(m, (Job){inst->b, -1, at});
            pc = inst->a;
            break;
        case REGEX_OP_SAVE:
            push(m, (Job){0, (int32_t)inst->b, m->run->slots[inst->b]});
            m->run->slots[inst->b] = at;
            pc = inst->a;
            break;
        case REGEX_OP_ASSERT:
            if (!holds((SbRegexAssert)inst->b, text, at)) return false;
            pc = inst->a;
            break;
        case REGEX_OP_RANGES: {
            if (at == m->search->end) return false;
            const SbRegexByteRange *range = range_find(m, inst, (uint8_t)text.ptr[at]);
            if (!range) return false;
            pc = range->target;
            at++;
            break;
        }
        }
    }
    return false;
}

static bool match_at(Machine *m, int64_t at) {
    m->count = 0;
    push(m, (Job){m->search->regex->inst_begin, -1, at});
    while (m->count && !m->failed) {
        Job job = m->jobs[--m->count];
        if (job.slot >= 0) m->run->slots[job.slot] = job.at;
        else if (follow(m, job.pc, job.at)) return true;
    }
    return false;
}

static int32_t visited_open(RegexSearch *search) {
    int64_t positions = search->end - search->begin + 1, insts = search->regex->inst_count;
    if (positions > REGEX_VISITS_MAX / insts) return SB_FAULT_REGEX_LIMIT;
    int64_t bytes = (positions * insts + 63) / 64 * 8;
    search->visited = sb_alloc(search->call, bytes);
    if (!search->visited) return SB_FAULT_TOO_LARGE;
    memset(search->visited, 0, (size_t)bytes);
    return SB_OK;
}

int32_t regex_backtrack(RegexSearch *search, const RegexBacktrack *run) {
    const SbRegex *regex = search->regex;
    const char *base = (const char *)regex;
    if (!search->visited) {
        int32_t status = visited_open(search);
        if (status) return status;
    } else if (run->from <= search->end) {
        forget(search, run->from);  // The match before this one may have passed here.
    }
    Machine m = {.search = search, .run = run, .insts = (const SbRegexInst *)(base + regex->insts),
                 .ranges = (const SbRegexByteRange *)(base + regex->ranges)};
    for (uint32_t i = 0; i < 2 * regex->group_count + 2; i++) run->slots[i] = -1;
    bool can_be_empty = regex->flags & REGEX_CAN_BE_EMPTY;
    for (int64_t at = run->from; at <= search->end && !m.failed; at++) {
        bool possible = can_be_empty ? regex_at_edge(search->text, at)
                                     : at < search->end &&
                                           regex->first[(uint8_t)search->text.ptr[at]];
        if (possible && match_at(&m, at)) {
            run->slots[0] = at;
            return SB_OK;
        }
        if (run->anchored) break;
    }
    return m.failed ? SB_FAULT_TOO_LARGE : SB_NULL;
}

// By their places. False: some group has none.
static bool groups_placed(const SbRegex *regex, SbRegexSpan span, int64_t slots[REGEX_SLOTS]) {
    if (!regex->places) return false;
    const SbRegexPlace *places = (const SbRegexPlace *)((const char *)regex + regex->places);
    slots[0] = span.begin;
    slots[1] = span.end;
    for (uint32_t i = 2; i < 2 * regex->group_count + 2; i++)
        slots[i] = places[i].from_end ? span.end - places[i].bytes : span.begin + places[i].bytes;
    return true;
}

static void note_slots(uint32_t slots_of, int64_t at, int64_t slots[REGEX_SLOTS]) {
    for (; slots_of; slots_of &= slots_of - 1) slots[__builtin_ctz(slots_of)] = at;
}

// By the table of one pass. False: the pattern has none.
static bool groups_onepass(const RegexSearch *search, SbRegexSpan span,
                           int64_t slots[REGEX_SLOTS]) {
    const SbRegex *regex = search->regex;
    if (!regex->onepass.rows) return false;
    const char *base = (const char *)regex;
    const SbRegexStep *rows = (const SbRegexStep *)(base + regex->onepass.rows), *row = rows;
    const uint8_t *classes = (const uint8_t *)base + regex->table.classes;
    for (uint32_t i = 0; i < 2 * regex->group_count + 2; i++) slots[i] = -1;
    for (int64_t at = span.begin; at < span.end; at++) {
        const SbRegexStep step = row[classes[(uint8_t)search->text.ptr[at]]];
        if (!step.state) return false;  // Not in a match.
        note_slots(step.slots, at, slots);
        row = rows + step.state - 1;
    }
    const SbRegexStep last = row[regex->onepass.columns - 1];
    if (!last.state) return false;
    note_slots(last.slots, span.end, slots);
    slots[0] = span.begin;
    slots[1] = span.end;
    return true;
}

int32_t regex_groups(const RegexSearch *search, SbRegexSpan span, int64_t slots[REGEX_SLOTS]) {
    if (groups_placed(search->regex, span, slots)) return SB_OK;
    if (groups_onepass(search, span, slots)) return SB_OK;
    SbCall before = *search->call;
    RegexSearch inside = *search;
    // What could go on beyond the end did not match there, or the match would be that one.
    inside.begin = span.begin;
    inside.end = span.end;
    inside.visited = nullptr;
    RegexBacktrack run = {.from = span.begin, .anchored = true, .slots = slots};
    int32_t status = regex_backtrack(&inside, &run);
    sb_release(search->call, &before);
    return status;
}
