// PlanCost: what a row costs where kernels compute leading steps of a stage, and where cores do.
//
//   a core:  nodes of the steps, by class ───────────────────────▶ cpu_ns
//   a core:  borders, columns out of entries and back ──▶ host_ns  ┐
//   the bus: bytes of columns, there and back ──────────▶ bus_ns   ├▶ on a GPU
//   the GPU: its memory, or its arithmetic ─────────────▶ kernel_ns┘
//
// An estimate: it knows neither how many rows there are nor which machine will run the job. A job
// with a GPU needs some tenths of a second more to begin, which no row pays for.
#ifndef SBC_IR_PLAN_COST_H
#define SBC_IR_PLAN_COST_H

#include "ir/plan.h"

enum { COST_CORES = 16 };  // That a machine has for each GPU.

typedef struct PlanCost {
    uint64_t bytes_in, bytes_out;      // Of a row.
    uint64_t operations;               // Nodes times elements.
    double   cpu_ns, host_ns;          // Of one core.
    double   bus_ns, kernel_ns;        // Of one GPU.
} PlanCost;

// Of the members that `part` says; `borders`: how many edges the part has that stages of the CPU
// would not need.
PlanCost plan_cost(const Plan *plan, const Stage *stage, const KernelPart *part, uint32_t borders);

// What a launch saves, and spends, if kept rows alone come back: those which no filter takes out.
// Half of its rows are. Their number comes back before them, for which the task waits.
typedef struct CostKept {
    uint64_t rows;                     // Of the launch.
    double   saved_ns, spent_ns;
} CostKept;

// `rows`: of a launch at most, as the program says; 0: it does not.
CostKept cost_kept(const PlanCost *cost, int64_t rows);

// What a launch takes however many rows it has, and what so many of them take beside that.
typedef struct CostLaunch {
    double fixed_ns, rows_ns;
} CostLaunch;

CostLaunch cost_launch(const PlanCost *cost, int64_t rows);

// Nanoseconds a row of all cores together, and of a GPU with these cores beside it.
double cost_on_cpu(const PlanCost *cost);
double cost_on_gpu(const PlanCost *cost);
// Is a GPU so much faster that the estimate may be wrong?
bool cost_pays(const PlanCost *cost);

// ---- kernels of a GPU, in nanoseconds -----------------------------------------------------------

double cost_of_node(const Graph *graph, const Expr *x);  // Its arithmetic, for a row.
double cost_of_product(uint64_t operations);             // Products and sums of a matrix product.
double cost_of_bytes(size_t bytes);                      // Of memory that is read or written.

#endif
