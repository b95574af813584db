#include "runtime/device/driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *symbol;
    size_t      at;
} calls[] = {
#define X(name, symbol, parameters) {symbol, offsetof(Driver, name)},
    DRIVER_CALLS(X)
#undef X
};

bool driver_open(Driver *driver, char why[GPU_WHY_BYTES]) {
    static const char name[] = "libcuda.so.1";
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);  // Until the process ends.
    if (!library) return snprintf(why, GPU_WHY_BYTES, "there is no CUDA driver (%s)", name), false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *call = dlsym(library, calls[i].symbol);
        if (!call)
            return snprintf(why, GPU_WHY_BYTES, "the CUDA driver is too old: it has no %s",
                            calls[i].symbol), false;
        memcpy((char *)driver + calls[i].at, &call, sizeof call);
    }
    return driver_good(driver, driver->init(0), "the CUDA driver", why);
}

bool driver_good(const Driver *driver, int error, const char *what, char why[GPU_WHY_BYTES]) {
    const char *text = nullptr;
    if (!error) return true;
    if (driver->text(error, &text) || !text) text = "no reason is known";
    return snprintf(why, GPU_WHY_BYTES, "%s fails: %s (error %d)", what, text, error), false;
}
