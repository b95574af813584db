#define _GNU_SOURCE
#include "runtime/main/check.h"

#include "runtime/device.h"
#include "runtime/host.h"
#include "runtime/job.h"
#include "runtime/main/main.h"
#include "runtime/report.h"
#include "runtime/resume.h"
#include "runtime/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

// One thing that is looked at, and what is wrong with it, if anything is.
typedef struct CheckItem {
    const char *what;
    char       *name;
    Text        found;
    Trouble     trouble;
} CheckItem;

typedef struct Check {
    Job       *job;
    CheckItem *items;
    uint32_t   count, cap;
} Check;

static CheckItem *add_item(Check *check, const char *what, const char *name, int64_t len) {
    if (check->count == check->cap) {
        uint32_t cap = check->cap ? 2 * check->cap : 16;
        CheckItem *items = realloc(check->items, cap * sizeof *items);
        if (!items) abort();
        check->items = items;
        check->cap = cap;
    }
    CheckItem *item = &check->items[check->count++];
    *item = (CheckItem){.what = what, .name = strndup(name ? name : "", (size_t)len)};
    if (!item->name) abort();
    return item;
}

static void add_size(Text *text, int64_t bytes) {
    char size[SIZE_TEXT];
    size_say(bytes, size);
    sb_text_str(text, size);
}

// ---- folders ------------------------------------------------------------------------------------

// The folder `path`, or of those on the way to it the last that is there; others will be made.
static char *folder_on_the_way(const char *path) {
    struct stat is;
    char *folder = strdup(path);
    if (!folder) abort();
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode)) return folder;
    for (size_t len = strlen(folder); len > 0; folder[--len] = '\0') {
        if (folder[len - 1] != '/') continue;
        if (access(folder, F_OK) == 0) return folder;
    }
    free(folder);
    folder = strdup(path[0] == '/' ? "/" : ".");
    if (!folder) abort();
    return folder;
}

// The folder that holds a file.
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) abort();
    return folder;
}

// What the rights say is not all: nobody makes files in /proc.
static bool takes_named_file(const char *folder) {
    char *path = nullptr;
    if (asprintf(&path, "%s/.sbc-check-XXXXXX", folder) < 0) return false;
    int fd = mkostemp(path, O_CLOEXEC), error = errno;
    if (fd >= 0) {
        unlink(path);
        close(fd);
    }
    free(path);
    errno = error;
    return fd >= 0;
}

// Can a file be made there? errno says why not. A file without a name is made where that works.
static bool takes_files(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) return close(fd) == 0;
    bool unknown = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
    return unknown && takes_named_file(folder);
}

// `wrong`: the trouble of a folder that cannot be used, `full`: of one without room.
static void look_at_folder(CheckItem *item, const char *folder, TroubleKind wrong,
                           TroubleKind full) {
    struct statvfs disk;
    if (!takes_files(folder)) {
        bool no_room = errno == ENOSPC || errno == EDQUOT;
        trouble_set(&item->trouble, no_room ? full : wrong, "cannot make a file in '%s': %s",
                    folder, strerror(errno));
        return;
    }
    if (statvfs(folder, &disk) != 0) return;
    if (disk.f_blocks == 0) {  // A file system that counts none has room as long as it says so.
        sb_text_format(&item->found, "'%s'", folder);
        return;
    }
    int64_t room = (int64_t)(disk.f_bavail * disk.f_frsize);
    add_size(&item->found, room);
    sb_text_format(&item->found, " free in '%s'", folder);
    if (room == 0 || (disk.f_files > 0 && disk.f_favail == 0))
        trouble_set(&item->trouble, full, "the disk of '%s' is full", folder);
}

static void check_folder(Check *check, const char *what, const char *folder, TroubleKind wrong,
                         TroubleKind full) {
    CheckItem *item = add_item(check, what, folder, (int64_t)strlen(folder));
    look_at_folder(item, folder, wrong, full);
}

// ---- inputs -------------------------------------------------------------------------------------

static void count_files(CheckItem *item, const Source *source) {
    int64_t bytes = 0;
    uint32_t streams = 0;
    for (uint32_t f = 0; f < source->file_count; f++) {
        const SourceFile *file = &source->files[f];
        bytes += file->about.st_size;
        streams += file->stream && !S_ISREG(file->about.st_mode);
        if (source->is_text || access(file->path, R_OK) == 0) continue;
        trouble_set(&item->trouble, TROUBLE_OPEN_SOURCE, "cannot open '%s': %s", file->path,
                    strerror(errno));
    }
    if (streams == source->file_count) {
        sb_text_str(&item->found, "a stream");
        return;
    }
    sb_text_add_figure(&item->found, source->file_count);
    sb_text_str(&item->found, source->file_count == 1 ? " file, " : " files, ");
    add_size(&item->found, bytes);
}

// Each path by itself, so that all that is wrong is found.
static void check_source(Check *check, uint32_t number) {
    Job *job = check->job;
    const SbSource *what = &job->ask.what->sources[number];
    SbList paths = job->ask.setup.source_paths[number];
    const SbStr *texts = paths.ptr;
    SourceSetup setup = {.job = job->ask.what, .ask = &job->ask.setup, .paths = paths,
                         .row_max = job->ask.setup.source_row_max[number],
                         .partition = 1, .cancel_fd = -1};
    if (!what->reader) return;
    for (int64_t i = 0; i < paths.len; i++) {
        CheckItem *item = add_item(check, "input", texts[i].ptr, texts[i].len);
        Source source = {.number = number};
        setup.paths = (SbList){&texts[i], 1};
        if (source_open(&source, what, &setup, &item->trouble)) count_files(item, &source);
        source_close(&source);
    }
    setup.paths = paths;
    job->io.sources[number].number = number;
    Trouble said = {0};
    if (!source_open(&job->io.sources[number], what, &setup, &said) && paths.len == 0)
        add_item(check, "input", what->label.ptr, what->label.len)->trouble = said;
}

// ---- outputs ------------------------------------------------------------------------------------

static void check_sink(Check *check, uint32_t number) {
    Job *job = check->job;
    SinkSetup setup = job_sink_setup(&job->ask, number);
    bool rejects = number == job->ask.what->sink_count;
    SbStr shape = setup.what->shape;
    Text name = {0};
    sb_text_add(&name, setup.path.ptr, setup.path.len);
    sb_text_add(&name, shape.ptr, shape.len);
    CheckItem *item = add_item(check, rejects ? "rejects" : "output", name.ptr, name.len);
    sb_text_close(&name);
    Sink *sink = &job->io.sinks[number];
    if (!job_check_paths(&job->ask, job->io.sources, number, &item->trouble) ||
        !sink_check(sink, &setup, &item->trouble))
        return;
    if (sink->to_stream) {
        sb_text_str(&item->found, "a stream");
        return;
    }
    char *folder = folder_on_the_way(sink->path);
    look_at_folder(item, folder, TROUBLE_OUTPUT_PATH, TROUBLE_WRITE);
    free(folder);
}

static bool is_good(const Check *check) {
    for (uint32_t i = 0; i < check->count; i++)
        if (check->items[i].trouble.kind != TROUBLE_NONE) return false;
    return true;
}

// What a run compares with its journal is looked at when all else is as it should be. `open`:
// sources are opened where it needs them; nullptr: they are open.
static void check_journal(Check *check, bool (*open)(Job *job)) {
    Job *job = check->job;
    bool good = is_good(check);
    char *folder = folder_on_the_way(job->ask.options.resume);
    struct statvfs disk;
    check_folder(check, "journal", folder, TROUBLE_JOURNAL_FOLDER, TROUBLE_JOURNAL_WRITE);
    CheckItem *item = &check->items[check->count - 1];
    if (statvfs(folder, &disk) == 0 && disk.f_bavail * disk.f_frsize < JOURNAL_ROOM)
        trouble_set(&item->trouble, TROUBLE_JOURNAL_WRITE,
                    "the journal takes %d bytes in advance, '%s' has %llu", JOURNAL_ROOM, folder,
                    (unsigned long long)(disk.f_bavail * disk.f_frsize));
    free(folder);
    if (!good || item->trouble.kind != TROUBLE_NONE) return;
    if (!job_check_journal(&job->ask, &item->trouble)) return;
    if (!resume_look(job, job->ask.options.resume, open)) {
        item->trouble = job->trouble;
        trouble_clear(&job->trouble);
    } else if (job->resumed) {
        sb_text_str(&item->found, resume_made(job) ? "; all rows are made" : "; the job goes on");
    }
}

static void check_trace(Check *check) {
    const char *path = check->job->ask.options.trace;
    CheckItem *item = add_item(check, "trace", path, (int64_t)strlen(path));
    if (!job_check_trace(&check->job->ask, &check->job->io, &item->trouble)) return;
    char *folder = folder_of(path);
    look_at_folder(item, folder, TROUBLE_TRACE, TROUBLE_TRACE);
    free(folder);
}

// ---- the machine --------------------------------------------------------------------------------

// `python`: bytes that its processes need.
static void check_memory(Check *check, int64_t python) {
    Job *job = check->job;
    CheckItem *item = add_item(check, "memory", "--memory", 8);
    FlowParts of = flow_parts(job);
    int64_t least = memory_plan_needs(job, slots_threads(&job->machine.slots)).least;
    add_size(&item->found, job->machine.memory_whole);
    sb_text_str(&item->found, " of ");
    add_size(&item->found, device_of(DEVICE_CPU)->memory());
    if (least == 0) return;
    least += python;
    sb_text_str(&item->found, "; the least is ");
    add_size(&item->found, least);
    if (job->machine.memory_whole >= least) {
        if (batches_check(job->ask.what, memory_plan_ledger(&of), &item->trouble))
            memory_plan_over(&job->ask.options, &item->trouble);
        return;
    }
    trouble_set(&item->trouble, TROUBLE_MEMORY_LEAST,
                "the job needs at least %.1f MiB of memory", (double)least / (1 << 20));
}

static void check_slots(Check *check) {
    Job *job = check->job;
    const Options *options = &job->ask.options;
    CheckItem *item = add_item(check, "slots", "--threads, --resource", 21);
    uint32_t cpus = options->threads ? options->threads : device_of(DEVICE_CPU)->count();
    if (!slots_open(&job->machine.slots, job->ask.what, options, cpus, &item->trouble)) return;
    sb_text_format(&item->found, "%u cpus, %u threads", cpus, slots_threads(&job->machine.slots));
}

uint64_t check_files_needed(const SbJob *what, const Slots *slots) {
    enum { OWN = 24, A_SINK = 3, A_THREAD = 2, A_PYTHON = 4 };
    uint64_t each = what->python ? A_THREAD + A_PYTHON : A_THREAD;
    return OWN + A_SINK * what->sink_count + what->source_count + each * slots_threads(slots);
}

static void check_files(Check *check) {
    const Job *job = check->job;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    CheckItem *item = add_item(check, "limit", "open files", 10);
    uint64_t needed = check_files_needed(job->ask.what, &job->machine.slots);
    sb_text_format(&item->found, "%llu; the job needs about %llu",
                   (unsigned long long)limit.rlim_cur, (unsigned long long)needed);
    if (limit.rlim_cur >= needed) return;
    trouble_set(&item->trouble, TROUBLE_LIMIT, "a process may open %llu files; the job needs %llu",
                (unsigned long long)limit.rlim_cur, (unsigned long long)needed);
    trouble_fix(&item->trouble, "ulimit -n %llu", (unsigned long long)needed);
}

// Returns the bytes that its processes need.
static int64_t check_python(Check *check) {
    Job *job = check->job;
    const char *given = job->ask.options.python, *name = given ? given : "python3";
    int64_t least = 0;
    if (!job->ask.what->python) return 0;
    CheckItem *item = add_item(check, "python", name, (int64_t)strlen(name));
    uint32_t threads = slots_threads(&job->machine.slots);
    job_check_python(job, threads, &least, &item->found, &item->trouble);
    return least;
}

// ---- what was found -----------------------------------------------------------------------------

static void print_items(const Check *check) {
    TextTable table = {.columns = 4, .left = 4};
    Text text = {0};
    static const char *const heads[] = {"check", "name", "found", "state"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) sb_table_word(&table, heads[i]);
    for (uint32_t i = 0; i < check->count; i++) {
        const CheckItem *item = &check->items[i];
        bool good = item->trouble.kind == TROUBLE_NONE;
        sb_table_word(&table, item->what);
        sb_table_word(&table, item->name);
        sb_table_add(&table, item->found.ptr, item->found.len);
        sb_table_word(&table, good ? "ok" : trouble_code(item->trouble.kind));
    }
    sb_table_print(&table, &text);
    fwrite(text.ptr, 1, (size_t)text.len, stdout);
    fflush(stdout);
    sb_text_close(&text);
    sb_table_close(&table);
}

static void log_items(const Check *check) {
    Log *log = &check->job->log;
    Text text = {0};
    log_begin(log, &text, "check");
    sb_text_str(&text, ",\"items\":[");
    for (uint32_t i = 0; i < check->count; i++) {
        const CheckItem *item = &check->items[i];
        bool good = item->trouble.kind == TROUBLE_NONE;
        sb_text_format(&text, "%s{\"check\":\"%s\"", i ? "," : "", item->what);
        log_add_text(&text, "name", item->name, (int64_t)strlen(item->name));
        log_add_text(&text, "found", item->found.ptr, item->found.len);
        sb_text_format(&text, ",\"state\":\"%s\"}",
                       good ? "ok" : trouble_code(item->trouble.kind));
    }
    sb_text_str(&text, "]");
    log_event(log, &text);
}

// A warning does not keep a job from running.
static void log_found(Log *log, const Trouble *trouble) {
    if (trouble_exit_code(trouble) != 0) log_trouble(log, trouble);
    else log_warn(log, trouble->kind, "%s", trouble->text);
}

// Says what is wrong. Returns the exit code.
static int say_troubles(Check *check) {
    int code = 0;
    for (uint32_t i = 0; i < check->count; i++) {
        CheckItem *item = &check->items[i];
        if (item->trouble.kind != TROUBLE_NONE) {
            log_found(&check->job->log, &item->trouble);
            if (code == 0) code = trouble_exit_code(&item->trouble);
        }
        free(item->name);
        sb_text_close(&item->found);
    }
    return code;
}

// Those of a job that has made all rows are there, or appear from what an earlier run wrote.
static void check_files_of_rows(Check *check) {
    Job *job = check->job;
    for (uint32_t s = 0; s < job->ask.what->source_count; s++) check_source(check, s);
    for (uint32_t s = 0; s < job->ask.what->sink_count + job->io.has_rejects_sink; s++)
        check_sink(check, s);
}

int check_run(Job *job, bool (*open)(Job *job)) {
    Check check = {.job = job};
    const Options *options = &job->ask.options;
    check_slots(&check);
    job->io.has_rejects_sink = job_sink_setup(&job->ask, job->ask.what->sink_count).path.len > 0;
    bool made = options->resume && resume_peek(job, options->resume) && resume_made(job);
    trouble_clear(&job->trouble);
    if (!made) check_files_of_rows(&check);
    FlowParts of = flow_parts(job);
    if (memory_plan_may_spill(&of))
        check_folder(&check, "spill", options->spill ? options->spill : spill_default_root(),
                     TROUBLE_SPILL_FOLDER, TROUBLE_SPILL_WRITE);
    if (options->resume) check_journal(&check, made ? open : nullptr);
    if (options->trace) check_trace(&check);
    int64_t python = check_python(&check);
    check_memory(&check, python);
    check_files(&check);
    if (job->log.json) log_items(&check);
    else print_items(&check);
    int code = say_troubles(&check);
    free(check.items);
    return code;
}
