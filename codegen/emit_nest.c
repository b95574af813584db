// Loops over the elements of tensors, as branches and counters.
#include "codegen/emit_nest.h"


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
    if (rolled) emit_keep_rolled(e, branch);
    emit_at(e, count->done);
}

// ---- steps --------------------------------------------------------------------------------------

Extent extent_of_dimension(const Type *type, const Val *size, uint32_t i) {
    if (!dimension_is_open(type->shape[i])) return extent_of(type->shape[i]);
    return (Extent){.known = 1, .count = 1, .open = {size[i]}};
}

// Sizes that differ are as many as dimensions.
Extent extent_times(Extent a, const Extent *b) {
    a.known *= b->known;
    if (!a.known) return extent_of(0);
    for (uint32_t i = 0; i < b->count; i++) a.open[a.count++] = b->open[i];
    return a;
}

bool extent_same(const Extent *a, const Extent *b) {
    bool used[TENSOR_RANK_MAX] = {false};
    if (a->known != b->known || a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t k = 0;
        while (k < b->count && (used[k] || a->open[i] != b->open[k])) k++;
        if (k == b->count) return false;
        used[k] = true;
    }
    return true;
}

Val emit_extent(Emit *e, const Extent *extent) {
    Val value = emit_i64(e, (int64_t)extent->known);
    for (uint32_t i = 0; i < extent->count; i++)
        value = i || extent->known != 1 ? LLVMBuildMul(e->b, value, extent->open[i], "")
                                        : extent->open[i];
    return value;
}

// A dimension of the leaf that the loop goes through is as long as the loop's, which checks said.
static Extent leaf_size(const TensorLoop *loop, const Leaf *leaf, uint32_t i) {
    int32_t dim = leaf->view.dim[i];
    bool open = dimension_is_open(leaf->type->shape[i]);
    if (open && dim >= 0 && dimension_is_open(loop->type->shape[dim]))
        return extent_of_dimension(loop->type, loop->size, (uint32_t)dim);
    return extent_of_dimension(leaf->type, leaf->size, i);
}

Extent leaf_step(const TensorLoop *loop, const Leaf *leaf, uint32_t dimension) {
    Extent step = extent_of(1), found = extent_of(0);
    if (leaf->type->kind != TYPE_TENSOR) return found;
    for (uint32_t i = leaf->type->rank; i-- > 0;) {
        if (leaf->view.dim[i] == (int32_t)dimension) found = step;
        Extent size = leaf_size(loop, leaf, i);
        step = extent_times(step, &size);
    }
    return found;
}

// Where the loop begins in the leaf, in elements.
static Val leaf_start(Emit *e, const TensorLoop *loop, const Leaf *leaf) {
    Extent step = extent_of(1);
    uint64_t known = 0;
    Val start = nullptr;
    for (uint32_t i = leaf->type->rank; i-- > 0;) {
        Extent from = extent_of(leaf->view.from[i]);
        from = extent_times(step, &from);
        known += from.count ? 0 : from.known;
        if (from.count) {
            Val more = emit_extent(e, &from);
            start = start ? LLVMBuildAdd(e->b, start, more, "") : more;
        }
        Extent size = leaf_size(loop, leaf, i);
        step = extent_times(step, &size);
    }
    Val constant = emit_i64(e, (int64_t)known);
    return !start ? constant : known ? LLVMBuildAdd(e->b, start, constant, "") : start;
}

// Does everybody go on from the end of the inner dimension to the next element of the outer one?
static bool joins(const TensorLoop *loop, const Nest *nest, const Extent *outer) {
    uint32_t inner = nest->rank - 1;
    for (size_t i = 0; i <= loop->leaf_count; i++) {
        Extent end = extent_times(nest->step[inner][i], &nest->size[inner]);
        if (!extent_same(&outer[i], &end)) return false;
    }
    return true;
}

Nest nest_of(Emit *e, const TensorLoop *loop, uint32_t skip) {
    Nest nest = {0};
    for (uint32_t d = loop->type->rank; d-- > 0;) {
        Extent size = extent_of_dimension(loop->type, loop->size, d);
        if (d == skip) continue;
        Extent *step = arena_new_array(e->arena, Extent, loop->leaf_count + 1);
        for (size_t i = 0; i < loop->leaf_count; i++)
            step[i] = leaf_step(loop, &loop->leaves[i], d);
        step[loop->leaf_count] = loop->out_step[d];
        if (nest.rank && (extent_is(&size, 1) || joins(loop, &nest, step))) {
            nest.size[nest.rank - 1] = extent_times(nest.size[nest.rank - 1], &size);
            continue;
        }
        nest.size[nest.rank] = size;
        nest.step[nest.rank++] = step;
    }
    return nest;
}

// ---- elements -----------------------------------------------------------------------------------

// The leaf's element, or the number that goes with each one.
static Value leaf_element(Emit *e, const TensorLoop *loop, const Leaf *leaf, Val at) {
    if (leaf->type->kind != TYPE_TENSOR) return leaf->value;
    const Type *elem = leaf->type->elem;
    int64_t size = (int64_t)type_size(elem);
    Val bytes = LLVMBuildMul(e->b, at, emit_i64(e, size), "");
    Val start = leaf_start(e, loop, leaf), base;
    if (LLVMIsAConstantInt(start))
        base = emit_offset(e, leaf->value.a, LLVMConstIntGetZExtValue(start) * (uint64_t)size);
    else {
        start = LLVMBuildMul(e->b, start, emit_i64(e, size), "");
        base = emit_index(e, e->i8, leaf->value.a, start);
    }
    return emit_load_value(e, elem, emit_index(e, e->i8, base, bytes));
}

Value emit_element_at(Emit *e, const TensorLoop *loop, const Val *at) {
    Op *op = arena_new_of(e->arena, Op);
    *op = (Op){.kind = OP_SOURCE, .step = loop->step, .column_count = (uint32_t)loop->leaf_count};
    Frame *elements = frame_new(e, op, nullptr, nullptr);
    for (size_t i = 0; i < loop->leaf_count; i++)
        elements->columns[i] = leaf_element(e, loop, &loop->leaves[i], at[i]);
    size_t mark = emit_region_begin(e);
    Value value = emit_expr(e, frame_over(e, elements, loop->step), loop->root);
    emit_region_end(e, mark);
    return value;
}
