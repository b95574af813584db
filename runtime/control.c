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
    uv_timer_t  timer;
    uv_async_t  end;
    bool        live, shown;
    pthread_t   thread;
};

static void on_signal(uv_signal_t *handle, int number) {
    (void)number;
    Control *control = handle->data;
    atomic_store(&control->job->cancel, 1);
    uint64_t one = 1;
    if (control->job->cancel_fd >= 0) (void)!write(control->job->cancel_fd, &one, sizeof one);
}

static void on_timer(uv_timer_t *handle) {
    Control *control = handle->data;
    const Job *job = control->job;
    double megabytes = (double)atomic_load(&job->progress.bytes) / 1e6;
    double seconds = (double)(job_clock_ns() - job->started_ns) / 1e9;
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
    bool live = mode == PROGRESS_AUTO && isatty(STDERR_FILENO);
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
    control->end.data = control->timer.data = control;
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
