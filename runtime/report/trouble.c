#include "runtime/report/trouble.h"

#include <stdlib.h>
#include <string.h>

typedef struct TroubleInfo {
    const char *code;
    int         exit_code;
    const char *title;
    const char *fix;
} TroubleInfo;

static const TroubleInfo infos[TROUBLE_END] = {
    [TROUBLE_NONE] = {"", 0, "", ""},
#define TROUBLE(name, code, exit, title, fix) [TROUBLE_##name] = {code, exit, title, fix},
#include "runtime/report/troubles.def"
#undef TROUBLE
};

bool trouble_set_list(Trouble *trouble, TroubleKind kind, const char *format, va_list args) {
    if (trouble->kind != TROUBLE_NONE) return false;
    trouble->kind = kind;
    trouble->fix[0] = '\0';
    trouble->next = nullptr;
    vsnprintf(trouble->text, sizeof trouble->text, format, args);
    return false;
}

bool trouble_set(Trouble *trouble, TroubleKind kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    trouble_set_list(trouble, kind, format, args);
    va_end(args);
    return false;
}

bool trouble_no_memory(Trouble *trouble, const char *format, ...) {
    char purpose[TROUBLE_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(purpose, sizeof purpose, format, args);
    va_end(args);
    return trouble_set(trouble, TROUBLE_NO_MEMORY, "no memory %s", purpose);
}

void trouble_add(Trouble *trouble, const char *format, ...) {
    size_t len = strlen(trouble->text);
    va_list args;
    va_start(args, format);
    vsnprintf(trouble->text + len, sizeof trouble->text - len, format, args);
    va_end(args);
}

void trouble_fix(Trouble *trouble, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(trouble->fix, sizeof trouble->fix, format, args);
    va_end(args);
}

Trouble *trouble_more(Trouble *trouble) {
    for (uint32_t i = 1; trouble->kind != TROUBLE_NONE && i < TROUBLES_MAX; i++) {
        if (!trouble->next) trouble->next = calloc(1, sizeof *trouble);
        if (!trouble->next) break;
        trouble = trouble->next;
    }
    return trouble;
}

void trouble_close(Trouble *trouble) {
    Trouble *next = trouble->kind == TROUBLE_NONE ? nullptr : trouble->next;
    trouble_clear(trouble);
    while (next) {
        Trouble *last = next;
        next = last->next;
        free(last);
    }
}

const char *trouble_code(TroubleKind kind) { return infos[kind].code; }

const char *trouble_title(TroubleKind kind) { return infos[kind].title; }

const char *trouble_fix_text(TroubleKind kind) { return infos[kind].fix; }

int trouble_exit_code(const Trouble *trouble) {
    return infos[trouble->kind].exit_code;
}

const char *trouble_fix_of(const Trouble *trouble) {
    return trouble->fix[0] != '\0' ? trouble->fix : infos[trouble->kind].fix;
}
