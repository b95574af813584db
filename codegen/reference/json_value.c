// Values of JSON nodes: what each type takes, and nothing else.
#include "codegen/reference/read_json.h"

#include "runtime/abi.h"

#include <math.h>
#include <string.h>

static JsonFault fault_of(int32_t status, Text text) { return (JsonFault){status, text}; }

static const JsonFault fine = {0};

static JsonFault wrong_type(const JsonNode *node) {
    return fault_of(SB_FAULT_JSON_TYPE, node->text);
}

// Digits and exponent of a JSON number as a decimal with more room than any type has.
static JsonFault read_decimal(Arena *arena, const Type *type, const JsonNode *node, Value *out) {
    const char *mark = memchr(node->text.at, 'e', node->text.len);
    if (!mark) mark = memchr(node->text.at, 'E', node->text.len);
    Text digits = {node->text.at, mark ? (size_t)(mark - node->text.at) : node->text.len};
    int64_t exponent = 0;
    bool negative = false;
    for (const char *at = mark ? mark + 1 : nullptr; at && at < node->text.at + node->text.len;
         at++) {
        if (*at == '-') negative = true;
        else if (*at != '+' && exponent < 1000000) exponent = exponent * 10 + (*at - '0');
    }
    if (negative) exponent = -exponent;
    // The digits without point, and how many of them stand before it.
    TextBuf buf = {0};
    int64_t before = -1;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.at[i] == '.') before = (int64_t)buf.len;
        else if (digits.at[i] != '-') text_buf_char(&buf, digits.at[i]);
    }
    bool zero = true;
    for (size_t i = 0; i < buf.len; i++) zero &= buf.at[i] == '0';
    int64_t point = (before < 0 ? (int64_t)buf.len : before) + (zero ? 0 : exponent);
    TextBuf plain = {0};
    if (digits.at[0] == '-') text_buf_char(&plain, '-');
    text_buf_char(&plain, '0');
    // Far exponents cannot fit; a few digits more than any type holds show that.
    if (point < -100) point = -100;
    if (point > (int64_t)buf.len + 100) point = (int64_t)buf.len + 100;
    for (int64_t i = point < 0 ? point : 0; i < (int64_t)buf.len || i < point; i++) {
        if (i == point) text_buf_char(&plain, '.');
        text_buf_char(&plain, i >= 0 && i < (int64_t)buf.len ? buf.at[i] : '0');
    }
    Value value;
    int32_t status =
        value_read(arena, type, text_buf_view(&plain), (ReadOptions){.point = '.'}, &value);
    text_buf_free(&buf);
    text_buf_free(&plain);
    *out = value;
    return status ? fault_of(status, node->text) : fine;
}

static JsonFault read_number(Arena *arena, const Type *type, const JsonNode *node, Value *out) {
    Text text = node->text;
    if (node->kind == JSON_STRING && type_is_float(type)) {
        int32_t status = value_read(arena, type, node->string, (ReadOptions){.point = '.'}, out);
        // Only the words: a number in quotes is a string.
        if (status || isfinite(out->f)) return wrong_type(node);
        return fine;
    }
    if (node->kind != JSON_NUMBER) return wrong_type(node);
    if (type->kind == TYPE_DECIMAL) return read_decimal(arena, type, node, out);
    if (type_is_integer(type) && (memchr(text.at, '.', text.len) ||
                                  memchr(text.at, 'e', text.len) || memchr(text.at, 'E', text.len)))
        return wrong_type(node);
    int32_t status = value_read(arena, type, text, (ReadOptions){.point = '.'}, out);
    return status ? fault_of(status, text) : fine;
}

static JsonFault read_list(Arena *arena, const Type *type, const JsonNode *node,
                           const struct SbZone *zone, Value *out) {
    if (node->kind != JSON_ARRAY) return wrong_type(node);
    uint32_t count = 0;
    for (const JsonNode *child = node->first; child; child = child->next) count++;
    *out = (Value){.items = arena_new_array(arena, Value, count ? count : 1), .item_count = count};
    count = 0;
    for (const JsonNode *child = node->first; child; child = child->next) {
        JsonFault fault = json_read(arena, type->elem, child, zone, &out->items[count++]);
        if (fault.status) return fault;
    }
    return fine;
}

static uint32_t children_of(const JsonNode *node) {
    uint32_t count = 0;
    for (const JsonNode *child = node->first; child; child = child->next) count++;
    return count;
}

// The sizes of open dimensions: those of the first array there.
static JsonFault open_sizes(const Type *type, const JsonNode *node, uint32_t *sizes) {
    for (uint32_t i = 0; i < type->rank; i++)
        sizes[i] = dimension_is_open(type->shape[i]) ? 0 : type->shape[i];
    for (uint32_t i = 0; i < type->rank && node && node->kind == JSON_ARRAY; i++) {
        if (!sizes[i]) sizes[i] = children_of(node);
        if (!sizes[i]) return fault_of(SB_FAULT_NO_ELEMENTS, node->text);
        node = node->first;
    }
    return fine;
}

static JsonFault read_dimension(Arena *arena, const Type *type, const JsonNode *node,
                                uint32_t depth, Value **to) {
    if (node->kind != JSON_ARRAY) return fault_of(SB_FAULT_JSON_TYPE, node->text);
    if (children_of(node) != type->shape[depth]) return fault_of(SB_FAULT_SHAPE, node->text);
    for (const JsonNode *child = node->first; child; child = child->next) {
        JsonFault fault = depth + 1 < type->rank
                              ? read_dimension(arena, type, child, depth + 1, to)
                              : json_read(arena, type->elem, child, nullptr, (*to)++);
        if (fault.status) return fault;
    }
    return fine;
}

static JsonFault read_tensor(Arena *arena, const Type *type, const JsonNode *node, Value *out) {
    const uint32_t *sizes = nullptr;
    if (type_open_count(type)) {
        uint32_t *own = arena_new_array(arena, uint32_t, type->rank);
        JsonFault fault = open_sizes(type, node, own);
        if (fault.status) return fault;
        for (uint32_t i = 0; i < type->rank; i++) own[i] += !own[i];
        if (!type_shape_fits(type->elem, own, type->rank)) return fault_of(SB_FAULT_TOO_LARGE,
                                                                           (Text){0});
        sizes = own;
        type = value_shape(arena, type, &(Value){.sizes = sizes});
    }
    size_t count = type_elements(type);
    Value *to = arena_new_array(arena, Value, count);
    *out = (Value){.items = to, .item_count = (uint32_t)count, .sizes = sizes};
    return read_dimension(arena, type, node, 0, &to);
}

static JsonFault read_struct(Arena *arena, const Type *type, const JsonNode *node,
                             const struct SbZone *zone, Value *out) {
    if (node->kind != JSON_OBJECT) return wrong_type(node);
    *out =
        (Value){.items = arena_new_array(arena, Value, type->field_count ? type->field_count : 1),
                .item_count = type->field_count};
    for (uint32_t i = 0; i < type->field_count; i++) {
        const Field *field = &type->fields[i];
        JsonFault fault =
            json_read_member(arena, field->type, node, field->name, zone, &out->items[i]);
        if (fault.status) return fault;
    }
    return fine;
}

static JsonFault read_map(Arena *arena, const Type *type, const JsonNode *node,
                          const struct SbZone *zone, Value *out) {
    if (node->kind != JSON_OBJECT) return wrong_type(node);
    uint32_t count = 0;
    for (const JsonNode *child = node->first; child; child = child->next) count++;
    *out = (Value){.items = arena_new_array(arena, Value, count + 1)};
    for (const JsonNode *child = node->first; child; child = child->next) {
        Value *entry = arena_new_array(arena, Value, 2);
        if (child->lone_key) return fault_of(SB_FAULT_LONE_SURROGATE, (Text){0});
        entry[0] = value_text(child->key);
        JsonFault fault = json_read(arena, type_map_value(type), child, zone, &entry[1]);
        if (fault.status) return fault;
        out->items[out->item_count++] = (Value){.items = entry, .item_count = 2};
    }
    for (const JsonNode *a = node->first; a; a = a->next)
        for (const JsonNode *b = a->next; b; b = b->next)
            if (text_eq(a->key, b->key)) return fault_of(SB_FAULT_DUPLICATE_KEY, (Text){0});
    return fine;
}

static JsonFault read_base(Arena *arena, const Type *type, const JsonNode *node,
                           const struct SbZone *zone, Value *out) {
    switch (type->kind) {
    case TYPE_BOOL:
        *out = value_bool(node->text.at[0] == 't');
        return node->kind == JSON_BOOL ? fine : wrong_type(node);
    case TYPE_I8: case TYPE_I16: case TYPE_I32: case TYPE_I64:
    case TYPE_U8: case TYPE_U16: case TYPE_U32: case TYPE_U64:
    case TYPE_F16: case TYPE_BF16: case TYPE_F32: case TYPE_F64: case TYPE_DECIMAL:
        return read_number(arena, type, node, out);
    case TYPE_STR:
        if (node->kind != JSON_STRING) return wrong_type(node);
        *out = value_text(node->string);
        return fine;
    case TYPE_BYTES: case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_DURATION: {
        if (node->kind != JSON_STRING) return wrong_type(node);
        ReadOptions options = {.point = '.', .zone = zone};
        int32_t status = value_read(arena, type, node->string, options, out);
        return status ? fault_of(status, node->text) : fine;
    }
    case TYPE_JSON:
        *out = value_text(json_compact(arena, node->text));
        return fine;
    case TYPE_LIST:
        return read_list(arena, type, node, zone, out);
    case TYPE_STRUCT:
        return read_struct(arena, type, node, zone, out);
    case TYPE_TENSOR: return read_tensor(arena, type, node, out);
    case TYPE_MAP: return read_map(arena, type, node, zone, out);
    case TYPE_NULL: case TYPE_ERROR:
        break;
    }
    return wrong_type(node);
}

JsonFault json_read(Arena *arena, const Type *type, const JsonNode *node,
                    const struct SbZone *zone, Value *out) {
    if (node->kind != JSON_NULL) return read_base(arena, type_base(type), node, zone, out);
    *out = value_null();
    return type->nullable ? fine : fault_of(SB_FAULT_MISSING, (Text){0});
}

JsonFault json_read_member(Arena *arena, const Type *type, const JsonNode *object, Text key,
                           const struct SbZone *zone, Value *out) {
    const JsonNode *found = nullptr;
    for (const JsonNode *child = object->first; child; child = child->next) {
        if (!text_eq(child->key, key) || child->lone_key) continue;
        if (found) return fault_of(SB_FAULT_DUPLICATE_KEY, (Text){0});
        found = child;
    }
    if (found) return json_read(arena, type, found, zone, out);
    *out = value_null();
    return type->nullable ? fine : fault_of(SB_FAULT_MISSING, (Text){0});
}

// What is wrong with a whole value, whatever is wanted of it.
static JsonFault judge_whole(const JsonNode *node) {
    if (node->lone) return fault_of(SB_FAULT_LONE_SURROGATE, (Text){0});
    if (node->depth > JSON_DEPTH_MAX) return fault_of(SB_FAULT_NESTED_TOO_DEEP, (Text){0});
    return fine;
}

JsonFault json_read_column(Arena *arena, const Type *type, const JsonNode *object, Text key,
                           const struct SbZone *zone, Value *out) {
    const JsonNode *value = nullptr;
    for (const JsonNode *child = object->first; child; child = child->next)
        if (text_eq(child->key, key) && !child->lone_key) value = value ? object : child;
    JsonFault fault = value && value != object ? judge_whole(value) : fine;
    return fault.status ? fault : json_read_member(arena, type, object, key, zone, out);
}

// The only value of a text.
static JsonFault parse_whole(Arena *arena, Text text, const JsonNode **node) {
    *node = utf8_valid(text) ? json_parse(arena, text) : nullptr;
    return *node ? judge_whole(*node) : fault_of(SB_FAULT_JSON_TYPE, text);
}

JsonFault json_read_value(Arena *arena, const Type *type, Text text, const struct SbZone *zone,
                          Value *out) {
    const JsonNode *node;
    JsonFault fault = parse_whole(arena, text, &node);
    return fault.status ? fault : json_read(arena, type, node, zone, out);
}

JsonFault json_read_any(Arena *arena, Text text, Value *out) {
    const JsonNode *node;
    JsonFault fault = parse_whole(arena, text, &node);
    if (!fault.status) *out = value_text(json_compact(arena, node->text));
    return fault;
}
