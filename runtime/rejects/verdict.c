#include "runtime/rejects/verdict.h"

#include <stdlib.h>
#include <string.h>

enum { RANK_SHIFT = 56, UNIT_SHIFT = 32 };
static const uint64_t UNIT_MASK = 0xffffff;

// ---- turns ----------------------------------------------------------------------------------

typedef struct Turns {
    const SbJob *job;
    uint32_t    *turns;
    uint32_t     next;
} Turns;

enum : uint32_t { NOT_YET = UINT32_MAX, AT_IT = UINT32_MAX - 1 };

static bool contains(const uint32_t *list, uint32_t count, uint32_t what) {
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == what) return true;
    }
    return false;
}

static bool is_zip(const SbStage *stage) {
    return stage->input == SB_INPUT_ROWS && stage->right_index != UINT32_MAX;
}

static bool reads_breaker(const SbStage *stage) {
    return stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
}

static void number_stage(Turns *t, uint32_t s);

// The stages that feed a terminal, by rank.
static void number_feeders(Turns *t, uint32_t terminal) {
    const SbJob *job = t->job;
    uint64_t least = 0;  // (rank, number) of the next one, at least.
    for (;;) {
        uint64_t next = UINT64_MAX;
        for (uint32_t s = 0; s < job->stage_count; s++) {
            const SbStage *stage = &job->stages[s];
            uint64_t place = (uint64_t)stage->rank << 32 | s;
            bool feeds = contains(stage->terminals, stage->terminal_count, terminal);
            if (feeds && place >= least && place < next) next = place;
        }
        if (next == UINT64_MAX) return;
        number_stage(t, (uint32_t)next);
        least = next + 1;
    }
}

static void number_stage(Turns *t, uint32_t s) {
    const SbJob *job = t->job;
    const SbStage *stage = &job->stages[s];
    if (t->turns[s] != NOT_YET) return;
    t->turns[s] = AT_IT;
    for (uint32_t n = 0; n < stage->need_count; n++) {
        if (!sb_is_edge(job, stage->needs[n])) number_feeders(t, stage->needs[n]);
    }
    for (uint32_t i = 0; stage->input == SB_INPUT_UNMATCHED && i < job->stage_count; i++) {
        const SbStage *probe = &job->stages[i];
        if (contains(probe->needs, probe->need_count, stage->input_index)) number_stage(t, i);
    }
    if (reads_breaker(stage)) number_feeders(t, stage->input_index);
    if (is_zip(stage))
        number_feeders(t, stage->right_index);
    t->turns[s] = t->next++;
}

// Numbers the stages in the order in which sinks ask for their rows: each stage after its tables,
// what it reads on the left, and what it reads on the right.
static void number_stages(const SbJob *job, uint32_t *turns) {
    Turns t = {.job = job, .turns = turns};
    for (uint32_t s = 0; s < job->stage_count; s++) turns[s] = NOT_YET;
    for (uint32_t sink = 0; sink < job->sink_count; sink++)
        number_feeders(&t, SB_TERMINAL_SINK | sink);
}

// The order in which records of rejects stand (docs/rejects.md): those of sources first, by their
// numbers.
static void number_roots(const SbJob *job, uint32_t *ranks) {
    number_stages(job, ranks);
    for (uint32_t s = 0; s < job->stage_count; s++) {
        bool source = !reads_breaker(&job->stages[s]);
        ranks[s] = source ? job->stages[s].input_index : ranks[s] + job->source_count;
    }
}

// ---- records --------------------------------------------------------------------------------

bool verdict_open(Verdict *v, const SbJob *job, int64_t rows_max, const RejectSetSetup *set) {
    *v = (Verdict){.job = job, .rows_max = rows_max, .failing.memory = set->memory};
    v->ranks = calloc(job->stage_count + 1, sizeof *v->ranks);
    v->bounds = calloc(job->stage_count + 1, sizeof *v->bounds);
    if (!reject_set_open(&v->records, set) || !v->ranks || !v->bounds) return false;
    number_roots(job, v->ranks);
    for (uint32_t s = 0; s < job->stage_count; s++) v->bounds[s] = INT64_MAX;
    return verdict_needs_find(&v->needs, job);
}

void verdict_close(Verdict *v) {
    reject_set_close(&v->records);
    rejects_close(&v->failing);
    verdict_needs_close(&v->needs);
    free(v->ranks);
    free(v->bounds);
}

static void cut_list(Verdict *v) {
    RejectList *list = &v->records.list;
    uint32_t count = 0;
    while (count < list->count && verdict_keeps(v, &list->items[count])) count++;
    rejects_cut(list, count);
}

// Looks for the record that passes the limit, and drops those after it. False: it takes more
// memory than there is now.
static bool find_end(Verdict *v) {
    RejectWalk walk;
    int64_t weight = 0;
    const Reject *record = nullptr;
    bool good = reject_walk_open(&walk, &v->records);
    while (good && weight <= v->rows_max) {
        record = reject_walk_next(&walk);
        good = record;
        if (!good) break;
        weight += record->weight;
        v->end = *record;
    }
    reject_walk_close(&walk);
    if (!good) return false;
    v->over = true;
    v->judged = v->weight = weight;
    cut_list(v);
    return true;
}

// Once it is passed, a record before the end moves it. It is looked for again when that makes a
// difference: each time costs as much as there are records.
static void judge_limit(Verdict *v) {
    enum { SHARE = 8 };
    if (v->rows_max < 0 || v->weight <= v->rows_max || v->writing) return;
    if (!v->over || v->weight - v->judged > v->rows_max / SHARE) find_end(v);
}

// The last of the list fails: of such records the first one counts.
static bool take_failing(Verdict *v, RejectList *list) {
    if (!rejects_move_last(&v->failing, list)) return false;
    Reject *items = v->failing.items;
    if (v->failing.count == 1) return true;
    if (rejects_by_place(&items[1], &items[0]) < 0) {
        Reject first = items[1];
        items[1] = items[0];
        items[0] = first;
    }
    rejects_cut(&v->failing, 1);
    return true;
}

bool verdict_take(Verdict *v, RejectList *list, VerdictPlace place) {
    for (uint32_t i = 0; i < list->count; i++) verdict_place(&list->items[i], place);
    return verdict_restore(v, list, place.root);
}

// What stands after the end is not wanted.
static void drop_behind(const Verdict *v, RejectList *list) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!verdict_keeps(v, &list->items[i])) continue;
        Reject record = list->items[i];
        list->items[i] = list->items[kept];
        list->items[kept++] = record;
    }
    rejects_cut(list, kept);
}

bool verdict_restore(Verdict *v, RejectList *list, uint32_t root) {
    if (list->count == 0) return true;
    uint64_t rank = (uint64_t)v->ranks[root] << RANK_SHIFT;
    for (uint32_t i = 0; i < list->count; i++) {
        Reject *record = &list->items[i];
        record->origin = rank | (record->origin & (((uint64_t)1 << RANK_SHIFT) - 1));
    }
    const Reject *last = &list->items[list->count - 1];
    if (last->fails) bits_add_all(&v->lost, &v->needs.behind[last->stage], BITS_WORDS);
    if (last->fails && !take_failing(v, list)) return false;
    if (verdict_ends(v)) drop_behind(v, list);
    int64_t weight = list->weight;
    if (!rejects_move(&v->records.list, list)) return false;
    v->weight += weight;
    judge_limit(v);
    return true;
}

// ---- to disk --------------------------------------------------------------------------------

bool verdict_is_full(const Verdict *v) { return reject_set_is_full(&v->records); }

RejectList verdict_begin_write(Verdict *v) {
    RejectList list = v->records.list;
    v->records.list = (RejectList){.memory = list.memory};
    v->writing = true;
    return list;
}

void verdict_end_write(Verdict *v) {
    v->writing = false;
    judge_limit(v);
}

// ---- the end --------------------------------------------------------------------------------

// The record that ends the job, as things are; nullptr: none.
static const Reject *last_record(const Verdict *v) {
    const Reject *failing = v->failing.count > 0 ? v->failing.items : nullptr;
    const Reject *over = v->over ? &v->end : nullptr;
    if (!failing || !over) return failing ? failing : over;
    return rejects_by_place(failing, over) < 0 ? failing : over;
}

bool verdict_goes_on(const Verdict *v, uint32_t stage, uint32_t root) {
    return verdict_needs_all(&v->needs, stage, &(Bits){0}, v->ranks, v->ranks[root]);
}

bool verdict_ends(const Verdict *v) { return v->failing.count > 0 || v->over; }
uint64_t verdict_unit(const Reject *record) { return record->origin >> UNIT_SHIFT & UNIT_MASK; }

// Are all stages over that say which rows the reader of a breaker has?
static bool is_filled(const SbJob *job, const SbStage *reader, const Bits *over) {
    bool filled = true;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbStage *stage = &job->stages[s];
        bool fills = contains(stage->terminals, stage->terminal_count, reader->input_index);
        bool marks = reader->input == SB_INPUT_UNMATCHED &&
                     contains(stage->needs, stage->need_count, reader->input_index);
        filled &= !(fills || marks) || bits_have(over, s);
    }
    return filled;
}

bool verdict_bound(Verdict *v, const Bits *over, uint32_t *root, int64_t *unit) {
    const Reject *last = last_record(v);
    if (!last) return false;
    uint64_t rank = last->origin >> RANK_SHIFT;
    for (uint32_t s = 0; s < v->job->stage_count; s++) {
        const SbStage *stage = &v->job->stages[s];
        bool edge = sb_reads_edge(v->job, stage);
        if (edge && !is_zip(stage)) continue;
        int64_t due = v->ranks[s] < rank   ? INT64_MAX
                      : v->ranks[s] > rank ? 0
                                           : (int64_t)verdict_unit(last) + 1;
        bool lost = verdict_is_lost(v, s), reader = reads_breaker(stage) && !is_zip(stage);
        if (lost) due = 0;
        bool needed = !lost && verdict_needs_all(&v->needs, s, over, v->ranks, (uint32_t)rank);
        bool waits = needed || (due == 0 && reader && !is_filled(v->job, stage, over));
        if (due >= v->bounds[s] || waits) continue;
        v->bounds[s] = *unit = due;
        *root = s;
        return true;
    }
    return false;
}

bool verdict_keeps(const Verdict *v, const Reject *record) {
    const Reject *last = last_record(v);
    if (!last) return true;
    int order = rejects_by_place(record, last);
    return last == &v->end ? order <= 0 : order < 0;
}

bool verdict_settle(Verdict *v) {
    if (v->rows_max >= 0 && v->weight > v->rows_max && v->weight != v->judged && !find_end(v))
        spill_no_merge(&v->records.runs);
    const Reject *last = last_record(v);
    if (!last) return false;
    if (last == &v->end) rejects_close(&v->failing);
    else v->over = false;
    reject_set_sort(&v->records);
    cut_list(v);
    return true;
}
