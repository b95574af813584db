// Functions over lists that take a lambda (lambdas.def): the lambda becomes a region of nodes over
// the columns of the row and over locals, one for each of its parameters.
#include "frontend/checker.h"

const LambdaFn lambda_functions[LAMBDA_FN_COUNT] = {
#define LAMBDA(op, name, args, params, signature, doc, example) \
    {EXPR_##op, name, args, params, signature, doc, example},
#include "frontend/lambdas.def"
};

size_t lambda_function_names(Text *names) {
    for (size_t i = 0; i < LAMBDA_FN_COUNT; i++) names[i] = text_of(lambda_functions[i].name);
    return LAMBDA_FN_COUNT;
}

static const LambdaFn *find_lambda_fn(Text name) {
    for (size_t i = 0; i < LAMBDA_FN_COUNT; i++)
        if (text_is(name, lambda_functions[i].name)) return &lambda_functions[i];
    return nullptr;
}

bool takes_lambda(const AstExpr *call) {
    bool lambda = false;
    for (uint32_t i = 0; i < call->arg_count; i++)
        lambda |= call->args[i].value && call->args[i].value->kind == AST_LAMBDA;
    const LambdaFn *fn = find_lambda_fn(call->name.text);
    // any(mask) and sort(xs) are other functions.
    bool only = !is_tensor_function(call->name.text) && fn && fn->op != EXPR_CALL;
    return fn && (lambda || only);
}

Value misplaced_lambda(Checker *checker, const AstExpr *lambda) {
    Diag *diag = report(checker, DIAG_LAMBDA_PLACE, lambda->span, "a lambda is no value");
    report_label(checker, diag, lambda->span, "nothing here calls it");
    report_fix(checker, diag,
               "pass it to map, filter, any, all, reduce, sort or distinct; or declare a fn");
    return error_value(checker);
}

// ---- the call -----------------------------------------------------------------------------------

typedef struct LambdaCall {
    Checker        *checker;
    Scope          *scope;
    const AstExpr  *call, *lambda;
    const LambdaFn *fn;
} LambdaCall;

static const AstExpr *argument(const LambdaCall *call, uint32_t i) {
    return call->call->args[i].value;
}

static bool no_names(const LambdaCall *call) {
    bool good = true;
    for (uint32_t i = 0; i < call->call->arg_count; i++) {
        Name name = call->call->args[i].name;
        if (!name.text.len) continue;
        Diag *diag = report(call->checker, DIAG_NAMED_ARGUMENT, name.span,
                            "'%s' takes no named arguments", call->fn->name);
        report_label(call->checker, diag, name.span, "a name");
        report_fix(call->checker, diag, "drop '%.*s ='; arguments go by place",
                   TEXT_ARG(name.text));
        good = false;
    }
    return good;
}

static bool right_count(const LambdaCall *call) {
    uint32_t count = call->call->arg_count;
    if (count == call->fn->args) return true;
    Span span = call->call->span;
    Diag *diag = report(call->checker, DIAG_ARGUMENT_COUNT, span, "'%s' takes %u arguments, not %u",
                        call->fn->name, call->fn->args, count);
    report_label(call->checker, diag, span, "%u here", count);
    report_fix(call->checker, diag, "call it as %s", call->fn->signature);
    return false;
}

// The lambda stands last and has as many parameters as the function gives values.
static bool right_lambda(const LambdaCall *call) {
    const AstExpr *last = argument(call, call->fn->args - 1);
    bool is_lambda = last->kind == AST_LAMBDA;
    uint32_t count = is_lambda ? last->param_count : 0;
    if (is_lambda && count == call->fn->params) return true;
    Checker *checker = call->checker;
    Diag *diag;
    if (is_lambda) {
        diag = report(checker, DIAG_LAMBDA_FORM, last->span,
                      "the lambda of '%s' takes %u parameter%s, not %u", call->fn->name,
                      call->fn->params, call->fn->params == 1 ? "" : "s", count);
        report_label(checker, diag, last->span, "%u here", count);
    } else {
        diag = report(checker, DIAG_LAMBDA_FORM, last->span, "'%s' takes a lambda here",
                      call->fn->name);
        report_label(checker, diag, last->span, "this is a value");
    }
    report_fix(checker, diag, "call it as %s", call->fn->signature);
    return false;
}

// A list that is not null; an error: reported.
static Value list_argument(const LambdaCall *call, const Type *want) {
    Checker *checker = call->checker;
    const AstExpr *written = argument(call, 0);
    Value list = check_expr(checker, call->scope, written, want);
    if (is_error(list.type)) return list;
    const Type *base = type_base(list.type);
    if (base->kind == TYPE_LIST) return coerce(checker, list, base, written->span);
    Diag *diag = report(checker, DIAG_NOT_LIST, written->span, "'%s' takes a list, not %s",
                        call->fn->name, type_say(checker, list.type));
    report_label(checker, diag, written->span, "%s", type_say(checker, list.type));
    if (is_tensor(list.type))
        report_fix(checker, diag, "operators and functions of numbers take tensors as they are");
    else if (base->kind == TYPE_MAP)
        report_fix(checker, diag, "take its entries: entries(...)");
    else if (base->kind == TYPE_JSON)
        report_fix(checker, diag, "take its elements: json_items(...)");
    else if (base->kind == TYPE_STR)
        report_fix(checker, diag, "make a list of it: split(..., \",\")");
    else report_fix(checker, diag, "pass a list");
    return error_value(checker);
}

// ---- the lambda ---------------------------------------------------------------------------------

// What the name of a parameter would hide; null: nothing.
static const char *hidden_by(const LambdaCall *call, uint32_t i) {
    Text name = call->lambda->params[i].text;
    for (uint32_t j = 0; j < i; j++)
        if (text_eq(call->lambda->params[j].text, name)) return "another parameter of the lambda";
    const Binding *there = scope_find(call->scope, name);
    if (there)
        return !expr_is_none(there->value.id) &&
                       graph_at(call->checker->graph, there->value.id)->op == EXPR_LOCAL
                   ? "a parameter of a lambda around it"
                   : call->scope->kind == SCOPE_FN ? "a parameter of the fn" : "a column";
    bool params = call->scope->kind != SCOPE_FN && call->scope->kind != SCOPE_CONSTANT;
    return params && find_param(call->checker, name) ? "a param" : nullptr;
}

static bool names_are_free(const LambdaCall *call) {
    bool good = true;
    for (uint32_t i = 0; i < call->lambda->param_count; i++) {
        const char *hidden = hidden_by(call, i);
        if (!hidden) continue;
        Name name = call->lambda->params[i];
        Diag *diag = report(call->checker, DIAG_LAMBDA_NAME, name.span,
                            "'%.*s' is the name of %s already", TEXT_ARG(name.text), hidden);
        report_label(call->checker, diag, name.span, "which of the two would it mean?");
        report_fix(call->checker, diag, "give the parameter another name");
        good = false;
    }
    return good;
}

// The scope of the lambda: what is around it, and its parameters, of these types.
static Scope lambda_scope(const LambdaCall *call, const Type *const *types, uint32_t first) {
    Checker *checker = call->checker;
    Scope scope = *call->scope;
    scope.cap = scope.count + call->fn->params;
    scope.names = arena_new_array(checker->arena, Binding, scope.cap);
    for (uint32_t i = 0; i < scope.count; i++) scope.names[i] = call->scope->names[i];
    // Functions of windows are computed once a row.
    if (scope.kind == SCOPE_WINDOW) scope.kind = SCOPE_ROW;
    for (uint32_t i = 0; i < call->fn->params; i++) {
        Name name = call->lambda->params[i];
        Expr local = {.op = EXPR_LOCAL, .type = types[i], .span = name.span, .index = first + i};
        Value value = {graph_expr(checker->graph, local, nullptr, 0), types[i]};
        scope.names[scope.count++] = (Binding){name.text, value};
    }
    return scope;
}

static Value lambda_node(const LambdaCall *call, const Type *type, uint32_t first,
                         const Value *args) {
    ExprId ids[3];
    for (uint32_t i = 0; i < call->fn->args; i++) {
        if (is_error(args[i].type)) return error_value(call->checker);
        ids[i] = args[i].id;
    }
    Expr payload = {.op = call->fn->op, .type = type, .span = call->call->span, .index = first};
    return (Value){graph_expr(call->checker->graph, payload, ids, call->fn->args), type};
}

static Value untyped_null(Checker *checker, Span span, const char *of) {
    Diag *diag = report(checker, DIAG_NULL_TYPE, span, "null of which type?");
    report_label(checker, diag, span, "nothing says the type of %s", of);
    report_fix(checker, diag, "give it a value of a type, or put the call where its type is known");
    return error_value(checker);
}

static Value call_map(const LambdaCall *call, const Type *want) {
    Checker *checker = call->checker;
    const Type *elem = want && type_base(want)->kind == TYPE_LIST ? type_base(want)->elem : nullptr;
    Value args[2] = {list_argument(call, nullptr)};
    if (is_error(args[0].type)) return args[0];
    uint32_t first = graph_locals(checker->graph, 1);
    Scope scope = lambda_scope(call, &args[0].type->elem, first);
    Span span = call->lambda->a->span;
    args[1] = check_expr(checker, &scope, call->lambda->a, elem);
    if (is_null(args[1].type)) args[1] = untyped_null(checker, span, "the elements");
    if (is_error(args[1].type)) return args[1];
    // A place that asks for [T?] takes elements that are never null, and narrow ones widened.
    bool fits = elem && type_holds(type_base(elem), type_base(args[1].type)) &&
                (elem->nullable || !args[1].type->nullable);
    if (fits) args[1] = coerce(checker, args[1], elem, span);
    return lambda_node(call, type_list(checker->types, args[1].type), first, args);
}

// filter, any, all
static Value call_condition(const LambdaCall *call, const Type *want) {
    Checker *checker = call->checker;
    bool filter = call->fn->op == EXPR_LIST_FILTER;
    Value args[2] = {list_argument(call, filter ? want : nullptr)};
    if (is_error(args[0].type)) return args[0];
    uint32_t first = graph_locals(checker->graph, 1);
    Scope scope = lambda_scope(call, &args[0].type->elem, first);
    args[1] = check_condition(checker, &scope, call->lambda->a);
    return lambda_node(call, filter ? args[0].type : kind_type(checker, TYPE_BOOL), first, args);
}

// A number written out takes the type of the elements, if these are numbers that hold it.
static Value start_argument(const LambdaCall *call, const Type *elem, const Type *want) {
    Checker *checker = call->checker;
    const AstExpr *written = argument(call, 1);
    const Type *base = type_base(elem);
    Value start = check_expr(checker, call->scope, written, want);
    if (is_null(start.type)) return untyped_null(checker, written->span, "the first value");
    bool adapts = !want && is_flexible(written) && type_is_numeric(base) &&
                  (start.type->kind == TYPE_I64 || !type_is_integer(base));
    return adapts ? check_as(checker, call->scope, written, base) : start;
}

static Value other_result(const LambdaCall *call, const Type *start, const Type *result) {
    Checker *checker = call->checker;
    Span span = call->lambda->a->span;
    Diag *diag = report(checker, DIAG_LAMBDA_RESULT, span,
                        "the value begins as %s and goes on as %s", type_say(checker, start),
                        type_say(checker, result));
    report_label(checker, diag, argument(call, 1)->span, "%s", type_say(checker, start));
    report_label(checker, diag, span, "%s", type_say(checker, result));
    bool nulls = result->nullable && !start->nullable;
    const Type *base = type_base(result);
    if (nulls) report_fix(checker, diag, "say what null means: ... ?? %.*s",
                          TEXT_ARG(source_text(checker, argument(call, 1)->span)));
    else if (type_is_nested(base))
        report_fix(checker, diag, "begin with a value of the type that the lambda gives");
    else report_fix(checker, diag, "begin with %s(...), or convert what the lambda gives",
                    type_kind_name(base->kind));
    return error_value(checker);
}

static Value call_reduce(const LambdaCall *call, const Type *want) {
    Checker *checker = call->checker;
    Value args[3] = {list_argument(call, nullptr)};
    if (is_error(args[0].type)) return args[0];
    const Type *elem = args[0].type->elem;
    args[1] = start_argument(call, elem, want);
    if (is_error(args[1].type)) return args[1];
    const Type *start = args[1].type, *types[] = {start, elem};
    uint32_t first = graph_locals(checker->graph, 2);
    Scope scope = lambda_scope(call, types, first);
    args[2] = check_expr(checker, &scope, call->lambda->a, start);
    const Type *result = args[2].type;
    if (is_error(result)) return args[2];
    bool fits = is_null(result) ? start->nullable
                                : type_holds(type_base(start), type_base(result)) &&
                                      (start->nullable || !result->nullable);
    if (!fits) return other_result(call, start, result);
    args[2] = coerce(checker, args[2], start, call->lambda->a->span);
    return lambda_node(call, start, first, args);
}

static Value no_order(const LambdaCall *call, const Type *type) {
    Checker *checker = call->checker;
    const Span span = call->lambda->a->span;
    bool sorts = !text_is(call->call->name.text, "distinct");
    Diag *diag = report(checker, sorts ? DIAG_SORT_TYPE : DIAG_NOT_COMPARABLE, span, "%s %s",
                        type_say(checker, type), sorts ? "cannot be sorted by" : "has no equality");
    report_label(checker, diag, span, "%s", type_say(checker, type));
    report_fix(checker, diag, "use a part of it, or its text: str(...)");
    return error_value(checker);
}

// The places of the elements, in order of their keys or of those that are kept.
static Value places_of(const LambdaCall *call, Value keys) {
    Checker *checker = call->checker;
    size_t count;
    Text name = text_format(checker->arena, "arg%s", call->fn->name);
    const Decl *decl = declare_find(checker->input->decls, name, &count);
    const Type *type = type_list(checker->types, kind_type(checker, TYPE_I64));
    Expr payload = {.op = EXPR_CALL, .type = type, .span = call->call->span, .fn = &decl->fn};
    return (Value){graph_expr(checker->graph, payload, &keys.id, 1), type};
}

static Value map_node(const LambdaCall *call, Value list, uint32_t local, Value made) {
    const Type *type = type_list(call->checker->types, made.type);
    ExprId args[] = {list.id, made.id};
    Expr payload = {.op = EXPR_LIST_MAP, .type = type, .span = call->call->span, .index = local};
    return (Value){graph_expr(call->checker->graph, payload, args, countof(args)), type};
}

// sort(xs, x -> k) is map(argsort(map(xs, x -> k)), i -> xs[i]), where no place is outside. So are
// the other functions of this name in front of which `arg` gives one of the library.
static Value call_by_places(const LambdaCall *call, const Type *want) {
    Checker *checker = call->checker;
    const Span span = call->call->span;
    Value list = list_argument(call, want);
    if (is_error(list.type)) return list;
    uint32_t first = graph_locals(checker->graph, 2);
    Scope scope = lambda_scope(call, &list.type->elem, first);
    Value key = check_expr(checker, &scope, call->lambda->a, nullptr);
    if (is_error(key.type)) return key;
    if (!type_comparable(key.type, false)) return no_order(call, key.type);
    Value places = places_of(call, map_node(call, list, first, key));
    const Type *i64 = places.type->elem;
    Expr local = {.op = EXPR_LOCAL, .type = i64, .span = span, .index = first + 1};
    ExprId item[] = {list.id, graph_expr(checker->graph, local, nullptr, 0)};
    Expr at = {.op = EXPR_INDEX, .type = list.type->elem, .span = span, .proven = true};
    Value element = {graph_expr(checker->graph, at, item, countof(item)), at.type};
    return map_node(call, places, first + 1, element);
}

Value call_lambda_function(Checker *checker, Scope *scope, const AstExpr *written,
                           const Type *want) {
    LambdaCall call = {.checker = checker, .scope = scope, .call = written,
                       .fn = find_lambda_fn(written->name.text)};
    if (!no_names(&call) || !right_count(&call)) return error_value(checker);
    for (uint32_t i = 0; i < written->arg_count; i++)
        if (!argument(&call, i)) return error_value(checker);
    if (!right_lambda(&call)) return error_value(checker);
    call.lambda = argument(&call, call.fn->args - 1);
    if (!names_are_free(&call)) return error_value(checker);
    switch (call.fn->op) {
    case EXPR_LIST_MAP: return call_map(&call, want);
    case EXPR_LIST_REDUCE: return call_reduce(&call, want);
    case EXPR_CALL: return call_by_places(&call, want);
    default: return call_condition(&call, want);
    }
}
