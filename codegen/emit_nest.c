// Loops over the elements of tensors, as branches and counters.
#include "codegen/emit_nest.h"

#include <llvm-c/DebugInfo.h>

// Unrolling comes before the vectoriser, which then has to put the elements together again. A short
// loop goes away by it, and leaves the next one to the vectoriser.
static void keep_rolled(Emit *e, Val branch) {
    static const char name[] = "llvm.loop.unroll.disable", kind[] = "llvm.loop";
    LLVMMetadataRef text = LLVMMDStringInContext2(e->ctx, name, sizeof name - 1);
    LLVMMetadataRef hint = LLVMMDNodeInContext2(e->ctx, &text, 1);
    LLVMMetadataRef itself = LLVMTemporaryMDNode(e->ctx, nullptr, 0);
    LLVMMetadataRef loop = LLVMMDNodeInContext2(e->ctx, (LLVMMetadataRef[]){itself, hint}, 2);
    LLVMMetadataReplaceAllUsesWith(itself, loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->ctx, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(e->ctx, loop));
}

Count emit_count(Emit *e, Val end) {
    Count count = {.slot = emit_alloca(e, e->i64, "at"), .end = end,
                   .head = emit_block(e, "elements"), .done = emit_block(e, "elements_done")};
    emit_store(e, emit_i64(e, 0), count.slot);
    bool some = LLVMIsAConstantInt(end) && LLVMConstIntGetZExtValue(end) > 0;
    if (some) emit_jump(e, count.head);
    else {
        Val any = LLVMBuildICmp(e->b, LLVMIntNE, end, emit_i64(e, 0), "");
        LLVMBuildCondBr(e->b, any, count.head, count.done);
    }
    emit_at(e, count.head);
    count.at = emit_load(e, e->i64, count.slot, "");
    return count;
}

void emit_count_end(Emit *e, const Count *count, bool rolled) {
    Val next = LLVMBuildAdd(e->b, count->at, emit_i64(e, 1), "next");
    emit_store(e, next, count->slot);
    Val more = LLVMBuildICmp(e->b, LLVMIntULT, next, count->end, "");
    Val branch = LLVMBuildCondBr(e->b, more, count->head, count->done);
    if (rolled) keep_rolled(e, branch);
    emit_at(e, count->done);
}

// ---- steps --------------------------------------------------------------------------------------

uint64_t leaf_step(const Leaf *leaf, uint32_t dimension) {
    uint64_t step = 1, sum = 0;
    if (leaf->type->kind != TYPE_TENSOR) return 0;
    for (uint32_t i = leaf->type->rank; i-- > 0;) {
        if (leaf->view.dim[i] == (int32_t)dimension) sum += step;
        step *= leaf->type->shape[i];
    }
    return sum;
}

// Where the loop begins in the leaf, in elements.
static uint64_t leaf_start(const Leaf *leaf) {
    uint64_t step = 1, start = 0;
    for (uint32_t i = leaf->type->rank; i-- > 0;) {
        start += leaf->view.from[i] * step;
        step *= leaf->type->shape[i];
    }
    return start;
}

// Does everybody go on from the end of the inner dimension to the next element of the outer one?
static bool joins(const TensorLoop *loop, const Nest *nest, const uint64_t *outer) {
    uint32_t inner = nest->rank - 1;
    for (size_t i = 0; i <= loop->leaf_count; i++)
        if (outer[i] != nest->step[inner][i] * nest->size[inner]) return false;
    return true;
}

Nest nest_of(Emit *e, const TensorLoop *loop, uint32_t skip) {
    Nest nest = {0};
    for (uint32_t d = loop->type->rank; d-- > 0;) {
        uint64_t size = loop->type->shape[d];
        if (d == skip) continue;
        uint64_t *step = arena_new_array(e->arena, uint64_t, loop->leaf_count + 1);
        for (size_t i = 0; i < loop->leaf_count; i++) step[i] = leaf_step(&loop->leaves[i], d);
        step[loop->leaf_count] = loop->out_step[d];
        if (nest.rank && (size == 1 || joins(loop, &nest, step))) {
            nest.size[nest.rank - 1] *= size;
            continue;
        }
        nest.size[nest.rank] = size;
        nest.step[nest.rank++] = step;
    }
    return nest;
}

// ---- elements -----------------------------------------------------------------------------------

// The leaf's element, or the number that goes with each one.
static Value leaf_element(Emit *e, const Leaf *leaf, Val at) {
    if (leaf->type->kind != TYPE_TENSOR) return leaf->value;
    const Type *elem = leaf->type->elem;
    int64_t size = (int64_t)type_size(elem);
    Val bytes = LLVMBuildMul(e->b, at, emit_i64(e, size), "");
    Val base = emit_offset(e, leaf->value.a, leaf_start(leaf) * (uint64_t)size);
    return emit_load_value(e, elem, emit_index(e, e->i8, base, bytes));
}

Value emit_element_at(Emit *e, const TensorLoop *loop, const Val *at) {
    Op *op = arena_new_of(e->arena, Op);
    *op = (Op){.kind = OP_SOURCE, .step = loop->step, .column_count = (uint32_t)loop->leaf_count};
    Frame *elements = frame_new(e, op, nullptr, nullptr);
    for (size_t i = 0; i < loop->leaf_count; i++)
        elements->columns[i] = leaf_element(e, &loop->leaves[i], at[i]);
    size_t mark = emit_region_begin(e);
    Value value = emit_expr(e, frame_over(e, elements, loop->step), loop->root);
    emit_region_end(e, mark);
    return value;
}
