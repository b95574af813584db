// Casts: a type's name called like a function. i32(x), decimal(x, 15, 2), date("2026-11-21").
#include "frontend/checker.h"

// timestamp_ms(x) and its kin name a unit; the others are the types' own names.
bool is_cast(Checker *checker, const AstExpr *call, const Type **type) {
    static const char *const units[] = {"timestamp_s", "timestamp_ms", "timestamp_us",
                                        "timestamp_ns"};
    Text name = call->name.text;
    TypeKind kind;
    *type = nullptr;
    if (text_is(name, "decimal")) return call->arg_count == 3;
    if (call->arg_count != 1) return false;
    for (unsigned i = 0; i < countof(units); i++)
        if (text_is(name, units[i])) *type = type_timestamp(checker->types, (TimeUnit)i);
    if (*type) return true;
    if (!type_kind_find(name, &kind)) return false;
    *type = kind_type(checker, kind);
    return true;
}

static const Type *decimal_target(Checker *checker, const AstExpr *call) {
    const AstExpr *p = call->args[1].value, *s = call->args[2].value;
    if (!p || !s || p->kind == AST_ERROR || s->kind == AST_ERROR) return error_type(checker);
    bool whole = p->kind == AST_INT && s->kind == AST_INT;
    if (whole && p->integer >= 1 && p->integer <= DECIMAL_PRECISION_MAX && s->integer <= p->integer)
        return type_decimal(checker->types, (unsigned)p->integer, (unsigned)s->integer);
    Diag *diag = report(checker, DIAG_DECIMAL_BOUNDS, call->span,
                        "a decimal has 1 to 38 digits, and a scale from 0 to their number");
    report_label(checker, diag, call->span, "out of bounds");
    report_fix(checker, diag, "decimal(x, 18, 2): 18 digits, 2 of them after the point");
    return error_type(checker);
}

// Is there a conversion from one type to the other at all?
bool casts(const Type *from, const Type *to) {
    bool from_number = type_is_numeric(from) || from->kind == TYPE_BOOL ||
                       (from->kind == TYPE_DURATION && type_is_integer(to));
    switch (to->kind) {
    case TYPE_BOOL: return from->kind == TYPE_STR || from->kind == TYPE_BOOL;
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64: case TYPE_F16: case TYPE_BF16:
    case TYPE_F32: case TYPE_F64: case TYPE_DECIMAL: return from_number || from->kind == TYPE_STR;
    case TYPE_STR: return true;
    case TYPE_JSON: return from->kind == TYPE_STR || from->kind == TYPE_JSON;
    case TYPE_BYTES: return from->kind == TYPE_STR || from->kind == TYPE_BYTES;
    case TYPE_DATE: case TYPE_TIMESTAMP:
        return from->kind == TYPE_STR || from->kind == TYPE_DATE || from->kind == TYPE_TIMESTAMP;
    case TYPE_DURATION:
        return from->kind == TYPE_STR || from->kind == TYPE_DURATION || type_is_integer(from);
    case TYPE_LIST: case TYPE_STRUCT: case TYPE_TENSOR: case TYPE_MAP: case TYPE_NULL:
    case TYPE_ERROR:
        return false;
    }
    return false;
}

// A date, timestamp or duration that the program writes out. False: the text is none; reported.
static bool time_const(Checker *checker, const AstExpr *arg, const Type *target, Text text,
                       Value *value) {
    Const constant = {0};
    bool date = target->kind == TYPE_DATE, duration = target->kind == TYPE_DURATION;
    bool good = date       ? date_parse(text, &constant.i)
                : duration ? duration_parse(text, &constant.i)
                           : timestamp_parse(text, target->unit, &constant.i);
    if (good) {
        *value = const_value(checker, target, constant, arg->span);
        return true;
    }
    Diag *diag = report(checker, DIAG_BAD_TIME, arg->span, "\"%.*s\" is no %s", TEXT_ARG(text),
                        type_say(checker, target));
    report_label(checker, diag, arg->span, "checked at compile time");
    report_fix(checker, diag, date       ? "write date(\"2026-11-21\")"
                              : duration ? "write duration(\"14:05:00\"), or 90s"
                                         : "write timestamp(\"2026-11-21T09:00:00Z\")");
    *value = error_value(checker);
    return false;
}

static Value bad_cast(Checker *checker, const AstExpr *call, Value value, const Type *target) {
    Diag *diag = report(checker, DIAG_BAD_CAST, call->span, "no conversion from %s to %s",
                        type_say(checker, value.type), type_say(checker, target));
    report_label(checker, diag, call->args[0].value->span, "%s", type_say(checker, value.type));
    if (target->kind == TYPE_JSON) report_fix(checker, diag, "to_json(...)");
    else if (is_tensor(value.type)) report_fix(checker, diag, "take one of its elements: x[0]");
    else if (value.type->kind == TYPE_DURATION && type_is_numeric(target))
        report_fix(checker, diag, "say which unit: seconds(...)");
    else if (target->kind == TYPE_BOOL) report_fix(checker, diag, "compare it: ... != 0");
    else report_fix(checker, diag, "go through text: %s(str(...))", type_kind_name(target->kind));
    return error_value(checker);
}

// Only a number written out takes the target's type; anything else has its own.
static Value cast_operand(Checker *checker, Scope *scope, const AstExpr *arg, const Type *target) {
    bool lossless = type_is_float(target) || arg->kind == AST_INT || target->kind == TYPE_DECIMAL;
    return check_expr(checker, scope, arg, lossless && is_flexible(arg) ? target : nullptr);
}

// A tensor whose elements are cast.
static Value cast_elements(Checker *checker, const AstExpr *call, Value value,
                           const Type *target) {
    value = coerce(checker, value, type_base(value.type), call->args[0].value->span);
    if (is_error(value.type)) return value;
    const Type *elem = value.type->elem;
    if (!type_is_element(target) || !casts(elem, target))
        return bad_cast(checker, call, value, target);
    if (elem == target) return value;
    const Type *type = type_tensor_like(checker->types, target, value.type);
    ExprOp op = type_holds(target, elem) ? EXPR_WIDEN : EXPR_CAST;
    return node1(checker, op, type, call->span, value);
}

Value check_cast(Checker *checker, Scope *scope, const AstExpr *call, const Type *target) {
    const AstExpr *arg = call->args[0].value;
    if (!target) target = decimal_target(checker, call);
    Value value = cast_operand(checker, scope, arg, target);
    if (is_error(value.type) || is_error(target)) return error_value(checker);
    if (is_null(value.type)) return null_value(checker, type_nullable(target), call->span);
    const Type *from = type_base(value.type);
    bool whole = target->kind == TYPE_STR || target->kind == TYPE_JSON;
    if (is_tensor(from) && !whole) return cast_elements(checker, call, value, target);
    if (!casts(from, target)) return bad_cast(checker, call, value, target);
    if (from == target) return value;
    Text text;
    bool time = target->kind == TYPE_DATE || target->kind == TYPE_TIMESTAMP ||
                target->kind == TYPE_DURATION;
    if (time && const_text(checker, value, &text)) {
        time_const(checker, arg, target, text, &value);
        return value;
    }
    const Type *result = value.type->nullable ? type_nullable(target) : target;
    // The bytes of a text are there already.
    bool views = target->kind == TYPE_BYTES && from->kind == TYPE_STR;
    if (views || type_holds(target, from))
        return node1(checker, EXPR_WIDEN, result, call->span, value);
    // Text of anything never fails; text out of bytes may be no UTF-8. Of null it is null.
    bool prints = target->kind == TYPE_STR && from->kind != TYPE_BYTES && !value.type->nullable;
    return node1(checker, prints ? EXPR_TEXT : EXPR_CAST, result, call->span, value);
}
