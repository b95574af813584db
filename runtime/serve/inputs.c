#include "runtime/serve/state.h"

#include "runtime/host.h"

bool inputs_open(Serve *s, StageRun *run) {
    SbAlone alone = sb_alone(0);
    if (run->opened) return true;
    bool good = stage_open(run, &alone.parallel, &s->job->trouble) && fills_open_stage(s, run);
    run->setup.tells_marks = true;
    return good;
}

// Units of one file share its descriptor. It is opened without the lock, for which the thread that
// hears the job would have to wait: a disk may take its time, and the job would hold the worker for
// lost.
static bool hold_file(Serve *s, Served *task, Trouble *trouble) {
    if (task->file_open || task->run->stage->input != SB_INPUT_TEXT) return true;
    SourceFile *file = &task->run->setup.files->files[task->unit.file];
    SourceFile own = {.path = file->path, .fd = -1};
    pthread_mutex_lock(&s->lock);
    bool open = file->fd >= 0;
    file->units_open += open;
    pthread_mutex_unlock(&s->lock);
    if (!open && !source_file_open(&own, trouble)) return false;
    if (!open) {
        pthread_mutex_lock(&s->lock);
        if (file->fd < 0) {
            file->fd = own.fd;
            own.fd = -1;
        }
        file->units_open++;
        pthread_mutex_unlock(&s->lock);
        source_file_shut(&own);
    }
    return task->file_open = true;
}

void inputs_let_go(Served *task) {
    if (!task->file_open) return;
    SourceFile *file = &task->run->setup.files->files[task->unit.file];
    task->file_open = false;
    if (--file->units_open == 0) source_file_shut(file);
}

static void say_next(Serve *s, const Served *task) {
    failpoint("worker-cut");
    Text text = {0};
    WireChain chain = {.stage = task->run->index, .ordinal = task->unit.ordinal + 1,
                       .start = {task->unit.next, task->unit.next_lines}};
    wire_put_chain(&text, &chain);
    serve_say(s, WIRE_CHAIN, &text);
}

bool inputs_prepare(Serve *s, Served *task, const Ask *ask, Trouble *trouble) {
    Units *units = &task->run->units;
    UnitBuffer *buffer = &task->state->buffer;
    if (!hold_file(s, task, trouble)) return false;
    buffer->asks = 0;
    buffer->gives_way = false;
    buffer->cancel = &task->state->task.cancel;
    buffer->asks_from = ask->asks_from;
    bool chained = units_chained(units);
    bool good = chained && ask->starts
                    ? units_prepare_from(units, &task->unit, buffer, &ask->start, trouble)
                    : units_prepare(units, &task->unit, buffer, trouble);
    if (good && chained && !task->tries) say_next(s, task);
    return good;
}
