// Private to this room: how Arrow stores the values of each kind.
#ifndef SBC_STDLIB_ARROW_FORMS_H
#define SBC_STDLIB_ARROW_FORMS_H

#include "runtime/abi/value.h"

typedef enum ArrowForm : uint8_t {
    FORM_NONE,
    FORM_BITS,     // validity, bits
    FORM_FIXED,    // validity, values as they are in memory
    FORM_DECIMAL,  // validity, 128-bit integers
    FORM_TEXT,     // validity, offsets, bytes
    FORM_LIST,     // validity, offsets; one child
    FORM_STRUCT,   // validity; a child for each field
    FORM_TENSOR,   // validity; one child, which has the elements of all
    FORM_SHAPED,   // validity; a child for the elements, and one for the sizes of the dimensions
} ArrowForm;

typedef struct ArrowKind {
    const char *format;  // Null: it has parameters (schema.c).
    ArrowForm   form;
} ArrowKind;

static const ArrowKind arrow_kinds[] = {
    [SB_BOOL] = {"b", FORM_BITS},
    [SB_I8] = {"c", FORM_FIXED}, [SB_I16] = {"s", FORM_FIXED},
    [SB_I32] = {"i", FORM_FIXED}, [SB_I64] = {"l", FORM_FIXED},
    [SB_U8] = {"C", FORM_FIXED}, [SB_U16] = {"S", FORM_FIXED},
    [SB_U32] = {"I", FORM_FIXED}, [SB_U64] = {"L", FORM_FIXED},
    [SB_F16] = {"e", FORM_FIXED}, [SB_F32] = {"f", FORM_FIXED},
    [SB_F64] = {"g", FORM_FIXED},
    [SB_DECIMAL] = {nullptr, FORM_DECIMAL},
    [SB_STR] = {"u", FORM_TEXT}, [SB_BYTES] = {"z", FORM_TEXT}, [SB_JSON] = {"u", FORM_TEXT},
    [SB_DATE] = {"tdD", FORM_FIXED}, [SB_TIMESTAMP] = {nullptr, FORM_FIXED},
    [SB_DURATION] = {"tDu", FORM_FIXED},
    [SB_LIST] = {"+l", FORM_LIST}, [SB_STRUCT] = {"+s", FORM_STRUCT},
    [SB_TENSOR] = {nullptr, FORM_TENSOR},
    [SB_MAP] = {"+m", FORM_LIST},  // Of entries, as it is in memory.
};

static_assert(sizeof arrow_kinds / sizeof *arrow_kinds == SB_MAP + 1);

enum { FORM_BUFFERS_MAX = 3 };

static inline int64_t arrow_buffers(ArrowForm form) {
    static const uint8_t counts[] = {
        [FORM_NONE] = 0, [FORM_BITS] = 2, [FORM_FIXED] = 2, [FORM_DECIMAL] = 2,
        [FORM_TEXT] = 3, [FORM_LIST] = 2, [FORM_STRUCT] = 1,
        [FORM_TENSOR] = 1, [FORM_SHAPED] = 1,
    };
    return counts[form];
}

// A tensor with open dimensions is a struct of a list and its shape.
enum { SHAPED_DATA, SHAPED_SHAPE, SHAPED_CHILDREN };

static inline ArrowForm arrow_form(const SbType *type) {
    return sb_open_count(type) ? FORM_SHAPED : arrow_kinds[type->kind].form;
}

static inline bool arrow_bit(const void *bits, int64_t i) {
    return ((const uint8_t *)bits)[i >> 3] >> (i & 7) & 1;
}

#endif
