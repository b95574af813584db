// JSON (RFC 8259): checks the grammar of lines and values, finds the keys of an object that are
// wanted, and reads values into memory layout (docs/text_forms.md).
//
// Nothing here recurses by the depth of the data, only by the depth of types. The text is UTF-8 and
// readable SB_SLACK past its end.
#ifndef SBC_STDLIB_JSON_H
#define SBC_STDLIB_JSON_H

#include "runtime/abi/call.h"

enum { SB_JSON_DEPTH_MAX = 512 };  // Of values that are read; what is skipped has no limit.

typedef enum SbJsonKind : uint8_t {
    SB_JSON_MISSING, SB_JSON_NULL, SB_JSON_FALSE, SB_JSON_TRUE, SB_JSON_NUMBER, SB_JSON_STRING,
    SB_JSON_ARRAY, SB_JSON_OBJECT,
} SbJsonKind;

// Where a value stands in the line.
typedef struct SbJsonSlot {
    const char *ptr;      // With the quotes of a string.
    int64_t     len;
    uint8_t     kind;     // SbJsonKind
    uint8_t     escapes;  // STRING: there is a backslash in it.
    uint8_t     whole;    // NUMBER: no point and no exponent. OBJECT: members have slots. STRING:
                          // no escape is half of a surrogate pair; 0: one may be, or none is there.
    uint8_t     twice;    // The key stands in the object again.
} SbJsonSlot;

typedef struct SbJsonShape SbJsonShape;

typedef struct SbJsonKey {
    SbStr    name;
    uint64_t head;  // The first eight bytes of name, those after its end zero: sb_json_head.
    const SbJsonShape *members;  // Those that are wanted of an object that is a struct; or null.
} SbJsonKey;

// The keys that are wanted, different from each other.
struct SbJsonShape {
    const SbJsonKey *keys;
    uint32_t         count;
    uint32_t         first;    // Of the slots of its keys; those of a row's own keys begin at 0.
    uint64_t         lengths;  // Bit min(len, 63) of each key.
};

static inline uint64_t sb_json_head(SbStr name) {
    uint64_t head = 0;
    __builtin_memcpy(&head, name.ptr, name.len < 8 ? (size_t)name.len : 8);
    return head;
}

// One row: the line must be one object, with white space around it at most. Checks all of its
// grammar and fills slots[0, count), not those of members. SB_OK, SB_FAULT_BAD_JSON, or
// SB_FAULT_TOO_LARGE when there is no memory for a bit per level beyond 1024.
int32_t sb_json_row(SbCall *call, const char *line, int64_t len, const SbJsonShape *shape,
                    SbJsonSlot *slots);

// The form of a line: the texts between its values, as stdlib/json/json_form.c tells.
enum {
    SB_JSON_FORMS = 16,  // That are kept at once.
    SB_JSON_FORM_PARTS = 64, SB_JSON_FORM_OBJECTS = 8, SB_JSON_FORM_QUOTES = 384,
};

typedef struct SbJsonFormPart {
    const char *text;         // Before a value, in the line that was learnt; last: after all.
    uint32_t    len;
    uint32_t    quotes;       // Quotes in the text.
    uint32_t    first_quote;  // Where the first quote is in the text; 0 when there is none.
    SbJsonSlot *slot;         // The value's; of one that nobody reads, `unread`.
} SbJsonFormPart;

typedef struct SbJsonFormPlace {
    uint32_t part, offset;  // In the text of the part.
} SbJsonFormPlace;

typedef struct SbJsonFormObject {
    SbJsonSlot     *slot;
    SbJsonFormPlace open, close;
    const char     *last;   // After it in the line that was learnt.
    bool            whole;  // Its members have slots.
} SbJsonFormObject;

typedef struct SbJsonForm {
    uint32_t         count;         // Parts with a value; 0: the line gave no form.
    uint32_t         object_count;  // Wanted objects.
    uint32_t         next;          // The form of the line that came after one of this form.
    int64_t          line_quotes;   // Of the last line that had it.
    bool             paid;          // A line had it.
    bool             slashes;       // A backslash stands between its values, in a key.
    SbJsonFormPart   parts[SB_JSON_FORM_PARTS + 1];
    SbJsonFormObject objects[SB_JSON_FORM_OBJECTS];
} SbJsonForm;

typedef struct SbJsonForms {
    const SbJsonShape *shape;
    SbJsonSlot        *slots;       // By key of the shape, then those of members.
    SbJsonSlot         unread;
    uint32_t           slot_count;
    uint32_t           count;       // Forms that were learnt.
    uint32_t           last;        // The form of the last line that had one.
    uint32_t           expected;    // The form that a line had which came after one of form `last`.
    uint32_t           fills;       // The form that the slots are of; SB_JSON_FORMS: of none.
    uint32_t           strangers;   // Lines since the last one that had a form.
    uint32_t           misses, rest;  // Lines to pass before a form is learnt again.
    uint8_t            recent[SB_JSON_FORMS];  // Forms, the one that came last first.
    SbJsonForm         forms[SB_JSON_FORMS];
    uint32_t           quotes[SB_JSON_FORM_QUOTES + 80];  // Of the line at hand, and spare.
} SbJsonForms;

// `slots`: for all keys of the shape and of its members.
void sb_json_forms_open(SbJsonForms *forms, const SbJsonShape *shape, SbJsonSlot *slots);

// As sb_json_row, into forms->slots, and faster for lines that have the form of an earlier one.
// Then the members of an object that is marked as `whole` have slots too: sb_json_check holds of
// it, and no wanted key stands in it twice. Lines that were good must stay where they are as long
// as the forms are used.
int32_t sb_json_row_like(SbCall *call, const char *line, int64_t len, SbJsonForms *forms);

// ---- reading values whose grammar was checked --------------------------------------------------

// A whole field of CSV, or an argument, as one value with white space around it at most: fills the
// slot, or SB_FAULT_JSON_TYPE, SB_FAULT_TOO_LARGE.
int32_t sb_json_slot(SbCall *call, const char *ptr, int64_t len, SbJsonSlot *slot);

// What is wrong with a slot that some column reads, whatever its type: SB_FAULT_DUPLICATE_KEY,
// SB_FAULT_LONE_SURROGATE anywhere in it, SB_FAULT_NESTED_TOO_DEEP, or SB_OK.
int32_t sb_json_check(const SbJsonSlot *slot);

// The text of a string, escapes undone: a view when there are none. SB_FAULT_LONE_SURROGATE,
// SB_FAULT_JSON_TYPE for another kind, SB_FAULT_TOO_LARGE.
int32_t sb_json_string(SbCall *call, const SbJsonSlot *slot, SbStr *out);

// The value as `json` keeps it: without white space between tokens. A view when there is none.
int32_t sb_json_compact(SbCall *call, const SbJsonSlot *slot, SbStr *out);

// What a value is read as: a type, and the zone of timestamps without an offset; null: UTC.
typedef struct SbJsonAs {
    const SbType        *type;
    const struct SbZone *zone;
} SbJsonAs;

// A value of any type into memory layout, `out` aligned and type->size long. A missing slot or null
// is null for a nullable type, else SB_FAULT_MISSING. On a fault call->detail is the inner value.
int32_t sb_json_value(SbCall *call, SbJsonAs as, const SbJsonSlot *slot, void *out);

#endif
