#include "runtime/core/state.h"

// Pool: records come and go, and with them slots and memory.

// ---- items --------------------------------------------------------------------------------------

ItemId item_new(Schedule *s, Item item) {
    ItemId id = s->item_unused;
    if (id.i)
        s->item_unused = item_of(s, id)->sibling;
    else
        id.i = s->item_count++;
    item.state = ITEM_NONE;
    *item_of(s, id) = item;
    go(s, &item_of(s, id)->state, ITEM_READY);
    state_of(s, item.stage)->live++;
    s->items_live++;
    return id;
}

void item_free(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    go(s, &item->state, ITEM_NONE);
    item->sibling = s->item_unused;
    s->item_unused = id;
    state_of(s, item->stage)->live--;
    s->items_live--;
}

void item_ready(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    bool side = stage_of(s, item->stage)->kind == STAGE_ZIP && item->name.root.i != item->stage.i;
    if (side) return;  // Pieces are cut from the first places of the edges.
    StageState *state = state_of(s, item->stage);
    heap_push(s->items, &state->ready, id);
    state->ready_count++;
    state->ready_rows += item->rows;
    set_add(&s->ready, item->stage);
}

static void ready_gone(Schedule *s, StageState *state, ItemId id) {
    const Item *item = item_of(s, id);
    state->ready_count--;
    state->ready_rows -= item->rows;
    set_put(&s->ready, item->stage, state->ready_count);
}

void ready_remove(Schedule *s, ItemId id) {
    StageState *state = state_of(s, item_of(s, id)->stage);
    if (state->ready.root.i == id.i) {
        ready_pop(s, item_of(s, id)->stage);
        return;
    }
    heap_remove(s->items, &state->ready, id);
    ready_gone(s, state, id);
}

ItemId ready_pop(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    ItemId id = heap_pop(s->items, &state->ready);
    ready_gone(s, state, id);
    // The first of what is ready is looked at in each step, and its partition when it is launched.
    const Item *next = item_of(s, state->ready.root);
    __builtin_prefetch(part_of(s, next->part), 1);
    __builtin_prefetch(&s->order.places[next->place.i], 1);
    return id;
}

// ---- paused tasks -------------------------------------------------------------------------------

void paused_push(Schedule *s, ItemId id) {
    StageState *state = state_of(s, item_of(s, id)->stage);
    heap_push(s->items, &state->paused, id);
    state->paused_count++;
    set_add(&s->paused, item_of(s, id)->stage);
}

void paused_remove(Schedule *s, ItemId id) {
    StageState *state = state_of(s, item_of(s, id)->stage);
    heap_remove(s->items, &state->paused, id);
    state->paused_count--;
    set_put(&s->paused, item_of(s, id)->stage, state->paused_count);
}

ItemId paused_pop(Schedule *s, StageId stage) {
    ItemId id = state_of(s, stage)->paused.root;
    paused_remove(s, id);
    return id;
}

// ---- partitions ---------------------------------------------------------------------------------

void part_link(Schedule *s, PartId id) {
    if (s->node_count == 1) return;
    Part *part = part_of(s, id);
    PartId *head = &node_of(s, part->node)->parts;
    part->node_next = *head, part->node_prior = (PartId){0};
    if (head->i) part_of(s, *head)->node_prior = id;
    *head = id;
}

void part_unlink(Schedule *s, PartId id) {
    if (s->node_count == 1) return;
    Part *part = part_of(s, id);
    PartId *head = &node_of(s, part->node)->parts;
    if (part->node_prior.i)
        part_of(s, part->node_prior)->node_next = part->node_next;
    else
        *head = part->node_next;
    if (part->node_next.i) part_of(s, part->node_next)->node_prior = part->node_prior;
    part->node_next = part->node_prior = (PartId){0};
}

PartId part_new(Schedule *s, Part part) {
    PartId id = s->part_unused;
    if (id.i)
        s->part_unused = part_of(s, id)->next;
    else
        id.i = s->part_count++;
    State state = part.state;
    part.state = PART_NONE;
    *part_of(s, id) = part;
    go(s, &part_of(s, id)->state, state);
    if (state != PART_LOST) part_link(s, id);
    s->parts_live++;
    return id;
}

static void part_give_back(Schedule *s, const Part *part) {
    Ledger *ledger = &node_of(s, part->node)->ledger;
    if (part->state == PART_SPILLED) ledger_stub(ledger, s->plan.stubs_free, -s->plan.stub_bytes);
    else if (!part->purse) return;
    ledger_give(ledger, &s->reserves, part->room, part->stage, part->purse, part->bytes);
    touch(s, part->node);
}

void part_free(Schedule *s, PartId id) {
    Part *part = part_of(s, id);
    if (part->state != PART_LOST) part_unlink(s, id);
    part_give_back(s, part);
    bool made = part->rows >= 0 && !part->parted;
    if (made) act(s, (Action){.kind = ACTION_FREE, .data = part->data, .stage = part->stage});
    go(s, &part->state, PART_NONE);
    part->next = s->part_unused;
    s->part_unused = id;
    s->parts_live--;
}

void part_done(Schedule *s, PartId id) {
    Part *part = part_of(s, id);
    part->readers--;
    spool_judge(s, id);
    if (part->readers) return;
    if (part->state == PART_SPILLING)
        go(s, &part->state, PART_DROPPED);
    else if (part->state == PART_LOST)
        lost_drop(s, id);
    else
        part_free(s, id);
}

// ---- tasks --------------------------------------------------------------------------------------

TaskId task_new(Schedule *s, Task task) {
    TaskId id = s->task_unused;
    if (id.i)
        s->task_unused = task_of(s, id)->next;
    else
        id.i = s->task_count++;
    StageState *state = state_of(s, task.stage);
    NodeState *node = node_of(s, task.node);
    task.state = TASK_NONE;
    task.prior = state->last, task.next = (TaskId){0};
    task.node_next = node->tasks, task.node_prior = (TaskId){0};
    *task_of(s, id) = task;
    go(s, &task_of(s, id)->state, TASK_RUNNING);
    if (state->last.i)
        task_of(s, state->last)->next = id;
    else
        state->first = id;
    state->last = id;
    if (node->tasks.i) task_of(s, node->tasks)->node_prior = id;
    node->tasks = id;
    s->tasks_live++;
    return id;
}

void task_free(Schedule *s, TaskId id) {
    Task *task = task_of(s, id);
    StageState *state = state_of(s, task->stage);
    if (task->prior.i)
        task_of(s, task->prior)->next = task->next;
    else
        state->first = task->next;
    if (task->next.i)
        task_of(s, task->next)->prior = task->prior;
    else
        state->last = task->prior;
    if (task->node_prior.i)
        task_of(s, task->node_prior)->node_next = task->node_next;
    else
        node_of(s, task->node)->tasks = task->node_next;
    if (task->node_next.i) task_of(s, task->node_next)->node_prior = task->node_prior;
    go(s, &task->state, TASK_NONE);
    task->next = s->task_unused;
    s->task_unused = id;
    s->tasks_live--;
}

void purse_give(Schedule *s, Task *task, Room room) {
    Purse *purse = room == ROOM_OUTPUT  ? &task->output
                   : room == ROOM_INPUT ? &task->input
                                        : &task->scratch;
    if (*purse == PURSE_NONE) return;
    if (room == ROOM_OUTPUT) s->outputs_open--;
    int64_t bytes = room == ROOM_INPUT ? task->loaded : s->reserves.rooms[room][task->stage.i];
    ledger_give(&node_of(s, task->node)->ledger, &s->reserves, task_room(task, room), task->stage,
                *purse, bytes);
    *purse = PURSE_NONE;
    touch(s, task->node);
}

// ---- what a task reads --------------------------------------------------------------------------

void task_hold(Schedule *s, Task *task, const Item *item) {
    task->parts[0] = item->part, task->parts[1] = item->side;
    for (int i = 0; i < 2; i++) {
        if (!task->parts[i].i) continue;
        part_of(s, task->parts[i])->readers++;
        spool_judge(s, task->parts[i]);
    }
}

void task_release(Schedule *s, Task *task) {
    PartId parts[2] = {task->parts[0], task->parts[1]};
    task->parts[0] = task->parts[1] = (PartId){0};
    for (int i = 0; i < 2; i++)
        if (parts[i].i) part_done(s, parts[i]);
}

// ---- slots --------------------------------------------------------------------------------------

void slots_judge(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    const NodeKind *kind = plan_node(&s->plan, id);
    const StageSet *runs = node_runs(s, id);
    uint64_t usable = node_is_usable(node) ? UINT64_MAX : 0;
    for (uint16_t w = 0; w < s->words; w++) node->words[w].slots = runs->words[w] & usable;
    for (uint8_t r = 0; r < s->plan.resource_count; r++) {
        const StageSet *fits = shape_fits(&s->shape, r, kind->capacity[r] - node->used[r]);
        for (uint16_t w = 0; w < s->words; w++) node->words[w].slots &= fits->words[w];
    }
}

void slots_judge_one(Schedule *s) {
    slots_judge(s, (NodeId){0});
    for (uint16_t w = 0; w < s->words; w++) s->free.words[w] = s->nodes[0].words[w].slots;
}

static void slots_changed(Schedule *s, StageId stage, NodeId node) {
    const StageState *state = state_of(s, stage);
    set_put(&s->full, stage, stage_is_full(state));
    if (s->node_count == 1) slots_judge_one(s);
    touch(s, node);
}

void slot_take(Schedule *s, StageId stage, NodeId node) {
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        node_of(s, node)->used[r] += stage_of(s, stage)->demand[r];
    state_of(s, stage)->running++;
    s->running++;
    spent_forget(s, node_of(s, node));
    slots_changed(s, stage, node);
}

void slot_await(Schedule *s, Task *task) {
    NodeState *node = node_of(s, task->node);
    StageState *state = state_of(s, task->stage);
    task->ahead = true;
    s->aheads++;
    node->ahead++, state->ahead++;
    state->running++, s->running++;
    spent_forget(s, node);
}

static void give_place(Schedule *s, Task *task) {
    task->ahead = false;
    node_of(s, task->node)->ahead--;
    state_of(s, task->stage)->ahead--;
}

void slot_give(Schedule *s, Task *task) {
    NodeState *node = node_of(s, task->node);
    state_of(s, task->stage)->running--;
    s->running--;
    if (task->ahead) {
        give_place(s, task);
        return;
    }
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        node->used[r] -= stage_of(s, task->stage)->demand[r];
    if (node->ahead) slots_pass_on(s, task->node);
    slots_changed(s, task->stage, task->node);
}
