#include "runtime/job/job.h"

#include "runtime/host.h"

#include <string.h>

Checksum job_program(const JobAsk *ask) {
    Text text = {0};
    pack_bytes(&text, ask->what->source_hash.ptr, ask->what->source_hash.len);
    for (uint32_t i = 0; i < ask->options.text_count; i++) {
        const ParamText *param = &ask->options.texts[i];
        pack_number(&text, param->param);
        pack_string(&text, param->text ? param->text : "");
    }
    Checksum sum = checksum_of(text.ptr, text.len);
    sb_text_close(&text);
    return sum;
}

SbRecords job_records_form(const JobAsk *ask) {
    const char *path = ask->options.rejects;
    if (!path) return ask->what->rejects_form;
    size_t len = strlen(path);
    if (compression_of(path) != COMPRESSION_NONE) len = (size_t)(strrchr(path, '.') - path);
    return len > 4 && memcmp(path + len - 4, ".csv", 4) == 0 ? SB_RECORDS_CSV : SB_RECORDS_JSONL;
}

// The sink of the records of rejects.
static const SbSink *records_sink(const JobAsk *ask) {
    static const SbWriter lines = {.extension = "jsonl", .row_end = lines_row_end,
                                   .rows_within = lines_rows_within, .rows_end = lines_rows_end};
#define RECORDS(form, appends)                                                              \
    {.label = {"rejects", 7}, .writer = &lines, .append = appends,                           \
     .header = {REJECTS_HEADER_##form, sizeof REJECTS_HEADER_##form - 1}}
    static const SbSink sinks[][2] = {
        [SB_RECORDS_JSONL] = {RECORDS(JSONL, false), RECORDS(JSONL, true)},
        [SB_RECORDS_CSV] = {RECORDS(CSV, false), RECORDS(CSV, true)},
    };
#undef RECORDS
    return &sinks[job_records_form(ask)][ask->what->rejects_append];
}

SinkSetup job_sink_setup(const JobAsk *ask, uint32_t number) {
    const SbSetup *setup = &ask->setup;
    bool replace = ask->options.overwrite;
    bool journaled = ask->options.resume || ask->options.journal;
    if (number == ask->what->sink_count) {
        const char *path = ask->options.rejects;
        return (SinkSetup){.path = path ? (SbStr){path, (int64_t)strlen(path)}
                                        : setup->rejects_path,
                           .what = records_sink(ask), .replace = replace, .journaled = journaled};
    }
    const SbSink *what = &ask->what->sinks[number];
    return (SinkSetup){.path = setup->sink_paths[number], .what = what,
                       .part_bytes = setup->sink_bytes[number],
                       .files_max = setup->sink_files[number], .replace = replace,
                       .journaled = journaled};
}

int64_t job_memory_held(const JobMachine *machine, const JobFigures *figures) {
    uint32_t workers = figures->workers ? machine->workers.count : 0;
    return sb_memory_held(&machine->memory) + worker_figures_memory(figures->workers, workers);
}

RejectSetSetup job_records(JobMachine *machine, uint32_t lanes, RejectOrder order) {
    return (RejectSetSetup){order, &machine->spill, lanes, &machine->memory};
}

SbMemory *job_breaker_memory(Job *job, uint32_t breaker) {
    SbMemory **accounts = job->breakers.accounts;
    return accounts ? accounts[breaker] : &job->machine.memory;
}

uint32_t job_worker_threads(const Job *job, uint32_t worker) {
    const WorkerKind *kinds = job->ask.options.workers.kinds;
    const WorkerPlan *plan = &job->machine.workers;
    uint32_t own = plan->count - plan->places;
    if (worker > own) return plan->place_threads;
    const SbJob *what = job->ask.what;
    const WorkerKind *kind = kinds ? &kinds[worker - 1] : nullptr;
    Slots slots = {.job = what, .cpus = (kind ? kind->cpus : plan->own_cpus) * WHOLE};
    for (uint32_t r = 0; r < what->resource_count; r++)
        slots.supply[r] = kind ? slots_of_kind(what, kind, r)
                               : slots_of_share(job->machine.slots.supply[r], own, worker - 1);
    return slots_threads(&slots);
}
