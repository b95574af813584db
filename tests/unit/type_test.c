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

static const UnitTest tests[] = {
    {"equal_types_are_one", equal_types_are_one},
    {"layout_is_that_of_c", layout_is_that_of_c},
};

UNIT_MAIN("type", tests)
