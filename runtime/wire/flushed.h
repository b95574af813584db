// Flushed: what a worker has put into breakers for a stage, and hands over: rows in its arena, and
// runs in files of the spill folder.
#ifndef SBC_RUNTIME_WIRE_FLUSHED_H
#define SBC_RUNTIME_WIRE_FLUSHED_H

#include "runtime/breakers.h"
#include "runtime/wire/made.h"

typedef struct Flush {
    uint32_t stage;
    bool     last;      // The stage begins no more tasks.
    bool     writes;    // All of it goes to disk: a commit wants it there.
} Flush;

void wire_put_flush(Text *text, const Flush *flush);
bool wire_get_flush(Unpack *from, Flush *flush);

typedef struct FlushedPart {
    uint32_t terminal;  // Of the stage.
    uint32_t set;       // Of the lane that the rows were in.
    FarPart  part;
} FlushedPart;

typedef struct FlushedRun {
    uint32_t   terminal;
    SpillRun   run;     // `file` as all processes name it; without an index.
    int64_t    mark_count, every;  // Of its index; 0: it has none.
    SpillMark *marks;
} FlushedRun;

typedef struct Flushed {
    uint32_t     stage;
    Trouble      trouble;   // Why not all of it is here; of kind TROUBLE_NONE: it is.
    FlushedPart *parts;     // From malloc, as all below.
    uint32_t     part_count, part_room;
    FlushedRun  *runs;
    uint32_t     run_count, run_room;
    WireBlocks   blocks;    // In which the rows lie.
    int64_t      left_out[UINT8_MAX + 1];  // By terminal: right rows that were not kept.
    bool         corrupt;   // Something else has written to rows, and nothing is handed over.
    bool         failed;    // There was no memory for one.
} Flushed;

// Takes the part's spans over.
void wire_add_part(Flushed *flushed, uint32_t terminal, uint32_t set, FarPart *part);
// Copies what is known of the run, and its index.
void wire_add_run(Flushed *flushed, uint32_t terminal, const SpillRun *run, uint32_t file);
void wire_close_flushed(Flushed *flushed);

void wire_put_flushed(Text *text, const Flushed *flushed);
// False: these bytes are no such message, or there is no memory. To be closed all the same.
bool wire_get_flushed(Unpack *from, Flushed *flushed);
// Do the blocks lie in the arena, and all entries in the blocks? The stage fills these terminals.
bool wire_check_flushed(const ArenaSpace *space, uint32_t arena, const SbJob *job,
                        const Flushed *flushed);

#endif
