// Summary: what a job counted, as docs/summary.md fixes it, and --stats.
#define _GNU_SOURCE
#include "runtime/job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEP_ZIP = 10, CELLS_MAX = 7 };  // OP_ZIP of ir/ops.def.

int64_t job_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// ---- counts ---------------------------------------------------------------------------------

static int64_t on_of(const Job *job, uint32_t step) {
    return step < job->what->step_count ? job->counts[step * SB_COUNTS + SB_ON] : 0;
}

static const SbBreaker *breaker_of(const Job *job, uint32_t step, uint32_t *number) {
    for (uint32_t b = 0; b < job->what->breaker_count; b++) {
        if (job->what->breakers[b].step != step) continue;
        *number = b;
        return &job->what->breakers[b];
    }
    return nullptr;
}

// The rows of a step that waits for rows at edges are those that were taken from them.
static bool count_edges(Job *job, uint32_t step, int64_t *counts) {
    const SbJob *what = job->what;
    bool any = false;
    for (uint32_t b = 0; b < what->breaker_count; b++) {
        const SbBreaker *breaker = &what->breakers[b];
        if (breaker->step != step || breaker->kind != SB_BREAK_EDGE || breaker->keeps) continue;
        Edge *edge = &job->edges[b];
        int64_t rows = edge_rows(edge);
        any = true;
        counts[SB_IN] += rows;
        if (edge->limited) counts[SB_FILTERED] += rows < edge->skip ? rows : edge->skip;
    }
    return any;
}

static void count_step(Job *job, uint32_t step) {
    const SbStepInfo *info = &job->what->steps[step];
    int64_t *counts = &job->counts[step * SB_COUNTS];
    uint32_t number = 0;
    const SbBreaker *breaker = breaker_of(job, step, &number);
    bool edges = count_edges(job, step, counts);
    if (!edges && !info->counts_in)
        counts[SB_IN] = on_of(job, info->from[0]) + on_of(job, info->from[1]);
    if (breaker && breaker->kind == SB_BREAK_GROUP) {
        int64_t judged = counts[SB_IN] - counts[SB_REJECTED], kept = job->kept[number];
        if (judged < kept) counts[SB_MADE] = kept - judged;
        counts[SB_MERGED] = judged + counts[SB_MADE] - kept;
    } else if (breaker && breaker->kind == SB_BREAK_JOIN) {
        counts[SB_MERGED] = on_of(job, info->from[1]) - job->unmatched_rows[number];
    } else if (info->kind == STEP_ZIP) {
        counts[SB_MERGED] = counts[SB_IN] / 2;
    }
    counts[SB_ON] = counts[SB_IN] + counts[SB_MADE] - counts[SB_FILTERED] - counts[SB_REJECTED] -
                    counts[SB_MERGED];
}

void job_summary_count(Job *job) {
    for (uint32_t s = 0; s < job->what->step_count; s++) count_step(job, s);
}

// ---- tables ---------------------------------------------------------------------------------

typedef struct Table {
    Text    *cells;
    uint32_t columns, count, cap;  // Cells.
} Table;

static Text *add_cell(Table *table) {
    if (table->count == table->cap) {
        uint32_t cap = table->cap ? 2 * table->cap : 64;
        Text *cells = realloc(table->cells, cap * sizeof *cells);
        if (!cells) abort();
        table->cells = cells;
        table->cap = cap;
    }
    Text *cell = &table->cells[table->count++];
    *cell = (Text){0};
    return cell;
}

static void add_word(Table *table, const char *word) { sb_text_str(add_cell(table), word); }
static void add_figure(Table *table, int64_t figure) {
    sb_text_add_figure(add_cell(table), figure);
}

static int64_t width(const Text *cell) {
    int64_t characters = 0;
    for (int64_t i = 0; i < cell->len; i++)
        characters += ((unsigned char)cell->ptr[i] & 0xc0) != 0x80;
    return characters;
}

// Prints and frees; one line is the head alone, and then nothing is printed.
static void print_table(Table *table, bool *any, FILE *file) {
    int64_t widths[CELLS_MAX] = {0};
    for (uint32_t i = 0; i < table->count; i++) {
        int64_t cell = width(&table->cells[i]);
        if (cell > widths[i % table->columns]) widths[i % table->columns] = cell;
    }
    bool print = table->count > table->columns;
    if (print && *any) fputc('\n', file);
    for (uint32_t i = 0; i < table->count; i++) {
        const Text *cell = &table->cells[i];
        uint32_t column = i % table->columns;
        int pad = (int)(widths[column] - width(cell));
        if (print) {
            if (column == 0) fprintf(file, "%.*s%*s", (int)cell->len, cell->ptr, pad, "");
            else fprintf(file, "  %*s%.*s", pad, "", (int)cell->len, cell->ptr);
            if (column + 1 == table->columns) fputc('\n', file);
        }
        sb_text_close(&table->cells[i]);
    }
    *any |= print;
    free(table->cells);
}

// Which steps a flow leads from to a sink; a step comes behind those that it reads.
static bool *steps_reached(const Job *job) {
    const SbJob *what = job->what;
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

static void print_steps(const Job *job, bool *any, FILE *file) {
    bool *reached = steps_reached(job);
    Table table = {.columns = 7};
    static const char *const head[] = {"step",     "in",       "made",  "on",
                                       "filtered", "rejected", "merged"};
    for (int i = 0; i < 7; i++) add_word(&table, head[i]);
    for (uint32_t s = 0; s < job->what->step_count; s++) {
        if (!reached[s]) continue;
        SbStr label = job->what->steps[s].label;
        sb_text_add(add_cell(&table), label.ptr, label.len);
        for (int c = 0; c < SB_COUNTS; c++)
            add_figure(&table, job->counts[s * SB_COUNTS + (uint32_t)c]);
    }
    free(reached);
    print_table(&table, any, file);
}

static void print_sources(const Job *job, bool *any, FILE *file) {
    Table table = {.columns = 3};
    add_word(&table, "source");
    add_word(&table, "rows");
    add_word(&table, "bytes");
    for (uint32_t s = 0; s < job->what->source_count; s++) {
        const Source *source = &job->sources[s];
        for (uint32_t f = 0; f < source->file_count; f++) {
            add_word(&table, source->files[f].path);
            add_figure(&table, source->files[f].rows);
            add_figure(&table, source->files[f].bytes);
        }
        if (source->file_count > 0 || !source->what) continue;
        sb_text_add(add_cell(&table), source->what->label.ptr, source->what->label.len);
        add_figure(&table, job->counts[source->what->step * SB_COUNTS + SB_MADE]);
        add_figure(&table, 0);
    }
    print_table(&table, any, file);
}

static void print_sinks(const Job *job, bool *any, FILE *file) {
    Table table = {.columns = 3};
    add_word(&table, "sink");
    add_word(&table, "rows");
    add_word(&table, "bytes");
    for (uint32_t s = 0; s < job->what->sink_count + job->has_rejects_sink; s++) {
        add_word(&table, job->sinks[s].path);
        add_figure(&table, job->sinks[s].rows);
        add_figure(&table, job->sinks[s].bytes);
    }
    print_table(&table, any, file);
}

void job_summary_print(const Job *job, bool done, FILE *file) {
    bool any = false;
    print_steps(job, &any, file);
    print_sources(job, &any, file);
    if (done) print_sinks(job, &any, file);
}

// ---- stats ----------------------------------------------------------------------------------

static void stats_json(const Job *job, bool done, double seconds, FILE *file) {
    static const char *const names[] = {"in", "made", "on", "filtered", "rejected", "merged"};
    Text text = {0};
    sb_text_format(
        &text, "{\"done\":%s,\"seconds\":%.6f,\"threads\":%u,\"memory_peak\":%lld,\"steps\":[",
        done ? "true" : "false", seconds, job->pool.parallel.threads, (long long)job->memory.peak);
    for (uint32_t s = 0; s < job->what->step_count; s++) {
        SbStr label = job->what->steps[s].label;
        sb_text_str(&text, s ? ",{\"step\":" : "{\"step\":");
        sb_text_add_json(&text, label.ptr, label.len);
        for (uint32_t c = 0; c < SB_COUNTS; c++) {
            sb_text_format(&text, ",\"%s\":%lld", names[c],
                           (long long)job->counts[s * SB_COUNTS + c]);
        }
        sb_text_str(&text, "}");
    }
    sb_text_str(&text, "],\"sinks\":[");
    for (uint32_t s = 0; s < job->what->sink_count + job->has_rejects_sink; s++) {
        const Sink *sink = &job->sinks[s];
        sb_text_str(&text, s ? ",{\"sink\":" : "{\"sink\":");
        const char *path = sink->path ? sink->path : "";
        sb_text_add_json(&text, path, (int64_t)strlen(path));
        sb_text_format(&text, ",\"rows\":%lld,\"bytes\":%lld}", (long long)sink->rows,
                       (long long)sink->bytes);
    }
    sb_text_str(&text, "]}\n");
    fwrite(text.ptr, 1, (size_t)text.len, file);
    sb_text_close(&text);
}

void stats_print(const Job *job, bool done, FILE *file) {
    double seconds = (double)(job_clock_ns() - job->started_ns) / 1e9;
    if (job->options.stats == STATS_JSON) stats_json(job, done, seconds, file);
    if (job->options.stats != STATS_TEXT) return;
    fprintf(file, "time %.3f s, %u threads, memory peak %.1f MiB\n", seconds,
            job->pool.parallel.threads, (double)job->memory.peak / (1 << 20));
}
