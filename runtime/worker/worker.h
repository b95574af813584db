// Worker: who runs the threads of a job, and how the dispatch and a worker talk to each other.
#ifndef SBC_RUNTIME_WORKER_WORKER_H
#define SBC_RUNTIME_WORKER_WORKER_H

#include "runtime/host.h"

// What goes over a transport in one piece. The bytes belong to the caller until `send` returns, and
// to the transport from `receive` until the next one.
typedef struct Frame {
    uint32_t    epoch;        // The life of the worker that it belongs to.
    uint32_t    number, ack;  // As in a Message of runtime/core/membership.h.
    const char *bytes;
    int64_t     len;          // At most FRAME_BYTES_MAX.
} Frame;

enum : int64_t { FRAME_BYTES_MAX = 64 << 20 };

typedef enum Received {
    RECEIVED_FRAME,
    RECEIVED_NOTHING,         // Not before the time that was given.
    RECEIVED_CLOSED,          // The other side is gone, or sent what is no frame.
} Received;

// One end of a connection. A transport frames: `receive` gives what one `send` took, or nothing of
// it, with the same checksum. It may deliver late, twice or in another order; links put that right.
typedef struct Transport {
    bool     (*open)(struct Transport *self, const char *address, Trouble *trouble);
    bool     (*send)(struct Transport *self, const Frame *frame);  // False: it is closed.
    Received (*receive)(struct Transport *self, Frame *frame, int64_t until_ns);
    void     (*close)(struct Transport *self);
} Transport;

// Threads with memory of their own, or with that of the dispatch.
typedef struct Worker {
    // Runs main(arg, i, thread) once on each of its threads; returns when all are done.
    void      (*run)(struct Worker *self, SbEachFn *main, void *arg);
    uint32_t    threads;
    SbParallel *parallel;     // Its threads, where it is this process.
    Transport  *transport;    // nullptr: it is this process, which needs none.
} Worker;

// This process as a worker, with the threads of a pool.
Worker worker_of_threads(SbParallel *parallel);

#endif
