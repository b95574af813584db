// Calls: of a fn, a cast, the library, an aggregate, or source(), line() and offset().
#include "frontend/checker.h"
#include "frontend/foreign.h"

#include <strings.h>

// ---- places -------------------------------------------------------------------------------------

static bool is_place(const AstExpr *call, PlaceKind *place) {
    static const char *const names[] = {"source", "line", "offset"};
    for (unsigned i = 0; i < countof(names) && call->arg_count == 0; i++) {
        if (!text_is(call->name.text, names[i])) continue;
        *place = (PlaceKind)i;
        return true;
    }
    return false;
}

static Value check_place(Checker *checker, Scope *scope, const AstExpr *call, PlaceKind place) {
    if (scope->unknown) return error_value(checker);
    if (!scope->has_place) {
        Diag *diag = report(checker, DIAG_PLACE_LOST, call->span, "'%.*s()' means nothing here",
                            TEXT_ARG(call->name.text));
        if (scope->lost_place)
            report_label(checker, diag, call->span, "after %s a row has no place in a file",
                         scope->lost_place);
        else report_label(checker, diag, call->span, "no row of a file is at hand");
        report_fix(checker, diag, "keep it in a column: derive it directly after the `read`");
        return error_value(checker);
    }
    const Type *type = kind_type(checker, place == PLACE_SOURCE ? TYPE_STR : TYPE_I64);
    Expr payload = {.op = EXPR_PLACE, .type = type, .span = call->span, .index = place};
    return (Value){graph_expr(checker->graph, payload, nullptr, 0), type};
}

// ---- the library --------------------------------------------------------------------------------

const Decl **declarations(Checker *checker, Text name, bool aggregates, size_t *count) {
    size_t all;
    const Decl *first = declare_find(checker->input->decls, name, &all);
    const Decl **decls = arena_new_array(checker->arena, const Decl *, all + 1);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (first[i].aggregate == aggregates) decls[(*count)++] = &first[i];
    return decls;
}

Value call_by_name(Checker *checker, const char *name, Span span, const Value *values,
                   uint32_t count) {
    size_t found, i = 0;
    const Decl **decls = declarations(checker, text_of(name), false, &found);
    Arguments args = {.count = count};
    for (; i < count; i++) args.values[i] = values[i];
    Choice choice = fit_overload(checker, &args, decls, found);
    const Type *type = choice.decl->result_unit ? values[0].type : choice.decl->result;
    ExprId ids[DECL_PARAMS_MAX];
    for (i = 0; i < count; i++) ids[i] = values[i].id;
    Expr call = {.op = EXPR_CALL, .type = type, .span = span, .fn = &choice.decl->fn};
    return (Value){graph_expr(checker->graph, call, ids, count), type};
}

// The function, with a mark of each zone that is no constant but a number (zone_number).
static const FnRef *with_zones(Checker *checker, const Arguments *args, const Decl *decl) {
    uint32_t zones = 0;
    for (uint32_t i = 0; i < args->count; i++)
        if (decl->params[i].kind == DECL_ZONE && args->values[i].type->kind == TYPE_I64)
            zones |= 1u << i;
    if (!zones) return &decl->fn;
    FnRef *fn = arena_new_of(checker->arena, FnRef);
    *fn = decl->fn;
    fn->zones = zones;
    return fn;
}

static Value call_library(Checker *checker, Scope *scope, Arguments *gathered,
                          const Decl *const *decls, size_t count) {
    Arguments args = *gathered;
    const AstExpr *call = args.call;
    if (takes_tensors(&args) && !args.broken)
        return call_for_elements(checker, scope, &args, decls, count);
    Choice choice = choose_overload(checker, scope, &args, decls, count);
    if (!choice.decl) return error_value(checker);
    if ((choice.decl->fn.traits & FN_RANDOM) && scope->no_row) {
        Diag *diag = report(checker, DIAG_NO_ROW, call->span, "'%.*s' needs a row",
                            TEXT_ARG(call->name.text));
        report_label(checker, diag, call->span, "evaluated once, not for each row");
        report_fix(checker, diag, "use it in a `derive` step");
        return error_value(checker);
    }
    ExprId ids[DECL_PARAMS_MAX];
    for (uint32_t i = 0; i < args.count; i++) ids[i] = args.values[i].id;
    Expr payload = {.op = EXPR_CALL, .type = choice.result, .span = call->span,
                    .fn = with_zones(checker, &args, choice.decl)};
    Value result = {graph_expr(checker->graph, payload, ids, args.count), choice.result};
    return choice.half ? half_round(checker, result, choice.half, call->span) : result;
}

// ---- aggregates ---------------------------------------------------------------------------------

static Value add_aggregate(Checker *checker, GroupBuild *group, Agg agg) {
    for (uint32_t i = 0; i < group->agg_count; i++) {  // count() twice is one state.
        const Agg *old = &group->aggs[i];
        bool same = old->fn == agg.fn && old->type == agg.type && old->arg_count == agg.arg_count &&
                    expr_same(old->where, agg.where) && expr_same(old->option, agg.option) &&
                    expr_same(old->args[0], agg.args[0]) && expr_same(old->args[1], agg.args[1]);
        if (!same) continue;
        uint32_t index = group->key_count + i;
        return (Value){graph_column(checker->graph, 0, index, agg.type, agg.span), agg.type};
    }
    uint32_t index = group->key_count + group->agg_count;
    size_t cap = group->agg_cap;
    arena_push(checker->arena, group->aggs, group->agg_count, cap, agg);
    group->agg_cap = (uint32_t)cap;
    return (Value){graph_column(checker->graph, 0, index, agg.type, agg.span), agg.type};
}

// The aggregate's own arguments: constants go to `option`, the others to `args`.
static bool aggregate_arguments(Checker *checker, Scope *input, const AstExpr *call, Agg *agg) {
    size_t count;
    const Decl **decls = declarations(checker, call->name.text, true, &count);
    Arguments args;
    checker->in_aggregate = true;
    gather_arguments(checker, input, call, &args);
    checker->in_aggregate = false;
    // Aggregates leave out nulls themselves.
    for (uint32_t i = 0; i < args.count; i++)
        args.values[i] = declared_value(checker, input, args.values[i]);
    Choice choice = choose_overload(checker, input, &args, decls, count);
    if (!choice.decl) return false;
    agg->fn = &choice.decl->agg;
    agg->type = choice.result;
    for (uint32_t i = 0; i < args.count; i++) {
        if (choice.decl->params[i].kind == DECL_CONST) agg->option = args.values[i].id;
        else if (agg->arg_count < countof(agg->args))
            agg->args[agg->arg_count++] = args.values[i].id;
    }
    return true;
}

Value check_aggregate(Checker *checker, Scope *scope, const AstExpr *call) {
    GroupBuild *group = scope->group;
    Agg agg = {.args = {EXPR_NONE, EXPR_NONE}, .where = EXPR_NONE, .option = EXPR_NONE,
               .span = call->span, .type = kind_type(checker, TYPE_I64)};
    bool rows = text_is(call->name.text, "count") && call->arg_count == 0, good = true;
    const AstExpr *conditions[] = {group->only, call->where};
    Scope input = *group->input;  // Where the conditions hold.
    Fact facts[countof(conditions)];
    for (size_t i = 0; i < countof(conditions); i++) {
        if (!conditions[i]) continue;
        Value where = check_condition(checker, &input, conditions[i]);
        facts[i] = (Fact){.condition = where.id, .held = true, .written = conditions[i]};
        input = scope_knowing(&input, &facts[i]);
        good &= !is_error(where.type);
        if (!expr_is_none(agg.where) && good)
            where = node2(checker, EXPR_AND, where.type, call->span, (Value){agg.where, where.type},
                          where);
        agg.where = where.id;
    }
    if (!rows) good &= aggregate_arguments(checker, &input, call, &agg);
    return good ? add_aggregate(checker, group, agg) : error_value(checker);
}

// In a window an aggregate that it does not have.
Value windowless_aggregate(Checker *checker, const AstExpr *call) {
    Diag *diag = report(checker, DIAG_AGGREGATE_PLACE, call->span,
                        "'%.*s' is no function of windows", TEXT_ARG(call->name.text));
    report_label(checker, diag, call->span, "windows have count, sum, mean, min and max");
    if (call->frame)
        report_fix(checker, diag, "of the rows of a frame take one of these five; of all rows of "
                                  "a key `group by` and `join` do it");
    else
        report_fix(checker, diag,
                   "write `| group by K { x = %.*s(...) }` in a flow of its own, and `| join` that "
                   "flow on K", TEXT_ARG(call->name.text));
    return error_value(checker);
}

static Value misplaced_aggregate(Checker *checker, const Scope *scope, const AstExpr *call) {
    if (checker->in_aggregate) {
        Diag *diag = report(checker, DIAG_AGGREGATE_PLACE, call->span,
                            "'%.*s' stands inside another aggregate", TEXT_ARG(call->name.text));
        report_label(checker, diag, call->span, "makes one value of many rows already");
        report_fix(checker, diag, "aggregate twice: | group by K { x = %.*s } | aggregate { ... }",
                   TEXT_ARG(source_text(checker, call->span)));
        return error_value(checker);
    }
    if (scope->kind == SCOPE_WINDOW) return windowless_aggregate(checker, call);
    Diag *diag = report(checker, DIAG_AGGREGATE_PLACE, call->span,
                        "'%.*s' is an aggregate; it means something only in `group` and "
                        "`aggregate`",
                        TEXT_ARG(call->name.text));
    report_label(checker, diag, call->span, "one row is at hand here");
    Text text = source_text(checker, call->span);
    WindowKind kind;
    if (window_kind_find(call->name.text, &kind))
        report_fix(checker, diag, "write | group by K { x = %.*s }, or to keep all rows "
                                  "| window by K { x = %.*s rows all }",
                   TEXT_ARG(text), TEXT_ARG(text));
    else
        report_fix(checker, diag, "write | aggregate { x = %.*s } or | group by K { ... }, and use "
                                  "x after it",
                   TEXT_ARG(text));
    return error_value(checker);
}

// ---- dispatch -----------------------------------------------------------------------------------

// What the language plans but this version does not have.
static bool is_later(const AstExpr *call, const char **what, DiagCode *code) {
    static const struct { const char *name, *what; DiagCode code; } later[] = {
        {"model", "models", DIAG_MODELS},          {"decode_image", "images", DIAG_IMAGES},
        {"encode_image", "images", DIAG_IMAGES},   {"resize", "images", DIAG_IMAGES},
    };
    for (size_t i = 0; i < countof(later); i++) {
        if (!text_is(call->name.text, later[i].name)) continue;
        *what = later[i].what;
        *code = later[i].code;
        return true;
    }
    return false;
}

// A type that is called with too many arguments, or too few.
static Value cast_count(Checker *checker, const AstExpr *call) {
    bool decimal = text_is(call->name.text, "decimal");
    Diag *diag = report(checker, DIAG_ARGUMENT_COUNT, call->span, "'%.*s' takes %s, not %u",
                        TEXT_ARG(call->name.text), decimal ? "3 arguments" : "1 argument",
                        call->arg_count);
    report_label(checker, diag, call->span, "%u here", call->arg_count);
    if (decimal)
        report_fix(checker, diag, "decimal(x, 18, 2): 18 digits, 2 of them after the point");
    else report_fix(checker, diag, "%.*s(x)", TEXT_ARG(call->name.text));
    return error_value(checker);
}

// What stands in the call of a function that nobody knows: only what is wrong wherever it stands.
// In the results of a group it may be meant as an aggregate, or as a function of aggregates.
static void unknown_arguments(Checker *checker, Scope *scope, const AstExpr *call) {
    bool result = scope->kind == SCOPE_RESULT;
    if (result) checker->quiet++;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const AstExpr *value = call->args[i].value;
        if (value && !is_untyped(value) && value->kind != AST_LAMBDA)
            check_expr(checker, result ? scope->group->input : scope, value, nullptr);
    }
    if (result) checker->quiet--;
}

static bool same_letters(Text a, Text b) {
    return a.len == b.len && strncasecmp(a.at, b.at, a.len) == 0;
}

static Value unknown_function(Checker *checker, Scope *scope, const AstExpr *call) {
    const char *what;
    DiagCode code;
    unknown_arguments(checker, scope, call);
    if (is_later(call, &what, &code)) {
        Diag *diag = report(checker, code, call->span, "%s are not in this version", what);
        report_label(checker, diag, call->name.span, "'%.*s'", TEXT_ARG(call->name.text));
        report_fix(checker, diag, "do this part in an `extern fn`, or in another program");
        return error_value(checker);
    }
    TypeKind kind;
    if (type_kind_find(call->name.text, &kind) || text_is(call->name.text, "decimal"))
        return cast_count(checker, call);
    if (may_be_declared(checker, call->name.text)) return error_value(checker);
    static const Text window_functions[] = {
#define WINDOW(name, text, order, frame, doc) TEXT(text),
#include "ir/windows.def"
    };
    const DeclTable *decls = checker->input->decls;
    Text *names = arena_new_array(checker->arena, Text,
                                  decls->count + checker->fn_count + 40 + TENSOR_FN_COUNT +
                                      LAMBDA_FN_COUNT + countof(window_functions));
    size_t count = tensor_function_names(names);
    count += lambda_function_names(names + count);
    for (size_t i = 0; i < countof(window_functions); i++) names[count++] = window_functions[i];
    for (size_t i = 0; i < checker->fn_count; i++) names[count++] = checker->fns[i].stmt->name.text;
    for (size_t i = 0; i < decls->count; i++) names[count++] = decls->items[i].name;
    for (kind = TYPE_BOOL; kind < TYPE_LIST; kind++) names[count++] = text_of(type_kind_name(kind));
    Diag *diag = report(checker, DIAG_UNKNOWN_FUNCTION, call->name.span, "unknown function '%.*s'",
                        TEXT_ARG(call->name.text));
    report_label(checker, diag, call->name.span, "neither in the library nor declared with `fn`");
    const char *type = foreign_type(call->name.text);
    bool cased = false;  // One of ours in capitals.
    for (size_t i = 0; i < count && !cased; i++) cased = same_letters(call->name.text, names[i]);
    Text ours = cased ? (Text){0} : foreign_function(checker->arena, call->name.text);
    if (type || ours.len) {
        if (ours.len) report_fix(checker, diag, "%.*s", TEXT_ARG(ours));
        else report_fix(checker, diag, "write %s(x)", type);
        return error_value(checker);
    }
    Text near = diag_did_you_mean(call->name.text, names, count);
    if (near.len) report_fix(checker, diag, "did you mean '%.*s'?", TEXT_ARG(near));
    else report_fix(checker, diag, "`sbc doc` lists all functions");
    return error_value(checker);
}

static bool takes_count(const Decl *const *decls, size_t count, uint32_t args) {
    for (size_t i = 0; i < count; i++)
        if (decls[i]->param_count == args) return true;
    return false;
}

Value check_call(Checker *checker, Scope *scope, const AstExpr *call, const Type *want) {
    PlaceKind place;
    const Type *target;
    FnDecl *fn = find_fn(checker, call->name.text);
    if (fn) return call_fn(checker, scope, fn, call);
    call = call_with_months(checker, call);
    if (takes_lambda(call)) return call_lambda_function(checker, scope, call, want);
    if (is_place(call, &place)) return check_place(checker, scope, call, place);
    if (scope->kind == SCOPE_WINDOW && is_window_call(checker, call))
        return check_window_call(checker, scope, call);
    size_t fn_count, agg_count;
    const Decl **fns = declarations(checker, call->name.text, false, &fn_count);
    const Decl **aggs = declarations(checker, call->name.text, true, &agg_count);
    bool counts = text_is(call->name.text, "count") && call->arg_count == 0;
    bool aggregate = counts || takes_count(aggs, agg_count, call->arg_count) || call->where ||
                     !fn_count;
    if (agg_count == 0 && !counts) aggregate = false;
    if (scope->kind == SCOPE_RESULT && aggregate) return check_aggregate(checker, scope, call);
    if (is_cast(checker, call, &target)) return check_cast(checker, scope, call, target);
    bool tensors = is_tensor_function(call->name.text);
    Arguments args;
    if (fn_count || tensors) gather_arguments(checker, scope, call, &args);
    if (tensors && (args.broken || takes_tensors(&args) || !(fn_count || agg_count)))
        return call_tensor_function(checker, scope, &args);
    if (fn_count) return call_library(checker, scope, &args, fns, fn_count);
    if (agg_count || counts) return misplaced_aggregate(checker, scope, call);
    if (is_window_call(checker, call)) return misplaced_window(checker, call);
    return unknown_function(checker, scope, call);
}
