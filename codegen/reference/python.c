// Python functions: the interpreter calls them in the same processes as a job does.
#include "codegen/reference/job.h"
#include "codegen/reference/library.h"

#include "runtime/python.h"
#include "stdlib/hash.h"

#include <limits.h>
#include <unistd.h>

static const JobTrouble troubles[] = {
    [PYTHON_FAULT_START] = JOB_PYTHON, [PYTHON_FAULT_OLD] = JOB_PYTHON_OLD,
    [PYTHON_FAULT_MODULE] = JOB_PYTHON_MODULE, [PYTHON_FAULT_IMPORT] = JOB_PYTHON_IMPORT,
    [PYTHON_FAULT_FUNCTION] = JOB_PYTHON_FUNCTION,
    [PYTHON_FAULT_SIGNATURE] = JOB_PYTHON_SIGNATURE, [PYTHON_FAULT_MEMORY] = JOB_MEMORY,
};

static SbStr text_str(Text text) { return (SbStr){text.at, (int64_t)text.len}; }

const SbPythonFn *reference_python_fn(const FnRef *fn) {
    return python_find(text_str(fn->name), text_str(fn->symbol), text_str(fn->file));
}

static const SbPythonFn *describe(Arena *arena, const Graph *graph, const Expr *call) {
    const FnRef *fn = call->fn;
    SbField *fields = arena_new_array(arena, SbField, call->arg_count + 1);
    SbType *row = arena_new_of(arena, SbType);
    SbPythonFn *made = arena_new_of(arena, SbPythonFn);
    for (uint32_t i = 0; i < call->arg_count; i++)
        fields[i] = (SbField){.name = text_str(fn->params[i]),
                              .type = library_type(arena, graph_at(graph, call->args[i])->type)};
    *row = (SbType){.kind = SB_STRUCT, .fields = fields, .field_count = call->arg_count};
    *made = (SbPythonFn){.name = text_str(fn->name), .callee = text_str(fn->symbol),
                         .folder = text_str(fn->file), .row = row,
                         .result = library_type(arena, call->type),
                         .by_rows = (fn->traits & FN_ROWS) != 0,
                         .state = (fn->traits & FN_STATE) != 0,
                         .alone = (fn->traits & FN_ALONE) != 0,
                         .pure = !(fn->traits & FN_IMPURE)};
    return made;
}

static bool is_same(const SbPythonFn *fn, const FnRef *ref) {
    SbStr name = text_str(ref->name), callee = text_str(ref->symbol), folder = text_str(ref->file);
    return sb_str_equal(fn->name, name) && sb_str_equal(fn->callee, callee) &&
           sb_str_equal(fn->folder, folder);
}

static SbPython *collect(Arena *arena, const Graph *graph) {
    SbPython *python = arena_new_of(arena, SbPython);
    const SbPythonFn **fns = nullptr;
    size_t count = 0, cap = 0;
    for (size_t i = 0; i < graph->expr_count; i++) {
        const Expr *expr = &graph->exprs[i];
        bool known = expr->op != EXPR_CALL || !(expr->fn->traits & FN_PYTHON);
        for (size_t k = 0; k < count && !known; k++) known = is_same(fns[k], expr->fn);
        if (!known) arena_push(arena, fns, count, cap, describe(arena, graph, expr));
    }
    *python = (SbPython){.fns = fns, .fn_count = (uint32_t)count};
    return python;
}

void reference_python_open(Job *job) {
    char folder[PATH_MAX];
    SbPython *python = collect(job->graph->arena, job->graph);
    if (!python->fn_count) return;
    const SbPythonFn *first = python->fns[0];
    if (python_find(first->name, first->callee, first->folder)) return;  // As the last table was.
    Text here = text_copy(job->graph->arena,
                          text_of(getcwd(folder, sizeof folder) ? folder : "."));
    PythonFault fault = {0};
    PythonFound found;
    python->folder = text_str(here);
    sb_python_room.open(python, &(PythonSetup){.interpreter = job->options.python, .threads = 1});
    if (sb_python_room.check(&found, &fault)) return;
    sb_python_room.close();
    job_fail(job, troubles[fault.kind], "%s", fault.text);
}

void reference_python_close(void) { sb_python_room.close(); }
