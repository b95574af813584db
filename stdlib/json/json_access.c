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

typedef enum StepKind { STEP_KEY, STEP_INDEX, STEP_ALL } StepKind;

typedef struct Step {
    StepKind kind;
    SbStr    key;
    int64_t  index;
} Step;

// Where the steps of a path begin: a $ in front of a step, or alone, is the value itself.
static int64_t path_begin(SbStr path) {
    bool root = path.len && path.ptr[0] == '$';
    return root && (path.len == 1 || path.ptr[1] == '.' || path.ptr[1] == '[');
}

// index = "[" ("*" | ["-"] DIGIT+) "]"     After the "[".
static bool read_index(SbStr path, int64_t *at, Step *step) {
    const bool all = *at < path.len && path.ptr[*at] == '*';
    const bool minus = *at < path.len && path.ptr[*at] == '-';
    int64_t begin = *at += minus;
    *at += all;
    step->kind = all ? STEP_ALL : STEP_INDEX;
    for (step->index = 0; !all && *at < path.len && sb_is_digit(path.ptr[*at]); ++*at)
        if (step->index < INT32_MAX) step->index = step->index * 10 + (path.ptr[*at] - '0');
    if (minus) step->index = -step->index;
    if (*at == begin || *at == path.len || path.ptr[*at] != ']') return false;
    ++*at;
    return true;
}

// step = index | key | "*" | '"' any text but '"' '"'     Keys are parted by ".".
static bool read_step(SbStr path, int64_t *at, Step *step) {
    bool dot = path.ptr[*at] == '.' && *at > 0, first = *at == 0;
    *at += dot;
    *step = (Step){.kind = STEP_KEY};
    if (*at == path.len) return false;
    if (path.ptr[*at] == '[') {
        ++*at;
        return !dot && read_index(path, at, step);
    }
    if (!dot && !first) return false;
    bool quoted = path.ptr[*at] == '"';
    int64_t begin = *at += quoted;
    while (*at < path.len && (quoted ? path.ptr[*at] != '"'
                                     : path.ptr[*at] != '.' && path.ptr[*at] != '['))
        ++*at;
    step->key = (SbStr){path.ptr + begin, *at - begin};
    if (quoted) return (*at)++ < path.len;
    if (step->key.len == 1 && step->key.ptr[0] == '*') step->kind = STEP_ALL;
    return step->key.len > 0;
}

int64_t sb_json_path_fault(SbStr path, bool many) {
    for (int64_t at = path_begin(path); at < path.len;) {
        Step step;
        int64_t begin = at;
        if (!read_step(path, &at, &step)) return at;
        if (step.kind == STEP_ALL && !many) return begin;
    }
    return -1;
}

// Without white space around it.
static SbStr trimmed(SbStr json) {
    const char *end = json.ptr + json.len, *begin = sb_json_space(json.ptr, end);
    while (end > begin && (end[-1] == ' ' || (end[-1] >= '\t' && end[-1] <= '\r'))) end--;
    return (SbStr){begin, end - begin};
}

static int32_t find(SbCall *call, SbStr json, SbStr path, SbStr *out) {
    bool found = true;
    for (int64_t at = path_begin(path); at < path.len;) {
        Step step;
        if (!read_step(path, &at, &step) || step.kind == STEP_ALL) return SB_FAULT_BAD_ARGUMENT;
        if (!found) continue;  // The rest of the path is checked all the same.
        int32_t status = step.kind == STEP_KEY ? member(call, json, step.key, &json)
                                               : item(json, step.index, &json);
        if (status > SB_NULL) return status;
        found = status == SB_OK;
    }
    if (!found) return SB_NULL;
    *out = trimmed(json);
    return json.len && *out->ptr == 'n' ? SB_NULL : SB_OK;
}

// Adds what the rest of a good path leads to. As deep as the value is, at most.
static int32_t collect(SbBuild *found, SbStr json, SbStr path, int64_t at) {
    while (at < path.len) {
        Step step;
        int32_t status = SB_OK;
        read_step(path, &at, &step);
        if (step.kind == STEP_ALL) {
            Walk walk;
            if (!walk_open(&walk, json)) return SB_OK;
            while (!status && walk_next(&walk)) status = collect(found, walk.value, path, at);
            return status;
        }
        status = step.kind == STEP_KEY ? member(found->call, json, step.key, &json)
                                       : item(json, step.index, &json);
        if (status) return status == SB_NULL ? SB_OK : status;
    }
    json = trimmed(json);
    if (json.len && *json.ptr == 'n') return SB_OK;
    return sb_build_str(found, json) ? SB_OK : SB_FAULT_TOO_LARGE;
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

// ---- many values --------------------------------------------------------------------------------

int32_t sb_json_all(SbCall *call, SbStr json, SbStr path, SbList *out) {
    SbBuild found = {.call = call};
    if (sb_json_path_fault(path, true) >= 0) return SB_FAULT_BAD_ARGUMENT;
    int32_t status = collect(&found, json, path, path_begin(path));
    if (status == SB_OK) *out = sb_build_list(&found, sizeof(SbStr));
    return status;
}

// Each value as what the function for one gives at the path "". A value that is none is blamed.
#define ALL_OF(T, get)                                                                            \
    do {                                                                                          \
        SbList found;                                                                             \
        int32_t status = sb_json_all(call, json, path, &found);                                   \
        if (status) return status;                                                                \
        T *values = sb_alloc(call, found.len * (int64_t)sizeof *values);                          \
        if (!values) return SB_FAULT_TOO_LARGE;                                                   \
        for (int64_t i = 0; i < found.len && !status; i++)                                        \
            status = get(call, ((const SbStr *)found.ptr)[i], SB_LITERAL(""), &values[i]);        \
        *out = (SbList){values, found.len};                                                       \
        return status;                                                                            \
    } while (0)

int32_t sb_json_all_str(SbCall *call, SbStr json, SbStr path, SbList *out) {
    ALL_OF(SbStr, sb_json_get_str);
}

int32_t sb_json_all_i64(SbCall *call, SbStr json, SbStr path, SbList *out) {
    ALL_OF(int64_t, sb_json_get_i64);
}

int32_t sb_json_all_f64(SbCall *call, SbStr json, SbStr path, SbList *out) {
    ALL_OF(double, sb_json_get_f64);
}

int32_t sb_json_all_bool(SbCall *call, SbStr json, SbStr path, SbList *out) {
    ALL_OF(bool, sb_json_get_bool);
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
