#include "runtime/core/schedule.h"

#include "runtime/core/state.h"

#include <string.h>

// ---- room ---------------------------------------------------------------------------------------

enum { PAUSED_TASKS_MAX = 4096, PARTS_MAX = 1 << 18, ACTIONS_SPARE = 4096 };

typedef struct Sizes {
    uint32_t parts, items, tasks, places, actions, nodes;
    uint32_t parts_read;  // Found lost while tasks read them.
} Sizes;

// Every partition is charged, so that memory bounds their number; what is spilled is bounded by
// PARTS_MAX alone.
static uint32_t parts_of(const CorePlan *plan) {
    int64_t parts = 0;
    for (uint8_t k = 0; k < plan->node_kinds; k++)
        parts += plan->nodes[k].count * (plan->nodes[k].memory / PARTITION_BYTES_MIN + 1);
    parts += plan->stage_count * (int64_t)plan_node_count(plan) + 1;
    return parts > PARTS_MAX || plan->edge_count > 1 ? PARTS_MAX : (uint32_t)parts;
}

// Of each stage and node. A node that has ended many small items makes them safe before it has
// worked long.
static uint32_t covered_of(const CorePlan *plan) {
    enum : uint32_t { LEAST = 64, MOST = 4096 };
    uint32_t fillers = 0, nodes = plan_node_count(plan);
    for (uint16_t s = 0; s < plan->stage_count; s++) fillers += plan->stages[s].fill_count > 0;
    if (nodes == 1 || fillers == 0) return 0;
    uint32_t each = PARTS_MAX / (nodes * fillers);
    if (plan->covered_max) return plan->covered_max;
    return each < LEAST ? LEAST : each > MOST ? MOST : each;
}

static Sizes sizes_of(const CorePlan *plan) {
    Sizes sizes = {.tasks = PAUSED_TASKS_MAX + 1, .nodes = plan_node_count(plan)};
    uint32_t fan = 1, depth = plan->edge_count < TREE_MAX ? plan->edge_count : TREE_MAX;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        sizes.tasks += 2 * plan_width(plan, &plan->stages[s]);
        if (plan->stages[s].output_count > fan) fan = plan->stages[s].output_count;
    }
    for (uint8_t k = 0; k < plan->node_kinds; k++)
        sizes.tasks += plan->nodes[k].count * plan->nodes[k].ahead;
    sizes.parts = parts_of(plan);
    sizes.items = sizes.parts * fan + 2 * sizes.tasks + 1;
    if (covered_of(plan)) sizes.items += PARTS_MAX;
    sizes.places = sizes.items * (depth + 1) + 2 * plan->edge_count * TREE_MAX + 1;
    sizes.actions = 2 * sizes.tasks + sizes.parts + ACTIONS_SPARE;
    sizes.parts_read = sizes.nodes > 1 ? sizes.tasks : 0;
    return sizes;
}

static size_t aligned(size_t bytes) { return (bytes + 15) & ~(size_t)15; }

static void *take(char **at, size_t count, size_t size) {
    void *room = *at;
    *at += aligned(count * size);
    return room;
}

// The same room, laid out.
static void lay_out(Schedule *s, const Sizes *sizes, const CorePlan *plan) {
    char *at = (char *)s;
    take(&at, 1, sizeof *s);
    s->nodes = take(&at, sizes->nodes, sizeof *s->nodes);
    s->dirty = take(&at, sizes->nodes, sizeof *s->dirty);
    s->slots = take(&at, plan->stage_count, sizeof *s->slots);
    s->roomy = take(&at, plan->stage_count, sizeof *s->roomy);
    s->spare = take(&at, plan->stage_count, sizeof *s->spare);
    s->parts = take(&at, sizes->parts + sizes->parts_read, sizeof *s->parts);
    s->items = take(&at, sizes->items, sizeof *s->items);
    s->tasks = take(&at, sizes->tasks, sizeof *s->tasks);
    s->actions = take(&at, sizes->actions, sizeof *s->actions);
    for (uint16_t i = 0; i < plan->stage_count; i++) {
        s->stages[i].ready.entries = take(&at, sizes->items, sizeof(HeapEntry));
        s->stages[i].paused.entries = take(&at, sizes->tasks, sizeof(HeapEntry));
    }
    s->order.places = take(&at, sizes->places, sizeof *s->order.places);
}

static void clear(Schedule *s, const CorePlan *plan) {
    memset(s->stages, 0, plan->stage_count * sizeof *s->stages);
    memset(s->breakers, 0, plan->breaker_count * sizeof *s->breakers);
    memset(s->skipped_rows, 0, plan->edge_count * sizeof *s->skipped_rows);
    memset(s->closed, 0, plan->edge_count * sizeof *s->closed);
    memset(s->on_edge, 0, plan->edge_count * sizeof *s->on_edge);
}

// Records are written when they come into use: only those that stand for none are not.
static void clear_records(Schedule *s, const CorePlan *plan) {
    memset(s->nodes, 0, s->node_count * sizeof *s->nodes);
    memset(s->slots, 0, plan->stage_count * sizeof *s->slots);
    memset(s->roomy, 0, plan->stage_count * sizeof *s->roomy);
    memset(s->spare, 0, plan->stage_count * sizeof *s->spare);
    s->parts[0] = (Part){0}, s->items[0] = (Item){0}, s->tasks[0] = (Task){0};
    s->order.places[0] = (Place){0};
}

size_t schedule_bytes(const CorePlan *plan) {
    Sizes sizes = sizes_of(plan);
    size_t heaps = aligned(sizes.items * sizeof(HeapEntry)) +
                   aligned(sizes.tasks * sizeof(HeapEntry));
    return plan->stage_count * heaps + aligned(sizeof(Schedule)) +
           aligned(sizes.nodes * sizeof(NodeState)) + aligned(sizes.nodes * sizeof(NodeId)) +
           3 * aligned(plan->stage_count * sizeof(NodeSet)) +
           aligned((sizes.parts + sizes.parts_read) * sizeof(Part)) +
           aligned(sizes.items * sizeof(Item)) + aligned(sizes.tasks * sizeof(Task)) +
           aligned(sizes.actions * sizeof(Action)) + aligned(sizes.places * sizeof(Place));
}

// ---- init ---------------------------------------------------------------------------------------

static CoreFault nodes_init(Schedule *s) {
    for (uint32_t n = 0; n < s->node_count; n++) {
        NodeId id = {(uint16_t)n};
        const NodeKind *kind = plan_node(&s->plan, id);
        if (!ledger_init(&s->nodes[n].ledger, &s->reserves, kind->memory))
            return CORE_MEMORY_BELOW_MINIMUM;
        s->nodes[n].up = true;
        s->nodes[n].memory = kind->memory;
        touch(s, id);
    }
    if (s->node_count == 1) slots_judge_one(s);
    return CORE_OK;
}

// Where no node could run any, as many as all nodes could.
static uint32_t width_of(const Schedule *s, StageId id) {
    Area area = shape_area(&s->shape, id);
    NodeCounts all = plan_counts(&s->plan), most = area_counts(&s->plan, &all, area);
    NodeCounts nodes = area_counts(&s->plan, &s->usable, area);
    uint32_t width = counts_width(&s->plan, &nodes, stage_of(s, id));
    return width ? width : counts_width(&s->plan, &most, stage_of(s, id));
}

void widths_judge(Schedule *s) {
    uint32_t fixed[STAGES_MAX];
    if (s->policy->fixed) policy_fixed_slots(&s->plan, &s->shape, fixed);
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        StageState *state = &s->stages[i];
        state->width = width_of(s, (StageId){i});
        if (s->policy->fixed && fixed[i] < state->width) state->width = fixed[i];
        set_put(&s->full, (StageId){i}, stage_is_full(state));
    }
}

static void stages_init(Schedule *s) {
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        StageState *state = &s->stages[i];
        const CoreStage *stage = &s->plan.stages[i];
        state->units = stage->kind == STAGE_SOURCE ? stage->units : UNITS_LATER;
        state->bound = UINT32_MAX;
        state->unit_bytes = stage->unit_bytes;
    }
    for (uint16_t b = 0; b < s->plan.breaker_count; b++) s->breakers[b].state = BREAKER_FILLING;
    s->usable = plan_counts(&s->plan);
    widths_judge(s);
}

CoreFault schedule_init(Schedule *s, const CorePlan *plan, PolicyId policy, int64_t *minimum) {
    Sizes sizes = sizes_of(plan);
    memset(s, 0, offsetof(Schedule, plan));
    plan_copy(&s->plan, plan);
    s->policy = policy_of(policy);
    s->node_count = sizes.nodes;
    s->words = bits_words(plan->stage_count);
    clear(s, plan);
    lay_out(s, &sizes, plan);
    clear_records(s, plan);
    s->part_max = sizes.parts, s->item_max = sizes.items, s->task_max = sizes.tasks;
    s->action_max = sizes.actions;
    s->covered_max = s->covered_now = covered_of(plan);
    s->part_count = s->item_count = s->task_count = 1;
    if (!shape_make(&s->shape, plan, s->policy->staged)) return CORE_PLAN_TOO_WIDE;
    reserves_make(&s->reserves, plan, &s->shape);
    *minimum = s->reserves.minimum;
    if (!order_init(&s->order, plan, &s->shape, s->order.places, sizes.places))
        return CORE_PLAN_TOO_WIDE;
    stages_init(s);
    CoreFault fault = nodes_init(s);
    if (fault == CORE_OK) share_out(s);
    return fault;
}

// ---- step ---------------------------------------------------------------------------------------

void act(Schedule *s, Action action) {
    if (s->action_count == s->action_max) {
        s->wrong = "too many actions in one step";
        return;
    }
    s->actions[s->action_count++] = action;
}

void break_off(Schedule *s, const char *why) {
    if (!s->wrong) s->wrong = why;
}

void break_differing(Schedule *s, StageId stage, const char *why) {
    if (!s->wrong) s->differs = true, s->differing = stage;
    break_off(s, why);
}

void go(Schedule *s, State *state, State to) {
    if (!state_go(state, to)) break_off(s, "a transition that the table of states does not know");
}

static void on_skip(Schedule *s, const Event *event) {
    if (s->skipped_count == SKIPS_MAX) {
        break_off(s, "too many intervals of committed units");
        return;
    }
    s->skipped[s->skipped_count++] = (Skipped){event->stage, event->unit, event->count};
    const CoreStage *stage = stage_of(s, event->stage);
    for (uint8_t i = 0; stage->kind == STAGE_ZIP && i < stage->input_count; i++)
        s->skipped_rows[stage->inputs[i].i] = event->output_rows[i];
}

static void on_start(Schedule *s, const Event *event) {
    double memory = 0;
    for (uint32_t n = 0; n < s->node_count; n++)
        if (s->nodes[n].up) memory += (double)s->nodes[n].ledger.common;
    pacing_nodes(&s->pacing, &s->plan, &s->shape, &s->usable);
    pacing_init(&s->pacing, &s->plan, s->policy->admission, memory, event->now);
    s->started = true;
    roots_start(s);
    for (uint16_t i = 0; i < s->plan.stage_count; i++) judge_over(s, (StageId){i});
}

// Slots that each stage could have now: those that the sources do not hold.
static void count_slots(Schedule *s) {
    double used[AREAS][RESOURCES_MAX] = {0};
    for (uint16_t i = 0; i < s->plan.stage_count; i++)
        for (uint8_t r = 0; r < s->plan.resource_count; r++)
            if (s->plan.stages[i].kind == STAGE_SOURCE)
                used[shape_area(&s->shape, (StageId){i})][r] +=
                    (double)s->stages[i].running * s->plan.stages[i].demand[r];
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const CoreStage *stage = &s->plan.stages[i];
        Area area = shape_area(&s->shape, (StageId){i});
        s->pacing.slots[i] = 0;
        for (uint8_t r = 0; r < s->plan.resource_count; r++) {
            if (!stage->demand[r]) continue;
            double fit = (s->pacing.capacity[area][r] - used[area][r]) / stage->demand[r];
            double *slots = &s->pacing.slots[i];
            if (*slots == 0 || fit < *slots) *slots = fit > 0 ? fit : 1e-9;
        }
    }
}

static void handle(Schedule *s, const Event *event) {
    switch (event->kind) {
    case EVENT_SKIP: on_skip(s, event); break;
    case EVENT_START: on_start(s, event); break;
    case EVENT_OUTPUT: on_output(s, event); break;
    case EVENT_DONE: on_done(s, event); break;
    case EVENT_NEXT: on_next(s, event); break;
    case EVENT_NEED: on_need(s, event); break;
    case EVENT_ENOUGH: on_enough(s, event); break;
    case EVENT_UNITS: on_units(s, event); break;
    case EVENT_BOUND: on_bound(s, event); break;
    case EVENT_DRAIN: s->plan.completes = true; break;
    case EVENT_CUT: on_cut(s, event); break;
    case EVENT_FAILED: on_failed(s, event); break;
    case EVENT_SPILLED: on_spilled(s, event); break;
    case EVENT_SHRUNK: on_shrunk(s, event); break;
    case EVENT_HOLD: on_hold(s, event); break;
    case EVENT_RELEASE: on_release(s, event); break;
    case EVENT_FINISHED: on_finished(s, event); break;
    case EVENT_FLUSH: flush_stage(s, event->stage); break;
    case EVENT_FLUSHED: on_flushed(s, event); break;
    case EVENT_NODE_LOST: on_node_lost(s, event); break;
    case EVENT_NODE_UP: on_node_up(s, event); break;
    case EVENT_NODE_DRAIN: on_node_drain(s, event); break;
    case EVENT_PART_LOST: on_part_lost(s, event); break;
    case EVENT_MEMORY: on_memory(s, event); break;
    case EVENT_TICK: s->timer = 0; break;
    }
}

// Nothing runs, and nothing that was asked for is outstanding.
static bool is_stuck(const Schedule *s) { return !s->running && !s->answers_due && s->items_live; }

// Is there work of a stage that no node which is up could run?
static bool waits_for_node(const Schedule *s) {
    for (uint16_t w = 0; w < s->words; w++)
        for (uint64_t left = with_any(s, w); left; left &= left - 1)
            if (!has_node(s, word_first(w, left))) return true;
    return false;
}

static bool all_over(const Schedule *s) {
    bool over = s->started && s->over_count == s->plan.stage_count && !s->items_live && !s->running;
    for (uint16_t b = 0; over && b < s->plan.breaker_count; b++)
        over = s->breakers[b].state == BREAKER_FREED;
    return over;
}

// Time passes, with the slots taken as they were.
static void advance(Schedule *s, int64_t now) {
    if (s->policy->admission == ADMIT_BUDGET) count_slots(s);
    pacing_advance(&s->pacing, &s->plan, now);
}

// Asks for what the event is about: with many workers it lies far from what was used last.
static void fetch(const Schedule *s, const Event *event) {
    const Task *task = &s->tasks[event->task.i];
    const Item *item = &s->items[task->item.i];
    const NodeState *node = &s->nodes[task->node.i];
    __builtin_prefetch(&node->ledger, 1);
    __builtin_prefetch(node->ledger.used, 1);
    __builtin_prefetch(node->words, 1);
    __builtin_prefetch(node->used, 1);
    __builtin_prefetch(&item->sibling, 1);
    __builtin_prefetch(&item->checksum, 1);
    __builtin_prefetch(&s->parts[item->part.i], 1);
    __builtin_prefetch(&s->order.places[item->place.i], 1);
    __builtin_prefetch(&s->order.places[item->marks.i], 1);
}

Actions schedule_step(Schedule *s, const Event *event) {
    fetch(s, event);
    s->action_count = 0;
    s->now = event->now;
    s->events++;
    int64_t timer = s->timer;
    if (s->started) advance(s, event->now);
    if (!s->wrong) handle(s, event);
    if (s->owing) debts_pay(s);
    if (s->draining) drains_judge(s);
    if (!s->started) return (Actions){s->actions, s->action_count};
    fill_slots(s);
    while (s->recheck && !s->wrong) {
        s->recheck = false;
        reruns_judge(s);
        for (uint16_t i = 0; i < s->plan.stage_count; i++) judge_over(s, (StageId){i});
        fill_slots(s);
    }
    launch_ahead(s);
    launch_twins(s);
    spill_some(s, false);
    while (is_stuck(s)) {
        bool dropped = false;
        spill_some(s, true);
        if (s->answers_due) break;
        // What was dropped in vain begins again, and would be dropped again.
        if (!make_way(s, &dropped) && !deny_one(s) && !dropped) break;
        fill_slots(s);
    }
    if (s->owing) debts_pay(s);  // What launches gave back, too.
    if (s->timer != timer && s->timer > s->now)
        act(s, (Action){.kind = ACTION_TIMER, .at = s->timer});
    if (!s->ended && all_over(s)) {
        s->ended = true;
        act(s, (Action){.kind = ACTION_END});
    }
    if (s->wrong)
        act(s, (Action){.kind = s->differs ? ACTION_DIFFERS : ACTION_BROKEN,
                        .stage = s->differing, .text = s->wrong});
    return (Actions){s->actions, s->action_count};
}

// ---- figures ------------------------------------------------------------------------------------

StageFigures schedule_figures(const Schedule *s, StageId stage) {
    const StageState *state = &s->stages[stage.i];
    return (StageFigures){.running = state->running - state->ahead,
                          .paused = state->paused_count,
                          .ready = state->ready_count,
                          .waiting_bytes = state->waiting_bytes,
                          .launched = state->launched,
                          .ended = state->ended,
                          .blocked = set_has(&s->blocked, stage)};
}

const StageSet *schedule_over(const Schedule *s) { return &s->over; }

Front schedule_front(const Schedule *s, EdgeId edge) {
    PlaceId first = order_first(&s->order, edge);
    const Place *place = &s->order.places[first.i ? first.i : s->order.heads[edge.i].i];
    Front front = {.done = edge_is_done(s, edge), .region = place->region, .unit = UNITS_LATER};
    if (place->item) front.unit = s->items[place->item].name.unit;
    return front;
}

uint8_t schedule_region(const Schedule *s, StageId root, uint8_t node) {
    return s->order.ends[root.i].regions[node];
}

bool schedule_closed(const Schedule *s, EdgeId edge) { return s->closed[edge.i]; }

bool schedule_is_safe(const Schedule *s, StageId stage, StageId root, uint32_t unit) {
    for (uint32_t i = 1; i < s->item_count; i++) {
        const Item *item = &s->items[i];
        bool own = item->state != ITEM_NONE && item->stage.i == stage.i;
        if (own && item->name.root.i == root.i && item->name.unit < unit) return false;
    }
    return true;
}

const Shape *schedule_shape(const Schedule *s) { return &s->shape; }

int64_t schedule_minimum(const Schedule *s) { return s->reserves.minimum; }
const Ledger *schedule_ledger(const Schedule *s, NodeId node) { return &s->nodes[node.i].ledger; }
uint32_t schedule_parts(const Schedule *s) { return s->parts_live; }
uint16_t schedule_spools(const Schedule *s) { return s->shape.spool_count; }
uint64_t schedule_twins(const Schedule *s) { return s->twins; }
uint64_t schedule_ahead(const Schedule *s) { return s->aheads; }
uint64_t schedule_spilled(const Schedule *s) { return s->spilled_bytes; }

// ---- checks -------------------------------------------------------------------------------------

// What the records say that a node has given, to the byte.
static const char *check_node(const Schedule *s, NodeId id, int64_t used) {
    const NodeState *node = &s->nodes[id.i];
    const NodeKind *kind = plan_node(&s->plan, id);
    int64_t held = 0;
    for (uint16_t b = 0; b < s->plan.breaker_count; b++)
        held += ledger_held_common(&node->ledger, &s->reserves, (BreakerId){b});
    used += held;
    if (held != node->ledger.breakers) return "what breakers hold does not add up";
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        if (node->used[r] > kind->capacity[r]) return "more slots are taken than there are";
    if (node->ahead > kind->ahead) return "a node holds too many tasks beyond its slots";
    if (node->ledger.common_used - node->ledger.over > node->ledger.common)
        return "the ledger gave more than it has";
    return used == node->ledger.common_used ? nullptr : "the ledger does not add up";
}

static int64_t task_common(const Schedule *s, const Task *task) {
    const Purse purses[] = {task->scratch, task->output, task->input};
    int64_t sum = task->granted;
    for (Room r = ROOM_SCRATCH; r <= ROOM_INPUT; r++) {
        int64_t bytes = r == ROOM_INPUT ? task->loaded : s->reserves.rooms[r][task->stage.i];
        sum += ledger_common_of(&s->reserves, r, task->stage, purses[r], bytes);
    }
    return sum;
}

// Do the sets of stages say what the stages do?
static const char *check_stages(const Schedule *s) {
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const StageState *state = &s->stages[i];
        StageId id = {i};
        bool same = set_has(&s->ready, id) == (state->ready.count > 0) &&
                    set_has(&s->paused, id) == (state->paused.count > 0) &&
                    state->ready.count == state->ready_count &&
                    state->paused.count == state->paused_count &&
                    set_has(&s->full, id) == stage_is_full(state);
        if (s->node_count == 1)
            same &= set_has(&s->free, id) ==
                    node_fits(s, (NodeId){0}, &s->plan.stages[i], nullptr);
        if (!same) return "a set of stages is not up to date";
    }
    return nullptr;
}

static const char *check_all(const Schedule *s) {
    const char *stages = check_stages(s);
    if (stages) return stages;
    for (uint32_t n = 0; n < s->node_count; n++) {
        int64_t used = ledger_stubs_common(&s->nodes[n].ledger, s->plan.stubs_free), stubs = 0;
        uint32_t writing = 0;
        for (TaskId t = s->nodes[n].tasks; t.i; t = s->tasks[t.i].node_next)
            used += task_common(s, &s->tasks[t.i]);
        for (uint32_t i = 1; i < s->part_count; i++) {
            const Part *part = &s->parts[i];
            bool there = part->state != PART_NONE && part->node.i == n;
            writing += there && (part->state == PART_SPILLING || part->state == PART_DROPPED);
            if (there && part->state == PART_SPILLED) stubs += s->plan.stub_bytes;
            if (there)
                used += ledger_common_of(&s->reserves, part->room, part->stage, part->purse,
                                         part->bytes);
        }
        if (writing != s->nodes[n].spilling) return "what is being written does not add up";
        if (stubs != s->nodes[n].ledger.stubs) return "stubs of partitions do not add up";
        const char *wrong = check_node(s, (NodeId){(uint16_t)n}, used);
        if (wrong) return wrong;
        if (s->node_count > 64) break;  // Each look is at all partitions.
    }
    return nullptr;
}

const char *schedule_check(const Schedule *s, bool whole) {
    if (s->wrong) return s->wrong;
    const Ledger *ledger = &s->nodes[0].ledger;
    int64_t promised = ledger->common_used - ledger->over;
    if (promised < 0 || ledger->over < 0 || promised > ledger->common)
        return "the ledger gave more than it has";
    if (ledger->breakers < 0 || ledger->breakers > ledger->common - ledger->tasks_part)
        return "breakers hold what is for tasks";
    if (promised + ledger->reserved_used > ledger->common + s->reserves.minimum)
        return "the ledger gave more than memory";
    if (is_stuck(s) && !waits_for_node(s)) return "work is left and nothing moves";
    if (!whole) return nullptr;
    const char *idle = check_idle(s);
    return idle ? idle : check_all(s);
}
