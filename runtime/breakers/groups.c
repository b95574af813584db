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
enum { SAMPLE_SLOTS = 1 << 13 };

// Hashes of all rows so far that are alike in `level` bits: each key has as good a chance.
struct SbGroupsSample {
    uint64_t hashes[SAMPLE_SLOTS];  // By the hash's upper bits; 0: free.
    int64_t  count;
    uint32_t level;
    int64_t  rows, fresh;      // Of late: rows that are in the sample, and those with a new key.
};

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
    groups->count_max = room_of(slots);
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
    // Other processes read states, too.
    int64_t first = sb_memory_shares(memory) ? 0 : STATE_BLOCK_BYTES;
    if (!sb_rows_init(&groups->state->rows, memory, entry_bytes) &&
        !sb_scratch_open(&groups->state->call, first) && open_slots(groups, SLOTS_MIN)) {
        sb_scratch_share(&groups->state->call, memory);
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

static bool only_adds(const SbGroups *groups) { return groups->state->unused; }

static void end_adding(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    sb_memory_free(memory_of(groups), state->sample, sizeof *state->sample);
    state->sample = nullptr;
    state->unused = nullptr;
}

// The slots are there again, as they were.
static void look_again(SbGroups *groups) {
    groups->slots = groups->state->unused;
    groups->mask = (uint64_t)groups->state->slot_bytes / sizeof *groups->slots - 1;
    end_adding(groups);
}

void sb_groups_seal(SbGroups *groups) {
    groups->state->counted = only_adds(groups);
    if (only_adds(groups)) look_again(groups);
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

// Puts every entry into new slots: entries lie side by side in their blocks, so that this reads
// memory in order and waits for the slots alone.
static void put_all(SbGroups *groups) {
    enum { AHEAD = 16 };
    RowSpan span = {0};
    while (sb_rows_next_span(&groups->state->rows, &span)) {
        for (int64_t i = 0; i < span.count; i++) {
            if (i + AHEAD < span.count)
                __builtin_prefetch(&groups->slots[span_entry(&span, i + AHEAD)->hash &
                                                  groups->mask], 1);
            if (!sb_group_is_merged(span_entry(&span, i))) put(groups, span_entry(&span, i));
        }
    }
}

// Doubles the slots (fourfold while small), for at least so many entries.
static bool grow(SbGroups *groups, int64_t entries) {
    struct SbGroupsState *state = groups->state;
    SbGroups before = *groups;
    uint64_t *old = only_adds(groups) ? state->unused : groups->slots;
    int64_t bytes = state->slot_bytes, slots = bytes / (int64_t)sizeof *old;
    do slots *= slots < 65536 ? 4 : 2;
    while (room_of(slots) < entries);
    if (!open_slots(groups, slots)) {
        *groups = before;
        return false;
    }
    sb_memory_free(memory_of(groups), old, bytes);
    end_adding(groups);
    drop_list(groups);
    put_all(groups);
    return true;
}

// ---- tables that only add -----------------------------------------------------------------------

enum { SAMPLE_SHIFT = 51, SAMPLE_LEVEL_SHIFT = 18 };

static bool samples(const struct SbGroupsSample *sample, uint64_t hash) {
    uint64_t level = (UINT64_C(1) << sample->level) - 1;
    return hash && !(hash >> SAMPLE_LEVEL_SHIFT & level);
}

// True: it was not there.
static bool sample_hash(struct SbGroupsSample *sample, uint64_t hash) {
    uint64_t at = hash >> SAMPLE_SHIFT;
    while (sample->hashes[at] && sample->hashes[at] != hash) at = (at + 1) % SAMPLE_SLOTS;
    bool fresh = !sample->hashes[at];
    sample->hashes[at] = hash;
    sample->count += fresh;
    return fresh;
}

// Half as many hashes stay.
[[gnu::noinline]] static void thin_out(struct SbGroupsSample *sample) {
    uint64_t hashes[SAMPLE_SLOTS];
    memcpy(hashes, sample->hashes, sizeof hashes);
    memset(sample->hashes, 0, sizeof hashes);
    sample->count = 0;
    sample->level++;
    for (int64_t i = 0; i < SAMPLE_SLOTS; i++)
        if (samples(sample, hashes[i])) sample_hash(sample, hashes[i]);
}

// An entry whose key nobody looked for.
static void note_added(struct SbGroupsState *state, uint64_t hash) {
    state->counts[sb_groups_radix(hash)]++;
    struct SbGroupsSample *sample = state->sample;
    if (!samples(sample, hash)) return;
    sample->rows++;
    sample->fresh += sample_hash(sample, hash);
    if (sample->count > SAMPLE_SLOTS / 2) thin_out(sample);
}

// Do nearly all rows make groups? States that own memory would own it twice. Other processes take
// over tables whose keys have one entry each.
static bool pays_to_add(const SbGroups *groups) {
    enum { SLOTS_FEW = 1 << 17, NEARLY_ALL = 7, OF = 8, MOST = 6, ROWS_FEW = 64 };
    const struct SbGroupsState *state = groups->state;
    if (sb_memory_shares(memory_of(groups)) || sb_scratch_charged(&state->call) > 0) return false;
    const struct SbGroupsSample *sample = state->sample;
    if (only_adds(groups))
        return sample->rows < ROWS_FEW || sample->fresh * OF >= sample->rows * MOST;
    return groups->mask >= SLOTS_FEW - 1 && state->looked > 0 &&
           (groups->count - state->opened) * OF >= state->looked * NEARLY_ALL;
}

// From now on the table only adds. False: over the limit.
static bool begin_to_add(SbGroups *groups) {
    struct SbGroupsState *state = groups->state;
    state->sample = sb_memory_pages(memory_of(groups), sizeof *state->sample);
    if (!state->sample) return false;
    memset(state->counts, 0, sizeof state->counts);
    RowSpan span = {0};
    while (sb_rows_next_span(&state->rows, &span))
        for (int64_t i = 0; i < span.count; i++) note_added(state, span_entry(&span, i)->hash);
    state->unused = groups->slots;
    state->none = 0;
    groups->slots = &state->none;
    groups->mask = 0;
    state->repeats = true;
    return true;
}

// Goes on adding for a while. Charges what a list of all entries takes: no slots have room for it.
// False: over the limit, and nothing has changed.
static bool add_on(SbGroups *groups) {
    enum : int64_t { ROWS_MIN = 1 << 16, SHARE = 4 };
    struct SbGroupsState *state = groups->state;
    SbMemory *memory = memory_of(groups);
    int64_t share = groups->count / SHARE;
    int64_t most = groups->count + (share > ROWS_MIN ? share : ROWS_MIN);
    int64_t list = most * (int64_t)sizeof *state->list, more = list - state->list_bytes;
    if (more > 0 && !sb_memory_charge(memory, more)) return false;
    if (!only_adds(groups) && !begin_to_add(groups)) {
        sb_memory_release(memory, more);
        return false;
    }
    if (more > 0) state->list_bytes = list;
    state->sample->rows = state->sample->fresh = 0;
    groups->count_max = most;
    return true;
}

bool sb_groups_reserve(SbGroups *groups) {
    if (groups->count < groups->count_max || (pays_to_add(groups) && add_on(groups))) return true;
    // Many more rows are likely to make groups, where most did so far.
    return (only_adds(groups) && grow(groups, 2 * groups->count)) ||
           grow(groups, groups->count + 1);
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
    if (only_adds(groups)) look_again(groups);
    memset(groups->slots, 0, (size_t)state->slot_bytes);
    sb_rows_clear(&state->rows);
    sb_scratch_rewind(&state->call);
    drop_list(groups);
    groups->count = 0;
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
    if (groups->mask) put(groups, entry);
    else note_added(groups->state, hash);
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
    int64_t   text;            // Offset of a key that may be a long text; -1: there is none.
    _Atomic int32_t status;    // The first fault.
} Merge;

static uint32_t radix_of(const Merge *merge, const SbEntry *entry) {
    return sb_groups_radix(entry->hash) & ((1u << merge->radix_bits) - 1);
}

static void count_radixes(const Merge *merge, const struct SbGroupsState *state, int64_t *counts) {
    uint32_t mask = (1u << merge->radix_bits) - 1;
    for (uint32_t r = 0; state->counted && r < SB_GROUPS_RADIXES; r++)
        counts[r & mask] += state->counts[r];
    RowSpan span = {0};
    while (!state->counted && sb_rows_next_span(&state->rows, &span))
        for (int64_t i = 0; i < span.count; i++) counts[radix_of(merge, span_entry(&span, i))]++;
}

// Lists the entries of one part by radix.
static void share_out(void *arg, uint32_t part, uint32_t thread) {
    (void)thread;
    Merge *merge = arg;
    int64_t counts[SB_GROUPS_RADIXES] = {0};
    int64_t *begins = merge->begins + ((size_t)part << merge->radix_bits);
    const SbRows *rows = &merge->of->parts[part]->state->rows;
    count_radixes(merge, merge->of->parts[part]->state, counts);
    RowSpan span = {0};
    int64_t at = begins[0];
    for (uint32_t r = 0; r < 1u << merge->radix_bits; r++) {
        begins[r] = at;
        at += counts[r];
        counts[r] = begins[r];
    }
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

// The first text among the keys of an entry; -1: there is none, or all are short.
static int64_t key_text(const SbGroupsMerge *of) {
    bool any = false;
    for (uint32_t i = 0; i < of->part_count; i++) {
        const struct SbRowsState *rows = of->parts[i]->state->rows.state;
        any |= rows->texts.bytes > 0 || rows->entries.bytes == 0;  // Of rows that others own.
    }
    for (uint32_t i = 0; any && i < of->what->held_count; i++)
        if (of->what->held[i].hold == sb_held_key) return of->what->held[i].offset;
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

// Entries lie anywhere, and so do long texts. Those that will be compared are asked for before: the
// entries of a block one block ahead, and then their texts.
enum { MERGE_BLOCK = 32 };

typedef struct Likely {
    int64_t  count;
    uint64_t mine[MERGE_BLOCK], others[MERGE_BLOCK];  // As slots hold them.
} Likely;

static bool same_tag(uint64_t a, uint64_t b) { return a && !((a ^ b) & ~SB_SLOT_ADDRESS); }

// Of most keys one of the first two slots has the entry that is compared. No branch: whether there
// is one would be guessed wrong.
static void ask_likely(const Merge *merge, const SbGroups *into, int64_t begin, int64_t end,
                       Likely *likely) {
    likely->count = 0;
    for (int64_t i = begin; i < end; i++) {
        uint64_t slot = merge->lists[i], at = low_bits(merge, i);
        uint64_t first = into->slots[at & into->mask], next = into->slots[(at + 1) & into->mask];
        bool same = same_tag(first, slot);
        likely->mine[likely->count] = slot;
        likely->others[likely->count] = same ? first : next;
        likely->count += same | same_tag(next, slot);
    }
    for (int64_t i = 0; i < likely->count; i++) {
        ask_entry(sb_slot_entry(likely->mine[i]));
        ask_entry(sb_slot_entry(likely->others[i]));
    }
}

static void ask_texts(const Likely *likely, int64_t text) {
    for (int64_t i = 0; i < likely->count; i++) {
        ask_text(sb_slot_entry(likely->mine[i]), text);
        ask_text(sb_slot_entry(likely->others[i]), text);
    }
}

// Returns how many were compared; -1: merge->status is set.
static int64_t merge_block(Merge *merge, SbCall *call, SbGroups *into, int64_t begin,
                           int64_t end) {
    int64_t compared = 0;
    for (int64_t i = begin; i < end; i++) {
        uint64_t *slot = slot_for(merge, into, i);
        if (!*slot) {
            *slot = merge->lists[i];
            continue;
        }
        compared++;
        int32_t status = merge->of->what->merge(call, into, sb_slot_entry(merge->lists[i]));
        if (status) return merge->status = status, -1;
    }
    return compared;
}

static bool merge_list(Merge *merge, SbCall *call, SbGroups *into, int64_t begin, int64_t end) {
    enum { FEW = 32 };  // Of so many one is compared: asking costs more than waiting for that one.
    int64_t compared = 0, at = begin;
    Likely blocks[2] = {0}, *now = &blocks[0], *next = &blocks[1];
    while (at < end) {
        int64_t stop = at + MERGE_BLOCK < end ? at + MERGE_BLOCK : end;
        int64_t after = stop + MERGE_BLOCK < end ? stop + MERGE_BLOCK : end;
        next->count = 0;
        if (compared * FEW >= at - begin) ask_likely(merge, into, stop, after, next);
        if (merge->text >= 0) ask_texts(now, merge->text);
        int64_t more = merge_block(merge, call, into, at, stop);
        if (more < 0) return false;
        compared += more;
        at = stop;
        Likely *done = now;
        now = next;
        next = done;
    }
    return true;
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
    if (!clear_table(merge, table, total)) {
        merge->status = SB_FAULT_TOO_LARGE;
        return;
    }
    for (uint32_t part = 0; part < parts; part++) {
        const int64_t *begin = &merge->begins[(size_t)part << merge->radix_bits | radix];
        if (!merge_list(merge, sb_groups_call(merge->of->parts[thread]), &table->groups, begin[0],
                        begin[1]))
            return;
    }
}

int32_t sb_groups_merge(const SbGroupsMerge *of, SbParallel *parallel) {
    enum { TABLE_ENTRIES = 1 << 14 };  // Its slots fit a core's cache.
    Merge merge = {.of = of, .parallel = parallel, .lists = (uint64_t *)(void *)of->lists,
                   .text = key_text(of)};
    int64_t total = 0;
    for (uint32_t i = 0; i < of->part_count; i++) total += of->parts[i]->count;
    int64_t low_bytes = total * (int64_t)sizeof *merge.lows;
    merge.lows = sb_memory_pages(of->memory, low_bytes);
    while (total >> merge.radix_bits > TABLE_ENTRIES && merge.radix_bits < SB_GROUPS_RADIX_BITS)
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
