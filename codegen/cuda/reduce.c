// Reductions: kernels whose threads take segments of a tensor, each along the axis that goes away.
//
//   softmax(x)  ─▶  const f64 s1 = sb_of_warp<SbMax<f64>, 1024, 32>(lane, [&](i, k) {...});
//                   const f64 s2 = sb_of_warp<SbSum<f64>, 1024, 32>(lane, [&](i, k) {...});
//                   sb_each<1024, 32>(0, lane, [&](i, k) {... a.y0[...] = v9; });
//
// Such a kernel computes all reductions over one axis of one shape that its items need, with what
// computes their elements and with what is made of their results. A reduction that stands elsewhere
// gets a kernel of its own, which leaves a temporary column (cuda_reduced).
//
// Expressions have two scopes. Statements of elements stand in a function that is called for each
// element of a thread. Statements of the segment stand after all of them.
#include "codegen/cuda/render.h"

#include <stdio.h>
#include <string.h>

enum {
    INNER_MIN = 32,      // Segments side by side from which each has a thread of its own.
    KEPT_WORDS = 96,     // Words of a thread that hold elements from one reduction to the next,
    KEPT_LOADED = 48,    // and of these what was loaded.
    WARPS = SB_KERNEL_LANES / TREE_LANES,
    // Blocks for each processor: as many as it holds at most. Those that wait come and go.
    BLOCKS_WARPS = 8, BLOCKS_WAITING = 64,
};

struct CudaSegment {
    const Type *shape, *rest;     // The tensor, and its results; the second is a number, if all go.
    uint32_t    axis, size;
    uint64_t    inner, count;     // Elements from one to the next in a segment; segments of a row.
    CudaTeam    team;
    uint32_t    lanes, turns;     // Of a segment; elements that a thread has in registers, or 0.
    uint32_t    kept_words, sums;
    TextBuf     text, shared;     // What is computed first; declarations before the loop.
    CudaNode   *reduced; size_t reduced_count, reduced_cap;
    CudaNode   *kept;    size_t kept_count, kept_cap;
    CudaNode   *pending; size_t pending_count, pending_cap;  // Kept when the function has ended.
};

static const Expr *node_at(const CudaEmit *e, ExprId id) { return graph_at(e->plan->graph, id); }

static Text name_of_place(Arena *arena, uint32_t d) { return text_format(arena, "c%u", d); }

// ---- where reductions stand ---------------------------------------------------------------------

// Is each dimension of the type at its own place? Those from `skip` on have names one higher.
static bool stands_at(Arena *arena, const CudaPlace *place, const Type *type, uint32_t skip) {
    for (uint32_t j = 0; type->kind == TYPE_TENSOR && j < type->rank; j++) {
        if (type->shape[j] == 1) continue;
        if (!place->shape || place->shape->rank < type->rank) return false;
        if (!text_eq(cuda_at_dimension(type, place, j), name_of_place(arena, j + (j >= skip))))
            return false;
    }
    return true;
}

// Goes over reductions that stand in an expression at places that are known without a statement.
typedef struct Search {
    Arena       *arena;
    const Plan  *plan;
    const Stage *stage;
    void        *self;
    void       (*see)(void *self, uint32_t member, ExprId id, const CudaPlace *place);
    CudaNode    *seen; size_t seen_count, seen_cap;
} Search;

static void search(Search *s, uint32_t member, ExprId id, CudaPlace place) {
    const Graph *graph = s->plan->graph;
    const Expr *x = graph_at(graph, id);
    for (size_t i = 0; i < s->seen_count; i++)
        if (s->seen[i].member == member && expr_same(s->seen[i].id, id)) return;
    CudaNode here = {.member = member, .id = id};
    PlanProduct product;
    arena_push(s->arena, s->seen, s->seen_count, s->seen_cap, here);
    if (cuda_is_product(s->plan, s->stage, id, &product)) return;
    if (graph_is_reduction(x)) {
        s->see(s->self, member, id, &place);
    } else if (x->op == EXPR_COLUMN) {
        KernelItem item = plan_kernel_item(s->plan, s->stage, member - 1, x->index);
        if (!item.member) return;
        const Op *op = graph_op_at(graph, s->stage->ops[item.member]);
        search(s, item.member, op->project.items[item.column].expr, place);
    } else if (x->op == EXPR_RESHAPE) {
        CudaPlace to;
        if (cuda_squeezed(graph, x, &place, &to)) search(s, member, x->args[0], to);
    } else if (!cuda_is_layout(x) && x->op != EXPR_LIST) {
        for (uint32_t i = 0; i < x->arg_count; i++) search(s, member, x->args[i], place);
    }
}

typedef struct Home {
    Arena       *arena;
    const Graph *graph;
    const Type  *type;  // Of the item.
    CudaClass    is;
} Home;

// Elements of the tensor that is reduced are better than results: both can be had then.
static void see_home(void *self, uint32_t, ExprId id, const CudaPlace *place) {
    Home *home = self;
    const Expr *x = graph_at(home->graph, id);
    const Type *from = graph_at(home->graph, x->args[0])->type;
    uint32_t axis = graph_axis(home->graph, x, 1);
    if (cuda_same_shape(from, cuda_shape_of(home->type)) &&
        stands_at(home->arena, place, x->type, axis)) {
        if (!home->is.of_elements) home->is = (CudaClass){from, axis, true};
    } else if (!home->is.shape &&
               cuda_same_shape(cuda_shape_of(x->type), cuda_shape_of(home->type)) &&
               stands_at(home->arena, place, x->type, UINT32_MAX)) {
        home->is = (CudaClass){from, axis, false};
    }
}

CudaClass cuda_class(Arena *arena, const Plan *plan, const Stage *stage, uint32_t member,
                     ExprId id) {
    Home home = {arena, plan->graph, graph_at(plan->graph, id)->type, {0}};
    Search s = {.arena = arena, .plan = plan, .stage = stage, .self = &home, .see = see_home};
    if (!home.type->nullable)
        search(&s, member, id, cuda_own_place(arena, cuda_shape_of(home.type)));
    return home.is;
}

// ---- scopes -------------------------------------------------------------------------------------

static CudaPlace place_of_element(const CudaEmit *e) {
    return cuda_own_place(e->arena, e->segment->shape);
}

enum { PLACE_OF_SEGMENT = 1 };  // The number of the place; that of an element is 0.

static CudaPlace place_of_segment(const CudaEmit *e) {
    const CudaSegment *s = e->segment;
    CudaPlace place = {.shape = cuda_shape_of(s->rest), .element = TEXT("s"),
                       .number = PLACE_OF_SEGMENT};
    for (uint32_t j = 0; place.shape && j < place.shape->rank; j++)
        place.at[j] = name_of_place(e->arena, j + (j >= s->axis));
    return place;
}

// What a function for an element puts aside.
typedef struct Scope {
    TextBuf   body;
    CudaPlace place;
    CudaNode *nodes;   size_t node_count, node_cap;
    CudaNode *pending; size_t pending_count, pending_cap;
} Scope;

static Scope enter(CudaEmit *e) {
    CudaSegment *s = e->segment;
    Scope before = {e->body, e->place, e->nodes, e->node_count, e->node_cap, s->pending,
                    s->pending_count, s->pending_cap};
    e->body = (TextBuf){0};
    e->place = place_of_element(e);
    e->nodes = s->pending = nullptr;
    e->node_count = e->node_cap = s->pending_count = s->pending_cap = 0;
    e->line = 0;
    return before;
}

static TextBuf leave(CudaEmit *e, const Scope *before) {
    CudaSegment *s = e->segment;
    TextBuf body = e->body;
    for (size_t i = 0; i < s->pending_count; i++)
        arena_push(e->arena, s->kept, s->kept_count, s->kept_cap, s->pending[i]);
    e->body = before->body;
    e->place = before->place;
    e->nodes = before->nodes;
    e->node_count = before->node_count;
    e->node_cap = before->node_cap;
    s->pending = before->pending;
    s->pending_count = before->pending_count;
    s->pending_cap = before->pending_cap;
    e->line = 0;
    return body;
}

static void judge(CudaEmit *e, Text raise) {
    if (raise.len) text_buf_format(&e->body, "    raised |= %.*s;\n", TEXT_ARG(raise));
}

// "[&](u32 i, u32 k) -> f32 {...}"
static void print_function(const CudaEmit *e, const char *type, const TextBuf *body, Text value) {
    CudaSegment *s = e->segment;
    text_buf_format(&s->text, "[&](u32 i, u32 k) -> %s {\n    const i32 c%u = (i32)i, c = base",
                    type, s->axis);
    text_buf_format(&s->text, s->inner > 1 ? " + c%u * %llu;\n" : " + c%u;\n", s->axis,
                    (unsigned long long)s->inner);
    text_buf_add(&s->text, text_buf_view(body));
    text_buf_add(&s->text, TEXT("#line 1 \"kernel\"\n"));
    if (value.len) text_buf_format(&s->text, "    return %.*s;\n", TEXT_ARG(value));
    text_buf_add(&s->text, TEXT("    }"));
}

// ---- elements that are kept ---------------------------------------------------------------------

const CudaValue *cuda_kept(const CudaEmit *e, uint32_t member, ExprId id) {
    const CudaSegment *s = e->segment;
    for (size_t i = 0; s && !e->place.number && i < s->kept_count; i++)
        if (s->kept[i].member == member && expr_same(s->kept[i].id, id)) return &s->kept[i].is;
    return nullptr;
}

// What takes time to make again stays in registers.
void cuda_keep(CudaEmit *e, const CudaNode *node) {
    CudaSegment *s = e->segment;
    if (!s || node->place || !s->turns) return;
    const Expr *x = node_at(e, node->id);
    bool slow = x->op == EXPR_COLUMN || x->op == EXPR_CALL || x->op == EXPR_DIV;
    bool own = node->is.value.len && node->is.value.at[0] == 'v';
    if (!slow || !own || node->is.raise.len || node->is.valid.len ||
        !cuda_same_shape(cuda_shape_of(x->type), s->shape))
        return;
    uint32_t words = s->turns * (uint32_t)((type_size(x->type->elem) + 3) / 4);
    if (s->kept_words + words > (x->op == EXPR_COLUMN ? KEPT_LOADED : KEPT_WORDS)) return;
    s->kept_words += words;
    CudaNode kept = *node;
    unsigned number = e->names++;
    text_buf_format(&s->text, "    %s k%u[%u];\n", cuda_value_type(x->type->elem), number,
                    s->turns);
    text_buf_format(&e->body, "    k%u[k] = %.*s;\n", number, TEXT_ARG(node->is.value));
    kept.is = (CudaValue){.value = text_format(e->arena, "k%u[k]", number)};
    arena_push(e->arena, s->pending, s->pending_count, s->pending_cap, kept);
}

// ---- one reduction ------------------------------------------------------------------------------

static void reduce(CudaEmit *e, uint32_t member, ExprId id);

static bool is_own(const CudaEmit *e, const Expr *x, const CudaPlace *place) {
    const CudaSegment *s = e->segment;
    return s && cuda_same_shape(node_at(e, x->args[0])->type, s->shape) &&
           graph_axis(e->plan->graph, x, 1) == s->axis &&
           stands_at(e->arena, place, x->type, s->axis);
}

static void see_own(void *self, uint32_t member, ExprId id, const CudaPlace *place) {
    CudaEmit *e = self;
    if (is_own(e, node_at(e, id), place)) reduce(e, member, id);
}

// Reductions that an expression needs come before the function that computes its elements, which
// finds then what they have kept.
static void reduce_before(CudaEmit *e, uint32_t member, ExprId id, CudaPlace place) {
    Search s = {.arena = e->arena, .plan = e->plan, .stage = e->stage, .self = e, .see = see_own};
    search(&s, member, id, place);
}

// The type of what a lane holds, and what combines it.
typedef struct Tree {
    const char *item;
    char        combines[48];
} Tree;

static Tree tree_of(const Expr *x, const Type *elem) {
    static const struct { ExprOp op; const char *name; } table[] = {
        {EXPR_REDUCE_SUM, "SbSum"},       {EXPR_REDUCE_PROD, "SbProduct"},
        {EXPR_REDUCE_MIN, "SbMin"},       {EXPR_REDUCE_MAX, "SbMax"},
        {EXPR_REDUCE_ANY, "SbAny"},       {EXPR_REDUCE_ALL, "SbAll"},
        {EXPR_REDUCE_ARGMIN, "SbArgMin"}, {EXPR_REDUCE_ARGMAX, "SbArgMax"},
    };
    Tree tree = {.item = cuda_type(elem)};
    if (x->op == EXPR_REDUCE_SUM && !type_is_float(elem))
        tree.item = type_bits(elem) == 64 ? "i128" : "i64";
    for (size_t i = 0; i < countof(table); i++)
        if (table[i].op == x->op)
            snprintf(tree.combines, sizeof tree.combines, "%s<%s>", table[i].name, tree.item);
    return tree;
}

static void print_result(CudaEmit *e, const Expr *x, unsigned number, const Tree *tree) {
    CudaSegment *s = e->segment;
    const char *type = cuda_type(type_element(x->type));
    bool places = x->op == EXPR_REDUCE_ARGMIN || x->op == EXPR_REDUCE_ARGMAX;
    text_buf_format(&s->text, "    const %s s%u = (%s)w%u%s;\n", type, number, type, number,
                    places ? ".place" : "");
    if (strcmp(tree->item, "i128") == 0)
        text_buf_format(&s->text, "    raised |= (i128)s%u != w%u;\n", number, number);
}

static void print_tree(CudaEmit *e, const Expr *x, const TextBuf *body, Text value) {
    CudaSegment *s = e->segment;
    const Type *elem = node_at(e, x->args[0])->type->elem;
    Tree tree = tree_of(x, elem);
    unsigned number = e->names++;
    uint32_t parts = (s->size + TREE_BLOCK - 1) / TREE_BLOCK;
    if (s->team == CUDA_BLOCK) {
        text_buf_format(&s->shared, "    SB_SHARED(%s::Item, part%u, %u);\n", tree.combines, number,
                        parts);
        text_buf_format(&s->text, "    sb_to_parts<%s, %u>(part%u, ", tree.combines, s->size,
                        number);
    } else if (s->team == CUDA_WARP) {
        text_buf_format(&s->text, "    const auto w%u = sb_of_warp<%s, %u, %u>(lane, ", number,
                        tree.combines, s->size, s->lanes);
    } else {
        text_buf_format(&s->text, "    const auto w%u = sb_of_thread<%s, %u>(", number,
                        tree.combines, s->size);
    }
    print_function(e, cuda_type(elem), body, value);
    text_buf_add(&s->text, TEXT(");\n"));
    if (s->team == CUDA_BLOCK)
        text_buf_format(&s->text, "    %s\n    const auto w%u = sb_of_parts<%s, %u>(part%u);\n",
                        e->dialect->barrier, number, tree.combines, parts, number);
    s->sums++;
    print_result(e, x, number, &tree);
}

static const CudaNode *find_reduced(const CudaEmit *e, uint32_t member, ExprId id) {
    const CudaSegment *s = e->segment;
    for (size_t i = 0; i < s->reduced_count; i++)
        if (s->reduced[i].member == member && expr_same(s->reduced[i].id, id))
            return &s->reduced[i];
    return nullptr;
}

static void reduce(CudaEmit *e, uint32_t member, ExprId id) {
    CudaSegment *s = e->segment;
    const Expr *x = node_at(e, id);
    if (find_reduced(e, member, id)) return;
    reduce_before(e, member, x->args[0], place_of_element(e));
    Scope before = enter(e);
    CudaValue is = cuda_value(e, member, x->args[0]);
    judge(e, is.raise);
    TextBuf body = leave(e, &before);
    unsigned number = e->names;
    print_tree(e, x, &body, is.value);
    text_buf_free(&body);
    CudaNode node = {.member = member, .id = id,
                     .is = {.value = text_format(e->arena, "s%u", number)}};
    arena_push(e->arena, s->reduced, s->reduced_count, s->reduced_cap, node);
}

CudaValue cuda_reduced(CudaEmit *e, uint32_t member, ExprId id) {
    const Expr *x = node_at(e, id);
    if (!is_own(e, x, &e->place))
        return cuda_at_place(e, cuda_need_temporary(e->maker, member, id));
    reduce(e, member, id);
    return find_reduced(e, member, id)->is;
}

// ---- items --------------------------------------------------------------------------------------

// An item of the project, or a temporary column.
typedef struct Wanted {
    uint32_t   member;
    ExprId     id;
    bool       output, of_elements;
    CudaColumn column;
} Wanted;

// `place`: the number of the element in its row, or the segment.
static void give(CudaEmit *e, const Wanted *item, const char *place) {
    CudaValue is = cuda_value(e, item->member, item->id);
    judge(e, is.raise);
    if (!item->output) return;
    size_t i = cuda_add_output(e, item->column);
    CudaTeam team = e->segment->team;
    bool all = team == CUDA_THREAD || (team == CUDA_BLOCK && item->of_elements);
    text_buf_format(&e->body, "    %sa.y%zu[%s] = %.*s;\n", all ? "" : "if (mine) ", i, place,
                    TEXT_ARG(is.value));
    if (!item->column.temp) judge(e, cuda_nan_of(e, item->member, item->id, &is));
}

static void give_elements(CudaEmit *e, const Wanted *items, size_t count) {
    CudaSegment *s = e->segment;
    char place[64];
    snprintf(place, sizeof place, "row * %llu + c", (unsigned long long)type_elements(s->shape));
    bool some = false;
    for (size_t i = 0; i < count; i++) some |= items[i].of_elements;
    if (!some) return;
    s->turns = 0;  // Nothing comes after it that could read what is kept.
    Scope before = enter(e);
    if (s->team == CUDA_WARP) text_buf_add(&e->body, TEXT("    const bool mine = live;\n"));
    for (size_t i = 0; i < count; i++)
        if (items[i].of_elements) give(e, &items[i], place);
    TextBuf body = leave(e, &before);
    if (s->team == CUDA_WARP)
        text_buf_format(&s->text, "    sb_each<%u, %u>(0, lane, ", s->size, s->lanes);
    else
        text_buf_format(&s->text, "    sb_each_of_%s<%u>(",
                        s->team == CUDA_BLOCK ? "block" : "thread", s->size);
    print_function(e, "void", &body, (Text){0});
    text_buf_add(&s->text, TEXT(");\n"));
    text_buf_free(&body);
}

static void give_segments(CudaEmit *e, const Wanted *items, size_t count) {
    bool some = false;
    for (size_t i = 0; i < count; i++) some |= !items[i].of_elements;
    if (!some) return;
    e->place = place_of_segment(e);
    if (e->segment->team == CUDA_WARP)
        text_buf_add(&e->body, TEXT("    const bool mine = live && lane == 0;\n"));
    if (e->segment->team == CUDA_BLOCK)
        text_buf_format(&e->body, "    const bool mine = %s == 0;\n", e->dialect->lane);
    for (size_t i = 0; i < count; i++)
        if (!items[i].of_elements) give(e, &items[i], "at");
}

// ---- the kernel ---------------------------------------------------------------------------------

static uint64_t stride(const Type *type, uint32_t axis) {
    uint64_t elements = 1;
    for (uint32_t i = axis + 1; i < type->rank; i++) elements *= type->shape[i];
    return elements;
}

static CudaSegment segment_of(CudaClass is, const Type *rest) {
    CudaSegment s = {.shape = is.shape, .rest = rest, .axis = is.axis,
                     .size = is.shape->shape[is.axis], .inner = stride(is.shape, is.axis)};
    s.count = type_elements(is.shape) / s.size;
    s.lanes = 1;
    s.team = s.inner >= INNER_MIN || s.size == 1 ? CUDA_THREAD
             : s.size <= TREE_BLOCK              ? CUDA_WARP
                                                 : CUDA_BLOCK;
    while (s.team == CUDA_WARP && s.lanes < TREE_LANES && s.lanes < s.size) s.lanes *= 2;
    if (s.team == CUDA_BLOCK) s.lanes = SB_KERNEL_LANES;
    if (s.team == CUDA_WARP) s.turns = (s.size + s.lanes - 1) / s.lanes;
    else if (s.team == CUDA_BLOCK && s.size <= TREE_BLOCK * WARPS) s.turns = TREE_LANES;
    else if (s.team == CUDA_THREAD && s.size <= TREE_LANES) s.turns = s.size;
    return s;
}

// Which segment a thread takes: `at`, and whether it is there.
static void print_turns(const CudaEmit *e, TextBuf *buf) {
    const CudaSegment *s = e->segment;
    const Dialect *words = e->dialect;
    text_buf_format(buf, "    const i32 count = (i32)(a.rows * %llu);\n",
                    (unsigned long long)s->count);
    if (s->team == CUDA_WARP)
        text_buf_format(buf, "    const u32 lane = %s %% %u;\n"
                             "    const i32 first = (i32)((%s) / %u * %u), step = (i32)(%s / %u);\n"
                             "    for (i32 turn = first; turn < count; turn += step) {\n"
                             "    const i32 own = turn + (i32)(%s %% %u / %u);\n"
                             "    const bool live = own < count;\n"
                             "    const i32 at = live ? own : 0;\n",
                        words->lane, s->lanes, words->first, TREE_LANES, TREE_LANES / s->lanes,
                        words->step, s->lanes, words->lane, TREE_LANES, s->lanes);
    else if (s->team == CUDA_BLOCK)
        text_buf_format(buf, "    for (i32 at = (i32)%s; at < count; at += (i32)%s) {\n",
                        words->block, words->blocks);
    else
        text_buf_format(buf, "    const i32 first = (i32)(%s), step = (i32)(%s);\n"
                             "    for (i32 at = first; at < count; at += step) {\n", words->first,
                        words->step);
}

// The places of a segment in the other dimensions, and its first element.
static void print_segment(const CudaEmit *e, TextBuf *buf) {
    const CudaSegment *s = e->segment;
    const Type *shape = s->shape;
    unsigned long long count = s->count, inner = s->inner;
    text_buf_format(buf, "    const i32 row = (i32)((u32)at / %lluu), s = at - row * %llu", count,
                    count);
    for (uint32_t d = 0, j = 0; d < shape->rank; d++) {
        if (d == s->axis) continue;
        unsigned long long step = stride(s->rest, j++);
        text_buf_format(buf, ", c%u = s / %llu %% %u", d, step, shape->shape[d]);
    }
    text_buf_format(buf, ", base = s / %llu * %llu + s %% %llu;\n    u8 raised = 0;\n", inner,
                    inner * s->size, inner);
}

static void print_kernel(CudaEmit *e, TextBuf *buf) {
    const CudaSegment *s = e->segment;
    text_buf_format(buf, "%s " CUDA_NAME "(%s " CUDA_NAME "_args a) {\n", e->dialect->kernel,
                    e->dialect->arguments);
    text_buf_add(buf, text_buf_view(&s->shared));
    print_turns(e, buf);
    print_segment(e, buf);
    text_buf_add(buf, text_buf_view(&s->text));
    text_buf_add(buf, text_buf_view(&e->body));
    text_buf_add(buf, TEXT("#line 1 \"kernel\"\n    if (raised) a.status[row] = *a.some = 1;\n"));
    // The only reduction of a block leaves its parts where the next one will.
    if (s->team == CUDA_BLOCK && s->sums == 1)
        text_buf_format(buf, "    %s\n", e->dialect->barrier);
    text_buf_add(buf, TEXT("    }\n}\n"));
}

static void print_head(const CudaEmit *e, TextBuf *buf) {
    const CudaKernel *kernel = e->kernel;
    text_buf_format(buf, "// " CUDA_NAME ": segments of %u elements, %llu lanes of a row; "
                         "%u blocks a processor; %zu columns in, %zu out\n", e->segment->size,
                    (unsigned long long)kernel->lanes, kernel->blocks, kernel->input_count,
                    kernel->output_count);
    for (size_t i = 0; i < kernel->output_count; i++) {
        const Type *shape = cuda_shape_of(kernel->outputs[i].type);
        text_buf_format(buf, "// " CUDA_NAME ".y%zu: %llu elements of a row\n", i,
                        shape ? (unsigned long long)type_elements(shape) : 1);
    }
}

static void render(CudaMaker *maker, CudaClass is, const Type *rest, const Wanted *items,
                   size_t count) {
    CudaSegment s = segment_of(is, rest);
    CudaKernel kernel = {.shape = is.shape, .width = 1, .turn = 1, .team = s.team, .size = s.size,
                         .lanes = s.count * s.lanes,
                         .blocks = s.team == CUDA_BLOCK ? BLOCKS_WAITING : BLOCKS_WARPS};
    CudaEmit e = {.arena = maker->arena, .plan = maker->plan, .stage = maker->stage,
                  .sources = maker->sources, .dialect = &cuda_dialect, .maker = maker,
                  .kernel = &kernel, .segment = &s, .places = PLACE_OF_SEGMENT};
    for (size_t i = 0; i < count; i++)
        reduce_before(&e, items[i].member, items[i].id,
                      items[i].of_elements ? place_of_element(&e) : place_of_segment(&e));
    give_elements(&e, items, count);
    give_segments(&e, items, count);
    TextBuf text = {0};
    print_head(&e, &text);
    text_buf_add(&text, text_buf_view(&e.tables));
    cuda_print_arguments(&e, &text);
    print_kernel(&e, &text);
    cuda_settle(&e, &text);
    cuda_add_kernel(maker, &kernel);
    maker->reduces = true;
    text_buf_free(&s.text);
    text_buf_free(&s.shared);
    text_buf_free(&e.body);
    text_buf_free(&e.tables);
}

// ---- what a stage needs -------------------------------------------------------------------------

static bool same_class(CudaClass a, CudaClass b) {
    return cuda_same_shape(a.shape, b.shape) && a.axis == b.axis;
}

// Items of one class, and those of others.
typedef struct Items {
    CudaMaker *maker;
    CudaClass *classes; size_t class_count, class_cap;
    Wanted    *items;   size_t item_count, item_cap;
    CudaClass *of;      size_t of_count, of_cap;      // By item.
} Items;

// The shape of results: the tensor without the axis.
static const Type *rest_of(Arena *arena, CudaClass is) {
    if (is.shape->rank == 1) return is.shape->elem;
    Type *rest = arena_new_of(arena, Type);
    *rest = *is.shape;
    uint32_t *shape = arena_new_array(arena, uint32_t, is.shape->rank);
    for (uint32_t i = 0, j = 0; i < is.shape->rank; i++)
        if (i != is.axis) shape[j++] = is.shape->shape[i];
    rest->shape = shape;
    rest->rank--;
    return rest;
}

static void see_item(void *self, uint32_t m, uint32_t i, bool output) {
    Items *to = self;
    CudaMaker *maker = to->maker;
    const Op *op = graph_op_at(maker->plan->graph, maker->stage->ops[m]);
    ExprId id = op->project.items[i].expr;
    CudaClass is = cuda_class(maker->arena, maker->plan, maker->stage, m, id);
    if (!is.shape) return;
    size_t c = 0;
    while (c < to->class_count && !same_class(to->classes[c], is)) c++;
    if (c == to->class_count)
        arena_push(maker->arena, to->classes, to->class_count, to->class_cap, is);
    Wanted item = {m, id, output, is.of_elements,
                   {.item = {m, i}, .type = graph_at(maker->plan->graph, id)->type}};
    arena_push(maker->arena, to->items, to->item_count, to->item_cap, item);
    arena_push(maker->arena, to->of, to->of_count, to->of_cap, is);
}

void cuda_render_reductions(CudaMaker *maker) {
    Items all = {.maker = maker};
    cuda_each_item(maker->plan, maker->stage, &all, see_item);
    for (size_t c = 0; c < all.class_count; c++) {
        Wanted *items = arena_new_array(maker->arena, Wanted, all.item_count);
        size_t count = 0;
        for (size_t i = 0; i < all.item_count; i++)
            if (same_class(all.of[i], all.classes[c])) items[count++] = all.items[i];
        render(maker, all.classes[c], rest_of(maker->arena, all.classes[c]), items, count);
    }
}

// ---- temporary columns --------------------------------------------------------------------------

CudaColumn cuda_need_temporary(CudaMaker *maker, uint32_t member, ExprId id) {
    CudaUnit *unit = maker->unit;
    const Graph *graph = maker->plan->graph;
    const Expr *x = graph_at(graph, id);
    CudaColumn column = {.item = {member, id.i}, .type = x->type, .temp = true};
    for (size_t i = 0; i < unit->temp_count; i++)
        if (cuda_same_column(&unit->temps[i], &column)) return column;
    CudaClass is = {graph_at(graph, x->args[0])->type, graph_axis(graph, x, 1), false};
    Wanted item = {member, id, true, false, column};
    render(maker, is, rest_of(maker->arena, is), &item, 1);
    arena_push(maker->arena, unit->temps, unit->temp_count, unit->temp_cap, column);
    return column;
}
