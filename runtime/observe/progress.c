#include "runtime/observe/progress.h"

#include "runtime/host.h"
#include "runtime/observe/watch.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL_BYTES = 25 };  // So that a line fits a terminal of 80 columns, mostly.

bool progress_open(ProgressReport *report) {
    uint32_t stages = report->ask->what->stage_count;
    report->stages = calloc(stages + 1, sizeof *report->stages);
    report->stalled = calloc(stages + 1, sizeof *report->stalled);
    report->seen = calloc(stages + 1, sizeof *report->seen);
    return report->stages && report->stalled && report->seen;
}

void progress_close(ProgressReport *report) {
    free(report->stages);
    free(report->stalled);
    free(report->seen);
}

// ---- figures ------------------------------------------------------------------------------------

typedef struct Rates {
    double rows, bytes;  // A second.
} Rates;

// Since the mark, which moves on to now.
static Rates rates_since(ProgressMark *mark, int64_t now, int64_t rows, int64_t bytes) {
    double seconds = (double)(now - mark->at_ns) / 1e9;
    Rates rates = {0};
    if (seconds > 0)
        rates = (Rates){rows > mark->rows ? (double)(rows - mark->rows) / seconds : 0,
                        bytes > mark->bytes ? (double)(bytes - mark->bytes) / seconds : 0};
    *mark = (ProgressMark){now, rows, bytes};
    return rates;
}

// Bytes that the system has taken for the outputs that the stage feeds.
static int64_t bytes_put(const SbJob *what, const Sink *sinks, uint32_t number) {
    const SbStage *stage = &what->stages[number];
    int64_t bytes = 0;
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        if (stage->terminals[t] & SB_TERMINAL_SINK)
            bytes += atomic_load(&sinks[stage->terminals[t] & ~SB_TERMINAL_SINK].put);
    return bytes;
}

// Rows that are judged move the stage, and bytes that are written.
static void stage_figures(ProgressReport *report, uint32_t number, WatchFigures *figures) {
    const Watch *watch = report->figures->watch;
    ProgressMark *seen = &report->seen[number];
    watch_figures(watch, number, figures);
    int64_t now = watch_elapsed_ns(watch);
    int64_t put = bytes_put(report->ask->what, report->io->sinks, number);
    int64_t bytes = figures->bytes_in + put;
    if (figures->rows_in != seen->rows || bytes != seen->bytes)
        *seen = (ProgressMark){now, figures->rows_in, bytes};
    if (now - seen->at_ns < figures->idle_ns) figures->idle_ns = now - seen->at_ns;
}

SourceFigures progress_sources(const SbJob *what, JobFigures *figures) {
    Progress *settled = &figures->progress;
    int64_t rows = atomic_load(&settled->rows), bytes = atomic_load(&settled->bytes);
    for (uint32_t s = 0; s < what->stage_count; s++) {
        int input = what->stages[s].input;
        if (input == SB_INPUT_ROWS || input == SB_INPUT_UNMATCHED) continue;
        WatchFigures stage;
        watch_figures(figures->watch, s, &stage);
        rows += stage.rows_live;
        bytes += stage.bytes_live;
    }
    return (SourceFigures){watch_most(&settled->rows_told, rows),
                           watch_most(&settled->bytes_told, bytes)};
}

static bool shows(const WatchFigures *figures) {
    return figures->state != WATCH_PENDING && figures->state != WATCH_DONE;
}

// ---- text ---------------------------------------------------------------------------------------

static void add_megabytes(Text *text, double bytes, const char *behind) {
    sb_text_format(text, bytes < 1e5 ? "%.2f MB%s" : "%.1f MB%s", bytes / 1e6, behind);
}

static void add_stage(ProgressReport *report, uint32_t number, TextTable *table) {
    const SbJob *what = report->ask->what;
    const JobMachine *machine = report->machine;
    const SbStage *stage = &what->stages[number];
    WatchFigures figures;
    stage_figures(report, number, &figures);
    int64_t now = watch_elapsed_ns(report->figures->watch);
    Rates rates = rates_since(&report->stages[number], now, figures.rows_in, figures.bytes_in);
    if (!shows(&figures)) return;
    Text *cell = sb_table_cell(table);
    sb_text_str(cell, "  ");
    sb_text_add_short(cell, stage->label.ptr, stage->label.len, LABEL_BYTES);
    cell = sb_table_cell(table);
    sb_text_add_figure(cell, figures.rows_in);
    sb_text_str(cell, " rows");
    add_megabytes(sb_table_cell(table), (double)figures.bytes_in, "");
    cell = sb_table_cell(table);
    if (figures.bytes_in > 0) {
        add_megabytes(cell, rates.bytes, "/s");
    } else {
        sb_text_add_figure(cell, (int64_t)rates.rows);
        sb_text_str(cell, " rows/s");
    }
    add_megabytes(sb_table_cell(table), (double)figures.queued, " queued");
    uint32_t most = slots_most(&machine->slots, stage, machine->pool.parallel.threads);
    sb_text_format(sb_table_cell(table), "%u/%u running", figures.running, most);
    cell = sb_table_cell(table);
    if (figures.state != WATCH_BUSY) sb_text_str(cell, watch_state_words(figures.state));
    else if (figures.running == 0) sb_text_str(cell, "writes");
    if (figures.unwritten > 0) {
        sb_text_str(cell, cell->len ? ", " : "");
        add_megabytes(cell, (double)figures.unwritten, " to be written");
    }
}

void progress_text(ProgressReport *report, Text *text) {
    const SbJob *what = report->ask->what;
    const JobMachine *machine = report->machine;
    int64_t now = watch_elapsed_ns(report->figures->watch);
    SourceFigures judged = progress_sources(what, report->figures);
    Rates rates = rates_since(&report->sources, now, judged.rows, judged.bytes);
    sb_text_format(text, "%.1f s: ", (double)now / 1e9);
    add_megabytes(text, (double)judged.bytes, ", ");
    add_megabytes(text, rates.bytes, "/s, ");
    sb_text_add_figure(text, judged.rows);
    sb_text_format(text, " rows, memory %.1f of %.1f MiB\n",
                   (double)job_memory_held(machine, report->figures) / (1 << 20),
                   (double)machine->memory_now / (1 << 20));
    TextTable table = {.columns = 7, .left = 1};
    for (uint32_t s = 0; s < what->stage_count; s++) add_stage(report, s, &table);
    sb_table_print(&table, text);
    sb_table_close(&table);
}

// ---- JSON ---------------------------------------------------------------------------------------

void progress_json(ProgressReport *report, Text *text) {
    const SbJob *what = report->ask->what;
    const JobMachine *machine = report->machine;
    int64_t now = watch_elapsed_ns(report->figures->watch);
    SourceFigures judged = progress_sources(what, report->figures);
    log_add_number(text, "rows", judged.rows);
    log_add_number(text, "bytes", judged.bytes);
    log_add_number(text, "memory", job_memory_held(machine, report->figures));
    log_add_number(text, "memory_limit", machine->memory_now);
    sb_text_str(text, ",\"stages\":[");
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        WatchFigures figures;
        stage_figures(report, s, &figures);
        Rates rates = rates_since(&report->stages[s], now, figures.rows_in, figures.bytes_in);
        sb_text_format(text, "%s{\"stage\":", s ? "," : "");
        sb_text_add_json(text, stage->label.ptr, stage->label.len);
        log_add_text(text, "state", watch_state_name(figures.state),
                     (int64_t)strlen(watch_state_name(figures.state)));
        log_add_number(text, "rows", figures.rows_in);
        log_add_number(text, "bytes", figures.bytes_in);
        log_add_number(text, "rows_rate", (int64_t)rates.rows);
        log_add_number(text, "bytes_rate", (int64_t)rates.bytes);
        log_add_number(text, "queued", figures.queued);
        log_add_number(text, "unwritten", figures.unwritten);
        log_add_number(text, "running", figures.running);
        log_add_number(text, "slots",
                       slots_most(&machine->slots, stage, machine->pool.parallel.threads));
        sb_text_str(text, "}");
    }
    sb_text_str(text, "]");
}

// ---- the watchdog -------------------------------------------------------------------------------

// What a stage is named for that is at work: what its threads have been doing, and how long.
static void add_work(const Watch *watch, uint32_t stage, Text *text) {
    static const char *const does[WORK_KINDS] = {"runs a task", "reads its input", "writes",
                                                 "sorts or merges"};
    for (uint32_t t = 0; t < watch->thread_count; t++) {
        const WatchThread *thread = &watch->threads[t];
        int work = atomic_load(&thread->work);
        if (work == WORK_KINDS || atomic_load(&thread->stage) != stage) continue;
        double seconds = (double)(log_clock_ns() - atomic_load(&thread->since_ns)) / 1e9;
        sb_text_format(text, "%s thread %u %s, for %.1f s", text->len ? "," : "", t, does[work],
                       seconds);
    }
}

// Who waits for others is not named: those are.
static bool to_blame(const WatchFigures *figures) {
    return shows(figures) && figures->state != WATCH_NO_INPUT && figures->state != WATCH_NO_ROOM &&
           figures->state != WATCH_NO_ANSWER;
}

void progress_watch(ProgressReport *report, Log *log) {
    const SbJob *what = report->ask->what;
    int64_t limit_ns = report->ask->options.watchdog_us * 1000;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        WatchFigures figures;
        stage_figures(report, s, &figures);
        bool stalls = to_blame(&figures) && figures.idle_ns > limit_ns;
        if (stalls && !report->stalled[s]) {
            Text work = {0};
            SbStr label = what->stages[s].label;
            add_work(report->figures->watch, s, &work);
            if (work.len && retry_waiting() > 0)
                sb_text_str(&work, "; the disk is full, and the job waits for room");
            log_warn(log, TROUBLE_STALLED, "'%.*s' has made no progress for %g s: %s%s%.*s",
                     (int)label.len, label.ptr, (double)limit_ns / 1e9, work.len ? "" : "it ",
                     work.len ? "" : watch_state_words(figures.state),
                     (int)(work.len ? work.len - 1 : 0), work.len ? work.ptr + 1 : "");
            sb_text_close(&work);
        }
        report->stalled[s] = stalls;
    }
}
