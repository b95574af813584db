#include "tests/unit/reference_graph.h"

// Reads `text` as CSV with a header, writes out.csv and rejects.jsonl.
static Flow copy_csv(const char *columns, Text text) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", text);
    flow_read(&flow, FORMAT_CSV, "in.csv", columns);
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    return flow;
}

#define CHECK_COPY(columns, text, expected)                                                        \
    do {                                                                                           \
        Flow flow_ = copy_csv(columns, TEXT(text));                                                \
        CHECK_TEXT(flow_get(&flow_, "out.csv"), expected);                                         \
        CHECK(flow_.exit_code == 0);                                                               \
        flow_end(&flow_);                                                                          \
    } while (0)

// The only reject has the code and, as offset and length, the bytes that `raw` says.
#define CHECK_REJECT(columns, text, expected, code, raw_json)                                      \
    do {                                                                                           \
        Flow flow_ = copy_csv(columns, TEXT(text));                                                \
        Text rejects_ = flow_get(&flow_, "rejects.jsonl");                                         \
        CHECK_TEXT(flow_get(&flow_, "out.csv"), expected);                                         \
        CHECK_SAYS(text_has(rejects_, "\"code\":\"" code "\"") &&                                 \
                       text_has(rejects_, "\"raw\":" raw_json "}\n"),                             \
                   "\n%.*s", TEXT_ARG(rejects_));                                                  \
        CHECK_SAYS(strchr(rejects_.at, '\n') == rejects_.at + rejects_.len - 1, "\n%.*s",         \
                   TEXT_ARG(rejects_));                                                           \
        flow_end(&flow_);                                                                          \
    } while (0)

static void quotes_hold_anything(void) {
    CHECK_COPY("a: str, b: str", "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\n",
               "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"two\nlines\",\n");
}

static void a_quote_inside_a_bare_field_is_a_character(void) {
    CHECK_COPY("a: str, b: str", "a,b\n5\" disk, \"x\"\n", "a,b\n\"5\"\" disk\",\" \"\"x\"\"\"\n");
}

static void text_behind_a_closing_quote_rejects_to_the_line_end(void) {
    CHECK_REJECT("a: str, b: i64", "a,b\n\"x\"y,\"1\n2\",3\n", "a,b\n\"2\"\"\",3\n", "SB7013",
                 "\"\\\"x\\\"y,\\\"1\"");
}

static void an_open_quote_rejects_to_the_end_and_weighs_its_lines(void) {
    Flow flow = copy_csv("a: str, b: i64", TEXT("a,b\nx,1\n\"y,2\nz,3\nw,4"));
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a,b\nx,1\n");
    CHECK_TEXT(
        flow_get(&flow, "rejects.jsonl"),
        text_format(flow.arena,
                    "{\"step\":\"read\",\"source\":\"%s\",\"line\":3,\"offset\":8,\"length\":12,"
                    "\"code\":\"SB7014\",\"message\":\"a quote is never closed\","
                    "\"raw\":\"\\\"y,2\\nz,3\\nw,4\"}\n",
                    flow_path(&flow, "in.csv"))
            .at);
    flow_end(&flow);
    // Three lines pass a limit of two, and not one of three.
    const char *limits[] = {"--reject-limit=2", "--reject-limit=3"};
    for (int i = 0; i < 2; i++) {
        flow = flow_new();
        flow_put(&flow, "in.csv", TEXT("a,b\nx,1\n\"y,2\nz,3\nw,4"));
        flow_read(&flow, FORMAT_CSV, "in.csv", "a: str, b: i64");
        flow_write(&flow, FORMAT_CSV, "out.csv");
        flow.args[flow.arg_count++] = limits[i];
        flow_run(&flow);
        CHECK(flow.exit_code == (i ? 0 : 1));
        CHECK(!flow_get(&flow, "out.csv").at == (i == 0));
        flow_end(&flow);
    }
}

static void the_number_of_fields_must_fit(void) {
    CHECK_REJECT("a: str, b: str", "a,b\nx\n1,2\n", "a,b\n1,2\n", "SB7012", "\"x\"");
    CHECK_REJECT("a: str, b: str", "a,b\n1,2,\n1,2\n", "a,b\n1,2\n", "SB7012", "\"1,2,\"");
}

static void bad_utf8_rejects_the_row_even_in_columns_nobody_reads(void) {
    CHECK_REJECT("a: str", "a,b\nx,\xff\xe2\x82y\nz,1\n", "a\nz\n", "SB7010",
                 "\"x,\xef\xbf\xbd\xef\xbf\xbdy\"");
    CHECK_REJECT("a: str", "a,b\nx,\xed\xa0\x80\n", "a\n", "SB7010",
                 "\"x,\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void line_ends_are_judged_line_by_line(void) {
    CHECK_COPY("a: str, b: i64", "a,b\r\nx,1\r\ny,2\nz\rz,3\r\n", "a,b\nx,1\ny,2\n\"z\rz\",3\n");
    CHECK_COPY("a: str, b: str", "a,b\nx,\"q\"\r\ny,q", "a,b\nx,q\ny,q\n");
    CHECK_REJECT("a: str, b: str", "a,b\nx,\"q\"\r", "a,b\n", "SB7013", "\"x,\\\"q\\\"\\r\"");
}

static void blank_lines_are_rows_only_of_one_column(void) {
    CHECK_COPY("a: str, b: str", "\n\r\na,b\n\nx,1\n\r\n", "a,b\nx,1\n");
    CHECK_COPY("a: str", "a\n\nx\n\n", "a\n\nx\n\n");
    CHECK_REJECT("a: i64", "a\n\n7\n", "a\n7\n", "SB7011", "\"\"");
}

static void a_byte_order_mark_is_dropped_and_counts_in_offsets(void) {
    CHECK_COPY("a: str", "\xef\xbb\xbf" "a,b\nx,y\n", "a\nx\n");
    Flow flow = copy_csv("a: i64", TEXT("\xef\xbb\xbf" "a\nx\n"));
    CHECK(text_has(flow_get(&flow, "rejects.jsonl"), "\"line\":2,\"offset\":5,\"length\":1,"));
    flow_end(&flow);
}

static void nul_is_a_character(void) {
    Flow flow = copy_csv("a: str, b: i64", TEXT("a,b\nx\0y,1\n"));
    Text out = flow_get(&flow, "out.csv");
    CHECK(text_eq(out, TEXT("a,b\nx\0y,1\n")));
    flow_end(&flow);
}

static void nulls_are_unquoted_and_never_a_str(void) {
    CHECK_COPY("a: str?, b: i64?, c: str", "a,b,c\n,,\n\"\",7,\"\"\nx, ,y\n",
               "a,b,c\n,,\n\"\",7,\nx,,y\n");
    CHECK_REJECT("b: i64?", "b\n\"\"\n", "b\n", "SB7002", "\"\\\"\\\"\"");
}

static void null_words_replace_the_rule_of_the_empty_field(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", TEXT("a,b,c\nNA,NA,NA\n-, - ,-\n,1,x\nq,,y\nr,\"NA\",z\n"));
    Op *op = flow_read(&flow, FORMAT_CSV, "in.csv", "a: str?, b: i64?, c: str");
    Text nulls[] = {TEXT("NA"), TEXT("-")};
    op->source.options.csv.nulls = nulls;
    op->source.options.csv.null_count = 2;
    op->source.options.csv.strict_nulls = true;
    flow_write(&flow, FORMAT_JSONL, "out.jsonl");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.jsonl"), "{\"a\":null,\"b\":null,\"c\":\"NA\"}\n"
               "{\"a\":null,\"b\":null,\"c\":\"-\"}\n{\"a\":\"\",\"b\":1,\"c\":\"x\"}\n");
    Text rejects = flow_get(&flow, "rejects.jsonl");
    CHECK(text_has(rejects, "column 'b': the value is missing\",\"raw\":\"q,,y\""));
    CHECK(text_has(rejects,
                   "column 'b': 'NA' is no integer of this type\",\"raw\":\"r,\\\"NA\\\",z\""));
    flow_end(&flow);
}

static void spaces_belong_to_strings_and_not_to_numbers(void) {
    CHECK_COPY("a: str, b: i64, c: f64", "a,b,c\n x , 7\t, 1.5 \n", "a,b,c\n x ,7,1.5\n");
    CHECK_REJECT("a: bool", "a\n true\n", "a\n", "SB7001", "\" true\"");
}

static void what_does_not_fit_rejects(void) {
    CHECK_REJECT("a: i8", "a\n128\n-128\n", "a\n-128\n", "SB7009", "\"128\"");
    CHECK_REJECT("a: u64", "a\n18446744073709551616\n18446744073709551615\n",
                 "a\n18446744073709551615\n", "SB7009", "\"18446744073709551616\"");
    CHECK_REJECT("a: i64", "a\n1.0\n+007\n", "a\n7\n", "SB7002", "\"1.0\"");
    CHECK_REJECT("a: f64", "a\n1e309\n1e-400\n", "a\n0.0\n", "SB7009", "\"1e309\"");
    CHECK_REJECT("a: decimal", "a\n1.005\n1.500\n", "a\n1.50\n", "SB7004", "\"1.005\"");
    CHECK_REJECT("a: decimal", "a\n10000\n-9999.99\n", "a\n-9999.99\n", "SB7004", "\"10000\"");
    CHECK_REJECT("a: date", "a\n2026-02-29\n2024-02-29\n", "a\n2024-02-29\n", "SB7005",
                 "\"2026-02-29\"");
    CHECK_REJECT("a: timestamp", "a\n2026-01-01T00:00:60Z\n2026-01-01 01:30:00.5+02:00\n",
                 "a\n2025-12-31T23:30:00.500Z\n", "SB7006", "\"2026-01-01T00:00:60Z\"");
    CHECK_REJECT("a: timestamp", "a\n2026-01-01T00:00:00.1234567Z\n2026-01-01T00:00:00.1234560Z\n",
                 "a\n2026-01-01T00:00:00.123456Z\n", "SB7008", "\"2026-01-01T00:00:00.1234567Z\"");
}

static void columns_go_by_name_and_files_are_refused(void) {
    CHECK_COPY("b: str, a: str", "x,a,y,b\n1,2,3,4\n", "b,a\n4,2\n");
    Flow flow = copy_csv("a: str", TEXT("b,a,a\n1,2,3\n"));
    CHECK(flow.exit_code == 1 && text_has(flow.said, "has two columns 'a'") &&
          !flow_get(&flow, "out.csv").at);
    flow_end(&flow);
    flow = copy_csv("c: str", TEXT("a,b\n1,2\n"));
    CHECK(flow.exit_code == 1 && text_has(flow.said, "has no column 'c'"));
    flow_end(&flow);
    flow = copy_csv("c: str", TEXT(""));
    CHECK(flow.exit_code == 1 && text_has(flow.said, "is empty: it has no header"));
    flow_end(&flow);
}

static void comments_and_other_dialects(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", TEXT("# \"one\nx;'a;b';1,5\n#x;y;z\ny;''';';2,0\n"));
    Op *op = flow_read(&flow, FORMAT_CSV, "in.csv", "k: str, v: str, n: f64");
    op->source.options.csv =
        (CsvOptions){.delimiter = ';', .quote = '\'', .comment = TEXT("#"), .decimal = ','};
    op = flow_write(&flow, FORMAT_CSV, "out.csv");
    op->sink.options.csv = (CsvOptions){.delimiter = '\t', .quote = 0, .decimal = ','};
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "x\ta;b\t1,5\ny\t';\t2,0\n");
    CHECK_SAYS(flow.exit_code == 0, "%.*s", TEXT_ARG(flow.said));
    flow_end(&flow);
}

static void a_sink_without_quote_rejects_what_it_cannot_write(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", TEXT("a\nx\n\"y,z\"\n"));
    flow_read(&flow, FORMAT_CSV, "in.csv", "a: str");
    flow_write(&flow, FORMAT_CSV, "out.csv")->sink.options.csv.quote = 0;
    flow_keep_rejects(&flow);
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a\nx\n");
    CHECK(text_has(flow_get(&flow, "rejects.jsonl"),
                   "\"SB7031\",\"message\":\"'y,z' cannot be written"));
    flow_end(&flow);
}

static void rows_over_row_max_reject_everywhere(void) {
    Flow flow = flow_new();
    flow_put(&flow, "in.csv", TEXT("a\n12345678\n123\n\"1\n345678\"x\n"));
    flow_read(&flow, FORMAT_CSV, "in.csv", "a: str")->source.options.row_max =
        graph_const_i64(flow.graph, 7);
    flow_write(&flow, FORMAT_CSV, "out.csv");
    flow_keep_rejects(&flow);
    flow_run(&flow);
    CHECK_TEXT(flow_get(&flow, "out.csv"), "a\n123\n");
    CHECK(text_has(flow.said, "step   in  made  on  filtered  rejected  merged\n"
                              "read    0     3   1         0         2       0\n"
                              "write   1     0   1         0         0       0\n\nsource  "));
    CHECK(text_has(flow.said, "/in.csv     3     27\n\nsink  "));
    CHECK(text_has(flow.said, "/out.csv           1      6\n"));
    CHECK(!text_has(flow_get(&flow, "rejects.jsonl"), "SB7013"));
    flow_end(&flow);
}

static const UnitTest tests[] = {
    {"quotes_hold_anything", quotes_hold_anything},
    {"a_quote_inside_a_bare_field_is_a_character", a_quote_inside_a_bare_field_is_a_character},
    {"text_behind_a_closing_quote_rejects_to_the_line_end",
     text_behind_a_closing_quote_rejects_to_the_line_end},
    {"an_open_quote_rejects_to_the_end_and_weighs_its_lines",
     an_open_quote_rejects_to_the_end_and_weighs_its_lines},
    {"the_number_of_fields_must_fit", the_number_of_fields_must_fit},
    {"bad_utf8_rejects_the_row_even_in_columns_nobody_reads",
     bad_utf8_rejects_the_row_even_in_columns_nobody_reads},
    {"line_ends_are_judged_line_by_line", line_ends_are_judged_line_by_line},
    {"blank_lines_are_rows_only_of_one_column", blank_lines_are_rows_only_of_one_column},
    {"a_byte_order_mark_is_dropped_and_counts_in_offsets",
     a_byte_order_mark_is_dropped_and_counts_in_offsets},
    {"nul_is_a_character", nul_is_a_character},
    {"nulls_are_unquoted_and_never_a_str", nulls_are_unquoted_and_never_a_str},
    {"null_words_replace_the_rule_of_the_empty_field",
     null_words_replace_the_rule_of_the_empty_field},
    {"spaces_belong_to_strings_and_not_to_numbers", spaces_belong_to_strings_and_not_to_numbers},
    {"what_does_not_fit_rejects", what_does_not_fit_rejects},
    {"columns_go_by_name_and_files_are_refused", columns_go_by_name_and_files_are_refused},
    {"comments_and_other_dialects", comments_and_other_dialects},
    {"a_sink_without_quote_rejects_what_it_cannot_write",
     a_sink_without_quote_rejects_what_it_cannot_write},
    {"rows_over_row_max_reject_everywhere", rows_over_row_max_reject_everywhere},
};

UNIT_MAIN("reference_csv", tests)
