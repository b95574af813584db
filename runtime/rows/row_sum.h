// Row sum: a checksum of rows, the same wherever they lie and whoever has made them.
//
//   maker ─ row_sum ─▶ sum ─▶ whoever reads the rows ─ row_sum_holds ─▶ they are these, or corrupt
//
// It goes along what a row says: its head, its columns, the texts and lists that it points to. No
// address is in it, nor what lies between columns. Rows that go to disk and come back have the same
// sum. Rows that are made again have the same `sum`, but may have other `numbers`.
//
// Who reads rows of another process follows no address before it is known that it leads into an
// arena. So rows that are corrupt never crash their reader.
#ifndef SBC_RUNTIME_ROW_SUM_H
#define SBC_RUNTIME_ROW_SUM_H

#include "runtime/abi/kept.h"
#include "runtime/abi/program.h"
#include "runtime/memory.h"

// What rows of an edge say, and where: see row_sum.c.
typedef struct RowPart RowPart;
typedef struct RowWord RowWord;
typedef struct RowForm {
    RowWord *words;         // From malloc: of what lies in the entry itself.
    RowPart *parts;         // From malloc: the rest.
    uint32_t word_count, count;
    int64_t  entry_bytes;
    int64_t  fixed;         // Bytes of options that a row may say.
} RowForm;

typedef struct RowSum {
    uint64_t sum;
    uint64_t numbers;       // Of numbers that differ where rows are made again: which row of its
                            // task it is, and its line, if that is known.
    int64_t  bytes;         // That the first is of, and those of lists whose items point further.
                            // So nothing that a row points to takes more.
} RowSum;

// False: no memory.
bool row_form_open(RowForm *form, const SbBreaker *edge);
void row_form_close(RowForm *form);

RowSum row_sum(const RowForm *form, const SbEntry *const *entries, int64_t count);
// Of bytes side by side.
RowSum row_sum_bytes(const void *at, int64_t bytes);
// Are the rows those of the sum? They, what they point to, and the list itself lie in arenas of the
// space, or the answer is no.
bool row_sum_holds(RowSum sum, const RowForm *form, const ArenaSpace *space,
                   const SbEntry *const *entries, int64_t count);
static inline bool row_sum_same(RowSum a, RowSum b) {
    return a.sum == b.sum && a.numbers == b.numbers && a.bytes == b.bytes;
}

#endif
