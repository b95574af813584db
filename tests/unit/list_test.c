// List: edges, nulls and NaN, stability, far positions.
#include "runtime/memory/scratch.h"
#include "stdlib/value/list.h"
#include "tests/unit/unit.h"

#include <math.h>

static SbCall call;

static const SbType i64_type = {.kind = SB_I64, .size = 8, .align = 8};
static const SbType f64_type = {.kind = SB_F64, .size = 8, .align = 8};
static const SbType maybe_type = {.kind = SB_I32, .nullable = 1, .size = 8, .align = 4,
                                  .valid_offset = 4};
static const SbType ints = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &i64_type};
static const SbType floats = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &f64_type};
static const SbType maybes = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &maybe_type};

typedef struct Maybe { int32_t value; uint8_t valid; } Maybe;

static bool is(SbList list, const int64_t *want, int64_t len) {
    return list.len == len && (!len || memcmp(list.ptr, want, (size_t)len * 8) == 0);
}

#define IS(list, ...)                                                                             \
    is(list, (const int64_t[]){__VA_ARGS__}, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8))

static void positions(void) {
    int64_t items[] = {5, 6, 5, 7}, x = 5, out = -1;
    SbList xs = {items, 4}, none = {nullptr, 0};
    CHECK(sb_list_contains(&ints, xs, &x) && !sb_list_contains(&ints, none, &x));
    CHECK(sb_list_count_of(&ints, xs, &x) == 2);
    x = 7;
    CHECK(sb_list_index_of(&ints, xs, &x, &out) == SB_OK && out == 3);
    CHECK(sb_list_get(&ints, xs, -4, &out) == SB_OK && out == 5);
    CHECK(sb_list_get(&ints, xs, 4, &out) == SB_NULL &&
          sb_list_get(&ints, xs, -5, &out) == SB_NULL);
    CHECK(sb_list_get(&ints, xs, INT64_MIN, &out) == SB_NULL);
    CHECK(sb_list_first(&ints, none, &out) == SB_NULL && sb_list_last(&ints, xs, &out) == SB_OK &&
          out == 7);
    CHECK(IS(sb_list_slice(&ints, xs, 1, 2), 6, 5) &&
          IS(sb_list_slice(&ints, xs, -1, INT64_MAX), 7));
    CHECK(sb_list_slice(&ints, xs, INT64_MAX, 1).len == 0 &&
          sb_list_slice(&ints, xs, 0, -1).len == 0);
    CHECK(sb_list_slice_rest(&ints, xs, INT64_MIN).len == 4 &&
          sb_list_slice_rest(&ints, none, 3).len == 0);
}

static void order(void) {
    int64_t items[100];
    for (int i = 0; i < 100; i++) items[i] = i * 37 % 100;
    SbList out;
    CHECK(sb_list_sort(&call, &ints, (SbList){items, 100}, &out) == SB_OK);
    for (int i = 0; i < 100; i++) CHECK(((const int64_t *)out.ptr)[i] == i);
    CHECK(sb_list_sort_desc(&call, &ints, (SbList){items, 5}, &out) == SB_OK);
    CHECK(IS(out, 74, 48, 37, 11, 0));
    CHECK(sb_list_reverse(&call, &ints, (SbList){items, 3}, &out) == SB_OK && IS(out, 74, 37, 0));
    Maybe some[] = {{0, 0}, {2, 1}, {9, 0}, {1, 1}};
    for (int desc = 0; desc < 2; desc++) {
        CHECK((desc ? sb_list_sort_desc : sb_list_sort)(&call, &maybes, (SbList){some, 4}, &out) ==
              SB_OK);
        const Maybe *sorted = out.ptr;
        CHECK(sorted[0].value == 1 + desc && sorted[1].value == 2 - desc);
        CHECK(!sorted[2].valid && sorted[2].value == 0 && sorted[3].value == 9);  // Stable.
    }
    double numbers[] = {NAN, 1.0, -0.0, 0.0, INFINITY}, number;
    CHECK(sb_list_distinct(&call, &floats, (SbList){numbers, 5}, &out) == SB_OK && out.len == 4);
    CHECK(sb_list_max(&floats, (SbList){numbers, 5}, &number) == SB_OK && isnan(number));
    CHECK(sb_list_min(&floats, (SbList){numbers, 5}, &number) == SB_OK && number == 0 &&
          signbit(number));
    int32_t least;
    CHECK(sb_list_min(&maybes, (SbList){some, 4}, &least) == SB_OK && least == 1);
    CHECK(sb_list_min(&maybes, (SbList){some, 1}, &least) == SB_NULL);
    CHECK(sb_list_first(&maybes, (SbList){some, 4}, &least) == SB_NULL);
}

static void joining(void) {
    int64_t items[] = {1, 2, 1};
    SbList out, xs = {items, 3}, none = {nullptr, 0};
    CHECK(sb_list_concat(&call, &ints, xs, xs, &out) == SB_OK && IS(out, 1, 2, 1, 1, 2, 1));
    CHECK(sb_list_concat(&call, &ints, none, none, &out) == SB_OK && out.len == 0);
    CHECK(sb_list_distinct(&call, &ints, xs, &out) == SB_OK && IS(out, 1, 2));
    CHECK(sb_sequence(&call, -1, 2, &out) == SB_OK && IS(out, -1, 0, 1));
    CHECK(sb_sequence(&call, 2, -1, &out) == SB_OK && out.len == 0);
    CHECK(sb_sequence(&call, INT64_MIN, INT64_MAX, &out) == SB_FAULT_TOO_LARGE);
}

static void flattening(void) {
    SbType nested = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &ints};
    int64_t first[] = {1, 2}, last[] = {3};
    SbList parts[] = {{first, 2}, {nullptr, 0}, {last, 1}}, out;
    CHECK(sb_list_flatten(&call, &nested, (SbList){parts, 3}, &out) == SB_OK && IS(out, 1, 2, 3));
    CHECK(sb_list_flatten(&call, &nested, (SbList){parts + 1, 1}, &out) == SB_OK && !out.len);
    CHECK(sb_list_flatten(&call, &nested, (SbList){nullptr, 0}, &out) == SB_OK && !out.len);
}

static void sums(void) {
    double floats_in[] = {1e100, 1.0, -1e100}, sum;
    int64_t ints_in[] = {INT64_MAX, 1, -1}, whole;
    uint8_t flags[] = {1, 0};
    CHECK(sb_list_sum_f64(&call, (SbList){floats_in, 3}, &sum) == SB_OK && sum == 1.0);
    CHECK(sb_list_mean_f64(&call, (SbList){nullptr, 0}, &sum) == SB_NULL);
    CHECK(sb_list_sum_i64((SbList){ints_in, 3}, &whole) == SB_OK && whole == INT64_MAX);
    CHECK(sb_list_sum_i64((SbList){ints_in, 2}, &whole) == SB_FAULT_OVERFLOW);
    CHECK(sb_list_mean_i64((SbList){ints_in + 1, 2}, &sum) == SB_OK && sum == 0.0);
    CHECK(sb_list_any((SbList){flags, 2}) && !sb_list_all((SbList){flags, 2}));
    CHECK(!sb_list_any((SbList){nullptr, 0}) && sb_list_all((SbList){nullptr, 0}));
}

static const UnitTest tests[] = {
    {"positions", positions}, {"order", order}, {"joining", joining},
    {"flattening", flattening}, {"sums", sums},
};

int main(int argc, char **argv) {
    if (sb_scratch_open(&call, 1 << 16)) return 2;
    int status = unit_main("list", tests, sizeof tests / sizeof *tests, argc, argv);
    sb_scratch_close(&call);
    return status;
}
