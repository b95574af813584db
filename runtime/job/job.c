#include "runtime/job/job.h"

#include <string.h>

SinkSetup job_sink_setup(const Job *job, uint32_t number) {
    static const char *const extensions[] = {"csv", "jsonl", "txt"};
    const SbSetup *setup = &job->setup;
    bool replace = job->options.overwrite;
    bool journaled = job->options.resume || job->options.journal;
    if (number == job->what->sink_count) {
        const char *path = job->options.rejects;
        return (SinkSetup){.path = path ? (SbStr){path, (int64_t)strlen(path)}
                                        : setup->rejects_path,
                           .replace = replace, .journaled = journaled, .extension = "jsonl",
                           .step = {"rejects", 7}};
    }
    const SbSink *what = &job->what->sinks[number];
    return (SinkSetup){.path = setup->sink_paths[number], .header = what->header,
                       .quote = what->format != SB_CSV ? 0 : what->quote,
                       .part_bytes = setup->sink_bytes[number], .replace = replace,
                       .journaled = journaled, .extension = extensions[what->format],
                       .step = what->label};
}

RejectSetSetup job_records(Job *job, RejectOrder order) {
    return (RejectSetSetup){order, &job->spill, job->lanes, &job->memory};
}
