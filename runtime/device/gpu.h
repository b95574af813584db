// Gpu: launches of kernels on the GPUs of the machine.
//
// Each GPU has a process of its own, as the CUDA driver says that a fault ends a context for good.
// The memory of columns is shared with it, in slots: one for each task that launches. A process
// that faults or hangs is ended and started anew, twice at most for each GPU. The launch is made
// again: its columns are in the slot still. After that the GPU is lost.
//
//   Gpu *gpu = gpu_open(&setup, why);          null: `why` says what is missing
//   GpuLaunch *launch = gpu_take(gpu);         null: all slots are taken
//   gpu_place(launch, stage, rows);
//   ... fill launch->inputs
//   gpu_run(launch, params);                   launch->outputs and launch->status are there
//   gpu_give(gpu, launch);
//
// Slots of one GPU have streams of their own: copies of one run beside kernels of another. A task
// takes one of the GPU that has the fewest taken, so that all have work.
#ifndef SBC_RUNTIME_DEVICE_GPU_H
#define SBC_RUNTIME_DEVICE_GPU_H

#include "runtime/abi/program.h"
#include "runtime/report.h"

enum : int { GPU_WHY_BYTES = 320 };

typedef struct Gpu Gpu;

typedef struct GpuSetup {
    const SbJob *job;
    char *const *argv;
    uint32_t     slots;         // Launches at once: of all tasks that run.
    int64_t      memory;        // Bytes that slots may take of the host.
    int64_t      device_memory; // Bytes that they may take of each GPU; 0: any.
} GpuSetup;

// Starts a process for each GPU, which loads the kernels of all stages. One beside the first that
// cannot be used is left out.
Gpu *gpu_open(const GpuSetup *setup, char why[GPU_WHY_BYTES]);
void gpu_close(Gpu *gpu);  // May be null.
// Of a launch at most, where the program does not say how many.
enum { GPU_LAUNCH_ROWS = 1 << 16 };

// Slots, and the bytes of the host that each has.
typedef struct GpuSlots {
    uint32_t count;
    int64_t  bytes;
} GpuSlots;
// Fewer than asked for where memory is short, of the host or of a GPU.
GpuSlots gpu_size_slots(const GpuSetup *setup);
// The bytes of a launch of one row, here or on the GPU: of the stage with the longest.
int64_t gpu_least_launch(const SbJob *job, bool there);
// What slots take of each GPU at least and at full speed, and of `device_memory`.
void gpu_print_plan(const GpuSetup *setup, Text *text);

// The bytes of the host that slots take.
int64_t gpu_bytes(const Gpu *gpu);
// The most that so many slots take; 0: the job has no kernels.
int64_t gpu_bytes_most(const SbJob *job, uint32_t slots);

// What a launch works on, in memory of its slot. Of columns that are never null, the bytes that say
// so are null pointers.
typedef struct GpuLaunch {
    uint32_t  stage;
    int64_t   rows;
    char    **inputs, **outputs;              // By column of the SbKernels.
    uint8_t **inputs_valid, **outputs_valid;
    uint8_t  *status;                         // Filled by gpu_run, by row.
    uint64_t *groups;                         // The table of groups; null: there is none.
    int64_t   fits;                           // Of GPU_FULL: the GPU has memory for so many rows.
} GpuLaunch;

// How a launch ends: GPU_FULL where the GPU has no memory for so many rows, GPU_BUSY where no slot
// is free, GPU_LOST where the GPU of the slot is.
typedef enum GpuResult { GPU_DONE, GPU_FULL, GPU_BUSY, GPU_LOST } GpuResult;

// The most rows of the stage that a slot has room for; 0: not one.
int64_t gpu_rows(const Gpu *gpu, uint32_t stage);
// A free slot of a GPU that works. Null: there is none. Any thread.
GpuLaunch *gpu_take(Gpu *gpu);
// Says where the columns of a launch lie in its slot, for gpu_rows at most.
void gpu_place(GpuLaunch *launch, uint32_t stage, int64_t rows);
GpuResult gpu_run(GpuLaunch *launch, const void *const *params);
void gpu_give(Gpu *gpu, GpuLaunch *launch);

// Why no stage with products of matrices can run there; null: each can. As it was when it opened.
const char *gpu_no_products(const Gpu *gpu);

// Why no launch is made any more; null: some GPU works.
const char *gpu_lost(Gpu *gpu);

// What became of GPUs while some of them worked.
typedef struct GpuFaults {
    uint32_t restarts, lost;  // Of processes; GPUs.
    char     why[GPU_WHY_BYTES];  // Of the last fault.
} GpuFaults;

GpuFaults gpu_faults(Gpu *gpu);

// Where a launch had to take fewer rows than its stage says, or the GPU had no memory for one row:
// the fewest that had room.
typedef struct GpuShort {
    uint32_t stage;
    int64_t  asked, fits;  // Rows. The first is 0: there was no such launch.
} GpuShort;

GpuShort gpu_short(Gpu *gpu);

// ---- worker processes of the job ----------------------------------------------------------------

// A worker process launches as tasks of the job do: in slots of the job, whose memory it maps. A
// thread of the job answers each thread of it, and gives its slot back when the process ends.
//
//   GpuShare share;  gpu_share(gpu, threads, &share)   the job, before the process starts
//   ... share.fds are open there under the same numbers
//   gpu_shared(&share)                                 the job, once it runs, or cannot be started
//   Gpu *gpu = gpu_join(job, fds, count)               the worker
enum { GPU_SHARE_MAX = 96 };

typedef struct GpuShare {
    int      fds[GPU_SHARE_MAX];
    uint32_t count;  // 0: there is no GPU, or nothing to reach it by.
    uint32_t kept;   // The first ones are the job's own.
} GpuShare;

void gpu_share(Gpu *gpu, uint32_t threads, GpuShare *share);  // Of null: nothing.
void gpu_shared(GpuShare *share);
// Null: no memory, or no answer. The descriptors are taken over.
Gpu *gpu_join(const SbJob *job, const int *fds, uint32_t count);

// ---- what they did ------------------------------------------------------------------------------

// What a stream does, and when it has done so: a mark stands before each, and one at the end.
// Marks are of the clock of log_clock_ns, as exact as a process wakes up after its stream.
typedef enum GpuWork { GPU_COPIES_IN, GPU_KERNELS, GPU_COPIES_OUT } GpuWork;
enum { GPU_WORKS = GPU_COPIES_OUT + 1, GPU_MARKS = GPU_WORKS + 1 };

typedef struct GpuFigures {
    char    name[96];
    bool    lost;
    int64_t launches, rows, bytes_in, bytes_out;
    int64_t work_ns[GPU_WORKS];  // Time in which some stream was at it.
    int64_t busy_ns;             // Time in which some stream was at anything.
} GpuFigures;

uint32_t   gpu_count(const Gpu *gpu);  // Of null: 0.
GpuFigures gpu_figures(Gpu *gpu, uint32_t number);

// A launch that was made.
typedef struct GpuSpan {
    uint32_t gpu, slot, stage;
    int64_t  rows, marks_ns[GPU_MARKS];
} GpuSpan;

typedef struct GpuSpans {
    GpuSpan *items;
    uint32_t count;
    int64_t  lost;    // So far, for want of memory or of a reader.
} GpuSpans;

// Spans are kept from now on. Before the first launch.
void gpu_keep_spans(Gpu *gpu);
// Those since the last call, which the caller frees. Of null: none.
GpuSpans gpu_take_spans(Gpu *gpu);

// ---- the process of a GPU -----------------------------------------------------------------------

// Is this process one? Then it serves, and ends with what this returns: its exit code.
bool gpu_process(const SbJob *job, int *code);

// The lines of `JOB --devices`: each GPU, its memory, and the code that would run there.
void gpu_describe(const SbJob *job, Text *out);

#endif
