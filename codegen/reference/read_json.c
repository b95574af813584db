#include "codegen/reference/read_json.h"

#include "runtime/abi.h"

#include <string.h>

typedef struct Parser {
    Arena      *arena;
    const char *at, *end;
} Parser;

static void skip_space(Parser *parser) {
    while (parser->at < parser->end && *parser->at && strchr(" \t\n\r", *parser->at)) parser->at++;
}

static bool take(Parser *parser, char c) {
    if (parser->at == parser->end || *parser->at != c) return false;
    parser->at++;
    return true;
}

static bool take_word(Parser *parser, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(parser->end - parser->at) < len || memcmp(parser->at, word, len) != 0)
        return false;
    parser->at += len;
    return true;
}

static bool take_digits(Parser *parser) {
    const char *begin = parser->at;
    while (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9') parser->at++;
    return parser->at > begin;
}

static bool take_number(Parser *parser) {
    take(parser, '-');
    if (!take(parser, '0') && !take_digits(parser)) return false;
    if (take(parser, '.') && !take_digits(parser)) return false;
    if (take(parser, 'e') || take(parser, 'E')) {
        if (!take(parser, '+')) take(parser, '-');
        if (!take_digits(parser)) return false;
    }
    return true;
}

static bool take_hex(Parser *parser, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, parser->at++) {
        if (parser->at == parser->end) return false;
        char c = *parser->at;
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
                       : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                       : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10) : 16;
        if (digit > 15) return false;
        *code = *code << 4 | digit;
    }
    return true;
}

static void add_utf8(TextBuf *buf, uint32_t code) {
    if (code < 0x80) {
        text_buf_char(buf, (char)code);
    } else if (code < 0x800) {
        text_buf_char(buf, (char)(0xc0 | code >> 6));
        text_buf_char(buf, (char)(0x80 | (code & 63)));
    } else if (code < 0x10000) {
        text_buf_char(buf, (char)(0xe0 | code >> 12));
        text_buf_char(buf, (char)(0x80 | (code >> 6 & 63)));
        text_buf_char(buf, (char)(0x80 | (code & 63)));
    } else {
        text_buf_char(buf, (char)(0xf0 | code >> 18));
        text_buf_char(buf, (char)(0x80 | (code >> 12 & 63)));
        text_buf_char(buf, (char)(0x80 | (code >> 6 & 63)));
        text_buf_char(buf, (char)(0x80 | (code & 63)));
    }
}

// After "\u": the character, with its second half where it has one.
static bool take_unicode(Parser *parser, TextBuf *buf, bool *lone) {
    uint32_t code, low;
    if (!take_hex(parser, &code)) return false;
    if (code < 0xd800 || code > 0xdfff) {
        add_utf8(buf, code);
        return true;
    }
    const char *behind = parser->at;
    if (code < 0xdc00 && take_word(parser, "\\u")) {
        if (!take_hex(parser, &low)) return false;
        if (low >= 0xdc00 && low <= 0xdfff) {
            add_utf8(buf, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
            return true;
        }
        parser->at = behind;  // The next escape stands for itself.
    }
    *lone = true;
    return true;
}

static bool take_escape(Parser *parser, TextBuf *buf, bool *lone) {
    if (parser->at == parser->end) return false;
    char c = *parser->at++;
    switch (c) {
    case '"': case '\\': case '/': text_buf_char(buf, c); return true;
    case 'b': text_buf_char(buf, '\b'); return true;
    case 'f': text_buf_char(buf, '\f'); return true;
    case 'n': text_buf_char(buf, '\n'); return true;
    case 'r': text_buf_char(buf, '\r'); return true;
    case 't': text_buf_char(buf, '\t'); return true;
    case 'u': return take_unicode(parser, buf, lone);
    default: return false;
    }
}

static bool take_string(Parser *parser, Text *out, bool *lone) {
    TextBuf buf = {0};
    bool closed = false;
    if (!take(parser, '"')) return false;
    while (parser->at < parser->end) {
        char c = *parser->at++;
        if (c == '"') {
            closed = true;
            break;
        }
        if ((unsigned char)c < 0x20) break;
        if (c != '\\') text_buf_char(&buf, c);
        else if (!take_escape(parser, &buf, lone)) break;
    }
    // Strings may be read beyond their end.
    char *bytes = arena_alloc(parser->arena, buf.len + SB_SLACK, 1);
    if (buf.len) memcpy(bytes, buf.at, buf.len);
    *out = (Text){bytes, buf.len};
    text_buf_free(&buf);
    return closed;
}

// A scalar, or the opening bracket of an array or object.
static JsonNode *take_node(Parser *parser) {
    JsonNode *node = arena_new_of(parser->arena, JsonNode);
    const char *begin = parser->at;
    bool good = true;
    if (parser->at == parser->end) return nullptr;
    switch (*begin) {
    case '{': node->kind = JSON_OBJECT; parser->at++; break;
    case '[': node->kind = JSON_ARRAY; parser->at++; break;
    case '"':
        node->kind = JSON_STRING;
        good = take_string(parser, &node->string, &node->lone);
        break;
    case 't': node->kind = JSON_BOOL; good = take_word(parser, "true"); break;
    case 'f': node->kind = JSON_BOOL; good = take_word(parser, "false"); break;
    case 'n': node->kind = JSON_NULL; good = take_word(parser, "null"); break;
    default: node->kind = JSON_NUMBER; good = take_number(parser);
    }
    node->text = (Text){begin, (size_t)(parser->at - begin)};
    return good ? node : nullptr;
}

typedef struct Open {
    JsonNode *node;
    JsonNode **tail;     // Where the next child goes.
} Open;

// What a closed child means for the node that holds it.
static void close_child(JsonNode *parent, const JsonNode *child) {
    parent->lone |= child->lone || child->lone_key;
    if (parent->depth < child->depth + 1) parent->depth = child->depth + 1;
}

// Closes brackets as long as they close; false: bad text between a value and what follows.
static bool close_brackets(Parser *parser, Open *stack, size_t *depth) {
    while (*depth) {
        Open *top = &stack[*depth - 1];
        JsonNode *node = top->node;
        skip_space(parser);
        if (node->first && take(parser, ',')) {
            skip_space(parser);
            return true;
        }
        if (!take(parser, node->kind == JSON_OBJECT ? '}' : ']')) return !node->first;
        node->text.len = (size_t)(parser->at - node->text.at);
        if (!node->depth) node->depth = 1;
        if (--*depth) close_child(stack[*depth - 1].node, node);
    }
    return true;
}

static bool take_key(Parser *parser, Text *key, bool *lone) {
    if (!take_string(parser, key, lone)) return false;
    skip_space(parser);
    if (!take(parser, ':')) return false;
    skip_space(parser);
    return true;
}

JsonNode *json_parse(Arena *arena, Text text) {
    Parser parser = {arena, text.at, text.at + text.len};
    Open *stack = nullptr;
    size_t depth = 0, cap = 0;
    JsonNode *root = nullptr;
    skip_space(&parser);
    do {
        Text key = {0};
        bool lone_key = false;
        JsonNode *parent = depth ? stack[depth - 1].node : nullptr;
        if (parent && parent->kind == JSON_OBJECT && !take_key(&parser, &key, &lone_key))
            return nullptr;
        JsonNode *node = take_node(&parser);
        if (!node) return nullptr;
        node->key = key;
        node->lone_key = lone_key;
        if (!parent) root = node;
        else *stack[depth - 1].tail = node, stack[depth - 1].tail = &node->next;
        if (node->kind == JSON_ARRAY || node->kind == JSON_OBJECT) {
            stack = arena_grow(arena, stack, sizeof *stack, alignof(Open), &cap, depth + 1);
            stack[depth++] = (Open){node, &node->first};
            skip_space(&parser);
        } else if (parent) {
            close_child(parent, node);
        }
        if (!close_brackets(&parser, stack, &depth)) return nullptr;
    } while (depth);
    skip_space(&parser);
    return parser.at == parser.end ? root : nullptr;
}

Text json_compact(Arena *arena, Text text) {
    char *out = arena_alloc(arena, text.len + SB_SLACK, 1);
    size_t len = 0;
    bool inside = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (!inside && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) continue;
        out[len++] = c;
        if (inside && c == '\\') out[len++] = text.at[++i];
        else if (c == '"') inside = !inside;
    }
    return (Text){out, len};
}
