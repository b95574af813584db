#include "runtime/observe/trace.h"

#include "runtime/observe/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char beginning[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";

// Microseconds since the job began.
static double micros(const Trace *trace, int64_t at_ns) {
    return (double)(at_ns - trace->watch->begun_ns) / 1e3;
}

// Threads of workers are numbered after those of this process, worker by worker.
static uint32_t worker_of(const Trace *trace, uint32_t thread) {
    uint32_t own = trace->machine->pool.parallel.threads;
    return thread < own ? 0 : 1 + (thread - own) / trace->machine->workers.threads;
}

static void begin_of_process(Trace *trace, const char *phase, uint32_t worker, uint32_t thread) {
    fprintf(trace->file, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", trace->events++ ? "," : "",
            phase, 1 + worker, thread);
}

static void begin_event(Trace *trace, const char *phase, uint32_t thread) {
    begin_of_process(trace, phase, worker_of(trace, thread), thread);
}

static void name_track(Trace *trace, const char *what, uint32_t thread, const char *name) {
    begin_event(trace, "M", thread);
    fprintf(trace->file, ",\"name\":\"%s\",\"args\":{\"name\":\"%s\"}}", what, name);
}

static void name_slots(Trace *trace, uint32_t first, uint32_t count) {
    for (uint32_t t = 0; t < count; t++) {
        char name[32];
        snprintf(name, sizeof name, "slot %u", t);
        name_track(trace, "thread_name", first + t, name);
    }
}

// GPUs are numbered after the workers.
static uint32_t gpu_process_number(const Trace *trace, uint32_t gpu) {
    return trace->machine->workers.count + 1 + gpu;
}

static void name_gpu(Trace *trace, uint32_t gpu) {
    GpuFigures figures = gpu_figures(trace->machine->gpu, gpu);
    Text name = {0};
    sb_text_add_json(&name, figures.name, (int64_t)strnlen(figures.name, sizeof figures.name));
    begin_of_process(trace, "M", gpu_process_number(trace, gpu), 0);
    fprintf(trace->file, ",\"name\":\"process_name\",\"args\":{\"name\":\"gpu %u: %.*s}}", gpu,
            (int)name.len - 1, name.ptr + 1);
    sb_text_close(&name);
}

bool trace_is_one(const char *path) {
    char bytes[sizeof beginning - 1];
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool is = fread(bytes, 1, sizeof bytes, file) == sizeof bytes &&
              memcmp(bytes, beginning, sizeof bytes) == 0;
    fclose(file);
    return is;
}

// What stands under the name goes first: under other names it keeps its bytes.
bool trace_open(Trace *trace, const char *path, Trouble *trouble) {
    struct stat is;
    if (stat(path, &is) == 0 && S_ISREG(is.st_mode)) unlink(path);
    trace->file = fopen(path, "we");
    if (!trace->file)
        return trouble_set(trouble, TROUBLE_TRACE, "cannot create '%s': %s", path, strerror(errno));
    fputs(beginning, trace->file);
    name_track(trace, "process_name", 0, "job");
    name_slots(trace, 0, trace->machine->pool.parallel.threads);
    uint32_t first = trace->machine->pool.parallel.threads;
    const WorkerPlan *workers = &trace->machine->workers;
    for (uint32_t n = 1; n <= workers->count; n++, first += workers->threads) {
        char name[32];
        snprintf(name, sizeof name, "worker %u", n);
        name_track(trace, "process_name", first, name);
        name_slots(trace, first, workers->threads);
    }
    for (uint32_t g = 0; g < gpu_count(trace->machine->gpu); g++) name_gpu(trace, g);
    trace->losses = calloc(3 * (size_t)workers->count + 1, sizeof *trace->losses);
    trace->restarts = trace->losses ? trace->losses + workers->count : nullptr;
    trace->verdicts = trace->losses ? trace->restarts + workers->count : nullptr;
    return trace->losses || trouble_no_memory(trouble, "for the trace");
}

// An arrow from where rows were made to the beginning of the work that takes them. The end of the
// span that made them lies on its border: the arrow begins just inside.
static void add_arrow(Trace *trace, const MadeBy *from, const WatchSpan *to) {
    double begin = micros(trace, from->at_ns) - 0.001, end = micros(trace, to->begin_ns);
    uint64_t id = ++trace->arrows;
    begin_event(trace, "s", from->thread);
    fprintf(trace->file, ",\"name\":\"rows\",\"cat\":\"rows\",\"id\":%" PRIu64 ",\"ts\":%.3f}", id,
            begin);
    begin_event(trace, "f", to->thread);
    fprintf(trace->file,
            ",\"name\":\"rows\",\"cat\":\"rows\",\"bp\":\"e\",\"id\":%" PRIu64 ",\"ts\":%.3f}", id,
            end > begin ? end : begin);
}

static void add_span(Trace *trace, const WatchSpan *span) {
    SbStr label = trace->what->stages[span->stage].label;
    Text name = {0};
    sb_text_add_json(&name, label.ptr, label.len);
    begin_event(trace, "X", span->thread);
    fprintf(trace->file, ",\"name\":%.*s,\"cat\":\"%s\",\"ts\":%.3f,\"dur\":%.3f", (int)name.len,
            name.ptr, watch_work_name(span->work), micros(trace, span->begin_ns),
            (double)(span->end_ns - span->begin_ns) / 1e3);
    fprintf(trace->file, ",\"args\":{\"work\":\"%s\",\"stage\":%u,\"rows\":%lld}}",
            watch_work_name(span->work), span->stage, (long long)span->rows);
    sb_text_close(&name);
    for (int side = 0; side < 2; side++)
        if (span->from[side].at_ns) add_arrow(trace, &span->from[side], span);
}

static void add_counters(Trace *trace) {
    int64_t queued = 0;
    for (uint32_t s = 0; s < trace->what->stage_count; s++)
        queued += atomic_load(&trace->watch->stages[s].queued);
    begin_event(trace, "C", 0);
    fprintf(trace->file, ",\"name\":\"memory\",\"ts\":%.3f,\"args\":{\"used\":%lld}}",
            micros(trace, log_clock_ns()), (long long)sb_memory_held(&trace->machine->memory));
    begin_event(trace, "C", 0);
    fprintf(trace->file, ",\"name\":\"queued\",\"ts\":%.3f,\"args\":{\"bytes\":%lld}}",
            micros(trace, log_clock_ns()), (long long)queued);
}

// What has come to be so of a worker since the trace said it last.
static void add_change(Trace *trace, uint32_t worker, const char *what, int64_t now,
                       int64_t *said) {
    for (; *said < now; ++*said) {
        begin_of_process(trace, "i", worker, 0);
        fprintf(trace->file, ",\"name\":\"worker %u %s\",\"cat\":\"worker\",\"s\":\"p\","
                "\"ts\":%.3f}", worker, what, micros(trace, log_clock_ns()));
    }
}

static void add_workers(Trace *trace) {
    for (uint32_t n = 0; trace->workers && n < trace->machine->workers.count; n++) {
        const WorkerFigures *is = &trace->workers[n];
        add_change(trace, n + 1, "is lost", is->losses, &trace->losses[n]);
        add_change(trace, n + 1, "is begun anew", is->restarts, &trace->restarts[n]);
        add_change(trace, n + 1, "has a row rejected", is->verdicts, &trace->verdicts[n]);
        begin_of_process(trace, "C", n + 1, 0);
        fprintf(trace->file,
                ",\"name\":\"made again by worker %u\",\"ts\":%.3f,\"args\":{\"partitions\":%lld}}",
                n + 1, micros(trace, log_clock_ns()), (long long)is->again);
        begin_of_process(trace, "C", n + 1, 0);
        fprintf(trace->file,
                ",\"name\":\"memory of worker %u\",\"ts\":%.3f,\"args\":{\"used\":%lld}}", n + 1,
                micros(trace, log_clock_ns()), (long long)is->memory);
    }
}

static void add_launch(Trace *trace, const GpuSpan *span) {
    static const char *const names[GPU_WORKS] = {"copies in", "kernels", "copies out"};
    SbStr label = trace->what->stages[span->stage].label;
    Text stage = {0};
    sb_text_add_json(&stage, label.ptr, label.len);
    for (int w = 0; w < GPU_WORKS; w++) {
        begin_of_process(trace, "X", gpu_process_number(trace, span->gpu), span->slot);
        fprintf(trace->file,
                ",\"name\":\"%s\",\"cat\":\"gpu\",\"ts\":%.3f,\"dur\":%.3f,\"args\":{"
                "\"stage\":%.*s,\"rows\":%lld}}", names[w], micros(trace, span->marks_ns[w]),
                (double)(span->marks_ns[w + 1] - span->marks_ns[w]) / 1e3, (int)stage.len,
                stage.ptr, (long long)span->rows);
    }
    sb_text_close(&stage);
}

static void add_launches(Trace *trace) {
    GpuSpans spans = gpu_take_spans(trace->machine->gpu);
    for (uint32_t i = 0; i < spans.count; i++) add_launch(trace, &spans.items[i]);
    trace->gpu_lost = spans.lost;
    free(spans.items);
}

void trace_add(Trace *trace, const WatchSpans *spans) {
    if (!trace->file) return;
    for (uint32_t i = 0; i < spans->count; i++) add_span(trace, &spans->items[i]);
    add_launches(trace);
    add_counters(trace);
    add_workers(trace);
}

bool trace_close(Trace *trace, int64_t lost) {
    if (!trace->file) return true;
    fprintf(trace->file, "\n],\"otherData\":{\"spans_lost\":%lld}}\n",
            (long long)(lost + trace->gpu_lost));
    bool good = !ferror(trace->file);
    good = fclose(trace->file) == 0 && good;
    trace->file = nullptr;
    free(trace->losses);
    return good;
}
