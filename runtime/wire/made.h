// Made: what a worker has made of an ask: a partition in its arena, or why there is none.
#ifndef SBC_RUNTIME_WIRE_MADE_H
#define SBC_RUNTIME_WIRE_MADE_H

#include "runtime/memory.h"
#include "runtime/task.h"
#include "runtime/wire/ask.h"

// Memory of an arena that belongs to what was made.
typedef struct WireBlock {
    void   *at;
    int64_t bytes;   // Charged to the account of the worker.
} WireBlock;

typedef struct WireBlocks {
    WireBlock *items;   // From malloc.
    uint32_t   count, room;
    bool       failed;  // There was no memory for one.
} WireBlocks;

// An SbBlockFn whose argument is a WireBlocks.
void wire_add_block(void *blocks, void *at, int64_t bytes);
void wire_put_blocks(Text *text, const WireBlocks *blocks);
// False: these bytes are no such message, or there is no memory.
bool wire_get_blocks(Unpack *from, WireBlocks *blocks);
void wire_close_blocks(WireBlocks *blocks);

typedef enum MadeKind : uint8_t {
    MADE_PARTITION,
    MADE_ASKS,      // The unit's text takes more memory than asks_from: `asks`.
    MADE_GIVES_WAY, // A unit before this one is to come first.
    MADE_BACK,      // No memory for the rows: the task is back where the partition began.
    MADE_CORRUPT,   // What it was to read is not what was made.
    MADE_TROUBLE,   // The job ends.
} MadeKind;

typedef struct Made {
    uint32_t task;
    MadeKind kind;
    bool     prepared;  // `unit` says what the rows are.
    Unit     unit;      // Numbers only.
    int64_t  asks;
    int64_t  buffer;    // Bytes of the task's buffer of text.
    int64_t  busy;      // Nanoseconds that the task computed.
    int64_t  memory;    // Bytes that the worker holds.
} Made;

// The rows for one terminal, where they lie.
typedef struct MadeRows {
    const SbEntry *const *entries;  // Of an edge.
    int64_t count, bytes, used;
    char   *begin;                  // Of a sink.
    int64_t len;
    RowSum  sum;
} MadeRows;

// The head of the answer. After it comes, of a partition, what wire_put_partition puts. Of trouble,
// what wire_put_trouble puts.
void wire_put_made(Text *text, const Made *made);
bool wire_get_made(Unpack *from, Made *made);

void wire_put_trouble(Text *text, const Trouble *trouble);
bool wire_get_trouble(Unpack *from, Trouble *trouble);

// All that the partition says of the rows that it judged, and where the rows for each terminal lie.
// Gives up the memory of what it hands over: from now on the message owns these blocks, which are
// added to `blocks`.
void wire_put_partition(Text *text, Partition *partition, const TaskSetup *setup,
                        WireBlocks *blocks);
// Fills in a partition that was reset; `rows` by terminal, and the blocks in which they lie. False:
// these bytes are no such message, or there is no memory.
bool wire_get_partition(Unpack *from, Partition *partition, const TaskSetup *setup, MadeRows *rows,
                        WireBlocks *blocks);
// Do the blocks lie in the arena, and all that `rows` speaks of in the blocks? One for each
// terminal.
bool wire_check(const ArenaSpace *space, uint32_t arena, const WireBlocks *blocks,
                const MadeRows *rows, uint32_t terminals);

// Do these bytes lie in one of the blocks?
bool wire_is_in_blocks(const WireBlocks *blocks, const void *at, int64_t len);

#endif
