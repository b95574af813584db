// Plan: which operators run together as stages, what each stage reads and where its rows go.
//
// A stage takes rows from one input and pushes each through its operators, depth first, into one
// or more terminals. Code generation decides nothing that changes a result: it follows the plan.
//
// One stage makes an operator's rows, or several after a right or full join: first the stages that
// probe, then one for the right rows that nothing matched. Such an operator is a member of several
// stages. Their ranks give the order of its rows.
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
enum { PLAN_ENTRY_BYTES = 16 };  // Of SbEntry in runtime/abi/kept.h, with which an entry begins.
enum { PLACE_BYTES = 48 };       // Of what Breaker.place_offset says.

// A value that a breaker keeps for each row.
typedef struct Slot {
    Text        name;
    const Type *type;
    size_t      offset;   // In the entry.
    bool        key_str;  // A GROUP key of type str, bytes or json: laid out as SbKeyStr.
} Slot;

// A comparison in the condition of a join: right rows whose column is greater than `left`, or less,
// do not match (plan_bounds.c).
typedef struct JoinBound {
    ExprId   left;     // Over the left row.
    uint32_t column;   // Of the right rows.
    bool     at_most;  // The column is to be at most `left`; else at least.
} JoinBound;

enum { JOIN_BOUNDS_MAX = 4 };

typedef struct Breaker {
    BreakerKind kind;
    // GROUP, DISTINCT, SORT, SHUFFLE, JOIN, LIMIT, UNION or ZIP. Or any operator whose rows an edge
    // keeps for a later stage.
    OpId        op;
    uint32_t    input;       // The input of `op` whose rows it keeps: of a JOIN 1, of a ZIP 0 or 1.
    bool        keeps_op;    // EDGE: it keeps the rows that `op` makes. Readers begin with them.
    Text        label;
    ExprId     *keys;        // Over the columns of the input. EDGE and SHUFFLE have none.
    uint32_t    key_count;
    uint32_t    ordered;     // SORT: so many keys order the rows; others of a WINDOW are values.
    // First a slot for each key, then one for each other column that somebody reads after the
    // breaker. A GROUP has slots for its keys only: its states follow them.
    Slot       *slots;
    uint32_t    slot_count;
    // By column of the input: its slot, or SLOT_NONE. By column of `op` for a UNION and where the
    // breaker keeps the rows of `op`. Null for GROUP.
    uint32_t   *slot_of;
    // WINDOW, by function: the slot of the value that it takes, and of its result; or SLOT_NONE.
    uint32_t   *value_slots, *result_slots;
    // GROUP, by aggregate: where its state is. SIZE_MAX: nobody reads the aggregate. Those that add
    // up the same share a state (plan_owns_state).
    size_t     *state_offsets;
    size_t      next_offset;     // JOIN: a pointer to the next entry of the same hash.
    size_t      matched_offset;  // JOIN: a byte that says whether a left row matched (RIGHT, FULL).
    size_t      jump_offset;     // JOIN: an SbJump, where right rows are passed over, with 8 bytes
                                 // for each bound after it. Else SIZE_MAX.
    JoinBound   bounds[JOIN_BOUNDS_MAX];  // JOIN
    uint32_t    bound_count;
    // EDGE: where the source row was read, for rejects and PLACE after the edge:
    // {SbStr raw; int64_t offset, line, row; uint32_t source, file}. SIZE_MAX: nothing needs it.
    size_t      place_offset;
    // Where the row's u64 identity is (docs/identity.md). SIZE_MAX: nothing needs it.
    size_t      identity_offset;
    // EDGE: the meeting that its rows come from, if a reject after the edge shows rows of the
    // meeting. OP_NONE: no reject does.
    OpId        meeting;
    uint32_t   *meeting_slots;  // By column of the meeting: its slot if shown, else SLOT_NONE.
    size_t      entry_bytes, entry_align;
    // How rows reach who reads them in another process (plan_exchange.c). Empty: it is an edge.
    Text        hands;       // What a process hands over of what it has put there.
    Text        shares;      // By what the threads that put all of it together share it out.
    uint32_t    producers;   // How many stages feed it. It is finished when all have ended.
    bool        limited;     // EDGE of a LIMIT: setup computes how many rows to skip and to take.
    // SORT of which only the first rows are wanted, of each partition of a window: the operator
    // that says how many, a LIMIT or a WINDOW (plan_first.c). Else OP_NONE.
    OpId        first;
    uint32_t    asker;       // JOIN: the stage whose rows may say before all work which keys they
                             // look up (plan_askers.c). STAGE_NONE: there is none.
} Breaker;

typedef struct Terminal {
    bool     is_sink;
    uint32_t index;     // Of the sink (Plan.sinks) or of the breaker.
    OpId     op;        // The operator whose rows arrive.
    OpId     consumer;  // The SINK, or Breaker.op, which is `op` where an edge keeps its rows.
    uint32_t input;     // The number of the consumer's input.
} Terminal;

// The leading part of a stage over columnar input that runs as loops over columns, a chunk of rows
// at a time (plan_columns.c). All zero: every row is pushed by itself.
typedef struct ColumnPart {
    uint32_t filter_count;  // How many early filters of the source, from the first one on.
    uint32_t op_count;      // How many members, root first, none of which has two consumers.
    bool   **items;         // By member: of a PROJECT, which items the loops compute.
    bool    *takes;         // By terminal: does it add up or write whole columns?
    bool     useful;        // The loops do more than count rows.
    OpId     rest;          // The first step that takes row by row. OP_NONE: none does.
    Text     reason;        // Why `rest` takes row by row.
} ColumnPart;

enum { COLUMN_ROWS = 1024 };  // Rows of a chunk.

// The leading members of a stage for a GPU that kernels compute (plan_kernels.c): filters and
// projects over the entries of an edge or a sort. All zero: no kernel runs.
typedef struct KernelPart {
    uint32_t op_count;  // How many members, root first, none of which has two consumers.
    bool    *inputs;    // By column of the root: does a kernel read it?
    bool   **outputs;   // By member: of a PROJECT, which items a kernel gives to what follows.
    bool   **beside;    // By member: of a PROJECT, which items the CPU computes of kept rows.
    OpId     beside_at; // The first step with such an item. OP_NONE: there is none.
    Text     beside_reason;
    bool     groups;    // A kernel fills the groups of the only terminal, and gives no columns.
    bool     keeps;     // Columns come back without the rows that filters take out.
    bool     eager;     // Of a block with `batch`: fewer rows are launched as soon as a task can.
    OpId     rest;      // The first step that the CPU does. OP_NONE: none.
    Text     reason;    // Why the CPU does `rest`.
} KernelPart;

typedef struct Stage {
    StageInputKind kind;
    OpId      root;        // The operator whose output rows the stage begins with.
    uint32_t  breaker;     // STAGE_ROWS, STAGE_UNMATCHED: its index. Of a ZIP: the left edge.
    uint32_t  zip_breaker; // Of a ZIP: the right edge, paired row by row. Else BREAKER_NONE.
    uint32_t  source;      // STAGE_SCAN: the index of the source.
    bool      counts_root; // This stage counts the root's rows for the summary, and no other does.
    // Members in push order, root first. Each member but the root takes the rows of its input 0,
    // which is a member too.
    OpId     *ops;
    uint32_t  op_count;
    Terminal *terminals;   // In push order.
    uint32_t  terminal_count;
    // Breakers that must be finished before it starts, besides its input: tables that it probes, or
    // the right edge of a zip. A STAGE_UNMATCHED also waits for all stages that probe its table.
    uint32_t *needs;
    uint32_t  need_count;
    uint32_t  rank;        // Where several stages feed one breaker or sink, lower ranks come first.
    size_t    row_bytes;   // Estimated width of a row, for --explain and the memory estimate.
    ResourcesId resources; // What a task holds.
    // The most rows of a task: i64 over parameters. EXPR_NONE: as --partition says.
    ExprId    unit_rows;
    // At how many bytes a task hands over its output: i64 over parameters. EXPR_NONE: as
    // --partition says.
    ExprId    cut_bytes;
    int64_t   memory;      // Bytes of a task besides its rows: the most that a member says, or 0.
    int64_t   batch;       // Rows that steps take together: the most that a member says, or 0.
    int64_t   timeout;     // Microseconds that a call of foreign code may take; 0: any time.
    ColumnPart columns;
    KernelPart kernels;
    // Stages that hand rows to each other over edges have the same number, which is that of the
    // first of them. Between two sections stands a breaker, which waits for all rows.
    uint32_t  section;
    Text      home;        // Why its tasks run in the job itself. Empty: workers may run them.
    Text      label;       // Of the first step that it does.
} Stage;

typedef struct Plan {
    Graph    *graph;
    Stage    *stages;   size_t stage_count, stage_cap;  // What a stage waits for comes before it.
    Breaker  *breakers; size_t breaker_count, breaker_cap;
    OpId     *sources;  size_t source_count, source_cap;  // SOURCE operators, in graph order.
    OpId     *sinks;    size_t sink_count, sink_cap;
    Text     *resources; size_t resource_count, resource_cap;  // Names that stages ask for.
    Remarks  *remarks;     // Why operators do not run in one stage. Null: nobody asks.
    // By operator: the first stage that computes it. After a breaker that is the stage that begins
    // with its rows, and of a sink the one that feeds it. STAGE_NONE: no sink needs the operator.
    uint32_t *fused;
    bool     *fails;         // By operator: a zip takes its rows later, so every reject is a fail.
    bool     *counts_in;     // By step: rows that come in have to be counted (plan_counts.c).
    Usage     usage;         // Which columns somebody reads: no others are computed.
    size_t    memory_floor;  // Bytes that the job needs at least, estimated (plan_memory.c).
    uint32_t  passed;        // How many of plan_passes have run.
    Facts     facts;         // The facts that hold.
} Plan;

// Whether steps that no block names may go to a GPU: null `there`, they may not.
typedef struct PlanPlacing {
    bool (*there)(void *self);  // Can kernels be compiled? Asked where it matters, and once.
    void  *self;
} PlanPlacing;

typedef struct PlanOptions {
    PlanPlacing placing;
    bool     no_fuse;   // A border after every step, for tests: the output is the same.
    Remarks *remarks;   // May be null.
    uint32_t last;      // The number of the last pass to run, from 1. 0: all run.
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
enum : Facts { FACTS_OF_CODE = FACT_STAGES | FACT_ENTRIES | FACT_COUNTED | FACT_LOOPS |
                               FACT_PLACED };

// Runs all passes, or those up to options.last. Adds key expressions to the graph, and says which
// operators ask for a GPU; nothing else.
// Sources that no sink needs are left out. In debug builds the verifier runs after each pass.
Plan *plan_make(Graph *graph, PlanOptions options);
// Is the plan well-formed, as far as it is made? Prints each violation into `errors`.
bool  plan_verify(const Plan *plan, TextBuf *errors);
void  plan_print(TextBuf *buf, const Plan *plan);     // --dump=plan
// --explain, but for what the passes said.
void  plan_explain(TextBuf *buf, const Plan *plan);
// The line on memory, a guess without inputs and options.
void  plan_explain_memory(TextBuf *buf, const Plan *plan);
// The line on what only a run knows of exchanges. Nothing: there is no exchange.
void  plan_explain_exchange(TextBuf *buf, const Plan *plan);

// What an aggregate takes for its argument where it adds whole columns: a decimal of 64 bits or an
// f32 before it was widened, else the argument itself.
ExprId plan_column_arg(const Graph *graph, const Agg *agg);

// Is the stage meant for a GPU?
bool plan_is_for_gpu(const Plan *plan, const Stage *stage);

// What gives column `column` of member `m`: a computed item of a PROJECT, or a column of the root,
// which is member 0.
typedef struct KernelItem {
    uint32_t member, column;
} KernelItem;

// A product of matrices that a library may compute: x has `rows` rows of `k` elements, and w is a
// constant of k rows and n columns (plan_products.c).
typedef struct PlanProduct {
    const Type *elem;      // f32, f16 or bf16: of x, and of the result. Sums are f32.
    ExprId      x, w;      // w of numbers that are of the type, whatever its own is.
    ExprId      bias;      // As w: one number for each column, or one for all. EXPR_NONE: none.
    bool        relu;      // What is below zero becomes zero.
    uint32_t    k, n;
    uint64_t    rows;      // Of a row of the stage.
} PlanProduct;

// Is the expression one, with bias and `greatest(..., 0.0)` as far as they stand around it?
bool   plan_product(const Graph *graph, ExprId id, PlanProduct *to);
double plan_product_item(const Graph *graph, ExprId id, uint32_t i);  // Of w, and of the bias.
// May a library compute the products of the stage?
bool   plan_is_approx(const Plan *plan, const Stage *stage);

// Has the source columns? Loops and kernels take them as they are.
bool plan_gives_columns(const Graph *graph, OpId source);
// Does the operator read one whose columns can be laid into the memory of a kernel?
bool plan_lays_columns(const Graph *graph, OpId op);
// The column of kernels that a terminal of the stage, a sink, takes as it is: its rows are side by
// side. False: its rows go on one by one.
bool plan_given_column(const Plan *plan, const Stage *stage, const KernelPart *part,
                       const Terminal *terminal, KernelItem *to);
// Do all terminals take such columns, and no row goes on by itself?
bool plan_gives_back(const Plan *plan, const Stage *stage, const KernelPart *part);
// What kernels compute of the first members of a stage, which need not be one of the plan.
KernelPart plan_kernel_part(const Plan *plan, const Stage *stage, uint32_t members);
// Do kernels of the stage judge filters, and give columns?
bool plan_kernels_filter(const Plan *plan, const Stage *stage);
KernelItem plan_kernel_item(const Plan *plan, const Stage *stage, uint32_t m, uint32_t column);

// What a kernel keeps of an aggregate (plan_kernel_groups.c).
typedef enum KernelAgg {
    KERNEL_NO_AGG,
    KERNEL_COUNT,     // How many rows.
    KERNEL_SUM,       // Of whole numbers, and how many.
    KERNEL_LEAST,     // The least whole number, and how many.
    KERNEL_GREATEST,
    KERNEL_BOOLS,     // How many are true, and how many are not.
} KernelAgg;

KernelAgg plan_kernel_agg(const Agg *agg);
// The bits of a key that kernels group by; 0: they do not.
uint32_t plan_kernel_bits(const Type *type);

// How many members and terminals of the stage take the rows of `op`.
uint32_t plan_consumer_count(const Graph *graph, const Stage *stage, OpId op);

// The passes, each private to plan*.c.
void plan_devices(Plan *plan, PlanOptions options);  // Steps that go to a GPU by an estimate.
void plan_fuse(Plan *plan, PlanOptions options);     // Stages, borders, breakers and their order.
void plan_first(Plan *plan, PlanOptions options);    // Sorts whose first rows are enough.
void plan_askers(Plan *plan, PlanOptions options);   // Joins whose left rows say first what they
                                                     // look up.
void plan_layout(Plan *plan, PlanOptions options);   // What entries of breakers hold, and where.
void plan_counts(Plan *plan, PlanOptions options);   // Says which steps count their rows
                                                     // themselves.
void plan_columns(Plan *plan, PlanOptions options);  // Loops over columns.
void plan_kernels(Plan *plan, PlanOptions options);  // What kernels compute for a GPU.
void plan_exchange(Plan *plan, PlanOptions options); // Who fills and reads breakers, over workers.
void plan_memory(Plan *plan, PlanOptions options);   // Widths of rows, the memory estimate.

// The bounds of a join, at most JOIN_BOUNDS_MAX. Returns how many.
uint32_t plan_join_bounds(const Graph *graph, const Op *op, JoinBound *bounds);
// Has its table an index by these bounds where right rows come in no order? By one bound blocks
// lead to a first match as soon.
bool plan_join_indexed(const Op *op, uint32_t bound_count);

// Do both aggregates add up the same? Their options do not matter: only `end` takes them.
bool plan_same_state(const Agg *a, const Agg *b);

// Of a GROUP: is the aggregate read, and the first one with its state? The first one adds and
// merges for all of them.
bool plan_owns_state(const Breaker *breaker, uint32_t agg);

// Do the terminal's rows go into an edge?
bool plan_feeds_edge(const Plan *plan, const Terminal *terminal);
// May the job tell the terminal how many rows it takes: is it an edge or a sink?
bool plan_is_limited(const Plan *plan, const Terminal *terminal);
// Do the rows of `from`, a member of the stage, go to such terminals and to nothing else?
bool plan_only_limited(const Plan *plan, const Stage *stage, OpId from);

#endif
