// Graph: a checked pipeline as a dataflow graph of relational operators.
//
// Operators stand in an order in which inputs come first. Each has output columns; expressions of
// an operator speak of its inputs' columns by number. The text form (ir/print.c, ir/read.c) holds
// everything here but spans of generated nodes; docs/ir.md specifies it; ir/verify.c checks it.
#ifndef SBC_IR_GRAPH_H
#define SBC_IR_GRAPH_H

#include "ir/expr.h"
#include "ir/facts.h"

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

// A step as the user wrote it: the unit of accounting. in + made = on + filtered + rejected +
// merged.
typedef struct Step {
    Text label;  // "where fare > 0.0", one line, at most 60 bytes.
    Span span;
} Step;

typedef struct Column {
    Text        name;
    const Type *type;
    bool        hidden;  // Carried for the compiler's sake; no sink writes it, no name finds it.
    bool        unread;  // By names alone nothing reads it (pass reads).
} Column;

typedef struct NamedExpr {
    Text   name;
    ExprId expr;
    bool   hidden;
} NamedExpr;

typedef enum Format {
    FORMAT_CSV, FORMAT_JSONL, FORMAT_TEXT, FORMAT_FILES,  // Of files.
    FORMAT_RANGE, FORMAT_INLINE,                          // Sources without files.
} Format;

typedef struct CsvOptions {
    char     delimiter;       // One byte.
    char     quote;           // One byte, 0 for none.
    bool     header;
    Text     comment;         // Lines that start so are skipped; empty: none.
    Text    *nulls;           // Null words.
    uint32_t null_count;
    char     decimal;         // '.' or ','.
    bool     strict_nulls;    // `null` was given: it replaces the rule of the empty field.
} CsvOptions;

typedef struct FileOptions {
    CsvOptions csv;          // CSV and TSV.
    Text       zone;         // Time zone of timestamps without offset; "UTC".
    ExprId     row_max;      // Bytes, i64 over parameters.
    ExprId     bytes;        // Sinks: bytes a part, i64.
} FileOptions;

// A column of a source as its type declares it, in type order.
typedef struct SourceColumn {
    Text        name;
    const Type *type;
    Span        span;
    // The column counts as read: its value can reach a sink, a predicate or a key, by names alone.
    // What is read is judged whether or not a later pass still needs the value.
    bool        read;
} SourceColumn;

typedef struct PreFilter {
    ExprId pred;
    StepId step;
} PreFilter;

// Columns first..last of a source, as they are declared.
typedef struct RawSpan { uint32_t first, last; } RawSpan;

typedef struct SourceOp {
    Format        format;
    ExprId        path;          // str or [str] over parameters; FORMAT_RANGE: the row count, i64.
    FileOptions   options;
    SourceColumn *columns;       // Output columns 0..column_count-1; hidden ones may follow.
    uint32_t      column_count;
    Text          type_name;     // For messages: "Trip", or "" when inferred or anonymous.
    // `where` steps written directly behind the read: judged before the other columns are parsed.
    PreFilter    *filters;
    uint32_t      filter_count;
    Const        *rows;          // FORMAT_INLINE: row_count structs, items in column order.
    uint32_t      row_count;
    // For each hidden output column: the column whose RAW bytes it is. Of several (CSV only) it is
    // those of each with a delimiter between them, whatever the order of the file.
    RawSpan      *raw_of;
} SourceOp;

// A call of an aggregate function. See stdlib/README.md for how aggregates are written.
typedef enum AggTrait : uint32_t {
    AGG_CALL  = 1u << 0,  // add, merge and end take SbCall *: the state owns counted memory.
    AGG_TYPED = 1u << 1,  // Takes SbType; values by pointer.
    AGG_ORDER = 1u << 2,  // add takes the row's order (u64) after the state.
    AGG_MAYBE = 1u << 3,  // end returns a status: of nothing it is null.
    AGG_FALLIBLE = 1u << 4,  // end may fault (an overflow): that fails the job.
    AGG_NULLS = 1u << 5,  // add is called for null arguments too (first, last, collect).
    AGG_COLUMNS = 1u << 6,  // There is P_column, which adds a column of values.
    AGG_LOOKS = 1u << 7,    // add looks for the value in memory of the state, wherever it lies.
    AGG_SUMS = 1u << 8,  // All with this trait that take the same arguments have one state.
} AggTrait;

typedef struct AggRef {
    Text     name;
    Text     symbol;       // Prefix: sb_sum_f64 -> sb_sum_f64_add, _merge, _end.
    uint32_t traits;
    uint32_t pointers;     // Bit i: argument i of add goes by pointer (type T, T? or a struct).
    uint32_t state_bytes, state_align;  // All zero bytes are the empty state.
    Text     held;         // What the state points to: sb_held_HELD of held.h; or empty.
    ResultRange range;
} AggRef;

typedef struct Agg {
    Text          name;    // Of the output column.
    const AggRef *fn;      // Null: count of rows.
    ExprId        args[2]; // EXPR_NONE where there is none.
    uint32_t      arg_count;
    ExprId        where;   // EXPR_NONE: every row.
    ExprId        option;  // A constant for `end` (quantile's fraction); EXPR_NONE.
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

// An output column of a join: column `index` of input `side`. A merged key takes the left value,
// or the right one where the left row is missing.
typedef struct JoinColumn {
    uint32_t side, index;
    bool     merged;
    uint32_t merged_index;  // Right column of a merged key.
} JoinColumn;

typedef struct SinkColumn {
    Text   name;
    ExprId value;     // What is written when there is no usable spelling.
    ExprId spelling;  // A str: the source's bytes, written as they are where valid; EXPR_NONE.
    // CSV to CSV of one dialect: `spelling` is copied, quotes and all. The value is then needed
    // only to tell whether a nullable one is null; else prune makes it the spelling too.
    bool   verbatim;
    bool   within;    // `spelling` is that of the column before, whose bytes hold this one's too.
} SinkColumn;

typedef struct SinkOp {
    Format      format;  // CSV, JSONL or TEXT.
    ExprId      path;    // str over parameters.
    FileOptions options;
    SinkColumn *columns;
    uint32_t    column_count;
} SinkOp;

typedef struct HintOp {
    ExprId   partition_key[8];  // repartition by
    uint32_t partition_key_count;
    ExprId   rows, bytes;       // repartition rows, bytes: i64 over parameters; EXPR_NONE: neither.
    Text     text;              // The hint as written; --explain shows it.
} HintOp;

// What a task holds while it works on the rows of a `with` block. Amounts are thousandths.
typedef struct Resource {
    Text     name;
    uint32_t amount;
} Resource;

typedef struct Resources {
    uint32_t  cpus;
    uint32_t  concurrency;   // Tasks at once; 0: as many as fit.
    int64_t   memory;        // Bytes of a task beside its rows; 0: not said.
    int64_t   batch;         // Rows that steps take together; 0: not said.
    Resource *customs;       // Resources that the run supplies, by name.
    uint32_t  custom_count;
} Resources;

enum : uint32_t { RESOURCE_WHOLE = 1000 };
enum { CUSTOMS_MAX = 7 };  // Names of a program; with the cpus as many as the scheduler knows.

typedef struct Op {
    OpKind   kind;
    OpId     id;
    StepId   step;           // The step it stands for; STEP_NONE when a pass made it.
    Span     span;
    ResourcesId resources;   // That its rows are worked on with; 0: one cpu.
    Text     name;           // Of a `let`, where the flow has one; dumps use it.
    OpId     inputs[2];
    uint32_t input_count;
    Column  *columns;        // Output.
    uint32_t column_count;
    union {
        SourceOp source;
        struct { ExprId pred; } filter;
        struct { NamedExpr *items; uint32_t count; } project;  // items[i] computes columns[i].
        struct { uint32_t column; } explode;
        struct { NamedExpr *keys; uint32_t key_count; Agg *aggs; uint32_t agg_count; } group;
        struct { SortKey *keys; uint32_t count; } sort;
        struct { ExprId count, skip; } limit;   // i64 over parameters; EXPR_NONE: all, 0.
        struct { ExprId *keys; uint32_t count; } distinct;
        struct {
            JoinKind kind;
            ExprId *left, *right;
            uint32_t key_count;
            JoinColumn *columns;  // In output order; right side last for SEMI and ANTI: none.
        } join;
        struct { uint32_t *right_columns; } union_;  // right_columns[i] feeds columns[i].
        struct { ExprId seed; } shuffle;             // i64
        struct { ExprId fraction, seed; } sample;    // f64, i64
        HintOp hint;
        SinkOp sink;
    };
} Op;

typedef struct Param {
    Text        name;
    const Type *type;     // A scalar or a list of scalars.
    ExprId      value;    // Default: a constant; EXPR_NONE when it must be given.
    Text        doc;      // The comment behind the declaration; for --help.
    Span        span;
} Param;

typedef struct RejectsSink {
    bool   present;
    Format format;       // JSONL or CSV.
    ExprId path;         // str over parameters; EXPR_NONE: none.
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
    Step      *steps;    size_t step_count, step_cap;
    Param     *params;   size_t param_count, param_cap;
    Text      *files;    size_t file_count, file_cap;  // Source file names, by Span.file.
    Resources *resources; size_t resources_count, resources_cap;  // The first: one cpu.
    RejectsSink rejects;
    uint32_t   passed;  // How many passes of ir/pass.h have run.
    Facts      facts;   // Those that hold.
    // Hash index over exprs that graph_expr shares nodes by: number + 1, 0 is free. Private.
    uint32_t  *index;    size_t index_count, index_cap;
} Graph;

Graph *graph_new(Arena *arena, TypeTable *types);

// Adds a node, sharing an equal one if there is one. Impure calls are never shared; nodes that can
// fault themselves only if their spans agree, so that a fault is reported where it stands. `args`
// are copied. The payload is given by `payload`, whose op, type, span and payload members count.
// Arguments always have smaller numbers than the node.
// Nodes do not change afterwards: passes make new ones.
ExprId graph_expr(Graph *graph, Expr payload, const ExprId *args, uint32_t arg_count);
ExprId graph_column(Graph *graph, uint32_t input, uint32_t index, const Type *type, Span span);
ExprId graph_const(Graph *graph, const Type *type, Const value, Span span);
ExprId graph_const_i64(Graph *graph, int64_t value);
ExprId graph_const_text(Graph *graph, Text value, Span span);

// Adds an operator whose inputs, columns and payload the caller fills; its id is its index. The
// pointer is good until the next operator is added. Every ExprId that may be none must be set so.
Op    *graph_op(Graph *graph, OpKind kind, StepId step, Span span);
StepId graph_step(Graph *graph, Text label, Span span);

// Equal ones get one number. `customs` are sorted and copied.
ResourcesId graph_resources(Graph *graph, Resources resources);
// Do tasks with `a` and tasks with `b` take the same slots? Memory and batch make no difference.
bool resources_same_slots(const Resources *a, const Resources *b);

static inline Expr *graph_at(const Graph *graph, ExprId id) { return &graph->exprs[id.i]; }
static inline Op *graph_op_at(const Graph *graph, OpId id) { return &graph->ops[id.i]; }

const char *op_kind_name(OpKind kind);

// Behind a meeting a row has no place in a source: a reject shows it as JSON (docs/rejects.md).
bool op_is_meeting(OpKind kind);
// May one row that comes in make several?
bool op_multiplies(OpKind kind);
uint32_t    op_kind_inputs(OpKind kind);
bool        op_passes_columns(const Op *op);  // Of each row that it lets through, as they are.
const char *format_name(Format format);
const char *join_kind_name(JoinKind kind);

// Can judging the node fault: itself, an argument that no `else` value covers, or one that settles
// the row whatever covers it?
bool graph_faults(const Graph *graph, ExprId id);
// Does it call an impure function? Then it is computed once where its step stands.
bool graph_has_effects(const Graph *graph, ExprId id);
bool const_same(const Type *type, const Const *a, const Const *b);

#endif
