#include "runtime/breakers/spill_window.h"

#include "runtime/breakers/spill_sort.h"
#include "runtime/breakers/window.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHARE = 4,             // Rows are written when they take such a part of the memory,
    CHUNKS = 8,            // and let go in as many parts of that.
    EAGER_ROWS = 3,        // In tests.
    COVER = sizeof(SbEntry *) + 2 * sizeof(SbSortItem),  // What writing a row takes.
};

typedef struct Chunk {
    SbRows  rows;
    int64_t end;           // The number of the row after its last one.
} Chunk;

// Rows are numbered from 0 over all partitions.
typedef struct Walk {
    const SpillOrder *from;
    SpillSort   sort;      // Of the runs that are written.
    uint32_t    thread;
    SbMemory   *memory;
    SpillMerge *merge;
    WindowRun      window;
    WindowTotals totals;   // Of the partition, where it was gone along before.
    Chunk      *chunks;
    uint32_t    chunk_count, chunk_cap;
    SbEntry   **list;      // The rows that are there: `base` to `end`.
    int64_t     base, end, cap;
    int64_t     written;   // Rows before it are in runs.
    int64_t     begin;     // Of the partition.
    int64_t     budget;
    int32_t     status;
} Walk;

static bool fail(Walk *walk, int32_t status) {
    if (!walk->status) walk->status = status;
    return false;
}

static bool no_memory(Walk *walk) {
    spill_fail(walk->sort.runs->spill, TROUBLE_MEMORY,
               "no memory for the rows that a window looks at");
    return fail(walk, SB_FAULT_TOO_LARGE);
}

// ---- rows that are there ------------------------------------------------------------------------

static SbEntry *row(const Walk *walk, int64_t number) { return walk->list[number - walk->base]; }

static int64_t bytes_held(const Walk *walk) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < walk->chunk_count; i++) bytes += sb_rows_bytes(&walk->chunks[i].rows);
    return bytes;
}

static bool list_more(Walk *walk) {
    if (walk->end - walk->base < walk->cap) return true;
    int64_t cap = walk->cap + walk->cap / 2 + 64;
    if (!sb_memory_charge(walk->memory, (cap - walk->cap) * COVER)) return false;
    SbEntry **list = realloc(walk->list, (size_t)cap * sizeof *list);
    if (!list) {
        sb_memory_release(walk->memory, (cap - walk->cap) * COVER);
        return false;
    }
    walk->list = list;
    walk->cap = cap;
    return true;
}

// A chunk with room; null: no memory.
static Chunk *chunk_for_row(Walk *walk) {
    Chunk *last = walk->chunk_count ? &walk->chunks[walk->chunk_count - 1] : nullptr;
    bool full = last && (sb_rows_bytes(&last->rows) > walk->budget / CHUNKS ||
                         (walk->memory->eager && last->rows.count >= EAGER_ROWS));
    if (last && !full) return last;
    if (walk->chunk_count == walk->chunk_cap) {
        uint32_t cap = 2 * walk->chunk_cap + CHUNKS;
        Chunk *chunks = realloc(walk->chunks, cap * sizeof *chunks);
        if (!chunks) return nullptr;
        walk->chunks = chunks;
        walk->chunk_cap = cap;
    }
    Chunk *chunk = &walk->chunks[walk->chunk_count];
    *chunk = (Chunk){.end = walk->end};
    if (sb_rows_init(&chunk->rows, walk->memory, walk->from->what->entry_bytes)) return nullptr;
    walk->chunk_count++;
    return chunk;
}

// Lets go of chunks whose rows come before `row`.
static bool let_go(Walk *walk, int64_t row) {
    uint32_t gone = 0;
    while (gone < walk->chunk_count && walk->chunks[gone].end <= row) gone++;
    if (gone == 0) return false;
    int64_t base = walk->chunks[gone - 1].end;
    bool open = base > walk->begin;
    if (open && !window_keep(&walk->window, base - walk->begin)) return false;
    for (uint32_t i = 0; i < gone; i++) sb_rows_fini(&walk->chunks[i].rows);
    walk->chunk_count -= gone;
    memmove(walk->chunks, walk->chunks + gone, walk->chunk_count * sizeof *walk->chunks);
    memmove(walk->list, walk->list + (base - walk->base),
            (size_t)(walk->end - base) * sizeof *walk->list);
    walk->base = base;
    return true;
}

// ---- results ------------------------------------------------------------------------------------

// Rows of the open partition get the results that they can have.
static bool compute(Walk *walk, bool complete) {
    WindowRun *window = &walk->window;
    int64_t first = walk->begin > walk->base ? walk->begin : walk->base;
    window->rows = walk->list + (first - walk->base);
    window->first = first - walk->begin;
    window->end = walk->end - walk->begin;
    window->complete = complete;
    int32_t status = window_run(window);
    if (status == SB_FAULT_TOO_LARGE) return no_memory(walk);
    return status ? fail(walk, status) : true;
}

// Writes the rows before number `end` that are not written yet.
static bool write_rows(Walk *walk, int64_t end) {
    int64_t count = end - walk->written;
    if (count <= 0) return true;
    const SbEntry **entries = malloc((size_t)count * sizeof *entries);
    SpillRun run;
    if (!entries) return no_memory(walk);
    for (int64_t i = 0; i < count; i++) entries[i] = row(walk, walk->written + i);
    bool good = spill_sort_write(&walk->sort, walk->thread, entries, count, &run) &&
                spill_runs_add(walk->sort.runs, &run);
    free(entries);
    walk->written = end;
    return good || fail(walk, SB_FAULT_TOO_LARGE);
}

// Goes along the rest of the partition, and comes back.
static bool look_ahead(Walk *walk) {
    const SpillOrder *from = walk->from;
    window_totals_close(&walk->totals);
    if (!window_totals_open(&walk->totals, from->what, walk->memory)) return no_memory(walk);
    for (int64_t i = walk->begin; i < walk->end && !walk->status; i++) {
        int32_t status = window_totals_add(&walk->totals, row(walk, i));
        if (status) fail(walk, status);
    }
    const SbEntry *last = row(walk, walk->end - 1), *entry;
    int64_t held;
    while (!walk->status && (entry = spill_merge_first(walk->merge, &held)) &&
           window_same_partition(from->what->window, last, entry)) {
        int32_t status = window_totals_add(&walk->totals, entry);
        if (status) fail(walk, status);
        spill_merge_pass(walk->merge);
    }
    spill_merge_close(walk->merge);
    walk->merge = walk->status ? nullptr : spill_merge_open(from->runs, from->what, from->by);
    if (!walk->status && !walk->merge) return no_memory(walk);
    for (int64_t i = 0; i < walk->end && !walk->status; i++) {
        if (!spill_merge_first(walk->merge, &held)) return fail(walk, SB_FAULT_TOO_LARGE);
        spill_merge_pass(walk->merge);
    }
    int32_t status = walk->status ? SB_OK : window_totals_end(&walk->totals, &walk->window);
    if (status) fail(walk, status);
    return !walk->status;
}

// Makes room: writes what has its results, and lets go of what nobody looks at. False: there was
// nothing, or trouble.
static bool make_room(Walk *walk) {
    bool open = walk->end > walk->begin;
    int64_t ready = walk->begin, needed = walk->begin;
    if (open) {
        if (!compute(walk, false)) return false;
        ready += walk->window.limit;
        int64_t from = window_needed(&walk->window);
        needed += from < 0 ? 0 : from;
    }
    if (!write_rows(walk, ready)) return false;
    if (let_go(walk, ready < needed ? ready : needed)) return true;
    if (walk->status || !open || window_needed(&walk->window) >= 0) return false;
    return look_ahead(walk) && make_room(walk);
}

// ---- the walk -----------------------------------------------------------------------------------

static bool close_partition(Walk *walk) {
    if (walk->end > walk->begin && !compute(walk, true)) return false;
    // Results of a partition that went in pieces are held by the functions.
    bool pieces = walk->base > walk->begin || walk->window.whole;
    if (pieces && !write_rows(walk, walk->end)) return false;
    walk->begin = walk->end;
    window_begin(&walk->window);
    return true;
}

static bool add_row(Walk *walk, const SbEntry *entry, int64_t held) {
    Chunk *chunk = list_more(walk) ? chunk_for_row(walk) : nullptr;
    SbEntry *copy = chunk ? spill_keep(&chunk->rows, walk->from->what, entry, held) : nullptr;
    if (!copy) return false;
    walk->list[walk->end - walk->base] = copy;
    chunk->end = ++walk->end;
    return true;
}

static bool wants_room(const Walk *walk) {
    if (walk->memory->eager) return walk->end - walk->base >= 2 * EAGER_ROWS;
    return walk->end > walk->base && bytes_held(walk) > walk->budget;
}

static void go_along(Walk *walk) {
    const SbWindow *what = walk->from->what->window;
    const SbEntry *entry;
    int64_t held, tried = 0;
    while (!walk->status && (entry = spill_merge_first(walk->merge, &held))) {
        bool same = walk->end > walk->begin &&
                    window_same_partition(what, row(walk, walk->end - 1), entry);
        if (!same && !close_partition(walk)) return;
        // Rows that cannot go yet are not asked for with each row.
        bool again = walk->end - walk->base >= 2 * tried;
        if (again && wants_room(walk)) {
            tried = make_room(walk) ? 0 : walk->end - walk->base;
            continue;
        }
        if (!add_row(walk, entry, held)) {
            if (!make_room(walk)) no_memory(walk);
            tried = 0;
            continue;
        }
        spill_merge_pass(walk->merge);
    }
    if (!walk->status && close_partition(walk)) write_rows(walk, walk->end);
}

static bool walk_open(Walk *walk) {
    const SpillOrder *from = walk->from;
    Spill *spill = walk->sort.runs->spill;
    walk->memory = spill->memory;
    walk->budget = spill->memory->limit / SHARE;
    walk->merge = spill_merge_open(from->runs, from->what, from->by);
    return walk->merge && window_open(&walk->window, from->what, spill->memory) &&
           spill_ready(spill, walk->thread);
}

static void walk_close(Walk *walk) {
    for (uint32_t i = 0; i < walk->chunk_count; i++) sb_rows_fini(&walk->chunks[i].rows);
    free(walk->chunks);
    free(walk->list);
    sb_memory_release(walk->memory, walk->cap * COVER);
    window_totals_close(&walk->totals);
    window_close(&walk->window);
    spill_merge_close(walk->merge);
}

static void run_walk(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Walk *walk = arg;
    walk->thread = thread;
    if (walk_open(walk)) go_along(walk);
    else no_memory(walk);
    walk_close(walk);
}

int32_t spill_window(const SpillOrder *from, SpillRuns *to, const SbSortBy *by,
                     SbParallel *parallel) {
    Walk walk = {.from = from, .sort = {.what = from->what, .by = by, .runs = to}};
    parallel->each(parallel, 1, run_walk, &walk);
    if (to->spill->failed && !walk.status) walk.status = SB_FAULT_TOO_LARGE;
    return walk.status;
}
