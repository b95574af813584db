// Private to read*.c: the tokens of the text form, with types and constants.
#ifndef SBC_IR_READ_H
#define SBC_IR_READ_H

#include "ir/graph.h"

typedef enum TokenKind {
    TOKEN_END, TOKEN_LINE, TOKEN_WORD, TOKEN_NUMBER, TOKEN_STRING, TOKEN_MARK,
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Text      text;  // WORD, NUMBER, MARK: as written. STRING: unescaped.
} Token;

// A cursor over the text. After the first error every token is the end, so that callers check
// `failed` only where they would not stop by themselves.
typedef struct Reader {
    Arena      *arena;
    TypeTable  *types;
    Text        text;
    size_t      at;
    Token       token;   // The token to be read next.
    size_t      place;   // Where that token begins.
    bool        failed;
    TextBuf    *error;
} Reader;

Reader reader_make(Arena *arena, TypeTable *types, Text text, TextBuf *error);
void reader_fail(Reader *reader, const char *expected);
void reader_next(Reader *reader);

bool reader_is(const Reader *reader, const char *word);      // Is the next one this word or mark?
bool reader_accept(Reader *reader, const char *word);        // If so, goes over it.
void reader_expect(Reader *reader, const char *word);
bool reader_at_line_end(const Reader *reader);
void reader_line_end(Reader *reader);

Text     reader_name(Reader *reader);    // A word or a string.
Text     reader_string(Reader *reader);
uint32_t reader_u32(Reader *reader);
int64_t  reader_i64(Reader *reader);
Span     reader_span(Reader *reader);    // SPAN_NONE where none is written.
const Type *reader_type(Reader *reader); // Never null: TYPE_ERROR after an error.
Const    reader_const(Reader *reader, const Type *base);

#endif
