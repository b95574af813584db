// npy: an array of numbers, as NumPy saves it; its first dimension counts the rows.
#include "stdlib/formats/npy/npy.h"

#include "ir/format.h"

#include <math.h>

#define TYPES "bool, i8 to i64, u8 to u64, f16, f32 or f64, or a tensor of these"

static_assert(NPY_RANK_MAX == TENSOR_RANK_MAX && NPY_ROW_MAX == TENSOR_BYTES_MAX);

static bool reads(const Type *type) {
    return !type->nullable && npy_type_of(type_element(type)->kind);
}

// Rows of a file that holds several have one shape, which its header says.
static bool stacks(const Type *type) { return reads(type) && !type_open_count(type); }

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

// ---- constants ----------------------------------------------------------------------------------

static bool wrong(Arena *arena, FileTensor *out, const char *why) {
    out->wrong = text_of(text_c(arena, text_of(why)));
    return false;
}

static double of_f16(uint64_t bits) {
    enum { LEAST = -24, INFINITE = 31, HIDDEN = 1 << 10 };
    int exponent = (int)(bits >> 10 & INFINITE), fraction = (int)(bits & (HIDDEN - 1));
    double size = exponent == INFINITE ? (fraction ? NAN : INFINITY)
                  : exponent           ? ldexp(HIDDEN + fraction, exponent - 1 + LEAST)
                                       : ldexp(fraction, LEAST);
    return bits >> 15 & 1 ? -size : size;
}

// An element as the compiler computes with it.
static Const element(const Type *elem, uint64_t bits) {
    uint32_t shift = 64 - type_bits(elem);
    union { uint64_t bits; double value; } wide = {bits};
    union { uint32_t bits; float value; } narrow = {(uint32_t)bits};
    switch (elem->kind) {
    case TYPE_F64: return (Const){.f = wide.value};
    case TYPE_F32: return (Const){.f = (double)narrow.value};
    case TYPE_F16: return (Const){.f = of_f16(bits)};
    case TYPE_BOOL: return (Const){.i = bits != 0};
    default: break;
    }
    if (!type_is_signed(elem)) return (Const){.u = bits};
    return (Const){.i = (int64_t)(bits << shift) >> shift};
}

// The elements in C order, whatever the order of the file is.
static void take_elements(const NpyHeader *header, const Type *type, const char *bytes,
                          Const *items) {
    const NpyType *npy = header->row.type;
    uint32_t at[TENSOR_RANK_MAX] = {0};
    uint64_t count = type_elements(type);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t from = header->fortran ? 0 : i, step = 1;
        for (uint32_t d = 0; header->fortran && d < type->rank; d++) {
            from += at[d] * step;
            step *= type->shape[d];
        }
        uint64_t bits = npy_value(npy, header->big, bytes + from * npy->size);
        items[i] = element(type->elem, bits);
        for (uint32_t d = type->rank; d-- > 0 && ++at[d] == type->shape[d];) at[d] = 0;
    }
}

// The shape as numpy has it. False: out->wrong says why no tensor has it.
static bool make_type(Arena *arena, TypeTable *types, const NpyHeader *header, FileTensor *out) {
    uint32_t shape[TENSOR_RANK_MAX], rank = header->row.rank + 1;
    uint64_t count = (uint64_t)header->rows;
    bool good = rank <= TENSOR_RANK_MAX && header->rows > 0;
    for (uint32_t d = 0; good && d + 1 < rank; d++) {
        shape[d + 1] = header->row.shape[d];
        good = shape[d + 1] > 0;
        count = good && count <= FILE_TENSOR_MAX ? count * shape[d + 1] : count;
    }
    if (!good) return wrong(arena, out, "has no elements, or more than 8 dimensions");
    if (count > FILE_TENSOR_MAX) {
        char words[NPY_WORDS];
        snprintf(words, sizeof words, "has %llu elements: a constant has up to %u",
                 (unsigned long long)count, FILE_TENSOR_MAX);
        return wrong(arena, out, words);
    }
    shape[0] = (uint32_t)header->rows;
    const Type *elem = type_of(types, (TypeKind)header->row.type->kind);
    out->type = type_tensor(types, elem, shape, rank);
    return true;
}

static bool tensor_of(Arena *arena, TypeTable *types, Text bytes, FileTensor *out) {
    NpyHeader header;
    if (!npy_read_header(bytes.at, (int64_t)bytes.len, &header))
        return wrong(arena, out, header.wrong);
    if (!make_type(arena, types, &header, out)) return false;
    if (!npy_whole(&header, (int64_t)bytes.len)) return wrong(arena, out, header.wrong);
    out->value.item_count = (uint32_t)type_elements(out->type);
    out->value.items = arena_new_array(arena, Const, out->value.item_count);
    take_elements(&header, out->type, bytes.at + header.begin, out->value.items);
    return true;
}

// ---- the format ---------------------------------------------------------------------------------

static_assert(TYPE_BOOL == 0 && TYPE_I64 == 4 && TYPE_U64 == 8 && TYPE_F16 == 9 &&
              TYPE_F32 == 11 && TYPE_F64 == 12);

const FormatInfo format_info_npy = {
    .names = {{"npy", 0}},
    .suffixes = {{".npy", 0}},
    .reads = true,
    .writes = true,
    .side_by_side = true,
    .input = FORMAT_SCANNED,
    .write_options = FORMAT_OPTION_BYTES | FORMAT_OPTION_FILES | FORMAT_OPTION_STACKED,
    .row = FORMAT_ROW_DECLARED,
    .row_of = row_of,
    .tensor_of = tensor_of,
    .read_columns = {.count = 1, .fits = reads, .words = "a value of npy",
                     .fix = "declare one column of type " TYPES ": as {value: f64}"},
    .write_columns = {.count = 1, .fits = stacks,
                      .words = "one column of type " TYPES " with numbers as dimensions",
                      .fix = "select one such column: x ?? 0.0 is not null, reshape(x, 8, 3) "
                             "has numbers, and stacked = false makes a file of each row"},
    .apart_columns = {.count = 1, .fits = reads, .words = "one column of type " TYPES,
                      .fix = "select one such column: x ?? 0.0 is not null"},
};
