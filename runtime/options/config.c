#define _GNU_SOURCE
#include "runtime/options/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { FIX_MAX = 128 };

typedef struct Config {
    Options     *options;
    const SbJob *job;
    Trouble     *trouble;
    char        *text;
    size_t       len;
    yaml_document_t document;
    uint32_t     set;       // Own options set by this file.
} Config;

// "  --> run.yaml:3:8", the line and a caret below it; lives as long as the process.
static char *show_place(const Config *config, yaml_mark_t mark) {
    size_t at = 0;
    for (size_t line = 0; line < mark.line && at < config->len; at++)
        line += config->text[at] == '\n';
    size_t end = at;
    while (end < config->len && config->text[end] != '\n' && end - at < 200) end++;
    char *shown = nullptr;
    int digits = snprintf(nullptr, 0, "%zu", mark.line + 1);
    int len = asprintf(&shown, "  --> %s:%zu:%zu\n %*s |\n %zu | %.*s\n %*s | %*s",
                       config->options->config, mark.line + 1, mark.column + 1, digits, "",
                       mark.line + 1, (int)(end - at), config->text + at, digits, "",
                       (int)mark.column + 1, "^");
    return len < 0 ? nullptr : shown;
}

static bool fail_at(const Config *config, yaml_mark_t mark, const char *message, const char *fix) {
    char *shown = show_place(config, mark);
    Trouble *trouble = trouble_more(config->trouble);
    if (trouble->kind == TROUBLE_NONE) {
        trouble_set(trouble, TROUBLE_CONFIG, "%s\n%s", message, shown ? shown : "");
        trouble_fix(trouble, "%s", fix);
    }
    free(shown);
    return false;
}

static bool set_option(Config *config, OptionKind kind, const yaml_node_t *value) {
    bool flag = kind == OPTION_HELP || kind == OPTION_PARAMS || kind == OPTION_PLAN ||
                kind == OPTION_LICENSES || kind == OPTION_DEVICES || kind == OPTION_CHECK ||
                kind == OPTION_OVERWRITE || kind == OPTION_SHOW_ROWS;
    if (value->type == YAML_SEQUENCE_NODE &&
        (kind == OPTION_RESOURCE || kind == OPTION_WORKER)) {
        yaml_node_item_t *item = value->data.sequence.items.start;
        bool good = true;
        for (; item < value->data.sequence.items.top; item++)
            good &= set_option(config, kind, yaml_document_get_node(&config->document, *item));
        return good;
    }
    if (value->type != YAML_SCALAR_NODE)
        return fail_at(config, value->start_mark, "expected one value", "write: NAME: VALUE");
    if (kind == OPTION_CONFIG)
        return fail_at(config, value->start_mark, "a configuration names no other",
                       "leave the line out");
    if (config->options->seen & UINT64_C(1) << kind) return true;
    const char *text = (const char *)value->data.scalar.value;
    if (flag) {
        if (strcmp(text, "false") == 0) return true;
        if (strcmp(text, "true") != 0)
            return fail_at(config, value->start_mark, "expected true or false",
                           "write true, or leave the line out");
        text = nullptr;
    }
    // The document dies with this file; the value does not.
    char *copy = text ? strdup(text) : nullptr;
    Trouble reason = {0};
    if (options_set(config->options, kind, copy, &reason)) return true;
    free(copy);
    const char *fix = reason.fix[0] ? reason.fix : trouble_fix_text(TROUBLE_CONFIG);
    return fail_at(config, value->start_mark, reason.text, fix);
}

// `node`: one value of the parameter, or null: the list that it is has none.
static bool add_text(Config *config, uint32_t param, const yaml_node_t *value,
                     const yaml_node_t *node) {
    char *copy = node ? strdup((const char *)node->data.scalar.value) : nullptr;
    if (node && !copy)
        return trouble_no_memory(trouble_more(config->trouble), "for the options");
    yaml_mark_t mark = node ? node->start_mark : value->start_mark;
    return options_add_text(config->options, config->job,
                            (ParamText){.param = param, .text = copy, .from_config = true,
                                        .shown = show_place(config, mark)},
                            trouble_more(config->trouble));
}

static bool add_param(Config *config, uint32_t param, const yaml_node_t *value) {
    if (value->type == YAML_SCALAR_NODE) return add_text(config, param, value, value);
    bool list = config->job->params[param].type->kind == SB_LIST;
    if (value->type != YAML_SEQUENCE_NODE || !list) {
        const char *message = list ? "expected a value or a list of values" : "expected one value";
        return fail_at(config, value->start_mark, message,
                       list ? "write: NAME: [VALUE, VALUE]" : "write: NAME: VALUE");
    }
    const yaml_node_item_t *item = value->data.sequence.items.start;
    if (item == value->data.sequence.items.top) return add_text(config, param, value, nullptr);
    bool good = true;
    for (; item < value->data.sequence.items.top; item++) {
        const yaml_node_t *node = yaml_document_get_node(&config->document, *item);
        good &= node->type == YAML_SCALAR_NODE
                    ? add_text(config, param, value, node)
                    : fail_at(config, node->start_mark, "expected one value",
                              "write: NAME: [VALUE, VALUE]");
    }
    return good;
}

static bool is_set(const Config *config, uint32_t param) {
    for (uint32_t i = 0; i < config->options->text_count; i++) {
        const ParamText *text = &config->options->texts[i];
        if (text->param == param && text->from_config) return true;
    }
    return false;
}

static bool stands_twice(const Config *config, const yaml_node_t *key) {
    return fail_at(config, key->start_mark, "the name stands twice", "keep one of them");
}

static bool read_pair(Config *config, yaml_node_t *key, yaml_node_t *value) {
    if (key->type != YAML_SCALAR_NODE)
        return fail_at(config, key->start_mark, "expected a name", "write: NAME: VALUE");
    SbStr name = {(const char *)key->data.scalar.value, (int64_t)key->data.scalar.length};
    uint32_t param = options_param(config->job, name.ptr, (size_t)name.len);
    if (param < config->job->param_count)
        return is_set(config, param) ? stands_twice(config, key) : add_param(config, param, value);
    OptionKind kind = options_find(name.ptr, (size_t)name.len);
    if (kind != OPTION_KINDS) {
        if (config->set & UINT64_C(1) << kind) return stands_twice(config, key);
        config->set |= UINT64_C(1) << kind;
        return set_option(config, kind, value);
    }
    SbStr near = nearest_name(name, options_name, config->job,
                                 OPTION_KINDS + config->job->param_count);
    char fix[FIX_MAX] = "see --help";
    if (near.len > 0) snprintf(fix, sizeof fix, "did you mean '%.*s'?", (int)near.len, near.ptr);
    return fail_at(config, key->start_mark, "no option or parameter has this name", fix);
}

static bool read_document(Config *config) {
    yaml_node_t *root = yaml_document_get_root_node(&config->document);
    if (!root) return true;
    if (root->type != YAML_MAPPING_NODE) {
        return fail_at(config, root->start_mark, "expected lines 'NAME: VALUE'",
                       "write: NAME: VALUE");
    }
    yaml_node_pair_t *pair = root->data.mapping.pairs.start;
    bool good = true;
    for (; pair < root->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(&config->document, pair->key);
        yaml_node_t *value = yaml_document_get_node(&config->document, pair->value);
        good &= read_pair(config, key, value);
    }
    return good;
}

// The whole file; configurations are small.
static bool load(Config *config) {
    enum { CONFIG_BYTES_MAX = 1 << 20 };
    const char *path = config->options->config;
    FILE *file = fopen(path, "re");
    if (!file) {
        Trouble *trouble = trouble_more(config->trouble);
        trouble_set(trouble, TROUBLE_CONFIG, "cannot open '%s': %s", path, strerror(errno));
        return trouble_fix(trouble, "correct the path; it is relative to the working folder"),
               false;
    }
    config->text = malloc(CONFIG_BYTES_MAX);
    config->len = config->text ? fread(config->text, 1, CONFIG_BYTES_MAX, file) : 0;
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (config->text && !error && config->len < CONFIG_BYTES_MAX) return true;
    return trouble_set(trouble_more(config->trouble), TROUBLE_CONFIG, "cannot read '%s': %s", path,
                       error ? strerror(error) : "it is over 1 MiB");
}

static bool load_document(Config *config, yaml_parser_t *parser) {
    if (yaml_parser_load(parser, &config->document)) return true;
    return fail_at(config, parser->problem_mark,
                   parser->problem ? parser->problem : "this is no YAML", "write: NAME: VALUE");
}

// One document, and no other after it.
static bool read_documents(Config *config, yaml_parser_t *parser) {
    if (!load_document(config, parser)) return false;
    bool good = read_document(config);
    yaml_document_delete(&config->document);
    if (!load_document(config, parser)) return false;
    const yaml_node_t *second = yaml_document_get_root_node(&config->document);
    if (second)
        good = fail_at(config, second->start_mark, "a second document begins", "keep one of them");
    yaml_document_delete(&config->document);
    return good;
}

bool config_read(Options *options, const SbJob *job, Trouble *trouble) {
    Config config = {.options = options, .job = job, .trouble = trouble};
    if (!load(&config)) {
        free(config.text);
        return false;
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        free(config.text);
        return trouble_no_memory(trouble_more(trouble), "for the configuration");
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)config.text, config.len);
    bool good = read_documents(&config, &parser);
    yaml_parser_delete(&parser);
    free(config.text);
    return good;
}
