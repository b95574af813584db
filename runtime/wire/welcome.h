// Welcome: what a process says of itself at the beginning of its life, and what it is told then.
#ifndef SBC_RUNTIME_WIRE_WELCOME_H
#define SBC_RUNTIME_WIRE_WELCOME_H

#include "runtime/host.h"
#include "runtime/input.h"
#include "runtime/wire/ask.h"

// Which program the process is: the coordinator and its workers have to agree in all of it.
typedef struct Hello {
    uint32_t abi, wire;      // Versions: of the seam with generated code, of messages.
    uint32_t node;           // Which worker it is; 0: it joins from elsewhere.
    int64_t  pid;
    int64_t  memory;         // Of one that joins: bytes that it may take.
    uint32_t threads;        // Of one that joins: that it has.
    const char *host;        // The name of its machine.
    Checksum program;        // SbJob.source_hash, and the values of the parameters.
} Hello;

enum { WIRE_VERSION = 10, WIRE_SETS_MAX = 2 };

void wire_put_hello(Text *text, const Hello *hello);
bool wire_get_hello(Unpack *from, Hello *hello);

typedef struct Welcome {
    int64_t  memory;         // Bytes that the account of the worker may take.
    int64_t  block_max;      // As SbMemory's.
    int64_t  partition;      // As Options.partition: the same in all processes.
    uint32_t threads;        // That work at tasks.
    WireSlots slots;         // That its tasks take at once.
    uint32_t lanes;          // Parts of breakers that its tasks fill side by side, of all sets.
    uint32_t sets;           // Units of one commit fill lanes of the first set, of the next one
                             // those of the second. Without a journal there is one.
    uint32_t first_file;     // Of its files in the spill folder; one for each lane.
    const char *spill;       // The folder; "": there is none.
    // Of a worker that joins: which one it is, where the arenas lie, and where free places in its
    // spill files begin. After `timeout_ns` without a word the job is lost.
    uint32_t node, arenas;
    uint64_t base;
    int64_t  span, spill_from, timeout_ns;
} Welcome;

// Tasks that fill are as many as threads; those that are made once more need empty lanes.
static inline uint32_t wire_lanes(uint32_t threads) { return 2 * threads + 2; }

// `sources`: those of the job, opened.
void wire_put_welcome(Text *text, const Welcome *welcome, const SbJob *what,
                      const Source *sources);
// `source`: whose file it is.
void wire_put_header(Text *text, const Source *source, uint32_t file);
bool wire_get_header(Unpack *from, const SbJob *what, Source *sources);
// All but the sources. The text lives as long as the message.
bool wire_get_welcome_head(Unpack *from, Welcome *welcome);
// `sources`: set and without files. False: these bytes are no such message, or there is no memory.
bool wire_get_welcome(Unpack *from, Welcome *welcome, const SbJob *what, Source *sources);

#endif
