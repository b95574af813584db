#include "runtime/observe/stage_times.h"

#include "runtime/observe/gpu_figures.h"
#include "runtime/observe/sample.h"
#include "runtime/observe/watch.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_BYTES = 40 };

static double seconds(int64_t ns) { return (double)ns / 1e9; }

static double task_seconds(const WatchFigures *figures) {
    return seconds(figures->work_ns[WORK_TASK] + figures->work_ns[WORK_READ]);
}

SbStr stage_times_resource(const SbJob *what, uint32_t resource) {
    return resource == SB_CPUS ? (SbStr){"cpus", 4} : what->resources[resource];
}

// Seconds times amount that tasks of all stages held it.
static double used(const SbJob *what, const JobMachine *machine, const Watch *watch,
                   uint32_t resource) {
    double sum = 0;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        WatchFigures figures;
        watch_figures(watch, s, &figures);
        double held = slots_held(&machine->slots, &what->stages[s], resource) / (double)WHOLE;
        sum += held * task_seconds(&figures);
    }
    return sum;
}

double stage_times_busy(const SbJob *what, const JobMachine *machine, const Watch *watch,
                        uint32_t resource) {
    double all = slots_supply(&machine->slots, resource) / (double)WHOLE *
                 seconds(watch_elapsed_ns(watch));
    return all > 0 ? used(what, machine, watch, resource) / all : 0;
}

// ---- steps --------------------------------------------------------------------------------------

// Processor seconds, as sampled.
typedef struct StepTimes {
    double *seconds;  // By step; nullptr: nobody looked.
    double other, all;
    uint32_t most;    // The step with the most.
} StepTimes;

static StepTimes step_times(const SbJob *what, const Samples *samples) {
    StepTimes times = {0};
    uint32_t count = what->step_count;
    if (samples) times.seconds = calloc(count + 1, sizeof *times.seconds);
    if (!times.seconds) return times;
    times.all = times.other = samples_count(samples, times.seconds);
    for (uint32_t s = 0; s < count; s++) {
        times.all += times.seconds[s];
        if (times.seconds[s] > times.seconds[times.most]) times.most = s;
    }
    return times;
}

// ---- the bound ----------------------------------------------------------------------------------

// What steps took counts where tasks computed all the time that they held cpus: emulated work and
// reading wait.
static bool names_step(const StepTimes *times, const BoundResource *cpus) {
    static const double COMPUTED = 0.1;
    double steps = times->all - times->other;
    return times->seconds && steps > 0 && steps > COMPUTED * cpus->used;
}

static void explain(const SbJob *what, const JobMachine *machine, const Watch *watch,
                    const StepTimes *times, Text *text) {
    BoundResource resources[SB_RESOURCES_MAX + 1];
    BoundStage *stages = calloc(what->stage_count + 1, sizeof *stages);
    if (!stages) return;
    for (uint32_t i = 0; i <= what->resource_count; i++) {
        uint32_t number = i == 0 ? SB_CPUS : i - 1;
        double supply = slots_supply(&machine->slots, number) / (double)WHOLE;
        resources[i] = (BoundResource){.name = stage_times_resource(what, number),
                                       .supply = supply,
                                       .used = used(what, machine, watch, number)};
    }
    for (uint32_t s = 0; s < what->stage_count; s++) {
        WatchFigures figures;
        watch_figures(watch, s, &figures);
        double held = slots_held(&machine->slots, &what->stages[s], SB_CPUS) / (double)WHOLE;
        stages[s] = (BoundStage){
            .label = what->stages[s].label,
            .at_work = seconds(figures.class_ns[CLASS_BUSY]),
            .cpus = held * task_seconds(&figures),
            .memory = seconds(figures.state_ns[WATCH_NO_MEMORY]),
            .finish = seconds(figures.work_ns[WORK_FINISH]),
            .write = seconds(figures.work_ns[WORK_WRITE]),
        };
    }
    Bound bound = {.seconds = seconds(watch_elapsed_ns(watch)),
                   .threads = machine->pool.parallel.threads, .resources = resources,
                   .resource_count = what->resource_count + 1, .stages = stages,
                   .stage_count = what->stage_count,
                   .gpu = gpu_figures_bound(machine->gpu)};
    if (names_step(times, &resources[0])) {
        bound.step = what->steps[times->most].label;
        bound.step_share = times->seconds[times->most] / times->all;
    }
    bound_explain(&bound, text);
    free(stages);
}

// ---- as text ------------------------------------------------------------------------------------

static void add_seconds(TextTable *table, double time) {
    sb_text_format(sb_table_cell(table), "%.3f", time);
}

static void add_stage(TextTable *table, const SbStage *stage, const WatchFigures *figures) {
    sb_text_add_short(sb_table_cell(table), stage->label.ptr, stage->label.len, LABEL_BYTES);
    for (int c = 0; c < WATCH_CLASSES; c++) add_seconds(table, seconds(figures->class_ns[c]));
    add_seconds(table, task_seconds(figures));
    add_seconds(table, seconds(figures->work_ns[WORK_FINISH] + figures->work_ns[WORK_WRITE]));
    sb_table_figure(table, figures->pieces[WORK_TASK]);
    sb_table_figure(table, figures->rows_in);
    sb_table_figure(table, figures->bytes_in);
    sb_table_figure(table, figures->bytes_out);
}

// Steps that were seen at work, and what was at work for none of them.
static void print_steps(const SbJob *what, const StepTimes *times, Text *text) {
    if (!times->seconds || times->all == 0) return;
    TextTable table = {.columns = 3, .left = 1};
    sb_table_word(&table, "step");
    sb_table_word(&table, "cpu");
    sb_table_word(&table, "share");
    for (uint32_t s = 0; s <= what->step_count; s++) {
        bool last = s == what->step_count;
        double took = last ? times->other : times->seconds[s];
        SbStr label = last ? (SbStr){"(no step)", 9} : what->steps[s].label;
        if (took == 0) continue;
        sb_text_add_short(sb_table_cell(&table), label.ptr, label.len, LABEL_BYTES);
        add_seconds(&table, took);
        sb_text_format(sb_table_cell(&table), "%.0f %%", 100 * took / times->all);
    }
    sb_table_print(&table, text);
    sb_table_close(&table);
    sb_text_str(text, "\n");
}

void stage_times_print(const SbJob *what, const JobMachine *machine, const JobFigures *figures,
                       Text *text) {
    const Watch *watch = figures->watch;
    static const char *const heads[] = {
        "stage", "busy", "starved", "blocked", "aside", "tasks", "other", "runs", "rows in",
        "bytes in", "bytes out"};
    enum { HEADS = sizeof heads / sizeof *heads };
    TextTable table = {.columns = HEADS, .left = 1};
    for (int i = 0; i < HEADS; i++) sb_table_word(&table, heads[i]);
    for (uint32_t s = 0; s < what->stage_count; s++) {
        WatchFigures seen;
        watch_figures(watch, s, &seen);
        add_stage(&table, &what->stages[s], &seen);
    }
    sb_table_print(&table, text);
    sb_table_close(&table);
    StepTimes times = step_times(what, figures->samples);
    sb_text_str(text, "\n");
    print_steps(what, &times, text);
    gpu_figures_print(machine->gpu, seconds(watch_elapsed_ns(watch)), text);
    sb_text_str(text, "bound: ");
    explain(what, machine, watch, &times, text);
    sb_text_str(text, "\n");
    free(times.seconds);
}

// ---- as JSON ------------------------------------------------------------------------------------

static void stage_json(const SbStage *stage, const WatchFigures *figures, Text *text) {
    static const char *const classes[WATCH_CLASSES] = {"busy", "starved", "blocked", "aside"};
    static const char *const works[WORK_KINDS] = {"task", "read", "write", "finish"};
    sb_text_str(text, "{\"stage\":");
    sb_text_add_json(text, stage->label.ptr, stage->label.len);
    for (int c = 0; c < WATCH_CLASSES; c++)
        sb_text_format(text, ",\"%s\":%.6f", classes[c], seconds(figures->class_ns[c]));
    sb_text_str(text, ",\"states\":{");
    for (int s = 0; s < WATCH_STATES; s++)
        sb_text_format(text, "%s\"%s\":%.6f", s ? "," : "", watch_state_name((WatchState)s),
                       seconds(figures->state_ns[s]));
    sb_text_str(text, "},\"threads\":{");
    for (int w = 0; w < WORK_KINDS; w++)
        sb_text_format(text, "%s\"%s\":%.6f", w ? "," : "", works[w], seconds(figures->work_ns[w]));
    sb_text_format(text, "},\"runs\":%lld,\"rows_in\":%lld,\"rows_out\":%lld,\"bytes_in\":%lld,"
                   "\"bytes_out\":%lld}",
                   (long long)figures->pieces[WORK_TASK], (long long)figures->rows_in,
                   (long long)figures->rows_out, (long long)figures->bytes_in,
                   (long long)figures->bytes_out);
}

// Ends the list before.
static void steps_json(const SbJob *what, const StepTimes *times, Text *text) {
    sb_text_str(text, "],\"cpu\":[");
    bool any = false;
    for (uint32_t s = 0; times->seconds && s < what->step_count; s++) {
        if (times->seconds[s] == 0) continue;
        sb_text_str(text, any ? ",{\"step\":" : "{\"step\":");
        sb_text_add_json(text, what->steps[s].label.ptr, what->steps[s].label.len);
        sb_text_format(text, ",\"seconds\":%.3f}", times->seconds[s]);
        any = true;
    }
    sb_text_format(text, "],\"cpu_of_no_step\":%.3f", times->other);
}

void stage_times_json(const SbJob *what, const JobMachine *machine, const JobFigures *figures,
                      Text *text) {
    const Watch *watch = figures->watch;
    sb_text_str(text, ",\"stages\":[");
    for (uint32_t s = 0; s < what->stage_count; s++) {
        WatchFigures seen;
        watch_figures(watch, s, &seen);
        if (s) sb_text_str(text, ",");
        stage_json(&what->stages[s], &seen, text);
    }
    sb_text_str(text, "],\"resources\":[");
    for (uint32_t i = 0; i <= what->resource_count; i++) {
        uint32_t number = i == 0 ? SB_CPUS : i - 1;
        SbStr name = stage_times_resource(what, number);
        sb_text_format(text, "%s{\"resource\":", i ? "," : "");
        sb_text_add_json(text, name.ptr, name.len);
        sb_text_format(text, ",\"supply\":%g,\"busy\":%.4f}",
                       slots_supply(&machine->slots, number) / (double)WHOLE,
                       stage_times_busy(what, machine, watch, number));
    }
    StepTimes times = step_times(what, figures->samples);
    steps_json(what, &times, text);
    gpu_figures_json(machine->gpu, seconds(watch_elapsed_ns(watch)), text);
    sb_text_str(text, ",\"bound\":");
    Text bound = {0};
    explain(what, machine, watch, &times, &bound);
    free(times.seconds);
    sb_text_add_json(text, bound.ptr, bound.len);
    sb_text_close(&bound);
}
