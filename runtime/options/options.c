#include "runtime/options/options.h"

#include "runtime/options/config.h"
#include "runtime/options/params.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct OptionInfo {
    const char *name, *value, *doc;
} OptionInfo;

static const OptionInfo infos[] = {
#define OPTION(kind, text, value, doc) {text, value, doc},
#include "runtime/options/options.def"
#undef OPTION
};

enum : int64_t { RETRIES = 3, RETRIES_MAX = 1000, WORKER_RESTARTS = 3 };
enum : int64_t { GRACE_US = 25000000, WATCHDOG_US = 60000000, WORKER_TIMEOUT_US = 10000000 };

OptionKind options_find(const char *name, size_t len) {
    for (uint32_t i = 0; i < OPTION_KINDS; i++) {
        if (strlen(infos[i].name) == len && memcmp(infos[i].name, name, len) == 0) return i;
    }
    return OPTION_KINDS;
}

uint32_t options_param(const SbJob *job, const char *name, size_t len) {
    uint32_t i = 0;
    for (; i < job->param_count; i++) {
        SbStr param = job->params[i].name;
        if ((size_t)param.len == len && memcmp(param.ptr, name, len) == 0) break;
    }
    return i;
}

SbStr options_name(const void *self, uint32_t index) {
    const SbJob *job = self;
    if (index < job->param_count) return job->params[index].name;
    const char *name = infos[index - job->param_count].name;
    return (SbStr){name, (int64_t)strlen(name)};
}

// ---- values ---------------------------------------------------------------------------------

typedef struct NumberUnit {
    const char *suffix;
    double      value;
} NumberUnit;

// A number, perhaps with a fraction, and one of the units.
static bool read_measure(const char *text, const NumberUnit *units, size_t count, double *value) {
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    // strtod takes more than digits and a point.
    if (end == text || end != text + strspn(text, "0123456789.") || errno != 0) return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(end, units[i].suffix) != 0) continue;
        *value = number * units[i].value;
        return *value <= 9e18;
    }
    return false;
}

static bool make_whole(double value, int64_t *whole) {
    if (value != floor(value)) return false;
    *whole = (int64_t)value;
    return true;
}

static bool read_size(const char *text, double *bytes) {
    static const NumberUnit units[] = {
        {"", 1}, {"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
        {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
    };
    return read_measure(text, units, sizeof units / sizeof *units, bytes);
}

bool options_size(const char *text, int64_t *bytes) {
    double value;
    return read_size(text, &value) && make_whole(value, bytes);
}

bool options_duration(const char *text, int64_t *microseconds) {
    static const NumberUnit units[] = {
        {"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"min", 60e6}, {"h", 3600e6}, {"d", 86400e6},
    };
    double value;
    return read_measure(text, units, sizeof units / sizeof *units, &value) &&
           make_whole(value, microseconds);
}

bool options_whole(const char *text, int64_t *number) {
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9') return false;
    int64_t read = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0') return false;
    *number = read;
    return true;
}

// What a unit leaves of a byte is dropped: nobody counts the bytes of 63.7MiB.
static bool set_size(OptionKind kind, const char *value, int64_t *bytes, Trouble *trouble) {
    double size;
    if (read_size(value, &size) && size >= 1) {
        *bytes = (int64_t)size;
        return true;
    }
    trouble_set(trouble, TROUBLE_USAGE, "--%s=%s: '%s' is no size", infos[kind].name, value, value);
    trouble_fix(trouble, "a number and a unit: --%s=64MiB", infos[kind].name);
    return false;
}

static bool set_reject_limit(Options *options, const char *value, Trouble *trouble) {
    options->has_reject_limit = true;
    options->reject_rows = -1;
    options->reject_share = -1;
    if (options_whole(value, &options->reject_rows)) return true;
    char *end;
    double percent = strtod(value, &end);
    if (end != value && strcmp(end, "%") == 0 && percent >= 0 && percent <= 100) {
        options->reject_share = percent / 100;
        return true;
    }
    trouble_set(trouble, TROUBLE_USAGE, "--reject-limit=%s: '%s' is no limit", value, value);
    trouble_fix(trouble, "a number of rows or a share: --reject-limit=100, --reject-limit=0.1%%");
    return false;
}

static SbStr word_of(const void *words, uint32_t index) {
    const char *at = words;
    for (; index > 0; index--) at += strcspn(at, "|") + 1;
    return (SbStr){at, (int64_t)strcspn(at, "|")};
}

// One of the words "a|b|c" that the help shows, as its number among them.
static bool set_word(OptionKind kind, const char *value, int *number, Trouble *trouble) {
    const char *words = infos[kind].value;
    SbStr given = {value, (int64_t)strlen(value)};
    uint32_t count = 1;
    for (const char *at = words; *at != '\0'; at++) count += *at == '|';
    for (uint32_t i = 0; i < count; i++) {
        SbStr word = word_of(words, i);
        if (word.len == given.len && memcmp(word.ptr, value, (size_t)word.len) == 0)
            return *number = (int)i, true;
    }
    trouble_set(trouble, TROUBLE_USAGE, "--%s=%s: expected %s", infos[kind].name, value, words);
    SbStr near = nearest_name(given, word_of, words, count);
    if (near.len == 0) near = word_of(words, 0);
    return trouble_fix(trouble, "write --%s=%.*s", infos[kind].name, (int)near.len, near.ptr),
           false;
}

// The fix has the number that was given, if one was: "5" are seconds, "5m" minutes.
static bool set_duration(OptionKind kind, const char *value, int64_t *time, Trouble *trouble) {
    if (options_duration(value, time)) return true;
    int digits = (int)strspn(value, "0123456789.");
    const char *unit = value[digits] == '\0' ? "s" : strcmp(value + digits, "m") == 0 ? "min" : "";
    trouble_set(trouble, TROUBLE_USAGE, "--%s=%s: '%s' is no duration", infos[kind].name, value,
                value);
    if (digits == 0 || *unit == '\0') digits = 2, value = "25", unit = "s";
    trouble_fix(trouble, "a number and a unit: --%s=%.*s%s", infos[kind].name, digits, value, unit);
    return false;
}

// "accel=4", "accel=0.5".
static bool add_supply(Options *options, const char *value, Trouble *trouble) {
    const char *equals = strchr(value, '=');
    char *end = nullptr;
    double amount = equals ? strtod(equals + 1, &end) : 0;
    bool good = equals && equals > value && *end == '\0' &&
                end == equals + 1 + strspn(equals + 1, "0123456789.");
    if (!equals || equals == value) {
        trouble_set(trouble, TROUBLE_USAGE, "--resource=%s: expected a name and an amount", value);
        return trouble_fix(trouble, "--resource=accel=4"), false;
    }
    if (!good || amount * 1000 < 1 || amount > 1e6) {
        trouble_set(trouble, TROUBLE_USAGE, "--resource=%s: '%s' is no amount", value, equals + 1);
        trouble_fix(trouble, "a number from 0.001 to 1000000: --resource=%.*s=4",
                    (int)(equals - value), value);
        return false;
    }
    Supply supply = {value, (size_t)(equals - value), (uint32_t)(amount * 1000 + 0.5)};
    for (uint32_t i = 0; i < options->supply_count; i++) {
        const Supply *known = &options->supplies[i];
        if (known->name_len != supply.name_len || memcmp(known->name, value, supply.name_len) != 0)
            continue;
        trouble_set(trouble, TROUBLE_USAGE, "--resource=%s: --resource=%s is given, too", value,
                    known->name);
        return trouble_fix(trouble, "keep one of them"), false;
    }
    if (options->supply_count == SB_RESOURCES_MAX)
        return trouble_set(trouble, TROUBLE_USAGE, "--resource=%s: more than %d resources", value,
                           SB_RESOURCES_MAX);
    options->supplies[options->supply_count++] = supply;
    return true;
}

static bool set_count(OptionKind kind, const char *value, int64_t *count, Trouble *trouble) {
    int64_t max = kind == OPTION_THREADS ? 1024 : INT64_MAX;
    if (options_whole(value, count) && *count > 0 && *count <= max) return true;
    if (max == INT64_MAX)
        trouble_set(trouble, TROUBLE_USAGE, "--%s=%s: '%s' is no whole number above zero",
                    infos[kind].name, value, value);
    else
        trouble_set(trouble, TROUBLE_USAGE, "--%s=%s: '%s' is no whole number from 1 to %lld",
                    infos[kind].name, value, value, (long long)max);
    return trouble_fix(trouble, "write --%s=%s", infos[kind].name,
                       max == INT64_MAX ? "100" : "4"), false;
}

// How often something is done again; 0 is never.
static bool set_limit(OptionKind kind, const char *value, int64_t usual, int64_t *count,
                      Trouble *trouble) {
    if (options_whole(value, count) && *count <= RETRIES_MAX) return true;
    trouble_set(trouble, TROUBLE_USAGE, "--%s=%s: '%s' is no whole number from 0 to %lld",
                infos[kind].name, value, value, (long long)RETRIES_MAX);
    return trouble_fix(trouble, "write --%s=%lld", infos[kind].name, (long long)usual), false;
}

// A file or a folder.
static bool set_path(OptionKind kind, const char *value, const char **path, Trouble *trouble) {
    if (*value != '\0') return *path = value, true;
    return trouble_set(trouble, TROUBLE_USAGE, "--%s needs a value: --%s=%s", infos[kind].name,
                       infos[kind].name, infos[kind].value);
}

// An option whose value is one of a few words.
static bool set_choice(Options *options, OptionKind kind, const char *value, Trouble *trouble) {
    int word = 0;
    if (value && !set_word(kind, value, &word, trouble)) return false;
    if (kind == OPTION_SCHEDULE) options->schedule = (PolicyId)word;
    else if (kind == OPTION_PROGRESS) options->progress = (ProgressMode)word;
    else if (kind == OPTION_ON_FULL) options->waits_for_room = word == 0;
    else if (kind == OPTION_DEVICE) options->device = (DeviceMode)word;
    else if (kind == OPTION_LOG) options->log = (LogMode)word;
    else options->stats = (StatsMode)word;
    return true;
}

static bool set_command(Options *options, const char *value, Trouble *trouble) {
    if (options->tells) {
        trouble_set(trouble, TROUBLE_USAGE, "--tell=%s: a job is told one thing at a time", value);
        return trouble_fix(trouble, "give the commands one after the other"), false;
    }
    options->tells = true;
    return command_read(value, &options->command, trouble);
}

static bool set_drain(Options *options, const char *value, Trouble *trouble) {
    char text[64];
    snprintf(text, sizeof text, "drain=%.32s", value);
    return set_command(options, text, trouble);
}

// A shorter time than that takes a busy machine for a worker that is lost.
static bool set_timeout(Options *options, const char *value, Trouble *trouble) {
    enum : int64_t { LEAST_US = 200'000 };
    if (!set_duration(OPTION_WORKER_TIMEOUT, value, &options->worker_timeout_us, trouble))
        return false;
    if (options->worker_timeout_us >= LEAST_US) return true;
    trouble_set(trouble, TROUBLE_USAGE, "--worker-timeout=%s: at least 200ms", value);
    return trouble_fix(trouble, "write --worker-timeout=10s"), false;
}

bool options_set(Options *options, OptionKind kind, const char *value, Trouble *trouble) {
    const OptionInfo *info = &infos[kind];
    if (info->value[0] == '\0' && value) {
        trouble_set(trouble, TROUBLE_USAGE, "--%s takes no value", info->name);
        return trouble_fix(trouble, "write --%s, or leave it out", info->name), false;
    }
    if (info->value[0] != '\0' && !value && kind != OPTION_STATS) {
        return trouble_set(trouble, TROUBLE_USAGE, "--%s needs a value: --%s=%s", info->name,
                           info->name, info->value);
    }
    int64_t count = 0;
    switch (kind) {
    case OPTION_HELP: return options->help = true;
    case OPTION_PARAMS: return options->params = true;
    case OPTION_PLAN: return options->plan = true;
    case OPTION_LICENSES: return options->licenses = true;
    case OPTION_DEVICES: return options->devices = true;
    case OPTION_CHECK: return options->check = true;
    case OPTION_OVERWRITE: return options->overwrite = true;
    case OPTION_CONFIG: return set_path(kind, value, &options->config, trouble);
    case OPTION_PYTHON: return set_path(kind, value, &options->python, trouble);
    case OPTION_SPILL: return set_path(kind, value, &options->spill, trouble);
    case OPTION_RESUME: return set_path(kind, value, &options->resume, trouble);
    case OPTION_JOURNAL: return set_path(kind, value, &options->journal, trouble);
    case OPTION_REJECTS: return set_path(kind, value, &options->rejects, trouble);
    case OPTION_REJECT_LIMIT: return set_reject_limit(options, value, trouble);
    case OPTION_RESOURCE: return add_supply(options, value, trouble);
    case OPTION_MEMORY: return set_size(kind, value, &options->memory, trouble);
    case OPTION_GPU_MEMORY: return set_size(kind, value, &options->gpu_memory, trouble);
    case OPTION_PARTITION: return set_size(kind, value, &options->partition, trouble);
    case OPTION_FIRST_ROWS: return set_count(kind, value, &options->first_rows, trouble);
    case OPTION_THREADS:
        if (!set_count(kind, value, &count, trouble)) return false;
        options->threads = (uint32_t)count;
        return true;
    case OPTION_WORKERS: return worker_kinds_set_count(&options->workers, value, trouble);
    case OPTION_LISTEN: return set_path(kind, value, &options->listen, trouble);
    case OPTION_JOIN: return set_path(kind, value, &options->join, trouble);
    case OPTION_KEY_FILE: return set_path(kind, value, &options->key_file, trouble);
    case OPTION_PLACES: return worker_kinds_set_places(&options->workers, value, trouble);
    case OPTION_WORKER: return worker_kinds_add(&options->workers, value, trouble);
    case OPTION_WORKER_TIMEOUT: return set_timeout(options, value, trouble);
    case OPTION_CONTROL: return set_path(kind, value, &options->control, trouble);
    case OPTION_TELL: return set_command(options, value, trouble);
    case OPTION_DRAIN: return set_drain(options, value, trouble);
    case OPTION_WORKER_RESTARTS:
        if (!set_limit(kind, value, WORKER_RESTARTS, &count, trouble)) return false;
        options->worker_restarts = (uint32_t)count;
        return true;
    case OPTION_GRACE: return set_duration(kind, value, &options->grace_us, trouble);
    case OPTION_RETRIES: return set_limit(kind, value, RETRIES, &options->retries, trouble);
    case OPTION_WATCHDOG: return set_duration(kind, value, &options->watchdog_us, trouble);
    case OPTION_METRICS: return options->metrics = value, true;
    case OPTION_SHOW_ROWS: return options->show_rows = true;
    case OPTION_TRACE: return set_path(kind, value, &options->trace, trouble);
    case OPTION_DEVICE:
    case OPTION_ON_FULL:
    case OPTION_SCHEDULE:
    case OPTION_PROGRESS:
    case OPTION_STATS:
    case OPTION_LOG: return set_choice(options, kind, value, trouble);
    case OPTION_KINDS: break;
    }
    return false;
}

bool options_add_text(Options *options, const SbJob *job, ParamText text, Trouble *trouble) {
    if (options->text_count == options->text_cap) {
        uint32_t cap = options->text_cap ? 2 * options->text_cap : 16;
        ParamText *texts = realloc(options->texts, cap * sizeof *texts);
        if (!texts) return trouble_no_memory(trouble, "for the options");
        options->texts = texts;
        options->text_cap = cap;
    }
    options->texts[options->text_count++] = text;
    return params_check(job, &text, trouble);
}

// ---- command line ---------------------------------------------------------------------------

static bool unknown_option(const SbJob *job, SbStr name, Trouble *trouble) {
    trouble_set(trouble, TROUBLE_UNKNOWN_OPTION, "unknown option '--%.*s'", (int)name.len,
                name.ptr);
    SbStr near = nearest_name(name, options_name, job, OPTION_KINDS + job->param_count);
    if (near.len > 0) trouble_fix(trouble, "did you mean '--%.*s'?", (int)near.len, near.ptr);
    return false;
}

static bool read_one(Options *options, const SbJob *job, const char *arg, Trouble *trouble) {
    if (strcmp(arg, "-h") == 0) return options->help = true;
    if (arg[0] != '-' || arg[1] != '-' || arg[2] == '\0') {
        trouble_set(trouble, TROUBLE_USAGE, "unexpected argument '%s'", arg);
        if (arg[0] == '-' && arg[1] != '-' && arg[1] != '\0') {
            trouble_fix(trouble, "options begin with two hyphens: -%s", arg);
        } else if (job->param_count > 0) {
            SbStr name = job->params[0].name;
            trouble_fix(trouble, "options are written --NAME=VALUE, as in --%.*s=%s", (int)name.len,
                        name.ptr, arg);
        }
        return false;
    }
    const char *name = arg + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const char *value = equals ? equals + 1 : nullptr;
    uint32_t param = options_param(job, name, len);
    if (param < job->param_count) {
        if (!value && job->params[param].type->kind == SB_BOOL) value = "true";
        if (value)
            return options_add_text(options, job, (ParamText){.param = param, .text = value},
                                    trouble);
        return trouble_set(trouble, TROUBLE_USAGE, "--%s needs a value: --%s=VALUE", name, name);
    }
    OptionKind kind = options_find(name, len);
    if (kind != OPTION_KINDS) {
        options->seen |= UINT64_C(1) << kind;
        return options_set(options, kind, value, trouble);
    }
    return unknown_option(job, (SbStr){name, (int64_t)len}, trouble);
}

// A value that stands apart from its option is part of the same mistake.
static bool is_value_of(const char *option, const char *value, Trouble *trouble) {
    if (option[0] != '-' || strchr(option, '=') || !value || value[0] == '-') return false;
    if (trouble->kind == TROUBLE_USAGE)
        trouble_fix(trouble, "write %s%s=%s", option[1] == '-' ? "" : "-", option, value);
    return true;
}

// Of what is shown instead of a run one thing can be asked for; --help goes before all.
static bool asks_once(const Options *options, Trouble *trouble) {
    const struct {
        OptionKind kind;
        bool       given;
    } asked[] = {
        {OPTION_PARAMS, options->params},   {OPTION_PLAN, options->plan},
        {OPTION_LICENSES, options->licenses}, {OPTION_DEVICES, options->devices},
        {OPTION_CHECK, options->check},
        {OPTION_JOURNAL, options->journal},
    };
    const char *first = nullptr;
    for (size_t i = 0; !options->help && i < sizeof asked / sizeof *asked; i++) {
        const char *name = infos[asked[i].kind].name;
        if (!asked[i].given) continue;
        if (first) {
            trouble_set(trouble, TROUBLE_USAGE, "--%s and --%s: a job shows one of them at a time",
                        first, name);
            return trouble_fix(trouble, "leave one of them out"), false;
        }
        first = name;
    }
    return true;
}

// `--resource accel=4`, `--worker cpus=2`, as one writes a definition for a compiler.
static OptionKind two_words(const char *arg, const char *next) {
    bool value = next && next[0] != '-';
    if (value && strcmp(arg, "--resource") == 0) return OPTION_RESOURCE;
    return value && strcmp(arg, "--worker") == 0 ? OPTION_WORKER : OPTION_KINDS;
}

// Workers are all alike, or each is described.
static bool workers_once(const Options *options, Trouble *trouble) {
    uint64_t both = UINT64_C(1) << OPTION_WORKERS | UINT64_C(1) << OPTION_WORKER;
    if ((options->seen & both) != both) return true;
    trouble_set(trouble, TROUBLE_USAGE, "--workers and --worker: either says which workers there "
                "are");
    return trouble_fix(trouble, "leave --workers out, and give --worker once for each worker"),
           false;
}

static bool seen(const Options *options, OptionKind kind) {
    return options->seen >> kind & 1;
}

// What goes together of the options for workers that join. A job that listens has a worker of its
// own unless it says otherwise: so it goes on while nobody has joined.
static bool joins_fit(Options *options, Trouble *trouble) {
    WorkerKinds *workers = &options->workers;
    if (options->join && options->listen) {
        trouble_set(trouble, TROUBLE_USAGE, "--join and --listen: a process is the job, or a "
                    "worker of it");
        return trouble_fix(trouble, "leave --listen out where it is a worker"), false;
    }
    if (!options->listen && workers->none && !options->join) {
        trouble_set(trouble, TROUBLE_USAGE, "--workers=0: a job has at least one worker, or none "
                    "because nobody asks for any");
        return trouble_fix(trouble, "leave --workers out: the job then runs all tasks in one "
                           "process"), false;
    }
    if (!options->listen && !options->join && seen(options, OPTION_PLACES)) {
        trouble_set(trouble, TROUBLE_USAGE, "--places: this job takes no workers that join");
        return trouble_fix(trouble, "say where it listens: --listen=HOST:PORT"), false;
    }
    if (!options->listen && !options->join && options->key_file) {
        trouble_set(trouble, TROUBLE_USAGE, "--key-file: this job talks to no other machine");
        return trouble_fix(trouble, "say where it listens: --listen=HOST:PORT"), false;
    }
    return worker_kinds_set_joins(workers, options->listen, trouble);
}

bool options_read(Options *options, const SbJob *job, int argc, char **argv, Trouble *trouble) {
    *options = (Options){
        .first_rows = INT64_MAX,
        .reject_rows = -1,
        .reject_share = -1,
        .stats = STATS_NONE,
        .retries = RETRIES,
        .worker_restarts = WORKER_RESTARTS,
        .worker_timeout_us = WORKER_TIMEOUT_US,
        .grace_us = GRACE_US,
        .watchdog_us = WATCHDOG_US,
    };
    // Even of a wrong command line the message is written as is asked for.
    for (int i = 1; i < argc && options_param(job, "log", 3) == job->param_count; i++)
        if (strcmp(argv[i], "--log=json") == 0) options->log = LOG_JSON;
    bool good = true;
    for (int i = 1; i < argc; i++) {
        OptionKind kind = two_words(argv[i], i + 1 < argc ? argv[i + 1] : nullptr);
        if (kind != OPTION_KINDS) {
            options->seen |= UINT64_C(1) << kind;
            good &= options_set(options, kind, argv[++i], trouble_more(trouble));
        } else {
            const char *next = i + 1 < argc ? argv[i + 1] : nullptr;
            Trouble *said = trouble_more(trouble);
            bool read = read_one(options, job, argv[i], said);
            i += !read && is_value_of(argv[i], next, said);
            good &= read;
        }
    }
    if (options->config) good &= config_read(options, job, trouble);
    good &= workers_once(options, trouble_more(trouble));
    good &= joins_fit(options, trouble_more(trouble));
    return asks_once(options, trouble_more(trouble)) && good;
}

void options_close(Options *options) {
    free(options->texts);
    free(options->workers.kinds);
    options->texts = nullptr;
    options->workers.kinds = nullptr;
}

// ---- help -----------------------------------------------------------------------------------

static void print_param(const SbParam *param, FILE *file) {
    char type[160];
    params_type_text(param->type, type, sizeof type);
    fprintf(file, "  --%.*s=%s", (int)param->name.len, param->name.ptr, type);
    if (param->required) {
        fputs("  (must be given)", file);
    } else {
        fprintf(file, "  (%.*s)", (int)param->value_text.len, param->value_text.ptr);
    }
    fputc('\n', file);
    if (param->doc.len > 0) fprintf(file, "      %.*s\n", (int)param->doc.len, param->doc.ptr);
}

void options_print_params(const SbJob *job, FILE *file) {
    for (uint32_t i = 0; i < job->param_count; i++) print_param(&job->params[i], file);
    if (job->param_count == 0) fputs("  (none)\n", file);
}

void options_print_help(const SbJob *job, FILE *file) {
    enum { LEFT = 27 };
    fprintf(file, "The job compiled from %.*s.\n\nParameters (default):\n", (int)job->name.len,
            job->name.ptr);
    options_print_params(job, file);
    fputs("\nOptions:\n", file);
    for (uint32_t i = 0; i < OPTION_KINDS; i++) {
        char left[64];
        if (options_param(job, infos[i].name, strlen(infos[i].name)) < job->param_count) continue;
        const char *open = i == OPTION_STATS ? "[=" : "=", *close = i == OPTION_STATS ? "]" : "";
        bool value = infos[i].value[0] != '\0';
        snprintf(left, sizeof left, "--%s%s%s%s", infos[i].name, value ? open : "", infos[i].value,
                 close);
        // What is longer than the column of names has a line of its own.
        if (strlen(left) > LEFT) fprintf(file, "  %s\n  %-*s %s\n", left, LEFT, "", infos[i].doc);
        else fprintf(file, "  %-*s %s\n", LEFT, left, infos[i].doc);
    }
    commands_print_help(file);
    fputs("\nExit codes: 0 done, 1 the program or data is wrong, 2 wrong usage, 3 the machine\n"
          "failed (disk, memory), 130 interrupted.\n", file);
}
