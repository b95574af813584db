// Text: a growing buffer of bytes, and how rejected text is shown.
#ifndef SBC_RUNTIME_TEXT_H
#define SBC_RUNTIME_TEXT_H

#include "runtime/abi/value.h"

typedef struct Text {
    char   *ptr;
    int64_t len, cap;
    bool    failed;   // Out of memory: what was added since is missing.
} Text;

void sb_text_close(Text *text);
// Gives back the room that it does not use.
void sb_text_trim(Text *text);
void sb_text_add(Text *text, const char *bytes, int64_t len);
void sb_text_str(Text *text, const char *word);
void sb_text_format(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Each maximal part of bad UTF-8 becomes one U+FFFD.
void sb_text_add_shown(Text *text, const char *bytes, int64_t len);
// As text_add_shown, cut to `max` bytes at the end of a character with "..." after; control
// characters as \n, \r, \t or \u{1b}.
void sb_text_add_short(Text *text, const char *bytes, int64_t len, int64_t max);
// A JSON string with its quotes.
void sb_text_add_json(Text *text, const char *bytes, int64_t len);
// A CSV field, quoted if it must be.
void sb_text_add_csv(Text *text, const char *bytes, int64_t len);
// 1,234,567
void sb_text_add_figure(Text *text, int64_t number);
// A row as a JSON object, values in their canonical forms (docs/text_forms.md).
void sb_text_add_row(Text *text, const SbType *row, const void *entry);

// The most of `len` bytes, at most `max`, that end at the end of a character.
int64_t sb_text_cut(const char *bytes, int64_t len, int64_t max);

#endif
