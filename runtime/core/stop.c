#include "runtime/core/state.h"

// Stop: what nobody wants any more ends. Work that has not begun never begins, what runs is
// canceled, what waits is freed; from a limit this goes up to the sources.

void task_cancel(Schedule *s, TaskId id) {
    Task *task = task_of(s, id);
    task->item = (ItemId){0};
    if (task->state == TASK_PAUSED) {
        act(s, (Action){.kind = ACTION_DROP, .stage = task->stage, .node = task->node, .task = id});
        task_end(s, id);
        return;
    }
    go(s, &task->state, TASK_CANCELED);
    act(s, (Action){.kind = ACTION_CANCEL, .stage = task->stage, .node = task->node, .task = id});
}

void task_cancel_of(Schedule *s, ItemId item) {
    TaskId task = item_of(s, item)->task;
    if (task_of(s, task)->state == TASK_PAUSED) paused_remove(s, item);
    task_cancel(s, task);
}

// Is it work that is run again, and still needed: its rows for a breaker, or partitions that others
// wait for?
static bool still_needed(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    if (!item->rerun) return false;
    if (!item->again && !state_of(s, item->stage)->stopped) return true;
    item->again = true;
    return item->children.i;
}

// What is dropped: all work of a stage, or what units after a bound were made into.
typedef enum Drop : uint8_t { DROP_ALL, DROP_BEHIND_BOUND } Drop;

// Pieces of a zip that were made before a bound stay. So does what makes lost partitions of theirs
// again, wherever it stands.
static bool stays(Schedule *s, Drop drop, ItemId id) {
    if (drop == DROP_ALL) return still_needed(s, id);
    const Item *item = item_of(s, id);
    return !is_behind_bound(s, item) || (item->rerun && item->children.i);
}

// The task, with what its launch took.
static void end_work(Schedule *s, Drop drop, TaskId id) {
    Task *task = task_of(s, id);
    ItemId of = task->item;
    while (task->chain.i) {
        ItemId more = task->chain;
        task->chain = item_of(s, more)->sibling;
        if (stays(s, drop, more))
            item_return(s, more);
        else
            item_end(s, more);
    }
    TaskId twin = item_of(s, of)->twin;
    if (twin.i) task_cancel(s, twin);
    task_cancel(s, id);
    item_end(s, of);
}

static void drop_ready(Schedule *s, Drop drop, StageId stage) {
    StageState *state = state_of(s, stage);
    ItemId kept = {0};
    while (state->ready.root.i) {
        ItemId id = ready_pop(s, stage);
        if (stays(s, drop, id))
            item_of(s, id)->sibling = kept, kept = id;
        else
            item_end(s, id);
    }
    while (kept.i) {
        ItemId id = kept;
        kept = item_of(s, id)->sibling;
        item_ready(s, id);
    }
}

static void drop_tasks(Schedule *s, Drop drop, StageId stage) {
    StageState *state = state_of(s, stage);
    ItemId kept = {0};
    while (state->paused.root.i) {
        ItemId id = paused_pop(s, stage);
        if (stays(s, drop, id))
            item_of(s, id)->sibling = kept, kept = id;
        else
            end_work(s, drop, item_of(s, id)->task);
    }
    while (kept.i) {
        ItemId id = kept;
        kept = item_of(s, id)->sibling;
        paused_push(s, id);
    }
    for (TaskId id = state->first; id.i;) {
        TaskId next = task_of(s, id)->next;
        const Task *task = task_of(s, id);
        bool owns = task->state == TASK_RUNNING && item_of(s, task->item)->task.i == id.i;
        if (owns && !stays(s, drop, task->item)) end_work(s, drop, id);
        // A second attempt may have stood next: it is canceled now, and still in the list.
        id = next;
    }
}

// Items that stand on the edge and that no task has taken.
static void drop_places(Schedule *s, Drop drop, EdgeId edge) {
    PlaceId head = s->order.heads[edge.i];
    for (PlaceId at = s->order.places[head.i].next; at.i != head.i;) {
        const Place *place = &s->order.places[at.i];
        at = place->next;
        if (place->kind == PLACE_MARK) continue;
        ItemId id = {place->item};
        if (item_of(s, id)->state == ITEM_TAKEN) continue;
        if (drop == DROP_BEHIND_BOUND && stays(s, drop, id)) continue;
        if (item_of(s, id)->state == ITEM_WAITING) stop_waiting(s, id);
        item_end(s, id);
    }
}

// Pieces of a zip that wait for what was lost of their sides.
static void drop_waiting(Schedule *s, Drop drop, StageId zip) {
    for (ItemId id = state_of(s, zip)->oldest; id.i;) {
        ItemId next = item_of(s, id)->newer;
        bool kept = drop == DROP_BEHIND_BOUND && stays(s, drop, id);
        if (!kept && item_of(s, id)->state == ITEM_WAITING) {
            stop_waiting(s, id);
            item_end(s, id);
        }
        id = next;
    }
}

// After a bound nothing is run again for a breaker, and what lost partitions need begins anew
// without that.
static void keep_from_breakers(Schedule *s) {
    for (ItemId id = s->reruns; id.i; id = item_of(s, id)->newer) {
        Item *item = item_of(s, id);
        if (item->again || !item->children.i || !is_behind_bound(s, item)) continue;
        item->again = true;
        if (item->state != ITEM_TAKEN) continue;
        task_cancel_of(s, id);
        item_return(s, id);
    }
}

// What is to be run again and waits for a lost partition stands on no edge.
static void drop_reruns(Schedule *s) {
    for (ItemId id = s->reruns; id.i;) {
        ItemId next = item_of(s, id)->newer;
        if (item_of(s, id)->state == ITEM_WAITING && !stays(s, DROP_BEHIND_BOUND, id)) {
            stop_waiting(s, id);
            item_end(s, id);
            next = s->reruns;  // Others may have gone with it.
        }
        id = next;
    }
    do {  // One that is canceled here may be all that others have waited for.
        for (ItemId id = s->reruns; id.i; id = item_of(s, id)->newer)
            if (is_behind_bound(s, item_of(s, id))) rerun_let_go(s, id);
    } while (reruns_judge(s));
}

// Would anybody take a row that the stage makes?
static bool wanted(const Schedule *s, StageId stage) {
    const CoreStage *described = stage_of(s, stage);
    if (described->kind == STAGE_SINK) return true;
    for (uint8_t o = 0; o < described->output_count; o++)
        if (!s->closed[described->outputs[o].i]) return true;
    for (uint8_t f = 0; f < described->fill_count; f++)
        if (s->breakers[described->fills[f].i].state != BREAKER_FREED) return true;
    return false;
}

void close_inputs(Schedule *s, StageId stage) {
    const CoreStage *described = stage_of(s, stage);
    drop_ready(s, DROP_ALL, stage);
    for (uint8_t i = 0; i < described->input_count; i++) {
        EdgeId edge = described->inputs[i];
        if (s->closed[edge.i]) continue;
        s->closed[edge.i] = true;
        drop_places(s, DROP_ALL, edge);
        StageId from = s->plan.edges[edge.i].from;
        if (!wanted(s, from)) stage_stop(s, from);
    }
}

static void no_more_units(Schedule *s, StageId root) {
    state_of(s, root)->units = 0;
    root_judge(s, root);
}

void stage_stop(Schedule *s, StageId stage) {
    if (state_of(s, stage)->stopped || set_has(&s->over, stage)) return;
    state_of(s, stage)->stopped = true;
    drop_tasks(s, DROP_ALL, stage);
    if (stage_of(s, stage)->kind == STAGE_ZIP) drop_waiting(s, DROP_ALL, stage);
    if (stage_is_root(stage_of(s, stage))) no_more_units(s, stage);
    close_inputs(s, stage);
    judge_over(s, stage);
}

void on_enough(Schedule *s, const Event *event) {
    const Task *task = task_of(s, event->task);
    if (event->task.i && task->state == TASK_CANCELED) return;
    StageId stage = event->task.i ? task->stage : event->stage;
    if (stage_is_root(stage_of(s, stage))) no_more_units(s, stage);
    close_inputs(s, stage);
}

// Without rows of the root others would stand side by side in the zips that they come into.
static void stop_zips(Schedule *s, StageId root) {
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        const CoreStage *zip = &s->plan.stages[i];
        if (zip->kind != STAGE_ZIP || zip_is_done(s, (StageId){i})) continue;
        if (!set_has(&s->shape.roots[zip->inputs[0].i], root) &&
            !set_has(&s->shape.roots[zip->inputs[1].i], root))
            continue;
        s->stages[i].bound = s->stages[i].unit_next;
        zip_bound(s, (StageId){i});
    }
}

void zip_stop(Schedule *s, StageId zip) {
    StageState *state = state_of(s, zip);
    if (state->bound > state->unit_next) state->bound = state->unit_next;
    for (uint8_t i = 0; i < 2; i++) drop_places(s, DROP_ALL, stage_of(s, zip)->inputs[i]);
}

void zip_bound(Schedule *s, StageId zip) {
    if (!zip_is_done(s, zip)) return;
    zip_stop(s, zip);
    stop_zips(s, zip);
}

void on_bound(Schedule *s, const Event *event) {
    StageId root = event->stage;
    StageState *state = state_of(s, root);
    if (!stage_is_root(stage_of(s, root))) {
        break_off(s, "a bound of what has no units");
        return;
    }
    if (event->unit >= state->bound) return;
    bool all = set_has(&s->exhausted, root) && event->unit >= state->unit_next;
    state->bound = event->unit;
    keep_from_breakers(s);
    drop_tasks(s, DROP_BEHIND_BOUND, root);
    drop_ready(s, DROP_BEHIND_BOUND, root);
    for (uint16_t e = 0; e < s->plan.edge_count; e++) {
        if (!set_has(&s->shape.roots[e], root)) continue;
        StageId to = s->plan.edges[e].to;
        drop_tasks(s, DROP_BEHIND_BOUND, to);
        drop_ready(s, DROP_BEHIND_BOUND, to);
        drop_places(s, DROP_BEHIND_BOUND, (EdgeId){e});
    }
    drop_reruns(s);
    if (stage_of(s, root)->kind == STAGE_ZIP) drop_waiting(s, DROP_BEHIND_BOUND, root);
    if (stage_of(s, root)->kind == STAGE_ZIP)
        zip_bound(s, root);
    else if (!all)
        stop_zips(s, root);
    root_judge(s, root);
    for (uint16_t i = 0; i < s->plan.stage_count; i++) judge_over(s, (StageId){i});
}

// Tells the runtime that a breaker is full, or that nobody needs it.
void breaker_judge(Schedule *s, BreakerId id) {
    BreakerState *breaker = &s->breakers[id.i];
    if (breaker->state == BREAKER_FREED) return;
    bool early = s->plan.completes && breaker->state != BREAKER_COMPLETE;
    if (!early && bits_within(&s->shape.pins[id.i], &s->over, s->words)) {
        go(s, &breaker->state, BREAKER_FREED);
        share_out(s);
        for (uint32_t n = 0; n < s->node_count; n++) {
            Ledger *ledger = &s->nodes[n].ledger;
            ledger_release(ledger, &s->reserves, id, ledger->held[id.i]);
            touch(s, (NodeId){(uint16_t)n});
        }
        breaker->total = 0;
        act(s, (Action){.kind = ACTION_CLOSE, .breaker = id});
        for (uint16_t i = 0; i < s->plan.stage_count; i++) {
            StageId filler = {i};
            bool fills = set_has(&s->shape.fillers[id.i], filler);
            if (fills && !wanted(s, filler)) stage_stop(s, filler);
        }
    } else if (breaker->state == BREAKER_FILLING &&
               bits_within(&s->shape.fillers[id.i], &s->over, s->words)) {
        go(s, &breaker->state, BREAKER_FINISHING);
        share_out(s);
        s->answers_due++;
        act(s, (Action){.kind = ACTION_FINISH, .breaker = id});
    }
}
