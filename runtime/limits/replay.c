// Replay: a unit among whose rows a limit ends is made once more, by one thread, as if all of the
// job before that limit ran row by row.
//
//   root ─▶ partition ─▶ stage below ─▶ partition ─▶ ... ─▶ limit: takes what is left
//                                                             │
//   counts exactly ◀── once more, with as many rows ◀── has consumed as many rows
//
// A stage is run partition by partition, and what it makes goes down at once. When nobody below
// wants more, the partition is made again up to the last row that was wanted. That says how many
// rows of its own input the stage has judged. So each partition is made twice at most. What goes to
// sinks and breakers is dropped: they have it, or are never to have it.
#include "runtime/limits/state.h"

#include <stdlib.h>
#include <string.h>

typedef struct Replay {
    Limits      *limits;
    DoubtUnit   *unit;
    const Tree  *tree;
    uint32_t     thread;
    Trouble     *trouble;
    int64_t      left[TREE_MAX];       // By node: rows that the limit there still takes.
    bool         satisfied[TREE_MAX];  // By node: the stage there wants no more.
    SbTaskState *tasks[TREE_MAX];      // By node: it has judged what came so far.
    DoubtSlot   *slots[TREE_MAX + 1];  // By node: what is counted now, where a part is wanted.
    Unit         input;                // What the unit reads, as it was.
    int64_t      made;                 // Rows of the root's source.
    bool         failed;               // A fault ends the job.
} Replay;

static StageRun *run_at(const Replay *r, uint8_t node) {
    return &r->limits->d->runs[flow_stage_at(r->limits->d, r->unit->root, node)];
}

static const Gate *gate_at(const Replay *r, uint8_t node) {
    return doubt_gate(r->limits, r->unit->root, node);
}

// ---- what is wanted -------------------------------------------------------------------------

// Do rows along the edge have to be judged once more, at its end or further down?
static bool is_needed(const Replay *r, uint8_t node) {
    if (r->slots[node]) return true;
    for (uint8_t i = 0; i < r->tree->count; i++)
        if (r->tree->parents[i] == node && is_needed(r, i)) return true;
    return false;
}

static bool comes_along(const Replay *r, uint8_t node, uint32_t terminal) {
    const SbJob *what = r->limits->what;
    uint32_t stage = flow_stage_at(r->limits->d, r->unit->root, node);
    if (stage >= what->stage_count)
        return terminal == (SB_TERMINAL_SINK | (stage - what->stage_count));
    uint8_t side = schedule_shape(r->limits->d->schedule)->input_of[r->tree->edges[node].i];
    bool right = what->stages[stage].right_index != UINT32_MAX && side == 1;
    return (right ? what->stages[stage].right_index : what->stages[stage].input_index) == terminal;
}

// Rows that are still wanted at the node.
static int64_t wants(const Replay *r, uint8_t node) {
    if (r->satisfied[node]) return 0;
    return gate_at(r, node)->is ? r->left[node] : INT64_MAX;
}

// Rows of a terminal of the stage at `node` that somebody below wants; of what nobody judges once
// more, none.
static int64_t quota_of(const Replay *r, uint8_t node, uint32_t terminal, bool exact) {
    int64_t most = 0;
    for (uint8_t i = 0; i < r->tree->count; i++) {
        if (r->tree->parents[i] != node || !comes_along(r, i, terminal)) continue;
        if (!exact && !is_needed(r, i)) continue;
        int64_t rows = wants(r, i);
        if (rows > most) most = rows;
    }
    return most;
}

// Does the stage at the node want rows? One that is not in doubt wants all.
static bool is_satisfied(const Replay *r, uint8_t node) {
    if (!doubt_leads(r->limits, flow_stage_at(r->limits->d, r->unit->root, node))) return false;
    for (uint8_t i = 0; i < r->tree->count; i++)
        if (r->tree->parents[i] == node && wants(r, i) > 0) return false;
    return true;
}

// Is there nothing left that the stage is run once more for?
static bool is_finished(const Replay *r, uint8_t node) {
    if (r->slots[node]) return is_satisfied(r, node);
    for (uint8_t i = 0; i < r->tree->count; i++)
        if (r->tree->parents[i] == node && is_needed(r, i) && wants(r, i) > 0) return false;
    return true;
}

// What the limits have taken before the unit, and whom they leave nothing.
static void set_wants(Replay *r) {
    uint32_t root = r->unit->root, number = r->unit->number;
    for (uint8_t i = 0; i < r->tree->count; i++) {
        const Gate *gate = gate_at(r, i);
        int64_t base = r->unit->nodes[i].base;
        r->left[i] = gate->is && base >= 0 ? gate->limit - base : INT64_MAX;
        r->satisfied[i] = doubt_share(r->limits, root, i, number) == SHARE_NONE;
    }
}

// ---- tasks ----------------------------------------------------------------------------------

static SbTaskState *new_task(Replay *r, StageRun *run) {
    pthread_mutex_lock(&r->limits->d->lock);
    SbTaskState *task = stage_task(run);
    pthread_mutex_unlock(&r->limits->d->lock);
    if (task) task->buffer.asks_from = 0;
    else stage_no_memory(run, r->trouble);
    return task;
}

static Partition *new_partition(Replay *r, StageRun *run) {
    pthread_mutex_lock(&r->limits->d->lock);
    Partition *partition = stage_partition(run);
    pthread_mutex_unlock(&r->limits->d->lock);
    if (partition) partition->run = run;
    else stage_no_memory(run, r->trouble);
    return partition;
}

static void spare(Replay *r, StageRun *run, SbTaskState *task, Partition *partition) {
    pthread_mutex_lock(&r->limits->d->lock);
    stage_spare_task(run, task);
    if (partition) stage_spare(run, partition);
    pthread_mutex_unlock(&r->limits->d->lock);
}

// Runs the task until the partition is full. False: the job ends, or is to.
static bool run_task(Replay *r, StageRun *run, SbTaskState *task, Partition *partition) {
    pthread_mutex_t *fills = &r->limits->fills[r->thread];
    bool good = stage_open_aside(run, task) || stage_no_memory(run, r->trouble);
    if (good) {
        pthread_mutex_lock(fills);
        task_run(task, partition, r->thread);
        if (partition->lacks) task_keep(task);
        pthread_mutex_unlock(fills);
    }
    stage_close_aside(run, task);
    if (!good) return false;
    bool whole = task->trouble.kind == TROUBLE_NONE;
    if (whole && stage_take_failure(run, &task->task, partition, &task->trouble)) return true;
    *r->trouble = task->trouble;
    return false;
}

// The same rows once more, up to what is wanted of them.
static bool make_again(Replay *r, StageRun *run, Partition *partition, const int64_t *quotas) {
    SbTaskState *task = new_task(r, run);
    if (!task) return false;
    Partition was = *partition;
    partition_reset(partition, &run->setup);
    memcpy(partition->quota, quotas, run->stage->terminal_count * sizeof *quotas);
    bool good = task_again(task, &was, r->trouble) && run_task(r, run, task, partition);
    partition->unit = was.unit;
    spare(r, run, task, nullptr);
    return good;
}

// ---- stages ---------------------------------------------------------------------------------

static bool run_stage(Replay *r, uint8_t node, SbTaskState *task, int64_t *judged);

// Rows come to the stage at the node. *judged: how many of them it wanted.
static bool feed(Replay *r, uint8_t node, const SbEntry *const *entries, int64_t rows,
                 int64_t *judged) {
    StageRun *run = run_at(r, node);
    SbTaskState *task = r->tasks[node];
    Trouble trouble = {0};
    *judged = 0;
    if (rows == 0) return true;
    uint64_t order = 0, records = 0;
    bool first = !task;
    if (first) r->tasks[node] = task = new_task(r, run);
    if (!task) return false;
    order = task->task.order, records = task->records;
    Unit unit = {.ordinal = r->unit->number, .lines = -1, .end = rows, .entries = entries};
    if (!task_begin(task, &unit, &trouble)) {
        *r->trouble = trouble;
        return false;
    }
    if (!first) task->task.order = order, task->records = records;
    return run_stage(r, node, task, judged);
}

// What a partition has for the stage at a node goes there. *rows: how many of them were wanted.
static bool hand_down(Replay *r, uint8_t node, const Batch *batch, int64_t *rows) {
    const Gate *gate = gate_at(r, node);
    int64_t count = batch->count, skip = 0, judged = 0;
    *rows = 0;
    if (wants(r, node) == 0) return true;
    if (gate->is) {
        int64_t came = gate->limit - r->left[node];
        skip = gate->skip > came ? gate->skip - came : 0;
        if (count > r->left[node]) count = r->left[node];
        if (skip > count) skip = count;
    }
    bool stage = is_needed(r, node);
    if (stage && !feed(r, node, batch->entries + skip, count - skip, &judged)) return false;
    bool ends = stage && is_satisfied(r, node);
    *rows = ends ? skip + judged : count;
    if (gate->is) r->left[node] -= *rows;
    r->satisfied[node] = ends || (gate->is && r->left[node] == 0);
    if (r->slots[node]) r->slots[node]->taken += *rows;
    return true;
}

// The rows of those that a terminal has for its sink which that takes.
static int64_t hand_to_sink(Replay *r, uint8_t node, uint32_t terminal, int64_t rows) {
    for (uint8_t i = 0; i < r->tree->count; i++) {
        if (r->tree->parents[i] != node || !comes_along(r, i, terminal)) continue;
        int64_t wanted = wants(r, i);
        if (rows > wanted) rows = wanted;
        if (!gate_at(r, i)->is) continue;
        r->left[i] -= rows;
        r->satisfied[i] |= r->left[i] == 0;
    }
    return rows;
}

// The partition's rows go down. `quotas` become those that were wanted, by terminal.
static bool hand_all_down(Replay *r, uint8_t node, Partition *partition, int64_t *quotas) {
    int64_t before = node == NODE_ROOT ? r->made : 0;  // Rows of the unit.
    const SbStage *stage = partition->run->stage;
    memset(quotas, 0, stage->terminal_count * sizeof *quotas);
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        if (stage->terminals[t] & SB_TERMINAL_SINK) {
            quotas[t] = hand_to_sink(r, node, stage->terminals[t], partition->rows[t]);
            continue;
        }
        if (!partition->batches[t] || partition->rows[t] == 0) continue;
        Batch *batch = batch_open(partition->batches[t]);
        if (!batch) return stage_no_memory(partition->run, r->trouble);
        partition->batches[t] = nullptr;
        stage_number_batch(partition->run, t, batch, before);
        bool good = true;
        for (uint8_t i = 0; good && i < r->tree->count; i++) {
            int64_t rows = 0;
            if (r->tree->parents[i] != node || !comes_along(r, i, stage->terminals[t])) continue;
            good = r->failed || hand_down(r, i, batch, &rows);
            if (rows > quotas[t]) quotas[t] = rows;
        }
        batch_release(batch);
        if (!good) return false;
    }
    return true;
}

static bool count(Replay *r, uint8_t node, Partition *partition) {
    DoubtSlot *slot = r->slots[node];
    if (!slot) return true;
    if (node == NODE_ROOT) flow_place_lines(&r->input, &partition->rejects);
    return doubt_slot_add(r->limits, slot, partition) ||
           stage_no_memory(partition->run, r->trouble);
}

// One partition of the stage. False: the job ends.
static bool run_partition(Replay *r, uint8_t node, SbTaskState *task, Partition *partition) {
    StageRun *run = partition->run;
    const SbStage *stage = run->stage;
    bool exact = r->slots[node];
    int64_t *quotas = calloc(stage->terminal_count + 1, sizeof *quotas);
    if (!quotas) return stage_no_memory(run, r->trouble);
    partition_reset(partition, &run->setup);
    partition->keeps = node == NODE_ROOT && r->unit->input ? r->unit->input->keeps : nullptr;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        bool limited = stage->terminals[t] & SB_TERMINAL_SINK || run->edges[t] != EDGE_NONE;
        partition->quota[t] = limited ? quota_of(r, node, stage->terminals[t], exact) : INT64_MAX;
    }
    bool good = run_task(r, run, task, partition);
    bool last = partition->last;
    int64_t before = node == NODE_ROOT ? r->made : 0;
    if (good) good = hand_all_down(r, node, partition, quotas);
    if (node == NODE_ROOT) r->made += partition->made;
    if (good && exact && is_satisfied(r, node)) good = make_again(r, run, partition, quotas);
    else if (good && partition->status == SB_STAGE_FAULT) r->failed = true;
    stage_number_records(run, &partition->rejects, before);
    partition->last |= last;
    free(quotas);
    return good && count(r, node, partition);
}

// Runs the stage on what the task has begun, to its end or until nobody wants more.
static bool run_stage(Replay *r, uint8_t node, SbTaskState *task, int64_t *judged) {
    StageRun *run = run_at(r, node);
    Partition *partition = new_partition(r, run);
    if (!partition) return false;
    bool good = true, on = true;
    while (good && on) {
        good = run_partition(r, node, task, partition);
        *judged = partition->end;
        on = !partition->last && !r->failed && !is_finished(r, node);
    }
    spare(r, run, nullptr, partition);
    return good;
}

// ---- the unit -------------------------------------------------------------------------------

static bool run_root(Replay *r) {
    StageRun *run = run_at(r, NODE_ROOT);
    DoubtInput *input = r->unit->input;
    SbTaskState *task = input ? input->keeps : nullptr;
    int64_t judged = 0;
    if (!task && !(task = new_task(r, run))) return false;
    DoubtAgain again = {.unit = r->input = doubt_unit_input(r->unit)};
    bool good = doubt_bring_back(r->limits, r->unit, task, &again, r->trouble);
    bool keeps = input && input->keeps;
    good = good && (keeps || units_again(&run->units, &again.unit, &task->buffer, r->trouble)) &&
           task_begin(task, &again.unit, r->trouble) && run_stage(r, NODE_ROOT, task, &judged);
    if (!keeps) spare(r, run, task, nullptr);
    for (int side = 0; side < 2; side++) spool_close(&again.rows[side], r->limits->memory);
    if (r->slots[NODE_ROOT]) r->slots[NODE_ROOT]->taken = judged;
    return good;
}

static bool replay_unit(Limits *limits, DoubtUnit *unit, uint32_t thread, Trouble *trouble) {
    Replay r = {.limits = limits, .unit = unit, .tree = limits->roots[unit->root].tree,
                .thread = thread, .trouble = trouble};
    bool good = true;
    pthread_mutex_lock(&limits->d->lock);
    set_wants(&r);
    for (uint8_t n = 0; good && n <= r.tree->count; n++) {
        uint8_t node = n < r.tree->count ? n : NODE_ROOT;
        if (!doubt_again(limits, unit, node)) continue;
        r.slots[node] = doubt_slot(limits, unit, node);
        if (r.slots[node]) doubt_slot_empty(r.slots[node]);
        good = r.slots[node] || stage_no_memory(run_at(&r, node), r.trouble);
    }
    pthread_mutex_unlock(&limits->d->lock);
    good = good && run_root(&r);
    for (uint8_t n = 0; n < r.tree->count; n++)
        if (r.tasks[n]) spare(&r, run_at(&r, n), r.tasks[n], nullptr);
    return good;
}

bool replay_work(Limits *limits, uint32_t thread) {
    DoubtUnit *unit = limits->due;
    if (!unit) return false;
    const StageRun *run = &limits->d->runs[unit->root];
    Trouble trouble;
    trouble_clear(&trouble);
    limits->due = unit->next;
    tell_begin(&limits->d->observers, thread, WORK_TASK, unit->root);
    // All units of the file may be judged in the meantime.
    Unit input = doubt_unit_input(unit);
    bool good = flow_hold_file(run, &input, &trouble);
    pthread_mutex_unlock(&limits->d->lock);
    good = good && replay_unit(limits, unit, thread, &trouble);
    pthread_mutex_lock(&limits->d->lock);
    good = good && flow_let_file(run, &input, &trouble);
    dispatch_clock(limits->d);
    tell_done(&limits->d->observers, thread);
    unit->made = true;
    limits->due_count--;
    if (!good) dispatch_trouble(limits->d, TROUBLE_MEMORY, &trouble);
    dispatch_settle(limits->d);
    pthread_cond_broadcast(&limits->d->changed);
    return true;
}
