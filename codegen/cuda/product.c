// Products of matrices that cuBLASLt computes: which columns go in and out, and their constants in
// the form that the library takes.
//
// What a product gives stays on the GPU. Rows that go in have zeros after their last element where
// the library would be slow without: it loads 16 bytes at a time.
#include "codegen/cuda/render.h"
#include "ir/plan_cost.h"

#include <string.h>

enum { LOAD_BYTES = 16 };

bool cuda_is_product(const Plan *plan, const Stage *stage, ExprId id, PlanProduct *product) {
    return plan_is_approx(plan, stage) && plan_product(plan->graph, id, product);
}

// ---- constants ----------------------------------------------------------------------------------

static void put_number(char *to, const Type *elem, double value) {
    float wide = (float)value;
    uint32_t bits;
    memcpy(&bits, &wide, sizeof bits);
    uint16_t half = (uint16_t)(bits >> 16);  // Of bf16, which holds the number.
    _Float16 narrow = (_Float16)value;
    if (elem->kind == TYPE_F16) memcpy(to, &narrow, sizeof narrow);
    else if (elem->kind == TYPE_BF16) memcpy(to, &half, sizeof half);
    else memcpy(to, &wide, sizeof wide);
}

// Row after row, with rows of zeros at the end as far as `k` goes.
static Text weights(Arena *arena, const Graph *graph, const PlanProduct *from, uint32_t k) {
    size_t size = type_size(from->elem), bytes = (size_t)k * from->n * size;
    char *at = arena_new_array(arena, char, bytes);
    memset(at, 0, bytes);
    for (uint32_t i = 0; i < from->k * from->n; i++)
        put_number(at + i * size, from->elem, plan_product_item(graph, from->w, i));
    return (Text){at, bytes};
}

static Text bias(Arena *arena, const Graph *graph, const PlanProduct *from) {
    if (expr_is_none(from->bias)) return (Text){0};
    bool one = graph_at(graph, from->bias)->type->kind != TYPE_TENSOR;
    size_t size = type_size(from->elem);
    char *at = arena_new_array(arena, char, from->n * size);
    for (uint32_t i = 0; i < from->n; i++)
        put_number(at + i * size, from->elem, plan_product_item(graph, from->bias, one ? 0 : i));
    return (Text){at, from->n * size};
}

// ---- columns ------------------------------------------------------------------------------------

static uint32_t padded(const PlanProduct *product) {
    uint32_t together = LOAD_BYTES / (uint32_t)type_size(product->elem);
    return (product->k + together - 1) / together * together;
}

// The column of the left side. A temporary one is made if it is not there.
static CudaColumn rows_of(CudaMaker *maker, uint32_t member, const PlanProduct *product) {
    const Graph *graph = maker->plan->graph;
    uint32_t k = padded(product);
    ExprId id = product->x;
    const Expr *x = graph_at(graph, id);
    while (x->op == EXPR_COLUMN) {
        KernelItem item = plan_kernel_item(maker->plan, maker->stage, member - 1, x->index);
        bool pads = product->rows == 1 && k > product->k;
        if (!item.member)
            return (CudaColumn){.item = item, .type = x->type, .pad = pads ? k : 0};
        member = item.member;
        id = graph_op_at(graph, maker->stage->ops[member])->project.items[item.column].expr;
        x = graph_at(graph, id);
    }
    PlanProduct before;
    if (cuda_is_product(maker->plan, maker->stage, id, &before))
        return cuda_need_product(maker, member, id);
    return graph_is_reduction(x) ? cuda_need_temporary(maker, member, id)
                                 : cuda_need_elements(maker, member, id, k);
}

// Columns stand as in arguments of kernels.
static Text comment(Arena *arena, const CudaColumn *from, const CudaColumn *column,
                    const CudaProduct *product) {
    const PlanProduct *of = &product->of;
    return text_format(arena, "// product (%u.%u) of (%u.%u): %llu x %u by %u x %u of %s%s%s, by "
                              "cuBLASLt\n",
                       column->item.member, column->item.column, from->item.member,
                       from->item.column, (unsigned long long)of->rows, product->k, product->k,
                       of->n, cuda_type(of->elem), product->bias.len ? ", a bias" : "",
                       of->relu ? ", none below zero" : "");
}

CudaColumn cuda_need_product(CudaMaker *maker, uint32_t member, ExprId id) {
    CudaUnit *unit = maker->unit;
    Arena *arena = maker->arena;
    const Graph *graph = maker->plan->graph;
    CudaColumn column = {.item = {member, id.i}, .type = graph_at(graph, id)->type, .temp = true};
    for (size_t i = 0; i < unit->temp_count; i++)
        if (cuda_same_column(&unit->temps[i], &column)) return column;
    CudaProduct *product = arena_new_of(arena, CudaProduct);
    *product = (CudaProduct){0};
    cuda_is_product(maker->plan, maker->stage, id, &product->of);
    CudaColumn from = rows_of(maker, member, &product->of);
    product->k = from.pad ? from.pad : from.type->shape[from.type->rank - 1];
    product->weights = weights(arena, graph, &product->of, product->k);
    product->bias = bias(arena, graph, &product->of);
    CudaKernel kernel = {.name = TEXT("product"), .shape = column.type, .width = 1, .turn = 1,
                         .work_ns = cost_of_product(2 * product->k * type_elements(column.type)),
                         .product = product, .text = comment(arena, &from, &column, product)};
    arena_push(arena, kernel.inputs, kernel.input_count, kernel.input_cap, from);
    arena_push(arena, kernel.outputs, kernel.output_count, kernel.output_cap, column);
    cuda_add_kernel(maker, &kernel);
    arena_push(arena, unit->temps, unit->temp_count, unit->temp_cap, column);
    return column;
}
