// Functions over batches: what the job says of the one that a stage calls.
#include "codegen/emit_stage.h"

// The operator of the stage that calls one, and the call; nullptr: there is none.
static const Op *find_call(const Emit *e, const Stage *stage, const Expr **call) {
    for (uint32_t i = 1; i < stage->op_count; i++) {
        const Op *op = graph_op_at(e->graph, stage->ops[i]);
        bool first = op->kind == OP_PROJECT && op->inputs[0].i == stage->root.i;
        const bool *used = e->plan->usage.columns[op->id.i];
        *call = first ? op_batch_call(e->graph, op, used) : nullptr;
        if (*call) return op;
    }
    return nullptr;
}

const Expr *stage_batch_call(const Emit *e, const Stage *stage) {
    const Expr *call = nullptr;
    find_call(e, stage, &call);
    return call;
}

// The arguments as a struct: columns of the edge's entries.
static Val row_type(Emit *e, const Breaker *edge, const Expr *call) {
    Val *fields = arena_new_array(e->arena, Val, call->arg_count + 1);
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const Slot *slot = &edge->slots[edge->slot_of[graph_at(e->graph, call->args[i])->index]];
        Parts field = {0};
        part_add_text(e, &field, offsetof(SbField, name), call->fn->params[i]);
        part_add(e, &field, offsetof(SbField, type), emit_sbtype(e, slot->type), 8);
        part_add(e, &field, offsetof(SbField, offset), emit_i64(e, (int64_t)slot->offset), 8);
        fields[i] = parts_struct(e, &field, sizeof(SbField));
    }
    Parts row = {0};
    part_add(e, &row, offsetof(SbType, kind), emit_int(e, e->i8, SB_STRUCT), 1);
    part_add(e, &row, offsetof(SbType, size), emit_i32(e, (uint32_t)edge->entry_bytes), 4);
    part_add(e, &row, offsetof(SbType, align), emit_i32(e, (uint32_t)edge->entry_align), 4);
    part_add(e, &row, offsetof(SbType, fields),
             emit_sequence(e, fields, call->arg_count, "args"), 8);
    part_add(e, &row, offsetof(SbType, field_count), emit_i32(e, call->arg_count), 4);
    return emit_global(e, parts_struct(e, &row, sizeof(SbType)), "row");
}

// Only its address counts.
static Val user_function(Emit *e, const FnRef *fn, const char *ending) {
    const char *name = text_c(e->arena, text_format(e->arena, SB_USER_PREFIX "%.*s%s",
                                                    TEXT_ARG(fn->symbol), ending));
    Val known = LLVMGetNamedFunction(e->module, name);
    if (known) return known;
    return LLVMAddFunction(e->module, name, LLVMFunctionType(e->type_void, nullptr, 0, false));
}

// A word that all stages share which call the function.
static Val states_of(Emit *e, const FnRef *fn) {
    const char *name = text_c(e->arena, text_format(e->arena, "sb_states_%.*s",
                                                    TEXT_ARG(fn->symbol)));
    Val known = LLVMGetNamedGlobal(e->module, name);
    if (known) return known;
    Val states = LLVMAddGlobal(e->module, e->ptr, name);
    LLVMSetInitializer(states, LLVMConstNull(e->ptr));
    LLVMSetLinkage(states, LLVMInternalLinkage);
    return states;
}

static bool same_fn(const FnRef *a, const FnRef *b) {
    return text_eq(a->name, b->name) && text_eq(a->symbol, b->symbol) && text_eq(a->file, b->file);
}

// What the job says of a Python function: once, however many stages call it.
static Val python_fn(Emit *e, const Expr *call, Val row) {
    const FnRef *fn = call->fn;
    for (size_t i = 0; i < e->python_count; i++)
        if (same_fn(e->python_refs[i], fn)) return e->python_fns[i];
    Parts parts = {0};
    part_add_text(e, &parts, offsetof(SbPythonFn, name), fn->name);
    part_add_text(e, &parts, offsetof(SbPythonFn, callee), fn->symbol);
    part_add_text(e, &parts, offsetof(SbPythonFn, folder), fn->file);
    part_add(e, &parts, offsetof(SbPythonFn, row), row, 8);
    part_add(e, &parts, offsetof(SbPythonFn, result), emit_sbtype(e, call->type), 8);
    const struct { size_t at; uint32_t trait; bool wanted; } flags[] = {
        {offsetof(SbPythonFn, by_rows), FN_ROWS, true},
        {offsetof(SbPythonFn, state), FN_STATE, true},
        {offsetof(SbPythonFn, alone), FN_ALONE, true},
        {offsetof(SbPythonFn, pure), FN_IMPURE, false},
    };
    for (size_t i = 0; i < countof(flags); i++)
        part_add(e, &parts, flags[i].at,
                 emit_int(e, e->i8, !(fn->traits & flags[i].trait) != flags[i].wanted), 1);
    Val made = emit_global(e, parts_struct(e, &parts, sizeof(SbPythonFn)), "python_fn");
    size_t count = e->python_count;
    arena_push(e->arena, e->python_refs, count, e->python_ref_cap, fn);
    arena_push(e->arena, e->python_fns, e->python_count, e->python_fn_cap, made);
    return made;
}

Val job_python(Emit *e) {
    if (!e->python_count) return LLVMConstNull(e->ptr);
    Val room = LLVMAddGlobal(e->module, e->i8, "sb_python_room");
    uint32_t count = (uint32_t)e->python_count;
    Parts parts = {0};
    part_add(e, &parts, offsetof(SbPython, room), room, 8);
    part_add(e, &parts, offsetof(SbPython, fns), emit_sequence(e, e->python_fns, count, "python"),
             8);
    part_add(e, &parts, offsetof(SbPython, fn_count), emit_i32(e, count), 4);
    part_add_text(e, &parts, offsetof(SbPython, folder), text_of(e->options->folder));
    return emit_global(e, parts_struct(e, &parts, sizeof(SbPython)), "sb_job_python");
}

static Val runtime_function(Emit *e, const char *name) {
    Val known = LLVMGetNamedFunction(e->module, name);
    if (known) return known;
    return LLVMAddFunction(e->module, name, LLVMFunctionType(e->type_void, nullptr, 0, false));
}

// The function itself, and what it has of its own.
static void callee_parts(Emit *e, Parts *parts, const Expr *call, Val row) {
    const FnRef *fn = call->fn;
    bool state = fn->traits & FN_STATE, alone = fn->traits & FN_ALONE;
    if (fn->traits & FN_PYTHON) {
        part_add(e, parts, offsetof(SbBatchFn, call), runtime_function(e, "sb_python_call"), 8);
        part_add(e, parts, offsetof(SbBatchFn, about), python_fn(e, call, row), 8);
        state = false;  // The process has it.
    } else {
        part_add(e, parts, offsetof(SbBatchFn, call), user_function(e, fn, ""), 8);
    }
    if (state) {
        part_add(e, parts, offsetof(SbBatchFn, init), user_function(e, fn, "_init"), 8);
        part_add(e, parts, offsetof(SbBatchFn, close), user_function(e, fn, "_close"), 8);
    }
    if (state || alone) part_add(e, parts, offsetof(SbBatchFn, states), states_of(e, fn), 8);
}

Val stage_batch(Emit *e, const Stage *stage) {
    const Expr *call;
    const Op *op = find_call(e, stage, &call);
    if (!op) return LLVMConstNull(e->ptr);
    const FnRef *fn = call->fn;
    bool pure = !(fn->traits & FN_IMPURE), alone = fn->traits & FN_ALONE;
    bool fallible = fn->traits & (FN_FALLIBLE | FN_PYTHON);
    Val row = row_type(e, &e->plan->breakers[stage->breaker], call);
    Parts parts = {0};
    part_add_text(e, &parts, offsetof(SbBatchFn, name), fn->name);
    callee_parts(e, &parts, call, row);
    part_add(e, &parts, offsetof(SbBatchFn, row), row, 8);
    part_add(e, &parts, offsetof(SbBatchFn, result), emit_sbtype(e, call->type), 8);
    part_add(e, &parts, offsetof(SbBatchFn, rows), emit_i64(e, stage->batch), 8);
    if (fn->traits & FN_PYTHON)
        part_add(e, &parts, offsetof(SbBatchFn, timeout),
                 emit_i64(e, e->graph->resources[op->resources.i].timeout), 8);
    part_add(e, &parts, offsetof(SbBatchFn, pure), emit_int(e, e->i8, pure), 1);
    part_add(e, &parts, offsetof(SbBatchFn, fallible), emit_int(e, e->i8, fallible), 1);
    part_add(e, &parts, offsetof(SbBatchFn, alone), emit_int(e, e->i8, alone), 1);
    return emit_global(e, parts_struct(e, &parts, sizeof(SbBatchFn)), "batch_fn");
}
