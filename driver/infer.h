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
    Text       *null_words; // Words such as NA that stand for null; none while `null` is given.
    uint32_t    null_count;
    Text        null_column;  // The first column that has them.
    bool        has_empty;  // An empty field stands for null somewhere.
    size_t      rows;       // That were looked at.
} Inferred;

// The type of a text in a format with these options. Null words are found and used if `find_nulls`;
// otherwise they make their columns str, but are returned all the same. False: `error` says why.
typedef struct InferText {
    Arena            *arena;
    TypeTable        *types;
    Format            format;      // CSV or JSONL.
    const CsvOptions *csv;
    Text              text;
    bool              find_nulls;
} InferText;

// The option that makes them null: null = ["", "NA"].
void infer_print_nulls(TextBuf *buf, const Inferred *inferred);

bool infer_text(const InferText *input, Inferred *out, TextBuf *error);

// InferFn for the checker; `self` is the arena.
InferFn infer_first_file;

#endif
