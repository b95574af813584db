// Parser: what the files parse*.c share: movement over tokens, expectations, recovery.
//
// A mistake sets `panic`: until the next item, step or statement begins, nothing more is said, and
// every loop leaves. Whoever owns a list of things clears it, after skipping to the next border.
#ifndef SBC_FRONTEND_PARSER_H
#define SBC_FRONTEND_PARSER_H

#include "frontend/lex.h"

enum {
    NEST_MAX = 200,    // Brackets, blocks, flows and prefix operators inside each other.
    HEIGHT_MAX = 1000, // Of an expression's tree: a + a + a ... builds a high one.
};

typedef struct Parser {
    LexInput in;
    Text     text;       // Of the file.
    Tokens   tokens;
    size_t   at;
    bool     lines;      // A line end closes what is being parsed: no bracket but a block is open.
    bool     continues;  // The last word taken was an operator: the next line goes on.
    bool     panic;
    bool     lost;       // This statement cannot be read as it was meant, from `lost_at` on.
    uint32_t lost_at;
    bool     torn;       // The lexer blamed a token of the step at `torn_at`.
    uint32_t torn_at;
    uint32_t border;     // Where the step begins that is being parsed, or the statement.
    uint32_t aggregates; // Inside the items of `group`, `aggregate` or `window`.
    uint32_t windows;    // Inside the items of `window`.
    uint32_t branches;   // Inside `if` without parentheses between.
    uint32_t nest;
    Diag     unsaid;     // What a mistake in panic is written into.
} Parser;

// ---- looking -----------------------------------------------------------------------------------

Token parser_token(const Parser *p, size_t ahead);  // TOKEN_END after the last one.
bool  parser_at(const Parser *p, TokenKind kind);   // False at a line end that closes.
bool  parser_at_word(const Parser *p, const char *word);
// The token `ahead` is `word` and no line end that closes stands in front of it.
bool  parser_ahead_word(const Parser *p, size_t ahead, const char *word);
bool  parser_ahead(const Parser *p, size_t ahead, TokenKind kind);
bool  parser_at_name(const Parser *p);              // A word or a quoted name.
bool  parser_at_line_end(const Parser *p);          // A closing line end, or the end of the file.
Text  parser_text(const Parser *p, Token token);
Span  parser_span(const Parser *p, Token token);
Span  parser_behind(const Parser *p);               // The place after the last token taken.
Span  parser_since(const Parser *p, Span start);    // From `start` to the last token taken.
bool  parser_word_is(const Parser *p, Token token, const char *word);      // In any case.
bool  parser_begins_operand(const Parser *p, size_t ahead);
bool  parser_at_lambda(const Parser *p);          // Of ours, or of another language.
bool  parser_at_foreign_lambda(const Parser *p);  // lambda x, y: e
// What stands here was meant in another way than it is read: nobody may judge what it means.
void  parser_lose(Parser *p);
bool  parser_behind_broken_token(const Parser *p);  // A string or `name` that never ends.

// ---- taking ------------------------------------------------------------------------------------

Token parser_take(Parser *p);
Name  parser_take_name(Parser *p);      // The token that stands here, as a name.
void  parser_take_operator(Parser *p);  // The next line goes on after it.
bool  parser_skip(Parser *p, TokenKind kind);
bool  parser_skip_word(Parser *p, const char *word);

// Takes `kind` or says that `what` is expected. False: it was not there.
bool  parser_expect(Parser *p, TokenKind kind, const char *behind);
bool  parser_expect_word(Parser *p, const char *word, const char *behind);
Name  parser_expect_name(Parser *p, const char *what);

// ---- brackets and lists ------------------------------------------------------------------------

typedef struct List {
    TokenKind open, close;  // close is TOKEN_END for a list without brackets.
    Token     opener;
    size_t    last;         // Where the item before began; progress is made or forced.
    bool      lines, begun;
    uint32_t  branches;
} List;

List parser_open(Parser *p);             // Takes the bracket that stands here.
List parser_bare_list(Parser *p);        // Items up to the end of the step or statement.
bool parser_more(Parser *p, List *list); // Is there another item? Takes the comma before it.
void parser_close(Parser *p, List *list);

// ---- nodes -------------------------------------------------------------------------------------

Span     parser_here(const Parser *p);  // Where an expression begins, its parenthesis included.
AstExpr *parser_node(Parser *p, AstExprKind kind, Span span);
AstExpr *parser_column(Parser *p, Name name);
// Closes a node whose parts are there: its span ends at the last token, and its height is counted,
// because whoever walks the tree later does so by recursion. Too high a tree is an error.
AstExpr *parser_done(Parser *p, AstExpr *e);

// ---- mistakes ----------------------------------------------------------------------------------

// Starts a diagnostic and sets panic. In panic already, what is returned is thrown away.
Diag *parser_error(Parser *p, DiagCode code, Span span, const char *message, ...)
    __attribute__((format(printf, 4, 5)));
// As parser_error, for mistakes after which parsing goes on.
Diag *parser_slip(Parser *p, DiagCode code, Span span, const char *message, ...)
    __attribute__((format(printf, 4, 5)));
Diag *parser_unexpected(Parser *p, DiagCode code, const char *what);  // "expected WHAT, found ..."
// Enters a nested construct; false (diagnosed) when there are too many. Leave with parser_leave.
bool  parser_enter(Parser *p);
void  parser_leave(Parser *p);
void  parser_skip_to_border(Parser *p);  // A comma, closing bracket, `|` or line end of this level.
bool  parser_at_statement(const Parser *p, size_t ahead);  // A line that begins a statement.

// ---- the grammar -------------------------------------------------------------------------------

AstType *parse_type(Parser *p);
AstExpr *parse_expr(Parser *p);           // Without a handler of its own.
AstExpr *parse_handled(Parser *p);        // A whole item or argument.
AstFrame *parse_frame(Parser *p);         // Null: none is written.
AstExpr *parse_unary(Parser *p);          // What stands beside an operator.
AstExpr *parse_operand(Parser *p);        // Up to `??`: a side of a comparison.
AstExpr *parse_not(Parser *p);            // A side of `and`.
AstExpr *parse_string(Parser *p, const char *what);
AstArg  *parse_arguments(Parser *p, uint32_t *count);  // "(" ... ")"
// The parts of an f-string, or of a path. `typed`: a name in braces may have a type.
void     parse_braces(Parser *p, AstExpr *e, Token token, bool typed);
// The path of a `read` or `write`, the first of its arguments: a plain string with braces becomes
// one like an f-string.
void     parse_path(Parser *p, const AstArg *args, uint32_t count, bool typed);
AstExpr *parse_table(Parser *p);          // "[" rows "]"
void     parse_elements(Parser *p, AstExpr *e);        // Of a list in brackets, or of SQL's.
AstFlow *parse_flow(Parser *p);
AstFlow *parse_flow_head(Parser *p);
void     parse_step(Parser *p, AstStep *step);
bool     parse_is_step_word(Text word);
AstStep *parse_steps(Parser *p, uint32_t *count);      // ("|" step)*
AstStep *parse_block(Parser *p, uint32_t *count);      // "{" steps "}"
void     parse_statements(Parser *p, AstFile *file);

#endif
