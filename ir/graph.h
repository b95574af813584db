// Graph: a checked pipeline as a dataflow graph of relational operators.
//
// Operators stand in an order in which inputs come first. Each operator has output columns. Its
// expressions name the columns of its inputs by number.
//
// docs/ir.md specifies the text form, and ir/verify.c checks a graph. The text form (ir/print.c,
// ir/read.c) holds everything here but the spans of generated nodes.
#ifndef SBC_IR_GRAPH_H
#define SBC_IR_GRAPH_H

#include "ir/expr.h"
#include "ir/facts.h"
#include "ir/format.h"

typedef struct OpId { uint32_t i; } OpId;      // Index into Graph.ops.
typedef struct StepId { uint32_t i; } StepId;  // Index into Graph.steps.
typedef struct ResourcesId { uint32_t i; } ResourcesId;  // Index into Graph.resources.

#define OP_NONE   ((OpId){UINT32_MAX})
static inline bool op_is_none(OpId id) { return id.i == UINT32_MAX; }
#define STEP_NONE ((StepId){UINT32_MAX})

typedef enum OpKind {
#define OP(name, text, inputs, doc) OP_##name,
#include "ir/ops.def"
} OpKind;

// A step as the user wrote it. The summary counts rows by step, and of each step
// in + made = on + filtered + rejected + merged.
typedef struct Step {
    Text label;  // "where fare > 0.0", one line, at most 60 bytes.
    Span span;
} Step;

typedef struct Column {
    Text        name;
    const Type *type;
    bool        hidden;  // Carried for the compiler's sake. No sink writes it, no name finds it.
    bool        unread;  // By names alone nothing reads the column (pass reads).
} Column;

typedef struct NamedExpr {
    Text   name;
    ExprId expr;
    bool   hidden;
} NamedExpr;

// Where the rows of a source come from.
typedef enum SourceKind { SOURCE_FILES, SOURCE_RANGE, SOURCE_INLINE } SourceKind;

typedef struct CsvOptions {
    char     delimiter;       // One byte.
    char     quote;           // One byte, 0 for none.
    bool     header;
    Text     comment;         // Lines that start so are skipped; empty: none.
    Text    *nulls;           // Null words.
    uint32_t null_count;
    char     decimal;         // '.' or ','.
    bool     strict_nulls;    // `null` was given: only its words are null, and no empty field is.
    bool     missing_null;    // A column that a header lacks is null, if its type allows null.
    char     thousands;       // Stands between groups of three digits of a number; 0: nothing does.
    int64_t  skip;            // Lines in front of the header.
} CsvOptions;

typedef struct FileOptions {
    CsvOptions csv;          // Formats with a dialect.
    Text       zone;         // Time zone of timestamps without offset; "UTC".
    Text       encoding;     // Of the text: a name of sb_encoding_of; empty: UTF-8.
    ExprId     row_max;      // The most bytes of a row: i64 over parameters.
    ExprId     bytes;        // Sinks: the bytes of a part, i64.
    ExprId     files;        // Sinks: the most files of an output by key, i64.
    bool       apart;        // Sinks of npy: each file is the array of one row (stacked = false).
    bool       append;       // Sinks: rows come after those that the file has.
} FileOptions;

enum : int64_t { SINK_FILES_MAX = 10'000 };  // Of an output by key that says nothing of it.

// None is given: zone UTC, no expressions, no dialect.
static inline FileOptions file_options_none(void) {
    return (FileOptions){.zone = {"UTC", 3}, .row_max = EXPR_NONE, .bytes = EXPR_NONE,
                         .files = EXPR_NONE};
}

// A column of a source as its type declares it, in type order.
typedef struct SourceColumn {
    Text        name;
    const Type *type;
    Span        span;
    // By names alone the value can reach a sink, a predicate or a key. Then it is judged, even
    // when a later pass needs it no more.
    bool        read;
} SourceColumn;

typedef struct PreFilter {
    ExprId pred;
    StepId step;
} PreFilter;

// Columns first to last of a source, both included, in the order of their declaration.
typedef struct RawSpan { uint32_t first, last; } RawSpan;

typedef struct SourceOp {
    SourceKind    kind;
    Format        format;        // SOURCE_FILES.
    ExprId        path;          // str or [str] over parameters; SOURCE_RANGE: the row count, i64.
    FileOptions   options;
    SourceColumn *columns;       // Output columns 0..column_count-1; hidden ones may follow.
    uint32_t      column_count;
    Text          type_name;     // For messages: "Trip", or "" when inferred or anonymous.
    // What braces in the path stand for, over the path of a file (PLACE) and parameters. A fault is
    // that of the path. Columns of these names are made after the source.
    NamedExpr    *keys;
    uint32_t      key_count;
    // `where` steps directly after the read. They are judged before the other columns are parsed.
    PreFilter    *filters;
    uint32_t      filter_count;
    Const        *rows;          // SOURCE_INLINE: row_count structs, items in column order.
    uint32_t      row_count;
    // By hidden output column: the columns whose RAW bytes it holds. Several columns, of a dialect
    // only, have a delimiter between their bytes, whatever the order of the file.
    RawSpan      *raw_of;
} SourceOp;

// Does a field of the column stay text where it is a word of `null`? Its type is str, and `null`
// names a word that is not empty.
bool source_keeps_words(const SourceOp *source, uint32_t column);

// A call of an aggregate function. See stdlib/README.md for how aggregates are written.
typedef enum AggTrait : uint32_t {
    AGG_CALL = 1u << 0,      // add, merge and end take SbCall *: the state owns counted memory.
    AGG_TYPED = 1u << 1,     // add takes an SbType, and values by pointer.
    AGG_ORDER = 1u << 2,     // add takes the row's order (u64) after the state.
    AGG_MAYBE = 1u << 3,     // end returns a status: without values the result is null.
    AGG_FALLIBLE = 1u << 4,  // end may fault by an overflow, which fails the job.
    AGG_NULLS = 1u << 5,     // add is called for null arguments too (first, last, collect).
    AGG_COLUMNS = 1u << 6,   // PREFIX_column adds a column of values.
    AGG_LOOKS = 1u << 7,     // add looks for the value in memory of the state, wherever it lies.
    AGG_SUMS = 1u << 8,      // Aggregates with this trait and the same arguments share a state.
    AGG_NARROW = 1u << 9,    // Of f64: PREFIX_column_f32 adds a column of f32 values.
} AggTrait;

typedef struct AggRef {
    Text     name;
    Text     symbol;       // Prefix: sb_sum_f64 -> sb_sum_f64_add, _merge, _end.
    uint32_t traits;
    uint32_t pointers;     // Bit i: argument i of add goes by pointer (type T, T? or a struct).
    uint32_t state_bytes, state_align;  // A state of zero bytes is empty.
    Text     held;         // Names sb_held_HELD, for what the state points to. Empty: for nothing.
    ResultRange range;
} AggRef;

typedef struct Agg {
    Text          name;    // Of the output column.
    const AggRef *fn;      // Null: it counts rows.
    ExprId        args[2]; // EXPR_NONE from arg_count on.
    uint32_t      arg_count;
    ExprId        where;   // Which rows the aggregate takes. EXPR_NONE: every row.
    ExprId        option;  // A constant for `end`, as the fraction of a quantile. Or EXPR_NONE.
    const Type   *type;    // Of the result.
    bool          hidden;
    Span          span;
} Agg;

typedef struct SortKey {
    ExprId key;
    bool   descending, nulls_first;
} SortKey;

typedef enum JoinKind {
    JOIN_INNER,
    JOIN_LEFT,
    JOIN_RIGHT,
    JOIN_FULL,
    JOIN_SEMI,
    JOIN_ANTI
} JoinKind;

// An output column of a join: column `index` of input `side`.
typedef struct JoinColumn {
    uint32_t side, index;
    bool     merged;        // A key of both sides: the right value where the left row is missing.
    uint32_t merged_index;  // The right column of a merged key.
} JoinColumn;

typedef struct SinkColumn {
    Text   name;
    ExprId value;     // Written where there is no usable spelling.
    ExprId spelling;  // The source's bytes, a str, written as they are where valid. Or EXPR_NONE.
    // From a dialect to the same one the spelling is copied with quotes. Only a nullable value is
    // still needed, to tell whether it is null. Prune replaces other values by the spelling.
    bool   verbatim;
    bool   within;    // The spelling of the column before holds the bytes of this column too.
} SinkColumn;

typedef struct SinkOp {
    Format      format;
    ExprId      path;    // str over parameters.
    ExprId      key;     // Outputs by key: what follows the path in the names of files, a str over
                         // the input. Rows of one key come one after the other. Or EXPR_NONE.
    Text        shape;   // Outputs by key: how the key is written, for names and messages.
    FileOptions options;
    SinkColumn *columns;
    uint32_t    column_count;
} SinkOp;

typedef struct HintOp {
    ExprId   partition_key[8];  // Of `repartition by`.
    uint32_t partition_key_count;
    ExprId   rows;              // Of `repartition rows`: i64 over parameters. Or EXPR_NONE.
    ExprId   bytes;             // Of `repartition bytes`: i64 over parameters. Or EXPR_NONE.
    Text     text;              // The hint as it is written, for --explain.
} HintOp;

// What a window computes (ir/windows.def).
typedef enum WindowKind {
#define WINDOW(name, text, order, frame, doc) WINDOW_##name,
#include "ir/windows.def"
} WindowKind;

// The rows of the partition that a window function looks at.
typedef enum FrameUnit {
    FRAME_ROWS,    // So many rows before and after.
    FRAME_RANGE,   // Rows whose sort key is at most so far away.
    FRAME_MONTHS,  // The same in months of the calendar, of a date. Later timestamps may begin
                   // sooner: March 31 0:00 less a month is before March 30 23:59 less one.
} FrameUnit;

enum : int64_t { FRAME_ALL = INT64_MAX };  // As far as the partition goes.

typedef struct WindowFrame {
    FrameUnit unit;
    int64_t   back, ahead;  // From 0. RANGE: in units of the sort key's type.
} WindowFrame;

typedef struct WindowFn {
    WindowKind  kind;
    Text        name;    // Of the output column.
    ExprId      arg;     // EXPR_NONE: it takes no value.
    int64_t     n;       // LAG, LEAD, NTH, NTILE: the number. SESSION: the gap.
    WindowFrame frame;
    const Type *type;    // Of the result.
    Span        span;
} WindowFn;

// Column i of a window is column from[i] of its input, or the result of function
// from[i] - WINDOW_OWN.
enum : uint32_t { WINDOW_OWN = 1u << 31 };

// Which rows of each partition come out: all, the first ones, or the last one.
typedef enum WindowKeeps { KEEPS_ALL, KEEPS_FIRST, KEEPS_LAST } WindowKeeps;

typedef struct WindowOp {
    ExprId   *keys;       // Of the partition.
    uint32_t  key_count;
    SortKey  *sort;
    uint32_t  sort_count;
    WindowFn *fns;
    uint32_t  fn_count;
    uint32_t *from;       // By column.
    WindowKeeps keeps;    // Of a window without functions.
    ExprId    most;       // KEEPS_FIRST: how many rows; i64 over parameters. Else EXPR_NONE.
} WindowOp;

// What a task holds of a resource while it works on the rows of a `with` block.
typedef struct Resource {
    Text     name;
    uint32_t amount;  // In thousandths.
} Resource;

// The kind of processor that steps are meant for: as a block says, or for a GPU by an estimate
// (plan_devices.c). What is meant for a GPU gives the same bytes on the CPU.
typedef enum OnDevice { ON_ANY, ON_CPU, ON_GPU, ON_PLACED } OnDevice;

typedef struct Resources {
    uint32_t  cpus;          // In thousandths.
    uint32_t  concurrency;   // Tasks at once. 0: as many as fit.
    int64_t   memory;        // Bytes of a task besides its rows. 0: nothing is said.
    int64_t   batch;         // Rows that steps take together. 0: nothing is said.
    int64_t   timeout;       // Microseconds that a call of foreign code may take. 0: any time.
    Resource *customs;       // Resources that the run supplies, by name.
    uint32_t  custom_count;
    OnDevice  on;
    bool      approx;        // Of a block for a GPU: digits of products may differ from the CPU's.
} Resources;

static inline bool resources_for_gpu(const Resources *resources) {
    return resources->on == ON_GPU || resources->on == ON_PLACED;
}

enum : uint32_t { RESOURCE_WHOLE = 1000 };
enum { CUSTOMS_MAX = 7 };  // Names of a program. With the cpus the scheduler knows eight.

typedef struct Op {
    OpKind   kind;
    OpId     id;
    StepId   step;           // The step that it does. STEP_NONE: a pass made the operator.
    Span     span;
    ResourcesId resources;   // What a task holds that works on its rows. 0: one cpu.
    Text     name;           // The flow's, given by `let`, for dumps. Or empty.
    OpId     inputs[2];
    uint32_t input_count;
    Column  *columns;        // Output.
    uint32_t column_count;
    union {
        SourceOp source;
        struct { ExprId pred; } filter;
        struct { NamedExpr *items; uint32_t count; } project;  // items[i] computes columns[i].
        struct { uint32_t column; bool outer; } explode;  // outer: null where there is no element.
        struct { NamedExpr *keys; uint32_t key_count; Agg *aggs; uint32_t agg_count; } group;
        struct { SortKey *keys; uint32_t count; } sort;
        struct { ExprId count, skip; } limit;   // i64 over parameters. EXPR_NONE: all, or 0.
        struct { ExprId *keys; uint32_t count; } distinct;
        struct {
            JoinKind kind;
            ExprId *left, *right;
            uint32_t key_count;
            ExprId where;         // Over a left and a right row of equal keys: do they match?
                                  // EXPR_NONE: all do.
            ExprId seek, within;  // Of an asof join: docs/ir.md says how. Else EXPR_NONE.
            JoinColumn *columns;  // In output order. SEMI and ANTI have none of the right side.
        } join;
        struct { uint32_t *right_columns; } union_;  // right_columns[i] feeds columns[i].
        struct { ExprId seed; } shuffle;             // i64
        struct { ExprId fraction, seed; } sample;    // f64, i64
        HintOp hint;
        WindowOp window;
        SinkOp sink;
    };
} Op;

typedef struct Param {
    Text        name;
    const Type *type;     // A scalar or a list of scalars.
    ExprId      value;    // The default, a constant. EXPR_NONE: the parameter must be given.
    Text        doc;      // The comment at the end of the declaration, for --help.
    Span        span;
} Param;

typedef struct RejectsSink {
    bool   present;
    Format format;       // One that has a form for records.
    ExprId path;         // str over parameters. EXPR_NONE: no rejects are written.
    bool   append;       // Records come after those that the file has.
    bool   has_rows, has_share;
    ExprId limit_rows;   // i64
    ExprId limit_share;  // f64, 0..1
    Span   span;
} RejectsSink;

typedef struct Graph {
    Arena     *arena;
    TypeTable *types;
    Op        *ops;      size_t op_count, op_cap;
    Expr      *exprs;    size_t expr_count, expr_cap;
    uint32_t   local_count;  // Numbers of locals that are taken.
    Step      *steps;    size_t step_count, step_cap;
    Param     *params;   size_t param_count, param_cap;
    Text      *files;    size_t file_count, file_cap;  // Source file names, by Span.file.
    Resources *resources; size_t resources_count, resources_cap;  // The first is one cpu.
    RejectsSink rejects;
    uint32_t   passed;  // How many passes of ir/pass.h have run.
    Facts      facts;   // The facts that hold.
    // Private to graph.c: a hash table of nodes, by which graph_expr shares them. A place holds the
    // node's number + 1, or 0 where it is free.
    uint32_t  *index;    size_t index_count, index_cap;
} Graph;

Graph *graph_new(Arena *arena, TypeTable *types);

// Adds a node, or gives an equal one that is there. Impure calls are never shared. Nodes that can
// fault by themselves are shared only if their spans agree, so that a fault is reported where it
// stands. Of `payload` count op, type, span and the members of the payload. `args` are copied, and
// have smaller numbers than the node. A node does not change later: passes make new ones.
ExprId graph_expr(Graph *graph, Expr payload, const ExprId *args, uint32_t arg_count);
ExprId graph_column(Graph *graph, uint32_t input, uint32_t index, const Type *type, Span span);
// Takes the numbers of `count` locals. The lambda takes them before those inside of it do.
uint32_t graph_locals(Graph *graph, uint32_t count);
ExprId graph_const(Graph *graph, const Type *type, Const value, Span span);
ExprId graph_const_i64(Graph *graph, int64_t value);
ExprId graph_const_text(Graph *graph, Text value, Span span);

// Adds an operator, whose id is its index. The caller fills inputs, columns and payload, and sets
// every ExprId that stays empty to EXPR_NONE. The pointer is good until the next operator is added.
Op    *graph_op(Graph *graph, OpKind kind, StepId step, Span span);
StepId graph_step(Graph *graph, Text label, Span span);

// Equal resources get one number. `customs` are sorted and copied.
ResourcesId graph_resources(Graph *graph, Resources resources);
// Do tasks with `a` and tasks with `b` take the same slots, of one kind of processor? Memory and
// batch make no difference.
bool resources_same_slots(const Resources *a, const Resources *b);
// Does `other` ask for what a block for a GPU asks for, but for the device and how many rows it
// takes at once? Then tasks of the block may do that work too.
bool resources_join_block(const Resources *block, const Resources *other);

static inline Expr *graph_at(const Graph *graph, ExprId id) { return &graph->exprs[id.i]; }
static inline Op *graph_op_at(const Graph *graph, OpId id) { return &graph->ops[id.i]; }

const char *op_kind_name(OpKind kind);

// After a meeting a row has no place in a source: a reject shows it as JSON (docs/rejects.md).
bool op_is_meeting(OpKind kind);
// May one input row make several?
bool op_multiplies(OpKind kind);
uint32_t    op_kind_inputs(OpKind kind);
// Does it leave the columns of each row that it lets through as they are?
bool        op_passes_columns(const Op *op);
const char *source_name(const SourceOp *source);  // Its format, "range" or "inline".
// Has a left row one match at most, the nearest?
static inline bool join_is_nearest(const Op *op) { return !expr_is_none(op->join.seek); }

// Does one match decide what becomes of a left row?
static inline bool join_is_one(const Op *op) {
    return op->join.kind == JOIN_SEMI || op->join.kind == JOIN_ANTI;
}
const char *join_kind_name(JoinKind kind);
const char *window_kind_name(WindowKind kind);
bool        window_kind_find(Text name, WindowKind *kind);
// Key `k` of the order in which a sort or a window has its rows: of a window those of the partition
// come first.
SortKey op_sort_key(const Op *op, uint32_t k);
uint32_t op_sort_keys(const Op *op);
// The function whose result column `i` of a window is; null: a column of the input.
WindowFn *window_fn(const Op *op, uint32_t column);

// Can judging the node fault? The fault is its own, or one of an argument that no `else` value
// covers, or one that settles the row whatever covers it.
bool graph_faults(const Graph *graph, ExprId id);
// Does the node call an impure function? Then it is computed once, where its step stands.
bool graph_has_effects(const Graph *graph, ExprId id);
// Does the node call a function of the user's C files? Such a call may crash, or run too long. Then
// the row is rejected, so the call stands where its step does.
bool graph_is_foreign(const Graph *graph, ExprId id);
// The column of the input that the node hands on, and be it with a type that has no null any more;
// else the node itself.
const Expr *graph_passed_on(const Graph *graph, ExprId id);
// Does the node compute the elements of its tensor one by one, as its operator does with numbers?
bool graph_is_elementwise(const Expr *node);
// Are shapes of its operands, an elementwise node's, compared while the job runs?
bool graph_meets(const Graph *graph, const Expr *node);
// Does it only say where elements of its first argument go: another order, or a part?
static inline bool graph_is_layout(const Expr *node) {
    return node->op == EXPR_PERMUTE || node->op == EXPR_SLICE;
}
// Does it reduce a dimension, by the tree of docs/ir.md?
static inline bool graph_is_reduction(const Expr *node) {
    return node->op >= EXPR_REDUCE_SUM && node->op <= EXPR_REDUCE_ARGMAX;
}
// The tree of reductions (docs/ir.md): elements of a block go to lanes in turn.
enum { TREE_LANES = 32, TREE_BLOCK = 1024 };
// The dimension that argument `i` names. It is a constant.
static inline uint32_t graph_axis(const Graph *graph, const Expr *node, uint32_t i) {
    return (uint32_t)graph_at(graph, node->args[i])->value.i;
}
bool const_same(const Type *type, const Const *a, const Const *b);

#endif
