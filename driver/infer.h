// Infer: the type of a data file from its first rows, judged by the readers themselves.
//
// A column gets the first of bool, i64, u64, f64, date, timestamp, timestamp[ns], [T], {...} and
// str that takes every value which was seen; json if none does. What was empty or missing makes it
// T?. Numbers that begin with a needless 0 are codes: str.
#ifndef SBC_DRIVER_INFER_H
#define SBC_DRIVER_INFER_H

#include "frontend/check.h"

enum { INFER_ROWS_MAX = 10000 };

typedef struct Inferred {
    const Type *type;       // A struct.
    // What `null` should list so that columns with words such as NA are more than str: these words,
    // and the empty text if an empty field stands for null somewhere. None while `null` is given.
    Text       *null_words;
    uint32_t    null_count;
    Text        null_column;  // The first such column.
    size_t      rows;       // Rows that were looked at.
} Inferred;

// A text in a format, and the options of its `read`.
typedef struct InferText {
    Arena            *arena;
    TypeTable        *types;
    Format            format;      // Whose rows have no fixed type.
    const CsvOptions *csv;
    Text              text;
} InferText;

// The option that lists the null words: null = ["", "NA"].
void infer_print_nulls(TextBuf *buf, const Inferred *inferred);

// The type that a `read` with these options has without `as`. Null words that no option lists make
// their columns str. False: `error` says why.
bool infer_text(const InferText *input, Inferred *out, TextBuf *error);

// InferFn for the checker; `self` is the arena.
InferFn infer_first_file;

#endif
