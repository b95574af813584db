// Parses types.
#include "frontend/parser.h"

// field = NAME ":" type
static AstField parse_field(Parser *p) {
    AstField field = {.name = parser_expect_name(p, "a field name")};
    if (!p->panic && parser_at(p, TOKEN_ASSIGN)) {
        Span sign = parser_span(p, parser_take(p));
        Diag *d = parser_slip(p, DIAG_EXPECTED_TOKEN, sign, "expected `:`, found `=`");
        diag_fix(p->in.diags, d, "write `%.*s: TYPE`", TEXT_ARG(field.name.text));
    } else if (!p->panic) {
        parser_expect(p, TOKEN_COLON, "the field name");
    }
    field.type = parse_type(p);
    return field;
}

// Is the field written `str: T`? Alone it makes the type a map. In backticks it is a field.
static bool is_map_key(const AstField *field) {
    return text_is(field->name.text, "str") &&
           field->name.span.end - field->name.span.start == field->name.text.len;
}

// struct = "{" field ("," field)* [","] "}"
// map = "{" "str" ":" type [","] "}"
static void parse_struct(Parser *p, AstType *type) {
    type->kind = AST_TYPE_STRUCT;
    size_t count = 0, cap = 0;
    List list = parser_open(p);
    while (parser_more(p, &list)) {
        AstField field = parse_field(p);
        arena_push(p->in.arena, type->fields, count, cap, field);
    }
    parser_close(p, &list);
    type->field_count = (uint32_t)count;
    if (count != 1 || !is_map_key(&type->fields[0])) return;
    type->kind = AST_TYPE_MAP;
    type->elem = type->fields[0].type;
}

// params = ("(" | "[") (NUMBER | NAME) ("," ...)* (")" | "]")
static void parse_params(Parser *p, AstType *type) {
    size_t count = 0, cap = 0;
    uint32_t errors = p->in.diags->errors;
    List list = parser_open(p);
    while (parser_more(p, &list)) {
        if (!parser_at(p, TOKEN_NUMBER) && !parser_at_name(p)) {
            Diag *d = parser_unexpected(p, DIAG_EXPECTED_TYPE, "a number or a name");
            diag_fix(p->in.diags, d, "write it as in decimal(15, 2), timestamp[ms] or f32[3, n]");
            continue;
        }
        Text param = parser_text(p, parser_take(p));
        if (parser_at(p, TOKEN_OPEN_PAREN) || parser_at(p, TOKEN_OPEN_BRACE)) {  // f(x): computed.
            Diag *d = parser_unexpected(p, DIAG_EXPECTED_TYPE, "`,` or `)`");
            diag_fix(p->in.diags, d, "write the number out, as in decimal(15, 2)");
        }
        arena_push(p->in.arena, type->params, count, cap, param);
    }
    parser_close(p, &list);
    type->param_count = (uint32_t)count;
    if (p->in.diags->errors != errors) type->kind = AST_TYPE_ERROR;
}

// named = NAME ["(" params ")" | "[" params "]"]
static void parse_named(Parser *p, AstType *type) {
    Token token = parser_take(p);
    type->kind = AST_TYPE_NAME;
    type->name = (Name){parser_text(p, token), parser_span(p, token)};
    if (parser_at(p, TOKEN_OPEN_PAREN)) {
        type->kind = AST_TYPE_PARAMS;
        parse_params(p, type);
    } else if (parser_at(p, TOKEN_OPEN_SQUARE)) {
        type->kind = text_is(type->name.text, "timestamp") ? AST_TYPE_PARAMS : AST_TYPE_TENSOR;
        parse_params(p, type);
    } else if (parser_at(p, TOKEN_LT)) {
        Diag *d = parser_error(p, DIAG_EXPECTED_TYPE, parser_span(p, parser_token(p, 0)),
                               "types take no `<...>`");
        diag_fix(p->in.diags, d, "write a list as [T], a map as {str: T}, a nullable type as T?");
    }
}

static bool parse_base(Parser *p, AstType *type) {
    if (parser_at(p, TOKEN_OPEN_SQUARE)) {
        type->kind = AST_TYPE_LIST;
        List list = parser_open(p);
        type->elem = parse_type(p);
        parser_close(p, &list);
    } else if (parser_at(p, TOKEN_OPEN_BRACE)) {
        parse_struct(p, type);
    } else if (parser_at_name(p)) {
        parse_named(p, type);
    } else {
        Diag *d = parser_unexpected(p, DIAG_EXPECTED_TYPE, "a type");
        diag_fix(p->in.diags, d,
                 "write a type: i64, f64, str, [T], {name: T}, or T? if it may be null");
        return false;
    }
    return true;
}

// type = (named | "[" type "]" | struct | map) ["?"]
AstType *parse_type(Parser *p) {
    AstType *type = arena_new_of(p->in.arena, AstType);
    Span start = type->span = parser_span(p, parser_token(p, 0));
    if (p->panic || !parser_enter(p)) return type;
    if (parse_base(p, type)) {
        if (parser_skip(p, TOKEN_QUESTION)) type->nullable = true;
        if (parser_at(p, TOKEN_QUESTION) || parser_at(p, TOKEN_COALESCE)) {
            Token extra = parser_take(p);
            type->nullable = true;
            Diag *d = parser_slip(p, DIAG_EXPECTED_TYPE, parser_span(p, extra),
                                  "a type is nullable once");
            diag_fix(p->in.diags, d, "write one `?`");
        }
        type->span = parser_since(p, start);
    }
    parser_leave(p);
    return type;
}
