// Text on its way in and out: indexed blocks of input rows, and bytes for a sink.
//
// Used by the scanners and writers of the standard library, by generated code and by tasks.
#ifndef SBC_RUNTIME_ABI_TEXT_H
#define SBC_RUNTIME_ABI_TEXT_H

#include "runtime/abi/value.h"

// Bytes of one unit on their way to a text sink.
typedef struct SbOut {
    char   *at, *end;   // Free room.
    int64_t rows;
    int64_t head;       // Of an output by key: 1 + the offset of the last SbOutHead; 0: there is
                        // none.
    struct SbOutState *state;
} SbOut;

// Among the bytes for an output by key: the rows of one key come after it and its key.
typedef struct SbOutHead {
    int64_t next;       // Offset of the next head; 0: this is the last one.
    int64_t rows;       // Rows before it.
    int64_t key_len;
} SbOutHead;

// The field ends of a block of rows; see stdlib/csv/csv.h.
typedef struct SbIndex {
    uint32_t *ends;      // Row r, field f: ends[r * field_count + f], relative to SbInput.text.
    uint32_t *starts;    // Row r begins here.
    uint32_t  ends_max, rows_max;  // Capacity.
    uint32_t  rows;      // Complete good rows found.
    int32_t   fault;     // SbStatus of the bad row that comes after the rows; SB_OK: none.
    int64_t   fault_begin, fault_end;  // Bytes of the bad row.
    int64_t   fault_lines;             // Lines that the bad row covers.
    int64_t   next;      // Where to go on.
    int64_t   lines;     // Line ends passed by this call.
    int64_t   rows_before;  // Rows of the calls before this one, bad ones too.
} SbIndex;

// What a scanner does first: the block before this one is done.
static inline void sb_index_next(SbIndex *index) {
    index->rows_before += (int64_t)index->rows + (index->fault != SB_OK);
    index->rows = 0;
    index->fault = SB_OK;
    index->fault_begin = index->fault_end = index->fault_lines = 0;
    index->lines = 0;
}

#endif
