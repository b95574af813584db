// Sim: runs the scheduler's cores against work that takes virtual time, and checks after every step
// that no row is lost, doubled or out of order and that memory keeps its promise.
//
// A failure prints its seed; `sim SEED SEED` runs it alone. usage: sim [FIRST [LAST]]
#include "runtime/core/schedule.h"
#include "tests/sim/workloads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SECOND = 1000000000;

typedef struct SimPart {
    uint32_t unused;            // Next of the free list.
    StageId  source;
    uint32_t unit;
    int64_t  row, rows;
} SimPart;

typedef struct SimTask {
    StageId  stage, source;
    uint32_t unit;
    int64_t  row, rows, done;   // Of its input, from the start of the unit.
    int64_t  segment, busy;     // Rows that it works on now, nanoseconds that they take.
} SimTask;

typedef struct Pending {
    int64_t  at;
    uint64_t number;
    bool     tick;
    TaskId   task;
} Pending;

typedef struct Sim {
    const Workload *load;
    Schedule *schedule;
    SimTask  *tasks;
    SimPart  *parts;
    Pending  *heap;
    size_t    heap_count, heap_max;
    uint64_t  steps, numbers;
    int64_t   now;
    StageId   source[STAGES_MAX];   // What each sink is to take next: row `row` of a unit.
    uint32_t  unit[STAGES_MAX];
    int64_t   row[STAGES_MAX], rows[STAGES_MAX];  // rows: that it took.
    uint64_t  random;
    double    busy[2][RESOURCES_MAX];  // Nanoseconds of tasks, by phase and thousandth.
    uint32_t  part_count, part_unused;
    bool      ended;
} Sim;

static void fail(const Sim *sim, const char *why) {
    fprintf(stderr, "sim: %s: %s at %.3f s, step %" PRIu64 "\n", sim->load->name, why,
            (double)sim->now / (double)SECOND, sim->steps);
    exit(1);
}

// ---- the queue of what happens ------------------------------------------------------------------

static bool sooner(Pending a, Pending b) {
    return a.at != b.at ? a.at < b.at : a.number < b.number;
}

static void push(Sim *sim, Pending pending) {
    pending.number = sim->numbers++;
    if (sim->heap_count == sim->heap_max) {
        sim->heap_max = sim->heap_max ? 2 * sim->heap_max : 1024;
        sim->heap = realloc(sim->heap, sim->heap_max * sizeof *sim->heap);
    }
    size_t at = sim->heap_count++;
    for (; at && sooner(pending, sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sim->heap[at] = sim->heap[(at - 1) / 2];
    sim->heap[at] = pending;
}

static Pending pop(Sim *sim) {
    Pending first = sim->heap[0], last = sim->heap[--sim->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= sim->heap_count) break;
        if (child + 1 < sim->heap_count && sooner(sim->heap[child + 1], sim->heap[child])) child++;
        if (!sooner(sim->heap[child], last)) break;
        sim->heap[at] = sim->heap[child];
        at = child;
    }
    sim->heap[at] = last;
    return first;
}

// ---- partitions ---------------------------------------------------------------------------------

static uint32_t part_new(Sim *sim, SimPart part) {
    uint32_t id = sim->part_unused;
    if (id) sim->part_unused = sim->parts[id].unused;
    else id = sim->part_count++;
    sim->parts[id] = part;
    return id;
}

static void part_free(Sim *sim, uint32_t id) {
    sim->parts[id].unused = sim->part_unused;
    sim->part_unused = id;
}

// ---- tasks --------------------------------------------------------------------------------------

// The task computes up to its next output, or to its end. In `spread` of cases it takes longer.
static void compute(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    const Work *work = &sim->load->work[task->stage.i];
    int64_t left = task->rows - task->done;
    bool whole = sim->load->plan.stages[task->stage.i].kind == STAGE_SINK;
    task->segment = !whole && left > work->cut_rows ? work->cut_rows : left;
    bool late = task->unit >= sim->load->plan.stages[task->source.i].units / 2;
    double seconds = (double)task->segment * (late ? work->late_seconds : work->row_seconds);
    if (sim->load->spikes && draw(&sim->random) % 10 == 0) seconds *= 10;
    if (sim->load->spread) seconds *= (double)between(&sim->random, 1, 1000) / 500;
    task->busy = (int64_t)(seconds * (double)SECOND);
    for (uint8_t r = 0; r < sim->load->plan.resource_count; r++)
        sim->busy[late && sim->load->phased][r] += (double)task->busy *
                                                   sim->load->plan.stages[task->stage.i].demand[r];
    push(sim, (Pending){.at = sim->now + task->busy, .task = id});
}

// Sources come one after the other, their units too, and all rows of a unit.
static void sink_takes(Sim *sim, uint16_t s, const SimPart *part) {
    if (part->source.i != sim->source[s].i) {
        uint32_t units = sim->load->plan.stages[sim->source[s].i].units;
        if (part->source.i < sim->source[s].i || sim->unit[s] != units)
            fail(sim, "a source too early");
        sim->source[s] = part->source, sim->unit[s] = 0;
    }
    if (part->unit != sim->unit[s] || part->row != sim->row[s]) fail(sim, "rows out of order");
    sim->row[s] += part->rows, sim->rows[s] += part->rows;
    if (sim->row[s] == sim->load->work[part->source.i].unit_rows) sim->unit[s]++, sim->row[s] = 0;
}

static void launched(Sim *sim, const Action *action) {
    SimTask *task = &sim->tasks[action->task.i];
    const SimPart *part = &sim->parts[action->data];
    *task = (SimTask){.stage = action->stage, .unit = action->unit};
    task->source = action->of_unit ? action->stage : part->source;
    if (action->of_unit) task->rows = sim->load->work[action->stage.i].unit_rows;
    else task->row = part->row, task->rows = part->rows;
    if (sim->load->plan.stages[action->stage.i].kind == STAGE_SINK) {
        sink_takes(sim, action->stage.i, part);
    }
    compute(sim, action->task);
}

static void step(Sim *sim, Event event) {
    event.now = sim->now;
    Actions actions = schedule_step(sim->schedule, &event);
    for (uint32_t i = 0; i < actions.count; i++) {
        const Action *action = &actions.items[i];
        switch (action->kind) {
        case ACTION_LAUNCH: launched(sim, action); break;
        case ACTION_RESUME: case ACTION_GO_ON: compute(sim, action->task); break;
        case ACTION_PAUSE: break;
        case ACTION_FREE: part_free(sim, (uint32_t)action->data); break;
        case ACTION_TIMER: push(sim, (Pending){.at = action->at, .tick = true}); break;
        case ACTION_END: sim->ended = true; break;
        }
    }
    sim->steps++;
    const char *wrong = schedule_check(sim->schedule, sim->steps % 1024 == 0);
    if (wrong) fail(sim, wrong);
}

// The task has computed its segment.
static void happen(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    const Work *work = &sim->load->work[task->stage.i];
    bool sink = sim->load->plan.stages[task->stage.i].kind == STAGE_SINK;
    int64_t busy = task->busy;
    task->done += task->segment;
    bool last = task->done == task->rows;
    if (sink) {
        if (last) step(sim, (Event){.kind = EVENT_DONE, .task = id, .busy = busy});
        return;
    }
    SimPart part = {.source = task->source,
                    .unit = task->unit,
                    .row = task->row + task->done - task->segment,
                    .rows = task->segment};
    step(sim, (Event){.kind = EVENT_OUTPUT, .task = id, .bytes = task->segment * work->row_bytes,
                      .data = part_new(sim, part), .busy = busy, .last = last});
}

// ---- a run --------------------------------------------------------------------------------------

static void run(Sim *sim, int64_t beyond) {
    int64_t minimum = 0;
    CorePlan *plan = (CorePlan *)&sim->load->plan;
    if (beyond >= 0) {
        Ledger ledger;
        ledger_init(&ledger, plan, &minimum);
        plan->memory = minimum + beyond;
    }
    sim->schedule = calloc(1, schedule_bytes(plan));
    sim->tasks = calloc(1 << 16, sizeof *sim->tasks);
    sim->parts = calloc(1 << 16, sizeof *sim->parts);
    sim->part_count = 1;
    CoreFault fault = schedule_init(sim->schedule, plan, POLICY_FULL, &minimum);
    if (fault != CORE_OK) fail(sim, "the plan does not fit");
    step(sim, (Event){.kind = EVENT_START});
    while (sim->heap_count) {
        Pending pending = pop(sim);
        sim->now = pending.at;
        if (pending.tick) step(sim, (Event){.kind = EVENT_TICK});
        else happen(sim, pending.task);
    }
    if (!sim->ended) {
        for (uint16_t i = 0; i < plan->stage_count; i++) {
            StageFigures f = schedule_figures(sim->schedule, (StageId){i});
            fprintf(stderr,
                    "stage %u kind %u: running %u paused %u ready %u queued %" PRId64
                    " launched %" PRIu64 " ended %" PRIu64 " units %u demand %u %u %u cut %" PRId64
                    "\n",
                    i, plan->stages[i].kind, f.running, f.paused, f.ready, f.queued_bytes,
                    f.launched, f.ended, plan->stages[i].units, plan->stages[i].demand[0],
                    plan->stages[i].demand[1], plan->stages[i].demand[2], plan->stages[i].cut);
        }
        fail(sim, "it did not end");
    }
    int64_t rows[STAGES_MAX] = {0};
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        if (stage->kind == STAGE_SOURCE) rows[s] = stage->units * sim->load->work[s].unit_rows;
        for (uint8_t i = 0; i < stage->input_count; i++)
            rows[s] += rows[plan->edges[stage->inputs[i].i].from.i];
        if (stage->kind == STAGE_SINK && sim->rows[s] != rows[s]) fail(sim, "rows are missing");
    }
    free(sim->schedule), free(sim->tasks), free(sim->parts), free(sim->heap);
}

// No schedule takes less: what each resource has to do, spread over all of it. Where the halves of
// the units differ, one after the other: rows leave in order, and memory holds few of them.
static double bound(const Sim *sim) {
    double sum = 0;
    for (int phase = 0; phase < 2; phase++) {
        double most = 0;
        for (uint8_t r = 0; r < sim->load->plan.resource_count; r++) {
            double seconds = sim->busy[phase][r] / sim->load->plan.capacity[r] / (double)SECOND;
            if (seconds > most) most = seconds;
        }
        sum += most;
    }
    return sum;
}

typedef struct Target {
    void  (*make)(Workload *load, int64_t memory);
    int64_t memory;
    double  most;            // Times the bound.
} Target;

static bool is_met(const Target *target) {
    Workload load = {0};
    target->make(&load, target->memory);
    Sim sim = {.load = &load, .random = 1};
    run(&sim, -1);
    double taken = (double)sim.now / (double)SECOND;
    bool met = taken <= target->most * bound(&sim);
    printf("sim: %s with %.0f GB: %.1f s, %.3f of the bound%s\n", load.name,
           (double)target->memory / 1e9, taken, taken / bound(&sim), met ? "" : ": too slow");
    return met;
}

// Returns the steps that it took.
static uint64_t random_run(uint64_t seed) {
    uint64_t random = seed;
    Workload load = {0};
    char name[32];
    workload_random(&load, &random);
    snprintf(name, sizeof name, "seed %" PRIu64, seed);
    load.name = name;
    Sim sim = {.load = &load, .random = seed};
    run(&sim, seed % 4 ? between(&random, 0, 32 << 20) : 0);
    return sim.steps;
}

static const Target targets[] = {
    {workload_m1, 2000000000, 1.05},
    {workload_m1, 6000000000, 1.04},
    {workload_m1, 16000000000, 1.04},
    {workload_m1_fused, 2000000000, 1.02},
    {workload_m1_fused, 16000000000, 1.02},
    {workload_spiky, 6000000000, 1.10},
    {workload_changing, 4000000000, 1.10},
    {workload_four_stages, 4000000000, 1.10},
    {workload_fast_producer, 2000000000, 1.10},
};
enum { TARGETS = sizeof targets / sizeof *targets };

int main(int argc, char **argv) {
    uint64_t first = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1, steps = 0;
    uint64_t last = argc > 2 ? strtoull(argv[2], nullptr, 10) : first + 299;
    unsigned failed = 0;
    for (size_t i = 0; i < TARGETS; i++) failed += !is_met(&targets[i]);
    for (uint64_t seed = first; seed <= last; seed++) steps += random_run(seed);
    printf("sim: %" PRIu64 " steps of %" PRIu64 " random plans\n", steps, last - first + 1);
    printf("sim: %" PRIu64 " passed, %u failed, 0 skipped\n", last - first + 1 + TARGETS - failed,
           failed);
    return failed != 0;
}
