#include "runtime/observe/metrics.h"

#include "runtime/observe/gpu_figures.h"
#include "runtime/observe/progress.h"
#include "runtime/observe/stage_times.h"
#include "runtime/observe/watch.h"

#include <string.h>

static double seconds(int64_t ns) { return (double)ns / 1e9; }

static uint32_t resource_number(uint32_t index) { return index == 0 ? SB_CPUS : index - 1; }

// ---- Prometheus ---------------------------------------------------------------------------------

static void head(Text *text, const char *name, const char *type, const char *help) {
    sb_text_format(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

// In the value of a label \, " and line ends are escaped.
static void add_label(Text *text, SbStr value) {
    Text shown = {0};
    sb_text_add_shown(&shown, value.ptr, value.len);
    for (int64_t i = 0; i < shown.len; i++) {
        char byte = shown.ptr[i];
        if (byte == '\n') sb_text_str(text, "\\n");
        else if (byte == '"' || byte == '\\') sb_text_format(text, "\\%c", byte);
        else sb_text_add(text, &byte, 1);
    }
    sb_text_close(&shown);
}

static void add_one(Text *text, const char *name, const char *type, const char *help,
                    double value) {
    head(text, name, type, help);
    sb_text_format(text, "%s %.17g\n", name, value);
}

static void add_stage(Text *text, const SbJob *what, const char *name, uint32_t stage) {
    sb_text_format(text, "%s{stage=\"%u\",name=\"", name, stage);
    add_label(text, what->stages[stage].label);
    sb_text_str(text, "\"");
}

// A metric of a single number for each stage: its place in WatchFigures.
typedef struct StageMetric {
    const char *name, *type, *help;
    size_t      offset;
} StageMetric;

static const StageMetric stage_metrics[] = {
    {"sbc_stage_rows_in_total", "counter", "Rows that tasks judged.",
     offsetof(WatchFigures, rows_in)},
    {"sbc_stage_rows_out_total", "counter", "Rows that tasks handed over.",
     offsetof(WatchFigures, rows_out)},
    {"sbc_stage_in_bytes_total", "counter", "Bytes that tasks judged.",
     offsetof(WatchFigures, bytes_in)},
    {"sbc_stage_out_bytes_total", "counter", "Bytes that tasks handed over.",
     offsetof(WatchFigures, bytes_out)},
    {"sbc_stage_queued_bytes", "gauge", "Bytes of rows that wait in front of the stage.",
     offsetof(WatchFigures, queued)},
    {"sbc_stage_unwritten_bytes", "gauge", "Bytes that the stage made and that wait for outputs.",
     offsetof(WatchFigures, unwritten)},
};

static void add_stages(const SbJob *what, const Watch *watch, Text *text) {
    WatchFigures figures;
    for (size_t m = 0; m < sizeof stage_metrics / sizeof *stage_metrics; m++) {
        const StageMetric *metric = &stage_metrics[m];
        head(text, metric->name, metric->type, metric->help);
        for (uint32_t s = 0; s < what->stage_count; s++) {
            int64_t value;
            watch_figures(watch, s, &figures);
            memcpy(&value, (const char *)&figures + metric->offset, sizeof value);
            add_stage(text, what, metric->name, s);
            sb_text_format(text, "} %lld\n", (long long)value);
        }
    }
    head(text, "sbc_stage_running_tasks", "gauge", "Tasks that run.");
    for (uint32_t s = 0; s < what->stage_count; s++) {
        watch_figures(watch, s, &figures);
        add_stage(text, what, "sbc_stage_running_tasks", s);
        sb_text_format(text, "} %u\n", figures.running);
    }
}

static void add_times(const SbJob *what, const Watch *watch, Text *text) {
    static const char state_name[] = "sbc_stage_state_seconds_total";
    static const char work_name[] = "sbc_stage_thread_seconds_total";
    WatchFigures figures;
    head(text, state_name, "counter", "Time that the stage was in the state.");
    for (uint32_t s = 0; s < what->stage_count; s++) {
        watch_figures(watch, s, &figures);
        for (int state = 0; state < WATCH_STATES; state++) {
            add_stage(text, what, state_name, s);
            sb_text_format(text, ",state=\"%s\"} %.6f\n", watch_state_name((WatchState)state),
                           seconds(figures.state_ns[state]));
        }
    }
    head(text, work_name, "counter", "Time of threads at work for the stage.");
    for (uint32_t s = 0; s < what->stage_count; s++) {
        watch_figures(watch, s, &figures);
        for (int work = 0; work < WORK_KINDS; work++) {
            add_stage(text, what, work_name, s);
            sb_text_format(text, ",work=\"%s\"} %.6f\n", watch_work_name((Work)work),
                           seconds(figures.work_ns[work]));
        }
    }
}

static void add_resources(const SbJob *what, const JobMachine *machine, const Watch *watch,
                          Text *text) {
    head(text, "sbc_resource_supply", "gauge", "What there is of the resource.");
    for (uint32_t i = 0; i <= what->resource_count; i++) {
        sb_text_str(text, "sbc_resource_supply{resource=\"");
        add_label(text, stage_times_resource(what, resource_number(i)));
        uint32_t supply = slots_supply(&machine->slots, resource_number(i));
        sb_text_format(text, "\"} %g\n", supply / (double)WHOLE);
    }
    head(text, "sbc_resource_busy_ratio", "gauge", "The share of it that tasks held so far.");
    for (uint32_t i = 0; i <= what->resource_count; i++) {
        sb_text_str(text, "sbc_resource_busy_ratio{resource=\"");
        add_label(text, stage_times_resource(what, resource_number(i)));
        double busy = stage_times_busy(what, machine, watch, resource_number(i));
        sb_text_format(text, "\"} %.6f\n", busy);
    }
}

// Of all processes together, and of the job's own; those of workers are among their figures.
static void add_memory(const JobMachine *machine, const JobFigures *figures, Text *text) {
    add_one(text, "sbc_job_memory_bytes", "gauge", "Memory that the job and its workers hold.",
            (double)job_memory_held(machine, figures));
    add_one(text, "sbc_job_memory_limit_bytes", "gauge", "Memory that they may hold: --memory.",
            (double)machine->memory_now);
    add_one(text, "sbc_job_own_memory_bytes", "gauge", "Memory that the job's own process holds.",
            (double)sb_memory_held(&machine->memory));
    add_one(text, "sbc_job_own_memory_limit_bytes", "gauge", "Its share of --memory.",
            (double)machine->memory_whole);
    add_one(text, "sbc_job_memory_peak_bytes", "gauge", "The most that it held.",
            (double)atomic_load(&machine->memory.peak));
    add_one(text, "sbc_job_python_memory_bytes", "gauge",
            "The share of --memory that Python processes have.", (double)machine->memory_python);
}

void metrics_prometheus(const SbJob *what, const JobMachine *machine, JobFigures *figures,
                        Text *text) {
    const Watch *watch = figures->watch;
    SourceFigures sources = progress_sources(what, figures);
    head(text, "sbc_job_info", "gauge", "The job that runs.");
    sb_text_str(text, "sbc_job_info{job=\"");
    add_label(text, what->name);
    sb_text_str(text, "\",program=\"");
    add_label(text, what->source_hash);
    sb_text_str(text, "\"} 1\n");
    add_one(text, "sbc_job_elapsed_seconds", "gauge", "Time since the job began.",
            seconds(watch_elapsed_ns(watch)));
    add_one(text, "sbc_job_source_rows_total", "counter", "Rows of sources that tasks judged.",
            (double)sources.rows);
    add_one(text, "sbc_job_source_bytes_total", "counter", "Bytes of sources that tasks judged.",
            (double)sources.bytes);
    add_one(text, "sbc_job_rejected_rows_total", "counter", "Rows that were rejected.",
            (double)atomic_load(&watch->rejected));
    add_memory(machine, figures, text);
    add_one(text, "sbc_job_spilled_bytes_total", "counter", "Bytes of rows that went to disk.",
            (double)atomic_load(&machine->spill.bytes_raw));
    add_stages(what, watch, text);
    add_times(what, watch, text);
    add_resources(what, machine, watch, text);
    gpu_figures_metrics(machine->gpu, text);
    worker_figures_metrics(figures->workers, machine->workers.count, text);
}

// ---- the page -----------------------------------------------------------------------------------

static bool reads(const SbStage *stage, uint32_t breaker) {
    bool rows = stage->input == SB_INPUT_ROWS || stage->input == SB_INPUT_UNMATCHED;
    bool found = (rows && stage->input_index == breaker) || stage->right_index == breaker;
    for (uint32_t n = 0; n < stage->need_count; n++) found |= stage->needs[n] == breaker;
    return found;
}

static void add_edges(const SbJob *what, uint32_t from, bool *any, Text *text) {
    const SbStage *stage = &what->stages[from];
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t breaker = stage->terminals[t];
        for (uint32_t to = 0; !(breaker & SB_TERMINAL_SINK) && to < what->stage_count; to++) {
            if (to == from || !reads(&what->stages[to], breaker)) continue;
            bool edge = sb_is_edge(what, breaker);
            sb_text_format(text, "%s{\"from\":%u,\"to\":%u,\"kind\":\"%s\"}", *any ? "," : "",
                           from, to, edge ? "rows" : "table");
            *any = true;
        }
    }
}

void metrics_graph(const SbJob *what, Text *text) {
    bool any = false;
    sb_text_str(text, "{\"job\":");
    sb_text_add_json(text, what->name.ptr, what->name.len);
    sb_text_str(text, ",\"stages\":[");
    for (uint32_t s = 0; s < what->stage_count; s++) {
        if (s) sb_text_str(text, ",");
        sb_text_add_json(text, what->stages[s].label.ptr, what->stages[s].label.len);
    }
    sb_text_str(text, "],\"edges\":[");
    for (uint32_t s = 0; s < what->stage_count; s++) add_edges(what, s, &any, text);
    sb_text_str(text, "]}");
}

static void stage_now(const SbJob *what, const JobMachine *machine, const Watch *watch,
                      uint32_t number, Text *text) {
    static const char *const classes[WATCH_CLASSES] = {"busy", "starved", "blocked", "aside"};
    const SbStage *stage = &what->stages[number];
    WatchFigures figures;
    watch_figures(watch, number, &figures);
    sb_text_format(text, "%s{\"stage\":", number ? "," : "");
    sb_text_add_json(text, stage->label.ptr, stage->label.len);
    sb_text_format(text, ",\"state\":\"%s\",\"words\":\"%s\",\"class\":\"%s\"",
                   watch_state_name(figures.state), watch_state_words(figures.state),
                   classes[watch_state_class(figures.state)]);
    log_add_number(text, "rows_in", figures.rows_in);
    log_add_number(text, "rows_out", figures.rows_out);
    log_add_number(text, "bytes_in", figures.bytes_in);
    log_add_number(text, "bytes_out", figures.bytes_out);
    log_add_number(text, "queued", figures.queued);
    log_add_number(text, "unwritten", figures.unwritten);
    log_add_number(text, "running", figures.running);
    log_add_number(text, "slots", slots_most(&machine->slots, stage,
                                             machine->pool.parallel.threads));
    for (int c = 0; c < CLASS_ASIDE; c++)
        sb_text_format(text, ",\"%s\":%.3f", classes[c], seconds(figures.class_ns[c]));
    sb_text_str(text, "}");
}

// The worker of a slot; 0: it is this process's.
static uint32_t worker_of(const JobMachine *machine, uint32_t slot) {
    uint32_t own = machine->pool.parallel.threads;
    return slot < own ? 0 : 1 + (slot - own) / machine->workers.threads;
}

static void slots_now(const JobMachine *machine, const Watch *watch, Text *text) {
    int64_t now = log_clock_ns();
    sb_text_str(text, ",\"slots\":[");
    for (uint32_t t = 0; t < watch->thread_count; t++) {
        int work = atomic_load(&watch->threads[t].work);
        sb_text_str(text, t ? "," : "");
        if (work == WORK_KINDS) {
            sb_text_format(text, "{\"worker\":%u}", worker_of(machine, t));
            continue;
        }
        sb_text_format(text, "{\"worker\":%u,\"work\":\"%s\",\"stage\":%u,\"seconds\":%.3f}",
                       worker_of(machine, t), watch_work_name((Work)work),
                       atomic_load(&watch->threads[t].stage),
                       seconds(now - atomic_load(&watch->threads[t].since_ns)));
    }
    sb_text_str(text, "]");
}

static void resources_now(const SbJob *what, const JobMachine *machine, const Watch *watch,
                          Text *text) {
    sb_text_str(text, ",\"resources\":[");
    for (uint32_t i = 0; i <= what->resource_count; i++) {
        SbStr name = stage_times_resource(what, resource_number(i));
        sb_text_format(text, "%s{\"resource\":", i ? "," : "");
        sb_text_add_json(text, name.ptr, name.len);
        sb_text_format(text, ",\"supply\":%g,\"busy\":%.4f}",
                       slots_supply(&machine->slots, resource_number(i)) / (double)WHOLE,
                       stage_times_busy(what, machine, watch, resource_number(i)));
    }
    sb_text_str(text, "]");
}

// The work that has ended.
static void spans_now(const Watch *watch, const WatchSpans *spans, Text *text) {
    sb_text_str(text, ",\"spans\":[");
    for (uint32_t i = 0; i < spans->count; i++) {
        const WatchSpan *span = &spans->items[i];
        sb_text_format(text, "%s[%u,%u,\"%s\",%.6f,%.6f]", i ? "," : "", span->thread,
                       span->stage, watch_work_name(span->work),
                       seconds(span->begin_ns - watch->begun_ns),
                       seconds(span->end_ns - watch->begun_ns));
    }
    sb_text_str(text, "]");
}

void metrics_now(const SbJob *what, const JobMachine *machine, JobFigures *figures,
                 const WatchSpans *spans, Text *text) {
    Watch *watch = figures->watch;
    sb_text_format(text, "{\"seconds\":%.3f", seconds(watch_elapsed_ns(watch)));
    SourceFigures sources = progress_sources(what, figures);
    log_add_number(text, "rows", sources.rows);
    log_add_number(text, "bytes", sources.bytes);
    log_add_number(text, "rejected", atomic_load(&watch->rejected));
    log_add_number(text, "memory", job_memory_held(machine, figures));
    log_add_number(text, "memory_limit", machine->memory_now);
    log_add_number(text, "memory_own", sb_memory_held(&machine->memory));
    log_add_number(text, "memory_own_limit", machine->memory_whole);
    log_add_number(text, "memory_python", machine->memory_python);
    sb_text_str(text, ",\"stages\":[");
    for (uint32_t s = 0; s < what->stage_count; s++) stage_now(what, machine, watch, s, text);
    sb_text_str(text, "]");
    slots_now(machine, watch, text);
    resources_now(what, machine, watch, text);
    gpu_figures_json(machine->gpu, seconds(watch_elapsed_ns(watch)), text);
    worker_figures_json(figures->workers, machine->workers.count, text);
    spans_now(watch, spans, text);
    if (watch->keeps_rows) watch_add_rows(watch, text);
    sb_text_str(text, "}");
}
