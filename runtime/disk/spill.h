// Spill: what does not fit the memory of a job goes to a folder on disk.
//
//   DIR/sbc-spill-XXXXXX/    locked while the job lives, removed at its end
//     0, 1, ...              a file for each thread: runs, one after the other; after those of the
//                            process that made the folder come those of others that joined it
//   a run: blocks, each {checksum, bytes here, bytes unpacked} and its bytes, as LZ4 where that is
//          shorter; a row lies within a block, or begins one and goes on in those after it
//
// The folder of a job that is killed stays; the next job that spills there finds that nobody
// holds its lock, and removes it. Nothing here outlives its job, so nothing is synced.
//
// The first thing that goes wrong is kept in `trouble`; everything after it fails too.
#ifndef SBC_RUNTIME_SPILL_H
#define SBC_RUNTIME_SPILL_H

#include "runtime/memory.h"
#include "runtime/report.h"

#include <pthread.h>

typedef struct SpillWriter SpillWriter;
typedef struct SpillIndex SpillIndex;

typedef struct Spill {
    const char  *root;            // Where the folder is made.
    SbMemory    *memory;
    int64_t      block_bytes;     // Of a block that is written, unpacked, at most; an earlier job,
                                  // which had other memory, may have written larger ones.
    bool         journaled;       // The job has a journal: what can go to disk is to be able to.
    bool         shared;          // Several processes write to the folder.
    bool         joined;          // Another process made the folder, and removes it.
    uint32_t     threads;
    uint32_t     files;           // Of `threads`, and of processes that joined.
    uint32_t     first;           // The name of the first thread's file.
    SpillWriter *writers;         // One a file; those of other processes are only read.
    pthread_mutex_t lock;         // Guards all fields below.
    char        *path;            // Of the folder; nullptr: not made yet.
    int          folder;          // Holds the lock. -1: not made yet.
    Trouble      trouble;
    _Atomic bool failed;
    _Atomic int64_t bytes_raw, bytes_written;  // Figures.
    _Atomic int64_t indexed;      // Bytes of memory that indexes take.
    _Atomic int32_t pieces;       // Sets of merges that are open for a while (SpillPieces): what
                                  // they hold comes back.
} Spill;

// Rows in an order that their reader knows.
typedef struct SpillRun {
    uint32_t file;
    int64_t  begin, end;          // In the file.
    int64_t  rows;
    int64_t  bytes;               // Unpacked.
    int64_t  block_max;           // The most bytes of blocks that a row makes one; unpacked.
    int64_t  longest_at;          // Where the longest of these begin.
    int64_t  packed_max;          // The longest block as it lies on disk.
    bool     is_safe;             // A journal has a copy of it.
    SpillIndex *index;            // Its own; nullptr: nobody finds rows of it again.
} SpillRun;

// Where spilling goes unless --spill says so: $TMPDIR, else /var/tmp, which is a disk even where
// /tmp is memory, else /tmp.
const char *spill_default_root(void);

// Set aside for each of so many writers with so much memory: for its buffers and its first rows.
int64_t spill_buffer_bytes(int64_t limit, uint32_t threads);

// `root` must live as long. False: out of memory. Nothing is made on disk before spill_make.
bool spill_open(Spill *spill, const char *root, uint32_t threads, SbMemory *memory);
// Removes the folder and all in it.
void spill_close(Spill *spill);
// The same for a process that ends at once: threads may still be at work with it.
void spill_abandon(Spill *spill);

// Makes the folder and its lock, unless that is done, and removes those that nobody holds.
bool spill_make(Spill *spill);

// ---- several processes --------------------------------------------------------------------------

// Before anything is written: processes that join have `count` files after those of its threads.
// Makes the folder if it can. False: out of memory.
bool spill_expect(Spill *spill, uint32_t count);

// The place of a process in the folder of another one.
typedef struct SpillPlace {
    const char *path;
    uint32_t    first;    // The name of its first file.
    uint32_t    threads;  // That write, each to a file.
} SpillPlace;

// Instead of spill_open, in a process that joins. What an earlier process has put into its files
// stays. False: *trouble.
bool spill_enter(Spill *spill, const SpillPlace *place, SbMemory *memory, Trouble *trouble);
// Makes a file of that name in the folder, as long as `from`, for a process that joins.
bool spill_begin_file(Spill *spill, uint32_t name, int64_t from);
// Opens the file of a process that joined, to read its runs. False: spill->failed.
bool spill_find_file(Spill *spill, uint32_t file);

// Puts bytes of a run of such a process into its file, which this process makes: the process is of
// another machine. False: spill->failed.
bool spill_place_bytes(Spill *spill, uint32_t file, int64_t at, SbStr bytes);

// Zeroes that lie in a file of the folder, which the system writes back where memory is short; so
// nothing is charged. munmap() gives them back. nullptr: spill->failed.
void *spill_map(Spill *spill, int64_t bytes);

// ---- writing: one thread at a time for each writer ----------------------------------------------

// Gets the writer's buffers, charged once and kept. False: over the limit.
bool spill_ready(Spill *spill, uint32_t thread);
// Begins a run.
bool spill_begin(Spill *spill, uint32_t thread);
// The same, of blocks of so many bytes at most: one of many runs that are read side by side.
bool spill_begin_short(Spill *spill, uint32_t thread, int64_t block_bytes);
// The next row begins a block, unless the one before it would be far too short. False: trouble.
bool spill_break(Spill *spill, uint32_t thread);
// Begins a row of `bytes`, a multiple of 8. False: trouble.
bool spill_row(Spill *spill, uint32_t thread, int64_t bytes);
// Adds the row: in pieces,
void spill_add(Spill *spill, uint32_t thread, const char *bytes, int64_t len);
// or where all its bytes go, a multiple of 8. nullptr: it is longer than a block.
char *spill_room(Spill *spill, uint32_t thread, int64_t bytes);
// Where, in the file, who wants the last row begins to read.
int64_t spill_row_at(const Spill *spill, uint32_t thread);
// Ends the run.
bool spill_end(Spill *spill, uint32_t thread, SpillRun *run);

// spill_copy_out: bytes of a run as they lie there, `len` of them from `at` on, counted from its
// beginning. The way back is spill_copy_in, into a run that was begun. That run is ended by
// spill_end_like, with what else is known of it from `like`.
bool spill_copy_out(Spill *spill, const SpillRun *run, int64_t at, char *to, int64_t len);
bool spill_copy_in(Spill *spill, uint32_t thread, const char *bytes, int64_t len);
bool spill_end_like(Spill *spill, uint32_t thread, const SpillRun *like, SpillRun *run);

// Asks the system to have the beginning of the run ready.
void spill_ask(const Spill *spill, const SpillRun *run);

// Gives back the disk and the index that a run took.
void spill_forget(Spill *spill, const SpillRun *run);

// ---- reading ------------------------------------------------------------------------------------

// A block at a time, or all those that a row makes one. What it needs is given by who opens it:
// `block` has room for run.block_max bytes and SB_SLACK, `packed` for run.packed_max; several
// readers may share `packed`.
typedef struct SpillReader {
    Spill   *spill;
    SpillRun run;
    int64_t  at;          // Of the next block, in the file.
    char    *block;       // Aligned to 16.
    char    *packed;
    int64_t  len;         // Bytes of the block that is in memory.
    int64_t  asked;       // The system was asked to have the file's bytes ready up to there.
    int64_t  ahead;       // How many it is asked for: more and more of a reader that goes on, none
                          // of one that has come from elsewhere.
    int64_t  ahead_max;   // So many at most, if many read side by side; 0: SPILL_AHEAD.
} SpillReader;

enum : int64_t { SPILL_AHEAD = 256 << 10 };  // SpillReader.ahead at most.

// The next block is the one at that place of the file, of that run.
void spill_seek(SpillReader *reader, const SpillRun *run, int64_t at);

// Reads the next block. False: there is none, or trouble (spill->failed).
bool spill_read(SpillReader *reader);

// What the first block of the run's longest row holds, of whatever length that is: the beginning of
// the row. For the message of a job that ends: nothing is charged. The caller frees it. nullptr: no
// memory, or trouble.
char *spill_longest(Spill *spill, const SpillRun *run, int64_t *len);

// Has spilling failed? Then that is the trouble.
bool spill_trouble(Spill *spill, Trouble *trouble);
// Records a trouble unless there is one. False.
bool spill_fail(Spill *spill, TroubleKind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
