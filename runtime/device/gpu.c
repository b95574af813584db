#include "runtime/device/gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the driver ---------------------------------------------------------------------------------

typedef uint64_t DevicePtr;
typedef struct CudaContext CudaContext;
typedef struct CudaModule CudaModule;
typedef struct CudaFunction CudaFunction;

// The functions of the driver that are called, by their symbols. Each returns 0, or an error.
#define DRIVER_CALLS(X)                                                                            \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(version, "cuDriverGetVersion", (int *version))                                               \
    X(count, "cuDeviceGetCount", (int *count))                                                     \
    X(device, "cuDeviceGet", (int *device, int number))                                            \
    X(device_name, "cuDeviceGetName", (char *name, int bytes, int device))                         \
    X(attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                  \
    X(retain, "cuDevicePrimaryCtxRetain", (CudaContext **context, int device))                     \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int device))                                       \
    X(set_current, "cuCtxSetCurrent", (CudaContext *context))                                      \
    X(synchronize, "cuCtxSynchronize", (void))                                                     \
    X(load, "cuModuleLoadData", (CudaModule **module, const void *image))                          \
    X(unload, "cuModuleUnload", (CudaModule *module))                                              \
    X(find, "cuModuleGetFunction",                                                                 \
      (CudaFunction **function, CudaModule *module, const char *name))                             \
    X(take, "cuMemAlloc_v2", (DevicePtr *at, size_t bytes))                                        \
    X(give, "cuMemFree_v2", (DevicePtr at))                                                        \
    X(copy_in, "cuMemcpyHtoD_v2", (DevicePtr to, const void *from, size_t bytes))                  \
    X(copy_out, "cuMemcpyDtoH_v2", (void *to, DevicePtr from, size_t bytes))                       \
    X(fill, "cuMemsetD8_v2", (DevicePtr at, unsigned char byte, size_t count))                     \
    X(launch, "cuLaunchKernel",                                                                    \
      (CudaFunction *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                  \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,  \
       void **arguments, void **extra))                                                            \
    X(text, "cuGetErrorString", (int error, const char **text))

typedef struct Driver {
#define X(name, symbol, parameters) int (*name) parameters;
    DRIVER_CALLS(X)
#undef X
} Driver;

static const struct {
    const char *symbol;
    size_t      at;
} driver_calls[] = {
#define X(name, symbol, parameters) {symbol, offsetof(Driver, name)},
    DRIVER_CALLS(X)
#undef X
};

enum {
    ERROR_MEMORY = 2,            // CUDA_ERROR_OUT_OF_MEMORY
    ATTRIBUTE_PROCESSORS = 16, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76,
    BLOCK_LANES = 256, BLOCKS_OF_PROCESSOR = 8, ALIGN = 256,
    ARGUMENT_BYTES = 4096,       // Of a kernel at most.
};

typedef struct StageCode {
    CudaModule    *module;
    CudaFunction **functions;    // By kernel.
} StageCode;

struct Gpu {
    const SbJob    *job;
    Driver          driver;
    void           *library;
    CudaContext    *context;
    int             device;
    unsigned        architecture, processors;
    StageCode      *stages;
    DevicePtr       memory;
    size_t          bytes;
    pthread_mutex_t turn;
    bool            lost;
    char            name[96], why[GPU_WHY_BYTES];
};

// ---- opening ------------------------------------------------------------------------------------

static bool find_driver(Gpu *gpu, char why[GPU_WHY_BYTES]) {
    static const char name[] = "libcuda.so.1";
    gpu->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!gpu->library)
        return snprintf(why, GPU_WHY_BYTES, "there is no CUDA driver (%s)", name), false;
    for (size_t i = 0; i < sizeof driver_calls / sizeof *driver_calls; i++) {
        void *call = dlsym(gpu->library, driver_calls[i].symbol);
        if (!call)
            return snprintf(why, GPU_WHY_BYTES, "the CUDA driver is too old: it has no %s",
                            driver_calls[i].symbol), false;
        memcpy((char *)&gpu->driver + driver_calls[i].at, &call, sizeof call);
    }
    return true;
}

// False: the driver said that something failed, as `why` says.
static bool good(const Gpu *gpu, int error, const char *what, char why[GPU_WHY_BYTES]) {
    const char *text = nullptr;
    if (!error) return true;
    if (gpu->driver.text(error, &text) || !text) text = "no reason is known";
    return snprintf(why, GPU_WHY_BYTES, "%s fails: %s (error %d)", what, text, error), false;
}

static bool find_device(Gpu *gpu, char why[GPU_WHY_BYTES]) {
    const Driver *driver = &gpu->driver;
    int count = 0, major = 0, minor = 0, processors = 0;
    char name[64] = "";
    if (!good(gpu, driver->init(0), "the CUDA driver", why)) return false;
    if (driver->count(&count) || count < 1)
        return snprintf(why, GPU_WHY_BYTES, "the CUDA driver sees no GPU"), false;
    bool found = good(gpu, driver->device(&gpu->device, 0), "the first GPU", why) &&
                 good(gpu, driver->device_name(name, sizeof name, gpu->device), "its name", why) &&
                 good(gpu, driver->attribute(&major, ATTRIBUTE_MAJOR, gpu->device), "a GPU", why) &&
                 good(gpu, driver->attribute(&minor, ATTRIBUTE_MINOR, gpu->device), "a GPU", why) &&
                 good(gpu, driver->attribute(&processors, ATTRIBUTE_PROCESSORS, gpu->device),
                      "a GPU", why) &&
                 good(gpu, driver->retain(&gpu->context, gpu->device), "a context", why);
    gpu->architecture = (unsigned)(major * 10 + minor);
    gpu->processors = processors > 0 ? (unsigned)processors : 1;
    snprintf(gpu->name, sizeof gpu->name, "%s, sm_%u", name, gpu->architecture);
    return found;
}

// The best code for the GPU: its own, else that of an older one of its major number, else PTX.
static const SbKernelCode *choose(const Gpu *gpu, const SbKernels *kernels) {
    const SbKernelCode *best = nullptr;
    for (uint32_t i = 0; i < kernels->code_count; i++) {
        const SbKernelCode *code = &kernels->codes[i];
        bool same = code->architecture / 10 == gpu->architecture / 10;
        if (code->architecture > gpu->architecture || (!code->is_ptx && !same)) continue;
        bool better = !best || (best->is_ptx && !code->is_ptx) ||
                      (best->is_ptx == code->is_ptx && code->architecture > best->architecture);
        if (better) best = code;
    }
    return best;
}

static bool load_stage(Gpu *gpu, uint32_t stage, char why[GPU_WHY_BYTES]) {
    const SbKernels *kernels = gpu->job->stages[stage].kernels;
    const SbKernelCode *code = choose(gpu, kernels);
    StageCode *to = &gpu->stages[stage];
    if (!code)
        return snprintf(why, GPU_WHY_BYTES, "the job has no code for %s", gpu->name), false;
    to->functions = calloc(kernels->count, sizeof *to->functions);
    if (!to->functions) return snprintf(why, GPU_WHY_BYTES, "there is no memory"), false;
    if (!good(gpu, gpu->driver.load(&to->module, code->bytes.ptr), "loading kernels", why))
        return false;
    for (uint32_t k = 0; k < kernels->count; k++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)kernels->items[k].name.len,
                 kernels->items[k].name.ptr);
        int error = gpu->driver.find(&to->functions[k], to->module, name);
        if (!good(gpu, error, "finding a kernel", why)) return false;
    }
    return true;
}

static bool load_all(Gpu *gpu, char why[GPU_WHY_BYTES]) {
    bool some = false;
    gpu->stages = calloc(gpu->job->stage_count + 1, sizeof *gpu->stages);
    if (!gpu->stages) return snprintf(why, GPU_WHY_BYTES, "there is no memory"), false;
    if (!good(gpu, gpu->driver.set_current(gpu->context), "a context", why)) return false;
    for (uint32_t s = 0; s < gpu->job->stage_count; s++) {
        if (!gpu->job->stages[s].kernels) continue;
        if (!load_stage(gpu, s, why)) return false;
        some = true;
    }
    if (!some) snprintf(why, GPU_WHY_BYTES, "the job has no kernels: sbc found no NVRTC");
    return some;
}

Gpu *gpu_open(const SbJob *job, char why[GPU_WHY_BYTES]) {
    Gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu) return snprintf(why, GPU_WHY_BYTES, "there is no memory"), nullptr;
    gpu->job = job;
    pthread_mutex_init(&gpu->turn, nullptr);
    if (find_driver(gpu, why) && find_device(gpu, why) && load_all(gpu, why)) return gpu;
    gpu_close(gpu);
    return nullptr;
}

void gpu_close(Gpu *gpu) {
    if (!gpu) return;
    if (gpu->context) {
        gpu->driver.set_current(gpu->context);
        if (gpu->memory) gpu->driver.give(gpu->memory);
        for (uint32_t s = 0; gpu->stages && s < gpu->job->stage_count; s++)
            if (gpu->stages[s].module) gpu->driver.unload(gpu->stages[s].module);
        gpu->driver.release(gpu->device);
    }
    for (uint32_t s = 0; gpu->stages && s < gpu->job->stage_count; s++)
        free(gpu->stages[s].functions);
    free(gpu->stages);
    if (gpu->library) dlclose(gpu->library);
    pthread_mutex_destroy(&gpu->turn);
    free(gpu);
}

const char *gpu_lost(Gpu *gpu) {
    pthread_mutex_lock(&gpu->turn);
    const char *why = gpu->lost ? gpu->why : nullptr;
    pthread_mutex_unlock(&gpu->turn);
    return why;
}


// ---- a launch -----------------------------------------------------------------------------------

// Where columns lie in memory of the GPU, counted from its begin.
typedef struct Layout {
    size_t *inputs, *inputs_valid, *outputs, *outputs_valid, some, status, bytes;
} Layout;

static size_t place(Layout *layout, size_t bytes) {
    size_t at = layout->bytes;
    layout->bytes = (at + bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static size_t column_bytes(const SbKernelColumn *column, int64_t rows) {
    int64_t elements = column->elements ? column->elements : 1;
    return (size_t)(rows * elements) * column->size;
}

static void lay(Layout *layout, const SbKernels *kernels, int64_t rows, size_t *room) {
    *layout = (Layout){.inputs = room};
    layout->inputs_valid = layout->inputs + kernels->input_count;
    layout->outputs = layout->inputs_valid + kernels->input_count;
    layout->outputs_valid = layout->outputs + kernels->output_count;
    for (uint32_t i = 0; i < kernels->input_count; i++) {
        layout->inputs[i] = place(layout, column_bytes(&kernels->inputs[i], rows));
        layout->inputs_valid[i] = kernels->inputs[i].nullable ? place(layout, (size_t)rows) : 0;
    }
    for (uint32_t i = 0; i < kernels->output_count; i++) {
        layout->outputs[i] = place(layout, column_bytes(&kernels->outputs[i], rows));
        layout->outputs_valid[i] = kernels->outputs[i].nullable ? place(layout, (size_t)rows) : 0;
    }
    layout->some = place(layout, 1);
    layout->status = place(layout, (size_t)rows);
}

static bool hold(Gpu *gpu, size_t bytes, int *error) {
    if (bytes <= gpu->bytes) return true;
    if (gpu->memory) gpu->driver.give(gpu->memory);
    gpu->memory = 0;
    gpu->bytes = 0;
    *error = gpu->driver.take(&gpu->memory, bytes);
    if (!*error) gpu->bytes = bytes;
    return !*error;
}

static int copy_in(Gpu *gpu, const GpuLaunch *launch, const SbKernels *kernels,
                   const Layout *layout) {
    int error = gpu->driver.fill(gpu->memory + layout->some, 0, layout->bytes - layout->some);
    for (uint32_t i = 0; i < kernels->input_count && !error; i++) {
        error = gpu->driver.copy_in(gpu->memory + layout->inputs[i], launch->inputs[i],
                                    column_bytes(&kernels->inputs[i], launch->rows));
        if (!error && kernels->inputs[i].nullable)
            error = gpu->driver.copy_in(gpu->memory + layout->inputs_valid[i],
                                        launch->inputs_valid[i], (size_t)launch->rows);
    }
    return error;
}

static int copy_out(Gpu *gpu, const GpuLaunch *launch, const SbKernels *kernels,
                    const Layout *layout) {
    uint8_t some = 0;
    int error = gpu->driver.copy_out(&some, gpu->memory + layout->some, 1);
    if (some && !error)
        error = gpu->driver.copy_out(launch->status, gpu->memory + layout->status,
                                     (size_t)launch->rows);
    else memset(launch->status, 0, (size_t)launch->rows);
    for (uint32_t i = 0; i < kernels->output_count && !error; i++) {
        error = gpu->driver.copy_out(launch->outputs[i], gpu->memory + layout->outputs[i],
                                     column_bytes(&kernels->outputs[i], launch->rows));
        if (!error && kernels->outputs[i].nullable)
            error = gpu->driver.copy_out(launch->outputs_valid[i],
                                         gpu->memory + layout->outputs_valid[i],
                                         (size_t)launch->rows);
    }
    return error;
}

typedef struct Arguments {
    alignas(8) char at[ARGUMENT_BYTES];
    size_t count;  // Words of 8 bytes.
} Arguments;

static void add_word(Arguments *to, const void *bytes, size_t count) {
    if ((to->count + 1) * 8 > ARGUMENT_BYTES) abort();  // gpu_run has looked.
    memset(to->at + to->count * 8, 0, 8);
    memcpy(to->at + to->count++ * 8, bytes, count);
}

static void add_column(Arguments *to, DevicePtr at, DevicePtr valid, bool nullable) {
    add_word(to, &at, sizeof at);
    if (nullable) add_word(to, &valid, sizeof valid);
}

// As codegen/cuda/cuda.h says.
static void set_arguments(const Gpu *gpu, const GpuLaunch *launch, const SbKernel *kernel,
                          const Layout *layout, Arguments *to) {
    const SbKernels *kernels = gpu->job->stages[launch->stage].kernels;
    DevicePtr base = gpu->memory, status = base + layout->status, some = base + layout->some;
    to->count = 0;
    add_word(to, &launch->rows, sizeof launch->rows);
    add_word(to, &status, sizeof status);
    add_word(to, &some, sizeof some);
    for (uint32_t i = 0; i < kernel->input_count; i++) {
        uint32_t n = kernel->inputs[i];
        add_column(to, base + layout->inputs[n], base + layout->inputs_valid[n],
                   kernels->inputs[n].nullable);
    }
    for (uint32_t i = 0; i < kernel->output_count; i++) {
        uint32_t n = kernel->outputs[i];
        add_column(to, base + layout->outputs[n], base + layout->outputs_valid[n],
                   kernels->outputs[n].nullable);
    }
    for (uint32_t i = 0; i < kernel->param_count; i++)
        add_word(to, launch->params[kernel->params[2 * i]], kernel->params[2 * i + 1]);
}

static bool fits_arguments(const SbKernels *kernels) {
    for (uint32_t k = 0; k < kernels->count; k++) {
        const SbKernel *kernel = &kernels->items[k];
        size_t words = 3 + 2 * ((size_t)kernel->input_count + kernel->output_count);
        if ((words + kernel->param_count) * 8 > ARGUMENT_BYTES) return false;
    }
    return true;
}

static int start(Gpu *gpu, const GpuLaunch *launch, uint32_t k, const Layout *layout) {
    const SbKernel *kernel = &gpu->job->stages[launch->stage].kernels->items[k];
    int64_t lanes = launch->rows * kernel->elements / kernel->width + 1;
    int64_t blocks = (lanes + BLOCK_LANES - 1) / BLOCK_LANES;
    int64_t most = (int64_t)gpu->processors * BLOCKS_OF_PROCESSOR;
    Arguments arguments;
    set_arguments(gpu, launch, kernel, layout, &arguments);
    void *list[] = {arguments.at};
    return gpu->driver.launch(gpu->stages[launch->stage].functions[k],
                              (unsigned)(blocks < most ? blocks : most), 1, 1, BLOCK_LANES, 1, 1, 0,
                              nullptr, list, nullptr);
}

static GpuResult run(Gpu *gpu, const GpuLaunch *launch, size_t *room) {
    const SbKernels *kernels = gpu->job->stages[launch->stage].kernels;
    Layout layout;
    int error = gpu->driver.set_current(gpu->context);
    lay(&layout, kernels, launch->rows, room);
    if (!error && !hold(gpu, layout.bytes, &error) && error == ERROR_MEMORY) return GPU_FULL;
    const char *what = "copying to the GPU";
    if (!error) error = copy_in(gpu, launch, kernels, &layout);
    for (uint32_t k = 0; k < kernels->count && !error; k++) {
        what = "a kernel";
        error = start(gpu, launch, k, &layout);
    }
    if (!error) error = gpu->driver.synchronize();
    if (!error) {
        what = "copying from the GPU";
        error = copy_out(gpu, launch, kernels, &layout);
    }
    if (good(gpu, error, what, gpu->why)) return GPU_DONE;
    gpu->lost = true;
    return GPU_LOST;
}

GpuResult gpu_run(Gpu *gpu, const GpuLaunch *launch) {
    const SbKernels *kernels = gpu->job->stages[launch->stage].kernels;
    size_t columns = 2 * ((size_t)kernels->input_count + kernels->output_count) + 1;
    size_t *room = calloc(columns, sizeof *room);
    GpuResult result = GPU_FULL;
    pthread_mutex_lock(&gpu->turn);
    if (gpu->lost) result = GPU_LOST;
    else if (room && fits_arguments(kernels)) result = run(gpu, launch, room);
    pthread_mutex_unlock(&gpu->turn);
    free(room);
    return result;
}
