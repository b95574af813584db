#include "runtime/observe/gpu_figures.h"

#include "runtime/report.h"

#include <stddef.h>
#include <string.h>

// The works, as programs and people call them.
static const struct {
    const char *field, *head;
} works[GPU_WORKS] = {
    [GPU_COPIES_IN] = {"copies_in", "copies in"},
    [GPU_KERNELS] = {"kernels", "kernels"},
    [GPU_COPIES_OUT] = {"copies_out", "copies out"},
};

// Numbers that only grow.
static const struct {
    const char *field, *head, *metric, *help;
    size_t      at;
} counts[] = {
    {"launches", "launches", "sbc_gpu_launches_total", "Launches that were made.",
     offsetof(GpuFigures, launches)},
    {"rows", "rows", "sbc_gpu_rows_total", "Rows of launches.", offsetof(GpuFigures, rows)},
    {"bytes_in", "bytes in", "sbc_gpu_in_bytes_total", "Bytes that were copied to the GPU.",
     offsetof(GpuFigures, bytes_in)},
    {"bytes_out", "bytes out", "sbc_gpu_out_bytes_total", "Bytes that were copied from it.",
     offsetof(GpuFigures, bytes_out)},
};
enum { COUNTS = sizeof counts / sizeof *counts };

static int64_t count_of(const GpuFigures *figures, int c) {
    int64_t value;
    memcpy(&value, (const char *)figures + counts[c].at, sizeof value);
    return value;
}

static double seconds_of(int64_t ns) { return (double)ns / 1e9; }

static double gaps(const GpuFigures *figures, double seconds) {
    double busy = seconds_of(figures->busy_ns);
    return seconds > busy ? seconds - busy : 0;
}

static SbStr name_of(const GpuFigures *figures) {
    return (SbStr){figures->name, (int64_t)strnlen(figures->name, sizeof figures->name)};
}

// ---- as text ------------------------------------------------------------------------------------

static void add_heads(TextTable *table) {
    sb_table_word(table, "gpu");
    sb_table_word(table, "busy");
    for (int w = 0; w < GPU_WORKS; w++) sb_table_word(table, works[w].head);
    sb_table_word(table, "gaps");
    for (int c = 0; c < COUNTS; c++) sb_table_word(table, counts[c].head);
}

static void add_share(TextTable *table, double part, double seconds) {
    sb_text_format(sb_table_cell(table), "%.0f %%", seconds > 0 ? 100 * part / seconds : 0);
}

void gpu_figures_print(Gpu *gpu, double seconds, Text *text) {
    if (!gpu_count(gpu)) return;
    TextTable table = {.columns = 3 + GPU_WORKS + COUNTS, .left = 1};
    add_heads(&table);
    for (uint32_t g = 0; g < gpu_count(gpu); g++) {
        GpuFigures figures = gpu_figures(gpu, g);
        SbStr name = name_of(&figures);
        sb_text_format(sb_table_cell(&table), "%u: %.*s", g, (int)name.len, name.ptr);
        add_share(&table, seconds_of(figures.busy_ns), seconds);
        for (int w = 0; w < GPU_WORKS; w++)
            add_share(&table, seconds_of(figures.work_ns[w]), seconds);
        add_share(&table, gaps(&figures, seconds), seconds);
        for (int c = 0; c < COUNTS; c++) sb_table_figure(&table, count_of(&figures, c));
    }
    sb_table_print(&table, text);
    sb_table_close(&table);
    sb_text_str(text, "\n");
}

// ---- as JSON ------------------------------------------------------------------------------------

void gpu_figures_json(Gpu *gpu, double seconds, Text *text) {
    if (!gpu_count(gpu)) return;
    sb_text_str(text, ",\"gpus\":[");
    for (uint32_t g = 0; g < gpu_count(gpu); g++) {
        GpuFigures figures = gpu_figures(gpu, g);
        SbStr name = name_of(&figures);
        sb_text_format(text, "%s{\"gpu\":%u,\"name\":", g ? "," : "", g);
        sb_text_add_json(text, name.ptr, name.len);
        sb_text_format(text, ",\"works\":%s,\"seconds\":%.6f,\"busy\":%.6f",
                       figures.lost ? "false" : "true", seconds, seconds_of(figures.busy_ns));
        for (int w = 0; w < GPU_WORKS; w++)
            sb_text_format(text, ",\"%s\":%.6f", works[w].field, seconds_of(figures.work_ns[w]));
        sb_text_format(text, ",\"gaps\":%.6f", gaps(&figures, seconds));
        for (int c = 0; c < COUNTS; c++)
            log_add_number(text, counts[c].field, count_of(&figures, c));
        sb_text_str(text, "}");
    }
    sb_text_str(text, "]");
}

// ---- for Prometheus -----------------------------------------------------------------------------

static void head(Text *text, const char *name, const char *type, const char *help) {
    sb_text_format(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void gpu_figures_metrics(Gpu *gpu, Text *text) {
    uint32_t count = gpu_count(gpu);
    if (!count) return;
    head(text, "sbc_gpu_up", "gauge", "Does the GPU take launches?");
    for (uint32_t g = 0; g < count; g++)
        sb_text_format(text, "sbc_gpu_up{gpu=\"%u\"} %d\n", g, !gpu_figures(gpu, g).lost);
    for (int c = 0; c < COUNTS; c++) {
        head(text, counts[c].metric, "counter", counts[c].help);
        for (uint32_t g = 0; g < count; g++) {
            GpuFigures figures = gpu_figures(gpu, g);
            sb_text_format(text, "%s{gpu=\"%u\"} %lld\n", counts[c].metric, g,
                           (long long)count_of(&figures, c));
        }
    }
    head(text, "sbc_gpu_busy_seconds_total", "counter", "Time in which it copied or computed.");
    for (uint32_t g = 0; g < count; g++)
        sb_text_format(text, "sbc_gpu_busy_seconds_total{gpu=\"%u\"} %.6f\n", g,
                       seconds_of(gpu_figures(gpu, g).busy_ns));
    head(text, "sbc_gpu_work_seconds_total", "counter", "Time in which the work went on.");
    for (uint32_t g = 0; g < count; g++) {
        GpuFigures figures = gpu_figures(gpu, g);
        for (int w = 0; w < GPU_WORKS; w++)
            sb_text_format(text, "sbc_gpu_work_seconds_total{gpu=\"%u\",work=\"%s\"} %.6f\n", g,
                           works[w].field, seconds_of(figures.work_ns[w]));
    }
}

// ---- for the bound ------------------------------------------------------------------------------

BoundGpu gpu_figures_bound(Gpu *gpu) {
    BoundGpu all = {.count = gpu_count(gpu)};
    for (uint32_t g = 0; g < all.count; g++) {
        GpuFigures figures = gpu_figures(gpu, g);
        all.busy += seconds_of(figures.busy_ns);
        all.copies_in += seconds_of(figures.work_ns[GPU_COPIES_IN]);
        all.kernels += seconds_of(figures.work_ns[GPU_KERNELS]);
        all.copies_out += seconds_of(figures.work_ns[GPU_COPIES_OUT]);
    }
    return all;
}
