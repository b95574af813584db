#include "runtime/job/job.h"

#include <string.h>

SinkSetup job_sink_setup(const JobAsk *ask, uint32_t number) {
    static const SbWriter lines = {.extension = "jsonl", .row_end = lines_row_end,
                                   .rows_within = lines_rows_within, .rows_end = lines_rows_end};
    static const SbSink records = {.label = {"rejects", 7}, .writer = &lines};
    const SbSetup *setup = &ask->setup;
    bool replace = ask->options.overwrite;
    bool journaled = ask->options.resume || ask->options.journal;
    if (number == ask->what->sink_count) {
        const char *path = ask->options.rejects;
        return (SinkSetup){.path = path ? (SbStr){path, (int64_t)strlen(path)}
                                        : setup->rejects_path,
                           .what = &records, .replace = replace, .journaled = journaled};
    }
    const SbSink *what = &ask->what->sinks[number];
    return (SinkSetup){.path = setup->sink_paths[number], .what = what,
                       .part_bytes = setup->sink_bytes[number], .replace = replace,
                       .journaled = journaled};
}

RejectSetSetup job_records(JobMachine *machine, uint32_t lanes, RejectOrder order) {
    return (RejectSetSetup){order, &machine->spill, lanes, &machine->memory};
}
