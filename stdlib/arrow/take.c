// From Arrow arrays to values in memory. What foreign code filled is checked before it is read, as
// far as its buffers can tell.
#include "stdlib/arrow/arrow.h"
#include "stdlib/arrow/forms.h"
#include "stdlib/json.h"
#include "stdlib/text.h"
#include "stdlib/value.h"

#include <stdio.h>
#include <string.h>

// Where the values go: value i to `to + i * stride`, base values without a flag.
typedef struct Take {
    SbCall       *call;
    const SbType *type;
    const struct ArrowArray *array;
    int64_t       first, count;   // The values of the array, after its own offset.
    char         *to;
    int64_t       stride;
    int32_t      *statuses;
    SbStr        *details;
    SbStr        *wrong;          // Why the array fits nowhere.
} Take;

enum { WORDS_BYTES = 160 };

void sb_arrow_release(struct ArrowArray *array) {
    if (array->release) array->release(array);
    array->release = nullptr;
}

static int32_t say(const Take *take, const char *format, int64_t there, int64_t wanted) {
    char *words = sb_alloc(take->call, WORDS_BYTES);
    if (!words) return SB_FAULT_TOO_LARGE;
    int len = snprintf(words, WORDS_BYTES, format, (long long)there, (long long)wanted);
    *take->wrong = (SbStr){words, len};
    return SB_FAULT_EXTERN_RESULT;
}

static void blame(const Take *take, int64_t i, SbStr words) {
    if (take->statuses[i] > SB_NULL) return;
    take->statuses[i] = SB_FAULT_EXTERN_RESULT;
    take->details[i] = words;
}

static bool is_null(const Take *take, int64_t i) {
    const void *bits = take->array->buffers[0];
    return bits && !arrow_bit(bits, take->array->offset + take->first + i);
}

static void take_bits(const Take *take, const void *from) {
    int64_t base = take->array->offset + take->first;
    for (int64_t i = 0; i < take->count; i++)
        take->to[i * take->stride] = arrow_bit(from, base + i);
}

#define TAKE_WIDTH(bytes)                                                                         \
    case bytes:                                                                                   \
        for (int64_t i = 0; i < take->count; i++)                                                 \
            memcpy(take->to + i * take->stride, at + i * (bytes), bytes);                         \
        break;

static void take_fixed(const Take *take, const char *from) {
    int64_t size = sb_base_size(take->type);
    const char *at = from + (take->array->offset + take->first) * size;
    switch (size) {
        TAKE_WIDTH(1) TAKE_WIDTH(2) TAKE_WIDTH(4) TAKE_WIDTH(8)
    }
}

static SbDecimal digits_max(unsigned precision) {
    SbDecimal power = 1;
    while (precision--) power *= 10;
    return power;
}

static void take_decimals(const Take *take, const char *from) {
    SbDecimal end = digits_max(take->type->precision);
    bool wide = sb_base_size(take->type) == sizeof(SbDecimal);
    for (int64_t i = 0; i < take->count; i++) {
        SbDecimal value;
        memcpy(&value, from + (take->array->offset + take->first + i) * (int64_t)sizeof value,
               sizeof value);
        char *to = take->to + i * take->stride;
        int64_t narrow = (int64_t)value;
        if (value <= -end || value >= end) {
            if (!is_null(take, i)) blame(take, i, SB_LITERAL("a decimal has too many digits"));
            narrow = value = 0;
        }
        if (wide) memcpy(to, &value, sizeof value);
        else memcpy(to, &narrow, sizeof narrow);
    }
}

// Offsets that grow and begin at 0 or later.
static int32_t check_offsets(const Take *take, const int32_t *offsets) {
    if (take->count && offsets[0] < 0) return say(take, "an offset is %lld", offsets[0], 0);
    for (int64_t i = 0; i < take->count; i++)
        if (offsets[i + 1] < offsets[i])
            return say(take, "offset %lld is less than the one before it", i + 1, 0);
    return SB_OK;
}

// The text in the form in which `json` keeps a value.
static int32_t take_json(SbCall *call, SbStr *text) {
    SbJsonSlot slot;
    int32_t status = sb_json_slot(call, text->ptr, text->len, &slot);
    if (!status) status = sb_json_check(&slot);
    return status ? status : sb_json_compact(call, &slot, text);
}

// Judges text `i` of the array.
static int32_t take_text(const Take *take, int64_t i, SbStr *text) {
    if (take->type->kind == SB_BYTES || is_null(take, i)) return SB_OK;
    if (!sb_utf8_valid(text->ptr, text->len)) {
        blame(take, i, SB_LITERAL("a text is not valid UTF-8"));
        return SB_OK;
    }
    int32_t status = take->type->kind == SB_JSON ? take_json(take->call, text) : SB_OK;
    if (status == SB_FAULT_TOO_LARGE) return status;
    if (status) blame(take, i, SB_LITERAL("a text is no JSON value"));
    return SB_OK;
}

static int32_t take_texts(const Take *take) {
    const int32_t *offsets = take->array->buffers[1];
    const char *from = take->array->buffers[2];
    offsets += take->array->offset + take->first;
    int32_t status = check_offsets(take, offsets);
    if (status || !take->count) return status;
    int64_t bytes = (int64_t)offsets[take->count] - offsets[0];
    if (bytes && !from) return say(take, "the array has no bytes", 0, 0);
    char *copy = sb_alloc(take->call, bytes + SB_SLACK);
    if (!copy) return SB_FAULT_TOO_LARGE;
    if (bytes) memcpy(copy, from + offsets[0], (size_t)bytes);
    for (int64_t i = 0; i < take->count; i++) {
        SbStr text = {copy + (offsets[i] - offsets[0]), (int64_t)offsets[i + 1] - offsets[i]};
        status = take_text(take, i, &text);
        if (status) return status;
        memcpy(take->to + i * take->stride, &text, sizeof text);
    }
    return SB_OK;
}

// ---- nested values ------------------------------------------------------------------------------

static int32_t take_any(const Take *take);

// A value inside of another that may be null has its flag beside it.
static void set_flag(const Take *child, int64_t i) {
    char *value = child->to + i * child->stride;
    if (child->type->nullable) value[child->type->valid_offset] = !is_null(child, i);
}

static int32_t take_child(Take *child) {
    memset(child->statuses, 0, (size_t)child->count * sizeof *child->statuses);
    int32_t status = take_any(child);
    for (int64_t i = 0; status == SB_OK && i < child->count; i++) {
        if (child->statuses[i] == SB_NULL) child->statuses[i] = SB_OK;
        set_flag(child, i);
    }
    return status;
}

static bool room_for_child(const Take *take, Take *child) {
    child->statuses = sb_alloc(take->call, child->count * (int64_t)sizeof *child->statuses);
    child->details = sb_alloc(take->call, child->count * (int64_t)sizeof *child->details);
    return child->statuses && child->details;
}

// A map whose keys are not different from each other is none.
static int32_t judge_map(const Take *take, int64_t i, SbList map) {
    if (take->type->kind != SB_MAP || is_null(take, i)) return SB_OK;
    int32_t status = sb_map_check(take->call, take->type, map);
    if (status == SB_FAULT_TOO_LARGE) return status;
    if (status) blame(take, i, SB_LITERAL("a key of a map stands twice"));
    return SB_OK;
}

static int32_t take_list(const Take *take) {
    const SbType *elem = take->type->elem;
    const int32_t *offsets = take->array->buffers[1];
    offsets += take->array->offset + take->first;
    int32_t status = check_offsets(take, offsets);
    if (status || !take->count) return status;
    int64_t total = (int64_t)offsets[take->count] - offsets[0];
    const struct ArrowArray *items = take->array->children[0];
    if (items->length < offsets[take->count])
        return say(take, "a list ends at element %lld of %lld", offsets[take->count],
                   items->length);
    Take child = {.call = take->call, .type = elem, .array = items, .first = offsets[0],
                  .count = total, .stride = elem->size, .wrong = take->wrong};
    child.to = sb_alloc(take->call, total * elem->size);
    if (!child.to || !room_for_child(take, &child)) return SB_FAULT_TOO_LARGE;
    memset(child.to, 0, (size_t)(total * elem->size));
    status = take_child(&child);
    for (int64_t i = 0; status == SB_OK && i < take->count; i++) {
        int64_t first = (int64_t)offsets[i] - offsets[0];
        SbList list = {child.to + first * elem->size, (int64_t)offsets[i + 1] - offsets[i]};
        memcpy(take->to + i * take->stride, &list, sizeof list);
        for (int64_t k = first; k < first + list.len && !is_null(take, i); k++)
            if (child.statuses[k] > SB_NULL) blame(take, i, child.details[k]);
        status = judge_map(take, i, list);
    }
    return status;
}

static int32_t take_struct(const Take *take) {
    for (uint32_t f = 0; f < take->type->field_count; f++) {
        const SbField *field = &take->type->fields[f];
        const struct ArrowArray *array = take->array->children[f];
        int64_t first = take->array->offset + take->first;
        if (array->length < first + take->count)
            return say(take, "a field has %lld of %lld values", array->length, first + take->count);
        Take child = {.call = take->call, .type = field->type, .array = array, .first = first,
                      .count = take->count, .to = take->to + field->offset,
                      .stride = take->stride, .wrong = take->wrong};
        if (!room_for_child(take, &child)) return SB_FAULT_TOO_LARGE;
        int32_t status = take_child(&child);
        if (status) return status;
        for (int64_t i = 0; i < take->count; i++)
            if (child.statuses[i] > SB_NULL && !is_null(take, i)) blame(take, i, child.details[i]);
    }
    return SB_OK;
}

static int32_t check_array(const Take *take);

// Elements are never null.
static void judge_elements(const Take *take, const Take *items, int64_t each) {
    if (!items->array->buffers[0]) return;
    for (int64_t i = 0; i < items->count; i++)
        if (is_null(items, i) && !is_null(take, i / each))
            blame(take, i / each, SB_LITERAL("an element of a tensor is null"));
}

// The elements of all values, one after the other.
static int32_t take_tensor(const Take *take) {
    const SbType *elem = take->type->elem;
    int64_t each = sb_arrow_elements(take->type), size = sb_base_size(elem);
    Take items = {.call = take->call, .type = elem, .array = take->array->children[0],
                  .first = (take->array->offset + take->first) * each,
                  .count = take->count * each, .stride = size, .wrong = take->wrong};
    if (items.array->length < items.first + items.count)
        return say(take, "the child of tensors has %lld of %lld elements", items.array->length,
                   items.first + items.count);
    int32_t status = check_array(&items);
    if (status) return status;
    items.to = sb_alloc(take->call, items.count * size + SB_SLACK);
    if (!items.to) return SB_FAULT_TOO_LARGE;
    const char *from = items.array->buffers[1];
    if (arrow_form(elem) == FORM_BITS) take_bits(&items, from);
    else
        memcpy(items.to, from + (items.array->offset + items.first) * size,
               (size_t)(items.count * size));
    judge_elements(take, &items, each);
    for (int64_t i = 0; i < take->count; i++) {
        const SbList tensor = {items.to + i * each * size, each};
        memcpy(take->to + i * take->stride, &tensor, sizeof tensor);
    }
    return SB_OK;
}

// A tensor with open dimensions: its elements are those of a list, and each row has sizes.
typedef struct Shaped {
    Take data, elems, shape, sizes;
    const int32_t *ends;  // ends[i] ... ends[i + 1] - 1: the elements of row i.
} Shaped;

// The values first ... first + count - 1 of a child.
static int32_t open_child(const Take *take, uint32_t i, int64_t first, int64_t count, Take *child) {
    *child = (Take){.call = take->call, .type = sb_arrow_child(take->type, i),
                    .array = take->array->children[i], .first = first, .count = count,
                    .wrong = take->wrong};
    if (child->array->length < first + count)
        return say(take, "a child of tensors has %lld of %lld values", child->array->length,
                   first + count);
    return check_array(child);
}

static int32_t open_shaped(const Take *take, Shaped *in) {
    int64_t first = take->array->offset + take->first, rank = take->type->rank;
    int32_t status = open_child(take, SHAPED_DATA, first, take->count, &in->data);
    if (!status) status = open_child(take, SHAPED_SHAPE, first, take->count, &in->shape);
    if (status) return status;
    in->ends = (const int32_t *)in->data.array->buffers[1] + in->data.array->offset + first;
    status = check_offsets(&in->data, in->ends);
    if (!status)
        status = open_child(&in->data, 0, in->ends[0], in->ends[take->count] - in->ends[0],
                            &in->elems);
    if (status) return status;
    return open_child(&in->shape, 0, (in->shape.array->offset + first) * rank, take->count * rank,
                      &in->sizes);
}

enum { SHAPE_WORDS = 256 };  // Eight sizes, and what is said of them.

// Why row `i` is no tensor; empty: it is one, of these sizes.
static SbStr judge_shape(const Take *take, const Shaped *in, int64_t i, int64_t *sizes) {
    const SbType *type = take->type;
    const char *from = in->sizes.array->buffers[1];
    int64_t count = in->ends[i + 1] - in->ends[i], known = 1;
    char *words = sb_alloc(take->call, SHAPE_WORDS);
    if (is_null(&in->data, i) || is_null(&in->shape, i))
        return SB_LITERAL("the data or the shape of a tensor is null");
    if (!words) return SB_LITERAL("");
    int len = snprintf(words, SHAPE_WORDS, "a tensor of %lld elements has the shape [",
                       (long long)count);
    bool good = true, fits = true;
    for (uint32_t k = 0; k < type->rank; k++) {
        int32_t size;
        int64_t at = i * type->rank + k;
        memcpy(&size, from + (in->sizes.array->offset + in->sizes.first + at) * 4, sizeof size);
        if (is_null(&in->sizes, at)) return SB_LITERAL("a size of a tensor is null");
        len += snprintf(words + len, (size_t)(SHAPE_WORDS - len), k ? ", %d" : "%d", size);
        sizes[k] = size;
        good &= size >= 1 && known <= count;
        if (good) known *= size;
        fits &= !type->shape[k] || type->shape[k] == (uint32_t)size;
    }
    if (good && fits && known == count) return (SbStr){0};
    len += snprintf(words + len, (size_t)(SHAPE_WORDS - len), "]%s",
                    good && known == count ? ", and its type another one" : "");
    return (SbStr){words, len};
}

// The elements of row `i` to `to`.
static void take_elements(const Take *take, const Shaped *in, int64_t i, char *to) {
    const SbType *elem = take->type->elem;
    int64_t size = sb_base_size(elem), first = in->ends[i] - in->ends[0];
    int64_t count = in->ends[i + 1] - in->ends[i];
    Take own = in->elems;
    own.first += first;
    own.count = count;
    own.to = to;
    own.stride = size;
    if (arrow_form(elem) == FORM_BITS) take_bits(&own, own.array->buffers[1]);
    else take_fixed(&own, own.array->buffers[1]);
    for (int64_t k = 0; own.array->buffers[0] && k < count; k++)
        if (is_null(&own, k)) blame(take, i, SB_LITERAL("an element of a tensor is null"));
}

static int32_t take_shaped(const Take *take) {
    Shaped in;
    int64_t sizes[SB_RANK_MAX];
    int32_t status = open_shaped(take, &in);
    for (int64_t i = 0; status == SB_OK && i < take->count; i++) {
        SbList tensor = {0};
        SbStr wrong = {0};
        if (!is_null(take, i)) wrong = judge_shape(take, &in, i, sizes);
        if (wrong.ptr) blame(take, i, wrong);
        if (!is_null(take, i) && !wrong.ptr) {
            char *to = sb_tensor_room(take->call, take->type, sizes, &tensor);
            if (!to) return SB_FAULT_TOO_LARGE;
            take_elements(take, &in, i, to);
        }
        memcpy(take->to + i * take->stride, &tensor, sizeof tensor);
    }
    return status;
}

// ---- any value ----------------------------------------------------------------------------------

static int32_t check_array(const Take *take) {
    const struct ArrowArray *array = take->array;
    int64_t buffers = sb_arrow_buffers(take->type), children = sb_arrow_children(take->type);
    if (array->n_buffers != buffers || !array->buffers)
        return say(take, "the array has %lld buffers, its type %lld", array->n_buffers, buffers);
    if (array->n_children != children || (array->n_children && !array->children))
        return say(take, "the array has %lld children, its type %lld", array->n_children,
                   children);
    if (array->offset < 0) return say(take, "the array's offset is %lld", array->offset, 0);
    if (buffers > 1 && take->count && !array->buffers[1])
        return say(take, "the array has no values", 0, 0);
    if (array->null_count > 0 && !array->buffers[0])
        return say(take, "the array has %lld nulls and no validity bitmap", array->null_count, 0);
    return SB_OK;
}

static void take_nulls(const Take *take) {
    if (!take->array->buffers[0]) return;
    for (int64_t i = 0; i < take->count; i++) {
        if (!is_null(take, i)) continue;
        if (take->type->nullable) take->statuses[i] = SB_NULL;
        else blame(take, i, SB_LITERAL("a value is null, and its type has no `?`"));
    }
}

static int32_t take_any(const Take *take) {
    int32_t status = check_array(take);
    if (status) return status;
    take_nulls(take);
    if (!take->count) return SB_OK;
    switch (arrow_form(take->type)) {
    case FORM_BITS: take_bits(take, take->array->buffers[1]); return SB_OK;
    case FORM_FIXED: take_fixed(take, take->array->buffers[1]); return SB_OK;
    case FORM_DECIMAL: take_decimals(take, take->array->buffers[1]); return SB_OK;
    case FORM_TEXT: return take_texts(take);
    case FORM_LIST: return take_list(take);
    case FORM_TENSOR: return take_tensor(take);
    case FORM_SHAPED: return take_shaped(take);
    case FORM_STRUCT: return take_struct(take);
    case FORM_NONE: break;
    }
    return SB_OK;
}

int32_t sb_arrow_take(SbCall *call, const SbType *type, const struct ArrowArray *array,
                      int64_t count, SbArrowTaken *out, SbStr *wrong) {
    Take take = {.call = call, .type = type, .array = array, .count = count, .to = out->values,
                 .stride = sb_base_size(type), .statuses = out->statuses,
                 .details = out->details, .wrong = wrong};
    *wrong = (SbStr){0};
    if (array->length != count)
        return say(&take, "the array has %lld values for %lld rows", array->length, count);
    return take_any(&take);
}
