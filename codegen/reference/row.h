// Row: what travels between the operators of the interpreter.
#ifndef SBC_CODEGEN_REFERENCE_ROW_H
#define SBC_CODEGEN_REFERENCE_ROW_H

#include "codegen/reference/value.h"
#include "ir/graph.h"

// Where a row was read. Shared by all rows that come of it.
typedef struct Origin {
    uint32_t source, file;    // Numbers of the source and of the file in it.
    bool     has_file;        // False: range and inline rows.
    bool     has_line;
    Text     path;
    int64_t  line, offset, length;
    Text     raw;             // Without the line end.
} Origin;

typedef struct Row Row;

struct Row {
    Value   *values;          // By column of the operator, hidden ones included.
    Text    *raws;            // By column: the source's bytes of an untouched value, or at null.
    uint64_t identity;
    const Origin *origin;     // Of the first row it came from.
    // The row as the last meeting passed it on, and that operator; null before any.
    const Row *met;
    OpId     met_op;
    uint64_t element;         // Position among the rows of one origin, for the order of rejects.
};

#endif
