// What the scheduler is told of a job, and which rows count when a fault ends it.
#include "runtime/plan/flow_plan.h"
#include "runtime/rejects/verdict.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 16 };

#define STR(text) ((SbStr){text, sizeof(text) - 1})
#define LIST(...) (const uint32_t[]){__VA_ARGS__}
#define SINK(number) (SB_TERMINAL_SINK | (number))

static const SbDemand one_cpu = {SB_CPUS, 1000};
static const SbStepInfo step = {.label = {"step", 4}};
extern const SbReader sb_reader_csv;
static const SbSource source = {.label = {"read", 4}, .reader = &sb_reader_csv};
static const SbSink sink = {.label = {"write", 5}};

// ---- plans ----------------------------------------------------------------------------------

typedef struct Given {
    SbStage stages[PARTS_MAX];
    uint32_t stage_count;
    SbBreaker breakers[PARTS_MAX];
    uint32_t breaker_count;
    uint32_t source_count, sink_count;
    bool limited[PARTS_MAX], streams[PARTS_MAX], chained[PARTS_MAX];
    uint32_t workers;
} Given;

static SbJob job_of(Given *given) {
    static SbSource sources[PARTS_MAX];
    static SbSink sinks[PARTS_MAX];
    for (int i = 0; i < PARTS_MAX; i++) sources[i] = source, sinks[i] = sink;
    return (SbJob){.steps = &step, .step_count = 1,
                   .sources = sources, .source_count = given->source_count,
                   .sinks = sinks, .sink_count = given->sink_count,
                   .breakers = given->breakers, .breaker_count = given->breaker_count,
                   .stages = given->stages, .stage_count = given->stage_count};
}

static FlowFault make(Given *given, FlowPlan *flow) {
    static const int64_t cuts[PARTS_MAX] = {[0 ... PARTS_MAX - 1] = 1 << 20};
    static const bool no[PARTS_MAX];
    SbJob job = job_of(given);
    FlowNumbers numbers = {.cpus = 2000, .memory = 1 << 30, .cuts = cuts,
                           .streams = given->streams, .chained = given->chained,
                           .limited = given->limited, .leaves = no,
                           .block_bytes = 1 << 16, .lanes = 2, .workers = given->workers,
                           .worker_cpus = 1000, .worker_memory = 1 << 30};
    return flow_plan_make(flow, &job, &numbers);
}

static SbStage reads(uint32_t number, const uint32_t *terminals, uint32_t count) {
    return (SbStage){.label = STR("source"), .input = SB_INPUT_TEXT, .input_index = number,
                     .right_index = UINT32_MAX, .terminals = terminals, .terminal_count = count,
                     .demands = &one_cpu, .demand_count = 1};
}

static SbStage over(uint32_t breaker, const uint32_t *terminals, uint32_t count) {
    return (SbStage){.label = STR("over"), .input = SB_INPUT_ROWS, .input_index = breaker,
                     .right_index = UINT32_MAX, .terminals = terminals, .terminal_count = count,
                     .demands = &one_cpu, .demand_count = 1};
}

// Gives every launch at once what it asks for: sources have three units, each task one partition.
// `spills`: partitions that went to disk; or nullptr.
static bool runs_to_its_end(const FlowPlan *flow, uint32_t *spills) {
    enum { STEPS_MAX = 2000, UNITS = 3 };
    int64_t minimum;
    Schedule *schedule = malloc(schedule_bytes(&flow->plan));
    bool good = schedule_init(schedule, &flow->plan, POLICY_FULL, &minimum) == CORE_OK;
    bool ended = false;
    Event queue[STEPS_MAX] = {{.kind = EVENT_START}};
    uint32_t count = 1;
    bool told[STAGES_MAX] = {0};
    for (uint32_t i = 0; good && i < count && !ended; i++) {
        queue[i].now = (int64_t)i * 1000000;
        Actions actions = schedule_step(schedule, &queue[i]);
        for (uint32_t a = 0; a < actions.count && count + 3 < STEPS_MAX; a++) {
            const Action *action = &actions.items[a];
            const CoreStage *stage = &flow->plan.stages[action->stage.i];
            if (action->kind >= ACTION_DIFFERS) good = false;
            if (action->kind == ACTION_END) ended = true;
            if (action->kind == ACTION_TIMER) queue[count++] = (Event){.kind = EVENT_TICK};
            if (action->kind == ACTION_SPILL) {
                queue[count++] = (Event){.kind = EVENT_SPILLED, .part = action->part,
                                         .bytes = action->bytes};
                if (spills) ++*spills;
            }
            if (action->kind == ACTION_FINISH)
                queue[count++] = (Event){.kind = EVENT_FINISHED, .breaker = action->breaker,
                                         .count = UNITS, .bytes = 1 << 16};
            if (action->kind != ACTION_LAUNCH && action->kind != ACTION_PIECE) continue;
            bool unit = action->of_unit && action->kind == ACTION_LAUNCH;
            bool behind = unit && action->unit >= UNITS;
            if (behind && !told[action->stage.i])
                queue[count++] =
                    (Event){.kind = EVENT_UNITS, .stage = action->stage, .count = UNITS};
            told[action->stage.i] |= behind;
            bool hands = stage->output_count > 0 && !behind;
            queue[count++] = (Event){.kind = hands ? EVENT_OUTPUT : EVENT_DONE,
                                     .task = action->task, .bytes = 1 << 16, .rows = 1,
                                     .output_rows = {1, 1, 1, 1}, .last = true};
        }
    }
    good = good && ended && !schedule_check(schedule, true);
    free(schedule);
    return good;
}

static void stages_become_stages(void) {
    FlowPlan *flow = malloc(sizeof *flow);
    // read ─▶ edge 0 ─▶ over ─▶ group 1 ─▶ reader ─▶ sink 0; read ─▶ sink 1
    Given given = {.source_count = 1, .sink_count = 2, .stage_count = 3, .breaker_count = 2,
                   .breakers = {{.kind = SB_BREAK_EDGE}, {.kind = SB_BREAK_GROUP}}};
    given.stages[0] = reads(0, LIST(0, SINK(1)), 2);
    given.stages[1] = over(0, LIST(1), 1);
    given.stages[2] = over(1, LIST(SINK(0)), 1);
    CHECK(make(&given, flow) == FLOW_OK);
    const CoreStage *stages = flow->plan.stages;
    CHECK(flow->plan.stage_count == 5 && flow->plan.edge_count == 3);
    CHECK(flow->plan.breaker_count == 1 && flow->breakers[0] == 1);
    CHECK(stages[0].kind == STAGE_SOURCE && stages[0].output_count == 2);
    CHECK(stages[1].kind == STAGE_MAP && stages[1].in_order && stages[1].fill_count == 1);
    CHECK(stages[2].kind == STAGE_READER && stages[2].serial && stages[2].reads.i == 0);
    CHECK(stages[3].kind == STAGE_SINK && stages[4].kind == STAGE_SINK);
    CHECK(stages[0].demand[0] == 1000 && stages[3].demand[0] == 0);
    CHECK(runs_to_its_end(flow, nullptr));
    free(flow);
}

static void inputs_stand_by_rank(void) {
    FlowPlan *flow = malloc(sizeof *flow);
    // A union: the second stage is its left side.
    Given given = {.source_count = 2, .sink_count = 1, .stage_count = 3, .breaker_count = 1,
                   .breakers = {{.kind = SB_BREAK_EDGE}}};
    given.stages[0] = reads(0, LIST(0), 1);
    given.stages[1] = reads(1, LIST(0), 1);
    given.stages[0].rank = 1;
    given.stages[2] = over(0, LIST(SINK(0)), 1);
    CHECK(make(&given, flow) == FLOW_OK);
    const CoreStage *map = &flow->plan.stages[2];
    CHECK(map->input_count == 2 && flow->plan.edges[map->inputs[0].i].from.i == 1);
    CHECK(flow->plan.edges[map->inputs[1].i].from.i == 0);
    CHECK(runs_to_its_end(flow, nullptr));
    free(flow);
}

static void a_fork_into_groups_keeps_lanes(void) {
    FlowPlan *flow = malloc(sizeof *flow);
    Given given = {.source_count = 1, .sink_count = 2, .stage_count = 2, .breaker_count = 1,
                   .breakers = {{.kind = SB_BREAK_GROUP}}};
    given.stages[0] = reads(0, LIST(0, SINK(0)), 2);
    given.stages[1] = over(0, LIST(SINK(1)), 1);
    SbJob job = job_of(&given);
    CHECK(flow_needs_lanes(&job, &given.stages[0]) && !flow_needs_lanes(&job, &given.stages[1]));
    CHECK(make(&given, flow) == FLOW_OK && flow->plan.stages[0].open_max == 2);
    CHECK(runs_to_its_end(flow, nullptr));
    free(flow);
}

// Of each side, which terminal it comes from is known, also where the producer has several.
static void a_zip_pairs_two_inputs(void) {
    FlowPlan *flow = malloc(sizeof *flow);
    Given given = {.source_count = 2, .sink_count = 2, .stage_count = 3, .breaker_count = 2,
                   .breakers = {{.kind = SB_BREAK_EDGE}, {.kind = SB_BREAK_EDGE}}};
    given.stages[0] = reads(0, LIST(SINK(1), 0), 2);
    given.stages[1] = reads(1, LIST(1), 1);
    given.stages[2] = over(0, LIST(SINK(0)), 1);
    given.stages[2].right_index = 1;
    CHECK(make(&given, flow) == FLOW_OK);
    const CoreStage *zip = &flow->plan.stages[2];
    CHECK(zip->kind == STAGE_ZIP && zip->input_count == 2);
    CHECK(flow->plan.edges[zip->inputs[0].i].from.i == 0);
    CHECK(flow->plan.edges[zip->inputs[1].i].from.i == 1);
    CHECK(flow->terminals[zip->inputs[0].i] == 1 && flow->terminals[zip->inputs[1].i] == 0);
    CHECK(runs_to_its_end(flow, nullptr));
    // A side of two stages has no order of its own.
    given.stages[1].rank = 1;
    given.stages[1].terminals = LIST(0, 1);
    given.stages[1].terminal_count = 2;
    CHECK(make(&given, flow) == FLOW_TOO_WIDE);
    free(flow);
}

static void what_the_schedule_does_not_run_yet(void) {
    FlowPlan *flow = malloc(sizeof *flow);
    Given limit = {.source_count = 1, .sink_count = 1, .stage_count = 2, .breaker_count = 1,
                   .breakers = {{.kind = SB_BREAK_EDGE}}, .limited = {true}};
    limit.stages[0] = reads(0, LIST(0), 1);
    limit.stages[1] = over(0, LIST(SINK(0)), 1);
    CHECK(make(&limit, flow) == FLOW_OK && flow->plan.stages[1].in_order);
    limit.limited[0] = false;
    CHECK(make(&limit, flow) == FLOW_OK && !flow->plan.stages[1].in_order);
    free(flow);
}

// f | union f: the right side waits for the left one, which comes from the same root; with little
// memory on disk.
static void a_diamond_goes_to_disk(void) {
    FlowPlan *flow = malloc(sizeof *flow);
    Given diamond = {.source_count = 1, .sink_count = 1, .stage_count = 3, .breaker_count = 2,
                     .breakers = {{.kind = SB_BREAK_EDGE}, {.kind = SB_BREAK_EDGE}}};
    diamond.stages[0] = reads(0, LIST(0, 1), 2);
    diamond.stages[1] = over(0, LIST(1), 1);
    diamond.stages[0].rank = 1;
    diamond.stages[2] = over(1, LIST(SINK(0)), 1);
    CHECK(make(&diamond, flow) == FLOW_OK);
    uint32_t spills = 0;
    CHECK(runs_to_its_end(flow, &spills) && spills == 0);
    int64_t minimum = 0;
    Schedule *schedule = malloc(schedule_bytes(&flow->plan));
    CHECK(schedule_init(schedule, &flow->plan, POLICY_FULL, &minimum) == CORE_OK);
    CHECK(schedule_spools(schedule) == 1);
    free(schedule);
    flow->plan.nodes[0].memory = minimum;
    CHECK(runs_to_its_end(flow, &spills) && spills > 0);
    free(flow);
}

// ---- workers --------------------------------------------------------------------------------

// read ─▶ edge 0 ─▶ over ─▶ sort 1 ─▶ reader ─▶ group 2 ─▶ reader ─▶ sink 0
static Given fills_twice(void) {
    Given given = {.source_count = 1, .sink_count = 1, .stage_count = 4, .breaker_count = 3,
                   .breakers = {{.kind = SB_BREAK_EDGE}, {.kind = SB_BREAK_SORT},
                                {.kind = SB_BREAK_GROUP}}, .workers = 2};
    static const uint32_t lists[] = {0, 1, 2, SINK(0)};
    given.stages[0] = reads(0, &lists[0], 1);
    for (uint32_t s = 1; s < 4; s++) given.stages[s] = over(s - 1, &lists[s], 1);
    return given;
}

// Stages on the first node, a bit each.
static uint32_t at_home(Given *given) {
    FlowPlan *flow = malloc(sizeof *flow);
    uint32_t home = 0;
    CHECK(make(given, flow) == FLOW_OK && flow->plan.leads);
    for (uint32_t s = 0; s < given->stage_count; s++)
        home |= (uint32_t)flow->plan.stages[s].home << s;
    free(flow);
    return home;
}

static void workers_fill_what_can_be_made_again(void) {
    Given given = fills_twice();
    CHECK(at_home(&given) == 0);
    // Rows of a stream come once: its reader is here, and so is what they fill.
    given.streams[0] = true;
    CHECK(at_home(&given) == 3);
    // The compiler knows why it is here: others are as they were.
    given = fills_twice();
    given.stages[3].home = (SbStr)STR("its states lie apart");
    CHECK(at_home(&given) == 8);
}

// ---- the verdict ----------------------------------------------------------------------------

// A record of stage `stage` in unit `unit`, at the row that is number `row` of those handed over.
typedef struct Record {
    uint32_t stage, root;
    uint64_t unit, row;
    bool fails;
    int64_t weight;
} Record;

static void take(Verdict *verdict, const SbJob *job, const Record *record) {
    RejectList list = {.memory = verdict->records.list.memory};
    RejectFacts facts = {.place = {.site = UINT32_MAX, .fault = SB_FAULT_OVERFLOW,
                                   .fails = record->fails,
                                   .weight = record->weight ? record->weight : 1,
                                   .origin = record->unit << 32 | record->row,
                                   .sequence = record->unit << 32 | record->row}};
    CHECK(rejects_add(&list, job, &facts));
    VerdictPlace place = {.stage = record->stage, .root = record->root};
    CHECK(verdict_take(verdict, &list, place));
    rejects_close(&list);
}

// Stage 0 reads source 0 into edge 0, stage 1 goes over that; stage 2 reads source 1.
static Given two_flows(void) {
    Given given = {.source_count = 2, .sink_count = 2, .stage_count = 3, .breaker_count = 1,
                   .breakers = {{.kind = SB_BREAK_EDGE}}};
    static const uint32_t edge[] = {0}, sinks[] = {SINK(0), SINK(1)};
    given.stages[0] = reads(0, edge, 1);
    given.stages[1] = over(0, sinks, 1);
    given.stages[2] = reads(1, sinks + 1, 1);
    return given;
}

// What is known of the job's end, in words: records up to it, and the one that fails.
static void say_end(Verdict *verdict, char *found, size_t size) {
    RejectWalk walk;
    found[0] = '\0';
    CHECK(reject_walk_open(&walk, &verdict->records));
    for (const Reject *next; (next = reject_walk_next(&walk)) && verdict_keeps(verdict, next);)
        snprintf(found + strlen(found), size - strlen(found), "%u:%u ", next->stage,
                 (unsigned)(next->origin & 0xffff));
    reject_walk_close(&walk);
    if (verdict->failing.count > 0)
        snprintf(found + strlen(found), size - strlen(found), "! %u:%u",
                 verdict->failing.items[0].stage,
                 (unsigned)(verdict->failing.items[0].origin & 0xffff));
}

static void write_records(Verdict *verdict) {
    RejectList list = verdict_begin_write(verdict);
    CHECK(reject_set_write(&verdict->records, &list) && list.count == 0);
    verdict_end_write(verdict);
}

// The records in every order that `shuffle` starts, in memory, or all but `in_memory` of them on
// disk: the same end, and the same records before it.
static void check_end(const Record *records, uint32_t count, int64_t rows_max, const char *kept) {
    Given given = two_flows();
    SbJob job = job_of(&given);
    for (uint32_t shuffle = 0; shuffle < 120; shuffle++) {
        SbMemory memory;
        Spill spill;
        Verdict verdict;
        uint32_t in_memory = shuffle % 2 ? shuffle % 3 : count;
        sb_memory_open(&memory, 4 << 20);
        CHECK(spill_open(&spill, spill_default_root(), 1, &memory));
        RejectSetSetup set = {.order = REJECTS_BY_PLACE, .spill = &spill, .memory = &memory};
        CHECK(verdict_open(&verdict, &job, rows_max, &set));
        bool taken[PARTS_MAX] = {0};
        for (uint32_t i = 0, at = shuffle; i < count; i++) {
            for (at = (at * 7 + shuffle + 3) % count; taken[at]; at = (at + 1) % count) {}
            taken[at] = true;
            take(&verdict, &job, &records[at]);
            if (i + in_memory < count) write_records(&verdict);
        }
        CHECK(verdict_settle(&verdict));
        char found[100];
        say_end(&verdict, found, sizeof found);
        CHECK_SAYS(strcmp(found, kept) == 0, "%s", found);
        verdict_close(&verdict);
        spill_close(&spill);
        CHECK(memory.used == 0);
    }
}

static void a_limit_keeps_the_first_records(void) {
    const Record records[] = {{0, 0, 3, 50, false, 0}, {1, 0, 3, 20, false, 0},
                              {0, 0, 1, 10, false, 0}, {2, 2, 0, 5, false, 0},
                              {1, 0, 3, 50, false, 0}, {0, 0, 7, 1, false, 0}};
    check_end(records, 6, 2, "0:10 1:20 0:50 ");
    check_end(records, 6, 0, "0:10 ");
    // An open quote weighs as many as it covers.
    const Record heavy[] = {{0, 0, 0, 9, false, 0}, {0, 0, 0, 4, false, 5}, {0, 0, 0, 2, false, 0}};
    check_end(heavy, 3, 3, "0:2 0:4 ");
}

static void the_first_record_that_fails_counts(void) {
    const Record records[] = {{0, 0, 2, 9, true, 0}, {1, 0, 2, 4, true, 0}, {2, 2, 0, 1, true, 0},
                              {0, 0, 2, 3, false, 0}, {1, 0, 5, 1, false, 0}};
    check_end(records, 5, -1, "0:3 ! 1:4");
    check_end(records, 5, 9, "0:3 ! 1:4");
    check_end(records, 5, 0, "0:3 ");  // The limit is passed before.
}

static void what_stands_behind_is_bounded(void) {
    Given given = two_flows();
    SbJob job = job_of(&given);
    SbMemory memory;
    Verdict verdict;
    uint32_t root;
    int64_t unit;
    sb_memory_open(&memory, 1 << 20);
    CHECK(verdict_open(&verdict, &job, 0, &(RejectSetSetup){.memory = &memory}));
    Bits all;
    memset(&all, UINT8_MAX, sizeof all);
    CHECK(!verdict_bound(&verdict, &all, &root, &unit));
    take(&verdict, &job, &(Record){1, 0, 5, 9, false, 0});
    CHECK(verdict_bound(&verdict, &all, &root, &unit) && root == 0 && unit == 6);
    CHECK(verdict_bound(&verdict, &all, &root, &unit) && root == 2 && unit == 0);
    CHECK(!verdict_bound(&verdict, &all, &root, &unit));
    take(&verdict, &job, &(Record){0, 0, 8, 1, false, 0});  // Behind it.
    CHECK(!verdict_bound(&verdict, &all, &root, &unit));
    take(&verdict, &job, &(Record){0, 0, 3, 1, true, 0});
    CHECK(verdict_bound(&verdict, &all, &root, &unit) && root == 0 && unit == 4);
    CHECK(!verdict_bound(&verdict, &all, &root, &unit));
    CHECK(verdict_settle(&verdict) && !verdict.over && verdict.failing.count == 1);
    verdict_close(&verdict);
}

static void readers_wait_for_what_fills_their_breaker(void) {
    // read ─▶ edge 0 ─▶ over ─▶ group 1 ─▶ reader ─▶ sink: rows in front may be at the edge.
    Given given = {.source_count = 1, .sink_count = 1, .stage_count = 3, .breaker_count = 2,
                   .breakers = {{.kind = SB_BREAK_EDGE}, {.kind = SB_BREAK_GROUP}}};
    given.stages[0] = reads(0, LIST(0), 1);
    given.stages[1] = over(0, LIST(1), 1);
    given.stages[2] = over(1, LIST(SINK(0)), 1);
    SbJob job = job_of(&given);
    SbMemory memory;
    Verdict verdict;
    uint32_t root;
    int64_t unit;
    sb_memory_open(&memory, 1 << 20);
    CHECK(verdict_open(&verdict, &job, 0, &(RejectSetSetup){.memory = &memory}));
    take(&verdict, &job, &(Record){0, 0, 0, 2, false, 0});
    CHECK(verdict_bound(&verdict, &(Bits){{0}}, &root, &unit) && root == 0 && unit == 1);
    CHECK(!verdict_bound(&verdict, &(Bits){{1}}, &root, &unit));
    CHECK(verdict_bound(&verdict, &(Bits){{3}}, &root, &unit) && root == 2 && unit == 0);
    verdict_close(&verdict);
}

static const UnitTest tests[] = {
    {"stages_become_stages", stages_become_stages},
    {"inputs_stand_by_rank", inputs_stand_by_rank},
    {"a_fork_into_groups_keeps_lanes", a_fork_into_groups_keeps_lanes},
    {"a_zip_pairs_two_inputs", a_zip_pairs_two_inputs},
    {"what_the_schedule_does_not_run_yet", what_the_schedule_does_not_run_yet},
    {"a_diamond_goes_to_disk", a_diamond_goes_to_disk},
    {"workers_fill_what_can_be_made_again", workers_fill_what_can_be_made_again},
    {"a_limit_keeps_the_first_records", a_limit_keeps_the_first_records},
    {"the_first_record_that_fails_counts", the_first_record_that_fails_counts},
    {"what_stands_behind_is_bounded", what_stands_behind_is_bounded},
    {"readers_wait_for_what_fills_their_breaker", readers_wait_for_what_fills_their_breaker},
};

UNIT_MAIN("flow", tests)
