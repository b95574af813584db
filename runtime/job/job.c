#include "runtime/job/job.h"

#include <string.h>

SinkSetup job_sink_setup(const Job *job, uint32_t number) {
    static const SbWriter lines = {.extension = "jsonl", .row_end = lines_row_end,
                                   .rows_within = lines_rows_within, .rows_end = lines_rows_end};
    static const SbSink records = {.label = {"rejects", 7}, .writer = &lines};
    const SbSetup *setup = &job->setup;
    bool replace = job->options.overwrite;
    bool journaled = job->options.resume || job->options.journal;
    if (number == job->what->sink_count) {
        const char *path = job->options.rejects;
        return (SinkSetup){.path = path ? (SbStr){path, (int64_t)strlen(path)}
                                        : setup->rejects_path,
                           .what = &records, .replace = replace, .journaled = journaled};
    }
    const SbSink *what = &job->what->sinks[number];
    return (SinkSetup){.path = setup->sink_paths[number], .what = what,
                       .part_bytes = setup->sink_bytes[number], .replace = replace,
                       .journaled = journaled};
}

RejectSetSetup job_records(Job *job, RejectOrder order) {
    return (RejectSetSetup){order, &job->spill, job->lanes, &job->memory};
}
