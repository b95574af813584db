#include "runtime/core/shape.h"

#include <string.h>

// ---- nodes --------------------------------------------------------------------------------------

uint32_t plan_node_count(const CorePlan *plan) {
    uint32_t count = 0;
    for (uint8_t k = 0; k < plan->node_kinds; k++) count += plan->nodes[k].count;
    return count;
}

const NodeKind *plan_node(const CorePlan *plan, NodeId node) {
    uint32_t at = node.i;
    const NodeKind *kind = plan->nodes;
    for (; at >= kind->count; kind++) at -= kind->count;
    return kind;
}

uint64_t plan_capacity(const CorePlan *plan, uint8_t resource) {
    uint64_t sum = 0;
    for (uint8_t k = 0; k < plan->node_kinds; k++)
        sum += (uint64_t)plan->nodes[k].count * plan->nodes[k].capacity[resource];
    return sum;
}

// Tasks that fit on one node of the kind, by what they demand.
static uint64_t kind_width(const CorePlan *plan, const NodeKind *kind, const CoreStage *stage) {
    uint64_t width = UINT32_MAX;
    for (uint8_t r = 0; r < plan->resource_count; r++) {
        if (!stage->demand[r]) continue;
        uint64_t fit = kind->capacity[r] / stage->demand[r];
        if (fit < width) width = fit;
    }
    return width;
}

static bool is_free(const CorePlan *plan, const CoreStage *stage) {
    bool free = true;
    for (uint8_t r = 0; r < plan->resource_count; r++) free &= !stage->demand[r];
    return free;
}

uint32_t plan_kind_width(const CorePlan *plan, const NodeKind *kind, const CoreStage *stage) {
    return is_free(plan, stage) ? FREE_TASKS_MAX : (uint32_t)kind_width(plan, kind, stage);
}

uint32_t plan_width(const CorePlan *plan, const CoreStage *stage) {
    uint64_t width = 0;
    bool free = is_free(plan, stage);
    if (free) width = (uint64_t)FREE_TASKS_MAX * plan_node_count(plan);
    for (uint8_t k = 0; !free && k < plan->node_kinds; k++)
        width += plan->nodes[k].count * kind_width(plan, &plan->nodes[k], stage);
    if (stage->limit) width = 1;
    if (stage->concurrency && stage->concurrency < width) width = stage->concurrency;
    return width > UINT32_MAX ? UINT32_MAX : (uint32_t)width;
}

// ---- trees --------------------------------------------------------------------------------------

static bool tree_add(Tree *tree, EdgeId edge, uint8_t parent) {
    if (tree->count == TREE_MAX) return false;
    tree->edges[tree->count] = edge;
    tree->parents[tree->count++] = parent;
    return true;
}

// Outputs first, then what is below each: parents stand before children. Rows of a zip are new.
static bool tree_make(Tree *tree, const CorePlan *plan, StageId stage) {
    const CoreStage *top = &plan->stages[stage.i];
    for (uint8_t o = 0; o < top->output_count; o++)
        if (!tree_add(tree, top->outputs[o], TREE_MAX)) return false;
    for (uint8_t at = 0; at < tree->count; at++) {
        const CoreStage *below = &plan->stages[plan->edges[tree->edges[at].i].to.i];
        if (below->kind == STAGE_ZIP) continue;
        for (uint8_t o = 0; o < below->output_count; o++)
            if (!tree_add(tree, below->outputs[o], at)) return false;
    }
    return true;
}

static bool trees_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t e = 0; e < plan->edge_count; e++) {
        CoreEdge edge = plan->edges[e];
        if (edge.from.i >= edge.to.i) return false;
        const CoreStage *to = &plan->stages[edge.to.i];
        while (to->inputs[shape->input_of[e]].i != e) shape->input_of[e]++;
        if (to->kind != STAGE_ZIP && !tree_make(&shape->below[e], plan, edge.to)) return false;
    }
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        Tree *reach = &shape->reach[s];
        if (!stage_is_root(&plan->stages[s])) continue;
        if (!tree_make(reach, plan, (StageId){s})) return false;
        for (uint8_t i = 0; i < reach->count; i++)
            shape->roots[reach->edges[i].i] |= stage_bit((StageId){s});
    }
    return true;
}

static void breakers_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        uint64_t bit = stage_bit((StageId){s});
        for (uint8_t f = 0; f < stage->fill_count; f++) shape->fillers[stage->fills[f].i] |= bit;
        for (uint8_t n = 0; n < stage->need_count; n++) shape->probers[stage->needs[n].i] |= bit;
        if (stage->kind == STAGE_READER) shape->readers[stage->reads.i] |= bit;
    }
    // What is lost with a node is made again, with the same tables, until all rows are committed.
    for (uint16_t b = 0; b < plan->breaker_count; b++) {
        shape->pins[b] = shape->probers[b] | shape->readers[b];
        for (uint16_t e = 0; plan_node_count(plan) > 1 && e < plan->edge_count; e++)
            if (shape->pins[b] & stage_bit(plan->edges[e].from))
                shape->pins[b] |= stage_bit(plan->edges[e].to);
    }
}

// ---- which root waits for which -----------------------------------------------------------------

// What all of the stages wait for.
static uint64_t waits_of(const Shape *shape, const CorePlan *plan, uint64_t stages) {
    uint64_t roots = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++)
        if (stages >> s & 1) roots |= shape->waits[s];
    return roots;
}

// Until the breaker is complete.
static uint64_t waits_of_breaker(const Shape *shape, const CorePlan *plan, BreakerId breaker) {
    return waits_of(shape, plan, shape->fillers[breaker.i]);
}

static void waits_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        uint64_t *waits = &shape->waits[s];
        if (stage_is_root(stage)) *waits |= stage_bit((StageId){s});
        for (uint8_t i = 0; i < stage->input_count; i++)
            *waits |= shape->waits[plan->edges[stage->inputs[i].i].from.i];
        for (uint8_t n = 0; n < stage->need_count; n++)
            *waits |= waits_of_breaker(shape, plan, stage->needs[n]);
        if (stage->kind != STAGE_READER) continue;
        *waits |= waits_of_breaker(shape, plan, stage->reads);
        if (stage->unmatched) *waits |= waits_of(shape, plan, shape->probers[stage->reads.i]);
    }
}

// With the roots that feed zips among them, and so on up.
static uint64_t with_zipped(const Shape *shape, const CorePlan *plan, uint64_t roots) {
    for (uint16_t s = plan->stage_count; s-- > 0;) {
        const CoreStage *stage = &plan->stages[s];
        if (!(roots >> s & 1) || stage->kind != STAGE_ZIP) continue;
        roots |= shape->roots[stage->inputs[0].i] | shape->roots[stage->inputs[1].i];
    }
    return roots;
}

// Roots that must have ended before a root can begin at all.
static uint64_t hard_before(const Shape *shape, const CorePlan *plan, uint16_t s) {
    const CoreStage *stage = &plan->stages[s];
    return stage->kind == STAGE_READER ? shape->waits[s] & ~stage_bit((StageId){s}) : 0;
}

// Each root in `later` would rather wait for all of `sooner`.
static void wish(const Shape *shape, const CorePlan *plan, uint64_t *wishes, uint64_t later,
                 uint64_t sooner) {
    uint64_t zipped = with_zipped(shape, plan, later);
    // Where one side of a zip cannot wait, the other must not.
    if (zipped != later && zipped & sooner) return;
    later = zipped;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        for (uint16_t t = 0; later >> s & 1 && t < plan->stage_count; t++) {
            bool waits_itself = shape->waits[t] >> s & 1;
            if (sooner >> t & 1 && !waits_itself) wishes[s] |= stage_bit((StageId){t});
        }
    }
}

static void wishes_of_stage(const Shape *shape, const CorePlan *plan, uint64_t *wishes,
                            const CoreStage *stage) {
    if (stage->kind == STAGE_ZIP) {
        for (uint8_t i = 0; i < 2; i++) {
            uint64_t other = shape->roots[stage->inputs[1 - i].i], sooner = 0;
            for (uint16_t s = 0; s < plan->stage_count; s++)
                if (other >> s & 1) sooner |= hard_before(shape, plan, s);
            wish(shape, plan, wishes, shape->roots[stage->inputs[i].i], sooner);
        }
        return;
    }
    uint64_t sooner = 0;
    for (uint8_t n = 0; n < stage->need_count; n++)
        sooner |= waits_of_breaker(shape, plan, stage->needs[n]);
    for (uint8_t i = 0; i < stage->input_count; i++) {
        wish(shape, plan, wishes, shape->roots[stage->inputs[i].i], sooner);
        sooner |= shape->waits[plan->edges[stage->inputs[i].i].from.i];
    }
}

// Places the roots one after the other; where wishes form a circle, the first root in the plan
// that can begin gives up those that are not fulfilled.
static void order_roots(Shape *shape, const CorePlan *plan) {
    uint64_t wishes[STAGES_MAX] = {0}, left = 0, placed = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        wishes_of_stage(shape, plan, wishes, &plan->stages[s]);
        if (stage_is_root(&plan->stages[s])) left |= stage_bit((StageId){s});
    }
    for (uint8_t turn = 0; left; turn++) {
        uint16_t free = STAGES_MAX, next = STAGES_MAX;
        for (uint16_t s = 0; s < plan->stage_count && next == STAGES_MAX; s++) {
            uint64_t hard = hard_before(shape, plan, s);
            if (plan->stages[s].kind == STAGE_ZIP)
                hard |= with_zipped(shape, plan, stage_bit((StageId){s})) &
                        ~stage_bit((StageId){s});
            if (!(left >> s & 1) || hard & ~placed) continue;
            if (free == STAGES_MAX) free = s;
            if (!(wishes[s] & ~placed)) next = s;
        }
        if (next == STAGES_MAX) next = free;
        bool zip = plan->stages[next].kind == STAGE_ZIP;
        uint64_t before = zip ? 0 : (wishes[next] & placed) | hard_before(shape, plan, next);
        for (uint16_t s = 0; s < plan->stage_count; s++)
            if (before >> s & 1) shape->before[next] |= shape->before[s];
        shape->before[next] |= before;
        shape->turns[next] = turn;
        placed |= stage_bit((StageId){next});
        left &= ~placed;
    }
}

// ---- spools -------------------------------------------------------------------------------------

// Do all roots of the edge begin after all of `sooner` have launched their units?
static bool comes_after(const Shape *shape, const CorePlan *plan, EdgeId edge, uint64_t sooner) {
    uint64_t roots = shape->roots[edge.i];
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        if (!(roots >> s & 1)) continue;
        uint64_t waits = shape->before[s];
        if (plan->stages[s].kind == STAGE_ZIP) {
            // A zip begins when both of its sides do.
            uint64_t sides = with_zipped(shape, plan, stage_bit((StageId){s})), all = ~0ull;
            for (uint16_t t = 0; t < plan->stage_count; t++)
                if (sides >> t & 1 && plan->stages[t].kind != STAGE_ZIP) all &= shape->before[t];
            waits = all;
        }
        if (sooner & ~waits) return false;
    }
    return true;
}

// Are the two stages connected, by edges that do not end in `without` and by breakers?
static bool connected(const Shape *shape, const CorePlan *plan, StageId a, StageId b,
                      StageId without) {
    uint64_t seen = stage_bit(a), last = 0;
    while (seen != last) {
        last = seen;
        for (uint16_t k = 0; k < plan->breaker_count; k++) {
            uint64_t users = shape->fillers[k] | shape->probers[k] | shape->readers[k];
            if (seen & users) seen |= users & ~stage_bit(without);
        }
        for (uint16_t e = 0; e < plan->edge_count; e++) {
            CoreEdge edge = plan->edges[e];
            if (edge.to.i == without.i) continue;
            uint64_t ends = stage_bit(edge.from) | stage_bit(edge.to);
            if (seen & ends) seen |= ends;
        }
    }
    return seen & stage_bit(b);
}

static void spools_of_stage(Shape *shape, const CorePlan *plan, uint16_t s) {
    const CoreStage *stage = &plan->stages[s];
    if (stage->kind == STAGE_ZIP) {
        StageId left = plan->edges[stage->inputs[0].i].from;
        StageId right = plan->edges[stage->inputs[1].i].from;
        bool circle = connected(shape, plan, left, right, (StageId){s});
        for (uint8_t i = 0; i < 2; i++) {
            uint64_t other = shape->roots[stage->inputs[1 - i].i], sooner = 0;
            other = with_zipped(shape, plan, other);
            for (uint16_t r = 0; r < plan->stage_count; r++)
                if (other >> r & 1) sooner |= shape->before[r];
            bool soon = comes_after(shape, plan, stage->inputs[i], sooner);
            shape->spools[stage->inputs[i].i] = !soon    ? SPOOL_LONG
                                                : circle ? SPOOL_SHORT
                                                         : SPOOL_NO;
        }
        return;
    }
    uint64_t sooner = 0;
    for (uint8_t n = 0; n < stage->need_count; n++)
        sooner |= waits_of_breaker(shape, plan, stage->needs[n]);
    for (uint8_t i = 0; i < stage->input_count; i++) {
        EdgeId edge = stage->inputs[i];
        if (!comes_after(shape, plan, edge, sooner)) shape->spools[edge.i] = SPOOL_LONG;
        sooner |= shape->waits[plan->edges[edge.i].from.i];
    }
}

// The demands of one resource, in order; of equal ones one.
static void demands_make(Demands *demands, const CorePlan *plan, uint8_t resource) {
    demands->count = 1;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        uint32_t demand = plan->stages[s].demand[resource];
        uint8_t at = demands->count;
        while (demands->amounts[at - 1] > demand) at--;
        if (demands->amounts[at - 1] == demand) continue;
        uint32_t *amounts = demands->amounts;
        for (uint8_t i = demands->count++; i > at; i--) amounts[i] = amounts[i - 1];
        amounts[at] = demand;
    }
    for (uint8_t i = 0; i < demands->count; i++)
        for (uint16_t s = 0; s < plan->stage_count; s++)
            if (plan->stages[s].demand[resource] <= demands->amounts[i])
                demands->stages[i] |= stage_bit((StageId){s});
}

static void stages_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        uint64_t bit = stage_bit((StageId){s});
        shape->all |= bit;
        if (stage_is_root(stage)) shape->all_roots |= bit;
        if (stage->kind == STAGE_ZIP) shape->zips |= bit;
        if (stage->batch) shape->batching |= bit;
    }
    for (uint8_t r = 0; r < plan->resource_count; r++)
        demands_make(&shape->demands[r], plan, r);
}

static void above_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        for (uint8_t i = 0; i < plan->stages[s].input_count; i++) {
            StageId from = plan->edges[plan->stages[s].inputs[i].i].from;
            shape->above[s] |= shape->above[from.i] | stage_bit(from);
        }
        for (uint16_t a = 0; a < s; a++)
            if (shape->above[s] >> a & 1) shape->beneath[a] |= stage_bit((StageId){s});
        // A piece of a zip has no recipe: what is made of it must not be lost.
        uint64_t own = stage_bit((StageId){s});
        bool zipped = (shape->above[s] | own) & shape->zips;
        if (zipped || plan->stages[s].kind == STAGE_SINK) shape->home |= own;
    }
}

bool shape_make(Shape *shape, const CorePlan *plan, bool staged) {
    memset(shape, 0, sizeof *shape);
    if (!trees_make(shape, plan)) return false;
    stages_make(shape, plan);
    above_make(shape, plan);
    breakers_make(shape, plan);
    waits_make(shape, plan);
    order_roots(shape, plan);
    for (uint16_t s = 0; s < plan->stage_count; s++) spools_of_stage(shape, plan, s);
    for (uint16_t e = 0; e < plan->edge_count; e++) {
        if (staged && plan->stages[plan->edges[e].to.i].kind != STAGE_SINK)
            shape->spools[e] = SPOOL_LONG;
        shape->spool_count += shape->spools[e] != SPOOL_NO;
    }
    return true;
}
