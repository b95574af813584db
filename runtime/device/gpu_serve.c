// The process of a GPU: loads the kernels of all stages, and launches what the job asks for.
//
// A thread for each slot copies in, launches and copies out, on a stream of its own. Whatever fails
// is said to the job, which ends this process.
#define _GNU_SOURCE
#include "runtime/device/driver.h"
#include "runtime/device/gpu_choose.h"
#include "runtime/device/gpu_wire.h"
#include "runtime/device/product.h"
#include "runtime/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ARGUMENT_BYTES = 4096 };  // Of a kernel at most.

typedef struct StageCode {
    CudaModule    *module;
    CudaFunction **functions;     // By kernel.
} StageCode;

typedef struct Serve Serve;

typedef struct Slot {
    Serve      *serve;
    int         socket;
    char       *memory;           // Shared with the job: a GpuHead, then columns.
    bool        opened, holds;    // The second: it has memory of the GPU.
    CudaStream *stream;
    CudaEvent  *marks[GPU_MARKS];
    DevicePtr   columns;
    size_t      bytes;
    DevicePtr   status;           // As GpuLayout says. Zero between launches.
    size_t      status_bytes;
} Slot;

struct Serve {
    const SbJob *job;
    Driver       driver;
    CudaContext *context;
    int          socket, device, number;
    unsigned     architecture, processors;
    StageCode   *stages;
    Products    *products;        // Null: no stage has any, or there is no library.
    char        *memory;
    int64_t      device_bytes, slot_bytes;   // The first: of all slots; 0: any.
    uint32_t     slot_count;
    _Atomic uint32_t holders;     // Slots that have memory of the GPU.
    Slot         slots[GPU_SLOTS_MAX];
    GpuHello     hello;
};

// ---- opening ------------------------------------------------------------------------------------

static bool find_device(Serve *s) {
    const Driver *driver = &s->driver;
    char *why = s->hello.why, name[64] = "";
    int count = 0, major = 0, minor = 0, processors = 0;
    if (!driver_open(&s->driver, why)) return false;
    if (driver->count(&count) || count < 1)
        return snprintf(why, GPU_WHY_BYTES, "the CUDA driver sees no GPU"), false;
    s->hello.devices = (uint32_t)count;
    bool found =
        driver_good(driver, driver->device(&s->device, s->number), "a GPU", why) &&
        driver_good(driver, driver->device_name(name, sizeof name, s->device), "its name", why) &&
        driver_good(driver, driver->attribute(&major, DRIVER_MAJOR, s->device), "a GPU", why) &&
        driver_good(driver, driver->attribute(&minor, DRIVER_MINOR, s->device), "a GPU", why) &&
        driver_good(driver, driver->attribute(&processors, DRIVER_PROCESSORS, s->device), "a GPU",
                    why) &&
        driver_good(driver, driver->set_flags(s->device, DRIVER_BLOCKS), "a context", why) &&
        driver_good(driver, driver->retain(&s->context, s->device), "a context", why) &&
        driver_good(driver, driver->set_current(s->context), "a context", why);
    s->architecture = (unsigned)(major * 10 + minor);
    s->processors = processors > 0 ? (unsigned)processors : 1;
    snprintf(s->hello.name, sizeof s->hello.name, "%s, sm_%u", name, s->architecture);
    return found;
}

// A driver that is older than the compiler of the kernels may not know their code.
static bool load_module(Serve *s, const SbKernels *kernels, const SbKernelCode *code,
                        StageCode *to) {
    int version = 0;
    char *why = s->hello.why;
    if (driver_good(&s->driver, s->driver.load(&to->module, code->bytes.ptr), "loading kernels",
                    why))
        return true;
    size_t len = strlen(why);
    if (!s->driver.version(&version))
        snprintf(why + len, GPU_WHY_BYTES - len,
                 "; the driver is for CUDA %d.%d, the kernels are of CUDA %u.%u%s", version / 1000,
                 version % 1000 / 10, kernels->toolkit / 1000, kernels->toolkit % 1000 / 10,
                 version < (int)kernels->toolkit ? ", which is newer: update the driver" : "");
    return false;
}

static bool load_stage(Serve *s, uint32_t stage) {
    const SbKernels *kernels = s->job->stages[stage].kernels;
    const SbKernelCode *code = gpu_choose(kernels, s->architecture);
    StageCode *to = &s->stages[stage];
    char *why = s->hello.why;
    if (!code)
        return snprintf(why, GPU_WHY_BYTES, "the job has no code for %s", s->hello.name), false;
    to->functions = calloc(kernels->count, sizeof *to->functions);
    if (!to->functions) return snprintf(why, GPU_WHY_BYTES, "there is no memory"), false;
    if (!load_module(s, kernels, code, to)) return false;
    for (uint32_t k = 0; k < kernels->count; k++) {
        char name[64];
        if (kernels->items[k].product) continue;
        snprintf(name, sizeof name, "%.*s", (int)kernels->items[k].name.len,
                 kernels->items[k].name.ptr);
        int error = s->driver.find(&to->functions[k], to->module, name);
        if (!driver_good(&s->driver, error, "finding a kernel", why)) return false;
    }
    return true;
}

static bool load_all(Serve *s) {
    s->stages = calloc(s->job->stage_count + 1, sizeof *s->stages);
    if (!s->stages) return snprintf(s->hello.why, GPU_WHY_BYTES, "there is no memory"), false;
    for (uint32_t i = 0; i < s->job->stage_count; i++)
        if (s->job->stages[i].kernels && !load_stage(s, i)) return false;
    if (has_products(s->job))
        s->products = products_open(&s->driver, s->job, s->hello.no_products);
    return true;
}

// ---- a launch -----------------------------------------------------------------------------------

// Memory that cannot be pinned is copied all the same, in more time.
static int open_slot(Slot *slot) {
    const Driver *driver = &slot->serve->driver;
    int error = driver->set_current(slot->serve->context);
    if (!error) error = driver->new_stream(&slot->stream, DRIVER_STREAM_ALONE);
    for (int m = 0; m < GPU_MARKS && !error; m++) error = driver->new_event(&slot->marks[m], 0);
    if (!error) (void)driver->pin(slot->memory, (size_t)slot->serve->slot_bytes, 0);
    slot->opened = !error;
    return error;
}

// Makes memory of the GPU at least so large. What it held is gone.
static int grow(const Driver *driver, DevicePtr *at, size_t *held, size_t bytes) {
    if (bytes <= *held) return 0;
    if (*held) driver->give(*at);
    *held = 0;
    int error = driver->take(at, bytes);
    if (!error) *held = bytes;
    return error;
}

static int hold(Slot *slot, const GpuLayout *layout) {
    const Serve *s = slot->serve;
    size_t before = slot->status_bytes;
    if (s->device_bytes && gpu_device_bytes(layout) > (size_t)s->device_bytes / s->slot_count)
        return DRIVER_OUT_OF_MEMORY;
    int error = grow(&s->driver, &slot->columns, &slot->bytes, layout->columns_bytes);
    if (!error)
        error = grow(&s->driver, &slot->status, &slot->status_bytes, layout->status_bytes);
    if (!error && slot->status_bytes != before)
        error = s->driver.fill(slot->status, 0, slot->status_bytes, slot->stream);
    if (!error && !slot->holds) {
        slot->holds = true;
        atomic_fetch_add(&slot->serve->holders, 1);
    }
    return error;
}

// How many rows have room where `rows` have none. Slots that have no memory yet share what is free,
// but for the first row.
static int64_t rows_that_fit(const Slot *slot, const SbKernels *kernels, int64_t rows,
                             size_t *room) {
    const Serve *s = slot->serve;
    size_t left = 0, all;
    if (s->driver.memory(&left, &all)) return rows / 2;
    uint32_t others = s->slot_count - atomic_load(&s->holders) - !slot->holds;
    size_t own = slot->bytes + slot->status_bytes, share = left / (others + 1) + own;
    left += own;
    if (s->device_bytes && share > (size_t)s->device_bytes / s->slot_count)
        share = left = (size_t)s->device_bytes / s->slot_count;
    int64_t fits = gpu_rows_there(kernels, rows, share, room);
    return fits ? fits : gpu_rows_there(kernels, rows < 2 ? rows : 2, left, room);
}

typedef struct Arguments {
    alignas(8) char at[ARGUMENT_BYTES];
    size_t count;  // Words of 8 bytes.
} Arguments;

static void add_word(Arguments *to, const void *bytes, size_t count) {
    if ((to->count + 1) * 8 > ARGUMENT_BYTES) abort();  // fits_arguments has looked.
    memset(to->at + to->count * 8, 0, 8);
    memcpy(to->at + to->count++ * 8, bytes, count);
}

static void add_column(Arguments *to, DevicePtr base, size_t at, size_t valid, bool nullable) {
    DevicePtr values = base + at, flags = base + valid;
    add_word(to, &values, sizeof values);
    if (nullable) add_word(to, &flags, sizeof flags);
}

static void add_temp(Arguments *to, const Slot *slot, const GpuLayout *layout,
                     const SbKernels *kernels, uint32_t n) {
    add_column(to, slot->columns, layout->temps[n], layout->temps_valid[n],
               kernels->temps[n].nullable);
}

// A kernel that moves rows takes all that comes back.
static void add_keeper(Arguments *to, const Slot *slot, const SbKernels *kernels,
                       const SbKernel *kernel, const GpuLayout *layout) {
    DevicePtr words[] = {slot->status + offsetof(GpuKept, rows), slot->status + layout->counts,
                         slot->columns + layout->kept};
    for (int i = 0; i < 3; i++) add_word(to, &words[i], sizeof words[i]);
    for (uint32_t n = 0; n < kernels->output_count && kernel->keeps == SB_KERNEL_MOVES; n++)
        add_column(to, slot->columns, layout->outputs[n], layout->outputs_valid[n],
                   kernels->outputs[n].nullable);
}

// As codegen/cuda/cuda.h says.
static void set_arguments(const Slot *slot, const SbKernels *kernels, const SbKernel *kernel,
                          int64_t rows, const GpuLayout *layout, const uint64_t *params,
                          Arguments *to) {
    DevicePtr some = slot->status, status = some + GPU_ALIGN;
    to->count = 0;
    add_word(to, &rows, sizeof rows);
    add_word(to, &status, sizeof status);
    add_word(to, &some, sizeof some);
    if (kernel->groups) add_column(to, slot->columns, layout->groups, 0, false);
    if (kernel->keeps) add_keeper(to, slot, kernels, kernel, layout);
    for (uint32_t i = 0; i < kernel->input_count; i++) {
        uint32_t n = kernel->inputs[i], temp = n - kernels->input_count;
        if (n >= kernels->input_count) add_temp(to, slot, layout, kernels, temp);
        else
            add_column(to, slot->columns, layout->inputs[n], layout->inputs_valid[n],
                       kernels->inputs[n].nullable);
    }
    for (uint32_t i = 0; i < kernel->output_count; i++) {
        uint32_t n = kernel->outputs[i], temp = n - kernels->output_count;
        if (n >= kernels->output_count) add_temp(to, slot, layout, kernels, temp);
        else
            add_column(to, slot->columns, layout->outputs[n], layout->outputs_valid[n],
                       kernels->outputs[n].nullable);
    }
    for (uint32_t i = 0; i < kernel->param_count; i++) add_word(to, &params[i], sizeof params[i]);
}

static DevicePtr column_at(const Slot *slot, const size_t *values, const size_t *temps,
                           uint32_t count, uint32_t n) {
    return slot->columns + (n < count ? values[n] : temps[n - count]);
}

static int multiply(const Slot *slot, const SbKernels *kernels, const SbKernel *kernel,
                    int64_t rows, const GpuLayout *layout) {
    DevicePtr from = column_at(slot, layout->inputs, layout->temps, kernels->input_count,
                               kernel->inputs[0]);
    DevicePtr to = column_at(slot, layout->outputs, layout->temps, kernels->output_count,
                             kernel->outputs[0]);
    return product_launch(slot->serve->products, kernel->product, from, to, rows, slot->stream);
}

static bool fits_arguments(const SbKernels *kernels) {
    size_t moved = kernels->keeps ? 6 + 2 * (size_t)kernels->output_count : 0;
    if (moved * 8 > ARGUMENT_BYTES) return false;
    for (uint32_t k = 0; k < kernels->count; k++) {
        const SbKernel *kernel = &kernels->items[k];
        size_t words = 4 + 2 * ((size_t)kernel->input_count + kernel->output_count);
        if ((words + kernel->param_count) * 8 > ARGUMENT_BYTES) return false;
    }
    return true;
}

static int start(const Slot *slot, const GpuAsk *ask, uint32_t k, const GpuLayout *layout,
                 const uint64_t *params) {
    const Serve *s = slot->serve;
    const SbKernels *kernels = s->job->stages[ask->stage].kernels;
    const SbKernel *kernel = &kernels->items[k];
    if (kernel->product) return multiply(slot, kernels, kernel, ask->rows, layout);
    int64_t lanes = ask->rows * kernel->elements / kernel->width + 1;
    int64_t blocks = (lanes + kernel->lanes - 1) / kernel->lanes;
    int64_t most = (int64_t)s->processors * kernel->blocks;
    Arguments arguments;
    set_arguments(slot, kernels, kernel, ask->rows, layout, params, &arguments);
    void *list[] = {arguments.at};
    if (blocks > most) blocks = most;
    return s->driver.launch(s->stages[ask->stage].functions[k], (unsigned)blocks, 1, 1,
                            kernel->lanes, 1, 1, 0, slot->stream, list, nullptr);
}

// ---- what comes back ----------------------------------------------------------------------------

// Columns from there on; of kept rows they are fewer bytes.
static int copy_columns(const Slot *slot, const GpuLayout *layout, size_t from, GpuAnswer *to) {
    size_t bytes = layout->outputs_end - layout->inputs_end;
    to->bytes_out = (int64_t)bytes;
    return bytes ? slot->serve->driver.copy_out(slot->memory + layout->inputs_end,
                                                slot->columns + from, bytes, slot->stream)
                 : 0;
}

static int finish(const Slot *slot) {
    const Driver *driver = &slot->serve->driver;
    int error = driver->mark(slot->marks[GPU_WORKS], slot->stream);
    return error ? error : driver->wait(slot->stream);
}

// Bytes for rows come back where one of them is not zero, and are zero again after that.
static int copy_status(const Slot *slot, const GpuLayout *layout, int64_t rows) {
    const Driver *driver = &slot->serve->driver;
    int error = driver->copy_out(slot->memory + layout->status, slot->status + GPU_ALIGN,
                                 (size_t)rows, slot->stream);
    return error ? error : driver->fill(slot->status, 0, layout->status_bytes, slot->stream);
}

// Where kernels keep rows, their number comes first.
static int copy_back(const Slot *slot, const GpuAsk *ask, GpuLayout *layout, GpuAnswer *to) {
    const Driver *driver = &slot->serve->driver;
    const SbKernels *kernels = slot->serve->job->stages[ask->stage].kernels;
    GpuKept *is = &((GpuHead *)slot->memory)->is;
    int error = driver->mark(slot->marks[GPU_COPIES_OUT], slot->stream);
    if (!error && !kernels->keeps) error = copy_columns(slot, layout, layout->inputs_end, to);
    if (!error) error = driver->copy_out(is, slot->status, sizeof *is, slot->stream);
    if (!error) error = finish(slot);
    if (error || (!is->some && !kernels->keeps)) return error;
    if (is->rows > ask->rows) abort();  // The job starts another process.
    if (kernels->keeps && is->some) gpu_lay_kept(layout, kernels, is->rows);
    if (kernels->keeps)
        error = copy_columns(slot, layout, is->some ? layout->kept : layout->inputs_end, to);
    if (!error && is->some) error = copy_status(slot, layout, ask->rows);
    return error ? error : finish(slot);
}

// The last mark was reached about now. None can be before the launch was asked for.
static int read_marks(const Slot *slot, int64_t asked_ns, int64_t marks[GPU_MARKS]) {
    int64_t now = log_clock_ns(), least = asked_ns;
    int error = 0;
    for (int m = 0; m < GPU_MARKS && !error; m++) {
        float milliseconds = 0;
        error = slot->serve->driver.between(&milliseconds, slot->marks[m],
                                            slot->marks[GPU_WORKS]);
        marks[m] = now - (int64_t)((double)milliseconds * 1e6);
        if (marks[m] < least) marks[m] = least;
        least = marks[m];
    }
    return error;
}

static int launch(Slot *slot, const GpuAsk *ask, GpuLayout *layout, GpuAnswer *to,
                  const char **what) {
    const Driver *driver = &slot->serve->driver;
    const SbKernels *kernels = slot->serve->job->stages[ask->stage].kernels;
    const uint64_t *params = ((GpuHead *)slot->memory)->params;
    size_t in = layout->inputs_end - GPU_HEAD_BYTES;
    int error = 0;
    *what = "copying to the GPU";
    error = driver->mark(slot->marks[GPU_COPIES_IN], slot->stream);
    if (in && !error)
        error = driver->copy_in(slot->columns + GPU_HEAD_BYTES, slot->memory + GPU_HEAD_BYTES, in,
                                slot->stream);
    if (!error && layout->groups)
        error = driver->fill(slot->columns + layout->groups, 0, (size_t)kernels->groups_bytes,
                             slot->stream);
    if (!error) error = driver->mark(slot->marks[GPU_KERNELS], slot->stream);
    for (uint32_t k = 0; k < kernels->count && !error; k++) {
        *what = kernels->items[k].product ? "a product by cuBLASLt" : "a kernel";
        error = start(slot, ask, k, layout, params);
        params += kernels->items[k].param_count;
    }
    return error ? error : copy_back(slot, ask, layout, to);
}

static void answer(Slot *slot, const GpuAsk *ask, GpuAnswer *to) {
    const SbKernels *kernels = slot->serve->job->stages[ask->stage].kernels;
    const char *what = "a stream";
    GpuLayout layout;
    size_t *room = calloc(gpu_layout_room(kernels), sizeof *room);
    *to = (GpuAnswer){.result = GPU_FULL, .fits = -1};
    if (!room || !fits_arguments(kernels)) return free(room);
    gpu_lay(&layout, kernels, ask->rows, room);
    int error = slot->opened ? 0 : open_slot(slot);
    if (!error) {
        what = "memory of the GPU";
        error = hold(slot, &layout);
        if (error == DRIVER_OUT_OF_MEMORY) {
            to->fits = rows_that_fit(slot, kernels, ask->rows, room);
            return free(room);
        }
    }
    int64_t asked_ns = log_clock_ns();
    if (!error) error = launch(slot, ask, &layout, to, &what);
    if (!error) error = read_marks(slot, asked_ns, to->marks_ns);
    free(room);
    to->result = driver_good(&slot->serve->driver, error, what, to->why) ? GPU_DONE : GPU_LOST;
}

static void *serve_slot(void *self) {
    Slot *slot = self;
    GpuAsk ask;
    GpuAnswer is;
    while (recv(slot->socket, &ask, sizeof ask, 0) == sizeof ask) {
        answer(slot, &ask, &is);
        if (send(slot->socket, &is, sizeof is, MSG_NOSIGNAL) != sizeof is) break;
    }
    return nullptr;
}

// ---- the process --------------------------------------------------------------------------------

static bool read_all(Serve *s, const char *at) {
    uint64_t socket, number, device_bytes, slot_bytes, slots, memory;
    if (!process_number(&at, &socket) || !process_number(&at, &number) ||
        !process_number(&at, &device_bytes) || !process_number(&at, &slot_bytes) ||
        !process_number(&at, &slots) || !process_number(&at, &memory) || slots > GPU_SLOTS_MAX)
        return false;
    s->socket = (int)socket;
    s->number = (int)number;
    s->device_bytes = (int64_t)device_bytes;
    s->slot_bytes = (int64_t)slot_bytes;
    s->slot_count = (uint32_t)slots;
    s->memory = mmap(nullptr, (size_t)(slot_bytes * slots), PROT_READ | PROT_WRITE, MAP_SHARED,
                     (int)memory, 0);
    if (s->memory == MAP_FAILED) return false;
    for (uint32_t i = 0; i < slots; i++) {
        uint64_t own;
        if (!process_number(&at, &own)) return false;
        s->slots[i] = (Slot){.serve = s, .socket = (int)own,
                             .memory = s->memory + (size_t)i * slot_bytes};
    }
    return true;
}

// It lives as long as the job holds the other end of the socket.
static int serve(Serve *s) {
    s->hello.good = find_device(s) && load_all(s);
    if (send(s->socket, &s->hello, sizeof s->hello, MSG_NOSIGNAL) != sizeof s->hello) return 1;
    for (uint32_t i = 0; i < s->slot_count && s->hello.good; i++) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, serve_slot, &s->slots[i])) return 1;
        pthread_detach(thread);
    }
    char byte;
    ssize_t got;
    do got = read(s->socket, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
    return 0;
}

bool gpu_process(const SbJob *job, int *code) {
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};  // The job judges.
    static Serve serving;
    const char *words = getenv(gpu_variable);
    if (!words) return false;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    process_follow("gpu");
    serving.job = job;
    *code = read_all(&serving, words) ? serve(&serving) : 1;
    return true;
}
