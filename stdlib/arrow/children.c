// The arrays that the array of a value has inside.
#include "stdlib/arrow/arrow.h"
#include "stdlib/arrow/forms.h"

// Types of `data` and `shape`, which no program writes.
#define SCALAR(KIND, bytes) [KIND] = {.kind = (KIND), .size = (bytes), .align = (bytes)}

static const SbType scalars[] = {
    SCALAR(SB_BOOL, 1), SCALAR(SB_I8, 1), SCALAR(SB_I16, 2), SCALAR(SB_I32, 4),
    SCALAR(SB_I64, 8), SCALAR(SB_U8, 1), SCALAR(SB_U16, 2), SCALAR(SB_U32, 4),
    SCALAR(SB_U64, 8), SCALAR(SB_F16, 2), SCALAR(SB_F32, 4), SCALAR(SB_F64, 8),
};

#define LIST(KIND)                                                                                \
    [KIND] = {.kind = SB_LIST, .size = sizeof(SbList), .align = alignof(SbList),                  \
              .elem = &scalars[KIND]}

static const SbType lists[] = {
    LIST(SB_BOOL), LIST(SB_I8), LIST(SB_I16), LIST(SB_I32), LIST(SB_I64), LIST(SB_U8),
    LIST(SB_U16), LIST(SB_U32), LIST(SB_U64), LIST(SB_F16), LIST(SB_F32), LIST(SB_F64),
};

static const uint32_t ranks[SB_RANK_MAX + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

#define SHAPE(RANK)                                                                               \
    [RANK] = {.kind = SB_TENSOR, .size = sizeof(SbList), .align = alignof(SbList),                \
              .elem = &scalars[SB_I32], .rank = 1, .shape = &ranks[RANK]}

static const SbType shapes[SB_RANK_MAX + 1] = {
    SHAPE(0), SHAPE(1), SHAPE(2), SHAPE(3), SHAPE(4), SHAPE(5), SHAPE(6), SHAPE(7), SHAPE(8),
};

int64_t sb_arrow_buffers(const SbType *type) { return arrow_buffers(arrow_form(type)); }

uint32_t sb_arrow_children(const SbType *type) {
    if (arrow_form(type) == FORM_SHAPED) return SHAPED_CHILDREN;
    if (sb_is_sequence(type)) return 1;
    return type->kind == SB_STRUCT ? type->field_count : 0;
}

const SbType *sb_arrow_child(const SbType *type, uint32_t i) {
    if (type->kind == SB_STRUCT) return type->fields[i].type;
    if (arrow_form(type) != FORM_SHAPED) return type->elem;
    return i == SHAPED_DATA ? &lists[type->elem->kind] : &shapes[type->rank];
}
