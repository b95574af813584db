// Summary: what a job counted, as docs/summary.md fixes it, as text or as JSON.
#define _GNU_SOURCE
#include "runtime/observe/summary.h"

#include "runtime/job.h"
#include "runtime/observe/stage_times.h"
#include "runtime/observe/watch.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_ZIP = 10 };  // OP_ZIP of ir/ops.def.
enum { FIGURES_MAX = SB_COUNTS, SUMMARY_TABLES = 3 };

// ---- counts ---------------------------------------------------------------------------------

static int64_t on_of(const SbJob *what, const int64_t *counts, uint32_t step) {
    return step < what->step_count ? counts[step * SB_COUNTS + SB_ON] : 0;
}

static const SbBreaker *breaker_of(const SbJob *what, uint32_t step, uint32_t *number) {
    for (uint32_t b = 0; b < what->breaker_count; b++) {
        if (what->breakers[b].step != step) continue;
        *number = b;
        return &what->breakers[b];
    }
    return nullptr;
}

// The rows of a step that waits for rows at edges are those that were taken from them; `least` is
// of the edge with the fewest.
static bool count_edges(const SbJob *what, const Edge *edges, uint32_t step, int64_t *counts,
                        int64_t *least) {
    bool any = false;
    for (uint32_t b = 0; b < what->breaker_count; b++) {
        const SbBreaker *breaker = &what->breakers[b];
        if (breaker->step != step || breaker->kind != SB_BREAK_EDGE || breaker->keeps) continue;
        const Edge *edge = &edges[b];
        int64_t rows = edge->rows;
        if (!any || rows < *least) *least = rows;
        any = true;
        counts[SB_IN] += rows;
        if (edge->limited) counts[SB_FILTERED] += rows < edge->skip ? rows : edge->skip;
    }
    return any;
}

// With --first-rows a `write` takes the rows that its sink holds, and judges those it rejects.
static void count_first_rows(const JobAsk *ask, const Sink *sinks, uint32_t step,
                             int64_t *counts) {
    if (ask->options.first_rows == INT64_MAX) return;
    for (uint32_t s = 0; s < ask->what->sink_count; s++)
        if (ask->what->sinks[s].step == step)
            counts[SB_IN] = sinks[s].rows + counts[SB_REJECTED];
}

static void count_step(const JobAsk *ask, const JobBreakers *breakers, const Sink *sinks,
                       int64_t *all, uint32_t step) {
    const SbJob *what = ask->what;
    const SbStepInfo *info = &what->steps[step];
    int64_t *counts = &all[step * SB_COUNTS];
    uint32_t number = 0;
    const SbBreaker *breaker = breaker_of(what, step, &number);
    int64_t pairs = 0;
    bool edges = count_edges(what, breakers->edges, step, counts, &pairs);
    if (!edges && !info->counts_in)
        counts[SB_IN] = on_of(what, all, info->from[0]) + on_of(what, all, info->from[1]);
    count_first_rows(ask, sinks, step, counts);
    if (breaker && breaker->kind == SB_BREAK_GROUP) {
        int64_t judged = counts[SB_IN] - counts[SB_REJECTED] + counts[SB_MERGED];
        int64_t kept = breakers->kept[number];
        if (judged < kept) counts[SB_MADE] = kept - judged;
        counts[SB_MERGED] = judged + counts[SB_MADE] - kept;
    } else if (breaker && breaker->kind == SB_BREAK_JOIN) {
        counts[SB_MERGED] += on_of(what, all, info->from[1]) - breakers->unmatched_rows[number];
        // A job that ends early may not have come to put them into the table.
        int64_t most = counts[SB_IN] + counts[SB_MADE] - counts[SB_FILTERED] - counts[SB_REJECTED];
        if (counts[SB_MERGED] > most) counts[SB_MERGED] = most;
    } else if (breaker && breaker->window && breaker->window->keeps) {
        counts[SB_FILTERED] = counts[SB_IN] - counts[SB_REJECTED] - breakers->kept[number];
    } else if (info->kind == STEP_ZIP) {
        counts[SB_MERGED] = counts[SB_IN] - pairs;  // Sides that differ in length end the job.
    }
    counts[SB_ON] = counts[SB_IN] + counts[SB_MADE] - counts[SB_FILTERED] - counts[SB_REJECTED] -
                    counts[SB_MERGED];
}

void job_summary_count(const JobAsk *ask, const JobBreakers *breakers, const Sink *sinks,
                       int64_t *counts) {
    for (uint32_t s = 0; s < ask->what->step_count; s++)
        count_step(ask, breakers, sinks, counts, s);
}

// ---- tables ---------------------------------------------------------------------------------

typedef struct Row {
    SbStr   label;
    int64_t figures[FIGURES_MAX];
} Row;

// What the summary says, as text and as JSON: a label and figures in each row.
typedef struct Table {
    const char        *key;    // Of the list in JSON.
    const char *const *heads;  // Of the label, then of the figures.
    Row               *rows;
    uint32_t           figures, count, cap;
} Table;

static const char *const step_heads[] = {"step",     "in",       "made",  "on",
                                         "filtered", "rejected", "merged"};
static const char *const source_heads[] = {"source", "rows", "bytes"};
static const char *const sink_heads[] = {"sink", "rows", "bytes", "files"};

static Row *add_row(Table *table, SbStr label) {
    if (table->count == table->cap) {
        uint32_t cap = table->cap ? 2 * table->cap : 16;
        Row *rows = realloc(table->rows, cap * sizeof *rows);
        if (!rows) abort();
        table->rows = rows;
        table->cap = cap;
    }
    table->rows[table->count] = (Row){.label = label};
    return &table->rows[table->count++];
}

static void add_bytes(Table *table, SbStr label, int64_t rows, int64_t bytes) {
    Row *row = add_row(table, label);
    row->figures[0] = rows;
    row->figures[1] = bytes;
}

static SbStr text_of(const char *text) {
    return (SbStr){text ? text : "", text ? (int64_t)strlen(text) : 0};
}

// Which steps a flow leads from to a sink; a step comes after those that it reads.
static bool *steps_reached(const SbJob *what) {
    bool *reached = calloc(what->step_count + 1, sizeof *reached);
    if (!reached) abort();
    for (uint32_t s = 0; s < what->sink_count; s++) reached[what->sinks[s].step] = true;
    for (uint32_t s = what->step_count; s-- > 0;) {
        for (int i = 0; i < 2; i++) {
            uint32_t from = what->steps[s].from[i];
            if (reached[s] && from < s) reached[from] = true;
        }
    }
    return reached;
}

static Table steps_table(const SbJob *what, const int64_t *counts) {
    Table table = {.key = "steps", .heads = step_heads, .figures = SB_COUNTS};
    bool *reached = steps_reached(what);
    for (uint32_t s = 0; s < what->step_count; s++) {
        if (!reached[s]) continue;
        Row *row = add_row(&table, what->steps[s].label);
        memcpy(row->figures, &counts[s * SB_COUNTS], sizeof row->figures);
    }
    free(reached);
    return table;
}

static Table sources_table(const SbJob *what, const Source *sources, const int64_t *counts) {
    Table table = {.key = "sources", .heads = source_heads, .figures = 2};
    for (uint32_t s = 0; s < what->source_count; s++) {
        const Source *source = &sources[s];
        for (uint32_t f = 0; f < source->file_count; f++) {
            const SourceFile *file = &source->files[f];
            add_bytes(&table, text_of(file->path), file->rows, file->bytes);
        }
        bool files = source->file_count > 0 || !source->what || source->what->reader;
        if (files) continue;
        add_bytes(&table, source->what->label,
                  counts[source->what->step * SB_COUNTS + SB_MADE], 0);
    }
    return table;
}

static bool has_keys(const SbJob *what) {
    bool any = false;
    for (uint32_t s = 0; s < what->sink_count; s++) any |= what->sinks[s].shape.len > 0;
    return any;
}

// A job that fails has no sinks. Files are counted where an output by key makes some.
static Table sinks_table(const SbJob *what, const JobIo *io, bool done) {
    Table table = {.key = "sinks", .heads = sink_heads, .figures = has_keys(what) ? 3 : 2};
    for (uint32_t s = 0; done && s < what->sink_count + io->has_rejects_sink; s++) {
        const Sink *sink = &io->sinks[s];
        add_bytes(&table, text_of(sink->path), sink->rows, sink->bytes);
        table.rows[table.count - 1].figures[2] = sink->files;
    }
    return table;
}

// ---- as text --------------------------------------------------------------------------------

// Nothing, where the heads would stand alone.
static void print_table(const Table *table, bool *any, Text *text) {
    TextTable cells = {.columns = table->figures + 1, .left = 1};
    if (table->count == 0) return;
    if (*any) sb_text_str(text, "\n");
    *any = true;
    for (uint32_t c = 0; c <= table->figures; c++) sb_table_word(&cells, table->heads[c]);
    for (uint32_t r = 0; r < table->count; r++) {
        const Row *row = &table->rows[r];
        sb_table_add(&cells, row->label.ptr, row->label.len);
        for (uint32_t c = 0; c < table->figures; c++) sb_table_figure(&cells, row->figures[c]);
    }
    sb_table_print(&cells, text);
    sb_table_close(&cells);
}

// ---- as JSON --------------------------------------------------------------------------------

static void add_table(Text *text, const Table *table) {
    sb_text_format(text, ",\"%s\":[", table->key);
    for (uint32_t r = 0; r < table->count; r++) {
        const Row *row = &table->rows[r];
        sb_text_format(text, "%s{\"%s\":", r ? "," : "", table->heads[0]);
        sb_text_add_json(text, row->label.ptr, row->label.len);
        for (uint32_t c = 0; c < table->figures; c++)
            sb_text_format(text, ",\"%s\":%lld", table->heads[c + 1], (long long)row->figures[c]);
        sb_text_str(text, "}");
    }
    sb_text_str(text, "]");
}

// Right rows that joins have not kept, as nobody looks them up.
static int64_t count_left_out(const Job *job) {
    int64_t rows = 0;
    for (uint32_t b = 0; b < job->ask.what->breaker_count; b++) rows += job->breakers.left_out[b];
    return rows;
}

static void add_left_out(const Job *job, Text *text) {
    const SbJob *what = job->ask.what;
    for (uint32_t b = 0; b < what->breaker_count; b++) {
        if (job->breakers.left_out[b] == 0) continue;
        SbStr step = what->steps[what->breakers[b].step].label;
        sb_text_format(text, "%.*s: ", (int)step.len, step.ptr);
        sb_text_add_figure(text, job->breakers.left_out[b]);
        sb_text_str(text, " right rows were left out, as no left row looks them up\n");
    }
}

static void add_json(const Job *job, const Table *tables, bool done, Text *text) {
    const JobMachine *machine = &job->machine;
    sb_text_format(text, "{\"done\":%s,\"seconds\":%.6f,\"threads\":%u,\"memory_peak\":%lld,"
                   "\"spilled\":%lld,\"spilled_on_disk\":%lld,\"left_out\":%lld,"
                   "\"tasks_fit\":%u,\"tasks_most\":%u",
                   done ? "true" : "false", job->figures.seconds, machine->pool.parallel.threads,
                   (long long)machine->memory.peak, (long long)machine->spill.bytes_raw,
                   (long long)machine->spill.bytes_written, (long long)count_left_out(job),
                   machine->tasks_fit, machine->tasks_most);
    for (int t = 0; t < SUMMARY_TABLES; t++) add_table(text, &tables[t]);
    stage_times_json(job->ask.what, machine, &job->figures, text);
    worker_figures_json(job->figures.workers, machine->workers.count, text);
    sb_text_str(text, "}");
}

// ---- the summary ----------------------------------------------------------------------------

static void add_time(const JobMachine *machine, double seconds, Text *text) {
    sb_text_format(text, "time %.3f s, %u threads, memory peak %.1f MiB", seconds,
                   machine->pool.parallel.threads, (double)machine->memory.peak / (1 << 20));
    if (machine->spill.bytes_raw > 0)
        sb_text_format(text, ", spilled %.1f MiB as %.1f MiB",
                       (double)machine->spill.bytes_raw / (1 << 20),
                       (double)machine->spill.bytes_written / (1 << 20));
    sb_text_str(text, "\n");
    memory_plan_say_cut(machine, text);
}

static void add_workers(const Job *job, Text *text) {
    uint32_t count = job->machine.workers.count;
    if (count == 0 || !job->figures.workers) return;
    worker_figures_print(job->figures.workers, count, text);
    sb_text_str(text, "\n");
}

void job_summary_print(Job *job, bool done, int code) {
    const SbJob *what = job->ask.what;
    const int64_t *counts = job->figures.counts;
    Table tables[SUMMARY_TABLES] = {steps_table(what, counts),
                                    sources_table(what, job->io.sources, counts),
                                    sinks_table(what, &job->io, done)};
    job->figures.seconds = (double)watch_end_job(job->figures.watch) / 1e9;
    Text text = {0};
    bool any = false;
    if (job->log.json) {
        log_begin(&job->log, &text, "end");
        log_add_number(&text, "exit_code", code);
        sb_text_str(&text, ",\"summary\":");
        add_json(job, tables, done, &text);
        log_event(&job->log, &text);
    } else {
        if (!done) sb_text_str(&text, "\n");
        if (job->ask.options.stats == STATS_JSON) {
            add_json(job, tables, done, &text);
            sb_text_str(&text, "\n");
        } else {
            for (int t = 0; t < SUMMARY_TABLES; t++) print_table(&tables[t], &any, &text);
        }
        if (job->ask.options.stats == STATS_TEXT) {
            if (any) sb_text_str(&text, "\n");
            stage_times_print(what, &job->machine, &job->figures, &text);
            add_workers(job, &text);
            add_left_out(job, &text);
            add_time(&job->machine, job->figures.seconds, &text);
        }
        log_lines(&job->log, &text, false);
        sb_text_close(&text);
    }
    for (int t = 0; t < SUMMARY_TABLES; t++) free(tables[t].rows);
}
