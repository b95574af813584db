// Far: a worker process launches in slots of its job.
//
// The columns lie in memory that both map. The job holds the slots and launches. So it counts them
// once, and has them back from a process that is lost.
#define _GNU_SOURCE
#include "runtime/device/gpu_slots.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- joining ------------------------------------------------------------------------------------

// Nobody that this process starts has them.
static void keep_private(const int *fds, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) fcntl(fds[i], F_SETFD, FD_CLOEXEC);
}

static bool join_device(Gpu *gpu, int memory_fd) {
    struct stat is;
    Device *device = &gpu->devices[gpu->device_count];
    *device = (Device){.gpu = gpu, .number = gpu->device_count++, .memory = MAP_FAILED,
                       .memory_fd = memory_fd};
    if (fstat(memory_fd, &is) || is.st_size % gpu->slot_bytes) return false;
    device->slot_count = (uint32_t)(is.st_size / gpu->slot_bytes);
    return gpu_open_slots(device);
}

static bool join_line(Gpu *gpu, int socket, GpuLineHello *hello) {
    enum { HELLO_MS = 60'000 };
    Line *line = calloc(1, sizeof *line);
    if (!line) return close(socket), false;
    *line = (Line){.next = gpu->lines, .gpu = gpu, .socket = socket};
    gpu->lines = line;
    return gpu_receive(socket, hello, sizeof *hello, HELLO_MS);
}

// The memory of each device comes first, then the lines, each of which says how many devices
// there are.
Gpu *gpu_join(const SbJob *job, const int *fds, uint32_t count) {
    Gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu || !count) return free(gpu), nullptr;
    GpuLineHello hello;
    *gpu = (Gpu){.job = job, .is_far = true};
    pthread_mutex_init(&gpu->lock, nullptr);
    keep_private(fds, count);
    bool good = join_line(gpu, fds[count - 1], &hello) && hello.devices < count &&
                hello.devices <= DEVICES_MAX && hello.slot_bytes > 0;
    if (good) gpu->slot_bytes = hello.slot_bytes;
    for (uint32_t i = 0; good && i < hello.devices; i++) good = join_device(gpu, fds[i]);
    for (uint32_t i = hello.devices; good && i < count - 1; i++)
        good = join_line(gpu, fds[i], &hello);
    if (good) return gpu;
    gpu_close(gpu);
    return nullptr;
}

void gpu_far_close(Gpu *gpu) {
    while (gpu->lines) {
        Line *line = gpu->lines;
        gpu->lines = line->next;
        close(line->socket);
        free(line);
    }
}

// ---- launches -----------------------------------------------------------------------------------

// The job answers however long a launch takes; where it is gone this process ends, too.
static bool say(const Line *line, const GpuLineAsk *ask, GpuLineAnswer *answer) {
    if (send(line->socket, ask, sizeof *ask, MSG_NOSIGNAL) != sizeof *ask) return false;
    return gpu_receive(line->socket, answer, sizeof *answer, -1);
}

static Line *take_line(Gpu *gpu) {
    pthread_mutex_lock(&gpu->lock);
    Line *line = gpu->lines;
    if (line) gpu->lines = line->next;
    pthread_mutex_unlock(&gpu->lock);
    return line;
}

static void give_line(Line *line) {
    Gpu *gpu = line->gpu;
    pthread_mutex_lock(&gpu->lock);
    line->next = gpu->lines;
    gpu->lines = line;
    pthread_mutex_unlock(&gpu->lock);
}

// The first reason stays: others read it without the lock.
static void note_lost(Gpu *gpu, const GpuLineAnswer *answer) {
    pthread_mutex_lock(&gpu->lock);
    if (!gpu->far_lost) memcpy(gpu->why, answer->why, sizeof gpu->why);
    gpu->far_lost = true;
    pthread_mutex_unlock(&gpu->lock);
}

static bool is_slot(const Gpu *gpu, const GpuLineAnswer *answer) {
    return answer->device < gpu->device_count &&
           answer->slot < gpu->devices[answer->device].slot_count;
}

Slot *gpu_far_take(Gpu *gpu) {
    GpuLineAnswer answer = {.result = GPU_LOST, .why = "the job does not answer"};
    Line *line = take_line(gpu);
    if (!line) return nullptr;
    bool said = say(line, &(GpuLineAsk){.what = GPU_DO_TAKE}, &answer);
    if (said && answer.result == GPU_DONE && is_slot(gpu, &answer)) {
        Slot *slot = &gpu->devices[answer.device].slots[answer.slot];
        slot->line = line;
        return slot;
    }
    if (answer.result == GPU_LOST) note_lost(gpu, &answer);
    return give_line(line), nullptr;
}

GpuResult gpu_far_run(Slot *slot) {
    GpuLineAnswer answer = {.result = GPU_LOST};
    GpuLineAsk ask = {.what = GPU_DO_LAUNCH, .stage = slot->launch.stage,
                      .rows = slot->launch.rows};
    if (!say(slot->line, &ask, &answer)) return GPU_LOST;
    slot->launch.fits = answer.fits;
    return answer.result;
}

void gpu_far_give(Slot *slot) {
    const GpuLineAsk ask = {.what = GPU_DO_GIVE};
    Line *line = slot->line;  // Read first: after the message another thread may have the slot.
    // Where that fails the job is gone.
    (void)send(line->socket, &ask, sizeof ask, MSG_NOSIGNAL);
    give_line(line);
}
