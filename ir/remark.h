// Remark: what a pass decided at a place of the program, and why. `--explain` prints all of them by
// line. A pass says it where it takes the decision, in words that go on from the code they speak
// of: "`1 + 2`: is the constant 3".
#ifndef SBC_IR_REMARK_H
#define SBC_IR_REMARK_H

#include "ir/graph.h"

typedef struct Remark {
    const char *pass;
    Span        span;
    Span        other;   // The place that `text` speaks of at its end; SPAN_NONE: none.
    Text        text;
} Remark;

typedef struct Remarks {
    Arena      *arena;
    const char *pass;    // The pass that runs now.
    Remark     *items;
    size_t      count, cap;
} Remarks;

Remarks *remarks_new(Arena *arena);

// `to` may be null: nobody asks. Without a place in a file, and twice the same, nothing is kept.
void remark(Remarks *to, Span span, const char *format, ...) __attribute__((format(printf, 3, 4)));
// The same; the line of `other` stands after it: "... as in line 7".
void remark_as(Remarks *to, Span span, Span other, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// Says it of a whole, and takes back what the pass said of parts of it.
void remark_whole(Remarks *to, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// "a, b and c" of names, quoted: for remarks that list columns.
typedef struct RemarkNames {
    TextBuf  text;
    uint32_t count;
} RemarkNames;

void remark_name(RemarkNames *names, Text name);

// By file and line, in the order of the passes. `texts` are the sources, by Span.file.
void remarks_print(TextBuf *buf, const Remarks *remarks, const Graph *graph, const Text *texts);

#endif
