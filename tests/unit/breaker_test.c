#include "runtime/abi/calls.h"
#include "runtime/breakers/breaker.h"
#include "runtime/breakers/groups.h"
#include "runtime/memory/slab.h"
#include "runtime/rows/sort.h"
#include "stdlib/hash/hash.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { THREADS = 3 };

// Runs everything on the calling thread, in turn as each thread.
static void each_in_turn(SbParallel *self, uint32_t count, SbEachFn *fn, void *arg) {
    for (uint32_t i = 0; i < count; i++) fn(arg, i, i % self->threads);
}

static SbParallel in_turn = {each_in_turn, THREADS};

typedef struct Group {  // What generated code keeps for `group by k { n = count() }`.
    SbEntry entry;
    int64_t key, rows;
} Group;

// The slot of the key, or the free one where it belongs.
static uint64_t *find(SbGroups *groups, uint64_t hash, int64_t key) {
    uint64_t at = hash & groups->mask;
    for (; groups->slots[at]; at = (at + 1) & groups->mask)
        if (((Group *)sb_slot_entry(groups->slots[at]))->key == key) break;
    return &groups->slots[at];
}

static int32_t merge_group(SbCall *call, SbGroups *into, SbEntry *entry) {
    (void)call;
    uint64_t *slot = find(into, entry->hash, ((Group *)entry)->key);
    Group *stays = (Group *)entry, *leaves = (Group *)sb_slot_entry(*slot);
    if (!leaves) return *slot = sb_slot(entry), SB_OK;
    if (leaves->entry.order < stays->entry.order) {
        stays = leaves;
        leaves = (Group *)entry;
    }
    *slot = sb_slot(&stays->entry);
    stays->rows += leaves->rows;
    leaves->entry.order = UINT64_MAX;
    return SB_OK;
}

// `asks`: as a batch of one row does.
static void add(SbGroups *groups, int64_t key, uint64_t order, bool asks) {
    uint64_t hash = sb_hash_word(1, (uint64_t)key);
    const struct { uint64_t hash; int64_t len; } record = {hash, 0};
    const SbWaiting waiting = {.record_bytes = sizeof record, .text_offset = -1, .len_offset = 8};
    if (asks) sb_groups_ask(groups, &record, 1, &waiting);
    Group *group = (Group *)sb_slot_entry(*find(groups, hash, key));
    if (!group) {
        group = (Group *)sb_groups_insert(nullptr, groups, hash, order);
        group->key = key;
    }
    group->rows++;
}

static void check_groups(int64_t keys, int64_t rows, bool asks) {
    SbMemory memory;
    sb_memory_open(&memory, INT64_C(1) << 32);
    SbBreaker what = {.kind = SB_BREAK_GROUP, .entry_bytes = sizeof(Group), .key_count = 1,
                      .merge = merge_group};
    SbBreakerState *breaker = sb_breaker_open(&what, THREADS, &memory, nullptr);
    for (int64_t i = 0; i < rows; i++)
        add(sb_breaker_part(breaker, (uint32_t)(i / 100 % THREADS)), i * 7 % keys, (uint64_t)i,
            asks);
    for (uint32_t i = 0; i < THREADS; i++)  // Batches say that nearly all rows make groups.
        CHECK(((SbGroups *)sb_breaker_part(breaker, i))->state->repeats == asks);
    CHECK(sb_breaker_finish(breaker, &in_turn) == SB_OK);
    int64_t count, sum = 0;
    const SbEntry *const *entries = sb_breaker_entries(breaker, &count);
    CHECK_SAYS(count == keys, "%ld", count);
    for (int64_t i = 0; i < count; i++) {
        const Group *group = (const Group *)entries[i];
        CHECK(group->key == i * 7 % keys && group->entry.order == (uint64_t)i);
        sum += group->rows;
    }
    CHECK(sum == rows);
    sb_breaker_close(breaker);
    CHECK(memory.used == 0);
}

static void groups_merge_in_order(void) {
    check_groups(11, 5000, false);
    check_groups(100003, 400000, false);
    check_groups(900007, 1500000, true);
}

// A table that only adds looks for keys again when rows have none of their own any more.
static void rows_look_again(void) {
    enum : int64_t { KEYS = 400'000, ROWS = 2'000'000 };
    SbMemory memory;
    sb_memory_open(&memory, INT64_C(1) << 32);
    SbBreaker what = {.kind = SB_BREAK_GROUP, .entry_bytes = sizeof(Group), .key_count = 1,
                      .merge = merge_group};
    SbParallel alone = {each_in_turn, 1};
    SbBreakerState *breaker = sb_breaker_open(&what, 1, &memory, nullptr);
    SbGroups *groups = sb_breaker_part(breaker, 0);
    for (int64_t i = 0; i < KEYS; i++) add(groups, i, (uint64_t)i, true);
    CHECK(groups->mask == 0 && groups->count == KEYS);
    for (int64_t i = KEYS; i < ROWS; i++) add(groups, i % KEYS, (uint64_t)i, true);
    CHECK(groups->mask > 0);
    CHECK_SAYS(groups->count <= KEYS + KEYS / 2, "%ld", groups->count);
    CHECK(sb_breaker_finish(breaker, &alone) == SB_OK);
    int64_t count;
    sb_breaker_entries(breaker, &count);
    CHECK_SAYS(count == KEYS, "%ld", count);
    sb_breaker_close(breaker);
    CHECK(memory.used == 0);
}

static void no_keys_make_one_row(void) {
    SbMemory memory;
    sb_memory_open(&memory, INT64_C(1) << 32);
    SbBreaker what = {.kind = SB_BREAK_GROUP, .entry_bytes = sizeof(Group), .merge = merge_group};
    SbBreakerState *breaker = sb_breaker_open(&what, THREADS, &memory, nullptr);
    int64_t count;
    CHECK(sb_breaker_finish(breaker, &in_turn) == SB_OK);
    sb_breaker_entries(breaker, &count);
    CHECK(count == 1);
    sb_breaker_close(breaker);
}

static void limit_is_kept(void) {
    SbMemory memory;
    sb_memory_open(&memory, 1 << 20);
    SbBreaker what = {.kind = SB_BREAK_GROUP, .entry_bytes = sizeof(Group), .merge = merge_group};
    SbBreakerState *breaker = sb_breaker_open(&what, 1, &memory, nullptr);
    SbGroups *groups = sb_breaker_part(breaker, 0);
    int64_t i = 0;
    while (i < 1000000 && sb_groups_insert(nullptr, groups, (uint64_t)i * 1000003, 0)) i++;
    CHECK_SAYS(i > 1000 && i < 100000, "%ld", i);
    CHECK(memory.peak <= 1 << 20);
    sb_breaker_close(breaker);
    CHECK(memory.used == 0);
}

typedef struct Row {
    SbEntry entry;
    int64_t a, b;
} Row;

static int32_t compare_rows(const SbEntry *x, const SbEntry *y) {
    const Row *a = (const Row *)x, *b = (const Row *)y;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

static uint64_t coarse_prefix(const SbEntry *x) { return (uint64_t)((const Row *)x)->a >> 3; }

static uint64_t other_bits(const SbEntry *x) {
    const Row *row = (const Row *)x;
    return (uint64_t)((row->a & 7) << 1 | row->b >> 3);
}

typedef enum Prefixes { NONE, ONE, BOTH } Prefixes;

static void check_sort(int64_t rows, Prefixes prefixes) {
    SbMemory memory;
    sb_memory_open(&memory, INT64_C(1) << 32);
    SbBreaker what = {.kind = SB_BREAK_SORT, .entry_bytes = sizeof(Row), .compare = compare_rows,
                      .prefix = prefixes == NONE ? nullptr : coarse_prefix,
                      .prefix_more = prefixes == BOTH ? other_bits : nullptr};
    SbBreakerState *breaker = sb_breaker_open(&what, THREADS, &memory, nullptr);
    srand(7);
    for (int64_t i = 0; i < rows; i++) {
        SbRows *part = sb_breaker_part(breaker, (uint32_t)(i % THREADS));
        Row *row = (Row *)(void *)part->at;
        if (part->at == part->end) row = (Row *)sb_rows_grow(nullptr, part, sizeof *row);
        else part->at += sizeof *row;
        part->count++;
        *row = (Row){{0, (uint64_t)i}, rand() % 1000, rand() % 10};
    }
    CHECK(sb_breaker_finish(breaker, &in_turn) == SB_OK);
    int64_t count;
    const SbEntry *const *entries = sb_breaker_entries(breaker, &count);
    CHECK(count == rows && sb_breaker_rows_in(breaker) == rows);
    for (int64_t i = 1; i < count; i++) {
        int32_t order = compare_rows(entries[i - 1], entries[i]);
        CHECK(order < 0 || (order == 0 && entries[i - 1]->order < entries[i]->order));
    }
    sb_breaker_close(breaker);
    CHECK(memory.used == 0);
}

// Of each partition, the rows of one `a`, the first `most` by b, or the last one. So many rows are
// never there at once.
static int32_t compare_partitions(const SbEntry *x, const SbEntry *y) {
    const Row *a = (const Row *)x, *b = (const Row *)y;
    return (a->a > b->a) - (a->a < b->a);
}

static int32_t compare_peers(const SbEntry *x, const SbEntry *y) {
    const Row *a = (const Row *)x, *b = (const Row *)y;
    return (a->b > b->b) - (a->b < b->b);
}

// Rows have one of `hashes`: those of a partition the same one, which others may have too.
static void check_first(int64_t partitions, int64_t most, uint8_t keeps, int64_t hashes) {
    enum : int64_t { ROWS = 600000, ROWS_AT_ONCE = 150000 };
    SbMemory memory;
    sb_memory_open(&memory, INT64_C(1) << 32);
    const SbWindow window = {.partition = partitions > 1 ? compare_partitions : nullptr,
                             .peers = compare_peers,
                             .keeps = keeps};
    SbBreaker what = {.kind = SB_BREAK_SORT, .entry_bytes = sizeof(Row), .compare = compare_rows,
                      .window = keeps ? &window : nullptr};
    SbBreakerState *breaker = sb_breaker_open(&what, THREADS, &memory, nullptr);
    CHECK(sb_breaker_want_first(breaker, most));
    int64_t held = 0, count;
    for (int64_t i = 0; i < ROWS; i++) {
        SbRows *part = sb_breaker_part(breaker, (uint32_t)(i % THREADS));
        if (part->count % 1000 == 0) sb_rows_mark(part), sb_rows_keep(part);
        uint64_t hash = (uint64_t)(i % partitions % hashes) * 0x9e3779b97f4a7c15;
        *(Row *)(void *)sb_rows_add(part) = (Row){{hash, (uint64_t)i}, i % partitions,
                                                  i * 104729 % ROWS};
        if (memory.used > held) held = memory.used;
    }
    CHECK_SAYS(held < ROWS_AT_ONCE * (int64_t)sizeof(Row), "%ld bytes", held);
    CHECK(sb_breaker_finish(breaker, &in_turn) == SB_OK);
    const SbEntry *const *entries = sb_breaker_entries(breaker, &count);
    CHECK_SAYS(count == partitions * most, "%ld", count);
    for (int64_t i = 0; i < count; i++) {
        const Row *row = (const Row *)entries[i];
        int64_t before = 0;  // Rows of the partition that come before this one, or after it.
        for (int64_t k = row->a; k < ROWS; k += partitions) {
            int64_t b = k * 104729 % ROWS;
            before += keeps == SB_KEEPS_LAST ? b > row->b : b < row->b;
        }
        CHECK_SAYS(before < most, "row %lu", (unsigned long)row->entry.order);
        if (keeps && i) CHECK(entries[i - 1]->order < row->entry.order);
    }
    sb_breaker_close(breaker);
    CHECK(memory.used == 0);
}

static void first_rows_are_chosen_as_they_come(void) {
    check_first(1, 100, SB_KEEPS_ALL, 1);
    check_first(7, 3, SB_KEEPS_FIRST, 7);
    check_first(1, 50, SB_KEEPS_FIRST, 1);
    check_first(1000, 1, SB_KEEPS_LAST, 1000);
    check_first(1000, 1, SB_KEEPS_FIRST, 1000);
}

static void partitions_of_one_hash_are_told_apart(void) {
    check_first(7, 3, SB_KEEPS_FIRST, 2);
    check_first(1000, 1, SB_KEEPS_LAST, 1);
    check_first(1000, 1, SB_KEEPS_FIRST, 300);
}

static void sort_is_stable(void) {
    check_sort(0, ONE);
    check_sort(1, NONE);
    check_sort(300, BOTH);
    check_sort(30000, BOTH);
    check_sort(100000, ONE);
    check_sort(100000, BOTH);
    check_sort(100000, NONE);
}

typedef struct Build {
    SbEntry        entry;
    int64_t        key;
    const SbEntry *next;
    char           matched;
} Build;

static int32_t equal_builds(const SbEntry *a, const SbEntry *b) {
    return ((const Build *)a)->key == ((const Build *)b)->key;
}

static uint64_t number_of_build(const SbEntry *entry) {
    return (uint64_t)((const Build *)entry)->key;
}

// Keys -1500..1499, each three times.
static void join_chains_are_in_right_order(uint64_t (*number)(const SbEntry *), int64_t gap) {
    SbMemory memory;
    sb_memory_open(&memory, INT64_C(1) << 32);
    SbBreaker what = {.kind = SB_BREAK_JOIN,
                      .entry_bytes = sizeof(Build),
                      .equal = equal_builds,
                      .number = number,
                      .next_offset = offsetof(Build, next),
                      .matched_offset = offsetof(Build, matched)};
    SbBreakerState *breaker = sb_breaker_open(&what, THREADS, &memory, nullptr);
    for (int64_t i = 0; i < 9000; i++) {
        SbRows *part = sb_breaker_part(breaker, (uint32_t)(i / 10 % THREADS));
        Build *row = (Build *)(void *)part->at;
        if (part->at == part->end) row = (Build *)sb_rows_grow(nullptr, part, sizeof *row);
        else part->at += sizeof *row;
        part->count++;
        int64_t key = (i % 3000 - 1500) * gap;
        if (i == 5) key = 1 << 20;  // What a null leaves there.
        *row = (Build){{sb_hash_word(1, (uint64_t)key), (uint64_t)i}, key, nullptr, i == 5 ? 2 : 0};
    }
    CHECK(sb_breaker_finish(breaker, &in_turn) == SB_OK);
    const SbTable *table = sb_breaker_table(breaker);
    bool by_number = number && gap == 1;
    CHECK(by_number ? table->span == 3000 && (int64_t)table->least == -1500 : !table->span);
    uint64_t slots = by_number ? table->span : table->mask + 1;
    int64_t found = 0;
    for (uint64_t at = 0; at < slots; at++) {
        if (!table->slots[at]) continue;
        const Build *row = (const Build *)(uintptr_t)(table->slots[at] & ((UINT64_C(1) << 48) - 1));
        if (by_number) CHECK((uint64_t)row->key == table->least + at);
        for (uint64_t before = 0; row; before = row->entry.order, row = (const Build *)row->next) {
            CHECK(found == 0 || row->entry.order >= before);
            found++;
        }
    }
    CHECK_SAYS(found == 8999, "%ld", found);  // All but the one with a null key.
    sb_breaker_close(breaker);
    CHECK(memory.used == 0);
}

static void joins_by_hash_chain(void) { join_chains_are_in_right_order(nullptr, 1); }

static void joins_by_numbers_far_apart_chain(void) {
    join_chains_are_in_right_order(number_of_build, 1000);
}

static void joins_by_close_numbers_chain(void) {
    join_chains_are_in_right_order(number_of_build, 1);
}

static void nothing_has_an_address_too(void) {
    SbMemory memory;
    sb_memory_open(&memory, INT64_C(1) << 20);
    SbSlab slab;
    sb_slab_open(&slab, &memory);
    CHECK(sb_slab_alloc(&slab, 0));  // The text of a null, before any other.
    sb_slab_close(&slab);
    CHECK(memory.used == 0);
}

static void blocks_are_taken_again_and_make_way(void) {
    enum : int64_t { BLOCK = 1 << 20, LIMIT = 32 << 20 };
    SbMemory memory;
    sb_memory_open(&memory, LIMIT);
    sb_memory_keep(&memory);
    int64_t bytes = BLOCK, less = BLOCK - 4096, small = 4096;
    void *block = sb_memory_take_block(&memory, &bytes);
    CHECK(block && bytes == BLOCK && memory.used == BLOCK && memory.kept == 0);
    sb_memory_give_block(&memory, block, bytes);
    CHECK(memory.used == 0 && memory.kept == BLOCK);
    // One that is a little smaller is served by it; a small one is not.
    void *other = sb_memory_take_block(&memory, &small);
    CHECK(other && other != block && small == 4096 && memory.kept == BLOCK);
    CHECK(sb_memory_take_block(&memory, &less) == block && less == BLOCK && memory.kept == 0);
    CHECK(memory.used == BLOCK + small);
    sb_memory_give_block(&memory, block, less);
    sb_memory_give_block(&memory, other, small);
    CHECK(memory.used == 0 && memory.kept == BLOCK);
    // What is charged goes before what is kept, to the last byte.
    CHECK(sb_memory_charge(&memory, LIMIT - BLOCK) && memory.kept == BLOCK);
    CHECK(sb_memory_charge(&memory, 1) && memory.kept == 0);
    // A block that is given back stays where there is room, up to a share of the limit.
    sb_memory_release(&memory, BLOCK + 1);
    bytes = BLOCK;
    block = sb_memory_take_block(&memory, &bytes);
    CHECK(block && sb_memory_charge(&memory, LIMIT - memory.used));
    CHECK(memory.used == LIMIT);
    sb_memory_release(&memory, BLOCK / 2);
    sb_memory_give_block(&memory, block, bytes);
    CHECK(memory.used == LIMIT - BLOCK / 2 - BLOCK && memory.kept == BLOCK);
    sb_memory_release(&memory, memory.used);
    void *blocks[16];
    for (int i = 0; i < 16; i++) blocks[i] = sb_memory_take_block(&memory, &bytes);
    for (int i = 0; i < 16; i++) sb_memory_give_block(&memory, blocks[i], bytes);
    CHECK(memory.used == 0 && memory.kept == LIMIT / 4);
    sb_memory_keep_none(&memory);
    CHECK(memory.kept == 0);
}

static void blocks_are_kept_in_what_is_idle(void) {
    enum : int64_t { BLOCK = 1 << 20, LIMIT = 32 << 20 };
    SbMemory memory, account;
    sb_memory_open(&memory, LIMIT);
    sb_memory_keep(&memory);
    sb_memory_open(&account, LIMIT);
    account.whole = &memory;
    CHECK(sb_memory_promise(&memory, LIMIT) && sb_memory_held(&memory) == 0);
    int64_t bytes = BLOCK;
    void *block = sb_memory_take_block(&account, &bytes);
    CHECK(block && sb_memory_held(&memory) == BLOCK);
    sb_memory_give_block(&account, block, bytes);
    CHECK(memory.used == LIMIT && memory.kept == BLOCK);
    CHECK(sb_memory_charge(&account, LIMIT - BLOCK) && memory.kept == BLOCK);
    CHECK(sb_memory_charge(&account, 1) && memory.kept == 0);
    sb_memory_release(&account, account.used);
    sb_memory_recall(&memory, LIMIT);
    CHECK(memory.used == 0 && memory.idle == 0);
    sb_memory_keep_none(&memory);
}

static const UnitTest tests[] = {
    {"nothing_has_an_address_too", nothing_has_an_address_too},
    {"groups_merge_in_order", groups_merge_in_order},
    {"rows_look_again", rows_look_again},
    {"no_keys_make_one_row", no_keys_make_one_row},
    {"limit_is_kept", limit_is_kept},
    {"sort_is_stable", sort_is_stable},
    {"first_rows_are_chosen_as_they_come", first_rows_are_chosen_as_they_come},
    {"partitions_of_one_hash_are_told_apart", partitions_of_one_hash_are_told_apart},
    {"joins_by_hash_chain", joins_by_hash_chain},
    {"joins_by_numbers_far_apart_chain", joins_by_numbers_far_apart_chain},
    {"joins_by_close_numbers_chain", joins_by_close_numbers_chain},
    {"blocks_are_taken_again_and_make_way", blocks_are_taken_again_and_make_way},
    {"blocks_are_kept_in_what_is_idle", blocks_are_kept_in_what_is_idle},
};

UNIT_MAIN("breaker", tests)
