// The interpreter's own readers, printers and aggregates against the standard library's.
#include "codegen/reference/aggregate.h"
#include "codegen/reference/eval.h"
#include "codegen/reference/reference.h"
#include "runtime/memory/scratch.h"
#include "stdlib/aggregate/aggregate.h"
#include "stdlib/time/date.h"
#include "stdlib/number/number.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static const Span no_span = {.file = SPAN_NONE};

static const char *const number_texts[] = {
    "",
    " ",
    "0",
    "-0",
    "+7",
    "007",
    "1.",
    ".5",
    ".",
    "-.e1",
    "1e5",
    "1E+5",
    "1e",
    "1e+",
    "0x10",
    "1_0",
    "inf",
    "-Infinity",
    "NaN",
    "+nan",
    "infinit",
    "1,5",
    " 12\t",
    "1 2",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1.7976931348623159e308",
    "1e309",
    "5e-324",
    "2e-324",
    "1e-400",
    "2.2250738585072011e-308",
    "0.1",
    "123456789012345678901234567890",
    "9007199254740993",
    "1e16",
    "1e15",
    "0.0001",
    "0.00001",
    "3.4028236e38",
    "--1",
    "+-1",
    "1-",
    "1\n",
};

static const char *const time_texts[] = {
    "2026-11-21",
    "2026-02-29",
    "2024-02-29",
    "0000-01-01",
    "-0001-12-31",
    "+12026-01-01",
    "12026-01-01",
    "2026-1-1",
    "2026-13-01",
    "2026-11-21T09:00",
    "2026-11-21T09:00Z",
    "2026-11-21 09:00:00",
    "2026-11-21t09:00:00z",
    "2026-11-21T09:00:00.5Z",
    "2026-11-21T09:00:00.123456789Z",
    "2026-11-21T09:00:00.1234560Z",
    "2026-11-21T09:00:00.1234567890Z",
    "2026-11-21T09:00:00.Z",
    "2026-11-21T09:00:60Z",
    "2026-11-21T24:00:00Z",
    "2026-11-21T09:00:00+01",
    "2026-11-21T09:00:00+0130",
    "2026-11-21T09:00:00-01:30",
    "2026-11-21T09:00:00+1",
    "2026-11-21T09:00:00+01:3",
    "2026-11-21T09:00:00 Z",
    "1969-12-31T23:59:59.999999Z",
    "90s",
    "1.5h",
    "0s",
    "-90s",
    "1d",
    "1 s",
    "s",
    "90",
    "0.0000001s",
    "1ms",
    "1.5us",
    "9223372036854775807us",
    "9223372036854775808us",
    "106751991d",
    "106751992d",
    "1m",
    "+1m",
    "1w",
    "1h30m",
    "1.h",
    ".5h",
};

// Reads a copy with slack behind, as the library may read past the end.
static Text slack_copy(Arena *arena, const char *text) {
    size_t len = strlen(text);
    char *copy = arena_alloc(arena, len + SB_SLACK, 1);
    memcpy(copy, text, len);
    return (Text){copy, len};
}

static bool same_f64(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static void numbers_are_read_and_printed_alike(void) {
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    for (size_t i = 0; i < sizeof number_texts / sizeof *number_texts; i++) {
        Text text = slack_copy(arena, number_texts[i]);
        ReadOptions options = {.point = '.'};
        Value own;
        double f = 0;
        int64_t integer = 0;
        int32_t status = value_read(arena, type_of(types, TYPE_F64), text, options, &own);
        CHECK_SAYS(status == sb_read_f64(text.at, (int64_t)text.len, &f), "%s", number_texts[i]);
        CHECK_SAYS(status || same_f64(own.f, f) || (f != f && own.f != own.f), "%s",
                   number_texts[i]);
        char out[SB_NUMBER_MAX];
        Text printed = {out, (size_t)(sb_put_f64(out, f) - out)};
        Text wanted = eval_text(arena, type_of(types, TYPE_F64), &own);
        CHECK_SAYS(status || text_eq(printed, wanted), "%s: %.*s, %.*s", number_texts[i],
                   TEXT_ARG(printed), TEXT_ARG(wanted));
        status = value_read(arena, type_of(types, TYPE_I64), text, options, &own);
        CHECK_SAYS(status == sb_read_i64(text.at, (int64_t)text.len, &integer), "%s",
                   number_texts[i]);
        CHECK_SAYS(status || own.i == integer, "%s", number_texts[i]);
    }
    arena_free(arena);
}

static void times_are_read_and_printed_alike(void) {
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    for (size_t i = 0; i < sizeof time_texts / sizeof *time_texts; i++) {
        Text text = slack_copy(arena, time_texts[i]);
        ReadOptions options = {.point = '.'};
        Value own;
        int64_t at = 0;
        int32_t day = 0;
        char out[64];
        for (TimeUnit unit = UNIT_S; unit <= UNIT_NS; unit++) {
            const Type *type = type_timestamp(types, unit);
            int32_t status = value_read(arena, type, text, options, &own);
            int32_t theirs = sb_read_timestamp(text.at, (int64_t)text.len, unit, nullptr, &at);
            CHECK_SAYS(status == theirs, "%s: %d, %d", time_texts[i], status, theirs);
            if (status || theirs) continue;
            Text printed = {out, (size_t)(sb_put_timestamp(out, at, unit) - out)};
            CHECK_SAYS(own.i == at && text_eq(printed, eval_text(arena, type, &own)), "%s",
                       time_texts[i]);
        }
        const Type *date = type_of(types, TYPE_DATE), *duration = type_of(types, TYPE_DURATION);
        int32_t status = value_read(arena, date, text, options, &own);
        CHECK_SAYS(status == sb_read_date(text.at, (int64_t)text.len, &day), "%s: %d",
                   time_texts[i], status);
        if (!status) {
            Text printed = {out, (size_t)(sb_put_date(out, day) - out)};
            CHECK_SAYS(text_eq(printed, eval_text(arena, date, &own)), "%s", time_texts[i]);
        }
        status = value_read(arena, duration, text, options, &own);
        CHECK_SAYS(status == sb_read_duration(text.at, (int64_t)text.len, &at), "%s: %d",
                   time_texts[i], status);
        if (!status) {
            Text printed = {out, (size_t)(sb_put_duration(out, at) - out)};
            CHECK_SAYS(text_eq(printed, eval_text(arena, duration, &own)), "%s", time_texts[i]);
        }
    }
    arena_free(arena);
}

// A float of any magnitude, from a small generator with a fixed seed.
static double next_float(uint64_t *state, bool wild) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = *state ^ *state >> 29;
    if (!wild) return (double)(int64_t)(bits >> 40) / 1024.0 - 8000.0;
    // Exponents from 2^-500 to 2^500, so that squares stay finite.
    bits = (bits & ~(UINT64_C(0x7ff) << 52)) | ((523 + (bits >> 52 & 0x3ff) % 1000) << 52);
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static double own_aggregate(Arena *arena, const Type *type, const char *name, AggInput *input) {
    AggRef ref = {.name = text_of(name)};
    Agg agg = {.fn = &ref, .arg_count = 1, .type = type};
    AggCall call = {
        .arena = arena, .agg = &agg, .input = input, .type = type, .option = {.f = 0.3}};
    Value value = {0};
    CHECK(aggregate(&call, &value) == SB_OK && !value.is_null);
    return value.f;
}

static void float_aggregates_agree_to_the_bit(void) {
    Arena *arena = arena_new();
    const Type *type = type_of(type_table_new(arena), TYPE_F64);
    SbCall call;
    CHECK(sb_scratch_open(&call, 1 << 16) == SB_OK);
    uint64_t state = 42;
    for (int round = 0; round < 60; round++) {
        AggInput input = {0};
        SbExactSum sum = {0};
        SbSpread spread = {0};
        SbSample sample = {0};
        for (int i = 0; i < 3 + round; i++) {
            double f = next_float(&state, round % 2);
            AggRow row = {.x = value_f64(f)};
            arena_push(arena, input.rows, input.count, input.cap, row);
            CHECK(sb_sum_f64_add(&call, &sum, f) == SB_OK &&
                  sb_variance_add(&call, &spread, f) == SB_OK);
            CHECK(sb_quantile_f64_add(&call, &sample, f) == SB_OK);
        }
        double variance = 0, quantile = 0, total = sb_sum_f64_end(&call, &sum);
        CHECK(sb_variance_end(&call, &spread, &variance) == SB_OK);
        CHECK(sb_quantile_f64_end(&call, &sample, 0.3, &quantile) == SB_OK);
        CHECK_SAYS(same_f64(total, own_aggregate(arena, type, "sum", &input)), "round %d: %a",
                   round, total);
        CHECK_SAYS(same_f64(variance, own_aggregate(arena, type, "variance", &input)),
                   "round %d: %a, %a", round, variance,
                   own_aggregate(arena, type, "variance", &input));
        CHECK(same_f64(quantile, own_aggregate(arena, type, "quantile", &input)));
    }
    sb_scratch_close(&call);
    arena_free(arena);
}

static void library_functions_are_found_by_name_and_called(void) {
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    Graph *graph = graph_new(arena, types);
    const Type *str = type_of(types, TYPE_STR), *boolean = type_of(types, TYPE_BOOL);
    static const FnRef matches = {.name = {"matches", 7}, .symbol = {"sb_regex_matches", 16},
                                  .traits = FN_CALL | FN_FALLIBLE};
    static const struct {
        const char *text;
        bool expected;
    } cases[] = {{"ab12", true}, {"abc", false}};
    for (int i = 0; i < 2; i++) {
        Expr regex = {
            .op = EXPR_REGEX, .type = str, .span = no_span, .value.text = TEXT("[0-9]{2}$")};
        ExprId args[] = {graph_const_text(graph, text_of(cases[i].text), no_span),
                         graph_expr(graph, regex, nullptr, 0)};
        ExprId call = graph_expr(
            graph, (Expr){.op = EXPR_CALL, .type = boolean, .span = no_span, .fn = &matches}, args,
            2);
        Const result = {0};
        CHECK(reference_const_eval(nullptr, graph, call, &result) && result.i == cases[i].expected);
    }
    arena_free(arena);
}

static void constants_fold_unless_they_fault_or_vary(void) {
    Arena *arena = arena_new();
    TypeTable *types = type_table_new(arena);
    Graph *graph = graph_new(arena, types);
    const Type *i64 = type_of(types, TYPE_I64);
    Const result = {0};
    ExprId args[] = {graph_const_i64(graph, INT64_MAX), graph_const_i64(graph, 1)};
    Expr add = {.op = EXPR_ADD, .type = i64, .span = no_span},
         sub = {.op = EXPR_SUB, .type = i64, .span = no_span};
    CHECK(!reference_const_eval(nullptr, graph, graph_expr(graph, add, args, 2), &result));
    CHECK(reference_const_eval(nullptr, graph, graph_expr(graph, sub, args, 2), &result));
    CHECK(result.i == INT64_MAX - 1);
    ExprId column = graph_column(graph, 0, 0, i64, no_span);
    CHECK(!reference_const_eval(nullptr, graph, column, &result));
    arena_free(arena);
}

static const UnitTest tests[] = {
    {"numbers_are_read_and_printed_alike", numbers_are_read_and_printed_alike},
    {"times_are_read_and_printed_alike", times_are_read_and_printed_alike},
    {"float_aggregates_agree_to_the_bit", float_aggregates_agree_to_the_bit},
    {"library_functions_are_found_by_name_and_called",
     library_functions_are_found_by_name_and_called},
    {"constants_fold_unless_they_fault_or_vary", constants_fold_unless_they_fault_or_vary},
};

UNIT_MAIN("reference_library", tests)
