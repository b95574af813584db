// Calls of library functions, with the C signatures that stdlib/README.md fixes.
#include "codegen/reference/eval.h"
#include "codegen/reference/library.h"

#include "runtime/memory.h"
#include "stdlib/arrow.h"
#include "stdlib/text.h"

#include <ffi.h>
#include <string.h>

enum { ARGS_MAX = 16 };

// A pattern compiled once, by its node.
typedef struct Pattern {
    struct Pattern *next;
    const Expr     *expr;
    struct SbRegex      *regex;
} Pattern;

// What a call passes: values stay where they are until it returns.
typedef struct Frame {
    ffi_type *types[ARGS_MAX];
    void     *values[ARGS_MAX];
    unsigned  count;
} Frame;

static ffi_type *pair_members[] = {&ffi_type_uint64, &ffi_type_uint64, nullptr};
static ffi_type *view_members[] = {&ffi_type_pointer, &ffi_type_sint64, nullptr};

static void init_pairs(ffi_type *pair, ffi_type *view) {
    // A 128-bit integer travels as two words do, but stands aligned to 16 in memory.
    *pair =
        (ffi_type){.size = 16, .alignment = 16, .type = FFI_TYPE_STRUCT, .elements = pair_members};
    *view =
        (ffi_type){.size = 16, .alignment = 8, .type = FFI_TYPE_STRUCT, .elements = view_members};
}

static ffi_type *ffi_of(const Type *type, ffi_type *pair, ffi_type *view) {
    switch (type->kind) {
    case TYPE_BOOL: case TYPE_U8: return &ffi_type_uint8;
    case TYPE_I8: return &ffi_type_sint8;
    case TYPE_I16: return &ffi_type_sint16;
    case TYPE_I32: case TYPE_DATE: return &ffi_type_sint32;
    case TYPE_I64: case TYPE_TIMESTAMP: case TYPE_DURATION: return &ffi_type_sint64;
    case TYPE_U16: return &ffi_type_uint16;
    case TYPE_U32: return &ffi_type_uint32;
    case TYPE_U64: return &ffi_type_uint64;
    case TYPE_F32: return &ffi_type_float;
    case TYPE_F64: return &ffi_type_double;
    case TYPE_DECIMAL: return type->precision > DECIMAL_PRECISION_I64 ? pair : &ffi_type_sint64;
    case TYPE_STR: case TYPE_BYTES: case TYPE_JSON: case TYPE_LIST: case TYPE_TENSOR:
    case TYPE_MAP:
        return view;
    case TYPE_STRUCT: case TYPE_F16: case TYPE_BF16: case TYPE_NULL:
    case TYPE_ERROR: return &ffi_type_pointer;
    }
    return &ffi_type_pointer;
}

static void push(Frame *frame, ffi_type *type, void *value) {
    frame->types[frame->count] = type;
    frame->values[frame->count++] = value;
}

static void push_pointer(Eval *eval, Frame *frame, const void *pointer) {
    const void **cell = arena_new_of(eval->arena, const void *);
    *cell = pointer;
    push(frame, &ffi_type_pointer, cell);
}

static const struct SbRegex *regex_of(Eval *eval, const Expr *expr) {
    for (Pattern *pattern = eval->library; pattern; pattern = pattern->next) {
        if (pattern->expr == expr) return pattern->regex;
    }
    Pattern *pattern = arena_new_of(eval->arena, Pattern);
    *pattern = (Pattern){eval->library, expr, library_regex(expr->value.text)};
    eval->library = pattern;
    return pattern->regex;
}

void eval_call_close(Eval *eval) {
    for (Pattern *pattern = eval->library; pattern; pattern = pattern->next)
        library_regex_free(pattern->regex);
}

// A value in memory layout, with its flag where the type has one.
static void *in_memory(Eval *eval, const Type *type, const Value *value) {
    void *memory = arena_alloc(eval->arena, type_size(type) + SB_SLACK, 16);
    library_put(eval->arena, type, value, memory);
    return memory;
}

static int32_t push_argument(Eval *eval, Frame *frame, const Expr *expr, uint32_t i,
                             ffi_type extra[2]) {
    const Expr *arg = graph_at(eval->graph, expr->args[i]);
    if (arg->op == EXPR_REGEX) {
        const struct SbRegex *regex = regex_of(eval, arg);
        if (!regex) return SB_FAULT_BAD_ARGUMENT;
        push_pointer(eval, frame, regex);
        return SB_OK;
    }
    if (arg->op == EXPR_ZONE) {
        push_pointer(eval, frame, library_zone(arg->value.text));
        return SB_OK;
    }
    Value value;
    int32_t status = eval_expr(eval, expr->args[i], &value);
    if (status) return status;
    if (expr->fn->zones & 1u << i) {
        push_pointer(eval, frame, library_zone_at(value.i));
        return SB_OK;
    }
    if (expr->fn->pointers & 1u << i) {
        push_pointer(eval, frame, value.is_null ? nullptr : in_memory(eval, arg->type, &value));
        return SB_OK;
    }
    const Type *type = eval_type(eval, expr->args[i]);
    push(frame, ffi_of(type, &extra[0], &extra[1]), in_memory(eval, type, &value));
    return SB_OK;
}

// Calls `function`; a status as the function gives it, and its result in `memory`.
static int32_t call(Frame *frame, void (*function)(void), ffi_type *result, bool status_result,
                    void *memory) {
    ffi_cif cif;
    ffi_arg status = 0;
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, frame->count, result, frame->types) != FFI_OK)
        return SB_FAULT_BAD_ARGUMENT;
    ffi_call(&cif, function, status_result ? (void *)&status : memory, frame->values);
    return status_result ? (int32_t)status : SB_OK;
}

// What the function's own words for a fault say of the first two arguments.
static int32_t fault_with_words(Eval *eval, const Expr *expr, int32_t status) {
    SbStr args[2];
    for (int i = 0; i < 2; i++) {
        Value value;
        int32_t again = eval_expr(eval, expr->args[i], &value);
        if (again) return again;
        args[i] = (SbStr){value.text.at, (int64_t)value.text.len};
    }
    void *symbol = library_symbol(expr->fn->blames);
    SbStr (*blame)(SbCall *, int32_t, SbStr, SbStr);
    memcpy(&blame, &symbol, sizeof blame);
    SbStr said = blame(&eval->call, status, args[0], args[1]);
    return eval_fault(eval, status, text_copy(eval->arena, (Text){said.ptr, (size_t)said.len}));
}

static int32_t fault_of_call(Eval *eval, const Expr *expr, int32_t status) {
    const FnRef *fn = expr->fn;
    if (fn->blames.len) return fault_with_words(eval, expr, status);
    if (status == SB_FAULT_BAD_ARGUMENT && fn->domain.len)
        return eval_fault(eval, status, fn->domain);
    SbStr detail = eval->call.detail;
    Text text = detail.ptr ? text_copy(eval->arena, (Text){detail.ptr, (size_t)detail.len})
                           : (Text){0};
    return eval_fault(eval, status, text);
}

// A batch of one row: the struct of its arguments, and what the function is.
typedef struct BatchOfOne {
    SbBatchFn fn;
    SbType    row;
    char     *memory;
} BatchOfOne;

static int32_t gather_row(Eval *eval, const Expr *expr, BatchOfOne *one) {
    const FnRef *fn = expr->fn;
    SbField *fields = arena_new_array(eval->arena, SbField, expr->arg_count + 1);
    size_t size = 0;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        const Type *type = graph_at(eval->graph, expr->args[i])->type;
        fields[i] = (SbField){{fn->params[i].at, (int64_t)fn->params[i].len},
                              library_type(eval->arena, type), (int64_t)size};
        size += (type_size(type) + 15) & ~(size_t)15;
    }
    one->memory = arena_alloc(eval->arena, size + SB_SLACK, 16);
    one->row = (SbType){.kind = SB_STRUCT, .size = (uint32_t)size, .align = 16, .fields = fields,
                        .field_count = expr->arg_count};
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        Value value;
        int32_t status = eval_expr(eval, expr->args[i], &value);
        if (status) return status;
        library_put(eval->arena, graph_at(eval->graph, expr->args[i])->type, &value,
                    one->memory + fields[i].offset);
    }
    return SB_OK;
}

// The functions that make and end a state: extern_load has seen that they are there.
static void find_ends(Eval *eval, const FnRef *fn, SbBatchFn *batch) {
    FnRef init = *fn, close = *fn;
    init.symbol = text_format(eval->arena, "%.*s_init", TEXT_ARG(fn->symbol));
    close.symbol = text_format(eval->arena, "%.*s_close", TEXT_ARG(fn->symbol));
    void *symbols[] = {library_function(&init), library_function(&close)};
    memcpy(&batch->init, &symbols[0], sizeof batch->init);
    memcpy(&batch->close, &symbols[1], sizeof batch->close);
}

// With a state of its own.
static void run_batch(Eval *eval, BatchOfOne *one, SbBatchRows *results) {
    const void *rows[] = {one->memory};
    void *state = nullptr;
    SbStr words;
    if (one->fn.init && !sb_batch_init(&eval->call, &one->fn, &state, &words)) {
        sb_batch_refuse(&eval->call, countof(rows), SB_FAULT_EXTERN_SAID, words, results);
        return;
    }
    results->state = state;
    sb_batch_run(&eval->call, &one->fn, rows, countof(rows), results);
    if (one->fn.close) one->fn.close(state);
}

// How many rows are in a batch changes no result.
static int32_t call_batch(Eval *eval, const Expr *expr, Value *out) {
    const FnRef *fn = expr->fn;
    bool python = fn->traits & FN_PYTHON;
    void *symbol = python ? nullptr : library_function(fn);
    if (!symbol && !python) return eval_fault(eval, SB_FAULT_BAD_ARGUMENT, fn->name);
    BatchOfOne one = {.fn = {.name = {fn->name.at, (int64_t)fn->name.len}, .row = &one.row,
                             .result = library_type(eval->arena, expr->type),
                             .pure = !(fn->traits & FN_IMPURE),
                             .fallible = (fn->traits & FN_FALLIBLE) != 0}};
    memcpy(&one.fn.call, &symbol, sizeof one.fn.call);
    if (python) {
        one.fn.about = reference_python_fn(fn);
        one.fn.call = sb_python_call;
        one.fn.fallible = true;
    } else if (fn->traits & FN_STATE) {
        find_ends(eval, fn, &one.fn);
    }
    int32_t status = gather_row(eval, expr, &one);
    if (status) return status;
    SbBatchRows results = {0};
    run_batch(eval, &one, &results);
    if (!results.count) return eval_fault(eval, SB_FAULT_TOO_LARGE, (Text){0});
    status = results.statuses[0];
    eval->call.detail = results.details[0];
    if (status >= SB_FAULT_FIRST) return fault_of_call(eval, expr, status);
    *out = status == SB_NULL ? value_null()
                             : library_get(eval->arena, type_base(expr->type), results.values);
    sb_scratch_rewind(&eval->call);
    return SB_OK;
}

int32_t eval_call(Eval *eval, const Expr *expr, Value *out) {
    const FnRef *fn = expr->fn;
    if (fn->traits & FN_BATCH) return call_batch(eval, expr, out);
    ffi_type extra[2];
    init_pairs(&extra[0], &extra[1]);
    Frame frame = {0};
    void *symbol = library_function(fn);
    if (!symbol || expr->arg_count + 4 > ARGS_MAX)
        return eval_fault(eval, SB_FAULT_BAD_ARGUMENT, fn->name);
    if (fn->traits & FN_CALL) push_pointer(eval, &frame, &eval->call);
    uint64_t identity = eval->rows[0] ? eval->rows[0]->identity : 0;
    if (fn->traits & FN_RANDOM) push(&frame, &ffi_type_uint64, &identity);
    if (fn->traits & FN_TYPED) {
        const Type *first = graph_at(eval->graph, expr->args[0])->type;
        push_pointer(eval, &frame, library_type(eval->arena, first));
    }
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        int32_t status = push_argument(eval, &frame, expr, i, extra);
        if (status) return status;
    }
    const Type *type = type_base(expr->type);
    bool by_out = fn->traits & (FN_FALLIBLE | FN_MAYBE | FN_OUT);
    // libffi writes at least a register.
    void *memory = arena_alloc(eval->arena, type_size(type) + SB_SLACK, 16);
    if (by_out) push_pointer(eval, &frame, memory);
    eval->call.detail = (SbStr){0};
    ffi_type *result = by_out ? &ffi_type_sint32 : ffi_of(type, &extra[0], &extra[1]);
    void (*function)(void);
    memcpy(&function, &symbol, sizeof function);
    int32_t status = call(&frame, function, result, by_out, memory);
    if (status == SB_OK && fn_gives_text(fn, type)) {
        SbStr said;
        memcpy(&said, memory, sizeof said);
        status = sb_foreign_text(&eval->call, said.ptr, said.len);
    }
    if (status >= SB_FAULT_FIRST) return fault_of_call(eval, expr, status);
    *out = status == SB_NULL ? value_null() : library_get(eval->arena, type, memory);
    sb_scratch_rewind(&eval->call);
    return SB_OK;
}
