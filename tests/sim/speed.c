// Speed: a cluster of 5,000 workers and a chain of ten stages. The first task does not end, so that
// nothing reaches the sink and partitions pile up in all the memory there is.
//
// All runs take the same steps, so that the least time of each is the step's own, and what the
// system took in between is not counted.
#include "tests/sim/speed.h"

#include "runtime/core/schedule.h"
#include "tests/sim/workloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { WORKERS = 5000, STAGES = 10, STEPS = 400000, RUNNING_MAX = 65536, RUNS = 5 };

typedef struct Bench {
    Schedule *schedule;
    TaskId running[RUNNING_MAX], held;
    bool sink[RUNNING_MAX];  // By task.
    uint32_t count;
    uint64_t random, data;
    double *times;  // Of each step, the least of all runs.
    uint32_t steps;
    bool broken;
} Bench;

static void chain(CorePlan *plan) {
    plan->resource_count = 1;
    plan->node_kinds = 1;
    plan->nodes[0] = (NodeKind){.count = WORKERS, .capacity = {WHOLE}, .memory = 8 << 20};
    for (uint16_t s = 0; s < STAGES; s++) {
        CoreStage *stage = &plan->stages[plan->stage_count++];
        stage->name = "stage";
        stage->kind = s == 0 ? STAGE_SOURCE : s + 1 < STAGES ? STAGE_MAP : STAGE_SINK;
        stage->demand[0] = s + 1 < STAGES ? WHOLE : 0;
        stage->cut = 32 << 10, stage->row_max = 1 << 10;
        stage->units = s == 0 ? UINT32_MAX / 2 : 0, stage->unit_bytes = 64 << 10;
        stage->seconds_per_byte = 1e-8, stage->bytes_per_byte = 1;
        if (!s) continue;
        EdgeId edge = {plan->edge_count++};
        plan->edges[edge.i] = (CoreEdge){{(uint16_t)(s - 1)}, {s}};
        plan->stages[s - 1].outputs[plan->stages[s - 1].output_count++] = edge;
        stage->inputs[stage->input_count++] = edge;
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void step(Bench *b, Event event) {
    event.now = (int64_t)b->steps * 1000;
    double begin = seconds();
    Actions actions = schedule_step(b->schedule, &event);
    double took = seconds() - begin;
    if (b->times && took < b->times[b->steps]) b->times[b->steps] = took;
    b->steps++;
    for (uint32_t i = 0; i < actions.count; i++) {
        const Action *action = &actions.items[i];
        if (action->kind >= ACTION_DIFFERS) b->broken = true;
        if (action->kind != ACTION_LAUNCH) continue;
        bool first = action->stage.i == 0 && action->unit == 0;
        b->sink[action->task.i] = action->stage.i + 1 == STAGES;
        if (first)
            b->held = action->task;
        else
            b->running[b->count++] = action->task;
    }
}

// The task at that place of the list ends.
static void end(Bench *b, uint32_t at) {
    TaskId task = b->running[at];
    b->running[at] = b->running[--b->count];
    Event event = {.kind = EVENT_DONE, .task = task, .busy = 1000};
    if (!b->sink[task.i]) {
        event.kind = EVENT_OUTPUT, event.last = true;
        event.bytes = 32 << 10, event.rows = 1, event.data = ++b->data;
    }
    step(b, event);
}

static void end_any(Bench *b) {
    if (b->count)
        end(b, (uint32_t)(draw(&b->random) % b->count));
    else
        step(b, (Event){.kind = EVENT_TICK});
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_steps(double *times, uint32_t steps, uint32_t parts) {
    double sum = 0;
    for (uint32_t i = 0; i < steps; i++) sum += times[i];
    qsort(times, steps, sizeof *times, by_size);
    printf("sim: 5,000 workers: %u live partitions; a step %.2f us (median %.2f, 99.99 %% within "
           "%.1f, most %.1f)\n",
           parts, sum / steps * 1e6, times[steps / 2] * 1e6, times[steps - steps / 10000 - 1] * 1e6,
           times[steps - 1] * 1e6);
}

typedef struct Measured {
    double *times, *report_times;
    uint32_t steps, parts, reports;
} Measured;

// Who schedules so many workers keeps what is alive in huge pages: it is looked up in any order.
static Schedule *schedule_room(const CorePlan *plan) {
    size_t bytes = schedule_bytes(plan);
    void *room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) abort();
    madvise(room, bytes, MADV_HUGEPAGE);
    return room;
}

// False: the schedule is broken.
static bool run(const CorePlan *plan, unsigned live, Measured *measured) {
    Bench *b = calloc(1, sizeof *b);
    int64_t minimum = 0;
    b->schedule = schedule_room(plan);
    bool good = schedule_init(b->schedule, plan, POLICY_PESSIMISTIC, &minimum) == CORE_OK;
    if (good) step(b, (Event){.kind = EVENT_START});
    while (good && schedule_parts(b->schedule) < live && !b->broken && b->count) end_any(b);
    if (good && schedule_parts(b->schedule) < live) {
        printf("sim: the workers hold %u partitions, and %u are wanted\n",
               schedule_parts(b->schedule), live);
        good = false;
    }
    b->times = measured->times;
    b->steps = 0;
    for (uint32_t i = 0; good && i < STEPS && b->count; i++) end_any(b);
    measured->steps = b->steps;
    measured->parts = schedule_parts(b->schedule);
    measured->reports = b->count;
    b->times = measured->report_times;
    b->steps = 0;
    for (uint32_t i = b->count; i-- > 0;) end(b, i);
    const char *wrong = schedule_check(b->schedule, true);
    if (wrong) printf("sim: %s\n", wrong);
    good = good && !b->broken && !wrong;
    munmap(b->schedule, schedule_bytes(plan));
    free(b);
    return good;
}

bool speed_print(unsigned live) {
    CorePlan *plan = calloc(1, sizeof *plan);
    chain(plan);
    double *times = calloc(STEPS + RUNNING_MAX, sizeof *times), reports = 0;
    for (uint32_t i = 0; i < STEPS + RUNNING_MAX; i++) times[i] = 1e9;
    Measured measured = {.times = times, .report_times = times + STEPS};
    bool good = true;
    for (int i = 0; i < RUNS && good; i++) good = run(plan, live, &measured);
    for (uint32_t i = 0; i < measured.reports; i++) reports += measured.report_times[i];
    if (good) {
        print_steps(times, measured.steps, measured.parts);
        printf("sim: %u reports at once: %.1f ms\n", measured.reports, reports * 1e3);
    }
    free(times), free(plan);
    return good;
}
