// A trial: what a fresh worker does before any other work, with a row that ended its last life. It
// calls foreign code for that row alone, and makes nothing of it.
#include "runtime/serve/state.h"

#include "runtime/crash.h"

#include <stdlib.h>

// The rows of the unit are gone along until the trial has passed, or the unit ends.
static void go_along(Serve *s, const Ask *ask, GuardTrial *trial, GuardNote *note) {
    Served *task = serve_begin(s, ask);
    if (!task) return;
    task->state->guard.note = note;
    task->state->guard.trial = trial;
    Trouble trouble;
    trouble_clear(&trouble);
    bool good = fills_take_lane(s, task, &trouble);
    for (bool last = false; good && !last && !trial->passed;) {
        Partition *partition = serve_partition(s, task, ask);
        good = partition;
        if (!good) break;
        fills_run(s, task, partition);
        last = partition->last || partition->lacks || task->state->task.cancel;
        if (partition->lacks) task_keep(task->state);
        pthread_mutex_lock(&s->lock);
        partition_close_batches(partition, &task->run->setup);
        stage_spare(task->run, partition);
        pthread_mutex_unlock(&s->lock);
    }
    if (trouble.kind != TROUBLE_NONE) trouble_close(&trouble);
    task->state->guard.trial = nullptr;
    task->state->guard.note = nullptr;
}

// The trial took its unit out of turn: where the units of the stage begin is learned anew. What it
// put into breakers counts for nothing.
static void forget(Serve *s, uint32_t stage) {
    pthread_mutex_lock(&s->lock);
    if (s->runs[stage].opened) stage_close(&s->runs[stage]);
    fills_close_stage(s, stage);
    s->tries = false;
    pthread_mutex_unlock(&s->lock);
}

void serve_try(Serve *s, const Order *order, uint32_t thread) {
    Unpack from = {order->bytes, order->bytes + order->len, false};
    GuardTrial trial;
    int64_t quota[UINT8_MAX + 1];
    Ask ask = {.quota = quota};
    bool good = wire_get_trial(&from, &trial) && serve_get_ask(s, &from, &ask);
    if (!good) {
        trouble_set(&s->job->trouble, TROUBLE_WORKER_OTHER, "a TRY that is none of this job");
        serve_fail(s);
    } else {
        crash_hush();
        go_along(s, &ask, &trial, &s->notes[thread]);
        serve_leave(s, ask.task);
        forget(s, ask.stage);
        Text text = {0};
        pack_number(&text, trial.passed);
        serve_say(s, WIRE_TRIED, &text);
    }
    free(trial.ranges);
}
