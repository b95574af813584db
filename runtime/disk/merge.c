#include "runtime/disk/merge.h"

#include "runtime/disk/entries.h"

#include <stdlib.h>
#include <string.h>

enum {
    MERGE_SHARE = 8,    // A merge takes at most as small a part of the memory,
    MERGES_SHARE = 4,   // and merges side by side as small a one together.
};

// ---- the runs -----------------------------------------------------------------------------------

bool spill_runs_open(SpillRuns *runs, Spill *spill, SbMemory *memory) {
    *runs = (SpillRuns){.spill = spill, .memory = memory};
    return pthread_mutex_init(&runs->lock, nullptr) == 0;
}

void spill_runs_drop(SpillRuns *runs) {
    for (uint32_t i = 0; i < runs->count; i++) spill_forget(runs->spill, &runs->items[i]);
    free(runs->items);
    runs->items = nullptr;
    runs->count = runs->cap = 0;
    runs->rows = 0;
}

void spill_runs_move(SpillRuns *to, SpillRuns *from) {
    *to = *from;
    pthread_mutex_init(&to->lock, nullptr);
    pthread_mutex_destroy(&from->lock);
    *from = (SpillRuns){0};
}

void spill_runs_take(SpillRuns *to, SpillRuns *from) {
    to->items = from->items;
    to->count = from->count;
    to->cap = from->cap;
    to->rows = from->rows;
    from->items = nullptr;
    from->count = from->cap = 0;
    from->rows = 0;
}

void spill_runs_close(SpillRuns *runs) {
    if (!runs->spill) return;
    spill_runs_drop(runs);
    pthread_mutex_destroy(&runs->lock);
    runs->spill = nullptr;
}

bool spill_runs_add(SpillRuns *runs, const SpillRun *run) {
    pthread_mutex_lock(&runs->lock);
    bool room = runs->count < runs->cap;
    if (!room) {
        uint32_t cap = runs->cap + runs->cap / 4 + 16;
        SpillRun *items = realloc(runs->items, cap * sizeof *items);
        if (items) {
            runs->items = items;
            runs->cap = cap;
        }
        room = items;
    }
    if (room) {
        runs->items[runs->count++] = *run;
        runs->rows += run->rows;
    }
    pthread_mutex_unlock(&runs->lock);
    return room || spill_fail(runs->spill, TROUBLE_NO_MEMORY, "no memory for the list of runs");
}

bool spill_runs_begin(const SpillRuns *runs, uint32_t thread) {
    return runs->block_bytes ? spill_begin_short(runs->spill, thread, runs->block_bytes)
                             : spill_begin(runs->spill, thread);
}

const SpillRun *spill_runs_longest(const SpillRuns *runs) {
    const SpillRun *longest = nullptr;
    for (uint32_t i = 0; i < runs->count; i++)
        if (!longest || runs->items[i].block_max > longest->block_max) longest = &runs->items[i];
    return longest;
}

SpillIndex *spill_runs_index(const SpillRuns *runs) {
    return runs->indexed ? spill_index_open(runs->spill) : nullptr;
}

// ---- one merge ----------------------------------------------------------------------------------

enum : int64_t { CACHE_LINE = 64, NEXT_LINES = 2 };

typedef struct Source {
    SpillReader reader;
    int64_t     at;       // In the block: the row after the one that is shown.
    SbEntry    *entry;    // Shown; nullptr: the run is at its end.
    int64_t     held;     // Bytes after it.
    char       *room_end; // Of blocks that stay; nullptr: there is room for one.
    SpillKey    key;      // Its own; the greatest one at the run's end.
    int64_t     row;      // Its number in the run.
    int64_t     mark;     // The last one of the run's index that is not after its block.
    int64_t     block_at; // Where the block that is there begins in the file; -1: none is.
    SpillKey    before;   // Of the row before the one that is shown, if that is in the block.
} Source;

// Who lost a game, with the key, so that games between many sources stay within a few cache lines.
typedef struct Player {
    SpillKey key;
    uint32_t source;
} Player;

enum : uint32_t { NOBODY = UINT32_MAX };

struct SpillMerge {
    Spill   *spill;
    SbMemory *memory;
    const SbBreaker *what;
    const SbSortBy  *by;
    Source  *sources;
    uint32_t count;
    Player  *losers;      // Node n has the loser of the game there; node 0 the winner of all.
    char    *packed;      // Used by one source after the other.
    int64_t  charged, charged_whole;  // To `memory`, and to that of the job.
    SpillCut cut;
    int64_t  row;         // The number of the winner.
    bool     begun, ended;
    bool     lent;        // Room for blocks is the caller's.
};

// The next block comes after the one that is there.
static void pass_block(Source *source) {
    SpillReader *reader = &source->reader;
    reader->block += reader->len;
    int64_t room = source->room_end - reader->block;
    if (reader->run.block_max > room) reader->run.block_max = room;
}

static bool next_block(Source *source) {
    const SpillIndex *index = source->reader.run.index;
    int64_t from = source->reader.at, next = source->mark + 1;
    source->block_at = -1;
    if (!spill_read(&source->reader)) return false;
    source->block_at = from;
    if (index && next < index->count && index->marks[next].at == from) source->mark = next;
    return true;
}

static const SpillKey greatest = {UINT64_MAX, UINT64_MAX};

// Shows the source's next row. At the end the last block stays.
static bool advance(SpillMerge *merge, Source *source) {
    if (source->entry) source->before = source->key;
    source->entry = nullptr;
    source->key = greatest;
    source->row++;
    if (source->at == source->reader.len) {
        if (source->reader.at >= source->reader.run.end) return !merge->spill->failed;
        source->at = 0;
        if (source->room_end) pass_block(source);
        if (!next_block(source)) return !merge->spill->failed;
    }
    int64_t fixed = spill_entry_bytes(merge->what), left = source->reader.len - source->at - fixed;
    char *row = source->reader.block + source->at;
    SbEntry *entry = (SbEntry *)(void *)row;
    source->held = left < 0 ? -1 : spill_link(merge->what, entry, row + fixed, left);
    if (source->held < 0)
        return spill_fail(merge->spill, TROUBLE_SPILL_READ, "'%s/%u' holds no rows",
                          merge->spill->path, source->reader.run.file);
    source->at += fixed + source->held;
    // As many rows of other runs come first as there are runs.
    for (int64_t line = 0; line < NEXT_LINES; line++)
        __builtin_prefetch(row + fixed + source->held + line * CACHE_LINE);
    SpillKey key = spill_key_of(merge->by, entry);
    if (merge->cut.ends && !spill_key_less(key, merge->cut.to)) return true;
    source->entry = entry;
    source->key = key;
    return true;
}

static bool beats(const SpillMerge *merge, const Player *a, const Player *b) {
    if (a->key.key != b->key.key) return a->key.key < b->key.key;
    if (a->key.more != b->key.more) return a->key.more < b->key.more;
    const Source *x = &merge->sources[a->source], *y = &merge->sources[b->source];
    if (!x->entry || !y->entry) return x->entry;
    return sb_sort_less(x->entry, y->entry, merge->by);
}

// The source plays from its leaf up to the top, or to the first node where nobody has played.
static void play(SpillMerge *merge, uint32_t source) {
    Player winner = {merge->sources[source].key, source};
    for (uint32_t node = (source + merge->count) / 2; node > 0; node /= 2) {
        Player *other = &merge->losers[node];
        bool nobody = other->source == NOBODY;
        if (!nobody && !beats(merge, other, &winner)) continue;
        Player loser = winner;
        winner = *other;
        *other = loser;
        if (nobody) return;
    }
    merge->losers[0] = winner;
}

// From the account of who reads; what that is denied, from what the job leaves for reading.
static bool take(SpillMerge *merge, int64_t bytes) {
    bool own = sb_memory_charge(merge->memory, bytes);
    if (!own && !sb_memory_charge(merge->spill->memory, bytes)) return false;
    *(own ? &merge->charged : &merge->charged_whole) += bytes;
    return true;
}

static bool buffer(SpillMerge *merge, Source *source) {
    int64_t bytes = source->reader.run.block_max + SB_SLACK;
    if (!take(merge, bytes)) return false;
    source->reader.block = aligned_alloc(16, (size_t)((bytes + 15) & ~INT64_C(15)));
    source->reader.packed = merge->packed;
    return source->reader.block;
}

static int64_t packed_most(const SpillRuns *runs) {
    int64_t packed = 0;
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->items[i].packed_max > packed) packed = runs->items[i].packed_max;
    return packed;
}

// What is read ahead of all runs lies beside the memory of the job, in as little. More would be
// thrown away before its turn.
static int64_t ahead_of(const Spill *spill, uint32_t runs) {
    enum : int64_t { AHEAD_SHARE = 4, AHEAD_MIN = 16 << 10 };
    int64_t ahead = spill->memory->limit / AHEAD_SHARE / runs;
    return ahead < AHEAD_MIN ? AHEAD_MIN : ahead < SPILL_AHEAD ? ahead : SPILL_AHEAD;
}

// A source whose rows are read, or lie there.
static bool open_source(SpillMerge *merge, const SpillMergeOf *of, uint32_t i) {
    SpillReader *reader = &merge->sources[i].reader;
    const SpillRun *run = &of->order.runs->items[i];
    int64_t ahead = ahead_of(merge->spill, of->order.runs->count);
    *reader = (SpillReader){.spill = merge->spill, .run = *run, .at = run->begin,
                            .ahead = ahead, .ahead_max = ahead};
    merge->losers[i].source = NOBODY;
    merge->sources[i].row = merge->sources[i].mark = merge->sources[i].block_at = -1;
    if (of->cut) {
        reader->at = of->cut->spans[i].begin;
        reader->run.end = of->cut->spans[i].end;
        merge->row += of->cut->spans[i].row;
    }
    if (!of->room) return reader->at == reader->run.end || buffer(merge, &merge->sources[i]);
    reader->block = i > 0 ? merge->sources[i - 1].room_end : of->room;
    reader->packed = of->packed;
    merge->sources[i].room_end = reader->block + of->cut->spans[i].bytes;
    return true;
}

static bool open_sources(SpillMerge *merge, const SpillMergeOf *of) {
    uint32_t count = of->order.runs->count;
    int64_t packed = of->room ? 0 : packed_most(of->order.runs);
    if (!take(merge, packed)) return false;
    merge->packed = malloc((size_t)packed + 1);
    merge->sources = calloc(count, sizeof *merge->sources);
    merge->losers = malloc(count * sizeof *merge->losers);
    if (!merge->packed || !merge->sources || !merge->losers) return false;
    merge->count = count;
    for (uint32_t i = 0; i < count; i++)
        if (!open_source(merge, of, i)) return false;
    return true;
}

SpillMerge *spill_merge_open_of(const SpillMergeOf *of) {
    const SpillOrder *order = &of->order;
    SpillMerge *merge = calloc(1, sizeof *merge);
    if (!merge) return nullptr;
    *merge = (SpillMerge){.spill = order->runs->spill, .memory = order->runs->memory,
                          .what = order->what, .by = order->by, .lent = of->room};
    if (of->cut) merge->cut = *of->cut;
    if (open_sources(merge, of)) return merge;
    spill_merge_close(merge);
    return nullptr;
}

SpillMerge *spill_merge_open(const SpillRuns *runs, const SbBreaker *what, const SbSortBy *by) {
    return spill_merge_open_of(&(SpillMergeOf){.order = {runs, what, by}});
}

void spill_merge_close(SpillMerge *merge) {
    if (!merge) return;
    for (uint32_t i = 0; i < merge->count && !merge->lent; i++)
        free(merge->sources[i].reader.block);
    free(merge->sources);
    free(merge->losers);
    free(merge->packed);
    sb_memory_release(merge->memory, merge->charged);
    sb_memory_release(merge->spill->memory, merge->charged_whole);
    free(merge);
}

static bool begin(SpillMerge *merge) {
    merge->begun = true;
    for (uint32_t i = 0; i < merge->count; i++) {
        Source *source = &merge->sources[i];
        if (!advance(merge, source)) return false;
        for (; source->entry && spill_key_less(source->key, merge->cut.from); merge->row++)
            if (!advance(merge, source)) return false;
        play(merge, i);
    }
    return merge->count > 0;
}

const SbEntry *spill_merge_first(SpillMerge *merge, int64_t *held_bytes) {
    if (!merge->begun) merge->ended = !begin(merge);
    if (merge->ended) return nullptr;
    const Source *first = &merge->sources[merge->losers[0].source];
    *held_bytes = first->held;
    return first->entry;
}

void spill_merge_pass(SpillMerge *merge) {
    uint32_t winner = merge->losers[0].source;
    merge->ended = !advance(merge, &merge->sources[winner]);
    merge->row++;
    if (!merge->ended) play(merge, winner);
}

int64_t spill_merge_row(const SpillMerge *merge) { return merge->row; }

// ---- going elsewhere ----------------------------------------------------------------------------

// Shows a row that is not after the first one that is not before the key; the mark is before that
// one. Who looks for a row goes to and fro in one block, and runs that the row is not in stay where
// they are: what is there is not read again.
static bool place(SpillMerge *merge, Source *source, int64_t mark, SpillKey key) {
    const SpillMark *to = &source->reader.run.index->marks[mark];
    bool follows = source->block_at >= 0 && source->mark == mark;
    if (follows && spill_key_less(source->before, key)) return true;
    bool is_there = source->block_at == to->at;
    if (!is_there) spill_seek(&source->reader, &source->reader.run, to->at);
    source->at = 0;
    source->mark = is_there ? mark : mark - 1;
    source->row = to->row - 1;
    source->entry = nullptr;
    source->before = (SpillKey){0};
    return advance(merge, source);
}

// Passes rows of the source that are before the key.
static bool pass_to(SpillMerge *merge, Source *source, SpillKey key) {
    while (source->entry && spill_key_less(source->key, key))
        if (!advance(merge, source)) return false;
    return true;
}

// The last mark before the key: rows after it may still be before the key.
static int64_t mark_before(const SpillIndex *index, SpillKey key) {
    int64_t before = spill_index_before(index, key);
    return before > 0 ? before - 1 : 0;
}

int64_t spill_runs_before(const SpillRuns *runs, SpillKey key) {
    int64_t rows = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        const SpillIndex *index = runs->items[i].index;
        if (index->count > 0) rows += index->marks[mark_before(index, key)].row;
    }
    return rows;
}

// Are no more than so many rows before the key, as far as marks tell?
static bool has_before(const SpillRuns *runs, SpillKey key, int64_t most) {
    int64_t rows = 0;
    for (uint32_t i = 0; i < runs->count && rows <= most; i++) {
        const SpillRun *run = &runs->items[i];
        int64_t before = spill_index_before(run->index, key);
        rows += before < run->index->count ? run->index->marks[before].row : run->rows;
    }
    return rows <= most;
}

SpillKey spill_runs_place(const SpillRuns *runs, int64_t row) {
    enum : unsigned { BITS = 64 };
    SpillKey place = {0};
    uint64_t *words[] = {&place.key, &place.more};
    for (unsigned i = 0; i < 2 * BITS; i++) {
        uint64_t *word = words[i / BITS], bit = UINT64_C(1) << (BITS - 1 - i % BITS);
        *word |= bit;
        if (!has_before(runs, place, row)) *word &= ~bit;
    }
    return place;
}

bool spill_merge_go_to(SpillMerge *merge, SpillKey key) {
    if (!merge->begun) merge->ended = !begin(merge);
    while (!merge->ended) {
        uint32_t winner = merge->losers[0].source;
        Source *source = &merge->sources[winner];
        if (!source->entry || !spill_key_less(source->key, key)) break;
        const SpillIndex *index = source->reader.run.index;
        int64_t next = source->mark + 1, row = source->row;
        bool far = index && next < index->count && spill_key_less(index->marks[next].key, key);
        bool good = (!far || place(merge, source, mark_before(index, key), key)) &&
                    pass_to(merge, source, key);
        merge->row += source->row - row;
        merge->ended = !good;
        if (good) play(merge, winner);
    }
    return !merge->spill->failed;
}

bool spill_merge_seek(SpillMerge *merge, SpillKey key, bool apart) {
    bool good = true;
    merge->begun = true;
    merge->row = 0;
    for (uint32_t i = 0; i < merge->count; i++) merge->losers[i].source = NOBODY;
    for (uint32_t i = 0; i < merge->count && good; i++) {
        Source *source = &merge->sources[i];
        const SpillIndex *index = source->reader.run.index;
        int64_t mark = mark_before(index, key);
        if (apart && spill_index_has(index, mark + 1, key)) mark++;
        if (index->count > 0)
            good = place(merge, source, mark, key) && pass_to(merge, source, key);
        else good = advance(merge, source);
        merge->row += source->row;
        if (good) play(merge, i);
    }
    merge->ended = !good || merge->count == 0;
    return good;
}

// ---- fewer runs ---------------------------------------------------------------------------------

// Beside what a small job needs in any case a merge takes twice the part.
static int64_t merge_bytes(const SbMemory *memory) {
    enum : int64_t { LEAST = 8 << 20 };
    int64_t all = memory->limit / MERGE_SHARE, more = (memory->limit - LEAST) / MERGES_SHARE;
    return all > more ? all : more;
}

int64_t spill_block_for(const Spill *spill, uint32_t runs) {
    enum { PACKED = 1, ROUNDED = 1 };  // One as it lies on disk, and what divisions leave out.
    return merge_bytes(spill->memory) / (runs + PACKED + ROUNDED) - SB_SLACK;
}

uint32_t spill_runs_most(const SpillRuns *runs, int64_t merges) {
    int64_t block = 1, packed = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        const SpillRun *run = &runs->items[i];
        if (run->block_max > block) block = run->block_max;
        if (run->packed_max > packed) packed = run->packed_max;
    }
    int64_t most = (merge_bytes(runs->spill->memory) / merges - packed) / (block + SB_SLACK);
    return most < 2 ? 2 : most > runs->count ? runs->count : (uint32_t)most;
}

uint32_t spill_merges_most(const SpillRuns *runs) {
    int64_t one = packed_most(runs) + 1;
    for (uint32_t i = 0; i < runs->count; i++) one += runs->items[i].block_max + SB_SLACK;
    int64_t most = runs->spill->memory->limit / MERGES_SHARE / one;
    return most < 1 ? 1 : most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

typedef struct Pass {
    const SpillRuns *from;
    SpillRuns        to;
    const SbBreaker *what;
    const SbSortBy  *by;
    uint32_t         width;   // Runs that become one.
    uint32_t         groups;  // Of as many runs; those after them stay as they are.
    bool            *late;    // By group: it found no memory beside the others.
    bool             alone;   // One group after the other.
} Pass;

bool spill_no_merge(const SpillRuns *runs) {
    return spill_fail(runs->spill, TROUBLE_MEMORY, "no memory to merge %u runs of spilled rows",
                      runs->count);
}

// Merges group `number` of the runs into one.
static void merge_group(void *arg, uint32_t number, uint32_t thread) {
    Pass *pass = arg;
    Spill *spill = pass->from->spill;
    uint32_t begin = number * pass->width, left = pass->from->count - begin;
    SpillRuns group = {.spill = spill, .memory = pass->from->memory,
                       .items = pass->from->items + begin,
                       .count = left < pass->width ? left : pass->width};
    SpillMerge *merge = spill_merge_open(&group, pass->what, pass->by);
    pass->late[number] = !merge && !pass->alone;
    if (pass->late[number]) return;
    SpillIndex *index = spill_runs_index(pass->from);
    const SpillPut put = {spill, thread, pass->what, pass->by, index};
    bool good = merge ? spill_runs_begin(pass->from, thread) : spill_no_merge(&group);
    int64_t held;
    for (const SbEntry *entry; good && (entry = spill_merge_first(merge, &held));) {
        good = spill_put_noted(&put, entry);
        spill_merge_pass(merge);
    }
    spill_merge_close(merge);
    SpillRun run;
    if (!good) spill_index_close(index);
    if (!good || !spill_index_end(index, spill, thread, &run) || !spill_runs_add(&pass->to, &run))
        return;
    for (uint32_t i = 0; i < group.count; i++) spill_forget(spill, &group.items[i]);
}

static void merge_late(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    Pass *pass = arg;
    pass->alone = true;
    for (uint32_t i = 0; i < pass->groups; i++)
        if (pass->late[i]) merge_group(pass, i, thread);
}

// Only as many runs as there are too many are merged, `width` at once at most: a group leaves one.
static void set_groups(Pass *pass, uint32_t width, uint32_t most) {
    uint32_t count = pass->from->count, over = count - most;
    uint32_t all = (count + width - 1) / width, needed = (over + width - 2) / (width - 1);
    pass->groups = needed < all ? needed : all;
    pass->width = (over + 2 * pass->groups - 1) / pass->groups;
    if (pass->width > width) pass->width = width;
}

static uint32_t fewer(uint32_t a, uint32_t b) { return a < b ? a : b; }

bool spill_runs_reduce(SpillRuns *runs, const SbBreaker *what, const SbSortBy *by,
                       SbParallel *parallel) {
    return spill_runs_reduce_to(runs, UINT32_MAX, what, by, parallel);
}

bool spill_runs_reduce_to(SpillRuns *runs, uint32_t to, const SbBreaker *what, const SbSortBy *by,
                          SbParallel *parallel) {
    for (uint32_t most;
         !runs->spill->failed && runs->count > (most = fewer(to, spill_runs_most(runs, 1)));) {
        Pass pass = {.from = runs, .what = what, .by = by};
        set_groups(&pass, spill_runs_most(runs, parallel->threads), most);
        pass.late = calloc(pass.groups, sizeof *pass.late);
        if (!pass.late || !spill_runs_open(&pass.to, runs->spill, runs->memory)) {
            free(pass.late);
            return spill_fail(runs->spill, TROUBLE_NO_MEMORY, "no memory for a lock");
        }
        for (uint32_t i = pass.groups * pass.width; i < runs->count; i++)
            if (!spill_runs_add(&pass.to, &runs->items[i])) break;
        parallel->each(parallel, pass.groups, merge_group, &pass);
        parallel->each(parallel, 1, merge_late, &pass);
        free(pass.late);
        free(runs->items);
        runs->items = pass.to.items;
        runs->count = pass.to.count;
        runs->cap = pass.to.cap;
        pthread_mutex_destroy(&pass.to.lock);
    }
    return !runs->spill->failed;
}
