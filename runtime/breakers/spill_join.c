#include "runtime/breakers/spill_join.h"

#include "runtime/breakers/join_table.h"
#include "runtime/breakers/spill_sort.h"
#include "runtime/disk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MATCHED = 1, NULL_KEY = 2, CUT = 3 };   // SbBreaker.matched_offset; CUT: of answers.

static uint64_t hash_of(const SbEntry *entry) { return entry->hash; }

const SbSortBy spill_join_by = {.prefix = hash_of, .prefix_more = sb_entry_order};

// ---- few runs -----------------------------------------------------------------------------------

typedef struct Unite {
    SpillJoin  *join;
    SpillPieces pieces;   // Each becomes a run.
    SpillRun   *runs;
} Unite;

static bool no_index(Spill *spill) {
    return spill_fail(spill, TROUBLE_NO_MEMORY, "no memory to find spilled rows of a join again");
}

static void write_piece(void *arg, uint32_t number, uint32_t thread) {
    const Unite *unite = arg;
    const SpillJoin *join = unite->join;
    Spill *spill = join->spill;
    SpillMerge *merge = unite->pieces.merges[number];
    SpillIndex *index = spill_index_open_whole(spill, unite->pieces.bytes[number]);
    const SpillPut put = {spill, thread, join->what, &spill_join_by, index};
    bool good = index && spill_begin(spill, thread);
    int64_t held;
    for (const SbEntry *entry; good && (entry = spill_merge_first(merge, &held));) {
        good = spill_put_noted(&put, entry) && !index->lost;
        spill_merge_pass(merge);
    }
    SpillRun *run = &unite->runs[number];
    if (good) spill_index_end(index, spill, thread, run);
    else spill_index_close(index);
    if (!run->index) no_index(spill);
}

// Each reader has a block of each run: of long rows there is one run.
static uint32_t pieces_most(const SpillRuns *runs, uint32_t threads) {
    enum { LONG_SHARE = 64 };
    const SpillRun *longest = spill_runs_longest(runs);
    int64_t most = runs->spill->memory->limit / LONG_SHARE;
    return longest && longest->block_max > most && longest->block_max > runs->spill->block_bytes
               ? 1 : threads;
}

// False: spill->failed, or there is no memory.
static bool unite(SpillJoin *join, SbParallel *parallel) {
    Spill *spill = join->spill;
    const SpillOrder order = {&join->runs, join->what, &spill_join_by};
    Unite unite = {.join = join, .runs = calloc(parallel->threads, sizeof *unite.runs)};
    uint32_t most = pieces_most(&join->runs, parallel->threads);
    bool good = unite.runs && spill_pieces_open(&unite.pieces, &order, most, false);
    if (good) parallel->each(parallel, unite.pieces.count, write_piece, &unite);
    for (uint32_t i = 0; good && i < unite.pieces.count; i++) {
        if (unite.runs[i].rows > 0) good = spill_runs_add(&join->united, &unite.runs[i]);
        else spill_forget(spill, &unite.runs[i]);
    }
    if (unite.pieces.merges) spill_pieces_close(&unite.pieces);
    free(unite.runs);
    good = good && !spill->failed;
    if (good) join->is_united = true;
    return good;
}

const SpillRuns *spill_join_runs(const SpillJoin *join) {
    return join->is_united ? &join->united : &join->runs;
}

bool spill_join_unite(SpillJoin *join, SbParallel *parallel) {
    pthread_mutex_lock(&join->lock);
    if (!join->is_united && join->runs.count > parallel->threads) unite(join, parallel);
    pthread_mutex_unlock(&join->lock);
    return !join->spill->failed;
}

// ---- opening ------------------------------------------------------------------------------------

static int64_t mark_bytes(const SpillJoin *join) {
    return (join->rows + 63) / 64 * (int64_t)sizeof *join->matched;
}

bool spill_join_marks(SpillJoin *join) {
    int64_t bytes = mark_bytes(join);
    if (bytes > 0) join->matched = spill_map(join->spill, bytes);
    return join->matched || bytes == 0;
}

// So many runs may be read side by side, by all threads: beside what a small job needs in any case,
// readers take a part of the memory.
static uint32_t runs_most(const SpillRuns *runs, uint32_t threads) {
    enum : int64_t { LEAST = 4 << 20, SHARE = 4 };
    const SpillRun *longest = spill_runs_longest(runs);
    int64_t block = (longest ? longest->block_max : 0) + SB_SLACK;
    int64_t most = (runs->spill->memory->limit - LEAST) / SHARE / threads / block;
    if (runs->spill->memory->eager) return UINT32_MAX;
    return most < 0 ? 0 : most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

// Is it less to read a few blocks of each run at each place than to unite the runs?
static bool reads_well(const SpillRuns *runs, const SbBreaker *what, int64_t places) {
    int64_t bytes = 0, most = INT64_MAX / 4;
    if (what->jump_offset || !spill_runs_can_cut(runs)) return false;
    for (uint32_t i = 0; i < runs->count; i++) bytes += runs->items[i].bytes;
    int64_t waste = spill_cut_waste(runs);
    return waste == 0 || places <= 2 * (bytes < most ? bytes : most) / waste;
}

static bool gather(SpillJoin *join, SpillRuns *runs, int64_t places, SbParallel *parallel) {
    uint32_t most = runs_most(runs, parallel->threads);
    bool direct = most > parallel->threads && reads_well(runs, join->what, places);
    if (!spill_runs_reduce_to(runs, direct ? most : UINT32_MAX, join->what, &spill_join_by,
                              parallel)) {
        return false;
    }
    direct = direct && reads_well(runs, join->what, places);
    spill_runs_take(&join->runs, runs);
    join->rows = join->runs.rows;
    if (direct) return true;
    join->runs.memory = runs->memory;  // What the breaker holds is there for that.
    if (!unite(join, parallel)) return spill_no_merge(&join->runs);
    spill_runs_drop(&join->runs);
    return true;
}

SpillJoin *spill_join_open(SpillRuns *runs, const SbBreaker *what, int64_t places,
                           SbParallel *parallel) {
    Spill *spill = runs->spill;
    SpillJoin *join = calloc(1, sizeof *join);
    if (!join) {
        spill_fail(spill, TROUBLE_NO_MEMORY, "no memory for spilled rows of a join");
        return nullptr;
    }
    *join = (SpillJoin){.spill = spill, .what = what};
    pthread_mutex_init(&join->lock, nullptr);
    bool good = spill_runs_open(&join->runs, spill, spill->memory) &&
                spill_runs_open(&join->united, spill, spill->memory) &&
                gather(join, runs, places, parallel);
    spill_runs_drop(runs);
    if (good) return join;
    spill_join_close(join);
    return nullptr;
}

void spill_join_close(SpillJoin *join) {
    if (!join) return;
    spill_runs_close(&join->runs);
    spill_runs_close(&join->united);
    if (join->matched) munmap(join->matched, (size_t)mark_bytes(join));
    pthread_mutex_destroy(&join->lock);
    free(join);
}

// ---- a cursor -----------------------------------------------------------------------------------

bool spill_join_cursor(SpillJoinCursor *cursor, const SpillJoin *join) {
    *cursor = (SpillJoinCursor){0};
    if (join->rows > 0)
        cursor->merge = spill_merge_open(spill_join_runs(join), join->what, &spill_join_by);
    bool good = cursor->merge || join->rows == 0;
    cursor->join = good ? join : nullptr;
    return good;
}

void spill_join_cursor_close(SpillJoinCursor *cursor) {
    spill_merge_close(cursor->merge);
    *cursor = (SpillJoinCursor){0};
}

// Shows what the merge has come to. False: there is none, or trouble.
static bool show(SpillJoinCursor *cursor) {
    cursor->entry = spill_merge_first(cursor->merge, &cursor->held);
    cursor->number = spill_merge_row(cursor->merge);
    return cursor->entry;
}

// Shows the next row. False: there is none, or trouble.
static bool advance(SpillJoinCursor *cursor) {
    spill_merge_pass(cursor->merge);
    return show(cursor);
}

// Shows the first row that is not before `place`: a hash, and an order among its rows, which are
// never alike.
static bool seek(SpillJoinCursor *cursor, SpillKey place) {
    return spill_merge_seek(cursor->merge, place, true) && show(cursor);
}

// The same. Rows after it were not shown yet.
static bool go_to(SpillJoinCursor *cursor, SpillKey place) {
    return spill_merge_go_to(cursor->merge, place) && show(cursor);
}

static bool go_to_row(SpillJoinCursor *cursor, int64_t row) {
    enum : int64_t { NEAR = 1024 };
    const SpillJoin *join = cursor->join;
    if (row >= join->rows) return false;
    bool near = cursor->entry && cursor->number <= row && row - cursor->number <= NEAR;
    if (!near && !seek(cursor, spill_runs_place(spill_join_runs(join), row))) return false;
    while (cursor->number < row)
        if (!advance(cursor)) return false;
    return true;
}

// ---- taking -------------------------------------------------------------------------------------

bool spill_join_rows_open(SpillJoinRows *rows, const SpillJoin *join) {
    *rows = (SpillJoinRows){0};
    return sb_rows_init(&rows->rows, join->spill->memory, join->what->entry_bytes) == SB_OK;
}

void spill_join_rows_close(SpillJoinRows *rows) {
    if (!rows->rows.state) return;
    sb_memory_release(rows->rows.state->entries.memory,
                      rows->room * (int64_t)sizeof *rows->entries);
    sb_rows_fini(&rows->rows);
    free(rows->entries);
    *rows = (SpillJoinRows){0};
}

static void put_next(const SpillJoin *join, const SbEntry *entry, uint64_t next) {
    memcpy((char *)(uintptr_t)entry + join->what->next_offset, &next, sizeof next);
}

static uint8_t mark_of(const SpillJoin *join, const SbEntry *entry) {
    return ((const uint8_t *)entry)[join->what->matched_offset];
}

static bool reserve(SpillJoinRows *into) {
    if (into->rows.count < into->room) return true;
    int64_t room = into->room ? 2 * into->room : 64;
    int64_t more = (room - into->room) * (int64_t)sizeof *into->entries;
    if (!sb_memory_charge(into->rows.state->entries.memory, more)) return false;
    const SbEntry **moved = realloc(into->entries, (size_t)room * sizeof *moved);
    if (!moved) {
        sb_memory_release(into->rows.state->entries.memory, more);
        return false;
    }
    into->entries = moved;
    into->room = room;
    return true;
}

// Copies the row that is shown. False: over the limit.
static bool copy_row(const SpillJoinTake *take) {
    const SpillJoinCursor *cursor = take->cursor;
    SpillJoinRows *into = take->into;
    if (!reserve(into)) return false;
    SbEntry *copy = spill_keep(&into->rows, cursor->join->what, cursor->entry, cursor->held);
    if (!copy) return false;
    copy->order = (uint64_t)cursor->number;
    put_next(cursor->join, copy, 0);
    sb_join_jump_nowhere(cursor->join->what, copy);
    into->entries[into->rows.count - 1] = copy;
    return true;
}

// Has one of the copies from number `first` on the key of `entry`?
static bool has_key(const SpillJoinTake *take, int64_t first, const SbEntry *entry) {
    for (int64_t i = first; i < take->into->rows.count; i++)
        if (take->cursor->join->what->equal(take->into->entries[i], entry)) return true;
    return false;
}

// Takes the rows of the hash that the cursor has come to.
static SpillJoinTaken take_hash(const SpillJoinTake *take, uint64_t hash) {
    SpillJoinCursor *cursor = take->cursor;
    const SpillJoin *join = cursor->join;
    SbRows *rows = &take->into->rows;
    int64_t first = rows->count, before = sb_rows_used(rows);
    bool one = join->what->wants == SB_JOIN_ONE, cut = false;
    for (; cursor->entry && cursor->entry->hash == hash; advance(cursor)) {
        if (mark_of(join, cursor->entry) == NULL_KEY) continue;
        int64_t used = sb_rows_used(rows);
        cut |= !one && rows->count > first && used - before > take->key_max;
        if ((one || cut) && has_key(take, first, cursor->entry)) continue;
        if (first > 0 && used > take->rows_max) return JOIN_NO_ROOM;
        if (!copy_row(take)) return JOIN_NO_ROOM;
    }
    for (int64_t i = first; cut && i < rows->count; i++)
        put_next(join, take->into->entries[i], SB_CUT);
    return join->spill->failed ? JOIN_TROUBLE : JOIN_TAKEN;
}

SpillJoinTaken spill_join_take(const SpillJoinTake *take, const uint64_t *hashes, int64_t count) {
    SpillJoinCursor *cursor = take->cursor;
    const SpillJoin *join = cursor->join;
    SpillJoinTaken taken = JOIN_TAKEN;
    if (count == 0 || join->rows == 0) return taken;
    bool there = seek(cursor, (SpillKey){hashes[0]});
    for (int64_t i = 0; there && i < count && taken == JOIN_TAKEN;) {
        uint64_t hash = cursor->entry->hash;
        while (i < count && hashes[i] < hash) i++;
        if (i < count && hashes[i] == hash) {
            taken = take_hash(take, hash);
            i++;
        }
        there = i < count && go_to(cursor, (SpillKey){hashes[i]});
    }
    return join->spill->failed ? JOIN_TROUBLE : taken;
}

SpillJoinTaken spill_join_take_next(const SpillJoinTake *take, uint64_t hash) {
    SpillJoinCursor *cursor = take->cursor;
    const SpillJoin *join = cursor->join;
    if (join->rows == 0) return JOIN_TAKEN;
    bool there = go_to(cursor, (SpillKey){hash});
    if (there && cursor->entry->hash == hash) return take_hash(take, hash);
    return join->spill->failed ? JOIN_TROUBLE : JOIN_TAKEN;
}

// Makes a copy of an answer a copy of the right row.
static void unwrap(const SpillJoin *answers, SbEntry *copy) {
    char *mark = (char *)copy + answers->what->matched_offset;
    memcpy(&copy->hash, (char *)copy + answers->what->next_offset, sizeof copy->hash);
    put_next(answers, copy, *mark == CUT ? SB_CUT : 0);
    *mark = 0;
}

// Where the first answer to the unit may lie that is a row of `hash`: right rows are in the order
// of hashes, and their numbers are the order of answers.
static SpillKey answer_place(const SpillJoin *answers, uint64_t unit, uint64_t hash) {
    const SpillRuns *right = spill_join_runs(answers->right);
    return (SpillKey){unit, (uint64_t)spill_runs_before(right, (SpillKey){hash})};
}

// Takes the answer that is shown, to a row of `hash`.
static SpillJoinTaken take_answer(const SpillJoinTake *take, uint64_t hash) {
    const SpillJoin *answers = take->cursor->join;
    SpillJoinRows *into = take->into;
    if (!copy_row(take)) return JOIN_NO_ROOM;
    SbEntry *copy = (SbEntry *)(uintptr_t)into->entries[into->rows.count - 1];
    copy->order = take->cursor->entry->order;
    put_next(answers, copy, hash);
    unwrap(answers, copy);
    return sb_rows_used(&into->rows) > take->rows_max ? JOIN_NO_ROOM : JOIN_TAKEN;
}

SpillJoinTaken spill_join_take_answers(const SpillJoinTake *take, uint64_t unit,
                                       const uint64_t *hashes, int64_t count) {
    SpillJoinCursor *cursor = take->cursor;
    const SpillJoin *answers = cursor->join;
    SpillJoinTaken taken = JOIN_TAKEN;
    if (answers->rows == 0 || (hashes && count == 0)) return JOIN_TAKEN;
    SpillKey place = hashes ? answer_place(answers, unit, hashes[0]) : (SpillKey){unit};
    bool there = seek(cursor, place);
    for (int64_t i = 0, at = 0; there && cursor->entry->hash == unit && taken == JOIN_TAKEN;) {
        uint64_t hash;
        memcpy(&hash, (char *)cursor->entry + answers->what->next_offset, sizeof hash);
        while (hashes && i < count && hashes[i] < hash) i++;
        if (hashes && i == count) break;
        bool wanted = !hashes || hashes[i] == hash;
        if (wanted) taken = take_answer(take, hash);
        // Once for each hash it goes to where its answers may lie.
        if (wanted || at == i) there = advance(cursor);
        else there = go_to(cursor, answer_place(answers, unit, hashes[at = i]));
    }
    return answers->spill->failed ? JOIN_TROUBLE : taken;
}

const SbEntry *spill_join_next(const SpillJoin *join, const SbEntry *entry) {
    uint64_t next;
    memcpy(&next, (const char *)entry + join->what->next_offset, sizeof next);
    return next == SB_CUT ? nullptr : (const SbEntry *)(uintptr_t)next;
}

SpillJoinTaken spill_join_more(const SpillJoinTake *take, const SbEntry *entry, int64_t row) {
    SpillJoinCursor *cursor = take->cursor;
    const SpillJoin *join = cursor->join;
    SpillJoinRows *into = take->into;
    bool more = go_to_row(cursor, row);
    for (; more && cursor->entry->hash == entry->hash; more = advance(cursor)) {
        if (mark_of(join, cursor->entry) == NULL_KEY || !join->what->equal(entry, cursor->entry))
            continue;
        if (!copy_row(take)) {
            if (into->rows.count == 0) return JOIN_NO_ROOM;
            break;
        }
        const SbEntry *copy = into->entries[into->rows.count - 1];
        put_next(join, copy, SB_CUT);
        if (into->rows.count > 1)
            put_next(join, into->entries[into->rows.count - 2], (uintptr_t)copy);
        if (sb_rows_used(&into->rows) > take->key_max) break;
    }
    return join->spill->failed ? JOIN_TROUBLE : JOIN_TAKEN;
}

// ---- matches ------------------------------------------------------------------------------------

void spill_join_mark(const SpillJoin *join, const SbRows *rows) {
    if (!join->matched) return;
    RowSpan span = {0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++) {
            const SbEntry *entry = span_entry(&span, i);
            if (mark_of(join, entry) != MATCHED) continue;
            uint64_t bit = UINT64_C(1) << (entry->order % 64);
            __atomic_fetch_or(&join->matched[entry->order / 64], bit, __ATOMIC_RELAXED);
        }
}

void spill_join_copy_marks(const SpillJoin *join, uint64_t *marks) {
    int64_t words = mark_bytes(join) / (int64_t)sizeof *marks;
    for (int64_t i = 0; join->matched && i < words; i++)
        marks[i] = __atomic_load_n(&join->matched[i], __ATOMIC_RELAXED);
}

void spill_join_set_marks(SpillJoin *join, const uint64_t *marks) {
    if (join->matched) memcpy(join->matched, marks, (size_t)mark_bytes(join));
}

static bool is_matched(const SpillJoin *join, int64_t row) {
    return join->matched[row / 64] >> (row % 64) & 1;
}

// Rows that are still to be looked at.
typedef struct RestPiece {
    int64_t row, end;
} RestPiece;

typedef struct Rest {
    const SpillJoin *join;
    const SbSortBy  *by;
    SpillRuns       *to;
    RestPiece       *pieces;
    uint32_t         count;
} Rest;

static bool keep_rest(const SpillJoinCursor *cursor, SbRows *rows) {
    const SbBreaker *what = cursor->join->what;
    return spill_keep(rows, what, cursor->entry, cursor->held) ||
           (sb_rows_relieve(rows) && spill_keep(rows, what, cursor->entry, cursor->held));
}

// Goes along a piece, or as far as there is memory beside the others.
static void rest_piece(void *arg, uint32_t number, uint32_t thread) {
    const Rest *rest = arg;
    const SpillJoin *join = rest->join;
    RestPiece *piece = &rest->pieces[number];
    SpillJoinCursor cursor = {0};
    SpillSort sort = {0};
    SbRows rows = {0};
    bool good = spill_join_cursor(&cursor, join) &&
                sb_rows_init(&rows, join->spill->memory, join->what->entry_bytes) == SB_OK &&
                spill_sort_open(&sort, join->what, rest->by, rest->to) &&
                spill_sort_watch(&sort, thread, &rows);
    bool more = good && go_to_row(&cursor, piece->row);
    for (; more && piece->row < piece->end; more = advance(&cursor)) {
        if (!is_matched(join, cursor.number) && !keep_rest(&cursor, &rows)) break;
        piece->row = cursor.number + 1;
    }
    if (good && !sb_rows_relieve(&rows))
        spill_fail(join->spill, TROUBLE_MEMORY, "no memory for the rest of a spilled join");
    spill_join_cursor_close(&cursor);
    sb_rows_fini(&rows);
    spill_sort_close(&sort);
}

static void rest_late(void *arg, uint32_t index, uint32_t thread) {
    (void)index;
    const Rest *rest = arg;
    for (uint32_t i = 0; i < rest->count && !rest->join->spill->failed; i++) {
        const RestPiece *piece = &rest->pieces[i];
        if (piece->row < piece->end) rest_piece(arg, i, thread);
        if (piece->row < piece->end)
            spill_fail(rest->join->spill, TROUBLE_MEMORY,
                       "no memory for the rest of a spilled join");
    }
}

bool spill_join_rest(const SpillJoin *join, const SbSortBy *by, SpillRuns *to,
                     SbParallel *parallel) {
    uint32_t threads = parallel->threads;
    Rest rest = {join, by, to, calloc(threads, sizeof *rest.pieces), threads};
    if (!rest.pieces) return spill_fail(join->spill, TROUBLE_NO_MEMORY, "no memory for a list");
    for (uint32_t i = 0; i < threads; i++)
        rest.pieces[i] = (RestPiece){join->rows * i / threads, join->rows * (i + 1) / threads};
    parallel->each(parallel, threads, rest_piece, &rest);
    parallel->each(parallel, 1, rest_late, &rest);
    free(rest.pieces);
    return !join->spill->failed;
}

// ---- answers ------------------------------------------------------------------------------------

const SbBreaker spill_join_ask = {.kind = SB_BREAK_SORT, .entry_bytes = sizeof(SbEntry),
                                  .next_offset = UINT32_MAX, .matched_offset = UINT32_MAX};

typedef struct Answer {
    const SpillJoin *join;
    SpillPieces      asks;
    SpillRuns       *to;
    _Atomic bool     short_of_memory;
    _Atomic int64_t  chains_cut;
} Answer;

// Of a chain that is cut, and that is sought by numbers, the first row leads to all others: is it
// another one?
static bool is_sought(const SpillJoin *join, const SpillJoinRows *rows, int64_t at) {
    uint64_t next;
    memcpy(&next, (const char *)rows->entries[at] + join->what->next_offset, sizeof next);
    if (!join->what->jump_offset || next != SB_CUT) return false;
    for (int64_t i = 0; i < at; i++)
        if (join->what->equal(rows->entries[i], rows->entries[at])) return true;
    return false;
}

// Puts the rows of a hash down as answers to `unit`.
static bool answer_unit(Answer *of, const SpillJoinRows *rows, uint64_t unit, SbRows *out) {
    const SpillJoin *join = of->join;
    bool cut = false;
    for (int64_t i = 0; i < rows->rows.count; i++) {
        const SbEntry *row = rows->entries[i];
        if (is_sought(join, rows, i)) continue;
        SbEntry *copy = spill_copy(out, join->what, row);
        if (!copy && sb_rows_relieve(out)) copy = spill_copy(out, join->what, row);
        if (!copy) return false;
        uint64_t next;
        char *at = (char *)copy + join->what->next_offset;
        memcpy(&next, at, sizeof next);
        ((char *)copy)[join->what->matched_offset] = next == SB_CUT ? CUT : 0;
        cut |= next == SB_CUT;
        memcpy(at, &row->hash, sizeof row->hash);
        copy->hash = unit;
    }
    of->chains_cut += cut;
    return true;
}

// The right rows of a hash, for which answers make room.
static bool take_asked(SpillJoinTake *take, const SpillJoin *join, uint64_t hash, SbRows *out) {
    spill_join_rows_close(take->into);
    if (!spill_join_rows_open(take->into, join)) return false;
    if (spill_join_take_next(take, hash) == JOIN_TAKEN) return true;
    if (join->spill->failed || out->count == 0 || !sb_rows_relieve(out)) return false;
    spill_join_rows_close(take->into);
    return spill_join_rows_open(take->into, join) && spill_join_take(take, &hash, 1) == JOIN_TAKEN;
}

// Goes along asks and right rows side by side.
static bool answer_asks(Answer *of, SpillMerge *merge, SpillJoinTake *take, SbRows *out) {
    SbEntry last = {0};
    bool good = true, any = false;
    int64_t held;
    for (const SbEntry *ask; good && (ask = spill_merge_first(merge, &held));) {
        bool same = any && ask->hash == last.hash, twice = same && ask->order == last.order;
        if (!same) good = take_asked(take, of->join, ask->hash, out);
        if (good && !twice) good = answer_unit(of, take->into, ask->order, out);
        any = true;
        last = *ask;
        spill_merge_pass(merge);
    }
    return good && sb_rows_relieve(out);
}

static void answer(void *arg, uint32_t number, uint32_t thread) {
    enum { KEY_SHARE = 1024 };
    Answer *of = arg;
    const SpillJoin *join = of->join;
    SpillJoinCursor cursor = {0};
    SpillJoinRows rows = {0};
    SpillSort sort = {0};
    SbRows out = {0};
    int64_t key_max = join->spill->memory->eager ? 0 : join->spill->memory->limit / KEY_SHARE;
    SpillJoinTake take = {&cursor, &rows, INT64_MAX, key_max};
    bool good = spill_join_cursor(&cursor, join) &&
                sb_rows_init(&out, join->spill->memory, join->what->entry_bytes) == SB_OK &&
                spill_sort_open(&sort, join->what, &spill_join_by, of->to) &&
                spill_sort_watch(&sort, thread, &out) &&
                answer_asks(of, of->asks.merges[number], &take, &out);
    if (!good) of->short_of_memory = true;
    spill_join_cursor_close(&cursor);
    spill_join_rows_close(&rows);
    sb_rows_fini(&out);
    spill_sort_close(&sort);
}

// By so many threads at most. False: there is no memory, or trouble.
static bool answer_all(Answer *all, const SpillRuns *asks, uint32_t most, SbParallel *parallel) {
    const SpillOrder order = {asks, &spill_join_ask, &spill_join_by};
    all->short_of_memory = false;
    all->chains_cut = 0;
    bool good = spill_pieces_open(&all->asks, &order, most, false);
    if (good) parallel->each(parallel, all->asks.count, answer, all);
    spill_pieces_close(&all->asks);
    return good && !all->short_of_memory && !all->join->spill->failed;
}

SpillJoin *spill_join_answer(const SpillJoin *join, const SpillRuns *asks, int64_t units,
                             SbParallel *parallel) {
    SpillRuns runs;
    SpillJoin *answers = nullptr;
    Answer all = {.join = join, .to = &runs};
    if (!spill_runs_open(&runs, join->spill, join->spill->memory)) return nullptr;
    runs.indexed = true;
    bool good = answer_all(&all, asks, parallel->threads, parallel);
    if (!good && parallel->threads > 1 && !join->spill->failed) {
        spill_runs_drop(&runs);
        good = answer_all(&all, asks, 1, parallel);
    }
    if (good) answers = spill_join_open(&runs, join->what, units, parallel);
    if (answers) {
        answers->right = join;
        answers->chains_cut = all.chains_cut;
    }
    spill_runs_close(&runs);
    return answers;
}
