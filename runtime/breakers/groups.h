// Groups: the hash table of one thread's groups, and how tables of threads become one.
#ifndef SBC_RUNTIME_GROUPS_H
#define SBC_RUNTIME_GROUPS_H

#include "runtime/breakers/breaker.h"
#include "runtime/rows.h"

// Where a table goes when the memory grows short.
typedef struct GroupsRelief {
    // Writes all groups elsewhere; the slots may be used for a list of as many entries. False: that
    // failed. They are let go then.
    bool  (*write)(struct GroupsRelief *self, SbGroups *groups);
    int64_t bytes_min;  // Fewer are not worth it, unless nothing else helps.
    uint32_t threads;   // Threads that have a table.
} GroupsRelief;

enum { SB_GROUPS_RADIX_BITS = 10, SB_GROUPS_RADIXES = 1 << SB_GROUPS_RADIX_BITS };

// Bits that neither the slots of a table nor their tags use.
static inline uint32_t sb_groups_radix(uint64_t hash) {
    return (uint32_t)(hash >> 36) & (SB_GROUPS_RADIXES - 1);
}

struct SbGroupsState {
    SbCall  call;       // Memory of aggregate states; first, as SbGroups says.
    SbRows  rows;       // The entries in the order of insertion, and their long texts.
    int64_t slot_bytes; // Charged for the slots.
    GroupsRelief *relief;  // nullptr: all groups stay.
    // Of a table whose rows nearly all have keys of their own (sb_groups_reserve).
    int64_t looked;     // Rows of batches since the slots were opened.
    int64_t opened;     // Entries when they were opened.
    uint64_t *unused;   // The slots of a table that only adds; nullptr: rows look for their keys.
    uint64_t none;      // Stands for them: generated code finds no key, and comes to insert it.
    struct SbGroupsSample *sample;   // Of its rows.
    uint32_t counts[SB_GROUPS_RADIXES];  // Its entries by the radix of their hashes.
    bool    counted;    // `counts` are those of a sealed table.
    int64_t list_bytes; // Charged for `list`.
    const SbEntry **list;  // Made by sb_groups_list.
    bool    repeats;    // A key may have several entries.
};

// Nonzero: over the limit; nothing is kept.
int32_t sb_groups_open(SbGroups *groups, int64_t entry_bytes, SbMemory *memory);
void    sb_groups_close(SbGroups *groups);

static_assert(offsetof(struct SbGroupsState, call) == 0, "generated code relies on it");
static inline SbCall *sb_groups_call(SbGroups *groups) { return &groups->state->call; }

int64_t sb_groups_bytes(const SbGroups *groups);
// Of these what sb_groups_seal gives back.
int64_t sb_groups_look_bytes(const SbGroups *groups);

// Room for one more group. False: over the limit.
// Where nearly all rows of late made groups of their own, the table only adds: no row looks for its
// key any more. A key that comes once more gets a second entry, which sb_groups_merge finds. A
// sample by hashes tells how many rows have new keys, among all that came. Where they are less than
// three of four, rows look again.
bool sb_groups_reserve(SbGroups *groups);
// Room for a list of all entries. The slots mean nothing afterwards. nullptr: no memory.
const SbEntry **sb_groups_list(SbGroups *groups);

// Writes all groups and lets them go; between rows only. True where there are none.
bool sb_groups_relieve(SbGroups *groups);
// The same if the memory is short. False: what was to be written could not be.
bool sb_groups_relieve_if_short(SbGroups *groups);

// Lets all groups go.
void sb_groups_clear(SbGroups *groups);

// Gives the slots back: no group is looked for any more.
void sb_groups_seal(SbGroups *groups);

// An entry whose group went on in an entry of an earlier row.
static inline bool sb_group_is_merged(const SbEntry *entry) { return entry->order == UINT64_MAX; }

typedef struct SbGroupsMerge {
    const SbBreaker *what;
    SbMemory  *memory;
    SbGroups **parts;         // Of threads and lanes; sealed.
    uint32_t   part_count;    // No less than there are threads.
    const SbEntry **lists;    // Room for all entries; means nothing afterwards.
} SbGroupsMerge;

// Leaves of all entries of one key that of the earliest row, with what the others counted. The keys
// are shared out by radix of their hashes, so that each is one thread's and each table stays
// small. A status: SB_FAULT_TOO_LARGE or a fault of an aggregate.
int32_t sb_groups_merge(const SbGroupsMerge *merge, SbParallel *parallel);

#endif
