// Passes: each turns a graph into a better graph of the same meaning. A pass is a file.
#ifndef SBC_IR_PASS_H
#define SBC_IR_PASS_H

#include "ir/remark.h"

enum { FOLD_BYTES_MAX = 64 << 10 };  // Longer texts and lists are left to the job.

// Evaluates a node whose arguments are constants, as the job would. False: it faults, is long, or
// cannot be known before the run; the node stays. The driver supplies it (the scalar library is not
// below ir/).
typedef bool ConstEvalFn(void *self, const Graph *graph, ExprId expr, Const *result);

typedef struct PassContext {
    Graph       *graph;
    ConstEvalFn *eval;       // May be null: nothing is folded but what ir/ itself knows.
    void        *eval_self;
    Remarks     *remarks;    // What passes say of their decisions; null: nobody asks.
} PassContext;

// A pass keeps what it needs unless it breaks it.
typedef struct Pass {
    const char *name;    // As in --after=NAME.
    void (*run)(PassContext *context);
    Facts       needs, gives, breaks;
    const char *doc;     // One line.
} Pass;

extern const Pass passes[];
extern const size_t pass_count;

// The place of a pass in the table, from 1; 0: there is none of this name.
uint32_t pass_find(Text name);

// The facts of a graph after that many passes; after none it is as the program wrote it.
Facts pass_facts(uint32_t passed);

// Runs one pass, which need not be the next of the table. False: it did not run, since it lacks a
// fact, as `errors` says.
bool pass_run(PassContext *context, const Pass *pass, TextBuf *errors);

// Runs the passes that have not run yet, or those of them up to and with `after` (null: all). In
// debug builds the verifier runs after each. False: `after` names no pass.
bool passes_run(PassContext *context, const char *after);

// Each is one file in ir/passes/.
void pass_reads(PassContext *context);    // Says which source columns count as read
                                          // (SourceColumn.read).
void pass_spell(PassContext *context);    // Carries spellings from text sources to text sinks.
void pass_span(PassContext *context);     // Joins the spellings of neighbours.
void pass_fold(PassContext *context);     // Constants, identities, widening, needless casts.
void pass_cse(PassContext *context);      // One node for equal work within an operator.
void pass_prune(PassContext *context);    // Drops columns and operators nobody reads.
void pass_ranges(PassContext *context);   // Proves ranges; a proven range drops the overflow check.

// Is the graph well-formed? Prints each violation into `errors`; true when there is none.
bool graph_verify(const Graph *graph, TextBuf *errors);

void   graph_print(TextBuf *buf, const Graph *graph);
void   graph_print_expr(TextBuf *buf, const Graph *graph, ExprId expr);  // One line, nested form.
void   graph_print_const(TextBuf *buf, const Type *base, const Const *value);

// Why a text is no graph: "expected a type, found 'x'", and the byte where that stands.
typedef struct GraphFault {
    TextBuf message;
    size_t  place;
} GraphFault;

// Reads what graph_print wrote. Null: `fault` says why.
Graph *graph_read(Arena *arena, TypeTable *types, Text text, GraphFault *fault);

#endif
