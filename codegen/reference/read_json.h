// JSON: strict RFC 8259, parsed into a tree of nodes first, then read by type.
#ifndef SBC_CODEGEN_REFERENCE_READ_JSON_H
#define SBC_CODEGEN_REFERENCE_READ_JSON_H

#include "codegen/reference/value.h"

enum { JSON_DEPTH_MAX = 512 };

typedef enum JsonKind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} JsonKind;

typedef struct JsonNode JsonNode;

// A value as it stands in its text. Children are in order.
struct JsonNode {
    JsonKind kind;
    Text     text;       // With its quotes or brackets.
    Text     string;     // Decoded. STRING and keys.
    bool     lone;       // The string, or one inside, holds half of a surrogate pair.
    bool     lone_key;
    uint32_t depth;      // Of nesting: 0 for scalars.
    Text     key;        // As a member of an object, decoded.
    JsonNode *first, *next;
};

// A status and the offending text; status SB_OK: none.
typedef struct JsonFault {
    int32_t status;
    Text    text;
} JsonFault;

// The tree of a whole text, white space around it allowed; null if it is no JSON value. Does not
// recurse, so any depth is fine.
JsonNode *json_parse(Arena *arena, Text text);

// Reads a node as a value of `type`, `T?` included.
JsonFault json_read(Arena *arena, const Type *type, const JsonNode *node,
                    const struct SbZone *zone, Value *out);

// Reads the member `key` of an object, which must not stand twice.
JsonFault json_read_member(Arena *arena, const Type *type, const JsonNode *object, Text key,
                           const struct SbZone *zone, Value *out);

// The same for a column of a row: also judges what its value holds beyond what the type reads.
JsonFault json_read_column(Arena *arena, const Type *type, const JsonNode *object, Text key,
                           const struct SbZone *zone, Value *out);

// Reads a text that holds one JSON value, as json, list or struct fields of a CSV do.
JsonFault json_read_value(Arena *arena, const Type *type, Text text, const struct SbZone *zone,
                          Value *out);

// Reads a text that holds one JSON value, null too, as a `json`.
JsonFault json_read_any(Arena *arena, Text text, Value *out);

// The text of a value without white space between tokens.
Text json_compact(Arena *arena, Text text);

#endif
