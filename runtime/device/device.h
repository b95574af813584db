// Device: a kind of processor that tasks may run on.
#ifndef SBC_RUNTIME_DEVICE_DEVICE_H
#define SBC_RUNTIME_DEVICE_DEVICE_H

#include "runtime/abi/value.h"

typedef enum DeviceKind {
#define DEVICE(kind, name, count, memory) DEVICE_##kind,
#include "runtime/device/devices.def"
#undef DEVICE
    DEVICE_KINDS,
} DeviceKind;

typedef struct Device {
    DeviceKind  kind;
    const char *name;           // Of the resource that a step asks for: with (gpus = 1).
    uint32_t  (*count)(void);   // How many the process may use. Asks the system each time.
    int64_t   (*memory)(void);  // Bytes that a job may hold there; nullptr: nobody counts them.
} Device;

const Device *device_of(DeviceKind kind);
// The device whose resource has this name; nullptr: the name is the user's own.
const Device *device_named(SbStr name);

#endif
