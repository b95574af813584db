#include "codegen/cuda/present.h"

#include <dlfcn.h>
#include <string.h>

enum { MAJOR = 75, MINOR = 76 };  // Attributes of a device.

// The functions of the CUDA driver that are called. Each returns 0, or an error.
typedef struct Calls {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*device)(int *device, int number);
    int (*attribute)(int *value, int attribute, int device);
} Calls;

static bool find_calls(Calls *calls) {
    static const struct {
        const char *symbol;
        size_t      at;
    } names[] = {
        {"cuInit", offsetof(Calls, init)},
        {"cuDeviceGetCount", offsetof(Calls, count)},
        {"cuDeviceGet", offsetof(Calls, device)},
        {"cuDeviceGetAttribute", offsetof(Calls, attribute)},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // Until the process ends.
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++) {
        void *call = dlsym(library, names[i].symbol);
        if (!call) return false;
        memcpy((char *)calls + names[i].at, &call, sizeof call);
    }
    return library;
}

static void add(CudaPresent *all, unsigned architecture) {
    size_t at = 0;
    while (at < all->count && all->items[at] < architecture) at++;
    if (at < all->count && all->items[at] == architecture) return;
    if (all->count == CUDA_PRESENT_MAX) return;
    memmove(all->items + at + 1, all->items + at, (all->count++ - at) * sizeof *all->items);
    all->items[at] = architecture;
}

CudaPresent cuda_present(void) {
    CudaPresent all = {0};
    Calls calls;
    int count = 0;
    if (!find_calls(&calls) || calls.init(0) || calls.count(&count)) return all;
    for (int i = 0; i < count; i++) {
        int device, major, minor;
        if (!calls.device(&device, i) && !calls.attribute(&major, MAJOR, device) &&
            !calls.attribute(&minor, MINOR, device))
            add(&all, (unsigned)(major * 10 + minor));
    }
    return all;
}
