// Core, batches: which partitions a launch takes, and how long less than a batch waits.
#include "runtime/core/schedule.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { SOURCE, TOGETHER, SINK, BATCH = 100 };
enum : int64_t { SECOND = 1000000000, FIRST_WAIT = SECOND / 10 };

static Schedule *schedule;
static Actions said;
static int64_t now;
static bool eager;  // Of the next plan.

// A source, whose end nobody knows, before a stage that takes 100 rows together on one slot of its
// own.
static void begin(void) {
    static CorePlan plan;
    plan = (CorePlan){.stage_count = 3, .edge_count = 2, .resource_count = 2, .node_kinds = 1};
    plan.nodes[0] = (NodeKind){.count = 1, .capacity = {WHOLE, WHOLE}, .memory = 1 << 30};
    plan.edges[0] = (CoreEdge){{SOURCE}, {TOGETHER}};
    plan.edges[1] = (CoreEdge){{TOGETHER}, {SINK}};
    plan.stages[SOURCE] = (CoreStage){.name = "source", .kind = STAGE_SOURCE,
                                      .demand = {WHOLE}, .cut = 1 << 20, .units = UNITS_LATER,
                                      .unit_bytes = 1 << 20, .outputs = {{0}}, .output_count = 1};
    plan.stages[TOGETHER] = (CoreStage){.name = "together", .kind = STAGE_MAP, .batch = BATCH,
                                        .demand = {0, WHOLE}, .cut = 1 << 20, .inputs = {{0}},
                                        .input_count = 1, .outputs = {{1}}, .output_count = 1,
                                        .eager = eager};
    plan.stages[SINK] = (CoreStage){.name = "sink", .kind = STAGE_SINK, .inputs = {{1}},
                                    .input_count = 1};
    for (int s = 0; s < 3; s++)
        plan.stages[s].seconds_per_byte = 1e-9, plan.stages[s].bytes_per_byte = 1;
    int64_t minimum;
    free(schedule);
    schedule = malloc(schedule_bytes(&plan));
    now = SECOND;
    CHECK(schedule_init(schedule, &plan, POLICY_PESSIMISTIC, &minimum) == CORE_OK);
}

static void tell(Event event) {
    event.now = now;
    said = schedule_step(schedule, &event);
    CHECK(!schedule_check(schedule, true));
}

// The nth action of that kind, for that stage; null: it was not said.
static const Action *find(ActionKind kind, uint16_t stage) {
    for (uint32_t i = 0; i < said.count; i++)
        if (said.items[i].kind == kind && said.items[i].stage.i == stage) return &said.items[i];
    return nullptr;
}

static uint32_t count(ActionKind kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < said.count; i++) n += said.items[i].kind == kind;
    return n;
}

// The source hands that many rows over.
static void hand(TaskId task, int64_t rows, bool last) {
    tell((Event){.kind = EVENT_OUTPUT, .task = task, .rows = rows, .output_rows = {rows},
                 .bytes = 1000, .data = 1, .last = last});
}

static TaskId start(void) {
    begin();
    tell((Event){.kind = EVENT_START});
    const Action *launch = find(ACTION_LAUNCH, SOURCE);
    CHECK(launch);
    return launch ? launch->task : (TaskId){0};
}

static void a_full_batch_begins(void) {
    hand(start(), BATCH, false);
    CHECK(find(ACTION_LAUNCH, TOGETHER));
    CHECK(count(ACTION_ADD) == 0);
}

static void less_waits_while_rows_come(void) {
    TaskId source = start();
    hand(source, 30, false);
    CHECK(!find(ACTION_LAUNCH, TOGETHER));
    CHECK(count(ACTION_TIMER) == 1);
    now += FIRST_WAIT - 1;
    tell((Event){.kind = EVENT_TICK});
    CHECK(!find(ACTION_LAUNCH, TOGETHER));
    now += 1;
    tell((Event){.kind = EVENT_TICK});
    CHECK(find(ACTION_LAUNCH, TOGETHER));
}

static void an_eager_stage_takes_what_is_there(void) {
    eager = true;
    TaskId source = start();
    eager = false;
    hand(source, 30, false);
    const Action *launch = find(ACTION_LAUNCH, TOGETHER);
    CHECK(launch);
    TaskId first = launch ? launch->task : (TaskId){0};
    for (int i = 0; i < 3; i++) hand(source, 30, false);  // While the slot is at work.
    CHECK(!find(ACTION_LAUNCH, TOGETHER));
    tell((Event){.kind = EVENT_OUTPUT, .task = first, .rows = 30, .output_rows = {30},
                 .bytes = 1000, .data = 1, .last = true});
    CHECK(find(ACTION_LAUNCH, TOGETHER));
    CHECK(count(ACTION_ADD) == 2);
}

static void the_rest_does_not_wait(void) {
    TaskId source = start();
    tell((Event){.kind = EVENT_UNITS, .stage = {SOURCE}, .count = 1});
    hand(source, 30, true);
    CHECK(find(ACTION_LAUNCH, TOGETHER));
}

// Three partitions of 30 rows are one batch; a fourth would begin another.
static void a_launch_takes_what_saves_a_batch(void) {
    TaskId source = start();
    for (int i = 0; i < 3; i++) hand(source, 30, false);
    CHECK(!find(ACTION_LAUNCH, TOGETHER));
    hand(source, 30, false);
    CHECK(find(ACTION_LAUNCH, TOGETHER));
    CHECK(count(ACTION_ADD) == 2);
}

// Two partitions that begin two batches together as they do alone are two launches.
static void a_launch_takes_no_more(void) {
    TaskId source = start();
    hand(source, 70, false);
    hand(source, 50, false);
    CHECK(find(ACTION_LAUNCH, TOGETHER) && count(ACTION_ADD) == 0);
    TaskId first = find(ACTION_LAUNCH, TOGETHER)->task;
    hand(source, 80, false);
    tell((Event){.kind = EVENT_DONE, .task = first});
    CHECK(find(ACTION_LAUNCH, TOGETHER) && count(ACTION_ADD) == 0);
}

// The next partition of a launch: its place in the order, and what was made of the one before.
static void a_launch_goes_on(void) {
    TaskId source = start();
    hand(source, 40, false);
    hand(source, 60, false);
    CHECK(count(ACTION_ADD) == 1);
    TaskId task = find(ACTION_LAUNCH, TOGETHER)->task;
    tell((Event){.kind = EVENT_OUTPUT, .task = task, .rows = 40, .output_rows = {40},
                 .bytes = 1000, .data = 2, .next = true, .busy = SECOND});
    CHECK(find(ACTION_GO_ON, TOGETHER));
    CHECK(find(ACTION_LAUNCH, SINK));
    tell((Event){.kind = EVENT_OUTPUT, .task = task, .rows = 60, .output_rows = {60},
                 .bytes = 1000, .data = 3, .last = true, .busy = SECOND});
    // A batch took two seconds: the next one may wait as long.
    hand(source, 10, false);
    CHECK(!find(ACTION_LAUNCH, TOGETHER));
    now += 2 * SECOND - 1;
    tell((Event){.kind = EVENT_TICK});
    CHECK(!find(ACTION_LAUNCH, TOGETHER));
    now += 1;
    tell((Event){.kind = EVENT_TICK});
    CHECK(find(ACTION_LAUNCH, TOGETHER));
}

int main(int argc, char **argv) {
    static const UnitTest tests[] = {
        {"a_full_batch_begins", a_full_batch_begins},
        {"less_waits_while_rows_come", less_waits_while_rows_come},
        {"an_eager_stage_takes_what_is_there", an_eager_stage_takes_what_is_there},
        {"the_rest_does_not_wait", the_rest_does_not_wait},
        {"a_launch_takes_what_saves_a_batch", a_launch_takes_what_saves_a_batch},
        {"a_launch_takes_no_more", a_launch_takes_no_more},
        {"a_launch_goes_on", a_launch_goes_on},
    };
    int code = unit_main("core_batch", tests, sizeof tests / sizeof *tests, argc, argv);
    free(schedule);
    return code;
}
