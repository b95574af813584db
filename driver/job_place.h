// Job place: where a compiled job goes, and what it must not replace.
#ifndef SBC_DRIVER_JOB_PLACE_H
#define SBC_DRIVER_JOB_PLACE_H

#include "driver/command_line.h"

typedef struct JobPlace {
    const char *path;      // With links followed.
    bool        discard;   // /dev/null: the job is built, and goes nowhere.
} JobPlace;

// The place for the job of `program` that -o names, or the default. A new name, an empty file and
// an earlier job are free; any other file needs --overwrite. False: what is wrong was said.
bool job_place_find(const Options *options, const char *program, JobPlace *out);

#endif
