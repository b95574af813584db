// Sim: runs the scheduler's cores against work that takes virtual time, and checks after every step
// that no row is lost, doubled or out of order and that memory keeps its promise.
//
// usage: sim [WORKLOAD [MEMORY]]
#include "runtime/core/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SECOND = 1000000000;

// What a stage does to rows.
typedef struct Work {
    double  row_seconds;
    int64_t row_bytes;       // Of its outputs.
    int64_t cut_rows;        // Rows of an output partition.
    int64_t unit_rows;       // Of a source.
} Work;

typedef struct Workload {
    const char *name;
    CorePlan    plan;
    Work        work[STAGES_MAX];
    bool        spread;      // Times are random, up to twice what is said.
} Workload;

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

// ---- partitions -----------------------------------------------------------------------------------

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

// splitmix64.
static uint64_t draw(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static int64_t between(uint64_t *state, int64_t least, int64_t most) {
    return least + (int64_t)(draw(state) % (uint64_t)(most - least + 1));
}

// The task computes up to its next output, or to its end. In `spread` of cases it takes longer.
static void compute(Sim *sim, TaskId id) {
    SimTask *task = &sim->tasks[id.i];
    const Work *work = &sim->load->work[task->stage.i];
    int64_t left = task->rows - task->done;
    bool whole = sim->load->plan.stages[task->stage.i].kind == STAGE_SINK;
    task->segment = !whole && left > work->cut_rows ? work->cut_rows : left;
    double seconds = (double)task->segment * work->row_seconds;
    if (sim->load->spread) seconds *= (double)between(&sim->random, 1, 1000) / 500;
    task->busy = (int64_t)(seconds * (double)SECOND);
    push(sim, (Pending){.at = sim->now + task->busy, .task = id});
}

// Sources come one after the other, their units too, and all rows of a unit.
static void sink_takes(Sim *sim, uint16_t s, const SimPart *part) {
    if (part->source.i != sim->source[s].i) {
        uint32_t units = sim->load->plan.stages[sim->source[s].i].units;
        if (part->source.i < sim->source[s].i || sim->unit[s] != units) fail(sim, "a source too early");
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
    SimPart part = {.source = task->source, .unit = task->unit, .row = task->row + task->done - task->segment,
                    .rows = task->segment};
    step(sim, (Event){.kind = EVENT_OUTPUT, .task = id, .bytes = task->segment * work->row_bytes,
                      .data = part_new(sim, part), .busy = busy, .last = last});
}

// ---- workloads ----------------------------------------------------------------------------------

// M1 of TARGETS: 160 loads of 5 s with 500 rows of 1 MB, transform and infer of 0.5 s for 100 rows;
// 8 CPUs, 4 accelerators.
static void m1(Workload *load, int64_t memory) {
    static const int64_t MB = 1000000;
    load->name = "M1";
    load->plan = (CorePlan){
        .stage_count = 4, .edge_count = 3, .resource_count = 2,
        .capacity = {8 * WHOLE, 4 * WHOLE}, .memory = memory,
        .edges = {{{0}, {1}}, {{1}, {2}}, {{2}, {3}}},
        .stages = {
            {.name = "load", .kind = STAGE_SOURCE, .demand = {WHOLE}, .cut = 99 * MB, .row_max = MB,
             .units = 160, .unit_bytes = 500 * MB, .seconds_per_byte = 1e-8, .bytes_per_byte = 1,
             .outputs = {{0}}, .output_count = 1},
            {.name = "transform", .kind = STAGE_MAP, .demand = {WHOLE}, .cut = 99 * MB,
             .row_max = MB, .seconds_per_byte = 1e-8, .bytes_per_byte = 1, .inputs = {{0}},
             .input_count = 1, .outputs = {{1}}, .output_count = 1},
            {.name = "infer", .kind = STAGE_MAP, .demand = {0, WHOLE}, .cut = 800, .row_max = 8,
             .seconds_per_byte = 1e-8, .bytes_per_byte = 8e-6, .inputs = {{1}}, .input_count = 1,
             .outputs = {{2}}, .output_count = 1},
            {.name = "sink", .kind = STAGE_SINK, .inputs = {{2}}, .input_count = 1},
        },
    };
    Work work[] = {{0.01, MB, 100, 500}, {0.005, MB, 100, 0}, {0.005, 8, 100, 0}, {0}};
    memcpy(load->work, work, sizeof work);
}

static StageId add_stage(Workload *load, uint64_t *random, StageKind kind) {
    CorePlan *plan = &load->plan;
    StageId id = {plan->stage_count++};
    CoreStage *stage = &plan->stages[id.i];
    stage->name = "stage";
    stage->kind = kind;
    stage->demand[between(random, 0, plan->resource_count - 1)] =
        (uint32_t)between(random, 1, 4) * WHOLE / 4;
    stage->concurrency = (uint32_t)between(random, 0, 3);
    stage->scratch = between(random, 0, 1 << 20);
    int64_t row_bytes = between(random, 1, 1 << 20), cut_rows = between(random, 1, 20);
    stage->cut = row_bytes * (cut_rows - 1), stage->row_max = row_bytes;
    stage->seconds_per_byte = 1e-8, stage->bytes_per_byte = 1;
    load->work[id.i] = (Work){(double)between(random, 0, 100) / 1000, row_bytes, cut_rows, 0};
    if (kind != STAGE_SOURCE) return id;
    load->work[id.i].unit_rows = between(random, 1, 100);
    stage->units = (uint32_t)between(random, 1, 50);
    stage->unit_bytes = load->work[id.i].unit_rows * row_bytes;
    return id;
}

static void add_edge(CorePlan *plan, StageId from, StageId to) {
    EdgeId edge = {plan->edge_count++};
    CoreStage *above = &plan->stages[from.i], *below = &plan->stages[to.i];
    plan->edges[edge.i] = (CoreEdge){from, to};
    above->outputs[above->output_count++] = edge;
    below->inputs[below->input_count++] = edge;
}

// A chain of stages. Some take the rows of a further source behind theirs, some feed a sink of their
// own beside the next stage.
static void random_plan(Workload *load, uint64_t *random) {
    CorePlan *plan = &load->plan;
    load->spread = true;
    plan->resource_count = (uint8_t)between(random, 1, 3);
    for (uint8_t r = 0; r < plan->resource_count; r++)
        plan->capacity[r] = (uint32_t)between(random, 1, 16) * WHOLE;
    StageId above = add_stage(load, random, STAGE_SOURCE);
    for (int64_t left = between(random, 0, 5); left; left--) {
        bool joined = draw(random) % 4 == 0;
        StageId more = joined ? add_stage(load, random, STAGE_SOURCE) : above;
        StageId stage = add_stage(load, random, STAGE_MAP);
        add_edge(plan, above, stage);
        if (joined) add_edge(plan, more, stage);
        if (draw(random) % 4 == 0) add_edge(plan, stage, add_stage(load, random, STAGE_SINK));
        above = stage;
    }
    add_edge(plan, above, add_stage(load, random, STAGE_SINK));
}

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
            fprintf(stderr, "stage %u kind %u: running %u paused %u ready %u queued %" PRId64
                    " launched %" PRIu64 " ended %" PRIu64 " units %u demand %u %u %u cut %" PRId64 "\n", i,
                    plan->stages[i].kind, f.running, f.paused, f.ready, f.queued_bytes, f.launched,
                    f.ended, plan->stages[i].units, plan->stages[i].demand[0], plan->stages[i].demand[1], plan->stages[i].demand[2], plan->stages[i].cut);
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

int main(int argc, char **argv) {
    static const int64_t GB = 1000000000;
    for (int64_t memory = 1; memory <= 16; memory += memory < 6 ? 1 : 2) {
        Workload load = {0};
        m1(&load, memory * GB);
        Sim sim = {.load = &load};
        run(&sim, -1);
        printf("M1 at %" PRId64 " GB: %.3f s\n", memory, (double)sim.now / 1e9);
    }
    uint64_t steps = 0, first = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
    uint64_t last = argc > 2 ? strtoull(argv[2], nullptr, 10) : first + 999;
    for (uint64_t seed = first; seed <= last; seed++) {
        uint64_t random = seed;
        Workload load = {0};
        char name[32];
        random_plan(&load, &random);
        snprintf(name, sizeof name, "seed %" PRIu64, seed);
        load.name = name;
        Sim sim = {.load = &load, .random = seed};
        run(&sim, seed % 4 ? between(&random, 0, 32 << 20) : 0);
        steps += sim.steps;
    }
    printf("%" PRIu64 " random plans, %" PRIu64 " steps\n", last - first + 1, steps);
}
