// Sort parts: how the keys of a sort are shared out to words of 64 bits, to texts and to a
// comparison. The functions (emit_breaker.c) and the table of them (emit_data.c) agree by this.
#ifndef SBC_CODEGEN_EMIT_SORT_H
#define SBC_CODEGEN_EMIT_SORT_H

#include "ir/plan.h"
#include "runtime/abi/program.h"

enum { SORT_GROUP_BITS = 128 };

#define SORT_PART_NAME "part%u"

// Keys that stand side by side in 128 bits.
typedef struct SortGroup {
    uint32_t first, end;
    bool     past_null;  // What tells the nulls of `first` apart stood in the group before.
    bool     cut;        // The last key is not there as a whole.
    uint32_t used;       // Bits; of a text as many as there are.
    uint32_t known;      // Bytes of the text that is its last key.
} SortGroup;

// A SbSortPart.
typedef struct SortPart {
    SbSortPartKind kind;
    SortGroup group;   // BITS
    uint32_t  shift;   // BITS: of the group's bits, as emit_group_bits takes it.
    uint32_t  key;     // TEXT
    uint32_t  known;   // TEXT
} SortPart;

typedef struct SortParts {
    SortGroup prefix;    // SbBreaker.prefix and prefix_more
    uint32_t  decided;   // As many keys does the prefix decide alone.
    SortPart *items;
    uint32_t  count;
} SortParts;

// How many bits a key takes in a group if there is room; the whole value but for texts.
uint32_t sort_key_bits(const Type *base);
SortParts sort_parts(Arena *arena, const Breaker *breaker);

#endif
