// Rows: entries of one size kept in the order in which they came.
#ifndef SBC_RUNTIME_ROWS_H
#define SBC_RUNTIME_ROWS_H

#include "runtime/abi.h"
#include "runtime/slab.h"

typedef struct RowBlock {
    char   *begin;
    int64_t count;   // Entries in it once it is full.
} RowBlock;

struct SbRowsState {
    SbSlab    entries, texts;
    int64_t   entry_bytes;   // A multiple of 16.
    RowBlock *blocks;
    int64_t   block_count, blocks_max;
    const SbEntry **order;   // Made by sb_rows_entries.
    int64_t   order_bytes;   // Charged for it.
};

int32_t sb_rows_init(SbRows *rows, SbMemory *memory, int64_t entry_bytes);
void    sb_rows_fini(SbRows *rows);

// Writes the address of every entry to `out`, which has room for rows->count.
void sb_rows_list(const SbRows *rows, const SbEntry **out);

#endif
