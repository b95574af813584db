// Expressions: the dispatch, and the forms that are no operator, branch or call.
#include "frontend/checker.h"

Value node(Checker *checker, ExprOp op, const Type *type, Span span, const ExprId *args,
           uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (expr_is_none(args[i])) return error_value(checker);
    Expr payload = {.op = op, .type = type, .span = span};
    return (Value){graph_expr(checker->graph, payload, args, count), type};
}

Value node1(Checker *checker, ExprOp op, const Type *type, Span span, Value a) {
    return node(checker, op, type, span, &a.id, 1);
}

Value node2(Checker *checker, ExprOp op, const Type *type, Span span, Value a, Value b) {
    ExprId args[] = {a.id, b.id};
    return node(checker, op, type, span, args, 2);
}

Value to_text(Checker *checker, Value value, Span span) {
    if (is_error(value.type) || value.type->kind == TYPE_STR) return value;
    return node1(checker, EXPR_TEXT, kind_type(checker, TYPE_STR), span, value);
}

// ---- names, fields, elements --------------------------------------------------------------------

static Value check_field(Checker *checker, Scope *scope, const AstExpr *expr) {
    Value base = check_expr(checker, scope, expr->a, nullptr);
    if (is_error(base.type)) return base;
    const Type *type = type_base(base.type);
    if (type->kind != TYPE_STRUCT) {
        Diag *diag = report(checker, DIAG_NOT_STRUCT, expr->a->span, "%s has no fields",
                            type_say(checker, base.type));
        report_label(checker, diag, expr->a->span, "%s", type_say(checker, base.type));
        if (type->kind == TYPE_JSON)
            report_fix(checker, diag, "declare the column's type, or see `sbc doc` for JSON");
        else if (type->kind == TYPE_MAP)
            report_fix(checker, diag, "look the key up: get(..., \"%.*s\")",
                       TEXT_ARG(expr->name.text));
        else report_fix(checker, diag, "drop '.%.*s'", TEXT_ARG(expr->name.text));
        return error_value(checker);
    }
    int index = type_field_find(type, expr->name.text);
    if (index < 0) {
        Diag *diag = report(checker, DIAG_UNKNOWN_FIELD, expr->name.span, "no field '%.*s'",
                            TEXT_ARG(expr->name.text));
        report_label(checker, diag, expr->name.span, "the struct is %s",
                     type_say(checker, base.type));
        Text *names = arena_new_array(checker->arena, Text, type->field_count + 1);
        for (uint32_t i = 0; i < type->field_count; i++) names[i] = type->fields[i].name;
        fix_names(checker, diag, expr->name.text, names, type->field_count);
        return error_value(checker);
    }
    const Type *result = type->fields[index].type;
    if (base.type->nullable) result = type_nullable(result);
    Expr payload = {.op = EXPR_FIELD, .type = result, .span = expr->span, .index = (uint32_t)index};
    Value field = {graph_expr(checker->graph, payload, &base.id, 1), result};
    return known_value(checker, scope, field, expr);
}

static Value check_index(Checker *checker, Scope *scope, const AstExpr *expr) {
    Value list = check_expr(checker, scope, expr->a, nullptr);
    const Type *base = type_base(list.type);
    if (!is_error(base) && base->kind != TYPE_LIST && base->kind != TYPE_TENSOR) {
        Diag *diag = report(checker, DIAG_NOT_LIST, expr->a->span, "%s has no elements",
                            type_say(checker, list.type));
        report_label(checker, diag, expr->a->span, "%s", type_say(checker, list.type));
        if (base->kind == TYPE_MAP)
            report_fix(checker, diag, "look a key up: get(..., \"KEY\")");
        else if (base->kind == TYPE_STR)
            report_fix(checker, diag, "take a part of a string with substr(...)");
        else report_fix(checker, diag, "index a list or a tensor");
        return error_value(checker);
    }
    Value index = check_as(checker, scope, expr->b, kind_type(checker, TYPE_I64));
    if (is_error(base) || is_error(index.type)) return error_value(checker);
    if (list.type->nullable) return coerce(checker, list, base, expr->a->span);
    if (is_tensor(list.type)) return tensor_element(checker, expr, list, index);
    return node2(checker, EXPR_INDEX, list.type->elem, expr->span, list, index);
}

// ---- lists and structs --------------------------------------------------------------------------

// The common type of the items; numbers written out follow the others.
static const Type *list_elem_type(Checker *checker, const AstExpr *expr, Value *items) {
    const Type *type = nullptr;
    for (int flexible = 0; flexible < 2; flexible++) {
        for (uint32_t i = 0; i < expr->arg_count; i++) {
            if (is_flexible(expr->args[i].value) != flexible) continue;
            if (is_empty_list(expr->args[i].value)) continue;
            bool follows = type && flexible && type_is_numeric(type_base(type)) &&
                           !(type->kind == TYPE_I64 && items[i].type->kind == TYPE_F64);
            if (follows) continue;
            if (type && flexible && type->kind == TYPE_I64) type = items[i].type;
            const Type *both = type ? common_type(checker, type, items[i].type) : items[i].type;
            if (both && !is_error(both)) {
                type = both;
                continue;
            }
            if (both) return both;
            Diag *diag = report(checker, DIAG_NO_COMMON_TYPE, expr->args[i].value->span,
                                "the items are of different types, %s and %s",
                                type_say(checker, type), type_say(checker, items[i].type));
            report_label(checker, diag, expr->args[i].value->span, "%s",
                         type_say(checker, items[i].type));
            report_fix(checker, diag, "convert them to one type");
            return error_type(checker);
        }
    }
    return type;
}

// False: one of them has no type, so that nobody knows what numbers beside it should be. What [] is
// the others say.
static bool check_items(Checker *checker, Scope *scope, const AstExpr *list, Value *items) {
    bool good = true;
    for (int untyped = 0; untyped < 2 && good; untyped++)
        for (uint32_t i = 0; i < list->arg_count; i++) {
            const AstExpr *item = list->args[i].value;
            if ((item && is_untyped(item)) != untyped || (item && is_empty_list(item))) continue;
            items[i] = check_expr(checker, scope, item, nullptr);
            good &= !is_error(items[i].type);
        }
    return good;
}

static Value check_list(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    if (want && is_tensor(want)) return check_tensor_as(checker, scope, expr, type_base(want));
    const Type *elem = want && type_base(want)->kind == TYPE_LIST ? type_base(want)->elem : nullptr;
    Value *items = arena_new_array(checker->arena, Value, expr->arg_count + 1);
    ExprId *ids = arena_new_array(checker->arena, ExprId, expr->arg_count + 1);
    if (!elem) {
        if (!check_items(checker, scope, expr, items)) return error_value(checker);
        elem = list_elem_type(checker, expr, items);
    }
    if (!elem || is_null(elem)) {
        Diag *diag = report(checker, DIAG_EMPTY_LIST, expr->span, "a list of what?");
        report_label(checker, diag, expr->span, "nothing says the type of its elements");
        report_fix(checker, diag, "put it where a type is known: derive xs: [i64] = []");
        return error_value(checker);
    }
    if (is_error(elem)) return error_value(checker);
    bool broken = false;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        Value item = check_as(checker, scope, expr->args[i].value, elem);
        broken |= is_error(item.type);
        ids[i] = item.id;
    }
    if (broken) return error_value(checker);
    const Type *type = type_list(checker->types, elem);
    return node(checker, EXPR_LIST, type, expr->span, ids, expr->arg_count);
}

// A field of a struct that is made: written, or of a struct that is spread.
typedef struct Member {
    Name           name;
    const AstExpr *written;  // Null: of a spread.
    Value          value;    // Of a spread.
} Member;

typedef struct Members {
    Member  *items;
    size_t   count, cap;
    bool     broken;  // Reported.
} Members;

static Member *find_member(const Members *members, Text name) {
    for (size_t i = 0; i < members->count; i++)
        if (text_eq(members->items[i].name.text, name)) return &members->items[i];
    return nullptr;
}

static void put_member(Checker *checker, Members *members, Member member) {
    Member *there = find_member(members, member.name.text);
    if (!there) {
        arena_push(checker->arena, members->items, members->count, members->cap, member);
    } else if (!there->written || !member.written) {
        *there = member;  // What stands later counts, at the place of the first.
    } else {
        Diag *diag = report(checker, DIAG_DUPLICATE_FIELD, member.name.span,
                            "field '%.*s' stands twice in this struct",
                            TEXT_ARG(member.name.text));
        report_label(checker, diag, member.name.span, "the second one");
        report_fix(checker, diag, "drop or rename one of them");
        members->broken = true;
    }
}

// The fields of a struct that is not null.
static void put_spread(Checker *checker, Scope *scope, Members *members, const AstExpr *written) {
    Value value = check_expr(checker, scope, written, nullptr);
    const Type *type = type_base(value.type);
    members->broken |= is_error(type);
    if (is_error(type)) return;
    if (type->kind != TYPE_STRUCT) {
        Diag *diag = report(checker, DIAG_NOT_STRUCT, written->span, "%s has no fields",
                            type_say(checker, value.type));
        report_label(checker, diag, written->span, "%s", type_say(checker, value.type));
        report_fix(checker, diag, type->kind == TYPE_MAP
                                      ? "put entries together: map_of(concat(entries(...), ...))"
                                      : "after ... comes a struct: {...r, a: 1}");
        members->broken = true;
        return;
    }
    if (value.type->nullable) value = coerce(checker, value, type, written->span);
    for (uint32_t i = 0; i < type->field_count && !is_error(value.type); i++) {
        const Field *field = &type->fields[i];
        Expr payload = {.op = EXPR_FIELD, .type = field->type, .span = written->span, .index = i};
        Value part = {graph_expr(checker->graph, payload, &value.id, 1), field->type};
        put_member(checker, members, (Member){{field->name, written->span}, nullptr, part});
    }
    members->broken |= is_error(value.type);
}

static Members struct_members(Checker *checker, Scope *scope, const AstExpr *expr) {
    Members members = {0};
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        const AstArg *arg = &expr->args[i];
        if (arg->spread) put_spread(checker, scope, &members, arg->value);
        else put_member(checker, &members, (Member){arg->name, arg->value, {0}});
    }
    return members;
}

static void unknown_member(Checker *checker, Name name, const Type *want) {
    Diag *diag = report(checker, DIAG_UNKNOWN_FIELD, name.span, "no field '%.*s'",
                        TEXT_ARG(name.text));
    report_label(checker, diag, name.span, "the struct is %s", type_say(checker, want));
    Text *names = arena_new_array(checker->arena, Text, want->field_count + 1);
    for (uint32_t j = 0; j < want->field_count; j++) names[j] = want->fields[j].name;
    fix_names(checker, diag, name.text, names, want->field_count);
}

// The value of a field where a type is wanted.
static Value member_as(Checker *checker, Scope *scope, const Member *member, const Type *want) {
    if (member->written) return check_as(checker, scope, member->written, want);
    const Type *found = member->value.type;
    const bool null = found->nullable && !want->nullable;
    if (type_holds(type_base(want), type_base(found)) && !null)
        return coerce(checker, member->value, want, member->name.span);
    Diag *diag = report(checker, null ? DIAG_NULLABLE : DIAG_TYPE_MISMATCH, member->name.span,
                        "field '%.*s' is %s, expected %s", TEXT_ARG(member->name.text),
                        type_say(checker, found), type_say(checker, want));
    report_label(checker, diag, member->name.span, "of this struct");
    report_fix(checker, diag, "write the field as well: {...r, %.*s: ...}",
               TEXT_ARG(member->name.text));
    return error_value(checker);
}

// A struct where a struct type is wanted: fields in its order, absent ones null.
static Value struct_as(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    ExprId *ids = arena_new_array(checker->arena, ExprId, want->field_count + 1);
    Members members = struct_members(checker, scope, expr);
    const bool lost = members.broken;
    for (size_t i = 0; i < members.count; i++) {
        if (type_field_find(want, members.items[i].name.text) >= 0) continue;
        unknown_member(checker, members.items[i].name, want);
        members.broken = true;
    }
    for (uint32_t i = 0; i < want->field_count; i++) {
        const Field *field = &want->fields[i];
        const Member *member = find_member(&members, field->name);
        Value value = error_value(checker);
        if (member) value = member_as(checker, scope, member, field->type);
        else if (field->type->nullable) value = null_value(checker, field->type, expr->span);
        else if (!lost) {
            Diag *diag = report(checker, DIAG_MISSING_FIELD, expr->span, "field '%.*s' is missing",
                                TEXT_ARG(field->name));
            report_label(checker, diag, expr->span, "%s is expected", type_say(checker, want));
            report_fix(checker, diag, "add %.*s: ...", TEXT_ARG(field->name));
        }
        members.broken |= is_error(value.type);
        ids[i] = value.id;
    }
    if (members.broken) return error_value(checker);
    return node(checker, EXPR_STRUCT, want, expr->span, ids, want->field_count);
}

// A map where a map is wanted: each name is a key.
static Value map_as(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    Members members = struct_members(checker, scope, expr);
    ExprId *entries = arena_new_array(checker->arena, ExprId, members.count + 1);
    for (size_t i = 0; i < members.count; i++) {
        const Member *member = &members.items[i];
        Value key = str_value(checker, member->name.text, member->name.span);
        Value value = member_as(checker, scope, member, type_map_value(want));
        Value entry = node2(checker, EXPR_STRUCT, want->elem, member->name.span, key, value);
        members.broken |= is_error(value.type);
        entries[i] = entry.id;
    }
    if (members.broken) return error_value(checker);
    return node(checker, EXPR_LIST, want, expr->span, entries, (uint32_t)members.count);
}

static Value check_struct(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    if (want && type_base(want)->kind == TYPE_MAP)
        return map_as(checker, scope, expr, type_base(want));
    if (want && type_base(want)->kind == TYPE_STRUCT)
        return struct_as(checker, scope, expr, type_base(want));
    Members members = struct_members(checker, scope, expr);
    Field *fields = arena_new_array(checker->arena, Field, members.count + 1);
    ExprId *ids = arena_new_array(checker->arena, ExprId, members.count + 1);
    for (size_t i = 0; i < members.count; i++) {
        const Member *member = &members.items[i];
        Value value = member->written ? check_expr(checker, scope, member->written, nullptr)
                                      : member->value;
        if (is_null(value.type)) {
            Span span = member->written->span;
            Diag *diag = report(checker, DIAG_NULL_TYPE, span, "null of which type?");
            report_label(checker, diag, span, "nothing says the type of this field");
            report_fix(checker, diag, "put the struct where its type is known");
            value = error_value(checker);
        }
        members.broken |= is_error(value.type);
        fields[i] = (Field){member->name.text, value.type};
        ids[i] = value.id;
    }
    if (members.broken) return error_value(checker);
    const Type *type = type_struct(checker->types, fields, (uint32_t)members.count);
    return node(checker, EXPR_STRUCT, type, expr->span, ids, (uint32_t)members.count);
}

Value fstring_part(Checker *checker, Scope *scope, const AstExpr *part) {
    Value value = check_expr(checker, scope, part, nullptr);
    if (value.type->nullable || is_null(value.type))
        value = coerce(checker, value, is_null(value.type) ? kind_type(checker, TYPE_STR)
                                                           : type_base(value.type), part->span);
    return to_text(checker, value, part->span);
}

static Value check_fstring(Checker *checker, Scope *scope, const AstExpr *expr) {
    ExprId *ids = arena_new_array(checker->arena, ExprId, expr->arg_count + 1);
    bool broken = false;
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        Value value = fstring_part(checker, scope, expr->args[i].value);
        broken |= is_error(value.type);
        ids[i] = value.id;
    }
    if (broken) return error_value(checker);
    if (!expr->arg_count) return str_value(checker, TEXT(""), expr->span);
    return node(checker, EXPR_CONCAT, kind_type(checker, TYPE_STR), expr->span, ids,
                expr->arg_count);
}

// ---- dispatch -----------------------------------------------------------------------------------

static Value simple_const(Checker *checker, TypeKind kind, int64_t i, Span span) {
    return const_value(checker, kind_type(checker, kind), (Const){.i = i}, span);
}

static Value check_duration(Checker *checker, const AstExpr *expr) {
    if (expr->integer <= INT64_MAX && !expr->too_big)
        return simple_const(checker, TYPE_DURATION, (int64_t)expr->integer, expr->span);
    Diag *diag = report(checker, DIAG_LITERAL_RANGE, expr->span, "%.*s does not fit duration",
                        TEXT_ARG(expr->text));
    report_label(checker, diag, expr->span, "a duration holds about 292,000 years");
    report_fix(checker, diag, "write a shorter duration");
    return error_value(checker);
}

static Value check_kind(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    switch (expr->kind) {
    case AST_NULL:
        return null_value(checker, want ? type_nullable(want) : kind_type(checker, TYPE_NULL),
                          expr->span);
    case AST_BOOL: return simple_const(checker, TYPE_BOOL, expr->boolean, expr->span);
    case AST_INT: case AST_FLOAT: case AST_PERCENT:
        return check_literal(checker, expr, false, want);
    case AST_DURATION: return check_duration(checker, expr);
    case AST_MONTHS: return misplaced_months(checker, expr);
    case AST_STR: return str_value(checker, expr->text, expr->span);
    case AST_FSTRING: return check_fstring(checker, scope, expr);
    case AST_NAME:
        return known_value(checker, scope, scope_name(checker, scope, expr->name, expr->span),
                           expr);
    case AST_CALL: return check_call(checker, scope, expr, want);
    case AST_FIELD: return check_field(checker, scope, expr);
    case AST_INDEX: return check_index(checker, scope, expr);
    case AST_UNARY: return check_unary(checker, scope, expr, want);
    case AST_BINARY: return check_binary(checker, scope, expr, want);
    case AST_IN: return check_in(checker, scope, expr);
    case AST_IF: return check_if(checker, scope, expr, want);
    case AST_CASE: return check_case(checker, scope, expr, want);
    case AST_ELSE: return check_else(checker, scope, expr, want);
    case AST_LIST: return check_list(checker, scope, expr, want);
    case AST_STRUCT: return check_struct(checker, scope, expr, want);
    case AST_LAMBDA: return misplaced_lambda(checker, expr);
    case AST_REJECT:  // `??` takes it.
    case AST_ERROR: return error_value(checker);
    }
    return error_value(checker);
}

Value check_expr(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    if (!expr) return error_value(checker);
    // A literal whose place is of an unknown type: what the literal lacks, the type would say.
    bool lost = want && is_error(want) && (expr->kind == AST_LIST || expr->kind == AST_STRUCT);
    if (want && (is_error(want) || is_null(want))) want = nullptr;
    if (checker->depth >= DEPTH_MAX) {
        Diag *diag = report(checker, DIAG_TOO_DEEP, expr->span,
                            "the expression is nested too deeply");
        report_label(checker, diag, expr->span, "more than %d levels", DEPTH_MAX);
        report_fix(checker, diag, "split it with a `derive` step");
        return error_value(checker);
    }
    checker->depth++;
    checker->quiet += lost;
    Value value = check_kind(checker, scope, expr, want);
    checker->quiet -= lost;
    checker->depth--;
    return expr_is_none(value.id) ? error_value(checker) : value;
}

Value check_as(Checker *checker, Scope *scope, const AstExpr *expr, const Type *want) {
    Value value = check_expr(checker, scope, expr, want);
    return expr ? coerce(checker, value, want, expr->span) : value;
}

Value check_condition(Checker *checker, Scope *scope, const AstExpr *expr) {
    Value value = check_expr(checker, scope, expr, nullptr);
    if (is_error(value.type) || type_base(value.type)->kind == TYPE_BOOL)
        return coerce(checker, value, kind_type(checker, TYPE_BOOL), expr ? expr->span : (Span){0});
    Diag *diag = report(checker, DIAG_NOT_BOOL, expr->span, "expected a condition, found %s",
                        type_say(checker, value.type));
    report_label(checker, diag, expr->span, "%s", type_say(checker, value.type));
    const Type *base = type_base(value.type);
    if (is_tensor(base)) report_fix(checker, diag, "take one of its elements: x[0]");
    else if (type_is_numeric(base)) report_fix(checker, diag, "compare it: ... != 0");
    else if (base->kind == TYPE_STR) report_fix(checker, diag, "compare it: ... != \"\"");
    else report_fix(checker, diag, "compare it: ... != null");
    return error_value(checker);
}
