// Plan: which operators run together as stages, what each stage reads and where its rows go.
//
// A stage takes rows from one input and pushes each through its operators, depth first, into one
// or more terminals. Code generation decides nothing that changes a result: it follows the plan.
#ifndef SBC_IR_PLAN_H
#define SBC_IR_PLAN_H

#include "ir/graph.h"

typedef enum StageInputKind {
    STAGE_SCAN,       // A SOURCE operator: text, files, range or inline rows.
    STAGE_ROWS,       // The finished rows of a breaker, in order.
    STAGE_UNMATCHED,  // The rows of a join's build side that nothing matched.
} StageInputKind;

typedef enum BreakerKind { BREAK_GROUP, BREAK_SORT, BREAK_JOIN, BREAK_EDGE } BreakerKind;

// A value that a breaker keeps for each row.
typedef struct Slot {
    Text        name;
    const Type *type;
    size_t      offset;   // In the entry; entries begin with SbEntry (16 bytes).
    bool        key_str;  // A key of type str or bytes: laid out as SbKeyStr.
} Slot;

typedef struct Breaker {
    BreakerKind kind;
    OpId        op;          // GROUP, DISTINCT, SORT, SHUFFLE, JOIN, LIMIT, UNION, ZIP; or the fork.
    Text        label;
    // Entry layout. GROUP: keys, then states (offset by aggregate). Others: one slot for each kept
    // column. slot_of[c] is the slot that holds input column c, or SLOT_NONE.
    Slot       *slots;
    uint32_t    slot_count;
    uint32_t   *slot_of;
    size_t     *state_offsets;
    size_t      next_offset, matched_offset;  // JOIN.
    size_t      entry_bytes, entry_align;
    uint32_t    producers;   // Stages that feed it; all must end before it is finished.
    bool        limited;     // EDGE of a LIMIT: row and skip counts come from setup.
} Breaker;

enum : uint32_t { SLOT_NONE = UINT32_MAX };

typedef struct Terminal {
    bool     is_sink;
    uint32_t index;     // Of the sink (in order of SINK operators) or of the breaker.
    OpId     op;        // The operator whose rows arrive; the consumer is the sink or breaker's op.
    OpId     consumer;
    uint32_t input;     // Which input of the consumer.
} Terminal;

typedef struct Stage {
    StageInputKind kind;
    OpId      root;        // The operator whose output rows the stage begins with.
    uint32_t  breaker;     // STAGE_ROWS, STAGE_UNMATCHED: index.
    uint32_t  source;      // STAGE_SCAN: index of the source.
    OpId     *ops;         // Members in push order, root first.
    uint32_t  op_count;
    Terminal *terminals;
    uint32_t  terminal_count;
    uint32_t *needs;       // Breakers (join tables) that its probes use.
    uint32_t  need_count;
    uint32_t  rank;        // Among stages that feed one breaker in order (union: 0, 1, ...).
    size_t    row_bytes;   // Estimated width of a row; --explain and the memory estimate.
    Text      label;
} Stage;

// Why two operators do not run in one stage, or why a fork is kept in memory.
typedef struct Remark {
    OpId producer, consumer;
    Text reason;
} Remark;

typedef struct Plan {
    Graph    *graph;
    Stage    *stages;   size_t stage_count, stage_cap;
    Breaker  *breakers; size_t breaker_count, breaker_cap;
    OpId     *sources;  size_t source_count, source_cap;  // SOURCE operators, in graph order.
    OpId     *sinks;    size_t sink_count, sink_cap;
    Remark   *remarks;  size_t remark_count, remark_cap;
    uint32_t *fused;    // By operator: the stage that computes it.
    size_t    memory_floor;
} Plan;

typedef struct PlanOptions {
    bool no_fuse;  // A border behind every step: same bytes, for tests.
} PlanOptions;

Plan *plan_make(Graph *graph, PlanOptions options);
void  plan_print(TextBuf *buf, const Plan *plan);     // --dump=plan
void  plan_explain(TextBuf *buf, const Plan *plan);   // --explain

#endif
