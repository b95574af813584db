#include "runtime/core/state.h"

// Launch: what could run, which of it is best, and where it gets its slot and memory.

// ---- nodes --------------------------------------------------------------------------------------

// Are there slots for a task of the stage, when one that holds `returned` has gone?
static bool node_fits(const Schedule *s, NodeId id, const CoreStage *stage,
                      const uint32_t *returned) {
    const NodeState *node = &s->nodes[id.i];
    if (!node->up) return false;
    const NodeKind *kind = plan_node(&s->plan, id);
    for (uint8_t r = 0; r < s->plan.resource_count; r++) {
        uint32_t used = node->used[r] - (returned ? returned[r] : 0);
        if (stage->demand[r] && used + stage->demand[r] > kind->capacity[r]) return false;
    }
    return true;
}

// What is free on the node, of each resource.
static void count_free(const Schedule *s, NodeId id, uint32_t *left) {
    const NodeState *node = &s->nodes[id.i];
    const NodeKind *kind = plan_node(&s->plan, id);
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        left[r] = kind->capacity[r] - node->used[r];
}

static bool fits_in(const Schedule *s, const CoreStage *stage, const uint32_t *left) {
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        if (stage->demand[r] > left[r]) return false;
    return true;
}

// Puts the node into the sets of the stages that are in `now`, out of those that are not.
static void put_changed(NodeSet *sets, NodeId id, uint64_t *before, uint64_t now) {
    for (uint64_t changed = *before ^ now; changed; changed &= changed - 1) {
        int stage = __builtin_ctzll(changed);
        node_set_put(&sets[stage], id, now >> stage & 1);
    }
    *before = now;
}

static void judge_node(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    uint32_t slots[RESOURCES_MAX];
    count_free(s, id, slots);
    int64_t left = ledger_left_for_tasks(&node->ledger);
    uint64_t used = node->ledger.used[ROOM_SCRATCH] | node->ledger.used[ROOM_OUTPUT] |
                    node->ledger.used[ROOM_INPUT];
    uint64_t fits = 0, roomy = 0;
    for (uint16_t i = 0; node->up && i < s->plan.stage_count; i++) {
        uint64_t fit = fits_in(s, &s->plan.stages[i], slots);
        fits |= fit << i;
        roomy |= (fit & (s->reserves.tasks[i] <= left)) << i;
    }
    put_changed(s->slots, id, &node->slots, fits);
    put_changed(s->roomy, id, &node->roomy, roomy);
    put_changed(s->spare, id, &node->spare, fits & ~used);
    node->dirty = false;
}

// Of one node nobody chooses: it is asked itself.
static void judge_nodes(Schedule *s) {
    if (s->node_count == 1) return;
    for (uint32_t i = 0; i < s->dirty_count; i++) judge_node(s, s->dirty[i]);
    s->dirty_count = 0;
}

static bool node_has_slot(const Schedule *s, NodeId id, StageId stage) {
    if (s->node_count == 1) return node_fits(s, id, stage_of(s, stage), nullptr);
    return node_set_has(&s->slots[stage.i], id);
}

static bool has_slot(const Schedule *s, StageId stage) {
    const StageState *state = &s->stages[stage.i];
    NodeId node = {0};
    if (state->running >= state->width) return false;
    if (s->node_count == 1) return node_has_slot(s, node, stage);
    return node_set_first(&s->slots[stage.i], &node);
}

// ---- order --------------------------------------------------------------------------------------

bool edge_is_done(const Schedule *s, EdgeId edge) {
    if (s->on_edge[edge.i]) return false;
    if (s->over >> s->plan.edges[edge.i].from.i & 1) return true;
    return !order_first(&s->order, edge).i && !(s->shape.roots[edge.i] & ~s->exhausted);
}

// The first unfinished work of the stage; none: it is still to come.
static ItemId first_work(Schedule *s, StageId id) {
    const CoreStage *stage = stage_of(s, id);
    if (stage_is_root(stage)) return state_of(s, id)->oldest;
    for (uint8_t i = 0; i < stage->input_count; i++) {
        if (edge_is_done(s, stage->inputs[i])) continue;
        const Place *place = &s->order.places[order_first(&s->order, stage->inputs[i]).i];
        return (ItemId){place->kind == PLACE_ITEM ? place->item : 0};
    }
    return (ItemId){0};
}

bool is_first(Schedule *s, const Item *item) {
    if (item->rerun) return rerun_is_first(s, item);
    ItemId first = first_work(s, item->stage);
    // A unit that is about to begin is not in the list of its root.
    if (!first.i) return stage_is_root(stage_of(s, item->stage));
    return item_of(s, first) == item;
}

// May the stage have one more open task, for this item, or without one for a new unit? The last
// place is for the first unfinished work, unless that is open: else others could fill all places
// and wait for it.
static bool may_open(Schedule *s, StageId stage, const Item *item) {
    const StageState *state = state_of(s, stage);
    uint32_t most = stage_of(s, stage)->open_max, open = state->running + state->paused_count;
    if (!most || open + 1 < most) return true;
    if (open >= most) return false;
    ItemId first = first_work(s, stage);
    if (item && item->rerun) return true;
    if (!first.i) return stage_is_root(stage_of(s, stage));
    return item_of(s, first) == item || item_of(s, first)->state == ITEM_TAKEN;
}

// Have all items before it begun?
static bool is_next(const Schedule *s, const Item *item) {
    const CoreStage *stage = stage_of(s, item->stage);
    for (uint8_t i = 0; i < item->input; i++)
        if (!edge_is_done(s, stage->inputs[i])) return false;
    const Place *place = &s->order.places[item->place.i];
    PlaceId head = s->order.heads[place->edge.i];
    if (place->before.i == head.i) return true;
    const Place *before = &s->order.places[place->before.i];
    return before->kind == PLACE_ITEM && s->items[before->item].state == ITEM_TAKEN;
}

bool is_open(const Schedule *s, const Item *item) {
    const CoreStage *stage = stage_of(s, item->stage);
    if (s->shape.spools[stage->inputs[item->input].i] != SPOOL_LONG) return true;
    // A limit may have ended the inputs before: but what is made of this one waits in front of the
    // next sink until their roots have begun all units.
    for (uint8_t i = 0; i < item->input; i++) {
        EdgeId before = stage->inputs[i];
        if (!edge_is_done(s, before) || s->shape.roots[before.i] & ~s->exhausted) return false;
    }
    return true;
}

// ---- what could run -----------------------------------------------------------------------------

static bool tables_complete(const Schedule *s, const CoreStage *stage) {
    for (uint8_t n = 0; n < stage->need_count; n++)
        if (s->breakers[stage->needs[n].i].state != BREAKER_COMPLETE) return false;
    return true;
}

static bool inputs_over(const Schedule *s, const CoreStage *stage) {
    for (uint8_t i = 0; i < stage->input_count; i++)
        if (!(s->over >> s->plan.edges[stage->inputs[i].i].from.i & 1)) return false;
    return true;
}

// What a sink takes is written in turn.
static uint32_t width_of(const Schedule *s, StageId id) {
    return s->plan.stages[id.i].kind == STAGE_SINK ? 1 : s->stages[id.i].width;
}

// Seconds that all slots of the stage need for what waits in front of it.
static double seconds_ahead(const Schedule *s, StageId id) {
    const CoreStage *stage = stage_of(s, id);
    int64_t bytes = 0;
    for (uint8_t i = 0; i < stage->input_count; i++)
        bytes += s->stages[s->plan.edges[stage->inputs[i].i].from.i].queued;
    return pacing_seconds(&s->pacing, id, bytes) / width_of(s, id);
}

// Does enough wait in front of the stage that its slots are busy for longer than the source takes
// for some more units? Then these would only lie about: the memory allows for it, but small ones
// would be thousands, and out of all caches when their turn comes. Once that is so, the source
// rests until half of them are gone: to start it for each one costs more than a small task.
static bool is_crowded(Schedule *s, StageId id, double unit_seconds) {
    enum { PARTS_AHEAD = 64, UNITS_AHEAD = 16 };  // For each slot; of the source.
    StageState *state = state_of(s, id);
    uint32_t share = state->crowded ? 2 : 1;
    uint64_t parts = (uint64_t)PARTS_AHEAD * width_of(s, id);
    state->crowded = (uint64_t)state->ready_count * share > parts &&
                     seconds_ahead(s, id) * share > UNITS_AHEAD * unit_seconds;
    return state->crowded;
}

// Does what is ready in front of the stage wait for nothing but slots and memory?
static bool takes_all(const Schedule *s, StageId id) {
    const CoreStage *stage = &s->plan.stages[id.i];
    ItemId ready = s->stages[id.i].ready.root;
    if (!ready.i || stage->limit || stage_is_root(stage)) return false;
    for (uint8_t i = 0; i < stage->input_count; i++)
        if (s->shape.spools[stage->inputs[i].i]) return false;
    bool ordered = stage->kind == STAGE_SINK || stage->in_order;
    return !ordered || is_next(s, &s->items[ready.i]);
}

static bool is_far_ahead(Schedule *s, StageId source) {
    if (s->policy->admission != ADMIT_RATE) return false;
    double seconds = pacing_seconds(&s->pacing, source, state_of(s, source)->unit_bytes);
    bool far = false;
    for (uint16_t i = 0; i < s->plan.stage_count; i++)
        if (s->shape.above[i] >> source.i & 1 && takes_all(s, (StageId){i}))
            far |= is_crowded(s, (StageId){i}, seconds);
    return far;
}

static bool unit_may_begin(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    const CoreStage *described = stage_of(s, stage);
    if (s->exhausted >> stage.i & 1 || s->shape.before[stage.i] & ~s->exhausted) return false;
    if (state->uncut.i || state->waiting) return false;
    if (described->kind == STAGE_READER &&
        s->breakers[described->reads.i].state != BREAKER_COMPLETE)
        return false;
    if (described->kind == STAGE_READER)
        return !described->unmatched || !(s->shape.probers[described->reads.i] & ~s->over);
    int64_t when = pacing_when(&s->pacing, &s->plan, stage, s->now);
    bool rests = !s->running && !s->answers_due;  // Then no pace is too fast.
    if (rests || (when <= s->now && !is_far_ahead(s, stage))) return true;
    bool sets = s->now < when && when < INT64_MAX;
    if (sets && (s->timer <= s->now || when < s->timer)) s->timer = when;
    return false;
}

static bool is_readable(const Schedule *s, PartId part) {
    return s->parts[part.i].state == PART_RESIDENT || s->parts[part.i].state == PART_SPILLED;
}

static bool zip_may_begin(Schedule *s, StageId zip) {
    const CoreStage *stage = stage_of(s, zip);
    if (s->exhausted >> zip.i & 1) return false;
    for (uint8_t i = 0; i < 2; i++) {
        ItemId front = zip_front(s, stage->inputs[i]);
        if (!front.i || !is_readable(s, item_of(s, front)->part)) return false;
    }
    return true;
}

// Could the stage begin with a unit or a partition?
static bool may_begin(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    const CoreStage *described = stage_of(s, stage);
    ItemId ready = state->ready.root;
    bool rerun = ready.i && item_of(s, ready)->rerun;
    if (state->stopped && !rerun) return false;
    if (!tables_complete(s, described)) return false;
    bool waits = s->policy->staged && described->kind != STAGE_SINK;
    if (waits && !inputs_over(s, described)) return false;
    if (!may_open(s, stage, ready.i ? item_of(s, ready) : nullptr)) return false;
    if (!ready.i && described->kind == STAGE_ZIP) return zip_may_begin(s, stage);
    if (!ready.i) return stage_is_root(described) && unit_may_begin(s, stage);
    if (stage_is_root(described) || rerun) return true;
    const Item *item = item_of(s, ready);
    if (described->kind == STAGE_SINK) return is_next(s, item);
    if (described->limit && !is_first(s, item)) return false;
    if (described->in_order && !is_next(s, item)) return false;
    return is_open(s, item) && batch_may_begin(s, stage);
}

// Is there anything that could perhaps run?
static bool has_any(const Schedule *s, StageId stage) {
    const StageState *state = &s->stages[stage.i];
    return state->ready.root.i || state->paused.root.i || stage_is_root(stage_of(s, stage));
}

static bool has_work(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    return !state->blocked && (state->paused.root.i || may_begin(s, stage));
}

// Has the stage as many tasks at work as it needs? Tasks are whole: 2.7 are 3, and 0.2 are one.
static bool is_served(const Schedule *s, StageId stage, uint32_t running) {
    return s->policy->even && running && running + 0.5 >= s->pacing.due[stage.i];
}

// How much waits behind each stage, when one is to be chosen: bytes, or of policies that are even
// rows, as those of its roots that they come of. So a stage of narrow rows does not run ahead of
// one that makes them wide. And which stages have as many tasks at work as they need.
static void judge_stages(Schedule *s) {
    s->served = 0;
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const StageState *state = &s->stages[i];
        s->behind[i] = s->policy->even ? (double)state->queued_rows / s->pacing.given[i]
                                       : (double)state->queued;
        if (is_served(s, (StageId){i}, state->running)) s->served |= stage_bit((StageId){i});
    }
}

// Would a task of one leave less for the other? Else they share memory only.
static bool compete(const Schedule *s, StageId a, StageId b) {
    const CoreStage *x = stage_of(s, a), *y = stage_of(s, b);
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        if (x->demand[r] && y->demand[r]) return true;
    return false;
}

// Sinks first, batches that are not full last; else what has the least waiting behind it, of
// equals the one further down.
static bool is_better(const Schedule *s, StageId a, StageId b) {
    bool sink_a = stage_of(s, a)->kind == STAGE_SINK, sink_b = stage_of(s, b)->kind == STAGE_SINK;
    if (sink_a != sink_b) return sink_a;
    bool part_a = batch_is_part(s, a), part_b = batch_is_part(s, b);
    if (part_a != part_b) return part_b;
    bool served_a = s->served >> a.i & 1, served_b = s->served >> b.i & 1;
    if (served_a != served_b && compete(s, a, b)) return served_b;
    double behind_a = s->behind[a.i], behind_b = s->behind[b.i];
    return behind_a != behind_b ? behind_a < behind_b : a.i > b.i;
}

static bool pick(Schedule *s, StageId *best) {
    bool found = false;
    judge_nodes(s);
    judge_stages(s);
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        StageId stage = {i};
        if (!has_any(s, stage)) continue;
        if (!has_slot(s, stage)) {
            batch_let_go(s, stage);
            continue;
        }
        if (!has_work(s, stage)) {
            state_of(s, stage)->hungry &= state_of(s, stage)->blocked;
            continue;
        }
        if (!found || is_better(s, stage, *best)) *best = stage;
        found = true;
    }
    return found;
}

bool should_yield(Schedule *s, const Task *task) {
    if (!s->policy->yields) return false;
    const CoreStage *own = stage_of(s, task->stage);
    judge_nodes(s);
    judge_stages(s);
    if (!is_served(s, task->stage, s->stages[task->stage.i].running - 1))
        s->served &= ~stage_bit(task->stage);
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        StageId other = {i};
        if (i == task->stage.i || !is_better(s, other, task->stage)) continue;
        const StageState *state = state_of(s, other);
        if (state->running >= state->width || has_slot(s, other) || !has_work(s, other)) continue;
        if (node_fits(s, task->node, stage_of(s, other), own->demand)) return true;
    }
    return false;
}

// ---- memory -------------------------------------------------------------------------------------

// Does a stage below wait for memory, with work that is ready? More rows for it would take what it
// waits for, and be in its way. What is first does not mind: it has a reserve.
static bool gives_way(const Schedule *s, StageId id) {
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const StageState *state = &s->stages[i];
        bool waits = state->hungry && state->ready_count && s->shape.above[i] >> id.i & 1;
        if (waits && has_slot(s, (StageId){i})) return true;
    }
    return false;
}

// Each output that a task may still hand over has a record.
static bool has_record(const Schedule *s, bool first) {
    uint32_t kept = first ? 0 : s->plan.stage_count * s->node_count;
    return s->parts_live + s->outputs_open + kept + 1 < s->part_max;
}

bool output_take(Schedule *s, Task *task) {
    bool first = is_first(s, item_of(s, task->item));
    if (!has_record(s, first) || (!first && gives_way(s, task->stage))) return false;
    Ledger *ledger = &node_of(s, task->node)->ledger;
    Room room = task_room(task, ROOM_OUTPUT);
    task->output = ledger_take(ledger, &s->reserves, room, task->stage, first);
    s->outputs_open += task->output != PURSE_NONE;
    touch(s, task->node);
    return task->output;
}

static bool comes_from_elsewhere(const Schedule *s, PartId part, NodeId node) {
    return part.i && (s->parts[part.i].state != PART_RESIDENT || s->parts[part.i].node.i != node.i);
}

// Of a partition that is brought to the node.
static int64_t bytes_there(const Schedule *s, PartId part) {
    const Part *from = &s->parts[part.i];
    return from->state == PART_SPILLED ? from->stored : from->bytes;
}

bool needs_load(const Schedule *s, const Item *item, NodeId node) {
    return comes_from_elsewhere(s, item->part, node) || comes_from_elsewhere(s, item->side, node);
}

// The input comes from elsewhere, perhaps larger than its room: what is first does not wait for it.
static bool fit_input(Schedule *s, Task *task, const Item *item, bool first) {
    Ledger *ledger = &node_of(s, task->node)->ledger;
    int64_t bytes = 0, room = s->reserves.rooms[ROOM_INPUT][task->stage.i];
    PartId parts[] = {item->part, item->side};
    for (int i = 0; i < 2; i++)
        if (comes_from_elsewhere(s, parts[i], task->node)) bytes += bytes_there(s, parts[i]);
    if (!first && bytes > room && ledger->common_used + bytes - room > ledger->common) return false;
    // Whoever takes rows together brings more, one after the other.
    if (stage_of(s, task->stage)->batch && bytes < room) bytes = room;
    task->loaded = bytes;
    ledger_fit(ledger, &s->reserves, task_room(task, ROOM_INPUT), task->stage, task->input, bytes);
    return true;
}

bool take_input(Schedule *s, Task *task, int64_t bytes) {
    if (task->input) return bytes <= task->loaded;
    Ledger *ledger = &node_of(s, task->node)->ledger;
    int64_t room = s->reserves.rooms[ROOM_INPUT][task->stage.i];
    if (bytes > room) return false;
    task->input =
        ledger_take(ledger, &s->reserves, task_room(task, ROOM_INPUT), task->stage, false);
    task->loaded = room;
    touch(s, task->node);
    return task->input;
}

// All that a task needs on its node, or nothing.
static bool take_all(Schedule *s, Task *task, const Item *item, bool first) {
    Ledger *ledger = &node_of(s, task->node)->ledger;
    bool load = needs_load(s, item, task->node) && stage_of(s, task->stage)->kind != STAGE_SINK;
    if (!has_record(s, first) || (!first && gives_way(s, task->stage))) return false;
    Purse *purses[] = {&task->scratch, &task->output, &task->input};
    for (Room r = ROOM_SCRATCH; r <= (load ? ROOM_INPUT : ROOM_OUTPUT); r++) {
        *purses[r] = ledger_take(ledger, &s->reserves, task_room(task, r), task->stage, first);
        if (!*purses[r]) break;
    }
    s->outputs_open += task->output != PURSE_NONE;
    touch(s, task->node);
    if (task->output && !load) return true;
    task->loaded = s->reserves.rooms[ROOM_INPUT][task->stage.i];
    if (task->input && fit_input(s, task, item, first)) return true;
    for (Room r = ROOM_SCRATCH; r <= ROOM_INPUT; r++) purse_give(s, task, r);
    return false;
}

// Chooses a node and takes what the task needs there: where its input lies, or where there is
// memory, or for the first work where the reserve is free.
static bool place_task(Schedule *s, Task *task, const Item *item, bool first) {
    task->node = (NodeId){0};
    if (item->part.i) task->node = part_of(s, item->part)->node;
    if (s->node_count == 1 || stage_of(s, task->stage)->kind == STAGE_SINK) {
        task->node = (NodeId){0};
        return node_has_slot(s, task->node, task->stage) && take_all(s, task, item, first);
    }
    if (item->part.i && node_has_slot(s, task->node, task->stage) && take_all(s, task, item, first))
        return true;
    if (node_set_first(&s->roomy[task->stage.i], &task->node) && take_all(s, task, item, false))
        return true;
    if (!first) return false;
    if (!task->rerun)
        return node_set_first(&s->spare[task->stage.i], &task->node) &&
               take_all(s, task, item, true);
    for (uint32_t n = 0; n < s->node_count; n++) {
        task->node.i = (uint16_t)n;
        if (node_has_slot(s, task->node, task->stage) && take_all(s, task, item, true)) return true;
    }
    return false;
}

// ---- launches -----------------------------------------------------------------------------------

static void root_list_add(Schedule *s, StageState *state, ItemId id) {
    Item *item = item_of(s, id);
    item->older = state->newest;
    if (state->newest.i)
        item_of(s, state->newest)->newer = id;
    else
        state->oldest = id;
    state->newest = id;
}

static void say_launch(Schedule *s, const Item *item, TaskId id) {
    const Task *task = task_of(s, id);
    Action action = {.kind = ACTION_LAUNCH,
                     .stage = task->stage,
                     .node = task->node,
                     .task = id,
                     .unit = item->name.unit,
                     .part = item->part,
                     .of_unit = !item->part.i,
                     .again = item->again,
                     .load = needs_load(s, item, task->node)};
    if (item->part.i) action.data = part_of(s, item->part)->data;
    if (item->side.i) {
        action.kind = ACTION_PIECE;
        action.other = part_of(s, item->side)->data;
        action.row = item->row, action.other_row = item->side_row, action.rows = item->rows;
    }
    act(s, action);
}

static bool launch_item(Schedule *s, StageId stage, ItemId id) {
    Item *item = item_of(s, id);
    Task task = {.item = id, .stage = stage, .rerun = item->rerun, .started = s->now};
    if (s->task_count == s->task_max && !s->task_unused.i) return false;
    if (!place_task(s, &task, item, is_first(s, item))) return false;
    go(s, &item->state, ITEM_TAKEN);
    item->task = task_new(s, task);
    slot_take(s, stage, task.node);
    state_of(s, stage)->launched++;
    say_launch(s, item, item->task);
    part_waits(s, item, -1);
    task_hold(s, task_of(s, item->task), item);
    return true;
}

static bool resume(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    Item *item = item_of(s, state->paused.root);
    Task *task = task_of(s, item->task);
    if (!node_has_slot(s, task->node, stage)) return false;
    if (task->need && !need_take(s, task)) return false;
    if (!task->output && !output_take(s, task)) return false;
    heap_pop(s->items, &state->paused);
    state->paused_count--;
    go(s, &task->state, TASK_RUNNING);
    slot_take(s, stage, task->node);
    act(s, (Action){.kind = ACTION_RESUME, .stage = stage, .node = task->node, .task = item->task});
    return true;
}

void root_exhaust(Schedule *s, StageId root) {
    if (s->exhausted >> root.i & 1) return;
    s->exhausted |= stage_bit(root);
    order_root_end(&s->order, root);
}

// The first unit from `unit` on that was not committed before the start.
static uint32_t unit_behind(const Schedule *s, StageId stage, uint32_t unit) {
    for (uint32_t i = 0; i < s->skipped_count; i++) {
        const Skipped *skipped = &s->skipped[i];
        if (skipped->stage.i == stage.i && unit - skipped->first < skipped->count)
            unit = skipped->first + skipped->count;
    }
    return unit;
}

void root_judge(Schedule *s, StageId root) {
    StageState *state = state_of(s, root);
    bool zip = stage_of(s, root)->kind == STAGE_ZIP;  // It takes its sides to their end.
    if (!zip) state->unit_next = unit_behind(s, root, state->unit_next);
    bool bounded = !zip && state->unit_next >= state->bound;
    if (state->unit_next >= state->units || bounded) root_exhaust(s, root);
}

void roots_start(Schedule *s) {
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        StageId id = {i};
        if (stage_of(s, id)->kind == STAGE_SOURCE) root_judge(s, id);
        if (stage_of(s, id)->kind == STAGE_ZIP) state_of(s, id)->unit_next = unit_behind(s, id, 0);
    }
}

static void launched_unit(Schedule *s, StageId stage, ItemId id) {
    item_of(s, id)->marks = order_unit(&s->order, stage, id.i);
    root_list_add(s, state_of(s, stage), id);
}

static bool launch_unit(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    ItemId id = item_new(s, (Item){.stage = stage,
                                   .name = {.root = stage, .unit = state->unit_next},
                                   .bytes = state->unit_bytes});
    if (!launch_item(s, stage, id)) return item_free(s, id), false;
    launched_unit(s, stage, id);
    if (stage_of(s, stage)->serial) state->uncut = id;
    state->unit_next++;
    root_judge(s, stage);
    if (stage_of(s, stage)->kind == STAGE_SOURCE)
        pacing_admit(&s->pacing, stage, state->unit_bytes);
    return true;
}

// What a piece takes of one side; the side goes with its last row.
static void zip_cut(Schedule *s, ItemId id, int64_t rows) {
    Item *side = item_of(s, id);
    int64_t filled = side->filled * rows / side->rows;
    side->row += rows, side->rows -= rows, side->filled -= filled;
    state_of(s, side->maker)->queued_rows -= rows;
    state_of(s, side->stage)->waiting_bytes -= filled;
    if (!side->rows) item_end(s, id);
}

static bool launch_piece(Schedule *s, StageId zip) {
    StageState *state = state_of(s, zip);
    const CoreStage *stage = stage_of(s, zip);
    ItemId left = zip_front(s, stage->inputs[0]), right = zip_front(s, stage->inputs[1]);
    const Item *a = item_of(s, left), *b = item_of(s, right);
    int64_t rows = a->rows < b->rows ? a->rows : b->rows;
    ItemId id = item_new(s, (Item){.stage = zip,
                                   .name = {.root = zip, .unit = state->unit_next},
                                   .part = a->part,
                                   .side = b->part,
                                   .rows = rows,
                                   .row = a->row,
                                   .side_row = b->row,
                                   .bytes = (a->bytes + b->bytes) * rows / (a->rows + b->rows)});
    part_of(s, item_of(s, id)->part)->readers++;
    part_of(s, item_of(s, id)->side)->readers++;
    if (!launch_item(s, zip, id)) {
        part_of(s, item_of(s, id)->part)->readers--;
        part_of(s, item_of(s, id)->side)->readers--;
        return item_free(s, id), false;
    }
    launched_unit(s, zip, id);
    state->unit_next++;
    zip_cut(s, left, rows);
    zip_cut(s, right, rows);
    zip_bound(s, zip);
    return true;
}

static bool launch_ready(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    ItemId id = state->ready.root;
    const Item *ready = item_of(s, id);
    if (ready->rerun && ready->again && !ready->children.i) {
        // What it was to make again is not wanted any more.
        ready_pop(s, stage);
        item_end(s, id);
        s->recheck = true;
        return true;
    }
    if (item_of(s, id)->part.i) {
        if (!is_readable(s, item_of(s, id)->part)) {
            ready_pop(s, stage);
            item_wait(s, id);
            return true;
        }
    }
    if (!launch_item(s, stage, id)) return false;
    ready_pop(s, stage);
    if (item_of(s, id)->part.i && !item_of(s, id)->rerun) coalesce(s, stage, id);
    return true;
}

static bool start(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    ItemId paused = state->paused.root, ready = state->ready.root;
    bool sooner = paused.i && ready.i && item_before(item_of(s, ready), item_of(s, paused)) &&
                  may_begin(s, stage);
    if (paused.i && !sooner) {
        if (resume(s, stage)) return true;
        const Task *task = task_of(s, item_of(s, paused)->task);
        if (node_has_slot(s, task->node, stage)) return false;  // Memory is missing.
    }
    if (!sooner && !may_begin(s, stage)) return false;
    if (ready.i) return launch_ready(s, stage);
    return stage_of(s, stage)->kind == STAGE_ZIP ? launch_piece(s, stage) : launch_unit(s, stage);
}

// ---- checks -------------------------------------------------------------------------------------

// A partition that needs nothing but a slot and common memory, and has both. Of one node, and of
// stages that take partitions as they come.
static bool is_idle(const Schedule *s, StageId stage) {
    const StageState *state = &s->stages[stage.i];
    const CoreStage *described = stage_of(s, stage);
    bool simple = described->kind == STAGE_MAP && !described->limit && !described->in_order &&
                  !described->open_max && !state->paused.root.i &&
                  state->ready_rows >= described->batch;
    if (!simple || !state->ready.root.i || state->running >= state->width) return false;
    const Item *item = &s->items[state->ready.root.i];
    const Ledger *ledger = &s->nodes[0].ledger;
    return tables_complete(s, described) && is_open(s, item) && !gives_way(s, stage) &&
           s->parts[item->part.i].state == PART_RESIDENT && has_record(s, false) &&
           node_fits(s, (NodeId){0}, described, nullptr) &&
           s->reserves.tasks[stage.i] <= ledger_left_for_tasks(ledger);
}

const char *check_idle(const Schedule *s) {
    if (s->node_count > 1 || s->policy->staged) return nullptr;
    for (uint16_t i = 0; i < s->plan.stage_count; i++)
        if (is_idle(s, (StageId){i})) return "a slot is idle, and work could run";
    return nullptr;
}

// ---- second attempts ----------------------------------------------------------------------------

// When a task has taken so much longer than others that it is worth a second attempt.
static int64_t is_late_at(const Schedule *s, const Task *task, const Item *item) {
    // A second attempt is not worth less than a tenth of a second.
    static const double TIMES_LONGER = 4, AT_LEAST = 0.1;
    const Pace *pace = &s->pacing.stages[task->stage.i];
    double expected = pace->seconds / pace->in_bytes * (double)item->bytes;
    if (expected < AT_LEAST / TIMES_LONGER) expected = AT_LEAST / TIMES_LONGER;
    return task->started + (int64_t)(TIMES_LONGER * expected * 1e9);
}

static bool may_have_twin(const Schedule *s, TaskId id) {
    const Task *task = &s->tasks[id.i];
    if (task->state != TASK_RUNNING || task->rerun || task->chain.i) return false;
    const Item *item = &s->items[task->item.i];
    return item->task.i == id.i && !item->twin.i;
}

// The same item once more on another node, in memory that nobody else needs.
static void launch_twin(Schedule *s, TaskId id) {
    const Task *late = task_of(s, id);
    Item *item = item_of(s, late->item);
    Task task = {.item = late->item, .stage = late->stage, .started = s->now};
    if (s->task_count == s->task_max && !s->task_unused.i) return;
    if (!node_set_first(&s->roomy[task.stage.i], &task.node) || task.node.i == late->node.i) return;
    bool readable = !item->part.i || is_readable(s, item->part);
    if (!readable || !take_all(s, &task, item, false)) return;
    item->twin = task_new(s, task);
    slot_take(s, task.stage, task.node);
    s->twins++;
    say_launch(s, item, item->twin);
    task_hold(s, task_of(s, item->twin), item);
}

void launch_twins(Schedule *s) {
    enum { LOOKS_MAX = 4 };  // The oldest tasks of a stage.
    if (s->node_count == 1 || !s->policy->yields) return;
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const CoreStage *stage = &s->plan.stages[i];
        bool fits = stage->kind != STAGE_SINK && !stage->limit && !stage->fill_count &&
                    !stage->serial;
        TaskId id = s->stages[i].first;
        for (int n = 0; fits && id.i && n < LOOKS_MAX; n++) {
            TaskId next = task_of(s, id)->next;
            judge_nodes(s);
            if (!has_slot(s, (StageId){i}) || !may_open(s, (StageId){i}, nullptr)) break;
            if (may_have_twin(s, id)) {
                int64_t when = is_late_at(s, task_of(s, id), item_of(s, task_of(s, id)->item));
                if (when <= s->now)
                    launch_twin(s, id);
                else if (s->timer <= s->now || when < s->timer)
                    s->timer = when;
            }
            id = next;
        }
    }
}

void fill_slots(Schedule *s) {
    StageId stage = {0};
    zips_judge(s);
    s->hurries = false;
    do {
        for (uint16_t i = 0; i < s->plan.stage_count; i++) s->stages[i].blocked = false;
        while (!s->wrong && pick(s, &stage))
            state_of(s, stage)->blocked = state_of(s, stage)->hungry = !start(s, stage);
        s->hurries = !s->hurries && !s->running && !s->answers_due;
    } while (s->hurries);
}
