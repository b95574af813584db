#include "runtime/task/probe_ahead.h"

#include "runtime/breakers.h"
#include "runtime/task/asking.h"

#include <stdlib.h>

// All units ask for one join.
typedef struct Ahead {
    ProbeAhead *ahead;
    SpillRuns   asks;
    SpillSort   sort;
    SbMemory   *memory;
    SbRows     *rows;      // By thread.
} Ahead;

bool probe_ahead_wanted(const TaskSetup *setup) {
    Probe probe;
    bool wanted = probe_open(&probe, setup) && probe.count > 0;
    probe_close(&probe);
    return wanted;
}

// ---- a unit -------------------------------------------------------------------------------------

static bool open_asks(void *self, uint32_t thread) {
    Ahead *all = self;
    SbRows *asks = &all->rows[thread];
    return sb_rows_init(asks, all->memory, spill_join_ask.entry_bytes) == SB_OK &&
           spill_sort_watch(&all->sort, thread, asks);
}

// The unit must have the same rows for each join that it asks for.
static bool note_unit(void *self, const Unit *unit) {
    enum { ROOM_MIN = 256 };
    ProbeAhead *ahead = ((Ahead *)self)->ahead;
    int64_t ordinal = (int64_t)unit->ordinal, room = ahead->unit_room;
    uint64_t name = probe_unit_name(unit);
    if (ahead->count > 0) return ordinal < ahead->unit_count && ahead->units[ordinal] == name;
    while (room <= ordinal) room = room ? 2 * room : ROOM_MIN;
    if (room > ahead->unit_room) {
        uint64_t *moved = realloc(ahead->units, (size_t)room * sizeof *moved);
        if (!moved) return false;
        ahead->units = moved;
        ahead->unit_room = room;
    }
    ahead->units[ordinal] = name;
    if (ordinal >= ahead->unit_count) ahead->unit_count = ordinal + 1;
    return true;
}

static bool note_asks(void *self, uint32_t thread, const Unit *unit, const uint64_t *asks,
                      int64_t count) {
    Ahead *all = self;
    bool good = true;
    for (int64_t i = 0; i < count && good; i++) {
        SbEntry *ask = sb_rows_add(&all->rows[thread]);
        if (ask) *ask = (SbEntry){asks[i], unit->ordinal};
        good = ask;
    }
    return good;
}

static bool close_asks(void *self, uint32_t thread, bool good) {
    SbRows *asks = &((Ahead *)self)->rows[thread];
    good = good && sb_rows_relieve(asks);
    sb_rows_fini(asks);
    return good;
}

static const AskingFns asks_fns = {open_asks, note_unit, note_asks, close_asks};

// ---- all units ----------------------------------------------------------------------------------

static bool ask_all(Ahead *all, const AskingSetup *what, uint32_t threads, SbParallel *parallel) {
    if (!spill_sort_open(&all->sort, &spill_join_ask, &spill_join_by, &all->asks)) return false;
    all->rows = calloc(threads, sizeof *all->rows);
    bool good = all->rows && asking_run(what, parallel);
    free(all->rows);
    spill_sort_close(&all->sort);
    return good && spill_runs_reduce(&all->asks, &spill_join_ask, &spill_join_by, parallel);
}

// What the units are told about one join. nullptr: they ask for themselves.
static SpillJoin *tell(ProbeAhead *ahead, const ProbeAheadSetup *what, uint32_t number,
                       const SpillJoin *join, SbParallel *parallel) {
    Ahead all = {.ahead = ahead, .memory = what->setup->memory};
    AskingSetup asking = {.setup = what->setup, .units = what->units, .cancel = what->cancel,
                          .fns = &asks_fns, .self = &all, .join = number, .first = UINT32_MAX};
    SpillJoin *answers = nullptr;
    if (!spill_runs_open(&all.asks, join->spill, join->spill->memory)) return nullptr;
    all.asks.indexed = true;
    int64_t units = ahead->unit_count;
    if (ask_all(&all, &asking, join->spill->threads, parallel))
        answers = spill_join_answer(join, &all.asks, units, parallel);
    spill_runs_close(&all.asks);
    return answers;
}

// Do units look for rows of the join themselves? Those that were told do so where chains are cut.
static bool is_sought(const ProbeAhead *ahead, uint32_t join) {
    enum : int64_t { CHAINS_FEW = 8 };
    return join >= ahead->count || ahead->answers[join]->chains_cut > CHAINS_FEW;
}

void probe_ahead_open(ProbeAhead *ahead, const ProbeAheadSetup *what, SbParallel *parallel) {
    Probe probe;
    *ahead = (ProbeAhead){0};
    if (!probe_open(&probe, what->setup)) return;
    ahead->answers = calloc(probe.count + 1, sizeof(SpillJoin *));
    for (uint32_t i = 0; ahead->answers && what->again && i < probe.count; i++) {
        ahead->answers[i] = tell(ahead, what, i, probe.joins[i].join, parallel);
        if (!ahead->answers[i]) break;
        ahead->count++;
    }
    for (uint32_t i = 0; i < probe.count; i++)
        if (is_sought(ahead, i) && !spill_join_unite(probe.joins[i].join, parallel)) break;
    probe_close(&probe);
}

void probe_ahead_close(ProbeAhead *ahead) {
    for (uint32_t i = 0; i < ahead->count; i++) spill_join_close(ahead->answers[i]);
    free(ahead->answers);
    free(ahead->units);
    *ahead = (ProbeAhead){0};
}
