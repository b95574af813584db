// Regex syntax: a recursive-descent parser; the grammar stands above each function.
#include "stdlib/regex/regex_syntax.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 250 };  // Of parentheses.

typedef enum Flag : unsigned {
    FLAG_I = 1,  // Letters match both cases.
    FLAG_M = 2,  // ^ and $ match at lines.
    FLAG_S = 4,  // . matches \n.
    FLAG_U = 8,  // Greedy and lazy change places.
} Flag;

typedef struct Parser {
    RegexTree    *tree;
    const char   *pattern;
    int64_t       len, at;
    unsigned      flags;
    bool          quoting;  // Between \Q and \E.
    int           depth;
    bool          failed;
    SbRegexError *error;
} Parser;

[[gnu::format(printf, 3, 4)]]
static uint32_t fail(Parser *p, int64_t position, const char *format, ...) {
    if (p->failed) return 0;
    p->failed = true;
    p->error->position = position;
    va_list args;
    va_start(args, format);
    vsnprintf(p->error->message, sizeof p->error->message, format, args);
    va_end(args);
    return 0;
}

static bool at_end(const Parser *p) { return p->at >= p->len; }

static bool looking_at(const Parser *p, const char *text) {
    int64_t len = (int64_t)strlen(text);
    return p->len - p->at >= len && memcmp(p->pattern + p->at, text, (size_t)len) == 0;
}

static bool accept(Parser *p, const char *text) {
    if (!looking_at(p, text)) return false;
    p->at += (int64_t)strlen(text);
    return true;
}

static uint32_t node_new(Parser *p, RegexNode node) {
    RegexTree *tree = p->tree;
    if (!regex_grow(&tree->nodes, tree->node_count, &tree->node_cap, sizeof *tree->nodes)) {
        tree->no_memory = true;
        return fail(p, p->at, "out of memory");
    }
    tree->nodes[tree->node_count] = node;
    return (uint32_t)tree->node_count++;
}

static uint32_t assert_new(Parser *p, SbRegexAssert assertion) {
    return node_new(p, (RegexNode){.kind = REGEX_ASSERT, .assertion = assertion});
}

// The set of the ranges from `begin` on.
static uint32_t set_new(Parser *p, size_t begin, bool negated) {
    regex_set_finish(p->tree, begin, negated);
    return node_new(p, (RegexNode){.kind = REGEX_SET, .set_begin = (uint32_t)begin,
                                   .set_count = (uint32_t)(p->tree->range_count - begin)});
}

static void add_char(Parser *p, uint32_t first, uint32_t last) {
    size_t begin = p->tree->range_count;
    regex_set_add(p->tree, first, last);
    if (p->flags & FLAG_I) regex_set_fold(p->tree, begin);
}

static uint32_t char_new(Parser *p, uint32_t c) {
    size_t begin = p->tree->range_count;
    add_char(p, c, c);
    return set_new(p, begin, false);
}

// One character as written; the pattern is UTF-8, bad bytes are an error.
static uint32_t next_char(Parser *p) {
    const uint8_t *s = (const uint8_t *)p->pattern + p->at;
    int64_t left = p->len - p->at;
    int bytes = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    if (!bytes || bytes > left) return fail(p, p->at, "the pattern is not valid UTF-8");
    uint32_t c = bytes == 1 ? *s : *s & (0x7fu >> bytes);
    for (int i = 1; i < bytes; i++) {
        if ((s[i] & 0xc0) != 0x80) return fail(p, p->at, "the pattern is not valid UTF-8");
        c = c << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < least[bytes] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return fail(p, p->at, "the pattern is not valid UTF-8");
    p->at += bytes;
    return c;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') return (c | 0x20) - 'a' + 10;
    return -1;
}

// hex = "x" HEX HEX | "x{" HEX+ "}"     (after the x)
static uint32_t parse_hex(Parser *p, int64_t begin) {
    bool braces = accept(p, "{");
    uint32_t c = 0;
    int digits = 0;
    while (!at_end(p) && hex_digit(p->pattern[p->at]) >= 0 && digits < (braces ? 8 : 2)) {
        c = c * 16 + (uint32_t)hex_digit(p->pattern[p->at++]);
        digits++;
    }
    if (braces ? !digits || !accept(p, "}") : digits != 2)
        return fail(p, begin, "\\x needs two hexadecimal digits, or some in braces");
    if (c > 0x10ffff) return fail(p, begin, "\\x{...} is beyond the last character, 10FFFF");
    return c;
}

// octal = "0" [0-7]{0,2} | [1-7] [0-7]{1,2}     A lone digit would be a backreference.
static uint32_t parse_octal(Parser *p, int64_t begin, uint32_t c) {
    int digits = 1;
    for (; digits < 3 && !at_end(p) && p->pattern[p->at] >= '0' && p->pattern[p->at] <= '7';
         digits++)
        c = c * 8 + (uint32_t)(p->pattern[p->at++] - '0');
    if (digits == 1 && c)
        return fail(p, begin, "backreferences are not part of RE2 syntax");
    return c;
}

// escape = "\" (punctuation | a f t n r v | octal | hex)     One character; after the backslash.
static uint32_t parse_escape(Parser *p, int64_t begin) {
    if (at_end(p)) return fail(p, begin, "a backslash at the end of the pattern");
    char c = p->pattern[p->at];
    if ((uint8_t)c >= 0x80) return fail(p, begin, "\\ before a character that needs no escape");
    p->at++;
    switch (c) {
    case 'a': return '\a';
    case 'f': return '\f';
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'v': return '\v';
    case 'x': return parse_hex(p, begin);
    case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7':
        return parse_octal(p, begin, (uint32_t)(c - '0'));
    case '8': case '9': case 'k': case 'g':
        return fail(p, begin, "backreferences are not part of RE2 syntax");
    default: break;
    }
    bool word = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    if (word) return fail(p, begin, "\\%c is not part of RE2 syntax", c);
    return (uint8_t)c;
}

// property = ("p" | "P") (LETTER | "{" ["^"] NAME "}")     After the p; false after an error.
static bool add_property(Parser *p, int64_t begin, bool negated) {
    int64_t name = p->at, len = 1;
    size_t first = p->tree->range_count;
    if (accept(p, "{")) {
        if (accept(p, "^")) negated = !negated;
        name = p->at;
        while (!at_end(p) && p->pattern[p->at] != '}') p->at++;
        len = p->at - name;
        if (!accept(p, "}")) return fail(p, begin, "\\p{ is never closed");
    } else if (!at_end(p)) {
        p->at++;
    }
    if (name + len > p->len || !regex_set_add_property(p->tree, p->pattern + name, len))
        return fail(p, begin, "no such property; \\p takes categories and scripts: Lu, Greek");
    if (p->flags & FLAG_I) regex_set_fold(p->tree, first);
    if (negated) regex_set_finish(p->tree, first, true);
    return true;
}

// class = \d \D \s \S \w \W | property     True if there was one (or an error); adds its ranges.
static bool accept_class(Parser *p) {
    int64_t begin = p->at;
    if (p->len - begin < 2 || p->pattern[begin] != '\\') return false;
    char c = p->pattern[begin + 1];
    if (c == 'p' || c == 'P') {
        p->at += 2;
        add_property(p, begin, c == 'P');
        return true;
    }
    if (!regex_set_add_perl(p->tree, c)) return false;
    p->at += 2;
    return true;
}

// posix = "[:" ["^"] NAME ":]"
static bool accept_posix(Parser *p) {
    int64_t begin = p->at;
    if (!looking_at(p, "[:")) return false;
    int64_t name = begin + 2, end = name;
    while (end + 1 < p->len && !(p->pattern[end] == ':' && p->pattern[end + 1] == ']')) end++;
    if (end + 1 >= p->len) return false;
    bool negated = p->pattern[name] == '^';
    p->at = end + 2;
    if (!regex_set_add_posix(p->tree, p->pattern + name + negated, end - name - negated, negated))
        fail(p, begin, "no such class: [:%.*s:]", (int)(end - name < 40 ? end - name : 40),
             p->pattern + name);
    return true;
}

static uint32_t parse_set_char(Parser *p) {
    int64_t begin = p->at;
    return accept(p, "\\") ? parse_escape(p, begin) : next_char(p);
}

// item = class | posix | char ["-" char]
static void parse_set_item(Parser *p) {
    if (accept_class(p) || accept_posix(p)) return;
    int64_t begin = p->at;
    uint32_t first = parse_set_char(p), last = first;
    if (p->failed) return;
    if (p->len - p->at >= 2 && p->pattern[p->at] == '-' && p->pattern[p->at + 1] != ']') {
        p->at++;
        last = parse_set_char(p);
        if (!p->failed && last < first) fail(p, begin, "the range ends before it begins");
    }
    if (!p->failed) add_char(p, first, last);
}

// set = "[" ["^"] ["]"] item* "]"
static uint32_t parse_set(Parser *p) {
    int64_t open = p->at++;
    bool negated = accept(p, "^");
    size_t begin = p->tree->range_count;
    for (bool first = true; !p->failed; first = false) {
        if (at_end(p)) return fail(p, open, "[ is never closed");
        if (!first && accept(p, "]")) break;
        parse_set_item(p);
    }
    return p->failed ? 0 : set_new(p, begin, negated);
}

static uint32_t parse_alternation(Parser *p);

// flags = [imsU]* ["-" [imsU]+]     After "(?"; stops before ")" or ":".
static void parse_flags(Parser *p, int64_t open) {
    bool on = true, some = false;
    for (; !at_end(p); p->at++) {
        unsigned flag = 0;
        switch (p->pattern[p->at]) {
        case 'i': flag = FLAG_I; break;
        case 'm': flag = FLAG_M; break;
        case 's': flag = FLAG_S; break;
        case 'U': flag = FLAG_U; break;
        case '-':
            if (!on) { fail(p, open, "two minus signs in the flags"); return; }
            on = some = false;
            continue;
        case ')': case ':':
            if (!on && !some) fail(p, open, "no flag after the minus sign");
            return;
        default:
            fail(p, open, "unknown group: expected (?: (?P<name> or flags out of imsU");
            return;
        }
        some = true;
        p->flags = on ? p->flags | flag : p->flags & ~flag;
    }
    fail(p, open, "( is never closed");
}

static void add_name(Parser *p, int64_t open, RegexName name) {
    for (uint32_t i = 0; i < p->tree->name_count; i++) {
        const RegexName *other = &p->tree->names[i];
        if (other->len == name.len && memcmp(other->text, name.text, name.len) == 0)
            fail(p, open, "two groups of one name");
    }
    p->tree->names[p->tree->name_count++] = name;
}

// name = "P<" WORD ">" | "<" WORD ">"     After "(?".
static bool accept_name(Parser *p, int64_t open) {
    if (!accept(p, "P<") && !accept(p, "<")) return false;
    int64_t begin = p->at;
    for (; !at_end(p) && p->pattern[p->at] != '>'; p->at++) {
        char c = p->pattern[p->at];
        bool word = c == '_' || (c >= '0' && c <= '9') ||
                    ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (!word) { fail(p, open, "a group's name has letters, digits and _ only"); return true; }
    }
    RegexName name = {p->pattern + begin, (uint32_t)(p->at - begin), p->tree->group_count + 1};
    if (p->at == begin || !accept(p, ">")) fail(p, open, "the name of the group is not complete");
    else if (p->tree->name_count < REGEX_GROUPS_MAX) add_name(p, open, name);
    return true;
}

// group = "(" ["?:" | "?" name | "?" flags ":"] alternation ")"  |  "(?" flags ")"
static uint32_t parse_group(Parser *p) {
    int64_t open = p->at++;
    unsigned outer = p->flags;
    uint32_t number = 0;
    if (looking_at(p, "?=") || looking_at(p, "?!") || looking_at(p, "?<=") || looking_at(p, "?<!"))
        return fail(p, open, "lookaround is not part of RE2 syntax");
    if (looking_at(p, "?P=")) return fail(p, open, "backreferences are not part of RE2 syntax");
    if (!accept(p, "?") || accept_name(p, open)) {
        number = ++p->tree->group_count;
        if (number > REGEX_GROUPS_MAX)
            return fail(p, open, "more than %d groups", REGEX_GROUPS_MAX);
    } else {
        parse_flags(p, open);
        if (p->failed) return 0;
        if (accept(p, ")")) return node_new(p, (RegexNode){.kind = REGEX_EMPTY});
        p->at++;  // The colon.
    }
    if (p->failed) return 0;
    if (++p->depth > DEPTH_MAX) return fail(p, open, "groups nest deeper than %d", DEPTH_MAX);
    uint32_t body = parse_alternation(p);
    p->depth--;
    p->flags = outer;
    if (!p->failed && !accept(p, ")")) return fail(p, open, "( is never closed");
    if (!number || p->failed) return body;
    return node_new(p, (RegexNode){.kind = REGEX_GROUP, .child = body, .number = number});
}

static uint32_t parse_backslash(Parser *p) {
    int64_t begin = p->at;
    size_t ranges = p->tree->range_count;
    if (accept_class(p)) return p->failed ? 0 : set_new(p, ranges, false);
    if (accept(p, "\\A")) return assert_new(p, REGEX_TEXT_BEGIN);
    if (accept(p, "\\z")) return assert_new(p, REGEX_TEXT_END);
    if (accept(p, "\\b")) return assert_new(p, REGEX_WORD_EDGE);
    if (accept(p, "\\B")) return assert_new(p, REGEX_NO_WORD_EDGE);
    p->at++;
    uint32_t c = parse_escape(p, begin);
    return p->failed ? 0 : char_new(p, c);
}

static uint32_t parse_dot(Parser *p) {
    size_t begin = p->tree->range_count;
    p->at++;
    if (!(p->flags & FLAG_S)) regex_set_add(p->tree, '\n', '\n');
    return set_new(p, begin, true);
}

static uint32_t parse_char(Parser *p) {
    uint32_t c = next_char(p);
    return p->failed ? 0 : char_new(p, c);
}

// atom = "." | "^" | "$" | set | group | "\" ... | char
static uint32_t parse_atom(Parser *p) {
    if (p->quoting) return parse_char(p);
    switch (p->pattern[p->at]) {
    case '.': return parse_dot(p);
    case '^':
        p->at++;
        return assert_new(p, p->flags & FLAG_M ? REGEX_LINE_BEGIN : REGEX_TEXT_BEGIN);
    case '$':
        p->at++;
        return assert_new(p, p->flags & FLAG_M ? REGEX_LINE_END : REGEX_TEXT_END);
    case '[': return parse_set(p);
    case '(': return parse_group(p);
    case '\\': return parse_backslash(p);
    case '*': case '+': case '?':
        return fail(p, p->at, "nothing before '%c' to repeat", p->pattern[p->at]);
    default: return parse_char(p);
    }
}

// At most eight digits; false: none.
static bool accept_number(Parser *p, uint32_t *out) {
    int64_t begin = p->at;
    for (*out = 0; !at_end(p) && p->pattern[p->at] >= '0' && p->pattern[p->at] <= '9'; p->at++)
        if (*out < 10000000) *out = *out * 10 + (uint32_t)(p->pattern[p->at] - '0');
    return p->at > begin;
}

// bounds = "{" N "}" | "{" N ",}" | "{" N "," M "}"     Anything else leaves "{" a character.
static bool accept_bounds(Parser *p, RegexNode *repeat) {
    int64_t begin = p->at;
    bool good = accept(p, "{") && accept_number(p, &repeat->min);
    repeat->max = repeat->min;
    if (good && accept(p, ",") && !accept_number(p, &repeat->max)) repeat->max = REGEX_NO_MAX;
    if (!good || !accept(p, "}")) {
        p->at = begin;
        return false;
    }
    bool wide = repeat->min > REGEX_REPEAT_MAX ||
                (repeat->max != REGEX_NO_MAX && repeat->max > REGEX_REPEAT_MAX);
    if (wide) fail(p, begin, "a repeat count is over %d", REGEX_REPEAT_MAX);
    else if (repeat->max < repeat->min) fail(p, begin, "the repeat counts are the wrong way round");
    return true;
}

static bool accept_repeat(Parser *p, RegexNode *repeat) {
    *repeat = (RegexNode){.kind = REGEX_REPEAT, .max = REGEX_NO_MAX};
    if (accept(p, "*")) return true;
    if (accept(p, "+")) { repeat->min = 1; return true; }
    if (accept(p, "?")) { repeat->max = 1; return true; }
    return accept_bounds(p, repeat);
}

// quote = "\Q" any text ("\E" | the end)     Its characters are pieces; a repeat takes the last.
static bool accept_quote_end(Parser *p) {
    if (!accept(p, "\\E")) return false;
    p->quoting = false;
    return true;
}

static bool at_piece(Parser *p) {
    while (!p->quoting && accept(p, "\\Q")) p->quoting = !accept(p, "\\E");
    if (p->failed || at_end(p)) return false;
    return p->quoting || (p->pattern[p->at] != '|' && p->pattern[p->at] != ')');
}

// piece = atom [("*" | "+" | "?" | bounds) ["?"]]
static uint32_t parse_piece(Parser *p) {
    uint32_t atom = parse_atom(p);
    RegexNode repeat, again;
    if (p->quoting && !accept_quote_end(p)) return atom;
    if (p->failed || !accept_repeat(p, &repeat) || p->failed) return atom;
    repeat.lazy = accept(p, "?") != !!(p->flags & FLAG_U);
    repeat.child = atom;
    int64_t second = p->at;
    if (accept_repeat(p, &again) && !p->failed)
        return fail(p, second, "a repeat of a repeat; possessive ones are not part of RE2 syntax");
    return p->failed ? 0 : node_new(p, repeat);
}

// concatenation = piece*
static uint32_t parse_concatenation(Parser *p) {
    RegexNode cat = {.kind = REGEX_CAT};
    while (at_piece(p)) {
        uint32_t piece = parse_piece(p);
        if (p->failed) return 0;
        p->tree->nodes[piece].previous = cat.child;
        cat.child = piece;
    }
    if (cat.child && !p->tree->nodes[cat.child].previous) return cat.child;
    return node_new(p, cat);
}

// alternation = concatenation ("|" concatenation)*
static uint32_t parse_alternation(Parser *p) {
    uint32_t first = parse_concatenation(p);
    if (p->failed || at_end(p) || p->pattern[p->at] != '|') return first;
    RegexNode alt = {.kind = REGEX_ALT, .child = first};
    while (!p->failed && accept(p, "|")) {
        uint32_t next = parse_concatenation(p);
        if (p->failed) return 0;
        p->tree->nodes[next].previous = alt.child;
        alt.child = next;
    }
    return node_new(p, alt);
}

bool regex_parse(RegexTree *tree, const char *pattern, int64_t len, SbRegexError *error) {
    *tree = (RegexTree){.node_count = 1};
    Parser p = {.tree = tree, .pattern = pattern, .len = len, .error = error};
    if (len > REGEX_PATTERN_MAX) {
        fail(&p, REGEX_PATTERN_MAX, "the pattern is longer than %d bytes", REGEX_PATTERN_MAX);
        return false;
    }
    if (!regex_grow(&tree->nodes, 0, &tree->node_cap, sizeof *tree->nodes)) {
        fail(&p, 0, "out of memory");
        return false;
    }
    tree->nodes[0] = (RegexNode){.kind = REGEX_EMPTY};
    tree->root = parse_alternation(&p);
    if (!p.failed && !at_end(&p)) fail(&p, p.at, ") without a (");
    if (!p.failed && tree->no_memory) fail(&p, 0, "out of memory");
    return !p.failed;
}

void regex_tree_free(RegexTree *tree) {
    free(tree->nodes);
    free(tree->ranges);
    *tree = (RegexTree){0};
}
