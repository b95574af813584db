// Text functions: encodings, format, JSON access, choices and random numbers on hostile arguments.
#include "runtime/memory/scratch.h"
#include "stdlib/value/condition.h"
#include "stdlib/hash/minhash.h"
#include "stdlib/text/encode.h"
#include "stdlib/json/json_access.h"
#include "stdlib/text/resemble.h"
#include "stdlib/text/string.h"
#include "stdlib/text/url.h"
#include "stdlib/hash/random.h"
#include "tests/unit/texts.h"

#include <math.h>

static SbCall call;

#define MADE(expression, text) CHECK((expression) == SB_OK && is(out, text))

static void encodings(void) {
    SbStr out;
    MADE(sb_base64_encode(&call, str(""), &out), "");
    MADE(sb_base64_encode(&call, str("ab"), &out), "YWI=");
    MADE(sb_base64_decode(&call, str("YWI="), &out), "ab");
    CHECK(sb_base64_decode(&call, str("YW=I"), &out) == SB_FAULT_BAD_BASE64 &&
          is(call.detail, "YW=I"));
    MADE(sb_hex_encode(&call, str("\xff\x01"), &out), "ff01");
    MADE(sb_hex_decode(&call, str("fF61"), &out), "\xff\x61");
    CHECK(sb_hex_decode(&call, str("f"), &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_hex_decode(&call, str("fg"), &out) == SB_FAULT_BAD_ARGUMENT);
    MADE(sb_url_encode(&call, str("a+~ é"), &out), "a%2B~%20%C3%A9");
    MADE(sb_url_decode(&call, str("a%2b%C3%a9"), &out), "a+é");
    CHECK(sb_url_decode(&call, str("a%2"), &out) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_url_decode(&call, str("%ff"), &out) == SB_FAULT_BAD_UTF8);
}

static void likeness(void) {
    double alike = -1;
    SbStr out;
    SbList list;
    CHECK(sb_jaro_winkler(&call, str(""), str(""), &alike) == SB_OK && alike == 1);
    CHECK(sb_jaro_winkler(&call, str("é"), str(""), &alike) == SB_OK && alike == 0);
    CHECK(sb_jaro_winkler(&call, str("éa"), str("éa"), &alike) == SB_OK && alike == 1);
    MADE(sb_soundex(&call, str("Tymczak"), &out), "T522");
    MADE(sb_soundex(&call, str("Pfister"), &out), "P236");
    MADE(sb_soundex(&call, str("Honeyman"), &out), "H555");
    MADE(sb_soundex(&call, str("é1 -"), &out), "");
    MADE(sb_soundex(&call, str("éa"), &out), "A000");
    CHECK(sb_ngrams(&call, str("aé"), 3, &list) == SB_OK && list.len == 0);
    CHECK(sb_ngrams(&call, str("aéb"), INT64_MAX, &list) == SB_OK && list.len == 0);
    CHECK(sb_ngrams(&call, str("aéb"), 0, &list) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_ngrams(&call, str("aéb"), 2, &list) == SB_OK && list.len == 2 &&
          is(((const SbStr *)list.ptr)[1], "éb"));
    CHECK(sb_ngrams_of_words(&call, list, INT64_MIN, &list) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_ngrams_of_words(&call, list, INT64_MAX, &list) == SB_OK && list.len == 0);
    MADE(sb_translate(&call, str("aéa"), str("éa"), str("x"), &out), "x");
    MADE(sb_translate(&call, str("abc"), str(""), str("x"), &out), "abc");
    CHECK(sb_minhash(&call, (SbList){0}, 0, &list) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_minhash(&call, (SbList){0}, 4097, &list) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_minhash(&call, (SbList){0}, 2, &list) == SB_OK && list.len == 2 &&
          ((const uint64_t *)list.ptr)[1] == UINT64_MAX);
    CHECK(sb_minhash_similarity(list, (SbList){list.ptr, 1}, &alike) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_minhash_similarity((SbList){0}, (SbList){0}, &alike) == SB_FAULT_BAD_ARGUMENT);
    CHECK(sb_minhash_bands(&call, list, 3, &list) == SB_OK && list.len == 0);
}

static void urls(void) {
    SbStr out;
    int64_t port;
    CHECK(sb_url_host(str("http://"), &out) == SB_NULL);
    CHECK(sb_url_host(str("http://@:"), &out) == SB_NULL);
    MADE(sb_url_host(str("//[::1"), &out), "[");
    CHECK(sb_url_port(str("//a:65536"), &port) == SB_NULL);
    CHECK(sb_url_port(str("//a:65535"), &port) == SB_OK && port == 65535);
    CHECK(is(sb_url_path(str("")), ""));
    MADE(sb_url_param(&call, str("?a=%4"), str("a"), &out), "%4");
    CHECK(sb_url_param(&call, str("?a=%ff"), str("a"), &out) == SB_FAULT_BAD_UTF8);
    CHECK(sb_url_param(&call, str("?"), str(""), &out) == SB_NULL);
    MADE(sb_url_param(&call, str("?%61=1"), str("a"), &out), "1");
    MADE(sb_product_version(str("a/1 (b/2; c/3)"), str("C"), &out), "3");
    CHECK(sb_product_version(str("xa/1"), str("a"), &out) == SB_NULL);
    CHECK(sb_product_version(str("a/"), str("a"), &out) == SB_NULL);
}

static void formats(void) {
    static const struct { double x; const char *spec, *text;
    } floats[] = {
        {0.125, ".2", "0.12"},      {0.375, ".2", "0.38"},
        {-0.0, ".0", "-0"},         {1e22, ",.0", "10,000,000,000,000,000,000,000"},
        {NAN, "+08.2", "     nan"}, {-INFINITY, "6", "  -inf"},
        {2.5, "+.1e", "+2.5e+00"},  {1234.5, "012,.1", "000001,234.5"},
        {0.5, ".0%", "50%"},        {999.5, ",.0", "1,000"},
        {1.5, "", "1.500000"},      {-1.5, "7.1", "   -1.5"},
    };
    SbStr out;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        MADE(sb_format_f64(&call, floats[i].x, str(floats[i].spec), &out), floats[i].text);
    MADE(sb_format_i64(&call, INT64_MIN, str(","), &out), "-9,223,372,036,854,775,808");
    MADE(sb_format_i64(&call, -255, str("06x"), &out), "-000ff");
    MADE(sb_format_i64(&call, 100, str(",.1"), &out), "100.0");
    MADE(sb_format_i64(&call, 7, str("+3"), &out), " +7");
    CHECK(sb_format_f64(&call, -1.7976931348623157e308, str(".100"), &out) == SB_OK &&
          out.len == 411);
    static const char *const wrong[] = {"q", ".",  "1001", ".101", "x2", "99999999999999999999",
                                        " ", ".2x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_SAYS(sb_format_f64(&call, 1, str(wrong[i]), &out) == SB_FAULT_BAD_ARGUMENT, "%s",
                   wrong[i]);
}

static int64_t count_all(const char *json, const char *path) {
    SbList list;
    return sb_json_all(&call, str(json), str(path), &list) == SB_OK ? list.len : -1;
}

static void json_many(const char *text) {
    SbList list;
    CHECK(count_all(text, "") == 1 && count_all(text, "$") == 1 && count_all("null", "$") == 0);
    CHECK(count_all(text, "*") == 4 && count_all(text, "[*]") == 4);
    CHECK(count_all(text, "a.b[*]") == 5 && count_all(text, "a.*[*].*") == 1);
    CHECK(count_all(text, "a.b[*].x") == 0 && count_all(text, "e[*]") == 0);
    CHECK(count_all("[[1,[2]],[],[[3],[4,5]]]", "[*][*][*]") == 4);
    CHECK(count_all("[[1,[2]],[],[[3],[4,5]]]", "[*][-1][0]") == 2);
    CHECK(count_all(text, "a[*") == -1 && count_all(text, "[*]a") == -1);
    CHECK(sb_json_all_f64(&call, str(" { \"p\" : [ 1 , 2.5 ,null ] } "), str("p[*]"), &list) ==
              SB_OK && list.len == 2 && ((const double *)list.ptr)[1] == 2.5);
    CHECK(sb_json_all_i64(&call, str("[1,2.5]"), str("[*]"), &list) == SB_FAULT_JSON_TYPE);
    CHECK(is(call.detail, "2.5"));
    CHECK(sb_json_all_str(&call, str("[\"\\n\",\"b\"]"), str("[*]"), &list) == SB_OK &&
          is(((const SbStr *)list.ptr)[0], "\n") && is(((const SbStr *)list.ptr)[1], "b"));
    CHECK(sb_json_all_bool(&call, str("{\"x\":true,\"y\":false}"), str("*"), &list) == SB_OK &&
          list.len == 2 && ((const bool *)list.ptr)[0] && !((const bool *)list.ptr)[1]);
}

static void json_paths(void) {
    const char *text = "{\"a\":{\"b\":[1,2.5,\"x\\u00e9\\n\",true,null,{\"c "
                       "d\":\"]}\"}]},\"a\":7,\"\\u006b\":-3,\"e\":\"\"}";
    SbStr out;
    int64_t number = 0;
    double real;
    bool flag;
    SbList list;
    MADE(sb_json_get_str(&call, str(text), str("a.b[2]"), &out), "xé\n");
    MADE(sb_json_get_str(&call, str(text), str("a.b[-1].\"c d\""), &out), "]}");
    MADE(sb_json_get_str(&call, str(text), str("e"), &out), "");
    CHECK(sb_json_get_i64(&call, str(text), str("k"), &number) == SB_OK && number == -3);
    CHECK(sb_json_get_f64(&call, str(text), str("a.b[1]"), &real) == SB_OK && real == 2.5);
    CHECK(sb_json_get_bool(&call, str(text), str("a.b[3]"), &flag) == SB_OK && flag);
    CHECK(sb_json_get(&call, str(text), str("a.b[4]"), &out) == SB_NULL);
    CHECK(sb_json_get(&call, str(text), str("a.b[6]"), &out) == SB_NULL);
    CHECK(sb_json_get(&call, str(text), str("a.b[-7]"), &out) == SB_NULL);
    CHECK(sb_json_get(&call, str(text), str("e.x[0]"), &out) == SB_NULL);
    CHECK(sb_json_get_i64(&call, str(text), str("a.b[1]"), &number) == SB_FAULT_JSON_TYPE);
    CHECK(sb_json_get_i64(&call, str("99999999999999999999"), str(""), &number) ==
          SB_FAULT_OUT_OF_RANGE);
    CHECK(sb_json_get_str(&call, str(text), str("a"), &out) == SB_FAULT_JSON_TYPE &&
          call.detail.len > 9);
    CHECK(sb_json_get_bool(&call, str("\"t\""), str(""), &flag) == SB_FAULT_JSON_TYPE);
    static const char *const wrong[] = {".a",  "a.",   "a..b",  "a[",  "a[x]",
                                        "a[1", "[1]a", "a.[0]", "\"a", "[-]",
                                        "$..a", "$a.", "*",    "a[*]", "a.*"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_SAYS(sb_json_get(&call, str(text), str(wrong[i]), &out) == SB_FAULT_BAD_ARGUMENT,
                   "%s", wrong[i]);
    CHECK(sb_json_get_i64(&call, str(text), str("$.a.b[0]"), &number) == SB_OK && number == 1);
    CHECK(sb_json_get_i64(&call, str("[4]"), str("$[0]"), &number) == SB_OK && number == 4);
    CHECK(sb_json_get_i64(&call, str("{\"$\":5,\"*\":6}"), str("\"$\""), &number) == SB_OK &&
          number == 5);
    CHECK(sb_json_get_i64(&call, str("{\"$\":5,\"*\":6}"), str("$.\"*\""), &number) == SB_OK &&
          number == 6);
    json_many(text);
    CHECK(sb_json_len(&call, str("[ ]"), &number) == SB_OK && number == 0);
    CHECK(sb_json_len(&call, str(text), &number) == SB_OK && number == 4);
    CHECK(sb_json_len(&call, str("3"), &number) == SB_FAULT_JSON_TYPE);
    CHECK(sb_json_keys(&call, str(text), &list) == SB_OK && list.len == 4);
    CHECK(is(((const SbStr *)list.ptr)[2], "k"));
    CHECK(sb_json_keys(&call, str("[]"), &list) == SB_FAULT_JSON_TYPE);
    CHECK(sb_json_items(&call, str(" [1, {\"a\": [2]} ]"), &list) == SB_OK && list.len == 2);
    CHECK(is(((const SbStr *)list.ptr)[1], "{\"a\": [2]}"));
    MADE(sb_json_kind(&call, str(" null"), &out), "null");
    MADE(sb_json_kind(&call, str("-1"), &out), "number");
    MADE(sb_json_parse(&call, str(" { \"a\" : [ 1 ] } "), &out), "{\"a\":[1]}");
    CHECK(sb_json_parse(&call, str("{\"a\":}"), &out) == SB_FAULT_JSON_TYPE &&
          is(call.detail, "{\"a\":}"));
    CHECK(sb_json_parse(&call, str(""), &out) == SB_FAULT_JSON_TYPE);
    SbType text_type = {.kind = SB_STR, .size = 16, .align = 8};
    SbStr quoted = str("a\"\n");
    MADE(sb_json_of(&call, &text_type, &quoted, &out), "\"a\\\"\\n\"");
}

static void choices(void) {
    SbType f64 = {.kind = SB_F64, .size = 8, .align = 8};
    double a = 1, b = NAN, out = 0;
    CHECK(sb_greatest(&f64, &a, &b, &out) == SB_OK && isnan(out));
    CHECK(sb_least(&f64, &b, &a, &out) == SB_OK && out == 1);
    CHECK(sb_null_if(&f64, &b, &b, &out) == SB_NULL && sb_null_if(&f64, &a, &b, &out) == SB_OK &&
          out == 1);
}

// Frozen: a change of these numbers changes what users' pipelines give.
static void random_numbers_are_frozen(void) {
    double sum = 0;
    int64_t x = 0, counts[6] = {0};
    for (uint64_t i = 0; i < 60000; i++) {
        double u = sb_random(i, 1);
        CHECK(u >= 0 && u < 1);
        sum += u;
        CHECK(sb_random_int(i, 2, 1, 6, &x) == SB_OK && x >= 1 && x <= 6);
        counts[x - 1]++;
    }
    CHECK(fabs(sum / 60000 - 0.5) < 0.005);
    for (int i = 0; i < 6; i++) CHECK(counts[i] > 9600 && counts[i] < 10400);
    CHECK_SAYS(sb_random(0, 0) == 0x1.ff7622ac0ea00p-6 && sb_random(1, 7) == 0x1.02295480b8ff4p-3,
               "%a %a", sb_random(0, 0), sb_random(1, 7));
    CHECK(sb_random_int(5, 5, INT64_MIN, INT64_MAX, &x) == SB_OK);
    CHECK(sb_random_int(5, 5, 3, 3, &x) == SB_OK && x == 3);
    CHECK(sb_random_int(5, 5, 4, 3, &x) == SB_FAULT_BAD_ARGUMENT);
}

static const UnitTest tests[] = {
    {"encodings", encodings}, {"likeness", likeness}, {"urls", urls},
    {"formats", formats}, {"json_paths", json_paths},
    {"choices", choices}, {"random_numbers_are_frozen", random_numbers_are_frozen},
};

int main(int argc, char **argv) {
    if (sb_scratch_open(&call, 1 << 16)) return 2;
    int status = unit_main("text_functions", tests, sizeof tests / sizeof *tests, argc, argv);
    sb_scratch_close(&call);
    return status;
}
