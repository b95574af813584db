// Layouts: an element of the result is an element of the argument, whose number is computed.
//
//   permute x 2 0 1   i3 = e / 50176 % 3 + e / 224 % 224 * 672 + e % 224 * 3, and x at i3
//
// Nothing is stored between: what stands below a layout is computed at that element, from columns
// that are loaded there.
#include "codegen/cuda/render.h"

bool cuda_is_layout(const Expr *x) {
    return x->op == EXPR_RESHAPE || x->op == EXPR_PERMUTE || x->op == EXPR_SLICE ||
           x->op == EXPR_APPEND;
}

static CudaValue value_at(CudaEmit *e, uint32_t member, ExprId id, const Type *shape, Text at) {
    CudaPlace before = e->place;
    e->place = (CudaPlace){shape, at, ++e->places};
    CudaValue is = cuda_value(e, member, id);
    e->place = before;
    return is;
}

static uint64_t stride(const Type *type, uint32_t axis) {
    uint64_t elements = 1;
    for (uint32_t i = axis + 1; i < type->rank; i++) elements *= type->shape[i];
    return elements;
}

// "i1 / 224 % 224 * 3": what dimension `i` of the node adds to the place in the argument.
static void add_dimension(TextBuf *buf, Text element, const Type *type, uint32_t i, uint64_t step) {
    if (type->shape[i] == 1) return;
    if (buf->len) text_buf_add(buf, TEXT(" + "));
    text_buf_format(buf, "%.*s / %lluu", TEXT_ARG(element), (unsigned long long)stride(type, i));
    if (i) text_buf_format(buf, " %% %uu", type->shape[i]);
    text_buf_format(buf, " * %lluu", (unsigned long long)step);
}

static Text moved(CudaEmit *e, const Expr *x, Text element) {
    const Graph *graph = e->plan->graph;
    const Type *from = graph_at(graph, x->args[0])->type;
    TextBuf buf = {0};
    for (uint32_t i = 0; i < x->type->rank; i++) {
        uint32_t axis = x->op == EXPR_PERMUTE ? graph_axis(graph, x, i + 1) : i;
        add_dimension(&buf, element, x->type, i, stride(from, axis));
    }
    if (x->op == EXPR_SLICE) {
        uint64_t begin = graph_axis(graph, x, 2) * stride(from, graph_axis(graph, x, 1));
        text_buf_format(&buf, "%s%lluu", buf.len ? " + " : "", (unsigned long long)begin);
    }
    if (!buf.len) text_buf_char(&buf, '0');
    return text_buf_take(&buf, e->arena);
}

static CudaValue choose(CudaEmit *e, Text is, CudaValue one, CudaValue other) {
    CudaValue out = {.value = text_format(e->arena, "(%.*s ? %.*s : %.*s)", TEXT_ARG(is),
                                          TEXT_ARG(one.value), TEXT_ARG(other.value))};
    if (!one.raise.len && !other.raise.len) return out;
    Text first = one.raise.len ? one.raise : TEXT("0");
    Text second = other.raise.len ? other.raise : TEXT("0");
    out.raise = text_format(e->arena, "(%.*s ? %.*s : %.*s)", TEXT_ARG(is), TEXT_ARG(first),
                            TEXT_ARG(second));
    return out;
}

// The parts lie one after the other in a dimension: the place there says which one it is. The
// others are computed at some element of theirs.
static CudaValue appended(CudaEmit *e, uint32_t member, const Expr *x, Text element) {
    const Graph *graph = e->plan->graph;
    uint32_t axis = graph_axis(graph, x, 0), begin = 0;
    unsigned long long inner = stride(x->type, axis);
    Text place = cuda_index(e, text_format(e->arena, "%.*s / %lluu %% %uu", TEXT_ARG(element),
                                           inner, x->type->shape[axis]));
    CudaValue out = {0};
    for (uint32_t i = 1; i < x->arg_count; i++) {
        const Type *part = graph_at(graph, x->args[i])->type;
        uint32_t size = part->shape[axis];
        TextBuf buf = {0};
        for (uint32_t d = 0; d < x->type->rank; d++)
            if (d != axis) add_dimension(&buf, element, x->type, d, stride(part, d));
        text_buf_format(&buf, "%s(%.*s - %uu < %uu ? %.*s - %uu : 0u) * %lluu",
                        buf.len ? " + " : "", TEXT_ARG(place), begin, size, TEXT_ARG(place), begin,
                        (unsigned long long)stride(part, axis));
        Text at = cuda_index(e, text_buf_take(&buf, e->arena));
        CudaValue is = value_at(e, member, x->args[i], part, at);
        Text before = text_format(e->arena, "%.*s < %uu", TEXT_ARG(place), begin);
        out = i == 1 ? is : choose(e, before, out, is);
        begin += size;
    }
    return out;
}

CudaValue cuda_layout(CudaEmit *e, uint32_t member, const Expr *x) {
    Text element = cuda_index(e, cuda_element(e->arena, x->type, e->place));
    if (x->op == EXPR_APPEND) return appended(e, member, x, element);
    Text at = x->op == EXPR_RESHAPE ? element : cuda_index(e, moved(e, x, element));
    return value_at(e, member, x->args[0], graph_at(e->plan->graph, x->args[0])->type, at);
}

CudaValue cuda_listed(CudaEmit *e, uint32_t member, const Expr *x) {
    Text element = cuda_index(e, cuda_element(e->arena, x->type, e->place));
    CudaValue out = {0};
    Text raise = {0};
    for (uint32_t i = 0; i < x->arg_count; i++) {
        CudaValue is = cuda_value(e, member, x->args[i]);
        if (is.raise.len)
            raise = raise.len ? text_format(e->arena, "(%.*s | %.*s)", TEXT_ARG(raise),
                                            TEXT_ARG(is.raise)) : is.raise;
        is.raise = (Text){0};
        Text before = text_format(e->arena, "%.*s < %uu", TEXT_ARG(element), i);
        out = i ? choose(e, before, out, is) : is;
    }
    out.raise = raise;
    return out;
}
