#include "runtime/core/state.h"

// Finish: what tasks hand over, how they end, and which stages are over then.

// ---- items --------------------------------------------------------------------------------------

static void root_list_remove(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    StageState *state = state_of(s, item->stage);
    if (item->older.i)
        item_of(s, item->older)->newer = item->newer;
    else if (state->oldest.i == id.i)
        state->oldest = item->newer;
    if (item->newer.i)
        item_of(s, item->newer)->older = item->older;
    else if (state->newest.i == id.i)
        state->newest = item->older;
    item->older = item->newer = (ItemId){0};
}

// Its place in the order goes: what stood after it may be first now.
static void item_leave_order(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    order_end(&s->order, item->marks);
    if (item->place.i) {
        s->on_edge[s->order.places[item->place.i].edge.i]--;
        order_remove(&s->order, item->place);
    }
    if (item->rerun)
        rerun_remove(s, id);
    else if (item->name.root.i == item->stage.i)
        root_list_remove(s, id);
    if (state_of(s, item->stage)->uncut.i == id.i) state_of(s, item->stage)->uncut = (ItemId){0};
    item->marks = item->place = (PlaceId){0};
}

void item_return(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    item->task = item->twin = (TaskId){0};
    item->stale = false;
    part_waits(s, item, 1);
    if (missing_part(s, item).i) {
        item_wait(s, id);
        return;
    }
    go(s, &item->state, ITEM_READY);
    item_ready(s, id);
}

void item_end(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    StageId stage = item->stage;
    if (item->state != ITEM_TAKEN) part_waits(s, item, -1);
    item_leave_order(s, id);
    PartId part = item->part, side = item->side;
    item_free(s, id);
    if (part.i) part_done(s, part);
    if (side.i) part_done(s, side);
    state_of(s, stage)->ended++;
}

// ---- outputs ------------------------------------------------------------------------------------

// The partition, with so many rows of that output, becomes work of one consumer.
static void hand_to(Schedule *s, const Task *task, PartId id, uint8_t output,
                    const Event *event) {
    const CoreStage *stage = stage_of(s, task->stage);
    const Item *from = item_of(s, task->item);
    const Part *part = part_of(s, id);
    const Tree *tree = stage_is_root(stage) ? &s->shape.reach[task->stage.i]
                                            : &s->shape.below[stage->inputs[from->input].i];
    EdgeId edge = stage->outputs[output];
    Item item = {.stage = s->plan.edges[edge.i].to,
                 .name = part->name,
                 .input = s->shape.input_of[edge.i],
                 .part = id,
                 .bytes = part->bytes,
                 .rows = event->output_rows[output],
                 .filled = event->output_bytes[output],
                 .checksum = part->checksum,
                 .maker = task->stage};
    ItemId made = item_new(s, item);
    NewPlace place = order_output(&s->order, tree, from->marks, output, made.i);
    Item *is = item_of(s, made);
    is->place = place.place, is->marks = place.marks;
    is->region = s->order.places[place.place.i].region;
    s->on_edge[edge.i]++;
    item_ready(s, made);
    part_waits(s, is, 1);
}

static Name name_of_output(const Schedule *s, const Task *task) {
    const Item *item = &s->items[task->item.i];
    Name name = item->name;
    name.via[name.depth] = item->input;
    name.path[name.depth++] = task->outputs - 1;
    return name;
}

static void hand_over(Schedule *s, Task *task, const Event *event) {
    const CoreStage *stage = stage_of(s, task->stage);
    int64_t bytes = ledger_charged(event->bytes);
    Room room = task_room(task, ROOM_OUTPUT);
    ledger_fit(&node_of(s, task->node)->ledger, &s->reserves, room, task->stage, task->output,
               bytes);
    PartId id = part_new(s, (Part){.state = PART_RESIDENT,
                                   .purse = task->output,
                                   .room = room,
                                   .stage = task->stage,
                                   .node = task->node,
                                   .bytes = bytes,
                                   .rows = event->rows,
                                   .data = event->data,
                                   .checksum = event->checksum,
                                   .name = name_of_output(s, task)});
    pacing_gave(&s->pacing, task->stage, event->rows);
    task->output = PURSE_NONE;
    s->outputs_open--;
    touch(s, task->node);
    for (uint8_t o = 0; o < stage->output_count; o++) {
        EdgeId edge = stage->outputs[o];
        if (s->closed[edge.i] || zip_is_done(s, s->plan.edges[edge.i].to)) continue;
        part_of(s, id)->readers++;
        hand_to(s, task, id, o, event);
    }
    if (!part_of(s, id)->readers) part_free(s, id);
}

// False: an earlier attempt made it, and it is the same.
static bool is_new(Schedule *s, Task *task, const Event *event) {
    Item *item = item_of(s, task->item);
    task->digest = digest_add(task->digest, digest_add((uint64_t)event->rows, event->checksum));
    task->outputs++;
    if (task->outputs > item->outputs) {
        item->outputs = task->outputs, item->digest = task->digest;
        return true;
    }
    if (task->outputs == item->outputs && task->digest != item->digest)
        break_differing(s, task->stage, "a second attempt made other rows than the first");
    return false;
}

// Has a rerun made all that was lost?
static bool has_served(const Schedule *s, const Task *task) {
    const Item *item = &s->items[task->item.i];
    return item->rerun && item->again && !item->children.i;
}

static void rerun_end(Schedule *s, TaskId id) {
    ItemId item = task_of(s, id)->item;
    task_cancel(s, id);
    item_end(s, item);
}

void on_output(Schedule *s, const Event *event) {
    Task *task = task_of(s, event->task);
    bool canceled = task->state == TASK_CANCELED;
    step_note(s, task->stage, event->busy);
    if (!canceled && task->state != TASK_RUNNING) {
        break_off(s, "an output of a task that does not run");
        return;
    }
    bool wanted = !canceled && is_new(s, task, event);
    if (wanted)
        hand_over(s, task, event);
    else if (canceled || !task->rerun || !rerun_output(s, task, event))
        act(s, (Action){.kind = ACTION_FREE, .data = event->data, .stage = task->stage});
    task->made += ledger_charged(event->bytes);
    task->busy += event->busy;
    if (event->last)
        on_done(s, &(Event){.kind = EVENT_DONE, .task = event->task});
    else if (!canceled && has_served(s, task))
        rerun_end(s, event->task);
    else if (!canceled && event->next)
        on_next(s, &(Event){.kind = EVENT_NEXT, .task = event->task});
    else if (!canceled)
        go_on_or_pause(s, event->task);
}

// ---- tasks --------------------------------------------------------------------------------------

void task_end(Schedule *s, TaskId id) {
    Task *task = task_of(s, id);
    if (task->state != TASK_PAUSED) slot_give(s, task);
    for (Room r = ROOM_SCRATCH; r <= ROOM_INPUT; r++) purse_give(s, task, r);
    ledger_give_bytes(&node_of(s, task->node)->ledger, task->granted);
    node_of(s, task->node)->ledger.over -= task->over;
    need_over(s, task);
    task_release(s, task);
    task_free(s, id);
}

void pause_task(Schedule *s, TaskId id) {
    Task *task = task_of(s, id);
    if (item_of(s, task->item)->twin.i == id.i) {
        // A second attempt never waits.
        item_of(s, task->item)->twin = (TaskId){0};
        task_cancel(s, id);
        return;
    }
    slot_give(s, task);
    go(s, &task->state, TASK_PAUSED);
    act(s, (Action){.kind = ACTION_PAUSE, .stage = task->stage, .node = task->node, .task = id});
    paused_push(s, task->item);
}

static void go_on(Schedule *s, TaskId id) {
    const Task *task = task_of(s, id);
    act(s, (Action){.kind = ACTION_GO_ON, .stage = task->stage, .node = task->node, .task = id});
}

void go_on_or_pause(Schedule *s, TaskId id) {
    Task *task = task_of(s, id);
    bits_clear(&s->blocked, s->words);
    bool on = !should_yield(s, task) && (task->output || output_take(s, task));
    if (!on) {
        pause_task(s, id);
        return;
    }
    go_on(s, id);
}

void chain_return(Schedule *s, Task *task) {
    while (task->chain.i) {
        ItemId id = task->chain;
        task->chain = item_of(s, id)->sibling;
        if (is_behind_bound(s, item_of(s, id)))
            item_end(s, id);
        else
            item_return(s, id);
    }
}

static void cancel_other(Schedule *s, TaskId id) {
    const Task *task = task_of(s, id);
    if (task->state == TASK_PAUSED) paused_remove(s, task->item);
    task_cancel(s, id);
}

// The item's rows are made: other attempts are not needed.
static void finish_item(Schedule *s, TaskId id) {
    Task *task = task_of(s, id);
    ItemId of = task->item;
    Item *item = item_of(s, of);
    if (item->rerun ? item->children.i : task->outputs < item->outputs)
        break_differing(s, task->stage, "a second attempt made fewer partitions than the first");
    TaskId other = item->task.i == id.i ? item->twin : item->task;
    if (other.i) cancel_other(s, other);
    Pace pace = {(double)item->bytes, (double)task->made, (double)task->busy / 1e9};
    pacing_took(&s->pacing, task->stage, item->rows, pace.seconds);
    if (stage_of(s, task->stage)->batch)
        batch_add(s, task, pace);
    else
        pacing_note(&s->pacing, task->stage, pace);
    bool covers = s->node_count > 1 && stage_of(s, task->stage)->fill_count;
    if (covers && !item->again) {
        item_leave_order(s, of);
        item_cover(s, of, task);
    } else {
        item_end(s, of);
    }
}

void on_done(Schedule *s, const Event *event) {
    Task *task = task_of(s, event->task);
    task->busy += event->busy;
    StageId stage = task->stage;
    if (event->busy) step_note(s, stage, event->busy);
    if (task->state == TASK_RUNNING) {
        chain_return(s, task);
        finish_item(s, event->task);
        if (stage_of(s, stage)->batch) batch_end(s, task);
    } else if (task->state != TASK_CANCELED) {
        break_off(s, "the end of a task that does not run");
        return;
    }
    task_end(s, event->task);
    judge_over(s, stage);
}

void on_next(Schedule *s, const Event *event) {
    Task *task = task_of(s, event->task);
    if (task->state == TASK_CANCELED) return;
    if (task->state != TASK_RUNNING || !task->chain.i) {
        break_off(s, "a task goes on to a partition that it does not have");
        return;
    }
    task->busy += event->busy;
    ItemId next = task->chain;
    finish_item(s, event->task);
    task_release(s, task);
    if (is_behind_bound(s, item_of(s, next)) || item_of(s, next)->stale) {
        chain_return(s, task);
        task_cancel(s, event->task);
        return;
    }
    task_hold(s, task, item_of(s, next));
    task->item = next, task->chain = item_of(s, next)->sibling;
    task->outputs = 0, task->digest = 0, task->made = task->busy = 0, task->started = s->now;
    // The next one may not be first, and must not keep what only the first may use.
    if (task->output == PURSE_RESERVE) purse_give(s, task, ROOM_OUTPUT);
    const CoreStage *stage = stage_of(s, task->stage);
    // Whoever only fills breakers takes its work in order, and so does the thread that it is on.
    if (stage->in_order && !stage->output_count)
        go_on(s, event->task);
    else
        go_on_or_pause(s, event->task);
}

void on_failed(Schedule *s, const Event *event) {
    Task *task = task_of(s, event->task);
    StageId stage = task->stage;
    if (task->state == TASK_CANCELED) {
        on_done(s, event);
        return;
    }
    chain_return(s, task);
    Item *item = item_of(s, task->item);
    TaskId other = item->task.i == event->task.i ? item->twin : item->task;
    if (other.i)
        item->task = other, item->twin = (TaskId){0};
    else
        item_return(s, task->item);
    task_end(s, event->task);
    judge_over(s, stage);
}

// ---- over ---------------------------------------------------------------------------------------

static bool inputs_done(const Schedule *s, const CoreStage *stage) {
    for (uint8_t i = 0; i < stage->input_count; i++) {
        EdgeId edge = stage->inputs[i];
        if (!s->closed[edge.i] && !set_has(&s->over, s->plan.edges[edge.i].from)) return false;
    }
    return true;
}

// Rows that a committed piece had are passed over.
static void pass_over(Schedule *s, EdgeId edge, Item *item) {
    int64_t *left = &s->skipped_rows[edge.i];
    int64_t rows = item->rows < *left ? item->rows : *left;
    item->row += rows, item->rows -= rows;
    *left -= rows;
}

ItemId zip_front(Schedule *s, EdgeId edge) {
    for (;;) {
        PlaceId first = order_first(&s->order, edge);
        const Place *place = &s->order.places[first.i];
        if (!first.i || place->kind == PLACE_MARK) return (ItemId){0};
        ItemId id = {place->item};
        pass_over(s, edge, item_of(s, id));
        if (item_of(s, id)->rows) return id;
        item_end(s, id);  // A partition without rows.
    }
}

static bool side_is_done(const Schedule *s, EdgeId edge) {
    return set_has(&s->over, s->plan.edges[edge.i].from) && !s->on_edge[edge.i];
}

static void zip_judge(Schedule *s, StageId zip) {
    const EdgeId *sides = stage_of(s, zip)->inputs;
    if (set_has(&s->exhausted, zip)) return;
    bool left = zip_front(s, sides[0]).i, right = zip_front(s, sides[1]).i;
    if ((left && side_is_done(s, sides[1])) || (right && side_is_done(s, sides[0]))) {
        uint32_t unit = state_of(s, zip)->unit_next;
        act(s, (Action){.kind = ACTION_UNEVEN, .stage = zip, .unit = unit});
        zip_stop(s, zip);
    }
    if (!side_is_done(s, sides[0]) || !side_is_done(s, sides[1])) return;
    root_exhaust(s, zip);
    judge_over(s, zip);
}

void zips_judge(Schedule *s) {
    for (uint16_t w = 0; w < s->words; w++)
        for (uint64_t left = s->shape.zips.words[w]; left; left &= left - 1)
            zip_judge(s, word_first(w, left));
}

static void stage_over(Schedule *s, StageId id) {
    const CoreStage *stage = stage_of(s, id);
    set_add(&s->over, id);
    s->over_count++;
    share_out(s);
    if (stage_is_root(stage)) root_exhaust(s, id);
    for (uint16_t b = 0; b < s->plan.breaker_count; b++) breaker_judge(s, (BreakerId){b});
    for (uint8_t o = 0; o < stage->output_count; o++)
        judge_over(s, s->plan.edges[stage->outputs[o].i].to);
}

// Has a root of the edge come to a bound?
static bool has_bound(const Schedule *s, EdgeId edge) {
    for (uint16_t w = 0; w < s->words; w++)
        for (uint64_t left = s->shape.roots[edge.i].words[w]; left; left &= left - 1)
            if (s->stages[word_first(w, left).i].bound < UINT32_MAX) return true;
    return false;
}

// Are the tables there that the stage probes? It may have had no rows to probe with; what fills the
// tables is wanted all the same, unless nobody wants the stage's rows, or a bound ends them.
static bool tables_done(const Schedule *s, const CoreStage *stage) {
    bool wanted = !stage->input_count;
    for (uint8_t i = 0; i < stage->input_count; i++) wanted |= !s->closed[stage->inputs[i].i];
    for (uint8_t i = 0; i < stage->input_count; i++) wanted &= !has_bound(s, stage->inputs[i]);
    for (uint8_t n = 0; n < stage->need_count && wanted; n++) {
        State table = s->breakers[stage->needs[n].i].state;
        if (table != BREAKER_COMPLETE && table != BREAKER_FREED) return false;
    }
    return true;
}

void judge_over(Schedule *s, StageId id) {
    StageState *state = state_of(s, id);
    const CoreStage *stage = stage_of(s, id);
    if (!s->started || set_has(&s->over, id) || state->running) return;
    bool root = stage_is_root(stage);
    bool fed = state->stopped || (root ? set_has(&s->exhausted, id) : inputs_done(s, stage));
    if (!fed || (!state->stopped && !tables_done(s, stage))) return;
    if (state->live)
        flush_stage(s, id);
    else
        stage_over(s, id);
}

void on_finished(Schedule *s, const Event *event) {
    BreakerState *breaker = &s->breakers[event->breaker.i];
    s->answers_due--;
    if (breaker->state == BREAKER_FREED) return;
    go(s, &breaker->state, BREAKER_COMPLETE);
    if (event->home) stages_go_home(s, &s->shape.probers[event->breaker.i]);
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        StageId user = {i};
        if (set_has(&s->shape.readers[event->breaker.i], user) && !set_has(&s->over, user)) {
            state_of(s, user)->unit_bytes = event->bytes;
            state_of(s, user)->units = event->count;
            root_judge(s, user);
        }
        judge_over(s, user);
    }
    breaker_judge(s, event->breaker);
}

void on_units(Schedule *s, const Event *event) {
    if (set_has(&s->exhausted, event->stage)) return;  // Nobody wants more, or it was said before.
    const CoreStage *root = stage_of(s, event->stage);
    bool early = root->kind == STAGE_READER && s->breakers[root->reads.i].state != BREAKER_COMPLETE;
    if (!stage_is_root(root) || root->kind == STAGE_ZIP || early) {
        break_off(s, "the units of a stage that has none");
        return;
    }
    state_of(s, event->stage)->units = event->count;
    root_judge(s, event->stage);
    judge_over(s, event->stage);
}

void on_cut(Schedule *s, const Event *event) {
    const Task *task = task_of(s, event->task);
    if (task->state != TASK_RUNNING && task->state != TASK_CANCELED)
        break_off(s, "a task that does not run has cut its unit");
    StageState *state = state_of(s, task->stage);
    if (state->uncut.i == task->item.i) state->uncut = (ItemId){0};
}
