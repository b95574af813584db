// Prover: what values the integer nodes of an expression may have, by types, constants, functions,
// columns and the conditions under which a node is judged. A node that cannot fault becomes a
// `proven` one, which is not checked.
#ifndef SBC_IR_PASSES_PROVER_H
#define SBC_IR_PASSES_PROVER_H

#include "ir/passes/interval.h"
#include "ir/remark.h"

typedef struct Fact {
    Interval in;
    Span     why;    // The condition or the call that says more than types do; SPAN_NONE: none.
} Fact;

// A node and what holds of it where a condition does.
typedef struct Refined {
    ExprId id;
    Fact   fact;
} Refined;

typedef struct RefinedList {
    Refined *items;
    size_t   count, cap;
} RefinedList;

// The conditions that hold where a node is judged.
typedef struct Env {
    const struct Env *outer;  // Null: of the operator.
    uint64_t    serial;       // Memos are told apart by it.
    RefinedList refined;
} Env;

typedef struct Proof {
    ExprId expr;   // The node, with proven nodes in place of those that need no check.
    Fact   fact;
} Proof;

typedef struct Prover {
    Graph      *graph;
    Remarks    *remarks;
    const Fact *columns[2];  // By input of the operator at hand.
    uint64_t    serials;     // Environments made.
    uint32_t    budget;      // Environments that the operator may still make.
    // Proofs by (environment, node): open addressing; key 0 is free.
    uint64_t   *keys;
    Proof      *proofs;
    size_t      count, cap;
} Prover;

Fact  fact_of_type(const Type *type);
Fact  fact_either(Fact a, Fact b);
Env   prover_env(Prover *prover);  // Of another operator, or after its columns have changed.
// What was proven is of no use to the operator that comes next.
void  prover_forget(Prover *prover);
Proof prover_prove(Prover *prover, const Env *env, ExprId id);

// What holds of nodes where `condition` is `truth`. A null operand makes comparisons false.
void prover_refine(Prover *prover, const Env *env, ExprId condition, bool truth, RefinedList *out);
// Intersects what is known of a node with what a condition says of it.
Fact prover_narrow(Fact fact, Fact by);

// What a function declares of its result, given its arguments.
Fact prover_result(const ResultRange *range, const Type *type, const Fact *args, uint32_t count,
                   Span why);

#endif
