#include "runtime/core/state.h"

// Launch: where what was chosen gets its slot and memory.

// ---- memory -------------------------------------------------------------------------------------

// Does a stage below wait for memory, with work that is ready? More rows for it would take what it
// waits for, and be in its way. What is first does not mind: it has a reserve.
static bool gives_way(const Schedule *s, StageId id) {
    uint64_t any = 0;
    for (uint16_t w = 0; w < s->words; w++)
        any |= s->hungry.words[w] & s->ready.words[w] & s->shape.beneath[id.i].words[w] &
               s->free.words[w] & ~s->full.words[w];
    return any;
}

// Notes it, too: when the other has got what it waits for, this one is tried again.
static bool stands_back(Schedule *s, StageId id, bool first) {
    bool stands = !first && gives_way(s, id);
    if (stands) set_add(&s->standing_back, id);
    return stands;
}

// Each output that a task may still hand over has a record.
static bool has_record(const Schedule *s, bool first) {
    uint32_t kept = first ? 0 : s->plan.stage_count * s->node_count;
    return s->parts_live + s->outputs_open + kept + 1 < s->part_max;
}

bool output_take(Schedule *s, Task *task) {
    bool first = is_first(s, item_of(s, task->item));
    if (!has_record(s, first) || stands_back(s, task->stage, first)) return false;
    Ledger *ledger = &node_of(s, task->node)->ledger;
    Room room = task_room(task, ROOM_OUTPUT);
    task->output = ledger_take(ledger, &s->reserves, room, task->stage, first);
    s->outputs_open += task->output != PURSE_NONE;
    touch(s, task->node);
    return task->output;
}

static bool comes_from_elsewhere(const Schedule *s, PartId id, NodeId node) {
    const Part *part = &s->parts[id.i];
    bool there = part->node.i == node.i || s->plan.shares;
    return id.i && (part->state != PART_RESIDENT || !there);
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
    if (!has_record(s, first) || stands_back(s, task->stage, first)) return false;
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
    if (s->node_count == 1 || is_at_home(s, task->stage)) {
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

static bool place_beyond(Schedule *s, Task *task, const Item *item, NodeId node) {
    task->node = node;
    return !needs_load(s, item, node) && take_all(s, task, item, false);
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
                     .ahead = task->ahead,
                     .load = needs_load(s, item, task->node),
                     .item = task->item.i,
                     .outputs = outputs_before(item)};
    if (item->part.i) action.data = part_of(s, item->part)->data;
    if (item->side.i) {
        action.kind = ACTION_PIECE;
        action.side = item->side, action.other = part_of(s, item->side)->data;
        action.row = item->row, action.other_row = item->side_row, action.rows = item->rows;
    }
    act(s, action);
}

// On the node `beyond` its slots; the first node: where there is a slot.
static bool launch_item(Schedule *s, StageId stage, ItemId id, NodeId beyond) {
    Item *item = item_of(s, id);
    Task task = {.item = id, .stage = stage, .rerun = item->rerun, .started = s->now};
    if (s->task_count == s->task_max && !s->task_unused.i) return false;
    bool placed = beyond.i ? place_beyond(s, &task, item, beyond)
                           : place_task(s, &task, item, is_first(s, item));
    if (!placed) return false;
    go(s, &item->state, ITEM_TAKEN);
    item->begun = true;
    item->task = task_new(s, task);
    if (beyond.i) slot_await(s, task_of(s, item->task));
    else slot_take(s, stage, task.node);
    state_of(s, stage)->launched++;
    say_launch(s, item, item->task);
    part_waits(s, item, -1);
    task_hold(s, task_of(s, item->task), item);
    return true;
}

static bool resume(Schedule *s, StageId stage, ItemId id) {
    const Item *item = item_of(s, id);
    Task *task = task_of(s, item->task);
    if (!node_has_slot(s, task->node, stage)) return false;
    if (task->need && !need_take(s, task)) return false;
    if (!task->output && !output_take(s, task)) return false;
    paused_remove(s, id);
    go(s, &task->state, TASK_RUNNING);
    slot_take(s, stage, task->node);
    act(s, (Action){.kind = ACTION_RESUME, .stage = stage, .node = task->node, .task = item->task});
    return true;
}

// A zip waits for both of its sides, and for no root.
static void judge_openers(Schedule *s) {
    for (uint16_t w = 0; w < s->words; w++) {
        uint64_t left = s->shape.all_roots.words[w] & ~s->exhausted.words[w];
        s->openers.words[w] = 0;
        for (; left; left &= left - 1) {
            StageId root = word_first(w, left);
            bool free = bits_within(&s->shape.before[root.i], &s->exhausted, s->words);
            if (free || stage_of(s, root)->kind == STAGE_ZIP) set_add(&s->openers, root);
        }
    }
}

void root_exhaust(Schedule *s, StageId root) {
    if (set_has(&s->exhausted, root)) return;
    set_add(&s->exhausted, root);
    judge_openers(s);
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
    judge_openers(s);
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

static bool launch_unit(Schedule *s, StageId stage, NodeId beyond) {
    StageState *state = state_of(s, stage);
    ItemId id = item_new(s, (Item){.stage = stage,
                                   .name = {.root = stage, .unit = state->unit_next},
                                   .bytes = state->unit_bytes});
    if (!launch_item(s, stage, id, beyond)) return item_free(s, id), false;
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
    part_waits(s, item_of(s, id), 1);
    if (!launch_item(s, zip, id, (NodeId){0})) {
        part_waits(s, item_of(s, id), -1);
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

static bool launch_ready(Schedule *s, StageId stage, ItemId id, NodeId beyond) {
    const Item *ready = item_of(s, id);
    if (ready->rerun && ready->again && !ready->children.i) {
        // What it was to make again is not wanted any more.
        ready_remove(s, id);
        item_end(s, id);
        s->recheck = true;
        return true;
    }
    if (missing_part(s, ready).i) {
        ready_remove(s, id);
        item_wait(s, id);
        return true;
    }
    bool root = state_of(s, stage)->ready.root.i == id.i;
    if (!launch_item(s, stage, id, beyond)) return false;
    ready_remove(s, id);
    if (root && ready->part.i && !ready->rerun) coalesce(s, stage, id);
    return true;
}

static bool start_first(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    ItemId paused = state->paused.root, ready = state->ready.root;
    bool sooner = paused.i && ready.i && item_before(item_of(s, ready), item_of(s, paused)) &&
                  may_begin(s, stage);
    if (paused.i && !sooner) {
        if (resume(s, stage, paused)) return true;
        const Task *task = task_of(s, item_of(s, paused)->task);
        if (node_has_slot(s, task->node, stage)) return false;  // Memory is missing.
    }
    if (!sooner && !may_begin(s, stage)) return false;
    NodeId none = {0};
    if (ready.i) return launch_ready(s, stage, ready, none);
    return stage_of(s, stage)->kind == STAGE_ZIP ? launch_piece(s, stage)
                                                 : launch_unit(s, stage, none);
}

bool start_work(Schedule *s, StageId stage, ItemId id) {
    if (item_of(s, id)->state == ITEM_TAKEN) return resume(s, stage, id);
    return may_take(s, stage, id) && launch_ready(s, stage, id, (NodeId){0});
}

// What stands first gets nothing: what has a reserve does not wait for it.
static bool start(Schedule *s, StageId stage) {
    if (start_first(s, stage)) return true;
    if (!s->reruns.i) return false;
    Favored favored = favored_work(s, stage);
    bool started = false;
    for (uint32_t i = 0; i < favored.count && !started; i++)
        started = start_work(s, stage, favored.items[i]);
    return started;
}

// Of what never began before: what is run again may be what others wait for.
static bool start_beyond(Schedule *s, StageId stage, NodeId node) {
    ItemId ready = state_of(s, stage)->ready.root;
    if (!ready.i) return launch_unit(s, stage, node);
    const Item *item = item_of(s, ready);
    bool fresh = item->part.i && !item->begun;
    return fresh && !missing_part(s, item).i && launch_ready(s, stage, ready, node);
}

void launch_ahead(Schedule *s) {
    if (s->node_count == 1 || s->reruns.i || !s->policy->yields) return;
    for (uint32_t n = 1; n < s->node_count; n++) {
        NodeId node = {(uint16_t)n};
        StageId stage;
        while (node_of(s, node)->ahead < plan_node(&s->plan, node)->ahead && !s->wrong &&
               pick_ahead(s, node, &stage))
            if (!start_beyond(s, stage, node)) break;
    }
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

// What an attempt that is canceled has put into a breaker stays there.
static bool may_have_twin(const Schedule *s, TaskId id) {
    const Task *task = &s->tasks[id.i];
    if (s->plan.stages[task->stage.i].fill_count > 0) return false;
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
    NodeSet others = s->roomy[task.stage.i];
    node_set_put(&others, late->node, false);
    if (!node_set_first(&others, &task.node)) return;
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
        bool fits = !is_at_home(s, (StageId){i}) && !stage->limit && !stage->fill_count &&
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

// Stages that stood back before others whose wait is over. True: there are some.
static bool come_forward(Schedule *s) {
    bool any = false;
    for (uint16_t w = 0; w < s->words; w++) {
        for (uint64_t left = s->standing_back.words[w]; left; left &= left - 1) {
            StageId stage = word_first(w, left);
            if (gives_way(s, stage)) continue;
            set_put(&s->standing_back, stage, false), set_put(&s->blocked, stage, false);
            any = true;
        }
    }
    return any;
}

void fill_slots(Schedule *s) {
    StageId stage = {0};
    zips_judge(s);
    s->hurries = false;
    do {
        bits_clear(&s->blocked, s->words), bits_clear(&s->standing_back, s->words);
        do {
            while (!s->wrong && pick(s, &stage)) {
                bool started = start(s, stage);
                set_put(&s->blocked, stage, !started), set_put(&s->hungry, stage, !started);
            }
        } while (!s->wrong && come_forward(s));
        s->hurries = !s->hurries && !s->running && !s->answers_due;
    } while (s->hurries);
}
