#define _GNU_SOURCE
#include "runtime/abi/calls.h"
#include "runtime/breakers/breaker.h"
#include "runtime/breakers/groups.h"
#include "runtime/breakers/spill_groups.h"
#include "stdlib/hash/digest.h"
#include "stdlib/aggregate/held.h"
#include "stdlib/hash/key.h"
#include "tests/unit/spill_root.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEXT_MAX = 90 };

static const SbType str_type = {.kind = SB_STR, .size = sizeof(SbStr), .align = 8};

typedef struct Group {   // Of `group by name { n = count(), some = ... }`.
    SbEntry  entry;
    SbKeyStr name;
    int64_t  rows;
    SbStr    some;       // A state that lies elsewhere.
} Group;

enum { GROUP_BYTES = (sizeof(Group) + 15) / 16 * 16 };

static const SbHeld group_held[] = {{offsetof(Group, name), nullptr, sb_held_key},
                                    {offsetof(Group, some), &str_type, sb_held_value}};
static const SbField group_fields[] = {{SB_LITERAL("name"), &str_type, offsetof(Group, name)}};
static const SbType group_row = {.kind = SB_STRUCT, .fields = group_fields, .field_count = 1};

static SbStr name_of(const Group *group) { return sb_key_text(&group->name); }

static uint64_t *find(SbGroups *groups, uint64_t hash, SbStr name) {
    uint64_t at = hash & groups->mask;
    for (; groups->slots[at]; at = (at + 1) & groups->mask)
        if (same_text(name_of((Group *)sb_slot_entry(groups->slots[at])), name)) break;
    return &groups->slots[at];
}

static int32_t merge_group(SbCall *call, SbGroups *into, SbEntry *entry) {
    uint64_t *slot = find(into, entry->hash, name_of((Group *)entry));
    Group *stays = (Group *)entry, *leaves = (Group *)sb_slot_entry(*slot);
    if (!leaves) return *slot = sb_slot(entry), SB_OK;
    if (leaves->entry.order < stays->entry.order) {
        stays = leaves;
        leaves = (Group *)entry;
    }
    *slot = sb_slot(&stays->entry);
    stays->rows += leaves->rows;
    leaves->entry.order = UINT64_MAX;
    if (leaves->some.len <= stays->some.len) return SB_OK;
    char *copy = sb_take(call, leaves->some.len);   // The longest stays.
    if (!copy) return SB_FAULT_TOO_LARGE;
    memcpy(copy, leaves->some.ptr, (size_t)leaves->some.len);
    stays->some = (SbStr){copy, leaves->some.len};
    return SB_OK;
}

static SbBreaker groups_by_name = {.kind = SB_BREAK_GROUP, .entry_bytes = GROUP_BYTES,
                                   .held = group_held, .held_count = 2, .key_count = 1,
                                   .row = &group_row, .narrow = true, .merge = merge_group};

// A row of the group of a number, whose state grows to `bytes`. `same`: all hashes are alike.
static bool add_row(SbGroups *groups, uint64_t number, uint64_t order, int64_t bytes, bool same) {
    char room[TEXT_MAX];
    int len = snprintf(room, sizeof room, "the group of the number %lu", (unsigned long)number);
    uint64_t hash = sb_xxh64(room, same ? 5 : len, 0);
    Group *group = (Group *)sb_slot_entry(*find(groups, hash, (SbStr){room, len}));
    if (!group) group = (Group *)sb_groups_insert(nullptr, groups, hash, order);
    if (!group) return false;
    if (group->rows++ == 0 && sb_groups_key(groups, &group->name, room, len)) return false;
    int64_t want = (int64_t)(order % (uint64_t)bytes) + 1;
    if (group->some.len >= want) return true;
    group->some = (SbStr){sb_take(&groups->state->call, want), want};
    if (group->some.ptr) memset((void *)(uintptr_t)group->some.ptr, 'x', (size_t)want);
    return group->some.ptr;
}

typedef struct GroupsCase {
    int64_t groups, rows, bytes, limit;
    bool    same, eager, fails;
} GroupsCase;

static void check_results(const GroupsCase *of, const SbBreakerState *breaker) {
    int64_t count, seen = 0, rows = 0;
    CHECK(!sb_breaker_entries(breaker, &count));
    CHECK_SAYS(count == of->groups, "%ld", count);
    SpillMerge *merge = read_sorted(breaker);
    for (SbRows *batch; merge && (batch = next_batch(breaker, merge));) {
        const SbEntry *const *entries = sb_rows_entries(batch);
        for (int64_t i = 0; i < batch->count; i++, seen++) {
            const Group *group = (const Group *)entries[i];
            char name[TEXT_MAX];
            int len = snprintf(name, sizeof name, "the group of the number %ld", seen);
            CHECK(same_text(name_of(group), (SbStr){name, len}));
            CHECK(group->entry.order == (uint64_t)seen);
            CHECK(group->some.ptr[group->some.len - 1] == 'x');
            rows += group->rows;
        }
        sb_rows_close(batch);
    }
    spill_merge_close(merge);
    CHECK_SAYS(seen == of->groups && rows == of->rows, "%ld %ld", seen, rows);
}

static void check_groups(const GroupsCase *of, const char *says) {
    char *root = root_open();
    SbMemory memory;
    Spill spill;
    sb_memory_open(&memory, of->limit);
    memory.eager = of->eager;
    CHECK(spill_open(&spill, root, THREADS, &memory));
    SbBreakerState *breaker = sb_breaker_open(&groups_by_name, THREADS, &memory, &spill);
    bool good = breaker;
    for (int64_t i = 0; i < of->rows && good; i++) {
        SbGroups *part = sb_breaker_part(breaker, (uint32_t)(i / 50 % THREADS));
        good = add_row(part, (uint64_t)(i % of->groups), (uint64_t)i, of->bytes, of->same);
        if (i % 50 == 49) good = good && sb_groups_relieve_if_short(part);
    }
    CHECK_SAYS(good, "%s", spill.trouble.text);
    int32_t status = sb_breaker_finish(breaker, &in_turn);
    CHECK_SAYS((status == SB_OK) == !of->fails, "%s", spill.trouble.text);
    if (!of->fails) check_results(of, breaker);
    else CHECK_SAYS(strstr(spill.trouble.text, says), "%s", spill.trouble.text);
    CHECK_SAYS(memory.peak <= of->limit, "%ld", (long)memory.peak);
    sb_breaker_close(breaker);
    spill_close(&spill);
    CHECK_SAYS(memory.used == 0, "%ld", (long)memory.used);
    root_close(root);
}

static void groups_spill_and_merge(void) {
    check_groups(&(GroupsCase){.groups = 100, .rows = 3000, .bytes = 50, .limit = 64 << 20,
                               .eager = true}, nullptr);
    check_groups(&(GroupsCase){.groups = 50000, .rows = 200000, .bytes = 10, .limit = 3 << 20},
                 nullptr);
    // Ranges that do not fit are shared out again.
    check_groups(&(GroupsCase){.groups = 60000, .rows = 60000, .bytes = 2000, .limit = 1 << 20},
                 nullptr);
    // States that do not fit together, and one that does not alone.
    check_groups(&(GroupsCase){.groups = 3000, .rows = 6000, .bytes = 1500, .limit = 1 << 20,
                               .same = true, .fails = true},
                 "one group takes more than ");
}

// Results are cut where most of them begin a block: few blocks are read for two cuts.
static void results_are_cut_at_bounds(void) {
    enum { ROWS = 300000, CUTS = 8 };
    char *root = root_open();
    SbMemory memory;
    Spill spill;
    sb_memory_open(&memory, 12 << 20);
    CHECK(spill_open(&spill, root, THREADS, &memory));
    SbBreakerState *breaker = sb_breaker_open(&groups_by_name, THREADS, &memory, &spill);
    for (int64_t i = 0; i < ROWS; i++) {
        SbGroups *part = sb_breaker_part(breaker, (uint32_t)(i / 50 % THREADS));
        CHECK(add_row(part, (uint64_t)i, (uint64_t)i, 10, false));
        if (i % 50 == 49) CHECK(sb_groups_relieve_if_short(part));
    }
    CHECK(sb_breaker_finish(breaker, &in_turn) == SB_OK);
    const SpillRuns *runs = sb_breaker_on_disk(breaker).runs;
    CHECK(runs->apart && runs->count > 2 && spill_runs_can_cut(runs));
    SpillCutter cutter;
    SpillCut cut;
    SpillCutSize size;
    int64_t rows = 0, cuts = 0;
    CHECK(spill_cutter_open(&cutter, runs, 1));
    for (; spill_cutter_next(&cutter, &cut, &size); cuts++) rows += size.rows;
    spill_cutter_close(&cutter);
    CHECK_SAYS(cuts >= CUTS, "%ld cuts", (long)cuts);
    CHECK_SAYS(rows < ROWS + ROWS / 20, "%ld rows of %d", (long)rows, ROWS);
    sb_breaker_close(breaker);
    spill_close(&spill);
    root_close(root);
}

// ---- tables -------------------------------------------------------------------------------------

typedef struct Disk {
    char       *root;
    SbMemory    memory;
    Spill       spill;
    SpillTables tables;
} Disk;

enum { GROUPS = 200000, FEW_GROUPS = 3000, TABLES = 100, RANGES = 64 };

// In place of the system's: counts what is asked for. A length of 0 means the rest of the file.
static int64_t asked_bytes, asked_rests;

int posix_fadvise(int fd, off_t at, off_t len, int advice) {
    (void)fd, (void)at;
    if (advice != POSIX_FADV_WILLNEED) return 0;
    asked_bytes += len;
    asked_rests += len <= 0;
    return 0;
}

// Tables of as many groups each.
static void disk_open(Disk *disk, uint64_t count) {
    disk->root = root_open();
    sb_memory_open(&disk->memory, 3 << 20);
    CHECK(spill_open(&disk->spill, disk->root, THREADS, &disk->memory));
    disk->tables = (SpillTables){.what = &groups_by_name, .ranges = RANGES, .shift = 30};
    CHECK(spill_tables_open(&disk->tables, &disk->spill, &disk->memory));
    for (uint64_t t = 0, i = 0; t < TABLES; t++) {
        SbGroups groups;
        CHECK(!sb_groups_open(&groups, GROUP_BYTES, &disk->memory));
        for (; i < (t + 1) * count / TABLES; i++) CHECK(add_row(&groups, i, i, 10, false));
        const SbEntry **list = (const SbEntry **)(void *)groups.slots;
        CHECK(spill_tables_add(&disk->tables, 1, &groups.state->rows, list));
        sb_groups_close(&groups);
    }
    CHECK(disk->tables.runs.count == TABLES && disk->tables.runs.rows == (int64_t)count);
}

static void disk_close(Disk *disk) {
    spill_tables_close(&disk->tables);
    spill_close(&disk->spill);
    CHECK(disk->memory.used == 0);
    root_close(disk->root);
}

// How many rows of a table are in the ranges; each is one of theirs.
static int64_t read_ranges(const SpillTables *tables, uint32_t table, uint32_t from, uint32_t to) {
    static const SbSortBy as_they_come = {0};
    SpillRun run;
    CHECK(spill_tables_run(tables, table, from, to, &run));
    const SpillRuns one = {.spill = tables->runs.spill, .memory = tables->runs.memory,
                           .items = &run, .count = 1};
    SpillMerge *merge = spill_merge_open(&one, tables->what, &as_they_come);
    int64_t rows = 0, held;
    for (const SbEntry *entry; merge && (entry = spill_merge_first(merge, &held)); rows++) {
        uint64_t range = entry->hash >> tables->shift & (tables->ranges - 1);
        CHECK(range >= from && range < to);
        spill_merge_pass(merge);
    }
    spill_merge_close(merge);
    CHECK(rows == run.rows);
    return rows;
}

static void tables_are_read_by_ranges(void) {
    Disk disk;
    SpillShare shares[SPILL_RANGES];
    disk_open(&disk, GROUPS);
    CHECK(spill_tables_shares(&disk.tables, shares));
    int64_t rows = 0, share = 0;
    for (uint32_t from = 0, to; from < RANGES; from = to) {
        to = from + 1 + from % 7;
        if (to > RANGES) to = RANGES;
        for (uint32_t t = 0; t < TABLES; t++) rows += read_ranges(&disk.tables, t, from, to);
        for (uint32_t r = from; r < to; r++) share += shares[r].rows;
        CHECK(rows == share);
    }
    CHECK_SAYS(rows == GROUPS, "%ld rows", (long)rows);
    disk_close(&disk);
}

// Each byte of the end of a directory.
static void damaged_directories_are_found(void) {
    Disk disk;
    SpillShare shares[SPILL_RANGES];
    char path[300], byte, changed;
    disk_open(&disk, GROUPS);
    snprintf(path, sizeof path, "%s/1", disk.spill.path);
    int file = open(path, O_RDWR);
    int64_t end = disk.tables.runs.items[7].end;
    for (int64_t at = end - 1000; at < end; at++) {
        CHECK(pread(file, &byte, 1, at) == 1);
        changed = byte ^ 64;
        CHECK(pwrite(file, &changed, 1, at) == 1);
        CHECK_SAYS(!spill_tables_shares(&disk.tables, shares), "byte %ld", (long)at);
        CHECK(disk.spill.failed && disk.spill.trouble.kind == TROUBLE_SPILL_READ);
        disk.spill.failed = false;
        CHECK(pwrite(file, &byte, 1, at) == 1);
    }
    CHECK(spill_tables_shares(&disk.tables, shares));
    close(file);
    disk_close(&disk);
}

// Many ranges of many tables are empty.
static void only_rows_are_asked_for(void) {
    Disk disk;
    SpillRun run;
    int64_t bytes = 0, empty = 0;
    disk_open(&disk, FEW_GROUPS);
    asked_bytes = asked_rests = 0;
    for (uint32_t t = 0; t < TABLES; t++) {
        for (uint32_t r = 0; r < RANGES; r++) {
            CHECK(spill_tables_run(&disk.tables, t, r, r + 1, &run));
            spill_ask(&disk.spill, &run);
            bytes += run.end - run.begin;
            empty += run.rows == 0;
        }
    }
    CHECK_SAYS(empty > TABLES, "%ld empty ranges", (long)empty);
    CHECK_SAYS(asked_rests == 0, "%ld times the rest of the file", (long)asked_rests);
    CHECK_SAYS(asked_bytes == bytes, "%ld of %ld bytes", (long)asked_bytes, (long)bytes);
    disk_close(&disk);
}

static const UnitTest tests[] = {
    {"groups_spill_and_merge", groups_spill_and_merge},
    {"results_are_cut_at_bounds", results_are_cut_at_bounds},
    {"tables_are_read_by_ranges", tables_are_read_by_ranges},
    {"damaged_directories_are_found", damaged_directories_are_found},
    {"only_rows_are_asked_for", only_rows_are_asked_for},
};

UNIT_MAIN("spill_groups", tests)
