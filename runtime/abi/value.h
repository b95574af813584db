// Values in memory, their types, and the status that a function returns.
//
// Used by all of the standard library, by generated code and by the runtime. A value has the C
// layout of its type; a nullable T is {T value; uint8_t valid}. Every SbStr may be read up to
// SB_SLACK bytes past its end; the bytes there mean nothing.
#ifndef SBC_RUNTIME_ABI_VALUE_H
#define SBC_RUNTIME_ABI_VALUE_H

#include <stddef.h>
#include <stdint.h>

enum { SB_SLACK = 64 };

typedef struct SbStr {   // str, bytes, json: a view
    const char *ptr;
    int64_t     len;
} SbStr;

// A literal as a view. SB_SLACK bytes after the literal may be read.
#define SB_LITERAL(text) ((SbStr){text SB_LITERAL_SLACK SB_LITERAL_SLACK, sizeof(text) - 1})
#define SB_LITERAL_SLACK \
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
static_assert(sizeof SB_LITERAL_SLACK * 2 > SB_SLACK);

typedef struct SbList {  // list, tensor, map: len elements in memory layout
    const void *ptr;
    int64_t     len;
} SbList;

// How parts of a tensor are gathered: `outer` times from `size` parts of `inner` bytes.
typedef struct SbGather {
    uint64_t outer, size, inner;
} SbGather;

typedef __int128 SbDecimal;  // decimal of precision > 18; others are int64_t

// Mirrors TypeKind of ir/type.h, in its order.
typedef enum SbKind {
    SB_BOOL, SB_I8, SB_I16, SB_I32, SB_I64, SB_U8, SB_U16, SB_U32, SB_U64, SB_F16, SB_BF16,
    SB_F32, SB_F64, SB_DECIMAL, SB_STR, SB_BYTES, SB_DATE, SB_TIMESTAMP, SB_DURATION, SB_JSON,
    SB_LIST, SB_STRUCT, SB_TENSOR, SB_MAP,
} SbKind;

typedef struct SbType SbType;

typedef struct SbField {
    SbStr         name;
    const SbType *type;
    int64_t       offset;  // In the struct, bytes.
} SbField;

// What a value of unknown type is. For nested values, generic functions and rows as JSON.
struct SbType {
    uint8_t kind;              // SbKind
    uint8_t nullable;          // {T value; uint8_t valid} in memory
    uint8_t precision, scale;  // SB_DECIMAL
    uint8_t unit;              // SB_TIMESTAMP: 0 s, 1 ms, 2 us, 3 ns
    uint32_t size, align;      // In memory, nullable included.
    uint32_t valid_offset;     // Offset of the byte `valid` when nullable.
    const SbType  *elem;       // SB_LIST, SB_TENSOR; SB_MAP: the struct of an entry
    const SbField *fields;     // SB_STRUCT
    uint32_t       field_count;
    uint32_t        rank;      // SB_TENSOR: its dimensions.
    const uint32_t *shape;     // 0: an open dimension, whose size each row has.
    const SbStr    *names;     // Of open dimensions; null: there are none.
};

enum { SB_RANK_MAX = 8, SB_TENSOR_BYTES_MAX = 1 << 30 };

// Is a value of the type an SbList?
static inline int sb_is_sequence(const SbType *type) {
    return type->kind == SB_LIST || type->kind == SB_TENSOR || type->kind == SB_MAP;
}

static inline uint32_t sb_open_count(const SbType *type) {
    uint32_t open = 0;
    for (uint32_t i = 0; type->names && i < type->rank; i++) open += type->shape[i] == 0;
    return open;
}

// Bytes before the elements of a sequence: the sizes of the open dimensions of a tensor that has
// several, as uint64_t. A size alone follows from the number of elements.
static inline int64_t sb_lead_bytes(const SbType *type) {
    uint32_t open = sb_open_count(type);
    return open > 1 ? open * (int64_t)sizeof(uint64_t) : 0;
}

// The sizes of all dimensions of a tensor. `sizes` has room for SB_RANK_MAX.
static inline void sb_tensor_sizes(const SbType *type, const SbList *tensor, int64_t *sizes) {
    uint32_t open = sb_open_count(type), next = 0;
    int64_t known = 1;
    for (uint32_t i = 0; i < type->rank; i++) known *= type->shape[i] ? type->shape[i] : 1;
    const uint64_t *lead = (const uint64_t *)tensor->ptr - open;
    for (uint32_t i = 0; i < type->rank; i++)
        sizes[i] = type->shape[i] ? type->shape[i]
                   : open == 1    ? tensor->len / known
                                  : (int64_t)lead[next++];
}

// Is it an SbStr?
static inline int sb_is_text(const SbType *type) {
    return type->kind == SB_STR || type->kind == SB_BYTES || type->kind == SB_JSON;
}

// Does it point nowhere?
static inline int sb_is_flat(const SbType *type) {
    return !sb_is_text(type) && !sb_is_sequence(type) && type->kind != SB_STRUCT;
}

static inline int sb_is_float(const SbType *type) {
    return type->kind >= SB_F16 && type->kind <= SB_F64;
}

// Bytes of the value without the flag of a nullable one.
static inline int64_t sb_base_size(const SbType *type) {
    return type->nullable ? type->valid_offset : type->size;
}

static inline int sb_is_valid(const SbType *type, const void *value) {
    return !type->nullable || ((const uint8_t *)value)[type->valid_offset];
}


typedef enum SbStatus : int32_t {
    SB_OK = 0,
    SB_NULL = 1,         // A T? function: no value.
    SB_FAULT_BEFORE = 15,
#define FAULT(name, ...) SB_FAULT_##name,
#include "runtime/abi/faults.def"
#undef FAULT
    SB_FAULT_END,
    SB_FAULT_FIRST = SB_FAULT_BEFORE + 1,
} SbStatus;

// Is the detail of the fault a part of its sentence? Else the detail is a text of the row.
static inline bool sb_fault_is_worded(int32_t fault) {
    return fault == SB_FAULT_BAD_ARGUMENT || fault == SB_FAULT_BAD_FORM ||
           fault == SB_FAULT_EXTERN_SAID || fault == SB_FAULT_SHAPES ||
           fault == SB_FAULT_RESHAPED ||
           (fault >= SB_FAULT_EXTERN_RESULT && fault <= SB_FAULT_EXTERN_MEMORY);
}

#endif
