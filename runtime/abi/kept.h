// Rows that breakers and stage borders keep: entries, keys, places, tables.
//
// Used by generated code, which fills entries, and by the rooms that keep them.
#ifndef SBC_RUNTIME_ABI_KEPT_H
#define SBC_RUNTIME_ABI_KEPT_H

#include "runtime/abi/call.h"

// Begins every row that is kept in memory; the columns follow at offsets that the plan fixed.
typedef struct SbEntry {
    uint64_t hash;   // The hash of the key. Of a window of which few rows are wanted it is that of
                     // its partition, of a row that passes an edge its origin (SbTask). Of a row of
                     // `files` it is the bytes of the file; else 0.
    uint64_t order;  // Order key of the row (of a group: its first row). A step may be several
                     // stages: edges between them pass on the key of the first edge.
} SbEntry;

// A str that is a hash key, inside an entry. len <= 16: the bytes, zero-padded. Longer: bytes
// 0..7 of the text in `head`, and a counted copy at `ptr`.
typedef struct SbKeyStr {
    int64_t len;
    union {
        char bytes[16];
        struct { uint64_t head; const char *ptr; } far;
    };
} SbKeyStr;

enum { SB_KEY_INLINE = 16 };

// Where a kept row was read. Of a row of `range` or of an inline table the offset is its number.
typedef struct SbPlace {
    SbStr    raw;            // Its len is that of the whole row; at ptr stand at most SB_PLACE_RAW
                             // bytes.
    int64_t  offset, line;   // The line counts from 1; 0: none.
    int64_t  row;            // The number of the row in the source, from 0, where a share limits
                             // the rejects. Of a row of `files` the bytes of the file.
    uint32_t source, file;
} SbPlace;

enum { SB_PLACE_RAW = 64 * 1024 + 4 };

// Hash table of groups of one thread. A slot holds the entry's address in its low 48 bits and the
// top 16 bits of the entry's hash above; 0 is empty. Linear probing from hash & mask.
typedef struct SbGroups {
    uint64_t *slots;
    uint64_t  mask;
    int64_t   count;     // Entries.
    int64_t   count_max; // More entries make the table grow.
    struct SbGroupsState *state;  // Begins with the SbCall whose memory lives as long as the table,
                                  // for aggregate states. The rest is the runtime's.
} SbGroups;

enum { SB_BATCH_ROWS = 64 };   // Rows that wait in a stage for their groups, at most.
enum : uint64_t { SB_SLOT_ADDRESS = (UINT64_C(1) << 48) - 1 };

static inline uint64_t sb_slot(const SbEntry *entry) {
    return (uint64_t)(uintptr_t)entry | (entry->hash & ~SB_SLOT_ADDRESS);
}

static inline SbEntry *sb_slot_entry(uint64_t slot) {
    return (SbEntry *)(uintptr_t)(slot & SB_SLOT_ADDRESS);
}

// Which hashes of keys the left rows of a join look up: a blocked Bloom filter whose blocks are
// words (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007). The word
// of a hash is found by the hash's upper half. It has the bits that sb_filter_bits says.
typedef struct SbKeyFilter {
    const uint64_t *words;
    uint64_t        count;   // Of words, below 2^32.
} SbKeyFilter;

enum { SB_FILTER_BITS = 4, SB_FILTER_SHIFT = 6 };

static inline uint64_t sb_filter_word(const SbKeyFilter *filter, uint64_t hash) {
    return (hash >> 32) * filter->count >> 32;
}

static inline uint64_t sb_filter_bits(uint64_t hash) {
    uint64_t bits = 0;
    for (int i = 0; i < SB_FILTER_BITS; i++)
        bits |= UINT64_C(1) << (hash >> i * SB_FILTER_SHIFT & 63);
    return bits;
}

// Rows that a sort, a join's build side or a stage border keeps.
typedef struct SbRows {
    char   *at, *end;    // Room for entries in the current block.
    int64_t count;
    struct SbRowsState *state;
    const SbKeyFilter  *filter;  // Of a join's build side: rows with other keys are left out.
                                 // nullptr: all are kept.
    int64_t left_out;
} SbRows;

// Something in an entry that points elsewhere: a value, a SbKeyStr, the state of an aggregate. By
// this the entry can be written down and read back. stdlib/aggregate/held.h has the functions.
typedef struct SbHolder SbHolder;
typedef void SbHeldFn(SbHolder *holder, const SbType *type, void *at);

typedef struct SbHeld {
    uint32_t      offset;  // Offset in the entry.
    const SbType *type;    // Type of the value, or of what the aggregate takes; or null.
    SbHeldFn     *hold;
} SbHeld;

// The build side of a join. Entries of equal key are chained in right order through the pointer at
// SbBreaker.next_offset. Where `span` is 0, slots are as in SbGroups. Else keys are one whole
// number and lie close together, and slot i has the entry of the key least + i. Where rows are in
// no order by the bounds of the join, sb_join_list finds those that may match in `ranges`.
typedef struct SbTable {
    const uint64_t *slots;
    uint64_t        mask;
    uint64_t        least, span;
    const struct SbJoinRanges *ranges;  // nullptr: there is no such index.
} SbTable;

// At SbBreaker.jump_offset of each entry of a chain whose rows are passed over: an entry after it,
// so that any is reached in a few jumps. `to` is the entry itself where none is known. Of a join
// with bounds SbBreaker.bound_count words follow: the greatest bits, by bound, of all entries
// between this one and `to`.
typedef struct SbJump {
    const SbEntry *to;
    uint64_t       rest;    // How many entries stand after this one, as far as they are known.
} SbJump;

// What stands after the last entry of a chain that goes on on disk, where sb_join_more finds it.
enum : uint64_t { SB_CUT = 1 };

// Records of rows that wait: a hash first.
typedef struct SbWaiting {
    int64_t record_bytes;
    int64_t text_offset;  // Offset of the SbKeyStr in entries; -1: there is none.
    int64_t len_offset;   // Offset of the length of the key's text in records.
} SbWaiting;

// Records of rows that wait: where a function with the trait `each` finds their texts and puts its
// results. The function is void SYMBOL_each(char *records, int64_t count, const SbEach *each).
typedef struct SbEach {
    int64_t record_bytes;
    int64_t ptr_offset, len_offset;
    int64_t out_offset;
} SbEach;

#endif
