// Rows whose leading steps a kernel may have done on a GPU.
//
//   row ─▶ sb_kernel_fill, before the first row of a launch
//       ├─ its status is 0 ─▶ the rest of the stage, with columns that the kernel gave: at the
//       │                     row's number, or at its place among kept rows (sb_kernel_place)
//       └─ else            ─▶ all of the stage, as without a GPU
//
// Rows of a source with columns are asked for by blocks first (emit_kernel_columns.c).
#include "codegen/emit_kernels.h"

#define PART(parts, Struct, field, value) \
    part_add(e, (parts), offsetof(Struct, field), (value), sizeof(((Struct *)0)->field))

// The last kernel fills groups, if one does.
static const CudaGroups *groups_of_unit(const CudaUnit *unit) {
    return unit->kernels[unit->kernel_count - 1].groups;
}

static const CodegenKernels *kernels_of(const Emit *e, const Stage *stage) {
    // A copy of a stage, as emit_ask makes one, has none and no number.
    if (!e->options->kernels || !stage->kernels.op_count) return nullptr;
    const CodegenKernels *kernels = &e->options->kernels[stage - e->plan->stages];
    return kernels->unit ? kernels : nullptr;
}

bool stage_has_kernels(const Emit *e, const Stage *stage) { return kernels_of(e, stage); }

const CudaGroups *stage_kernel_groups(const Emit *e, const Stage *stage) {
    const CodegenKernels *kernels = kernels_of(e, stage);
    return kernels ? groups_of_unit(kernels->unit) : nullptr;
}

// ---- columns ------------------------------------------------------------------------------------

static uint32_t number_of(Emit *e, KernelColumns *all, const CudaColumn *column) {
    for (size_t i = 0; i < all->count; i++)
        if (cuda_same_column(&all->items[i], column)) return (uint32_t)i;
    arena_push(e->arena, all->items, all->count, all->cap, *column);
    return (uint32_t)all->count - 1;
}

static KernelColumns columns_of(Emit *e, const CudaUnit *unit, bool outputs) {
    KernelColumns all = {0};
    for (size_t k = 0; k < unit->kernel_count; k++) {
        const CudaKernel *kernel = &unit->kernels[k];
        if (kernel->keeps) continue;  // It takes and gives what others give.
        size_t count = outputs ? kernel->output_count : kernel->input_count;
        const CudaColumn *columns = outputs ? kernel->outputs : kernel->inputs;
        for (size_t i = 0; i < count; i++)
            if (!columns[i].temp) number_of(e, &all, &columns[i]);
    }
    return all;
}

KernelColumns kernel_columns(Emit *e, const Stage *stage, bool outputs) {
    return columns_of(e, kernels_of(e, stage)->unit, outputs);
}

uint32_t kernel_column_number(Emit *e, KernelColumns *all, KernelItem item, const Type *type) {
    return number_of(e, all, &(CudaColumn){.item = item, .type = type});
}

// Where the column of the root lies in an entry.
static size_t offset_in_entry(const Emit *e, const Stage *stage, uint32_t column) {
    if (stage->kind == STAGE_SCAN) return 0;
    const Breaker *from = &e->plan->breakers[stage->breaker];
    return from->slots[from->slot_of[column]].offset;
}

static Val column_constant(Emit *e, const Stage *stage, const CudaColumn *column) {
    const Type *type = column->type, *element = type_base(type_element(type));
    bool tensor = type->kind == TYPE_TENSOR;
    Parts parts = {0};
    size_t offset = 0;
    if (!column->temp && !column->item.member)
        offset = offset_in_entry(e, stage, column->item.column);
    PART(&parts, SbKernelColumn, offset, emit_i32(e, (uint32_t)offset));
    PART(&parts, SbKernelColumn, size, emit_i32(e, (uint32_t)type_size(element)));
    int64_t filled = tensor ? (int64_t)type_elements(type) : 0;
    PART(&parts, SbKernelColumn, elements, emit_i64(e, column->pad ? column->pad : filled));
    PART(&parts, SbKernelColumn, nullable, emit_int(e, e->i8, type->nullable));
    PART(&parts, SbKernelColumn, filled, emit_i64(e, filled));
    return parts_struct(e, &parts, sizeof(SbKernelColumn));
}

static Val column_constants(Emit *e, const Stage *stage, const KernelColumns *all) {
    Val *items = arena_new_array(e->arena, Val, all->count + 1);
    for (size_t i = 0; i < all->count; i++)
        items[i] = column_constant(e, stage, &all->items[i]);
    return emit_sequence(e, items, (uint32_t)all->count, "kernel_columns");
}

// ---- kernels ------------------------------------------------------------------------------------

// Temporary columns come after all others.
static Val numbers(Emit *e, const CudaColumn *columns, size_t count, KernelColumns *all,
                   KernelColumns *temps) {
    Val *items = arena_new_array(e->arena, Val, count + 1);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = columns[i].temp ? (uint32_t)all->count + number_of(e, temps, &columns[i])
                                          : number_of(e, all, &columns[i]);
        items[i] = emit_i32(e, number);
    }
    return emit_sequence(e, items, (uint32_t)count, "kernel_numbers");
}

static Val params(Emit *e, const CudaKernel *kernel) {
    Val *items = arena_new_array(e->arena, Val, 2 * kernel->param_count + 1);
    for (size_t i = 0; i < kernel->param_count; i++) {
        const Type *type = e->graph->params[kernel->params[i]].type;
        items[2 * i] = emit_i32(e, kernel->params[i]);
        items[2 * i + 1] = emit_i32(e, (uint32_t)type_size(type));
    }
    return emit_sequence(e, items, (uint32_t)(2 * kernel->param_count), "kernel_params");
}

static Val product_constant(Emit *e, const CudaProduct *product) {
    if (!product) return LLVMConstNull(e->ptr);
    const PlanProduct *of = &product->of;
    int type = of->elem->kind == TYPE_F16    ? SB_PRODUCT_F16
               : of->elem->kind == TYPE_BF16 ? SB_PRODUCT_BF16
                                             : SB_PRODUCT_F32;
    Parts parts = {0};
    PART(&parts, SbKernelProduct, k, emit_i32(e, product->k));
    PART(&parts, SbKernelProduct, n, emit_i32(e, of->n));
    PART(&parts, SbKernelProduct, rows, emit_i64(e, (int64_t)of->rows));
    PART(&parts, SbKernelProduct, type, emit_int(e, e->i8, (uint64_t)type));
    PART(&parts, SbKernelProduct, relu, emit_int(e, e->i8, of->relu));
    part_add_text(e, &parts, offsetof(SbKernelProduct, weights), product->weights);
    part_add_text(e, &parts, offsetof(SbKernelProduct, bias), product->bias);
    return emit_global(e, parts_struct(e, &parts, sizeof(SbKernelProduct)), "product");
}

// Elements of a row that lanes go over; of a product those of its larger side.
static uint64_t elements_of(const CudaKernel *kernel) {
    const CudaProduct *product = kernel->product;
    if (product) {
        uint32_t wide = product->k > product->of.n ? product->k : product->of.n;
        return product->of.rows * wide;
    }
    return kernel->team ? kernel->lanes : kernel->shape ? type_elements(kernel->shape) : 1;
}

static Val kernel_constant(Emit *e, const CudaKernel *kernel, KernelColumns *inputs,
                           KernelColumns *outputs, KernelColumns *temps) {
    Parts parts = {0};
    part_add_text(e, &parts, offsetof(SbKernel, name), kernel->name);
    PART(&parts, SbKernel, product, product_constant(e, kernel->product));
    PART(&parts, SbKernel, elements, emit_i64(e, (int64_t)elements_of(kernel)));
    PART(&parts, SbKernel, width, emit_i32(e, kernel->width));
    const CudaGroups *groups = kernel->groups;
    PART(&parts, SbKernel, lanes, emit_i32(e, groups ? groups->lanes : SB_KERNEL_LANES));
    PART(&parts, SbKernel, groups, emit_int(e, e->i8, groups != nullptr));
    PART(&parts, SbKernel, keeps, emit_int(e, e->i8, kernel->keeps));
    PART(&parts, SbKernel, blocks, emit_i32(e, kernel->blocks));
    size_t in = kernel->keeps ? 0 : kernel->input_count, out = kernel->output_count;
    PART(&parts, SbKernel, inputs, numbers(e, kernel->inputs, in, inputs, temps));
    PART(&parts, SbKernel, input_count, emit_i32(e, (uint32_t)in));
    PART(&parts, SbKernel, outputs, numbers(e, kernel->outputs, out, outputs, temps));
    PART(&parts, SbKernel, output_count, emit_i32(e, (uint32_t)out));
    PART(&parts, SbKernel, params, params(e, kernel));
    PART(&parts, SbKernel, param_count, emit_i32(e, (uint32_t)kernel->param_count));
    return parts_struct(e, &parts, sizeof(SbKernel));
}

static Val code_constant(Emit *e, const CudaPart *part) {
    Parts parts = {0};
    PART(&parts, SbKernelCode, architecture, emit_i32(e, part->architecture));
    PART(&parts, SbKernelCode, is_ptx, emit_int(e, e->i8, part->is_ptx));
    part_add_text(e, &parts, offsetof(SbKernelCode, bytes), part->bytes);
    return parts_struct(e, &parts, sizeof(SbKernelCode));
}

static int64_t groups_bytes(const CudaGroups *groups) {
    if (!groups) return 0;
    size_t numbers = groups->heads + (size_t)groups->slots * groups->stride;
    return (int64_t)(numbers * sizeof(uint64_t));
}

Val stage_kernels(Emit *e, const Stage *stage, Val lay) {
    const CodegenKernels *kernels = kernels_of(e, stage);
    if (!kernels) return LLVMConstNull(e->ptr);
    const CudaUnit *unit = kernels->unit;
    KernelColumns inputs = columns_of(e, unit, false), outputs = columns_of(e, unit, true),
            temps = {unit->temps, unit->temp_count, unit->temp_cap};
    Val *items = arena_new_array(e->arena, Val, unit->kernel_count + 1);
    for (size_t i = 0; i < unit->kernel_count; i++)
        items[i] = kernel_constant(e, &unit->kernels[i], &inputs, &outputs, &temps);
    Val *codes = arena_new_array(e->arena, Val, kernels->part_count + 1);
    for (size_t i = 0; i < kernels->part_count; i++)
        codes[i] = code_constant(e, &kernels->parts[i]);
    Parts parts = {0};
    uint32_t count = (uint32_t)unit->kernel_count, code_count = (uint32_t)kernels->part_count;
    PART(&parts, SbKernels, items, emit_sequence(e, items, count, "kernels"));
    PART(&parts, SbKernels, count, emit_i32(e, count));
    PART(&parts, SbKernels, inputs, column_constants(e, stage, &inputs));
    PART(&parts, SbKernels, input_count, emit_i32(e, (uint32_t)inputs.count));
    PART(&parts, SbKernels, outputs, column_constants(e, stage, &outputs));
    PART(&parts, SbKernels, output_count, emit_i32(e, (uint32_t)outputs.count));
    PART(&parts, SbKernels, temps, column_constants(e, stage, &temps));
    PART(&parts, SbKernels, temp_count, emit_i32(e, (uint32_t)temps.count));
    PART(&parts, SbKernels, codes, emit_sequence(e, codes, code_count, "kernel_codes"));
    PART(&parts, SbKernels, code_count, emit_i32(e, code_count));
    PART(&parts, SbKernels, toolkit, emit_i32(e, kernels->toolkit));
    PART(&parts, SbKernels, rows, emit_i64(e, stage->batch));
    PART(&parts, SbKernels, groups_bytes, emit_i64(e, groups_bytes(groups_of_unit(unit))));
    bool approx = false;
    for (size_t i = 0; i < unit->kernel_count; i++) approx |= unit->kernels[i].product != nullptr;
    PART(&parts, SbKernels, approx, emit_int(e, e->i8, approx));
    PART(&parts, SbKernels, keeps, emit_int(e, e->i8, stage->kernels.keeps));
    PART(&parts, SbKernels, eager, emit_int(e, e->i8, stage->kernels.eager));
    PART(&parts, SbKernels, lay, lay);
    PART(&parts, SbKernels, stride, emit_i64(e, kernel_stride(e, stage)));
    return emit_global(e, parts_struct(e, &parts, sizeof(SbKernels)), "kernels");
}

// ---- rows ---------------------------------------------------------------------------------------

static Val kernel_field(Emit *e, Ty type, size_t offset) {
    return emit_load_at(e, type, e->task, offsetof(SbTask, kernel) + offset, "");
}

// The row comes into each step up to that member's, whose filter takes it out.
static void take_out(Emit *e, uint32_t filter, Block next) {
    const Stage *stage = e->stage->stage;
    const Op *from = graph_op_at(e->graph, stage->ops[0]);
    for (uint32_t m = 1; m <= filter; m++) {
        const Op *op = graph_op_at(e->graph, stage->ops[m]);
        if (stage_counts_in(e, from, op)) stage_count(e, op->step, SB_IN, emit_i64(e, 1));
        from = op;
    }
    stage_count(e, from->step, SB_FILTERED, emit_i64(e, 1));
    emit_jump(e, next);
}

// Rows of which a kernel has told the filter that takes them out. Goes on with the others.
static void leave_filtered(Emit *e, Val byte, Block next) {
    const Stage *stage = e->stage->stage;
    const CudaUnit *unit = kernels_of(e, stage)->unit;
    uint32_t told = 0;
    for (size_t k = 0; k < unit->kernel_count; k++) told += unit->kernels[k].filters;
    for (uint32_t m = 1, n = 0; m < stage->kernels.op_count && n < told; m++) {
        if (graph_op_at(e->graph, stage->ops[m])->kind != OP_FILTER) continue;
        Block out = emit_block(e, "taken_out"), other = emit_block(e, "not_taken_out");
        Val is = LLVMBuildICmp(e->b, LLVMIntEQ, byte, emit_int(e, e->i8, CUDA_FILTERED(n++)), "");
        emit_branch(e, is, out, other);
        emit_at(e, out);
        take_out(e, m, next);
        emit_at(e, other);
    }
}

Val kernels_place(Emit *e, Val number) {
    Val first = kernel_field(e, e->i64, offsetof(SbKernelRows, first));
    Val far = LLVMBuildSub(e->b, number, first, "");
    int64_t stride = kernel_stride(e, e->stage->stage);
    return stride == 1 ? far : LLVMBuildUDiv(e->b, far, emit_i64(e, stride), "at");
}

Val kernels_fill(Emit *e, Val number, Block judged) {
    Block fill = emit_block(e, "kernel"), there = emit_block(e, "in_kernel"),
          given = emit_block(e, "given");
    Val count = kernel_field(e, e->i64, offsetof(SbKernelRows, count));
    Val inside = LLVMBuildICmp(e->b, LLVMIntULT, kernels_place(e, number), count, "");
    emit_branch_likely(e, inside, there, fill);
    emit_at(e, fill);
    Val status = emit_callv(e, "sb_kernel_fill", e->i32, arg(e->task), arg(number));
    Val good = LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, SB_OK), "");
    const CudaGroups *groups = stage_kernel_groups(e, e->stage->stage);
    Block made = groups ? emit_block(e, "launched") : there;
    emit_branch_likely(e, good, made, e->stage->stop);
    if (groups) {
        emit_at(e, made);
        kernel_groups_take(e, groups);
        emit_jump(e, there);
    }
    emit_at(e, there);
    Val bytes = kernel_field(e, e->ptr, offsetof(SbKernelRows, status));
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntNE, bytes, LLVMConstNull(e->ptr), ""), given,
                judged);
    emit_at(e, given);
    return bytes;
}

void kernels_ask(Emit *e, Val number, Block judged, Block next) {
    const CudaGroups *groups = stage_kernel_groups(e, e->stage->stage);
    Block done = emit_block(e, "by_kernel");
    Val bytes = kernels_fill(e, number, judged), at = kernels_place(e, number);
    emit_store_at(e, at, e->task, offsetof(SbTask, kernel) + offsetof(SbKernelRows, at));
    Val byte = emit_load(e, e->i8, emit_index(e, e->i8, bytes, at), "");
    Val clean = LLVMBuildICmp(e->b, LLVMIntEQ, byte, emit_int(e, e->i8, 0), "");
    Block unclean = emit_block(e, "unclean");
    Block place = e->stage->stage->kernels.keeps ? emit_block(e, "place") : done;
    emit_branch_likely(e, clean, place, unclean);
    emit_at(e, unclean);
    if (groups) kernel_groups_judge(e);
    else leave_filtered(e, byte, next);
    emit_jump(e, judged);
    if (place != done) {
        emit_at(e, place);
        Val kept = emit_callv(e, "sb_kernel_place", e->i64, arg(e->task), arg(at));
        emit_store_at(e, kept, e->task, offsetof(SbTask, kernel) + offsetof(SbKernelRows, at));
        emit_jump(e, done);
    }
    emit_at(e, done);
}

static uint32_t member_of(const Emit *e, const Op *op) {
    uint32_t member = 0;
    while (e->stage->stage->ops[member].i != op->id.i) member++;
    return member;
}

bool kernels_did(const Emit *e, const Op *op) {
    return e->stage->by_kernel && member_of(e, op) < e->stage->stage->kernels.op_count;
}

bool kernels_did_item(const Emit *e, const Op *op, uint32_t item) {
    return kernels_did(e, op) && !e->stage->stage->kernels.beside[member_of(e, op)][item];
}

// The rest of the stage, and items that the CPU computes, ask for no column that has not come back.
Value kernels_load(Emit *e, Frame *frame, uint32_t column) {
    const Op *op = frame->op;
    const Stage *stage = e->stage->stage;
    uint32_t member = member_of(e, op);
    if (!stage->kernels.outputs[member][column])
        return emit_expr(e, frame, op->project.items[column].expr);
    const Type *type = op->columns[column].type, *base = type_base(type);
    KernelColumns outputs = kernel_columns(e, stage, true);
    uint32_t number = kernel_column_number(e, &outputs, (KernelItem){member, column}, type);
    Val at = kernel_field(e, e->i64, offsetof(SbKernelRows, at));
    Val values = kernel_field(e, e->ptr, offsetof(SbKernelRows, values));
    Val from = emit_load_at(e, e->ptr, values, sizeof(char *) * number, "");
    if (type->kind == TYPE_TENSOR) {
        Val count = emit_i64(e, (int64_t)type_elements(type));
        Val bytes = emit_i64(e, (int64_t)(type_elements(type) * type_size(type->elem)));
        Val place = emit_index(e, e->i8, from, LLVMBuildMul(e->b, at, bytes, ""));
        return (Value){.a = place, .b = count};
    }
    Val bytes = LLVMBuildMul(e->b, at, emit_i64(e, (int64_t)type_size(base)), "");
    Value value = emit_load_value(e, base, emit_index(e, e->i8, from, bytes));
    if (!type->nullable) return value;
    Val valid = kernel_field(e, e->ptr, offsetof(SbKernelRows, valid));
    Val flags = emit_load_at(e, e->ptr, valid, sizeof(uint8_t *) * number, "");
    Val flag = emit_load(e, e->i8, emit_index(e, e->i8, flags, at), "");
    value.valid = LLVMBuildICmp(e->b, LLVMIntNE, flag, emit_int(e, e->i8, 0), "");
    return value;
}
