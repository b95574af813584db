// A CUDA driver that has no GPU: kernels run on the host, by their names.
//
// The library $FAKE_CUDA_KERNELS has a function launch_NAME for each kernel (tests/cuda/run.py).
// Memory of the GPU lies between guards, which each copy and launch looks at. It is poisoned when
// it is taken. Each stream is a list of what is to be done, which is done when it is waited for: a
// copy to the GPU has poison in its place until then, and so has what is copied back.
//
//   $FAKE_CUDA_MEMORY   how many bytes there are
//   $FAKE_CUDA_DEVICES  how many GPUs there are (1)
//   $FAKE_CUDA_ARCH     of what kind they are: 86 for sm_86 (90), or one for each: 75,90
//   $FAKE_CUDA_REFUSES  the number of one that cannot be used
//   $FAKE_CUDA_VERSION  the CUDA that it is for (13050); before 13.0 it knows no code
//   $FAKE_CUDA_REGISTERS  how many registers a thread of each kernel takes, whatever its code says
//   $FAKE_CUDA_FAIL=N   launch N of a process fails, and all that comes after it
//   $FAKE_CUDA_HANG=N   launch N of a process never ends
//   $FAKE_CUDA_ONCE     a file: where it is there, launches neither fail nor hang; the first that
//                       does makes it
//   $FAKE_CUDA_COPY_US, $FAKE_CUDA_KERNEL_US  how long each copy and each kernel takes at least
//   $FAKE_CUDA_ROW_US   how long a kernel takes for each row beside that
//   $FAKE_CUDA_LOG      gets a line for each launch, with the number of its GPU, and one for each
//                       code that is loaded
//
// A launch that asks for more than a GPU has ends in the error of the driver (limits.h).
//
// cublaslt.c, which multiplies in its streams, asks for addresses and adds work.
//
// It proves which calls a job makes, with what sizes and in what order. It proves nothing of speed.
#include "tests/cuda/limits.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MEMORY = 2, INVALID = 1, NOT_FOUND = 500, ILLEGAL = 700, GUARD = 256, BLOCKS_MAX = 1024,
       STREAMS_MAX = 256, DEEDS_MAX = 64, NOT_READY = 600,
       UNSUPPORTED = 222, INVALID_IMAGE = 200, NO_BINARY = 209 };

static struct { char *memory; size_t bytes; } blocks[BLOCKS_MAX];
static size_t taken;
static int launches, broken, used;  // The last: the GPU of the context.
static void *kernels;

enum { FUNCTIONS_MAX = 1024 };
typedef struct Function {
    void (*launch)(const void *, unsigned, unsigned, unsigned long long);
    Asked  uses;
} Function;
static Function functions[FUNCTIONS_MAX];
static int function_count;

#define EXPORT __attribute__((visibility("default")))

__attribute__((format(printf, 1, 2))) static void log_line(const char *format, ...) {
    const char *log = getenv("FAKE_CUDA_LOG");
    FILE *file = log ? fopen(log, "a") : NULL;
    va_list values;
    if (!file) return;
    va_start(values, format);
    vfprintf(file, format, values);
    va_end(values);
    fputc('\n', file);
    fclose(file);
}

static int check_guards(void) {
    for (int i = 0; i < BLOCKS_MAX; i++)
        for (int k = 0; blocks[i].memory && k < GUARD; k++)
            if (blocks[i].memory[k] != 0x5c ||
                blocks[i].memory[GUARD + blocks[i].bytes + k] != 0x5c)
                return ILLEGAL;
    return broken;
}

// An address must lie in a block with all its bytes.
static char *find(uint64_t at, size_t bytes) {
    for (int i = 0; i < BLOCKS_MAX; i++) {
        uint64_t first = (uint64_t)(uintptr_t)blocks[i].memory + GUARD;
        if (blocks[i].memory && at >= first && at + bytes <= first + blocks[i].bytes)
            return (char *)(uintptr_t)at;
    }
    return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // Of all below: one call at a time.

static int device_count(void) {
    const char *count = getenv("FAKE_CUDA_DEVICES");
    return count ? atoi(count) : 1;
}
static int is_device(int device) { return device >= 0 && device < device_count(); }

EXPORT int cuInit(unsigned flags) {
    const char *path = getenv("FAKE_CUDA_KERNELS");
    kernels = path ? dlopen(path, RTLD_NOW) : NULL;
    return flags ? INVALID : kernels ? 0 : 100;
}
static int cuda_version(void) {
    const char *version = getenv("FAKE_CUDA_VERSION");
    return version ? atoi(version) : 13050;
}
EXPORT int cuDriverGetVersion(int *version) { return *version = cuda_version(), 0; }
// NVRTC asks for tables of the driver where one is there. This one has its size and nothing else.
EXPORT int cuGetExportTable(const void **table, const void *id) {
    static const size_t size_alone = sizeof size_alone;
    return *table = &size_alone, id ? 0 : INVALID;
}
EXPORT int cuDeviceGetCount(int *count) { return *count = device_count(), 0; }
EXPORT int cuDeviceGet(int *device, int number) {
    return *device = number, is_device(number) ? 0 : 101;
}
EXPORT int cuDeviceGetName(char *name, int bytes, int device) {
    return snprintf(name, (size_t)bytes, "fake device %d", device), 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    return *bytes = (size_t)1 << 30, is_device(device) ? 0 : 101;
}
static int architecture_of(int device) {
    const char *items = getenv("FAKE_CUDA_ARCH");
    for (const char *next; items && device > 0 && (next = strchr(items, ',')); device--)
        items = next + 1;
    return items ? atoi(items) : 90;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    int architecture = architecture_of(device);
    *value = attribute == 16   ? 2
             : attribute == 75 ? architecture / 10
             : attribute == 76 ? architecture % 10
                               : 0;
    return is_device(device) ? 0 : 101;
}
EXPORT int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    return is_device(device) && flags == 4 ? 0 : INVALID;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    const char *refuses = getenv("FAKE_CUDA_REFUSES");
    used = device;
    return *context = &taken, is_device(device) && (!refuses || device != atoi(refuses)) ? 0 : 101;
}
EXPORT int cuCtxSetCurrent(void *context) { return context == &taken ? 0 : 201; }
// A cubin has its architecture in its flags: in the second byte of CUDA 13, before in the first.
static int cubin_architecture(const unsigned char *cubin) {
    return cubin[8] >= 8 ? cubin[49] : cubin[48];
}
static int load_cubin(int architecture, int here) {
    log_line("code of gpu %d: a cubin of sm_%d", used, architecture);
    return architecture / 10 == here / 10 && architecture <= here ? 0 : NO_BINARY;
}
static int load_ptx(const char *text, int here) {
    const char *target = strstr(text, ".target sm_");
    int architecture = target ? atoi(target + 11) : 0;
    log_line("code of gpu %d: PTX of sm_%d", used, architecture);
    return architecture && architecture <= here ? 0 : INVALID_IMAGE;
}
EXPORT int cuModuleLoadData(void **module, const void *image) {
    memcpy(module, &image, sizeof image);  // A cubin, or PTX.
    if (cuda_version() < 13000) return UNSUPPORTED;
    int here = architecture_of(used);
    bool is_cubin = memcmp(image, "\177ELF", 4) == 0;
    return is_cubin ? load_cubin(cubin_architecture(image), here) : load_ptx(image, here);
}
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "launch_%s", name);
    void *found = dlsym(kernels, symbol);
    if (!module || function_count == FUNCTIONS_MAX) return INVALID;
    if (!found) return NOT_FOUND;
    Function *is = &functions[function_count++];
    memcpy(&is->launch, &found, sizeof is->launch);
    cubin_uses(module, name, architecture_of(used), &is->uses);
    return *function = is, 0;
}

// ---- memory -------------------------------------------------------------------------------------

static int take(uint64_t *at, size_t bytes) {
    const char *limit = getenv("FAKE_CUDA_MEMORY");
    if (!bytes) return INVALID;
    if (limit && taken + bytes > strtoull(limit, NULL, 10)) return MEMORY;
    for (int i = 0; i < BLOCKS_MAX; i++) {
        if (blocks[i].memory) continue;
        blocks[i].bytes = bytes;
        blocks[i].memory = aligned_alloc(256, (bytes + 2 * GUARD + 255) / 256 * 256);
        memset(blocks[i].memory, 0x5c, bytes + 2 * GUARD);
        memset(blocks[i].memory + GUARD, 0xdb, bytes);
        taken += bytes;
        *at = (uint64_t)(uintptr_t)blocks[i].memory + GUARD;
        return 0;
    }
    return MEMORY;
}
EXPORT int cuMemAlloc_v2(uint64_t *at, size_t bytes) {
    pthread_mutex_lock(&lock);
    int error = take(at, bytes);
    pthread_mutex_unlock(&lock);
    return error;
}

static int give(uint64_t at) {
    for (int i = 0; i < BLOCKS_MAX; i++) {
        if (!blocks[i].memory || (uint64_t)(uintptr_t)blocks[i].memory + GUARD != at) continue;
        int error = check_guards();
        taken -= blocks[i].bytes;
        free(blocks[i].memory);
        blocks[i].memory = NULL;
        return error;
    }
    return INVALID;
}
EXPORT int cuMemFree_v2(uint64_t at) {
    pthread_mutex_lock(&lock);
    int error = give(at);
    pthread_mutex_unlock(&lock);
    return error;
}

EXPORT int cuMemGetInfo_v2(size_t *left, size_t *all) {
    const char *limit = getenv("FAKE_CUDA_MEMORY");
    pthread_mutex_lock(&lock);
    *all = limit ? strtoull(limit, NULL, 10) : (size_t)1 << 30;
    *left = *all > taken ? *all - taken : 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT int cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags) {
    return flags || !at || (uintptr_t)at % 4096 || !bytes ? INVALID : 0;
}

// ---- streams ------------------------------------------------------------------------------------

typedef struct Event {
    long long at_ns;
    int       waits;   // Streams in which it stands and that have not come to it.
} Event;

// What a stream has still to do: a copy or a fill, a launch, or an event.
typedef struct Deed {
    Event      *event;
    char       *to;
    const char *from;
    size_t      bytes;
    int         byte;
    void      (*launch)(const void *, unsigned, unsigned, unsigned long long);
    char        arguments[4096];
    unsigned    blocks, lanes;
    int         number;
} Deed;

typedef struct Stream {
    int  count;
    Deed deeds[DEEDS_MAX];
} Stream;

static Stream *streams[STREAMS_MAX];

EXPORT int cuStreamCreate(void **stream, unsigned flags) {
    if (flags != 1) return INVALID;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < STREAMS_MAX && streams[i]) i++;
    if (i < STREAMS_MAX) *stream = streams[i] = calloc(1, sizeof(Stream));
    pthread_mutex_unlock(&lock);
    return i < STREAMS_MAX ? 0 : MEMORY;
}

static Deed *add(void *stream) {
    for (int i = 0; i < STREAMS_MAX; i++)
        if (stream && streams[i] == stream && streams[i]->count < DEEDS_MAX) {
            Deed *deed = &streams[i]->deeds[streams[i]->count++];
            *deed = (Deed){0};
            return deed;
        }
    return NULL;
}

static int add_copy(void *stream, char *to, const char *from, size_t bytes) {
    Deed *deed = to && from ? add(stream) : NULL;
    if (!deed) return INVALID;
    memset(to, 0xa7, bytes);
    deed->to = to;
    deed->from = from;
    deed->bytes = bytes;
    return check_guards();
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    pthread_mutex_lock(&lock);
    int error = add_copy(stream, find(to, bytes), from, bytes);
    pthread_mutex_unlock(&lock);
    return error;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    pthread_mutex_lock(&lock);
    int error = add_copy(stream, to, find(from, bytes), bytes);
    pthread_mutex_unlock(&lock);
    return error;
}
EXPORT int cuMemsetD8Async(uint64_t at, unsigned char byte, size_t count, void *stream) {
    pthread_mutex_lock(&lock);
    char *to = find(at, count);
    Deed *deed = to ? add(stream) : NULL;
    if (deed) *deed = (Deed){.to = to, .bytes = count, .byte = byte};
    pthread_mutex_unlock(&lock);
    return deed ? 0 : INVALID;
}

EXPORT int cuEventCreate(void **event, unsigned flags) {
    *event = calloc(1, sizeof(Event));  // Until the process ends.
    return flags || !*event ? INVALID : 0;
}
EXPORT int cuEventRecord(void *event, void *stream) {
    pthread_mutex_lock(&lock);
    Deed *deed = event ? add(stream) : NULL;
    if (deed) deed->event = event;
    if (deed) deed->event->waits++;
    pthread_mutex_unlock(&lock);
    return deed ? 0 : INVALID;
}
EXPORT int cuEventElapsedTime(float *milliseconds, const Event *from, const Event *to) {
    pthread_mutex_lock(&lock);
    int error = !from->at_ns || !to->at_ns ? INVALID : from->waits || to->waits ? NOT_READY : 0;
    if (!error) *milliseconds = (float)((double)(to->at_ns - from->at_ns) / 1e6);
    pthread_mutex_unlock(&lock);
    return error;
}

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

// So many times the microseconds that the variable says.
static void take_time(const char *variable, long long times) {
    const char *least = getenv(variable);
    if (!least) return;
    const long long ns = 1000 * times * atoll(least);
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

// Does launch `number` do what the variable says? Where it is done once only, the first one does.
static int befalls(const char *variable, int number) {
    const char *at = getenv(variable), *once = getenv("FAKE_CUDA_ONCE");
    if (!at || number != atoi(at)) return 0;
    if (!once) return 1;
    int file = open(once, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
    return file >= 0;
}

static void do_deed(const Deed *deed) {
    if (deed->event) {
        deed->event->at_ns = now_ns();
        deed->event->waits--;
    } else if (deed->launch) {
        take_time("FAKE_CUDA_KERNEL_US", 1);
        take_time("FAKE_CUDA_ROW_US", *(const long long *)(const void *)deed->arguments);
        if (befalls("FAKE_CUDA_FAIL", deed->number)) broken = ILLEGAL;  // It sticks to the context.
        if (befalls("FAKE_CUDA_HANG", deed->number)) for (;;) pause();
        if (!broken)
            deed->launch(deed->arguments, deed->blocks, deed->lanes, (unsigned)deed->number);
    } else if (deed->from) {
        take_time("FAKE_CUDA_COPY_US", 1);
        memcpy(deed->to, deed->from, deed->bytes);
    } else memset(deed->to, deed->byte, deed->bytes);
}
EXPORT int cuStreamSynchronize(void *stream) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < STREAMS_MAX && (!stream || streams[i] != stream)) i++;
    for (int k = 0; i < STREAMS_MAX && k < streams[i]->count; k++)
        if (!broken) do_deed(&streams[i]->deeds[k]);
    if (i < STREAMS_MAX) streams[i]->count = 0;
    int error = i < STREAMS_MAX ? check_guards() : INVALID;
    pthread_mutex_unlock(&lock);
    return error;
}

// The bytes of a kernel's arguments are not known here: as many are kept as a page of memory has.
EXPORT int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                          void **arguments, void **extra) {
    const Function *is = function;
    if (!is || extra) return INVALID;
    Asked asked = {{x, y, z}, {block_x, block_y, block_z}, is->uses.registers,
                   is->uses.shared + shared};
    const char *registers = getenv("FAKE_CUDA_REGISTERS");
    if (registers) asked.registers = strtoull(registers, NULL, 10);
    int wrong = judge_limits(&asked);
    if (wrong) return wrong;
    pthread_mutex_lock(&lock);
    long long rows = *(long long *)arguments[0];
    log_line("gpu %d: launch %u x %u of %lld rows", used, x, block_x, rows);
    Deed *deed = add(stream);
    if (deed) {
        deed->launch = is->launch;
        memcpy(deed->arguments, arguments[0], sizeof deed->arguments);
        deed->blocks = x;
        deed->lanes = block_x;
        deed->number = ++launches;
    }
    pthread_mutex_unlock(&lock);
    return deed ? 0 : INVALID;
}

// What cuBLASLt would launch: `work` gets a copy of so many bytes.
EXPORT int fake_work(void *stream,
                     void (*work)(const void *, unsigned, unsigned, unsigned long long),
                     const void *bytes, size_t count) {
    pthread_mutex_lock(&lock);
    Deed *deed = count <= sizeof deed->arguments ? add(stream) : NULL;
    if (deed) {
        deed->launch = work;
        memcpy(deed->arguments, bytes, count);
        deed->blocks = deed->lanes = 1;
        deed->number = ++launches;
    }
    pthread_mutex_unlock(&lock);
    return deed ? 0 : INVALID;
}
EXPORT void *fake_find(uint64_t at, size_t bytes) {
    pthread_mutex_lock(&lock);
    void *found = find(at, bytes);
    pthread_mutex_unlock(&lock);
    return found;
}

EXPORT int cuGetErrorString(int error, const char **text) {
    *text = error == MEMORY        ? "out of memory"
            : error == ILLEGAL     ? "an illegal memory access"
            : error == LIMIT_RESOURCES ? "too many resources requested for launch"
            : error == UNSUPPORTED ? "code of an unsupported toolchain"
                                   : "an error";
    return 0;
}
