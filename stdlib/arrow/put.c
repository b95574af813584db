// From values in memory to Arrow arrays. A value is given by its address; a null has none.
#include "stdlib/arrow/arrow.h"
#include "stdlib/arrow/forms.h"

#include <string.h>

typedef struct Put {
    SbCall       *call;
    const SbType *type;
    const void *const *values;   // Null where the value is null.
    int64_t       count;
    struct ArrowArray *array;
} Put;

static void keep_array(struct ArrowArray *array) { array->release = nullptr; }

static void *take(const Put *put, int64_t bytes) {
    void *memory = sb_alloc(put->call, bytes);
    if (memory) memset(memory, 0, (size_t)bytes);
    return memory;
}

static int64_t bitmap_bytes(int64_t count) { return (count + 7) >> 3; }

static bool put_bits(const Put *put) {
    uint8_t *bits = take(put, bitmap_bytes(put->count));
    for (int64_t i = 0; bits && i < put->count; i++)
        if (put->values[i] && *(const uint8_t *)put->values[i])
            bits[i >> 3] |= (uint8_t)(1 << (i & 7));
    put->array->buffers[1] = bits;
    return bits;
}

// The loop for each width is one of constant size.
#define PUT_WIDTH(bytes)                                                                          \
    case bytes:                                                                                   \
        for (int64_t i = 0; i < put->count; i++) {                                                \
            if (put->values[i]) memcpy(out + i * (bytes), put->values[i], bytes);                 \
            else memset(out + i * (bytes), 0, bytes);                                             \
        }                                                                                         \
        break;

static bool put_fixed(const Put *put) {
    int64_t size = sb_base_size(put->type);
    char *out = sb_alloc(put->call, size * put->count);
    put->array->buffers[1] = out;
    if (!out) return false;
    switch (size) {
        PUT_WIDTH(1) PUT_WIDTH(2) PUT_WIDTH(4) PUT_WIDTH(8)
    }
    return true;
}

static bool put_decimals(const Put *put) {
    bool wide = sb_base_size(put->type) == sizeof(SbDecimal);
    SbDecimal *out = take(put, put->count * (int64_t)sizeof *out);
    put->array->buffers[1] = out;
    for (int64_t i = 0; out && i < put->count; i++) {
        if (!put->values[i]) continue;
        out[i] = wide ? *(const SbDecimal *)put->values[i] : *(const int64_t *)put->values[i];
    }
    return out;
}

static bool put_texts(const Put *put) {
    int32_t *offsets = sb_alloc(put->call, (put->count + 1) * (int64_t)sizeof *offsets);
    int64_t bytes = 0;
    put->array->buffers[1] = offsets;
    for (int64_t i = 0; offsets && i < put->count; i++) {
        offsets[i] = (int32_t)bytes;
        bytes += put->values[i] ? ((const SbStr *)put->values[i])->len : 0;
        if (bytes > INT32_MAX) return false;
    }
    char *out = sb_alloc(put->call, bytes);
    put->array->buffers[2] = out;
    if (!offsets || !out) return false;
    offsets[put->count] = (int32_t)bytes;
    for (int64_t i = 0; i < put->count; i++) {
        const SbStr *text = put->values[i];
        if (text && text->len) memcpy(out + offsets[i], text->ptr, (size_t)text->len);
    }
    return true;
}

// ---- nested values ------------------------------------------------------------------------------

// The address of a nested value, unless it is null.
static const void *present(const SbType *type, const void *value) {
    return sb_is_valid(type, value) ? value : nullptr;
}

static int32_t put_list(const Put *put) {
    const SbType *elem = put->type->elem;
    int32_t *offsets = sb_alloc(put->call, (put->count + 1) * (int64_t)sizeof *offsets);
    int64_t total = 0, at = 0;
    put->array->buffers[1] = offsets;
    for (int64_t i = 0; offsets && i < put->count; i++) {
        offsets[i] = (int32_t)total;
        total += put->values[i] ? ((const SbList *)put->values[i])->len : 0;
        if (total > INT32_MAX) return SB_FAULT_TOO_LARGE;
    }
    const void **items = sb_alloc(put->call, total * (int64_t)sizeof *items);
    if (!offsets || !items) return SB_FAULT_TOO_LARGE;
    offsets[put->count] = (int32_t)total;
    for (int64_t i = 0; i < put->count; i++) {
        const SbList *list = put->values[i];
        for (int64_t k = 0; list && k < list->len; k++)
            items[at++] = present(elem, (const char *)list->ptr + k * elem->size);
    }
    return sb_arrow_put(put->call, elem, items, total, put->array->children[0]);
}

static int32_t put_struct(const Put *put) {
    const void **values = sb_alloc(put->call, put->count * (int64_t)sizeof *values);
    if (!values) return SB_FAULT_TOO_LARGE;
    for (uint32_t f = 0; f < put->type->field_count; f++) {
        const SbField *field = &put->type->fields[f];
        for (int64_t i = 0; i < put->count; i++) {
            const char *value = put->values[i];
            values[i] = value ? present(field->type, value + field->offset) : nullptr;
        }
        int32_t status = sb_arrow_put(put->call, field->type, values, put->count,
                                      put->array->children[f]);
        if (status) return status;
    }
    return SB_OK;
}

// ---- any value ----------------------------------------------------------------------------------

static bool put_validity(const Put *put) {
    int64_t nulls = 0;
    for (int64_t i = 0; i < put->count; i++) nulls += !put->values[i];
    put->array->null_count = nulls;
    if (!nulls) return true;
    uint8_t *bits = take(put, bitmap_bytes(put->count));
    for (int64_t i = 0; bits && i < put->count; i++)
        bits[i >> 3] |= (uint8_t)(!!put->values[i] << (i & 7));
    put->array->buffers[0] = bits;
    return bits;
}

static bool open_array(const Put *put) {
    uint32_t children = arrow_children(put->type);
    struct ArrowArray *array = put->array;
    *array = (struct ArrowArray){
        .length = put->count, .n_buffers = arrow_buffers(arrow_kinds[put->type->kind].form),
        .n_children = children, .release = keep_array,
    };
    array->buffers = take(put, FORM_BUFFERS_MAX * sizeof(void *));
    if (!array->buffers || !children) return array->buffers;
    array->children = take(put, (int64_t)(children * sizeof(void *)));
    struct ArrowArray *all = take(put, (int64_t)(children * sizeof *all));
    for (uint32_t i = 0; array->children && all && i < children; i++) array->children[i] = &all[i];
    return array->children && all;
}

// The elements of all values, one after the other. A null has zeroes.
static int32_t put_tensor(const Put *put) {
    const SbType *elem = put->type->elem;
    int64_t each = sb_arrow_elements(put->type), size = sb_base_size(elem) * each;
    const Put items = {put->call, elem, nullptr, put->count * each, put->array->children[0]};
    bool bits = arrow_kinds[elem->kind].form == FORM_BITS;
    if (!open_array(&items)) return SB_FAULT_TOO_LARGE;
    char *out = take(&items, bits ? bitmap_bytes(items.count) : size * put->count);
    items.array->buffers[1] = out;
    if (!out) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < put->count; i++) {
        const SbList *tensor = put->values[i];
        if (tensor && !bits) memcpy(out + i * size, tensor->ptr, (size_t)size);
        for (int64_t k = 0, at = i * each; tensor && bits && k < each; k++, at++)
            out[at >> 3] = (char)(out[at >> 3] | ((const uint8_t *)tensor->ptr)[k] << (at & 7));
    }
    return SB_OK;
}

int32_t sb_arrow_put(SbCall *call, const SbType *type, const void *const *values, int64_t count,
                     struct ArrowArray *array) {
    Put put = {call, type, values, count, array};
    if (!open_array(&put) || !put_validity(&put)) return SB_FAULT_TOO_LARGE;
    bool good = false;
    switch (arrow_kinds[type->kind].form) {
    case FORM_BITS: good = put_bits(&put); break;
    case FORM_FIXED: good = put_fixed(&put); break;
    case FORM_DECIMAL: good = put_decimals(&put); break;
    case FORM_TEXT: good = put_texts(&put); break;
    case FORM_LIST: return put_list(&put);
    case FORM_TENSOR: return put_tensor(&put);
    case FORM_STRUCT: return put_struct(&put);
    case FORM_NONE: break;
    }
    return good ? SB_OK : SB_FAULT_TOO_LARGE;
}
