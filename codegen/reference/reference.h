// Reference: a slow, plain interpreter of the graph, the judge in every differential test.
//
// One thread, tables of tagged values, own readers, sort, grouping and writers. It shares only the
// scalar library's C with compiled jobs. It runs the graph as lowered or after any pass: the
// results must be the same.
#ifndef SBC_CODEGEN_REFERENCE_REFERENCE_H
#define SBC_CODEGEN_REFERENCE_REFERENCE_H

#include "ir/graph.h"
#include "ir/pass.h"

typedef struct ReferenceRun {
    const Graph *graph;
    const char *const
        *args;  // Job options: --PARAM=VALUE, --overwrite, --rejects=, --reject-limit=.
    size_t       arg_count;
} ReferenceRun;

// Runs the job as its executable would: same outputs, rejects, summary on stderr and exit code.
int reference_run(const ReferenceRun *run);

// After the last run or table: ends the Python processes that were started for them.
void reference_python_close(void);

// A table of constants: what a test block gives and gets.
typedef struct ReferenceTable {
    OpId     op;
    Text     name;       // Of a given one: its rows were read there, row N on line N.
    Const   *rows;       // Structs of the op's visible columns.
    uint32_t row_count;
    const char *python;  // Of one that is wanted: the interpreter of Python. Null: as a job finds
                         // it.
} ReferenceTable;

// Evaluates `want`'s operator with the outputs of `given` operators replaced. Rows are put into
// want->rows. False: `error` says what failed.
bool reference_table(const Graph *graph, Arena *arena, const ReferenceTable *given,
                     size_t given_count, ReferenceTable *want, TextBuf *error);

// ConstEvalFn for the passes: `self` is ignored.
bool reference_const_eval(void *self, const Graph *graph, ExprId expr, Const *result);

#endif
