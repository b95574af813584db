// Regex sets: classes of characters as sorted ranges of code points.
#include "stdlib/regex/regex_syntax.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum : uint32_t {
    CODE_MAX = 0x10ffff,
    CASED_END = 0x1e944,  // After the last character with case (Adlam).
};

bool regex_grow(void *items, size_t count, size_t *cap, size_t size) {
    if (count < *cap) return true;
    size_t wanted = *cap ? *cap * 2 : 64;
    void *old;
    memcpy(&old, items, sizeof old);
    void *grown = realloc(old, wanted * size);
    if (!grown) return false;
    memcpy(items, &grown, sizeof grown);
    *cap = wanted;
    return true;
}

void regex_set_add(RegexTree *tree, uint32_t first, uint32_t last) {
    if (!regex_grow(&tree->ranges, tree->range_count, &tree->range_cap, sizeof *tree->ranges)) {
        tree->no_memory = true;
        return;
    }
    tree->ranges[tree->range_count++] = (RegexRange){first, last};
}

// ---- case ---------------------------------------------------------------------------------------

static uint32_t fold(uint32_t c) {
    return (uint32_t)utf8proc_tolower(utf8proc_toupper((utf8proc_int32_t)c));
}

static void add_folded_ascii(RegexTree *tree, uint32_t first, uint32_t last) {
    for (uint32_t c = first; c <= last && c < 0x80; c++) {
        uint32_t lower = c | 0x20;
        if (lower < 'a' || lower > 'z') continue;
        regex_set_add(tree, c ^ 0x20, c ^ 0x20);
        if (lower == 'k') regex_set_add(tree, 0x212a, 0x212a);  // The Kelvin sign.
        if (lower == 's') regex_set_add(tree, 0x17f, 0x17f);    // The long s.
    }
}

// Adds what differs in case only from the ranges [begin, end) of the tree.
static void add_folded(RegexTree *tree, size_t begin, size_t end) {
    uint8_t *keys = calloc(CASED_END / 8 + 1, 1);
    if (!keys) {
        tree->no_memory = true;
        return;
    }
    for (size_t i = begin; i < end; i++) {
        RegexRange range = tree->ranges[i];
        for (uint32_t c = range.first; c <= range.last && c < CASED_END; c++) {
            uint32_t key = fold(c);
            if (key < CASED_END) keys[key >> 3] |= (uint8_t)(1 << (key & 7));
        }
    }
    for (uint32_t c = 0; c < CASED_END; c++) {
        uint32_t key = fold(c);
        if (key < CASED_END && keys[key >> 3] >> (key & 7) & 1) regex_set_add(tree, c, c);
    }
    free(keys);
}

void regex_set_fold(RegexTree *tree, size_t begin) {
    size_t end = tree->range_count;
    bool ascii = true;
    for (size_t i = begin; i < end; i++) {
        ascii &= tree->ranges[i].last < 0x80;
        add_folded_ascii(tree, tree->ranges[i].first, tree->ranges[i].last);
    }
    if (!ascii) add_folded(tree, begin, end);
}

// ---- classes ------------------------------------------------------------------------------------

// Pairs of first and last, ended by a pair of zeros after the first.
static const struct { const char *name; uint8_t pairs[9]; } posix[] = {
    {"alnum", {'0', '9', 'A', 'Z', 'a', 'z'}},
    {"alpha", {'A', 'Z', 'a', 'z'}},
    {"ascii", {0, 0x7f}},
    {"blank", {'\t', '\t', ' ', ' '}},
    {"cntrl", {0, 0x1f, 0x7f, 0x7f}},
    {"digit", {'0', '9'}},
    {"graph", {'!', '~'}},
    {"lower", {'a', 'z'}},
    {"print", {' ', '~'}},
    {"punct", {'!', '/', ':', '@', '[', '`', '{', '~'}},
    {"space", {'\t', '\r', ' ', ' '}},
    {"upper", {'A', 'Z'}},
    {"word", {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}},
    {"xdigit", {'0', '9', 'A', 'F', 'a', 'f'}},
};

static const uint8_t perl_space[] = {'\t', '\n', '\f', '\r', ' ', ' ', 0};

// Adds ascending pairs, or what lies between them.
static void add_pairs(RegexTree *tree, const uint8_t *pairs, bool negated) {
    uint32_t next = 0;
    for (size_t i = 0; i == 0 || pairs[i]; i += 2) {
        if (!negated) regex_set_add(tree, pairs[i], pairs[i + 1]);
        else if (pairs[i] > next) regex_set_add(tree, next, pairs[i] - 1u);
        next = pairs[i + 1] + 1u;
    }
    if (negated) regex_set_add(tree, next, CODE_MAX);
}

bool regex_set_add_posix(RegexTree *tree, const char *name, int64_t len, bool negated) {
    for (size_t i = 0; i < sizeof posix / sizeof *posix; i++) {
        if ((int64_t)strlen(posix[i].name) != len || memcmp(posix[i].name, name, (size_t)len) != 0)
            continue;
        add_pairs(tree, posix[i].pairs, negated);
        return true;
    }
    return false;
}

bool regex_set_add_perl(RegexTree *tree, char letter) {
    bool negated = letter < 'a';
    switch (letter | 0x20) {
    case 'd': return regex_set_add_posix(tree, "digit", 5, negated);
    case 'w': return regex_set_add_posix(tree, "word", 4, negated);
    case 's': add_pairs(tree, perl_space, negated); return true;
    default: return false;
    }
}

static bool in_category(uint32_t c, const char *name, int64_t len) {
    const char *category = utf8proc_category_string((utf8proc_int32_t)c);
    return category[0] == name[0] && (len == 1 || category[1] == name[1]);
}

static bool category_exists(const char *name, int64_t len) {
    static const char all[][3] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                  "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                  "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};
    if (len != 1 && len != 2) return false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (memcmp(all[i], name, (size_t)len) == 0) return true;
    }
    return false;
}

static void add_category(RegexTree *tree, const char *name, int64_t len) {
    uint32_t begin = 0;
    bool inside = false;
    for (uint32_t c = 0; c <= CODE_MAX; c++) {
        bool now = in_category(c, name, len);
        if (now && !inside) begin = c;
        if (!now && inside) regex_set_add(tree, begin, c - 1);
        inside = now;
    }
    if (inside) regex_set_add(tree, begin, CODE_MAX);
}

static const struct { const char *name; uint32_t first, last; } scripts[] = {
#include "stdlib/regex/regex_scripts.def"
};

static bool add_script(RegexTree *tree, const char *name, int64_t len) {
    bool found = false;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const char *own = scripts[i].name;
        if ((int64_t)strlen(own) != len || memcmp(own, name, (size_t)len) != 0) continue;
        regex_set_add(tree, scripts[i].first, scripts[i].last);
        found = true;
    }
    return found;
}

bool regex_set_add_property(RegexTree *tree, const char *name, int64_t len) {
    if (len == 3 && memcmp(name, "Any", 3) == 0) {
        regex_set_add(tree, 0, CODE_MAX);
        return true;
    }
    if (!category_exists(name, len)) return add_script(tree, name, len);
    add_category(tree, name, len);
    return true;
}

// ---- normal form --------------------------------------------------------------------------------

static int by_first(const void *a, const void *b) {
    const RegexRange *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static void negate(RegexTree *tree, size_t begin) {
    size_t end = tree->range_count;
    uint32_t next = 0;
    for (size_t i = begin; i < end; i++) {
        RegexRange range = tree->ranges[i];
        if (range.first > next) regex_set_add(tree, next, range.first - 1);
        next = range.last + 1;
    }
    if (next <= CODE_MAX) regex_set_add(tree, next, CODE_MAX);
    size_t made = tree->range_count - end;
    memmove(tree->ranges + begin, tree->ranges + end, made * sizeof *tree->ranges);
    tree->range_count = begin + made;
}

void regex_set_finish(RegexTree *tree, size_t begin, bool negated) {
    RegexRange *ranges = tree->ranges + begin;
    size_t count = tree->range_count - begin;
    if (count) {
        qsort(ranges, count, sizeof *ranges, by_first);
        size_t kept = 0;
        for (size_t i = 1; i < count; i++) {
            if (ranges[i].first > ranges[kept].last + 1) ranges[++kept] = ranges[i];
            else if (ranges[i].last > ranges[kept].last) ranges[kept].last = ranges[i].last;
        }
        tree->range_count = begin + kept + 1;
    }
    if (negated) negate(tree, begin);
}
