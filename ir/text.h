// Text: slices of UTF-8 bytes, and a buffer that text is printed into.
#ifndef SBC_IR_TEXT_H
#define SBC_IR_TEXT_H

#include "ir/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

// A view of bytes that somebody else owns (the source file, an arena). Not NUL-terminated.
typedef struct Text {
    const char *at;
    size_t      len;
} Text;

#define TEXT(literal)  ((Text){"" literal, sizeof(literal) - 1})
#define TEXT_ARG(t)    (int)(t).len, (t).at  // for "%.*s"

Text text_of(const char *nul_terminated);
Text text_copy(Arena *arena, Text text);
// A NUL follows its bytes.
Text text_format(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *text_c(Arena *arena, Text text);  // A NUL-terminated copy.
bool text_eq(Text a, Text b);
bool text_is(Text a, const char *nul_terminated);
bool text_starts(Text text, Text prefix);
bool text_ends(Text text, const char *suffix);  // With something before it.
bool text_is_url(Text text);    // SCHEME://...
int  text_cmp(Text a, Text b);  // By bytes, as memcmp.
uint64_t text_hash(Text text);
// The hash of what `hash` stands for and then `value`.
static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * 0x9e3779b97f4a7c15 ^ hash >> 29;
}

// Edits (insert, delete, replace, swap of neighbours) from a to b, at most `limit` + 1: the
// distance after did-you-mean.
unsigned text_distance(Text a, Text b, unsigned limit);

// A growing text. It owns its bytes: text_buf_free, or text_buf_take into an arena.
typedef struct TextBuf {
    char  *at;
    size_t len, cap;
} TextBuf;

void text_buf_add(TextBuf *buf, Text text);
void text_buf_char(TextBuf *buf, char c);
void text_buf_format(TextBuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_buf_formatv(TextBuf *buf, const char *format, va_list args);
void text_buf_pad(TextBuf *buf, size_t columns);  // `columns` spaces.
void text_buf_int128(TextBuf *buf, __int128 value);
// `text` as a double-quoted literal of the language: \" \\ \n \t \r \u{..} for control characters.
void text_buf_quoted(TextBuf *buf, Text text);
Text text_buf_view(const TextBuf *buf);           // Until the next change.
Text text_buf_take(TextBuf *buf, Arena *arena);   // A copy in the arena; empties and frees buf.
void text_buf_free(TextBuf *buf);

// Where something stands in a source text: file number and byte range. Spans of generated things
// have file SPAN_NONE.
typedef struct Span {
    uint32_t start, end;  // Byte offsets, end exclusive.
    uint32_t file;        // Index of the source file in the program; SPAN_NONE for none.
} Span;

enum : uint32_t { SPAN_NONE = UINT32_MAX };

static inline bool span_same(Span a, Span b) {
    return a.file == b.file && a.start == b.start && a.end == b.end;
}

static inline Span span_join(Span a, Span b) {
    if (a.file == SPAN_NONE) return b;
    if (b.file == SPAN_NONE) return a;
    return (Span){a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end, a.file};
}

#endif
