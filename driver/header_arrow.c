#include "driver/header_arrow.h"

#include "runtime/abi/batch.h"

static const char structs[] =
    "\n"
    "// Functions over batches. `rows` is an Arrow struct array of rows->length rows, with a\n"
    "// child for each parameter; `schema` is its type. All of it may be read until the function\n"
    "// returns. The function fills `result` with as many values, as the Arrow C Data Interface\n"
    "// says, and returns 0. The job calls result->release when it has read the values. A child\n"
    "// of `rows` may be moved to `result`. Anything but 0: the whole batch failed, as\n"
    "// batch->message says. Threads call a function at the same time, unless it is `alone`. With\n"
    "// `state` NAME_init makes what a call has to itself; null: it failed, as its message says.\n"
    "#ifndef ARROW_C_DATA_INTERFACE\n"
    "#define ARROW_C_DATA_INTERFACE\n"
    "#define ARROW_FLAG_DICTIONARY_ORDERED 1\n"
    "#define ARROW_FLAG_NULLABLE 2\n"
    "#define ARROW_FLAG_MAP_KEYS_SORTED 4\n"
    "struct ArrowSchema {\n"
    "    const char *format, *name, *metadata;\n"
    "    int64_t flags, n_children;\n"
    "    struct ArrowSchema **children, *dictionary;\n"
    "    void (*release)(struct ArrowSchema *);\n"
    "    void *private_data;\n"
    "};\n"
    "struct ArrowArray {\n"
    "    int64_t length, null_count, offset, n_buffers, n_children;\n"
    "    const void **buffers;\n"
    "    struct ArrowArray **children, *dictionary;\n"
    "    void (*release)(struct ArrowArray *);\n"
    "    void *private_data;\n"
    "};\n"
    "#endif\n"
    "#ifndef SBC_BATCH\n"
    "#define SBC_BATCH\n"
    "struct SbBatch {\n"
    "    const char **errors;   // fallible: one for each row; a text rejects the row. Else null\n"
    "    void *state;           // what NAME_init made, or null\n"
    "    char message[256];     // why the whole batch failed\n"
    "};\n"
    "#endif\n";

static_assert(SB_MESSAGE_BYTES == 256);
static_assert(sizeof(struct SbBatch) == 2 * sizeof(void *) + SB_MESSAGE_BYTES);

Text header_arrow_structs(void) { return (Text){structs, sizeof structs - 1}; }

static const char *const formats[] = {
    [TYPE_BOOL] = "b",
    [TYPE_I8] = "c", [TYPE_I16] = "s", [TYPE_I32] = "i", [TYPE_I64] = "l",
    [TYPE_U8] = "C", [TYPE_U16] = "S", [TYPE_U32] = "I", [TYPE_U64] = "L",
    [TYPE_F16] = "e", [TYPE_F32] = "f", [TYPE_F64] = "g",
    [TYPE_STR] = "u", [TYPE_BYTES] = "z", [TYPE_JSON] = "u",
    [TYPE_DATE] = "tdD", [TYPE_DURATION] = "tDu",
    [TYPE_LIST] = "+l", [TYPE_STRUCT] = "+s", [TYPE_TENSOR] = "+w", [TYPE_MAP] = "+m",
};

// A tensor with open dimensions: its elements, and its sizes.
static void put_open_tensor(TextBuf *buf, const Type *tensor) {
    text_buf_add(buf, TEXT("\"+s\" of {data \"+l\" of "));
    header_arrow_format(buf, tensor->elem);
    text_buf_format(buf, ", shape \"+w:%u\" of \"i\"}", tensor->rank);
}

void header_arrow_format(TextBuf *buf, const Type *type) {
    static const char units[] = "smun";
    const Type *base = type_base(type);
    if (base->kind == TYPE_TIMESTAMP) text_buf_format(buf, "\"ts%c:UTC\"", units[base->unit]);
    else if (base->kind == TYPE_DECIMAL)
        text_buf_format(buf, "\"d:%u,%u\"", base->precision, base->scale);
    else if (type_open_count(base)) put_open_tensor(buf, base);
    else if (base->kind == TYPE_TENSOR)
        text_buf_format(buf, "\"+w:%llu\"", (unsigned long long)type_elements(base));
    else
        text_buf_format(buf, "\"%s\"", formats[base->kind]);
    if (base->kind == TYPE_LIST || base->kind == TYPE_MAP ||
        (base->kind == TYPE_TENSOR && !type_open_count(base))) {
        text_buf_add(buf, TEXT(" of "));
        header_arrow_format(buf, base->elem);
    }
    for (uint32_t i = 0; base->kind == TYPE_STRUCT && i < base->field_count; i++) {
        text_buf_format(buf, "%s%.*s ", i ? ", " : " of {", TEXT_ARG(base->fields[i].name));
        header_arrow_format(buf, base->fields[i].type);
    }
    if (base->kind == TYPE_STRUCT) text_buf_char(buf, '}');
    if (type->nullable) text_buf_add(buf, TEXT(" or null"));
}
