// Trouble: why a job ends early: a code, an exit code and a message. The first one counts.
// Warnings have codes of the same table, with exit code 0.
#ifndef SBC_RUNTIME_TROUBLE_H
#define SBC_RUNTIME_TROUBLE_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

typedef enum TroubleKind {
    TROUBLE_NONE,
#define TROUBLE(name, code, exit, title, fix) TROUBLE_##name,
#include "runtime/report/troubles.def"
#undef TROUBLE
    TROUBLE_END,
} TroubleKind;

enum { TROUBLE_TEXT_MAX = 2048 };

typedef struct Trouble {
    TroubleKind kind;
    char text[TROUBLE_TEXT_MAX];  // May hold several lines; the first is the message.
    char fix[256];                // Replaces the table's fix when it is not empty.
    struct Trouble *next;         // Further mistakes, told with it: trouble_more.
} Trouble;

enum { TROUBLES_MAX = 50 };  // Troubles that are told together.

// None yet. Zeroes would do too, but all of the text takes long where partitions go by.
static inline void trouble_clear(Trouble *trouble) { trouble->kind = TROUBLE_NONE; }

// Records a trouble unless there is one; returns false, so that callers can return it.
bool trouble_set(Trouble *trouble, TroubleKind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool trouble_set_list(Trouble *trouble, TroubleKind kind, const char *format, va_list args);
// The system gives no more memory: "no memory for the journal" of "for the journal".
bool trouble_no_memory(Trouble *trouble, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Adds to the text of the trouble just set.
void trouble_add(Trouble *trouble, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Replaces the fix of the trouble just set.
void trouble_fix(Trouble *trouble, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Where the next of several mistakes is set: the trouble itself if there is none yet, else one
// after it. Beyond TROUBLES_MAX, or without memory, one that is set already.
Trouble *trouble_more(Trouble *trouble);
void trouble_close(Trouble *trouble);  // Frees those after it; none is left.

const char *trouble_code(TroubleKind kind);
const char *trouble_title(TroubleKind kind);     // Of the table.
const char *trouble_fix_text(TroubleKind kind);  // The same.
const char *trouble_fix_of(const Trouble *trouble);
int  trouble_exit_code(const Trouble *trouble);

#endif
