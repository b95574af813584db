#include "ir/type.h"
#include "tests/unit/unit.h"

static void equal_types_are_one(void) {
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    const Type *i64 = type_of(types, TYPE_I64), *str = type_of(types, TYPE_STR);
    CHECK(i64 == type_of(types, TYPE_I64) && i64 != str);
    CHECK(type_nullable(i64) != i64 && type_base(type_nullable(i64)) == i64);
    Field a[] = {{TEXT("a"), i64}, {TEXT("b"), type_nullable(str)}};
    Field b[] = {{TEXT("a"), i64}, {TEXT("b"), str}};
    CHECK(type_struct(types, a, 2) == type_struct(types, a, 2));
    CHECK(type_struct(types, a, 2) != type_struct(types, b, 2));
    Text text = type_text(arena, type_list(types, type_struct(types, a, 2)));
    CHECK_SAYS(text_is(text, "[{a: i64, b: str?}]"), "%.*s", TEXT_ARG(text));
    arena_free(arena);
}

static void layout_is_that_of_c(void) {
    struct Row { signed char a; double b; struct { int v; unsigned char valid; } c; bool d; };
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    Field fields[] = {{TEXT("a"), type_of(types, TYPE_I8)}, {TEXT("b"), type_of(types, TYPE_F64)},
                      {TEXT("c"), type_nullable(type_of(types, TYPE_I32))},
                      {TEXT("d"), type_of(types, TYPE_BOOL)}};
    const Type *row = type_struct(types, fields, 4);
    CHECK(type_size(row) == sizeof(struct Row) && type_align(row) == alignof(struct Row));
    CHECK(type_field_offset(row, 2) == offsetof(struct Row, c));
    CHECK(type_field_offset(row, 3) == offsetof(struct Row, d));
    CHECK(type_size(type_decimal(types, 19, 2)) == 16 &&
          type_size(type_decimal(types, 18, 2)) == 8);
    arena_free(arena);
}

static void shapes_broadcast(void) {
    static const struct {
        uint32_t a[3], a_rank, b[3], b_rank, want[3], want_rank, wrong;
    } cases[] = {
        {{2, 3}, 2, {3}, 1, {2, 3}, 2, 0},          {{3}, 1, {2, 3}, 2, {2, 3}, 2, 0},
        {{2, 1, 3}, 3, {4, 1}, 2, {2, 4, 3}, 3, 0}, {{1}, 1, {1, 1}, 2, {1, 1}, 2, 0},
        {{2, 3}, 2, {2}, 1, {0}, 0, 0},             {{2, 3}, 2, {3, 3}, 2, {0}, 0, 1},
        {{4, 2, 3}, 3, {5, 1, 3}, 3, {0}, 0, 2},    {{7, 1}, 2, {1, 7}, 2, {7, 7}, 2, 0},
    };
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    const Type *f32 = type_of(types, TYPE_F32);
    for (size_t i = 0; i < countof(cases); i++) {
        uint32_t shape[TENSOR_RANK_MAX] = {0}, wrong;
        const Type *a = type_tensor(types, f32, cases[i].a, cases[i].a_rank);
        const Type *b = type_tensor(types, f32, cases[i].b, cases[i].b_rank);
        uint32_t rank = type_broadcast(a, b, shape, &wrong);
        CHECK_SAYS(rank == cases[i].want_rank, "case %zu: rank %u", i, rank);
        for (uint32_t d = 0; d < rank; d++)
            CHECK_SAYS(shape[d] == cases[i].want[d], "case %zu: %u", i, shape[d]);
        if (!rank) CHECK_SAYS(wrong == cases[i].wrong, "case %zu: wrong %u", i, wrong);
    }
    arena_free(arena);
}

static void open_dimensions_have_names(void) {
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    const Type *f32 = type_of(types, TYPE_F32);
    uint32_t h = type_dimension(types, TEXT("h")), w = type_dimension(types, TEXT("w"));
    uint32_t any = type_dimension(types, TEXT("_"));
    CHECK(h != w && h == type_dimension(types, TEXT("h")) && any == DIMENSION_ANY);
    const Type *image = type_tensor(types, f32, (uint32_t[]){h, w, 3}, 3);
    const Type *row = type_tensor(types, f32, (uint32_t[]){w}, 1);
    CHECK(type_open_count(image) == 2 && type_lead_bytes(image) == 16);
    CHECK(type_open_count(row) == 1 && type_lead_bytes(row) == 0 && type_elements(image) == 3);
    Text text = type_text(arena, type_nullable(image));
    CHECK_SAYS(text_is(text, "f32[h, w, 3]?"), "%.*s", TEXT_ARG(text));
    const struct { uint32_t a, b, want; } meets[] = {
        {h, h, h}, {h, 1, h}, {1, h, h}, {h, 3, 3}, {3, h, 3}, {h, w, h}, {any, w, w}, {w, any, w},
    };
    for (size_t i = 0; i < countof(meets); i++) {
        uint32_t shape[TENSOR_RANK_MAX], wrong;
        const Type *a = type_tensor(types, f32, &meets[i].a, 1);
        const Type *b = type_tensor(types, f32, &meets[i].b, 1);
        CHECK_SAYS(type_broadcast(a, b, shape, &wrong) == 1 && shape[0] == meets[i].want,
                   "case %zu", i);
    }
    const Type *fixed = type_tensor(types, f32, (uint32_t[]){2, 5, 3}, 3);
    const Type *other = type_tensor(types, f32, (uint32_t[]){2, 5, 4}, 3);
    CHECK(type_may_be(fixed, image) && type_may_be(image, fixed) && !type_may_be(other, image));
    const Type *ones = type_tensor(types, f32, (uint32_t[]){h, 1, w, 3}, 4);
    CHECK(type_same_but_ones(image, ones) && !type_same_but_ones(image, fixed));
    CHECK(type_either(types, fixed, image)->shape[0] == DIMENSION_ANY);
    arena_free(arena);
}

static void tensors_have_limits(void) {
    static const uint32_t most[] = {1 << 15, 1 << 13}, above[] = {1 << 15, 1 << 13, 2};
    static const uint32_t nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, none[] = {2, 0};
    static const uint32_t shape[] = {2, 3, 4};
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    const Type *f32 = type_of(types, TYPE_F32);
    CHECK(type_shape_fits(f32, most, 2) && !type_shape_fits(f32, above, 3));
    CHECK(type_shape_fits(f32, nine, 8) && !type_shape_fits(f32, nine, 9));
    CHECK(!type_shape_fits(f32, none, 2) && !type_shape_fits(f32, shape, 0));
    CHECK(!type_is_element(type_nullable(f32)) && !type_is_element(type_of(types, TYPE_STR)));
    const Type *tensor = type_tensor(types, f32, shape, 3);
    CHECK(tensor == type_tensor(types, f32, shape, 3));
    CHECK(tensor != type_tensor(types, f32, shape, 2));
    CHECK(type_elements(tensor) == 24 && type_size(tensor) == 16 && type_align(tensor) == 8);
    CHECK(type_tensor_part(types, tensor) == type_tensor(types, f32, shape + 1, 2));
    Text text = type_text(arena, type_nullable(tensor));
    CHECK_SAYS(text_is(text, "f32[2, 3, 4]?"), "%.*s", TEXT_ARG(text));
    arena_free(arena);
}

static const UnitTest tests[] = {
    {"equal_types_are_one", equal_types_are_one},
    {"layout_is_that_of_c", layout_is_that_of_c},
    {"shapes_broadcast", shapes_broadcast},
    {"open_dimensions_have_names", open_dimensions_have_names},
    {"tensors_have_limits", tensors_have_limits},
};

UNIT_MAIN("type", tests)
