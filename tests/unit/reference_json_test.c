#include "tests/unit/reference_graph.h"

static Flow copy_json(const char *columns, Text text) {
    Flow flow = flow_new();
    flow_put(&flow, "in.jsonl", text);
    flow_read(&flow, FORMAT_JSONL, "in.jsonl", columns);
    flow_write(&flow, FORMAT_JSONL, "out.jsonl");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    return flow;
}

// `good` must come out as `expected`.
#define CHECK_LINE(columns, good, expected)                                                       \
    do {                                                                                          \
        Flow flow_ = copy_json(columns, TEXT(good "\n"));                                         \
        CHECK_TEXT(flow_get(&flow_, "out.jsonl"), expected "\n");                                 \
        CHECK_TEXT(flow_get(&flow_, "rejects.jsonl"), "");                                        \
        flow_end(&flow_);                                                                         \
    } while (0)

// `bad` must be rejected with the code and the message.
#define CHECK_BAD(columns, bad, code, message)                                                     \
    do {                                                                                           \
        Flow flow_ = copy_json(columns, TEXT(bad "\n"));                                           \
        Text rejects_ = flow_get(&flow_, "rejects.jsonl");                                         \
        CHECK_TEXT(flow_get(&flow_, "out.jsonl"), "");                                             \
        CHECK_SAYS(                                                                                \
            text_has(rejects_, "\"code\":\"" code "\",\"message\":\"" message "\",\"raw\""),       \
            "\n%.*s", TEXT_ARG(rejects_));                                                         \
        flow_end(&flow_);                                                                          \
    } while (0)

#define NO_OBJECT "the line is no JSON object"

static void grammar_is_strict(void) {
    CHECK_LINE("a: i64", " {\"a\" : 1 } \t", "{\"a\":1}");
    CHECK_LINE("a: i64", "{\"a\":1,\"x\":[{},[],-0.5e+3,true,null,\"\\u00e4\\n\"]}", "{\"a\":1}");
    CHECK_BAD("a: i64", "{\"a\":1} x", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1,}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":01}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1.}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":+1}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1,\"b\":[1,]}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1,\"b\":\"\t\"}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1,\"b\":\"\\x\"}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1,\"b\":NaN}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "[{\"a\":1}]", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1]", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{a:1}", "SB7016", NO_OBJECT);
    CHECK_BAD("a: i64", "{\"a\":1,\"b\":\"\xff\"}", "SB7010", "the text is not valid UTF-8");
}

static void nothing_is_coerced(void) {
    CHECK_BAD("a: i64", "{\"a\":1.0}", "SB7017", "column 'a': '1.0' is no JSON value of this type");
    CHECK_BAD("a: i64", "{\"a\":1e2}", "SB7017", "column 'a': '1e2' is no JSON value of this type");
    CHECK_BAD("a: i64", "{\"a\":\"1\"}", "SB7017",
              "column 'a': '\\\"1\\\"' is no JSON value of this type");
    CHECK_BAD("a: str", "{\"a\":1}", "SB7017", "column 'a': '1' is no JSON value of this type");
    CHECK_BAD("a: bool", "{\"a\":1}", "SB7017", "column 'a': '1' is no JSON value of this type");
    CHECK_BAD("a: i8", "{\"a\":128}", "SB7009", "column 'a': '128' does not fit the type");
    CHECK_LINE("a: f64", "{\"a\":1}", "{\"a\":1.0}");
}

static void not_finite_floats_are_strings(void) {
    CHECK_LINE("a: f64, b: f64", "{\"a\":\"nan\",\"b\":\"-Infinity\"}",
               "{\"a\":\"nan\",\"b\":\"-inf\"}");
    CHECK_BAD("a: f64", "{\"a\":\"1.5\"}", "SB7017",
              "column 'a': '\\\"1.5\\\"' is no JSON value of this type");
    CHECK_BAD("a: f64", "{\"a\":1e400}", "SB7009", "column 'a': '1e400' does not fit the type");
}

static void decimals_are_read_exactly(void) {
    CHECK_LINE("a: decimal", "{\"a\":12.5}", "{\"a\":12.50}");
    CHECK_LINE("a: decimal", "{\"a\":-1250e-3}", "{\"a\":-1.25}");
    CHECK_LINE("a: decimal", "{\"a\":1.2e3}", "{\"a\":1200.00}");
    CHECK_LINE("a: decimal", "{\"a\":0e999999999999}", "{\"a\":0.00}");
    CHECK_BAD("a: decimal", "{\"a\":1.005}", "SB7004",
              "column 'a': '1.005' is no decimal of this precision and scale");
    CHECK_BAD("a: decimal", "{\"a\":1e999999999}", "SB7004",
              "column 'a': '1e999999999' is no decimal of this precision and scale");
    CHECK_BAD("a: decimal", "{\"a\":1e-999999999}", "SB7004",
              "column 'a': '1e-999999999' is no decimal of this precision and scale");
}

static void a_missing_key_is_null_where_that_may_be(void) {
    CHECK_LINE("a: i64?, b: str?", "{\"b\":null}", "{\"a\":null,\"b\":null}");
    CHECK_BAD("a: i64", "{}", "SB7011", "column 'a': the value is missing");
    CHECK_BAD("a: i64", "{\"a\":null}", "SB7011", "column 'a': the value is missing");
}

static void keys_are_compared_unescaped(void) {
    CHECK_LINE("a: i64", "{\"\\u0061\":7}", "{\"a\":7}");
    CHECK_BAD("a: i64", "{\"\\u0061\":7,\"a\":7}", "SB7018",
              "column 'a': the key stands twice in the object");
    CHECK_LINE("a: i64", "{\"a\":7,\"x\":1,\"x\":2}", "{\"a\":7}");
}

static void surrogates_come_in_pairs(void) {
    CHECK_LINE("a: str", "{\"a\":\"\\ud83d\\ude00\\u00e4\"}",
               "{\"a\":\"\xf0\x9f\x98\x80\xc3\xa4\"}");
    CHECK_BAD("a: str", "{\"a\":\"\\ud83dx\"}", "SB7019",
              "column 'a': a \\\\u escape is half of a surrogate pair");
    CHECK_BAD("a: str", "{\"a\":\"\\udc00\"}", "SB7019",
              "column 'a': a \\\\u escape is half of a surrogate pair");
    CHECK_LINE("a: i64", "{\"a\":1,\"b\":\"\\ud83d\"}", "{\"a\":1}");
}

static void strings_escape_what_they_must(void) {
    CHECK_LINE("a: str", "{\"a\":\"\\u0000\\u001f\\/\\\"\\\\\\b\\f\\n\\r\\t\\u007f\"}",
               "{\"a\":\"\\u0000\\u001f/\\\"\\\\\\b\\f\\n\\r\\t\x7f\"}");
}

static void lists_and_json_keep_their_values(void) {
    CHECK_LINE("a: [i64], b: json", "{\"a\":[ 1, 2 ],\"b\":{\"x\" : [1.50, \"a b\"]}}",
               "{\"a\":[1,2],\"b\":{\"x\":[1.50,\"a b\"]}}");
    CHECK_BAD("a: [i64]", "{\"a\":[1,null]}", "SB7011", "column 'a': the value is missing");
    CHECK_BAD("a: [i64]", "{\"a\":[1,\"2\"]}", "SB7017",
              "column 'a': '\\\"2\\\"' is no JSON value of this type");
}

static void what_is_skipped_may_be_nested_to_any_depth(void) {
    enum { DEPTH = 200000 };
    Flow flow = flow_new();
    TextBuf buf = {0};
    text_buf_add(&buf, TEXT("{\"a\":1,\"b\":"));
    for (int i = 0; i < DEPTH; i++) text_buf_char(&buf, '[');
    for (int i = 0; i < DEPTH; i++) text_buf_char(&buf, ']');
    text_buf_add(&buf, TEXT("}\n"));
    flow_put(&flow, "in.jsonl", text_buf_view(&buf));
    flow_read(&flow, FORMAT_JSONL, "in.jsonl", "a: i64");
    flow_write(&flow, FORMAT_JSONL, "out.jsonl");
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.jsonl"), "{\"a\":1}\n");
    text_buf_free(&buf);
    flow_end(&flow);
    CHECK_LINE("a: i64?", "{}", "{\"a\":null}");
}

static const UnitTest tests[] = {
    {"grammar_is_strict", grammar_is_strict},
    {"nothing_is_coerced", nothing_is_coerced},
    {"not_finite_floats_are_strings", not_finite_floats_are_strings},
    {"decimals_are_read_exactly", decimals_are_read_exactly},
    {"a_missing_key_is_null_where_that_may_be", a_missing_key_is_null_where_that_may_be},
    {"keys_are_compared_unescaped", keys_are_compared_unescaped},
    {"surrogates_come_in_pairs", surrogates_come_in_pairs},
    {"strings_escape_what_they_must", strings_escape_what_they_must},
    {"lists_and_json_keep_their_values", lists_and_json_keep_their_values},
    {"what_is_skipped_may_be_nested_to_any_depth", what_is_skipped_may_be_nested_to_any_depth},
};

UNIT_MAIN("reference_json", tests)
