// fn and extern fn. A fn is inlined at its calls: arguments are bound once, as nodes of the graph.
#include "frontend/checker.h"

#include <string.h>

// ---- instances ----------------------------------------------------------------------------------

// The body over the given arguments. Equal arguments give the same node as before.
static Value instantiate(Checker *checker, const Scope *outer, FnDecl *fn, const Value *args) {
    uint32_t count = fn->stmt->param_count;
    for (FnInstance *old = fn->instances; old; old = old->next) {
        bool same = old->graph == checker->graph;
        for (uint32_t i = 0; i < count && same; i++) same = expr_same(old->args[i], args[i].id);
        if (same) return old->result;
    }
    Scope scope = {.kind = SCOPE_FN, .no_row = outer->no_row, .has_place = outer->has_place,
                   .lost_place = outer->lost_place};
    FnInstance *instance = arena_new_of(checker->arena, FnInstance);
    instance->graph = checker->graph;
    instance->args = arena_new_array(checker->arena, ExprId, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        scope_bind(checker, &scope, fn->stmt->params[i].name.text, args[i]);
        instance->args[i] = args[i].id;
    }
    checker->quiet++;
    Value result = check_expr(checker, &scope, fn->stmt->value, fn->result);
    result = coerce(checker, result, fn->result, fn->stmt->value->span);
    checker->quiet--;
    instance->result = result;
    instance->next = fn->instances;
    fn->instances = instance;
    return result;
}

static void recursion(Checker *checker, FnDecl *fn, Span span) {
    Diag *diag = report(checker, DIAG_RECURSIVE_FN, span, "fn '%.*s' calls itself",
                        TEXT_ARG(fn->stmt->name.text));
    report_label(checker, diag, span, "functions are inlined, so this would never end");
    report_fix(checker, diag, "write it without recursion, or as an `extern fn`");
}

static bool fn_arguments(Checker *checker, Scope *scope, FnDecl *fn, const AstExpr *call,
                         Value *args) {
    uint32_t count = fn->stmt->param_count;
    bool good = true;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const AstArg *arg = &call->args[i];
        const Type *want = i < count ? fn->params[i] : nullptr;
        Value value = want ? check_as(checker, scope, arg->value, want)
                           : check_expr(checker, scope, arg->value, nullptr);
        good &= !is_error(value.type);
        if (want) args[i] = value;
        if (!arg->name.text.len) continue;
        Diag *diag = report(checker, DIAG_NAMED_ARGUMENT, arg->name.span,
                            "'%.*s' takes no named arguments", TEXT_ARG(call->name.text));
        report_label(checker, diag, arg->name.span, "a name");
        report_fix(checker, diag, "drop '%.*s ='; arguments go by place", TEXT_ARG(arg->name.text));
        good = false;
    }
    if (call->arg_count == count) return good;
    Diag *diag = report(checker, DIAG_ARGUMENT_COUNT, call->span,
                        "'%.*s' takes %u argument%s, not %u",
                        TEXT_ARG(call->name.text), count, count == 1 ? "" : "s", call->arg_count);
    report_label(checker, diag, call->span, "%u here", call->arg_count);
    report_label(checker, diag, fn->stmt->name.span, "declared here");
    report_fix(checker, diag, "pass %u argument%s", count, count == 1 ? "" : "s");
    return false;
}

Value call_fn(Checker *checker, Scope *scope, FnDecl *fn, const AstExpr *call) {
    fn->used = true;
    if (fn->state == STATE_BUSY) {
        recursion(checker, fn, call->span);
        return error_value(checker);
    }
    check_fn(checker, fn);
    if (fn->stmt->lost.end) return error_value(checker);  // Of how many arguments, of which types?
    Value *args = arena_new_array(checker->arena, Value, fn->stmt->param_count + 1);
    bool good = fn_arguments(checker, scope, fn, call, args);
    if (!good || !fn->result || is_error(fn->result)) return error_value(checker);
    if (fn->ref) {
        ExprId *ids = arena_new_array(checker->arena, ExprId, fn->stmt->param_count + 1);
        for (uint32_t i = 0; i < fn->stmt->param_count; i++) ids[i] = args[i].id;
        Expr payload = {.op = EXPR_CALL, .type = fn->result, .span = call->span, .fn = fn->ref};
        return (Value){graph_expr(checker->graph, payload, ids, fn->stmt->param_count), fn->result};
    }
    Value result = instantiate(checker, scope, fn, args);
    if (!is_error(result.type)) return result;
    Diag *diag = report(checker, DIAG_NO_ROW, call->span, "'%.*s' needs a row of a file",
                        TEXT_ARG(call->name.text));
    report_label(checker, diag, call->span, "it asks for the row's place or for a random number");
    report_fix(checker, diag, "call it in a `derive` step directly after the `read`");
    return error_value(checker);
}

// ---- declarations -------------------------------------------------------------------------------

static void resolve_params(Checker *checker, FnDecl *fn) {
    const AstStmt *stmt = fn->stmt;
    fn->params = arena_new_array(checker->arena, const Type *, stmt->param_count + 1);
    for (uint32_t i = 0; i < stmt->param_count; i++) {
        const AstParam *param = &stmt->params[i];
        fn->params[i] = resolve_type(checker, param->type);
        for (uint32_t j = 0; j < i; j++) {
            if (!text_eq(stmt->params[j].name.text, param->name.text)) continue;
            Diag *diag = report(checker, DIAG_DUPLICATE_NAME, param->name.span,
                                "parameter '%.*s' stands twice", TEXT_ARG(param->name.text));
            report_label(checker, diag, param->name.span, "the second one");
            report_fix(checker, diag, "rename one of them");
        }
    }
}

// Checks the body once, over stand-ins for the arguments, in a graph that nobody keeps.
static void check_body(Checker *checker, FnDecl *fn) {
    const AstStmt *stmt = fn->stmt;
    Graph *graph = checker->graph;
    checker->graph = graph_new(checker->arena, checker->types);
    Scope scope = {.kind = SCOPE_FN, .has_place = true};
    for (uint32_t i = 0; i < stmt->param_count; i++) {
        const Type *type = fn->params[i];
        Value value = error_value(checker);
        if (!is_error(type))
            value = (Value){graph_column(checker->graph, 0, i, type, stmt->params[i].name.span),
                            type};
        scope_bind(checker, &scope, stmt->params[i].name.text, value);
    }
    const Type *want = stmt->type ? resolve_type(checker, stmt->type) : nullptr;
    Value body = check_expr(checker, &scope, stmt->value, want);
    if (want) body = coerce(checker, body, want, stmt->value ? stmt->value->span : stmt->span);
    if (is_null(body.type)) {
        Diag *diag = report(checker, DIAG_NULL_TYPE, stmt->value->span, "null of which type?");
        report_label(checker, diag, stmt->value->span, "nothing says the type of this fn");
        report_fix(checker, diag, "write the type: fn %.*s(...) -> i64? = null",
                   TEXT_ARG(stmt->name.text));
        body = error_value(checker);
    }
    fn->result = is_error(body.type) && want && !is_error(want) ? error_type(checker) : body.type;
    checker->graph = graph;
}

// What a function takes and gives: by value in C, in arrays of Arrow, or in Python.
typedef enum Carrier { BY_VALUE, BY_ARROW, BY_PYTHON } Carrier;

// By value go no decimals, lists, tensors and structs. Arrow has a code for f16, and Python no
// arrays of it.
static bool is_carried(const Type *type, Carrier by) {
    const Type *base = type_base(type);
    if (is_error(base)) return true;
    if (type_is_half(base)) return base->kind == TYPE_F16 && by == BY_ARROW;
    if (by == BY_VALUE) return base->kind <= TYPE_DURATION && base->kind != TYPE_DECIMAL;
    if (base->kind == TYPE_LIST || base->kind == TYPE_MAP || base->kind == TYPE_TENSOR)
        return is_carried(base->elem, by);
    for (uint32_t i = 0; base->kind == TYPE_STRUCT && i < base->field_count; i++)
        if (!is_carried(base->fields[i].type, by)) return false;
    return base->kind <= TYPE_STRUCT;
}

static bool extern_type(Checker *checker, const AstStmt *stmt, const Type *type,
                        const AstType *written) {
    Carrier by = stmt->python ? BY_PYTHON : stmt->per_batch ? BY_ARROW : BY_VALUE;
    bool fine = is_carried(type, by);
    if (fine || !written) return fine;
    Diag *diag = report(checker, DIAG_EXTERN_TYPE, written->span,
                        "an extern fn cannot take or give %s",
                        type_say(checker, type));
    report_label(checker, diag, written->span, "%s", type_say(checker, type));
    if (type_is_half(type_base(type)))
        report_fix(checker, diag, "take f32, which every value fits, and convert the result");
    else
        report_fix(checker, diag, by != BY_VALUE ? "pass values of other types"
                                  : "pass a scalar, or text: str; or add `batch`");
    return false;
}

// NAME ("." NAME)*: the bytes of `text` up to what is none.
static size_t dotted_len(Text text) {
    size_t at = 0;
    for (bool first = true; at < text.len; at++) {
        unsigned char c = (unsigned char)text.at[at];
        bool letter = c == '_' || c >= 0x80 || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (c == '.' && !first) {
            first = true;
            continue;
        }
        if (!letter && (first || c < '0' || c > '9')) break;
        first = false;
    }
    return at && text.at[at - 1] == '.' ? at - 1 : at;
}

// What the text was meant to be, if that can be guessed: "MODULE:FUNCTION".
static Text python_meant(Checker *checker, Text text, Text fn) {
    size_t colon = 0;
    while (colon < text.len && text.at[colon] != ':') colon++;
    Text module = {text.at, colon};
    Text rest = colon < text.len ? (Text){text.at + colon + 1, text.len - colon - 1} : fn;
    if (text_ends(module, ".py")) module.len -= 3;
    else if (colon == text.len && dotted_len(text) == text.len) {
        size_t dot = text.len;
        while (dot && text.at[dot - 1] != '.') dot--;
        if (dot) {
            module.len = dot - 1;
            rest = (Text){text.at + dot, text.len - dot};
        }
    }
    bool good = module.len && dotted_len(module) == module.len && rest.len &&
                dotted_len(rest) == rest.len;
    return good ? text_format(checker->arena, "%.*s:%.*s", TEXT_ARG(module), TEXT_ARG(rest))
                : (Text){0};
}

// Whether there is such a function is judged when the job begins.
static bool extern_python(Checker *checker, const AstStmt *stmt) {
    Text text = stmt->from;
    size_t module = dotted_len(text);
    bool colon = module && module < text.len && text.at[module] == ':';
    Text callee = colon ? (Text){text.at + module + 1, text.len - module - 1} : (Text){0};
    if (!stmt->from_span.end || (callee.len && dotted_len(callee) == callee.len)) return true;
    Diag *diag = report(checker, DIAG_EXTERN_PYTHON, stmt->from_span,
                        "'%.*s' names no function of a Python module", TEXT_ARG(text));
    report_label(checker, diag, stmt->from_span, "it is no \"module:function\"");
    Text meant = python_meant(checker, text, stmt->name.text);
    report_fix(checker, diag, meant.len ? "write \"%.*s\"" : "write \"MODULE:FUNCTION\"%.*s",
               TEXT_ARG(meant));
    return false;
}

// Whether the file is there is judged when it is compiled.
static bool extern_file(Checker *checker, const AstStmt *stmt) {
    if (stmt->python) return extern_python(checker, stmt);
    if (!stmt->from.len || text_ends(stmt->from, ".c")) return true;
    Diag *diag = report(checker, DIAG_EXTERN_REFUSED, stmt->from_span, "'%.*s' is no C file",
                        TEXT_ARG(stmt->from));
    report_label(checker, diag, stmt->from_span, "its name does not end in .c");
    if (text_ends(stmt->from, ".py"))
        report_fix(checker, diag, "a module of Python: from python \"%.*s:%.*s\"",
                   (int)(stmt->from.len - 3), stmt->from.at, TEXT_ARG(stmt->name.text));
    else
        report_fix(checker, diag, "name the C file that defines '%.*s': from \"FILE.c\"",
                   TEXT_ARG(stmt->name.text));
    return false;
}

// A call for one row is too short to find a state for it, or to wait for its turn.
static bool goes_with_batch(Checker *checker, const AstStmt *stmt) {
    if (stmt->per_batch || stmt->python || !(stmt->state || stmt->alone)) return true;
    const char *word = stmt->state ? "state" : "alone";
    Diag *diag = report(checker, DIAG_BATCH_ONLY, stmt->name.span,
                        "`%s` is a word for functions over batches", word);
    report_label(checker, diag, stmt->name.span, "it is called row by row");
    report_fix(checker, diag, "add `batch`, or drop `%s`", word);
    return false;
}

static void add_extern(Checker *checker, const FnDecl *fn) {
    const AstStmt *stmt = fn->stmt;
    Program *program = checker->program;
    Field *params = arena_new_array(checker->arena, Field, stmt->param_count + 1);
    for (uint32_t i = 0; i < stmt->param_count; i++)
        params[i] = (Field){stmt->params[i].name.text, fn->params[i]};
    ExternFn made = {fn->ref, params, stmt->param_count, fn->result, stmt->name.span,
                     stmt->from_span};
    arena_push(checker->arena, program->externs, program->extern_count, program->extern_cap, made);
}

// A batch has a column for each parameter, of its name.
static void name_params(Checker *checker, const AstStmt *stmt, FnRef *ref) {
    ref->traits |= FN_BATCH;
    if (stmt->python) ref->traits |= stmt->per_batch ? FN_PYTHON : FN_PYTHON | FN_ROWS;
    if (stmt->state) ref->traits |= FN_STATE;
    if (stmt->alone) ref->traits |= FN_ALONE;
    ref->params = arena_new_array(checker->arena, Text, stmt->param_count + 1);
    ref->param_count = stmt->param_count;
    for (uint32_t i = 0; i < stmt->param_count; i++) ref->params[i] = stmt->params[i].name.text;
}

static void check_extern(Checker *checker, FnDecl *fn) {
    const AstStmt *stmt = fn->stmt;
    fn->result = resolve_type(checker, stmt->type);
    bool good = extern_file(checker, stmt);
    good &= extern_type(checker, stmt, fn->result, stmt->type);
    for (uint32_t i = 0; i < stmt->param_count; i++)
        good &= extern_type(checker, stmt, fn->params[i], stmt->params[i].type);
    good &= goes_with_batch(checker, stmt);
    FnRef *ref = arena_new_of(checker->arena, FnRef);
    *ref = (FnRef){.name = stmt->name.text, .symbol = stmt->name.text, .traits = FN_EXTERN};
    if (stmt->impure) ref->traits |= FN_IMPURE;
    if (stmt->fallible) ref->traits |= FN_FALLIBLE;
    if (fn->result->nullable) ref->traits |= FN_MAYBE;
    if (stmt->python) ref->symbol = stmt->from;
    ref->file = path_beside(checker, stmt->span.file, stmt->python ? TEXT("") : stmt->from);
    for (uint32_t i = 0; i < stmt->param_count; i++)
        if (fn->params[i]->nullable) ref->pointers |= 1u << i;
    if (stmt->per_batch || stmt->python) name_params(checker, stmt, ref);
    fn->ref = ref;
    if (good) add_extern(checker, fn);
    else fn->result = error_type(checker);
}

void check_fn(Checker *checker, FnDecl *fn) {
    if (fn->state != STATE_NEW) return;
    fn->state = STATE_BUSY;
    resolve_params(checker, fn);
    uint32_t quiet = checker->quiet, depth = checker->depth;
    checker->quiet = 0;  // The body is judged once, whoever asks first.
    checker->depth = 0;
    if (fn->stmt->kind == AST_EXTERN) check_extern(checker, fn);
    else check_body(checker, fn);
    checker->quiet = quiet;
    checker->depth = depth;
    fn->state = STATE_DONE;
}

void declare_fns(Checker *checker) {
    for (size_t i = 0; i < checker->fn_count; i++) check_fn(checker, &checker->fns[i]);
}
