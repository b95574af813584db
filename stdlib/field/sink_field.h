// Sink fields: values as fields of a CSV sink, by the rules of docs/text_forms.md, "Writing
// fields".
#ifndef SBC_STDLIB_SINK_FIELD_H
#define SBC_STDLIB_SINK_FIELD_H

#include "runtime/abi/call.h"

typedef struct SbSinkRules {
    const SbStr *nulls;       // Null words; the first is written for null.
    uint32_t     null_count;
    char         delimiter, quote, decimal;
    SbStr        comment;     // What a row must not begin with unquoted; empty: nothing.
} SbSinkRules;

enum : uint32_t {
    SB_FIELD_NULLABLE = 1,    // The column is T?: a text that is a null word is quoted.
    SB_FIELD_FIRST = 2,       // The field begins the row.
};

// The text as a field. Room: 2 * len + 2. nullptr: it needs quotes and there are none.
char *sb_sink_text(char *out, const SbSinkRules *rules, SbStr text, uint32_t flags);

// A value of any type but text, in its canonical form. Room: sb_sink_room. nullptr as above.
char   *sb_sink_value(char *out, const SbSinkRules *rules, const SbType *type, const void *value,
                      uint32_t flags);
int64_t sb_sink_room(const SbType *type, const void *value);

// How a text source spelled a value that is not null, as a field of a CSV sink. Null: write the
// canonical form. The spelling does not count (docs/text_forms.md), or needs quotes and there are
// none.
char *sb_sink_spelling(char *out, const SbSinkRules *rules, const SbType *type, SbStr raw,
                       uint32_t flags);

// The same for a JSON sink: a number, true or false as spelled if JSON takes it; a value that
// JSON writes as a string (`quoted`) between quotes. Room: 6 * len + 2.
char *sb_json_spelling(char *out, const SbType *type, SbStr raw);

// The canonical text of a value (docs/text_forms.md): without quotes for what JSON quotes.
// Room: sb_text_room.
int64_t sb_text_room(const SbType *type, const void *value);
char   *sb_put_text(char *out, const SbType *type, const void *value);
// The same in scratch memory. SB_OK or SB_FAULT_TOO_LARGE.
int32_t sb_value_text(SbCall *call, const SbType *type, const void *value, SbStr *out);
// The offending text of a cast; empty when memory is out.
SbStr sb_cast_detail(SbCall *call, const SbType *type, const void *value);

char *sb_json_put_f64(char *out, double value);  // NaN and infinities as strings.
char *sb_json_put_f32(char *out, float value);
char *sb_json_put_f16(char *out, float value);
char *sb_json_put_bf16(char *out, float value);

#endif
