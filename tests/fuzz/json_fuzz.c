// libFuzzer target: the JSON reader against the recursive-descent reader of the unit tests, and
// what it reads written and read again.
//   ONLY=json tests/fuzz/run.sh 60
#include "runtime/memory/scratch.h"
#include "stdlib/json/json.h"
#include "stdlib/text/text_out.h"
#include "stdlib/text/utf8.h"
#include "tests/unit/json_oracle.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A text with the readable bytes behind it that the ABI asks for.
#define SLACK "                                                                "
#define STR(text) ((SbStr){text SLACK, sizeof(text) - 1})
#define NULLABLE(at) .nullable = 1, .valid_offset = at

static const SbType type_i64 = {.kind = SB_I64, .size = 8, .align = 8};
static const SbType type_f64 = {.kind = SB_F64, .size = 16, .align = 8, NULLABLE(8)};
static const SbType type_str = {.kind = SB_STR, .size = 24, .align = 8, NULLABLE(16)};
static const SbType type_json = {.kind = SB_JSON, .size = 24, .align = 8, NULLABLE(16)};
static const SbType type_date = {.kind = SB_DATE, .size = 8, .align = 4, NULLABLE(4)};
static const SbType type_cost = {
    .kind = SB_DECIMAL, .precision = 30, .scale = 4, .size = 32, .align = 16, NULLABLE(16)};
static const SbType type_list = {
    .kind = SB_LIST, .size = 24, .align = 8, .elem = &type_str, NULLABLE(16)};
static const SbField entry_fields[] = {
    {STR("key"), &(const SbType){.kind = SB_STR, .size = 16, .align = 8}, 0},
    {STR("value"), &type_i64, 16},
};
static const SbType type_entry = {
    .kind = SB_STRUCT, .size = 24, .align = 8, .fields = entry_fields, .field_count = 2};
static const SbType type_map = {
    .kind = SB_MAP, .size = 24, .align = 8, .elem = &type_entry, NULLABLE(16)};
static const SbField fields[] = {
    {STR("a"), &type_i64, 0},   {STR("x"), &type_f64, 8},   {STR("l"), &type_list, 24},
    {STR("j"), &type_json, 48}, {STR("d"), &type_date, 72}, {STR("c"), &type_cost, 80},
    {STR("m"), &type_map, 112},
};
static const SbType type_row = {
    .kind = SB_STRUCT, .size = 144, .align = 16, .fields = fields, .field_count = 7};

static SbCall call;

static void require(bool so) {
    if (!so) abort();
}

// A slot as a value of the type, written and read once more: the same text.
static void check_value(const SbType *type, const SbJsonSlot *slot) {
    alignas(16) char value[160], again[160];
    if (sb_json_value(&call, (SbJsonAs){type}, slot, value)) return;
    int64_t size = sb_json_size_max(type, value);
    char *text = sb_alloc(&call, size + SB_SLACK), *copy = sb_alloc(&call, size + SB_SLACK);
    require(text && copy);
    char *end = sb_json_put_value(text, type, value);
    require(end - text <= size);
    SbJsonSlot written;
    require(sb_json_slot(&call, text, end - text, &written) == SB_OK);
    require(sb_json_value(&call, (SbJsonAs){type}, &written, again) == SB_OK);
    int64_t len = sb_json_put_value(copy, type, again) - copy;
    require(len == end - text && memcmp(copy, text, (size_t)len) == 0);
}

static SbJsonShape make_shape(SbJsonKey *keys) {
    static const SbStr names[] = {{"a", 1}, {"x", 1}, {"long_name", 9}, {"", 0}};
    SbJsonShape shape = {.keys = keys, .count = 4};
    for (int i = 0; i < 4; i++) {
        keys[i] = (SbJsonKey){names[i], sb_json_head(names[i])};
        shape.lengths |= UINT64_C(1) << names[i].len;
    }
    return shape;
}

// Lines read by the form of those before them, and one by one.
static void check_forms(const char *text, int64_t len, const SbJsonShape *shape) {
    SbJsonSlot slots[4], like[4];
    SbJsonForms form;
    sb_json_forms_open(&form, shape, like);
    for (const char *at = text, *end = text + len; at < end;) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        int64_t line = (feed ? feed : end) - at;
        int32_t status = sb_json_row(&call, at, line, shape, slots);
        require(sb_json_row_like(&call, at, line, &form) == status);
        for (uint32_t i = 0; status == SB_OK && i < shape->count; i++) {
            const bool judged = like[i].kind == SB_JSON_STRING && like[i].whole;
            require(!judged || (slots[i].escapes && !sb_json_check(&slots[i])));
            if (judged) like[i].whole = 0;
            require(memcmp(&slots[i], &like[i], offsetof(SbJsonSlot, twice) + 1) == 0);
        }
        at += line + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t len = (int64_t)size;
    SbJsonKey keys[4];
    SbJsonSlot slots[4], slot;
    SbJsonShape shape = make_shape(keys);
    if (!call.scratch && sb_scratch_open(&call, 4096)) abort();
    char *text = malloc(size + SB_SLACK);
    memcpy(text, data, size);
    memset(text + size, size ? data[size - 1] : '"', SB_SLACK);
    if (sb_utf8_valid(text, len)) {
        bool object = oracle_is_object(text, text + len);
        check_forms(text, len, &shape);
        require((sb_json_row(&call, text, len, &shape, slots) == SB_OK) == object);
        if (object && !memchr(text, '\\', size)) {
            require(oracle_slots_agree(text, text + len, &shape, slots));
        }
        if (sb_json_slot(&call, text, len, &slot) == SB_OK && sb_json_check(&slot) == SB_OK) {
            check_value(&type_row, &slot);
            check_value(&type_list, &slot);
            check_value(&type_json, &slot);
            check_value(&type_str, &slot);
        }
    }
    free(text);
    sb_scratch_rewind(&call);
    return 0;
}
