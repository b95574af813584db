// Regex places: what the widths of a pattern's parts say of where matches and groups are.
//
// Bounds of groups may stand a fixed way from those of the match, as in `\[(.*?)\]` or
// `took (\d+) ms`: where the match is known, so are they. A match that has to end with the text,
// and has so many bytes at most, begins in its last bytes.
#include "stdlib/regex/regex_program.h"

enum : int64_t { OPEN = -1 };  // No number of bytes: it depends on the text.

static const uint32_t first_of_bytes[] = {0, 0x80, 0x800, 0x10000, 0x110000};

typedef struct Placer {
    const RegexTree *tree;
    SbRegexPlace    *places;
} Placer;

static int64_t width_of(const RegexTree *tree, uint32_t id);

static int64_t plus(int64_t a, int64_t b) { return a < 0 || b < 0 ? OPEN : a + b; }

// Bytes of each character of the set, if all have as many.
static int64_t width_of_set(const RegexTree *tree, const RegexNode *set) {
    for (int64_t bytes = 1; bytes <= 4; bytes++) {
        bool all = set->set_count > 0;
        for (uint32_t i = 0; i < set->set_count && all; i++) {
            const RegexRange range = tree->ranges[set->set_begin + i];
            all = range.first >= first_of_bytes[bytes - 1] && range.last < first_of_bytes[bytes];
        }
        if (all) return bytes;
    }
    return OPEN;
}

// Of the child and all before it.
static int64_t width_of_all(const RegexTree *tree, uint32_t child) {
    int64_t bytes = 0;
    for (; child && bytes >= 0; child = tree->nodes[child].previous)
        bytes = plus(bytes, width_of(tree, child));
    return bytes;
}

static int64_t width_of_any(const RegexTree *tree, uint32_t child) {
    const int64_t bytes = width_of(tree, child);
    for (; child; child = tree->nodes[child].previous)
        if (width_of(tree, child) != bytes) return OPEN;
    return bytes;
}

static int64_t width_of(const RegexTree *tree, uint32_t id) {
    const RegexNode *node = &tree->nodes[id];
    switch (node->kind) {
    case REGEX_EMPTY: case REGEX_ASSERT: return 0;
    case REGEX_SET: return width_of_set(tree, node);
    case REGEX_CAT: return width_of_all(tree, node->child);
    case REGEX_ALT: return width_of_any(tree, node->child);
    case REGEX_GROUP: return width_of(tree, node->child);
    case REGEX_REPEAT: {
        const int64_t bytes = width_of(tree, node->child);
        return node->min != node->max || bytes < 0 ? OPEN : bytes * node->min;
    }
    }
    return OPEN;
}

static bool has_groups(const RegexTree *tree, uint32_t id) {
    const RegexNode *node = &tree->nodes[id];
    if (node->kind == REGEX_GROUP) return true;
    if (node->kind == REGEX_SET || node->kind == REGEX_EMPTY || node->kind == REGEX_ASSERT)
        return false;
    for (uint32_t child = node->child; child; child = tree->nodes[child].previous)
        if (has_groups(tree, child)) return true;
    return false;
}

// So many bytes after the begin of the match, or before its end. False: neither is known.
static bool place(SbRegexPlace *to, int64_t after_begin, int64_t before_end) {
    if (after_begin < 0 && before_end < 0) return false;
    const bool from_end = after_begin < 0;
    *to = (SbRegexPlace){(uint32_t)(from_end ? before_end : after_begin), from_end};
    return true;
}

// The groups within the node, which stands so many bytes after the begin of each match and before
// its end.
static bool place_groups(const Placer *p, uint32_t id, int64_t before, int64_t after) {
    const RegexNode *node = &p->tree->nodes[id];
    if (!has_groups(p->tree, id)) return true;
    switch (node->kind) {
    case REGEX_GROUP: {
        const int64_t own = width_of(p->tree, node->child);
        SbRegexPlace *to = p->places + 2 * node->number;
        return place(to, before, plus(own, after)) && place(to + 1, plus(before, own), after) &&
               place_groups(p, node->child, before, after);
    }
    case REGEX_CAT:
        for (uint32_t child = node->child; child; child = p->tree->nodes[child].previous) {
            const uint32_t earlier = p->tree->nodes[child].previous;
            const bool groups = has_groups(p->tree, child);
            const int64_t from = groups ? plus(before, width_of_all(p->tree, earlier)) : OPEN;
            if (groups && !place_groups(p, child, from, after)) return false;
            after = plus(after, width_of(p->tree, child));
        }
        return true;
    case REGEX_EMPTY: case REGEX_SET: case REGEX_ASSERT: case REGEX_ALT: case REGEX_REPEAT: break;
    }
    return false;  // It may have no part in a match, or several.
}

bool regex_places_of(const RegexTree *tree, SbRegexPlace *places) {
    return tree->group_count > 0 &&
           place_groups(&(Placer){tree, places}, tree->root, 0, 0);
}

// ---- the end of the text ------------------------------------------------------------------------

static int64_t most_of_set(const RegexTree *tree, const RegexNode *set) {
    int64_t bytes = 1;
    for (uint32_t i = 0; i < set->set_count; i++)
        while (tree->ranges[set->set_begin + i].last >= first_of_bytes[bytes]) bytes++;
    return bytes;
}

// The most bytes that the node takes.
static int64_t most_of(const RegexTree *tree, uint32_t id) {
    const RegexNode *node = &tree->nodes[id];
    int64_t most = 0;
    switch (node->kind) {
    case REGEX_EMPTY: case REGEX_ASSERT: return 0;
    case REGEX_SET: return most_of_set(tree, node);
    case REGEX_GROUP: return most_of(tree, node->child);
    case REGEX_REPEAT:
        most = most_of(tree, node->child);
        return node->max == REGEX_NO_MAX || most < 0 ? OPEN : most * node->max;
    case REGEX_CAT: case REGEX_ALT:
        for (uint32_t child = node->child; child && most >= 0;
             child = tree->nodes[child].previous) {
            const int64_t one = most_of(tree, child);
            if (node->kind == REGEX_CAT) most = plus(most, one);
            else most = one < 0 || one > most ? one : most;
        }
        return most;
    }
    return OPEN;
}

// Does each match of the node end where the text does?
static bool ends_text(const RegexTree *tree, uint32_t id) {
    const RegexNode *node = &tree->nodes[id];
    switch (node->kind) {
    case REGEX_ASSERT: return node->assertion == REGEX_TEXT_END;
    case REGEX_GROUP: case REGEX_CAT: return node->child && ends_text(tree, node->child);
    case REGEX_REPEAT: return node->min > 0 && ends_text(tree, node->child);
    case REGEX_ALT:
        for (uint32_t child = node->child; child; child = tree->nodes[child].previous)
            if (!ends_text(tree, child)) return false;
        return true;
    case REGEX_EMPTY: case REGEX_SET: break;
    }
    return false;
}

uint32_t regex_last_bytes(const RegexTree *tree) {
    const int64_t most = ends_text(tree, tree->root) ? most_of(tree, tree->root) : OPEN;
    return most < 0 || most >= UINT32_MAX ? 0 : (uint32_t)most + 1;
}
