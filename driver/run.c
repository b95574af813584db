// sbc run: compiles into the cache, or finds it there, and becomes the job.
#define _GNU_SOURCE  // fexecve

#include "codegen/build/cache.h"
#include "codegen/reference/reference.h"
#include "driver/commands.h"
#include "driver/compile.h"
#include "driver/externs.h"
#include "driver/header.h"
#include "driver/table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- the executable -----------------------------------------------------------------------------

static int build_kept(Session *s, const char *cache, int *fd) {
    const char *key;
    int status = compile_key(s, cache, &key);
    if (status != EXIT_DONE) return status;
    *fd = cache_open(s->arena, cache, key);
    if (*fd >= 0) return EXIT_DONE;
    const char *job = cache_beside(s->arena, cache, key);
    status = compile_to(s, job);
    if (status != EXIT_DONE) return status;
    *fd = open(job, O_RDONLY | O_CLOEXEC);  // Before it may be removed.
    if (!cache_keep(s->arena, cache, key, job)) unlink(job);
    cache_trim(s->arena, cache, CACHE_BYTES_MAX);
    return EXIT_DONE;
}

static int build(Session *s, int *fd) {
    const char *cache = s->options->no_cache ? nullptr : cache_folder(s->arena);
    *fd = -1;
    int status = cache ? build_kept(s, cache, fd) : compile_unnamed(s, fd);
    if (status == EXIT_DONE && *fd < 0) {
        complain(s->options, DIAG_NOT_STARTED, nullptr, "the job cannot be opened: %s",
                 strerror(errno));
        return EXIT_MACHINE;
    }
    return status;
}

// ---- running ------------------------------------------------------------------------------------

extern char **environ;

// Does not return unless it fails.
static int become_job(const Session *s, int fd) {
    size_t count = s->options->job_arg_count;
    const char **args = arena_new_array(s->arena, const char *, count + 2);
    args[0] = s->name;
    for (size_t i = 0; i < count; i++) args[i + 1] = s->options->job_args[i];
    fflush(stdout);
    fexecve(fd, (char *const *)(uintptr_t)args, environ);
    complain(s->options, DIAG_NOT_STARTED, nullptr, "the job cannot be started: %s",
             strerror(errno));
    return EXIT_MACHINE;
}

static int interpret(Session *s) {
    ExternFault fault = {0};
    ExternFiles externs = extern_files(s->program->graph);
    ExternHeader header = header_of(s);
    if (!session_optimise(s)) return EXIT_WRONG_USAGE;
    if (!extern_load(s->arena, &externs, &header, &fault))
        return externs_complain(s, &fault);
    int status = reference_run(&(ReferenceRun){.graph = s->program->graph,
                                               .args = s->options->job_args,
                                               .arg_count = s->options->job_arg_count});
    reference_python_close();
    return status;
}

static int go(Session *s, int fd) {
    return s->options->reference ? interpret(s) : become_job(s, fd);
}

static int exit_code(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Runs the job as a child and shows its rows as a table.
static int run_as_table(Session *s, int fd) {
    int ends[2];
    pid_t child = pipe(ends) ? -1 : fork();
    if (child < 0) {
        complain(s->options, DIAG_NOT_STARTED, nullptr, "the job cannot be started: %s",
                 strerror(errno));
        return EXIT_MACHINE;
    }
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        int status = go(s, fd);
        fflush(stdout);
        _exit(status);
    }
    close(ends[1]);
    signal(SIGINT, SIG_IGN);  // The job ends itself, and then we do.
    table_show(s->arena, s->program->graph, s->program->table, ends[0]);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return exit_code(status);
}

int run_command(const Options *options) {
    Session s = session_new(options);
    s.is_for_here = true;
    if (options->file_count + (options->text != nullptr) != 1) {
        complain(options, DIAG_WRONG_USAGE, "sbc run FILE -- --threads=1",
                 "run takes one file, or -e 'TEXT'; options of the job go after --");
        return EXIT_WRONG_USAGE;
    }
    bool loaded = options->text ? session_take(&s, text_of(options->text))
                                : session_load(&s, options->files[0]);
    if (loaded) session_check(&s, (CheckAs){.table_sink = options->text != nullptr});
    int status = session_report(&s);
    if (status != EXIT_DONE) return status;
    int fd = -1;
    if (!options->reference) status = build(&s, &fd);
    if (status != EXIT_DONE) return status;
    bool table = s.program->table.i != OP_NONE.i && isatty(STDOUT_FILENO);
    return table ? run_as_table(&s, fd) : go(&s, fd);
}
