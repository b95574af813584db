// JSON access: walks checked text; nothing is parsed twice, nothing recurses.
#include "stdlib/json/json_access.h"

#include "stdlib/json/json_text.h"
#include "stdlib/number.h"
#include "stdlib/text.h"

// ---- members of an object or array --------------------------------------------------------------

typedef struct Walk {
    const char *at, *end;
    bool        object;
    SbStr       key;    // With its quotes.
    SbStr       value;
} Walk;

// False: neither an object nor an array.
static bool walk_open(Walk *walk, SbStr json) {
    const char *end = json.ptr + json.len, *at = sb_json_space(json.ptr, end);
    *walk = (Walk){.at = at, .end = end};
    if (at == end || (*at != '{' && *at != '[')) return false;
    walk->object = *at == '{';
    walk->at++;
    return true;
}

static bool walk_next(Walk *walk) {
    const char *at = sb_json_space(walk->at, walk->end);
    if (*at == ',') at = sb_json_space(at + 1, walk->end);
    if (*at == '}' || *at == ']') return false;
    if (walk->object) {
        const char *behind = sb_json_string_end(at);
        walk->key = (SbStr){at, behind - at};
        at = sb_json_space(behind, walk->end);
        at = sb_json_space(at + 1, walk->end);  // The colon.
    }
    walk->at = sb_json_value_end(at, walk->end);
    walk->value = (SbStr){at, walk->at - at};
    return true;
}

// The text of a JSON string, escapes undone.
static int32_t string_text(SbCall *call, SbStr quoted, SbStr *out) {
    SbJsonSlot slot = {.ptr = quoted.ptr, .len = quoted.len, .kind = SB_JSON_STRING,
                       .escapes = memchr(quoted.ptr, '\\', (size_t)quoted.len) != nullptr};
    return sb_json_string(call, &slot, out);
}

static int32_t member(SbCall *call, SbStr json, SbStr key, SbStr *out) {
    Walk walk;
    if (!walk_open(&walk, json) || !walk.object) return SB_NULL;
    while (walk_next(&walk)) {
        SbStr name;
        int32_t status = string_text(call, walk.key, &name);
        if (status == SB_FAULT_LONE_SURROGATE) continue;  // Equal to no text.
        if (status) return status;
        if (name.len != key.len || (key.len && memcmp(name.ptr, key.ptr, (size_t)key.len) != 0))
            continue;
        *out = walk.value;
        return SB_OK;
    }
    return SB_NULL;
}

static int64_t count_items(SbStr json) {
    Walk walk;
    int64_t count = 0;
    for (walk_open(&walk, json); walk_next(&walk);) count++;
    return count;
}

static int32_t item(SbStr json, int64_t index, SbStr *out) {
    Walk walk;
    if (!walk_open(&walk, json) || walk.object) return SB_NULL;
    if (index < 0) index += count_items(json);
    if (index < 0) return SB_NULL;
    while (walk_next(&walk)) {
        if (index--) continue;
        *out = walk.value;
        return SB_OK;
    }
    return SB_NULL;
}

// ---- paths --------------------------------------------------------------------------------------

typedef struct Step {
    bool    is_key;
    SbStr   key;
    int64_t index;
} Step;

// index = "[" ["-"] DIGIT+ "]"     After the "[".
static bool read_index(SbStr path, int64_t *at, Step *step) {
    bool minus = *at < path.len && path.ptr[*at] == '-';
    int64_t begin = *at += minus;
    for (step->index = 0; *at < path.len && sb_is_digit(path.ptr[*at]); ++*at)
        if (step->index < INT32_MAX) step->index = step->index * 10 + (path.ptr[*at] - '0');
    if (minus) step->index = -step->index;
    if (*at == begin || *at == path.len || path.ptr[*at] != ']') return false;
    ++*at;
    return true;
}

// step = index | key | '"' any text but '"' '"'     Keys are parted by ".".
static bool read_step(SbStr path, int64_t *at, Step *step) {
    bool dot = path.ptr[*at] == '.' && *at > 0, first = *at == 0;
    *at += dot;
    *step = (Step){.is_key = true};
    if (*at == path.len) return false;
    if (path.ptr[*at] == '[') {
        ++*at;
        step->is_key = false;
        return !dot && read_index(path, at, step);
    }
    if (!dot && !first) return false;
    bool quoted = path.ptr[*at] == '"';
    int64_t begin = *at += quoted;
    while (*at < path.len && (quoted ? path.ptr[*at] != '"'
                                     : path.ptr[*at] != '.' && path.ptr[*at] != '['))
        ++*at;
    step->key = (SbStr){path.ptr + begin, *at - begin};
    // The root of other languages: nearly always meant as that, and then no key.
    bool root = first && step->key.len == 1 && step->key.ptr[0] == '$';
    if (!quoted) return step->key.len > 0 && !root;
    return (*at)++ < path.len;
}

int64_t sb_json_path_fault(SbStr path) {
    for (int64_t at = 0; at < path.len;) {
        Step step;
        if (!read_step(path, &at, &step)) return at;
    }
    return -1;
}

static int32_t find(SbCall *call, SbStr json, SbStr path, SbStr *out) {
    bool found = true;
    for (int64_t at = 0; at < path.len;) {
        Step step;
        if (!read_step(path, &at, &step)) return SB_FAULT_BAD_ARGUMENT;
        if (!found) continue;  // The rest of the path is checked all the same.
        int32_t status = step.is_key ? member(call, json, step.key, &json)
                                     : item(json, step.index, &json);
        if (status > SB_NULL) return status;
        found = status == SB_OK;
    }
    if (!found) return SB_NULL;
    const char *end = json.ptr + json.len, *begin = sb_json_space(json.ptr, end);
    while (end > begin && (end[-1] == ' ' || (end[-1] >= '\t' && end[-1] <= '\r'))) end--;
    *out = (SbStr){begin, end - begin};
    return json.len && *begin == 'n' ? SB_NULL : SB_OK;
}

// ---- functions ----------------------------------------------------------------------------------

int32_t sb_json_get(SbCall *call, SbStr json, SbStr path, SbStr *out) {
    return find(call, json, path, out);
}

static int32_t wrong_kind(SbCall *call, SbStr value) {
    call->detail = value;
    return SB_FAULT_JSON_TYPE;
}

int32_t sb_json_get_str(SbCall *call, SbStr json, SbStr path, SbStr *out) {
    SbStr value;
    int32_t status = find(call, json, path, &value);
    if (status) return status;
    return *value.ptr == '"' ? string_text(call, value, out) : wrong_kind(call, value);
}

static bool is_number(SbStr value) { return *value.ptr == '-' || sb_is_digit(*value.ptr); }

int32_t sb_json_get_i64(SbCall *call, SbStr json, SbStr path, int64_t *out) {
    SbStr value;
    int32_t status = find(call, json, path, &value);
    if (status) return status;
    status = is_number(value) ? sb_read_i64(value.ptr, value.len, out) : SB_FAULT_BAD_INTEGER;
    if (status == SB_FAULT_BAD_INTEGER) return wrong_kind(call, value);
    if (status) call->detail = value;
    return status;
}

int32_t sb_json_get_f64(SbCall *call, SbStr json, SbStr path, double *out) {
    SbStr value;
    int32_t status = find(call, json, path, &value);
    if (status) return status;
    if (!is_number(value)) return wrong_kind(call, value);
    status = sb_read_f64(value.ptr, value.len, out);
    if (status) call->detail = value;
    return status;
}

int32_t sb_json_get_bool(SbCall *call, SbStr json, SbStr path, bool *out) {
    SbStr value;
    int32_t status = find(call, json, path, &value);
    if (status) return status;
    *out = *value.ptr == 't';
    return *value.ptr == 't' || *value.ptr == 'f' ? SB_OK : wrong_kind(call, value);
}

int32_t sb_json_kind(SbCall *call, SbStr json, SbStr *out) {
    SbStr value;
    int32_t status = find(call, json, SB_LITERAL(""), &value);
    if (status > SB_NULL) return status;
    switch (status == SB_NULL ? 'n' : *value.ptr) {
    case 'n': *out = SB_LITERAL("null"); break;
    case 't': case 'f': *out = SB_LITERAL("bool"); break;
    case '"': *out = SB_LITERAL("str"); break;
    case '[': *out = SB_LITERAL("list"); break;
    case '{': *out = SB_LITERAL("struct"); break;
    default: *out = SB_LITERAL("number"); break;
    }
    return SB_OK;
}

int32_t sb_json_len(SbCall *call, SbStr json, int64_t *out) {
    Walk walk;
    if (!walk_open(&walk, json)) return wrong_kind(call, json);
    *out = count_items(json);
    return SB_OK;
}

int32_t sb_json_keys(SbCall *call, SbStr json, SbList *out) {
    Walk walk;
    if (!walk_open(&walk, json) || !walk.object) return wrong_kind(call, json);
    SbBuild build = {.call = call};
    while (walk_next(&walk)) {
        SbStr name;
        int32_t status = string_text(call, walk.key, &name);
        if (status) return status;
        if (!sb_build_str(&build, name)) return SB_FAULT_TOO_LARGE;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

// The elements of a list, or the values of a struct.
static int32_t children(SbCall *call, SbStr json, bool object, SbList *out) {
    Walk walk;
    if (!walk_open(&walk, json) || walk.object != object) return wrong_kind(call, json);
    SbBuild build = {.call = call};
    while (walk_next(&walk)) {
        if (!sb_build_str(&build, walk.value)) return SB_FAULT_TOO_LARGE;
    }
    *out = sb_build_list(&build, sizeof(SbStr));
    return SB_OK;
}

int32_t sb_json_items(SbCall *call, SbStr json, SbList *out) {
    return children(call, json, false, out);
}

int32_t sb_json_values(SbCall *call, SbStr json, SbList *out) {
    return children(call, json, true, out);
}

int32_t sb_json_parse(SbCall *call, SbStr text, SbStr *out) {
    SbJsonSlot slot;
    int32_t status = sb_json_slot(call, text.ptr, text.len, &slot);
    if (status == SB_OK) status = sb_json_check(&slot);
    if (status == SB_OK) status = sb_json_compact(call, &slot, out);
    if (status) call->detail = text;
    return status;
}

int32_t sb_json_of(SbCall *call, const SbType *type, const void *x, SbStr *out) {
    int64_t room = sb_json_size_max(type, x);
    char *text = sb_alloc(call, room + SB_SLACK);
    if (!text) return SB_FAULT_TOO_LARGE;
    char *end = sb_json_put_value(text, type, x);
    sb_shrink(call, text, end - text);
    *out = (SbStr){text, end - text};
    return SB_OK;
}
