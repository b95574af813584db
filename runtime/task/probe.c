#include "runtime/task/probe.h"

#include "runtime/breakers.h"
#include "runtime/task/candidates.h"
#include "runtime/task/task.h"
#include "stdlib/hash.h"

#include <stdlib.h>

enum {
    TABLES_SHARE = 8,    // All tables of running tasks take at most as small a part of the memory,
    KEY_SHARE = 4,       // of each the rows of one key,
    ASK_SHARE = 32,      // and a row that asks counts as so many bytes.
    EAGER_ASKS = 5,      // For tests the first piece is small.
    FEWER = 4,
};

// While others ask rows may pass a join on the way of another branch, whose table is not there yet.
static const uint64_t no_slot = 0;
static const SbTable no_table = {.slots = &no_slot};

// ---- opening ------------------------------------------------------------------------------------

static SpillJoin *join_of(const TaskSetup *setup, uint32_t need) {
    uint32_t breaker = setup->stage->needs[need];
    bool is_join = setup->job->breakers[breaker].kind == SB_BREAK_JOIN;
    // A worker has no breaker of the table, which is in memory then.
    bool here = is_join && setup->breakers && setup->breakers[breaker];
    return here ? sb_breaker_join(setup->breakers[breaker]) : nullptr;
}

bool probe_open(Probe *probe, const TaskSetup *setup) {
    const SbStage *stage = setup->stage;
    uint32_t count = 0;
    *probe = (Probe){.memory = setup->memory, .end = INT64_MIN};
    for (uint32_t i = 0; i < stage->need_count; i++) count += join_of(setup, i) != nullptr;
    if (count == 0) return true;
    probe->tables = calloc(setup->job->breaker_count, sizeof(const SbTable *));
    probe->joins = calloc(count, sizeof *probe->joins);
    if (!probe->tables || !probe->joins) return false;
    for (uint32_t i = 0; i < stage->need_count; i++) {
        SpillJoin *on_disk = join_of(setup, i);
        probe->tables[stage->needs[i]] = setup->tables[stage->needs[i]];
        if (!on_disk) continue;
        ProbeJoin *join = &probe->joins[probe->count++];
        *join = (ProbeJoin){.join = on_disk, .breaker = stage->needs[i], .table = no_table};
        probe->tables[join->breaker] = &join->table;
    }
    uint32_t threads = probe->joins[0].join->spill->threads;
    probe->bytes = probe->memory->limit / TABLES_SHARE / threads / count;
    probe->asks_limit = probe->bytes / ASK_SHARE + 1;
    probe->asks_max = probe->memory->eager ? EAGER_ASKS : probe->asks_limit;
    return true;
}

static void drop_asks(Probe *probe) {
    sb_memory_release(probe->memory, probe->ask_room * (int64_t)sizeof *probe->asks);
    free(probe->asks);
    probe->asks = nullptr;
    probe->ask_count = probe->ask_room = 0;
}

static void drop_table(Probe *probe, ProbeJoin *join) {
    sb_memory_free(probe->memory, join->slots, join->slot_count * (int64_t)sizeof *join->slots);
    join->slots = nullptr;
    join->slot_count = 0;
    join->table = no_table;
    spill_join_rows_close(&join->rows);
    spill_join_rows_close(&join->more[0]);
    spill_join_rows_close(&join->more[1]);
    spill_join_cursor_close(&join->cursor);
}

void probe_drop(Probe *probe) {
    probe->end = INT64_MIN;
    for (uint32_t i = 0; i < probe->count; i++) drop_table(probe, &probe->joins[i]);
    drop_asks(probe);
}

void probe_begin(Probe *probe) {
    probe_drop(probe);
    probe->too_much = probe->starved = false;
}

void probe_close(Probe *probe) {
    probe_drop(probe);
    free(probe->tables);
    free(probe->joins);
    *probe = (Probe){0};
}

// ---- what rows ask for --------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Brings the hashes into order, each once.
static void sort_asks(Probe *probe) {
    int64_t count = 0;
    if (probe->ask_count == 0) return;
    qsort(probe->asks, (size_t)probe->ask_count, sizeof *probe->asks, by_value);
    for (int64_t i = 1; i < probe->ask_count; i++)
        if (probe->asks[i] != probe->asks[count]) probe->asks[++count] = probe->asks[i];
    probe->ask_count = count + 1;
}

static bool grow_asks(Probe *probe) {
    enum { ROOM_MIN = 256 };
    sort_asks(probe);
    if (probe->ask_count < probe->ask_room / 2) return true;
    int64_t room = probe->ask_room ? 2 * probe->ask_room : ROOM_MIN;
    int64_t more = (room - probe->ask_room) * (int64_t)sizeof *probe->asks;
    if (!sb_memory_charge(probe->memory, more)) return false;
    uint64_t *moved = realloc(probe->asks, (size_t)room * sizeof *moved);
    if (!moved) {
        sb_memory_release(probe->memory, more);
        return false;
    }
    probe->asks = moved;
    probe->ask_room = room;
    return true;
}

void sb_join_ask(SbTask *task, uint64_t hash) {
    Probe *probe = &task->state->probe;
    if (probe->ask_count == probe->ask_room && !probe->no_room) probe->no_room = !grow_asks(probe);
    if (!probe->no_room) probe->asks[probe->ask_count++] = hash;
    if (++probe->asked >= probe->asks_max || probe->no_room) task->full = true;
}

void sb_join_mark(SbTask *task, uint8_t *mark) {
    SbTaskState *state = task->state;
    MarkList **marks = &state->into->marks;
    if (!marks_add(marks, mark)) trouble_no_memory(&state->trouble, "to mark right rows");
    else if (marks_are_many(*marks)) task->full = true;
}

// Runs the stage from the task's cursor up to `end` or as far as the join's asks go; returns how
// far. Nothing that the task knows changes.
static int64_t ask(SbTaskState *state, uint32_t breaker, int64_t end) {
    SbTask *task = &state->task;
    Probe *probe = &state->probe;
    int64_t cursor = task->cursor, input_end = task->input.end;
    uint64_t order = task->order;
    SbIndex index = state->index;
    probe->ask_count = probe->asked = 0;
    probe->no_room = false;
    task->full = false;
    task->input.end = end;
    task->asked = breaker;
    probe->asking = true;
    state->setup->stage->ask(task);
    probe->asking = false;
    sb_scratch_rewind(&task->call);
    end = task->cursor;
    task->full = false;
    task->cursor = cursor;
    task->input.end = input_end;
    task->order = order;
    state->index = index;
    return end;
}

// ---- a piece ------------------------------------------------------------------------------------

static SpillJoinTaken build_table(Probe *probe, ProbeJoin *join) {
    SbJoinBuild build = {.what = join->join->what, .entries = join->rows.entries,
                         .count = join->rows.rows.count};
    SbAlone alone = sb_alone(0);
    int64_t bytes = build.count * (int64_t)sizeof *build.lists;
    join->slot_count = sb_join_table_plan(&build, &alone.parallel);
    join->slots = sb_memory_pages(probe->memory, join->slot_count * (int64_t)sizeof *join->slots);
    build.lists = sb_memory_pages(probe->memory, bytes);
    build.slots = join->slots;
    bool good = build.slots && build.lists &&
                sb_join_table_build(&build, &alone.parallel) == SB_OK;
    sb_memory_free(probe->memory, build.lists, bytes);
    join->table = build.table;
    join->table.slots = join->slots;
    return good ? JOIN_TAKEN : JOIN_NO_ROOM;
}

static int64_t key_bytes(const Probe *probe) {
    return probe->memory->eager ? 0 : probe->bytes / KEY_SHARE;
}

// Reads what the asks ask for.
static SpillJoinTaken fill_table(Probe *probe, ProbeJoin *join) {
    if (!spill_join_rows_open(&join->rows, join->join)) return JOIN_NO_ROOM;
    if (!spill_join_cursor(&join->cursor, join->join)) return JOIN_NO_ROOM;
    int64_t most = probe->asks_max > 1 ? probe->bytes : INT64_MAX;
    SpillJoinTake take = {&join->cursor, &join->rows, most, key_bytes(probe)};
    sort_asks(probe);
    SpillJoinTaken taken = spill_join_take(&take, probe->asks, probe->ask_count);
    spill_join_cursor_close(&join->cursor);
    return taken == JOIN_TAKEN ? build_table(probe, join) : taken;
}

// The answers that the task's unit has in advance for the join; nullptr: none.
static const SpillJoin *answers_of(const SbTaskState *state, uint32_t join) {
    const ProbeAhead *ahead = state->setup->ahead;
    const Unit *unit = &state->unit;
    bool told = ahead && join < ahead->count && (int64_t)unit->ordinal < ahead->unit_count &&
                ahead->units[unit->ordinal] == probe_unit_name(unit);
    return told ? ahead->answers[join] : nullptr;
}

// Takes of the answers what the asks ask for; `all`: all of them.
static SpillJoinTaken fill_answers(SbTaskState *state, ProbeJoin *join, const SpillJoin *answers,
                                   bool all) {
    Probe *probe = &state->probe;
    if (!spill_join_rows_open(&join->rows, join->join)) return JOIN_NO_ROOM;
    if (!spill_join_cursor(&join->cursor, answers)) return JOIN_NO_ROOM;
    int64_t most = all || probe->asks_max > 1 ? probe->bytes : INT64_MAX;
    SpillJoinTake take = {&join->cursor, &join->rows, most, 0};
    SpillJoinTaken taken = JOIN_TAKEN;
    sort_asks(probe);
    if (all || probe->ask_count > 0)
        taken = spill_join_take_answers(&take, state->unit.ordinal, all ? nullptr : probe->asks,
                                        probe->ask_count);
    spill_join_cursor_close(&join->cursor);
    return taken == JOIN_TAKEN ? build_table(probe, join) : taken;
}

// Makes the tables of the first `count` joins for a piece that begins at the task's cursor: for all
// that the unit was told, or for as many rows as may ask.
static SpillJoinTaken try_piece(SbTaskState *state, uint32_t count, bool all) {
    Probe *probe = &state->probe;
    int64_t end = state->task.input.end;
    probe_drop(probe);
    SpillJoinTaken taken = JOIN_TAKEN;
    for (uint32_t i = 0; i < count && taken == JOIN_TAKEN; i++) {
        ProbeJoin *join = &probe->joins[i];
        const SpillJoin *answers = answers_of(state, i);
        bool asks = !answers || !all;
        if (asks) end = ask(state, join->breaker, end);
        if (asks && probe->no_room) taken = JOIN_NO_ROOM;
        else taken = answers ? fill_answers(state, join, answers, all) : fill_table(probe, join);
    }
    drop_asks(probe);
    if (taken == JOIN_TAKEN) probe->end = end;
    else probe_drop(probe);
    return taken;
}

// What breakers of this thread keep goes to disk. True: something did.
static bool relieve(const SbTaskState *state, uint32_t thread) {
    const TaskSetup *setup = state->setup;
    bool any = false;
    for (uint32_t t = 0; t < setup->stage->terminal_count && !state->aside; t++) {
        uint32_t terminal = setup->stage->terminals[t];
        if (!(terminal & SB_TERMINAL_SINK) && setup->breakers[terminal])
            any |= sb_breaker_relieve(setup->breakers[terminal], thread);
    }
    return any;
}

// The next piece: all that is left of the unit if it was told what it looks up and the memory holds
// that; else of fewer rows where there is no memory for those of more.
static SpillJoinTaken find_piece(SbTaskState *state, uint32_t count, uint32_t thread) {
    Probe *probe = &state->probe;
    SpillJoinTaken taken = probe->too_much ? JOIN_NO_ROOM : try_piece(state, count, true);
    probe->too_much |= taken == JOIN_NO_ROOM;
    while (taken == JOIN_NO_ROOM && (taken = try_piece(state, count, false)) == JOIN_NO_ROOM) {
        if (probe->asks_max == 1 && !relieve(state, thread)) break;
        probe->asks_max = probe->asks_max > FEWER ? probe->asks_max / FEWER : 1;
    }
    probe->asks_max *= 2;
    if (probe->asks_max > probe->asks_limit) probe->asks_max = probe->asks_limit;
    return taken;
}

// ---- running ------------------------------------------------------------------------------------

// nullptr: its table is in memory.
static ProbeJoin *find_join(const Probe *probe, uint32_t breaker) {
    for (uint32_t i = 0; i < probe->count; i++)
        if (probe->joins[i].breaker == breaker) return &probe->joins[i];
    return nullptr;
}

// Reads on with the rows of the key of `entry` from that number on, so many bytes and one row.
static const SbEntry *read_on(Probe *probe, ProbeJoin *join, const SbEntry *entry, int64_t row,
                              int64_t bytes) {
    Spill *spill = join->join->spill;
    SpillJoinRows *into = &join->more[join->turn ^= 1];
    if (into->rows.state) spill_join_mark(join->join, &into->rows);
    spill_join_rows_close(into);
    bool good = !spill->failed && !probe->starved && spill_join_rows_open(into, join->join) &&
                (join->cursor.join || spill_join_cursor(&join->cursor, join->join));
    SpillJoinTake take = {&join->cursor, into, INT64_MAX, bytes};
    if (!good || spill_join_more(&take, entry, row) == JOIN_NO_ROOM) probe->starved = true;
    good = !spill->failed && !probe->starved;
    return good && into->rows.count > 0 ? into->entries[0] : nullptr;
}

const SbEntry *sb_join_more(SbTask *task, uint32_t breaker, const SbEntry *entry) {
    Probe *probe = &task->state->probe;
    return read_on(probe, find_join(probe, breaker), entry, (int64_t)entry->order + 1,
                   key_bytes(probe));
}

const SbEntry *sb_join_row(SbTask *task, uint32_t breaker, const SbEntry *first, int64_t row) {
    Probe *probe = &task->state->probe;
    return read_on(probe, find_join(probe, breaker), first, row, 0);
}

// A table in memory stays where it is. Of one that is read anew the rows keep their numbers.
int64_t sb_join_place(const SbTask *task, uint32_t breaker, const SbEntry *entry) {
    bool on_disk = find_join(&task->state->probe, breaker);
    return on_disk ? (int64_t)entry->order : (int64_t)(uintptr_t)entry;
}

const SbEntry *sb_join_go_on(SbTask *task, uint32_t breaker, const SbEntry *first, int64_t place) {
    Probe *probe = &task->state->probe;
    ProbeJoin *join = find_join(probe, breaker);
    if (!join) {
        const SbEntry *match = (const SbEntry *)(uintptr_t)place;
        if (match != first) candidates_pass(task->state, breaker, match);
        return match;
    }
    const SbEntry *entry = first;
    while (entry && (int64_t)entry->order != place) entry = spill_join_next(join->join, entry);
    return entry ? entry : read_on(probe, join, first, place, key_bytes(probe));
}

static void mark(Probe *probe) {
    for (uint32_t i = 0; i < probe->count; i++) {
        const ProbeJoin *join = &probe->joins[i];
        const SpillJoinRows *all[] = {&join->rows, &join->more[0], &join->more[1]};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k]->rows.state) spill_join_mark(join->join, &all[k]->rows);
    }
}

int32_t probe_run(SbTaskState *state, uint32_t thread) {
    SbTask *task = &state->task;
    Probe *probe = &state->probe;
    const int64_t end = task->input.end;
    int32_t status;
    bool more;
    task->tables = probe->tables;
    do {
        SpillJoinTaken taken = JOIN_TAKEN;
        if (task->cursor >= probe->end) taken = find_piece(state, probe->count, thread);
        if (taken == JOIN_NO_ROOM) return SB_STAGE_NEED;
        if (taken == JOIN_TROUBLE) return SB_STAGE_FAULT;
        task->input.end = probe->end < end ? probe->end : end;
        status = state->setup->stage->run(task);
        task->input.end = end;
        mark(probe);
        if (probe->joins[0].join->spill->failed) return SB_STAGE_FAULT;
        // The rows after the end that the chain seemed to have are missing.
        if (probe->starved) return SB_STAGE_NEED;
        more = status == SB_STAGE_DONE && !task->stopped && task->cursor < end;
    } while (more);
    if (status != SB_STAGE_FULL || sb_memory_is_short(probe->memory)) probe_drop(probe);
    return status;
}

// ---- asking ahead -------------------------------------------------------------------------------

uint64_t probe_unit_name(const Unit *unit) {
    int64_t words[] = {unit->file, unit->range_begin, unit->offset + unit->begin,
                       unit->offset + unit->end};
    return sb_xxh64((const char *)words, sizeof words, 0);
}

bool probe_ask(SbTaskState *state, uint32_t join) {
    SbTask *task = &state->task;
    Probe *probe = &state->probe;
    task->tables = probe->tables;
    if (task->cursor >= probe->end) {
        if (join > 0 && find_piece(state, join, 0) != JOIN_TAKEN) return false;
        if (join == 0) probe->end = task->input.end;
    }
    task->cursor = ask(state, probe->joins[join].breaker, probe->end);
    sort_asks(probe);
    return !probe->no_room;
}

bool probe_ask_first(SbTaskState *state, uint32_t breaker) {
    enum { ASKS_MAX = 16 * 1024 };
    Probe *probe = &state->probe;
    uint32_t count = state->setup->job->breaker_count;
    if (!probe->tables) probe->tables = calloc(count, sizeof(const SbTable *));
    if (!probe->tables) return false;
    for (uint32_t b = 0; b < count; b++)
        if (!probe->tables[b]) probe->tables[b] = &no_table;
    probe->asks_max = ASKS_MAX;
    state->task.tables = probe->tables;
    state->task.cursor = ask(state, breaker, state->task.input.end);
    sort_asks(probe);
    return !probe->no_room;
}
