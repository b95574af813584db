// Lines: the job answers its worker processes, which launch as its own tasks do.
#define _GNU_SOURCE
#include "runtime/device/gpu_slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum : size_t { STACK_BYTES = 256 << 10 };

// ---- answers ------------------------------------------------------------------------------------

static void take(Gpu *gpu, Slot **held, GpuLineAnswer *answer) {
    const char *lost = nullptr;
    if (!*held) *held = (Slot *)gpu_take(gpu);
    if (!*held) lost = gpu_lost(gpu);
    *answer = (GpuLineAnswer){.result = *held ? GPU_DONE : lost ? GPU_LOST : GPU_BUSY};
    if (lost) snprintf(answer->why, sizeof answer->why, "%s", lost);
    if (!*held) return;
    answer->device = (*held)->device->number;
    answer->slot = (*held)->number;
}

static bool is_launch(const Gpu *gpu, const GpuLineAsk *ask) {
    return ask->stage < gpu->job->stage_count && gpu->job->stages[ask->stage].kernels &&
           ask->rows > 0 && ask->rows <= gpu_rows(gpu, ask->stage);
}

// False: the line says nonsense.
static bool do_ask(Gpu *gpu, Slot **held, const GpuLineAsk *ask, GpuLineAnswer *answer) {
    if (ask->what == GPU_DO_TAKE) return take(gpu, held, answer), true;
    if (!*held) return false;
    if (ask->what == GPU_DO_GIVE) return gpu_give(gpu, &(*held)->launch), *held = nullptr, true;
    if (!is_launch(gpu, ask)) return false;
    gpu_place(&(*held)->launch, ask->stage, ask->rows);
    *answer = (GpuLineAnswer){.result = gpu_launch(*held)};
    answer->fits = (*held)->launch.fits;
    return true;
}

static void *answer_line(void *self) {
    Line *line = self;
    Gpu *gpu = line->gpu;
    Slot *held = nullptr;
    GpuLineHello hello = {.slot_bytes = gpu->slot_bytes, .devices = gpu->device_count};
    GpuLineAsk ask;
    GpuLineAnswer answer;
    bool good = send(line->socket, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello;
    while (good && recv(line->socket, &ask, sizeof ask, MSG_WAITALL) == sizeof ask) {
        good = do_ask(gpu, &held, &ask, &answer);
        if (good && ask.what != GPU_DO_GIVE)
            good = send(line->socket, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
    }
    // A process that ends writes nothing any more once its descriptors are closed.
    if (held) gpu_give(gpu, &held->launch);
    atomic_store(&line->over, true);
    return nullptr;
}

// ---- lines --------------------------------------------------------------------------------------

static void free_line(Line *line) {
    pthread_join(line->thread, nullptr);
    close(line->socket);
    free(line);
}

// Lines of processes that are gone.
static void drop_old(Gpu *gpu) {
    for (Line **at = &gpu->lines; *at;) {
        Line *line = *at;
        if (!atomic_load(&line->over)) {
            at = &line->next;
            continue;
        }
        *at = line->next;
        free_line(line);
    }
}

static bool start(Line *line) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int error = pthread_create(&line->thread, &attributes, answer_line, line);
    pthread_attr_destroy(&attributes);
    return !error;
}

// Returns the other end; -1: there is none.
static int open_line(Gpu *gpu) {
    int pair[2];
    Line *line = calloc(1, sizeof *line);
    if (!line || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return free(line), -1;
    *line = (Line){.next = gpu->lines, .gpu = gpu, .socket = pair[0]};
    if (start(line)) return gpu->lines = line, pair[1];
    close(pair[0]);
    close(pair[1]);
    free(line);
    return -1;
}

void gpu_share(Gpu *gpu, uint32_t threads, GpuShare *share) {
    *share = (GpuShare){0};
    if (!gpu) return;
    drop_old(gpu);
    for (uint32_t d = 0; d < gpu->device_count; d++) {
        // One that never had memory: the worker, which numbers them as the job does, takes the CPU.
        if (gpu->devices[d].memory_fd < 0) return (void)(*share = (GpuShare){0});
        share->fds[share->count++] = gpu->devices[d].memory_fd;
    }
    share->kept = share->count;
    for (uint32_t t = 0; t < threads && share->count < GPU_SHARE_MAX; t++) {
        int end = open_line(gpu);
        if (end < 0) break;
        share->fds[share->count++] = end;
    }
    if (share->count == share->kept) *share = (GpuShare){0};
}

void gpu_shared(GpuShare *share) {
    for (uint32_t i = share->kept; i < share->count; i++) close(share->fds[i]);
    *share = (GpuShare){0};
}

void gpu_close_lines(Gpu *gpu) {
    for (Line *line = gpu->lines; line; line = line->next) shutdown(line->socket, SHUT_RDWR);
    while (gpu->lines) {
        Line *line = gpu->lines;
        gpu->lines = line->next;
        free_line(line);
    }
}
