#include "runtime/breakers/groups.h"

#include "runtime/abi/calls.h"
#include "runtime/memory.h"
#include "stdlib/aggregate.h"
#include "stdlib/hash.h"

#include <stdlib.h>
#include <string.h>

// The first slots fit the first-level cache and stay so empty that few keys of a small table meet:
// whether a row has to look on is guessed wrong.
enum : int64_t { SLOTS_MIN = 4096, SLOTS_MANY = 1 << 20, STATE_BLOCK_BYTES = 4096 };
enum { RADIX_BITS_MAX = 10 };

static SbMemory *memory_of(const SbGroups *groups) {
    return groups->state->rows.state->entries.memory;
}

// `count` empty slots, written already: a page that is read first costs a second fault when it is
// written, for which all threads are interrupted.
static uint64_t *empty_slots(SbMemory *memory, int64_t count) {
    enum { PAGE_SLOTS = 4096 / sizeof(uint64_t) };
    uint64_t *slots = sb_memory_pages(memory, count * (int64_t)sizeof *slots);
    for (int64_t i = 0; slots && i < count; i += PAGE_SLOTS) *(volatile uint64_t *)&slots[i] = 0;
    return slots;
}

// Entries that so many slots know at most. Of many slots each new page costs more than looking on.
static int64_t room_of(int64_t slots) { return slots < SLOTS_MANY ? slots / 2 : slots / 4 * 3; }

// The slots are empty from now on, and know what comes.
static void begin_slots(SbGroups *groups, int64_t slots) {
    struct SbGroupsState *state = groups->state;
    groups->mask = (uint64_t)slots - 1;
    groups->count_max = state->forgotten + room_of(slots);
    state->looked = 0;
    state->opened = groups->count;
}

static bool open_slots(SbGroups *groups, int64_t slots) {
    int64_t bytes = slots * (int64_t)sizeof *groups->slots;
    groups->slots = empty_slots(memory_of(groups), slots);
    if (!groups->slots) return false;
    groups->state->slot_bytes = bytes;
    begin_slots(groups, slots);
    return true;
}

int32_t sb_groups_open(SbGroups *groups, int64_t entry_bytes, SbMemory *memory) {
    *groups = (SbGroups){.state = calloc(1, sizeof *groups->state)};
    if (!groups->state) return SB_FAULT_TOO_LARGE;
    if (!sb_rows_init(&groups->state->rows, memory, entry_bytes) &&
        !sb_scratch_open(&groups->state->call, STATE_BLOCK_BYTES) &&
        open_slots(groups, SLOTS_MIN)) {
        sb_scratch_charge(&groups->state->call, memory);
        return SB_OK;
    }
    sb_groups_close(groups);
    return SB_FAULT_TOO_LARGE;
}

static void drop_list(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    free(state->list);
    sb_memory_release(memory_of(groups), state->list_bytes);
    state->list = nullptr;
    state->list_bytes = 0;
}

void sb_groups_seal(SbGroups *groups) {
    sb_memory_free(memory_of(groups), groups->slots, groups->state->slot_bytes);
    groups->slots = nullptr;
    drop_list(groups);
}

void sb_groups_close(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    if (!state) return;
    if (groups->slots) sb_groups_seal(groups);
    sb_scratch_close(&state->call);
    sb_rows_fini(&state->rows);
    free(state);
    *groups = (SbGroups){0};
}

static void put(SbGroups *groups, const SbEntry *entry) {
    uint64_t at = entry->hash & groups->mask;
    while (groups->slots[at]) at = (at + 1) & groups->mask;
    groups->slots[at] = sb_slot(entry);
}

// Doubles the slots (fourfold while small) and puts every entry again: entries lie side by side in
// their blocks, so that this reads memory in order and waits for the slots alone.
static bool grow(SbGroups *groups) {
    enum { AHEAD = 16 };
    SbGroups before = *groups;
    struct SbGroupsState *state = groups->state;
    int64_t bytes = state->slot_bytes, slots = (int64_t)groups->mask + 1;
    int64_t forgotten = state->forgotten;
    do slots *= slots < 65536 ? 4 : 2;
    while (room_of(slots) <= groups->count);
    state->forgotten = 0;
    if (!open_slots(groups, slots)) {
        *groups = before;
        state->forgotten = forgotten;
        return false;
    }
    sb_memory_free(memory_of(groups), before.slots, bytes);
    drop_list(groups);
    RowSpan span = {0};
    while (sb_rows_next_span(&groups->state->rows, &span)) {
        for (int64_t i = 0; i < span.count; i++) {
            if (i + AHEAD < span.count)
                __builtin_prefetch(&groups->slots[span_entry(&span, i + AHEAD)->hash &
                                                  groups->mask], 1);
            if (!sb_group_is_merged(span_entry(&span, i))) put(groups, span_entry(&span, i));
        }
    }
    return true;
}

// Have nearly all rows since the slots were opened made groups? States that own memory would own it
// twice. Other processes take over tables whose keys have one entry each.
static bool pays_to_forget(const SbGroups *groups) {
    enum { SLOTS_FEW = 1 << 17, NEARLY_ALL = 7, OF = 8 };
    const struct SbGroupsState *state = groups->state;
    return groups->mask >= SLOTS_FEW - 1 && state->looked > 0 &&
           (groups->count - state->opened) * OF >= state->looked * NEARLY_ALL &&
           !sb_memory_shares(memory_of(groups)) && sb_scratch_charged(&state->call) == 0;
}

// Empties the slots. Charges what a list of all entries takes that they may know then: there are
// fewer slots. False: over the limit, and nothing has changed.
static bool forget(SbGroups *groups) {
    enum { KNOWN_SHARE = 4 };
    struct SbGroupsState *state = groups->state;
    SbMemory *memory = memory_of(groups);
    int64_t before = (int64_t)groups->mask + 1, slots = before, bytes = state->slot_bytes;
    while (room_of(slots) < groups->count / KNOWN_SHARE) slots *= 2;
    int64_t list = (groups->count + room_of(slots)) * (int64_t)sizeof *state->list;
    if (!sb_memory_charge(memory, list - state->list_bytes)) return false;
    state->list_bytes = list;
    uint64_t *old = groups->slots;
    int64_t forgotten = state->forgotten;
    state->forgotten = groups->count;
    if (slots == before) {
        memset(old, 0, (size_t)bytes);
        begin_slots(groups, slots);
    } else if (open_slots(groups, slots)) {
        sb_memory_free(memory, old, bytes);
    } else {
        groups->slots = old;
        state->forgotten = forgotten;
        return false;
    }
    state->repeats = true;
    return true;
}

bool sb_groups_reserve(SbGroups *groups) {
    return groups->count < groups->count_max || (pays_to_forget(groups) && forget(groups)) ||
           grow(groups);
}

const SbEntry **sb_groups_list(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    if (groups->count <= (int64_t)groups->mask) return (const SbEntry **)(void *)groups->slots;
    if (!state->list) state->list = malloc((size_t)groups->count * sizeof *state->list);
    return state->list;
}

// ---- relief -------------------------------------------------------------------------------------

int64_t sb_groups_look_bytes(const SbGroups *groups) {
    return (groups->slots ? groups->state->slot_bytes : 0) + groups->state->list_bytes;
}

int64_t sb_groups_bytes(const SbGroups *groups) {
    const struct SbGroupsState *state = groups->state;
    return sb_groups_look_bytes(groups) + sb_rows_bytes(&state->rows) +
           sb_scratch_charged(&state->call);
}

void sb_groups_clear(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    memset(groups->slots, 0, (size_t)state->slot_bytes);
    sb_rows_clear(&state->rows);
    sb_scratch_rewind(&state->call);
    drop_list(groups);
    groups->count = state->forgotten = 0;
    state->repeats = false;
    begin_slots(groups, (int64_t)groups->mask + 1);
}

bool sb_groups_relieve(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    if (groups->count == 0) return true;
    bool good = state->relief->write(state->relief, groups);
    sb_groups_clear(groups);
    sb_memory_calm(memory_of(groups));
    return good;
}

// States like lists double: within one block of rows those of all threads may, beside what they
// had.
static bool may_outgrow(const SbGroups *groups) {
    int64_t states = sb_scratch_charged(&groups->state->call);
    return states > 0 &&
           !sb_memory_has(memory_of(groups), 2 * states * groups->state->relief->threads);
}

bool sb_groups_relieve_if_short(SbGroups *groups) {
    enum { EAGER_GROUPS = 3 };
    const GroupsRelief *relief = groups->state->relief;
    SbMemory *memory = memory_of(groups);
    if (!relief || !(sb_memory_is_short(memory) || may_outgrow(groups))) return true;
    bool enough = memory->eager ? groups->count >= EAGER_GROUPS
                                : sb_groups_bytes(groups) >= relief->bytes_min;
    return !enough || sb_groups_relieve(groups);
}

// When memory was refused. True: there is more now.
static bool relieve_if_any(SbGroups *groups) {
    return groups->state->relief && groups->count > 0 && sb_groups_relieve(groups);
}

// ---- inserting ----------------------------------------------------------------------------------

// Of most groups nothing has to be done first: kept apart, what has to be costs them nothing.
[[gnu::noinline]] static bool make_room(SbGroups *groups) {
    return sb_groups_relieve_if_short(groups) &&
           (sb_groups_reserve(groups) || relieve_if_any(groups));
}

[[gnu::noinline]] static SbEntry *add_to_new_block(SbGroups *groups) {
    SbRows *rows = &groups->state->rows;
    SbEntry *entry = sb_rows_add(rows);
    return !entry && relieve_if_any(groups) ? sb_rows_add(rows) : entry;
}

SbEntry *sb_groups_insert(SbCall *call, SbGroups *groups, uint64_t hash, uint64_t order) {
    (void)call;
    SbRows *rows = &groups->state->rows;
    bool has_room = groups->count < groups->count_max && !sb_memory_is_short(memory_of(groups));
    if (!has_room && !make_room(groups)) return nullptr;
    SbEntry *entry = rows->at != rows->end ? sb_rows_add(rows) : add_to_new_block(groups);
    if (!entry) return nullptr;
    memset(entry, 0, (size_t)rows->state->entry_bytes);
    entry->hash = hash;
    entry->order = order;
    groups->count++;
    put(groups, entry);
    return entry;
}

// Long texts lie after their entries, so that these are waited for; most keys have none.
static void ask_text(const SbEntry *entry, int64_t text_offset) {
    const void *at = (const char *)entry + text_offset;
    const SbKeyStr *key = at;
    if (key->len <= SB_KEY_INLINE) return;
    __builtin_prefetch(key->far.ptr);
    __builtin_prefetch(key->far.ptr + SB_KEY_INLINE);
}

static void ask_entry(const SbEntry *entry) {
    __builtin_prefetch(entry, 1);
    __builtin_prefetch((const void *)((uintptr_t)entry + 63), 1);
}

static uint64_t record_hash(const char *record) {
    uint64_t hash;
    memcpy(&hash, record, sizeof hash);
    return hash;
}

static int64_t record_len(const char *record, const SbWaiting *waiting) {
    int64_t len;
    memcpy(&len, record + waiting->len_offset, sizeof len);
    return len;
}

// Where looking for the key begins.
static const SbEntry *first_entry(const SbGroups *groups, uint64_t hash) {
    return sb_slot_entry(groups->slots[hash & groups->mask]);
}

// Where a core's cache holds the table a guess whether to go on from the first entry would cost
// more than a miss.
static void ask_near(const SbGroups *groups, const char *records, int64_t count,
                     const SbWaiting *waiting) {
    const char *end = records + count * waiting->record_bytes;
    int64_t bits = 0;  // Of all lengths: no text is longer than these say.
    for (const char *at = records; at < end; at += waiting->record_bytes) {
        ask_entry(first_entry(groups, record_hash(at)));
        bits |= record_len(at, waiting);
    }
    if (waiting->text_offset < 0 || bits <= SB_KEY_INLINE) return;
    for (const char *at = records; at < end; at += waiting->record_bytes) {
        const SbEntry *entry = first_entry(groups, record_hash(at));
        if (entry) ask_text(entry, waiting->text_offset);
    }
}

// The entry that the row's key most likely has: the first whose tag is that of the hash, as most
// other keys in the way have another one. nullptr: it has none.
static const SbEntry *likely_entry(const SbGroups *groups, uint64_t hash) {
    uint64_t at = hash & groups->mask, slot;
    while ((slot = groups->slots[at]) && ((slot ^ hash) & ~SB_SLOT_ADDRESS))
        at = (at + 1) & groups->mask;
    return sb_slot_entry(slot);
}

static void ask_far(const SbGroups *groups, const char *records, int64_t count,
                    const SbWaiting *waiting) {
    const SbEntry *entries[SB_BATCH_ROWS];
    int64_t bits = 0;
    for (int64_t i = 0; i < count; i++) {
        const char *record = records + i * waiting->record_bytes;
        entries[i] = likely_entry(groups, record_hash(record));
        ask_entry(entries[i]);
        bits |= record_len(record, waiting);
    }
    if (waiting->text_offset < 0 || bits <= SB_KEY_INLINE) return;
    for (int64_t i = 0; i < count; i++)
        if (entries[i]) ask_text(entries[i], waiting->text_offset);
}

void sb_groups_ask(const SbGroups *groups, const void *records, int64_t count,
                   const SbWaiting *waiting) {
    groups->state->looked += count;
    if (groups->mask < SLOTS_MANY - 1) ask_near(groups, records, count, waiting);
    else ask_far(groups, records, count, waiting);
}

int32_t sb_groups_key(SbGroups *groups, SbKeyStr *key, const char *ptr, int64_t len) {
    *key = (SbKeyStr){.len = len};
    if (len <= SB_KEY_INLINE) {
        memcpy(key->bytes, ptr, (size_t)len);
        return SB_OK;
    }
    bool grew;
    const char *copy = rows_text(&groups->state->rows, ptr, len, &grew);
    if (!copy) return SB_FAULT_TOO_LARGE;
    memcpy(&key->far.head, ptr, sizeof key->far.head);
    key->far.ptr = copy;
    return SB_OK;
}

int32_t sb_groups_nested(SbGroups *groups, const SbType *type, void *value,
                         const SbKeyStr *shared) {
    if (shared) {
        *(SbStr *)value = sb_key_text(shared);
        return SB_OK;
    }
    bool grew;
    return rows_nested(&groups->state->rows, type, value, &grew);
}

// ---- merging the tables of threads --------------------------------------------------------------

typedef struct Table {  // Slots for the entries of one radix, used for one after the other.
    SbGroups groups;
    int64_t  room;      // Slots.
} Table;

typedef struct Merge {
    const SbGroupsMerge *of;
    SbParallel *parallel;
    uint32_t  radix_bits;
    int64_t  *begins;          // [part << radix_bits | radix]: where its entries begin in lists,
                               // and one more.
    uint64_t *lists;           // As slots hold entries: most are no one's equal, and are not read.
    uint32_t *lows;            // By place in lists: the lowest bits of its hash. nullptr: the entry
                               // has to be asked.
    Table    *tables;          // By thread.
    _Atomic int32_t status;    // The first fault.
} Merge;

// Bits that neither the slots of a table nor their tags use.
static uint32_t radix_of(const Merge *merge, const SbEntry *entry) {
    return (uint32_t)(entry->hash >> 36) & ((1u << merge->radix_bits) - 1);
}

// Lists the entries of one part by radix.
static void share_out(void *arg, uint32_t part, uint32_t thread) {
    (void)thread;
    Merge *merge = arg;
    int64_t counts[1 << RADIX_BITS_MAX] = {0};
    int64_t *begins = merge->begins + ((size_t)part << merge->radix_bits);
    const SbRows *rows = &merge->of->parts[part]->state->rows;
    RowSpan span = {0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++) counts[radix_of(merge, span_entry(&span, i))]++;
    int64_t at = begins[0];
    for (uint32_t r = 0; r < 1u << merge->radix_bits; r++) {
        begins[r] = at;
        at += counts[r];
        counts[r] = begins[r];
    }
    span = (RowSpan){0};
    while (sb_rows_next_span(rows, &span))
        for (int64_t i = 0; i < span.count; i++) {
            const SbEntry *entry = span_entry(&span, i);
            int64_t to = counts[radix_of(merge, entry)]++;
            merge->lists[to] = sb_slot(entry);
            if (merge->lows) merge->lows[to] = (uint32_t)entry->hash;
        }
}

// Empty slots, twice as many as there are entries.
static bool clear_table(const Merge *merge, Table *table, int64_t entries) {
    int64_t slots = SLOTS_MIN, slot = sizeof *table->groups.slots;
    while (slots < 2 * entries) slots *= 2;
    if (slots > table->room) {
        sb_memory_free(merge->of->memory, table->groups.slots, table->room * slot);
        table->groups.slots = empty_slots(merge->of->memory, slots);
        table->room = table->groups.slots ? slots : 0;
    } else {
        memset(table->groups.slots, 0, (size_t)(slots * slot));
    }
    table->groups.mask = (uint64_t)slots - 1;
    return table->groups.slots;
}

// The first text among the keys of an entry; -1: there is none.
static int64_t key_text(const SbBreaker *what) {
    for (uint32_t i = 0; i < what->held_count; i++)
        if (what->held[i].hold == sb_held_key) return what->held[i].offset;
    return -1;
}

static uint32_t low_bits(const Merge *merge, int64_t i) {
    return merge->lows ? merge->lows[i] : (uint32_t)sb_slot_entry(merge->lists[i])->hash;
}

// Where the entry goes, if the slot is free; else one of the same tag stands there.
static uint64_t *slot_for(const Merge *merge, const SbGroups *into, int64_t i) {
    uint64_t slot = merge->lists[i], at = low_bits(merge, i) & into->mask;
    while (into->slots[at] && (into->slots[at] ^ slot) & ~SB_SLOT_ADDRESS)
        at = (at + 1) & into->mask;
    return &into->slots[at];
}

// Entries lie anywhere, and so do long texts. Those that will be compared are asked for before.
enum { ASK_ENTRY = 16, ASK_TEXT = 8 };

static void ask_entries(const Merge *merge, const SbGroups *into, int64_t i) {
    uint64_t other = *slot_for(merge, into, i);
    if (!other) return;
    ask_entry(sb_slot_entry(merge->lists[i]));
    ask_entry(sb_slot_entry(other));
}

static void ask_texts(const Merge *merge, const SbGroups *into, int64_t i, int64_t text) {
    uint64_t other = *slot_for(merge, into, i);
    if (!other) return;
    ask_text(sb_slot_entry(merge->lists[i]), text);
    ask_text(sb_slot_entry(other), text);
}

static int32_t merge_list(const Merge *merge, SbCall *call, SbGroups *into, int64_t begin,
                          int64_t end) {
    enum { FEW = 32 };  // Of so many one is compared: asking costs more than waiting for that one.
    int64_t text = key_text(merge->of->what), compared = 0;
    int32_t status = SB_OK;
    for (int64_t i = begin; i < end && !status; i++) {
        bool asks = compared * FEW >= i - begin;
        if (asks && i + ASK_ENTRY < end) ask_entries(merge, into, i + ASK_ENTRY);
        if (asks && text >= 0 && i + ASK_TEXT < end) ask_texts(merge, into, i + ASK_TEXT, text);
        uint64_t *slot = slot_for(merge, into, i);
        if (!*slot) {
            *slot = merge->lists[i];
            continue;
        }
        compared++;
        status = merge->of->what->merge(call, into, sb_slot_entry(merge->lists[i]));
    }
    return status;
}

static void merge_radix(void *arg, uint32_t radix, uint32_t thread) {
    Merge *merge = arg;
    Table *table = &merge->tables[thread];
    uint32_t parts = merge->of->part_count;
    int64_t total = 0;
    for (uint32_t part = 0; part < parts; part++) {
        const int64_t *begin = &merge->begins[(size_t)part << merge->radix_bits | radix];
        total += begin[1] - begin[0];
    }
    int32_t status = clear_table(merge, table, total) ? SB_OK : SB_FAULT_TOO_LARGE;
    for (uint32_t part = 0; part < parts && !status; part++) {
        const int64_t *begin = &merge->begins[(size_t)part << merge->radix_bits | radix];
        status = merge_list(merge, sb_groups_call(merge->of->parts[thread]), &table->groups,
                            begin[0], begin[1]);
    }
    if (status) merge->status = status;
}

int32_t sb_groups_merge(const SbGroupsMerge *of, SbParallel *parallel) {
    enum { TABLE_ENTRIES = 1 << 14 };  // Its slots fit a core's cache.
    Merge merge = {.of = of, .parallel = parallel, .lists = (uint64_t *)(void *)of->lists};
    int64_t total = 0;
    for (uint32_t i = 0; i < of->part_count; i++) total += of->parts[i]->count;
    int64_t low_bytes = total * (int64_t)sizeof *merge.lows;
    merge.lows = sb_memory_pages(of->memory, low_bytes);
    while (total >> merge.radix_bits > TABLE_ENTRIES && merge.radix_bits < RADIX_BITS_MAX)
        merge.radix_bits++;
    merge.tables = calloc(parallel->threads, sizeof *merge.tables);
    merge.begins = calloc(((size_t)of->part_count << merge.radix_bits) + 1,
                          sizeof *merge.begins);
    if (merge.tables && merge.begins) {
        for (uint32_t i = 0; i < of->part_count; i++)
            merge.begins[(size_t)(i + 1) << merge.radix_bits] =
                merge.begins[(size_t)i << merge.radix_bits] + of->parts[i]->count;
        parallel->each(parallel, of->part_count, share_out, &merge);
        parallel->each(parallel, 1u << merge.radix_bits, merge_radix, &merge);
    } else {
        merge.status = SB_FAULT_TOO_LARGE;
    }
    for (uint32_t i = 0; merge.tables && i < parallel->threads; i++)
        sb_memory_free(of->memory, merge.tables[i].groups.slots,
                       merge.tables[i].room * (int64_t)sizeof(uint64_t));
    sb_memory_free(of->memory, merge.lows, low_bytes);
    free(merge.tables);
    free(merge.begins);
    return merge.status;
}
