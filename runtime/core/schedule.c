#include "runtime/core/schedule.h"

#include "runtime/core/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct StageState {
    Heap     ready, paused;
    TaskId   first, last;    // Tasks in the order of launches, of a source.
    uint32_t running, paused_count, ready_count;
    uint32_t unit_next;      // Of a source: the first that was not launched.
    int64_t  queued;         // Bytes of its outputs that no consumer has taken.
    uint64_t launched, ended;
    bool     blocked;        // For this step: memory is missing.
} StageState;

struct Schedule {
    CorePlan   plan;
    Policy     policy;
    Ledger     ledger;
    Order      order;
    Pacing     pacing;
    StageState stages[STAGES_MAX];
    uint32_t   used[RESOURCES_MAX];
    Part      *parts;
    Item      *items;
    Task      *tasks;
    uint32_t   task_max;
    uint32_t   part_count, item_count, task_count;  // Ever used; 0 is none.
    PartId     part_unused;
    ItemId     item_unused;
    TaskId     task_unused;
    uint32_t   tasks_live, items_live;
    int64_t    now, timer;
    uint64_t   exhausted;       // Sources all of whose units were launched, as bits.
    bool       ended;
    Action    *actions;
    uint32_t   action_count;
};

// ---- room ---------------------------------------------------------------------------------------

enum : int64_t { PARTITION_BYTES_MIN = 64 << 10 };
enum { FREE_TASKS_MAX = 64, PAUSED_TASKS_MAX = 4096, RECORDS_MAX = 1 << 20 };

typedef struct Sizes {
    uint32_t parts, items, tasks, nodes, actions;
} Sizes;

// Tasks of a stage that may run at once.
static uint32_t width_of(const CorePlan *plan, const CoreStage *stage) {
    uint32_t width = stage->concurrency ? stage->concurrency : UINT32_MAX;
    for (uint8_t r = 0; r < plan->resource_count; r++) {
        if (!stage->demand[r]) continue;
        uint32_t fit = plan->capacity[r] / stage->demand[r];
        if (fit < width) width = fit;
    }
    return width == UINT32_MAX ? FREE_TASKS_MAX : width;
}

static Sizes sizes_of(const CorePlan *plan) {
    Sizes sizes = {.tasks = PAUSED_TASKS_MAX};
    uint32_t fan = 1;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        sizes.tasks += width_of(plan, &plan->stages[s]);
        if (plan->stages[s].output_count > fan) fan = plan->stages[s].output_count;
    }
    int64_t parts = plan->memory / PARTITION_BYTES_MIN + plan->stage_count + 1;
    sizes.parts = parts > RECORDS_MAX ? RECORDS_MAX : (uint32_t)parts;
    sizes.items = sizes.parts * fan + sizes.tasks + 1;
    sizes.nodes = sizes.items *
                      (plan->edge_count < TREE_MAX ? plan->edge_count + 1 : TREE_MAX + 1) +
                  plan->edge_count + 1;
    sizes.actions = sizes.tasks + sizes.parts;
    return sizes;
}

static size_t aligned(size_t bytes) { return (bytes + 15) & ~(size_t)15; }

size_t schedule_bytes(const CorePlan *plan) {
    Sizes sizes = sizes_of(plan);
    return aligned(sizeof(Schedule)) + aligned(sizes.parts * sizeof(Part)) +
           aligned(sizes.items * sizeof(Item)) + aligned((sizes.tasks + 1) * sizeof(Task)) +
           aligned(sizes.nodes * sizeof(Node)) + aligned(sizes.actions * sizeof(Action));
}

static void *room_take(char **at, size_t bytes) {
    void *room = *at;
    *at += aligned(bytes);
    return room;
}

CoreFault schedule_init(Schedule *s, const CorePlan *plan, Policy policy, int64_t *minimum) {
    Sizes sizes = sizes_of(plan);
    char *at = (char *)s + aligned(sizeof *s);
    s->plan = *plan;
    s->policy = policy;
    s->parts = room_take(&at, sizes.parts * sizeof(Part));
    s->items = room_take(&at, sizes.items * sizeof(Item));
    s->tasks = room_take(&at, (sizes.tasks + 1) * sizeof(Task));
    Node *nodes = room_take(&at, sizes.nodes * sizeof(Node));
    s->actions = room_take(&at, sizes.actions * sizeof(Action));
    s->task_max = sizes.tasks + 1;
    s->part_count = s->item_count = s->task_count = 1;
    if (!ledger_init(&s->ledger, plan, minimum)) return CORE_MEMORY_BELOW_MINIMUM;
    return order_init(&s->order, plan, nodes, sizes.nodes) ? CORE_OK : CORE_PLAN_TOO_WIDE;
}

// ---- records ------------------------------------------------------------------------------------

static const CoreStage *stage_of(const Schedule *s, StageId stage) {
    return &s->plan.stages[stage.i];
}
static StageState *state_of(Schedule *s, StageId stage) { return &s->stages[stage.i]; }

static void act(Schedule *s, Action action) { s->actions[s->action_count++] = action; }

static ItemId item_new(Schedule *s, Item item) {
    ItemId id = s->item_unused;
    if (id.i) s->item_unused = s->items[id.i].sibling;
    else id.i = s->item_count++;
    s->items[id.i] = item;
    s->items_live++;
    return id;
}

static void item_free(Schedule *s, ItemId id) {
    s->items[id.i].sibling = s->item_unused;
    s->item_unused = id;
    s->items_live--;
}

static PartId part_new(Schedule *s, Part part) {
    PartId id = s->part_unused;
    if (id.i) s->part_unused.i = s->parts[id.i].unused;
    else id.i = s->part_count++;
    s->parts[id.i] = part;
    return id;
}

static void part_done(Schedule *s, PartId id) {
    Part *part = &s->parts[id.i];
    if (--part->readers) return;
    ledger_give_output(&s->ledger, &s->plan, part->stage, part->purse, part->bytes);
    act(s, (Action){.kind = ACTION_FREE, .data = part->data, .stage = part->stage});
    part->unused = s->part_unused.i;
    s->part_unused = id;
}

static TaskId task_new(Schedule *s, Task task) {
    TaskId id = s->task_unused;
    if (id.i) s->task_unused = s->tasks[id.i].next;
    else id.i = s->task_count++;
    StageState *state = state_of(s, task.stage);
    task.prior = state->last;
    s->tasks[id.i] = task;
    if (state->last.i) s->tasks[state->last.i].next = id;
    else state->first = id;
    state->last = id;
    s->tasks_live++;
    return id;
}

static void task_free(Schedule *s, TaskId id) {
    Task *task = &s->tasks[id.i];
    StageState *state = state_of(s, task->stage);
    if (task->prior.i) s->tasks[task->prior.i].next = task->next;
    else state->first = task->next;
    if (task->next.i) s->tasks[task->next.i].prior = task->prior;
    else state->last = task->prior;
    task->next = s->task_unused;
    s->task_unused = id;
    s->tasks_live--;
}

// ---- slots --------------------------------------------------------------------------------------

static bool fits(const Schedule *s, StageId stage, const uint32_t *returned) {
    const CoreStage *described = stage_of(s, stage);
    uint32_t most = described->concurrency;
    if (most && s->stages[stage.i].running >= most) return false;
    for (uint8_t r = 0; r < s->plan.resource_count; r++) {
        uint32_t used = s->used[r] - (returned ? returned[r] : 0);
        if (used + described->demand[r] > s->plan.capacity[r]) return false;
    }
    return true;
}

static void slot_take(Schedule *s, StageId stage) {
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        s->used[r] += stage_of(s, stage)->demand[r];
    state_of(s, stage)->running++;
}

static void slot_give(Schedule *s, StageId stage) {
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        s->used[r] -= stage_of(s, stage)->demand[r];
    state_of(s, stage)->running--;
}

// ---- what could run -----------------------------------------------------------------------------

// Is it the first unfinished work of its stage?
static bool is_first(const Schedule *s, const Item *item) {
    const CoreStage *stage = stage_of(s, item->stage);
    if (stage->kind == STAGE_SOURCE) {
        TaskId first = s->stages[item->stage.i].first;
        return !first.i || s->tasks[first.i].item.i == (uint32_t)(item - s->items);
    }
    for (uint8_t i = 0; i < item->input; i++)
        if (order_first(&s->order, stage->inputs[i]).i) return false;
    return order_first(&s->order, stage->inputs[item->input]).i == item->node.i;
}

// Of a sink: have all before it begun?
static bool is_next(const Schedule *s, const Item *item) {
    const Node *node = &s->order.nodes[item->node.i];
    NodeId head = s->order.heads[node->edge.i];
    if (node->before.i == head.i) return true;
    const Node *before = &s->order.nodes[node->before.i];
    return before->kind == NODE_ITEM && s->items[before->item].state == ITEM_TAKEN;
}

// The paused or ready work of a stage that is first.
static Heap *first_heap(Schedule *s, StageState *state) {
    ItemId paused = state->paused.root, ready = state->ready.root;
    if (!paused.i || !ready.i) return paused.i ? &state->paused : ready.i ? &state->ready : nullptr;
    return item_before(&s->items[ready.i], &s->items[paused.i]) ? &state->ready : &state->paused;
}

static bool has_work(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    const CoreStage *described = stage_of(s, stage);
    if (state->blocked) return false;
    if (state->paused.root.i) return true;
    if (described->kind == STAGE_SOURCE) {
        if (state->unit_next == described->units) return false;
        if (s->order.ends[stage.i].before & ~s->exhausted) return false;
        int64_t when = s->policy == POLICY_PESSIMISTIC
                           ? s->now : pacing_when(&s->pacing, &s->plan, stage, s->now);
        if (when > s->now && (s->timer <= s->now || when < s->timer)) s->timer = when;
        return when <= s->now;
    }
    if (!state->ready.root.i) return false;
    return described->kind != STAGE_SINK || is_next(s, &s->items[state->ready.root.i]);
}

// Sinks first, then what has the fewest bytes waiting behind it, of equals the one further down.
static bool is_better(const Schedule *s, StageId a, StageId b) {
    bool sink_a = stage_of(s, a)->kind == STAGE_SINK, sink_b = stage_of(s, b)->kind == STAGE_SINK;
    if (sink_a != sink_b) return sink_a;
    int64_t queued_a = s->stages[a.i].queued, queued_b = s->stages[b.i].queued;
    return queued_a != queued_b ? queued_a < queued_b : a.i > b.i;
}

static bool pick(Schedule *s, StageId *best) {
    bool found = false;
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        StageId stage = {i};
        if (!fits(s, stage, nullptr) || !has_work(s, stage)) continue;
        if (!found || is_better(s, stage, *best)) *best = stage;
        found = true;
    }
    return found;
}

// ---- launches -----------------------------------------------------------------------------------

static bool resume(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    Item *item = &s->items[state->paused.root.i];
    Task *task = &s->tasks[item->task.i];
    task->output = ledger_take_output(&s->ledger, &s->plan, stage, is_first(s, item));
    if (!task->output) return false;
    heap_pop(s->items, &state->paused);
    state->paused_count--;
    item->state = ITEM_TAKEN;
    task->state = TASK_RUNNING;
    slot_take(s, stage);
    act(s, (Action){.kind = ACTION_RESUME, .stage = stage, .task = item->task});
    return true;
}

static bool launch_item(Schedule *s, StageId stage, ItemId id) {
    Item *item = &s->items[id.i];
    if (s->task_count == s->task_max && !s->task_unused.i) return false;
    bool first = is_first(s, item);
    Purse scratch = ledger_take_scratch(&s->ledger, &s->plan, stage, first);
    if (!scratch) return false;
    Purse output = ledger_take_output(&s->ledger, &s->plan, stage, first);
    if (!output) {
        ledger_give_scratch(&s->ledger, &s->plan, stage, scratch);
        return false;
    }
    item->state = ITEM_TAKEN;
    item->task = task_new(s, (Task){.item = id, .stage = stage, .scratch = scratch,
                                    .output = output});
    slot_take(s, stage);
    state_of(s, stage)->launched++;
    act(s, (Action){.kind = ACTION_LAUNCH, .stage = stage, .task = item->task, .unit = item->unit,
                    .of_unit = !item->part.i, .data = s->parts[item->part.i].data});
    return true;
}

static bool launch_unit(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    const CoreStage *described = stage_of(s, stage);
    ItemId id = item_new(s, (Item){.stage = stage, .unit = state->unit_next,
                                   .bytes = described->unit_bytes});
    if (!launch_item(s, stage, id)) return item_free(s, id), false;
    s->items[id.i].marks = order_unit(&s->order, stage);
    if (++state->unit_next == described->units) {
        order_source_end(&s->order, stage);
        s->exhausted |= 1ull << stage.i;
    }
    pacing_admit(&s->pacing, stage, described->unit_bytes);
    return true;
}

static bool launch_ready(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    ItemId id = state->ready.root;
    if (!launch_item(s, stage, id)) return false;
    heap_pop(s->items, &state->ready);
    state->ready_count--;
    Part *part = &s->parts[s->items[id.i].part.i];
    state_of(s, part->stage)->queued -= part->bytes;
    return true;
}

static bool start(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    Heap *heap = first_heap(s, state);
    if (!heap) return launch_unit(s, stage);
    return heap == &state->paused ? resume(s, stage) : launch_ready(s, stage);
}

static void fill(Schedule *s) {
    StageId stage = {0};
    for (uint16_t i = 0; i < s->plan.stage_count; i++) s->stages[i].blocked = false;
    while (pick(s, &stage))
        if (!start(s, stage)) state_of(s, stage)->blocked = true;
}

// ---- events -------------------------------------------------------------------------------------

static uint8_t input_of(const CoreStage *stage, EdgeId edge) {
    uint8_t input = 0;
    while (input + 1 < stage->input_count && stage->inputs[input].i != edge.i) input++;
    return input;
}

// The partition becomes ready work of each consumer.
static void hand_over(Schedule *s, const Task *task, PartId part, int64_t bytes) {
    const CoreStage *stage = stage_of(s, task->stage);
    const Item from = s->items[task->item.i];
    const Tree *tree = stage->kind == STAGE_SOURCE
                           ? &s->order.roots[task->stage.i]
                           : &s->order.trees[stage->inputs[from.input].i];
    for (uint8_t o = 0; o < stage->output_count; o++) {
        StageId to = s->plan.edges[stage->outputs[o].i].to;
        Item item = from;
        item.part = part, item.stage = to, item.state = ITEM_READY, item.bytes = bytes;
        item.task = (TaskId){0};
        item.path[item.depth++] = task->outputs;
        item.input = input_of(stage_of(s, to), stage->outputs[o]);
        ItemId id = item_new(s, item);
        OrderPlace place = order_output(&s->order, tree, from.marks, o, id.i);
        s->items[id.i].node = place.node;
        s->items[id.i].region = s->order.nodes[place.node.i].region;
        s->items[id.i].marks = place.marks;
        heap_push(s->items, &state_of(s, to)->ready, id);
        state_of(s, to)->ready_count++;
        state_of(s, task->stage)->queued += bytes;
    }
}

static void pause_task(Schedule *s, TaskId id) {
    Task *task = &s->tasks[id.i];
    StageState *state = state_of(s, task->stage);
    slot_give(s, task->stage);
    task->state = TASK_PAUSED;
    s->items[task->item.i].state = ITEM_READY;
    heap_push(s->items, &state->paused, task->item);
    state->paused_count++;
    act(s, (Action){.kind = ACTION_PAUSE, .stage = task->stage, .task = id});
}

// Would better work run in the slot of this task?
static bool should_yield(Schedule *s, StageId stage) {
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        StageId other = {i};
        if (i == stage.i || !is_better(s, other, stage) || !has_work(s, other)) continue;
        if (!fits(s, other, nullptr) && fits(s, other, stage_of(s, stage)->demand)) return true;
    }
    return false;
}

static void on_done(Schedule *s, const Event *event) {
    Task task = s->tasks[event->task.i];
    Item item = s->items[task.item.i];
    const CoreStage *stage = stage_of(s, task.stage);
    slot_give(s, task.stage);
    ledger_give_output(&s->ledger, &s->plan, task.stage, task.output, ledger_output_bytes(stage));
    ledger_give_scratch(&s->ledger, &s->plan, task.stage, task.scratch);
    // Not before: a task that has computed half of its time has not taken all of its input.
    pacing_note(
        &s->pacing, task.stage,
        (Pace){(double)item.bytes, (double)task.made, (double)(task.busy + event->busy) / 1e9});
    order_end(&s->order, item.marks);
    if (item.node.i) order_remove(&s->order, item.node);
    if (item.part.i) part_done(s, item.part);
    item_free(s, task.item);
    task_free(s, event->task);
    state_of(s, task.stage)->ended++;
}

static void on_output(Schedule *s, const Event *event) {
    Task *task = &s->tasks[event->task.i];
    const CoreStage *stage = stage_of(s, task->stage);
    int64_t room = ledger_output_bytes(stage);
    int64_t bytes = event->bytes < PARTITION_BYTES_MIN ? PARTITION_BYTES_MIN : event->bytes;
    if (task->output == PURSE_COMMON)
        ledger_give_output(&s->ledger, &s->plan, task->stage, PURSE_COMMON, room - bytes);
    PartId part = part_new(s, (Part){.bytes = bytes,
                                     .stage = task->stage,
                                     .purse = task->output,
                                     .data = event->data,
                                     .readers = stage->output_count});
    hand_over(s, task, part, bytes);
    task->outputs++;
    task->made += event->bytes;
    task->busy += event->busy;
    task->output = PURSE_NONE;
    if (event->last) {
        on_done(s, &(Event){.kind = EVENT_DONE, .task = event->task});
        return;
    }
    for (uint16_t i = 0; i < s->plan.stage_count; i++) s->stages[i].blocked = false;
    if (!should_yield(s, task->stage))
        task->output = ledger_take_output(&s->ledger, &s->plan, task->stage,
                                          is_first(s, &s->items[task->item.i]));
    if (task->output)
        act(s, (Action){.kind = ACTION_GO_ON, .stage = task->stage, .task = event->task});
    else pause_task(s, event->task);
}

static bool all_ended(const Schedule *s) {
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const CoreStage *stage = &s->plan.stages[i];
        if (stage->kind == STAGE_SOURCE && s->stages[i].unit_next < stage->units) return false;
    }
    return !s->items_live;
}

Actions schedule_step(Schedule *s, const Event *event) {
    s->action_count = 0;
    s->now = event->now;
    int64_t timer = s->timer;
    switch (event->kind) {
    case EVENT_START: pacing_init(&s->pacing, &s->plan, event->now); break;
    case EVENT_OUTPUT: on_output(s, event); break;
    case EVENT_DONE: on_done(s, event); break;
    case EVENT_TICK: s->timer = 0; break;
    }
    if (event->kind != EVENT_START) pacing_advance(&s->pacing, &s->plan, event->now);
    fill(s);
    if (s->timer != timer && s->timer > s->now)
        act(s, (Action){.kind = ACTION_TIMER, .at = s->timer});
    if (!s->ended && all_ended(s)) {
        s->ended = true;
        act(s, (Action){.kind = ACTION_END});
    }
    return (Actions){s->actions, s->action_count};
}

// ---- figures ------------------------------------------------------------------------------------

StageFigures schedule_figures(const Schedule *s, StageId stage) {
    const StageState *state = &s->stages[stage.i];
    return (StageFigures){state->running, state->paused_count, state->ready_count, state->queued,
                          state->launched, state->ended};
}

const Ledger *schedule_ledger(const Schedule *s) { return &s->ledger; }

const char *schedule_check(const Schedule *s, bool whole) {
    const Ledger *ledger = &s->ledger;
    if (ledger->common_used < 0 || ledger->common_used > ledger->common)
        return "the ledger gave more than it has";
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        if (s->used[r] > s->plan.capacity[r]) return "more slots are taken than there are";
    if (!s->tasks_live && s->items_live) return "work is left and nothing moves";
    if (!whole) return nullptr;
    int64_t used = 0;
    for (uint32_t i = 1; i < s->part_count; i++) {
        const Part *part = &s->parts[i];
        if (part->readers && part->purse == PURSE_COMMON) used += part->bytes;
    }
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const CoreStage *stage = &s->plan.stages[i];
        for (TaskId t = s->stages[i].first; t.i; t = s->tasks[t.i].next) {
            if (s->tasks[t.i].scratch == PURSE_COMMON) used += stage->scratch;
            if (s->tasks[t.i].output == PURSE_COMMON && stage->kind != STAGE_SINK)
                used += ledger_output_bytes(stage);
        }
    }
    return used == ledger->common_used ? nullptr : "the ledger does not add up";
}
