#include "runtime/job/worker_figures.h"

#include <stddef.h>

const char *worker_phase_name(WorkerPhase phase) {
    static const char *const names[] = {
#define WORKER_PHASE(phase, name, words) name,
        WORKER_PHASE_TABLE(WORKER_PHASE)
#undef WORKER_PHASE
    };
    return names[phase];
}

const char *worker_phase_words(WorkerPhase phase) {
    static const char *const all[] = {
#define WORKER_PHASE(phase, name, words) words,
        WORKER_PHASE_TABLE(WORKER_PHASE)
#undef WORKER_PHASE
    };
    return all[phase];
}

typedef struct Figure {
    const char *field, *name, *kind, *help;
    size_t      offset;
} Figure;

static const Figure all[] = {
#define WORKER_FIELD(field, name, kind, help) \
    {#field, name, kind, help, offsetof(WorkerFigures, field)},
    WORKER_FIGURE_TABLE(WORKER_FIELD)
#undef WORKER_FIELD
};
enum { FIGURES = sizeof all / sizeof *all };

static int64_t value_of(const WorkerFigures *is, const Figure *figure) {
    return *(const _Atomic int64_t *)(const void *)((const char *)is + figure->offset);
}

static bool was_there(const WorkerFigures *is) {
    return is->phase != PHASE_ABSENT || is->losses > 0 || is->partitions > 0;
}

void worker_figures_print(const WorkerFigures *workers, uint32_t count, Text *text) {
    static const char *const heads[] = {"worker", "process", "now", "tasks", "memory",
                                        "partitions", "made again", "lost", "restarts", "verdicts"};
    TextTable table = {.columns = sizeof heads / sizeof *heads, .left = 3};
    for (uint32_t i = 0; i < table.columns; i++) sb_table_word(&table, heads[i]);
    for (uint32_t n = 0; n < count; n++) {
        const WorkerFigures *is = &workers[n];
        char held[SIZE_TEXT];
        if (!was_there(is)) continue;
        size_say(is->memory, held);
        sb_text_format(sb_table_cell(&table), "%u", n + 1);
        sb_text_format(sb_table_cell(&table), "%lld", (long long)is->pid);
        sb_table_word(&table, worker_phase_words((WorkerPhase)is->phase));
        sb_text_format(sb_table_cell(&table), "%lld", (long long)is->tasks);
        sb_table_word(&table, held);
        sb_table_figure(&table, is->partitions);
        sb_table_figure(&table, is->again);
        sb_table_figure(&table, is->losses);
        sb_table_figure(&table, is->restarts);
        sb_table_figure(&table, is->verdicts);
    }
    sb_table_print(&table, text);
    sb_table_close(&table);
}

void worker_figures_json(const WorkerFigures *workers, uint32_t count, Text *text) {
    if (count == 0) return;
    sb_text_str(text, ",\"workers\":[");
    for (uint32_t n = 0; n < count; n++) {
        WorkerPhase phase = (WorkerPhase)workers[n].phase;
        sb_text_format(text, "%s{\"worker\":%u,\"phase\":\"%s\",\"words\":\"%s\",\"pid\":%lld",
                       n ? "," : "", n + 1, worker_phase_name(phase), worker_phase_words(phase),
                       (long long)workers[n].pid);
        for (int f = 0; f < FIGURES; f++)
            log_add_number(text, all[f].field, value_of(&workers[n], &all[f]));
        sb_text_str(text, "}");
    }
    sb_text_str(text, "]");
}

void worker_figures_metrics(const WorkerFigures *workers, uint32_t count, Text *text) {
    if (count == 0) return;
    sb_text_str(text, "# HELP sbc_worker_up Does the worker take tasks?\n"
                      "# TYPE sbc_worker_up gauge\n");
    for (uint32_t n = 0; n < count; n++)
        sb_text_format(text, "sbc_worker_up{worker=\"%u\"} %d\n", n + 1,
                       workers[n].phase == PHASE_WORKS);
    for (int f = 0; f < FIGURES; f++) {
        const Figure *figure = &all[f];
        sb_text_format(text, "# HELP sbc_worker_%s %s\n# TYPE sbc_worker_%s %s\n", figure->name,
                       figure->help, figure->name, figure->kind);
        for (uint32_t n = 0; n < count; n++)
            sb_text_format(text, "sbc_worker_%s{worker=\"%u\"} %lld\n", figure->name, n + 1,
                           (long long)value_of(&workers[n], figure));
    }
}

int64_t worker_figures_memory(const WorkerFigures *workers, uint32_t count) {
    int64_t bytes = 0;
    for (uint32_t n = 0; n < count; n++) bytes += workers[n].memory;
    return bytes;
}
