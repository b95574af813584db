// A CUDA driver that has no GPU: kernels run on the host, by their names.
//
// The library $FAKE_CUDA_KERNELS has a function launch_NAME for each kernel (tests/cuda/run.py).
// Memory of the GPU lies between guards, which each copy and launch looks at. It is poisoned when
// it is taken. $FAKE_CUDA_MEMORY says how many bytes there are, $FAKE_CUDA_FAIL=N that launch N
// fails. $FAKE_CUDA_LOG gets a line for each launch.
//
// It proves which calls a job makes, with what sizes and in what order. It proves nothing of speed.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 2, INVALID = 1, NOT_FOUND = 500, ILLEGAL = 700, GUARD = 256, BLOCKS_MAX = 64 };

static struct { char *memory; size_t bytes; } blocks[BLOCKS_MAX];
static size_t taken;
static int launches, broken;
static void *kernels;

#define EXPORT __attribute__((visibility("default")))

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

EXPORT int cuInit(unsigned flags) {
    const char *path = getenv("FAKE_CUDA_KERNELS");
    kernels = path ? dlopen(path, RTLD_NOW) : NULL;
    return flags ? INVALID : kernels ? 0 : 100;
}
EXPORT int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
EXPORT int cuDeviceGetCount(int *count) { return *count = 1, 0; }
EXPORT int cuDeviceGet(int *device, int number) { return *device = number, number ? 101 : 0; }
EXPORT int cuDeviceGetName(char *name, int bytes, int device) {
    return snprintf(name, (size_t)bytes, "fake device %d", device), 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 16 ? 2 : attribute == 75 ? 9 : 0;
    return device ? 101 : 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    return *context = &taken, device ? 101 : 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return device ? 101 : check_guards(); }
EXPORT int cuCtxSetCurrent(void *context) { return context == &taken ? 0 : 201; }
EXPORT int cuCtxSynchronize(void) { return check_guards(); }
EXPORT int cuModuleLoadData(void **module, const void *image) {
    *module = &launches;  // A cubin, or PTX.
    return memcmp(image, "\177ELF", 4) == 0 || strstr(image, ".version") ? 0 : 200;
}
EXPORT int cuModuleUnload(void *module) { return module == &launches ? 0 : INVALID; }
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "launch_%s", name);
    *function = dlsym(kernels, symbol);
    return module != &launches ? INVALID : *function ? 0 : NOT_FOUND;
}

EXPORT int cuMemAlloc_v2(uint64_t *at, size_t bytes) {
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
EXPORT int cuMemFree_v2(uint64_t at) {
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
EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    char *there = find(to, bytes);
    if (there) memcpy(there, from, bytes);
    return there ? check_guards() : INVALID;
}
EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    const char *there = find(from, bytes);
    if (there) memcpy(to, there, bytes);
    return there ? check_guards() : INVALID;
}
EXPORT int cuMemsetD8_v2(uint64_t at, unsigned char byte, size_t count) {
    char *there = find(at, count);
    if (there) memset(there, byte, count);
    return there ? check_guards() : INVALID;
}

EXPORT int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                          void **arguments, void **extra) {
    const char *fail = getenv("FAKE_CUDA_FAIL"), *log = getenv("FAKE_CUDA_LOG");
    FILE *file = log ? fopen(log, "a") : NULL;
    long long rows = *(long long *)arguments[0];
    if (file) fprintf(file, "launch %u x %u of %lld rows\n", x, block_x, rows);
    if (file) fclose(file);
    launches++;
    if (fail && launches == atoi(fail)) broken = ILLEGAL;  // As a fault that sticks to the context.
    if (broken) return 0;
    if (!function || !x || y != 1 || z != 1 || block_x < 1 || block_x > 1024 || block_y != 1 ||
        block_z != 1 || shared || stream || extra)
        return INVALID;
    void (*launch)(const void *, unsigned, unsigned, unsigned long long);
    memcpy(&launch, &function, sizeof launch);
    launch(arguments[0], x, block_x, (unsigned long long)launches);
    return check_guards();
}

EXPORT int cuGetErrorString(int error, const char **text) {
    *text = error == MEMORY    ? "out of memory"
            : error == ILLEGAL ? "an illegal memory access"
                               : "an error";
    return 0;
}
