// Kernels over a source that has columns: they lie in the memory of a launch from the start, and go
// from there to sinks whose rows are side by side.
//
//   chunk ─▶ its launch ─▶ all rows of it are good ─▶ sinks take the columns
//                       └─ else                    ─▶ row by row
#include "codegen/emit_kernels.h"
#include "codegen/emit_scan.h"
#include "codegen/emit_sink.h"

#include <stdio.h>

static const Op *root_of(const Emit *e, const Stage *stage) {
    return graph_op_at(e->graph, stage->root);
}

int64_t kernel_stride(const Emit *e, const Stage *stage) {
    int64_t width = stage->kind == STAGE_SCAN ? text_width(root_of(e, stage)) : 0;
    return width ? width : 1;
}

// ---- columns of a source ------------------------------------------------------------------------

static void lay_column(Emit *e, TextRow *text, const LaidRows *rows, Val to) {
    if (text) text_format_of(&text->op->source)->lay(e, text, rows, to);
    else
        emit_callv(e, "sb_kernel_count", e->type_void, arg(to), arg(rows->first),
                   arg(rows->count));
}

bool stage_lays_columns(const Emit *e, const Stage *stage) {
    return stage->kind == STAGE_SCAN && stage_has_kernels(e, stage);
}

// void lay(task, row, rows, to)
void emit_kernel_lay(Emit *e, uint32_t index) {
    enum { TASK, ROW, ROWS, TO };
    const Stage *stage = &e->plan->stages[index];
    const Op *root = root_of(e, stage);
    char name[32];
    Ty types[] = {e->ptr, e->i64, e->i64, e->ptr};
    snprintf(name, sizeof name, "sb_lay_%u", index);
    Val fn = LLVMAddFunction(e->module, name,
                             LLVMFunctionType(e->type_void, types, countof(types), false));
    emit_function_open(e, fn);
    e->task = LLVMGetParam(fn, TASK);
    emit_debug_function(e, root->span, name);
    Block begin = emit_block(e, "begin");
    emit_at(e, e->entry);
    TextRow *text = text_width(root) ? text_open(e, root) : nullptr;
    emit_jump(e, begin);
    emit_at(e, begin);
    KernelColumns inputs = kernel_columns(e, stage, false);
    for (size_t i = 0; i < inputs.count; i++) {
        LaidRows rows = {.first = LLVMGetParam(fn, ROW), .count = LLVMGetParam(fn, ROWS),
                         .room = inputs.items[i].pad};
        lay_column(e, text, &rows,
                   emit_load_at(e, e->ptr, LLVMGetParam(fn, TO), sizeof(char *) * i, "to"));
    }
    LLVMBuildRetVoid(e->b);
}

// ---- columns of a launch ------------------------------------------------------------------------

// What kernels gave of the one column of a sink.
typedef struct GivenColumn {
    uint32_t    number;    // Of the outputs.
    const Type *type;
} GivenColumn;

// Null: some rows go on one by one.
static GivenColumn *given_columns(Emit *e, const Stage *stage) {
    if (!plan_gives_back(e->plan, stage, &stage->kernels)) return nullptr;
    GivenColumn *given = arena_new_array(e->arena, GivenColumn, stage->terminal_count);
    KernelColumns outputs = kernel_columns(e, stage, true);
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        KernelItem item;
        const Terminal *terminal = &stage->terminals[t];
        plan_given_column(e->plan, stage, &stage->kernels, terminal, &item);
        const SinkOp *sink = &graph_op_at(e->graph, terminal->consumer)->sink;
        const Type *type = graph_at(e->graph, sink->columns[0].value)->type;
        given[t] = (GivenColumn){kernel_column_number(e, &outputs, item, type), type};
    }
    return given;
}

static uint64_t bytes_of(const Type *type) {
    uint64_t elements = type->kind == TYPE_TENSOR ? type_elements(type) : 1;
    return elements * type_size(type_base(type_element(type)));
}

static void write_column(Emit *e, uint32_t terminal, const GivenColumn *given, Val place,
                         Val rows) {
    const Op *op = graph_op_at(e->graph, e->stage->stage->terminals[terminal].consumer);
    Val width = emit_i64(e, (int64_t)bytes_of(given->type));
    Val to = sink_room(e, e->stage->terminals[terminal], LLVMBuildMul(e->b, rows, width, ""),
                       e->stage->stop);
    Val values = emit_load_at(e, e->ptr, e->task,
                              offsetof(SbTask, kernel) + offsetof(SbKernelRows, values), "");
    Val from = emit_load_at(e, e->ptr, values, sizeof(char *) * given->number, "");
    from = emit_index(e, e->i8, from, LLVMBuildMul(e->b, place, width, ""));
    Val end = sink_format_of(&op->sink)->column(e, given->type, from, rows, to);
    sink_count(e, terminal, rows, end);
}

static void count_steps(Emit *e, Val rows) {
    const Stage *stage = e->stage->stage;
    const Op *from = root_of(e, stage);
    for (uint32_t m = 1; m < stage->op_count; m++) {
        const Op *op = graph_op_at(e->graph, stage->ops[m]);
        if (stage_counts_in(e, from, op)) stage_count(e, op->step, SB_IN, rows);
        from = op;
    }
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        const Op *op = graph_op_at(e->graph, stage->terminals[t].consumer);
        if (stage_counts_in(e, from, op)) stage_count(e, op->step, SB_IN, rows);
    }
}

void kernels_take_chunk(Emit *e, const Chunk *chunk, Block judged) {
    const Stage *stage = e->stage->stage;
    emit_store(e, chunk->first, chunk->row);
    kernels_fill(e, chunk->first, judged);
    const GivenColumn *given = given_columns(e, stage);
    if (!given) {
        emit_jump(e, chunk->rows);
        return;
    }
    Block good = emit_block(e, "columns_back");
    Val place = kernels_place(e, chunk->first);
    Val clean = emit_callv(e, "sb_kernel_clean", e->i32, arg(e->task), arg(place),
                           arg(chunk->count));
    Val fits = LLVMBuildICmp(e->b, LLVMIntNE, clean, emit_i32(e, 0), "");
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        fits = LLVMBuildAnd(e->b, fits, sink_takes(e, t, chunk->count), "");
    emit_branch_likely(e, fits, good, chunk->rows);
    emit_at(e, good);
    for (uint32_t t = 0; t < stage->terminal_count; t++)
        write_column(e, t, &given[t], place, chunk->count);
    count_steps(e, chunk->count);
    emit_jump(e, chunk->done);
}
