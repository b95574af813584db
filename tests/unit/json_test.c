#define _GNU_SOURCE  // memmem
// JSON: the grammar and the wanted keys against a recursive-descent reader, strings, nesting, and
// values of every type there and back.
#include "stdlib/json/json.h"
#include "stdlib/json/json_pass.h"
#include "stdlib/text/text_out.h"
#include "runtime/memory/scratch.h"
#include "tests/unit/json_oracle.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>

// A text with the readable bytes behind it that the ABI asks for.
#define SLACK "                                                                "
#define STR(text) ((SbStr){text SLACK, sizeof(text) - 1})

static SbCall call;
static const char *const key_names[] = {"a", "bb", "longer_than_eight", "longer_than_nine", ""};

static SbJsonShape make_shape(SbJsonKey *keys) {
    SbJsonShape shape = {.keys = keys, .count = 5};
    for (uint32_t i = 0; i < shape.count; i++) {
        SbStr name = {key_names[i], (int64_t)strlen(key_names[i])};
        keys[i] = (SbJsonKey){name, sb_json_head(name)};
        shape.lengths |= UINT64_C(1) << (name.len < 63 ? name.len : 63);
    }
    return shape;
}

static int32_t row(const char *text, const SbJsonShape *shape, SbJsonSlot *slots) {
    static char room[1024];
    memset(room, '}', sizeof room);
    memcpy(room, text, strlen(text));
    return sb_json_row(&call, room, (int64_t)strlen(text), shape, slots);
}

static void keys_are_found(void) {
    SbJsonKey keys[5];
    SbJsonSlot slots[5];
    SbJsonShape shape = make_shape(keys);
    CHECK(row(" { \"bb\" : [1, {\"a\": 2}] , \"x\": {}, \"\\u0061\": \"\\n\", \"\": 1.0} ", &shape,
              slots) == 0);
    CHECK(slots[1].kind == SB_JSON_ARRAY && slots[1].len == 13);
    CHECK(slots[0].kind == SB_JSON_STRING && slots[0].escapes && slots[0].len == 4);
    CHECK(slots[2].kind == SB_JSON_MISSING);
    CHECK(slots[4].kind == SB_JSON_NUMBER && !slots[4].whole);
    CHECK(row("{\"a\":1,\"a\":2}", &shape, slots) == SB_OK && slots[0].twice && slots[0].whole);
    CHECK(row("{\"longer_than_eighx\":1,\"longer_than_nine\":2}", &shape, slots) == SB_OK);
    CHECK(slots[2].kind == SB_JSON_MISSING && slots[3].kind == SB_JSON_NUMBER);
    CHECK(row("{\"\\ud800\":1,\"a\":null}", &shape, slots) == SB_OK &&
          slots[0].kind == SB_JSON_NULL);
}

static void bad_lines_are_refused(void) {
    static const char *bad[] = {
        "",
        "1",
        "[]",
        "{",
        "{}x",
        "{} {}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":.5}",
        "{\"a\":+1}",
        "{\"a\":1e}",
        "{\"a\":-}",
        "{\"a\":tru}",
        "{\"a\":NaN}",
        "{\"a\":\"\x01\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"",
        "{\"a\":[1,]}",
        "{\"a\":[1 2]}",
        "{\"a\":[}",
        "{\"a\":[1}",
        "{\"a\":{]}",
        "{\"a\":'x'}",
        "{\"a\":1\"b\":2}",
        "{\"a\":\"\\\"}",
        "{\"a\":1]",
    };
    SbJsonKey keys[5];
    SbJsonSlot slots[5];
    SbJsonShape shape = make_shape(keys);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_SAYS(row(bad[i], &shape, slots) == SB_FAULT_BAD_JSON, "'%s'", bad[i]);
    }
}

static char *put_random(char *out, int depth) {
    static const char *scalars[] = {"1",
                                    "-0",
                                    "12.5e-3",
                                    "true",
                                    "false",
                                    "null",
                                    "\"\"",
                                    "\"text\"",
                                    "\"a long string of more than 32 bytes, \\\"quoted\\\"\"",
                                    "\"\\u00e9\\\\\"",
                                    "0.1",
                                    "1E+5",
                                    "123456789012345678901234567890"};
    uint32_t kind = depth > 4 ? 0 : random_below(4);
    if (random_below(8) == 0) *out++ = "            \t\r\n"[random_below(15)];
    if (kind >= 2) {
        *out++ = kind == 2 ? '[' : '{';
        for (uint32_t i = random_below(5), n = 0; n < i; n++) {
            if (n) *out++ = ',';
            if (kind == 3) out += sprintf(out, "\"%s\":", key_names[random_below(5)]);
            out = put_random(out, depth + 1);
        }
        *out++ = kind == 2 ? ']' : '}';
    } else {
        const char *scalar = scalars[random_below(13)];
        out = memcpy(out, scalar, strlen(scalar)), out += strlen(scalar);
    }
    if (random_below(8) == 0) *out++ = ' ';
    return out;
}

static void random_lines_agree(void) {
    static char text[1 << 20];
    SbJsonKey keys[5];
    SbJsonSlot slots[5];
    SbJsonShape shape = make_shape(keys);
    int good = 0;
    for (int round = 0; round < 100000 && !unit_failures; round++) {
        uint64_t seed = random_state;
        char *end = text;
        *end++ = '{';
        for (uint32_t i = random_below(7), n = 0; n < i; n++) {
            if (n) *end++ = ',';
            end += sprintf(end, "\"%s\":", key_names[random_below(5)]);
            end = put_random(end, 0);
        }
        *end++ = '}';
        for (uint32_t bad = random_below(3); bad > 0; bad--) {
            text[random_below((uint32_t)(end - text))] = "{}[],:\"\\ue1.- \n\x1f"
                                                         "a"[random_below(17)];
        }
        if (random_below(6) == 0) end = text + random_below((uint32_t)(end - text) + 1);
        for (int i = 0; i < SB_SLACK; i++) end[i] = "}\"]0"[random_below(4)];
        int32_t status = sb_json_row(&call, text, end - text, &shape, slots);
        bool object = oracle_is_object(text, end);
        CHECK_SAYS((status == SB_OK) == object, "state %llx: %.*s", (unsigned long long)seed,
                   (int)(end - text), text);
        bool escaped = memmem(text, (size_t)(end - text), "\\u00", 4);
        if (object && !escaped) {
            CHECK_SAYS(oracle_slots_agree(text, end, &shape, slots), "state %llx: %.*s",
                       (unsigned long long)seed, (int)(end - text), text);
            good++;
        }
        sb_scratch_rewind(&call);
    }
    CHECK(good > 10000);
}

// A string of up to a hundred pieces, mostly escapes of one letter, so that runs of backslashes lie
// across the blocks in which they are found. Once in eight an escape of any kind is among them.
static char *put_escapes(char *out) {
    static const char *const pieces[] = {"\\\\", "\\\"", "\\n", "\\/\\b\\f\\r\\t", "text",
                                         "\\u00E9", "\\ud83d\\ude00", "\\udc00", "\\x", "\\u1/23"};
    const uint32_t kinds = random_below(8) ? 5 : 10, one = random_below(kinds);
    const bool same = random_below(3) == 0;
    *out++ = '"';
    for (uint32_t n = random_below(100); n > 0; n--) {
        const char *piece = pieces[same ? one : random_below(kinds)];
        out = stpcpy(out, piece);
    }
    *out++ = '"';
    return out;
}

// `first` with some of its scalar values replaced and, once in four, a wrong byte.
static int64_t vary(const char *first, int64_t len, char *out) {
    static const char *scalars[] = {"1", "-2.50", "true", "\"\"", "\"a,}\"", "[1,\"b\"]",
                                    "\"thirty and more characters without an escape\"", "\"\\n\"",
                                    "\"\\\"q\\\"\\\\\"", "\"\\u00e9 \\ud83d\\ude00\"",
                                    "[\"\\/\",\"\\\\\"]", "1e5", "01", "7.", "-", "{\"a\":1}",
                                    "[1,[2]]", "\"open", "\"\\ud800\"", "\"\\q\"", "\"\\u12g4\"",
                                    "{\"a\":\"\\ud800\"}", "{\"a\":\"\\t\"}",
                                    "[1, \"b\", 2.5]", "[\"\\n\", \"\\\"\"]", "[1 , 2]", "[1,  2]"};
    char *start = out;
    for (int64_t i = 0; i < len; i++) {
        *out++ = first[i];
        bool value = first[i] == ':' && (first[i + 1] == '"' || first[i + 1] == '1');
        if (!value || random_below(2)) continue;
        int64_t end = i + 1;
        while (end < len && first[end] != ',' && first[end] != '}') end++;
        const char *scalar = scalars[random_below(random_below(4) ? 11 : 27)];
        out = random_below(4) ? stpcpy(out, scalar) : put_escapes(out);
        i = end - 1;
    }
    int64_t made = out - start;
    bool spoil = random_below(4) == 0;
    if (spoil) start[random_below((uint32_t)made)] = "{}[],:\"\\e1. "[random_below(12)];
    for (int i = 0; i < SB_SLACK; i++) *out++ = "}\"]0"[random_below(4)];
    return made;
}

// Is the slot that a form filled the one of sb_json_row? Members are compared with those of the
// object read by itself. Counts objects whose members have slots.
static bool same_slot(const SbJsonSlot *slot, const SbJsonSlot *like, const SbJsonShape *members,
                      const SbJsonSlot *like_members, int *whole) {
    SbJsonSlot plain = *like;
    if (like->kind == SB_JSON_OBJECT || like->kind == SB_JSON_STRING) plain.whole = 0;
    if (memcmp(slot, &plain, offsetof(SbJsonSlot, twice) + 1)) return false;
    if (like->kind == SB_JSON_STRING && like->whole) return slot->escapes && !sb_json_check(slot);
    if (like->kind != SB_JSON_OBJECT || !like->whole) return true;
    SbJsonSlot inner[5];
    ++*whole;
    if (sb_json_check(slot) || sb_json_row(&call, slot->ptr, slot->len, members, inner))
        return false;
    for (uint32_t i = 0; i < members->count; i++)
        if (inner[i].twice ||
            !same_slot(&inner[i], &like_members[i], members, &like_members[i], whole))
            return false;
    return true;
}

// An object of some keys in any order, as one program writes it.
static int64_t make_line(char *out) {
    char *end = out;
    for (uint32_t i = 1 + random_below(7), n = 0; n < i; n++) {
        end += sprintf(end, "%c\"%s\":", n ? ',' : '{', key_names[random_below(5)]);
        end = put_random(end, 3);
    }
    *end++ = '}';
    memset(end, ' ', SB_SLACK);
    return end - out;
}

// Lines of one form up to more forms than are kept, in turn, at random, or in one block after the
// other: they are read as each is alone.
static void lines_of_some_forms_agree(void) {
    enum { LINES = 40, KINDS = SB_JSON_FORMS + 4 };
    static char firsts[KINDS][1 << 16], lines[LINES][1 << 18];
    int64_t lens[KINDS];
    SbJsonKey keys[5], inner_keys[5];
    SbJsonSlot slots[5], like[10];
    SbJsonShape shape = make_shape(keys), members = make_shape(inner_keys);
    static SbJsonForms forms;
    int hits = 0, bad = 0, whole = 0, switches = 0;
    members.first = 5;
    for (int round = 0; round < 8000 && !unit_failures; round++) {
        uint64_t seed = random_state;
        const uint32_t object = random_below(5), order = random_below(3);
        for (uint32_t k = 0; k < 5; k++) keys[k].members = k == object ? &members : nullptr;
        sb_json_forms_open(&forms, &shape, like);
        const uint32_t kinds = random_below(3) ? 1 + random_below(4) : 1 + random_below(KINDS);
        for (uint32_t k = 0; k < kinds; k++) lens[k] = make_line(firsts[k]);
        for (uint32_t i = 0, before = 0; i < LINES; i++) {
            const uint32_t kind = order == 0 ? i % kinds : order == 1 ? random_below(kinds)
                                                                      : i * kinds / LINES;
            int64_t len = vary(firsts[kind], lens[kind], lines[i]);
            int32_t status = sb_json_row(&call, lines[i], len, &shape, slots);
            bool same = sb_json_row_like(&call, lines[i], len, &forms) == status;
            for (uint32_t k = 0; status == SB_OK && k < shape.count; k++)
                same &= same_slot(&slots[k], &like[k], keys[k].members, &like[5], &whole);
            CHECK_SAYS(same, "state %llx: %.*s", (unsigned long long)seed, (int)len, lines[i]);
            hits += !forms.strangers;
            switches += !forms.strangers && kind != before;
            bad += status != SB_OK;
            before = kind;
        }
        sb_scratch_rewind(&call);
    }
    CHECK_SAYS(hits > 40000 && bad > 5000 && whole > 1000 && switches > 10000, "%d, %d, %d, %d",
               hits, bad, whole, switches);
}

// Backslashes in keys stand between values: they are no value's, and may be half a surrogate pair.
static void keys_with_escapes_agree(void) {
    enum { LINES = 3000 };
    static const char *const firsts[] = {
        "{\"\\u0061\":1,\"bb\":{\"\\\"\":\"x\",\"a\":\"y\"},\"longer_than_eight\":\"z\"}",
        "{\"\\\\\":\"\",\"a\":1,\"bb\":{\"\\ud800\":1,\"bb\":\"x\"}}",
    };
    static char lines[LINES][8192];
    SbJsonKey keys[5], inner_keys[5];
    SbJsonSlot slots[5], like[10];
    SbJsonShape shape = make_shape(keys), members = make_shape(inner_keys);
    static SbJsonForms forms;
    int hits = 0, whole = 0;
    members.first = 5;
    keys[1].members = &members;
    for (size_t kind = 0; kind < 2; kind++) {
        sb_json_forms_open(&forms, &shape, like);
        for (int i = 0; i < LINES; i++) {
            int64_t len = vary(firsts[kind], (int64_t)strlen(firsts[kind]), lines[i]);
            int32_t status = sb_json_row(&call, lines[i], len, &shape, slots);
            bool same = sb_json_row_like(&call, lines[i], len, &forms) == status;
            for (uint32_t k = 0; status == SB_OK && k < shape.count; k++)
                same &= same_slot(&slots[k], &like[k], keys[k].members, &like[5], &whole);
            CHECK_SAYS(same, "%.*s", (int)len, lines[i]);
            hits += !forms.strangers;
        }
    }
    CHECK_SAYS(hits > LINES / 2, "%d", hits);
    sb_scratch_rewind(&call);
}

// Ten kinds of lines, of which eight are kept: those that come most are read by their forms.
static void common_forms_stay(void) {
    enum { LINES = 4000, RARE = 10 };
    static char lines[LINES][64 + SB_SLACK];
    SbJsonKey keys[5];
    SbJsonSlot like[5];
    SbJsonShape shape = make_shape(keys);
    static SbJsonForms forms;
    int hits = 0;
    sb_json_forms_open(&forms, &shape, like);
    for (int i = 0; i < LINES; i++) {
        const int kind = i % RARE == 0 ? i : i % 3;  // One line in ten is like no other.
        int len = snprintf(lines[i], 64, "{\"k%d\":\"%d\",\"m\":true}", kind, i);
        CHECK(sb_json_row_like(&call, lines[i], len, &forms) == SB_OK);
        hits += !forms.strangers;
    }
    CHECK_SAYS(hits > LINES * 8 / 10, "%d", hits);
}

static void nesting_has_no_limit(void) {
    enum { DEPTH = 3000000 };
    char *text = malloc(2 * DEPTH + 64 + SB_SLACK);
    SbJsonKey keys[5];
    SbJsonSlot slots[5];
    SbJsonShape shape = make_shape(keys);
    memcpy(text, "{\"x\":", 5);
    memset(text + 5, '[', DEPTH);
    memset(text + 5 + DEPTH, ']', DEPTH);
    text[5 + 2 * DEPTH] = '}';
    CHECK(sb_json_row(&call, text, 2 * DEPTH + 6, &shape, slots) == SB_OK);
    text[5 + DEPTH + 100] = '}';
    CHECK(sb_json_row(&call, text, 2 * DEPTH + 6, &shape, slots) == SB_FAULT_BAD_JSON);
    SbJsonSlot slot;
    for (int depth = 511; depth <= 514; depth++) {
        CHECK(sb_json_slot(&call, text + 5 + DEPTH - depth, 99, &slot) == SB_FAULT_JSON_TYPE);
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        CHECK(sb_json_slot(&call, text, 2 * depth, &slot) == SB_OK);
        CHECK(sb_json_check(&slot) == (depth > 512 ? SB_FAULT_NESTED_TOO_DEEP : SB_OK));
    }
    free(text);
    sb_scratch_rewind(&call);
}

static int32_t unescape(const char *text, SbStr *out) {
    static char room[512];
    memset(room, 'x', sizeof room);
    memcpy(room, text, strlen(text));
    SbJsonSlot slot;
    int32_t status = sb_json_slot(&call, room, (int64_t)strlen(text), &slot);
    if (status == SB_OK) status = sb_json_check(&slot);
    return status ? status : sb_json_string(&call, &slot, out);
}

static void strings_are_unescaped(void) {
    SbStr out;
    CHECK(unescape("\"a\\u00e9\\n\\\"\\/\\ud83d\\ude00z\"", &out) == SB_OK);
    CHECK(out.len == 11 && memcmp(out.ptr, "a\xc3\xa9\n\"/\xf0\x9f\x98\x80z", 11) == 0);
    CHECK(unescape("\"\\u0000\"", &out) == SB_OK && out.len == 1 && out.ptr[0] == 0);
    CHECK(unescape("\"\\ud83d\"", &out) == SB_FAULT_LONE_SURROGATE);
    CHECK(unescape("\"\\ude00\\ud83d\"", &out) == SB_FAULT_LONE_SURROGATE);
    CHECK(unescape("\"\\ud83dx\"", &out) == SB_FAULT_LONE_SURROGATE);
    CHECK(unescape("[\"\\ud83d\\ud83d\\ude00\"]", &out) == SB_FAULT_LONE_SURROGATE);
    CHECK(unescape("12", &out) == SB_FAULT_JSON_TYPE);
}

static void strings_come_back(void) {
    char text[200 + SB_SLACK], room[6 * 200 + 2 + SB_SLACK];
    for (int round = 0; round < 20000 && !unit_failures; round++) {
        int64_t len = random_below(200);
        for (int64_t i = 0; i < len + SB_SLACK; i++)
            text[i] = (char)(random_below(6) ? 'a' : random_below(128));
        char *end = sb_json_put(room, text, len);
        SbJsonSlot slot;
        SbStr out;
        CHECK(end - room <= 6 * len + 2);
        CHECK(sb_json_slot(&call, room, end - room, &slot) == SB_OK);
        CHECK(sb_json_string(&call, &slot, &out) == SB_OK);
        CHECK(out.len == len && memcmp(out.ptr, text, (size_t)len) == 0);
        end = sb_base64_put(room, text, len);
        CHECK(end - room == sb_base64_size(len));
        CHECK(sb_base64_read(&call, (SbStr){room, end - room}, &out) == SB_OK);
        CHECK(out.len == len && memcmp(out.ptr, text, (size_t)len) == 0);
        sb_scratch_rewind(&call);
    }
    SbStr out;
    CHECK(sb_base64_read(&call, STR("QQ=="), &out) == SB_OK && out.len == 1 && out.ptr[0] == 'A');
    CHECK(sb_base64_read(&call, STR("QR=="), &out) == SB_FAULT_BAD_BASE64);
    CHECK(sb_base64_read(&call, STR("Q==="), &out) == SB_FAULT_BAD_BASE64);
    CHECK(sb_base64_read(&call, STR("QQ=A"), &out) == SB_FAULT_BAD_BASE64);
    CHECK(sb_base64_read(&call, STR("QQ==QQ=="), &out) == SB_FAULT_BAD_BASE64);
    CHECK(sb_base64_read(&call, STR("QQ"), &out) == SB_FAULT_BAD_BASE64);
}

// ---- values by type
// ------------------------------------------------------------------------------

static const SbType type_i8 = {.kind = SB_I8, .size = 1, .align = 1};
static const SbType type_i64 = {.kind = SB_I64, .size = 8, .align = 8};
static const SbType type_f64 = {.kind = SB_F64, .size = 8, .align = 8};
static const SbType type_str = {
    .kind = SB_STR, .nullable = 1, .size = 24, .align = 8, .valid_offset = 16};
static const SbType type_json = {.kind = SB_JSON, .size = 16, .align = 8};
static const SbType type_date = {.kind = SB_DATE, .size = 4, .align = 4};
static const SbType type_small = {
    .kind = SB_DECIMAL, .precision = 5, .scale = 2, .size = 8, .align = 8};
static const SbType type_large = {
    .kind = SB_DECIMAL, .precision = 38, .scale = 6, .size = 16, .align = 16};
static const SbType type_list = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &type_str};
static const SbField fields[] = {
    {STR("id"), &type_i64, 0},       {STR("x"), &type_f64, 8},     {STR("tags"), &type_list, 16},
    {STR("raw"), &type_json, 32},    {STR("day"), &type_date, 48}, {STR("cost"), &type_small, 56},
    {STR("total"), &type_large, 64},
};
static const SbType type_row = {
    .kind = SB_STRUCT, .size = 80, .align = 16, .fields = fields, .field_count = 7};

// Reads text as `type` and writes it again into `room`; the status.
static int32_t through(const SbType *type, const char *text, char *room) {
    alignas(16) char value[128];
    static char in[512];  // The fault's detail points into it.
    strcpy(in, text);
    SbJsonSlot slot;
    int32_t status = sb_json_slot(&call, in, (int64_t)strlen(text), &slot);
    if (status == SB_OK) status = sb_json_value(&call, (SbJsonAs){type}, &slot, value);
    if (status) return status;
    char *end = sb_json_put_value(room, type, value);
    CHECK(end - room <= sb_json_size_max(type, value));
    *end = 0;
    sb_scratch_rewind(&call);
    return SB_OK;
}

static void structs_go_there_and_back(void) {
    char room[2048];
    const char *text =
        "{\"id\":-7,\"x\":1.5,\"tags\":[\"a\\n\",null,\"\"],\"raw\":{\"k\":[1,\"a b\"]},"
        "\"day\":\"2026-11-21\",\"cost\":-0.50,\"total\":12345678901234567890.123456}";
    CHECK(through(&type_row, text, room) == SB_OK);
    CHECK_SAYS(strcmp(room, text) == 0, "%s", room);
    CHECK(through(&type_row,
                  " { \"other\" : [ {} ] , \"x\": \"-inf\", \"total\":1E3, \"cost\":0, "
                  "\"day\":\"1970-01-01\","
                  "\"raw\": [ 1 , \"a b\" ], \"tags\" : [ ] , \"\\u0069d\":0 }",
                  room) == SB_OK);
    CHECK_SAYS(
        strcmp(room,
               "{\"id\":0,\"x\":\"-inf\",\"tags\":[],\"raw\":[1,\"a b\"],\"day\":\"1970-01-01\","
               "\"cost\":0.00,\"total\":1000.000000}") == 0,
        "%s", room);
    CHECK(through(&type_row, "{\"id\":1}", room) == SB_FAULT_MISSING);
    CHECK(through(&type_row, "{\"id\":1,\"id\":1}", room) == SB_FAULT_DUPLICATE_KEY);
    CHECK(through(&type_list, "[\"a\",1]", room) == SB_FAULT_JSON_TYPE);
    CHECK(call.detail.len == 1 && call.detail.ptr[0] == '1');
}

static void scalars_are_strict(void) {
    struct {
        const SbType *type;
        const char *text;
        int32_t status;
        const char *out;
    } cases[] = {
        {&type_i64, "1.0", SB_FAULT_JSON_TYPE, ""},
        {&type_i64, "1e2", SB_FAULT_JSON_TYPE, ""},
        {&type_i64, "\"1\"", SB_FAULT_JSON_TYPE, ""},
        {&type_i8, "128", SB_FAULT_OUT_OF_RANGE, ""},
        {&type_i8, "-128", SB_OK, "-128"},
        {&type_i64, "null", SB_FAULT_MISSING, ""},
        {&type_f64, "3", SB_OK, "3.0"},
        {&type_f64, "\"nan\"", SB_OK, "\"nan\""},
        {&type_f64, "\"1.5\"", SB_FAULT_JSON_TYPE, ""},
        {&type_f64, "1e999", SB_FAULT_OUT_OF_RANGE, ""},
        {&type_f64, "true", SB_FAULT_JSON_TYPE, ""},
        {&type_str, "null", SB_OK, "null"},
        {&type_str, "\"\\t\"", SB_OK, "\"\\t\""},
        {&type_date, "\"2026-02-30\"", SB_FAULT_BAD_DATE, ""},
        {&type_small, "999.99", SB_OK, "999.99"},
        {&type_small, "1000", SB_FAULT_BAD_DECIMAL, ""},
        {&type_small, "1.2500", SB_OK, "1.25"},
        {&type_small, "1.255", SB_FAULT_BAD_DECIMAL, ""},
        {&type_small, "125E-2", SB_OK, "1.25"},
        {&type_small, "-0.0000125e5", SB_OK, "-1.25"},
        {&type_small, "0e999999999999", SB_OK, "0.00"},
        {&type_small, "1e999999999999", SB_FAULT_BAD_DECIMAL, ""},
        {&type_small, "1e-999999999999", SB_FAULT_BAD_DECIMAL, ""},
        {&type_small, "\"1\"", SB_FAULT_JSON_TYPE, ""},
        {&type_large, "99999999999999999999999999999999.999999", SB_OK,
         "99999999999999999999999999999999.999999"},
        {&type_large, "100000000000000000000000000000000", SB_FAULT_BAD_DECIMAL, ""},
        {&type_json, "null", SB_FAULT_MISSING, ""},
        {&type_json, "[ 1 , { } ]", SB_OK, "[1,{}]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char room[512] = "";
        int32_t status = through(cases[i].type, cases[i].text, room);
        CHECK_SAYS(status == cases[i].status && strcmp(room, cases[i].out) == 0, "%s: %d, %s",
                   cases[i].text, status, room);
    }
}

static void csv_fields_are_quoted_when_needed(void) {
    struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"a", "a"},
        {"a b", "a b"},
        {"a,b", "\"a,b\""},
        {"a\"b", "\"a\"\"b\""},
        {"\n", "\"\n\""},
        {"\r", "\"\r\""},
        {"\"", "\"\"\"\""},
        {"\xef\xbb\xbfx", "\"\xef\xbb\xbfx\""},
        {"a long field, longer than 32 bytes, with \"quotes\"",
         "\"a long field, longer than 32 bytes, with \"\"quotes\"\"\""},
        {"a long field that is longer than 32 bytes and plain",
         "a long field that is longer than 32 bytes and plain"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char in[256], out[512];
        memset(in, ',', sizeof in);  // What stands behind the text changes nothing.
        memcpy(in, cases[i].in, strlen(cases[i].in));
        int64_t len = (int64_t)strlen(cases[i].in);
        char *end = sb_csv_put(out, in, len, ',', '"');
        CHECK_SAYS(end - out == (int64_t)strlen(cases[i].out) &&
                       memcmp(out, cases[i].out, (size_t)(end - out)) == 0,
                   "%s: %.*s", cases[i].in, (int)(end - out), out);
        CHECK(sb_csv_must_quote(in, len, ',', '"') == (cases[i].out[0] == '"'));
    }
    CHECK(!sb_csv_must_quote("\"" SLACK, 1, ',', 0) && sb_csv_must_quote("," SLACK, 1, ',', 0));
}

// Wherever a text is cut, a walk over its values stops at the same places.
static void values_end_wherever_the_text_is_cut(void) {
    static const char texts[][96] = {
        "{\"a\":1}, {\"b\":[{},[\"]}\"]]} ]", " \n{\"\\\\\":\"\\\"}\"}{}[1,[2]]\"s}\\\\\" ,",
        "12 3,4]\"x\"true{\"k\" : null}\n{\"long enough for a block of bytes\": \"{[\\\"]}\"}",
    };
    static const int64_t wanted[] = {2, 4, 7};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        int64_t len = (int64_t)strlen(texts[t]), values = 0;
        for (int64_t begin = 0; begin < len;) {
            SbJsonPass whole = {0};
            int64_t end = sb_json_pass(&whole, texts[t], begin, len);
            CHECK(end > begin && (whole.done || end == len));
            for (int64_t cut = begin; cut <= end && whole.done; cut++) {
                SbJsonPass parts = {0};
                int64_t at = sb_json_pass(&parts, texts[t], begin, cut);
                CHECK(at == cut || (parts.done && at == end));
                at = sb_json_pass(&parts, texts[t], at, len);
                CHECK_SAYS(parts.done && at == end, "%s: %lld not %lld, cut at %lld", texts[t],
                           (long long)at, (long long)end, (long long)cut);
            }
            values += whole.done;
            begin = end;
        }
        CHECK_SAYS(values == wanted[t], "%s: %lld", texts[t], (long long)values);
    }
}

static const UnitTest tests[] = {
    {"keys_are_found", keys_are_found},
    {"bad_lines_are_refused", bad_lines_are_refused},
    {"random_lines_agree", random_lines_agree},
    {"lines_of_some_forms_agree", lines_of_some_forms_agree},
    {"keys_with_escapes_agree", keys_with_escapes_agree},
    {"common_forms_stay", common_forms_stay},
    {"nesting_has_no_limit", nesting_has_no_limit},
    {"strings_are_unescaped", strings_are_unescaped},
    {"strings_come_back", strings_come_back},
    {"structs_go_there_and_back", structs_go_there_and_back},
    {"scalars_are_strict", scalars_are_strict},
    {"values_end_wherever_the_text_is_cut", values_end_wherever_the_text_is_cut},
    {"csv_fields_are_quoted_when_needed", csv_fields_are_quoted_when_needed},
};

int main(int argc, char **argv) {
    if (sb_scratch_open(&call, 1 << 16)) return 2;
    return unit_main("json_test", tests, sizeof tests / sizeof *tests, argc, argv);
}
