// How wide rows are, and how much memory the job needs before its breakers grow.
#include "ir/plan.h"

enum { TEXT_ESTIMATE = 24, LIST_ESTIMATE = 8 };  // Bytes, elements: nothing better is known.

// The memory estimate: what the least run, of one thread, holds at once.
enum {
    FLOOR_BYTES = 16 << 20,         // The program, its stacks, tables of files and rejects.
    FLOOR_SCAN_BYTES = 4 << 20,     // A unit of text, the rest of the one before, its index.
    FLOOR_BREAKER_BYTES = 2 << 20,  // One slab.
    FLOOR_SINK_BYTES = 2 << 20,     // A unit's output, and one waiting for its turn.
};

static size_t width(const Type *type) {
    if (type_is_bytes(type)) return type_size(type) + TEXT_ESTIMATE;
    if (type->kind == TYPE_TENSOR) {
        size_t open = 1;
        for (uint32_t i = 0; i < type_open_count(type); i++) open *= LIST_ESTIMATE;
        return type_size(type) + type_elements(type) * type_size(type->elem) * open;
    }
    if (type_is_sequence(type)) return type_size(type) + LIST_ESTIMATE * width(type->elem);
    if (type->kind != TYPE_STRUCT) return type_size(type);
    size_t bytes = 0;
    for (uint32_t i = 0; i < type->field_count; i++) bytes += width(type->fields[i].type);
    return bytes;
}

// The widest row that the stage pushes: values in memory, texts by estimate.
static size_t row_bytes(const Plan *plan, const Stage *stage) {
    size_t widest = 0;
    for (uint32_t i = 0; i < stage->op_count; i++) {
        const Op *op = graph_op_at(plan->graph, stage->ops[i]);
        size_t bytes = 0;
        for (uint32_t c = 0; c < op->column_count; c++)
            if (plan->usage.columns[op->id.i][c]) bytes += width(op->columns[c].type);
        if (bytes > widest) widest = bytes;
    }
    return widest;
}

void plan_memory(Plan *plan, PlanOptions options) {
    (void)options;
    for (size_t i = 0; i < plan->stage_count; i++)
        plan->stages[i].row_bytes = row_bytes(plan, &plan->stages[i]);
    plan->memory_floor = FLOOR_BYTES + plan->source_count * FLOOR_SCAN_BYTES +
                         plan->breaker_count * FLOOR_BREAKER_BYTES +
                         plan->sink_count * FLOOR_SINK_BYTES;
}
