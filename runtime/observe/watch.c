#include "runtime/observe/watch.h"

#include "runtime/report.h"

#include <stdlib.h>

enum { SPANS_FIRST = 1024, SPANS_MAX = 1 << 18 };

static const struct StateInfo {
    WatchClass  class;
    const char *name, *words;
} states[WATCH_STATES] = {
#define WATCH_STATE(state, class, name, words) {CLASS_##class, name, words},
    WATCH_STATE_TABLE(WATCH_STATE)
#undef WATCH_STATE
};

const char *watch_state_words(WatchState state) { return states[state].words; }
const char *watch_state_name(WatchState state) { return states[state].name; }
WatchClass  watch_state_class(WatchState state) { return states[state].class; }

const char *watch_work_name(Work work) {
    static const char *const names[WORK_KINDS] = {"task", "read", "write", "finish"};
    return names[work];
}

// One writer, who holds the engine's lock: no other write comes between the two halves.
static void add(_Atomic int64_t *to, int64_t number) {
    int64_t sum = atomic_load_explicit(to, memory_order_relaxed) + number;
    atomic_store_explicit(to, sum, memory_order_relaxed);
}

static void set(_Atomic int64_t *to, int64_t number) {
    atomic_store_explicit(to, number, memory_order_relaxed);
}

#define GET(number) atomic_load_explicit(&(number), memory_order_relaxed)

bool watch_open(Watch *watch, uint32_t stages, uint32_t threads, int64_t job_ns) {
    *watch = (Watch){.stage_count = stages, .thread_count = threads, .job_ns = job_ns,
                     .begun_ns = log_clock_ns(),
                     .keeps_spans = watch->keeps_spans, .keeps_rows = watch->keeps_rows};
    pthread_mutex_init(&watch->lock, nullptr);
    watch->stages = calloc(stages + 1, sizeof *watch->stages);
    watch->threads = calloc(threads + 1, sizeof *watch->threads);
    for (uint32_t s = 0; watch->stages && s < stages; s++) {
        set(&watch->stages[s].since_ns, job_ns);
        set(&watch->stages[s].moved_ns, watch->begun_ns);
    }
    for (uint32_t t = 0; watch->threads && t < threads; t++)
        atomic_init(&watch->threads[t].work, WORK_KINDS);
    return watch->stages && watch->threads;
}

void watch_close(Watch *watch) {
    if (!watch->stages) return;
    pthread_mutex_destroy(&watch->lock);
    free(watch->stages);
    free(watch->threads);
    free(watch->spans);
    for (uint32_t i = 0; i < WATCH_ROWS; i++) sb_text_close(&watch->rows[i]);
    *watch = (Watch){0};
}

// ---- the engine's side --------------------------------------------------------------------------

static bool holds_slot(Work work) { return work == WORK_TASK || work == WORK_READ; }

static void start(Watch *watch, uint32_t thread, Work work, uint32_t stage, int64_t now) {
    WatchThread *at = &watch->threads[thread];
    at->span = (WatchSpan){.work = work, .stage = stage, .thread = thread, .begin_ns = now};
    atomic_store_explicit(&at->stage, stage, memory_order_relaxed);
    set(&at->since_ns, now);
    atomic_store_explicit(&at->work, work, memory_order_relaxed);
    set(&watch->stages[stage].moved_ns, now);
    if (holds_slot(work)) watch->stages[stage].running++;
    if (work == WORK_WRITE) watch->stages[stage].writing++;
}

static void push(Watch *watch, const WatchSpan *span) {
    pthread_mutex_lock(&watch->lock);
    if (watch->span_count == watch->span_cap && watch->span_cap < SPANS_MAX) {
        uint32_t cap = watch->span_cap ? 2 * watch->span_cap : SPANS_FIRST;
        WatchSpan *spans = realloc(watch->spans, cap * sizeof *spans);
        if (spans) {
            watch->spans = spans;
            watch->span_cap = cap;
        }
    }
    if (watch->span_count < watch->span_cap) watch->spans[watch->span_count++] = *span;
    else watch->spans_lost++;
    pthread_mutex_unlock(&watch->lock);
}

static void stop(Watch *watch, uint32_t thread, int64_t now) {
    WatchThread *at = &watch->threads[thread];
    WatchSpan *span = &at->span;
    WatchStage *stage = &watch->stages[span->stage];
    atomic_store_explicit(&at->work, WORK_KINDS, memory_order_relaxed);
    span->end_ns = now;
    add(&stage->work_ns[span->work], now - span->begin_ns);
    add(&stage->pieces[span->work], 1);
    set(&stage->moved_ns, now);
    if (holds_slot(span->work)) stage->running--;
    if (span->work == WORK_WRITE) stage->writing--;
    if (watch->keeps_spans) push(watch, span);
}

void watch_begin(Watch *watch, uint32_t thread, Work work, uint32_t stage, int64_t now_ns) {
    start(watch, thread, work, stage, now_ns);
}

void watch_turn(Watch *watch, uint32_t thread, Work work) {
    uint32_t stage = watch->threads[thread].span.stage;
    if (watch->threads[thread].span.work == work) return;
    int64_t now = log_clock_ns();
    stop(watch, thread, now);
    start(watch, thread, work, stage, now);
}

void watch_end(Watch *watch, uint32_t thread, int64_t now_ns) { stop(watch, thread, now_ns); }

void watch_from(Watch *watch, uint32_t thread, int side, MadeBy from) {
    watch->threads[thread].span.from[side] = from;
}

MadeBy watch_made(Watch *watch, uint32_t thread, const WatchMade *made) {
    WatchThread *at = &watch->threads[thread];
    WatchSpan *span = &at->span;
    WatchStage *stage = &watch->stages[span->stage];
    set(&at->live.rows, 0);
    set(&at->live.bytes, 0);
    span->rows += made->rows_in;
    add(&stage->rows_in, made->rows_in);
    add(&stage->rows_out, made->rows_out);
    add(&stage->bytes_in, made->bytes_in);
    add(&stage->bytes_out, made->bytes_out);
    return (MadeBy){thread, watch->keeps_spans ? log_clock_ns() : 0};
}

void watch_state(Watch *watch, uint32_t number, WatchState state, int64_t now_ns) {
    WatchStage *stage = &watch->stages[number];
    int before = atomic_load_explicit(&stage->state, memory_order_relaxed);
    if (before == (int)state) return;
    atomic_fetch_add_explicit(&stage->changes, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    add(&stage->state_ns[before], now_ns - GET(stage->since_ns));
    set(&stage->since_ns, now_ns);
    atomic_store_explicit(&stage->state, (int)state, memory_order_relaxed);
    atomic_fetch_add_explicit(&stage->changes, 1, memory_order_release);
}

void watch_queue(Watch *watch, uint32_t stage, int64_t bytes) {
    set(&watch->stages[stage].queued, bytes);
}

void watch_unwritten(Watch *watch, uint32_t stage, int64_t bytes) {
    add(&watch->stages[stage].unwritten, bytes);
}

void watch_reject(Watch *watch, int64_t rows, SbStr message, SbStr raw) {
    atomic_fetch_add_explicit(&watch->rejected, rows, memory_order_relaxed);
    if (!watch->keeps_rows) return;
    pthread_mutex_lock(&watch->lock);
    Text *text = &watch->rows[watch->row_at++ % WATCH_ROWS];
    text->len = 0;
    sb_text_add_short(text, message.ptr, message.len, WATCH_ROW_BYTES);
    sb_text_str(text, ": ");
    sb_text_add_short(text, raw.ptr, raw.len, WATCH_ROW_BYTES);
    pthread_mutex_unlock(&watch->lock);
}

void watch_stop(Watch *watch) {
    if (!watch->stages) return;
    int64_t now = log_clock_ns();
    for (uint32_t s = 0; s < watch->stage_count; s++) watch_state(watch, s, WATCH_DONE, now);
    set(&watch->ended_ns, now);
}

int64_t watch_end_job(Watch *watch) {
    watch->closed_ns = log_clock_ns();
    return watch->closed_ns - watch->job_ns;
}

// ---- readers ------------------------------------------------------------------------------------

static int64_t now_of(const Watch *watch) {
    int64_t ended = GET(watch->ended_ns);
    return ended ? ended : log_clock_ns();
}

int64_t watch_elapsed_ns(const Watch *watch) { return now_of(watch) - watch->begun_ns; }

int64_t watch_most(_Atomic int64_t *told, int64_t now) {
    int64_t most = GET(*told);
    while (now > most && !atomic_compare_exchange_weak_explicit(
                             told, &most, now, memory_order_relaxed, memory_order_relaxed)) {}
    return now > most ? now : most;
}

// The state, and the time in each. A reader that comes into a change would miss the time in the
// state before it.
static void read_states(const Watch *watch, WatchStage *stage, WatchFigures *figures) {
    uint32_t before;
    do {
        before = atomic_load_explicit(&stage->changes, memory_order_acquire);
        int64_t now = watch->closed_ns ? watch->closed_ns : log_clock_ns();
        figures->state = (WatchState)GET(stage->state);
        for (int s = 0; s < WATCH_STATES; s++) figures->state_ns[s] = GET(stage->state_ns[s]);
        int64_t going = now - GET(stage->since_ns);
        if (going > 0) figures->state_ns[figures->state] += going;
        atomic_thread_fence(memory_order_acquire);
    } while (before % 2 || before != GET(stage->changes));
    // A change may be told later than its time.
    for (int s = 0; s < WATCH_STATES && !GET(watch->ended_ns); s++)
        figures->state_ns[s] = watch_most(&stage->state_told[s], figures->state_ns[s]);
}

void watch_figures(const Watch *watch, uint32_t number, WatchFigures *figures) {
    WatchStage *stage = &watch->stages[number];
    int64_t now = now_of(watch);
    *figures = (WatchFigures){
        .rows_in = GET(stage->rows_in),
        .rows_out = GET(stage->rows_out), .bytes_in = GET(stage->bytes_in),
        .bytes_out = GET(stage->bytes_out), .queued = GET(stage->queued),
        .unwritten = GET(stage->unwritten), .idle_ns = now - GET(stage->moved_ns),
        .running = GET(stage->running), .writing = GET(stage->writing),
    };
    read_states(watch, stage, figures);
    for (int s = 0; s < WATCH_STATES; s++)
        figures->class_ns[states[s].class] += figures->state_ns[s];
    for (int w = 0; w < WORK_KINDS; w++) {
        figures->work_ns[w] = GET(stage->work_ns[w]);
        figures->pieces[w] = GET(stage->pieces[w]);
    }
    for (uint32_t t = 0; t < watch->thread_count; t++) {
        const WatchThread *thread = &watch->threads[t];
        int work = GET(thread->work);
        int64_t since = now - GET(thread->since_ns);
        if (work != WORK_KINDS && GET(thread->stage) == number && since > 0)
            figures->work_ns[work] += since;
        if (work != WORK_TASK || GET(thread->stage) != number) continue;
        figures->rows_live += GET(thread->live.rows);
        figures->bytes_live += GET(thread->live.bytes);
    }
    figures->rows_in += figures->rows_live;
    figures->bytes_in += figures->bytes_live;
    if (GET(watch->ended_ns)) return;
    for (int w = 0; w < WORK_KINDS; w++)
        figures->work_ns[w] = watch_most(&stage->work_told[w], figures->work_ns[w]);
    figures->rows_in = watch_most(&stage->rows_told, figures->rows_in);
    figures->bytes_in = watch_most(&stage->bytes_told, figures->bytes_in);
}

void watch_add_rows(Watch *watch, Text *text) {
    sb_text_str(text, ",\"rejected_rows\":[");
    pthread_mutex_lock(&watch->lock);
    bool any = false;
    for (uint32_t i = 0; i < WATCH_ROWS; i++) {
        const Text *row = &watch->rows[(watch->row_at + i) % WATCH_ROWS];
        if (row->len == 0) continue;
        if (any) sb_text_str(text, ",");
        sb_text_add_json(text, row->ptr, row->len);
        any = true;
    }
    pthread_mutex_unlock(&watch->lock);
    sb_text_str(text, "]");
}

WatchSpans watch_take_spans(Watch *watch, int64_t *lost) {
    pthread_mutex_lock(&watch->lock);
    WatchSpans spans = {watch->spans, watch->span_count};
    *lost = watch->spans_lost;
    watch->spans = nullptr;
    watch->span_count = watch->span_cap = 0;
    pthread_mutex_unlock(&watch->lock);
    return spans;
}
