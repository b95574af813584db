#include "runtime/core/state.h"

// Spill: bytes that tasks and breakers ask for while they run, and what is written to disk when
// memory is short: partitions in front of spools, and what breakers hold.

// ---- partitions ---------------------------------------------------------------------------------

void part_waits(Schedule *s, const Item *item, int more) {
    if (!item->part.i) return;
    Part *part = part_of(s, item->part);
    if (item->side.i) {
        // A piece of a zip, whose rows are none of the sides' any more.
        Part *side = part_of(s, item->side);
        part->idle = (uint16_t)(part->idle + more);
        side->idle = (uint16_t)(side->idle + more);
        return;
    }
    Spool spool = s->shape.spools[stage_of(s, item->stage)->inputs[item->input].i];
    state_of(s, item->maker)->queued += more * part->bytes;
    state_of(s, item->maker)->queued_rows += more * item->rows;
    state_of(s, item->stage)->waiting_bytes += more * item->filled;
    part->idle = (uint16_t)(part->idle + more);
    if (spool) part->spooled = (uint16_t)(part->spooled + more);
    if (spool && more > 0) part->is_short = spool == SPOOL_SHORT;
    spool_judge(s, item->part);
}

// What a reserve is waiting for stands first.
static void spool_add(Schedule *s, PartId id) {
    Part *part = part_of(s, id);
    PartId *head = &node_of(s, part->node)->spools[!part->is_short];
    PartId prior = {0}, next = *head;
    if (next.i && part_of(s, next)->purse == PURSE_RESERVE && part->purse != PURSE_RESERVE)
        prior = next, next = part_of(s, next)->next;
    part->prior = prior, part->next = next;
    if (prior.i)
        part_of(s, prior)->next = id;
    else
        *head = id;
    if (next.i) part_of(s, next)->prior = id;
    part->listed = true;
}

static void spool_remove(Schedule *s, PartId id) {
    Part *part = part_of(s, id);
    // It may have come in by the other list: its head says.
    PartId *heads = node_of(s, part->node)->spools;
    if (part->prior.i)
        part_of(s, part->prior)->next = part->next;
    else
        heads[heads[1].i == id.i] = part->next;
    if (part->next.i) part_of(s, part->next)->prior = part->prior;
    part->listed = false;
}

void spool_judge(Schedule *s, PartId id) {
    if (!s->shape.spool_count) return;
    Part *part = part_of(s, id);
    bool may = part->state == PART_RESIDENT && part->readers && part->spooled == part->readers;
    if (may && !part->listed)
        spool_add(s, id);
    else if (!may && part->listed)
        spool_remove(s, id);
}

void spill_part(Schedule *s, NodeState *node, PartId id) {
    Part *part = part_of(s, id);
    if (part->idle != part->readers)
        break_off(s, "a partition is written to disk while a task reads it");
    go(s, &part->state, PART_SPILLING);
    spool_judge(s, id);
    node->spilling++;
    node->answers_due++, s->answers_due++;
    s->spilled_bytes += (uint64_t)part->bytes;
    act(s, (Action){.kind = ACTION_SPILL,
                    .part = id,
                    .node = part->node,
                    .stage = part->stage,
                    .data = part->data,
                    .bytes = part->bytes});
}

void on_spilled(Schedule *s, const Event *event) {
    Part *part = part_of(s, event->part);
    NodeState *node = node_of(s, part->node);
    node->spilling--;
    node->answers_due--, s->answers_due--;
    if (part->state == PART_DROPPED) {
        part_free(s, event->part);
        return;
    }
    go(s, &part->state, PART_SPILLED);
    part->stored = event->bytes;
    ledger_give(&node->ledger, &s->reserves, part->room, part->stage, part->purse, part->bytes);
    part->purse = PURSE_NONE;
    ledger_stub(&node->ledger, s->plan.stubs_free, s->plan.stub_bytes);
    touch(s, part->node);
    wake_waiting(s, part);
}

// ---- breakers -----------------------------------------------------------------------------------

void spent_forget(const Schedule *s, NodeState *node) {
    if (!node->any_spent) return;
    node->any_spent = false;
    for (uint16_t b = 0; b < s->plan.breaker_count; b++) node->spent[b] = false;
}

static bool shrink(Schedule *s, NodeId id, BreakerId breaker) {
    NodeState *node = node_of(s, id);
    int64_t held = node->ledger.held[breaker.i];
    bool fills = s->breakers[breaker.i].state == BREAKER_FILLING;
    if (!held || !fills || node->shrinking[breaker.i] || node->spent[breaker.i]) return false;
    node->shrinking[breaker.i] = true;
    node->answers_due++, s->answers_due++;
    s->spilled_bytes += (uint64_t)held;
    act(s, (Action){.kind = ACTION_SHRINK, .breaker = breaker, .node = id, .bytes = held});
    return true;
}

// What the breaker had been given when it was closed is not there any more.
static void give_back(Schedule *s, NodeId id, BreakerId breaker, int64_t bytes) {
    NodeState *node = node_of(s, id);
    int64_t held = node->ledger.held[breaker.i];
    if (bytes > held) bytes = held;
    ledger_release(&node->ledger, &s->reserves, breaker, bytes);
    s->breakers[breaker.i].total -= bytes;
    touch(s, id);
}

void on_shrunk(Schedule *s, const Event *event) {
    NodeState *node = node_of(s, event->node);
    node->shrinking[event->breaker.i] = false;
    node->answers_due--, s->answers_due--;
    // What it holds may be what it works with: to ask once more would be in vain.
    if (event->bytes == 0 && !s->running)
        node->spent[event->breaker.i] = node->any_spent = true;
    give_back(s, event->node, event->breaker, event->bytes);
}

// Of the breakers that hold common memory of the node and can write it, the one with the most.
static int64_t largest(const Schedule *s, const NodeState *node, BreakerId *breaker) {
    int64_t most = 0;
    for (uint16_t b = 0; b < s->plan.breaker_count; b++) {
        int64_t held = ledger_held_common(&node->ledger, &s->reserves, (BreakerId){b});
        bool fills = s->breakers[b].state == BREAKER_FILLING;
        if (!fills || node->shrinking[b] || held <= most) continue;
        most = held;
        breaker->i = b;
    }
    return most;
}

// ---- shares -------------------------------------------------------------------------------------

// What tasks take when all slots of the node are busy, as far as their stages are not over.
static int64_t tasks_need(const Schedule *s, NodeId id) {
    const NodeKind *kind = plan_node(&s->plan, id);
    int64_t most = 0, sum = 0;
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const StageState *state = &s->stages[i];
        if (set_has(&s->over, (StageId){i}) || state->stopped) continue;
        if (!set_has(node_runs(s, id), (StageId){i})) continue;
        int64_t one = 0, width = plan_kind_width(&s->plan, kind, &s->plan.stages[i]);
        for (Room r = ROOM_SCRATCH; r <= ROOM_INPUT; r++) one += s->reserves.rooms[r][i];
        if (width > state->width) width = state->width;
        if (one * width > most) most = one * width;
        sum += one;
    }
    return sum + most;
}

void share_out(Schedule *s) {
    enum { MOST = 2, LEAST = 4 };  // Parts of the common pool.
    bool fills = false;
    for (uint16_t b = 0; b < s->plan.breaker_count; b++)
        fills |= s->breakers[b].state == BREAKER_FILLING;
    for (uint32_t n = 0; n < s->node_count && s->plan.breaker_count; n++) {
        Ledger *ledger = &s->nodes[n].ledger;
        int64_t part = tasks_need(s, (NodeId){(uint16_t)n});
        if (part > ledger->common / MOST) part = ledger->common / MOST;
        // What breakers have already stays theirs.
        if (part > ledger->common - ledger->breakers) part = ledger->common - ledger->breakers;
        ledger->tasks_part = part;
        int64_t least = ledger->common / LEAST;
        ledger->tasks_max = !fills ? INT64_MAX : part > least ? part : least;
        touch(s, (NodeId){(uint16_t)n});
    }
}

// ---- less memory --------------------------------------------------------------------------------

// Breakers that hold what is owed write it: the largest first.
static void shrink_for(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    BreakerId breaker = {0};
    int64_t bytes;
    for (int64_t left = node->ledger.owed; left > 0; left -= bytes) {
        bytes = s->plan.breaker_count ? largest(s, node, &breaker) : 0;
        if (!bytes || !shrink(s, id, breaker)) return;
    }
}

// Is anything owed, and does more of it come when partitions go to disk?
static bool debt_pay(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    if (!node->ledger.owed || !ledger_pay(&node->ledger)) return false;
    touch(s, id);
    return true;
}

void debts_pay(Schedule *s) {
    bool paid = false;
    s->owing = false;
    for (uint32_t n = 0; n < s->node_count; n++) {
        paid |= debt_pay(s, (NodeId){(uint16_t)n});
        s->owing |= s->nodes[n].ledger.owed > 0;
    }
    if (paid) share_out(s);
}

void on_memory(Schedule *s, const Event *event) {
    NodeState *node = node_of(s, event->node);
    if (event->bytes < s->reserves.minimum) {
        break_off(s, "a node is to have less memory than the minimum");
        return;
    }
    node->memory = event->bytes;
    ledger_set(&node->ledger, &s->reserves, event->bytes);
    s->owing = true;
    debts_pay(s);
    share_out(s);
    touch(s, event->node);
    if (node->ledger.owed > 0) shrink_for(s, event->node);
    double memory = 0;
    for (uint32_t n = 0; n < s->node_count; n++)
        if (s->nodes[n].up) memory += (double)s->nodes[n].ledger.common;
    pacing_memory(&s->pacing, memory);
}

void on_hold(Schedule *s, const Event *event) {
    Ledger *ledger = &node_of(s, event->node)->ledger;
    BreakerState *breaker = &s->breakers[event->breaker.i];
    bool freed = breaker->state == BREAKER_FREED;
    bool held = freed || ledger_hold(ledger, &s->reserves, event->breaker, event->bytes);
    if (held && !freed) breaker->total += event->bytes;
    act(s, (Action){.kind = ACTION_HOLD,
                    .breaker = event->breaker,
                    .node = event->node,
                    .bytes = event->bytes,
                    .denied = !held});
    // One that holds far more makes room.
    BreakerId most = event->breaker;
    int64_t more = held ? 0 : largest(s, node_of(s, event->node), &most);
    enum { FAR_MORE = 4 };
    bool other = most.i != event->breaker.i;
    if (other && more > FAR_MORE * ledger->held[event->breaker.i])
        shrink(s, event->node, most);
}

void on_release(Schedule *s, const Event *event) {
    give_back(s, event->node, event->breaker, event->bytes);
}

// ---- needs --------------------------------------------------------------------------------------

// What a task must have stands before what others would like to have.
static void need_waits(Schedule *s, Task *task) {
    if (!task->must) return;
    state_of(s, task->stage)->waiting++;
    node_of(s, task->node)->ledger.waiting++;
    touch(s, task->node);
}

void need_over(Schedule *s, Task *task) {
    bool waits = task->must && task->need && task->state == TASK_PAUSED;
    if (!waits) return;
    state_of(s, task->stage)->waiting--;
    // The common pool gives to others again: whom it has refused in this step is tried again.
    if (--node_of(s, task->node)->ledger.waiting == 0) bits_clear(&s->blocked, s->words);
    touch(s, task->node);
}

bool need_take(Schedule *s, Task *task) {
    Ledger *ledger = &node_of(s, task->node)->ledger;
    bool closed = task->fills && s->breakers[task->breaker.i].state == BREAKER_FREED;
    if (closed) {
        // Its rows go nowhere.
    } else if (task->fills) {
        if (!ledger_hold(ledger, &s->reserves, task->breaker, task->need)) return false;
        s->breakers[task->breaker.i].total += task->need;
    } else {
        if (!ledger_take_bytes(ledger, task->need)) return false;
        task->granted += task->need;
    }
    need_over(s, task);
    task->need = 0;
    touch(s, task->node);
    return true;
}

// Does work of its stage in front of it wait for what it must have?
static bool stands_behind(const Schedule *s, const Task *task) {
    const StageState *state = &s->stages[task->stage.i];
    return task->must && state->waiting &&
           item_before(&s->items[state->paused.root.i], &s->items[task->item.i]);
}

// Does a unit in front of its own wait for a slot? Its node was lost, or it is made again. Whoever
// waits for what comes of that unit would ask for ever, and keep the slot that the unit needs.
static bool keeps_slot(const Schedule *s, const Task *task) {
    ItemId ready = s->stages[task->stage.i].ready.root;
    return task->must && ready.i && stage_is_root(&s->plan.stages[task->stage.i]) &&
           item_before(&s->items[ready.i], &s->items[task->item.i]);
}

// Could the bytes be granted if the node had nothing else?
static bool could_ever(const Schedule *s, const Task *task) {
    const Ledger *ledger = &s->nodes[task->node.i].ledger;
    if (!task->fills) return task->need <= ledger->common;
    int64_t floor = s->reserves.floors[task->breaker.i];
    return task->need <= floor + ledger->common - ledger->tasks_part;
}

void on_need(Schedule *s, const Event *event) {
    Task *task = task_of(s, event->task);
    if (task->state == TASK_CANCELED) return;
    if (task->state != TASK_RUNNING) {
        break_off(s, "a task that does not run asks for memory");
        return;
    }
    task->busy += event->busy;
    task->need = event->bytes, task->fills = event->fills, task->breaker = event->breaker;
    task->must = event->must;
    bool denied = !task->must && !could_ever(s, task);
    bool leaves = keeps_slot(s, task);
    if (denied || (!leaves && !stands_behind(s, task) && need_take(s, task))) {
        task->need = 0;
        act(s, (Action){.kind = ACTION_GO_ON,
                        .stage = task->stage,
                        .node = task->node,
                        .task = event->task,
                        .denied = denied});
        return;
    }
    BreakerId most = task->breaker;
    bool others = largest(s, node_of(s, task->node), &most) > 0;
    if (!leaves && (others || task->fills)) shrink(s, task->node, most);
    TaskId twin = item_of(s, task->item)->twin;
    pause_task(s, event->task);
    if (twin.i != event->task.i) need_waits(s, task);
}

// Nothing else moves: the task goes on without the bytes; if it must have them, with them.
static void need_settle(Schedule *s, Task *task) {
    need_over(s, task);
    if (task->must) {
        Ledger *ledger = &node_of(s, task->node)->ledger;
        task->granted += task->need;
        task->over += ledger_force_bytes(ledger, task->need);
    }
    task->need = 0;
}

static bool deny(Schedule *s, ItemId id) {
    if (!id.i || item_of(s, id)->state != ITEM_TAKEN) return false;
    TaskId of = item_of(s, id)->task;
    Task *task = task_of(s, of);
    if (task->state != TASK_PAUSED || !task->need) return false;
    paused_remove(s, id);
    need_settle(s, task);
    go(s, &task->state, TASK_RUNNING);
    slot_take(s, task->stage, task->node);
    act(s, (Action){.kind = ACTION_RESUME,
                    .stage = task->stage,
                    .node = task->node,
                    .task = of,
                    .denied = !task->must});
    return true;
}

// The task that asks for bytes and stands furthest down.
bool deny_one(Schedule *s) {
    for (uint16_t i = s->plan.stage_count; i-- > 0;) {
        if (deny(s, state_of(s, (StageId){i})->paused.root)) return true;
        Favored favored = favored_work(s, (StageId){i});
        for (uint32_t f = 0; f < favored.count; f++)
            if (deny(s, favored.items[f])) return true;
    }
    return false;
}

// ---- what to write ------------------------------------------------------------------------------

static void spill_node(Schedule *s, NodeId id, bool stuck) {
    NodeState *node = node_of(s, id);
    if (!node->up) return;
    uint32_t most = stuck ? SPILLS_MAX : 1;
    for (uint32_t n = 0; n < most && node->spilling < SPILLS_MAX; n++) {
        if (node->spools[1].i)
            spill_part(s, node, node->spools[1]);
        else if (stuck && node->spools[0].i)
            spill_part(s, node, node->spools[0]);
    }
    BreakerId breaker = {0};
    int64_t held = s->plan.breaker_count ? largest(s, node, &breaker) : 0;
    if (stuck && held > 0) shrink(s, id, breaker);
    if (!stuck) return;
    for (PartId p = node->parts; p.i; p = part_of(s, p)->node_next) {
        const Part *part = part_of(s, p);
        bool idle = part->state == PART_RESIDENT && part->idle == part->readers;
        if (idle && part->purse == PURSE_RESERVE) spill_part(s, node, p);
    }
    // A breaker that asks for its floor again must give up what it holds.
    for (uint16_t b = 0; b < s->plan.breaker_count; b++) shrink(s, id, (BreakerId){b});
}

void spill_some(Schedule *s, bool stuck) {
    if (!s->shape.spool_count && !s->plan.breaker_count && s->node_count == 1) return;
    if (!stuck && !bits_any(&s->blocked, s->words)) return;
    // With many nodes a few of them at a time, so that a step stays short.
    enum { NODES_AT_ONCE = 4 };
    uint32_t count = stuck || s->node_count < NODES_AT_ONCE ? s->node_count : NODES_AT_ONCE;
    for (uint32_t n = 0; n < count; n++)
        spill_node(s, (NodeId){(uint16_t)((s->events + n) % s->node_count)}, stuck);
}
