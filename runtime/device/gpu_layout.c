#include "runtime/device/gpu_layout.h"

enum : int64_t { ELEMENTS_MAX = 1 << 30 };

size_t gpu_layout_room(const SbKernels *kernels) {
    return 2 * ((size_t)kernels->input_count + kernels->output_count + kernels->temp_count) + 1;
}

static size_t place(size_t *end, size_t bytes) {
    size_t at = *end;
    *end = (at + bytes + GPU_ALIGN - 1) / GPU_ALIGN * GPU_ALIGN;
    return at;
}

static void lay_columns(const SbKernelColumn *columns, uint32_t count, int64_t rows, size_t *values,
                        size_t *valid, size_t *end) {
    for (uint32_t i = 0; i < count; i++) {
        int64_t elements = columns[i].elements ? columns[i].elements : 1;
        values[i] = place(end, (size_t)(rows * elements) * columns[i].size);
        valid[i] = columns[i].nullable ? place(end, (size_t)rows) : 0;
    }
}

void gpu_lay(GpuLayout *layout, const SbKernels *kernels, int64_t rows, size_t *room) {
    size_t end = GPU_HEAD_BYTES, device_end, status_end = GPU_ALIGN + (size_t)rows;
    layout->inputs = room;
    layout->inputs_valid = layout->inputs + kernels->input_count;
    layout->outputs = layout->inputs_valid + kernels->input_count;
    layout->outputs_valid = layout->outputs + kernels->output_count;
    lay_columns(kernels->inputs, kernels->input_count, rows, layout->inputs, layout->inputs_valid,
                &end);
    layout->inputs_end = end;
    lay_columns(kernels->outputs, kernels->output_count, rows, layout->outputs,
                layout->outputs_valid, &end);
    layout->groups = kernels->groups_bytes ? place(&end, (size_t)kernels->groups_bytes) : 0;
    layout->outputs_end = device_end = end;
    layout->temps = layout->outputs_valid + kernels->output_count;
    layout->temps_valid = layout->temps + kernels->temp_count;
    lay_columns(kernels->temps, kernels->temp_count, rows, layout->temps, layout->temps_valid,
                &device_end);
    if (kernels->keeps) {
        size_t segments = (size_t)rows / SB_KERNEL_SEGMENT + 1;
        layout->kept = place(&device_end, layout->outputs_end - layout->inputs_end);
        status_end = (status_end + GPU_ALIGN - 1) / GPU_ALIGN * GPU_ALIGN;
        layout->counts = place(&status_end, segments * sizeof(uint32_t));
    }
    layout->columns_bytes = device_end;
    layout->status_bytes = status_end;
    layout->status = place(&end, (size_t)rows);
    layout->bytes = end;
}

void gpu_lay_kept(GpuLayout *layout, const SbKernels *kernels, int64_t rows) {
    size_t end = layout->inputs_end;
    lay_columns(kernels->outputs, kernels->output_count, rows, layout->outputs,
                layout->outputs_valid, &end);
    layout->outputs_end = end;
}

static int64_t row_bytes(const SbKernelColumn *columns, uint32_t count) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += (columns[i].elements ? columns[i].elements : 1) * columns[i].size +
                 columns[i].nullable;
    return bytes;
}

// Kernels count elements in 32 bits with a sign, and step past the last one.
static int64_t rows_of_elements(const SbKernels *kernels) {
    int64_t most = 1;
    for (uint32_t i = 0; i < kernels->count; i++)
        if (kernels->items[i].elements > most) most = kernels->items[i].elements;
    return ELEMENTS_MAX / most;
}

// Each list may end with bytes that nobody uses.
int64_t gpu_rows_within(const SbKernels *kernels, int64_t bytes) {
    int64_t row = row_bytes(kernels->inputs, kernels->input_count) +
                  row_bytes(kernels->outputs, kernels->output_count) + 1;
    int64_t rest = bytes - GPU_HEAD_BYTES - GPU_ALIGN * (int64_t)gpu_layout_room(kernels);
    if (kernels->groups_bytes) rest -= kernels->groups_bytes + GPU_ALIGN;
    int64_t rows = rest > 0 ? rest / row : 0, most = rows_of_elements(kernels);
    return rows < most ? rows : most;
}

int64_t gpu_rows_there(const SbKernels *kernels, int64_t rows, size_t bytes, size_t *room) {
    int64_t good = 0, bad = rows;
    while (bad - good > 1) {
        GpuLayout layout;
        int64_t middle = good + (bad - good) / 2;
        gpu_lay(&layout, kernels, middle, room);
        if (gpu_device_bytes(&layout) <= bytes) good = middle;
        else bad = middle;
    }
    return good;
}

size_t gpu_param_words(const SbKernels *kernels) {
    size_t words = 0;
    for (uint32_t k = 0; k < kernels->count; k++) words += kernels->items[k].param_count;
    return words;
}
