#include "runtime/task/probe_ahead.h"

#include "runtime/breakers.h"

#include <stdatomic.h>
#include <stdlib.h>

// All units ask for one join.
typedef struct Asking {
    const ProbeAheadSetup *what;
    ProbeAhead     *ahead;
    uint32_t        join;       // In the order of the Probe.
    Units           units;
    pthread_mutex_t lock;       // Of taking units, and of their names.
    SpillRuns       asks;
    SpillSort       sort;
    _Atomic bool    failed;
} Asking;

bool probe_ahead_wanted(const TaskSetup *setup) {
    Probe probe;
    bool wanted = probe_open(&probe, setup) && probe.count > 0;
    probe_close(&probe);
    return wanted;
}

// ---- a unit -------------------------------------------------------------------------------------

// The unit must have the same rows for each join that it asks for. The lock is held.
static bool note_unit(ProbeAhead *ahead, const Unit *unit) {
    enum { ROOM_MIN = 256 };
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

static bool ask_unit(Asking *asking, SbTaskState *state, SbRows *asks) {
    SbTask *task = &state->task;
    pthread_mutex_lock(&asking->lock);
    bool good = note_unit(asking->ahead, &state->unit);
    pthread_mutex_unlock(&asking->lock);
    sb_hold_begin(&task->call, &task->cancel);
    while (good && task->cursor < task->input.end) {
        good = probe_ask(state, asking->join);
        for (int64_t i = 0; i < state->probe.ask_count && good; i++) {
            SbEntry *ask = sb_rows_add(asks);
            if (ask) *ask = (SbEntry){state->probe.asks[i], state->unit.ordinal};
            good = ask;
        }
    }
    return good;
}

// Takes the next unit. False: there is none, or nobody goes on.
static bool take_unit(Asking *asking, SbTaskState *state, Unit *unit, Trouble *trouble) {
    UnitTake taken = UNIT_NONE;
    pthread_mutex_lock(&asking->lock);
    if (atomic_load(asking->what->cancel)) asking->failed = true;
    if (!asking->failed) taken = units_take(&asking->units, unit, &state->buffer, trouble);
    if (taken == UNIT_LATER || taken == UNIT_TROUBLE) asking->failed = true;
    pthread_mutex_unlock(&asking->lock);
    return taken == UNIT_TAKEN;
}

static bool ask_units(Asking *asking, SbTaskState *state, SbRows *asks) {
    Trouble trouble = {0};
    bool good = true;
    for (Unit unit; good && take_unit(asking, state, &unit, &trouble);) {
        good = units_prepare(&asking->units, &unit, &state->buffer, &trouble) &&
               task_begin(state, &unit, &trouble) && ask_unit(asking, state, asks);
        if (unit.slices[0].batch) batch_release(unit.slices[0].batch);
    }
    return good && sb_rows_relieve(asks);
}

// One thread's part of the work.
static void ask_on(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Asking *asking = arg;
    const TaskSetup *setup = asking->what->setup;
    SbTaskState state;
    SbRows asks = {0};
    Trouble trouble = {0};
    bool good = task_open(&state, setup, &trouble) &&
                sb_rows_init(&asks, setup->memory, spill_join_ask.entry_bytes) == SB_OK &&
                spill_sort_watch(&asking->sort, thread, &asks);
    state.buffer.relief = nullptr;  // Who finds none here gives up.
    if (!good || !ask_units(asking, &state, &asks)) {
        asking->failed = true;
        units_break(&asking->units);
    }
    sb_rows_fini(&asks);
    task_close(&state);
}

// ---- all units ----------------------------------------------------------------------------------

static bool ask_all(Asking *asking, SbParallel *parallel) {
    if (!spill_sort_open(&asking->sort, &spill_join_ask, &spill_join_by, &asking->asks))
        return false;
    parallel->each(parallel, parallel->threads, ask_on, asking);
    spill_sort_close(&asking->sort);
    return !asking->failed &&
           spill_runs_reduce(&asking->asks, &spill_join_ask, &spill_join_by, parallel);
}

// What the units are told about one join. nullptr: they ask for themselves.
static SpillJoin *tell(Asking *asking, const SpillJoin *join, SbParallel *parallel) {
    UnitsSetup units = *asking->what->units;
    SpillJoin *answers = nullptr;
    Trouble trouble = {0};
    units.relief = nullptr;
    if (!units_open(&asking->units, &units, &trouble)) return nullptr;
    pthread_mutex_init(&asking->lock, nullptr);
    if (spill_runs_open(&asking->asks, join->spill, join->spill->memory)) {
        asking->asks.indexed = true;
        int64_t units = asking->ahead->unit_count;
        if (ask_all(asking, parallel))
            answers = spill_join_answer(join, &asking->asks, units, parallel);
        spill_runs_close(&asking->asks);
    }
    pthread_mutex_destroy(&asking->lock);
    units_close(&asking->units);
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
        Asking asking = {.what = what, .ahead = ahead, .join = i};
        ahead->answers[i] = tell(&asking, probe.joins[i].join, parallel);
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
