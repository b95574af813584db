// Schemas: the Arrow types of values.
#include "stdlib/arrow/arrow.h"
#include "stdlib/arrow/forms.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT_BYTES = 32 };

static void keep_schema(struct ArrowSchema *schema) { schema->release = nullptr; }

static const char *format_of(SbCall *call, const SbType *type) {
    static const char *const units[] = {"tss:UTC", "tsm:UTC", "tsu:UTC", "tsn:UTC"};
    if (type->kind == SB_TIMESTAMP) return units[type->unit];
    if (type->kind != SB_DECIMAL) return arrow_kinds[type->kind].format;
    char *format = sb_alloc(call, FORMAT_BYTES);
    if (format) snprintf(format, FORMAT_BYTES, "d:%d,%d", type->precision, type->scale);
    return format;
}

static const char *c_text(SbCall *call, SbStr text) {
    char *copy = sb_alloc(call, text.len + 1);
    if (!copy) return nullptr;
    if (text.len) memcpy(copy, text.ptr, (size_t)text.len);
    copy[text.len] = 0;
    return copy;
}

int32_t sb_arrow_schema(SbCall *call, SbStr name, const SbType *type, struct ArrowSchema *schema) {
    uint32_t count = arrow_children(type);
    *schema = (struct ArrowSchema){
        .format = format_of(call, type), .name = c_text(call, name),
        .flags = type->nullable ? ARROW_FLAG_NULLABLE : 0,
        .n_children = count, .release = keep_schema,
    };
    if (!schema->format || !schema->name) return SB_FAULT_TOO_LARGE;
    if (!count) return SB_OK;
    schema->children = sb_alloc(call, (int64_t)(count * sizeof(void *)));
    struct ArrowSchema *children = sb_alloc(call, (int64_t)(count * sizeof *children));
    if (!schema->children || !children) return SB_FAULT_TOO_LARGE;
    for (uint32_t i = 0; i < count; i++) {
        bool list = type->kind != SB_STRUCT;
        SbStr child = type->kind == SB_LIST  ? SB_LITERAL("item")
                      : type->kind == SB_MAP ? SB_LITERAL("entries")
                                             : type->fields[i].name;
        schema->children[i] = &children[i];
        int32_t status = sb_arrow_schema(call, child, list ? type->elem : type->fields[i].type,
                                         &children[i]);
        if (status) return status;
    }
    return SB_OK;
}
