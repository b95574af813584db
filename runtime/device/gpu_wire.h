// What a job and the process of a GPU say to each other, and a worker process and its job.
//
//   job                                     process
//   process_spawn ────────────────────────▶ gpu_inherited, opens the driver
//                 ◀─ GpuHello, its socket ─ once
//   columns, GpuHead into the slot
//                 ── GpuAsk, the slot's ──▶ copies in, kernels, copies out
//                 ◀─ GpuAnswer ──────────── columns of results, status
//
// Each slot has a socket of its own, on which one side speaks at a time.
#ifndef SBC_RUNTIME_DEVICE_GPU_WIRE_H
#define SBC_RUNTIME_DEVICE_GPU_WIRE_H

#include "runtime/device/gpu.h"
#include "runtime/device/gpu_layout.h"

enum { GPU_SLOTS_MAX = 64, GPU_PARAMS_MAX = (GPU_HEAD_BYTES - 64) / 8 };

// What kernels say of all rows, in memory of the GPU and in the answer.
typedef struct GpuKept {
    uint8_t  some;                     // Not 0 where a status byte is not 0.
    uint32_t rows;                     // Where kernels keep rows and some is not 0: how many.
} GpuKept;

// At the begin of a slot's memory.
typedef struct GpuHead {
    GpuKept  is;                       // Of the answer.
    uint64_t params[GPU_PARAMS_MAX];   // As gpu_param_words counts them.
} GpuHead;

static_assert(sizeof(GpuHead) <= GPU_HEAD_BYTES);

typedef struct GpuHello {
    bool     good;
    uint32_t devices;                  // That the driver sees.
    char     name[96], why[GPU_WHY_BYTES];
    char     no_products[GPU_WHY_BYTES];  // Why nothing multiplies matrices. Empty: it does.
} GpuHello;

typedef struct GpuAsk {
    uint32_t stage;
    int64_t  rows;
} GpuAsk;

typedef struct GpuAnswer {
    GpuResult result;
    int64_t   marks_ns[GPU_MARKS];     // Of GPU_DONE.
    int64_t   bytes_out;               // Of columns that came back.
    int64_t   fits;                    // Of GPU_FULL, as GpuLaunch.fits; -1: memory is no reason.
    char      why[GPU_WHY_BYTES];      // Of GPU_LOST.
} GpuAnswer;

// What a worker process and the job say to each other, over a line for each of its threads. First
// comes a GpuLineHello. A GPU_DO_GIVE has no answer.
typedef enum GpuDo { GPU_DO_TAKE, GPU_DO_LAUNCH, GPU_DO_GIVE } GpuDo;

typedef struct GpuLineHello {
    int64_t  slot_bytes;
    uint32_t devices;
} GpuLineHello;

typedef struct GpuLineAsk {
    GpuDo    what;
    uint32_t stage;
    int64_t  rows;
} GpuLineAsk;

typedef struct GpuLineAnswer {
    GpuResult result;        // Of GPU_DO_TAKE: GPU_DONE, GPU_BUSY, or GPU_LOST where all GPUs are.
    uint32_t  device, slot;
    int64_t   fits;          // Of GPU_FULL.
    char      why[GPU_WHY_BYTES];
} GpuLineAnswer;

// The variable of such a process: "SOCKET NUMBER DEVICE_BYTES SLOT_BYTES SLOTS MEMORY SOCKET ...".
static const char gpu_variable[] = "SBC_GPU";

#endif
