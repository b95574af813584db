#include "runtime/verdict.h"

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

static bool is_edge(const SbJob *job, uint32_t breaker) {
    return job->breakers[breaker].kind == SB_BREAK_EDGE;
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
        if (!is_edge(job, stage->needs[n])) number_feeders(t, stage->needs[n]);
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

// Numbers the stages in the order in which sinks ask for their rows: each stage behind its tables,
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

bool verdict_open(Verdict *v, const SbJob *job, int64_t rows_max, SbMemory *memory) {
    *v = (Verdict){.job = job, .rows_max = rows_max,
                   .records.memory = memory, .failing.memory = memory};
    v->ranks = calloc(job->stage_count + 1, sizeof *v->ranks);
    v->bounds = calloc(job->stage_count + 1, sizeof *v->bounds);
    if (!v->ranks || !v->bounds) return false;
    number_roots(job, v->ranks);
    verdict_needs_find(&v->needs, job);
    for (uint32_t s = 0; s < job->stage_count; s++) v->bounds[s] = INT64_MAX;
    return true;
}

void verdict_close(Verdict *v) {
    rejects_close(&v->records);
    rejects_close(&v->failing);
    free(v->ranks);
    free(v->bounds);
}

// By place among all rows of the job.
static int compare(const void *left, const void *right) {
    const Reject *a = left, *b = right;
    if (a->origin != b->origin) return a->origin < b->origin ? -1 : 1;
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

// Keeps the first `count` records of a list.
static void cut(RejectList *list, uint32_t count) {
    for (uint32_t i = count; i < list->count; i++) free(list->items[i].message);
    list->count = count;
    list->weight = 0;
    for (uint32_t i = 0; i < count; i++) list->weight += list->items[i].weight;
}

// Drops the records behind the one that passes the limit.
static void judge_limit(Verdict *v) {
    RejectList *list = &v->records;
    if (v->rows_max < 0 || list->weight <= v->rows_max) return;
    qsort(list->items, list->count, sizeof *list->items, compare);
    int64_t weight = 0;
    uint32_t count = 0;
    while (weight <= v->rows_max) weight += list->items[count++].weight;
    cut(list, count);
    v->over = true;
}

// The last of the list fails: of such records the first one counts.
static bool take_failing(Verdict *v, RejectList *list) {
    RejectList last = {.items = &list->items[list->count - 1], .count = 1,
                       .memory = list->memory};
    if (v->failing.count == 0) {
        if (!rejects_move(&v->failing, &last)) return false;
    } else if (compare(last.items, v->failing.items) < 0) {
        free(v->failing.items[0].message);
        v->failing.items[0] = last.items[0];
    } else {
        free(last.items[0].message);
    }
    list->count--;
    return true;
}

bool verdict_take(Verdict *v, RejectList *list, VerdictPlace place) {
    for (uint32_t i = 0; i < list->count; i++) {
        list->items[i].stage = place.stage;
        list->items[i].way = place.way;
    }
    return verdict_restore(v, list, place.root);
}

bool verdict_restore(Verdict *v, RejectList *list, uint32_t root) {
    if (list->count == 0) return true;
    uint64_t rank = (uint64_t)v->ranks[root] << RANK_SHIFT;
    for (uint32_t i = 0; i < list->count; i++) {
        Reject *record = &list->items[i];
        record->origin = rank | (record->origin & (((uint64_t)1 << RANK_SHIFT) - 1));
    }
    const Reject *last = &list->items[list->count - 1];
    if (last->fails) v->lost |= v->needs.behind[last->stage];
    if (last->fails && !take_failing(v, list)) return false;
    if (!rejects_move(&v->records, list)) return false;
    judge_limit(v);
    return true;
}

// ---- the end --------------------------------------------------------------------------------

// The record that ends the job, as things are; nullptr: none.
static const Reject *last_record(const Verdict *v) {
    const Reject *failing = v->failing.count > 0 ? v->failing.items : nullptr;
    const Reject *over = v->over ? &v->records.items[v->records.count - 1] : nullptr;
    if (!failing || !over) return failing ? failing : over;
    return compare(failing, over) < 0 ? failing : over;
}

bool verdict_goes_on(const Verdict *v, uint32_t stage, uint32_t root) {
    return verdict_needs_all(&v->needs, stage, 0, v->ranks, v->ranks[root]);
}

bool verdict_ends(const Verdict *v) { return v->failing.count > 0 || v->over; }
uint64_t verdict_unit(const Reject *record) { return record->origin >> UNIT_SHIFT & UNIT_MASK; }

// Are all stages over that say which rows the reader of a breaker has?
static bool is_filled(const SbJob *job, const SbStage *reader, uint64_t over) {
    bool filled = true;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbStage *stage = &job->stages[s];
        bool fills = contains(stage->terminals, stage->terminal_count, reader->input_index);
        bool marks = reader->input == SB_INPUT_UNMATCHED &&
                     contains(stage->needs, stage->need_count, reader->input_index);
        filled &= !(fills || marks) || over >> s & 1;
    }
    return filled;
}

bool verdict_bound(Verdict *v, uint64_t over, uint32_t *root, int64_t *unit) {
    const Reject *last = last_record(v);
    if (!last) return false;
    uint64_t rank = last->origin >> RANK_SHIFT;
    for (uint32_t s = 0; s < v->job->stage_count; s++) {
        const SbStage *stage = &v->job->stages[s];
        bool edge = stage->input == SB_INPUT_ROWS && is_edge(v->job, stage->input_index);
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

bool verdict_settle(Verdict *v) {
    const Reject *last = last_record(v);
    if (!last) return false;
    bool fails = v->failing.count > 0 && last == v->failing.items;
    if (!fails) {
        rejects_close(&v->failing);
        return true;
    }
    RejectList *list = &v->records;
    if (list->count > 0) qsort(list->items, list->count, sizeof *list->items, compare);
    uint32_t count = 0;
    while (count < list->count && compare(&list->items[count], last) < 0) count++;
    cut(list, count);
    v->over = false;
    return true;
}
