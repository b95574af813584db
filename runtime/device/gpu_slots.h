// Gpu slots: what the files of both sides of launches share. Nobody else includes it.
//
//   gpu.c        the job: processes of GPUs, slots, launches
//   gpu_lines.c  the job: answers worker processes, which launch as its tasks do
//   gpu_far.c    a worker process: columns lie in slots of the job, which launches
#ifndef SBC_RUNTIME_DEVICE_GPU_SLOTS_H
#define SBC_RUNTIME_DEVICE_GPU_SLOTS_H

#include "runtime/device/busy_time.h"
#include "runtime/device/gpu_wire.h"
#include "runtime/worker.h"

#include <pthread.h>
#include <stdatomic.h>

enum { DEVICES_MAX = 16 };

typedef struct Device Device;

typedef struct Slot {
    GpuLaunch    launch;        // First: the address of a slot is that of its launch.
    struct Slot *next;          // Of free ones.
    Device      *device;
    uint32_t     number;        // On its device.
    struct Line *line;          // Of a worker process: it holds the slot.
    int          socket;
    uint64_t     life;          // Of the process that the socket leads to.
    char        *memory;
    GpuLayout    layout;
    size_t      *room;          // Of the layout.
    char       **pointers;      // Of the launch.
} Slot;

// A GPU and its process.
struct Device {
    Gpu      *gpu;
    uint32_t  number, slot_count, taken;  // Slots that tasks have.
    Process   process;
    uint64_t  life;             // How many processes there have been.
    bool      lost;
    int       memory_fd;
    char     *memory;
    Slot     *slots;
    int       fresh[GPU_SLOTS_MAX];   // Sockets to it that no slot has taken yet; -1: none.
    char      name[96];
    int64_t   launches, rows, bytes_in, bytes_out;
    BusyTime  works[GPU_WORKS], busy;
};

// A thread of a worker process launches by it. On the job's side a thread answers.
typedef struct Line {
    struct Line *next;
    Gpu         *gpu;
    int          socket;
    pthread_t    thread;        // The job's side.
    _Atomic bool over;          // The other side has closed it.
} Line;

struct Gpu {
    const SbJob    *job;
    char *const    *argv;
    Device          devices[DEVICES_MAX];
    uint32_t        device_count, restarts;
    uint32_t        slots_each;        // Of each GPU that are used.
    int64_t         slot_bytes, device_memory;
    Slot           *free, **free_end;  // In the order in which they were given back.
    Line           *lines;             // The job: all. A worker process: those that are free.
    bool            is_far, far_lost;  // It is a worker's; the job has no GPU any more.
    pthread_mutex_t lock;
    int             launch_ms;
    bool            keeps_spans;
    GpuSpan        *spans;
    uint32_t        span_count, span_cap;
    int64_t         spans_lost;
    GpuShort        is_short;
    char            why[GPU_WHY_BYTES];
    char            no_products[GPU_WHY_BYTES];  // As a GPU has said. Empty: all multiply.
};

// ---- gpu.c --------------------------------------------------------------------------------------

// Reads a message that the other side sends at once. False: it did not come in time, or is cut off.
bool gpu_receive(int socket, void *to, size_t bytes, int wait_ms);
// The slots of a device, whose memory is there. False: no memory.
bool gpu_open_slots(Device *device);
void gpu_close_slots(Device *device);
// Launches for the rows that gpu_place has placed, with the parameters that are in the slot.
GpuResult gpu_launch(Slot *slot);
// Puts parameters into the slot.
void gpu_set_params(Slot *slot, const void *const *params);

// ---- gpu_lines.c --------------------------------------------------------------------------------

// Ends the answers. Launches of theirs are over, or the devices are lost.
void gpu_close_lines(Gpu *gpu);

// ---- gpu_far.c: as gpu_take, gpu_run, gpu_give and gpu_close ------------------------------------

Slot     *gpu_far_take(Gpu *gpu);
GpuResult gpu_far_run(Slot *slot);
void      gpu_far_give(Slot *slot);
void      gpu_far_close(Gpu *gpu);

#endif
