// Control: signals and the progress line, on a thread of their own with a libuv loop.
#define _GNU_SOURCE
#include "runtime/crash.h"
#include "runtime/job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum { LIVE_MS = 200, PLAIN_MS = 10000, PLAIN_FIRST_MS = 1000 };

struct Control {
    Job        *job;
    uv_loop_t   loop;
    uv_signal_t signals[2];
    uv_timer_t  timer, grace;
    uv_async_t  end;
    bool        signalled;
    bool        live, shown;
    pthread_t   thread;
};

// Readers of pipes look at the descriptor, the engine at the rest.
static void wake(Job *job) {
    uint64_t one = 1;
    if (job->cancel_fd >= 0) (void)!write(job->cancel_fd, &one, sizeof one);
    engine_wake(job);
}

static void interrupt(Job *job) {
    atomic_store(&job->cancel, 1);
    wake(job);
}

static void on_grace(uv_timer_t *handle) {
    Control *control = handle->data;
    interrupt(control->job);
}

// No more input is taken; what was taken goes on to the outputs while there is time.
static void drain(Control *control) {
    Job *job = control->job;
    int64_t grace_us = job->options.grace_us;
    log_warn(&job->log, TROUBLE_DRAINS,
             "SIGTERM: no more input is taken; what runs has %g s to end, a second signal ends "
             "the job at once", (double)grace_us / 1e6);
    atomic_store(&job->drain, 1);
    wake(job);
    uv_timer_start(&control->grace, on_grace, (uint64_t)(grace_us + 999) / 1000, 0);
}

static void on_signal(uv_signal_t *handle, int number) {
    Control *control = handle->data;
    Job *job = control->job;
    if (control->signalled) {
        Trouble trouble = {0};
        trouble_set(&trouble, TROUBLE_INTERRUPTED, "interrupted twice: the job leaves at once");
        log_trouble(&job->log, &trouble);
        _exit(trouble_exit_code(&trouble));
    }
    control->signalled = true;
    if (number == SIGTERM && job->options.grace_us > 0) drain(control);
    else interrupt(job);
}

static void on_timer(uv_timer_t *handle) {
    Control *control = handle->data;
    const Job *job = control->job;
    if (job->log.json) {
        Text text = {0};
        log_begin(&control->job->log, &text, "progress");
        log_add_number(&text, "rows", atomic_load(&job->progress.rows));
        log_add_number(&text, "bytes", atomic_load(&job->progress.bytes));
        log_event(&control->job->log, &text);
        return;
    }
    double megabytes = (double)atomic_load(&job->progress.bytes) / 1e6;
    double seconds = log_seconds(&job->log);
    fprintf(stderr, "%sstage %u of %u: %.1f MB, %.0f MB/s, %lld rows%s", control->live ? "\r" : "",
            atomic_load(&job->progress.stage) + 1, job->what->stage_count, megabytes,
            megabytes / (seconds > 0 ? seconds : 1), (long long)atomic_load(&job->progress.rows),
            control->live ? "\x1b[K" : "\n");
    control->shown = true;
}

static void close_handle(uv_handle_t *handle, void *arg) {
    (void)arg;
    if (!uv_is_closing(handle)) uv_close(handle, nullptr);
}

static void on_end(uv_async_t *handle) {
    Control *control = handle->data;
    uv_walk(&control->loop, close_handle, nullptr);
}

static void *control_main(void *arg) {
    Control *control = arg;
    CrashStack crash_stack;
    crash_stack_open(&crash_stack);
    uv_run(&control->loop, UV_RUN_DEFAULT);
    crash_stack_close(&crash_stack);
    return nullptr;
}

// Is standard output the terminal of the live line? The rows would stand behind it.
static bool rows_on_terminal(const Job *job) {
    bool rows = false;
    for (uint32_t s = 0; s < job->what->sink_count; s++)
        rows |= strcmp(job->sinks[s].path, "-") == 0;
    return rows && isatty(STDOUT_FILENO);
}

static void start_progress(Control *control) {
    ProgressMode mode = control->job->options.progress;
    bool live = mode == PROGRESS_AUTO && isatty(STDERR_FILENO) && !control->job->log.json;
    if (mode == PROGRESS_NONE || (live && rows_on_terminal(control->job))) return;
    control->live = live;
    uint64_t period = live ? LIVE_MS : PLAIN_MS;
    // Who asks for plain lines sees one soon.
    uint64_t first = mode == PROGRESS_PLAIN ? PLAIN_FIRST_MS : period;
    uv_timer_start(&control->timer, on_timer, first, period);
}

Control *control_open(Job *job) {
    Control *control = calloc(1, sizeof *control);
    if (!control) return nullptr;
    control->job = job;
    if (uv_loop_init(&control->loop) != 0) {
        free(control);
        return nullptr;
    }
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        uv_signal_init(&control->loop, &control->signals[i]);
        control->signals[i].data = control;
        uv_signal_start(&control->signals[i], on_signal, numbers[i]);
    }
    uv_async_init(&control->loop, &control->end, on_end);
    uv_timer_init(&control->loop, &control->timer);
    uv_timer_init(&control->loop, &control->grace);
    control->end.data = control->timer.data = control->grace.data = control;
    start_progress(control);
    if (pthread_create(&control->thread, nullptr, control_main, control) != 0) {
        on_end(&control->end);
        uv_run(&control->loop, UV_RUN_DEFAULT);
        uv_loop_close(&control->loop);
        free(control);
        return nullptr;
    }
    return control;
}

void control_close(Control *control) {
    if (!control) return;
    uv_async_send(&control->end);
    pthread_join(control->thread, nullptr);
    if (control->live && control->shown) fputs("\r\x1b[K", stderr);
    uv_loop_close(&control->loop);
    free(control);
}
