// Lex: source text to tokens. A token is only a kind and a place. The values of numbers and
// strings are decoded when the parser asks for them, so that a big table costs little memory.
#ifndef SBC_FRONTEND_LEX_H
#define SBC_FRONTEND_LEX_H

#include "frontend/ast.h"
#include "frontend/diag.h"

// Kind, how messages name it.
#define TOKEN_KINDS(X)                                                                            \
    X(END, "the end of the file")                                                                 \
    X(WORD, "a name") X(QUOTED, "a name")           /* `quoted` */                                \
    X(NUMBER, "a number") X(STRING, "a string") X(RAW_STRING, "a string")                         \
    X(FSTRING, "a string")                                                                        \
    X(OPEN_PAREN, "`(`") X(CLOSE_PAREN, "`)`") X(OPEN_SQUARE, "`[`") X(CLOSE_SQUARE, "`]`")       \
    X(OPEN_BRACE, "`{`") X(CLOSE_BRACE, "`}`")                                                    \
    X(COMMA, "`,`") X(COLON, "`:`") X(DOT, "`.`") X(RANGE, "`..`") X(SPREAD, "`...`")             \
    X(PIPE, "`|`")                                                                                \
    X(ASSIGN, "`=`") X(ARROW, "`->`") X(FAT_ARROW, "`=>`") X(QUESTION, "`?`")                     \
    X(EQ, "`==`") X(NE, "`!=`") X(LT, "`<`") X(LE, "`<=`") X(GT, "`>`") X(GE, "`>=`")             \
    X(PLUS, "`+`") X(MINUS, "`-`") X(STAR, "`*`") X(SLASH, "`/`") X(SLASHES, "`//`")              \
    X(PERCENT, "`%`") X(COALESCE, "`??`")                                                         \
    /* Signs of other languages, kept apart so that the parser can say what to write. */          \
    X(FOREIGN_AND, "`&&`") X(FOREIGN_OR, "`||`") X(FOREIGN_NOT, "`!`") X(FOREIGN_NE, "`<>`")      \
    X(FOREIGN_EQ, "`===`") X(FOREIGN_POWER, "`**`") X(FOREIGN_ASSIGN, "`:=`")                     \
    X(FOREIGN_PIPE, "`|>`") X(SEMICOLON, "`;`") X(BAD, "a stray character")

typedef enum TokenKind : uint8_t {
#define X(kind, text) TOKEN_##kind,
    TOKEN_KINDS(X)
#undef X
} TokenKind;

typedef struct Token {
    uint32_t  start, end;
    TokenKind kind;
    bool      first;   // Of its line.
    bool      spaced;  // Something invisible stands in front of it.
} Token;

typedef struct Tokens {
    Token  *items;      // Ends with a TOKEN_END.
    size_t  count, cap;
    AstComment *comments;
    size_t  comment_count, comment_cap;
} Tokens;

typedef struct LexInput {
    Arena     *arena;
    SourceSet *sources;
    Diags     *diags;
    uint32_t   file;
} LexInput;

// Diagnoses what is no text: wrong UTF-8 and control characters, once a line.
void lex_check_bytes(const LexInput *input);

// The tokens and comments between two offsets of the file.
Tokens lex_range(const LexInput *input, uint32_t start, uint32_t end);

const char *token_name(TokenKind kind);

// ---- values ----------------------------------------------------------------------------------

// Fills kind, text, integer, too_big and number of `expr` from a TOKEN_NUMBER.
void lex_number(const LexInput *input, Token token, AstExpr *expr);
// The unit that a word after a number means: min of `min` and `minutes`; empty: none.
Text lex_unit(Text word);

// The value of a TOKEN_STRING or TOKEN_RAW_STRING.
Text lex_string(const LexInput *input, Token token);

// A piece of an f-string: text, or where the expression between two braces stands.
typedef struct FPart {
    bool     is_text;
    Text     text;
    uint32_t start, end;
} FPart;

// The pieces of a TOKEN_FSTRING, or of a TOKEN_STRING that is a path with braces, in the arena.
FPart *lex_fstring(const LexInput *input, Token token, uint32_t *count);

// ---- scanning, shared by lex.c and lex_value.c -----------------------------------------------

// The offset after the string whose opening quote stands at `at`, or 0 when the line ends first.
uint32_t lex_skip_string(Text text, uint32_t at, uint32_t end, bool raw);

enum { FSTRING_NEST_MAX = 16 };
enum : uint32_t { LEX_OPEN_BRACE = UINT32_MAX };

// As lex_skip_string, for an f-string; strings inside its braces are skipped over. LEX_OPEN_BRACE
// when one of its braces is not closed on the line.
uint32_t lex_skip_fstring(Text text, uint32_t at, uint32_t end, unsigned nest);

// From the place after a `{` of an f-string: the offset of its `}`, or 0.
uint32_t lex_skip_braced(Text text, uint32_t at, uint32_t end, unsigned nest);

static inline bool lex_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool lex_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Decodes the character at `at`. False: the byte there begins none.
bool lex_character(Text text, size_t at, uint32_t *character, size_t *len);

#endif
