#include "runtime/core/state.h"

// Choose: what could run, and which of it is best.

// ---- nodes --------------------------------------------------------------------------------------

// Are there slots for a task of the stage, when one that holds `returned` has gone?
bool node_fits(const Schedule *s, NodeId id, const CoreStage *stage, const uint32_t *returned) {
    const NodeState *node = &s->nodes[id.i];
    if (!node_is_usable(node)) return false;
    const NodeKind *kind = plan_node(&s->plan, id);
    for (uint8_t r = 0; r < s->plan.resource_count; r++) {
        uint32_t used = node->used[r] - (returned ? returned[r] : 0);
        if (stage->demand[r] && used + stage->demand[r] > kind->capacity[r]) return false;
    }
    return true;
}

bool has_node(const Schedule *s, StageId id) {
    const CoreStage *stage = stage_of(s, id);
    for (uint32_t n = 0; n < s->node_count; n++) {
        const NodeKind *kind = plan_node(&s->plan, (NodeId){(uint16_t)n});
        const StageSet *runs = node_runs(s, (NodeId){(uint16_t)n});
        bool fits = node_is_usable(&s->nodes[n]) && set_has(runs, id);
        for (uint8_t r = 0; r < s->plan.resource_count; r++)
            fits &= stage->demand[r] <= kind->capacity[r];
        if (fits) return true;
    }
    return false;
}

// Puts the node into the sets of the stages that are in `now`, out of those that are not.
// Of the stages in one word. Returns the stages for which that is new.
static uint64_t put_changed(NodeSet *sets, NodeId id, uint16_t word, uint64_t before,
                            uint64_t now) {
    for (uint64_t changed = before ^ now; changed; changed &= changed - 1) {
        StageId stage = word_first(word, changed);
        node_set_put(&sets[stage.i], id, now & stage_bit(stage));
    }
    return before ^ now;
}

// The same for all that the node has for the stages in one word, whose slots were these.
static void judge_word(Schedule *s, NodeId id, uint16_t w, uint64_t before) {
    NodeState *node = node_of(s, id);
    NodeWord *word = &node->words[w];
    const uint64_t *in_use = node->ledger.used[w];
    int64_t left = ledger_left_for_tasks(&node->ledger);
    uint64_t fits = word->slots, roomy = 0;
    uint64_t used = in_use[ROOM_SCRATCH] | in_use[ROOM_OUTPUT] | in_use[ROOM_INPUT];
    for (uint64_t all = fits; all; all &= all - 1) {
        StageId stage = word_first(w, all);
        if (s->reserves.tasks[stage.i] <= left) roomy |= stage_bit(stage);
    }
    uint64_t changed = put_changed(s->slots, id, w, before, fits);
    for (; changed; changed &= changed - 1) {
        StageId stage = word_first(w, changed);
        NodeId any;
        set_put(&s->free, stage, node_set_first(&s->slots[stage.i], &any));
    }
    put_changed(s->roomy, id, w, word->roomy, roomy);
    put_changed(s->spare, id, w, word->spare, fits & ~used);
    word->roomy = roomy, word->spare = fits & ~used;
}

static void judge_node(Schedule *s, NodeId id) {
    NodeState *node = node_of(s, id);
    uint64_t before[BITS_WORDS];
    for (uint16_t w = 0; w < s->words; w++) before[w] = node->words[w].slots;
    slots_judge(s, id);
    for (uint16_t w = 0; w < s->words; w++) judge_word(s, id, w, before[w]);
    node->dirty = false;
}

void judge_nodes(Schedule *s) {
    for (uint32_t i = 0; i < s->dirty_count; i++) judge_node(s, s->dirty[i]);
    s->dirty_count = 0;
}

// ---- order --------------------------------------------------------------------------------------

static bool roots_exhausted(const Schedule *s, EdgeId edge) {
    return bits_within(&s->shape.roots[edge.i], &s->exhausted, s->words);
}

bool edge_is_done(const Schedule *s, EdgeId edge) {
    if (s->on_edge[edge.i]) return false;
    if (set_has(&s->over, s->plan.edges[edge.i].from)) return true;
    return !order_first(&s->order, edge).i && roots_exhausted(s, edge);
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
bool may_open(Schedule *s, StageId stage, const Item *item) {
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
        if (!edge_is_done(s, before) || !roots_exhausted(s, before)) return false;
    }
    return true;
}

// ---- what could run -----------------------------------------------------------------------------

bool tables_complete(const Schedule *s, const CoreStage *stage) {
    for (uint8_t n = 0; n < stage->need_count; n++)
        if (s->breakers[stage->needs[n].i].state != BREAKER_COMPLETE) return false;
    return true;
}

static bool inputs_over(const Schedule *s, const CoreStage *stage) {
    for (uint8_t i = 0; i < stage->input_count; i++)
        if (!set_has(&s->over, s->plan.edges[stage->inputs[i].i].from)) return false;
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
    for (uint16_t w = 0; w < s->words; w++) {
        uint64_t left = s->shape.beneath[source.i].words[w];
        for (; left; left &= left - 1) {
            StageId stage = word_first(w, left);
            if (takes_all(s, stage)) far |= is_crowded(s, stage, seconds);
        }
    }
    return far;
}

// Of the stages in one word, those that take the resource in an area.
static uint64_t takers(const Schedule *s, Area area, uint8_t resource, uint16_t word) {
    const StageSet *none = &s->shape.demands[resource].stages[0];  // That do not take it.
    return s->shape.areas[area].words[word] & ~none->words[word];
}

// The source, and the stages beneath it.
static uint64_t fed_by(const Schedule *s, StageId source, uint16_t word) {
    uint64_t fed = s->shape.beneath[source.i].words[word];
    return word == source.i / WORD_BITS ? fed | stage_bit(source) : fed;
}

// A resource in an area; RESOURCES_MAX: none.
typedef struct Slowest {
    Area area;
    uint8_t resource;
} Slowest;

// The slowest of those that the source and the stages beneath it take.
static Slowest slowest_for(const Schedule *s, StageId source) {
    Slowest slowest = {.resource = RESOURCES_MAX};
    double most = 0;
    Area areas = s->node_count > 1 ? AREAS : AREA_HOME;
    for (Area area = AREA_WIDE; area < areas; area++) {
        for (uint8_t r = 0; r < s->plan.resource_count; r++) {
            uint64_t taken = 0;
            if (s->pacing.load[area][r] <= most) continue;
            for (uint16_t w = 0; w < s->words; w++)
                taken |= takers(s, area, r, w) & fed_by(s, source, w);
            if (taken) most = s->pacing.load[area][r], slowest = (Slowest){area, r};
        }
    }
    return slowest;
}

static bool has_any(const Schedule *s, uint16_t word, uint64_t stages) {
    return (s->ready.words[word] | s->paused.words[word]) & stages;
}

// Is something ready or paused at one of the stages, or above it?
static bool is_on_the_way(const Schedule *s, uint16_t word, uint64_t stages) {
    if (has_any(s, word, stages)) return true;
    for (; stages; stages &= stages - 1) {
        const StageSet *above = &s->shape.above[word_first(word, stages).i];
        for (uint16_t w = 0; w < s->words; w++)
            if (has_any(s, w, above->words[w])) return true;
    }
    return false;
}

// Is there room for a task in the slowest resource that takes what comes of the source, and is
// nothing ready that takes it, or lies on the way to it? Then the pace is too slow, whatever says
// so: a time that was taken of few tasks, or of others than those to come.
static bool is_starved(const Schedule *s, StageId source) {
    if (s->policy->admission != ADMIT_RATE) return false;
    Slowest slowest = slowest_for(s, source);
    if (slowest.resource == RESOURCES_MAX) return false;
    bool room = false;
    for (uint16_t w = 0; w < s->words; w++) {
        uint64_t takes = takers(s, slowest.area, slowest.resource, w);
        uint64_t fed = fed_by(s, source, w);
        room |= (takes & fed & s->free.words[w]) != 0;
        // Others that take it are in its way, too, wherever their rows come from.
        if (has_any(s, w, takes) || is_on_the_way(s, w, takes & fed)) return false;
    }
    return room;
}

static bool unit_may_begin(Schedule *s, StageId stage) {
    StageState *state = state_of(s, stage);
    const CoreStage *described = stage_of(s, stage);
    if (set_has(&s->exhausted, stage)) return false;
    if (!bits_within(&s->shape.before[stage.i], &s->exhausted, s->words)) return false;
    if (state->uncut.i || state->waiting) return false;
    if (described->kind == STAGE_READER &&
        s->breakers[described->reads.i].state != BREAKER_COMPLETE)
        return false;
    if (described->kind == STAGE_READER)
        return !described->unmatched ||
               bits_within(&s->shape.probers[described->reads.i], &s->over, s->words);
    int64_t when = pacing_when(&s->pacing, &s->plan, stage, s->now);
    bool rests = !s->running && !s->answers_due;  // Then no pace is too fast.
    bool due = when <= s->now || is_starved(s, stage);
    if (rests || (due && !is_far_ahead(s, stage))) return true;
    bool sets = s->now < when && when < INT64_MAX;
    if (sets && (s->timer <= s->now || when < s->timer)) s->timer = when;
    return false;
}

bool is_readable(const Schedule *s, PartId part) {
    return s->parts[part.i].state == PART_RESIDENT || s->parts[part.i].state == PART_SPILLED;
}

PartId missing_part(const Schedule *s, const Item *item) {
    if (item->part.i && !is_readable(s, item->part)) return item->part;
    if (item->side.i && !is_readable(s, item->side)) return item->side;
    return (PartId){0};
}

static bool zip_may_begin(Schedule *s, StageId zip) {
    const CoreStage *stage = stage_of(s, zip);
    if (set_has(&s->exhausted, zip)) return false;
    for (uint8_t i = 0; i < 2; i++) {
        ItemId front = zip_front(s, stage->inputs[i]);
        if (!front.i || !is_readable(s, item_of(s, front)->part)) return false;
    }
    return true;
}

bool may_take(Schedule *s, StageId stage, ItemId ready) {
    StageState *state = state_of(s, stage);
    const CoreStage *described = stage_of(s, stage);
    bool rerun = ready.i && item_of(s, ready)->rerun;
    if (state->stopped && !rerun) return false;
    if (!tables_complete(s, described)) return false;
    bool waits = s->policy->staged && described->kind != STAGE_SINK;
    if (waits && !inputs_over(s, described)) return false;
    bool opens = !described->open_max || may_open(s, stage, ready.i ? item_of(s, ready) : nullptr);
    if (!opens) return false;
    if (!ready.i && described->kind == STAGE_ZIP) return zip_may_begin(s, stage);
    if (!ready.i) return stage_is_root(described) && unit_may_begin(s, stage);
    if (stage_is_root(described) || rerun) return true;
    const Item *item = item_of(s, ready);
    if (described->kind == STAGE_SINK) return is_next(s, item);
    if (described->limit && !is_first(s, item)) return false;
    if (described->in_order && !is_next(s, item)) return false;
    return is_open(s, item) && batch_may_begin(s, stage);
}

bool may_begin(Schedule *s, StageId stage) {
    return may_take(s, stage, state_of(s, stage)->ready.root);
}

// Could the item begin or go on?
static bool may_move(Schedule *s, const Item *item) {
    bool taken = item->state == ITEM_TAKEN;
    return taken ? task_of(s, item->task)->state == TASK_PAUSED : item->state == ITEM_READY;
}

Favored favored_work(Schedule *s, StageId stage) {
    Favored favored = {0};
    ItemId firsts[FAVORED_MAX] = {rerun_first(s, stage), first_work(s, stage)};
    for (int i = 0; i < FAVORED_MAX; i++)
        if (firsts[i].i && may_move(s, item_of(s, firsts[i])))
            favored.items[favored.count++] = firsts[i];
    return favored;
}

uint64_t with_any(const Schedule *s, uint16_t w) {
    return s->ready.words[w] | s->paused.words[w] | s->openers.words[w];
}

static bool has_work(Schedule *s, StageId stage) {
    if (set_has(&s->blocked, stage)) return false;
    if (set_has(&s->paused, stage) || may_begin(s, stage)) return true;
    if (!s->reruns.i) return false;
    Favored favored = favored_work(s, stage);
    for (uint32_t i = 0; i < favored.count; i++)
        if (may_take(s, stage, favored.items[i])) return true;
    return false;
}

// ---- which is best ------------------------------------------------------------------------------

// What decides whether a stage stands before another.
typedef struct Rank {
    StageId stage;
    bool sink, part;
    bool served;    // It has as many tasks at work as it needs.
    double behind;  // What waits after it.
} Rank;

// Tasks are whole: 2.7 are 3, and 0.2 are one. What waits is counted in bytes, or of policies that
// are even in rows, as those of its roots that they come of. So a stage of narrow rows does not run
// ahead of one that makes them wide.
static Rank rank_of(const Schedule *s, StageId id, uint32_t running) {
    const StageState *state = &s->stages[id.i];
    bool even = s->policy->even;
    return (Rank){.stage = id,
                  .sink = stage_of(s, id)->kind == STAGE_SINK,
                  .part = batch_is_part(s, id),
                  .served = even && running && running + 0.5 >= s->pacing.due[id.i],
                  .behind = even ? (double)state->queued_rows / s->pacing.given[id.i]
                                 : (double)state->queued};
}

// Would a task of one leave less for the other? Else they share memory only.
static bool compete(const Schedule *s, StageId a, StageId b) {
    const CoreStage *x = stage_of(s, a), *y = stage_of(s, b);
    for (uint8_t r = 0; r < s->plan.resource_count; r++)
        if (x->demand[r] && y->demand[r]) return true;
    return false;
}

// Sinks first, batches that are not full last; else of those that want the same slots one that has
// not all tasks that it needs; else what has the least waiting after it, of equals the one further
// down.
static bool is_better(const Schedule *s, const Rank *a, const Rank *b) {
    if (a->sink != b->sink) return a->sink;
    if (a->part != b->part) return b->part;
    if (a->served != b->served && compete(s, a->stage, b->stage)) return b->served;
    return a->behind != b->behind ? a->behind < b->behind : a->stage.i > b->stage.i;
}

// The best of the stages in a word and of what was found before. True: there is one.
static bool pick_of(Schedule *s, uint16_t w, Rank *first, bool found) {
    uint64_t any = with_any(s, w), slots = s->free.words[w] & ~s->full.words[w];
    for (uint64_t left = any & ~slots & s->shape.batching.words[w]; left; left &= left - 1)
        batch_let_go(s, word_first(w, left));
    for (uint64_t left = any & slots; left; left &= left - 1) {
        StageId stage = word_first(w, left);
        if (!has_work(s, stage)) {
            if (!set_has(&s->blocked, stage)) set_put(&s->hungry, stage, false);
            continue;
        }
        Rank rank = rank_of(s, stage, s->stages[stage.i].running);
        if (!found || is_better(s, &rank, first)) *first = rank;
        found = true;
    }
    return found;
}

bool pick(Schedule *s, StageId *best) {
    bool found = false;
    Rank first;
    judge_nodes(s);
    for (uint16_t w = 0; w < s->words; w++) found = pick_of(s, w, &first, found);
    if (found) *best = first.stage;
    return found;
}

bool pick_ahead(Schedule *s, NodeId id, StageId *best) {
    const NodeState *node = &s->nodes[id.i];
    bool found = false;
    Rank first = {0};
    if (!node_is_usable(node)) return false;
    judge_nodes(s);
    for (uint16_t w = 0; w < s->words; w++) {
        uint64_t left = with_any(s, w) & node_runs(s, id)->words[w] & ~node->words[w].slots;
        for (left &= ~s->blocked.words[w]; left; left &= left - 1) {
            StageId stage = word_first(w, left);
            if (!may_go_ahead(s, id, stage) || !may_begin(s, stage)) continue;
            Rank rank = rank_of(s, stage, s->stages[stage.i].running);
            if (!found || is_better(s, &rank, &first)) first = rank;
            found = true;
        }
    }
    if (found) *best = first.stage;
    return found;
}

bool should_yield(Schedule *s, const Task *task) {
    if (!s->policy->yields) return false;
    const CoreStage *own = stage_of(s, task->stage);
    judge_nodes(s);
    Rank rank = rank_of(s, task->stage, s->stages[task->stage.i].running - 1);
    for (uint16_t w = 0; w < s->words; w++) {
        uint64_t others = with_any(s, w) &
                          ~(s->free.words[w] | s->full.words[w] | s->blocked.words[w]);
        for (; others; others &= others - 1) {
            StageId id = word_first(w, others);
            if (id.i == task->stage.i) continue;
            Rank other = rank_of(s, id, s->stages[id.i].running);
            if (!is_better(s, &other, &rank) || !has_work(s, id)) continue;
            if (!set_has(node_runs(s, task->node), id)) continue;
            if (node_fits(s, task->node, stage_of(s, id), own->demand)) return true;
        }
    }
    return false;
}
