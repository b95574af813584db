// The plan as text: all of it for --dump=plan, and what users ask about for --explain.
#include "ir/plan_cost.h"

#include <inttypes.h>

static const char *const breaker_names[] = {
    [BREAK_GROUP] = "group", [BREAK_SORT] = "sort", [BREAK_JOIN] = "table", [BREAK_EDGE] = "edge",
};

static const Op *op_of(const Plan *plan, OpId id) { return graph_op_at(plan->graph, id); }

// "%3 filter 'where fare > 0.0'"
static void print_op(TextBuf *buf, const Plan *plan, OpId id) {
    const Op *op = op_of(plan, id);
    text_buf_format(buf, "%%%u %s", id.i, op_kind_name(op->kind));
    if (op->step.i < plan->graph->step_count)
        text_buf_format(buf, " '%.*s'", TEXT_ARG(plan->graph->steps[op->step.i].label));
}

static void print_input(TextBuf *buf, const Stage *stage) {
    switch (stage->kind) {
    case STAGE_SCAN: text_buf_format(buf, "scan of source %u", stage->source); break;
    case STAGE_ROWS: text_buf_format(buf, "rows of breaker %u", stage->breaker); break;
    case STAGE_UNMATCHED:
        text_buf_format(buf, "unmatched rows of breaker %u", stage->breaker);
        break;
    }
    if (stage->zip_breaker != BREAKER_NONE)
        text_buf_format(buf, " zipped with breaker %u", stage->zip_breaker);
}

// How a member runs: ", by columns", ", 2 of 3 items by columns".
static void print_columns(TextBuf *buf, const Plan *plan, const Stage *stage, uint32_t member) {
    const ColumnPart *part = &stage->columns;
    if (member >= part->op_count || (member == 0 && !part->filter_count)) return;
    const Op *op = op_of(plan, stage->ops[member]);
    if (op->kind != OP_PROJECT) {
        text_buf_add(buf, TEXT(", by columns"));
        return;
    }
    uint32_t count = 0, used = 0;
    for (uint32_t i = 0; i < op->project.count; i++) {
        count += part->items[member][i];
        used += plan->usage.columns[op->id.i][i];
    }
    text_buf_format(buf, ", %u of %u items by columns", count, used);
}

// ", by kernels", ", 2 of 3 items by kernels" where not all of them have to come back.
static void print_kernels(TextBuf *buf, const Plan *plan, const Stage *stage, uint32_t member) {
    const KernelPart *part = &stage->kernels;
    const Op *op = op_of(plan, stage->ops[member]);
    if (!member || member >= part->op_count || op->kind == OP_HINT) return;
    text_buf_add(buf, TEXT(", by kernels"));
    uint32_t back = 0, beside = 0;
    for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++) {
        back += part->outputs[member][i];
        beside += part->beside[member][i];
    }
    if (beside) text_buf_format(buf, " but %u column%s", beside, beside == 1 ? "" : "s");
    const char *kept = part->keeps ? " of kept rows" : "";
    if (back) text_buf_format(buf, ", %u columns back%s", back, kept);
}

static void print_rest(TextBuf *buf, const Plan *plan, const Stage *stage) {
    const KernelPart *kernels = &stage->kernels;
    if (plan_is_for_gpu(plan, stage) && kernels->reason.len) {
        text_buf_add(buf, TEXT("    on the CPU from "));
        print_op(buf, plan, kernels->rest);
        text_buf_format(buf, ": %.*s\n", TEXT_ARG(kernels->reason));
    }
    if (!stage->columns.op_count || op_is_none(stage->columns.rest)) return;
    text_buf_add(buf, TEXT("    row by row from "));
    print_op(buf, plan, stage->columns.rest);
    text_buf_format(buf, ": %.*s\n", TEXT_ARG(stage->columns.reason));
}

// ", a task holds 2 cpus, 0.5 accel, concurrency 3": what differs from one cpu.
static void print_resources(TextBuf *buf, const Plan *plan, const Stage *stage) {
    const Resources *all = &plan->graph->resources[stage->resources.i];
    const char *between = ", a task holds ";
    if (all->cpus && all->cpus != RESOURCE_WHOLE) {
        text_buf_format(buf, "%s%g cpus", between, (double)all->cpus / RESOURCE_WHOLE);
        between = ", ";
    }
    for (uint32_t i = 0; i < all->custom_count; i++) {
        text_buf_format(buf, "%s%g %.*s", between, (double)all->customs[i].amount / RESOURCE_WHOLE,
                        TEXT_ARG(all->customs[i].name));
        between = ", ";
    }
    if (stage->memory)
        text_buf_format(buf, "%s%" PRId64 " bytes", between, stage->memory);
    if (stage->batch) text_buf_format(buf, ", %" PRId64 " rows together", stage->batch);
    if (all->concurrency) text_buf_format(buf, ", concurrency %u", all->concurrency);
    if (stage->timeout)
        text_buf_format(buf, ", %g s a call in a worker", (double)stage->timeout / 1e6);
}

// The filters that run before the reader parses what they do not name.
static void print_filters(TextBuf *buf, const Plan *plan, const Stage *stage) {
    const Op *op = op_of(plan, stage->root);
    if (stage->kind != STAGE_SCAN) return;
    for (uint32_t i = 0; i < op->source.filter_count; i++)
        text_buf_format(buf, "        filter in the reader '%.*s'\n",
                        TEXT_ARG(plan->graph->steps[op->source.filters[i].step.i].label));
}

static void print_stage(TextBuf *buf, const Plan *plan, size_t index) {
    const Stage *stage = &plan->stages[index];
    text_buf_format(buf, "stage %zu: ", index);
    print_input(buf, stage);
    text_buf_format(buf, ", rank %u", stage->rank);
    if (stage->row_bytes) text_buf_format(buf, ", row %zu bytes", stage->row_bytes);
    print_resources(buf, plan, stage);
    for (uint32_t i = 0; i < stage->need_count; i++)
        text_buf_format(buf, i ? ", %u" : ", needs breaker %u", stage->needs[i]);
    if (stage->home.len) text_buf_format(buf, ", in the job: %.*s", TEXT_ARG(stage->home));
    text_buf_char(buf, '\n');
    for (uint32_t i = 0; i < stage->op_count; i++) {
        text_buf_pad(buf, 4);
        print_op(buf, plan, stage->ops[i]);
        if (i == 0 && !stage->counts_root) text_buf_add(buf, TEXT(", counted before"));
        print_columns(buf, plan, stage, i);
        print_kernels(buf, plan, stage, i);
        StepId step = op_of(plan, stage->ops[i])->step;
        if (plan->counts_in && step.i != STEP_NONE.i && plan->counts_in[step.i])
            text_buf_add(buf, TEXT(", counts what comes in"));
        text_buf_char(buf, '\n');
        if (i == 0) print_filters(buf, plan, stage);
    }
    for (uint32_t i = 0; i < stage->terminal_count; i++) {
        const Terminal *end = &stage->terminals[i];
        bool takes = stage->columns.op_count && stage->columns.takes[i];
        const char *how = stage->kernels.groups ? ", by kernels" : takes ? ", by columns" : "";
        text_buf_format(buf, "    %%%u -> %s %u input %u%s\n", end->op.i,
                        end->is_sink ? "sink" : "breaker", end->index, end->input,
                        how);
    }
    print_rest(buf, plan, stage);
}

static void print_states(TextBuf *buf, const Breaker *breaker, const Op *op) {
    if (breaker->kind != BREAK_GROUP || op->kind != OP_GROUP) return;
    for (uint32_t i = 0; i < op->group.agg_count; i++)
        if (breaker->state_offsets[i] != SIZE_MAX)
            text_buf_format(buf, "    at %zu state of %.*s\n", breaker->state_offsets[i],
                            TEXT_ARG(op->group.aggs[i].name));
}

static void print_entry(TextBuf *buf, const Plan *plan, const Breaker *breaker) {
    for (uint32_t i = 0; i < breaker->slot_count; i++) {
        const Slot *slot = &breaker->slots[i];
        text_buf_format(buf, "    at %zu %s%.*s: ", slot->offset,
                        i < breaker->key_count ? "key " : "", TEXT_ARG(slot->name));
        type_print(buf, slot->type);
        text_buf_add(buf, slot->key_str ? TEXT(" as key\n") : TEXT("\n"));
    }
    print_states(buf, breaker, op_of(plan, breaker->op));
    if (breaker->next_offset != SIZE_MAX)
        text_buf_format(buf, "    at %zu next\n", breaker->next_offset);
    if (breaker->jump_offset != SIZE_MAX)
        text_buf_format(buf, "    at %zu jump, %u bounds\n", breaker->jump_offset,
                        breaker->bound_count);
    if (breaker->matched_offset != SIZE_MAX)
        text_buf_format(buf, "    at %zu matched\n", breaker->matched_offset);
    if (breaker->identity_offset != SIZE_MAX)
        text_buf_format(buf, "    at %zu identity\n", breaker->identity_offset);
    if (breaker->place_offset != SIZE_MAX)
        text_buf_format(buf, "    at %zu place\n", breaker->place_offset);
}

static void print_breaker(TextBuf *buf, const Plan *plan, size_t index) {
    const Breaker *breaker = &plan->breakers[index];
    text_buf_format(buf, "breaker %zu: %s of ", index, breaker_names[breaker->kind]);
    print_op(buf, plan, breaker->op);
    text_buf_format(buf, " input %u, %u producers", breaker->input, breaker->producers);
    if (breaker->entry_bytes)
        text_buf_format(buf, ", entry %zu bytes align %zu", breaker->entry_bytes,
                        breaker->entry_align);
    text_buf_format(buf, "%s%s\n", breaker->limited ? ", limited" : "",
                    breaker->keeps_op ? ", keeps it" : "");
    if (breaker->first.i != OP_NONE.i) {
        text_buf_add(buf, TEXT("    first rows of "));
        print_op(buf, plan, breaker->first);
        text_buf_char(buf, '\n');
    }
    if (breaker->asker != STAGE_NONE)
        text_buf_format(buf, "    keys looked up by stage %u\n", breaker->asker);
    if (breaker->shares.len)
        text_buf_format(buf, "    shared out by %.*s\n", TEXT_ARG(breaker->shares));
    if (breaker->entry_bytes) print_entry(buf, plan, breaker);
}

void plan_print(TextBuf *buf, const Plan *plan) {
    for (size_t i = 0; i < plan->stage_count; i++) print_stage(buf, plan, i);
    for (size_t i = 0; i < plan->breaker_count; i++) print_breaker(buf, plan, i);
    if (plan->memory_floor)
        text_buf_format(buf, "memory: %zu bytes before breakers grow\n", plan->memory_floor);
}

// ---- explain ----

// The columns that a source's keys become have no step of their own.
static bool makes_keys(const Plan *plan, const Op *op) {
    const Op *before = op->input_count ? op_of(plan, op->inputs[0]) : nullptr;
    return op->kind == OP_PROJECT && before && before->kind == OP_SOURCE &&
           before->source.key_count > 0;
}

// "`where x` (line of the step)": the step as users wrote it, else the operator's name.
static void say_op(TextBuf *buf, const Plan *plan, OpId id) {
    const Op *op = op_of(plan, id);
    if (op->step.i < plan->graph->step_count)
        text_buf_format(buf, "`%.*s`", TEXT_ARG(plan->graph->steps[op->step.i].label));
    else if (makes_keys(plan, op)) text_buf_add(buf, TEXT("the keys of the path"));
    else text_buf_add(buf, text_of(op_kind_name(op->kind)));
}

static void say_bytes(TextBuf *buf, size_t bytes) {
    if (bytes >= (size_t)1 << 20 && bytes % ((size_t)1 << 20) == 0)
        text_buf_format(buf, "%zu MiB", bytes >> 20);
    else text_buf_format(buf, "%zu bytes", bytes);
}

static void explain_columns(TextBuf *buf, const Plan *plan, const Stage *stage) {
    const ColumnPart *part = &stage->columns;
    if (!part->op_count) return;
    text_buf_format(buf, "    loops over columns, %d rows at a time, as far as ", COLUMN_ROWS);
    OpId last = stage->ops[part->op_count - 1];
    for (uint32_t i = 0; i < stage->terminal_count; i++)
        if (part->takes[i]) last = stage->terminals[i].consumer;
    say_op(buf, plan, last);
    text_buf_char(buf, '\n');
    if (op_is_none(part->rest)) return;
    text_buf_add(buf, TEXT("    row by row from "));
    say_op(buf, plan, part->rest);
    text_buf_format(buf, " on: %.*s\n", TEXT_ARG(part->reason));
}

// Edges before and after it.
static uint32_t borders_of(const Plan *plan, const Stage *stage) {
    bool after = false;
    for (uint32_t i = 0; i < stage->terminal_count; i++)
        after |= plan_feeds_edge(plan, &stage->terminals[i]);
    return after + (stage->kind == STAGE_ROWS &&
                    plan->breakers[stage->breaker].kind == BREAK_EDGE);
}

static void explain_cost(TextBuf *buf, const Plan *plan, const Stage *stage) {
    PlanCost cost = plan_cost(plan, stage, &stage->kernels, borders_of(plan, stage));
    text_buf_format(buf, "    a row: %" PRIu64 " bytes to the GPU, %" PRIu64 " back, %" PRIu64
                    " operation%s\n", cost.bytes_in, cost.bytes_out, cost.operations,
                    cost.operations == 1 ? "" : "s");
    text_buf_format(buf, "        about %.2f ns of the bus, %.2f of kernels, %.1f of a core for "
                    "columns and borders\n", cost.bus_ns, cost.kernel_ns, cost.host_ns);
    text_buf_format(buf, "        %.2f ns in all with %d cores, and %.2f on these cores alone: "
                    "%s\n", cost_on_gpu(&cost), COST_CORES, cost_on_cpu(&cost),
                    cost_pays(&cost) ? "it pays" : "it may not pay");
}

static void explain_kept(TextBuf *buf, const Plan *plan, const Stage *stage) {
    if (!plan_kernels_filter(plan, stage)) return;
    PlanCost cost = plan_cost(plan, stage, &stage->kernels, 0);
    CostKept kept = cost_kept(&cost, stage->batch);
    text_buf_format(buf, "    rows that filters take out %s: where they are half of %" PRIu64
                    ", a launch %s %.1f us of the bus for %.1f\n",
                    stage->kernels.keeps ? "stay there" : "come back, too", kept.rows,
                    stage->kernels.keeps ? "saves" : "would save", kept.saved_ns / 1e3,
                    kept.spent_ns / 1e3);
}

static void explain_batch(TextBuf *buf, const Plan *plan, const Stage *stage) {
    if (stage->batch < 2) return;
    PlanCost cost = plan_cost(plan, stage, &stage->kernels, 0);
    CostLaunch launch = cost_launch(&cost, stage->batch);
    text_buf_format(buf, "    a launch takes %s: %.1f us of its own, and %.1f for %" PRId64
                    " rows\n", stage->kernels.eager ? "the rows that are there, up to a batch"
                                                    : "a batch, for which fewer rows wait",
                    launch.fixed_ns / 1e3, launch.rows_ns / 1e3, stage->batch);
}

static void explain_kernels(TextBuf *buf, const Plan *plan, const Stage *stage) {
    const KernelPart *part = &stage->kernels;
    if (part->op_count) {
        text_buf_add(buf, TEXT("    kernels compute as far as "));
        say_op(buf, plan, part->groups ? stage->terminals[0].consumer
                                       : stage->ops[part->op_count - 1]);
        text_buf_char(buf, '\n');
        explain_cost(buf, plan, stage);
        explain_kept(buf, plan, stage);
        explain_batch(buf, plan, stage);
    }
    if (part->beside_reason.len) {
        text_buf_add(buf, TEXT("    some columns on the CPU, as in "));
        say_op(buf, plan, part->beside_at);
        text_buf_format(buf, ": %.*s\n", TEXT_ARG(part->beside_reason));
    }
    if (!part->reason.len) return;
    text_buf_add(buf, TEXT("    on the CPU from "));
    say_op(buf, plan, part->rest);
    text_buf_format(buf, " on: %.*s\n", TEXT_ARG(part->reason));
}

static void explain_filters(TextBuf *buf, const Plan *plan, const Stage *stage) {
    const Op *op = op_of(plan, stage->root);
    if (stage->kind != STAGE_SCAN) return;
    for (uint32_t i = 0; i < op->source.filter_count; i++)
        text_buf_format(buf, "    its reader runs `%.*s`\n",
                        TEXT_ARG(plan->graph->steps[op->source.filters[i].step.i].label));
}

static void explain_stage(TextBuf *buf, const Plan *plan, size_t index) {
    const Stage *stage = &plan->stages[index];
    text_buf_format(buf, "stage %zu %s, about %zu bytes a row", index,
                    plan_is_for_gpu(plan, stage) ? "is for a GPU" : "runs on the CPU",
                    stage->row_bytes);
    print_resources(buf, plan, stage);
    text_buf_add(buf, TEXT(": "));
    switch (stage->kind) {
    case STAGE_SCAN: text_buf_add(buf, TEXT("reads its source\n")); break;
    case STAGE_ROWS: text_buf_add(buf, TEXT("goes on with finished rows\n")); break;
    case STAGE_UNMATCHED:
        text_buf_add(buf, TEXT("goes on with rows that nothing matched\n"));
        break;
    }
    for (uint32_t i = 0; i < stage->op_count; i++) {
        bool begins = i == !stage->counts_root;
        text_buf_add(buf, begins ? TEXT("    begins with ")
                          : i ? TEXT("    fused with ")
                              : TEXT("    takes rows of "));
        say_op(buf, plan, stage->ops[i]);
        text_buf_char(buf, '\n');
        if (i == 0) explain_filters(buf, plan, stage);
    }
    for (uint32_t i = 0; i < stage->terminal_count; i++) {
        const Terminal *end = &stage->terminals[i];
        text_buf_add(buf, end->is_sink ? TEXT("    writes ") : TEXT("    feeds "));
        if (end->consumer.i == end->op.i) text_buf_add(buf, TEXT("rows kept of "));
        say_op(buf, plan, end->consumer);
        if (!end->is_sink)
            text_buf_format(buf, ", %zu bytes a row there", plan->breakers[end->index].entry_bytes);
        text_buf_char(buf, '\n');
    }
    explain_columns(buf, plan, stage);
    if (plan_is_for_gpu(plan, stage)) explain_kernels(buf, plan, stage);
}

void plan_explain(TextBuf *buf, const Plan *plan) {
    for (size_t i = 0; i < plan->stage_count; i++) explain_stage(buf, plan, i);
}

void plan_explain_memory(TextBuf *buf, const Plan *plan) {
    text_buf_add(buf, TEXT("memory: about "));
    say_bytes(buf, plan->memory_floor);
    text_buf_add(buf, TEXT(" before groups, sorts and tables grow\n"));
}

void plan_explain_exchange(TextBuf *buf, const Plan *plan) {
    bool any = false;
    for (size_t b = 0; b < plan->breaker_count; b++) any |= plan->breakers[b].shares.len > 0;
    if (!any) return;
    text_buf_add(buf, TEXT("exchange: with --workers; the job puts together what they hand over. "
                           "How many ranges that\n    takes follows from the rows. Pipes and "
                           "compressed files keep more in the job. So do --resume\n    and "
                           "--first-rows, as JOB --plan --workers=N says\n"));
}
