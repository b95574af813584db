// Rows: bytes of arenas on their way to a worker of another machine and from it.
//
// Such a worker maps the arenas of the job at the same addresses, as files of its own. What it
// reads has to come there first, and what it makes has to come to the coordinator. Bytes travel as
// they lie, with their addresses, so that no row is packed.
//
//   rows that an ASK reads ─ row_ranges_add ─▶ ranges ─ row_ranges_next ─▶ ROWS ─▶ the same places
//   blocks of a partition ─ wire_put_block ─▶ BLOCK ─▶ the same places
//
// A row is found by what its plan says that it points to (SbBreaker.held), as when it goes to disk.
#ifndef SBC_RUNTIME_WIRE_ROWS_H
#define SBC_RUNTIME_WIRE_ROWS_H

#include "runtime/memory.h"
#include "runtime/wire/made.h"

// Bytes side by side.
typedef struct RowRange {
    char   *at;
    int64_t bytes;
} RowRange;

typedef struct RowRanges {
    RowRange *items;      // From malloc.
    uint32_t  count, room;
    uint32_t  recent[2];  // Those that grew last: entries, and what they point to.
    bool      failed;     // There was no memory for one.
    const ArenaSpace *space;  // All that rows point to lies there; nullptr: it is not looked at.
    int64_t   most;       // Where it is: bytes that one of them may point to.
    bool      astray;     // Some row points elsewhere, or to more. The others are not looked at.
} RowRanges;

enum : int64_t { ROW_FRAME_BYTES = 1 << 20 };  // Of one message, about.

// What may wait to be sent by a worker of another machine whose account has so many bytes.
static inline int64_t wire_queue_room(int64_t memory) {
    enum : int64_t { SHARE = 16, MOST = 32 << 20, LEAST = 1 << 20 };
    int64_t room = memory / SHARE;
    return room < LEAST ? LEAST : room > MOST ? MOST : room;
}

void row_ranges_add(RowRanges *ranges, const void *at, int64_t bytes);
// A list of rows, with all that they point to.
void row_ranges_add_rows(RowRanges *ranges, const SbBreaker *what, const SbEntry *const *entries,
                         int64_t count);
// Orders them, and makes one of those that touch.
void row_ranges_sort(RowRanges *ranges);
void row_ranges_close(RowRanges *ranges);
// Bytes of memory that ranges in order take, whose pages have nothing else.
int64_t row_pages(const RowRange *ranges, uint32_t count);

// The next message: the task that they are for, and bytes from `*range` and `*done` on, which move
// on. False: there are none left.
bool row_ranges_next(const RowRanges *ranges, uint32_t *range, int64_t *done, uint32_t task,
                     Text *text);

// In place of a task: the rows are the table of a join, which stays until its LEAVE.
static inline uint32_t wire_table_task(uint32_t breaker) { return UINT32_MAX - breaker; }

// What a ROWS says: `count` pieces, whose addresses and bytes follow.
typedef struct RowsHead {
    uint32_t task, count;
} RowsHead;
bool wire_get_rows(Unpack *from, RowsHead *head);
// The next piece; its bytes lie in the message. False: these bytes are no such message.
bool wire_get_piece(Unpack *from, RowRange *piece, const char **bytes);

// The head of a BLOCK: which block of the arena it is, and which bytes of it. They come after the
// head, as the second part of the frame.
void wire_put_block(Text *text, const WireBlock *block, const RowRange *piece);
// False: these bytes are no such message.
bool wire_get_block(Unpack *from, WireBlock *block, RowRange *piece, const char **bytes);

// Bytes of a file of the spill folder.
typedef struct WireRun {
    uint32_t file;
    int64_t  at;     // In the file.
    SbStr    bytes;  // They lie in the message.
} WireRun;
void wire_put_run(Text *text, const WireRun *run);
bool wire_get_run(Unpack *from, WireRun *run);

#endif
