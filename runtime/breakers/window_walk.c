#include "runtime/breakers/window_walk.h"

#include "runtime/breakers/window.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNKS = 8,            // Rows are let go in as many parts of the budget.
    EAGER_ROWS = 3,        // In tests.
    LOOK_EVERY = 32,       // Rows after which the bytes are counted.
    COVER = sizeof(SbEntry *) + 2 * sizeof(SbSortItem),  // What writing a row takes.
};

typedef struct Chunk {
    SbRows  rows;
    int64_t end;           // The number of the row after its last one.
} Chunk;

// Rows are numbered from 0 over all partitions of the piece.
typedef struct Walk {
    const WindowPiece *piece;
    const SpillOrder  *from;
    const SbBreaker   *what;   // Of rows that have room for results.
    WindowCrew *crew;
    uint32_t    thread;
    SbMemory   *memory;
    SpillMerge *merge;
    WindowRun      window;
    WindowTotals totals;   // Of the partition, where it was gone along before.
    Chunk      *chunks;
    uint32_t    chunk_count, chunk_cap;
    SbEntry   **list;      // The rows that are there: `base` to `end`.
    int64_t     base, end, cap;
    int64_t     written;   // Rows before it are in runs, or handed over to be written.
    WindowBatch batch;     // What was handed over...
    bool        flying;    // ...and may still be at work: no row may go.
    int64_t     begin;     // Of the partition.
    bool        entered;   // Its first row is the next one, or there.
    bool        last;      // No other one follows.
    int32_t     status;
} Walk;

static bool fail(Walk *walk, int32_t status) {
    if (!walk->status) walk->status = status;
    return false;
}

static bool no_memory(Walk *walk) { return fail(walk, SB_FAULT_TOO_LARGE); }

// ---- rows that are there ------------------------------------------------------------------------

static SbEntry *row(const Walk *walk, int64_t number) { return walk->list[number - walk->base]; }

// In use: the last blocks of a chunk may be charged in vain.
static int64_t bytes_held(const Walk *walk) {
    int64_t bytes = (walk->end - walk->base) * COVER;
    for (uint32_t i = 0; i < walk->chunk_count; i++) bytes += sb_rows_used(&walk->chunks[i].rows);
    return bytes;
}

static bool list_more(Walk *walk) {
    if (walk->end - walk->base < walk->cap) return true;
    int64_t cap = walk->cap + walk->cap / 4 + 64;
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
    bool full = last && (sb_rows_used(&last->rows) > walk->piece->budget / CHUNKS ||
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
    if (sb_rows_init(&chunk->rows, walk->memory, walk->what->entry_bytes)) return nullptr;
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

// Waits for rows that were handed over. They may go then.
static bool land(Walk *walk) {
    if (!walk->flying) return true;
    walk->flying = false;
    return window_crew_wait(walk->crew, &walk->batch) || fail(walk, SB_FAULT_TOO_LARGE);
}

// Writes the rows before number `end` that are not written yet, or hands them over.
static bool write_rows(Walk *walk, int64_t end) {
    int64_t count = end - walk->written;
    if (count <= 0) return true;
    if (!land(walk)) return false;
    const SbEntry **entries = malloc((size_t)count * sizeof *entries);
    if (!entries) return no_memory(walk);
    for (int64_t i = 0; i < count; i++) entries[i] = row(walk, walk->written + i);
    walk->batch = (WindowBatch){.entries = entries, .count = count};
    walk->written = end;
    walk->flying = window_crew_hand(walk->crew, &walk->batch);
    return walk->flying || window_crew_write(walk->crew, walk->thread, &walk->batch) ||
           fail(walk, SB_FAULT_TOO_LARGE);
}

// Another merge, at the row after the last one that is there.
static bool come_back(Walk *walk) {
    const SpillOrder *from = walk->from;
    const SbEntry *last = row(walk, walk->end - 1), *entry;
    int64_t held;
    spill_merge_close(walk->merge);
    walk->merge = spill_merge_open(from->runs, from->what, from->by);
    if (!walk->merge) return no_memory(walk);
    if (!spill_merge_go_to(walk->merge, spill_key_of(from->by, last)))
        return fail(walk, SB_FAULT_TOO_LARGE);
    while ((entry = spill_merge_first(walk->merge, &held)) &&
           !sb_sort_before(last, entry, from->by))
        spill_merge_pass(walk->merge);
    return true;
}

// Goes along the rest of the partition, and comes back.
static bool look_ahead(Walk *walk) {
    const SpillOrder *from = walk->from;
    window_totals_close(&walk->totals);
    if (!window_totals_open(&walk->totals, walk->what, from->what, walk->memory))
        return no_memory(walk);
    for (int64_t i = walk->begin; i < walk->end && !walk->status; i++) {
        int32_t status = window_totals_add(&walk->totals, row(walk, i));
        if (status) fail(walk, status);
    }
    const SbEntry *last = row(walk, walk->end - 1), *entry;
    int64_t held;
    while (!walk->status && (entry = spill_merge_first(walk->merge, &held)) &&
           window_same_partition(walk->what->window, last, entry)) {
        int32_t status = window_totals_add(&walk->totals, entry);
        if (status) fail(walk, status);
        spill_merge_pass(walk->merge);
    }
    if (walk->status || !come_back(walk)) return false;
    int32_t status = window_totals_end(&walk->totals, &walk->window);
    return !status || fail(walk, status);
}

// Lets go of rows that are written and that no function looks at.
static bool let_written_go(Walk *walk) {
    int64_t needed = walk->end > walk->begin ? window_needed(&walk->window) : 0;
    int64_t row = walk->begin + (needed < 0 ? 0 : needed);
    return let_go(walk, walk->written < row ? walk->written : row);
}

// Makes room: writes what has its results, and lets go of what nobody looks at. Rows that were
// handed over go the next time. False: there was nothing, or trouble.
static bool make_room(Walk *walk) {
    bool open = walk->end > walk->begin, flew = walk->flying;
    if (!land(walk)) return false;
    if (flew && let_written_go(walk)) return true;
    if (open && !compute(walk, false)) return false;
    if (!write_rows(walk, walk->begin + (open ? walk->window.limit : 0))) return false;
    if (walk->flying || let_written_go(walk)) return true;
    if (walk->status || !open || window_needed(&walk->window) >= 0) return false;
    return look_ahead(walk) && make_room(walk);
}

// ---- the walk -----------------------------------------------------------------------------------

static bool close_partition(Walk *walk) {
    if (walk->end > walk->begin && !compute(walk, true)) return false;
    // Results of a partition that went in pieces are held by the functions.
    bool pieces = walk->base > walk->begin || walk->window.whole;
    if (pieces && !(write_rows(walk, walk->end) && land(walk))) return false;
    walk->begin = walk->end;
    window_begin(&walk->window);
    return true;
}

static bool add_row(Walk *walk, const SbEntry *entry, int64_t held) {
    const SbBreaker *bare = walk->from->what;
    Chunk *chunk = list_more(walk) ? chunk_for_row(walk) : nullptr;
    SbEntry *copy = chunk ? spill_keep(&chunk->rows, bare, entry, held) : nullptr;
    if (!copy) return false;
    memset((char *)copy + bare->entry_bytes, 0, walk->what->entry_bytes - bare->entry_bytes);
    walk->list[walk->end - walk->base] = copy;
    chunk->end = ++walk->end;
    return true;
}

// What is handed over may take as much again: then some thread has no piece.
static bool wants_room(const Walk *walk) {
    int64_t times = walk->flying ? 2 : 1;
    if (walk->memory->eager) return walk->end - walk->base >= 2 * EAGER_ROWS * times;
    return walk->end > walk->base && walk->end % LOOK_EVERY == 0 &&
           bytes_held(walk) > walk->piece->budget * times;
}

// Goes on to another partition. False: it is not of the piece, or trouble.
static bool next_partition(Walk *walk, const SbEntry *first) {
    const SbEntry *last = walk->piece->last;
    if (!close_partition(walk) || walk->last) return false;
    walk->entered = true;
    walk->last = last && window_same_partition(walk->what->window, last, first);
    return true;
}

static void go_along(Walk *walk) {
    const SbWindow *what = walk->what->window;
    const SbEntry *entry;
    int64_t held, tried = 0;
    while (!walk->status && (entry = spill_merge_first(walk->merge, &held))) {
        bool same = walk->end > walk->begin
                        ? window_same_partition(what, row(walk, walk->end - 1), entry)
                        : walk->entered;
        if (!same && !next_partition(walk, entry)) break;
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

// Passes the partition that belongs to the piece before.
static void skip(Walk *walk) {
    const SbEntry *first = walk->piece->skip, *entry;
    int64_t held;
    while (first && (entry = spill_merge_first(walk->merge, &held)) &&
           window_same_partition(walk->what->window, first, entry))
        spill_merge_pass(walk->merge);
}

static void walk_close(Walk *walk) {
    land(walk);
    for (uint32_t i = 0; i < walk->chunk_count; i++) sb_rows_fini(&walk->chunks[i].rows);
    free(walk->chunks);
    free(walk->list);
    sb_memory_release(walk->memory, walk->cap * COVER);
    window_totals_close(&walk->totals);
    window_close(&walk->window);
    spill_merge_close(walk->merge);
}

int64_t window_run_bytes(const SpillRuns *rows, const SbBreaker *bare, const SbBreaker *what) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < rows->count; i++) bytes += rows->items[i].bytes;
    int64_t more = what->entry_bytes - bare->entry_bytes + COVER;
    return (bytes + rows->rows * more) / (CHUNKS - 1) * CHUNKS;
}

int32_t window_walk(WindowPiece *piece, const SpillOrder *from, WindowCrew *crew,
                    uint32_t thread) {
    Spill *spill = from->runs->spill;
    Walk walk = {.piece = piece, .from = from, .what = crew->sort.what, .crew = crew,
                 .thread = thread, .memory = spill->memory, .merge = piece->merge};
    piece->merge = nullptr;
    bool good = window_open(&walk.window, walk.what, spill->memory) && spill_ready(spill, thread);
    if (good) skip(&walk);
    if (good) go_along(&walk);
    else no_memory(&walk);
    walk_close(&walk);
    return walk.status;
}
