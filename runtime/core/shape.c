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

NodeCounts plan_counts(const CorePlan *plan) {
    NodeCounts counts = {0};
    for (uint8_t k = 0; k < plan->node_kinds; k++) counts.of[k] = plan->nodes[k].count;
    return counts;
}

NodeCounts area_counts(const CorePlan *plan, const NodeCounts *nodes, Area area) {
    if (area == AREA_HOME) return (NodeCounts){{1}};
    NodeCounts counts = *nodes;
    counts.of[0] -= plan->leads;
    return counts;
}

uint64_t counts_capacity(const CorePlan *plan, const NodeCounts *nodes, uint8_t resource) {
    uint64_t sum = 0;
    for (uint8_t k = 0; k < plan->node_kinds; k++)
        sum += (uint64_t)nodes->of[k] * plan->nodes[k].capacity[resource];
    return sum;
}

uint64_t plan_capacity(const CorePlan *plan, uint8_t resource) {
    NodeCounts all = plan_counts(plan);
    return counts_capacity(plan, &all, resource);
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

uint32_t counts_width(const CorePlan *plan, const NodeCounts *nodes, const CoreStage *stage) {
    uint64_t width = 0;
    bool free = is_free(plan, stage);
    for (uint8_t k = 0; k < plan->node_kinds; k++)
        width += nodes->of[k] * (free ? FREE_TASKS_MAX : kind_width(plan, &plan->nodes[k], stage));
    if (stage->limit) width = 1;
    if (stage->concurrency && stage->concurrency < width) width = stage->concurrency;
    return width > UINT32_MAX ? UINT32_MAX : (uint32_t)width;
}

uint32_t plan_width(const CorePlan *plan, const CoreStage *stage) {
    NodeCounts all = plan_counts(plan);
    return counts_width(plan, &all, stage);
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
            set_add(&shape->roots[reach->edges[i].i], (StageId){s});
    }
    return true;
}

static void breakers_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        StageId id = {s};
        for (uint8_t f = 0; f < stage->fill_count; f++)
            set_add(&shape->fillers[stage->fills[f].i], id);
        for (uint8_t n = 0; n < stage->need_count; n++)
            set_add(&shape->probers[stage->needs[n].i], id);
        if (stage->kind == STAGE_READER) set_add(&shape->readers[stage->reads.i], id);
    }
    // What is lost with a node is made again, with the same tables, until all rows are committed.
    bool several = plan_node_count(plan) > 1;
    for (uint16_t b = 0; b < plan->breaker_count; b++) {
        StageSet *pins = &shape->pins[b];
        *pins = shape->probers[b];
        bits_add_all(pins, &shape->readers[b], shape->words);
        for (uint16_t e = 0; several && e < plan->edge_count; e++)
            if (set_has(pins, plan->edges[e].from)) set_add(pins, plan->edges[e].to);
    }
}

// ---- which root waits for which -----------------------------------------------------------------

// Adds what all of the stages wait for.
static void add_waits(const Shape *shape, const CorePlan *plan, const StageSet *stages,
                      StageSet *roots) {
    for (uint16_t s = 0; s < plan->stage_count; s++)
        if (set_has(stages, (StageId){s})) bits_add_all(roots, &shape->waits[s], shape->words);
}

// Until the tables that the stage probes are complete.
static void add_waits_of_tables(const Shape *shape, const CorePlan *plan, const CoreStage *stage,
                                StageSet *roots) {
    for (uint8_t n = 0; n < stage->need_count; n++)
        add_waits(shape, plan, &shape->fillers[stage->needs[n].i], roots);
}

static void waits_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        StageSet *waits = &shape->waits[s];
        if (stage_is_root(stage)) set_add(waits, (StageId){s});
        for (uint8_t i = 0; i < stage->input_count; i++)
            bits_add_all(waits, &shape->waits[plan->edges[stage->inputs[i].i].from.i],
                        shape->words);
        add_waits_of_tables(shape, plan, stage, waits);
        if (stage->kind != STAGE_READER) continue;
        add_waits(shape, plan, &shape->fillers[stage->reads.i], waits);
        if (stage->unmatched) add_waits(shape, plan, &shape->probers[stage->reads.i], waits);
    }
}

// Adds the roots that feed zips among them, and so on up.
static void add_zipped(const Shape *shape, const CorePlan *plan, StageSet *roots) {
    if (!bits_meet(roots, &shape->zips, shape->words)) return;
    for (uint16_t s = plan->stage_count; s-- > 0;) {
        const CoreStage *stage = &plan->stages[s];
        if (!set_has(roots, (StageId){s}) || stage->kind != STAGE_ZIP) continue;
        for (uint8_t i = 0; i < 2; i++)
            bits_add_all(roots, &shape->roots[stage->inputs[i].i], shape->words);
    }
}

// Adds the roots that must have ended before a root can begin at all.
static void add_hard_before(const Shape *shape, const CorePlan *plan, uint16_t s, StageSet *roots) {
    if (plan->stages[s].kind != STAGE_READER) return;
    bool own = set_has(roots, (StageId){s});
    bits_add_all(roots, &shape->waits[s], shape->words);
    set_put(roots, (StageId){s}, own);
}

// Each root in `later` would rather wait for all of `sooner`.
static void wish(const Shape *shape, const CorePlan *plan, StageSet *wishes, const StageSet *later,
                 const StageSet *sooner) {
    StageSet zipped = *later;
    add_zipped(shape, plan, &zipped);
    // Where one side of a zip cannot wait, the other must not.
    bool more = !bits_same(&zipped, later, shape->words);
    if (more && bits_meet(&zipped, sooner, shape->words)) return;
    for (uint16_t w = 0; w < shape->words; w++) {
        for (uint64_t left = sooner->words[w]; left; left &= left - 1) {
            StageId first = word_first(w, left);
            for (uint16_t s = 0; s < plan->stage_count; s++) {
                bool waits_itself = set_has(&shape->waits[first.i], (StageId){s});
                if (set_has(&zipped, (StageId){s}) && !waits_itself) set_add(&wishes[s], first);
            }
        }
    }
}

static void wishes_of_stage(const Shape *shape, const CorePlan *plan, StageSet *wishes,
                            const CoreStage *stage) {
    StageSet sooner = {0};
    if (stage->kind == STAGE_ZIP) {
        for (uint8_t i = 0; i < 2; i++) {
            const StageSet *other = &shape->roots[stage->inputs[1 - i].i];
            sooner = (StageSet){0};
            for (uint16_t s = 0; s < plan->stage_count; s++)
                if (set_has(other, (StageId){s})) add_hard_before(shape, plan, s, &sooner);
            wish(shape, plan, wishes, &shape->roots[stage->inputs[i].i], &sooner);
        }
        return;
    }
    add_waits_of_tables(shape, plan, stage, &sooner);
    for (uint8_t i = 0; i < stage->input_count; i++) {
        wish(shape, plan, wishes, &shape->roots[stage->inputs[i].i], &sooner);
        bits_add_all(&sooner, &shape->waits[plan->edges[stage->inputs[i].i].from.i], shape->words);
    }
}

// The next root to be placed: the first whose wishes are fulfilled; else the first that can begin.
static StageId next_root(const Shape *shape, const CorePlan *plan, const StageSet *wishes,
                         const StageSet *placed) {
    uint16_t free = STAGES_MAX;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        StageId id = {s};
        if (!set_has(&shape->all_roots, id) || set_has(placed, id)) continue;
        StageSet hard = {0};
        add_hard_before(shape, plan, s, &hard);
        if (plan->stages[s].kind == STAGE_ZIP) {
            set_add(&hard, id);
            add_zipped(shape, plan, &hard);
            set_put(&hard, id, false);
        }
        if (!bits_within(&hard, placed, shape->words)) continue;
        if (bits_within(&wishes[s], placed, shape->words)) return id;
        if (free == STAGES_MAX) free = s;
    }
    return (StageId){free};
}

// Places the roots one after the other; where wishes form a circle, the first root in the plan
// that can begin gives up those that are not fulfilled.
static void order_roots(Shape *shape, const CorePlan *plan) {
    StageSet *wishes = shape->wishes, placed = {0};
    for (uint16_t s = 0; s < plan->stage_count; s++)
        wishes_of_stage(shape, plan, wishes, &plan->stages[s]);
    for (uint16_t turn = 0; !bits_within(&shape->all_roots, &placed, shape->words); turn++) {
        StageId next = next_root(shape, plan, wishes, &placed);
        StageSet before = {0};
        if (plan->stages[next.i].kind != STAGE_ZIP) {
            before = wishes[next.i];
            bits_keep(&before, &placed, shape->words);
            add_hard_before(shape, plan, next.i, &before);
        }
        StageSet *all = &shape->before[next.i];
        for (uint16_t s = 0; s < plan->stage_count; s++)
            if (set_has(&before, (StageId){s})) bits_add_all(all, &shape->before[s], shape->words);
        bits_add_all(all, &before, shape->words);
        shape->turns[next.i] = turn;
        set_add(&placed, next);
    }
}

// ---- spools -------------------------------------------------------------------------------------

// Do all roots of the edge begin after all of `sooner` have launched their units?
static bool comes_after(const Shape *shape, const CorePlan *plan, EdgeId edge,
                        const StageSet *sooner) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        if (!set_has(&shape->roots[edge.i], (StageId){s})) continue;
        StageSet waits = shape->before[s];
        if (plan->stages[s].kind == STAGE_ZIP) {
            // A zip begins when both of its sides do.
            StageSet sides = {0};
            set_add(&sides, (StageId){s});
            add_zipped(shape, plan, &sides);
            waits = shape->all;
            for (uint16_t t = 0; t < plan->stage_count; t++)
                if (set_has(&sides, (StageId){t}) && plan->stages[t].kind != STAGE_ZIP)
                    bits_keep(&waits, &shape->before[t], shape->words);
        }
        if (!bits_within(sooner, &waits, shape->words)) return false;
    }
    return true;
}

// Are the two stages connected, by edges that do not end in `without` and by breakers?
static bool connected(const Shape *shape, const CorePlan *plan, StageId a, StageId b,
                      StageId without) {
    StageSet seen = {0}, last = {0};
    set_add(&seen, a);
    while (!bits_same(&seen, &last, shape->words)) {
        last = seen;
        for (uint16_t k = 0; k < plan->breaker_count; k++) {
            StageSet users = shape->fillers[k];
            bits_add_all(&users, &shape->probers[k], shape->words);
            bits_add_all(&users, &shape->readers[k], shape->words);
            if (!bits_meet(&seen, &users, shape->words)) continue;
            set_put(&users, without, set_has(&seen, without));
            bits_add_all(&seen, &users, shape->words);
        }
        for (uint16_t e = 0; e < plan->edge_count; e++) {
            CoreEdge edge = plan->edges[e];
            if (edge.to.i == without.i) continue;
            if (!set_has(&seen, edge.from) && !set_has(&seen, edge.to)) continue;
            set_add(&seen, edge.from), set_add(&seen, edge.to);
        }
    }
    return set_has(&seen, b);
}

static void spools_of_zip(Shape *shape, const CorePlan *plan, uint16_t s) {
    const CoreStage *stage = &plan->stages[s];
    StageId left = plan->edges[stage->inputs[0].i].from;
    StageId right = plan->edges[stage->inputs[1].i].from;
    bool circle = connected(shape, plan, left, right, (StageId){s});
    for (uint8_t i = 0; i < 2; i++) {
        StageSet other = shape->roots[stage->inputs[1 - i].i], sooner = {0};
        add_zipped(shape, plan, &other);
        for (uint16_t r = 0; r < plan->stage_count; r++)
            if (set_has(&other, (StageId){r}))
                bits_add_all(&sooner, &shape->before[r], shape->words);
        bool soon = comes_after(shape, plan, stage->inputs[i], &sooner);
        shape->spools[stage->inputs[i].i] = !soon    ? SPOOL_LONG
                                            : circle ? SPOOL_SHORT
                                                     : SPOOL_NO;
    }
}

static void spools_of_stage(Shape *shape, const CorePlan *plan, uint16_t s) {
    const CoreStage *stage = &plan->stages[s];
    if (stage->kind == STAGE_ZIP) {
        spools_of_zip(shape, plan, s);
        return;
    }
    StageSet sooner = {0};
    add_waits_of_tables(shape, plan, stage, &sooner);
    for (uint8_t i = 0; i < stage->input_count; i++) {
        EdgeId edge = stage->inputs[i];
        if (!comes_after(shape, plan, edge, &sooner)) shape->spools[edge.i] = SPOOL_LONG;
        bits_add_all(&sooner, &shape->waits[plan->edges[edge.i].from.i], shape->words);
    }
}

// The demands of one resource, in order; of equal ones one. False: there are too many.
static bool demands_make(Demands *demands, const CorePlan *plan, uint8_t resource) {
    demands->count = 1;
    demands->amounts[0] = 0;
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        uint32_t demand = plan->stages[s].demand[resource];
        uint16_t at = demands->count;
        while (demands->amounts[at - 1] > demand) at--;
        if (demands->amounts[at - 1] == demand) continue;
        if (demands->count == DEMANDS_MAX) return false;
        uint32_t *amounts = demands->amounts;
        for (uint16_t i = demands->count++; i > at; i--) amounts[i] = amounts[i - 1];
        amounts[at] = demand;
    }
    for (uint16_t i = 0; i < demands->count; i++) {
        demands->stages[i] = (StageSet){0};
        for (uint16_t s = 0; s < plan->stage_count; s++)
            if (plan->stages[s].demand[resource] <= demands->amounts[i])
                set_add(&demands->stages[i], (StageId){s});
    }
    return true;
}

static bool stages_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const CoreStage *stage = &plan->stages[s];
        StageId id = {s};
        set_add(&shape->all, id);
        if (stage_is_root(stage)) set_add(&shape->all_roots, id);
        if (stage->kind == STAGE_ZIP) set_add(&shape->zips, id);
        if (stage->batch) set_add(&shape->batching, id);
    }
    for (uint8_t r = 0; r < plan->resource_count; r++)
        if (!demands_make(&shape->demands[r], plan, r)) return false;
    return true;
}

static void above_make(Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        StageId own = {s};
        StageSet *above = &shape->above[s];
        for (uint8_t i = 0; i < plan->stages[s].input_count; i++) {
            StageId from = plan->edges[plan->stages[s].inputs[i].i].from;
            bits_add_all(above, &shape->above[from.i], shape->words);
            set_add(above, from);
        }
        for (uint16_t a = 0; a < s; a++)
            if (set_has(above, (StageId){a})) set_add(&shape->beneath[a], own);
        // A piece of a zip has no recipe: what is made of it must not be lost.
        StageKind kind = plan->stages[s].kind;
        bool zipped = kind == STAGE_ZIP || bits_meet(above, &shape->zips, shape->words);
        if (zipped || kind == STAGE_SINK || plan->stages[s].home) set_add(&shape->home, own);
    }
}

static void areas_make(Shape *shape, const CorePlan *plan) {
    bool several = plan_node_count(plan) > 1;
    for (uint16_t w = 0; w < shape->words; w++) {
        uint64_t all = shape->all.words[w], home = shape->home.words[w];
        shape->first.words[w] = plan->leads ? home : all;
        shape->others.words[w] = all & ~home;
        shape->areas[AREA_WIDE].words[w] = plan->leads ? all & ~home : all;
        shape->areas[AREA_HOME].words[w] = several ? home : 0;
    }
}

void shape_bring_home(Shape *shape, const CorePlan *plan, const StageSet *stages) {
    bits_add_all(&shape->home, stages, shape->words);
    areas_make(shape, plan);
}

// Zeroes what the plan uses: all of it has room for far more stages than most plans have.
static void clear(Shape *shape, const CorePlan *plan) {
    size_t stages = plan->stage_count, edges = plan->edge_count, breakers = plan->breaker_count;
    memset(shape->below, 0, edges * sizeof *shape->below);
    memset(shape->reach, 0, stages * sizeof *shape->reach);
    memset(shape->roots, 0, edges * sizeof *shape->roots);
    memset(shape->above, 0, stages * sizeof *shape->above);
    memset(shape->beneath, 0, stages * sizeof *shape->beneath);
    memset(shape->before, 0, stages * sizeof *shape->before);
    memset(shape->wishes, 0, stages * sizeof *shape->wishes);
    memset(shape->waits, 0, stages * sizeof *shape->waits);
    memset(shape->spools, 0, edges * sizeof *shape->spools);
    memset(shape->input_of, 0, edges * sizeof *shape->input_of);
    memset(shape->fillers, 0, breakers * sizeof *shape->fillers);
    memset(shape->probers, 0, breakers * sizeof *shape->probers);
    memset(shape->readers, 0, breakers * sizeof *shape->readers);
    memset(shape->turns, 0, stages * sizeof *shape->turns);
    shape->spool_count = 0;
    shape->all = shape->all_roots = shape->zips = shape->batching = shape->home = (StageSet){0};
    shape->words = bits_words(plan->stage_count);
}

static bool is_too_deep(const Shape *shape, const CorePlan *plan) {
    for (uint16_t s = 0; s < plan->stage_count; s++) {
        const Tree *tree = &shape->reach[s];
        uint8_t depth[TREE_MAX];
        for (uint8_t i = 0; i < tree->count; i++) {
            depth[i] = tree->parents[i] == TREE_MAX ? 1 : depth[tree->parents[i]] + 1;
            if (depth[i] > DEPTH_MAX) return true;
        }
    }
    return false;
}

bool shape_make(Shape *shape, const CorePlan *plan, bool staged) {
    clear(shape, plan);
    if (!trees_make(shape, plan) || is_too_deep(shape, plan)) return false;
    if (!stages_make(shape, plan)) return false;
    above_make(shape, plan);
    areas_make(shape, plan);
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
