#include "runtime/task/asking.h"

#include <stdatomic.h>

typedef struct Asking {
    const AskingSetup *what;
    Units           units;
    pthread_mutex_t lock;       // Of taking units, and of AskingFns.begins.
    _Atomic bool    failed;
} Asking;

static bool ask(const AskingSetup *what, SbTaskState *state) {
    return what->first == UINT32_MAX ? probe_ask(state, what->join)
                                     : probe_ask_first(state, what->first);
}

static bool ask_unit(Asking *asking, SbTaskState *state, uint32_t thread) {
    const AskingSetup *what = asking->what;
    SbTask *task = &state->task;
    bool good = true;
    if (what->fns->begins) {
        pthread_mutex_lock(&asking->lock);
        good = what->fns->begins(what->self, &state->unit);
        pthread_mutex_unlock(&asking->lock);
    }
    sb_hold_begin(&task->call, &task->cancel);
    while (good && task->cursor < task->input.end)
        good = ask(what, state) && what->fns->told(what->self, thread, &state->unit,
                                                   state->probe.asks, state->probe.ask_count);
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

static bool ask_units(Asking *asking, SbTaskState *state, uint32_t thread) {
    Trouble trouble = {0};
    bool good = true;
    for (Unit unit; good && take_unit(asking, state, &unit, &trouble);) {
        good = units_prepare(&asking->units, &unit, &state->buffer, &trouble) &&
               task_begin(state, &unit, &trouble) && ask_unit(asking, state, thread);
        if (unit.slices[0].batch) batch_release(unit.slices[0].batch);
    }
    return good;
}

// One thread's part of the work.
static void ask_on(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Asking *asking = arg;
    const AskingSetup *what = asking->what;
    SbTaskState state;
    Trouble trouble = {0};
    const AskingFns *fns = what->fns;
    bool good = !fns->open || fns->open(what->self, thread);
    if (!task_open(&state, what->setup, &trouble)) good = false;
    state.buffer.relief = nullptr;  // Who finds none here gives up.
    if (good) good = ask_units(asking, &state, thread);
    if (fns->close) good = fns->close(what->self, thread, good);
    if (!good) {
        asking->failed = true;
        units_break(&asking->units);
    }
    task_close(&state);
}

bool asking_run(const AskingSetup *what, SbParallel *parallel) {
    Asking asking = {.what = what};
    UnitsSetup units = *what->units;
    Trouble trouble = {0};
    units.relief = nullptr;
    if (!units_open(&asking.units, &units, &trouble)) return false;
    pthread_mutex_init(&asking.lock, nullptr);
    parallel->each(parallel, parallel->threads, ask_on, &asking);
    pthread_mutex_destroy(&asking.lock);
    units_close(&asking.units);
    return !asking.failed;
}
