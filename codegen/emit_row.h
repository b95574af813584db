// A row on its way through a stage: frames hold what is known of each operator's columns. Faults
// leave the row through fault targets. A row ends at its consumers' `next` block.
#ifndef SBC_CODEGEN_EMIT_ROW_H
#define SBC_CODEGEN_EMIT_ROW_H

#include "codegen/emit.h"

struct Frame {
    const Op *op;
    StepId    step;         // To which faults of its expressions belong.
    Frame    *input[2];
    Value    *memo;         // By ExprId: what was computed over the input's columns.
    Value    *memo_behind;  // What those after it compute over its own columns; null: nothing yet.
    Value    *columns;      // By output column, likewise.
    // How to get an output column that is no function of the inputs; null: by the operator's kind.
    Value   (*load)(Emit *e, Frame *frame, uint32_t column);
    // Does `load` no more than load the column from memory? Null: never.
    bool    (*reloads)(const Emit *e, const Frame *frame, uint32_t column);
    Val       entry;        // Rows: the entry (of a join: the matching one).
    Val       matched;      // Join: i1, is there a match (left, full); null: always.
    Val       number;       // Explode, join: of the element or match, from 0.
    Val       right;        // Zip: the entry of the right side.
    const Breaker *breaker; // The breaker whose entry the row comes from.
    struct TextRow *text;   // Source of a text format.
    Val       identity;     // u64 identity of the row; computed at the first use.
    Val     (*identify)(Emit *e, Frame *frame);
};

Frame *frame_new(Emit *e, const Op *op, Frame *left, Frame *right);
// A frame for expressions of a step over `input`'s columns (filters of a source).
Frame *frame_over(Emit *e, Frame *input, StepId step);
Value  frame_column(Emit *e, Frame *frame, uint32_t column);
// Is the column in memory, and no register, so that who needs it once more loads it once more? It
// cannot fault then.
bool   frame_reloads(const Emit *e, const Frame *frame, uint32_t column);
Val    frame_identity(Emit *e, Frame *frame);
// `identify` of the row number frame->number that one row of the left input makes.
Val    frame_next_identity(Emit *e, Frame *frame);
Value  frame_raw(Emit *e, Frame *frame, uint32_t column);     // The source's bytes of a column.
Value  frame_place(Emit *e, Frame *frame, PlaceKind what);

// The frame of the stage's root below `frame`, on the left side.
Frame *frame_root(Frame *frame);

// The order key, among the rows of the stage that the flow begins with, of the row that `frame` is
// made of; null: of the stage's next row. Comparing origins tells which rejected row comes first.
Val frame_origin(Emit *e, Frame *frame);
// Tells the task where that row stands: its origin, its order key where the stage reads an edge,
// and that of the row that the stage hands over next.
void frame_store_place(Emit *e, Frame *frame);
// The order key of a row for a breaker. An edge inside a step passes on the key that came with it.
Val frame_order(Emit *e, Frame *frame, const Breaker *into);

// Where the row of a root was read: in a source, or before an edge that keeps places.
typedef struct PlaceParts {
    Val raw, length, offset, line, row;  // ptr, i64, ...
    Val source, file;                    // i32
} PlaceParts;

bool frame_has_place(const Frame *root);
PlaceParts frame_place_parts(Emit *e, Frame *root);
void place_store(Emit *e, const PlaceParts *parts, Val place);  // As an SbPlace.
// The number of the file that a row of `files` is: i64.
Val frame_file(Emit *e, Frame *root);

// Emits the value of `expr` (an expression of frame->op over frame->input's columns) where the
// builder stands; computed once in each region. Faults go to emit_faults(e).
Value emit_expr(Emit *e, Frame *frame, ExprId expr);
// Was the expression computed already, where the builder stands?
bool emit_is_known(Emit *e, Frame *frame, ExprId expr);
// As frame_reloads, for an expression.
bool emit_reloads(const Emit *e, const Frame *frame, ExprId expr);
// As emit_expr for a bool: the condition.
// The builder goes on where `pred` is true; else the row goes to `gone`. What the sides of an `and`
// computed is there for what follows.
void emit_keep(Emit *e, Frame *frame, ExprId pred, Block gone);
static inline Val emit_condition(Emit *e, Frame *frame, ExprId expr) {
    return emit_expr(e, frame, expr).a;
}

Value emit_arith(Emit *e, Frame *frame, const Expr *x);    // emit_arith.c
Value emit_compare(Emit *e, Frame *frame, const Expr *x);  // emit_compare.c
Val emit_equal(Emit *e, const Type *base, Value a,
               Value b);  // Of values that are not null, IEEE for floats.
Value emit_cast(Emit *e, Frame *frame, const Expr *x);     // emit_cast.c
// Where `bad` is true a cast that may fail does: the fault names the value that was cast.
void  emit_cast_fault(Emit *e, Frame *frame, const Expr *x, Val bad);
// A cast for which type_cast_scales.
Val   emit_cast_scaled(Emit *e, Frame *frame, const Expr *x, Val value);  // emit_cast_decimal.c
// 10^exponent, exponent up to 38.
__int128 emit_power_of_ten(unsigned exponent);
Value emit_function(Emit *e, Frame *frame, const Expr *x); // emit_function.c
Value emit_compound(Emit *e, Frame *frame,
                    const Expr *x);  // emit_compound.c: concat, text, struct, list...

Value emit_lambda(Emit *e, Frame *frame, const Expr *x);   // emit_lambda.c: expr_has_lambda

// A value that is the same for all elements of a list, and perhaps asked for by none of them. In
// the loops of lambdas it is computed by who asks first.
typedef struct Once {
    Value *slot;         // Of the expression's memo.
    Val    known, place; // i1: is the value in `place`?
} Once;

// Null: the expression of that memo is computed whenever somebody asks.
const Once *emit_once_of(const Emit *e, const Value *slot);
Value emit_once(Emit *e, Frame *frame, ExprId expr, const Once *once);
// The code of the expression, whatever is known.
Value emit_anew(Emit *e, Frame *frame, ExprId expr);
Value *emit_slot(Emit *e, Frame *frame, ExprId expr);

// `bytes` of the row's scratch memory; out of memory leaves the row.
Val   emit_scratch(Emit *e, Frame *frame, Span span, Val bytes);

typedef struct StatusCall {
    Span        span;
    const char *symbol;
    const Arg  *args;
    unsigned    count;
    const Type *type;    // Of the result.
    Text        domain;  // FnRef.domain: what a fault of the arguments says.
    Text        blames;  // FnRef.blames.
    Val         watched; // Of foreign code: i1, does somebody watch? Else null.
} StatusCall;

// Calls for a status, with the result through a fresh slot; a fault leaves the row. The result's
// `valid` is set when its type is T?.
Value emit_status_call(Emit *e, Frame *frame, const StatusCall *call);

// ---- faults ------------------------------------------------------------------------------------

typedef struct Detail {
    Val ptr, len;   // Null: none.
} Detail;

// The nearest meeting (docs/rejects.md) that a row came through, or {null}; `frame` has its
// columns, as its own or in an edge.
typedef struct Meeting {
    const Op *op;
    Frame    *frame;
} Meeting;

Meeting meeting_of(const Emit *e, Frame *frame);
// A column of it that a reject shows.
Value meeting_column(Emit *e, Meeting meeting, uint32_t column);

// If `bad`, the row leaves with `status` (i32) at a site of the frame's step and `span`. The
// builder goes on in a new block.
void emit_fault_if(Emit *e, Frame *frame, Span span, Val bad, Val status, Detail detail);
// The same for a column of a source.
void emit_column_fault_if(Emit *e, StepId step, Text column, Val bad, Val status, Detail detail);
uint32_t emit_site(Emit *e, Site site);
uint32_t emit_column_site(Emit *e, StepId step, Text column);
// In a column loop: the rows of the chunk are judged one by one if `bad` for a row that counts. It
// may be true too often.
void emit_doubt_if(Emit *e, Val bad);
// In a column loop: what follows counts only where `condition` holds. Returns what to restore.
Val emit_narrow(Emit *e, Val condition);

FaultTarget *emit_faults(const Emit *e);
void fault_target_open(Emit *e, FaultTarget *target, FaultTarget *outer, bool silent);
// Steps after the one whose row `frame` is may share the target, while the loop goes on at `next`.
void fault_target_row(const Emit *e, FaultTarget *target, const Frame *frame, Block next);
// From here the row faults at `target` with what another one was told.
void fault_pass_on(Emit *e, FaultTarget *target, Val site, Val status, Detail detail);
// Emits the cold block of `target`, if a fault came to it. The block records the reject of the row
// whose last known columns are `frame`'s (null: there is none yet), then goes to `next`. `stop`:
// where the stage ends with SB_STAGE_FAULT.
void fault_target_close(Emit *e, FaultTarget *target, Frame *frame, Block next, Block stop);

// The task's scratch context (SbCall *).
Val emit_call_context(Emit *e);
static inline Arg arg_context(Emit *e) {
    return (Arg){.a = emit_call_context(e), .is_context = true};
}

#endif
