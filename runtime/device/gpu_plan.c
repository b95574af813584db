// What JOB --plan says of the memory of GPUs.
//
// Nobody opens a GPU for it: the slots are those of one GPU, of which several have a share each.
#include "runtime/device/gpu.h"
#include "runtime/device/gpu_layout.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t bytes_there(const SbKernels *kernels, int64_t rows, size_t *room) {
    GpuLayout layout;
    gpu_lay(&layout, kernels, rows, room);
    return (int64_t)gpu_device_bytes(&layout);
}

// Of a launch in a slot that has so many bytes of the host.
static int64_t most_rows(const SbKernels *kernels, int64_t slot_bytes) {
    int64_t wanted = kernels->rows ? kernels->rows : GPU_LAUNCH_ROWS;
    int64_t most = gpu_rows_within(kernels, slot_bytes);
    return most < wanted ? most : wanted;
}

static void add_row(TextTable *table, const char *what, int64_t least, int64_t full) {
    enum { KIB = 1024 };
    sb_table_word(table, what);
    sb_text_format(sb_table_cell(table), "%lld KiB", (long long)(least + KIB - 1) / KIB);
    sb_text_format(sb_table_cell(table), "%lld KiB", (long long)(full + KIB - 1) / KIB);
}

// The widest stage fills the slot.
static int64_t add_stages(TextTable *table, const SbJob *job, int64_t slot_bytes) {
    int64_t widest = 0;
    for (uint32_t s = 0; s < job->stage_count; s++) {
        const SbKernels *kernels = job->stages[s].kernels;
        size_t *room = kernels ? calloc(gpu_layout_room(kernels), sizeof *room) : nullptr;
        char what[48];
        if (!room) continue;
        int64_t full = bytes_there(kernels, most_rows(kernels, slot_bytes), room);
        snprintf(what, sizeof what, "stage %u: a slot", s);
        add_row(table, what, bytes_there(kernels, 1, room), full);
        if (full > widest) widest = full;
        free(room);
    }
    return widest;
}

static void say_share(const GpuSetup *setup, Text *text) {
    GpuSlots slots = gpu_size_slots(setup);
    int64_t share = setup->device_memory / slots.count;
    sb_text_format(text, "--gpu-memory=%lld: %u slot%s", (long long)setup->device_memory,
                   slots.count, slots.count == 1 ? "" : "s");
    for (uint32_t s = 0; s < setup->job->stage_count; s++) {
        const SbKernels *kernels = setup->job->stages[s].kernels;
        size_t *room = kernels ? calloc(gpu_layout_room(kernels), sizeof *room) : nullptr;
        if (!room) continue;
        int64_t most = most_rows(kernels, slots.bytes);
        int64_t rows = gpu_rows_there(kernels, most + 1, (size_t)share, room);
        sb_text_format(text, "; stage %u launches %lld of %lld rows at a time", s,
                       (long long)rows, (long long)most);
        free(room);
    }
    sb_text_add(text, "\n", 1);
}

void gpu_print_plan(const GpuSetup *setup, Text *text) {
    GpuSetup full = *setup;
    full.memory = gpu_bytes_most(setup->job, setup->slots);
    full.device_memory = 0;
    if (!full.memory) return;
    GpuSlots slots = gpu_size_slots(&full);
    TextTable table = {.columns = 3, .left = 1};
    sb_table_word(&table, "memory of a GPU");
    sb_table_word(&table, "minimum");
    sb_table_word(&table, "full speed");
    int64_t widest = add_stages(&table, setup->job, slots.bytes);
    add_row(&table, "--gpu-memory", gpu_least_launch(setup->job, true), widest * slots.count);
    sb_table_print(&table, text);
    sb_table_close(&table);
    sb_text_format(text, "minimum: one slot, a row at a time; full speed: %u slots, which several "
                   "GPUs share\n", slots.count);
    if (setup->device_memory) {
        full.device_memory = setup->device_memory;
        say_share(&full, text);
    } else {
        static const char none[] =
            "without --gpu-memory slots grow as their launches need; where the GPU has no more, "
            "launches take fewer rows\n";
        sb_text_add(text, none, sizeof none - 1);
    }
    static const char beside[] =
        "beside --memory and --gpu-memory: the process of each GPU, with what the CUDA driver "
        "takes for itself\n";
    sb_text_add(text, beside, sizeof beside - 1);
}
