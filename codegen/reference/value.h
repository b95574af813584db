// Value: a tagged value of the interpreter, its order, its equality as a key and its texts.
//
// Which member counts follows from the type. `i` is for bool, signed integers, date, timestamp and
// duration, `u` for unsigned integers, `f` for floats. `text` is for str, bytes and json, `items`
// for the elements of a list and the fields of a struct.
#ifndef SBC_CODEGEN_REFERENCE_VALUE_H
#define SBC_CODEGEN_REFERENCE_VALUE_H

#include "ir/expr.h"

typedef Const Value;

static inline Value value_null(void) { return (Value){.is_null = true}; }
static inline Value value_bool(bool b) { return (Value){.i = b}; }
static inline Value value_i64(int64_t i) { return (Value){.i = i}; }
static inline Value value_f64(double f) { return (Value){.f = f}; }
static inline Value value_text(Text text) { return (Value){.text = text}; }

// Order as a key: null last, NaN greatest and equal to itself, -0.0 = 0.0, str by bytes, false
// before true, lists and structs item by item. < 0, 0, > 0.
int value_compare(const Type *type, const Value *a, const Value *b);

// Equality as a key: what value_compare calls 0.
bool value_same(const Type *type, const Value *a, const Value *b);

// Bytes that are equal exactly for equal keys, appended to `buf`.
void value_key(TextBuf *buf, const Type *type, const Value *value);

// The type with the sizes of the value in place of open dimensions, in `arena`.
const Type *value_shape(Arena *arena, const Type *type, const Value *value);

// Any integer as 128 bits.
__int128 value_integer(const Type *type, const Value *value);
Value    value_of_integer(const Type *type, __int128 integer);
bool     integer_fits(const Type *type, __int128 integer);
unsigned __int128 power_of_ten(unsigned exponent);  // exponent <= 38

// a / b rounded towards the past; b > 0.
static inline __int128 floor_divide(__int128 a, __int128 b) { return a / b - (a % b < 0); }

// Units of a timestamp in a second.
int64_t unit_per_second(TimeUnit unit);

// ---- texts (docs/text_forms.md), in value_text.c ----------------------------------------------

// The canonical text. `point` replaces the decimal point of floats and decimals at the top.
void value_print(TextBuf *buf, const Type *type, const Value *value, char point);
void value_print_json(TextBuf *buf, const Type *type, const Value *value);
void json_print_string(TextBuf *buf, Text text);
void date_print(TextBuf *buf, int64_t days);

// Days since 1970-01-01 of a proleptic Gregorian date; false: there is no such day.
bool date_from_civil(int64_t year, int64_t month, int64_t day, int64_t *days);

// ---- reading one scalar from its text, in value_read.c ---------------------------------------

typedef struct ReadOptions {
    char point;                 // Decimal point.
    // Adds the offset of the zone to local time in seconds: what is read without an offset.
    const struct SbZone *zone;  // Null: UTC.
} ReadOptions;

// Reads `text` as a scalar that is no str and no json. A status: SB_OK or a fault. Bytes of a
// result live in `arena`.
int32_t value_read(Arena *arena, const Type *type, Text text, ReadOptions options, Value *out);

// The length of the valid UTF-8 sequence at `at`, or 0; then *bad is the length of the maximal
// ill-formed part.
size_t utf8_step(const char *at, size_t left, size_t *bad);
bool   utf8_valid(Text text);
// `text` with each maximal ill-formed part as U+FFFD.
void   utf8_repair(TextBuf *buf, Text text);

#endif
