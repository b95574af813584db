// Writes strings and values into CSV and JSON text, and bytes as base64 (docs/text_forms.md).
//
// Writers return the end of what they wrote. They may write up to SB_SLACK bytes of anything after
// that end. The caller has the room that each names, and SB_SLACK more.
#ifndef SBC_STDLIB_TEXT_OUT_H
#define SBC_STDLIB_TEXT_OUT_H

#include "runtime/abi/call.h"

// A CSV field, quoted when it holds the delimiter, the quote, CR or LF or begins with U+FEFF.
// Room: 2 * len + 2. quote is not 0: see sb_csv_must_quote.
char *sb_csv_put(char *out, const char *ptr, int64_t len, char delimiter, char quote);

// A quoted CSV field, whatever it holds (null words, comment marks). Room: 2 * len + 2.
char *sb_csv_put_quoted(char *out, const char *ptr, int64_t len, char quote);

// Would sb_csv_put quote it? Without a quote character such a field is a fault. quote may be 0.
bool sb_csv_must_quote(const char *ptr, int64_t len, char delimiter, char quote);

// A JSON string with its quotes. Room: 6 * len + 2.
char *sb_json_put(char *out, const char *ptr, int64_t len);

static inline int64_t sb_base64_size(int64_t len) { return (len + 2) / 3 * 4; }

// Standard base64 with padding. Room: sb_base64_size(len).
char *sb_base64_put(char *out, const char *ptr, int64_t len);

// The bytes of base64 with padding, in scratch memory. SB_FAULT_BAD_BASE64, SB_FAULT_TOO_LARGE.
int32_t sb_base64_read(SbCall *call, SbStr text, SbStr *out);

// A value as compact JSON, null as null, and the room for it. `value` is in memory layout.
int64_t sb_json_size_max(const SbType *type, const void *value);
char *sb_json_put_value(char *out, const SbType *type, const void *value);

#endif
