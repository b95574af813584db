#include "runtime/breaker.h"

#include "runtime/groups.h"
#include "runtime/rows.h"
#include "runtime/sort.h"

#include <stdlib.h>
#include <string.h>

enum { RADIX_BITS = 6, RADIXES = 1 << RADIX_BITS, SERIAL_GROUPS_MAX = 1 << 15 };

typedef union Part {
    SbGroups groups;
    SbRows   rows;
} Part;

struct SbBreakerState {
    const SbBreaker *what;
    SbMemory *memory;
    uint32_t  threads;
    Part     *parts;          // One a thread.
    SbGroups *merged;         // GROUP: RADIXES tables when the parts were merged in parallel.
    const SbEntry **entries;  // After finish.
    int64_t   count;
    int64_t   charged;        // Entries, slots.
    int64_t   rows_in;
    SbTable   table;
    _Atomic int32_t status;   // The first fault of a parallel step.
};

static bool is_group(const SbBreakerState *breaker) {
    return breaker->what->kind == SB_BREAK_GROUP;
}

static void *charged_alloc(SbBreakerState *breaker, int64_t count, size_t size) {
    int64_t bytes = count * (int64_t)size;
    if (!sb_memory_charge(breaker->memory, bytes)) return nullptr;
    void *memory = sb_memory_pages(bytes);
    if (!memory) {
        sb_memory_release(breaker->memory, bytes);
        return nullptr;
    }
    breaker->charged += bytes;
    return memory;
}

SbBreakerState *sb_breaker_open(const SbBreaker *what, uint32_t threads, SbMemory *memory) {
    SbBreakerState *breaker = calloc(1, sizeof *breaker);
    if (!breaker) return nullptr;
    *breaker = (SbBreakerState){.what = what, .memory = memory, .threads = threads};
    breaker->parts = calloc(threads, sizeof *breaker->parts);
    int32_t status = breaker->parts ? SB_OK : SB_FAULT_TOO_LARGE;
    for (uint32_t i = 0; i < threads && !status; i++)
        status = is_group(breaker)
                     ? sb_groups_open(&breaker->parts[i].groups, what->entry_bytes, memory)
                     : sb_rows_init(&breaker->parts[i].rows, memory, what->entry_bytes);
    if (status) {
        sb_breaker_close(breaker);
        return nullptr;
    }
    return breaker;
}

void sb_breaker_close(SbBreakerState *breaker) {
    if (!breaker) return;
    for (uint32_t i = 0; breaker->parts && i < breaker->threads; i++) {
        if (is_group(breaker)) sb_groups_close(&breaker->parts[i].groups);
        else sb_rows_fini(&breaker->parts[i].rows);
    }
    for (uint32_t i = 0; breaker->merged && i < RADIXES; i++) sb_groups_close(&breaker->merged[i]);
    sb_memory_release(breaker->memory, breaker->charged);
    free(breaker->merged);
    free(breaker->parts);
    free(breaker->entries);
    free((void *)(uintptr_t)breaker->table.slots);
    free(breaker);
}

void *sb_breaker_part(SbBreakerState *breaker, uint32_t thread) { return &breaker->parts[thread]; }

// ---- groups ------------------------------------------------------------------------------------

typedef struct Merge {
    SbBreakerState *breaker;
    SbEntry      ***buckets;  // [thread * RADIXES + radix]: entries of that radix.
    int64_t        *counts;   // Likewise.
} Merge;

static uint32_t radix_of(const SbEntry *entry) {
    return (uint32_t)(entry->hash >> 24) & (RADIXES - 1);
}

// Sorts the entries of one thread's table into buckets, in place of their list.
static void bucket_part(void *arg, uint32_t part, uint32_t thread) {
    (void)thread;
    Merge *merge = arg;
    SbGroups *groups = &merge->breaker->parts[part].groups;
    SbEntry **entries = groups->state->entries;
    int64_t *counts = merge->counts + (size_t)part * RADIXES, at[RADIXES], sum = 0;
    for (int64_t i = 0; i < groups->count; i++) counts[radix_of(entries[i])]++;
    SbEntry **sorted = malloc((size_t)(groups->count + 1) * sizeof *sorted);
    if (!sorted) {
        merge->breaker->status = SB_FAULT_TOO_LARGE;
        return;
    }
    for (int r = 0; r < RADIXES; r++) {
        at[r] = sum;
        merge->buckets[(size_t)part * RADIXES + (size_t)r] = entries + sum;
        sum += counts[r];
    }
    for (int64_t i = 0; i < groups->count; i++) sorted[at[radix_of(entries[i])]++] = entries[i];
    memcpy(entries, sorted, (size_t)groups->count * sizeof *sorted);
    free(sorted);
}

static void merge_radix(void *arg, uint32_t radix, uint32_t thread) {
    (void)thread;
    Merge *merge = arg;
    SbBreakerState *breaker = merge->breaker;
    SbGroups *into = &breaker->merged[radix];
    int32_t status = sb_groups_open(into, breaker->what->entry_bytes, breaker->memory);
    for (uint32_t part = 0; part < breaker->threads && !status; part++) {
        SbEntry **bucket = merge->buckets[(size_t)part * RADIXES + radix];
        int64_t count = merge->counts[(size_t)part * RADIXES + radix];
        for (int64_t i = 0; i < count && !status; i++)
            status = breaker->what->merge(sb_groups_call(into), into, bucket[i]);
    }
    if (status) breaker->status = status;
}

static int32_t merge_parallel(SbBreakerState *breaker, SbParallel *parallel) {
    size_t cells = (size_t)breaker->threads * RADIXES;
    Merge merge = {breaker, calloc(cells, sizeof *merge.buckets),
                   calloc(cells, sizeof *merge.counts)};
    breaker->merged = calloc(RADIXES, sizeof *breaker->merged);
    if (!merge.buckets || !merge.counts || !breaker->merged) breaker->status = SB_FAULT_TOO_LARGE;
    if (!breaker->status) parallel->each(parallel, breaker->threads, bucket_part, &merge);
    if (!breaker->status) parallel->each(parallel, RADIXES, merge_radix, &merge);
    free(merge.buckets);
    free(merge.counts);
    return breaker->status;
}

static int32_t merge_serial(SbBreakerState *breaker) {
    SbGroups *into = &breaker->parts[0].groups;
    int32_t status = SB_OK;
    for (uint32_t part = 1; part < breaker->threads && !status; part++) {
        SbGroups *from = &breaker->parts[part].groups;
        for (int64_t i = 0; i < from->count && !status; i++)
            status = breaker->what->merge(sb_groups_call(into), into, from->state->entries[i]);
        from->count = 0;
    }
    return status;
}

// The one group of an aggregation without keys exists even when no row came.
static int32_t ensure_one(SbBreakerState *breaker) {
    SbGroups *first = &breaker->parts[0].groups;
    if (breaker->what->has_keys || first->count) return SB_OK;
    return sb_groups_insert(nullptr, first, 0, 0) ? SB_OK : SB_FAULT_TOO_LARGE;
}

static int32_t finish_groups(SbBreakerState *breaker, SbParallel *parallel) {
    int64_t total = 0;
    uint32_t filled = 0;
    for (uint32_t i = 0; i < breaker->threads; i++) {
        total += breaker->parts[i].groups.count;
        filled += breaker->parts[i].groups.count > 0;
    }
    bool spread = filled > 1 && total > SERIAL_GROUPS_MAX;
    int32_t status = spread ? merge_parallel(breaker, parallel) : merge_serial(breaker);
    return status || spread ? status : ensure_one(breaker);
}

// ---- putting in order --------------------------------------------------------------------------

static int64_t count_entries(const SbBreakerState *breaker) {
    int64_t count = 0;
    if (breaker->merged) {
        for (uint32_t i = 0; i < RADIXES; i++) count += breaker->merged[i].count;
        return count;
    }
    for (uint32_t i = 0; i < breaker->threads; i++)
        count += is_group(breaker) ? breaker->parts[i].groups.count : breaker->parts[i].rows.count;
    return count;
}

static const SbEntry **list_groups(const SbGroups *groups, const SbEntry **out) {
    if (groups->count)
        memcpy(out, groups->state->entries, (size_t)groups->count * sizeof *out);
    return out + groups->count;
}

static void list_entries(const SbBreakerState *breaker, const SbEntry **out) {
    if (breaker->merged) {
        for (uint32_t i = 0; i < RADIXES; i++) out = list_groups(&breaker->merged[i], out);
        return;
    }
    for (uint32_t i = 0; i < breaker->threads; i++) {
        if (is_group(breaker)) {
            out = list_groups(&breaker->parts[i].groups, out);
        } else {
            sb_rows_list(&breaker->parts[i].rows, out);
            out += breaker->parts[i].rows.count;
        }
    }
}

static uint64_t order_of(const SbEntry *entry) { return entry->order; }

static int32_t put_in_order(SbBreakerState *breaker, SbParallel *parallel) {
    const SbBreaker *what = breaker->what;
    bool sorts = what->kind == SB_BREAK_SORT;
    const SbSortBy by = sorts ? (SbSortBy){what->prefix, what->prefix_more, what->compare}
                              : (SbSortBy){.prefix = order_of};
    breaker->count = count_entries(breaker);
    breaker->entries = charged_alloc(breaker, breaker->count, sizeof *breaker->entries);
    if (!breaker->entries) return SB_FAULT_TOO_LARGE;
    list_entries(breaker, breaker->entries);
    return sb_sort(breaker->entries, breaker->count, &by, breaker->memory, parallel);
}

// ---- join tables -------------------------------------------------------------------------------

static const SbEntry *slot_entry(uint64_t slot) {
    return (const SbEntry *)(uintptr_t)(slot & ((UINT64_C(1) << 48) - 1));
}

// Puts `entry` before the entries of its key, so that going backwards gives right order.
static void chain(SbBreakerState *breaker, uint64_t *slots, const SbEntry *entry) {
    const SbBreaker *what = breaker->what;
    uint64_t tag = entry->hash & ~((UINT64_C(1) << 48) - 1), at = entry->hash & breaker->table.mask;
    for (; slots[at]; at = (at + 1) & breaker->table.mask) {
        if ((slots[at] & ~((UINT64_C(1) << 48) - 1)) != tag) continue;
        const SbEntry *head = slot_entry(slots[at]);
        if (!what->equal(head, entry)) continue;
        memcpy((char *)(uintptr_t)entry + what->next_offset, &head, sizeof head);
        break;
    }
    slots[at] = (uint64_t)(uintptr_t)entry | tag;
}

static int32_t build_table(SbBreakerState *breaker) {
    enum { NULL_KEY = 2 };
    uint64_t slots_count = 16;
    while (slots_count < (uint64_t)breaker->count * 2) slots_count *= 2;
    uint64_t *slots = charged_alloc(breaker, (int64_t)slots_count, sizeof *slots);
    if (!slots) return SB_FAULT_TOO_LARGE;
    breaker->table = (SbTable){slots, slots_count - 1, breaker->count};
    for (int64_t i = breaker->count - 1; i >= 0; i--) {
        const SbEntry *entry = breaker->entries[i];
        if (((const char *)entry)[breaker->what->matched_offset] == NULL_KEY) continue;
        chain(breaker, slots, entry);
    }
    return SB_OK;
}

// ---- finish ------------------------------------------------------------------------------------

int32_t sb_breaker_finish(SbBreakerState *breaker, SbParallel *parallel) {
    for (uint32_t i = 0; i < breaker->threads && !is_group(breaker); i++)
        breaker->rows_in += breaker->parts[i].rows.count;
    int32_t status = is_group(breaker) ? finish_groups(breaker, parallel) : SB_OK;
    if (!status) status = put_in_order(breaker, parallel);
    if (!status && breaker->what->kind == SB_BREAK_JOIN) status = build_table(breaker);
    return status;
}

const SbEntry *const *sb_breaker_entries(const SbBreakerState *breaker, int64_t *count) {
    *count = breaker->count;
    return breaker->entries;
}

const SbTable *sb_breaker_table(const SbBreakerState *breaker) { return &breaker->table; }

int64_t sb_breaker_rows_in(const SbBreakerState *breaker) { return breaker->rows_in; }

int64_t sb_breaker_bytes(const SbBreakerState *breaker) {
    int64_t bytes = breaker->charged;
    for (uint32_t i = 0; i < breaker->threads; i++) {
        if (is_group(breaker)) {
            const struct SbGroupsState *state = breaker->parts[i].groups.state;
            bytes += state->slab.bytes + state->charged;
        } else {
            const struct SbRowsState *state = breaker->parts[i].rows.state;
            bytes += state->entries.bytes + state->texts.bytes + state->order_bytes;
        }
    }
    return bytes;
}
