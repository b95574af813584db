#include "tests/sim/machine.h"

#include "tests/sim/network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_fail(Sim *sim, const char *why) {
    if (sim->result.wrong) return;
    sim->result.wrong = why;
    snprintf(sim->result.text, sizeof sim->result.text, "%s: %s at %.3f s, step %" PRIu64,
             sim->load->name, why, (double)sim->now / (double)SECOND, sim->result.steps);
}

// ---- the queue of what happens ------------------------------------------------------------------

static bool sooner(const Pending *a, const Pending *b) {
    return a->at != b->at ? a->at < b->at : a->number < b->number;
}

void sim_push(Sim *sim, Pending pending) {
    pending.number = sim->numbers++;
    if (sim->heap_count == sim->heap_max) {
        sim->heap_max = sim->heap_max ? 2 * sim->heap_max : 1024;
        sim->heap = realloc(sim->heap, sim->heap_max * sizeof *sim->heap);
    }
    size_t at = sim->heap_count++;
    for (; at && sooner(&pending, &sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sim->heap[at] = sim->heap[(at - 1) / 2];
    sim->heap[at] = pending;
}

static Pending pop(Sim *sim) {
    Pending first = sim->heap[0], last = sim->heap[--sim->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= sim->heap_count) break;
        if (child + 1 < sim->heap_count && sooner(&sim->heap[child + 1], &sim->heap[child]))
            child++;
        if (!sooner(&sim->heap[child], &last)) break;
        sim->heap[at] = sim->heap[child];
        at = child;
    }
    sim->heap[at] = last;
    return first;
}

// ---- a run --------------------------------------------------------------------------------------

static const char *const events[] = {
    "skip",   "start",    "output",  "done",      "next",    "need", "enough",
    "units",  "bound",    "drain",   "cut",     "failed",    "spilled", "hold", "release",
    "shrunk", "finished", "flushed", "flush",   "node lost", "node up", "node drain", "part lost",
    "memory", "tick"};
static const char *const actions[] = {
    "launch", "piece",  "uneven", "add",   "resume", "go on",     "pause", "cancel", "drop", "free",
    "spill",  "hold",   "shrink", "finish", "flush", "close",     "node idle", "timer",
    "end",    "differs", "broken"};
static_assert(sizeof events / sizeof *events == EVENT_TICK + 1);
static_assert(sizeof actions / sizeof *actions == ACTION_BROKEN + 1);

static void trace_event(const Sim *sim, const Event *e) {
    fprintf(stderr, "%10.4f %s task %u part %u breaker %u bytes %" PRId64 " rows %" PRId64 "%s\n",
            (double)sim->now / (double)SECOND, events[e->kind], e->task.i, e->part.i, e->breaker.i,
            e->bytes, e->rows, e->last ? " last" : "");
}

static void trace_action(const Action *a) {
    fprintf(stderr,
            "           -> %s node %u stage %u task %u unit %u data %" PRIu64 " breaker %u%s%s\n",
            actions[a->kind], a->node.i, a->stage.i, a->task.i, a->unit, a->data, a->breaker.i,
            a->load ? " load" : "", a->denied ? " denied" : "");
}

void sim_step(Sim *sim, Event event) {
    event.now = sim->now;
    if (sim->options->trace) trace_event(sim, &event);
    Actions said = schedule_step(sim->schedule, &event);
    sim->result.steps++;
    for (uint32_t i = 0; i < said.count && !sim->result.wrong; i++) {
        if (sim->options->trace) trace_action(&said.items[i]);
        sim_act(sim, &said.items[i]);
    }
    const char *wrong = schedule_check(sim->schedule, sim->result.steps % 1024 == 0);
    if (wrong) sim_fail(sim, wrong);
}

static void describe_stages(const Sim *sim) {
    for (uint16_t i = 0; i < sim->plan.stage_count; i++) {
        StageFigures f = schedule_figures(sim->schedule, (StageId){i});
        fprintf(stderr,
                "stage %u kind %u: running %u paused %u ready %u queued %" PRId64
                " launched %" PRIu64 " ended %" PRIu64 "%s\n",
                i, sim->plan.stages[i].kind, f.running, f.paused, f.ready, f.waiting_bytes,
                f.launched, f.ended, schedule_is_over(sim->schedule, (StageId){i}) ? " over" : "");
    }
}

static void describe_tasks(const Sim *sim, uint32_t node) {
    for (uint32_t t = 1; t < sim->task_count; t++) {
        const SimTask *task = &sim->tasks[t];
        if (!task->running || task->node.i != node) continue;
        const Rows *rows = &task->rows[task->at];
        fprintf(stderr,
                "    task %u of stage %u%s%s: rows %" PRId64 " to %" PRId64
                " of root %u, %" PRId64 " done\n",
                t, task->stage.i, task->paused ? ", paused" : "", task->again ? ", again" : "",
                rows->row, rows->row + rows->rows, rows->root.i, task->done);
    }
}

// What each node gave, the reserves of the first stages that are in use as bits, and who is there.
static void describe_nodes(const Sim *sim) {
    for (uint32_t n = 0; n < plan_node_count(&sim->plan); n++) {
        const Ledger *ledger = schedule_ledger(sim->schedule, (NodeId){(uint16_t)n});
        fprintf(stderr,
                "node %u: common %" PRId64 " used %" PRId64 " over %" PRId64 " breakers %" PRId64
                ", left for tasks %" PRId64 ", %u wait, reserves",
                n, ledger->common, ledger->common_used, ledger->over, ledger->breakers,
                ledger_left_for_tasks(ledger), ledger->waiting);
        for (Room room = 0; room < ROOMS; room++)
            fprintf(stderr, " %" PRIx64, ledger->used[0][room]);
        fprintf(stderr, "\n");
        describe_tasks(sim, n);
    }
}

static void check_end(Sim *sim) {
    if (!sim->ended) sim_fail(sim, "it did not end");
    for (uint16_t s = 0; s < sim->plan.stage_count; s++) {
        if (sim->plan.stages[s].kind != STAGE_SINK || sim->options->journal) continue;
        if (is_bounded(sim)) check_complete(sim, (StageId){s});
        if (is_bounded(sim)) continue;
        if (!cursor_at_end(&sim->cursors[s][0], &sim->streams->made[s]) ||
            sim->committed[s] != stream_rows(&sim->streams->made[s]))
            sim_fail(sim, "rows are missing in a sink");
    }
    if (!is_bounded(sim) && !sim->options->journal) check_counts(sim);
    for (uint32_t n = 0; n < NODES_SIMULATED && !sim->network; n++)
        if (sim->drains[n] && !sim->idle[n]) sim_fail(sim, "a node that drains is never idle");
    for (uint32_t i = 1; i < sim->part_count; i++)
        if (sim->parts[i].alive) sim_fail(sim, "a partition was never freed");
    for (uint32_t k = 0, n = 0; k < sim->plan.node_kinds; k++)
        for (uint32_t i = 0; i < sim->plan.nodes[k].count; i++, n++) {
            const Ledger *ledger = schedule_ledger(sim->schedule, (NodeId){(uint16_t)n});
            if (ledger->common_used || ledger->reserved_used || ledger->over || ledger->stubs)
                sim_fail(sim, "memory is not given back");
        }
}

// Do all rows that are made of what the stage hands over come into sinks, and into nothing else?
static bool comes_to_sinks(const CorePlan *plan, StageId id) {
    const CoreStage *stage = &plan->stages[id.i];
    if (stage->fill_count) return false;
    for (uint8_t o = 0; o < stage->output_count; o++)
        if (!comes_to_sinks(plan, plan->edges[stage->outputs[o].i].to)) return false;
    return stage->output_count || stage->kind == STAGE_SINK;
}

bool is_committed(const Sim *sim, StageId root, uint32_t unit) {
    if (!sim->options->journal || !comes_to_sinks(&sim->plan, root)) return false;
    Rows rows = {.root = root, .row = unit * sim->load->work[root.i].unit_rows};
    int64_t end = rows.row + sim->load->work[root.i].unit_rows, all = rows_of_root(sim, root);
    for (uint16_t s = 0; s < sim->plan.stage_count; s++) {
        const uint8_t *committed = *journal_rows(sim->options->journal, s, root);
        for (int64_t row = rows.row; committed && row < end && row < all; row++)
            if (!committed[row]) return false;
    }
    return true;
}

// Units all of whose rows are committed, as intervals.
static void skip_committed(Sim *sim) {
    for (uint16_t s = 0; s < sim->plan.stage_count; s++) {
        StageId root = {s};
        StageKind kind = sim->plan.stages[s].kind;
        if (kind != STAGE_SOURCE && kind != STAGE_READER) continue;
        uint32_t units = units_of_root(sim, root);
        for (uint32_t unit = 0, first = 0; unit <= units; unit++) {
            if (unit < units && is_committed(sim, root, unit)) continue;
            Event skip = {.kind = EVENT_SKIP, .stage = root, .unit = first, .count = unit - first};
            if (unit > first) sim_step(sim, skip);
            first = unit + 1;
        }
    }
}

static void check_journal(Sim *sim) {
    Journal *journal = sim->options->journal;
    journal->whole = journal->written == journal->count;
    if (sim->ended && !journal->whole) sim_fail(sim, "rows are missing in the journal");
}

// What every run needs and leaves behind for the next: most of it is never touched, and to get it
// anew would take longer than many a plan.
typedef struct Rooms {
    SimTask *tasks;  // Zero between runs.
    Rows (*chains)[CHAIN_MAX], (*redo)[REDO_MAX], *taken;
    Reads (*reads)[CHAIN_MAX];
    Streams *streams;
    SimPart *parts;
    Pending *heap;
    size_t heap_max;
    void *schedule;
    size_t schedule_bytes;
} Rooms;

static Rooms rooms;

static void rooms_take(Sim *sim) {
    if (!rooms.tasks)
        rooms = (Rooms){.tasks = calloc(TASKS_MAX, sizeof *rooms.tasks),
                        .chains = malloc(TASKS_MAX * sizeof *rooms.chains),
                        .reads = malloc(TASKS_MAX * sizeof *rooms.reads),
                        .redo = malloc(STAGES_MAX * sizeof *rooms.redo),
                        .streams = malloc(sizeof *rooms.streams),
                        .taken = malloc(TAKEN_MAX * sizeof *rooms.taken),
                        .parts = malloc(SIM_PARTS_MAX * sizeof *rooms.parts)};
    sim->tasks = rooms.tasks, sim->chains = rooms.chains, sim->redo = rooms.redo;
    sim->reads = rooms.reads;
    sim->taken = rooms.taken, sim->parts = rooms.parts, sim->streams = rooms.streams;
    sim->heap = rooms.heap, sim->heap_max = rooms.heap_max;
    sim->parts[0] = (SimPart){0};
    sim->part_count = 1;
}

static void rooms_return(Sim *sim) {
    memset(sim->tasks, 0, sim->task_count * sizeof *sim->tasks);
    rooms.heap = sim->heap, rooms.heap_max = sim->heap_max;
}

static Schedule *room_for_schedule(const CorePlan *plan) {
    size_t bytes = schedule_bytes(plan);
    if (bytes > rooms.schedule_bytes) {
        free(rooms.schedule);
        rooms.schedule = malloc(bytes), rooms.schedule_bytes = bytes;
    }
    return rooms.schedule;
}

static bool begin(Sim *sim) {
    sim->schedule = room_for_schedule(&sim->plan);
    int64_t minimum = 0;
    CoreFault fault = schedule_init(sim->schedule, &sim->plan, sim->options->policy, &minimum);
    sim->result.minimum = minimum;
    if (sim->options->beyond >= 0 && fault == CORE_MEMORY_BELOW_MINIMUM) {
        for (uint8_t k = 0; k < sim->plan.node_kinds; k++)
            sim->plan.nodes[k].memory = minimum + sim->options->beyond;
        sim->schedule = room_for_schedule(&sim->plan);
        fault = schedule_init(sim->schedule, &sim->plan, sim->options->policy, &minimum);
    }
    sim->result.skipped = fault == CORE_PLAN_TOO_WIDE;
    if (fault == CORE_MEMORY_BELOW_MINIMUM) sim_fail(sim, "the plan does not fit");
    return fault == CORE_OK;
}

SimResult sim_run(const Workload *load, const SimOptions *options) {
    Sim *sim = calloc(1, sizeof *sim);
    sim->load = load, sim->options = options, sim->plan = load->plan, sim->random = options->seed;
    for (uint16_t s = 0; s < load->plan.stage_count; s++)
        sim->limit_left[s] = load->work[s].limit_rows;
    for (uint16_t s = 0; s < load->plan.stage_count; s++)
        if (load->work[s].later) sim->plan.stages[s].units = UNITS_LATER;
    rooms_take(sim);
    streams_make(sim->streams, load, load->bounds);
    if (begin(sim)) {
        if (options->journal) skip_committed(sim);
        plan_bounds(sim);
        if (options->network) network_open(sim);
        plan_faults(sim);
        sim_step(sim, (Event){.kind = EVENT_START});
        static const uint64_t STEPS_MOST = 20'000'000;  // Far more than any plan takes.
        uint64_t stop = options->stop_after ? options->stop_after : UINT64_MAX;
        while (sim->heap_count && !sim->result.wrong && sim->result.steps < stop) {
            Pending pending = pop(sim);
            sim->now = pending.at;
            sim_happen(sim, &pending);
            if (sim->result.steps > STEPS_MOST) sim_fail(sim, "it does not end");
        }
        if (options->journal) check_journal(sim);
        if (!options->journal || sim->ended) check_end(sim);
        if (sim->result.wrong && options->trace) describe_stages(sim), describe_nodes(sim);
        sim->result.twins = schedule_twins(sim->schedule);
        sim->result.ahead = schedule_ahead(sim->schedule);
        sim->result.spilled = schedule_spilled(sim->schedule);
        sim->result.peak = schedule_ledger(sim->schedule, (NodeId){0})->peak;
    }
    SimResult result = sim->result;
    rooms_return(sim);
    network_close(sim);
    free(sim->noted), free(sim->numbers_taken), free(sim);
    return result;
}
