// Options: what the command line and the configuration file of a job say.
#ifndef SBC_RUNTIME_OPTIONS_H
#define SBC_RUNTIME_OPTIONS_H

#include "runtime/abi/program.h"
#include "runtime/core.h"
#include "runtime/options/commands.h"
#include "runtime/options/worker_kinds.h"
#include "runtime/report.h"

typedef enum OptionKind {
#define OPTION(name, text, value, doc) OPTION_##name,
#include "runtime/options/options.def"
#undef OPTION
    OPTION_KINDS,
} OptionKind;

static_assert(OPTION_KINDS <= 64, "a bit for each in Options.seen");

typedef enum ProgressMode { PROGRESS_AUTO, PROGRESS_PLAIN, PROGRESS_NONE } ProgressMode;
typedef enum StatsMode { STATS_TEXT, STATS_JSON, STATS_NONE } StatsMode;
typedef enum DeviceMode { DEVICE_AUTO, DEVICE_ONLY_CPU, DEVICE_ONLY_GPU } DeviceMode;
typedef enum LogMode { LOG_TEXT, LOG_JSON } LogMode;

// A value given for a parameter, in the order given.
typedef struct ParamText {
    uint32_t    param;
    const char *text;     // nullptr: the parameter is a list without values.
    bool        from_config;
    const char *shown;    // Lines of the file with a caret, for messages; nullptr for none.
} ParamText;

typedef struct Options {
    uint32_t     threads;
    WorkerKinds  workers;
    const char  *listen, *join; // Addresses; nullptr: not given.
    const char  *key_file;      // nullptr: not given.
    int64_t      worker_timeout_us;
    uint32_t     worker_restarts;
    Supply       supplies[SB_RESOURCES_MAX];
    uint32_t     supply_count;
    int64_t      memory;        // 0: not given.
    const char  *spill;         // nullptr: not given.
    const char  *python;        // The interpreter; nullptr: not given.
    const char  *resume, *journal;  // Folders; nullptr: not given.
    int64_t      partition;     // 0: not given.
    PolicyId     schedule;
    int64_t      first_rows;    // INT64_MAX: all.
    bool         overwrite;
    bool         help, params, plan, licenses, devices, check;
    const char  *rejects;       // nullptr: as the program says.
    bool         has_reject_limit;
    int64_t      reject_rows;   // -1: none.
    double       reject_share;  // -1: none.
    ProgressMode progress;
    StatsMode    stats;
    LogMode      log;
    DeviceMode   device;
    int64_t      gpu_memory;    // Of each; 0: not given.
    int64_t      grace_us, watchdog_us;
    int64_t      retries;
    bool         waits_for_room;
    const char  *trace;         // nullptr: none.
    const char  *metrics;       // nullptr: none.
    bool         show_rows;
    const char  *control;       // nullptr: not given.
    bool         tells;         // It says `command` to a job that runs.
    Command      command;
    const char  *config;
    ParamText   *texts;
    uint32_t     text_count, text_cap;
    uint64_t     seen;          // By OptionKind: given on the command line.
} Options;

// Reads argv, then the configuration file. Texts point into argv or live as long as the process.
bool options_read(Options *options, const SbJob *job, int argc, char **argv, Trouble *trouble);
void options_close(Options *options);

// Sets one own option; `value` is nullptr when none was given.
bool options_set(Options *options, OptionKind kind, const char *value, Trouble *trouble);
// Finds an own option by name; OPTION_KINDS when there is none.
OptionKind options_find(const char *name, size_t len);
// Finds a parameter of the program, which goes before an option of its name; param_count: none.
uint32_t options_param(const SbJob *job, const char *name, size_t len);
bool options_add_text(Options *options, const SbJob *job, ParamText text, Trouble *trouble);

void options_print_help(const SbJob *job, FILE *file);
void options_print_params(const SbJob *job, FILE *file);

// "4096", "64KiB", "1.5MiB", "8GB"; false: no size.
bool options_size(const char *text, int64_t *bytes);
// "12": digits alone; false: none.
bool options_whole(const char *text, int64_t *number);
// "90s", "1.5h": a literal of the language, in microseconds; false: none.
bool options_duration(const char *text, int64_t *microseconds);

// The names of a job (`self`): the parameters, then the options.
NameFn options_name;

#endif
