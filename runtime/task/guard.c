#include "runtime/task/guard.h"

#include "runtime/abi/calls.h"
#include "runtime/crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- cases --------------------------------------------------------------------------------------

enum { ROOM_FIRST = 64 };
enum : uint32_t { NOT_IN_USE = UINT32_MAX };

bool guards_open(Guards *guards, uint32_t stages) {
    *guards = (Guards){.kept = calloc(stages + 1, sizeof *guards->kept)};
    pthread_mutex_init(&guards->lock, nullptr);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&guards->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return guards->kept;
}

void guards_close(Guards *guards) {
    if (!guards->kept) return;
    pthread_mutex_destroy(&guards->lock);
    pthread_cond_destroy(&guards->changed);
    free(guards->cases);
    free(guards->kept);
    *guards = (Guards){0};
}

// Where the case is, or would be. There is room.
static GuardCase *find(const Guards *guards, uint32_t site, uint64_t identity) {
    uint32_t at = (uint32_t)(identity ^ identity >> 32 ^ site * UINT32_C(0x9e3779b1));
    for (;; at++) {
        GuardCase *is = &guards->cases[at & (guards->room - 1)];
        bool found = is->site == site && is->identity == identity;
        if (found || is->site == NOT_IN_USE) return is;
    }
}

static bool grow(Guards *guards) {
    if (2 * (guards->count + 1) <= guards->room) return true;
    Guards more = {.room = guards->room ? 2 * guards->room : ROOM_FIRST};
    more.cases = malloc(more.room * sizeof *more.cases);
    if (!more.cases) return false;
    for (uint32_t i = 0; i < more.room; i++) more.cases[i] = (GuardCase){.site = NOT_IN_USE};
    for (uint32_t i = 0; i < guards->room; i++) {
        const GuardCase *is = &guards->cases[i];
        if (is->site != NOT_IN_USE) *find(&more, is->site, is->identity) = *is;
    }
    free(guards->cases);
    guards->cases = more.cases;
    guards->room = more.room;
    return true;
}

bool guards_set(Guards *guards, const GuardCase *is) {
    pthread_mutex_lock(&guards->lock);
    bool good = grow(guards);
    if (good) {
        GuardCase *there = find(guards, is->site, is->identity);
        guards->count += there->site == NOT_IN_USE;
        *there = *is;
        guards->any = guards->count;
        pthread_cond_broadcast(&guards->changed);
    }
    pthread_mutex_unlock(&guards->lock);
    return good;
}

static GuardCase look(const Guards *guards, uint32_t site, uint64_t identity) {
    const GuardCase *is = guards->room > 0 ? find(guards, site, identity) : nullptr;
    return is && is->site != NOT_IN_USE ? *is : (GuardCase){.state = GUARD_FREE};
}

GuardState guards_state(Guards *guards, uint32_t site, uint64_t identity) {
    pthread_mutex_lock(&guards->lock);
    GuardCase is = look(guards, site, identity);
    pthread_mutex_unlock(&guards->lock);
    return is.state;
}

void guards_end(Guards *guards) {
    pthread_mutex_lock(&guards->lock);
    guards->over = true;
    pthread_cond_broadcast(&guards->changed);
    pthread_mutex_unlock(&guards->lock);
}

// ---- what faults say ----------------------------------------------------------------------------

static int32_t say(SbCall *call, int32_t fault, uint8_t number) {
    SbGuard *guard = call->guard;
    static const double kib = 1 << 10, mib = 1 << 20;
    double bytes = (double)guard->stage->memory;
    const SbStage *stage = guard->stage;
    const char *name = crash_name(number);
    double seconds = (double)stage->timeout / 1e6;
    char *words = guard->words;
    size_t max = sizeof guard->words;
    if (fault == SB_FAULT_EXTERN_CRASHED) snprintf(words, max, "%s", name);
    else if (fault == SB_FAULT_EXTERN_SLOW) snprintf(words, max, "%g s", seconds);
    else if (bytes >= mib) snprintf(words, max, "%.1f MiB", bytes / mib);
    else snprintf(words, max, "%.1f KiB", bytes / kib);
    call->detail = (SbStr){words, (int64_t)strlen(words)};
    return fault;
}

static int32_t skip(SbCall *call) {
    call->detail = (SbStr){0};
    return SB_FAULT_EXTERN_FAILED;
}

// ---- who waits for a verdict --------------------------------------------------------------------

static bool is_cancelled(const SbCall *call) {
    const int32_t *cancel = call->hold.cancel;
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
}

// Waits while the row is tried elsewhere. The answer has another state, unless the job ends.
static GuardCase await(SbCall *call, uint32_t site, uint64_t identity) {
    enum : int64_t { LOOK = 50'000'000, SECOND = 1'000'000'000 };
    Guards *guards = call->guard->all;
    pthread_mutex_lock(&guards->lock);
    GuardCase is = look(guards, site, identity);
    while (is.state == GUARD_TRIED && !guards->over && !is_cancelled(call)) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        pthread_cond_timedwait(&guards->changed, &guards->lock, &until);
        is = look(guards, site, identity);
    }
    pthread_mutex_unlock(&guards->lock);
    return is;
}

static bool is_any(const SbGuard *guard) { return guard->all && guard->all->any > 0; }

// ---- notes --------------------------------------------------------------------------------------

bool guard_watches(const SbGuard *guard) {
    return guard->note || guard->stage->memory > 0 || is_any(guard);
}

static void begin(SbGuard *guard, const GuardNote *is, bool runs) {
    GuardNote *note = guard->note;
    ForeignCall *memory = note ? &note->memory : &guard->memory;
    *memory = (ForeignCall){.limit = guard->stage->memory};
    foreign_begin(memory);
    if (!note) return;
    note->task = guard->task;
    note->stage = guard->number;
    note->kind = GUARD_CALL;
    note->site = is->site;
    note->pure = is->pure;
    note->identity = is->identity;
    note->first = is->first;
    note->count = is->count;
    note->signal = 0;
    note->starts = guard->starts;
    note->start = guard->start;
    note->timed = runs && guard->stage->timeout > 0;
    note->serial++;
}

// Has the call taken more than its step gives?
static bool end(SbGuard *guard) {
    GuardNote *note = guard->note;
    if (note) note->serial++;
    foreign_end();
    ForeignCall *memory = note ? &note->memory : &guard->memory;
    // What calls give back may be what earlier ones have kept.
    if (guard->all && memory->limit > 0) guard->all->kept[guard->number] += memory->used;
    return memory->denied;
}

// ---- states -------------------------------------------------------------------------------------

void guard_state_begin(GuardNote *note, GuardKind kind, uint32_t stage, const SbStage *is) {
    note->stage = stage;
    note->kind = kind;
    note->signal = 0;
    note->states = true;
    note->memory = (ForeignCall){0};
    note->timed = is->timeout > 0;
    note->serial++;
}

void guard_state_end(GuardNote *note) { note->serial++; }

// ---- rows ---------------------------------------------------------------------------------------

static bool is_tried(const GuardTrial *trial, uint32_t site, uint64_t identity) {
    return trial && trial->site == site && trial->identity == identity;
}

int32_t sb_guard_begin(SbCall *call, uint32_t site, uint64_t identity, int32_t pure) {
    SbGuard *guard = call->guard;
    const GuardTrial *trial = guard->trial;
    if (trial && !trial->whole && trial->identity != identity) return skip(call);
    if (is_any(guard) && !is_tried(trial, site, identity)) {
        GuardCase is = trial ? look(guard->all, site, identity) : await(call, site, identity);
        if (is.state == GUARD_REJECT) return say(call, is.fault, is.signal);
        if (is.state == GUARD_TRIED) return skip(call);
    }
    begin(guard, &(GuardNote){.site = site, .identity = identity, .pure = pure}, true);
    return SB_OK;
}

// The task of a trial stops once it is known what the trial asks.
static void end_trial(SbCall *call, GuardTrial *trial) {
    SbTask *task = (SbTask *)(void *)((char *)call - offsetof(SbTask, call));
    trial->passed = true;
    __atomic_store_n(&task->cancel, 1, __ATOMIC_RELAXED);
}

int32_t sb_guard_end(SbCall *call) {
    SbGuard *guard = call->guard;
    bool denied = end(guard);
    if (guard->note && is_tried(guard->trial, guard->note->site, guard->note->identity))
        end_trial(call, guard->trial);
    return denied ? say(call, SB_FAULT_EXTERN_MEMORY, 0) : SB_OK;
}

// ---- batches ------------------------------------------------------------------------------------

static uint64_t identity_of(const void *row, uint32_t at) {
    uint64_t identity;
    memcpy(&identity, (const char *)row + at, sizeof identity);
    return identity;
}

// What a trial does with the rows from `row` on.
static int32_t try_batch(SbCall *call, const GuardTrial *trial, int64_t row, int64_t *count) {
    const GuardRange *next = trial->next < trial->range_count ? &trial->ranges[trial->next]
                                                              : nullptr;
    if (next && next->first == row) {
        *count = next->count;
        return SB_OK;
    }
    if (next && next->first > row && next->first - row < *count) *count = next->first - row;
    return skip(call);
}

// What all rows from the first one on have in common, and how many they are.
static int32_t same_batch(SbCall *call, const void *const *rows, uint32_t at, int64_t *count) {
    const SbGuard *guard = call->guard;
    uint32_t site = GUARD_BATCH | guard->number;
    GuardCase first = await(call, site, identity_of(rows[0], at));
    bool waits = first.state == GUARD_TRIED, rejects = first.state == GUARD_REJECT;
    int64_t same = 1;
    pthread_mutex_lock(&guard->all->lock);
    for (; same < *count; same++) {
        GuardCase next = look(guard->all, site, identity_of(rows[same], at));
        bool alike = next.state == first.state && next.fault == first.fault &&
                     next.signal == first.signal;
        if (rejects ? !alike : next.state != GUARD_FREE) break;
    }
    pthread_mutex_unlock(&guard->all->lock);
    *count = same;
    return rejects ? say(call, first.fault, first.signal) : waits ? skip(call) : SB_OK;
}

int32_t guard_batch(SbCall *call, const void *const *rows, int64_t row, uint32_t identity_at,
                    int64_t *count) {
    const SbGuard *guard = call->guard;
    bool batch = guard->trial && guard->trial->range_count > 0;
    if (batch) return try_batch(call, guard->trial, row, count);
    if (!is_any(guard)) return SB_OK;
    return same_batch(call, rows, identity_at, count);
}

void guard_batch_begin(SbGuard *guard, int64_t row, int64_t count, bool pure) {
    GuardNote is = {.site = GUARD_BATCH | guard->number, .pure = pure, .first = row,
                    .count = count};
    begin(guard, &is, false);
}

void guard_batch_runs(SbGuard *guard) {
    if (guard->note) guard->note->timed = guard->stage->timeout > 0;
}

int32_t guard_batch_end(SbCall *call) {
    SbGuard *guard = call->guard;
    GuardTrial *trial = guard->trial;
    bool denied = end(guard);
    if (trial && trial->range_count > 0 && ++trial->next == trial->range_count)
        end_trial(call, trial);
    return denied ? say(call, SB_FAULT_EXTERN_MEMORY, 0) : SB_OK;
}
