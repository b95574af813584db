// Private to plan*.c: stages under construction, what they wait for and the order of their rows.
#ifndef SBC_IR_PLAN_STAGES_H
#define SBC_IR_PLAN_STAGES_H

#include "ir/plan.h"

// The stages that make an operator's rows, in the order of the rows.
typedef struct Maker {
    uint32_t *stages;
    size_t    count, cap;
} Maker;

typedef struct Order {
    uint32_t first, second;  // Stages: rows of `first` come before those of `second`.
} Order;

typedef struct Planner {
    Plan     *plan;
    Arena    *arena;
    Maker    *makers;      // By operator.
    uint32_t *edges;       // By operator: the edge that keeps its rows, or BREAKER_NONE.
    Order    *orders;
    size_t    order_count, order_cap;
} Planner;

Planner stages_begin(Plan *plan);

// A new stage that begins with rows of `root`, after those that its other makers make. `stage`
// gives kind, input and counts_root.
uint32_t stages_make(Planner *planner, OpId root, Stage stage);
uint32_t stages_breaker(Planner *planner, Breaker breaker);

// The makers of `from` also compute `op`, which takes their rows.
void stages_extend(Planner *planner, OpId from, OpId op);
// The makers of `from` push its rows into a breaker, or a sink.
void stages_feed(Planner *planner, OpId from, OpId consumer, uint32_t input, uint32_t breaker);
void stages_feed_sink(Planner *planner, OpId from, OpId sink, uint32_t index);

void stages_need(Planner *planner, uint32_t stage, uint32_t breaker);
// Would the makers of `from` wait for themselves if they needed `breaker`?
bool stages_would_wait(const Planner *planner, OpId from, uint32_t breaker);
// Puts the rows that `left` makes before those of `right`. False: that contradicts an order there
// is.
bool stages_order(Planner *planner, const Maker *left, const Maker *right);

// Why no kernel computes the expression over the columns that come in; null: one does
// (plan_kernels.c).
const char *plan_why_no_kernel(const Plan *plan, Walk *walk, ExprId root);
// Do rows of the stage go into groups? (plan_kernel_groups.c)
bool plan_ends_in_groups(const Plan *plan, const Stage *stage);
// Why no kernel fills the groups of a stage whose members are all by kernels; null: one does.
const char *plan_why_no_groups(const Plan *plan, const Stage *stage, Walk *walk);

// Is the breaker a terminal of the stage?
bool stages_feeds(const Stage *stage, uint32_t breaker);

void stages_remark(Planner *planner, OpId producer, OpId consumer, const char *reason);

// Sorts stages, members and terminals, and numbers the ranks.
void stages_finish(Planner *planner);

#endif
