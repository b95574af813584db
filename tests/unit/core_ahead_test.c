// Core, tasks beyond slots: when a node gets them, and how they come to their slot.
#include "runtime/core/schedule.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { SOURCE, SINK };
enum : int64_t { SECOND = 1000000000, SHORT = SECOND / 200 };

static Schedule *schedule;
static CorePlan plan;
static Actions said;
static int64_t now;

// A source that a worker with one slot runs, and a sink of the first node.
static void begin(bool chained) {
    plan = (CorePlan){.stage_count = 2, .edge_count = 1, .resource_count = 1, .node_kinds = 2,
                      .leads = true, .shares = true, .step_ahead = SHORT};
    plan.nodes[0] = (NodeKind){.count = 1, .capacity = {WHOLE}, .memory = 1 << 30};
    plan.nodes[1] = (NodeKind){.count = 1, .capacity = {WHOLE}, .memory = 1 << 30, .ahead = 1};
    plan.edges[0] = (CoreEdge){{SOURCE}, {SINK}};
    plan.stages[SOURCE] = (CoreStage){.name = "source", .kind = STAGE_SOURCE, .demand = {WHOLE},
                                      .cut = 1 << 20, .units = UNITS_LATER, .chained = chained,
                                      .unit_bytes = 1 << 20, .outputs = {{0}}, .output_count = 1};
    plan.stages[SINK] = (CoreStage){.name = "sink", .kind = STAGE_SINK, .inputs = {{0}},
                                    .input_count = 1};
    for (int s = 0; s < 2; s++)
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

// The nth launch of the source; nullptr: there are fewer.
static const Action *launch(uint32_t n) {
    for (uint32_t i = 0; i < said.count; i++) {
        const Action *action = &said.items[i];
        if (action->kind == ACTION_LAUNCH && action->stage.i == SOURCE && n-- == 0) return action;
    }
    return nullptr;
}

static TaskId start(bool chained) {
    begin(chained);
    tell((Event){.kind = EVENT_START});
    const Action *first = launch(0);
    CHECK(first && !first->ahead && !launch(1));
    return first ? first->task : (TaskId){0};
}

static void end(TaskId task, int64_t busy) {
    tell((Event){.kind = EVENT_DONE, .task = task, .busy = busy});
}

// Nobody knows how long a task takes before the first has ended.
static void a_short_task_goes_ahead(void) {
    end(start(false), SHORT);
    CHECK(launch(0) && !launch(0)->ahead);
    CHECK(launch(1) && launch(1)->ahead && launch(1)->node.i == 1);
    CHECK(!launch(2));
    CHECK(schedule_ahead(schedule) == 1);
}

static void a_long_one_does_not(void) {
    end(start(false), SHORT + 1);
    CHECK(launch(0) && !launch(0)->ahead && !launch(1));
}

static void a_chained_one_does_not(void) {
    end(start(true), SHORT);
    CHECK(launch(0) && !launch(0)->ahead && !launch(1));
}

// The slot is its own then, and another task waits for the next one.
static void it_has_the_slot_of_what_ends(void) {
    end(start(false), SHORT);
    CHECK(launch(0) && launch(1));
    if (!launch(1)) return;
    TaskId first = launch(0)->task, ahead = launch(1)->task;
    end(first, SHORT);
    CHECK(launch(0) && launch(0)->ahead && !launch(1));
    CHECK(schedule_figures(schedule, (StageId){SOURCE}).running == 1);
    end(ahead, SHORT);
    CHECK(launch(0) && launch(0)->ahead && !launch(1));
}

// Its node began it between two outputs of the other task.
static void it_may_end_first(void) {
    end(start(false), SHORT);
    CHECK(launch(0) && launch(1));
    if (!launch(1)) return;
    TaskId first = launch(0)->task, ahead = launch(1)->task;
    end(ahead, SHORT);
    CHECK(launch(0) && launch(0)->ahead && !launch(1));
    end(first, SHORT);
    CHECK(launch(0) && launch(0)->ahead && !launch(1));
}

static void it_is_lost_with_its_node(void) {
    end(start(false), SHORT);
    tell((Event){.kind = EVENT_NODE_LOST, .node = {1}});
    CHECK(!launch(0));
    tell((Event){.kind = EVENT_NODE_UP, .node = {1}});
    CHECK(launch(0) && !launch(0)->ahead && launch(0)->unit == 1);
    CHECK(!launch(1));  // The other one was launched before.
}

int main(int argc, char **argv) {
    static const UnitTest tests[] = {
        {"a_short_task_goes_ahead", a_short_task_goes_ahead},
        {"a_long_one_does_not", a_long_one_does_not},
        {"a_chained_one_does_not", a_chained_one_does_not},
        {"it_has_the_slot_of_what_ends", it_has_the_slot_of_what_ends},
        {"it_may_end_first", it_may_end_first},
        {"it_is_lost_with_its_node", it_is_lost_with_its_node},
    };
    int code = unit_main("core_ahead", tests, sizeof tests / sizeof *tests, argc, argv);
    free(schedule);
    return code;
}
