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

// The offsets of lists or of tensors, and how many elements there are. Null: too many.
static const int32_t *put_offsets(const Put *put, const void *const *values, int64_t *total) {
    int32_t *offsets = sb_alloc(put->call, (put->count + 1) * (int64_t)sizeof *offsets);
    *total = 0;
    for (int64_t i = 0; offsets && i < put->count; i++) {
        offsets[i] = (int32_t)*total;
        *total += values[i] ? ((const SbList *)values[i])->len : 0;
        if (*total > INT32_MAX) return nullptr;
    }
    if (offsets) offsets[put->count] = (int32_t)*total;
    return put->array->buffers[1] = offsets;
}

static int32_t put_list(const Put *put) {
    const SbType *elem = put->type->elem;
    int64_t total, at = 0;
    if (!put_offsets(put, put->values, &total)) return SB_FAULT_TOO_LARGE;
    const void **items = sb_alloc(put->call, total * (int64_t)sizeof *items);
    if (!items) return SB_FAULT_TOO_LARGE;
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
    uint32_t children = sb_arrow_children(put->type);
    struct ArrowArray *array = put->array;
    *array = (struct ArrowArray){
        .length = put->count, .n_buffers = sb_arrow_buffers(put->type),
        .n_children = children, .release = keep_array,
    };
    array->buffers = take(put, FORM_BUFFERS_MAX * sizeof(void *));
    if (!array->buffers || !children) return array->buffers;
    array->children = take(put, (int64_t)(children * sizeof(void *)));
    struct ArrowArray *all = take(put, (int64_t)(children * sizeof *all));
    for (uint32_t i = 0; array->children && all && i < children; i++) array->children[i] = &all[i];
    return array->children && all;
}

// The `total` elements of all values, one after the other. A null has `none` zeroes.
static int32_t put_elements(const Put *put, int64_t total, int64_t none, struct ArrowArray *to) {
    const SbType *elem = put->type->elem;
    int64_t size = sb_base_size(elem), at = 0;
    const Put items = {put->call, elem, nullptr, total, to};
    bool bits = arrow_form(elem) == FORM_BITS;
    if (!open_array(&items)) return SB_FAULT_TOO_LARGE;
    char *out = take(&items, bits ? bitmap_bytes(total) : size * total);
    to->buffers[1] = out;
    if (!out) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < put->count; i++) {
        const SbList *tensor = put->values[i];
        int64_t len = tensor ? tensor->len : none;
        if (tensor && !bits) memcpy(out + at * size, tensor->ptr, (size_t)(len * size));
        for (int64_t k = 0, bit = at; tensor && bits && k < len; k++, bit++)
            out[bit >> 3] = (char)(out[bit >> 3] | ((const uint8_t *)tensor->ptr)[k] << (bit & 7));
        at += len;
    }
    return SB_OK;
}

static int32_t put_tensor(const Put *put) {
    int64_t each = sb_arrow_elements(put->type);
    return put_elements(put, put->count * each, each, put->array->children[0]);
}

// An array beside those of other values, without nulls of its own.
static bool open_child(const Put *put, uint32_t i, int64_t count, Put *child) {
    *child = (Put){put->call, sb_arrow_child(put->type, i), nullptr, count,
                   put->array->children[i]};
    return open_array(child);
}

// Elements and sizes. A null has no elements, and zeroes as sizes.
static int32_t put_shaped(const Put *put) {
    int64_t total, rank = put->type->rank, sizes[SB_RANK_MAX];
    Put data, shape, items;
    if (!open_child(put, SHAPED_DATA, put->count, &data) ||
        !put_offsets(&data, put->values, &total) ||
        put_elements(put, total, 0, data.array->children[0]) != SB_OK ||
        !open_child(put, SHAPED_SHAPE, put->count, &shape) ||
        !open_child(&shape, 0, put->count * rank, &items))
        return SB_FAULT_TOO_LARGE;
    int32_t *out = take(&items, items.count * (int64_t)sizeof *out);
    items.array->buffers[1] = out;
    if (!out) return SB_FAULT_TOO_LARGE;
    for (int64_t i = 0; i < put->count; i++, out += rank) {
        if (!put->values[i]) continue;
        sb_tensor_sizes(put->type, put->values[i], sizes);
        for (int64_t k = 0; k < rank; k++) out[k] = (int32_t)sizes[k];
    }
    return SB_OK;
}

int32_t sb_arrow_put(SbCall *call, const SbType *type, const void *const *values, int64_t count,
                     struct ArrowArray *array) {
    Put put = {call, type, values, count, array};
    if (!open_array(&put) || !put_validity(&put)) return SB_FAULT_TOO_LARGE;
    bool good = false;
    switch (arrow_form(type)) {
    case FORM_BITS: good = put_bits(&put); break;
    case FORM_FIXED: good = put_fixed(&put); break;
    case FORM_DECIMAL: good = put_decimals(&put); break;
    case FORM_TEXT: good = put_texts(&put); break;
    case FORM_LIST: return put_list(&put);
    case FORM_TENSOR: return put_tensor(&put);
    case FORM_SHAPED: return put_shaped(&put);
    case FORM_STRUCT: return put_struct(&put);
    case FORM_NONE: break;
    }
    return good ? SB_OK : SB_FAULT_TOO_LARGE;
}
