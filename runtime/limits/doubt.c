#include "runtime/limits/state.h"

#include <stdlib.h>
#include <string.h>

// ---- the shape of the job -------------------------------------------------------------------

static const Shape *shape_of(const Limits *limits) { return schedule_shape(limits->d->schedule); }

static const CoreStage *stage_at(const Limits *limits, uint32_t stage) {
    return &limits->d->plan->plan.stages[stage];
}

static const Gate *gate_at(const Limits *limits, EdgeId edge) {
    return &limits->gates[limits->d->plan->plan.edges[edge.i].to.i][flow_side(limits->d, edge)];
}

const Gate *doubt_gate(const Limits *limits, uint32_t root, uint8_t node) {
    return gate_at(limits, shape_of(limits)->reach[root].edges[node]);
}

static void open_gates(Limits *limits) {
    const SbJob *what = limits->what;
    int64_t first_rows = limits->options->first_rows;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        if (stage_at(limits, s)->kind != STAGE_MAP) continue;
        const Edge *edge = &limits->edges[what->stages[s].input_index];
        if (!edge->limited) continue;
        limits->gates[s][0] = (Gate){.is = true, .skip = edge->skip, .limit = edge->limit};
    }
    for (uint32_t s = 0; s < what->sink_count; s++)
        limits->gates[what->stage_count + s][0] =
            (Gate){.is = first_rows != INT64_MAX,
                   .limit = first_rows == INT64_MAX ? INT64_MAX
                                                     : first_rows - limits->sinks[s].rows};
}

// Does all that the stage makes go to limits?
static bool leads(const Limits *limits, uint32_t s) {
    const CoreStage *stage = stage_at(limits, s);
    bool all = stage->output_count > 0 && stage->fill_count == 0;
    for (uint8_t o = 0; o < stage->output_count; o++) {
        uint32_t to = limits->d->plan->plan.edges[stage->outputs[o].i].to.i;
        all &= gate_at(limits, stage->outputs[o])->is || doubt_leads(limits, to);
    }
    return all;
}

static void open_leads(Limits *limits) {
    for (uint32_t s = limits->what->stage_count; s-- > 0;) {
        bool all = leads(limits, s), zip = stage_at(limits, s)->kind == STAGE_ZIP;
        bits_put(&limits->leads, s, all);
        for (int side = 0; side < 2 && all && zip; side++)
            limits->gates[s][side] = (Gate){.is = true, .zips = true, .limit = INT64_MAX};
    }
}

static void open_edges(Limits *limits) {
    const SbJob *what = limits->what;
    for (uint32_t b = 0; b < what->breaker_count; b++)
        limits->by_taken[b] = sb_is_edge(what, b);
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        if (stage->input != SB_INPUT_ROWS) continue;
        bool taken = limits->gates[s][0].is || doubt_leads(limits, s);
        limits->by_taken[stage->input_index] &= taken;
        if (stage->right_index != UINT32_MAX) limits->by_taken[stage->right_index] &= taken;
    }
}

static bool is_watched(const Limits *limits, uint32_t root) {
    const Tree *tree = &shape_of(limits)->reach[root];
    bool any = doubt_leads(limits, root);
    for (uint8_t i = 0; i < tree->count; i++)
        any |= doubt_leads(limits, flow_stage_at(limits->d, root, i));
    return any;
}

void doubt_open(Limits *limits) {
    open_gates(limits);
    open_leads(limits);
    open_edges(limits);
    for (uint16_t s = 0; s < limits->d->plan->plan.stage_count; s++) {
        limits->any |= limits->gates[s][0].is;
        if (!stage_is_root(stage_at(limits, s))) continue;
        limits->roots[s].tree = &shape_of(limits)->reach[s];
        limits->roots[s].watched = is_watched(limits, s);
    }
}

void limits_restore(Limits *limits, uint32_t stage, int64_t taken, int64_t came) {
    Gate *gate = &limits->gates[stage][0];
    limits->taken[stage] += taken;
    gate->skip = gate->skip > came ? gate->skip - came : 0;
    if (gate->limit != INT64_MAX) gate->limit -= came;
}

void doubt_start(Limits *limits) {
    for (uint16_t s = 0; s < limits->d->plan->plan.stage_count; s++) {
        Gate *gate = &limits->gates[s][0];
        if (!gate->is || gate->limit > 0) continue;
        gate->ended = true;
        dispatch_tell(limits->d, (Event){.kind = EVENT_ENOUGH, .stage = {s}});
    }
    for (uint16_t s = limits->what->stage_count; s-- > 0;) {
        Gate *sides = limits->gates[s];
        if (sides[0].zips && doubt_share_of_stage(limits, s, NODE_ROOT, 0) == SHARE_NONE)
            sides[0].ended = sides[1].ended = true, sides[0].limit = sides[1].limit = 0;
    }
}

void doubt_close(Limits *limits) {
    for (uint32_t s = 0; s < STAGES_MAX; s++) {
        DoubtRoot *root = &limits->roots[s];
        while (root->count > 0) doubt_unit_free_first(limits, root);
        free(root->units);
        root->units = nullptr;
    }
}

// ---- flows ----------------------------------------------------------------------------------

static uint32_t stage_of_flow(const Limits *limits, const Flow *flow) {
    return flow->run ? flow->run->index : limits->what->stage_count + flow->sink;
}

static bool begins_unit(const Flow *flow) { return !flow->input || flow->other; }

bool doubt_launch(Limits *limits, Flow *flow) {
    uint32_t stage = stage_of_flow(limits, flow);
    DoubtRoot *root = &limits->roots[flow->root];
    bool begins = begins_unit(flow);
    bool counts = begins || doubt_leads(limits, stage) || limits->gates[stage][0].is;
    if (!root->watched || !flow->run || !counts) return true;
    flow->doubt = begins ? doubt_unit_new(limits, stage, flow->root_unit)
                         : doubt_unit_find(root, flow->root_unit);
    if (flow->doubt) flow->doubt->live++;
    return flow->doubt || !begins;
}

static GatePlace place_at(const Limits *limits, uint32_t root, uint8_t node, uint32_t unit) {
    return (GatePlace){flow_way(limits->d, root, node), unit};
}

static GatePlace place_of(const Limits *limits, const Flow *flow) {
    return place_at(limits, flow->root, flow->node, flow->root_unit);
}

// The piece is a unit of the zip, and rows of units of both sides.
static void take_piece(Limits *limits, Flow *flow) {
    uint32_t stage = flow->run->index;
    const LivePartition *inputs[] = {flow->input, flow->other};
    if (!flow->doubt) return;
    DoubtPiece *piece = flow->doubt->piece;
    piece->before = limits->gates[stage][0].rows;
    flow->doubt->ordinal = flow->number;
    flow->doubt->rows = flow->rows;
    for (uint8_t side = 0; side < 2; side++) {
        piece->first[side] = flow->at[side];
        uint8_t node = flow_node_of(limits->d, inputs[side], stage, side);
        piece->sides[side] = place_at(limits, inputs[side]->root, node, inputs[side]->root_unit);
        DoubtUnit *unit =
            doubt_unit_find(&limits->roots[inputs[side]->root], inputs[side]->root_unit);
        if (unit && unit->nodes[node].base < 0) unit->nodes[node].base = piece->before;
        if (unit) unit->nodes[node].piece = flow->number + 1;
        limits->gates[stage][side].rows += flow->rows;
    }
    DoubtSlot *slot = doubt_slot(limits, flow->doubt, NODE_ROOT);
    if (slot) slot->taken = flow->rows;
}

bool doubt_fault(Limits *limits, uint32_t zip, uint32_t piece, RejectList *list) {
    DoubtUnit *unit = doubt_unit_new(limits, zip, piece);
    DoubtSlot *slot = unit ? doubt_slot(limits, unit, NODE_ROOT) : nullptr;
    return slot && rejects_move(&slot->rejects, list);
}

bool doubt_unreadable(Limits *limits, const Flow *flow, const Trouble *trouble) {
    DoubtUnit *unit = flow->doubt;
    if (!unit || flow->input || !doubt_leads(limits, flow->run->index)) return true;
    if (!unit->trouble) unit->trouble = malloc(sizeof *unit->trouble);
    if (unit->trouble) *unit->trouble = *trouble;
    return !unit->trouble;
}

void doubt_take(Limits *limits, Flow *flow) {
    uint32_t stage = flow->run->index;
    Gate *gate = &limits->gates[stage][0];
    if (flow->other) {
        take_piece(limits, flow);
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
            gate->end = place_of(limits, flow);
            dispatch_tell(limits->d, (Event){.kind = EVENT_ENOUGH, .stage = {(uint16_t)stage}});
        }
    }
    bool leads = doubt_leads(limits, stage);
    DoubtSlot *slot = leads && unit ? doubt_slot(limits, unit, flow->node) : nullptr;
    if (slot) slot->taken += rows;
    else if (!leads) limits->taken[stage] += rows;
    tell_rows(&limits->d->observers, flow, leads ? 0 : rows, gate->is ? rows : 0);
}

bool limits_may_cancel(const Limits *limits, uint32_t stage) {
    return doubt_leads(limits, stage) || limits->gates[stage][0].is;
}

void doubt_sink(Limits *limits, const Flow *flow, int64_t rows, bool done) {
    Gate *gate = &limits->gates[stage_of_flow(limits, flow)][0];
    if (!gate->is || gate->ended) return;
    DoubtUnit *unit = doubt_unit_find(&limits->roots[flow->root], flow->root_unit);
    if (unit && unit->nodes[flow->node].base < 0) unit->nodes[flow->node].base = gate->rows;
    gate->rows += rows;
    if (!done) return;
    gate->ended = true;
    gate->end = place_of(limits, flow);
    gate->limit = gate->rows;  // Who reads a pipe may have left before.
}

// Do the rows of the stage's terminal go along an edge to that stage?
static bool goes_to(const Limits *limits, uint32_t terminal, uint32_t to) {
    const SbJob *what = limits->what;
    if (to >= what->stage_count) return terminal == (SB_TERMINAL_SINK | (to - what->stage_count));
    return what->stages[to].input_index == terminal || what->stages[to].right_index == terminal;
}

int64_t doubt_quota(const Limits *limits, const Flow *flow, uint32_t t) {
    const CorePlan *plan = &limits->d->plan->plan;
    const CoreStage *stage = stage_at(limits, flow->run->index);
    uint32_t terminal = flow->run->stage->terminals[t];
    bool limited = terminal & SB_TERMINAL_SINK || flow->run->edges[t] != EDGE_NONE;
    if (!limits->any || !limited) return INT64_MAX;
    int64_t most = 0;
    for (uint8_t o = 0; o < stage->output_count; o++) {
        uint32_t to = plan->edges[stage->outputs[o].i].to.i;
        bool closed = schedule_closed(limits->d->schedule, stage->outputs[o]);
        if (!goes_to(limits, terminal, to) || closed) continue;
        const Gate *gate = gate_at(limits, stage->outputs[o]);
        int64_t left = gate->is ? gate->limit - gate->rows : INT64_MAX;
        if (left > most) most = left;
    }
    return most;
}

bool doubt_keep(Limits *limits, Flow *flow, Partition *partition) {
    DoubtSlot *slot = doubt_slot(limits, flow->doubt, flow->node);
    if (!slot) return false;
    const SbStage *stage = partition->run->stage;
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        if (stage->terminals[t] & SB_TERMINAL_SINK && partition->quota[t] > 0)
            slot->fed |= UINT64_C(1) << (stage->terminals[t] & ~SB_TERMINAL_SINK);
    return doubt_slot_add(limits, slot, partition);
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

static Share share_at_gate(const Gate *gate, GatePlace place) {
    if (!gate->ended) return SHARE_ALL;
    if (gate->limit == 0) return SHARE_NONE;
    int order = compare(place, gate->end);
    return order < 0 ? SHARE_ALL : order > 0 ? SHARE_NONE : SHARE_PART;
}

Share doubt_share_of_stage(const Limits *limits, uint32_t root, uint8_t node, uint32_t unit) {
    const Tree *tree = &shape_of(limits)->reach[root];
    uint32_t stage = flow_stage_at(limits->d, root, node);
    bool side = node != NODE_ROOT && stage_at(limits, stage)->kind == STAGE_ZIP;  // Pieces go on.
    if (side || !doubt_leads(limits, stage)) return SHARE_ALL;
    Share most = SHARE_NONE;
    for (uint8_t i = 0; i < tree->count; i++) {
        if (tree->parents[i] != node) continue;
        Share share = doubt_share(limits, root, i, unit);
        if (share > most) most = share;
    }
    return most;
}

Share doubt_share(const Limits *limits, uint32_t root, uint8_t node, uint32_t unit) {
    const Gate *gate = doubt_gate(limits, root, node);
    GatePlace place = place_at(limits, root, node, unit);
    Share own = gate->is ? share_at_gate(gate, place) : SHARE_ALL;
    Share below = doubt_share_of_stage(limits, root, node, unit);
    return own < below ? own : below;
}

// Are all pieces of the zip final that have rows of the unit?
static bool are_final(const Limits *limits, const DoubtUnit *unit, uint8_t node) {
    const DoubtRoot *zip = &limits->roots[flow_stage_at(limits->d, unit->root, node)];
    return zip->count == 0 || unit->nodes[node].piece <= zip->units[zip->first]->number;
}

// Is it certain what the limit takes of the unit's rows?
static bool is_judged(const Limits *limits, const DoubtUnit *unit, uint8_t node) {
    EdgeId edge = shape_of(limits)->reach[unit->root].edges[node];
    const Gate *gate = gate_at(limits, edge);
    if (!gate->is || gate->ended) return true;
    if (gate->zips && !are_final(limits, unit, node)) return false;
    Front front = schedule_front(limits->d->schedule, edge);
    if (front.done || schedule_closed(limits->d->schedule, edge)) return true;
    uint8_t region = schedule_region(limits->d->schedule, (StageId){(uint16_t)unit->root}, node);
    return region != front.region ? region < front.region : unit->number < front.unit;
}

// ---- making it final ------------------------------------------------------------------------

static bool take_slot(Limits *limits, DoubtUnit *unit, uint8_t node, DoubtSlot *slot) {
    uint32_t stage = flow_stage_at(limits->d, unit->root, node);
    StageRun *run = &limits->d->runs[stage];
    for (uint32_t i = 0; i < slot->count; i++) run->counts[slot->from + i] += slot->counts[i];
    limits->taken[stage] += slot->taken;
    tell_rejected(&limits->d->observers, &slot->rejects);
    VerdictPlace place = flow_verdict_place(limits->d, unit->root, node);
    Unit input = doubt_unit_input(unit);
    Judged judged = {.unit = &input, .made = slot->made, .end = slot->end,
                     .bytes = slot->bytes, .whole = slot->whole};
    Trouble *trouble = limits->trouble;
    if (node == NODE_ROOT && unit->cut && !flow_count_source(run, &judged, trouble))
        return false;
    LateCounts late = {.root = unit->root, .number = unit->number, .place = place,
                       .counts = slot->counts, .from = slot->from, .count = slot->count,
                       .rejects = &slot->rejects, .taken = slot->taken,
                       .of_root = node == NODE_ROOT, .made = slot->made, .bytes = slot->bytes,
                       .end = input.offset + slot->end, .whole = slot->whole};
    if (tell_counted_late(&limits->d->observers, &late) &&
        verdict_take(&limits->d->verdict, &slot->rejects, place))
        return true;
    return trouble_set(trouble, TROUBLE_MEMORY, "no memory for the rejects");
}

bool doubt_again(const Limits *limits, const DoubtUnit *unit, uint8_t node) {
    const Tree *tree = limits->roots[unit->root].tree;
    uint32_t sinks = limits->what->stage_count;
    if (!doubt_leads(limits, flow_stage_at(limits->d, unit->root, node))) return false;
    Share share = doubt_share_of_stage(limits, unit->root, node, unit->number);
    const DoubtSlot *slot = unit->nodes[node == NODE_ROOT ? tree->count : node].slot;
    if (share != SHARE_ALL) return share == SHARE_PART;
    for (uint8_t i = 0; i < tree->count && slot; i++) {
        uint32_t stage = flow_stage_at(limits->d, unit->root, i);
        if (tree->parents[i] != node || stage < sinks || !(slot->fed >> (stage - sinks) & 1))
            continue;
        if (doubt_share(limits, unit->root, i, unit->number) != SHARE_ALL) return true;
    }
    return false;
}

static bool is_to_be_made_again(const Limits *limits, const DoubtUnit *unit) {
    const Tree *tree = limits->roots[unit->root].tree;
    for (uint8_t n = 0; n <= tree->count; n++)
        if (doubt_again(limits, unit, n < tree->count ? n : NODE_ROOT)) return true;
    return false;
}

// With this piece the zip ends, and so do both of its sides.
static void end_sides(Limits *limits, const DoubtUnit *piece, uint8_t nodes) {
    Gate *sides = limits->gates[piece->root];
    bool part = doubt_share_of_stage(limits, piece->root, NODE_ROOT, piece->number) == SHARE_PART;
    for (int side = 0; side < 2 && part && sides[0].zips && !sides[side].ended; side++) {
        sides[side].ended = true;
        sides[side].end = piece->piece->sides[side];
        sides[side].limit = piece->piece->before + piece->nodes[nodes].slot->taken;
    }
}

static bool take_unit(Limits *limits, DoubtUnit *unit) {
    uint8_t nodes = limits->roots[unit->root].tree->count;
    end_sides(limits, unit, nodes);
    for (uint8_t n = 0; n <= nodes; n++) {
        uint8_t node = n < nodes ? n : NODE_ROOT;
        bool none = doubt_share_of_stage(limits, unit->root, node, unit->number) == SHARE_NONE;
        DoubtSlot *slot = unit->nodes[n].slot;
        if (slot && !none && !take_slot(limits, unit, node, slot)) return false;
    }
    return true;
}

// Limits want rows of the unit, which cannot be read.
static bool is_missed(const Limits *limits, const DoubtUnit *unit) {
    return unit->trouble &&
           doubt_share_of_stage(limits, unit->root, NODE_ROOT, unit->number) != SHARE_NONE;
}

// The first unit of the root that is in doubt becomes final. False: it is not yet.
static bool settle_first(Limits *limits, uint32_t s) {
    DoubtRoot *root = &limits->roots[s];
    DoubtUnit *unit = root->units[root->first];
    if (unit->live > 0 || (unit->due && !unit->made)) return false;
    if (unit->number < limits->d->verdict.bounds[s]) {
        for (uint8_t n = 0; n < root->tree->count; n++)
            if (!is_judged(limits, unit, n)) return false;
        if (!unit->made && unit->cut && is_to_be_made_again(limits, unit)) {
            unit->due = true;
            unit->next = limits->due;
            limits->due = unit;
            limits->due_count++;
            return false;
        }
        if (is_missed(limits, unit))
            dispatch_trouble(limits->d, TROUBLE_MEMORY, unit->trouble);
        else if (!take_unit(limits, unit))
            dispatch_trouble(limits->d, TROUBLE_MEMORY, limits->trouble);
    }
    uint32_t number = unit->number;
    bool wanted = doubt_share_of_stage(limits, s, NODE_ROOT, number) != SHARE_NONE;
    doubt_unit_free_first(limits, root);
    tell_settled(&limits->d->observers, s, number, wanted);
    return true;
}

void doubt_settle(Limits *limits) {
    if (!limits->any || limits->settling) return;
    limits->settling = true;
    // Pieces of a zip stand after the units of its sides, and say what is wanted of them.
    for (bool more = true; more;) {
        more = false;
        for (uint32_t s = 0; s < limits->what->stage_count; s++) {
            DoubtRoot *root = &limits->roots[s];
            while (!limits->d->stop && root->count > 0 && settle_first(limits, s)) {
                more = true;
                dispatch_tell_bounds(limits->d);
            }
        }
    }
    limits->settling = false;
}

bool doubt_holds(const Limits *limits, uint32_t stage) {
    for (uint32_t s = 0; limits->any && s < limits->what->stage_count; s++) {
        const DoubtRoot *root = &limits->roots[s];
        if (root->count == 0) continue;
        if (s == stage) return true;
        for (uint8_t n = 0; n < root->tree->count; n++)
            if (flow_stage_at(limits->d, s, n) == stage) return true;
    }
    return false;
}

void doubt_conclude(Limits *limits) {
    const SbJob *what = limits->what;
    for (uint32_t s = 0; s < what->stage_count; s++) {
        const SbStage *stage = &what->stages[s];
        if (stage->input != SB_INPUT_ROWS) continue;
        const uint32_t inputs[] = {stage->input_index, stage->right_index};
        for (int side = 0; side < 2; side++) {
            if (inputs[side] == UINT32_MAX || !limits->by_taken[inputs[side]]) continue;
            int64_t *rows = &limits->edges[inputs[side]].rows;
            if (limits->taken[s] > *rows) *rows = limits->taken[s];
        }
    }
}
