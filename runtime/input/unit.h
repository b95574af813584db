// Unit: the scan unit, a piece of a stage's input that one task works on.
//
//   plain text    range k of a file, [k U, (k+1) U): the rows that start in it
//   streams       the same ranges, cut by the one reader
//   rows          a run of a breaker's rows, of a range's numbers, of inline rows; of a breaker
//                 whose rows are on disk, some of them that are read back (spill_units.h)
//   edges         what is left of a batch; of a zip, of two
//   files         a few whole files
//
// In CSV with quotes the first row of range k depends on everything before it. A unit therefore
// guesses that the first line end in it ends a row, and finds its own last row. Then it waits for
// the exact start that unit k-1 hands on (the chain). A wrong guess is scanned again. Nothing is
// judged before the start is exact.
#ifndef SBC_RUNTIME_UNIT_H
#define SBC_RUNTIME_UNIT_H

#include "runtime/breakers.h"
#include "runtime/host.h"
#include "runtime/input/batch.h"
#include "runtime/input/source.h"
#include "runtime/memory.h"

#include <pthread.h>

typedef struct Unit Unit;
typedef struct SpillUnits SpillUnits;

enum { RAW_BYTES_MAX = 64 * 1024 };  // Of a reject.

// Who may find memory when there is none for a buffer.
typedef struct BufferRelief {
    bool (*find)(void *self);   // True: it is worth to ask again.
    void  *self;
} BufferRelief;

typedef struct UnitBuffer {
    const BufferRelief *relief;  // Or nullptr.
    char     *room;     // What was allocated.
    char     *ptr;      // Where the text begins in `room`.
    int64_t   cap;      // Charged, SB_SLACK included.
    int64_t   asks_from;  // For more than so many bytes it has to ask; 0: for none.
    int64_t   asks;       // It could not go on for that reason: what it needs.
    bool      gives_way;  // The same, because a unit that stands before its own has to ask.
    const int32_t *cancel;    // SbTask.cancel of who waits for the start of a unit; or nullptr.
    SbMemory *memory;
    SbEntry **entries;  // For whole files.
    int64_t   entry_cap;
} UnitBuffer;

// A row over row_max: it is the last one of its unit, and no task sees it.
typedef struct LongRow {
    bool    is;
    int64_t begin;    // Relative to the unit's text, which holds the first RAW_BYTES_MAX of it.
    int64_t length;   // Without its line end.
    int64_t lines;    // That it covers.
    bool    open;     // A quote that is never closed.
} LongRow;

struct Unit {
    uint64_t ordinal;       // Within its stage.
    uint32_t file;
    bool     first, last;   // Of its file.
    int64_t  range_begin, range_end;  // Bytes of the file, or row numbers.
    const char *text;       // Text: rows are text[begin, end).
    int64_t  begin, end;
    int64_t  offset;        // Of text[0].
    int64_t  lines;         // Before `begin` in the file; -1: not known.
    int64_t  next;          // Where the next unit's rows begin in the file.
    int64_t  next_lines;    // Lines before `next`, where `lines` are known.
    Checksum sum;           // Of a stream's text before `next`, where that is wanted.
    LongRow  long_row;
    const SbEntry *const *entries;
    const SbEntry *const *right;  // Zip: of the right side, by the same numbers.
    Slice slices[2];          // Of edges, left and right, or of rows read back from disk; held
                                  // as long as the unit. Else no batch.
};

// Where rows begin in their file, and the lines before.
typedef struct UnitsChain {
    int64_t begin, lines;
} UnitsChain;

// Where a unit lies, which was taken before: enough to find it again.
typedef struct UnitPlace {
    bool       is;
    bool       first, last;  // As Unit's, and so are the next two.
    uint32_t   file;
    int64_t    range_begin, range_end;
    UnitsChain start;        // Where its rows begin, of text that this process has read.
} UnitPlace;

// Where the first unit begins; zeros: at the start.
typedef struct UnitsStart {
    uint64_t ordinal;
    uint32_t file;
    int64_t  next;          // Byte or row; in the text of a stream, of which those before it have
    Checksum sum;           // this checksum.
    int64_t  chain_begin, chain_lines;
} UnitsStart;

typedef struct UnitsSetup {
    Source  *source;        // nullptr for a breaker's rows.
    uint8_t  input;         // SbInputKind
    const SbEntry *const *entries;
    int64_t  entry_count;
    const SbBreakerState *breaker;  // Whose rows are on disk; else nullptr.
    Spill   *spill;
    int64_t  rows_max;      // Rows of a unit, where rows are counted.
    int64_t  batch, tasks;  // What batches_unit_rows asks for.
    int64_t  slots;         // That a small input is to give work to. 0: units may have any size.
    int64_t  batch_bytes;   // About how many bytes of rows are read back for a unit.
    int64_t  batch_most;    // As many bytes where these rows come from many runs.
    SbMemory *memory;
    const BufferRelief *relief;
    _Atomic int *cancel;    // The job's.
    bool     sums;          // Units of streams have checksums.
    UnitsStart start;
} UnitsSetup;

enum { UNIT_CHAIN_PLACES = 64 };

// A unit whose exact start is known.
typedef struct UnitKnown {
    bool       is;
    uint64_t   ordinal;
    UnitsChain start;
} UnitKnown;

typedef struct Units {
    UnitsSetup  what;
    bool        chained;
    int64_t     unit_bytes;       // Of text, and of whole files.
    uint32_t    file;
    int64_t     next;             // Byte or row where the next unit begins.
    uint64_t    ordinal;
    SpillUnits *spilled;          // Of what.breaker; else nullptr.
    bool        must;             // Nobody gives memory back any more: do not wait for it.
    Stream     *stream;
    UnitBuffer  carry;            // Bytes read from the stream after the last unit.
    int64_t     carry_len, carry_offset, carry_lines;
    ChecksumState *sum;           // Of the stream's text before them; or nullptr.
    bool        stream_ended;
    bool        stream_begun;     // A unit of it was taken.
    pthread_mutex_t lock;         // Of the chain.
    pthread_cond_t  resolved[UNIT_CHAIN_PLACES];  // By the ordinal of the unit that waits.
    UnitKnown   known[UNIT_CHAIN_PLACES];  // By ordinal; of each place the newest.
    uint64_t    chain_ordinal;    // The last unit whose exact start is known.
    uint64_t    chain_end;        // Units after this one come to no start: it was dropped.
    bool        chain_broken;
    bool        chain_asks;       // That unit waits for memory.
} Units;

typedef enum UnitTake {
    UNIT_TAKEN,
    UNIT_NONE,
    UNIT_LATER,   // When there is more memory.
    UNIT_TROUBLE,
} UnitTake;

bool units_open(Units *units, const UnitsSetup *what, Trouble *trouble);
void units_close(Units *units);
// The next unit, in order. One thread at a time. Streams are read here; UNIT_LATER and buffer->asks
// where the buffer has to ask before more is read.
UnitTake units_take(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble);
// The same for rows that were taken from edges; the right one without a batch unless it is a zip.
UnitTake units_take_slices(Units *units, Unit *unit, const Slice slices[2], Trouble *trouble);
// Where a unit lies that was taken, and prepared if it needs to be. Not of streams.
UnitPlace units_place(const Unit *unit);
// The unit of that number once more, to be prepared as one that was just taken. Rows that are on
// disk are read here. Any number of threads. UNIT_LATER: when there is more memory.
UnitTake units_find(Units *units, const UnitPlace *place, uint64_t ordinal, Unit *unit,
                    Trouble *trouble);
// Of rows that come back from disk, the longest; 0: they do not.
int64_t units_row_max(const Units *units);
// Have all units been taken, for certain?
bool units_over(const Units *units);
// Reads the unit and fixes its rows. Any number of threads, one call for every unit taken, and one
// more where the buffer has to ask: false, and buffer->asks or gives_way.
bool units_prepare(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble);
// Do units wait for where the one before them ends?
static inline bool units_chained(const Units *units) { return units->chained; }
// Another process has found where the rows of the unit `ordinal` begin, and the lines before that.
// It may say so after it has said so of a later one.
void units_chain_set(Units *units, uint64_t ordinal, int64_t begin, int64_t lines);
// False: the start of that unit is not known, or no longer.
bool units_chain_get(Units *units, uint64_t ordinal, UnitsChain *start);
// As units_prepare, of a chained unit whose exact start is known. Nothing is handed on.
bool units_prepare_from(Units *units, Unit *unit, UnitBuffer *buffer, const UnitsChain *start,
                        Trouble *trouble);
// Units that wait for their start give way (UnitBuffer.gives_way): who is to find it comes later.
void units_chain_give_way(Units *units);
// Whoever waits looks whether he is canceled (UnitBuffer.cancel), and gives way then.
void units_chain_wake(Units *units);
// Reads a prepared unit once more, for a task that is run again. Not for streams.
bool units_again(Units *units, Unit *unit, UnitBuffer *buffer, Trouble *trouble);
// Wakes whoever waits in the chain: the job has failed or was interrupted.
void units_break(Units *units);
// The unit is not prepared, because nobody wants its rows, nor those of later units.
void units_drop(Units *units, const Unit *unit);
bool units_can_repeat(const Units *units);

void unit_buffer_close(UnitBuffer *buffer);

#endif
