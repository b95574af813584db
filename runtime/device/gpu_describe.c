// What `JOB --devices` says of GPUs. The job itself opens the driver: nothing runs.
#include "runtime/device/driver.h"
#include "runtime/device/gpu_choose.h"
#include "runtime/report.h"

#include <stdio.h>

static void describe_stages(const SbJob *job, unsigned architecture, Text *out) {
    bool some = false;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbStage *stage = &job->stages[s];
        if (!stage->gpu) continue;
        const SbKernelCode *code = stage->kernels ? gpu_choose(stage->kernels, architecture)
                                                  : nullptr;
        some = true;
        sb_text_format(out, "    '%.*s' ", (int)stage->label.len, stage->label.ptr);
        if (!stage->kernels) sb_text_format(out, "has no kernels, and runs on the CPU\n");
        else if (!code) sb_text_format(out, "has no code for it, and runs on the CPU\n");
        else
            sb_text_format(out, code->is_ptx ? "runs PTX of sm_%u, which the driver compiles\n"
                                             : "runs code for sm_%u\n", code->architecture);
    }
    if (!some) sb_text_format(out, "    no step of the program is for a GPU\n");
}

static void describe_device(const SbJob *job, const Driver *driver, int number, Text *out) {
    enum : size_t { MIB = 1 << 20 };
    int device = 0, major = 0, minor = 0, version = 0;
    size_t bytes = 0;
    char name[64] = "", why[GPU_WHY_BYTES];
    bool good = driver_good(driver, driver->device(&device, number), "it", why) &&
                driver_good(driver, driver->device_name(name, sizeof name, device), "it", why) &&
                driver_good(driver, driver->attribute(&major, DRIVER_MAJOR, device), "it", why) &&
                driver_good(driver, driver->attribute(&minor, DRIVER_MINOR, device), "it", why) &&
                driver_good(driver, driver->device_memory(&bytes, device), "it", why) &&
                driver_good(driver, driver->version(&version), "it", why);
    if (!good) {
        sb_text_format(out, "gpu %d: %s\n", number, why);
        return;
    }
    sb_text_format(out, "gpu %d: %s, sm_%d%d, %zu MiB, a driver for CUDA %d.%d\n", number, name,
                   major, minor, bytes / MIB, version / 1000, version % 1000 / 10);
    describe_stages(job, (unsigned)(major * 10 + minor), out);
}

void gpu_describe(const SbJob *job, Text *out) {
    Driver driver;
    char why[GPU_WHY_BYTES];
    int count = 0;
    if (!driver_open(&driver, why)) {
        sb_text_format(out, "no GPU: %s\n", why);
        sb_text_format(out, "  = fix: install the driver of NVIDIA; jobs need nothing else\n");
        return;
    }
    if (driver.count(&count) || count < 1) {
        sb_text_format(out, "no GPU: the CUDA driver sees none\n");
        return;
    }
    for (int i = 0; i < count; i++) describe_device(job, &driver, i, out);
}
