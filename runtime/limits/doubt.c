#include "runtime/dispatch/state.h"

#include <stdlib.h>
#include <string.h>

// ---- the shape of the job -------------------------------------------------------------------

static const Shape *shape_of(const Dispatch *d) { return schedule_shape(d->schedule); }

static const CoreStage *stage_at(const Dispatch *d, uint32_t stage) {
    return &d->plan->plan.stages[stage];
}

uint32_t doubt_stage(const Dispatch *d, uint32_t root, uint8_t node) {
    if (node == NODE_ROOT) return root;
    return d->plan->plan.edges[shape_of(d)->reach[root].edges[node].i].to.i;
}

// The side of a zip on which the edge comes; else 0.
static uint8_t side_of(const Dispatch *d, EdgeId edge) {
    bool zip = stage_at(d, d->plan->plan.edges[edge.i].to.i)->kind == STAGE_ZIP;
    return zip ? shape_of(d)->input_of[edge.i] : 0;
}

static const Gate *gate_at(const Dispatch *d, EdgeId edge) {
    return &d->doubt.gates[d->plan->plan.edges[edge.i].to.i][side_of(d, edge)];
}

Gate *doubt_gate(Dispatch *d, uint32_t root, uint8_t node) {
    EdgeId edge = shape_of(d)->reach[root].edges[node];
    return &d->doubt.gates[d->plan->plan.edges[edge.i].to.i][side_of(d, edge)];
}

static void open_gates(Dispatch *d) {
    const Job *job = d->job;
    const SbJob *what = job->what;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        if (stage_at(d, s)->kind != STAGE_MAP) continue;
        const Edge *edge = &job->edges[what->stages[s].input_index];
        if (!edge->limited) continue;
        d->doubt.gates[s][0] = (Gate){.is = true, .exact = true, .skip = edge->skip,
                                      .limit = edge->limit};
    }
    for (uint32_t s = 0; s < what->sink_count; s++)
        d->doubt.gates[what->stage_count + s][0] =
            (Gate){.is = job->options.first_rows != INT64_MAX, .exact = true,
                   .limit = job->options.first_rows == INT64_MAX
                                ? INT64_MAX
                                : job->options.first_rows - job->sinks[s].rows};
}

// Does all that the stage makes go to limits?
static bool leads(const Dispatch *d, uint32_t s) {
    const CoreStage *stage = stage_at(d, s);
    bool all = stage->output_count > 0 && stage->fill_count == 0;
    for (uint8_t o = 0; o < stage->output_count; o++) {
        uint32_t to = d->plan->plan.edges[stage->outputs[o].i].to.i;
        all &= gate_at(d, stage->outputs[o])->is || doubt_leads(&d->doubt, to);
    }
    return all;
}

static void open_leads(Dispatch *d) {
    for (uint32_t s = d->job->what->stage_count; s-- > 0;) {
        bool all = leads(d, s), zip = stage_at(d, s)->kind == STAGE_ZIP;
        d->doubt.leads |= (uint64_t)all << s;
        for (int side = 0; side < 2 && all && zip; side++)
            d->doubt.gates[s][side] =
                (Gate){.is = true, .zips = true, .exact = true, .limit = INT64_MAX};
    }
}

static void open_edges(Dispatch *d) {
    const SbJob *what = d->job->what;
    Doubt *doubt = &d->doubt;
    for (uint32_t b = 0; b < what->breaker_count; b++)
        doubt->by_taken[b] = what->breakers[b].kind == SB_BREAK_EDGE;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        if (stage->input != SB_INPUT_ROWS) continue;
        bool taken = doubt->gates[s][0].is || doubt_leads(doubt, s);
        doubt->by_taken[stage->input_index] &= taken;
        if (stage->right_index != UINT32_MAX) doubt->by_taken[stage->right_index] &= taken;
    }
}

static bool is_watched(const Dispatch *d, uint32_t root) {
    const Tree *tree = &shape_of(d)->reach[root];
    bool any = doubt_leads(&d->doubt, root);
    for (uint8_t i = 0; i < tree->count; i++)
        any |= doubt_leads(&d->doubt, doubt_stage(d, root, i));
    return any;
}

void doubt_open(Dispatch *d) {
    Doubt *doubt = &d->doubt;
    open_gates(d);
    open_leads(d);
    open_edges(d);
    doubt_open_keep(d);
    for (uint16_t s = 0; s < d->plan->plan.stage_count; s++) {
        doubt->any |= doubt->gates[s][0].is;
        if (!stage_is_root(stage_at(d, s))) continue;
        doubt->roots[s].tree = &shape_of(d)->reach[s];
        doubt->roots[s].watched = is_watched(d, s);
    }
}

void doubt_restore(Dispatch *d, uint32_t stage, int64_t taken, int64_t came) {
    Gate *gate = &d->doubt.gates[stage][0];
    d->doubt.taken[stage] += taken;
    gate->skip = gate->skip > came ? gate->skip - came : 0;
    if (gate->limit != INT64_MAX) gate->limit -= came;
}

void doubt_start(Dispatch *d) {
    for (uint16_t s = 0; s < d->plan->plan.stage_count; s++) {
        Gate *gate = &d->doubt.gates[s][0];
        if (!gate->is || gate->limit > 0) continue;
        gate->ended = true;
        dispatch_tell(d, (Event){.kind = EVENT_ENOUGH, .stage = {s}});
    }
    for (uint16_t s = d->job->what->stage_count; s-- > 0;) {
        Gate *sides = d->doubt.gates[s];
        if (sides[0].zips && doubt_share_of_stage(d, s, NODE_ROOT, 0) == SHARE_NONE)
            sides[0].ended = sides[1].ended = true, sides[0].limit = sides[1].limit = 0;
    }
}

void doubt_close(Dispatch *d) {
    for (uint32_t s = 0; s < STAGES_MAX; s++) {
        DoubtRoot *root = &d->doubt.roots[s];
        while (root->count > 0) doubt_unit_free_first(d, root);
        free(root->units);
        root->units = nullptr;
    }
}

// ---- flows ----------------------------------------------------------------------------------

// The node of its root's tree by which rows of the partition come to the stage.
static uint8_t node_of(const Dispatch *d, const LivePartition *input, uint32_t stage,
                       uint8_t side) {
    const CorePlan *plan = &d->plan->plan;
    const Tree *tree = &shape_of(d)->reach[input->root];
    for (uint8_t i = 0; i < tree->count; i++) {
        CoreEdge edge = plan->edges[tree->edges[i].i];
        bool from = edge.from.i == input->run->index && edge.to.i == stage;
        if (from && tree->parents[i] == input->node && side_of(d, tree->edges[i]) == side) return i;
    }
    return NODE_ROOT;
}

static uint32_t stage_of_flow(const Dispatch *d, const Flow *flow) {
    return flow->run ? flow->run->index : d->job->what->stage_count + flow->sink;
}

static bool begins_unit(const Flow *flow) { return !flow->input || flow->other; }

bool doubt_launch(Dispatch *d, Flow *flow) {
    flow->node = NODE_ROOT;
    uint32_t stage = stage_of_flow(d, flow);
    DoubtRoot *root = &d->doubt.roots[flow->root];
    bool begins = begins_unit(flow);
    if (!begins) flow->node = node_of(d, flow->input, stage, 0);
    bool counts = begins || doubt_leads(&d->doubt, stage) || d->doubt.gates[stage][0].is;
    if (!root->watched || !flow->run || !counts) return true;
    flow->doubt = begins ? doubt_unit_new(d, stage, flow->root_unit)
                         : doubt_unit_find(root, flow->root_unit);
    if (flow->doubt) flow->doubt->live++;
    return flow->doubt || !begins;
}

uint16_t doubt_way(const Dispatch *d, uint32_t root, uint8_t node) {
    if (node == NODE_ROOT) return 0;
    EdgeId edge = shape_of(d)->reach[root].edges[node];
    uint8_t region = schedule_region(d->schedule, (StageId){(uint16_t)root}, node);
    return (uint16_t)(shape_of(d)->input_of[edge.i] << 8 | region);
}

static GatePlace place_at(const Dispatch *d, uint32_t root, uint8_t node, uint32_t unit) {
    return (GatePlace){doubt_way(d, root, node), unit};
}

static GatePlace place_of(const Dispatch *d, const Flow *flow) {
    return place_at(d, flow->root, flow->node, flow->root_unit);
}

// The piece is a unit of the zip, and rows of units of both sides.
static void take_piece(Dispatch *d, Flow *flow) {
    uint32_t stage = flow->run->index;
    const LivePartition *inputs[] = {flow->input, flow->other};
    if (!flow->doubt) return;
    DoubtPiece *piece = flow->doubt->piece;
    piece->before = d->doubt.gates[stage][0].rows;
    flow->doubt->ordinal = flow->number;
    flow->doubt->rows = flow->rows;
    for (uint8_t side = 0; side < 2; side++) {
        piece->first[side] = flow->at[side];
        uint8_t node = node_of(d, inputs[side], stage, side);
        piece->sides[side] = place_at(d, inputs[side]->root, node, inputs[side]->root_unit);
        DoubtUnit *unit =
            doubt_unit_find(&d->doubt.roots[inputs[side]->root], inputs[side]->root_unit);
        if (unit && unit->nodes[node].base < 0) unit->nodes[node].base = piece->before;
        if (unit) unit->nodes[node].piece = flow->number + 1;
        d->doubt.gates[stage][side].rows += flow->rows;
    }
    DoubtSlot *slot = doubt_slot(d, flow->doubt, NODE_ROOT);
    if (slot) slot->taken = flow->rows;
}

bool doubt_fault(Dispatch *d, uint32_t zip, uint32_t piece, RejectList *list) {
    DoubtUnit *unit = doubt_unit_new(d, zip, piece);
    DoubtSlot *slot = unit ? doubt_slot(d, unit, NODE_ROOT) : nullptr;
    return slot && rejects_move(&slot->rejects, list);
}

void doubt_take(Dispatch *d, Flow *flow) {
    uint32_t stage = flow->run->index;
    Gate *gate = &d->doubt.gates[stage][0];
    if (flow->other) {
        take_piece(d, flow);
        return;
    }
    DoubtUnit *unit = flow->doubt;
    int64_t base = gate->rows, rows = flow->rows, skip = 0;
    if (gate->is) {
        if (unit && unit->nodes[flow->node].base < 0) unit->nodes[flow->node].base = base;
        if (rows > gate->limit - base) rows = gate->limit - base;
        if (gate->skip > base) skip = gate->skip - base;
        if (skip > rows) skip = rows;
        flow->at[0] += skip;
        flow->rows = rows - skip;
        gate->rows += rows;
        if (gate->rows == gate->limit && !gate->ended) {
            gate->ended = true;
            gate->end = place_of(d, flow);
            dispatch_tell(d, (Event){.kind = EVENT_ENOUGH, .stage = {(uint16_t)stage}});
        }
    }
    bool leads = doubt_leads(&d->doubt, stage);
    DoubtSlot *slot = leads && unit ? doubt_slot(d, unit, flow->node) : nullptr;
    if (slot) slot->taken += rows;
    else if (!leads) d->doubt.taken[stage] += rows;
    commit_rows(d, flow, leads ? 0 : rows, gate->is ? rows : 0);
}

bool doubt_may_cancel(const Dispatch *d, uint32_t stage) {
    return doubt_leads(&d->doubt, stage) || d->doubt.gates[stage][0].is;
}

void doubt_sink(Dispatch *d, const Flow *flow, int64_t rows, bool done) {
    Gate *gate = &d->doubt.gates[stage_of_flow(d, flow)][0];
    if (!gate->is || gate->ended) return;
    DoubtUnit *unit = doubt_unit_find(&d->doubt.roots[flow->root], flow->root_unit);
    if (unit && unit->nodes[flow->node].base < 0) unit->nodes[flow->node].base = gate->rows;
    gate->rows += rows;
    if (!done) return;
    gate->ended = true;
    gate->end = place_of(d, flow);
    gate->limit = gate->rows;  // Who reads a pipe may have left before.
}

// Do the rows of the stage's terminal go along an edge to that stage?
static bool goes_to(const Dispatch *d, uint32_t terminal, uint32_t to) {
    const SbJob *what = d->job->what;
    if (to >= what->stage_count) return terminal == (SB_TERMINAL_SINK | (to - what->stage_count));
    return what->stages[to].input_index == terminal || what->stages[to].right_index == terminal;
}

int64_t doubt_quota(const Dispatch *d, const Flow *flow, uint32_t t) {
    const CorePlan *plan = &d->plan->plan;
    const CoreStage *stage = stage_at(d, flow->run->index);
    uint32_t terminal = flow->run->stage->terminals[t];
    bool limited = terminal & SB_TERMINAL_SINK || flow->run->edges[t] != EDGE_NONE;
    if (!d->doubt.any || !limited) return INT64_MAX;
    int64_t most = 0;
    for (uint8_t o = 0; o < stage->output_count; o++) {
        uint32_t to = plan->edges[stage->outputs[o].i].to.i;
        if (!goes_to(d, terminal, to) || schedule_closed(d->schedule, stage->outputs[o])) continue;
        const Gate *gate = gate_at(d, stage->outputs[o]);
        int64_t left = gate->is ? gate->limit - gate->rows : INT64_MAX;
        if (left > most) most = left;
    }
    return most;
}

bool doubt_keep(Dispatch *d, Flow *flow, Partition *partition) {
    DoubtSlot *slot = doubt_slot(d, flow->doubt, flow->node);
    if (!slot) return false;
    const SbStage *stage = partition->run->stage;
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        if (stage->terminals[t] & SB_TERMINAL_SINK && partition->quota[t] > 0)
            slot->fed |= UINT64_C(1) << (stage->terminals[t] & ~SB_TERMINAL_SINK);
    return doubt_slot_add(d, slot, partition);
}

// Somebody takes its rows again.
void doubt_give_back(const FlowMore *more) {
    if (!more->doubt) return;
    DoubtSlot *slot = more->doubt->nodes[more->node].slot;
    if (slot) slot->taken -= more->rows;
    more->doubt->live--;
}

// ---- shares ---------------------------------------------------------------------------------

static int compare(GatePlace a, GatePlace b) {
    if (a.way != b.way) return a.way < b.way ? -1 : 1;
    return (a.unit > b.unit) - (a.unit < b.unit);
}

static Share share_at_gate(const Dispatch *d, const Gate *gate, GatePlace place) {
    if (!gate->ended) return SHARE_ALL;
    if (gate->limit == 0) return SHARE_NONE;
    int order = compare(place, gate->end);
    return order < 0 ? SHARE_ALL : order > 0 ? SHARE_NONE : gate->exact ? SHARE_PART : SHARE_ALL;
}

Share doubt_share_of_stage(const Dispatch *d, uint32_t root, uint8_t node, uint32_t unit) {
    const Tree *tree = &shape_of(d)->reach[root];
    uint32_t stage = doubt_stage(d, root, node);
    bool side = node != NODE_ROOT && stage_at(d, stage)->kind == STAGE_ZIP;  // Pieces go on.
    if (side || !doubt_leads(&d->doubt, stage)) return SHARE_ALL;
    Share most = SHARE_NONE;
    for (uint8_t i = 0; i < tree->count; i++) {
        if (tree->parents[i] != node) continue;
        Share share = doubt_share(d, root, i, unit);
        if (share > most) most = share;
    }
    return most;
}

Share doubt_share(const Dispatch *d, uint32_t root, uint8_t node, uint32_t unit) {
    const Gate *gate = gate_at(d, shape_of(d)->reach[root].edges[node]);
    Share own = gate->is ? share_at_gate(d, gate, place_at(d, root, node, unit)) : SHARE_ALL;
    Share below = doubt_share_of_stage(d, root, node, unit);
    return own < below ? own : below;
}

// Are all pieces of the zip final that have rows of the unit?
static bool are_final(const Dispatch *d, const DoubtUnit *unit, uint8_t node) {
    const DoubtRoot *zip = &d->doubt.roots[doubt_stage(d, unit->root, node)];
    return zip->count == 0 || unit->nodes[node].piece <= zip->units[zip->first]->number;
}

// Is it certain what the limit takes of the unit's rows?
static bool is_judged(const Dispatch *d, const DoubtUnit *unit, uint8_t node) {
    EdgeId edge = shape_of(d)->reach[unit->root].edges[node];
    const Gate *gate = gate_at(d, edge);
    if (!gate->is || gate->ended) return true;
    if (gate->zips && !are_final(d, unit, node)) return false;
    Front front = schedule_front(d->schedule, edge);
    if (front.done || schedule_closed(d->schedule, edge)) return true;
    uint8_t region = schedule_region(d->schedule, (StageId){(uint16_t)unit->root}, node);
    return region != front.region ? region < front.region : unit->number < front.unit;
}

// ---- making it final ------------------------------------------------------------------------

static bool take_slot(Dispatch *d, DoubtUnit *unit, uint8_t node, DoubtSlot *slot) {
    uint32_t stage = doubt_stage(d, unit->root, node);
    StageRun *run = &d->runs[stage];
    for (uint32_t i = 0; i < slot->count; i++) run->counts[slot->from + i] += slot->counts[i];
    d->doubt.taken[stage] += slot->taken;
    flow_watch_rejects(d, &slot->rejects);
    VerdictPlace place = {stage, unit->root, doubt_way(d, unit->root, node)};
    Unit input = doubt_unit_input(unit);
    Judged judged = {.unit = &input, .made = slot->made, .end = slot->end,
                     .bytes = slot->bytes, .whole = slot->whole};
    if (node == NODE_ROOT && unit->cut && !flow_count_source(run, &judged, &d->job->trouble))
        return false;
    if (commit_slot(d, unit, slot, place, node == NODE_ROOT) &&
        verdict_take(&d->verdict, &slot->rejects, place))
        return true;
    return trouble_set(&d->job->trouble, TROUBLE_MEMORY, "no memory for the rejects");
}

bool doubt_again(const Dispatch *d, const DoubtUnit *unit, uint8_t node) {
    const Tree *tree = d->doubt.roots[unit->root].tree;
    uint32_t sinks = d->job->what->stage_count;
    if (!doubt_leads(&d->doubt, doubt_stage(d, unit->root, node))) return false;
    Share share = doubt_share_of_stage(d, unit->root, node, unit->number);
    const DoubtSlot *slot = unit->nodes[node == NODE_ROOT ? tree->count : node].slot;
    if (share != SHARE_ALL) return share == SHARE_PART;
    for (uint8_t i = 0; i < tree->count && slot; i++) {
        uint32_t stage = doubt_stage(d, unit->root, i);
        if (tree->parents[i] != node || stage < sinks || !(slot->fed >> (stage - sinks) & 1))
            continue;
        if (doubt_share(d, unit->root, i, unit->number) != SHARE_ALL) return true;
    }
    return false;
}

static bool is_to_be_made_again(const Dispatch *d, const DoubtUnit *unit) {
    const Tree *tree = d->doubt.roots[unit->root].tree;
    for (uint8_t n = 0; n <= tree->count; n++)
        if (doubt_again(d, unit, n < tree->count ? n : NODE_ROOT)) return true;
    return false;
}

// With this piece the zip ends, and so do both of its sides.
static void end_sides(Dispatch *d, const DoubtUnit *piece, uint8_t nodes) {
    Gate *sides = d->doubt.gates[piece->root];
    bool part = doubt_share_of_stage(d, piece->root, NODE_ROOT, piece->number) == SHARE_PART;
    for (int side = 0; side < 2 && part && sides[0].zips && !sides[side].ended; side++) {
        sides[side].ended = true;
        sides[side].end = piece->piece->sides[side];
        sides[side].limit = piece->piece->before + piece->nodes[nodes].slot->taken;
    }
}

static bool take_unit(Dispatch *d, DoubtUnit *unit) {
    uint8_t nodes = d->doubt.roots[unit->root].tree->count;
    end_sides(d, unit, nodes);
    for (uint8_t n = 0; n <= nodes; n++) {
        uint8_t node = n < nodes ? n : NODE_ROOT;
        bool none = doubt_share_of_stage(d, unit->root, node, unit->number) == SHARE_NONE;
        DoubtSlot *slot = unit->nodes[n].slot;
        if (slot && !none && !take_slot(d, unit, node, slot)) return false;
    }
    return true;
}

// The first unit of the root that is in doubt becomes final. False: it is not yet.
static bool settle_first(Dispatch *d, uint32_t s) {
    DoubtRoot *root = &d->doubt.roots[s];
    DoubtUnit *unit = root->units[root->first];
    if (unit->live > 0 || (unit->due && !unit->made)) return false;
    if (unit->number < d->verdict.bounds[s]) {
        for (uint8_t n = 0; n < root->tree->count; n++)
            if (!is_judged(d, unit, n)) return false;
        if (!unit->made && unit->cut && is_to_be_made_again(d, unit)) {
            unit->due = true;
            unit->next = d->doubt.due;
            d->doubt.due = unit;
            d->doubt.due_count++;
            return false;
        }
        if (!take_unit(d, unit)) dispatch_trouble(d, TROUBLE_MEMORY, &d->job->trouble);
    }
    uint32_t number = unit->number;
    bool wanted = doubt_share_of_stage(d, s, NODE_ROOT, number) != SHARE_NONE;
    doubt_unit_free_first(d, root);
    commit_settled(d, s, number, wanted);
    return true;
}

void doubt_settle(Dispatch *d) {
    if (!d->doubt.any || d->doubt.settling) return;
    d->doubt.settling = true;
    // Pieces of a zip stand behind the units of its sides, and say what is wanted of them.
    for (bool more = true; more;) {
        more = false;
        for (uint32_t s = 0; s < d->job->what->stage_count; s++) {
            DoubtRoot *root = &d->doubt.roots[s];
            while (!d->stop && root->count > 0 && settle_first(d, s)) {
                more = true;
                dispatch_tell_bounds(d);
            }
        }
    }
    d->doubt.settling = false;
}

bool doubt_work(Dispatch *d, uint32_t thread) {
    DoubtUnit *unit = d->doubt.due;
    if (!unit) return false;
    const StageRun *run = &d->runs[unit->root];
    Trouble trouble;
    trouble_clear(&trouble);
    d->doubt.due = unit->next;
    watch_begin(d->job->watch, thread, WORK_TASK, unit->root, d->now);
    // All units of the file may be judged in the meantime.
    Unit input = doubt_unit_input(unit);
    bool good = flow_hold_file(run, &input, &trouble);
    pthread_mutex_unlock(&d->lock);
    good = good && replay_unit(d, unit, thread, &trouble);
    pthread_mutex_lock(&d->lock);
    good = good && flow_let_file(run, &input, &trouble);
    dispatch_clock(d);
    watch_end(d->job->watch, thread, d->now);
    unit->made = true;
    d->doubt.due_count--;
    if (!good) dispatch_trouble(d, TROUBLE_MEMORY, &trouble);
    dispatch_settle(d);
    pthread_cond_broadcast(&d->changed);
    return true;
}

bool doubt_holds(const Dispatch *d, uint32_t stage) {
    for (uint32_t s = 0; d->doubt.any && s < d->job->what->stage_count; s++) {
        const DoubtRoot *root = &d->doubt.roots[s];
        if (root->count == 0) continue;
        if (s == stage) return true;
        for (uint8_t n = 0; n < root->tree->count; n++)
            if (doubt_stage(d, s, n) == stage) return true;
    }
    return false;
}

void doubt_conclude(Dispatch *d) {
    const SbJob *what = d->job->what;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        if (stage->input != SB_INPUT_ROWS) continue;
        const uint32_t inputs[] = {stage->input_index, stage->right_index};
        for (int side = 0; side < 2; side++) {
            if (inputs[side] == UINT32_MAX || !d->doubt.by_taken[inputs[side]]) continue;
            int64_t *rows = &d->job->edges[inputs[side]].rows;
            if (d->doubt.taken[s] > *rows) *rows = d->doubt.taken[s];
        }
    }
}
