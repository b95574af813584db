// Operators on the elements of tensors: a chain of them is one loop, without a tensor in between.
//
//   (f32(x) / 255.0 - mean) / deviation ─▶ for each element: load x, widen, /, -, /, store
//
// A chain goes from a value that somebody asks for down to leaves: what lies in memory, and numbers
// that go with every element. It goes through columns of steps before that nobody asked for yet.
// What only moves elements, as `permute` and `slice` do, changes the steps in which leaves are
// read.
// Its loop is a function of its own without branches, which LLVM's vectoriser gets like column
// loops (codegen/target.c). The nodes of the chain are emitted as those of numbers are, over a row
// whose columns are the elements of the leaves.
//
// An element that faults, or may have, only raises a bit. Then the chain is judged once more, an
// operator after the other, each over all of its elements: that is the order of the language.
#include "codegen/emit_tensor.h"

#include "codegen/emit_nest.h"

#include <stdio.h>
#include <string.h>

enum { PARTS_MAX = 256 };  // Nodes of a chain; what is deeper is a chain of its own.

// A node of a chain.
typedef struct Part {
    Frame *frame;
    ExprId id;
    View   view;
    bool   fused;      // Else it is a leaf.
    size_t *args;      // The places of its arguments among the parts.
    ExprId made;       // The node for one element.
    Val    size[TENSOR_RANK_MAX];  // Of its open dimensions.
} Part;

typedef struct Chain {
    Emit  *e;
    Part  *parts;      // Arguments first.
    size_t count, cap;
    bool   single;     // One operator, judged by itself.
    bool   faults;     // May an operator fault?
    bool   calls;      // Does an operator call a function?
    bool   disordered; // A leaf that may fault follows such an operator.
    Val    apart;      // i1: do shapes not go together? Null: the compiler knows all.
} Chain;

// ---- views --------------------------------------------------------------------------------------

static View view_whole(const Type *type) {
    View view = {0};
    for (uint32_t i = 0; i < TENSOR_RANK_MAX; i++) view.dim[i] = -1;
    for (uint32_t i = 0; type->kind == TYPE_TENSOR && i < type->rank; i++)
        view.dim[i] = (int32_t)i;
    return view;
}

// Of an operand that broadcasts to `whole`.
static View view_broadcast(const Type *type, const Type *whole, const View *of) {
    View view = view_whole(type_element(type));
    for (uint32_t i = 0; type->kind == TYPE_TENSOR && i < type->rank; i++) {
        uint32_t at = i + whole->rank - type->rank;
        if (type->shape[i] == 1 && whole->shape[at] != 1) continue;
        view.dim[i] = of->dim[at];
        view.from[i] = of->from[at];
    }
    return view;
}

// Of what is reshaped by dimensions of 1 only. False: by others too.
static bool view_reshaped(const Type *type, const Type *whole, const View *of, View *view) {
    uint32_t at = 0;
    *view = view_whole(type_element(type));
    if (!type_same_but_ones(type, whole)) return false;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->shape[i] == 1) continue;
        while (at < whole->rank && whole->shape[at] == 1) at++;
        view->dim[i] = of->dim[at];
        view->from[i] = of->from[at++];
    }
    return true;
}

// Of argument `i` of a node with the view `of`. False: the node is no part of a loop.
static bool view_of_argument(const Emit *e, const Expr *x, uint32_t i, const View *of, View *view) {
    const Graph *graph = e->graph;
    const Type *type = graph_at(graph, x->args[i])->type;
    if (graph_is_elementwise(x)) {
        *view = view_broadcast(type, x->type, of);
        return true;
    }
    if (x->op == EXPR_RESHAPE) return view_reshaped(type, x->type, of, view);
    *view = view_whole(type_element(type));
    for (uint32_t k = 0; k < type->rank; k++) {
        uint32_t own = x->op == EXPR_PERMUTE ? graph_axis(graph, x, k + 1) : k;
        view->dim[own] = of->dim[k];
        view->from[own] = of->from[k];
    }
    if (x->op == EXPR_SLICE) view->from[graph_axis(graph, x, 1)] += graph_axis(graph, x, 2);
    return true;
}

// ---- which nodes --------------------------------------------------------------------------------

// The node itself, or what computes the column that it names, if nobody asked for that yet.
static Part part_of(const Emit *e, Frame *frame, ExprId id) {
    for (const Expr *x = graph_at(e->graph, id); x->op == EXPR_COLUMN;
         x = graph_at(e->graph, id)) {
        Frame *from = frame->input[x->input];
        uint32_t column = x->index;
        while (!from->load && !from->columns[column].a && op_passes_columns(from->op))
            from = from->input[0];
        bool open = !from->load && !from->columns[column].a && from->op->kind == OP_PROJECT;
        if (!open || graph_faults(e->graph, from->op->project.items[column].expr)) break;
        frame = from;
        id = from->op->project.items[column].expr;
    }
    return (Part){.frame = frame, .id = id};
}

// How many arguments of a node that may be part of a loop are read in it. 0: it may not. A part of
// what may fault is no part of a loop, since all of it is judged.
static uint32_t looped_args(const Emit *e, const Expr *x) {
    View none = {0}, view;
    if (x->op == EXPR_EXPAND) return 1;
    if (graph_is_elementwise(x)) return x->arg_count;
    if (x->op == EXPR_SLICE && graph_faults(e->graph, x->args[0])) return 0;
    bool moves = graph_is_layout(x) ||
                 (x->op == EXPR_RESHAPE && x->arg_count == 1 &&
                  view_of_argument(e, x, 0, &none, &view));
    return moves ? 1 : 0;
}

// Adds the node after its arguments, each once. Returns its place.
static size_t add_part(Chain *chain, Part part, unsigned depth) {
    Emit *e = chain->e;
    const Expr *x = graph_at(e->graph, part.id);
    for (size_t i = 0; i < chain->count; i++) {
        const Part *old = &chain->parts[i];
        if (old->frame == part.frame && expr_same(old->id, part.id) &&
            memcmp(&old->view, &part.view, sizeof part.view) == 0)
            return i;
    }
    uint32_t args = looped_args(e, x);
    bool ends = depth && (chain->single || emit_is_known(e, part.frame, part.id));
    part.fused = args && !ends && depth < PARTS_MAX && chain->count < PARTS_MAX;
    part.args = arena_new_array(e->arena, size_t, args + 1);
    for (uint32_t i = 0; part.fused && i < args; i++) {
        Part arg = part_of(e, part.frame, x->args[i]);
        view_of_argument(e, x, i, &part.view, &arg.view);
        part.args[i] = add_part(chain, arg, depth + 1);
    }
    if (part.fused) {
        chain->faults |= x->faults;
        chain->calls |= x->op == EXPR_CALL;
    } else chain->disordered |= x->faults && chain->faults;
    arena_push(e->arena, chain->parts, chain->count, chain->cap, part);
    return chain->count - 1;
}

// The chain below a node. At depth 0 the node itself is part of the loop.
static Chain chain_of(Emit *e, Frame *frame, ExprId id, unsigned depth) {
    Chain chain = {.e = e};
    Part root = depth ? part_of(e, frame, id) : (Part){.frame = frame, .id = id};
    root.view = view_whole(graph_at(e->graph, root.id)->type);
    add_part(&chain, root, depth);
    return chain;
}

// The same once its leaves are there: what they were made of need not be made again.
static Chain chain_over_leaves(const Chain *old, unsigned depth) {
    Emit *e = old->e;
    for (size_t i = 0; i < old->count; i++) {
        const Part *part = &old->parts[i];
        if (!part->fused) emit_expr(e, part->frame, part->id);
    }
    const Part *root = &old->parts[old->count - 1];
    return chain_of(e, root->frame, root->id, depth);
}

// ---- the row of elements ------------------------------------------------------------------------

static void sizes_of_leaf(Emit *e, Part *part) {
    const Type *type = graph_at(e->graph, part->id)->type;
    if (type_open_count(type)) emit_sizes(e, type, emit_expr(e, part->frame, part->id), part->size);
}

static void falls_apart(Chain *chain, Val bad) {
    chain->apart = chain->apart ? LLVMBuildOr(chain->e->b, chain->apart, bad, "") : bad;
}

// Dimension `d` of the node from those of its operands, which are compared.
static void size_of_operands(Chain *chain, Part *part, const Expr *x, uint32_t d) {
    Emit *e = chain->e;
    Val first = nullptr;
    bool open = false;
    for (uint32_t i = 0; i < looped_args(e, x); i++) {
        const Part *arg = &chain->parts[part->args[i]];
        const Type *type = graph_at(e->graph, x->args[i])->type;
        uint32_t own = d + type->rank - x->type->rank;
        if (type->kind != TYPE_TENSOR || d + type->rank < x->type->rank || type->shape[own] == 1)
            continue;
        Extent extent = extent_of_dimension(type, arg->size, own);
        open |= extent.count > 0;
        Val size = emit_extent(e, &extent);
        if (extent.count && !part->size[d] && dimension_is_open(x->type->shape[d]))
            part->size[d] = size;
        if (first && open && !x->fits && first != size)
            falls_apart(chain, LLVMBuildICmp(e->b, LLVMIntNE, first, size, ""));
        if (!first) first = size;
    }
}

// The sizes of a node that only moves elements.
static void sizes_of_moved(Chain *chain, Part *part, const Expr *x) {
    Emit *e = chain->e;
    const Part *arg = &chain->parts[part->args[0]];
    const Type *from = graph_at(e->graph, x->args[0])->type;
    uint32_t next = 0;
    for (uint32_t i = 0; i < x->type->rank; i++) {
        while (x->op == EXPR_RESHAPE && next < from->rank && from->shape[next] == 1) next++;
        bool one = x->op == EXPR_RESHAPE && x->type->shape[i] == 1;
        uint32_t own = x->op == EXPR_PERMUTE ? graph_axis(e->graph, x, i + 1) : next;
        if (dimension_is_open(x->type->shape[i])) part->size[i] = arg->size[own];
        next += !one;
    }
    if (x->op != EXPR_SLICE) return;
    uint32_t axis = graph_axis(e->graph, x, 1);
    if (!dimension_is_open(from->shape[axis])) return;
    uint64_t end = graph_axis(e->graph, x, 2) + x->type->shape[axis];
    falls_apart(chain, LLVMBuildICmp(e->b, LLVMIntULT, arg->size[axis],
                                     emit_i64(e, (int64_t)end), ""));
}

static void sizes_of_part(Chain *chain, Part *part) {
    Emit *e = chain->e;
    const Expr *x = graph_at(e->graph, part->id);
    if (x->op == EXPR_EXPAND && x->arg_count == 2) {
        Value like = emit_expr(e, part->frame, x->args[1]);
        Val size[TENSOR_RANK_MAX];
        emit_sizes(e, graph_at(e->graph, x->args[1])->type, like, size);
        for (uint32_t d = 0; d < x->type->rank; d++)
            if (dimension_is_open(x->type->shape[d])) part->size[d] = size[d];
        return;
    }
    if (!graph_is_elementwise(x)) return sizes_of_moved(chain, part, x);
    for (uint32_t d = 0; d < x->type->rank; d++) size_of_operands(chain, part, x, d);
}

static ExprId leaf_column(Emit *e, TensorLoop *loop, const Part *part) {
    const Expr *x = graph_at(e->graph, part->id);
    if (x->op == EXPR_CONST && x->type->kind != TYPE_TENSOR) return part->id;
    Leaf leaf = {emit_expr(e, part->frame, part->id), x->type, part->view, {nullptr}};
    memcpy(leaf.size, part->size, sizeof leaf.size);
    arena_push(e->arena, loop->leaves, loop->leaf_count, loop->leaf_cap, leaf);
    return graph_column(e->plan->graph, 0, (uint32_t)loop->leaf_count - 1, type_element(leaf.type),
                        x->span);
}

static ExprId element_node(Chain *chain, const Part *part) {
    enum { ARGS_MAX = 8 };
    const Graph *graph = chain->e->graph;
    Expr x = *graph_at(graph, part->id);
    ExprId args[ARGS_MAX];
    if (!graph_is_elementwise(&x) || x.op == EXPR_EXPAND) return chain->parts[part->args[0]].made;
    for (uint32_t k = 0; k < x.arg_count; k++) args[k] = chain->parts[part->args[k]].made;
    x.type = type_element(x.type);
    return graph_expr(chain->e->plan->graph, x, args, x.arg_count);
}

// The elements of `whole` lie in the result as they lie in memory.
static void steps_as(TensorLoop *loop, const Type *whole, const Val *size) {
    Extent step = extent_of(1);
    for (uint32_t i = whole->rank; i-- > 0;) {
        loop->out_step[i] = step;
        Extent own = extent_of_dimension(whole, size, i);
        step = extent_times(step, &own);
    }
}

// The loop of a chain. Emits its leaves.
static TensorLoop *loop_of(Chain *chain) {
    Emit *e = chain->e;
    TensorLoop *loop = arena_new_of(e->arena, TensorLoop);
    for (size_t i = 0; i < chain->count; i++) {
        Part *part = &chain->parts[i];
        if (part->fused) sizes_of_part(chain, part);
        else sizes_of_leaf(e, part);
        part->made = part->fused ? element_node(chain, part) : leaf_column(e, loop, part);
    }
    const Part *root = &chain->parts[chain->count - 1];
    const Expr *x = graph_at(e->graph, root->id);
    loop->type = x->type;
    loop->span = x->span;
    loop->root = root->made;
    loop->step = root->frame->step;
    memcpy(loop->size, root->size, sizeof loop->size);
    steps_as(loop, loop->type, loop->size);
    return loop;
}

// ---- loops --------------------------------------------------------------------------------------

// How far leaf `i` is from its beginning.
static Val steps_taken(Emit *e, const Nest *nest, const Count *counts, size_t i) {
    Val at = emit_i64(e, 0);
    for (uint32_t d = 0; d < nest->rank; d++) {
        Val step = emit_extent(e, &nest->step[d][i]);
        at = LLVMBuildAdd(e->b, at, LLVMBuildMul(e->b, counts[d].at, step, ""), "");
    }
    return at;
}

// Computes the elements one by one, where the builder stands.
static void emit_elements(Emit *e, const TensorLoop *loop, Val out) {
    const Type *elem = loop->type->elem;
    Nest nest = nest_of(e, loop, TENSOR_RANK_MAX);
    Count counts[TENSOR_RANK_MAX];
    for (uint32_t d = nest.rank; d-- > 0;)
        counts[d] = emit_count(e, emit_extent(e, &nest.size[d]));
    Val *at = arena_new_array(e->arena, Val, loop->leaf_count + 1);
    for (size_t i = 0; i <= loop->leaf_count; i++) at[i] = steps_taken(e, &nest, counts, i);
    Value value = emit_element_at(e, loop, at);
    Val bytes = LLVMBuildMul(e->b, at[loop->leaf_count],
                             emit_i64(e, (int64_t)type_size(elem)), "");
    emit_store_value(e, elem, value, emit_index(e, e->i8, out, bytes));
    if (e->lanes && e->lanes->raised) {
        Val raised = emit_load(e, e->i1, e->lanes->kept, "");
        emit_store(e, LLVMBuildOr(e->b, raised, e->lanes->raised, ""), e->lanes->kept);
    }
    for (uint32_t d = 0; d < nest.rank; d++)
        emit_count_end(e, &counts[d], d || nest.size[d].count || nest.size[d].known > SHORT_MAX);
}

// ---- a function for each loop -------------------------------------------------------------------

// i1 loop(task, out, room, leaves...): may an element have faulted?
static Val call_loop(Emit *e, TensorLoop *loop, Val out, Val room) {
    loop_sizes(e, loop);
    size_t count = PARAM_LEAVES + loop->leaf_count + loop->size_count;
    Ty *types = arena_new_array(e->arena, Ty, count);
    Val *args = arena_new_array(e->arena, Val, count);
    args[PARAM_TASK] = e->task;
    args[PARAM_OUT] = out;
    args[PARAM_ROOM] = room;
    for (size_t i = 0; i < loop->leaf_count; i++)
        args[PARAM_LEAVES + i] = loop->leaves[i].value.a;
    for (uint32_t i = 0; i < loop->size_count; i++)
        args[PARAM_LEAVES + loop->leaf_count + i] = loop->sizes[i];
    for (size_t i = 0; i < count; i++) types[i] = LLVMTypeOf(args[i]);
    char name[48];
    snprintf(name, sizeof name, "sb_columns_tensor_%u", e->name_count++);
    Ty type = LLVMFunctionType(e->i1, types, (unsigned)count, false);
    loop->function = LLVMAddFunction(e->module, name, type);
    LLVMSetLinkage(loop->function, LLVMInternalLinkage);
    const unsigned all = (unsigned)LLVMAttributeFunctionIndex;
    emit_attribute(e, loop->function, all, "noinline", nullptr);
    emit_attribute(e, loop->function, all, "nounwind", nullptr);
    for (unsigned i = PARAM_OUT; i < count; i++)
        if (types[i] == e->ptr) emit_attribute(e, loop->function, i + 1, "noalias", nullptr);
    loop->next = e->tensor_loops;
    e->tensor_loops = loop;
    return LLVMBuildCall2(e->b, type, loop->function, args, (unsigned)count, "");
}

static void emit_loop_function(Emit *e, TensorLoop *loop) {
    Lanes lanes = {0};
    FaultTarget target;
    emit_function_open(e, loop->function);
    e->task = LLVMGetParam(e->fn, PARAM_TASK);
    e->lanes = &lanes;
    e->faults_fail = false;
    e->undo_count = 0;
    fault_target_open(e, &target, nullptr, false);
    e->faults = &target;
    emit_debug_function(e, loop->span, "tensor_loop");
    for (size_t i = 0; i < loop->leaf_count; i++)
        loop->leaves[i].value.a = LLVMGetParam(e->fn, PARAM_LEAVES + (unsigned)i);
    loop_sizes_are_params(e, loop);
    emit_at(e, e->entry);
    lanes.kept = emit_alloca(e, e->i1, "raised");
    emit_store(e, emit_i1(e, false), lanes.kept);
    Block body = emit_block(e, "loop");
    emit_jump(e, body);
    emit_at(e, body);
    if (loop->reduction) emit_reduction(e, loop);
    else emit_elements(e, loop, LLVMGetParam(e->fn, PARAM_OUT));
    LLVMBuildRet(e->b, emit_load(e, e->i1, lanes.kept, ""));
    e->lanes = nullptr;
    e->faults = nullptr;
}

void emit_tensor_loops(Emit *e) {
    for (TensorLoop *loop = e->tensor_loops; loop; loop = loop->next) emit_loop_function(e, loop);
    e->tensor_loops = nullptr;
}

// ---- values -------------------------------------------------------------------------------------

static Val no_room(const Emit *e) { return LLVMConstNull(e->ptr); }

// The fault of one operator whose shapes do not go together, if `apart`.
static void emit_apart(Emit *e, Frame *frame, const Expr *x, Val apart) {
    if (!graph_is_elementwise(x)) {
        emit_fault_if(e, frame, x->span, apart, emit_i32(e, SB_FAULT_OUT_OF_BOUNDS), (Detail){0});
        return;
    }
    for (uint32_t k = 1; k < x->arg_count; k++) {
        const Type *b = graph_at(e->graph, x->args[k])->type;
        for (uint32_t i = 0; i < k && b->kind == TYPE_TENSOR; i++) {
            const Type *a = graph_at(e->graph, x->args[i])->type;
            if (a->kind != TYPE_TENSOR || !(type_open_count(a) + type_open_count(b))) continue;
            Value left = emit_expr(e, frame, x->args[i]), right = emit_expr(e, frame, x->args[k]);
            Arg args[] = {arg(emit_sbtype(e, a)), arg_pair(left.a, left.b),
                          arg(emit_sbtype(e, b)), arg_pair(right.a, right.b)};
            emit_shape_call(e, frame, x, "sb_shapes_meet", type_of(e->graph->types, TYPE_BOOL),
                            args, countof(args));
        }
    }
}

// One operator over all of its elements: the first one that faults ends the row.
static Value emit_judged(Emit *e, Frame *frame, ExprId id) {
    Chain chain = {.e = e, .single = true};
    View whole = view_whole(graph_at(e->graph, id)->type);
    add_part(&chain, (Part){.frame = frame, .id = id, .view = whole}, 0);
    TensorLoop *loop = loop_of(&chain);
    if (chain.apart) emit_apart(e, frame, graph_at(e->graph, id), chain.apart);
    Value out = emit_room(e, frame, loop->span, loop->type, loop->size);
    emit_elements(e, loop, out.a);
    return out;
}

static void emit_into(Emit *e, TensorLoop *loop, const Type *whole, const Val *size, Val out) {
    steps_as(loop, whole, size);
    call_loop(e, loop, out, no_room(e));
}

// A part of what may fault: all of that is there.
static Value emit_slice(Emit *e, Frame *frame, const Expr *x) {
    const Type *whole = graph_at(e->graph, x->args[0])->type;
    Value tensor = emit_expr(e, frame, x->args[0]);
    uint32_t axis = graph_axis(e->graph, x, 1);
    Leaf leaf = {tensor, whole, view_whole(whole), {nullptr}};
    emit_sizes(e, whole, tensor, leaf.size);
    leaf.view.from[axis] = graph_axis(e->graph, x, 2);
    if (dimension_is_open(whole->shape[axis])) {
        Val end = emit_i64(e, leaf.view.from[axis] + (int64_t)x->type->shape[axis]);
        Val outside = LLVMBuildICmp(e->b, LLVMIntULT, leaf.size[axis], end, "");
        emit_apart(e, frame, x, outside);
    }
    TensorLoop *loop = arena_new_of(e->arena, TensorLoop);
    arena_push(e->arena, loop->leaves, loop->leaf_count, loop->leaf_cap, leaf);
    loop->root = graph_column(e->plan->graph, 0, 0, whole->elem, x->span);
    loop->type = x->type;
    loop->span = x->span;
    loop->step = frame->step;
    for (uint32_t d = 0; d < x->type->rank; d++)
        if (dimension_is_open(x->type->shape[d])) loop->size[d] = leaf.size[d];
    Value out = emit_room(e, frame, x->span, x->type, loop->size);
    emit_into(e, loop, x->type, loop->size, out.a);
    return out;
}

Value emit_tensor(Emit *e, Frame *frame, ExprId id) {
    Chain chain = {0};
    const Expr *x = graph_at(e->graph, id);
    if (!looped_args(e, x)) return emit_slice(e, frame, x);
    if (!e->judges) chain = chain_of(e, frame, id, 0);
    if (e->judges || chain.disordered) return emit_judged(e, frame, id);
    chain = chain_over_leaves(&chain, 0);
    TensorLoop *loop = loop_of(&chain);
    Block again = chain.faults ? emit_block(e, "judge") : nullptr;
    if (chain.apart) {
        Block fit = emit_block(e, "fit");
        emit_branch_likely(e, LLVMBuildNot(e->b, chain.apart, ""), fit, again);
        emit_at(e, fit);
    }
    Value out = emit_room(e, frame, x->span, loop->type, loop->size);
    Val raised = call_loop(e, loop, out.a, no_room(e));
    if (!chain.faults) return out;
    Block from = emit_here(e), end = emit_block(e, "judged");
    emit_branch_likely(e, LLVMBuildNot(e->b, raised, ""), end, again);
    emit_at(e, again);
    size_t mark = emit_region_begin(e);
    e->judges = true;
    Value judged = emit_judged(e, frame, id);
    e->judges = false;
    emit_region_end(e, mark);
    Block judged_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Value value = {.a = emit_phi(e, e->ptr, "tensor"), .b = out.b};
    emit_phi_add(value.a, out.a, from);
    emit_phi_add(value.a, judged.a, judged_end);
    if (LLVMIsConstant(out.b)) return value;
    value.b = emit_phi(e, e->i64, "count");
    emit_phi_add(value.b, out.b, from);
    emit_phi_add(value.b, judged.b, judged_end);
    return value;
}

// ---- whole tensors ------------------------------------------------------------------------------

// The loop over an argument: with the chain that makes it, if that cannot fault and calls nothing.
// Memory is read faster than functions are called.
static TensorLoop *argument_loop(Emit *e, Frame *frame, ExprId id) {
    bool apart = e->judges || graph_faults(e->graph, id);
    if (apart) emit_expr(e, frame, id);
    Chain chain = chain_of(e, frame, id, 1);
    if (chain.calls && !chain.disordered) {
        emit_expr(e, frame, id);
        chain = chain_of(e, frame, id, 1);
    }
    chain = chain_over_leaves(&chain, 1);
    return loop_of(&chain);
}

// A dimension is skipped in the result: the steps are those of the dimensions that are left.
static void steps_without(TensorLoop *loop, uint32_t axis) {
    Extent step = extent_of(1);
    for (uint32_t i = loop->type->rank; i-- > 0;) {
        loop->out_step[i] = i == axis ? extent_of(0) : step;
        Extent own = extent_of_dimension(loop->type, loop->size, i);
        if (i != axis) step = extent_times(step, &own);
    }
}

static Value emit_reduced(Emit *e, Frame *frame, const Expr *x) {
    bool tensor = x->type->kind == TYPE_TENSOR;
    TensorLoop *loop = argument_loop(e, frame, x->args[0]);
    loop->type = graph_at(e->graph, x->args[0])->type;
    loop->reduction = x;
    loop->span = x->span;
    loop->axis = graph_axis(e->graph, x, 1);
    steps_without(loop, loop->axis);
    Val size[TENSOR_RANK_MAX] = {nullptr};
    for (uint32_t i = 0, to = 0; i < loop->type->rank; i++)
        if (i != loop->axis) size[to++] = loop->size[i];
    Value out = {0};
    if (tensor) out = emit_room(e, frame, x->span, x->type, size);
    else out.a = emit_alloca(e, LLVMArrayType2(e->i8, type_size(x->type)), "reduced");
    Val bytes = reduction_room(e, loop);
    Val room = LLVMIsNull(bytes) ? no_room(e) : emit_scratch(e, frame, x->span, bytes);
    Val raised = call_loop(e, loop, out.a, room);
    if (x->op == EXPR_REDUCE_SUM && type_is_integer(type_element(x->type)))
        emit_fault_if(e, frame, x->span, raised, emit_i32(e, SB_FAULT_OVERFLOW), (Detail){0});
    return tensor ? out : emit_load_value(e, x->type, out.a);
}

// Are the parts as long as the first one, but for the dimension that grows?
static void parts_fit(Emit *e, Frame *frame, const Expr *x, uint32_t axis) {
    const Type *first = graph_at(e->graph, x->args[1])->type;
    bool open = false;
    for (uint32_t i = 1; i < x->arg_count; i++)
        open |= type_open_count(graph_at(e->graph, x->args[i])->type) > 0;
    for (uint32_t i = 1; open && x->arg_count > 2 && i < x->arg_count; i++)
        emit_expr(e, frame, x->args[i]);
    for (uint32_t i = 2; open && i < x->arg_count; i++) {
        Value a = emit_expr(e, frame, x->args[1]), b = emit_expr(e, frame, x->args[i]);
        Arg args[] = {arg(emit_sbtype(e, first)), arg_pair(a.a, a.b),
                      arg(emit_sbtype(e, graph_at(e->graph, x->args[i])->type)),
                      arg_pair(b.a, b.b), arg(emit_i64(e, axis))};
        emit_shape_call(e, frame, x, "sb_shapes_beside", type_of(e->graph->types, TYPE_BOOL), args,
                        countof(args));
    }
}

static Value emit_append(Emit *e, Frame *frame, const Expr *x) {
    uint32_t axis = graph_axis(e->graph, x, 0);
    Val size[TENSOR_RANK_MAX] = {nullptr}, first = emit_i64(e, 0);
    TensorLoop **loops = arena_new_array(e->arena, TensorLoop *, x->arg_count);
    parts_fit(e, frame, x, axis);
    for (uint32_t i = 1; i < x->arg_count; i++) loops[i] = argument_loop(e, frame, x->args[i]);
    for (uint32_t i = 1; i < x->arg_count; i++) {
        Extent own = extent_of_dimension(loops[i]->type, loops[i]->size, axis);
        for (uint32_t d = 0; d < x->type->rank; d++)
            if (d != axis && dimension_is_open(x->type->shape[d])) size[d] = loops[i]->size[d];
        loops[i]->first = first;
        first = LLVMBuildAdd(e->b, first, emit_extent(e, &own), "");
    }
    if (dimension_is_open(x->type->shape[axis])) size[axis] = first;
    Extent bytes = extent_of(type_size(x->type->elem));
    for (uint32_t i = axis + 1; i < x->type->rank; i++) {
        Extent own = extent_of_dimension(x->type, size, i);
        bytes = extent_times(bytes, &own);
    }
    Value out = emit_room(e, frame, x->span, x->type, size);
    for (uint32_t i = 1; i < x->arg_count; i++) {
        Val before = LLVMBuildMul(e->b, loops[i]->first, emit_extent(e, &bytes), "");
        Val to = LLVMIsConstant(before) ? emit_offset(e, out.a, LLVMConstIntGetZExtValue(before))
                                        : emit_index(e, e->i8, out.a, before);
        emit_into(e, loops[i], x->type, size, to);
    }
    return out;
}

// The address of an SbGather: a constant, if the shape is one.
static Val gather_sizes(Emit *e, const Type *whole, const Val *size, uint32_t axis) {
    Extent outer = extent_of(1), inner = extent_of(type_size(whole->elem));
    for (uint32_t i = 0; i < whole->rank; i++) {
        Extent own = extent_of_dimension(whole, size, i);
        if (i < axis) outer = extent_times(outer, &own);
        if (i > axis) inner = extent_times(inner, &own);
    }
    Extent along = extent_of_dimension(whole, size, axis);
    const struct { size_t at; Val value; } fields[] = {
        {offsetof(SbGather, outer), emit_extent(e, &outer)},
        {offsetof(SbGather, size), emit_extent(e, &along)},
        {offsetof(SbGather, inner), emit_extent(e, &inner)},
    };
    Parts parts = {0};
    bool fixed = !type_open_count(whole);
    Val room = fixed ? nullptr : emit_alloca(e, LLVMArrayType2(e->i64, 3), "gather");
    for (size_t i = 0; i < countof(fields); i++) {
        if (fixed) part_add(e, &parts, fields[i].at, fields[i].value, 8);
        else emit_store(e, fields[i].value, emit_offset(e, room, fields[i].at));
    }
    return fixed ? emit_global(e, parts_struct(e, &parts, sizeof(SbGather)), "gather") : room;
}

static Value emit_gather(Emit *e, Frame *frame, const Expr *x) {
    const Type *whole = graph_at(e->graph, x->args[0])->type;
    uint32_t axis = graph_axis(e->graph, x, 1);
    Value tensor = emit_expr(e, frame, x->args[0]), index = emit_expr(e, frame, x->args[2]);
    const Type *places = graph_at(e->graph, x->args[2])->type;
    Val own[TENSOR_RANK_MAX], given[TENSOR_RANK_MAX], size[TENSOR_RANK_MAX];
    emit_sizes(e, whole, tensor, own);
    emit_sizes(e, places, index, given);
    for (uint32_t i = 0; i < x->type->rank; i++)
        if (dimension_is_open(x->type->shape[i]))
            size[i] = i < axis                  ? own[i]
                      : i < axis + places->rank ? given[i - axis]
                                                : own[i + 1 - places->rank];
    Value out = emit_room(e, frame, x->span, x->type, size);
    Val sizes = gather_sizes(e, whole, own, axis);
    Val status = emit_callv(e, "sb_gather", e->i32, arg(sizes), arg(tensor.a),
                            arg_pair(index.a, index.b), arg(out.a));
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, SB_OK), "");
    emit_fault_if(e, frame, x->span, bad, status, (Detail){0});
    return out;
}

Value emit_whole(Emit *e, Frame *frame, const Expr *x) {
    if (graph_is_reduction(x)) return emit_reduced(e, frame, x);
    if (x->op == EXPR_APPEND) return emit_append(e, frame, x);
    if (x->op == EXPR_GATHER) return emit_gather(e, frame, x);
    if (x->op == EXPR_SIZE) return emit_size(e, frame, x);
    return x->op == EXPR_AGREE ? emit_agree(e, frame, x) : emit_reshape(e, frame, x);
}
