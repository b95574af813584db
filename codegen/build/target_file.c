#include "codegen/build/target_file.h"

#include "runtime/abi/cpu_level.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

enum { TARGET_BYTES_MAX = 1 << 20 };

typedef struct Reader {
    const char     *path;
    Text            text;
    yaml_document_t document;
    Arena          *arena;
    TargetMistakes *mistakes;
} Reader;

static void add_mistake(Reader *reader, TextBuf *said) {
    TargetMistakes *all = reader->mistakes;
    arena_push(reader->arena, all->items, all->count, all->cap, text_buf_take(said, reader->arena));
}

// Says what is wrong at a line and column from 0, with the line and a caret below it.
static bool wrong(Reader *reader, yaml_mark_t mark, size_t width, const char *message,
                  const char *fix) {
    const char *at = reader->text.at, *end = at + reader->text.len;
    for (size_t line = 0; line < mark.line && at < end; at++) line += *at == '\n';
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    Text line = {at, (size_t)((stop ? stop : end) - at)};
    int digits = snprintf(nullptr, 0, "%zu", mark.line + 1);
    TextBuf said = {0};
    text_buf_format(&said, "%s\n  --> %s:%zu:%zu\n %*s |\n %zu | %.*s\n %*s | ", message,
                    reader->path, mark.line + 1, mark.column + 1, digits, "", mark.line + 1,
                    TEXT_ARG(line), digits, "");
    text_buf_pad(&said, mark.column);
    for (size_t i = 0; i < (width ? width : 1); i++) text_buf_char(&said, '^');
    text_buf_format(&said, "\n %*s = fix: %s", digits, "", fix);
    add_mistake(reader, &said);
    return false;
}

static bool wrong_node(Reader *reader, const yaml_node_t *node, const char *message,
                       const char *fix) {
    bool line = node->start_mark.line == node->end_mark.line;
    size_t width = line ? node->end_mark.column - node->start_mark.column : 1;
    return wrong(reader, node->start_mark, width, message, fix);
}

static bool is_word(const yaml_node_t *node, const char *word) {
    return node->type == YAML_SCALAR_NODE && node->data.scalar.length == strlen(word) &&
           memcmp(node->data.scalar.value, word, node->data.scalar.length) == 0;
}

// ---- names and their values ---------------------------------------------------------------------

static bool take_level(Reader *reader, const yaml_node_t *node, Target *target) {
    static const struct { const char *name; unsigned bit; } names[] = {
        {"x86-64-v3", LEVEL_V3}, {"x86-64-v4", LEVEL_V4}};
    for (size_t i = 0; i < countof(names); i++) {
        if (!is_word(node, names[i].name)) continue;
        target->levels |= names[i].bit;
        return true;
    }
    return wrong_node(reader, node, "no such CPU level", "x86-64-v3, x86-64-v4, or both");
}

static void drop_levels(Target *target) { target->levels = 0; }

// "sm_90"
static bool take_gpu(Reader *reader, const yaml_node_t *node, Target *target) {
    static const char fix[] = "sm_75, sm_80, sm_89, sm_90, sm_100, sm_120";
    unsigned number = 0;
    size_t len = node->type == YAML_SCALAR_NODE ? node->data.scalar.length : 0;
    const char *word = len ? (const char *)node->data.scalar.value : "";
    bool good = len > 3 && len <= 6 && strncmp(word, "sm_", 3) == 0;
    for (size_t i = 3; good && i < len; i++) {
        good = word[i] >= '0' && word[i] <= '9';
        number = number * 10 + (unsigned)(word[i] - '0');
    }
    if (!good) return wrong_node(reader, node, "no architecture of GPUs", fix);
    for (uint32_t i = 0; i < target->gpu_count; i++)
        if (target->gpus[i] == number) return true;
    if (target->gpu_count == TARGET_GPUS_MAX)
        return wrong_node(reader, node, "one architecture too many", "name 32 at most");
    target->gpus[target->gpu_count++] = number;
    return true;
}

static void drop_gpus(Target *target) { target->gpu_count = 0; }

static const struct {
    const char *name;
    void      (*drop)(Target *target);  // What holds unless the file says something.
    bool      (*take)(Reader *reader, const yaml_node_t *node, Target *target);
    const char *no_list, *none, *fix;
} names[] = {
    {"levels", drop_levels, take_level, "levels is a list of CPU levels", "no CPU level is left",
     "levels: [x86-64-v3, x86-64-v4]"},
    {"gpus", drop_gpus, take_gpu, "gpus is a list of architectures", "no architecture is left",
     "gpus: [sm_80, sm_90]"},
};

static bool take_list(Reader *reader, size_t name, yaml_node_t *value, Target *target) {
    names[name].drop(target);
    if (value->type == YAML_SCALAR_NODE) return names[name].take(reader, value, target);
    if (value->type != YAML_SEQUENCE_NODE)
        return wrong_node(reader, value, names[name].no_list, names[name].fix);
    const yaml_node_item_t *item = value->data.sequence.items.start;
    if (item == value->data.sequence.items.top)
        return wrong_node(reader, value, names[name].none, names[name].fix);
    bool good = true;
    for (; item < value->data.sequence.items.top; item++) {
        yaml_node_t *node = yaml_document_get_node(&reader->document, *item);
        good &= names[name].take(reader, node, target);
    }
    return good;
}

static bool take_pair(Reader *reader, const yaml_node_pair_t *pair, bool *seen, Target *target) {
    yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);
    size_t i = 0;
    while (i < countof(names) && !is_word(name, names[i].name)) i++;
    if (i == countof(names))
        return wrong_node(reader, name, "a target file has no such name",
                          "levels: [x86-64-v3, x86-64-v4]");
    const char *twice = text_c(reader->arena,
                               text_format(reader->arena, "%s stands twice", names[i].name));
    bool good = !seen[i] || wrong_node(reader, name, twice, "keep one of them");
    seen[i] = true;
    yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);
    return take_list(reader, i, value, target) && good;
}

static bool take_document(Reader *reader, Target *target) {
    static const char fix[] = "levels: [x86-64-v3, x86-64-v4]";
    yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    if (!root) return wrong(reader, (yaml_mark_t){0}, 1, "the target file is empty", fix);
    if (root->type != YAML_MAPPING_NODE)
        return wrong_node(reader, root, "a target file holds names and values", fix);
    bool seen[countof(names)] = {0}, good = true;
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    for (; pair < root->data.mapping.pairs.top; pair++)
        good &= take_pair(reader, pair, seen, target);
    return good;
}

static bool load_text(Reader *reader) {
    char *bytes = arena_alloc(reader->arena, TARGET_BYTES_MAX, 1);
    FILE *file = fopen(reader->path, "rb");
    size_t len = file ? fread(bytes, 1, TARGET_BYTES_MAX, file) : 0;
    bool good = file && !ferror(file) && len < TARGET_BYTES_MAX;
    TextBuf said = {0};
    if (!good) {
        text_buf_format(&said, "the target file %s cannot be read: %s", reader->path,
                        len == TARGET_BYTES_MAX ? "it is bigger than 1 MiB" : strerror(errno));
        add_mistake(reader, &said);
    }
    if (file) fclose(file);
    reader->text = (Text){bytes, len};
    return good;
}

unsigned target_native(void) { return sb_cpu_level() >= 1 ? LEVEL_V4 : LEVEL_V3; }

bool target_file_read(Arena *arena, const char *path, Target *target, TargetMistakes *mistakes) {
    Reader reader = {.path = path, .arena = arena, .mistakes = mistakes};
    if (!load_text(&reader)) return false;
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        TextBuf said = {0};
        text_buf_add(&said, TEXT("out of memory"));
        add_mistake(&reader, &said);
        return false;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)reader.text.at, reader.text.len);
    *target = (Target){.levels = LEVELS_BOTH};
    bool good;
    if (yaml_parser_load(&parser, &reader.document)) {
        good = take_document(&reader, target);
        yaml_document_delete(&reader.document);
    } else {
        good = wrong(&reader, parser.problem_mark, 1,
                     parser.problem ? parser.problem : "no YAML", "write: name: value");
    }
    yaml_parser_delete(&parser);
    return good;
}
