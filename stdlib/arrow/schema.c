// Schemas: the Arrow types of values.
#include "stdlib/arrow/arrow.h"
#include "stdlib/arrow/forms.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT_BYTES = 32, SHAPE_BYTES = 160 };

static void keep_schema(struct ArrowSchema *schema) { schema->release = nullptr; }

static const char *format_of(SbCall *call, const SbType *type) {
    static const char *const units[] = {"tss:UTC", "tsm:UTC", "tsu:UTC", "tsn:UTC"};
    if (type->kind == SB_TIMESTAMP) return units[type->unit];
    if (arrow_form(type) == FORM_SHAPED) return arrow_kinds[SB_STRUCT].format;
    if (arrow_kinds[type->kind].format) return arrow_kinds[type->kind].format;
    char *format = sb_alloc(call, FORMAT_BYTES);
    if (!format) return nullptr;
    if (type->kind == SB_TENSOR)
        snprintf(format, FORMAT_BYTES, "+w:%lld", (long long)sb_arrow_elements(type));
    else snprintf(format, FORMAT_BYTES, "d:%d,%d", type->precision, type->scale);
    return format;
}

static char *put_word(char *to, const char *word) {
    int32_t len = (int32_t)strlen(word);
    memcpy(to, &len, sizeof len);
    memcpy(to + sizeof len, word, (size_t)len);
    return to + sizeof len + len;
}

// The extension type of a tensor: pairs of a key and a value (docs of the C Data Interface).
static const char *tensor_metadata(SbCall *call, const SbType *type) {
    enum { BYTES = 512 };
    char shape[SHAPE_BYTES], *metadata = sb_alloc(call, BYTES), *at = metadata;
    const int32_t pairs = 2;
    if (!metadata) return nullptr;
    bool open = arrow_form(type) == FORM_SHAPED;
    int len = snprintf(shape, sizeof shape, open ? "{\"uniform_shape\":[" : "{\"shape\":[");
    for (uint32_t i = 0; i < type->rank; i++)
        len += snprintf(shape + len, sizeof shape - (size_t)len,
                        type->shape[i] ? "%s%u" : "%snull", i ? "," : "", type->shape[i]);
    snprintf(shape + len, sizeof shape - (size_t)len, "]}");
    memcpy(at, &pairs, sizeof pairs);
    at = put_word(at + sizeof pairs, "ARROW:extension:name");
    at = put_word(at, open ? "arrow.variable_shape_tensor" : "arrow.fixed_shape_tensor");
    at = put_word(at, "ARROW:extension:metadata");
    put_word(at, shape);
    return metadata;
}

static const char *c_text(SbCall *call, SbStr text) {
    char *copy = sb_alloc(call, text.len + 1);
    if (!copy) return nullptr;
    if (text.len) memcpy(copy, text.ptr, (size_t)text.len);
    copy[text.len] = 0;
    return copy;
}

static SbStr child_name(const SbType *type, uint32_t i) {
    if (type->kind == SB_STRUCT) return type->fields[i].name;
    if (type->kind == SB_MAP) return SB_LITERAL("entries");
    if (arrow_form(type) != FORM_SHAPED) return SB_LITERAL("item");
    return i == SHAPED_DATA ? SB_LITERAL("data") : SB_LITERAL("shape");
}

int32_t sb_arrow_schema(SbCall *call, SbStr name, const SbType *type, struct ArrowSchema *schema) {
    uint32_t count = sb_arrow_children(type);
    *schema = (struct ArrowSchema){
        .format = format_of(call, type), .name = c_text(call, name),
        .flags = type->nullable ? ARROW_FLAG_NULLABLE : 0,
        .n_children = count, .release = keep_schema,
    };
    if (!schema->format || !schema->name) return SB_FAULT_TOO_LARGE;
    if (type->kind == SB_TENSOR && !(schema->metadata = tensor_metadata(call, type)))
        return SB_FAULT_TOO_LARGE;
    if (!count) return SB_OK;
    schema->children = sb_alloc(call, (int64_t)(count * sizeof(void *)));
    struct ArrowSchema *children = sb_alloc(call, (int64_t)(count * sizeof *children));
    if (!schema->children || !children) return SB_FAULT_TOO_LARGE;
    for (uint32_t i = 0; i < count; i++) {
        schema->children[i] = &children[i];
        int32_t status = sb_arrow_schema(call, child_name(type, i), sb_arrow_child(type, i),
                                         &children[i]);
        if (status) return status;
    }
    // The sizes are a plain list of fixed length.
    if (arrow_form(type) == FORM_SHAPED) children[SHAPED_SHAPE].metadata = nullptr;
    return SB_OK;
}
