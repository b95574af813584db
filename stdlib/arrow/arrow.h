// The structs of the Arrow C Data Interface (arrow.apache.org/docs/format/CDataInterface.html),
// and values of the language as such arrays.
//
//   bool b        i8 i16 i32 i64  c s i l      u8 u16 u32 u64  C S I L     f16 f32 f64  e f g
//   str json u    bytes z         date tdD     timestamp tss: tsm: tsu: tsn: and UTC
//   duration tDu  decimal(p,s) d:p,s           [T] +l   {a: T} +s   {str: T} +m
//   T[2, 3] +w:6, of the extension arrow.fixed_shape_tensor with its shape
//   T[h, 3] +s of data: [T] and shape: +w:2 of i32, of the extension arrow.variable_shape_tensor
//
// Nulls are bits of validity bitmaps, least significant first. An array without nulls may have no
// bitmap. Offsets of texts and lists are of 32 bits.
#ifndef SBC_STDLIB_ARROW_H
#define SBC_STDLIB_ARROW_H

#include "runtime/abi/call.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

enum { ARROW_FLAG_NULLABLE = 2 };

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t     flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void      (*release)(struct ArrowSchema *);
    void       *private_data;
};

struct ArrowArray {
    int64_t      length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void       (*release)(struct ArrowArray *);
    void        *private_data;
};

#endif

// Buffers of an array of the type, and the arrays inside of it.
int64_t sb_arrow_buffers(const SbType *type);
uint32_t sb_arrow_children(const SbType *type);
const SbType *sb_arrow_child(const SbType *type, uint32_t i);

// Elements of a value of a tensor whose dimensions are numbers.
static inline int64_t sb_arrow_elements(const SbType *type) {
    int64_t count = 1;
    for (uint32_t i = 0; i < type->rank; i++) count *= type->shape[i];
    return count;
}

// Fills `schema` as that of a value of the type, in memory of `call`. A status.
int32_t sb_arrow_schema(SbCall *call, SbStr name, const SbType *type, struct ArrowSchema *schema);

// Fills `array` with the values at `values`, in memory of `call`, where it stays until that is
// wound back: `release` frees nothing. A null pointer is a null. SB_FAULT_TOO_LARGE: there is no
// memory, or a text or list is too long for offsets of 32 bits.
int32_t sb_arrow_put(SbCall *call, const SbType *type, const void *const *values, int64_t count,
                     struct ArrowArray *array);

// Copies the values of `array`, which should be `count` of the type, to `values`, in memory layout
// one after the other. Texts and lists go to memory of `call`. statuses[i] is SB_OK, SB_NULL of a
// nullable type, or SB_FAULT_EXTERN_RESULT; then details[i] says what is wrong. An array that fits
// nowhere has one text for all of it: returned, empty if it fits.
typedef struct SbArrowTaken {
    char    *values;    // count times type->size without the flag of a nullable one
    int32_t *statuses;
    SbStr   *details;
} SbArrowTaken;

int32_t sb_arrow_take(SbCall *call, const SbType *type, const struct ArrowArray *array,
                      int64_t count, SbArrowTaken *out, SbStr *wrong);

// Calls `release`, where it is set.
void sb_arrow_release(struct ArrowArray *array);

#endif
