// Calls of library and extern functions by the convention of stdlib/README.md.
#include "codegen/emit_row.h"

enum { ARGS_MAX = 12 };

static Arg by_value(Emit *e, const Type *type, Value value) {
    (void)e;
    if (type_is_bytes(type) || type_is_sequence(type)) return arg_pair(value.a, value.b);
    return (Arg){.a = value.a, .is_signed = type_is_signed(type)};
}

// T? and null: a pointer to the value, or null.
static Arg by_pointer(Emit *e, const Type *type, Value value, bool typed) {
    if (!type->nullable || typed) return arg(emit_value_address(e, type, value));
    const Type *base = type_base(type);
    Value present = value;
    present.valid = nullptr;
    Val address = emit_value_address(e, base, present);
    return arg(LLVMBuildSelect(e->b, value.valid, address, LLVMConstNull(e->ptr), ""));
}

// A constant text after a pattern may replace what the pattern finds.
static Val pattern_arg(Emit *e, const Expr *x, uint32_t i) {
    const Expr *next = i + 1 < x->arg_count ? graph_at(e->graph, x->args[i + 1]) : nullptr;
    const bool constant = next && next->op == EXPR_CONST && next->type->kind == TYPE_STR &&
                          !next->type->nullable;
    const Text pattern = graph_at(e->graph, x->args[i])->value.text;
    return emit_regex(e, pattern, constant ? &next->value.text : nullptr);
}

static Arg function_arg(Emit *e, Frame *frame, const Expr *x, uint32_t i) {
    const Expr *node = graph_at(e->graph, x->args[i]);
    if (node->op == EXPR_REGEX) return arg(pattern_arg(e, x, i));
    if (node->op == EXPR_ZONE) return arg(emit_zone(e, node->value.text));
    Value value = emit_expr(e, frame, x->args[i]);
    if (x->fn->zones >> i & 1) return arg(emit_callv(e, "sb_zone_at", e->ptr, arg(value.a)));
    bool pointer = x->fn->pointers >> i & 1;
    return pointer ? by_pointer(e, node->type, value, (x->fn->traits & FN_TYPED) != 0)
                   : by_value(e, node->type, value);
}

// What the fault says: the text that the function names or, of the arguments, what they may be.
static Detail detail_of(Emit *e, Val status, bool tells, Text domain) {
    Detail detail = {0};
    Val context = emit_call_context(e);
    if (tells) {
        detail.ptr = emit_load_at(e, e->ptr, context, offsetof(SbCall, detail), "");
        detail.len = emit_load_at(e, e->i64, context, offsetof(SbCall, detail) + 8, "");
    }
    if (!domain.len) return detail;
    if (!tells) detail = (Detail){LLVMConstNull(e->ptr), emit_i64(e, 0)};
    Detail says = {emit_bytes(e, domain, "domain"), emit_i64(e, (int64_t)domain.len)};
    Val of_domain = LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, SB_FAULT_BAD_ARGUMENT), "");
    return (Detail){LLVMBuildSelect(e->b, of_domain, says.ptr, detail.ptr, ""),
                    LLVMBuildSelect(e->b, of_domain, says.len, detail.len, "")};
}

// The function that words the fault is called where the row is lost already, if it is to be told.
static void fault_with_words(Emit *e, Frame *frame, const StatusCall *call, Val fault, Val status) {
    Block lost = emit_block(e, "blame"), go_on = emit_block(e, "");
    emit_branch_likely(e, LLVMBuildNot(e->b, fault, ""), go_on, lost);
    emit_at(e, lost);
    const char *blames = text_c(e->arena, call->blames);
    Val words = emit_callv(e, blames, e->str_pair, arg(emit_call_context(e)), arg(status),
                           call->args[0], call->args[1]);
    emit_cold(e, words);
    Detail detail = {LLVMBuildExtractValue(e->b, words, 0, ""),
                     LLVMBuildExtractValue(e->b, words, 1, "")};
    emit_fault_if(e, frame, call->span, emit_i1(e, true), status, detail);
    LLVMBuildUnreachable(e->b);
    emit_at(e, go_on);
}

// What a function leaves there where it gives no value. Else each row would hand on what the row
// before has left, all along the loop, for every call of the stage.
static void clear_slot(Emit *e, Val slot, size_t bytes) {
    enum { WORD = 8, WORDS_MAX = 2 };
    if (bytes > WORDS_MAX * WORD) return;
    for (size_t at = 0; at < bytes; at += WORD) {
        size_t left = bytes - at < WORD ? bytes - at : WORD;
        Ty type = LLVMIntTypeInContext(e->ctx, (unsigned)left * 8);
        emit_store_at(e, LLVMConstNull(type), slot, at);
    }
}

// ---- foreign code -------------------------------------------------------------------------------

// Calls `symbol` where somebody watches foreign code; else the status is SB_OK.
static Val guard_status(Emit *e, Val watched, const char *symbol, const Arg *args, unsigned count) {
    Block watch = emit_block(e, "guard"), go_on = emit_block(e, ""), from = emit_here(e);
    emit_branch_likely(e, LLVMBuildNot(e->b, watched, ""), go_on, watch);
    emit_at(e, watch);
    Val said = emit_call(e, symbol, e->i32, args, count);
    Block there = emit_here(e);
    emit_jump(e, go_on);
    emit_at(e, go_on);
    Val status = emit_phi(e, e->i32, "guarded");
    emit_phi_add(status, emit_i32(e, SB_OK), from);
    emit_phi_add(status, said, there);
    return status;
}

static void fault_of_guard(Emit *e, Frame *frame, Span span, Val status) {
    Val bad = LLVMBuildICmp(e->b, LLVMIntNE, status, emit_i32(e, SB_OK), "");
    emit_fault_if(e, frame, span, bad, status, detail_of(e, status, true, (Text){0}));
}

// Only calls of stages are watched: what a job computes before it begins is no row. Rows of a
// breaker have their identity if something after its step asks for it.
static bool is_guarded(const Emit *e, Frame *frame, const FnRef *fn) {
    if (!fn_is_foreign(fn) || !e->stage || !emit_faults(e) || e->lanes) return false;
    const Breaker *from = frame_root(frame)->breaker;
    return !from || from->identity_offset != SIZE_MAX;
}

// What the call is known by when it ends its process: its place in the program, and the identity
// of the row. Gives whether somebody watches.
static Val guard_begin(Emit *e, Frame *frame, const Expr *x) {
    Site site = {.step = frame->step.i, .span = x->span, .fails = e->faults_fail};
    Val guard = emit_load_at(e, e->ptr, emit_call_context(e), offsetof(SbCall, guard), "");
    Val watched = LLVMBuildICmp(e->b, LLVMIntNE, guard, LLVMConstNull(e->ptr), "");
    Arg args[] = {arg_context(e), arg(emit_i32(e, emit_site(e, site))),
                  arg(frame_identity(e, frame)),
                  arg(emit_i32(e, !(x->fn->traits & FN_IMPURE)))};
    Val status = guard_status(e, watched, "sb_guard_begin", args, countof(args));
    fault_of_guard(e, frame, x->span, status);
    return watched;
}

static void guard_end(Emit *e, Frame *frame, Span span, Val watched) {
    Arg args[] = {arg_context(e)};
    fault_of_guard(e, frame, span, guard_status(e, watched, "sb_guard_end", args, countof(args)));
}

// ---- calls --------------------------------------------------------------------------------------

Value emit_status_call(Emit *e, Frame *frame, const StatusCall *call) {
    const Type *type = call->type, *base = type_base(type);
    unsigned count = call->count;
    Arg all[ARGS_MAX];
    for (unsigned i = 0; i < count; i++) all[i] = call->args[i];
    Val slot = emit_alloca(e, LLVMArrayType2(e->i8, type_size(base)), "out");
    all[count] = arg(slot);
    bool tells = count > 0 && all[0].is_context;
    if (tells)
        emit_store_at(e, LLVMConstNull(e->ptr), emit_call_context(e), offsetof(SbCall, detail));
    bool in_slot = base->kind == TYPE_STRUCT;  // Its value is the address, of null too.
    if (!in_slot) clear_slot(e, slot, type_size(base));
    if (in_slot && type->nullable)
        emit_store(e, LLVMConstNull(LLVMArrayType2(e->i8, type_size(base))), slot);
    Val status = emit_call(e, call->symbol, e->i32, all, count + 1);
    if (call->watched) guard_end(e, frame, call->span, call->watched);
    Value value = {0};
    Val is_null = LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, SB_NULL), "");
    Val fault = LLVMBuildICmp(e->b, LLVMIntUGT, status, emit_i32(e, SB_NULL), "");
    bool told = !e->lanes && !emit_faults(e)->silent;
    if (call->blames.len && told) fault_with_words(e, frame, call, fault, status);
    else
        emit_fault_if(e, frame, call->span, fault, status,
                      detail_of(e, status, tells, call->domain));
    value = emit_load_value(e, base, slot);
    if (!type->nullable) return value;
    value.valid = LLVMBuildNot(e->b, is_null, "");
    if (in_slot) return value;
    // Of no value: defined registers, so that what is copied on is the same everywhere.
    value.a = LLVMBuildSelect(e->b, is_null, LLVMConstNull(LLVMTypeOf(value.a)), value.a, "");
    if (value.b) value.b = LLVMBuildSelect(e->b, is_null, emit_i64(e, 0), value.b, "");
    return value;
}

// The result is there already, among those of the batch (emit_entries.c).
static Value batch_result(Emit *e, Frame *frame, const Expr *x) {
    Arg args[] = {arg_context(e), arg(frame_root(frame)->number)};
    StatusCall call = {.span = x->span, .symbol = "sb_batch_row", .args = args,
                       .count = countof(args), .type = x->type};
    return emit_status_call(e, frame, &call);
}

static Value call_function(Emit *e, Frame *frame, const Expr *x) {
    const FnRef *fn = x->fn;
    const char *prefix = fn->traits & FN_EXTERN ? SB_USER_PREFIX : "";
    const char *symbol = text_c(e->arena, text_format(e->arena, "%s%.*s", prefix,
                                                      TEXT_ARG(fn->symbol)));
    const Type *base = type_base(x->type);
    Arg args[ARGS_MAX];
    unsigned count = 0;
    if (fn->traits & FN_CALL) args[count++] = arg_context(e);
    if (fn->traits & FN_RANDOM) args[count++] = arg(frame_identity(e, frame));
    if (fn->traits & FN_TYPED)
        args[count++] = arg(emit_sbtype(e, graph_at(e->graph, x->args[0])->type));
    for (uint32_t i = 0; i < x->arg_count; i++) args[count++] = function_arg(e, frame, x, i);
    Val watched = is_guarded(e, frame, fn) ? guard_begin(e, frame, x) : nullptr;
    StatusCall call = {.span = x->span, .symbol = symbol, .args = args, .count = count,
                       .type = x->type, .domain = fn->domain, .blames = fn->blames,
                       .watched = watched};
    if (fn->traits & (FN_FALLIBLE | FN_MAYBE | FN_OUT) || base->kind == TYPE_STRUCT)
        return emit_status_call(e, frame, &call);
    bool pair = type_is_bytes(base) || type_is_sequence(base);
    Val result = emit_call(e, symbol, pair ? e->str_pair : emit_type(e, base), args, count);
    if (watched) guard_end(e, frame, x->span, watched);
    if (pair)
        return (Value){LLVMBuildExtractValue(e->b, result, 0, ""),
                       LLVMBuildExtractValue(e->b, result, 1, ""), 0};
    return (Value){.a = e->lanes ? emit_hot(e, result) : result};
}

// Null has no text: (nullptr, 0).
static void judge_text(Emit *e, Frame *frame, const Expr *x, Value value) {
    Arg args[] = {arg_context(e), arg_pair(value.a, value.b)};
    Val status = emit_call(e, "sb_foreign_text", e->i32, args, countof(args));
    fault_of_guard(e, frame, x->span, status);
}

Value emit_function(Emit *e, Frame *frame, const Expr *x) {
    if (x->fn->traits & FN_BATCH) return batch_result(e, frame, x);
    Value value = call_function(e, frame, x);
    if (fn_gives_text(x->fn, x->type)) judge_text(e, frame, x, value);
    return value;
}
