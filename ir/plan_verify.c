// What a plan must satisfy after each of its passes; in debug builds plan_make asks.
#include "ir/plan_stages.h"

typedef struct Verifier {
    const Plan *plan;
    TextBuf    *errors;
    bool        good;
} Verifier;

// "stage 2: no member comes before it"
static void say(Verifier *v, const char *what, size_t index, const char *rule) {
    text_buf_format(v->errors, "%s %zu: %s\n", what, index, rule);
    v->good = false;
}

// ---- stages ----

static uint32_t place_of(const Stage *stage, OpId op) {
    for (uint32_t i = 0; i < stage->op_count; i++)
        if (stage->ops[i].i == op.i) return i;
    return UINT32_MAX;
}

static void verify_members(Verifier *v, size_t index) {
    const Stage *stage = &v->plan->stages[index];
    if (!stage->op_count || stage->ops[0].i != stage->root.i) {
        say(v, "stage", index, "its root is not its first member");
        return;
    }
    for (uint32_t i = 1; i < stage->op_count; i++) {
        const Op *op = graph_op_at(v->plan->graph, stage->ops[i]);
        bool behind = op->input_count && place_of(stage, op->inputs[0]) < i;
        if (!behind) say(v, "stage", index, "a member takes rows that no member before it makes");
    }
}

static bool is_breaker(const Plan *plan, uint32_t breaker) {
    return breaker < plan->breaker_count;
}

static void verify_input(Verifier *v, size_t index) {
    const Plan *plan = v->plan;
    const Stage *stage = &plan->stages[index];
    bool good = true;
    switch (stage->kind) {
    case STAGE_SCAN:
        good = stage->source < plan->source_count &&
               plan->sources[stage->source].i == stage->root.i;
        break;
    case STAGE_ROWS: good = is_breaker(plan, stage->breaker); break;
    case STAGE_UNMATCHED:
        good = is_breaker(plan, stage->breaker) &&
               plan->breakers[stage->breaker].kind == BREAK_JOIN;
        break;
    }
    if (!good) say(v, "stage", index, "its input is not there, or of another kind");
    if (stage->zip_breaker != BREAKER_NONE && !is_breaker(plan, stage->zip_breaker))
        say(v, "stage", index, "the right side of its zip is not there");
}

static void verify_terminals(Verifier *v, size_t index) {
    const Plan *plan = v->plan;
    const Stage *stage = &plan->stages[index];
    if (!stage->terminal_count) say(v, "stage", index, "its rows go nowhere");
    for (uint32_t i = 0; i < stage->terminal_count; i++) {
        const Terminal *end = &stage->terminals[i];
        bool there = end->is_sink ? end->index < plan->sink_count : is_breaker(plan, end->index);
        OpId taker = !there          ? OP_NONE
                     : end->is_sink ? plan->sinks[end->index]
                                    : plan->breakers[end->index].op;
        if (taker.i != end->consumer.i)
            say(v, "stage", index, "a terminal is not what its consumer fills");
        if (place_of(stage, end->op) == UINT32_MAX)
            say(v, "stage", index, "a terminal takes rows that no member makes");
    }
}

static void verify_wait(Verifier *v, size_t index, uint32_t breaker) {
    for (size_t i = index; i < v->plan->stage_count; i++)
        if (stages_feeds(&v->plan->stages[i], breaker))
            say(v, "stage", index, "it waits for a stage that does not come before it");
}

static void verify_order(Verifier *v, size_t index) {
    const Stage *stage = &v->plan->stages[index];
    if (stage->kind != STAGE_SCAN) verify_wait(v, index, stage->breaker);
    for (uint32_t i = 0; i < stage->need_count; i++) verify_wait(v, index, stage->needs[i]);
}

static void verify_columns(Verifier *v, size_t index) {
    const Stage *stage = &v->plan->stages[index];
    const Op *root = graph_op_at(v->plan->graph, stage->root);
    const ColumnPart *part = &stage->columns;
    if (part->op_count > stage->op_count)
        say(v, "stage", index, "loops over columns go over its last member");
    if (part->filter_count && (root->kind != OP_SOURCE ||
                               part->filter_count > root->source.filter_count))
        say(v, "stage", index, "loops over columns run filters that are not there");
}

// ---- breakers ----

// Bytes of an entry that hold one thing.
typedef struct Extent {
    size_t at, bytes, align;
} Extent;

typedef struct Extents {
    Extent *items;
    size_t  count, cap;
} Extents;

static void add(Verifier *v, Extents *extents, size_t at, size_t bytes, size_t align) {
    if (at == SIZE_MAX) return;
    Extent extent = {at, bytes, align};
    arena_push(v->plan->graph->arena, extents->items, extents->count, extents->cap, extent);
}

// Does an earlier aggregate that adds up the same have the state?
static bool shares_state(const Op *op, const Breaker *breaker, uint32_t agg) {
    for (uint32_t i = 0; i < agg; i++)
        if (breaker->state_offsets[i] == breaker->state_offsets[agg] &&
            plan_same_state(&op->group.aggs[i], &op->group.aggs[agg]))
            return true;
    return false;
}

static Extents extents_of(Verifier *v, const Breaker *breaker) {
    const Op *op = graph_op_at(v->plan->graph, breaker->op);
    Extents extents = {0};
    add(v, &extents, 0, PLAN_ENTRY_BYTES, alignof(uint64_t));
    for (uint32_t i = 0; i < breaker->slot_count; i++) {
        const Slot *slot = &breaker->slots[i];
        add(v, &extents, slot->offset, type_size(slot->type), type_align(slot->type));
    }
    for (uint32_t i = 0; breaker->kind == BREAK_GROUP && i < op->group.agg_count; i++) {
        const AggRef *fn = op->group.aggs[i].fn;
        if (shares_state(op, breaker, i)) continue;
        add(v, &extents, breaker->state_offsets[i], fn ? fn->state_bytes : sizeof(uint64_t),
            fn ? fn->state_align : alignof(uint64_t));
    }
    add(v, &extents, breaker->next_offset, sizeof(void *), alignof(void *));
    add(v, &extents, breaker->jump_offset, (2 + breaker->bound_count) * sizeof(uint64_t),
        alignof(void *));
    add(v, &extents, breaker->matched_offset, 1, 1);
    add(v, &extents, breaker->identity_offset, sizeof(uint64_t), alignof(uint64_t));
    add(v, &extents, breaker->place_offset, PLACE_BYTES, alignof(uint64_t));
    return extents;
}

static void verify_entry(Verifier *v, size_t index) {
    const Breaker *breaker = &v->plan->breakers[index];
    Extents extents = extents_of(v, breaker);
    for (size_t i = 0; i < extents.count; i++) {
        Extent one = extents.items[i];
        if (one.at % one.align || one.align > breaker->entry_align)
            say(v, "breaker", index, "something in an entry is not aligned");
        if (one.at + one.bytes > breaker->entry_bytes)
            say(v, "breaker", index, "something lies after the end of an entry");
        for (size_t k = 0; k < i; k++) {
            Extent other = extents.items[k];
            if (one.at < other.at + other.bytes && other.at < one.at + one.bytes)
                say(v, "breaker", index, "two things share bytes of an entry");
        }
    }
    if (breaker->entry_bytes % breaker->entry_align)
        say(v, "breaker", index, "entries after each other are not aligned");
}

static void verify_producers(Verifier *v, size_t index) {
    uint32_t producers = 0;
    for (size_t i = 0; i < v->plan->stage_count; i++) {
        const Stage *stage = &v->plan->stages[i];
        for (uint32_t k = 0; k < stage->terminal_count; k++)
            producers += !stage->terminals[k].is_sink && stage->terminals[k].index == index;
    }
    if (producers != v->plan->breakers[index].producers)
        say(v, "breaker", index, "other producers than those that feed it");
}

// ---- all of it ----

static void verify_usage(Verifier *v) {
    for (size_t i = 0; i < v->plan->graph->op_count; i++) {
        bool runs = v->plan->fused[i] < v->plan->stage_count;
        if (v->plan->usage.ops[i] != runs)
            say(v, "operator", i, runs ? "it runs, and no sink needs it" : "no stage computes it");
    }
}

bool plan_verify(const Plan *plan, TextBuf *errors) {
    Verifier verifier = {plan, errors, true}, *v = &verifier;
    for (size_t i = 0; i < plan->stage_count; i++) {
        verify_members(v, i);
        verify_input(v, i);
        verify_terminals(v, i);
        verify_order(v, i);
        verify_columns(v, i);
    }
    for (size_t i = 0; i < plan->breaker_count; i++) {
        verify_producers(v, i);
        if (plan->breakers[i].entry_bytes) verify_entry(v, i);
    }
    if (plan->facts & FACT_STAGES) verify_usage(v);
    return v->good;
}
