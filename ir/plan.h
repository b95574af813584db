// Plan: which operators run together as stages, what each stage reads and where its rows go.
//
// A stage takes rows from one input and pushes each through its operators, depth first, into one
// or more terminals. Code generation decides nothing that changes a result: it follows the plan.
//
// An operator's rows are made by one stage, or, behind a right or full join, by several: the stages
// that probe, then one for the right rows that nothing matched. Such operators are members of
// several stages, whose ranks give the order of their rows.
#ifndef SBC_IR_PLAN_H
#define SBC_IR_PLAN_H

#include "ir/remark.h"
#include "ir/walk.h"

typedef enum StageInputKind {
    STAGE_SCAN,       // A SOURCE operator: text, files, range or inline rows.
    STAGE_ROWS,       // The finished rows of a breaker, in order.
    STAGE_UNMATCHED,  // The rows of a join's build side that nothing matched.
} StageInputKind;

typedef enum BreakerKind { BREAK_GROUP, BREAK_SORT, BREAK_JOIN, BREAK_EDGE } BreakerKind;

enum : uint32_t { SLOT_NONE = UINT32_MAX, BREAKER_NONE = UINT32_MAX, STAGE_NONE = UINT32_MAX };
enum { PLAN_ENTRY_BYTES = 16, PLACE_BYTES = 48 };  // SbEntry of kept.h; see place_offset.

// A value that a breaker keeps for each row.
typedef struct Slot {
    Text        name;
    const Type *type;
    size_t      offset;   // In the entry; entries begin with SbEntry (16 bytes).
    bool        key_str;  // A GROUP key of type str, bytes or json: laid out as SbKeyStr.
} Slot;

typedef struct Breaker {
    BreakerKind kind;
    OpId        op;          // GROUP, DISTINCT, SORT, SHUFFLE, JOIN, LIMIT, UNION, ZIP; or any
                             // operator whose rows an edge keeps for a later stage.
    uint32_t    input;       // Which input of `op` it keeps (JOIN: 1; ZIP: 0 and 1), else 0.
    bool        keeps_op;    // An EDGE of `op`'s own output rows: root of its readers is `op`.
    Text        label;
    // The first key_count slots hold the keys, expressions over the columns of that input (not for
    // EDGE and SHUFFLE); then come the columns that somebody reads behind the breaker (not for
    // GROUP, whose states follow). slot_of[c] is the slot of column c, or SLOT_NONE: of the
    // input's columns (UNION and kept rows: of `op`'s). A column that is a key shares its slot.
    ExprId     *keys;
    uint32_t    key_count;
    Slot       *slots;
    uint32_t    slot_count;
    uint32_t   *slot_of;        // Null for GROUP.
    size_t     *state_offsets;  // GROUP: by aggregate; SIZE_MAX for one that nobody reads. Those
                                // that add up the same share one: plan_owns_state.
    size_t      next_offset, matched_offset;  // JOIN: a pointer; a byte (RIGHT and FULL).
    // EDGE: where the source row was read, for rejects and PLACE behind it; SIZE_MAX: not needed.
    // {SbStr raw; int64_t offset, line, row; uint32_t source, file}, PLACE_BYTES.
    size_t      place_offset;
    size_t identity_offset;  // u64 identity of the row (docs/identity.md); SIZE_MAX: not needed.
    // EDGE of rows that come from a meeting: that operator, and by its columns the slot of those
    // that a reject behind the edge shows, or SLOT_NONE. OP_NONE: no reject shows any.
    OpId        meeting;
    uint32_t   *meeting_slots;
    size_t      entry_bytes, entry_align;
    uint32_t    producers;   // Stages that feed it; all must end before it is finished.
    bool        limited;     // EDGE of a LIMIT: row and skip counts come from setup.
} Breaker;

typedef struct Terminal {
    bool     is_sink;
    uint32_t index;     // Of the sink (Plan.sinks) or of the breaker.
    OpId     op;        // The operator whose rows arrive.
    OpId     consumer;  // SINK, or the breaker's op (`op` itself where the edge keeps its rows).
    uint32_t input;     // Which input of the consumer.
} Terminal;

// The leading part of a stage over columnar input that runs as loops over columns, a chunk of rows
// at a time; see plan_columns.c. All zero: every row is pushed by itself.
typedef struct ColumnPart {
    uint32_t filter_count;  // Early filters of the source, from the first one on.
    uint32_t op_count;      // Members from the root on, each the only consumer of the one before.
    bool   **items;         // By member: of a PROJECT, which items the loops compute.
    bool    *reduces;       // By terminal: does it add up whole columns?
    bool     useful;        // The loops do more than count rows.
    OpId     rest;          // The first step that takes row by row, and why; OP_NONE: none does.
    Text     reason;
} ColumnPart;

enum { COLUMN_ROWS = 1024 };  // Of a chunk.

typedef struct Stage {
    StageInputKind kind;
    OpId      root;        // The operator whose output rows the stage begins with.
    uint32_t  breaker;     // STAGE_ROWS, STAGE_UNMATCHED: index. ZIP: the left edge.
    uint32_t  zip_breaker; // ZIP: the right edge, whose row i belongs to row i; else BREAKER_NONE.
    uint32_t  source;      // STAGE_SCAN: index of the source.
    bool      counts_root; // The root's rows are accounted for here, not in another stage.
    OpId     *ops;         // Members in push order, root first. All but the root take their rows
                           // from input 0, which is a member too.
    uint32_t  op_count;
    Terminal *terminals;   // In push order.
    uint32_t  terminal_count;
    uint32_t *needs;       // Breakers that must be finished before it starts, its input left out:
                           // tables that its probes use, the right edge of a zip. A
                           // STAGE_UNMATCHED also waits for all stages that probe its table.
    uint32_t  need_count;
    uint32_t  rank;        // Rows of lower ranks come first in what several stages feed.
    size_t    row_bytes;   // Estimated width of a row; --explain and the memory estimate.
    ResourcesId resources; // That a task holds.
    ExprId    unit_rows;   // Rows that a task takes at most, and bytes at which it hands its output
    ExprId    cut_bytes;   // over: i64 over parameters; EXPR_NONE: as --partition says.
    int64_t   memory;      // Bytes that a task needs beside its rows, and rows that it takes
    int64_t   batch;       // together: the most that a member says; 0: nothing.
    ColumnPart columns;
    Text      label;   // Of the first step that it does.
} Stage;

typedef struct Plan {
    Graph    *graph;
    Stage    *stages;   size_t stage_count, stage_cap;  // Whatever a stage waits for comes first.
    Breaker  *breakers; size_t breaker_count, breaker_cap;
    OpId     *sources;  size_t source_count, source_cap;  // SOURCE operators, in graph order.
    OpId     *sinks;    size_t sink_count, sink_cap;
    Text     *resources; size_t resource_count, resource_cap;  // Names that stages ask for.
    Remarks  *remarks;     // Why operators do not run in one stage; null: nobody asks.
    uint32_t *fused;    // By operator: the first stage that computes it (of breakers: that begins
                        // with its rows; of sinks: that feeds it), or STAGE_NONE: no sink needs it.
    bool     *fails;    // By operator: upstream of a zip, where every reject is a fail.
    bool     *counts_in;  // By step: the rows that come in have to be counted (plan_counts.c).
    Usage     usage;    // Columns that nobody reads are not computed.
    size_t    memory_floor;  // Bytes; see plan_layout.c.
    uint32_t  passed;        // How many of plan_passes have run.
    Facts     facts;         // Those that hold.
} Plan;

typedef struct PlanOptions {
    bool     no_fuse;   // A border behind every step: same bytes, for tests.
    Remarks *remarks;   // May be null.
    uint32_t last;      // The last pass to run, from 1; 0: all run.
} PlanOptions;

// The passes over the plan, which follow those over the graph; each decides one thing.
typedef struct PlanPass {
    const char *name;    // As in --after=NAME.
    void (*run)(Plan *plan, PlanOptions options);
    Facts       needs, gives;  // None breaks a fact: each adds to the plan.
    const char *doc;           // One line.
} PlanPass;

extern const PlanPass plan_passes[];
extern const size_t plan_pass_count;

// The place of a pass in the table, from 1; 0: there is none of this name.
uint32_t plan_pass_find(Text name);

// Runs one pass, which need not be the next of the table. False: it did not run, since it lacks a
// fact, as `errors` says.
bool plan_pass_run(Plan *plan, const PlanPass *pass, PlanOptions options, TextBuf *errors);

// What code generation needs.
enum : Facts { FACTS_OF_CODE = FACT_STAGES | FACT_ENTRIES | FACT_COUNTED | FACT_LOOPS };

// Runs all passes, or those up to options.last. Adds key expressions to the graph, nothing else.
// Sources that no sink needs are left out. In debug builds the verifier runs after each pass.
Plan *plan_make(Graph *graph, PlanOptions options);
// Is the plan well-formed, as far as it is made? Prints each violation into `errors`.
bool  plan_verify(const Plan *plan, TextBuf *errors);
void  plan_print(TextBuf *buf, const Plan *plan);     // --dump=plan
// --explain, but for what the passes said.
void  plan_explain(TextBuf *buf, const Plan *plan);
// The line on memory, a guess without inputs and options.
void  plan_explain_memory(TextBuf *buf, const Plan *plan);

// The column that an aggregate's form for columns takes for the argument `arg`: of a decimal that
// fits 64 bits, the one before it was widened.
ExprId plan_column_arg(const Graph *graph, ExprId arg);

// The passes, each private to plan*.c.
void plan_fuse(Plan *plan, PlanOptions options);     // Stages, borders, breakers and their order.
void plan_layout(Plan *plan, PlanOptions options);   // What entries of breakers hold, and where.
void plan_counts(Plan *plan, PlanOptions options);   // Which steps count their rows themselves.
void plan_columns(Plan *plan, PlanOptions options);  // Loops over columns.
void plan_memory(Plan *plan, PlanOptions options);   // Widths of rows, the memory estimate.

// Do both aggregates add up the same? Options are for `end` alone.
bool plan_same_state(const Agg *a, const Agg *b);

// Of a GROUP: is the aggregate read, and the first one with its state? It adds and merges for all.
bool plan_owns_state(const Breaker *breaker, uint32_t agg);

// Do the terminal's rows go into an edge?
bool plan_feeds_edge(const Plan *plan, const Terminal *terminal);
// May the job tell the terminal how many rows it takes: is it an edge or a sink?
bool plan_is_limited(const Plan *plan, const Terminal *terminal);
// Do the rows of `from`, a member of the stage, go to such terminals and to nothing else?
bool plan_only_limited(const Plan *plan, const Stage *stage, OpId from);

#endif
