// Overloads: which declaration of the library a call means.
//
// The first whose parameters take the arguments wins. Numbers written out count as i64 and f64
// first, and as any number type that holds them when nothing fits otherwise.
#include "frontend/checker.h"

#include <string.h>

void gather_arguments(Checker *checker, Scope *scope, const AstExpr *call, Arguments *args) {
    *args = (Arguments){.call = call};
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const AstArg *arg = &call->args[i];
        if (arg->name.text.len) {
            Diag *diag = report(checker, DIAG_NAMED_ARGUMENT, arg->name.span,
                                "'%.*s' takes no named arguments", TEXT_ARG(call->name.text));
            report_label(checker, diag, arg->name.span, "a name");
            report_fix(checker, diag, "drop '%.*s ='; arguments go by place",
                       TEXT_ARG(arg->name.text));
            args->broken = true;
        }
        if (i >= CALL_ARGS_MAX) continue;
        args->exprs[i] = arg->value;
        args->flexible[i] = arg->value && is_flexible(arg->value);
        bool empty_list = arg->value && arg->value->kind == AST_LIST && !arg->value->arg_count;
        if (empty_list) args->values[i] = (Value){EXPR_NONE, kind_type(checker, TYPE_NULL)};
        else args->values[i] = check_expr(checker, scope, arg->value, nullptr);
        args->broken |= is_error(args->values[i].type);
    }
    args->count = call->arg_count;
}

// ---- fitting ------------------------------------------------------------------------------------

// Does a number written out fit a parameter of a fixed number type?
static bool literal_fits(const Type *own, const Type *want) {
    if (!type_is_numeric(want)) return false;
    return own->kind == TYPE_I64 || !type_is_integer(want);
}

// How well arguments have to fit: as they are, so that f32 stays f32, and what is narrower becomes
// it; without a loss; or with
// numbers written out taking the type of their parameter.
typedef enum Fitting { FITS_EXACTLY, FITS, FITS_LOOSELY } Fitting;

static bool fits_fixed(const Type *want, const Type *found, bool flexible, Fitting fitting) {
    bool same = want == found || (want->kind == TYPE_F32 && type_is_half(found));
    if (fitting == FITS_EXACTLY) return flexible ? literal_fits(found, want) : same;
    if (type_holds(want, found)) return true;
    if (want->kind == TYPE_TIMESTAMP && found->kind == TYPE_TIMESTAMP)  // A named unit.
        return found->unit < want->unit;
    return fitting == FITS_LOOSELY && flexible && literal_fits(found, want);
}

typedef struct Fit {
    const Decl *decl;
    Fitting     fitting;
    const Type *variable;
} Fit;

static bool bind_variable(Checker *checker, Fit *fit, const Type *found, bool flexible) {
    if (is_error(found)) return true;
    if (found->kind == TYPE_TENSOR) return false;
    if (!fit->variable) {
        fit->variable = found;
        return true;
    }
    if (fit->variable == found) return true;
    if (flexible) return literal_fits(found, fit->variable);
    const Type *both = common_type(checker, fit->variable, found);
    if (!both || (fit->decl->params[0].lists && both != fit->variable)) return false;
    fit->variable = both;
    return true;
}

// T is what stands in so many lists, the inner ones never null.
static bool bind_elements(Checker *checker, Fit *fit, uint8_t lists, const Type *type) {
    for (uint8_t i = 0; i < lists; i++) {
        if (type->kind != TYPE_LIST || type->nullable) return false;
        type = type->elem;
    }
    return bind_variable(checker, fit, type, false);
}

static bool fits_param(Checker *checker, Fit *fit, const Arguments *args, uint32_t i) {
    const DeclParam *param = &fit->decl->params[i];
    const Type *found = args->values[i].type, *base = type_base(found);
    bool nullable = param->nullable || fit->decl->aggregate ||
                    (param->type && param->type->nullable);
    if (is_error(found)) return true;
    if (is_null(found)) {
        bool list = (param->lists && param->around != AROUND_MAP) ||
                    (param->type && type_base(param->type)->kind == TYPE_LIST);
        return expr_is_none(args->values[i].id) ? list : nullable;  // [] or null.
    }
    if (found->nullable && !nullable) return false;
    if (param->decimal) return base->kind == TYPE_DECIMAL;
    if (param->any_unit) return base->kind == TYPE_TIMESTAMP;
    if (param->around == AROUND_MAP)
        return base->kind == TYPE_MAP && bind_variable(checker, fit, type_map_value(base), false);
    if (param->around == AROUND_ENTRIES) {
        const Type *value = base->kind == TYPE_LIST ? type_entry_value(base->elem) : nullptr;
        return value && bind_variable(checker, fit, value, false);
    }
    if (param->lists) return bind_elements(checker, fit, param->lists, base);
    if (!param->type) return bind_variable(checker, fit, base, args->flexible[i]);
    return fits_fixed(type_base(param->type), base, args->flexible[i], fit->fitting);
}

static bool fits(Checker *checker, Fit *fit, const Arguments *args, uint32_t *wrong) {
    if (fit->decl->param_count != args->count) return false;
    for (int flexible = 0; flexible < 2; flexible++) {
        for (uint32_t i = 0; i < args->count; i++) {
            if (args->flexible[i] != flexible) continue;
            if (fits_param(checker, fit, args, i)) continue;
            *wrong = i;
            return false;
        }
    }
    return true;
}

// ---- reports ------------------------------------------------------------------------------------

static Text param_text(Checker *checker, const DeclParam *param) {
    if (param->decimal) return TEXT("a decimal");
    if (param->around == AROUND_MAP) return TEXT("a map");
    if (param->around == AROUND_ENTRIES) return TEXT("a list of {key: str, value: T}");
    if (param->lists) return param->lists > 1 ? TEXT("a list of lists") : TEXT("a list");
    if (!param->type) return TEXT("a value");
    return type_text(checker->arena, param->type);
}

static void wrong_count(Checker *checker, const Arguments *args, const Decl *decl) {
    Diag *diag = report(checker, DIAG_ARGUMENT_COUNT, args->call->span,
                        "'%.*s' takes %u argument%s, not %u", TEXT_ARG(decl->name),
                        decl->param_count, decl->param_count == 1 ? "" : "s", args->count);
    report_label(checker, diag, args->call->span, "%u here", args->count);
    report_fix(checker, diag, "call it as %.*s", TEXT_ARG(decl->signature));
}

static void wrong_argument(Checker *checker, const Arguments *args, const Decl *decl, uint32_t i) {
    const DeclParam *param = &decl->params[i];
    const Type *found = args->values[i].type;
    Span span = args->exprs[i]->span;
    if (found->nullable && param->type && type_holds(type_base(param->type), type_base(found))) {
        coerce(checker, args->values[i], type_base(param->type), span);
        return;
    }
    bool list = param->lists && type_is_sequence(type_base(found));
    if (found->nullable && !param->type && (list || !param->lists)) {
        coerce(checker, args->values[i], type_base(found), span);
        return;
    }
    Text want = param_text(checker, param);
    Diag *diag = report(checker, DIAG_ARGUMENT_TYPE, span, "'%.*s' takes %.*s here, not %s",
                        TEXT_ARG(decl->name), TEXT_ARG(want), type_say(checker, found));
    report_label(checker, diag, span, "%s", type_say(checker, found));
    report_note(checker, diag, "%.*s", TEXT_ARG(decl->signature));
    const Type *base = param->type ? type_base(param->type) : nullptr;
    if (base && !type_is_nested(base)) {
        Text text = source_text(checker, span);
        if (text.len > 40) text = TEXT("...");
        report_fix(checker, diag, "convert it: %s(%.*s)", type_kind_name(base->kind),
                   TEXT_ARG(text));
    } else report_fix(checker, diag, "pass %.*s", TEXT_ARG(want));
}

// A form for f32 beside that for f64: messages speak of the latter.
static bool is_narrow(const Decl *decl) {
    const Type *type = decl->param_count ? decl->params[0].type : nullptr;
    return type && type_base(type)->kind == TYPE_F32 && !decl->aggregate;
}

// The type that argument `i` would have to be cast to for the form to fit; null: there is none.
static const Type *cast_that_fits(Checker *checker, const Arguments *args, const Decl *decl,
                                  uint32_t *i) {
    Fit fit = {.decl = decl, .fitting = FITS_LOOSELY};
    if (decl->param_count != args->count || fits(checker, &fit, args, i)) return nullptr;
    const DeclParam *param = &decl->params[*i];
    const Type *to = param->any_unit ? kind_type(checker, TYPE_TIMESTAMP) : param->type;
    const Type *from = type_base(args->values[*i].type);
    if (param->kind != DECL_VALUE || !to || type_is_nested(type_base(to))) return nullptr;
    if (is_null(from) || !casts(from, type_base(to))) return nullptr;
    Arguments other = *args;
    other.values[*i].type = type_base(to);
    other.flexible[*i] = false;
    uint32_t wrong;
    Fit again = {.decl = decl, .fitting = FITS_LOOSELY};
    return fits(checker, &again, &other, &wrong) ? type_base(to) : nullptr;
}

// The call with one argument cast, by the first form that fits then. False: no form does.
static bool propose_cast(Checker *checker, Diag *diag, const Arguments *args,
                         const Decl *const *decls, size_t count) {
    enum { SHOWN_MAX = 60 };
    const Text call = source_text(checker, args->call->span);
    for (size_t d = 0; d < count; d++) {
        uint32_t i = 0;
        const Type *to = is_narrow(decls[d]) ? nullptr
                                             : cast_that_fits(checker, args, decls[d], &i);
        if (!to) continue;
        const Span span = args->exprs[i]->span;
        const Text text = source_text(checker, span);
        const uint32_t at = span.start - args->call->span.start;
        const Text rest = {call.at + at + text.len, call.len - at - text.len};
        bool brief = call.len <= SHOWN_MAX && !memchr(call.at, '\n', call.len);
        if (brief)
            report_fix(checker, diag, "convert an argument: %.*s%s(%.*s)%.*s", (int)at, call.at,
                       type_kind_name(to->kind), TEXT_ARG(text), TEXT_ARG(rest));
        else
            report_fix(checker, diag, "convert argument %u: %s(...)", i + 1,
                       type_kind_name(to->kind));
        return true;
    }
    return false;
}

static void no_overload(Checker *checker, const Arguments *args, const Decl *const *decls,
                        size_t count) {
    TextBuf buf = {0};
    for (uint32_t i = 0; i < args->count && i < DECL_PARAMS_MAX; i++)
        text_buf_format(&buf, i ? ", %s" : "%s", type_say(checker, args->values[i].type));
    Diag *diag = report(checker, DIAG_NO_OVERLOAD, args->call->span, "'%.*s' does not take (%.*s)",
                        TEXT_ARG(args->call->name.text), (int)buf.len, buf.at ? buf.at : "");
    text_buf_free(&buf);
    report_label(checker, diag, args->call->span, "no form of it fits");
    for (size_t i = 0; i < count && i + 1 < NOTES_MAX; i++)
        report_note(checker, diag, "%.*s", TEXT_ARG(decls[i]->signature));
    if (!propose_cast(checker, diag, args, decls, count))
        report_fix(checker, diag, "convert the arguments to one of these forms");
}

// The one declaration to blame: the only one with that many parameters.
static void blame(Checker *checker, const Arguments *args, const Decl *const *decls, size_t count) {
    const Decl *only = nullptr;
    size_t same = 0;
    for (size_t i = 0; i < count; i++) {
        if (decls[i]->param_count != args->count || is_narrow(decls[i])) continue;
        only = decls[i];
        same++;
    }
    uint32_t wrong = 0;
    Fit fit = {.decl = only, .fitting = FITS_LOOSELY};
    bool nullable = false;  // With several forms a T? is the likelier mistake.
    for (uint32_t i = 0; i < args->count && i < DECL_PARAMS_MAX; i++)
        nullable |= args->values[i].type->nullable;
    if (!same) wrong_count(checker, args, decls[0]);
    else if (same == 1 && !fits(checker, &fit, args, &wrong))
        wrong_argument(checker, args, only, wrong);
    else if (nullable) {
        Arguments bare = *args;
        for (uint32_t i = 0; i < args->count; i++)
            bare.values[i].type = type_base(bare.values[i].type);
        for (size_t i = 0; i < count; i++) {
            Fit again = {.decl = decls[i], .fitting = FITS_LOOSELY};
            if (!fits(checker, &again, &bare, &wrong)) continue;
            again.variable = nullptr;
            fits(checker, &again, args, &wrong);
            wrong_argument(checker, args, decls[i], wrong);
            return;
        }
        no_overload(checker, args, decls, count);
    } else no_overload(checker, args, decls, count);
}

// ---- arguments as the parameters take them ------------------------------------------------------

// A zone known only while the job runs, by its number: a fault of the row where there is none.
static Value zone_number(Checker *checker, Value name, Span span) {
    static const FnRef find = {.name = {"zone", 4}, .symbol = {"sb_zone_number", 14},
                               .traits = FN_CALL | FN_FALLIBLE,
                               .range = {.of = RANGE_OF_BOUNDS, .max = UINT16_MAX}};
    const Type *i64 = kind_type(checker, TYPE_I64);
    Expr call = {.op = EXPR_CALL, .type = i64, .span = span, .fn = &find};
    return (Value){graph_expr(checker->graph, call, &name.id, 1), i64};
}

static Value constant_argument(Checker *checker, const DeclParam *param, Value value, Span span) {
    Const constant;
    if (is_error(value.type)) return value;
    if (param->kind == DECL_ZONE && !const_of(checker, value.id, &constant))
        return zone_number(checker, value, span);
    if (!const_of(checker, value.id, &constant) || constant.is_null) {
        const char *what = param->kind == DECL_REGEX ? "a pattern" : "this argument";
        Diag *diag = report(checker, DIAG_NOT_CONSTANT, span, "%s must be a constant", what);
        report_label(checker, diag, span, "known only while the job runs");
        report_fix(checker, diag, "write it out, in quotes if it is text");
        return error_value(checker);
    }
    if (param->kind == DECL_CONST) return const_value(checker, value.type, constant, span);
    if (!judge_constant(checker, param->domain.kind, constant.text, span))
        return error_value(checker);
    Expr payload = {.op = param->kind == DECL_REGEX ? EXPR_REGEX : EXPR_ZONE, .type = value.type,
                    .span = span, .value = {.text = constant.text}};
    return (Value){graph_expr(checker->graph, payload, nullptr, 0), value.type};
}

static const Type *put_around(Checker *checker, const Type *type, DeclAround around,
                              uint8_t lists) {
    if (around == AROUND_MAP) return type_map(checker->types, type);
    if (around == AROUND_ENTRIES) type = type_entry(checker->types, type);
    for (uint8_t i = 0; i < lists; i++) type = type_list(checker->types, type);
    return type;
}

static const Type *wanted_type(Checker *checker, const Choice *choice, uint32_t i, Value value) {
    const DeclParam *param = &choice->decl->params[i];
    const Type *type = param->type;
    if (param->decimal && type_base(value.type)->kind == TYPE_DECIMAL)
        type = type_decimal(checker->types, DECIMAL_PRECISION_MAX, type_base(value.type)->scale);
    else if (param->any_unit && choice->timestamp) type = choice->timestamp;
    else if (!type) type = put_around(checker, choice->variable, param->around, param->lists);
    bool keeps_null = choice->decl->aggregate && value.type->nullable;
    return param->nullable || keeps_null ? type_nullable(type) : type;
}

static Value convert(Checker *checker, Scope *scope, const Arguments *args, uint32_t i,
                     const Type *want) {
    Value value = args->values[i];
    bool again = args->flexible[i] || expr_is_none(value.id);
    if (again) value = check_expr(checker, scope, args->exprs[i], want);
    const Type *base = type_base(want), *from = type_base(value.type);
    if (base->kind == TYPE_TIMESTAMP && from->kind == TYPE_TIMESTAMP && base != from) {
        const Type *to = value.type->nullable ? type_nullable(base) : base;
        value = node1(checker, EXPR_CAST, to, args->exprs[i]->span, value);
    }
    return coerce(checker, value, want, args->exprs[i]->span);
}

static const Type *result_type(Checker *checker, const Choice *choice, const Arguments *args) {
    const Decl *decl = choice->decl;
    const Type *type = decl->result;
    if (decl->result_decimal) {
        const Type *first = args->count ? type_base(args->values[0].type) : nullptr;
        unsigned scale = first && first->kind == TYPE_DECIMAL ? first->scale : 0;
        type = type_decimal(checker->types, DECIMAL_PRECISION_MAX, scale);
    } else if (decl->result_unit && choice->timestamp) {
        type = choice->timestamp;
    } else if (!type) {
        type = put_around(checker, choice->variable, decl->result_around, decl->result_lists);
    }
    return decl->result_nullable ? type_nullable(type) : type;
}

// The timestamp of the finest unit among the arguments, or null.
static const Type *finest_timestamp(const Arguments *args, const Decl *decl) {
    const Type *finest = nullptr;
    for (uint32_t i = 0; i < args->count; i++) {
        const Type *type = type_base(args->values[i].type);
        if (!decl->params[i].any_unit || type->kind != TYPE_TIMESTAMP) continue;
        if (!finest || type->unit > finest->unit) finest = type;
    }
    return finest;
}

static bool uses_variable(const Decl *decl) {
    bool uses = !decl->result;
    for (uint32_t i = 0; i < decl->param_count; i++) uses |= !decl->params[i].type;
    return uses;
}

// Numbers only, of which one is no number written out.
static bool may_fit_exactly(const Arguments *args, const Decl *decl) {
    bool some = false;
    for (uint32_t i = 0; i < decl->param_count && i < args->count; i++) {
        const Type *type = decl->params[i].type;
        if (!type || !type_is_plain_number(type_base(type))) return false;
        some |= !args->flexible[i];
    }
    return some;
}

// The first overload that fits exactly, or else the first that fits, or else one that fits loosely.
Choice fit_overload(Checker *checker, const Arguments *args, const Decl *const *decls,
                    size_t count) {
    for (Fitting fitting = FITS_EXACTLY; fitting <= FITS_LOOSELY; fitting++) {
        for (size_t i = 0; i < count; i++) {
            Fit fit = {.decl = decls[i], .fitting = fitting};
            uint32_t wrong;
            if (fitting == FITS_EXACTLY && !may_fit_exactly(args, decls[i])) continue;
            if (fits(checker, &fit, args, &wrong))
                return (Choice){.decl = decls[i], .variable = fit.variable};
        }
    }
    return (Choice){0};
}

// Turns the arguments into what the chosen one takes. False: reported.
static bool convert_arguments(Checker *checker, Scope *scope, Arguments *args,
                              const Choice *choice) {
    bool good = true;
    for (uint32_t i = 0; i < args->count; i++) {
        const Type *want = wanted_type(checker, choice, i, args->values[i]);
        Value value = convert(checker, scope, args, i, want);
        const DeclParam *param = &choice->decl->params[i];
        if (param->kind != DECL_VALUE)
            value = constant_argument(checker, param, value, args->exprs[i]->span);
        args->values[i] = value;
        good &= !is_error(value.type);
    }
    for (uint32_t i = 0; i < args->count && good; i++)
        good = check_domain(checker, args, choice->decl, i);
    return good;
}

Choice choose_overload(Checker *checker, Scope *scope, Arguments *args, const Decl *const *decls,
                       size_t count) {
    static const Choice none = {0};
    if (args->broken) return none;
    Choice choice = fit_overload(checker, args, decls, count);
    if (!choice.decl) {
        blame(checker, args, decls, count);
        return none;
    }
    if (!choice.variable && uses_variable(choice.decl)) {
        Diag *diag = report(checker, DIAG_EMPTY_LIST, args->call->span, "a list of what?");
        report_label(checker, diag, args->call->span, "nothing says the type of its elements");
        report_fix(checker, diag, "give it an element, or a column of a list type");
        return none;
    }
    choice.timestamp = finest_timestamp(args, choice.decl);
    choice.result = result_type(checker, &choice, args);
    choice.half = half_result(choice.decl, args);
    return convert_arguments(checker, scope, args, &choice) ? choice : none;
}
