// Regex syntax: the text of a pattern to a tree, in the language of RE2.
//
// What is not in RE2 is an error with its place: backreferences, lookaround, possessive repeats,
// \Z, \G, \C. As in RE2, `\d`, `\w`, `\s` and `\b` mean ASCII. `\p{..}` takes general categories
// and scripts.
#ifndef SBC_STDLIB_REGEX_SYNTAX_H
#define SBC_STDLIB_REGEX_SYNTAX_H

#include "stdlib/regex/regex.h"

typedef enum RegexNodeKind {
    REGEX_EMPTY,
    REGEX_SET,     // One character out of ranges[set_begin .. set_begin + set_count).
    REGEX_CAT,     // Children in order.
    REGEX_ALT,     // Children by preference.
    REGEX_REPEAT,  // The child min to max times.
    REGEX_GROUP,   // A capturing group.
    REGEX_ASSERT,
} RegexNodeKind;

enum : uint32_t { REGEX_NO_MAX = UINT32_MAX };

typedef struct RegexNode {
    RegexNodeKind kind;
    SbRegexAssert assertion;
    uint32_t child;     // The last one, 0 for none: programs are built from their end.
    uint32_t previous;  // Sibling before this one.
    uint32_t min, max;  // REPEAT
    bool     lazy;      // REPEAT
    uint32_t number;    // GROUP, from 1.
    uint32_t set_begin, set_count;
} RegexNode;

typedef struct RegexRange {  // Code points, both ends included.
    uint32_t first, last;
} RegexRange;

typedef struct RegexName {   // Of a group: a part of the pattern.
    const char *text;
    uint32_t    len, group;
} RegexName;

typedef struct RegexTree {
    RegexNode  *nodes;   // nodes[0] is not used.
    size_t      node_count, node_cap;
    RegexRange *ranges;
    size_t      range_count, range_cap;
    uint32_t    root;
    uint32_t    group_count;
    RegexName   names[REGEX_GROUPS_MAX];
    uint32_t    name_count;
    bool        no_memory;
} RegexTree;

// False: `error` is filled. Free the tree in either case.
bool regex_parse(RegexTree *tree, const char *pattern, int64_t len, SbRegexError *error);
void regex_tree_free(RegexTree *tree);

// ---- sets (regex_sets.c): ranges are added after the tree's last one --------------------------

void regex_set_add(RegexTree *tree, uint32_t first, uint32_t last);
// Adds the characters that differ in case only from those of the ranges from `begin` on.
void regex_set_fold(RegexTree *tree, size_t begin);
// 'd', 's' or 'w', and 'D', 'S', 'W' for the complement. False: another letter.
bool regex_set_add_perl(RegexTree *tree, char letter);
// [:alpha:] by its name. False: no such class.
bool regex_set_add_posix(RegexTree *tree, const char *name, int64_t len, bool negated);
// \p{Lu} by its name: a general category, its first letter, a script, or Any. False: no such name.
bool regex_set_add_property(RegexTree *tree, const char *name, int64_t len);
// Sorts and joins the ranges from `begin` on, complements them if `negated`.
void regex_set_finish(RegexTree *tree, size_t begin, bool negated);

// Room for one more item; false: out of memory. *items has `size` bytes an item.
bool regex_grow(void *items, size_t count, size_t *cap, size_t size);

#endif
