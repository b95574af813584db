// The job's side: slots of shared memory, and the processes that launch what lies in them.
#define _GNU_SOURCE
#include "runtime/device/gpu_slots.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum : int64_t { LAUNCH_BYTES = 8 << 20, SLOT_BYTES_MIN = 64 << 10, SLACK_BYTES = 1 << 16 };
enum { RESTARTS_MAX = 2, HELLO_MS = 120'000, LAUNCH_MS = 30'000,
       SPANS_FIRST = 256, SPANS_MAX = 1 << 16 };

// ---- a process ----------------------------------------------------------------------------------

bool gpu_receive(int socket, void *to, size_t bytes, int wait_ms) {
    struct pollfd ready = {.fd = socket, .events = POLLIN};
    int got;
    do got = poll(&ready, 1, wait_ms);
    while (got < 0 && errno == EINTR);
    return got > 0 && recv(socket, to, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

static void let_go(Device *device) {
    for (uint32_t i = 0; i < GPU_SLOTS_MAX; i++) {
        if (device->fresh[i] >= 0) close(device->fresh[i]);
        device->fresh[i] = -1;
    }
    if (device->process.pid <= 0) return;
    process_kill(&device->process);
    close(device->process.socket);
    while (process_reap(&device->process, 1'000'000'000) < 0) {}
}

static bool open_sockets(Device *device, int ends[]) {
    for (uint32_t i = 0; i < device->slot_count; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
            while (i-- > 0) close(ends[i]);
            return false;
        }
        device->fresh[i] = pair[0];
        ends[i] = pair[1];
    }
    return true;
}

// Starts the process and waits for its first words. False: `why` says what is wrong.
static bool begin(Device *device, uint32_t *seen, char why[GPU_WHY_BYTES]) {
    Gpu *begun = device->gpu;
    const Gpu *gpu = begun;
    int fds[GPU_SLOTS_MAX + 1] = {device->memory_fd};
    char words[96];
    GpuHello hello;
    device->life++;
    if (!open_sockets(device, fds + 1))
        return snprintf(why, GPU_WHY_BYTES, "there is no socket: %s", strerror(errno)), false;
    snprintf(words, sizeof words, "%u %lld %lld %u", device->number,
             (long long)gpu->device_memory, (long long)gpu->slot_bytes, device->slot_count);
    int error = process_spawn(&device->process, &(ProcessAsk){.argv = gpu->argv, .words = words,
                                                          .variable = gpu_variable, .fds = fds,
                                                          .fd_count = device->slot_count + 1});
    for (uint32_t i = 0; i < device->slot_count; i++) close(fds[i + 1]);
    if (error)
        return snprintf(why, GPU_WHY_BYTES, "its process cannot be started: %s", strerror(error)),
               false;
    if (!gpu_receive(device->process.socket, &hello, sizeof hello, HELLO_MS))
        return snprintf(why, GPU_WHY_BYTES, "its process says nothing"), false;
    memcpy(device->name, hello.name, sizeof device->name);
    memcpy(why, hello.why, GPU_WHY_BYTES);
    if (hello.no_products[0] && !begun->no_products[0])
        memcpy(begun->no_products, hello.no_products, GPU_WHY_BYTES);
    *seen = hello.devices;
    return hello.good;
}

static void give_back(Gpu *gpu, Slot *slot) {
    slot->next = nullptr;
    *gpu->free_end = slot;
    gpu->free_end = &slot->next;
}

// ---- opening ------------------------------------------------------------------------------------

static size_t most_columns(const SbJob *job) {
    size_t most = 1;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbKernels *kernels = job->stages[s].kernels;
        if (kernels && gpu_layout_room(kernels) > most) most = gpu_layout_room(kernels);
    }
    return most;
}

static bool open_slot(Device *device, uint32_t i, size_t columns) {
    Slot *slot = &device->slots[i];
    *slot = (Slot){.device = device, .number = i, .socket = -1,
                   .memory = device->memory + (size_t)i * (size_t)device->gpu->slot_bytes,
                   .room = calloc(columns, sizeof *slot->room),
                   .pointers = calloc(columns, sizeof *slot->pointers)};
    return slot->room && slot->pointers;
}

bool gpu_open_slots(Device *device) {
    size_t bytes = (size_t)device->gpu->slot_bytes * device->slot_count;
    size_t columns = most_columns(device->gpu->job);
    device->memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, device->memory_fd, 0);
    device->slots = calloc(device->slot_count, sizeof *device->slots);
    bool good = device->memory != MAP_FAILED && device->slots;
    for (uint32_t i = 0; i < device->slot_count && good; i++) good = open_slot(device, i, columns);
    return good;
}

static bool open_device(Gpu *gpu, uint32_t number, uint32_t slots, uint32_t *seen,
                        char why[GPU_WHY_BYTES]) {
    Device *device = &gpu->devices[gpu->device_count++];
    *device = (Device){.gpu = gpu, .number = number, .slot_count = slots,
                       .process = {.pidfd = -1, .socket = -1}, .memory = MAP_FAILED,
                       .memory_fd = memfd_create("gpu", MFD_CLOEXEC)};
    memset(device->fresh, -1, sizeof device->fresh);
    off_t bytes = (off_t)gpu->slot_bytes * slots;
    if (device->memory_fd < 0 || ftruncate(device->memory_fd, bytes) || !gpu_open_slots(device))
        return snprintf(why, GPU_WHY_BYTES, "there is no memory"), false;
    return begin(device, seen, why);
}

static bool has_kernels(const SbJob *job) {
    for (uint32_t s = 0; s < job->stage_count; s++)
        if (job->stages[s].kernels) return true;
    return false;
}

int64_t gpu_least_launch(const SbJob *job, bool there) {
    int64_t most = 0;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbKernels *kernels = job->stages[s].kernels;
        size_t *room = kernels ? calloc(gpu_layout_room(kernels), sizeof *room) : nullptr;
        GpuLayout layout = {0};
        if (room) gpu_lay(&layout, kernels, 1, room);
        int64_t bytes = (int64_t)(there ? gpu_device_bytes(&layout) : layout.bytes);
        if (bytes > most) most = bytes;
        free(room);
    }
    return most + GPU_ALIGN;
}

static int64_t page_up(int64_t bytes) {
    enum : int64_t { PAGE = 4096 };
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint32_t slots_most(uint32_t slots) {
    if (slots < 1) return 1;
    return slots < GPU_SLOTS_MAX ? slots : GPU_SLOTS_MAX;
}

// One row has to fit, however long it is.
static int64_t widest_launch(const SbJob *job) {
    int64_t least = gpu_least_launch(job, false);
    return (least > LAUNCH_BYTES ? least : LAUNCH_BYTES) + SLACK_BYTES;
}

int64_t gpu_bytes_most(const SbJob *job, uint32_t slots) {
    return has_kernels(job) ? slots_most(slots) * page_up(widest_launch(job)) : 0;
}

GpuSlots gpu_size_slots(const GpuSetup *setup) {
    int64_t most = widest_launch(setup->job), least = gpu_least_launch(setup->job, true);
    uint32_t slots = slots_most(setup->slots);
    while (slots > 1 && (setup->memory / slots < SLOT_BYTES_MIN ||
                         (setup->device_memory && setup->device_memory / slots < least)))
        slots--;
    int64_t bytes = setup->memory / slots < most ? setup->memory / slots : most;
    return (GpuSlots){slots, page_up(bytes < SLOT_BYTES_MIN ? SLOT_BYTES_MIN : bytes)};
}

static bool size_slots(Gpu *gpu, const GpuSetup *setup, uint32_t *slots, char why[GPU_WHY_BYTES]) {
    GpuSlots are = gpu_size_slots(setup);
    int64_t least = gpu_least_launch(setup->job, true);
    *slots = are.count;
    gpu->slot_bytes = are.bytes;
    if (!setup->device_memory || setup->device_memory >= least) return true;
    return snprintf(why, GPU_WHY_BYTES,
                    "--gpu-memory=%lld is too little for one row, which takes %lld",
                    (long long)setup->device_memory, (long long)least), false;
}

// GPUs have slots in turn, so that the first launches go to all of them. The first GPU has memory
// for more than its share where there are others: nobody touches that.
static void share_slots(Gpu *gpu, uint32_t slots) {
    gpu->slots_each = (slots + gpu->device_count - 1) / gpu->device_count;
    for (uint32_t i = 0; i < gpu->slots_each; i++)
        for (uint32_t d = 0; d < gpu->device_count; d++)
            if (!gpu->devices[d].lost) give_back(gpu, &gpu->devices[d].slots[i]);
}

// A test waits for no launch as long as a job does.
static int wait_of_launch(void) {
    const char *text = getenv("SBC_TEST_GPU_WAIT_MS");
    return text ? atoi(text) : LAUNCH_MS;
}

Gpu *gpu_open(const GpuSetup *setup, char why[GPU_WHY_BYTES]) {
    Gpu *gpu = calloc(1, sizeof *gpu);
    uint32_t slots, seen = 1;
    if (!gpu) return snprintf(why, GPU_WHY_BYTES, "there is no memory"), nullptr;
    gpu->job = setup->job;
    gpu->argv = setup->argv;
    gpu->device_memory = setup->device_memory;
    gpu->launch_ms = wait_of_launch();
    gpu->free_end = &gpu->free;
    pthread_mutex_init(&gpu->lock, nullptr);
    bool good = has_kernels(setup->job);
    if (!good)
        snprintf(why, GPU_WHY_BYTES,
                 "the job has no kernels: sbc found no NVRTC, or no step for them");
    // The first one says how many there are. Of the others one that cannot be used is left out.
    good = good && size_slots(gpu, setup, &slots, why) && open_device(gpu, 0, slots, &seen, why);
    for (uint32_t i = 1; i < seen && i < DEVICES_MAX && i < slots && good; i++)
        if (!open_device(gpu, i, (slots + seen - 1) / seen, &seen, gpu->why))
            gpu->devices[i].lost = true;
    if (good) return share_slots(gpu, slots), gpu;
    gpu_close(gpu);
    return nullptr;
}

void gpu_close_slots(Device *device) {
    for (uint32_t i = 0; device->slots && i < device->slot_count; i++) {
        if (device->slots[i].device && device->slots[i].socket >= 0)
            close(device->slots[i].socket);
        free(device->slots[i].room);
        free(device->slots[i].pointers);
    }
    free(device->slots);
    if (device->memory != MAP_FAILED)
        munmap(device->memory, (size_t)device->gpu->slot_bytes * device->slot_count);
    if (device->memory_fd >= 0) close(device->memory_fd);
}

// Launches that are under way for a worker that is gone end with the processes, and nobody starts
// others.
static void close_own(Gpu *gpu) {
    pthread_mutex_lock(&gpu->lock);
    for (uint32_t i = 0; i < gpu->device_count; i++) gpu->devices[i].lost = true;
    for (uint32_t i = 0; i < gpu->device_count; i++) let_go(&gpu->devices[i]);
    pthread_mutex_unlock(&gpu->lock);
    gpu_close_lines(gpu);
}

void gpu_close(Gpu *gpu) {
    if (!gpu) return;
    if (gpu->is_far) gpu_far_close(gpu);
    else close_own(gpu);
    for (uint32_t i = 0; i < gpu->device_count; i++) gpu_close_slots(&gpu->devices[i]);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu->spans);
    free(gpu);
}

int64_t gpu_bytes(const Gpu *gpu) {
    return gpu->slot_bytes * gpu->slots_each * gpu->device_count;
}

// ---- slots --------------------------------------------------------------------------------------

// Of the GPU with the fewest slots taken; of several, the one that was given back first.
static Slot *take_free(Gpu *gpu) {
    Slot **best = nullptr;
    for (Slot **at = &gpu->free; *at; at = &(*at)->next)
        if (!(*at)->device->lost && (!best || (*at)->device->taken < (*best)->device->taken))
            best = at;
    if (!best) return nullptr;
    Slot *slot = *best;
    *best = slot->next;
    if (!slot->next) gpu->free_end = best;
    slot->device->taken++;
    return slot;
}

GpuLaunch *gpu_take(Gpu *gpu) {
    if (gpu->is_far) return (GpuLaunch *)gpu_far_take(gpu);
    pthread_mutex_lock(&gpu->lock);
    Slot *slot = take_free(gpu);
    pthread_mutex_unlock(&gpu->lock);
    return slot ? &slot->launch : nullptr;
}

static void *address(const Slot *slot, size_t at) { return at ? slot->memory + at : nullptr; }

static void set_pointers(Slot *slot, const SbKernels *kernels) {
    const GpuLayout *layout = &slot->layout;
    GpuLaunch *launch = &slot->launch;
    char **at = slot->pointers;
    launch->inputs = at;
    launch->inputs_valid = (uint8_t **)(at += kernels->input_count);
    launch->outputs = at += kernels->input_count;
    launch->outputs_valid = (uint8_t **)(at += kernels->output_count);
    for (uint32_t i = 0; i < kernels->input_count; i++) {
        launch->inputs[i] = address(slot, layout->inputs[i]);
        launch->inputs_valid[i] = address(slot, layout->inputs_valid[i]);
    }
    for (uint32_t i = 0; i < kernels->output_count; i++) {
        launch->outputs[i] = address(slot, layout->outputs[i]);
        launch->outputs_valid[i] = address(slot, layout->outputs_valid[i]);
    }
    launch->status = address(slot, layout->status);
    launch->groups = address(slot, layout->groups);
}

int64_t gpu_rows(const Gpu *gpu, uint32_t stage) {
    const SbKernels *kernels = gpu->job->stages[stage].kernels;
    if (gpu_param_words(kernels) > GPU_PARAMS_MAX) return 0;
    return gpu_rows_within(kernels, gpu->slot_bytes);
}

void gpu_place(GpuLaunch *launch, uint32_t stage, int64_t rows) {
    Slot *slot = (Slot *)launch;
    const SbKernels *kernels = slot->device->gpu->job->stages[stage].kernels;
    launch->stage = stage;
    launch->rows = rows;
    gpu_lay(&slot->layout, kernels, rows, slot->room);
    set_pointers(slot, kernels);
}

void gpu_give(Gpu *gpu, GpuLaunch *launch) {
    if (gpu->is_far) return gpu_far_give((Slot *)launch);
    pthread_mutex_lock(&gpu->lock);
    ((Slot *)launch)->device->taken--;
    give_back(gpu, (Slot *)launch);
    pthread_mutex_unlock(&gpu->lock);
}

// ---- launches -----------------------------------------------------------------------------------

// The process of this life does not do what it should: the first task that sees it starts another.
static void fail(Device *device, uint64_t life, const char *why) {
    Gpu *gpu = device->gpu;
    uint32_t seen;
    char trouble[GPU_WHY_BYTES];
    pthread_mutex_lock(&gpu->lock);
    while (device->life == life && !device->lost) {
        snprintf(gpu->why, sizeof gpu->why, "%.120s: %.190s", device->name, why);
        let_go(device);
        device->lost = device->life > RESTARTS_MAX;
        if (device->lost) break;
        gpu->restarts++;
        if (begin(device, &seen, trouble)) break;
        life = device->life;
        why = trouble;
    }
    pthread_mutex_unlock(&gpu->lock);
}

// A socket to the process that lives. False: the GPU is lost.
static bool join(Slot *slot) {
    Device *device = slot->device;
    pthread_mutex_lock(&device->gpu->lock);
    bool lost = device->lost;
    if (!lost && slot->life != device->life) {
        if (slot->socket >= 0) close(slot->socket);
        slot->socket = device->fresh[slot->number];
        slot->life = device->life;
        device->fresh[slot->number] = -1;
    }
    pthread_mutex_unlock(&device->gpu->lock);
    return !lost;
}

void gpu_set_params(Slot *slot, const void *const *params) {
    const SbKernels *kernels = slot->device->gpu->job->stages[slot->launch.stage].kernels;
    uint64_t *to = ((GpuHead *)slot->memory)->params;
    for (uint32_t k = 0; k < kernels->count; k++) {
        const SbKernel *kernel = &kernels->items[k];
        for (uint32_t i = 0; i < kernel->param_count; i++) {
            *to = 0;
            memcpy(to++, params[kernel->params[2 * i]], kernel->params[2 * i + 1]);
        }
    }
}

// False: it was not made, as `why` says.
static bool ask(Slot *slot, GpuAnswer *answer) {
    const GpuAsk asked = {.stage = slot->launch.stage, .rows = slot->launch.rows};
    if (send(slot->socket, &asked, sizeof asked, MSG_NOSIGNAL) != sizeof asked) {
        snprintf(answer->why, sizeof answer->why, "its process has ended");
        return false;
    }
    struct pollfd ready = {.fd = slot->socket, .events = POLLIN};
    if (!gpu_receive(slot->socket, answer, sizeof *answer, slot->device->gpu->launch_ms)) {
        bool hangs = poll(&ready, 1, 0) == 0;
        snprintf(answer->why, sizeof answer->why, "%s",
                 hangs ? "a kernel hangs" : "its process has ended");
        return false;
    }
    return answer->result != GPU_LOST;
}

static void keep_span(Gpu *gpu, const GpuSpan *span) {
    if (gpu->span_count == gpu->span_cap && gpu->span_cap < SPANS_MAX) {
        uint32_t cap = gpu->span_cap ? 2 * gpu->span_cap : SPANS_FIRST;
        GpuSpan *spans = realloc(gpu->spans, cap * sizeof *spans);
        if (spans) {
            gpu->spans = spans;
            gpu->span_cap = cap;
        }
    }
    if (gpu->span_count < gpu->span_cap) gpu->spans[gpu->span_count++] = *span;
    else gpu->spans_lost++;
}

// Counts a launch that was made.
static void note(const Slot *slot, const GpuAnswer *answer) {
    const int64_t *marks = answer->marks_ns;
    Device *device = slot->device;
    Gpu *gpu = device->gpu;
    GpuSpan span = {.gpu = device->number, .slot = slot->number, .stage = slot->launch.stage,
                    .rows = slot->launch.rows};
    memcpy(span.marks_ns, marks, sizeof span.marks_ns);
    pthread_mutex_lock(&gpu->lock);
    device->launches++;
    device->rows += slot->launch.rows;
    device->bytes_in += (int64_t)slot->layout.inputs_end - GPU_HEAD_BYTES;
    device->bytes_out += answer->bytes_out;
    for (int w = 0; w < GPU_WORKS; w++) busy_add(&device->works[w], marks[w], marks[w + 1]);
    busy_add(&device->busy, marks[0], marks[GPU_WORKS]);
    if (gpu->keeps_spans) keep_span(gpu, &span);
    pthread_mutex_unlock(&gpu->lock);
}

// Of a stage that leaves the number of rows to us, fewer are as good.
static void note_short(Slot *slot, int64_t fits) {
    GpuLaunch *launch = &slot->launch;
    Gpu *gpu = slot->device->gpu;
    launch->fits = fits > 0 ? fits : 0;
    bool matters = fits == 0 || (fits > 0 && gpu->job->stages[launch->stage].kernels->rows);
    pthread_mutex_lock(&gpu->lock);
    if (matters && (!gpu->is_short.asked || fits < gpu->is_short.fits))
        gpu->is_short = (GpuShort){launch->stage, launch->rows, fits};
    pthread_mutex_unlock(&gpu->lock);
}

GpuResult gpu_launch(Slot *slot) {
    GpuHead *head = (GpuHead *)slot->memory;
    GpuAnswer answer;
    while (join(slot)) {
        head->is = (GpuKept){0};
        if (ask(slot, &answer)) {
            if (answer.result == GPU_DONE) note(slot, &answer);
            if (answer.result == GPU_FULL) note_short(slot, answer.fits);
            if (answer.result == GPU_DONE && !head->is.some)
                memset(slot->launch.status, 0, (size_t)slot->launch.rows);
            return answer.result;
        }
        fail(slot->device, slot->life, answer.why);
    }
    return GPU_LOST;
}

// Kept rows lie closer together than gpu_place has said.
static void find_kept(Slot *slot) {
    const SbKernels *kernels = slot->device->gpu->job->stages[slot->launch.stage].kernels;
    const GpuKept *is = &((GpuHead *)slot->memory)->is;
    if (!kernels->keeps || !is->some) return;
    gpu_lay_kept(&slot->layout, kernels, is->rows);
    set_pointers(slot, kernels);
}

GpuResult gpu_run(GpuLaunch *launch, const void *const *params) {
    Slot *slot = (Slot *)launch;
    gpu_set_params(slot, params);
    GpuResult result = slot->device->gpu->is_far ? gpu_far_run(slot) : gpu_launch(slot);
    if (result == GPU_DONE) find_kept(slot);
    return result;
}

const char *gpu_no_products(const Gpu *gpu) {
    return gpu->no_products[0] ? gpu->no_products : nullptr;
}

// ---- what became of them ------------------------------------------------------------------------

static uint32_t count_lost(const Gpu *gpu) {
    uint32_t lost = 0;
    for (uint32_t i = 0; i < gpu->device_count; i++) lost += gpu->devices[i].lost;
    return lost;
}

const char *gpu_lost(Gpu *gpu) {
    pthread_mutex_lock(&gpu->lock);
    bool lost = gpu->is_far ? gpu->far_lost : count_lost(gpu) == gpu->device_count;
    pthread_mutex_unlock(&gpu->lock);
    return lost ? gpu->why : nullptr;
}

GpuFaults gpu_faults(Gpu *gpu) {
    pthread_mutex_lock(&gpu->lock);
    GpuFaults faults = {.restarts = gpu->restarts, .lost = count_lost(gpu)};
    memcpy(faults.why, gpu->why, sizeof faults.why);
    pthread_mutex_unlock(&gpu->lock);
    return faults;
}

GpuShort gpu_short(Gpu *gpu) {
    pthread_mutex_lock(&gpu->lock);
    GpuShort is = gpu->is_short;
    pthread_mutex_unlock(&gpu->lock);
    return is;
}

// ---- what they did ------------------------------------------------------------------------------

uint32_t gpu_count(const Gpu *gpu) { return gpu ? gpu->device_count : 0; }

GpuFigures gpu_figures(Gpu *gpu, uint32_t number) {
    const Device *device = &gpu->devices[number];
    pthread_mutex_lock(&gpu->lock);
    GpuFigures figures = {.lost = device->lost, .launches = device->launches, .rows = device->rows,
                          .bytes_in = device->bytes_in, .bytes_out = device->bytes_out,
                          .busy_ns = busy_ns(&device->busy)};
    memcpy(figures.name, device->name, sizeof figures.name);
    for (int w = 0; w < GPU_WORKS; w++) figures.work_ns[w] = busy_ns(&device->works[w]);
    pthread_mutex_unlock(&gpu->lock);
    return figures;
}

void gpu_keep_spans(Gpu *gpu) { gpu->keeps_spans = true; }

GpuSpans gpu_take_spans(Gpu *gpu) {
    if (!gpu) return (GpuSpans){0};
    pthread_mutex_lock(&gpu->lock);
    GpuSpans spans = {gpu->spans, gpu->span_count, gpu->spans_lost};
    gpu->spans = nullptr;
    gpu->span_count = gpu->span_cap = 0;
    pthread_mutex_unlock(&gpu->lock);
    return spans;
}
