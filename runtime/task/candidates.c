#include "runtime/task/candidates.h"

#include "runtime/task/task.h"

#include <stdlib.h>

enum {
    FEW = 16,            // So many are listed at a time where one match decides.
    ROOM_MIN = 64,
    ROOM_KEPT = 1024,    // A longer list is not kept for the next unit.
    ROWS_SHARE = 8,      // The most that are listed are such a part of the rows,
    ROWS_LEAST = 16,     // or as many.
};

static int64_t bytes_of(int64_t room) {
    enum { WITH_SPARE = 2 };
    return WITH_SPARE * room * (int64_t)sizeof(SbSortItem);
}

static void drop(const SbTaskState *state, Candidates *list) {
    sb_memory_release(state->setup->memory, bytes_of(list->room));
    free(list->items);
    list->items = nullptr;
    list->room = list->count = list->at = 0;
}

static void drop_from(SbTaskState *state, int64_t room) {
    uint32_t count = state->candidates ? state->setup->job->breaker_count : 0;
    for (uint32_t i = 0; i < count; i++)
        if (state->candidates[i].room > room) drop(state, &state->candidates[i]);
}

void candidates_begin(SbTaskState *state) { drop_from(state, ROOM_KEPT); }

void candidates_close(SbTaskState *state) {
    drop_from(state, 0);
    free(state->candidates);
    state->candidates = nullptr;
}

// Room for twice as many. False: no memory, and all is as it was.
static bool grow(const SbTaskState *state, Candidates *list) {
    SbMemory *memory = state->setup->memory;
    int64_t room = list->room ? 2 * list->room : ROOM_MIN;
    int64_t more = bytes_of(room) - bytes_of(list->room);
    if (!sb_memory_has(memory, more) || !sb_memory_charge(memory, more)) return false;
    SbSortItem *items = realloc(list->items, (size_t)bytes_of(room));
    if (!items) {
        sb_memory_release(memory, more);
        return false;
    }
    list->items = items;
    list->room = room;
    return true;
}

// Lists all rows that pass the bounds, in the order of the chain: what stands after a row grows
// less. False: they are too many, or there is no memory.
static bool list_all(const SbTaskState *state, Candidates *list, const SbBreaker *what) {
    int64_t most = sb_range_rows(&list->search) / ROWS_SHARE;
    if (most < ROWS_LEAST) most = ROWS_LEAST;
    for (int64_t wanted = 0, got = 0; got == wanted; list->count += got) {
        if (list->count == list->room && !grow(state, list)) return false;
        wanted = list->count ? list->room - list->count : ROOM_MIN;
        got = sb_range_next(&list->search, list->items + list->count, wanted);
        if (list->count + got > most) return false;
        bool goes_on = got == wanted && list->count == 0;
        if (goes_on && got + sb_range_guess(&list->search) > most) return false;
    }
    for (int64_t i = 0; i < list->count; i++) {
        SbSortItem *item = &list->items[i];
        item->key = ~join_jump_of(what, item->entry)->rest;
    }
    sort_by_word(list->items, list->items + list->room, list->count, UINT64_MAX);
    return true;
}

int32_t sb_join_list(SbTask *task, uint32_t breaker, const SbEntry *first, const uint64_t *bits,
                     int32_t one) {
    SbTaskState *state = task->state;
    const SbJob *job = state->setup->job;
    if (!state->candidates)
        state->candidates = calloc(job->breaker_count, sizeof *state->candidates);
    if (!state->candidates) return false;
    Candidates *list = &state->candidates[breaker];
    list->count = list->at = 0;
    list->few = one;
    if (!sb_range_search(task->tables[breaker], first, bits, &list->search)) return false;
    if (list->few) return list->room > 0 || grow(state, list);
    if (list_all(state, list, &job->breakers[breaker])) return true;
    list->count = 0;
    return false;
}

const SbEntry *sb_join_listed(SbTask *task, uint32_t breaker) {
    Candidates *list = &task->state->candidates[breaker];
    if (list->at == list->count && list->few) {
        list->count = sb_range_next(&list->search, list->items, FEW);
        list->at = 0;
    }
    return list->at < list->count ? list->items[list->at++].entry : nullptr;
}

void candidates_pass(SbTaskState *state, uint32_t breaker, const SbEntry *entry) {
    Candidates *list = state->candidates ? &state->candidates[breaker] : nullptr;
    while (list && list->at < list->count && list->items[list->at++].entry != entry) {}
}
