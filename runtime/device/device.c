#include "runtime/device/device.h"

#include "runtime/device/cpu.h"

#include <string.h>

static const Device devices[DEVICE_KINDS] = {
#define DEVICE(kind, name, count, memory) [DEVICE_##kind] = {DEVICE_##kind, name, count, memory},
#include "runtime/device/devices.def"
#undef DEVICE
};

const Device *device_of(DeviceKind kind) { return &devices[kind]; }

const Device *device_named(SbStr name) {
    for (size_t i = 0; i < DEVICE_KINDS; i++) {
        size_t len = strlen(devices[i].name);
        if ((size_t)name.len == len && memcmp(name.ptr, devices[i].name, len) == 0)
            return &devices[i];
    }
    return nullptr;
}
