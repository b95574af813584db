// Written types, and which type holds the values of which.
#include "frontend/checker.h"

#include <string.h>

const Type *kind_type(Checker *checker, TypeKind kind) { return type_of(checker->types, kind); }
const Type *error_type(Checker *checker) { return kind_type(checker, TYPE_ERROR); }
Value error_value(Checker *checker) { return (Value){EXPR_NONE, error_type(checker)}; }

const char *article(const char *word) { return strchr("aeiou", word[0]) ? "an" : "a"; }

// ---- written types ------------------------------------------------------------------------------

static const Type *resolve_decl(Checker *checker, TypeDecl *decl, Span span) {
    if (decl->state == STATE_BUSY) {
        Diag *diag = report(checker, DIAG_RECURSIVE_TYPE, span, "type '%.*s' contains itself",
                            TEXT_ARG(decl->stmt->name.text));
        report_label(checker, diag, span, "here it comes back");
        report_fix(checker, diag, "keep the inner value as json");
        return error_type(checker);
    }
    if (decl->state == STATE_NEW) {
        decl->state = STATE_BUSY;
        decl->type = resolve_type(checker, decl->stmt->type);
        if (decl->stmt->lost.end) decl->type = error_type(checker);
        decl->state = STATE_DONE;
    }
    return decl->type;
}

// Types of other languages, and what they are here.
static const char *const foreign_types[][2] = {
    {"int", "i64"}, {"integer", "i64"}, {"long", "i64"}, {"bigint", "i64"}, {"int64", "i64"},
    {"int32", "i32"}, {"float", "f64"}, {"double", "f64"}, {"float64", "f64"},
    {"float32", "f32"}, {"float16", "f16"}, {"half", "f16"}, {"bfloat16", "bf16"},
    {"number", "f64"}, {"numeric", "decimal(18, 2)"}, {"string", "str"},
    {"text", "str"}, {"varchar", "str"}, {"utf8", "str"}, {"boolean", "bool"},
    {"datetime", "timestamp"}, {"map", "{str: i64}"}, {"dict", "{str: i64}"},
};

const char *foreign_type(Text name) {
    for (size_t i = 0; i < countof(foreign_types); i++)
        if (text_is(name, foreign_types[i][0])) return foreign_types[i][1];
    return nullptr;
}

static const Type *unknown_type(Checker *checker, Name name) {
    if (may_be_declared(checker, name.text)) return error_type(checker);
    Diag *diag = report(checker, DIAG_UNKNOWN_TYPE, name.span, "unknown type '%.*s'",
                        TEXT_ARG(name.text));
    const char *ours = foreign_type(name.text);
    if (ours) {
        report_label(checker, diag, name.span, "not a type here");
        report_fix(checker, diag, "write %s", ours);
        return error_type(checker);
    }
    Text names[64 + countof(foreign_types)];
    size_t count = 0;
    for (unsigned kind = TYPE_BOOL; kind < TYPE_LIST; kind++)
        names[count++] = text_of(type_kind_name((TypeKind)kind));
    for (size_t i = 0; i < countof(foreign_types); i++)
        names[count++] = text_of(foreign_types[i][0]);
    for (size_t i = 0; i < checker->type_count && count < countof(names); i++)
        names[count++] = checker->type_decls[i].stmt->name.text;
    report_label(checker, diag, name.span, "neither built in nor declared with `type`");
    Text near = diag_did_you_mean(name.text, names, count);
    bool declared = find_type_decl(checker, near);
    ours = declared ? nullptr : foreign_type(near);
    if (ours) near = text_of(ours);
    if (near.len) report_fix(checker, diag, "did you mean '%.*s'?", TEXT_ARG(near));
    else report_fix(checker, diag, "declare it: type %.*s = {...}", TEXT_ARG(name.text));
    return error_type(checker);
}

bool resolve_named(Checker *checker, Text name, const Type **type) {
    TypeDecl *decl = find_type_decl(checker, name);
    TypeKind kind;
    if (decl) *type = resolve_decl(checker, decl, decl->stmt->name.span);
    else if (type_kind_find(name, &kind)) *type = kind_type(checker, kind);
    else return false;
    return true;
}

static const Type *resolve_name(Checker *checker, Name name) {
    TypeDecl *decl = find_type_decl(checker, name.text);
    if (decl) return resolve_decl(checker, decl, name.span);
    TypeKind kind;
    if (text_is(name.text, "decimal")) {
        Diag *diag = report(checker, DIAG_DECIMAL_BOUNDS, name.span,
                            "'decimal' needs a precision and a scale");
        report_label(checker, diag, name.span, "of how many digits?");
        report_fix(checker, diag, "decimal(18, 2): 18 digits, 2 of them after the point");
        return error_type(checker);
    }
    if (!type_kind_find(name.text, &kind)) return unknown_type(checker, name);
    return kind_type(checker, kind);
}

// Digits of a type parameter; -1 when it is no small number.
static int small_number(Text text) {
    int value = 0;
    if (!text.len || text.len > 3) return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return -1;
        value = value * 10 + (text.at[i] - '0');
    }
    return value;
}

static const Type *resolve_params(Checker *checker, const AstType *type) {
    if (text_is(type->name.text, "decimal")) {
        int p = type->param_count > 0 ? small_number(type->params[0]) : -1;
        int s = type->param_count > 1 ? small_number(type->params[1]) : 0;
        if (type->param_count <= 2 && p >= 1 && p <= DECIMAL_PRECISION_MAX && s >= 0 && s <= p)
            return type_decimal(checker->types, (unsigned)p, (unsigned)s);
        Diag *diag = report(checker, DIAG_DECIMAL_BOUNDS, type->span,
                            "a decimal has 1 to 38 digits, and a scale from 0 to their number");
        report_label(checker, diag, type->span, "out of bounds");
        report_fix(checker, diag, "decimal(18, 2): 18 digits, 2 of them after the point");
        return error_type(checker);
    }
    static const char *const units[] = {"s", "ms", "us", "ns"};
    if (text_is(type->name.text, "timestamp") && type->param_count == 1)
        for (unsigned i = 0; i < countof(units); i++)
            if (text_is(type->params[0], units[i]))
                return type_timestamp(checker->types, (TimeUnit)i);
    bool timestamp = text_is(type->name.text, "timestamp");
    Diag *diag = report(checker, DIAG_TYPE_PARAMETER, type->span, "'%.*s' takes %s",
                        TEXT_ARG(type->name.text),
                        timestamp ? "one unit: s, ms, us or ns" : "no parameters");
    report_label(checker, diag, type->span, "this type");
    report_fix(checker, diag, timestamp ? "timestamp[ms]" : "drop the parentheses");
    return error_type(checker);
}

static const Type *resolve_struct(Checker *checker, const AstType *type) {
    Field *fields = arena_new_array(checker->arena, Field, type->field_count + 1);
    uint32_t count = 0;
    bool broken = false;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const AstField *field = &type->fields[i];
        bool twice = false;
        for (uint32_t j = 0; j < count; j++) twice |= text_eq(fields[j].name, field->name.text);
        const Type *field_type = resolve_type(checker, field->type);
        broken |= is_error(field_type);
        if (!twice) {
            fields[count++] = (Field){field->name.text, field_type};
            continue;
        }
        Diag *diag = report(checker, DIAG_DUPLICATE_FIELD, field->name.span,
                            "field '%.*s' stands twice in this type", TEXT_ARG(field->name.text));
        report_label(checker, diag, field->name.span, "the second one");
        report_fix(checker, diag, "drop or rename one of them");
        broken = true;
    }
    return broken ? error_type(checker) : type_struct(checker->types, fields, count);
}

const Type *resolve_type(Checker *checker, const AstType *type) {
    if (!type || checker->depth >= DEPTH_MAX) return error_type(checker);
    checker->depth++;
    const Type *result = error_type(checker);
    switch (type->kind) {
    case AST_TYPE_ERROR: break;
    case AST_TYPE_NAME: result = resolve_name(checker, type->name); break;
    case AST_TYPE_PARAMS: result = resolve_params(checker, type); break;
    case AST_TYPE_LIST: {
        const Type *elem = resolve_type(checker, type->elem);
        if (!is_error(elem)) result = type_list(checker->types, elem);
        break;
    }
    case AST_TYPE_STRUCT: result = resolve_struct(checker, type); break;
    case AST_TYPE_MAP: {
        const Type *value = resolve_type(checker, type->elem);
        if (!is_error(value)) result = type_map(checker->types, value);
        break;
    }
    case AST_TYPE_TENSOR:
        result = resolve_tensor(checker, type);
        break;
    }
    checker->depth--;
    return type->nullable ? type_nullable(result) : result;
}

// ---- which type holds which ---------------------------------------------------------------------

static bool integer_holds(const Type *wide, const Type *narrow) {
    unsigned wide_bits = type_bits(wide), narrow_bits = type_bits(narrow);
    if (type_is_signed(wide) == type_is_signed(narrow)) return wide_bits >= narrow_bits;
    return type_is_signed(wide) && wide_bits > narrow_bits;
}

bool type_holds(const Type *wide, const Type *narrow) {
    if (wide == narrow || is_error(wide) || is_error(narrow)) return true;
    if (type_is_integer(wide) && type_is_integer(narrow)) return integer_holds(wide, narrow);
    if (type_is_float(wide) && type_is_float(narrow)) return type_bits(wide) > type_bits(narrow);
    if (wide->kind != TYPE_DECIMAL || narrow->kind != TYPE_DECIMAL) return false;
    return wide->scale >= narrow->scale &&
           wide->precision - wide->scale >= narrow->precision - narrow->scale;
}

static const Type *common_base(Checker *checker, const Type *a, const Type *b) {
    if (type_holds(a, b)) return a;
    if (type_holds(b, a)) return b;
    if (type_may_be(a, b)) return type_either(checker->types, a, b);
    if (type_is_integer(a) && type_is_integer(b)) {
        for (unsigned kind = TYPE_I16; kind <= TYPE_I64; kind++) {
            const Type *wide = kind_type(checker, (TypeKind)kind);
            if (type_holds(wide, a) && type_holds(wide, b)) return wide;
        }
    }
    if (a->kind == TYPE_DECIMAL && b->kind == TYPE_DECIMAL) {
        unsigned scale = a->scale > b->scale ? a->scale : b->scale;
        int whole_a = a->precision - a->scale, whole_b = b->precision - b->scale;
        unsigned precision = (unsigned)(whole_a > whole_b ? whole_a : whole_b) + scale;
        if (precision <= DECIMAL_PRECISION_MAX)
            return type_decimal(checker->types, precision, scale);
    }
    return nullptr;
}

const Type *common_type(Checker *checker, const Type *a, const Type *b) {
    if (is_error(a) || is_error(b)) return error_type(checker);
    if (is_null(a)) return type_nullable(b);
    if (is_null(b)) return type_nullable(a);
    const Type *base = common_base(checker, type_base(a), type_base(b));
    if (!base) return nullptr;
    return a->nullable || b->nullable ? type_nullable(base) : base;
}

Value widen(Checker *checker, Value value, const Type *want, Span span) {
    if (value.type == want || is_error(value.type) || is_error(want)) return value;
    if (is_null(value.type)) return null_value(checker, type_nullable(want), span);
    const Type *base = type_base(want);
    if (type_base(value.type) != base) {
        const Type *widened = value.type->nullable ? type_nullable(base) : base;
        bool shape = type_may_be(value.type, widened) || type_list_may_be(value.type, widened);
        value = node1(checker, shape ? EXPR_AGREE : EXPR_WIDEN, widened, span, value);
    }
    if (want->nullable && !value.type->nullable)
        value = node1(checker, EXPR_SOME, want, span, value);
    return value;
}

static void mismatch(Checker *checker, const Type *found, const Type *want, Span span) {
    Diag *diag = report(checker, DIAG_TYPE_MISMATCH, span, "expected %s, found %s",
                        type_say(checker, want), type_say(checker, found));
    report_label(checker, diag, span, "%s", type_say(checker, found));
    const Type *from = type_base(found), *to = type_base(want);
    Text text = source_text(checker, span);
    bool shown = text.len && text.len <= 40 && !memchr(text.at, '\n', text.len);
    if (!shown) text = TEXT("...");
    bool quoted = from->kind == TYPE_STR && text.len > 1 && text.at[0] == '"';
    bool number = quoted && memchr("+-.0123456789", text.at[1], 13);
    if (quoted && (to->kind == TYPE_BOOL || type_is_numeric(to)))
        report_fix(checker, diag, to->kind == TYPE_BOOL ? "write true or false, without quotes"
                                  : !number             ? "write a number"
                                                        : "write the number without quotes");
    else if (to->kind == TYPE_STR)
        report_fix(checker, diag, "str(%.*s), or f\"{...}\"", TEXT_ARG(text));
    else if (to->kind == TYPE_BOOL)
        report_fix(checker, diag, "compare it: %.*s == ...", TEXT_ARG(text));
    else if (to->kind == TYPE_DECIMAL && (type_is_numeric(from) || from->kind == TYPE_STR))
        report_fix(checker, diag, "decimal(%.*s, %u, %u)", TEXT_ARG(text), to->precision,
                   to->scale);
    else if (!type_is_nested(to) && (type_is_numeric(from) || from->kind == TYPE_STR))
        report_fix(checker, diag, "%s(%.*s)", type_kind_name(to->kind), TEXT_ARG(text));
    else
        report_fix(checker, diag, "give %s %s", article(type_say(checker, want)),
                   type_say(checker, want));
}

static void needs_value(Checker *checker, const Type *found, const Type *want, Span span) {
    Diag *diag = report(checker, DIAG_NULLABLE, span, "expected %s, found %s which may be null",
                        type_say(checker, want), type_say(checker, found));
    report_label(checker, diag, span, "%s", type_say(checker, found));
    const char *value = want->kind == TYPE_STR        ? "\"\""
                        : want->kind == TYPE_BOOL     ? "false"
                        : type_is_float(want)         ? "0.0"
                        : type_is_integer(want)       ? "0"
                        : want->kind == TYPE_LIST     ? "[]"
                        : want->kind == TYPE_MAP      ? "{}"
                                                      : "VALUE";
    report_fix(checker, diag,
               "say what null means here: ... ?? %s, or leave such rows out with where", value);
}

Value coerce(Checker *checker, Value value, const Type *want, Span span) {
    if (is_error(value.type) || is_error(want)) return error_value(checker);
    if (value.type == want) return value;
    const Type *from = type_base(value.type), *to = type_base(want);
    bool fits = is_null(from) || type_holds(to, from) || type_may_be(from, to) ||
                type_list_may_be(value.type, to);
    if (!fits) mismatch(checker, value.type, want, span);
    else if (!want->nullable && (value.type->nullable || is_null(from)))
        needs_value(checker, is_null(from) ? from : value.type, want, span);
    else return widen(checker, value, want, span);
    return error_value(checker);
}

bool type_comparable(const Type *type, bool ordered) {
    const Type *base = type_base(type);
    switch (base->kind) {
    case TYPE_LIST: return !ordered && type_comparable(base->elem, false);
    case TYPE_STRUCT:
        for (uint32_t i = 0; i < base->field_count; i++)
            if (!type_comparable(base->fields[i].type, false)) return false;
        return !ordered;
    case TYPE_JSON: case TYPE_TENSOR: case TYPE_MAP: case TYPE_NULL: return false;
    case TYPE_BOOL: case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64: case TYPE_DECIMAL:
    case TYPE_STR: case TYPE_BYTES: case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION:
    case TYPE_ERROR: return true;
    }
    return false;
}

bool type_is_key(const Type *type) { return type_comparable(type, true); }
