#include "runtime/rejects/reject_set.h"

#include "runtime/disk.h"
#include "stdlib/aggregate.h"

#include <stdlib.h>

enum { MEMORY_SHARE = 32, EAGER_BYTES = 4096 };

// ---- as rows on disk --------------------------------------------------------------------------

typedef struct RejectEntry {
    SbEntry head;
    Reject  reject;
} RejectEntry;

static const Reject *reject_of(const SbEntry *entry) {
    return &((const RejectEntry *)(const void *)entry)->reject;
}

// Of what it points to only the texts, which lie in one piece, are its own.
static void hold_texts(SbHolder *holder, const SbType *type, void *at) {
    (void)type;
    Reject *reject = at;
    char *texts = holder->bytes(holder, &reject->message, reject->message_len + reject->raw_len,
                                false);
    if (texts) reject->raw = texts + reject->message_len;
}

static const SbHeld held_texts = {.offset = offsetof(RejectEntry, reject),
                                  .hold = hold_texts};
static const SbBreaker records = {.kind = SB_BREAK_SORT, .entry_bytes = sizeof(RejectEntry),
                                  .held = &held_texts, .held_count = 1};

static int32_t compare_place(const SbEntry *a, const SbEntry *b) {
    return rejects_by_place(reject_of(a), reject_of(b));
}

static int32_t compare_file(const SbEntry *a, const SbEntry *b) {
    return rejects_by_file(reject_of(a), reject_of(b));
}

static const SbSortBy sort_by[] = {
    [REJECTS_BY_PLACE] = {.compare = compare_place}, [REJECTS_BY_FILE] = {.compare = compare_file}};

// ---- the set ----------------------------------------------------------------------------------

bool reject_set_open(RejectSet *set, const RejectSetSetup *setup) {
    SbMemory *memory = setup->memory;
    *set = (RejectSet){.order = setup->order, .list.memory = memory, .writer = setup->writer};
    set->bytes_max = memory->eager ? EAGER_BYTES : memory->limit / MEMORY_SHARE;
    return !setup->spill || spill_runs_open(&set->runs, setup->spill, memory);
}

void reject_set_close(RejectSet *set) {
    spill_runs_close(&set->runs);
    rejects_close(&set->list);
}

bool reject_set_is_full(const RejectSet *set) {
    return set->runs.spill && set->list.bytes > set->bytes_max;
}

static int by_place(const void *a, const void *b) { return rejects_by_place(a, b); }
static int by_file(const void *a, const void *b) { return rejects_by_file(a, b); }

static void sort(RejectList *list, RejectOrder order) {
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items,
              order == REJECTS_BY_PLACE ? by_place : by_file);
}

void reject_set_sort(RejectSet *set) { sort(&set->list, set->order); }

static bool put(const RejectSet *set, const Reject *reject) {
    RejectEntry entry = {.reject = *reject};
    return spill_put(set->runs.spill, set->writer, &records, &entry.head);
}

bool reject_set_write(RejectSet *set, RejectList *list) {
    Spill *spill = set->runs.spill;
    SpillRun run;
    sort(list, set->order);
    bool good = spill_begin(spill, set->writer);
    for (uint32_t i = 0; good && i < list->count; i++) good = put(set, &list->items[i]);
    good = good && spill_end(spill, set->writer, &run) && spill_runs_add(&set->runs, &run);
    rejects_close(list);
    return good;
}

bool reject_set_add(RejectSet *set, const Reject *reject) {
    return rejects_copy(&set->list, reject) &&
           (!reject_set_is_full(set) || reject_set_write(set, &set->list));
}

// ---- all of it --------------------------------------------------------------------------------

bool reject_walk_open(RejectWalk *walk, RejectSet *set) {
    const SbSortBy *by = &sort_by[set->order];
    *walk = (RejectWalk){.set = set};
    sort(&set->list, set->order);
    if (set->runs.count == 0) return true;
    SbAlone alone = sb_alone(set->writer);
    walk->merge = spill_runs_reduce(&set->runs, &records, by, &alone.parallel)
                      ? spill_merge_open(&set->runs, &records, by)
                      : nullptr;
    return walk->merge;
}

const Reject *reject_walk_next(RejectWalk *walk) {
    const RejectList *list = &walk->set->list;
    const Reject *listed = walk->at < list->count ? &list->items[walk->at] : nullptr;
    int64_t held;
    if (walk->shown) spill_merge_pass(walk->merge);
    walk->shown = nullptr;
    const SbEntry *entry = walk->merge ? spill_merge_first(walk->merge, &held) : nullptr;
    if (walk->merge && walk->set->runs.spill->failed) return nullptr;
    const Reject *stored = entry ? reject_of(entry) : nullptr;
    int (*compare)(const Reject *, const Reject *) =
        walk->set->order == REJECTS_BY_PLACE ? rejects_by_place : rejects_by_file;
    bool next = listed && (!stored || compare(listed, stored) <= 0);
    walk->at += next;
    if (!next) walk->shown = stored;
    return next ? listed : stored;
}

void reject_walk_close(RejectWalk *walk) {
    spill_merge_close(walk->merge);
    walk->merge = nullptr;
}
