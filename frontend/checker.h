// Checker: what the files of the checker (check.c, check_*.c) share; nobody else includes it.
//
//   check.c            the program: what is declared, in which order it is checked, what is unused
//   check_params.c     params, `rejects`
//   check_fns.c        `fn` and `extern fn`: declaration, inlining
//   check_scope.c      what a name means; reports
//   check_types.c      written types; which type holds which
//   check_literals.c   literals and constants; check_time.c: dates and timestamps in constants
//   check_exprs.c      expressions; check_operators.c: arithmetic and comparisons;
//   check_branches.c   if, case, `??`, `else`; check_calls.c: calls; check_casts.c: casts
//   check_tensors.c    tensors: their types and literals, operators on their elements
//   check_origins.c    the steps that tensors of a message come from
//   check_tensor_calls.c  functions of whole tensors, from tensors.def
//   check_lambdas.c    functions over lists that take a lambda, from lambdas.def
//   check_domains.c    constant arguments that a function does not take
//   check_flows.c      heads and steps; check_columns.c, _groups.c, _joins.c, _hints.c
//   check_batches.c    calls of functions over batches, in projects of their own
//   check_sources.c    read; check_sinks.c: write; check_options.c: what stands in parentheses
//   check_tables.c     inline tables, tests
//
// The walk makes graph nodes as it goes. An error gives a value or flow of unknown type, which fits
// everywhere, so that nothing is reported that only follows from it.
#ifndef SBC_FRONTEND_CHECKER_H
#define SBC_FRONTEND_CHECKER_H

#include "frontend/check.h"
#include "frontend/lambdas.h"
#include "frontend/tensors.h"

// ---- values and scopes -------------------------------------------------------------------------

typedef struct Value {
    ExprId      id;    // EXPR_NONE when the type is TYPE_ERROR.
    const Type *type;
} Value;

// A name that an expression may use: a column, or a parameter of a fn.
typedef struct Binding {
    Text     name;
    Value    value;
    bool     is_column;  // Of a flow: column `column` of operator `op`.
    uint32_t column;
    OpId     op;
    Span     from;       // Else: the item of this step that made it, or SPAN_NONE.
} Binding;

// A name of a tensor in an expression, and what it means there.
typedef struct TensorName {
    Span    span;
    Binding means;
} TensorName;

// The item of a step that makes a column of tensors.
typedef struct TensorItem {
    OpId     op;
    uint32_t column;
    Span     span;
} TensorItem;

typedef enum ScopeKind {
    SCOPE_ROW,       // Columns of a flow and params.
    SCOPE_CONSTANT,  // Neither: a default, a test's row.
    SCOPE_JOB,       // Params only: paths, limits.
    SCOPE_FN,        // The parameters of a fn, and params.
    SCOPE_RESULT,    // Of a group: keys and aggregate calls.
    SCOPE_WINDOW,    // Of a window: columns and calls of its functions.
} ScopeKind;

typedef struct GroupBuild GroupBuild;
typedef struct WindowBuild WindowBuild;

// A condition around an expression, as of a branch of `if` or on the left of an `and`.
typedef struct Fact {
    ExprId      condition;      // EXPR_NONE: it is wrong, and nobody knows what it says.
    bool        held;           // True or false where the expression is judged.
    const AstExpr *written;
    const struct Fact *around;  // The next one outwards, or null.
} Fact;

typedef struct Scope {
    ScopeKind   kind;
    Binding    *names;
    uint32_t    count, cap;
    bool        has_place;     // source(), line() and offset() mean something here.
    bool        no_row;        // Not evaluated once a row: random functions mean nothing.
    bool        unknown;       // Not all columns are known (an error upstream): any name fits.
    const char *lost_place;    // The step after which places are lost; for the message.
    GroupBuild *group;         // SCOPE_RESULT.
    WindowBuild *window;       // SCOPE_WINDOW.
    const Fact *known;         // The innermost condition around the expression, or null.
} Scope;

// ---- declarations ------------------------------------------------------------------------------

typedef enum DeclState { STATE_NEW, STATE_BUSY, STATE_DONE } DeclState;

typedef struct TypeDecl {
    const AstStmt *stmt;
    DeclState      state;
    const Type    *type;
} TypeDecl;

// One instance of a fn: equal arguments give the node that was made before. Without this, calls
// nested through n functions would cost 2^n.
typedef struct FnInstance {
    const Graph *graph;
    ExprId      *args;
    Value        result;
    struct FnInstance *next;
} FnInstance;

typedef struct FnDecl {
    const AstStmt *stmt;
    DeclState      state;
    const Type   **params;
    const Type    *result;     // TYPE_ERROR when the body is wrong.
    const FnRef   *ref;        // extern.
    FnInstance    *instances;
    bool           used;
} FnDecl;

typedef struct Flow {
    OpId        op;            // OP_NONE when it is broken.
    bool        broken;        // An error was reported; the columns are unknown.
    bool        unsure;        // One column has a name that is wrong; any name may be that one.
    bool        fresh;         // Only `where` steps since a `read` of this very flow.
    bool        keyed;         // The keys in the path of the source are no columns yet.
    const bool *present;       // By column of `op` and then by key: has a `where` left out its
                               // nulls, while its type does not say so yet? Null: of none.
    bool        written;       // A `write` ended it.
    bool        has_place;
    const char *lost_place;
} Flow;

typedef struct LetDecl {
    const AstStmt *stmt;
    DeclState      state;
    Flow           flow;
    bool           used;
} LetDecl;

typedef struct ParamDecl {
    const AstStmt *stmt;
    const Type    *type;
    bool           used;
} ParamDecl;

typedef struct Checker {
    const CheckInput *input;
    Arena     *arena;
    TypeTable *types;
    Diags     *diags;
    Graph     *graph;
    Program   *program;
    uint32_t   quiet;          // > 0: reports go nowhere.
    uint32_t   depth;          // Of the expression being checked.
    bool       in_aggregate;   // The expression is an argument of an aggregate.
    bool       lacks_file;     // A `use` failed: unknown names may be from its file.
    Span      *lost;           // What could not be read: nothing that it says is judged.
    size_t     lost_count, lost_cap;
    Name      *lost_names;     // What statements that could not be read may declare.
    size_t     lost_name_count, lost_name_cap;
    ResourcesId resources;     // Of the `with` blocks around the step.
    bool       cpus_given;     // One of them says how many cpus.
    Text      *customs;        // Names of resources of the run, each once.
    size_t     custom_count, custom_cap;
    Diag       unheard;        // Where quiet reports go.

    TypeDecl  *type_decls; size_t type_count, type_cap;
    FnDecl    *fns;        size_t fn_count, fn_cap;
    LetDecl   *lets;       size_t let_count, let_cap;
    ParamDecl *params;     size_t param_count, param_cap;

    struct { Text path, shape; Span span; ExprId id; bool known; } *sinks;
    size_t sink_count, sink_cap;

    TensorName *tensor_names;  // Of expressions, as they are checked.
    size_t tensor_name_count, tensor_name_cap;
    TensorItem *tensor_items;  // By operator, in the order in which these are made.
    size_t tensor_item_count, tensor_item_cap;
} Checker;

enum { DEPTH_MAX = 400, LABEL_BYTES_MAX = 60 };

// ---- check_scope.c -----------------------------------------------------------------------------

// As diag_add, but silent while the checker is quiet.
Diag *report(Checker *checker, DiagCode code, Span span, const char *message, ...)
    __attribute__((format(printf, 4, 5)));
// The label, note and fix of a report; printf.
void report_label(Checker *checker, Diag *diag, Span span, const char *text, ...)
    __attribute__((format(printf, 4, 5)));
void report_note(Checker *checker, Diag *diag, const char *text, ...)
    __attribute__((format(printf, 3, 4)));
void report_fix(Checker *checker, Diag *diag, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

// The type as text, for messages.
const char *type_say(Checker *checker, const Type *type);
Text source_text(const Checker *checker, Span span);

void    scope_bind(Checker *checker, Scope *scope, Text name, Value value);
Binding *scope_find(const Scope *scope, Text name);
Scope   scope_of_flow(Checker *checker, Flow flow);
Value   scope_name(Checker *checker, Scope *scope, Name name, Span span);  // A bare name's value.
// "did you mean 'x'?", or the names there are, as the fix.
void    fix_names(Checker *checker, Diag *diag, Text wrong, const Text *names, size_t count);
Text   *scope_names(Checker *checker, const Scope *scope, size_t *count);

// May a declaration that could not be read, or a file that is missing, have made this name?
bool       may_be_declared(const Checker *checker, Text name);
TypeDecl  *find_type_decl(Checker *checker, Text name);
FnDecl    *find_fn(Checker *checker, Text name);
LetDecl   *find_let(Checker *checker, Text name);
ParamDecl *find_param(Checker *checker, Text name);

// ---- check_types.c -----------------------------------------------------------------------------

const Type *error_type(Checker *checker);
Value       error_value(Checker *checker);
static inline bool is_error(const Type *type) { return type->kind == TYPE_ERROR; }
static inline bool is_null(const Type *type) { return type->kind == TYPE_NULL; }
const Type *kind_type(Checker *checker, TypeKind kind);

const Type *resolve_type(Checker *checker, const AstType *type);
const char *foreign_type(Text name);  // What a type of other languages is called here, or null.
bool        resolve_named(Checker *checker, Text name, const Type **type);  // Declared or built in.
// Does `wide` hold every value of `narrow`? Both not nullable. Equal types do.
bool        type_holds(const Type *wide, const Type *narrow);
// The smallest type that holds the values of both, or null. Nullable if one is.
const Type *common_type(Checker *checker, const Type *a, const Type *b);
// `value` as `want`: widened, or put into T?. Otherwise an error at `span`.
Value       coerce(Checker *checker, Value value, const Type *want, Span span);
Value       widen(Checker *checker, Value value, const Type *want, Span span);  // Of types that
                                                                                // fit.
bool        type_comparable(const Type *type, bool ordered);  // With == or, ordered, <.
bool        type_is_key(const Type *type);                    // Of a group, join, distinct.
const char *article(const char *word);                        // "a" or "an".

// ---- check_literals.c, check_time.c -------------------------------------------------------------

bool  is_flexible(const AstExpr *expr);  // A number written out, or arithmetic over such.
bool  is_untyped(const AstExpr *expr);   // Flexible, or an empty list: its place says its type.
bool  is_empty_list(const AstExpr *expr);  // [], and lists of nothing else: [[], []].
Value check_literal(Checker *checker, const AstExpr *expr, bool negative, const Type *want);
Value const_value(Checker *checker, const Type *type, Const value, Span span);
Value null_value(Checker *checker, const Type *type, Span span);
Value str_value(Checker *checker, Text text, Span span);
// The smallest decimal type that holds a written number; false: none does.
bool  decimal_of_literal(Checker *checker, const AstExpr *expr, const Type **type);
bool  decimal_parse(Text text, unsigned precision, unsigned scale, __int128 *value);
// The constant that a value is, through lists, structs and widening; false: it is none.
bool  const_of(Checker *checker, ExprId id, Const *value);
bool  const_text(Checker *checker, Value value, Text *text);  // A constant str.
bool  date_parse(Text text, int64_t *days);
bool  timestamp_parse(Text text, TimeUnit unit, int64_t *value);
bool  duration_parse(Text text, int64_t *value);  // 14:05:00 or 90s.

// ---- expressions --------------------------------------------------------------------------------

// The value of `expr`. Literals take `want` (may be null); the result need not be of that type.
Value check_expr(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
// The value of `expr` as `want`, or an error.
Value check_as(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
Value check_condition(Checker *checker, Scope *scope, const AstExpr *expr);  // A bool.
Value node(Checker *checker, ExprOp op, const Type *type, Span span, const ExprId *args,
           uint32_t count);
Value fstring_part(Checker *checker, Scope *scope, const AstExpr *part);  // As a str.
Value node1(Checker *checker, ExprOp op, const Type *type, Span span, Value a);
Value node2(Checker *checker, ExprOp op, const Type *type, Span span, Value a, Value b);

Value check_unary(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
Value check_binary(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
Value check_in(Checker *checker, Scope *scope, const AstExpr *expr);
Value compare(Checker *checker, ExprOp op, Value a, Value b, Span span);
// Both operands; a literal takes the type of the other one.
void  check_pair(Checker *checker, Scope *scope, const AstExpr *a, const AstExpr *b,
                 const Type *want, Value out[2]);
// The same of two branches, each in a scope of its own.
void  check_branches(Checker *checker, Scope scopes[2], const AstExpr *const sides[2],
                     const Type *want, Value out[2]);

Value check_if(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
Value check_case(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
// ---- null (check_nulls.c) ----

// Notes which columns of the flow are never null where `pred` holds.
void  narrow_flow(Checker *checker, Flow *flow, ExprId pred);
// A value that is known to be there, as T.
Value present_value(Checker *checker, Value value, Text name, Span span);
// The scope of what is judged only where a condition is `fact->held`. `fact` outlives the scope.
Scope scope_knowing(const Scope *scope, Fact *fact);
// A column, parameter or field as T, if its null is left out by what the scope knows. `written`
// names it.
Value known_value(Checker *checker, const Scope *scope, Value value, const AstExpr *written);
// What known_value made a T, as the T? that it was; other values as they are.
Value declared_value(Checker *checker, const Scope *scope, Value value);
// Does the expression name the column, or may it?
bool  names_column(const AstExpr *expr, Text column);
// Keys in the path of a source become columns, and types say which of them are never null.
Flow  settle_columns(Checker *checker, Flow flow);

Value check_coalesce(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
Value check_else(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
Value to_text(Checker *checker, Value value, Span span);  // As str, canonical.

Value check_call(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
bool  is_cast(Checker *checker, const AstExpr *call, const Type **type);
// Is there such a cast? Of types that are not nullable.
bool  casts(const Type *from, const Type *to);
Value check_cast(Checker *checker, Scope *scope, const AstExpr *call, const Type *target);

void  declare_fns(Checker *checker);
Value call_fn(Checker *checker, Scope *scope, FnDecl *fn, const AstExpr *call);
void  check_fn(Checker *checker, FnDecl *fn);

// ---- overloads (check_overloads.c) --------------------------------------------------------------

enum { CALL_ARGS_MAX = 12 };  // Functions of tensors take more than others.

typedef struct Arguments {
    const AstExpr *call;
    const AstExpr *exprs[CALL_ARGS_MAX];
    Value          values[CALL_ARGS_MAX];
    bool           flexible[CALL_ARGS_MAX];
    uint32_t       count;
    bool           broken;
} Arguments;

typedef struct Choice {
    const Decl *decl;
    const Type *variable;   // T.
    const Type *timestamp;  // What timestamps of any unit are taken to; null: there are none.
    const Type *result;
    const Type *half;       // The result is rounded to it; null: it is not.
} Choice;

// Chooses among the overloads of `call` and turns the arguments into what they take. Its `decl` is
// null: reported.
// The overload that takes arguments of these types. Its `decl` is null: none does.
Choice fit_overload(Checker *checker, const Arguments *args, const Decl *const *decls,
                    size_t count);
Choice choose_overload(Checker *checker, Scope *scope, Arguments *args, const Decl *const *decls,
                       size_t count);
void gather_arguments(Checker *checker, Scope *scope, const AstExpr *call, Arguments *args);

// ---- f16 and bf16 (check_halves.c) --------------------------------------------------------------

// With elements of f32, if those are f16 or bf16; elements of f32 or f64 as `elem`, if that is f16
// or bf16.
Value half_widen(Checker *checker, Value value, Span span);
Value half_round(Checker *checker, Value value, const Type *elem, Span span);
// An operator on numbers of one type, or tensors of them; f16 and bf16 go by way of f32.
Value arithmetic(Checker *checker, ExprOp op, const Type *type, Span span, Value a, Value b);
Value negated(Checker *checker, Value value, Span span);
// The type of all arguments that are no numbers written out, if the function gives f32 for it.
const Type *half_result(const Decl *decl, const Arguments *args);

// ---- tensors (check_tensors.c) ------------------------------------------------------------------

bool  is_tensor(const Type *type);  // Or a tensor that may be null.
const Type *resolve_tensor(Checker *checker, const AstType *type);
// A list that is written out, as the tensor that its place asks for.
Value check_tensor_as(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want);
// The same beside an operand that is a tensor: with elements of its type, and a shape of its own.
Value check_tensor_beside(Checker *checker, Scope *scope, const AstExpr *expr, const Type *other);
// Operators of which one side is a tensor. Not `taken`: the elements do not go together, which is
// not reported.
Value tensor_arithmetic(Checker *checker, ExprOp op, const AstExpr *expr, const Value sides[2],
                        bool *taken);
Value tensor_comparison(Checker *checker, ExprOp op, const AstExpr *expr, const Value sides[2],
                        bool *taken);
Value tensor_element(Checker *checker, const AstExpr *expr, Value tensor, Value index);
bool  tensor_number(const Type *elem);  // An integer or a float.

// An operand of an operator on elements, or an argument of a function of tensors.
typedef struct TensorOperand {
    Value       value;
    const Type *type;  // Base type: a tensor, or a number that goes with each element.
    Span        span;
} TensorOperand;

// Labels of a message about two shapes: the steps that the tensors come from (check_origins.c).
void note_tensor_name(Checker *checker, const Binding *binding, Span span);
void note_tensor_item(Checker *checker, const Op *op, uint32_t column, const Binding *binding);
void report_origins(Checker *checker, Diag *diag, const TensorOperand *a, const TensorOperand *b);

TensorOperand tensor_operand(Checker *checker, Value value, Span span);
// The shape of all operands together, as a tensor of the first one's elements. Null: reported.
const Type *tensor_common_shape(Checker *checker, const TensorOperand *operands, uint32_t count);
// The operand with elements of a type that holds its own.
Value tensor_widen(Checker *checker, const TensorOperand *operand, const Type *elem);
Value tensor_as_f64(Checker *checker, const TensorOperand *operand);  // Of integers or floats.

// ---- functions of whole tensors (check_tensor_calls.c, tensors.def) -----------------------------

bool  is_tensor_function(Text name);
Value call_tensor_function(Checker *checker, Scope *scope, const Arguments *args);

// A function of numbers, called for each element of tensors.
bool  takes_tensors(const Arguments *args);
Value call_for_elements(Checker *checker, Scope *scope, const Arguments *args,
                        const Decl *const *decls, size_t count);

// ---- lambdas (check_lambdas.c, lambdas.def) -----------------------------------------------------

// Is the call one of a function over lists that takes a lambda?
bool  takes_lambda(const AstExpr *call);
Value call_lambda_function(Checker *checker, Scope *scope, const AstExpr *call, const Type *want);
Value misplaced_lambda(Checker *checker, const AstExpr *lambda);  // Reported.

// ---- domains (check_domains.c) ------------------------------------------------------------------

// Is the constant text, written at `span`, good? Otherwise reported.
bool judge_constant(Checker *checker, DomainKind domain, Text text, Span span);
// If argument `i` is constant: does its parameter take it? Otherwise reported.
bool check_domain(Checker *checker, const Arguments *args, const Decl *decl, uint32_t i);

// ---- groups -------------------------------------------------------------------------------------

struct GroupBuild {
    Scope     *input;       // Of the rows that go in.
    NamedExpr *keys;
    uint32_t   key_count;
    const Type **key_types;
    Agg       *aggs;
    uint32_t   agg_count, agg_cap;
    const AstStep *step;    // Of its results; null while its keys are checked.
    const AstExpr *only;    // PIVOT: of which rows the aggregates are, beside their own `where`.
};

Value check_aggregate(Checker *checker, Scope *scope, const AstExpr *call);
// Can the value be a key? Otherwise reported, with what it cannot be.
bool good_key(Checker *checker, Value value, Span span, DiagCode code, const char *use);
// Keys of an order into `keys`, which has room for all. False: reported.
bool sort_keys(Checker *checker, Scope *scope, const AstItem *items, uint32_t count, SortKey *keys);
// The library's function of that name whose parameters have the types of the values. A timestamp
// that it gives has the unit of the first one.
Value call_by_name(Checker *checker, const char *name, Span span, const Value *values,
                   uint32_t count);
// The declarations of a name: of functions, or of aggregates.
const Decl **declarations(Checker *checker, Text name, bool aggregates, size_t *count);
// An operator with the columns of its input.
Op *same_columns(Checker *checker, OpKind kind, Flow *flow, StepId step, Span span);

// ---- months of the calendar (check_months.c) ----------------------------------------------------

// Is it a count of months: 3mo, -1y, n * 1mo, 1y + 6mo? No value holds one.
bool is_months(const AstExpr *expr);
// A sum or a difference with months on a side, or what is no such thing.
Value add_months(Checker *checker, Scope *scope, const AstExpr *expr);
Value misplaced_months(Checker *checker, const AstExpr *expr);
// What is_months takes, as an i64.
Value count_of_months(Checker *checker, Scope *scope, const AstExpr *expr);
// A call with months as an argument, truncate(t, 3mo), as the one that takes their number:
// truncate_months(t, 3). The call itself where none of its arguments is months.
const AstExpr *call_with_months(Checker *checker, const AstExpr *call);

// ---- windows (check_windows.c) ------------------------------------------------------------------

struct WindowBuild {
    Scope     *input;       // Of the rows that go in.
    uint32_t   columns;     // How many the rows have.
    ExprId    *keys;
    uint32_t   key_count;
    SortKey   *sort;
    uint32_t   sort_count;
    WindowFn  *fns;
    uint32_t   fn_count, fn_cap;
};

// Is the call one of a function of windows?
bool  is_window_call(Checker *checker, const AstExpr *call);
Value check_window_call(Checker *checker, Scope *scope, const AstExpr *call);
// The same outside of a window: reported.
Value misplaced_window(Checker *checker, const AstExpr *call);
// Reports an aggregate that a window does not have.
Value windowless_aggregate(Checker *checker, const AstExpr *call);
Flow  step_window(Checker *checker, Flow flow, const AstStep *step);
Flow  step_top(Checker *checker, Flow flow, const AstStep *step);
Flow  keep_one(Checker *checker, Flow flow, const AstStep *step);  // distinct K keep first by S

// ---- flows --------------------------------------------------------------------------------------

Flow check_flow(Checker *checker, const AstFlow *flow);
Flow check_let(Checker *checker, LetDecl *let);
Flow check_step(Checker *checker, Flow flow, const AstStep *step);
Flow check_steps(Checker *checker, Flow flow, const AstStep *steps, uint32_t count);
// The text of a step, as the summary and messages show it.
Text step_label(Checker *checker, Span span);
StepId make_step(Checker *checker, Span span);
Op  *add_op(Checker *checker, OpKind kind, Flow *flow, StepId step, Span span);
Flow broken_flow(void);
void copy_columns(Checker *checker, Op *op, const Column *columns, uint32_t count);
Flow lose_place(Flow flow, const char *step);

Flow step_where(Checker *checker, Flow flow, const AstStep *step);
Flow step_derive(Checker *checker, Flow flow, const AstStep *step);
Flow step_select(Checker *checker, Flow flow, const AstStep *step);
Flow step_drop(Checker *checker, Flow flow, const AstStep *step);
Flow step_rename(Checker *checker, Flow flow, const AstStep *step);
Flow step_explode(Checker *checker, Flow flow, const AstStep *step);
// The column that an item names alone; null: reported, or nobody knows the columns.
Binding *named_column(Checker *checker, Scope *scope, const AstItem *item);
// The flow with the list in that column exploded; `outer`: a row without elements stays, with null.
Flow explode_column(Checker *checker, Flow flow, uint32_t column, bool outer, StepId step,
                    Span span);
// Of a pivot, the condition of the item's rows; null: the step is none.
const AstExpr *pivot_condition(Checker *checker, const AstStep *step, uint32_t item);
Flow step_pivot(Checker *checker, Flow flow, const AstStep *step);
Flow step_unpivot(Checker *checker, Flow flow, const AstStep *step);
Flow step_group(Checker *checker, Flow flow, const AstStep *step);
Flow step_sort(Checker *checker, Flow flow, const AstStep *step);
Flow step_distinct(Checker *checker, Flow flow, const AstStep *step);
Flow step_limit(Checker *checker, Flow flow, const AstStep *step);
Flow step_shuffle(Checker *checker, Flow flow, const AstStep *step);
Flow step_sample(Checker *checker, Flow flow, const AstStep *step);
// ---- check_asof.c: `asof a >= b within d` of a join ---------------------------------------------

typedef struct Asof {
    ExprId seek, within;  // As of OP_JOIN.
} Asof;

// Of a step with a comparison for `asof`. The columns of `right` are those of input 1. False:
// reported.
bool check_asof(Checker *checker, Scope *left, Scope *right, const AstStep *step, Asof *out);
// The right flow in the order in which the join seeks.
Flow sort_asof(Checker *checker, Flow right, const AstStep *step);
Flow step_join(Checker *checker, Flow flow, const AstStep *step);
Flow step_union(Checker *checker, Flow flow, const AstStep *step);
Flow step_zip(Checker *checker, Flow flow, const AstStep *step);
Flow step_repartition(Checker *checker, Flow flow, const AstStep *step);
Flow step_with(Checker *checker, Flow flow, const AstStep *step);
Flow step_write(Checker *checker, Flow flow, const AstStep *step);
// Fills a project operator from `scope`'s bindings and moves the flow onto it.
Flow project(Checker *checker, Flow flow, const Scope *scope, StepId step, Span span);
// The same where an item calls a function over batches: a chain of projects (check_batches.c).
bool calls_batches(const Checker *checker, const Scope *scope);
Flow project_batches(Checker *checker, Flow flow, const Scope *scope, StepId step, Span span);
// Reports calls of such functions that stand in no project.
void check_batches(Checker *checker);
bool item_name(const AstItem *item, Name *name);  // Written, or the bare column's.
// Is the name one of those before, in one step? Then reported.
bool written_before(Checker *checker, Name name, const Name *names, uint32_t count);
Value check_item(Checker *checker, Scope *scope, const AstItem *item);

// ---- sources, sinks, tables ---------------------------------------------------------------------

typedef enum OptionSide { SIDE_READ, SIDE_WRITE } OptionSide;

// `FORMAT(...)` as it is written.
typedef struct FileCall {
    Name          format;
    const AstArg *args;
    uint32_t      count;
    Span          span;  // Of the whole step.
    Scope        *row;   // Of the rows that are written: braces in the path are over them. Null:
                         // the path is one file's.
} FileCall;

// What it means.
typedef struct FileUse {
    Format            format;
    const FormatName *name;  // By which the format was called.
    ExprId            path;  // EXPR_NONE where none is given.
    ExprId            key;   // Outputs by key: the rest of the path, over the row. Or EXPR_NONE.
    Text              shape; // Outputs by key: how that rest is written.
    NamedExpr        *keys;  // Reading: the keys in the path, as SourceOp has them.
    uint32_t          key_count;
    FileOptions       options;
} FileUse;

// Sets the format and its name; false: reported, unless the name is empty.
bool find_format(Checker *checker, Name name, OptionSide side, FileUse *use);

// False: reported.
bool check_options(Checker *checker, const FileCall *call, OptionSide side, FileUse *use);
Flow check_read(Checker *checker, const AstFlow *flow);
void write_sink(Checker *checker, Flow flow, const FileUse *use, StepId step, Span span);
// Sets the options of the format in `use`, under its name.
void default_options(Checker *checker, OptionSide side, FileUse *use);
void note_sink_path(Checker *checker, const FileUse *use, Span span);
// The path of an output whose braces hold expressions over the row. False: reported.
bool check_key_path(Checker *checker, Scope *row, const AstExpr *written, FileUse *use);
// The path of a source, in whose braces keys with a type may stand, and params. False: reported.
bool check_key_pattern(Checker *checker, const AstExpr *written, FileUse *use);
// Binds the keys of a source that are no columns yet. `present`: see Flow.
void bind_keys(Checker *checker, Scope *scope, const Op *source, const bool *present);
Value safe_key(Checker *checker, const NamedExpr *key);
void check_paths(Checker *checker);
Flow check_range(Checker *checker, const AstFlow *flow);
Flow check_table(Checker *checker, const AstFlow *flow);
void check_tests(Checker *checker, const AstFile *file);

// ---- the program --------------------------------------------------------------------------------

void declare_params(Checker *checker);
void check_rejects(Checker *checker, const AstStmt *stmt);
Text path_beside(Checker *checker, uint32_t file,
                 Text path);  // Relative to a source file's folder.

#endif
