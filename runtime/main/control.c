// Control: signals, progress, the watchdog and what is written or served while a job runs, on a
// thread of their own with a libuv loop.
#define _GNU_SOURCE
#include "runtime/main/control.h"

#include "runtime/crash.h"
#include "runtime/dispatch.h"
#include "runtime/main/check.h"
#include "runtime/main/leave.h"
#include "runtime/main/main.h"
#include "runtime/observe.h"

#include <pthread.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uv.h>

static const char page[] = {
#embed <page.html>
};

enum { LIVE_MS = 200, PLAIN_MS = 10000, PLAIN_FIRST_MS = 1000, SAMPLE_MS = 200 };
enum { WATCHDOG_MS = 1000, WATCHDOG_PART = 4 };
enum { SIGNALS = 3 };
enum { LOOP_FILES = 8 };  // What a loop with signals opens at most.
enum { LEAVE_MS = 2000 };  // After --grace, for tasks to stop.

struct Control {
    Job           *job;
    uv_loop_t      loop;
    uv_signal_t    signals[SIGNALS];
    uv_timer_t     progress, grace, watchdog, sample;
    uv_async_t     end;
    bool           signalled, live;
    ProgressReport report;
    Trace          trace;
    Http           http;
    bool           serves;
    int64_t        spans_lost;
    int64_t        paused_ns;   // When the job was seen to be paused last; 0: never.
    pthread_t      thread;
};

// ---- signals ------------------------------------------------------------------------------------

// Readers of pipes look at the descriptor, the engine at the rest.
static void wake(Job *job) {
    uint64_t one = 1;
    if (job->stop.cancel_fd >= 0) (void)!write(job->stop.cancel_fd, &one, sizeof one);
    engine_wake(job);
}

static void interrupt(Job *job) {
    atomic_store(&job->stop.cancel, 1);
    wake(job);
}

// Tasks that were to stop have not.
static void on_leave(uv_timer_t *handle) {
    Control *control = handle->data;
    Trouble trouble = {0};
    trouble_set(&trouble, TROUBLE_INTERRUPTED, "interrupted: what runs has not come to an end %g s "
                "after --grace", (double)LEAVE_MS / 1000);
    trace_close(&control->trace, control->spans_lost);
    leave(control->job, &trouble);
}

static void on_grace(uv_timer_t *handle) {
    Control *control = handle->data;
    interrupt(control->job);
    uv_timer_start(&control->grace, on_leave, LEAVE_MS, 0);
}

// No more input is taken; what was taken goes on to the outputs while there is time.
static void drain(Control *control, int number) {
    Job *job = control->job;
    int64_t grace_us = job->ask.options.grace_us;
    log_warn(&job->log, TROUBLE_DRAINS,
             "%s: no more input is taken; what runs has %g s to end, a second signal ends the job "
             "at once", number == SIGHUP ? "SIGHUP" : "SIGTERM", (double)grace_us / 1e6);
    atomic_store(&job->stop.drain, 1);
    wake(job);
    uv_timer_start(&control->grace, on_grace, (uint64_t)(grace_us + 999) / 1000, 0);
}

static void on_signal(uv_signal_t *handle, int number) {
    Control *control = handle->data;
    Job *job = control->job;
    if (control->signalled) {
        Trouble trouble = {0};
        trouble_set(&trouble, TROUBLE_INTERRUPTED, "interrupted twice: the job leaves at once");
        job_log_trouble(job, &trouble);
        _exit(trouble_exit_code(&trouble));
    }
    control->signalled = true;
    if (number != SIGINT && job->ask.options.grace_us > 0) drain(control, number);
    else interrupt(job);
}

// ---- timers -------------------------------------------------------------------------------------

static void on_progress(uv_timer_t *handle) {
    Control *control = handle->data;
    Log *log = &control->job->log;
    Text text = {0};
    if (log->json) {
        log_begin(log, &text, "progress");
        progress_json(&control->report, &text);
        log_event(log, &text);
        return;
    }
    progress_text(&control->report, &text);
    log_lines(log, &text, control->live);
    sb_text_close(&text);
}

static void on_watchdog(uv_timer_t *handle) {
    Control *control = handle->data;
    const Job *job = control->job;
    int64_t now = log_clock_ns();
    if (atomic_load(&job->stop.paused)) control->paused_ns = now;
    // Nothing moved in the pause, which is no news.
    bool rests = now - control->paused_ns < 1000 * job->ask.options.watchdog_us;
    if (control->paused_ns == 0 || !rests)
        progress_watch(&control->report, &control->job->log);
}

// ---- metrics ------------------------------------------------------------------------------------

static const char *answer(void *self, const char *path, Text *body) {
    const Control *control = self;
    if (strcmp(path, "/") == 0) {
        sb_text_add(body, page, sizeof page);
        return "text/html; charset=utf-8";
    }
    if (strcmp(path, "/metrics") == 0) {
        metrics_prometheus(control->job->ask.what, &control->job->machine,
                           &control->job->figures, body);
        return "text/plain; version=0.0.4; charset=utf-8";
    }
    if (strcmp(path, "/healthz") == 0) {
        sb_text_str(body, "ok\n");
        return "text/plain; charset=utf-8";
    }
    if (strcmp(path, "/events") != 0) return nullptr;
    metrics_graph(control->job->ask.what, body);
    return "application/json";
}

static bool serve(Control *control) {
    Job *job = control->job;
    const char *address = job->ask.options.metrics;
    HttpSetup setup = {.loop = &control->loop, .address = address, .events = "/events",
                       .answer = answer, .self = control};
    if (!address) return true;
    if (!http_open(&control->http, &setup, &job->trouble)) return false;
    control->serves = true;
    return true;
}

void control_say(Control *control) {
    const Job *job = control->job;
    Text text = {0};
    if (!control->serves) return;
    if (job->log.json) {
        log_begin(&job->log, &text, "metrics");
        log_add_text(&text, "url", control->http.url, (int64_t)strlen(control->http.url));
        log_event(&control->job->log, &text);
        return;
    }
    sb_text_format(&text, "metrics at %s\n", control->http.url);
    log_lines(&control->job->log, &text, false);
    sb_text_close(&text);
}

// Tells the readers of the page what is new.
static void show(Control *control, const WatchSpans *spans) {
    Job *job = control->job;
    if (!control->serves) return;
    http_tick(&control->http);
    if (!http_has_readers(&control->http)) return;
    Text text = {0};
    metrics_now(job->ask.what, &job->machine, &job->figures, spans, &text);
    http_send(&control->http, "now", &text);
    sb_text_close(&text);
}

// ---- samples ------------------------------------------------------------------------------------

// Passes on what threads have done since the last time.
static void on_sample(uv_timer_t *handle) {
    Control *control = handle->data;
    WatchSpans spans = watch_take_spans(control->job->figures.watch, &control->spans_lost);
    trace_add(&control->trace, &spans);
    show(control, &spans);
    free(spans.items);
}

// ---- starting -----------------------------------------------------------------------------------

// Is standard output the terminal of the live lines? The rows would stand after them.
static bool rows_on_terminal(const SbJob *what, const Sink *sinks) {
    bool rows = false;
    for (uint32_t s = 0; s < what->sink_count; s++) rows |= strcmp(sinks[s].path, "-") == 0;
    return rows && isatty(STDOUT_FILENO);
}

static void start_progress(Control *control) {
    const Job *job = control->job;
    ProgressMode mode = job->ask.options.progress;
    bool live = mode == PROGRESS_AUTO && isatty(STDERR_FILENO) && !job->log.json;
    if (mode == PROGRESS_NONE || (live && rows_on_terminal(job->ask.what, job->io.sinks))) return;
    control->live = live;
    uint64_t period = live ? LIVE_MS : PLAIN_MS;
    // Who asks for plain lines sees one soon.
    uint64_t first = mode == PROGRESS_PLAIN ? PLAIN_FIRST_MS : period;
    uv_timer_start(&control->progress, on_progress, first, period);
}

static void start_timers(Control *control) {
    const Job *job = control->job;
    int64_t watchdog_ms = job->ask.options.watchdog_us / 1000;
    start_progress(control);
    if (job->figures.watch->keeps_spans)
        uv_timer_start(&control->sample, on_sample, SAMPLE_MS, SAMPLE_MS);
    if (watchdog_ms == 0) return;
    uint64_t look_ms = watchdog_ms < WATCHDOG_MS * WATCHDOG_PART
                           ? (uint64_t)watchdog_ms / WATCHDOG_PART + 1 : WATCHDOG_MS;
    uv_timer_start(&control->watchdog, on_watchdog, look_ms, look_ms);
}

// ---- the thread ---------------------------------------------------------------------------------

static void close_handle(uv_handle_t *handle, void *arg) {
    (void)arg;
    if (!uv_is_closing(handle)) uv_close(handle, nullptr);
}

static void on_end(uv_async_t *handle) {
    Control *control = handle->data;
    if (control->serves) http_close(&control->http);
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

// A job that was begun to outlive its terminal (nohup) does.
static bool is_ignored(int number) {
    struct sigaction now;
    return number == SIGHUP && sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// 0, or the error of libuv.
static int open_handles(Control *control) {
    static const int numbers[SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
    uv_timer_t *timers[] = {&control->progress, &control->grace, &control->watchdog,
                            &control->sample};
    for (int i = 0; i < SIGNALS; i++) {
        uv_signal_t *handle = &control->signals[i];
        int status = uv_signal_init(&control->loop, handle);
        handle->data = control;
        if (status == 0 && !is_ignored(numbers[i]))
            status = uv_signal_start(handle, on_signal, numbers[i]);
        if (status != 0) return status;
    }
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        uv_timer_init(&control->loop, timers[i]);
        timers[i]->data = control;
    }
    return uv_async_init(&control->loop, &control->end, on_end);
}

// libuv ends the process when it gets no descriptor for signals: they have to be there before.
// Returns 0 or the error of the system.
static int find_files(void) {
    int fds[LOOP_FILES], count = 0, error = 0;
    while (count < LOOP_FILES && (fds[count] = eventfd(0, EFD_CLOEXEC)) >= 0) count++;
    if (count < LOOP_FILES) error = errno;
    while (count > 0) close(fds[--count]);
    return error;
}

static bool start_fails(Job *job, int error) {
    trouble_set(&job->trouble, TROUBLE_LIMIT, "cannot listen to signals: %s", strerror(error));
    if (error == EMFILE)
        trouble_fix(&job->trouble, "ulimit -n %llu",
                    (unsigned long long)check_files_needed(job->ask.what, &job->machine.slots));
    return false;
}

static void close_loop(Control *control) {
    on_end(&control->end);
    uv_run(&control->loop, UV_RUN_DEFAULT);
    uv_loop_close(&control->loop);
}

static bool start_thread(Control *control) {
    Job *job = control->job;
    int error = pool_thread(&control->thread, control_main, control);
    return error == 0 || trouble_set(&job->trouble, TROUBLE_THREADS,
                                     "cannot start the thread for signals: %s", strerror(error));
}

static bool start_loop(Control *control) {
    Job *job = control->job;
    int error = find_files();
    if (error == 0) error = -uv_loop_init(&control->loop);
    if (error != 0) return start_fails(job, error);
    error = -open_handles(control);
    if (error == 0) {
        start_timers(control);
        if (serve(control) && start_thread(control)) return true;
    } else {
        start_fails(job, error);
    }
    close_loop(control);
    return false;
}

static void free_control(Control *control) {
    progress_close(&control->report);
    free(control);
}

Control *control_open(Job *job) {
    Control *control = calloc(1, sizeof *control);
    if (!control) {
        trouble_no_memory(&job->trouble, "to begin");
        return nullptr;
    }
    control->job = job;
    control->report = (ProgressReport){.ask = &job->ask, .machine = &job->machine,
                                       .io = &job->io, .figures = &job->figures};
    control->trace = (Trace){.what = job->ask.what, .machine = &job->machine,
                             .watch = job->figures.watch, .workers = job->figures.workers};
    control->end.data = control;
    const char *trace = job->ask.options.trace;
    if (!progress_open(&control->report)) {
        trouble_no_memory(&job->trouble, "to begin");
    } else if (!trace || trace_open(&control->trace, trace, &job->trouble)) {
        if (start_loop(control)) return control;
        trace_close(&control->trace, 0);
    }
    free_control(control);
    return nullptr;
}

void control_close(Control *control) {
    if (!control) return;
    Job *job = control->job;
    uv_async_send(&control->end);
    pthread_join(control->thread, nullptr);
    uv_loop_close(&control->loop);
    if (control->live) log_clear(&job->log);
    if (job->figures.watch->keeps_spans) on_sample(&control->sample);
    if (!trace_close(&control->trace, control->spans_lost))
        log_warn(&job->log, TROUBLE_TRACE_CUT, "'%s' could not be written to its end",
                 job->ask.options.trace);
    free_control(control);
}
