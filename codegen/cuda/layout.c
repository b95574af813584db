// Layouts: an element of the result is an element of the argument, whose place is computed.
//
//   permute x 2 0 1   x at place c1, c2, c0 of its dimensions
//
//   gather x a p   x at the place that p has there, which is checked
//
// Nothing is stored between: what stands below a layout is computed at that place, from columns
// that are loaded there.
#include "codegen/cuda/render.h"

bool cuda_is_layout(const Expr *x) {
    return x->op == EXPR_RESHAPE || x->op == EXPR_PERMUTE || x->op == EXPR_SLICE ||
           x->op == EXPR_APPEND || x->op == EXPR_GATHER || x->op == EXPR_INDEX;
}

// ---- places -------------------------------------------------------------------------------------

static uint64_t stride(const Type *type, uint32_t axis) {
    uint64_t elements = 1;
    for (uint32_t i = axis + 1; i < type->rank; i++) elements *= type->shape[i];
    return elements;
}

CudaPlace cuda_own_place(Arena *arena, const Type *shape) {
    CudaPlace own = {.shape = shape, .element = TEXT("c")};
    for (uint32_t i = 0; shape && i < shape->rank; i++)
        own.at[i] = text_format(arena, "c%u", i);
    return own;
}

// `e` is the first element of the pack, and `k` the lane's in it. Places are signed: the compiler
// may then add constants to an address instead of to a place that could wrap.
void cuda_print_own(TextBuf *buf, const Type *shape, uint32_t width) {
    uint32_t last = shape->rank - 1;
    bool whole = shape->shape[last] % width == 0;
    text_buf_add(buf, TEXT("    const i32 c = (i32)(e + k)"));
    for (uint32_t i = 0; i <= last; i++) {
        text_buf_format(buf, ", c%u = (i32)(%s / %lluu %% %uu)", i, whole ? "e" : "(e + k)",
                        (unsigned long long)stride(shape, i), shape->shape[i]);
        if (whole && i == last) text_buf_add(buf, TEXT(" + (i32)k"));
    }
    text_buf_format(buf, ", " CUDA_TURN " = (i32)(e %% %uu)", shape->shape[last]);
    text_buf_add(buf, TEXT(";\n"));
}

bool cuda_is_in_turn(const CudaEmit *e, const Type *type) {
    const Type *shape = e->kernel->shape;
    if (e->place.number || !shape || e->segment) return false;  // Segments have no packs.
    uint32_t size = shape->shape[shape->rank - 1];
    return type_elements(type) == size && type->shape[type->rank - 1] == size;
}

// In dimension `i` of a tensor that broadcasts to the shape of the place.
Text cuda_at_dimension(const Type *type, const CudaPlace *place, uint32_t i) {
    return type->shape[i] == 1 ? TEXT("0") : place->at[place->shape->rank - type->rank + i];
}

Text cuda_element(Arena *arena, const Type *type, const CudaPlace *place) {
    const Type *shape = place->shape;
    TextBuf buf = {0};
    bool same = type->rank == shape->rank && place->element.len;
    for (uint32_t i = 0; same && i < type->rank; i++) same = type->shape[i] == shape->shape[i];
    if (same) return place->element;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->shape[i] == 1) continue;
        Text at = cuda_at_dimension(type, place, i);
        text_buf_format(&buf, "%s%.*s", buf.len ? " + " : "", TEXT_ARG(at));
        if (stride(type, i) > 1)
            text_buf_format(&buf, " * %llu", (unsigned long long)stride(type, i));
    }
    if (!buf.len) text_buf_add(&buf, TEXT("0"));
    return text_buf_take(&buf, arena);
}

// ---- values -------------------------------------------------------------------------------------

static CudaValue value_at(CudaEmit *e, uint32_t member, ExprId id, CudaPlace place) {
    CudaPlace before = e->place;
    place.number = ++e->places;
    e->place = place;
    CudaValue is = cuda_value(e, member, id);
    e->place = before;
    return is;
}

// Places after the last one take its element, and zero is chosen.
CudaValue cuda_padded(CudaEmit *e, uint32_t member, ExprId id) {
    const Type *type = graph_at(e->plan->graph, id)->type;
    uint32_t last = type->rank - 1, size = type->shape[last];
    CudaPlace place = {.shape = type};
    for (uint32_t i = 0; i < last; i++) place.at[i] = e->place.at[i];
    Text at = e->place.at[last];
    place.at[last] = cuda_index(e, text_format(e->arena, "%.*s < %u ? %.*s : %u", TEXT_ARG(at),
                                               size, TEXT_ARG(at), size - 1));
    CudaValue is = value_at(e, member, id, place);
    is.value = text_format(e->arena, "(%.*s < %u ? %.*s : 0)", TEXT_ARG(at), size,
                           TEXT_ARG(is.value));
    return is;
}

// Where the elements of a node that only turns or cuts its argument come from.
static CudaPlace moved(CudaEmit *e, const Expr *x) {
    const Graph *graph = e->plan->graph;
    CudaPlace to = {.shape = graph_at(graph, x->args[0])->type};
    for (uint32_t i = 0; i < x->type->rank; i++) {
        uint32_t axis = x->op == EXPR_PERMUTE ? graph_axis(graph, x, i + 1) : i;
        to.at[axis] = cuda_at_dimension(x->type, &e->place, i);
    }
    if (x->op != EXPR_SLICE) return to;
    uint32_t axis = graph_axis(graph, x, 1);
    to.at[axis] = text_format(e->arena, "(%.*s + %u)", TEXT_ARG(to.at[axis]),
                              graph_axis(graph, x, 2));
    return to;
}

bool cuda_squeezed(const Graph *graph, const Expr *x, const CudaPlace *place, CudaPlace *to) {
    *to = (CudaPlace){.shape = graph_at(graph, x->args[0])->type};
    uint32_t j = 0;
    for (uint32_t i = 0; i < to->shape->rank; i++) {
        to->at[i] = TEXT("0");
        if (to->shape->shape[i] == 1) continue;
        while (j < x->type->rank && x->type->shape[j] == 1) j++;
        if (j == x->type->rank || x->type->shape[j] != to->shape->shape[i]) return false;
        to->at[i] = cuda_at_dimension(x->type, place, j++);
    }
    return true;
}

static CudaPlace reshaped(CudaEmit *e, const Expr *x) {
    CudaPlace to;
    if (cuda_squeezed(e->plan->graph, x, &e->place, &to)) return to;
    to = (CudaPlace){.shape = graph_at(e->plan->graph, x->args[0])->type};
    to.element = cuda_index(e, cuda_element(e->arena, x->type, &e->place));
    for (uint32_t i = 0; i < to.shape->rank; i++) {
        unsigned long long inner = stride(to.shape, i);
        Text at = text_format(e->arena, "(i32)((u32)%.*s / %lluu %% %uu)", TEXT_ARG(to.element),
                              inner, to.shape->shape[i]);
        to.at[i] = cuda_index(e, at);
    }
    return to;
}

// The parts lie one after the other in a dimension: the place there says which one it is. The
// others are computed at their first place.
static CudaValue appended(CudaEmit *e, uint32_t member, const Expr *x) {
    const Graph *graph = e->plan->graph;
    uint32_t axis = graph_axis(graph, x, 0), begin = 0;
    Text place = cuda_at_dimension(x->type, &e->place, axis);
    CudaValue out = {0};
    for (uint32_t i = 1; i < x->arg_count; i++) {
        CudaPlace to = {.shape = graph_at(graph, x->args[i])->type};
        uint32_t size = to.shape->shape[axis];
        for (uint32_t d = 0; d < x->type->rank; d++)
            to.at[d] = cuda_at_dimension(x->type, &e->place, d);
        to.at[axis] = cuda_index(e, text_format(e->arena, "%.*s - %uu < %uu ? %.*s - %uu : 0u",
                                                TEXT_ARG(place), begin, size, TEXT_ARG(place),
                                                begin));
        CudaValue is = value_at(e, member, x->args[i], to);
        Text before = text_format(e->arena, "%.*s < %u", TEXT_ARG(place), begin);
        out = i == 1 ? is : cuda_choose(e, before, &out, &is);
        begin += size;
    }
    return out;
}

// Of a place that is data: a number below `size`, and the fault of one outside, which is the first.
static Text checked(CudaEmit *e, CudaValue *at, uint32_t size) {
    Text outside = text_format(e->arena, "((u64)%.*s >= %uull ? 1 : 0)", TEXT_ARG(at->value), size);
    at->raise = cuda_either(e, at->raise, outside);
    return cuda_index(e, text_format(e->arena, "(u64)%.*s < %uull ? (i32)%.*s : 0",
                                     TEXT_ARG(at->value), size, TEXT_ARG(at->value)));
}

static CudaValue gathered(CudaEmit *e, uint32_t member, const Expr *x) {
    const Graph *graph = e->plan->graph;
    uint32_t axis = graph_axis(graph, x, 1);
    CudaPlace of = {.shape = graph_at(graph, x->args[2])->type};
    CudaPlace to = {.shape = graph_at(graph, x->args[0])->type};
    uint32_t rank = of.shape->rank;
    for (uint32_t j = 0; j < rank; j++)
        of.at[j] = cuda_at_dimension(x->type, &e->place, axis + j);
    CudaValue at = value_at(e, member, x->args[2], of);
    for (uint32_t i = 0; i < to.shape->rank; i++)
        if (i != axis)
            to.at[i] = cuda_at_dimension(x->type, &e->place, i < axis ? i : i - 1 + rank);
    to.at[axis] = checked(e, &at, to.shape->shape[axis]);
    CudaValue out = value_at(e, member, x->args[0], to);
    out.raise = cuda_either(e, at.raise, out.raise);
    return out;
}

static CudaValue indexed(CudaEmit *e, uint32_t member, const Expr *x) {
    CudaPlace to = {.shape = graph_at(e->plan->graph, x->args[0])->type};
    CudaValue at = cuda_value(e, member, x->args[1]);
    to.at[0] = checked(e, &at, to.shape->shape[0]);
    for (uint32_t i = 1; i < to.shape->rank; i++)
        to.at[i] = cuda_at_dimension(x->type, &e->place, i - 1);
    CudaValue out = value_at(e, member, x->args[0], to);
    out.raise = cuda_either(e, at.raise, out.raise);
    return out;
}

CudaValue cuda_layout(CudaEmit *e, uint32_t member, const Expr *x) {
    if (x->op == EXPR_APPEND) return appended(e, member, x);
    if (x->op == EXPR_GATHER) return gathered(e, member, x);
    if (x->op == EXPR_INDEX) return indexed(e, member, x);
    return value_at(e, member, x->args[0], x->op == EXPR_RESHAPE ? reshaped(e, x) : moved(e, x));
}

CudaValue cuda_listed(CudaEmit *e, uint32_t member, const Expr *x) {
    Text element = cuda_element(e->arena, x->type, &e->place);
    CudaValue out = {0};
    Text raise = {0};
    for (uint32_t i = 0; i < x->arg_count; i++) {
        CudaValue is = cuda_value(e, member, x->args[i]);
        raise = cuda_either(e, raise, is.raise);
        is.raise = (Text){0};
        Text before = text_format(e->arena, "%.*s < %u", TEXT_ARG(element), i);
        out = i ? cuda_choose(e, before, &out, &is) : is;
    }
    out.raise = raise;
    return out;
}
