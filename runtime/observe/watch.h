// Watch: which thread does what, and why a stage with nothing at work has nothing at work.
//
// observer.c tells the watch, under the lock of the dispatch, what the dispatch tells its
// observers:
//
//   watch_begin, watch_end   a thread takes up a piece of work, and is done with it
//   watch_made               a task has handed over a partition
//   watch_state              what a stage does, or waits for; told whenever it may have changed
//   watch_queue              bytes that wait in front of a stage
//
// From this follow the closing table, the progress, the trace, the metrics and the watchdog. A
// stage is in one state at a time, so that the times of its states add up to that of the job.
// The work of its tasks is counted for each thread.
//
// Others read figures at any time: they are single atomic numbers, each right by itself. Spans,
// one for each piece of work that has ended, are kept only when somebody asks for them.
#ifndef SBC_RUNTIME_WATCH_H
#define SBC_RUNTIME_WATCH_H

#include "runtime/dispatch.h"
#include "runtime/report.h"

#include <pthread.h>
#include <stdatomic.h>

// BUSY: at work. STARVED: could work if there were rows. BLOCKED: has rows and may not. ASIDE: not
// its turn, or done.
typedef enum WatchClass { CLASS_BUSY, CLASS_STARVED, CLASS_BLOCKED, CLASS_ASIDE } WatchClass;
enum { WATCH_CLASSES = CLASS_ASIDE + 1 };

// A state of a stage: its class, its name for programs, and for people.
#define WATCH_STATE_TABLE(X)                                                      \
    X(PENDING, ASIDE, "pending", "has not begun")                                 \
    X(BUSY, BUSY, "busy", "is at work")                                           \
    X(NO_INPUT, STARVED, "no_input", "waits for input")                           \
    X(NO_ROOM, BLOCKED, "no_room", "waits for who reads its rows")                \
    X(NO_MEMORY, BLOCKED, "no_memory", "waits for memory")                        \
    X(NO_SLOT, BLOCKED, "no_slot", "waits for a slot")                            \
    X(NO_ORDER, BLOCKED, "no_order", "waits for an earlier task of its own")      \
    X(NO_ANSWER, BLOCKED, "no_answer", "waits for who judges its rows")           \
    X(DONE, ASIDE, "done", "is done")

typedef enum WatchState {
#define WATCH_STATE(state, class, name, words) WATCH_##state,
    WATCH_STATE_TABLE(WATCH_STATE)
#undef WATCH_STATE
    WATCH_STATES,
} WatchState;

typedef struct WatchSpan {
    Work   work;
    uint32_t    stage, thread;
    int64_t     begin_ns, end_ns;
    int64_t     rows;             // Rows that were judged.
    MadeBy from[2];          // Of what it read, or wrote.
} WatchSpan;

// Work that has ended.
typedef struct WatchSpans {
    WatchSpan *items;
    uint32_t   count;
} WatchSpans;

typedef struct WatchStage {
    _Atomic uint32_t changes;                  // Odd while the next three change.
    _Atomic int     state;
    _Atomic int64_t since_ns;                  // When the stage came into this state.
    _Atomic int64_t state_ns[WATCH_STATES];    // Time in all states before this one.
    _Atomic int64_t work_ns[WORK_KINDS];       // Of all threads; ended pieces only.
    _Atomic int64_t pieces[WORK_KINDS];
    _Atomic int64_t rows_in, rows_out, bytes_in, bytes_out;
    _Atomic int64_t queued;                    // Bytes that rows in front of it fill.
    _Atomic int64_t rows_told, bytes_told;     // The most that readers have been told.
    _Atomic int64_t state_told[WATCH_STATES], work_told[WORK_KINDS];
    _Atomic int64_t moved_ns;                  // When the stage last handed something over, or
                                               // began.
    _Atomic int64_t unwritten;                 // Bytes that it made and that no output holds yet.
    _Atomic uint32_t running;                  // Threads at work on its tasks.
    _Atomic uint32_t writing;                  // Threads that write what it made.
} WatchStage;

typedef struct WatchThread {
    TaskLive       live;
    _Atomic int     work;                      // WORK_KINDS: none.
    _Atomic uint32_t stage;
    _Atomic int64_t since_ns;
    WatchSpan       span;                      // The engine's: what is going on.
} WatchThread;

enum { WATCH_ROWS = 8, WATCH_ROW_BYTES = 200 };

typedef struct Watch {
    Dispatch    *dispatch;                     // The dispatch that tells the watch; nullptr: none
                                               // does yet.
    struct Samples *samples;                   // Of the job, with --stats; else nullptr.
    WatchStage  *stages;
    WatchThread *threads;
    uint32_t     stage_count, thread_count;
    int64_t      job_ns;                       // When the job began.
    int64_t      begun_ns;                     // When the stages of the job began.
    _Atomic int64_t ended_ns;                  // Of the stages; 0: they go on.
    int64_t      closed_ns;                    // Of the job; 0: it goes on.
    _Atomic int64_t rejected;                  // Rows.
    bool         keeps_spans, keeps_rows;      // Set before the engine begins.
    pthread_mutex_t lock;                      // Guards all fields below.
    WatchSpan   *spans;
    uint32_t     span_count, span_cap;
    int64_t      spans_lost;                   // For want of memory, or of a reader.
    Text         rows[WATCH_ROWS];             // The newest that were rejected, as shown.
    uint32_t     row_at;
} Watch;

// Tells it what the dispatch of its job does.
Observer watch_observer(Watch *watch, struct Samples *samples);

// Of a job that began at `job_ns`: until its stages begin they are pending.
bool watch_open(Watch *watch, uint32_t stages, uint32_t threads, int64_t job_ns);
void watch_close(Watch *watch);

// ---- the engine's side; its lock is held --------------------------------------------------------

void watch_begin(Watch *watch, uint32_t thread, Work work, uint32_t stage, int64_t now_ns);
// What the thread does now turns into work of another kind, for the same stage.
void watch_turn(Watch *watch, uint32_t thread, Work work);
void watch_end(Watch *watch, uint32_t thread, int64_t now_ns);
// The work that goes on reads, or writes, what came from there.
void watch_from(Watch *watch, uint32_t thread, int side, MadeBy from);
// A partition of the task that the thread has at work; returns where its rows come from.
typedef struct WatchMade {
    int64_t rows_in, rows_out, bytes_in, bytes_out;
} WatchMade;
MadeBy watch_made(Watch *watch, uint32_t thread, const WatchMade *made);
void watch_state(Watch *watch, uint32_t stage, WatchState state, int64_t now_ns);
void watch_queue(Watch *watch, uint32_t stage, int64_t bytes);
// So many more bytes that the stage made wait for its outputs.
void watch_unwritten(Watch *watch, uint32_t stage, int64_t bytes);
// `rows` rows were rejected, for which `message` and `raw` of one stand.
void watch_reject(Watch *watch, int64_t rows, SbStr message, SbStr raw);
// All stages are done, or the job gives up: from now on they are done, and their work stands still.
void watch_stop(Watch *watch);
// The job ends: the times in all states of a stage add up to those from its beginning, which are
// returned.
int64_t watch_end_job(Watch *watch);

// ---- readers ------------------------------------------------------------------------------------

typedef struct WatchFigures {
    WatchState state;
    int64_t  state_ns[WATCH_STATES];   // The state that goes on included.
    int64_t  class_ns[WATCH_CLASSES];
    int64_t  work_ns[WORK_KINDS], pieces[WORK_KINDS];  // Work that goes on included, roughly.
    // Rows that tasks are at work on count as far as they are judged. What is told never falls
    // while the job runs, though a task may end before it has handed its rows over.
    int64_t  rows_in, bytes_in;
    int64_t  rows_live, bytes_live;    // Of rows_in and bytes_in, those not handed over yet.
    int64_t  rows_out, bytes_out, queued, unwritten;
    int64_t  idle_ns;                  // Time since the stage last moved.
    uint32_t running, writing;
} WatchFigures;

void watch_figures(const Watch *watch, uint32_t stage, WatchFigures *figures);
// The most that has been told of a figure that grows, `now` included.
int64_t watch_most(_Atomic int64_t *told, int64_t now);
// Since the engine began.
int64_t watch_elapsed_ns(const Watch *watch);
// Takes all spans that have ended since the last call; free() the items.
WatchSpans watch_take_spans(Watch *watch, int64_t *lost);

// ,"rejected_rows":["message: row",...]
void watch_add_rows(Watch *watch, Text *text);

const char *watch_state_words(WatchState state);
const char *watch_state_name(WatchState state);  // "no_input"
WatchClass  watch_state_class(WatchState state);
const char *watch_work_name(Work work);

#endif
