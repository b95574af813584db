// npy: an array of numbers, as NumPy saves it; its first dimension counts the rows.
#include "stdlib/formats/npy/npy.h"

#include "ir/format.h"

#define TYPES "bool, i8 to i64, u8 to u64, f16, f32 or f64, or a tensor of these"

static_assert(NPY_RANK_MAX == TENSOR_RANK_MAX && NPY_ROW_MAX == TENSOR_BYTES_MAX);

static bool fits(const Type *type) {
    return !type->nullable && npy_type_of(type_element(type)->kind);
}

// What a read without `as` gives: one column, `value`.
static const Type *row_of(TypeTable *types, Text front, TextBuf *error) {
    NpyHeader header;
    if (!npy_read(front.at, (int64_t)front.len, &header)) {
        text_buf_format(error, "it %s", header.wrong);
        return nullptr;
    }
    const Type *type = type_of(types, (TypeKind)header.row.type->kind);
    if (header.row.rank) type = type_tensor(types, type, header.row.shape, header.row.rank);
    Field value = {TEXT("value"), type};
    return type_struct(types, &value, 1);
}

static_assert(TYPE_BOOL == 0 && TYPE_I64 == 4 && TYPE_U64 == 8 && TYPE_F16 == 9 &&
              TYPE_F32 == 11 && TYPE_F64 == 12);

const FormatInfo format_info_npy = {
    .names = {{"npy", 0}},
    .suffixes = {{".npy", 0}},
    .reads = true,
    .writes = true,
    .input = FORMAT_SCANNED,
    .write_options = FORMAT_OPTION_BYTES | FORMAT_OPTION_FILES | FORMAT_OPTION_STACKED,
    .row = FORMAT_ROW_DECLARED,
    .row_of = row_of,
    .read_columns = {.count = 1, .fits = fits, .words = "a value of npy",
                     .fix = "declare one column of type " TYPES ": as {value: f64}"},
    .write_columns = {.count = 1, .fits = fits, .words = "one column of type " TYPES,
                      .fix = "select the column first, without null: | select value = x ?? 0.0"},
};
