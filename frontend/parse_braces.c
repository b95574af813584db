// Strings with braces: f-strings, and the paths of `read` and `write`.
#include "frontend/parser.h"

#include <string.h>

// What stands after the expression, up to the brace.
static void end_part(Parser *p, AstArg *part, bool typed) {
    Token token = parser_token(p, 0);
    bool key = typed && part->value->kind == AST_NAME && token.kind == TOKEN_COLON;
    if (p->panic || token.kind == TOKEN_END) return;
    if (key) {
        parser_take(p);
        part->type = parse_type(p);
    } else if (token.kind == TOKEN_COLON) {
        Diag *d = parser_error(p, DIAG_BAD_FSTRING, parser_span(p, token), "braces take no format");
        diag_fix(p->in.diags, d, "format the value with a function: {round(x, 2)}");
    }
    if (p->panic || parser_token(p, 0).kind == TOKEN_END) return;
    Diag *d = parser_unexpected(p, DIAG_BAD_FSTRING, "`}`");
    diag_fix(p->in.diags, d, key ? "write {NAME: TYPE}"
                                 : "write one expression between the braces");
}

// Parses what stands between two braces, with tokens of its own.
static AstArg parse_part(Parser *p, const FPart *part, bool typed) {
    Tokens tokens = p->tokens;
    size_t at = p->at;
    uint32_t branches = p->branches;
    bool lines = p->lines, panic = p->panic;
    p->tokens = lex_range(&p->in, part->start, part->end);
    p->at = 0;
    p->lines = false;
    p->branches = 0;
    AstArg arg = {0};
    if (parser_token(p, 0).kind == TOKEN_END) {
        Span braces = {part->start - 1, part->end + 1, p->in.file};
        Diag *d = parser_slip(p, DIAG_BAD_FSTRING, braces, "nothing stands between the braces");
        diag_fix(p->in.diags, d, "write an expression, or {{}} for the braces themselves");
        arg.value = parser_node(p, AST_ERROR, braces);
    } else {
        arg.value = parse_handled(p);
        end_part(p, &arg, typed);
    }
    p->tokens = tokens;
    p->at = at;
    p->lines = lines;
    p->branches = branches;
    p->panic = panic;
    return arg;
}

void parse_braces(Parser *p, AstExpr *e, Token token, bool typed) {
    FPart *parts = lex_fstring(&p->in, token, &e->arg_count);
    e->kind = AST_FSTRING;
    e->args = arena_new_array(p->in.arena, AstArg, e->arg_count + 1);
    for (uint32_t i = 0; i < e->arg_count; i++) {
        AstExpr *text = parser_node(p, AST_STR, e->span);
        text->text = parts[i].text;
        e->args[i] = parts[i].is_text ? (AstArg){.value = text} : parse_part(p, &parts[i], typed);
    }
}

void parse_path(Parser *p, const AstArg *args, uint32_t count, bool typed) {
    AstExpr *path = count && !args[0].name.text.len ? args[0].value : nullptr;
    if (!path || path->kind != AST_STR || path->raw || path->parens) return;
    Text text = path->text;
    if (!text.len || (!memchr(text.at, '{', text.len) && !memchr(text.at, '}', text.len))) return;
    Token token = {.kind = TOKEN_STRING, .start = path->span.start, .end = path->span.end};
    parse_braces(p, path, token, typed);
    for (uint32_t i = 0; i < path->arg_count; i++)
        if (path->args[i].value->height >= path->height)
            path->height = path->args[i].value->height + 1;
}
