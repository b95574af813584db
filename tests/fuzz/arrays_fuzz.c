// libFuzzer target: what a Python process answers (runtime/python/wire.h). An answer that was not
// touched gives its values back. Of a damaged one, and of bytes that are none, nothing is read
// beyond the answer, and a row that is good has a value of the type.
//
//     ONLY=arrays tests/fuzz/run.sh [SECONDS]
#include "runtime/memory.h"
#include "runtime/python/arrays.h"
#include "stdlib/json.h"
#include "stdlib/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 12, VALUE_MAX = 64, ITEMS_MAX = 4, TEXT_MAX = 9, WORD = 8, POINTERS = 4,
       SCRATCH = 1 << 20 };

// ---- types --------------------------------------------------------------------------------------

#define PLAIN(k, bytes) {.kind = (k), .size = (bytes), .align = (bytes) < WORD ? (bytes) : WORD}
#define NULLABLE(k, bytes)                                                                         \
    {.kind = (k), .nullable = 1, .size = 2 * (bytes), .align = (bytes) < WORD ? (bytes) : WORD,    \
     .valid_offset = (bytes)}

static const SbType int_type = PLAIN(SB_I64, 8), small_maybe = NULLABLE(SB_I16, 2),
                    bool_type = PLAIN(SB_BOOL, 1), bool_maybe = NULLABLE(SB_BOOL, 1),
                    text_type = PLAIN(SB_STR, 16), text_maybe = NULLABLE(SB_STR, 16),
                    bytes_type = PLAIN(SB_BYTES, 16), json_maybe = NULLABLE(SB_JSON, 16),
                    date_maybe = NULLABLE(SB_DATE, 4);
static const SbType narrow = {.kind = SB_DECIMAL, .precision = 5, .scale = 2, .size = 8,
                              .align = 8};
static const SbType wide = {.kind = SB_DECIMAL, .nullable = 1, .precision = 30, .scale = 4,
                            .size = 32, .align = 16, .valid_offset = 16};
static const SbType list = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &small_maybe};
static const SbType texts = {.kind = SB_LIST, .nullable = 1, .size = 24, .align = 8,
                             .valid_offset = 16, .elem = &text_maybe};
static const SbType lists = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &texts};
static const SbType number = PLAIN(SB_I16, 2);
static const SbType tensor = {.kind = SB_TENSOR, .nullable = 1, .size = 24, .align = 8,
                              .valid_offset = 16, .elem = &number, .rank = 2,
                              .shape = (const uint32_t[]){2, 3}};
static const SbType flags = {.kind = SB_TENSOR, .size = 16, .align = 8, .elem = &bool_type,
                             .rank = 1, .shape = (const uint32_t[]){5}};
static const SbType tensors = {.kind = SB_LIST, .size = 16, .align = 8, .elem = &tensor};
static const SbField fields[] = {{SB_LITERAL("s"), &text_maybe, 0},
                                 {SB_LITERAL("l"), &texts, 32}, {SB_LITERAL("b"), &bool_maybe, 56}};
static const SbType record = {.kind = SB_STRUCT, .size = VALUE_MAX, .align = 8, .fields = fields,
                              .field_count = 3};
static const SbType *const types[] = {
    &int_type, &small_maybe, &bool_type, &bool_maybe, &text_type, &text_maybe, &bytes_type,
    &date_maybe, &narrow, &wide, &list, &texts, &lists, &record,
    &json_maybe, &tensor, &flags, &tensors,
};

// ---- values -------------------------------------------------------------------------------------

typedef struct Data {
    const uint8_t *at;
    size_t         left;
} Data;

static uint8_t draw(Data *data) {
    if (data->left == 0) return 0;
    data->left--;
    return *data->at++;
}

static void draw_value(SbCall *call, Data *data, const SbType *type, char *to);

static void draw_list(SbCall *call, Data *data, const SbType *elem, int64_t count,
                      SbList *list_of) {
    char *items = sb_alloc(call, count * elem->size);
    if (!items) abort();
    memset(items, 0, (size_t)(count * elem->size));
    for (int64_t i = 0; i < count; i++) draw_value(call, data, elem, items + i * elem->size);
    *list_of = (SbList){items, count};
}

static void draw_base(SbCall *call, Data *data, const SbType *type, char *to) {
    switch (type->kind) {
    case SB_BOOL: *to = draw(data) & 1; return;
    case SB_LIST:
        draw_list(call, data, type->elem, draw(data) % ITEMS_MAX, (SbList *)(void *)to);
        return;
    case SB_TENSOR:
        draw_list(call, data, type->elem, sb_arrow_elements(type), (SbList *)(void *)to);
        return;
    case SB_STR: case SB_BYTES: case SB_JSON: {
        size_t len = draw(data) % TEXT_MAX;
        if (len > data->left) len = data->left;
        char *text = sb_alloc(call, (int64_t)len);
        if (!text) abort();
        memcpy(text, data->at, len);
        *(SbStr *)(void *)to = (SbStr){text, (int64_t)len};
        data->at += len;
        data->left -= len;
        return;
    }
    case SB_STRUCT:
        for (uint32_t f = 0; f < type->field_count; f++)
            draw_value(call, data, type->fields[f].type, to + type->fields[f].offset);
        return;
    default:
        // Numbers are small, so that decimals fit now and then.
        memset(to, 0, (size_t)sb_base_size(type));
        to[0] = (char)draw(data);
        to[1] = (char)draw(data);
    }
}

static void draw_value(SbCall *call, Data *data, const SbType *type, char *to) {
    if (type->nullable) to[type->valid_offset] = draw(data) % 4 != 0;
    if (sb_is_valid(type, to)) draw_base(call, data, type, to);
}

static bool is_good_decimal(const SbType *type, const char *value) {
    SbDecimal number = 0, end = 1;
    if (sb_base_size(type) == WORD) number = *(const int64_t *)(const void *)value;
    else memcpy(&number, value, sizeof number);
    for (int i = 0; i < type->precision; i++) end *= 10;
    return -end < number && number < end;
}

// The text as `json` keeps it.
static bool json_of(SbCall *call, SbStr text, SbStr *json) {
    SbJsonSlot slot;
    return sb_utf8_valid(text.ptr, text.len) &&
           sb_json_slot(call, text.ptr, text.len, &slot) == SB_OK &&
           sb_json_check(&slot) == SB_OK && sb_json_compact(call, &slot, json) == SB_OK;
}

static bool is_same_text(SbStr a, SbStr b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, (size_t)a.len) == 0);
}

// Is it a value of the type, whatever its flag says?
static bool is_good(SbCall *call, const SbType *type, const char *value) {
    const SbStr *text = (const SbStr *)(const void *)value;
    const SbList *items = (const SbList *)(const void *)value;
    SbStr json;
    bool good = true;
    switch (type->kind) {
    case SB_BOOL: return (uint8_t)*value <= 1;
    case SB_STR: return sb_utf8_valid(text->ptr, text->len);
    case SB_JSON: return json_of(call, *text, &json);
    case SB_DECIMAL: return is_good_decimal(type, value);
    case SB_TENSOR: case SB_LIST:
        good = type->kind == SB_LIST || items->len == sb_arrow_elements(type);
        for (int64_t i = 0; i < items->len && good; i++) {
            const char *item = (const char *)items->ptr + i * type->elem->size;
            good = !sb_is_valid(type->elem, item) || is_good(call, type->elem, item);
        }
        return good;
    case SB_STRUCT:
        for (uint32_t f = 0; f < type->field_count && good; f++) {
            const char *field = value + type->fields[f].offset;
            const SbType *inner = type->fields[f].type;
            good = !sb_is_valid(inner, field) || is_good(call, inner, field);
        }
        return good;
    default: return true;
    }
}

static bool is_same(SbCall *call, const SbType *type, const char *a, const char *b) {
    const SbStr *text = (const SbStr *)(const void *)a, *other = (const SbStr *)(const void *)b;
    const SbList *items = (const SbList *)(const void *)a, *more = (const SbList *)(const void *)b;
    SbStr json;
    bool same = true;
    switch (type->kind) {
    case SB_STR: case SB_BYTES: return is_same_text(*text, *other);
    case SB_JSON: return json_of(call, *text, &json) && is_same_text(json, *other);
    case SB_TENSOR: case SB_LIST:
        if (items->len != more->len) return false;
        for (int64_t i = 0; i < items->len && same; i++) {
            const char *x = (const char *)items->ptr + i * type->elem->size;
            const char *y = (const char *)more->ptr + i * type->elem->size;
            same = sb_is_valid(type->elem, x) == sb_is_valid(type->elem, y) &&
                   (!sb_is_valid(type->elem, x) || is_same(call, type->elem, x, y));
        }
        return same;
    case SB_STRUCT:
        for (uint32_t f = 0; f < type->field_count && same; f++) {
            const SbField *field = &type->fields[f];
            const char *x = a + field->offset, *y = b + field->offset;
            same = sb_is_valid(field->type, x) == sb_is_valid(field->type, y) &&
                   (!sb_is_valid(field->type, x) || is_same(call, field->type, x, y));
        }
        return same;
    default: return memcmp(a, b, (size_t)sb_base_size(type)) == 0;
    }
}

// ---- one answer ---------------------------------------------------------------------------------

typedef struct Answer {
    const SbType *type;
    int64_t       rows;
    const char   *values;  // What it was made of, `size` bytes of the type each; null: of nothing.
} Answer;

static void check_rows(SbCall *call, const Answer *answer, const SbArrowTaken *taken) {
    const SbType *type = answer->type;
    for (int64_t i = 0; i < answer->rows; i++) {
        const char *value = taken->values + i * sb_base_size(type);
        if (taken->statuses[i] == SB_OK && !is_good(call, type, value)) abort();
        if (!answer->values) continue;
        const char *before = answer->values + i * type->size;
        bool there = sb_is_valid(type, before), good = there && is_good(call, type, before);
        int32_t wanted = good ? SB_OK : there ? SB_FAULT_EXTERN_RESULT : SB_NULL;
        if (taken->statuses[i] != wanted) abort();
        if (good && !is_same(call, type, before, value)) abort();
    }
}

// As runtime/python/call.c and stdlib/arrow/batch.c do.
static void read_answer(SbCall *call, const Answer *answer, const char *bytes, int64_t len) {
    uint32_t count = arrays_count(answer->type);
    struct ArrowArray result, *arrays = calloc(count, sizeof *arrays);
    const void **buffers = calloc(count, POINTERS * sizeof *buffers);
    ArraysFrom from = {.at = bytes, .bytes = len, .arrays = arrays, .buffers = buffers};
    int64_t notes = arrays_word(&from);
    bool good = arrays && buffers && notes >= 0 && notes <= 2 * answer->rows;
    for (int64_t i = 0; good && i < notes; i++) {
        ArraysNote note;
        good = arrays_note(&from, answer->rows, &note) && note.row < answer->rows &&
               strlen(note.text) < (size_t)len;
    }
    good = good && arrays_read(&from, answer->type, answer->rows, &result);
    if (answer->values && !good) abort();
    SbArrowTaken taken = {
        calloc((size_t)answer->rows + 1, VALUE_MAX),
        calloc((size_t)answer->rows + 1, sizeof *taken.statuses),
        calloc((size_t)answer->rows + 1, sizeof *taken.details),
    };
    SbStr wrong;
    if (good && sb_arrow_take(call, answer->type, &result, answer->rows, &taken, &wrong) == SB_OK)
        check_rows(call, answer, &taken);
    else if (answer->values) abort();
    free(taken.values);
    free(taken.statuses);
    free(taken.details);
    free(buffers);
    free(arrays);
}

// An answer of drawn values, as host.py writes one. What is left of `data` damages it.
static void make_and_read(SbCall *call, Answer *answer, Data *data) {
    const SbField field = {SB_LITERAL("r"), answer->type, 0};
    const SbType row = {.kind = SB_STRUCT, .size = VALUE_MAX, .fields = &field, .field_count = 1};
    char *values = sb_alloc(call, ROWS_MAX * VALUE_MAX);
    const void *rows[ROWS_MAX];
    struct ArrowArray array;
    if (!values) abort();
    memset(values, 0, ROWS_MAX * VALUE_MAX);
    for (int64_t i = 0; i < answer->rows; i++) {
        rows[i] = values + i * answer->type->size;
        draw_value(call, data, answer->type, values + i * answer->type->size);
    }
    if (sb_arrow_put(call, &row, rows, answer->rows, &array) != SB_OK) abort();
    int64_t len = arrays_bytes(&row, &array);
    char *bytes = aligned_alloc(64, (size_t)len);
    if (!bytes) abort();
    memset(bytes, 0, (size_t)len);
    arrays_write(&row, &array, bytes);
    memset(bytes, 0, WORD);  // Rows there, notes here.
    answer->values = values;
    while (data->left >= 3) {
        int64_t at = (draw(data) | draw(data) << 8) % len;
        bytes[at] = (char)draw(data);
        answer->values = nullptr;
    }
    read_answer(call, answer, bytes, len);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    SbCall call = {0};
    if (size < 2 || sb_scratch_open(&call, SCRATCH) != SB_OK) return 0;
    Answer answer = {.type = types[data[0] % (sizeof types / sizeof *types)],
                     .rows = data[1] % ROWS_MAX};
    Data left = {data + 2, size - 2};
    if (data[1] & 0x80) {
        // Mapped memory is aligned, and so is this.
        char *bytes = aligned_alloc(64, (left.left + 64) / 64 * 64);
        if (!bytes) abort();
        memcpy(bytes, left.at, left.left);
        read_answer(&call, &answer, bytes, (int64_t)left.left);
        free(bytes);
    } else {
        make_and_read(&call, &answer, &left);
    }
    sb_scratch_close(&call);
    return 0;
}
