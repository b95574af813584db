// AST: a program as written, comments included; what `sbc fmt` prints and the checker reads.
#ifndef SBC_FRONTEND_AST_H
#define SBC_FRONTEND_AST_H

#include "ir/graph.h"

typedef struct Name {
    Text text;   // Without backticks.
    Span span;
} Name;

// ---- types -----------------------------------------------------------------------------------

typedef enum AstTypeKind {
    AST_TYPE_ERROR,   // None was read; reported.
    AST_TYPE_NAME,    // i64, str, Trip
    AST_TYPE_PARAMS,  // decimal(15, 2), timestamp[ms]
    AST_TYPE_LIST,    // [T]
    AST_TYPE_STRUCT,  // {a: T, b: T}
    AST_TYPE_TENSOR,  // T[d0, d1]
    AST_TYPE_MAP,     // {str: T}
} AstTypeKind;

typedef struct AstType AstType;

typedef struct AstField {
    Name     name;
    AstType *type;
} AstField;

struct AstType {
    AstTypeKind kind;
    Span        span;
    bool        nullable;
    Name        name;          // NAME, PARAMS; TENSOR: of the element.
    AstType    *elem;          // LIST; MAP: of the values.
    AstField   *fields;        // STRUCT.
    uint32_t    field_count;
    Text       *params;        // PARAMS: "15", "2", "ms"; TENSOR: dimensions.
    uint32_t    param_count;
};

// ---- expressions -----------------------------------------------------------------------------

typedef enum AstExprKind {
    AST_NULL, AST_BOOL,
    AST_REJECT,     // The right side of `x ?? reject`.
    AST_INT,        // number.text as written without `_`; a size like 8MiB is AST_INT of bytes
    AST_FLOAT,      // 1.5, 1e9
    AST_PERCENT,    // 0.1%: `number` is what it means, 0.001
    AST_DURATION,   // 90s 1500ms 2h: integer of microseconds
    AST_MONTHS,     // 3mo 1y: integer of months
    AST_STR,        // Plain or raw: `text` is the decoded value.
    AST_FSTRING,    // parts: AST_STR and expressions, in turn; also a path with braces
    AST_NAME,       // a column or a parameter
    AST_CALL,       // name(args), named arguments allowed where the function has them
    AST_FIELD,      // a.b
    AST_INDEX,      // a[i]
    AST_UNARY,      // - not
    AST_BINARY,     // op
    AST_IN,         // a in [x, y] or a in lo..hi
    AST_IF,         // if c then a else b
    AST_CASE,       // case { c => a, _ => b }
    AST_ELSE,       // e else VALUE | reject | fail
    AST_LIST,       // [a, b]
    AST_STRUCT,     // {a: x, b: y}, {...r, b: y}
    AST_LAMBDA,     // x -> e, (acc, x) -> e
    AST_ERROR,      // what could not be parsed
} AstExprKind;

typedef enum AstOp {
    AST_OP_NEG, AST_OP_NOT, AST_OP_MUL, AST_OP_DIV, AST_OP_IDIV, AST_OP_MOD, AST_OP_ADD, AST_OP_SUB,
    AST_OP_COALESCE, AST_OP_EQ, AST_OP_NE, AST_OP_LT, AST_OP_LE, AST_OP_GT, AST_OP_GE,
    AST_OP_AND, AST_OP_OR,
} AstOp;

typedef struct AstExpr AstExpr;
typedef struct AstFrame AstFrame;

typedef struct AstArg {
    Name     name;    // Empty text: positional.
    bool     spread;  // `...value` in a struct: all of its fields. Without a name.
    AstExpr *value;
    AstExpr *where;   // `count() where P`: only on calls of aggregates; null otherwise.
    AstType *type;    // Part of the path of a `read`: `{year: i32}`, whose value is the name. Null
                      // otherwise.
} AstArg;

typedef struct AstArm {
    AstExpr *condition;  // Null: `_`.
    AstExpr *value;
} AstArm;

struct AstExpr {
    AstExprKind kind;
    Span        span;        // Without the parentheses around it.
    uint32_t    height;      // Of the tree below, at most HEIGHT_MAX of the parser.
    bool        parens;      // Written in parentheses.
    bool        boolean;     // AST_BOOL
    bool        raw;         // AST_STR written r"..."
    Text        text;        // AST_STR: decoded. AST_INT, FLOAT, PERCENT, DURATION: as written.
    uint64_t    integer;     // AST_INT, AST_DURATION (microseconds), AST_MONTHS.
    bool        too_big;     // AST_INT: does not fit u64 (text holds it).
    double      number;      // AST_FLOAT, AST_PERCENT (0.1% -> 0.001).
    Name        name;        // AST_NAME, AST_CALL, AST_FIELD (the field).
    AstOp       op;          // AST_UNARY, AST_BINARY.
    Span        op_span;
    AstExpr    *a, *b, *c;   // Operands: UNARY a; BINARY a b; FIELD a; INDEX a[b]; IF a b c;
                             // IN a with list items in `args`, or b..c; ELSE a, b (VALUE);
                             // LAMBDA a.
    AstArg     *args;        // CALL, LIST, STRUCT (named, or a spread), FSTRING parts, IN list.
    uint32_t    arg_count;
    AstArm     *arms;        // CASE.
    uint32_t    arm_count;
    Name       *params;      // LAMBDA.
    uint32_t    param_count;
    ElseKind    handler;     // ELSE.
    AstExpr    *where;       // CALL of an aggregate: `where P`; else null.
    AstFrame   *frame;       // CALL in a window: the rows that it looks at; null: none are said.
};

// rows 3 back 1 ahead, range 1h back, rows all
struct AstFrame {
    bool     range, all;
    bool     to_here;        // `rows all back`: all before it, and none after.
    AstExpr *back, *ahead;   // Null: not written.
    Span     span;
};

// ---- flows -----------------------------------------------------------------------------------

typedef enum AstStepKind {
    AST_WHERE, AST_DERIVE, AST_SELECT, AST_DROP, AST_RENAME, AST_EXPLODE, AST_GROUP, AST_AGGREGATE,
    AST_SORT, AST_LIMIT, AST_SKIP, AST_DISTINCT, AST_JOIN, AST_UNION, AST_ZIP, AST_SHUFFLE,
    AST_SAMPLE, AST_REPARTITION, AST_ON, AST_WITH, AST_WRITE,
    AST_WINDOW, AST_TOP, AST_PIVOT, AST_UNPIVOT,
    AST_STEP_ERROR,
} AstStepKind;

typedef struct AstItem {      // name: type = value, as far as written.
    Name     name;            // Empty text: none written.
    AstType *type;            // Null: none.
    AstExpr *value;
    AstExpr *key;             // PIVOT `"x" = value`: the literal in front; else null.
    bool     descending, nulls_first;  // Sort keys.
    Span     span;
} AstItem;

typedef enum AstRepartition { AST_BY, AST_ROWS, AST_BYTES } AstRepartition;

typedef struct AstFlow AstFlow;

typedef struct AstStep {
    AstStepKind kind;
    Span        span;
    Name        keyword;      // The word the step begins with.
    AstItem    *items;        // WHERE, EXPLODE, LIMIT, SKIP one; DERIVE, SELECT, DROP, RENAME
                              // (name = old). Keys of GROUP, SORT, DISTINCT,
                              // WINDOW, TOP, PIVOT. UNPIVOT columns. SHUFFLE seed. SAMPLE
                              // fraction and seed. REPARTITION. JOIN `on` keys of one name.
    uint32_t    item_count;
    AstItem    *aggs;         // GROUP, AGGREGATE, WINDOW, PIVOT. UNPIVOT `as`: two names.
    uint32_t    agg_count;
    AstItem    *order;        // WINDOW `sort`, TOP and DISTINCT `by`: sort keys.
    uint32_t    order_count;
    AstItem    *count;        // TOP: how many rows. PIVOT: whose values become columns. Else null.
    bool        keeps, keeps_last;  // DISTINCT `keep first by`, `keep last by`.
    bool        outer;        // EXPLODE `outer`: a row without elements stays.
    AstFlow    *other;        // JOIN, UNION, ZIP: the right side.
    JoinKind    join;
    AstExpr   **on_left, **on_right;  // JOIN `on a == b and c == d`: pairs; same count.
    uint32_t    on_count;
    AstExpr   **conditions;   // JOIN: what else stands among the keys.
    uint32_t    condition_count;
    AstExpr    *asof, *within;  // JOIN `asof a >= b within d`; null: not written.
    Span        asof_span;      // All of that.
    AstRepartition repartition;
    Name        device;       // ON: cpu | gpu.
    AstArg     *options;      // WITH, ON ... with (...); WRITE FORMAT(...).
    uint32_t    option_count;
    Name        format;       // WRITE.
    struct AstStep *steps;    // ON, WITH with a block.
    uint32_t    step_count;
    bool        block;        // A block was written.
} AstStep;

typedef enum AstHeadKind { AST_HEAD_READ, AST_HEAD_NAME, AST_HEAD_FLOW, AST_HEAD_RANGE,
                           AST_HEAD_TABLE, AST_HEAD_ERROR } AstHeadKind;

struct AstFlow {
    AstHeadKind kind;
    Span        span, head_span;
    Name        name;         // NAME; READ: the format.
    AstArg     *options;      // READ: FORMAT(args); RANGE: the count.
    uint32_t    option_count;
    AstType    *as;           // READ ... as T; null: none.
    AstFlow    *inner;        // FLOW in parentheses.
    AstExpr    *table;        // TABLE: an AST_LIST of AST_STRUCT.
    AstStep    *steps;
    uint32_t    step_count;
};

// ---- statements ------------------------------------------------------------------------------

typedef enum AstStmtKind {
    AST_USE, AST_PARAM, AST_TYPE, AST_FN, AST_EXTERN, AST_LET, AST_FLOW, AST_REJECTS, AST_TEST,
    AST_STMT_ERROR,
} AstStmtKind;

typedef struct AstParam {
    Name     name;
    AstType *type;
} AstParam;

typedef struct AstGiven {   // In a test: `given NAME = table` or `expect NAME == table`.
    bool     expect;
    Name     name;
    AstExpr *table;
    Span     span;
} AstGiven;

typedef struct AstStmt {
    AstStmtKind kind;
    Span        span;
    Span        lost;        // From where on it could not be read as it was meant; empty: it could.
    Name        name;        // What is declared.
    AstExpr    *value;       // PARAM default (or null), FN body, USE path (AST_STR).
    AstType    *type;        // PARAM, TYPE, FN/EXTERN result (or null).
    AstParam   *params;      // FN, EXTERN.
    uint32_t    param_count;
    Text        doc;         // Comment after the declaration on its line, or the lines above it.
    // EXTERN
    Text        from;        // The C file, relative to the .sbd file; python: "module:function".
    Span        from_span;
    bool        python;      // `from python`
    bool        pure, impure, fallible, per_batch, state, alone;
    AstFlow    *flow;        // LET, FLOW.
    // REJECTS: `rejects write FORMAT(options) [limit L]`
    Name        format;
    AstArg     *options;
    uint32_t    option_count;
    AstExpr    *limit;
    // TEST
    Text        title;
    Span        title_span;
    AstGiven   *givens;
    uint32_t    given_count;
} AstStmt;

// Calls `see` with the names of columns or params in `expr` until it returns true. False: it never
// did.
bool ast_find_name(const AstExpr *expr, bool (*see)(void *self, Name name), void *self);

// A comment and where it stands; `sbc fmt` puts them back.
typedef struct AstComment {
    Span span;
    bool own_line;
} AstComment;

typedef struct AstFile {
    uint32_t    file;       // In the SourceSet.
    AstStmt    *stmts;
    size_t      stmt_count, stmt_cap;
    AstComment *comments;
    size_t      comment_count, comment_cap;
} AstFile;

#endif
