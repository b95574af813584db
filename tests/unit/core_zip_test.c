// Core, zips that go on: rows that committed pieces had are passed over, in the order of the rows.
#include "runtime/core/schedule.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { LEFT, RIGHT, ZIP, SINK, STAGES, UNITS = 3, LEFT_DATA = 100, RIGHT_DATA = 200 };
enum : int64_t { SECOND = 1000000000 };

static Schedule *schedule;
static Actions said;

static CoreStage source(const char *name, uint16_t output) {
    return (CoreStage){.name = name, .kind = STAGE_SOURCE, .demand = {WHOLE}, .cut = 1 << 20,
                       .units = UNITS, .unit_bytes = 1 << 20, .outputs = {{output}},
                       .output_count = 1};
}

// Two sources of three units each, side by side.
static void begin(void) {
    static CorePlan plan;
    plan = (CorePlan){.stage_count = STAGES, .edge_count = 3, .resource_count = 1,
                      .node_kinds = 1};
    plan.nodes[0] = (NodeKind){.count = 1, .capacity = {8 * WHOLE}, .memory = 1 << 30};
    plan.edges[0] = (CoreEdge){{LEFT}, {ZIP}};
    plan.edges[1] = (CoreEdge){{RIGHT}, {ZIP}};
    plan.edges[2] = (CoreEdge){{ZIP}, {SINK}};
    plan.stages[LEFT] = source("left", 0);
    plan.stages[RIGHT] = source("right", 1);
    plan.stages[ZIP] = (CoreStage){.name = "zip", .kind = STAGE_ZIP, .demand = {WHOLE},
                                   .cut = 1 << 20, .inputs = {{0}, {1}}, .input_count = 2,
                                   .outputs = {{2}}, .output_count = 1};
    plan.stages[SINK] = (CoreStage){.name = "sink", .kind = STAGE_SINK, .inputs = {{2}},
                                    .input_count = 1};
    for (int s = 0; s < STAGES; s++)
        plan.stages[s].seconds_per_byte = 1e-9, plan.stages[s].bytes_per_byte = 1;
    int64_t minimum;
    free(schedule);
    schedule = malloc(schedule_bytes(&plan));
    CHECK(schedule_init(schedule, &plan, POLICY_PESSIMISTIC, &minimum) == CORE_OK);
}

static void tell(Event event) {
    event.now = SECOND;
    said = schedule_step(schedule, &event);
    CHECK(!schedule_check(schedule, true));
}

static const Action *find(ActionKind kind, uint16_t stage, uint32_t unit) {
    for (uint32_t i = 0; i < said.count; i++) {
        const Action *action = &said.items[i];
        if (action->kind == kind && action->stage.i == stage && action->unit == unit)
            return action;
    }
    return nullptr;
}

static bool is_freed(uint64_t data) {
    bool freed = false;
    for (uint32_t i = 0; i < said.count; i++)
        freed |= said.items[i].kind == ACTION_FREE && said.items[i].data == data;
    return freed;
}

static void hand(TaskId task, int64_t rows, uint64_t data, bool last) {
    tell((Event){.kind = EVENT_OUTPUT, .task = task, .rows = rows, .output_rows = {rows},
                 .bytes = 1000, .data = data, .last = last});
}

typedef struct Tasks {
    TaskId left[UNITS], right[UNITS];
} Tasks;

// The left side begins with its second unit; four pieces had 25 rows from there on, and 130 of the
// right side.
static Tasks go_on(void) {
    Tasks tasks = {0};
    begin();
    tell((Event){.kind = EVENT_SKIP, .stage = {LEFT}, .count = 1});
    tell((Event){.kind = EVENT_SKIP, .stage = {ZIP}, .count = 4, .output_rows = {25, 130}});
    tell((Event){.kind = EVENT_START});
    CHECK(!find(ACTION_LAUNCH, LEFT, 0));
    for (uint32_t unit = 0; unit < UNITS; unit++) {
        const Action *left = find(ACTION_LAUNCH, LEFT, unit);
        const Action *right = find(ACTION_LAUNCH, RIGHT, unit);
        if (left) tasks.left[unit] = left->task;
        if (right) tasks.right[unit] = right->task;
    }
    CHECK(tasks.left[1].i && tasks.left[2].i && tasks.right[0].i && tasks.right[1].i);
    return tasks;
}

static void rows_of_pieces_are_passed_over(void) {
    Tasks tasks = go_on();
    hand(tasks.left[1], 20, LEFT_DATA, false);
    CHECK(is_freed(LEFT_DATA));
    hand(tasks.left[1], 20, LEFT_DATA + 1, true);
    CHECK(!is_freed(LEFT_DATA + 1));
    hand(tasks.right[0], 200, RIGHT_DATA, true);
    const Action *piece = find(ACTION_PIECE, ZIP, 4);
    CHECK(piece && piece->row == 5 && piece->other_row == 130 && piece->rows == 15);
    CHECK(piece && piece->data == LEFT_DATA + 1 && piece->other == RIGHT_DATA);
}

// What comes first need not stand first.
static void they_are_the_first_in_order(void) {
    Tasks tasks = go_on();
    hand(tasks.left[2], 40, LEFT_DATA + 2, true);
    hand(tasks.right[1], 60, RIGHT_DATA + 1, true);
    hand(tasks.right[0], 100, RIGHT_DATA, true);
    CHECK(is_freed(RIGHT_DATA) && !is_freed(RIGHT_DATA + 1) && !find(ACTION_PIECE, ZIP, 4));
    hand(tasks.left[1], 30, LEFT_DATA + 1, true);
    const Action *piece = find(ACTION_PIECE, ZIP, 4);
    CHECK(piece && piece->row == 25 && piece->other_row == 30 && piece->rows == 5);
    CHECK(piece && piece->data == LEFT_DATA + 1 && piece->other == RIGHT_DATA + 1);
    piece = find(ACTION_PIECE, ZIP, 5);
    CHECK(piece && piece->row == 0 && piece->other_row == 35 && piece->rows == 25);
    CHECK(piece && piece->data == LEFT_DATA + 2 && piece->other == RIGHT_DATA + 1);
}

static const UnitTest tests[] = {
    {"rows_of_pieces_are_passed_over", rows_of_pieces_are_passed_over},
    {"they_are_the_first_in_order", they_are_the_first_in_order},
};

UNIT_MAIN("core_zip_test", tests)
