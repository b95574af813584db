#include "frontend/foreign.h"

#include <string.h>
#include <strings.h>

typedef struct Foreign {
    const char *names;  // Between spaces; one that ends in '*' stands for all that begin so.
    ForeignKind kind;
    const char *text, *note;
} Foreign;

// One for each line of foreign.def.
static const Foreign table[] = {
#define ROW(names, text, note) {names, FOREIGN_ROW, text, note},
#define AGG(names, text, note) {names, FOREIGN_AGG, text, note},
#define STEP(names, text, note) {names, FOREIGN_STEP, text, note},
#define HEAD(names, text, note) {names, FOREIGN_HEAD, text, note},
#define PARAM(names, text, note) {names, FOREIGN_PARAM, text, note},
#define NONE(names, text) {names, FOREIGN_NONE, text, ""},
#include "frontend/foreign.def"
#undef ROW
#undef AGG
#undef STEP
#undef HEAD
#undef PARAM
#undef NONE
};

static const char *const leads[] = {
    [FOREIGN_ROW] = "write ",
    [FOREIGN_AGG] = "write ",
    [FOREIGN_STEP] = "it is a step: | ",
    [FOREIGN_HEAD] = "a flow begins with it: ",
    [FOREIGN_PARAM] = "write a param: ",
    [FOREIGN_NONE] = "",
};

// Is the name one of `names`: a whole one, or one of a family?
static bool stands_in(Text name, const char *names, bool family) {
    for (const char *at = names; *at;) {
        size_t len = strcspn(at, " ");
        bool star = at[len - 1] == '*';
        bool same = star ? name.len >= len - 1 && strncasecmp(name.at, at, len - 1) == 0
                         : name.len == len && strncasecmp(name.at, at, len) == 0;
        if (same && star == family) return true;
        at += len;
        at += *at == ' ';
    }
    return false;
}

Text foreign_function(Arena *arena, Text name) {
    for (int family = 0; family < 2; family++) {
        for (size_t i = 0; i < countof(table); i++) {
            const Foreign *found = &table[i];
            if (!stands_in(name, found->names, family)) continue;
            return text_format(arena, "%s%s%s%s", leads[found->kind], found->text,
                               found->note[0] ? "; " : "", found->note);
        }
    }
    return (Text){0};
}
