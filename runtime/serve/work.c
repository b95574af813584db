// What a thread of a worker does about an ASK: the part of a task that needs the rows.
#include "runtime/serve/state.h"

#include "runtime/host.h"

#include <stdlib.h>
#include <string.h>

// ---- tasks --------------------------------------------------------------------------------------

// Room for a task of that number. The lock is held.
static bool make_room(Serve *s, uint32_t task) {
    uint32_t max = s->task_max ? s->task_max : 64;
    while (task >= max) max *= 2;
    if (max == s->task_max) return true;
    Served **tasks = realloc(s->tasks, max * sizeof(Served *));
    if (tasks) s->tasks = tasks;
    bool *canceled = realloc(s->canceled, max * sizeof *canceled);
    if (canceled) s->canceled = canceled;
    if (!tasks || !canceled) return trouble_no_memory(&s->job->trouble, "for a task");
    memset(tasks + s->task_max, 0, (max - s->task_max) * sizeof *tasks);
    memset(canceled + s->task_max, 0, (max - s->task_max) * sizeof *canceled);
    s->task_max = max;
    return true;
}

// A table that is finished stays as it is, so that the first ASK says all. The lock is held.
static bool take_tables(Serve *s, const SbStage *stage, const Ask *ask) {
    const SbJob *what = s->job->ask.what;
    if (!s->tables) s->tables = calloc(what->breaker_count + 1, sizeof *s->tables);
    if (!s->tables) return trouble_no_memory(&s->job->trouble, "for tables");
    for (uint32_t n = 0; n < stage->need_count; n++) {
        uint32_t b = stage->needs[n];
        if (!ask->tables[n].slots || s->job->breakers.tables[b]) continue;
        s->tables[b] = ask->tables[n];
        s->job->breakers.tables[b] = &s->tables[b];
    }
    return true;
}

// The lock is held. nullptr: job->trouble.
static Served *new_task(Serve *s, const Ask *ask) {
    StageRun *run = &s->runs[ask->stage];
    bool probes = run->stage->need_count > 0;
    if (!make_room(s, ask->task) || !inputs_open(s, run)) return nullptr;
    if (probes && !take_tables(s, run->stage, ask)) return nullptr;
    Served *task = calloc(1, sizeof *task);
    if (!task) {
        trouble_no_memory(&s->job->trouble, "for a task");
        return nullptr;
    }
    *task = (Served){.run = run, .state = stage_task(run)};
    if (!task->state) {
        free(task);
        return nullptr;
    }
    bool canceled = s->canceled[ask->task] || s->over;
    if (canceled) __atomic_store_n(&task->state->task.cancel, 1, __ATOMIC_RELAXED);
    s->canceled[ask->task] = false;
    return s->tasks[ask->task] = task;
}

static Served *find_task(Serve *s, const Ask *ask) {
    pthread_mutex_lock(&s->lock);
    Served *task = ask->task < s->task_max ? s->tasks[ask->task] : nullptr;
    // What asked for memory begins once more with the same number.
    if (!task && ask->rows == ASK_BEGIN) task = new_task(s, ask);
    pthread_mutex_unlock(&s->lock);
    // The job has forgotten to say that a task is over: its number means another one now.
    bool same = task && task->run->index == ask->stage;
    return same ? task : nullptr;
}

void serve_cancel(Serve *s, uint32_t number) {
    if (!make_room(s, number)) {
        s->over = s->failed = true;
        return;
    }
    const Served *task = s->tasks[number];
    s->canceled[number] = !task;
    if (!task) return;
    __atomic_store_n(&task->state->task.cancel, 1, __ATOMIC_RELAXED);
    if (task->run->opened) units_chain_wake(&task->run->units);
}

void serve_cancel_all(Serve *s) {
    for (uint32_t i = 0; i < s->task_max; i++)
        if (s->tasks[i]) serve_cancel(s, i);
}

void serve_leave(Serve *s, uint32_t number) {
    pthread_mutex_lock(&s->lock);
    Served *task = number < s->task_max ? s->tasks[number] : nullptr;
    if (number < s->task_max) s->canceled[number] = false;
    if (task) {
        s->tasks[number] = nullptr;
        inputs_let_go(task);
        fills_let_go(s, task);
        stage_spare_task(task->run, task->state);
        free(task);
    }
    copies_leave(s, number);
    pthread_mutex_unlock(&s->lock);
}

// ---- rows ---------------------------------------------------------------------------------------

// Are the rows that another process made what it has made?
static bool holds(const Serve *s, const Served *task, const Ask *ask) {
    const StageRun *run = task->run;
    return !ask->batch || row_sum_holds(ask->sum, &run->forms[run->stage->terminal_count],
                                        &s->space, ask->batch, ask->batch_rows);
}

// The rows of the task's next partition are there. False: what `made` says, or *trouble.
static bool ready(Serve *s, Served *task, const Ask *ask, Made *made, Trouble *trouble) {
    if (ask->rows == ASK_ON) return true;
    made->kind = MADE_CORRUPT;
    if (!holds(s, task, ask)) return false;
    uint64_t before = task->unit.ordinal;
    task->unit = ask->unit;
    uint8_t input = task->run->stage->input;
    bool told = input == SB_INPUT_ROWS || input == SB_INPUT_UNMATCHED;
    // Rows of an inline table lie in each process elsewhere.
    task->unit.entries = told ? ask->entries[0] : task->run->units.what.entries;
    task->unit.right = told ? ask->entries[1] : nullptr;
    task->unit.slices[0] = task->unit.slices[1] = (Slice){0};
    task->prepared = false;
    task->made = ask->rows == ASK_BEGIN ? 0 : task->made;
    UnitBuffer *buffer = &task->state->buffer;
    if (!inputs_prepare(s, task, ask, trouble)) {
        made->kind = buffer->asks ? MADE_ASKS : buffer->gives_way ? MADE_GIVES_WAY : MADE_TROUBLE;
        made->asks = buffer->asks;
        if (buffer->asks || buffer->gives_way) unit_buffer_close(buffer);
        return false;
    }
    uint64_t order = task->state->task.order, records = task->state->records;
    bool more = ask->rows == ASK_MORE;
    task->prepared = more ? task_go_on(task->state, &task->unit, trouble)
                          : task_begin(task->state, &task->unit, trouble);
    // More rows of one unit.
    if (more && before == task->unit.ordinal) {
        task->state->task.order = order;
        task->state->records = records;
    }
    made->kind = MADE_TROUBLE;
    return task->prepared;
}

// ---- partitions ---------------------------------------------------------------------------------

Partition *serve_partition(Serve *s, Served *task, const Ask *ask) {
    pthread_mutex_lock(&s->lock);
    Partition *partition = stage_partition(task->run);
    pthread_mutex_unlock(&s->lock);
    if (!partition) return nullptr;
    partition_reset(partition, &task->run->setup);
    partition->run = task->run;
    partition->keeps = nullptr;
    partition->weight = ask->weight;
    memcpy(partition->quota, ask->quota,
           task->run->stage->terminal_count * sizeof *partition->quota);
    return partition;
}

static void run_task(Serve *s, Served *task, const Ask *ask, Partition *partition, Made *made) {
    task->state->task.splits = ask->splits;
    fills_run(s, task, partition);
    made->kind = MADE_PARTITION;
    if (partition->lacks && ask->goes_back) {
        task_back(task->state, partition);
        fills_went_back(s, task);
        made->kind = MADE_BACK;
    } else if (partition->lacks) {
        task_keep(task->state);
    }
    made->busy = log_clock_ns() - task->state->task.call.hold.from;
    if (made->kind != MADE_PARTITION) return;
    fills_ran(s, task, partition, &task->state->trouble);
    stage_number_records(task->run, &partition->rejects, task->made);
    stage_make_batches(task->run, partition, task->made, &task->state->trouble);
    stage_sum(task->run, partition, true);
    harm_made(s, task->run, partition);
    task->made += partition->made;
}

// Once the coordinator has the answer, it may say that the task is over: nothing of the task is
// touched any more.
static void answer(Serve *s, const Served *task, const Made *made, Partition *partition,
                   const Trouble *trouble) {
    Text text = {0};
    WireBlocks blocks = {0};
    StageRun *run = task->run;
    Made said = *made;
    said.memory = sb_memory_held(&s->job->machine.memory) + s->copies.bytes;
    wire_put_made(&text, &said);
    if (made->kind == MADE_PARTITION) {
        wire_put_partition(&text, partition, &run->setup, &blocks);
        pack_number(&text, trouble->kind != TROUBLE_NONE);
    }
    if (made->kind == MADE_TROUBLE || trouble->kind != TROUBLE_NONE)
        wire_put_trouble(&text, trouble);
    if (partition) {
        pthread_mutex_lock(&s->lock);
        stage_spare(run, partition);
        pthread_mutex_unlock(&s->lock);
    }
    copies_send_blocks(s, &blocks);
    wire_close_blocks(&blocks);
    serve_say(s, WIRE_MADE, &text);
    failpoint("worker-said");
}

// A stage without a partition: there is no memory for one.
static void answer_trouble(Serve *s, const Served *task, Made *made, Trouble *trouble) {
    made->kind = MADE_TROUBLE;
    if (trouble->kind == TROUBLE_NONE) stage_no_memory(task->run, trouble);
    answer(s, task, made, nullptr, trouble);
}

// What ends this process is known by the note of the thread.
static void set_guard(Serve *s, Served *task, const Ask *ask, uint32_t thread) {
    SbGuard *guard = &task->state->guard;
    const Unit *unit = &task->unit;
    guard->note = &s->notes[thread];
    guard->task = ask->task;
    // What this process has said of the starts of units may be lost with it.
    guard->starts = units_chained(&task->run->units);
    guard->start = (UnitsChain){unit->offset + unit->begin, unit->lines < 0 ? 0 : unit->lines};
}

static void make(Serve *s, Served *task, const Ask *ask, uint32_t thread) {
    Made made = {.task = ask->task};
    Trouble trouble;
    trouble_clear(&trouble);
    bool good = ready(s, task, ask, &made, &trouble);
    made.buffer = task->state->buffer.cap;
    made.prepared = task->prepared && ask->rows != ASK_ON;
    made.unit = task->unit;
    task->set = ask->set;
    good = good && fills_take_lane(s, task, &trouble);
    Partition *partition = good ? serve_partition(s, task, ask) : nullptr;
    if (partition) {
        failpoint("worker-runs");
        set_guard(s, task, ask, thread);
        run_task(s, task, ask, partition, &made);
        failpoint("worker-made");
        answer(s, task, &made, partition, &task->state->trouble);
    } else if (good || made.kind == MADE_TROUBLE) {
        answer_trouble(s, task, &made, &trouble);
    } else {
        answer(s, task, &made, nullptr, &trouble);
    }
}

bool serve_get_ask(Serve *s, Unpack *from, Ask *ask) {
    const SbJob *what = s->job->ask.what;
    uint32_t number, stage;
    return wire_peek_ask(*from, &number, &stage) && stage < what->stage_count &&
           what->stages[stage].terminal_count <= UINT8_MAX &&
           wire_get_ask(from, &what->stages[stage], ask) &&
           (ask->set == 0 || (ask->set + 1) * s->fills.of_set <= s->fills.lane_count);
}

Served *serve_begin(Serve *s, const Ask *ask) {
    Made made = {0};
    Trouble trouble;
    trouble_clear(&trouble);
    Served *task = find_task(s, ask);
    if (task) task->tries = true;
    bool good = task && ready(s, task, ask, &made, &trouble);
    if (trouble.kind != TROUBLE_NONE) trouble_close(&trouble);
    return good ? task : nullptr;
}

void serve_ask(Serve *s, const Order *order, uint32_t thread) {
    failpoint("worker-asked");
    Unpack from = {order->bytes, order->bytes + order->len, false};
    int64_t quota[UINT8_MAX + 1];
    Ask ask = {.quota = quota};
    Served *task = serve_get_ask(s, &from, &ask) ? find_task(s, &ask) : nullptr;
    if (task) {
        make(s, task, &ask, thread);
        return;
    }
    trouble_set(&s->job->trouble, TROUBLE_WORKER_OTHER, "an ASK that is none of this job");
    serve_fail(s);
}
