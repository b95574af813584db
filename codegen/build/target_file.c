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

static bool take_level(Reader *reader, const yaml_node_t *node, unsigned *levels) {
    static const struct { const char *name; unsigned bit; } names[] = {
        {"x86-64-v3", LEVEL_V3}, {"x86-64-v4", LEVEL_V4}};
    for (size_t i = 0; i < countof(names); i++) {
        if (!is_word(node, names[i].name)) continue;
        *levels |= names[i].bit;
        return true;
    }
    return wrong_node(reader, node, "no such CPU level", "x86-64-v3, x86-64-v4, or both");
}

static bool take_levels(Reader *reader, yaml_node_t *value, unsigned *levels) {
    static const char fix[] = "levels: [x86-64-v3, x86-64-v4]";
    if (value->type == YAML_SCALAR_NODE) return take_level(reader, value, levels);
    if (value->type != YAML_SEQUENCE_NODE)
        return wrong_node(reader, value, "levels is a list of CPU levels", fix);
    const yaml_node_item_t *item = value->data.sequence.items.start;
    if (item == value->data.sequence.items.top)
        return wrong_node(reader, value, "no CPU level is left", fix);
    bool good = true;
    for (; item < value->data.sequence.items.top; item++)
        good &= take_level(reader, yaml_document_get_node(&reader->document, *item), levels);
    return good;
}

static bool take_document(Reader *reader, unsigned *levels) {
    static const char fix[] = "levels: [x86-64-v3, x86-64-v4]";
    yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    if (!root) return wrong(reader, (yaml_mark_t){0}, 1, "the target file is empty", fix);
    if (root->type != YAML_MAPPING_NODE)
        return wrong_node(reader, root, "a target file holds names and values", fix);
    bool seen = false, good = true;
    const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    for (; pair < root->data.mapping.pairs.top; pair++) {
        yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);
        if (!is_word(name, "levels")) {
            good = wrong_node(reader, name, "a target file has no such name", fix);
            continue;
        }
        if (seen) good = wrong_node(reader, name, "levels stands twice", "keep one of them");
        seen = true;
        *levels = 0;
        good &= take_levels(reader, yaml_document_get_node(&reader->document, pair->value), levels);
    }
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

bool target_file_read(Arena *arena, const char *path, unsigned *levels, TargetMistakes *mistakes) {
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
    *levels = LEVELS_BOTH;
    bool good;
    if (yaml_parser_load(&parser, &reader.document)) {
        good = take_document(&reader, levels);
        yaml_document_delete(&reader.document);
    } else {
        good = wrong(&reader, parser.problem_mark, 1,
                     parser.problem ? parser.problem : "no YAML", "write: name: value");
    }
    yaml_parser_delete(&parser);
    return good;
}
