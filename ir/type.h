// Type: the types of values, interned, so that equal types are equal pointers.
//
// In memory (hash-table entries, list elements, struct fields) a value has the C layout that
// runtime/abi.h names; a nullable T is {T value; uint8_t valid}. See type_size.
#ifndef SBC_IR_TYPE_H
#define SBC_IR_TYPE_H

#include "ir/arena.h"
#include "ir/text.h"

// Kind, name, bytes in memory (0: depends on parameters, or has none).
#define TYPE_KINDS(X)                                                                             \
    X(BOOL, "bool", 1)                                                                            \
    X(I8, "i8", 1) X(I16, "i16", 2) X(I32, "i32", 4) X(I64, "i64", 8)                             \
    X(U8, "u8", 1) X(U16, "u16", 2) X(U32, "u32", 4) X(U64, "u64", 8)                             \
    X(F16, "f16", 2) X(BF16, "bf16", 2) X(F32, "f32", 4) X(F64, "f64", 8)                         \
    X(DECIMAL, "decimal", 0)       /* i64 while precision <= 18, else i128; value * 10^scale */   \
    X(STR, "str", 16)              /* SbStr: UTF-8 */                                             \
    X(BYTES, "bytes", 16)          /* SbStr */                                                    \
    X(DATE, "date", 4)             /* i32 days since 1970-01-01, proleptic Gregorian */           \
    X(TIMESTAMP, "timestamp", 8)   /* i64 units since the epoch, UTC */                           \
    X(DURATION, "duration", 8)     /* i64 microseconds */                                         \
    X(JSON, "json", 16)            /* SbStr: one JSON value as text */                            \
    X(LIST, "list", 16)            /* SbList: elements in memory layout */                        \
    X(STRUCT, "struct", 0)                                                                        \
    X(TENSOR, "tensor", 16)        /* SbList: elements in memory layout, the last index fastest */ \
    X(MAP, "map", 16)              /* SbList: entries {key: str, value: T}, no key twice */       \
    X(NULL, "null", 0)             /* of the literal `null` before it meets a T? */               \
    X(ERROR, "error", 0)           /* of what was already diagnosed; fits everywhere */

typedef enum TypeKind {
#define X(kind, name, bytes) TYPE_##kind,
    TYPE_KINDS(X)
#undef X
} TypeKind;

typedef enum TimeUnit { UNIT_S, UNIT_MS, UNIT_US, UNIT_NS } TimeUnit;

typedef struct Type Type;

typedef struct Field {
    Text        name;
    const Type *type;
} Field;

struct Type {
    TypeKind    kind;
    bool        nullable;          // T?
    uint8_t     precision, scale;  // DECIMAL: 1..38, 0..precision.
    TimeUnit    unit;              // TIMESTAMP.
    const Type *elem;              // LIST, TENSOR; MAP: the struct of an entry.
    const Field *fields;           // STRUCT, in declared order.
    uint32_t    field_count;
    const uint32_t *shape;         // TENSOR: its dimensions: numbers from 1 on, or open ones.
    const Text *names;             // TENSOR: of open dimensions. Null: all are numbers.
    uint32_t    rank;              // TENSOR: how many dimensions, 1..TENSOR_RANK_MAX.
    const Type *flip;              // This type with `nullable` turned round. Private to type.c.
};

enum { DECIMAL_PRECISION_MAX = 38, DECIMAL_PRECISION_I64 = 18 };
enum { TENSOR_RANK_MAX = 8, TENSOR_BYTES_MAX = 1 << 30 };

// An open dimension of a shape has a name instead of a number: each row has its own size, which is
// 1 or more. The word is this bit and the number of the name. DIMENSION_ANY has the name `_`, which
// says nothing of other dimensions.
enum : uint32_t { DIMENSION_OPEN = 1u << 31, DIMENSION_ANY = DIMENSION_OPEN };

static inline bool dimension_is_open(uint32_t size) { return size & DIMENSION_OPEN; }

typedef struct TypeTable TypeTable;

TypeTable  *type_table_new(Arena *arena);
const Type *type_of(TypeTable *types, TypeKind kind);  // A kind without parameters, not null.
const Type *type_decimal(TypeTable *types, unsigned precision, unsigned scale);
const Type *type_timestamp(TypeTable *types, TimeUnit unit);
const Type *type_list(TypeTable *types, const Type *elem);
const Type *type_struct(TypeTable *types, const Field *fields, uint32_t count);
const Type *type_entry(TypeTable *types, const Type *value);  // {key: str, value: T} of a map.
const Type *type_map(TypeTable *types, const Type *value);    // {str: T}
// Of at most TENSOR_BYTES_MAX: see type_shape_fits.
const Type *type_tensor(TypeTable *types, const Type *elem, const uint32_t *shape, uint32_t rank);
const Type *type_nullable(const Type *type);  // T -> T?; T? -> T?
const Type *type_base(const Type *type);      // T? -> T; T -> T
const Type *type_map_value(const Type *map);  // {str: T} -> T
// The T of {key: str, value: T}; of any other type null.
const Type *type_entry_value(const Type *type);

const char *type_kind_name(TypeKind kind);
bool type_kind_find(Text name, TypeKind *kind);  // By the name of a kind without parameters.
bool type_is_integer(const Type *type);          // i8..u64
bool type_is_signed(const Type *type);           // i8..i64
bool type_is_float(const Type *type);            // f16 bf16 f32 f64
bool type_is_half(const Type *type);             // f16 bf16
bool type_is_numeric(const Type *type);          // Integer, float or decimal.
// Integers, floats, bool as an unsigned bit, and durations as i64: a cast between two of them is
// done in place. The library does the other casts.
bool type_is_plain_number(const Type *type);
// Is a cast arithmetic on whole numbers: from integers and decimals to decimals, and of decimals in
// 64 bits to integers? What would divide 128 bits is not.
bool type_cast_scales(const Type *from, const Type *to);
bool type_is_bytes(const Type *type);            // Carried as SbStr: str, bytes, json.
bool type_is_nested(const Type *type);           // list, struct, tensor or map.
bool type_is_sequence(const Type *type);         // Carried as SbList: list, tensor, map.
unsigned type_bits(const Type *type);            // Integers, floats: the width.

// x as the nearest value of a float type, ties to even; beyond the largest an infinity (ir/half.c).
double type_round(const Type *type, double x);

// Bytes and alignment in memory, nullable included: what C gives {T value; uint8_t valid}.
size_t type_size(const Type *type);
size_t type_align(const Type *type);
// Byte offset of struct field `index`.
size_t type_field_offset(const Type *type, uint32_t index);

// Index of a field by name, or -1.
int type_field_find(const Type *type, Text name);

// ---- tensors (ir/shape.c) -----------------------------------------------------------------------

// May elements of a tensor be of this type? bool, integers and floats, none null.
bool type_is_element(const Type *type);
// The type of one element of a tensor; any other type is its own.
const Type *type_element(const Type *type);
// Does a tensor of that shape keep to TENSOR_RANK_MAX and TENSOR_BYTES_MAX? Open dimensions count
// as 1.
bool type_shape_fits(const Type *elem, const uint32_t *shape, uint32_t rank);
// How many elements a tensor has. Open dimensions count as 1.
uint64_t type_elements(const Type *type);

// The word of the open dimension with that name.
uint32_t type_dimension(TypeTable *types, Text name);
uint32_t type_open_count(const Type *type);  // How many dimensions are open. No tensor: 0.
// Bytes before the elements in memory: the sizes of the open dimensions as uint64_t, in their
// order. A size alone follows from the number of elements: then there are none.
uint64_t type_lead_bytes(const Type *type);
// "3", or the name of the open dimension.
void type_print_dimension(TextBuf *buf, const Type *type, uint32_t i);
// Is one a list that is not null, and the other a tensor of one dimension with such elements?
bool type_list_may_be(const Type *from, const Type *to);
// The type of a tensor that is one of two for which type_may_be: where they differ it has `_`.
const Type *type_either(TypeTable *types, const Type *a, const Type *b);
// Do the shapes differ in dimensions of 1 alone?
bool type_same_but_ones(const Type *a, const Type *b);
// Is `from` a tensor whose elements, as they are, may be a tensor `to`? A dimension that is open on
// one side at least is compared while the job runs.
bool type_may_be(const Type *from, const Type *to);
// The tensor of another element with the shape of `tensor`.
const Type *type_tensor_like(TypeTable *types, const Type *elem, const Type *tensor);
// What x[i] is of a tensor: a tensor without the first dimension, or an element.
const Type *type_tensor_part(TypeTable *types, const Type *tensor);

// Shapes of functions of whole tensors. `axis` is a dimension of the tensor, counted from 0.
// Without the dimension: an element if the tensor has no other.
const Type *type_without_axis(TypeTable *types, const Type *tensor, uint32_t axis);
// With `size` in that dimension.
const Type *type_resized(TypeTable *types, const Type *tensor, uint32_t axis, uint32_t size);
// Dimension i is dimension order[i] of the tensor.
const Type *type_permuted(TypeTable *types, const Type *tensor, const uint32_t *order);
// The shape of `index` takes the place of the dimension. Null: no tensor has so many.
const Type *type_gathered(TypeTable *types, const Type *tensor, uint32_t axis, const Type *index);

// The shape that two shapes broadcast to: they are put together at their last dimensions, of which
// each two are equal or one is 1. An open dimension goes with any size but its own 1 does not
// stretch: what it meets is compared while the job runs. The result has the number, or the name.
// `shape` has room for TENSOR_RANK_MAX. Returns the rank, or 0 if they do not fit. Then *wrong is
// the dimension that differs, counted from 0 at the last one.
uint32_t type_broadcast(const Type *a, const Type *b, uint32_t *shape, uint32_t *wrong);

// As users write it: `decimal(15,2)?`, `[str]`, `{a: i64, b: str?}`, `{str: i64}`.
void type_print(TextBuf *buf, const Type *type);
Text type_text(Arena *arena, const Type *type);

// The name of a field: one that is no word stands in backticks, a backtick in it twice.
void type_print_name(TextBuf *buf, Text name);

#endif
