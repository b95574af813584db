#include "ir/plan_cost.h"

// What an operation on a number takes, by class, in nanoseconds of a core and of a whole GPU.
//
// Cores: loops over columns of 20 M rows, one thread, the slope between chains of 1 and 9 such
// steps. Sums and products took 0.0 to 0.45, divisions of floats 0.25 to 0.65, roots 0.6, integer
// quotients 2.7 to 5.7, exp 3.2, tanh 3.3, log 5.0. In loops over tensors functions took 2.1. What
// is cheap for a core is taken, so that steps stay there in doubt. GPU: an instruction each of 132
// processors with 128 lanes at 1.7 GHz, functions as 30 instructions of f64 at half that rate.
typedef enum CostClass { COST_MOVE, COST_PLAIN, COST_ROOT, COST_WHOLE, COST_FUNCTION } CostClass;

static const struct {
    double core_ns, gpu_ns;
} classes[] = {
    [COST_MOVE] = {0, 0},             // Columns, constants, layouts.
    [COST_PLAIN] = {0.2, 0.00003},    // Sums, products, comparisons, divisions of floats.
    [COST_ROOT] = {0.6, 0.0003},
    [COST_WHOLE] = {3.0, 0.003},      // Quotients and remainders of integers.
    [COST_FUNCTION] = {2.5, 0.002},
};

// From tests/cuda/RESULTS.md, an NVIDIA H200 with 16 threads.
static const struct {
    double bus, memory;               // Bytes a nanosecond.
    double border_ns, column_ns;      // Of a core: an edge, a number out of a row or into it.
    double byte_ns;                   // Of a core: of tensors, out of a row or into it.
    double laid_ns;                   // Of a core: of a source's columns, and of a sink's.
    double launch_ns, launch_rows, launch_bytes;
    double wait_ns;                   // Of a launch, for the number of kept rows.
} machine = {
    // GI: 192 copies of 8 MiB each way at once in 33.0 ms.
    .bus = 48.8,
    // `ga`: 3,608 GB/s. Others have less: the slowest of the table.
    .memory = 2680,
    // Jobs `ga` and `gb` took 0.47 s more with a GPU. With 0.35 s to open the driver and to pin
    // memory, 36 ns of a core are left for a row of `ga` (two edges, a number in and one out), and
    // 1.3 for a byte of `gb`. Of the 0.35 s 0.22 are measured, with the memory of one slot.
    .border_ns = 12, .column_ns = 6, .byte_ns = 1.3,
    // A copy from memory to memory, on a machine with two cores.
    .laid_ns = 0.2,
    // A stream's wait and two messages between processes: 55 to 95 us.
    .launch_ns = 75'000, .launch_rows = 1 << 16, .launch_bytes = 8 << 20,
    // Assumed: a stream's wait without messages, two short kernels, and calls of the driver.
    .wait_ns = 25'000,
};

static const double SURE = 2;  // By how much a GPU has to be faster.

// ---- arithmetic ---------------------------------------------------------------------------------

static bool is_float(const Type *type) {
    TypeKind kind = type_base(type_element(type))->kind;
    return kind == TYPE_F32 || kind == TYPE_F64;
}

static CostClass class_of_call(const Expr *x) {
    static const char *const functions[] = {"exp",   "exp2",  "expm1", "log",
                                            "log2", "log10", "log1p", "tanh"};
    for (size_t i = 0; i < countof(functions); i++)
        if (text_is(x->fn->name, functions[i])) return COST_FUNCTION;
    return text_is(x->fn->name, "sqrt") ? COST_ROOT : COST_PLAIN;
}

static CostClass class_of(const Expr *x) {
    switch (x->op) {
    case EXPR_COLUMN: case EXPR_CONST: case EXPR_PARAM: case EXPR_SOME: case EXPR_PRESENT:
    case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_EXPAND: case EXPR_CHOOSE: case EXPR_APPEND:
    case EXPR_SLICE: case EXPR_LIST: case EXPR_GATHER:
        return COST_MOVE;
    case EXPR_IDIV: return COST_WHOLE;
    case EXPR_MOD: return is_float(x->type) ? COST_FUNCTION : COST_WHOLE;
    case EXPR_CALL: return class_of_call(x);
    default: return COST_PLAIN;
    }
}

static uint64_t elements(const Type *type) {
    return type->kind == TYPE_TENSOR ? type_elements(type) : 1;
}

// A reduction computes for each element that it takes.
static uint64_t operations(const Graph *graph, const Expr *x) {
    uint64_t most = elements(x->type);
    for (uint32_t i = 0; i < x->arg_count; i++) {
        uint64_t taken = elements(graph_at(graph, x->args[i])->type);
        if (taken > most) most = taken;
    }
    return most;
}

static void add_nodes(PlanCost *cost, const Graph *graph, Walk *walk) {
    for (ExprId id; walk_next(walk, &id);) {
        const Expr *x = graph_at(graph, id);
        CostClass class = class_of(x);
        uint64_t count = class == COST_MOVE ? 0 : operations(graph, x);
        cost->operations += count;
        cost->cpu_ns += (double)count * classes[class].core_ns;
        cost->kernel_ns += (double)count * classes[class].gpu_ns;
    }
}

static void add_member(PlanCost *cost, const Plan *plan, const Op *op, const bool *beside,
                       Walk *walk) {
    walk_start(walk);
    if (op->kind == OP_FILTER) walk_add(walk, op->filter.pred);
    for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++)
        if (plan->usage.columns[op->id.i][i] && !beside[i])
            walk_add(walk, op->project.items[i].expr);
    add_nodes(cost, plan->graph, walk);
}

// ---- columns ------------------------------------------------------------------------------------

static uint64_t add_column(PlanCost *cost, const Type *type, bool laid) {
    uint64_t bytes = elements(type) * type_size(type_base(type_element(type))) + type->nullable;
    cost->host_ns += laid                       ? (double)bytes * machine.laid_ns
                     : type->kind == TYPE_TENSOR ? (double)bytes * machine.byte_ns
                                                 : machine.column_ns;
    return bytes;
}

static void add_columns(PlanCost *cost, const Plan *plan, const Stage *stage,
                        const KernelPart *part) {
    const Op *root = graph_op_at(plan->graph, stage->ops[0]);
    bool laid = plan_lays_columns(plan->graph, root->id);
    bool back = plan_gives_back(plan, stage, part);
    for (uint32_t i = 0; i < root->column_count; i++)
        if (part->inputs[i])
            cost->bytes_in += add_column(cost, root->columns[i].type, laid);
    for (uint32_t m = 1; m < part->op_count; m++) {
        const Op *op = graph_op_at(plan->graph, stage->ops[m]);
        for (uint32_t i = 0; i < op->column_count; i++)
            if (part->outputs[m][i])
                cost->bytes_out += add_column(cost, op->columns[i].type, laid && back);
    }
}

PlanCost plan_cost(const Plan *plan, const Stage *stage, const KernelPart *part, uint32_t borders) {
    PlanCost cost = {.host_ns = borders * machine.border_ns};
    Walk walk = walk_make(plan->graph);
    for (uint32_t m = 1; m < part->op_count; m++)
        add_member(&cost, plan, graph_op_at(plan->graph, stage->ops[m]), part->beside[m], &walk);
    add_columns(&cost, plan, stage, part);
    uint64_t longer = cost.bytes_in > cost.bytes_out ? cost.bytes_in : cost.bytes_out;
    double memory_ns = (double)(cost.bytes_in + cost.bytes_out) / machine.memory;
    cost.bus_ns = (double)longer / machine.bus;
    if (cost.kernel_ns < memory_ns) cost.kernel_ns = memory_ns;
    return cost;
}

// ---- kept rows ----------------------------------------------------------------------------------

CostKept cost_kept(const PlanCost *cost, int64_t rows) {
    static const double share = 0.5;
    double fit = machine.launch_bytes / (double)(cost->bytes_in + cost->bytes_out + 1);
    double most = rows ? (double)rows : machine.launch_rows;
    double launch = fit < most ? fit : most, bytes = launch * (double)cost->bytes_out;
    return (CostKept){
        .rows = (uint64_t)launch,
        .saved_ns = (1 - share) * bytes / machine.bus,
        // Kept rows are read and written.
        .spent_ns = machine.wait_ns + 2 * share * bytes / machine.memory,
    };
}

// ---- launches ----------------------------------------------------------------------------------

// Copies and kernels of one launch follow each other.
CostLaunch cost_launch(const PlanCost *cost, int64_t rows) {
    double bytes = (double)(cost->bytes_in + cost->bytes_out);
    return (CostLaunch){
        .fixed_ns = machine.launch_ns,
        .rows_ns = (double)rows * (bytes / machine.bus + cost->kernel_ns),
    };
}

// ---- kernels ------------------------------------------------------------------------------------

static double arithmetic(CostClass class, uint64_t count) {
    return (double)count * classes[class].gpu_ns;
}

double cost_of_node(const Graph *graph, const Expr *x) {
    return arithmetic(class_of(x), operations(graph, x));
}

double cost_of_product(uint64_t count) { return arithmetic(COST_PLAIN, count); }

double cost_of_bytes(size_t bytes) { return (double)bytes / machine.memory; }

// ---- both sides ---------------------------------------------------------------------------------

double cost_on_cpu(const PlanCost *cost) { return cost->cpu_ns / COST_CORES; }

// Copies and kernels of several launches go on at once. A task waits for its launch.
double cost_on_gpu(const PlanCost *cost) {
    double device = cost->bus_ns > cost->kernel_ns ? cost->bus_ns : cost->kernel_ns;
    double launch = machine.launch_ns / machine.launch_rows;
    return device + (cost->host_ns + launch) / COST_CORES;
}

bool cost_pays(const PlanCost *cost) { return cost_on_gpu(cost) * SURE <= cost_on_cpu(cost); }
