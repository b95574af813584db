#include "runtime/core/state.h"

// Repair: what is lost with a node is made again, and nothing else.
//
// A partition's name is its recipe: unit, and at each stage the input and the number of the output.
// A lost partition that somebody waits for gets a rerun: the item that it was made of, once more.
// If that item's own partition is gone too, it gets a rerun in turn, up to the unit of the root. A
// rerun hands over all its outputs again; those that are lost take their old place, with the same
// checksum, and the others are freed.
//
// Rows in a breaker are safe when the node has flushed them. Until then the items that they were
// made of are kept (ITEM_COVERED), and run again if the node is lost.

static void want(Schedule *s, PartId id);
static void lose_task(Schedule *s, TaskId id);

// ---- waiting ------------------------------------------------------------------------------------

void item_wait(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    PartId missing = missing_part(s, item);
    Part *part = part_of(s, missing);
    go(s, &item->state, ITEM_WAITING);
    item->sibling = part->waiting;
    part->waiting = id;
    if (part->state == PART_LOST) want(s, missing);
}

// A piece of a zip waits for one of two.
void stop_waiting(Schedule *s, ItemId id) {
    const Item *item = item_of(s, id);
    PartId parts[] = {item->part, item->side};
    for (int i = 0; i < 2; i++) {
        ItemId *link = &part_of(s, parts[i])->waiting;
        while (link->i && link->i != id.i) link = &item_of(s, *link)->sibling;
        if (!link->i) continue;
        *link = item->sibling;
        return;
    }
}

void wake_waiting(Schedule *s, Part *part) {
    while (part->waiting.i) {
        ItemId id = part->waiting;
        Item *item = item_of(s, id);
        part->waiting = item->sibling;
        go(s, &item->state, ITEM_READY);
        item_ready(s, id);
    }
}

// ---- reruns -------------------------------------------------------------------------------------

// Of two for the same work the older one: another came where it was too late for what is lost.
ItemId rerun_first(Schedule *s, StageId stage) {
    ItemId first = {0};
    for (ItemId id = s->reruns; id.i; id = item_of(s, id)->newer) {
        const Item *item = item_of(s, id);
        if (item->stage.i != stage.i) continue;
        if (!first.i || !item_before(item_of(s, first), item)) first = id;
    }
    return first;
}

bool rerun_is_first(Schedule *s, const Item *item) {
    return item_of(s, rerun_first(s, item->stage)) == item;
}

static void rerun_add(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    item->rerun = true;
    item->older = (ItemId){0}, item->newer = s->reruns;
    if (s->reruns.i) item_of(s, s->reruns)->older = id;
    s->reruns = id;
}

void rerun_remove(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    if (item->older.i)
        item_of(s, item->older)->newer = item->newer;
    else
        s->reruns = item->newer;
    if (item->newer.i) item_of(s, item->newer)->older = item->older;
    item->older = item->newer = (ItemId){0};
    item->rerun = false;
}

// The stage that made what came into `stage` by its input.
static StageId maker_of(const Schedule *s, StageId stage, uint8_t input) {
    return s->plan.edges[stage_of(s, stage)->inputs[input].i].from;
}

// The region of the item on the edge by which it came: the way from its root says.
static uint8_t region_of(const Schedule *s, StageId stage, uint8_t input, const Name *name) {
    EdgeId edges[DEPTH_MAX];
    uint8_t depth = name->depth;
    for (uint8_t d = depth; d-- > 0;) {
        edges[d] = stage_of(s, stage)->inputs[input];
        stage = s->plan.edges[edges[d].i].from;
        input = name->via[d];
    }
    const Tree *tree = &s->shape.reach[name->root.i];
    uint8_t at = TREE_MAX;
    for (uint8_t i = 0, d = 0; i < tree->count && d < depth; i++) {
        if (tree->parents[i] != at || tree->edges[i].i != edges[d].i) continue;
        at = i;
        d++;
    }
    return at == TREE_MAX ? 0 : s->order.ends[name->root.i].regions[at];
}

// What the output was made of: one step up.
static Name name_above(const Name *name) {
    Name above = *name;
    above.depth--;
    above.via[above.depth] = 0, above.path[above.depth] = 0;
    return above;
}

static PartId find_part(Schedule *s, StageId stage, const Name *name) {
    for (uint32_t i = 1; i < s->part_count; i++) {
        const Part *part = &s->parts[i];
        bool alive = part->state != PART_NONE && part->state != PART_DROPPED;
        if (alive && part->stage.i == stage.i && name_same(&part->name, name)) return (PartId){i};
    }
    return (PartId){0};
}

// The partition that a rerun reads, for one more reader.
static PartId input_of_rerun(Schedule *s, StageId stage, const Item *item) {
    StageId maker = maker_of(s, stage, item->input);
    PartId id = find_part(s, maker, &item->name);
    if (!id.i)
        id = part_new(s, (Part){.state = PART_LOST,
                                .room = ROOM_OUTPUT,
                                .stage = maker,
                                .bytes = item->bytes,
                                .rows = -1,
                                .checksum = item->checksum,
                                .name = item->name});
    part_of(s, id)->readers++;
    return id;
}

// Makes it ready, or lets it wait for its partition.
static void rerun_begin(Schedule *s, ItemId id) {
    Item *item = item_of(s, id);
    if (item->part.i) {
        part_waits(s, item, 1);
        State part = part_of(s, item->part)->state;
        if (part == PART_LOST || part == PART_SPILLING) {
            item_wait(s, id);
            return;
        }
    }
    if (item->state != ITEM_READY) go(s, &item->state, ITEM_READY);
    item_ready(s, id);
}

static ItemId find_rerun(Schedule *s, StageId stage, uint8_t input, const Name *name) {
    for (ItemId id = s->reruns; id.i; id = item_of(s, id)->newer) {
        const Item *item = item_of(s, id);
        bool same = item->stage.i == stage.i && item->input == input;
        if (same && name_same(&item->name, name)) return id;
    }
    return (ItemId){0};
}

// ---- making way ---------------------------------------------------------------------------------

// What the task reads, and what its launch took beside that, as far as it sits in reserves. What it
// reads may have been found lost, and made again since.
typedef struct Reserved {
    PartId parts[3 + LAUNCH_PARTS_MAX];
    uint32_t count;
} Reserved;

static void reserved_add(const Schedule *s, Reserved *reserved, PartId id) {
    if (s->parts[id.i].purse == PURSE_RESERVE) reserved->parts[reserved->count++] = id;
}

static Reserved reserved_of(const Schedule *s, const Task *task) {
    Reserved reserved = {.count = 0};
    for (int i = 0; i < 2; i++) reserved_add(s, &reserved, task->parts[i]);
    reserved_add(s, &reserved, s->items[task->item.i].part);
    for (ItemId more = task->chain; more.i; more = s->items[more.i].sibling)
        reserved_add(s, &reserved, s->items[more.i].part);
    return reserved;
}

// Does one of them sit in the reserve for an output that the work would have? On any node it would
// begin on, or on the one where it waits.
static bool reads_output_of(const Schedule *s, const Task *task, const Item *work) {
    Room output = work->rerun ? ROOM_OUTPUT + ROOM_AGAIN : ROOM_OUTPUT;
    Reserved reserved = reserved_of(s, task);
    for (uint32_t i = 0; i < reserved.count; i++) {
        const Part *part = &s->parts[reserved.parts[i].i];
        bool there = work->state == ITEM_READY || part->node.i == s->tasks[work->task.i].node.i;
        if (there && part->stage.i == work->stage.i && part->room == output) return true;
    }
    return false;
}

// Has the task what the work would begin with or go on with, of its stage's memory or places? What
// it reads may sit in the reserve for an output of that stage, too.
static bool is_in_the_way(Schedule *s, const Task *task, const Item *work) {
    const StageState *state = state_of(s, work->stage);
    const CoreStage *stage = stage_of(s, work->stage);
    bool own = task->stage.i == work->stage.i, begins = work->state == ITEM_READY;
    bool place = own && begins && stage->open_max &&
                 state->running + state->paused_count >= stage->open_max;
    bool reads = reads_output_of(s, task, work);
    bool holds = own && task->rerun == work->rerun &&
                 (task->output == PURSE_RESERVE ||
                  (begins && (task->scratch == PURSE_RESERVE || task->input == PURSE_RESERVE)));
    if (begins) return place || holds || reads;
    const Task *waits = task_of(s, work->task);
    if (waits->output) return false;
    return (holds && task->node.i == waits->node.i) || reads;
}

// The first other work of a stage keeps what it has, but for the place that a rerun needs: rows in
// front of its own depend on that rerun.
static bool may_be_dropped(Schedule *s, const Task *task, const Item *work) {
    const Item *item = item_of(s, task->item);
    if (task->state != TASK_PAUSED || item == work) return false;
    if (!is_first(s, item)) return true;
    return work->rerun && !task->rerun && task->stage.i == work->stage.i &&
           work->state == ITEM_READY;
}

// What it read goes to disk, if it sits in a reserve.
static void drop(Schedule *s, TaskId id) {
    Reserved reserved = reserved_of(s, task_of(s, id));
    task_drop(s, id);
    for (uint32_t i = 0; i < reserved.count; i++) {
        const Part *part = part_of(s, reserved.parts[i]);
        bool idle = part->state == PART_RESIDENT && part->idle == part->readers;
        if (idle) spill_part(s, node_of(s, part->node), reserved.parts[i]);
    }
}

static bool drop_in_the_way(Schedule *s, const Item *work) {
    bool any = false;
    for (uint32_t n = 0; n < s->node_count; n++) {
        for (TaskId id = s->nodes[n].tasks; id.i;) {
            Task *task = task_of(s, id);
            TaskId next = task->node_next;
            if (may_be_dropped(s, task, work) && is_in_the_way(s, task, work)) {
                drop(s, id);
                any = true;
            }
            id = next;
        }
    }
    return any;
}

bool make_way(Schedule *s, bool *dropped) {
    for (uint16_t i = 0; s->node_count > 1 && i < s->plan.stage_count; i++) {
        Favored favored = favored_work(s, (StageId){i});
        for (uint32_t f = 0; f < favored.count; f++) {
            ItemId id = favored.items[f];
            if (!drop_in_the_way(s, item_of(s, id))) continue;
            *dropped = true;
            if (s->answers_due || start_work(s, (StageId){i}, id)) return true;
        }
    }
    return false;
}

static void add_child(Schedule *s, ItemId rerun, PartId id) {
    part_of(s, id)->child = true;
    part_of(s, id)->next = item_of(s, rerun)->children;
    item_of(s, rerun)->children = id;
}

// The lost partition is to be made again.
static void want(Schedule *s, PartId id) {
    Part *part = part_of(s, id);
    if (part->child) return;
    StageId stage = part->stage;
    uint8_t input = part->name.via[part->name.depth - 1];
    Name name = name_above(&part->name);
    ItemId rerun = find_rerun(s, stage, input, &name);
    bool late = rerun.i && item_of(s, rerun)->task.i &&
                task_of(s, item_of(s, rerun)->task)->outputs > part->name.path[name.depth];
    if (!rerun.i || late) {
        rerun = item_new(s, (Item){.stage = stage,
                                   .input = input,
                                   .again = true,
                                   .region = region_of(s, stage, input, &name),
                                   .name = name,
                                   .bytes = part->bytes,
                                   .outputs = UINT32_MAX,
                                   .maker = maker_of(s, stage, input)});
        rerun_add(s, rerun);
        if (name.depth) {
            PartId from = input_of_rerun(s, stage, item_of(s, rerun));
            item_of(s, rerun)->part = from;
        }
        add_child(s, rerun, id);
        rerun_begin(s, rerun);
        return;
    }
    add_child(s, rerun, id);
}

static PartId *child_link(Schedule *s, Item *item, PartId id) {
    PartId *link = &item->children;
    while (link->i && link->i != id.i) link = &part_of(s, *link)->next;
    return link;
}

// Does nobody want any more what it was to make again?
static bool is_useless(const Item *item) { return item->again && !item->children.i; }

bool reruns_judge(Schedule *s) {
    bool any = false;
    for (ItemId id = s->reruns; id.i;) {
        ItemId next = item_of(s, id)->newer;
        const Item *item = item_of(s, id);
        if (is_useless(item)) {
            if (item->state == ITEM_READY) ready_remove(s, id);
            if (item->state == ITEM_WAITING) stop_waiting(s, id);
            if (item->state == ITEM_TAKEN) task_cancel_of(s, id);
            item_end(s, id);
            next = s->reruns;  // Others may have gone with it.
            any = true;
        }
        id = next;
    }
    return any;
}

// How often does the task hold the partition in vain? It is canceled; or its launch took it, and
// will not come to it because of a bound.
static uint32_t held_in_vain(const Schedule *s, const Task *task, PartId id) {
    uint32_t held = 0;
    for (int i = 0; i < 2 && task->state == TASK_CANCELED; i++) held += task->parts[i].i == id.i;
    for (ItemId more = task->chain; more.i; more = s->items[more.i].sibling) {
        const Item *item = &s->items[more.i];
        held += item->part.i == id.i && is_behind_bound(s, item);
    }
    return held;
}

// Does nobody wait for it?
static bool is_left(const Schedule *s, PartId id) {
    uint32_t readers = s->parts[id.i].readers;
    for (uint32_t n = 0; n < s->node_count; n++)
        for (TaskId t = s->nodes[n].tasks; t.i; t = s->tasks[t.i].node_next)
            readers -= held_in_vain(s, &s->tasks[t.i], id);
    return !readers;
}

void rerun_let_go(Schedule *s, ItemId id) {
    PartId *link = &item_of(s, id)->children;
    while (link->i) {
        Part *part = part_of(s, *link);
        if (is_left(s, *link))
            *link = part->next, part->child = false;
        else
            link = &part->next;
    }
    s->recheck |= is_useless(item_of(s, id));
}

void lost_drop(Schedule *s, PartId id) {
    Part *part = part_of(s, id);
    ItemId useless = {0};
    for (ItemId r = s->reruns; part->child && r.i; r = item_of(s, r)->newer) {
        Item *item = item_of(s, r);
        PartId *link = child_link(s, item, id);
        if (!link->i) continue;
        *link = part->next;
        part->child = false;
        if (is_useless(item) && item->state == ITEM_WAITING) useless = r;
        s->recheck |= is_useless(item);
    }
    part_free(s, id);
    if (!useless.i) return;
    stop_waiting(s, useless);
    item_end(s, useless);
    s->recheck = true;
}

bool rerun_output(Schedule *s, Task *task, const Event *event) {
    Item *item = item_of(s, task->item);
    PartId id = item->children;
    while (id.i && part_of(s, id)->name.path[item->name.depth] != task->outputs - 1)
        id = part_of(s, id)->next;
    if (!id.i || !task->output) return false;
    Part *part = part_of(s, id);
    bool known = part->rows >= 0;
    bool differs = (known && part->rows != event->rows) ||
                   (part->checksum && part->checksum != event->checksum);
    if (differs) break_differing(s, part->stage, "a partition that was made again is not the same");
    *child_link(s, item, id) = part->next;
    part->child = false, part->next = part->prior = (PartId){0};
    if (known && !part->parted)
        act(s, (Action){.kind = ACTION_FREE, .data = part->data, .stage = part->stage});
    part->parted = false;
    int64_t bytes = ledger_charged(event->bytes);
    ledger_fit(&node_of(s, task->node)->ledger, &s->reserves, task_room(task, ROOM_OUTPUT),
               task->stage, task->output, bytes);
    state_of(s, part->stage)->queued += part->idle * (bytes - part->bytes);
    part->purse = task->output, part->room = task_room(task, ROOM_OUTPUT), part->node = task->node;
    part->bytes = bytes, part->rows = event->rows, part->checksum = event->checksum;
    part->data = event->data;
    task->output = PURSE_NONE;
    s->outputs_open--;
    go(s, &part->state, PART_RESIDENT);
    part_link(s, id);
    touch(s, task->node);
    spool_judge(s, id);
    wake_waiting(s, part);
    return true;
}

// ---- rows in breakers ---------------------------------------------------------------------------

enum : int64_t { COVERED_BUSY = 30'000'000'000 };  // Work that the loss of a node may cost.

static void flush(Schedule *s, StageId stage, NodeId id) {
    NodeState *node = node_of(s, id);
    if (!node->covered[stage.i].i || node->flushing[stage.i].i) return;
    node->flushing[stage.i] = node->covered[stage.i];
    node->covered[stage.i] = (ItemId){0}, node->covered_count[stage.i] = 0;
    node->covered_busy[stage.i] = 0;
    node->answers_due++, s->answers_due++;
    act(s, (Action){.kind = ACTION_FLUSH, .stage = stage, .node = id});
}

void item_cover(Schedule *s, ItemId id, const Task *task) {
    Item *item = item_of(s, id);
    NodeId node = task->node;
    NodeState *on = node_of(s, node);
    StageId stage = item->stage;
    on->covered_busy[stage.i] += task->busy;
    go(s, &item->state, ITEM_COVERED);
    PartId part = item->part, side = item->side;
    item->part = item->side = (PartId){0}, item->task = item->twin = (TaskId){0}, item->node = node;
    item->sibling = on->covered[stage.i];
    on->covered[stage.i] = id;
    bool many = ++on->covered_count[stage.i] >= s->covered_now;
    if (many || on->covered_busy[stage.i] >= COVERED_BUSY) flush(s, stage, node);
    if (part.i) part_done(s, part);
    if (side.i) part_done(s, side);
}

void flush_node(Schedule *s, NodeId node) {
    for (uint16_t i = 0; i < s->plan.stage_count; i++) flush(s, (StageId){i}, node);
}

void flush_stage(Schedule *s, StageId stage) {
    if (s->node_count == 1 || !stage_of(s, stage)->fill_count) return;
    for (uint32_t n = 0; n < s->node_count; n++) flush(s, stage, (NodeId){(uint16_t)n});
}

static void end_covered(Schedule *s, ItemId *list) {
    while (list->i) {
        ItemId id = *list;
        *list = item_of(s, id)->sibling;
        state_of(s, item_of(s, id)->stage)->ended++;
        item_free(s, id);
    }
}

// Nodes that are lost again and again before they flush would make no progress: they flush after
// half as much as the last loss took, and after more and more where that goes well.
static void flush_sooner(Schedule *s, uint32_t lost) {
    if (lost && lost / 2 < s->covered_now) s->covered_now = lost > 1 ? lost / 2 : 1;
}

// What ended while the node made others safe is safe with them: a part of a breaker goes whole.
void on_flushed(Schedule *s, const Event *event) {
    NodeState *node = node_of(s, event->node);
    s->covered_now = s->covered_now > s->covered_max / 2 ? s->covered_max : 2 * s->covered_now;
    node->answers_due--, s->answers_due--;
    end_covered(s, &node->flushing[event->stage.i]);
    end_covered(s, &node->covered[event->stage.i]);
    node->covered_count[event->stage.i] = 0, node->covered_busy[event->stage.i] = 0;
    judge_over(s, event->stage);
}

// ---- a node is lost -----------------------------------------------------------------------------

static void lose_part(Schedule *s, PartId id) {
    Part *part = part_of(s, id);
    part->purse = PURSE_NONE;
    if (part->state == PART_DROPPED) {
        part_free(s, id);
        return;
    }
    part_unlink(s, id);
    go(s, &part->state, PART_LOST);
    spool_judge(s, id);
}

static void lose_task(Schedule *s, TaskId id) {
    Task *task = task_of(s, id);
    chain_return(s, task);
    if (task->item.i) {
        Item *item = item_of(s, task->item);
        if (task->state == TASK_PAUSED) paused_remove(s, task->item);
        TaskId other = item->task.i == id.i ? item->twin : item->task;
        if (other.i)
            item->task = other, item->twin = (TaskId){0};
        else
            item_return(s, task->item);
    }
    task_end(s, id);
}

void task_drop(Schedule *s, TaskId id) {
    const Task *task = task_of(s, id);
    act(s,
        (Action){.kind = ACTION_DROP, .stage = task->stage, .node = task->node, .task = id});
    lose_task(s, id);
}

static void lose_covered(Schedule *s, ItemId list) {
    while (list.i) {
        ItemId id = list;
        Item *item = item_of(s, id);
        list = item->sibling;
        if (state_of(s, item->stage)->stopped || is_behind_bound(s, item)) {
            item_free(s, id);
            continue;
        }
        rerun_add(s, id);
        if (item->name.depth) item->part = input_of_rerun(s, item->stage, item);
        rerun_begin(s, id);
    }
}

// The launch that took it must not come to it: the data that it was told is gone.
static void make_stale(Schedule *s, const Task *task, PartId id) {
    for (ItemId more = task->chain; more.i; more = item_of(s, more)->sibling)
        if (item_of(s, more)->part.i == id.i) item_of(s, more)->stale = true;
}

// What tasks read stays until they have ended, as a partition that nobody finds by its name.
static void part_from(Schedule *s, PartId id) {
    const Part was = *part_of(s, id);
    PartId left = part_new(s, (Part){.state = was.state == PART_SPILLED ? PART_SPILLED
                                                                        : PART_RESIDENT,
                                     .purse = was.purse,
                                     .room = was.room,
                                     .stage = was.stage,
                                     .node = was.node,
                                     .bytes = was.bytes,
                                     .rows = was.rows,
                                     .data = was.data});
    for (uint32_t n = 0; n < s->node_count; n++) {
        for (TaskId t = s->nodes[n].tasks; t.i; t = task_of(s, t)->node_next) {
            Task *task = task_of(s, t);
            make_stale(s, task, id);
            for (int i = 0; i < 2; i++) {
                if (task->parts[i].i != id.i) continue;
                task->parts[i] = left;
                part_of(s, left)->readers++, part_of(s, id)->readers--;
            }
        }
    }
    part_of(s, id)->parted = true;
    lose_part(s, id);
    if (!part_of(s, left)->readers) part_free(s, left);
}

void on_part_lost(Schedule *s, const Event *event) {
    Part *part = part_of(s, event->part);
    bool writing = part->state == PART_SPILLING || part->state == PART_DROPPED;
    bool there = writing || part->state == PART_RESIDENT || part->state == PART_SPILLED;
    if (!there || part->data != event->data) return;
    if (s->node_count == 1 || stage_of(s, part->name.root)->kind == STAGE_ZIP) {
        break_off(s, "a partition is lost that has no recipe: of one node, or of rows of a zip");
        return;
    }
    if (writing) {
        node_of(s, part->node)->spilling--, node_of(s, part->node)->answers_due--;
        s->answers_due--;
    }
    if (part->state == PART_DROPPED) {
        part_free(s, event->part);
        return;
    }
    part_from(s, event->part);
    if (!part->readers)
        lost_drop(s, event->part);
    else if (part->idle)
        want(s, event->part);
}

// All partitions of the node, and those that are being written.
static void lose_parts(Schedule *s, NodeState *node) {
    for (PartId id = node->parts; id.i;) {
        PartId next = part_of(s, id)->node_next;
        lose_part(s, id);
        id = next;
    }
    s->answers_due -= node->spilling;
    node->answers_due -= node->spilling, node->spilling = 0;
}

void breakers_lose(Schedule *s, NodeState *node) {
    for (uint16_t b = 0; b < s->plan.breaker_count; b++) {
        int64_t held = node->ledger.held[b];
        ledger_release(&node->ledger, &s->reserves, (BreakerId){b}, held);
        s->breakers[b].total -= held, node->shrinking[b] = false;
    }
}

// What the process on the node had: tasks, and what breakers held.
static void lose_process(Schedule *s, NodeState *node) {
    while (node->tasks.i) lose_task(s, node->tasks);
    breakers_lose(s, node);
    // What is written of partitions that outlive it, the caller writes.
    s->answers_due -= node->answers_due - node->spilling;
    node->answers_due = node->spilling;
    spent_forget(s, node);
}

void node_lose(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    if (!s->plan.shares) lose_parts(s, node);
    lose_process(s, node);
    for (uint16_t i = 0; i < s->plan.stage_count; i++) {
        ItemId covered = node->covered[i], flushing = node->flushing[i];
        node->covered[i] = node->flushing[i] = (ItemId){0};
        flush_sooner(s, node->covered_count[i]);
        node->covered_count[i] = 0, node->covered_busy[i] = 0;
        lose_covered(s, covered);
        lose_covered(s, flushing);
    }
    for (uint32_t i = 1; i < s->part_count; i++) {
        const Part *part = &s->parts[i];
        if (part->state == PART_LOST && part->idle) want(s, (PartId){i});
    }
    if (!s->plan.shares)
        ledger_init(&node->ledger, &s->reserves, node->memory);
}
