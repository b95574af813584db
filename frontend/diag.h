// Diagnostics: what is wrong with a program, collected; the driver prints them.
//
// Codes, titles and explanations stand in diagnostics.def, the one table. A diagnostic has a
// primary span with a label, may have further labelled spans, notes, and one fix.
#ifndef SBC_FRONTEND_DIAG_H
#define SBC_FRONTEND_DIAG_H

#include "frontend/source.h"

typedef enum DiagCode {
#define DIAG(name, code, severity, title, page) DIAG_##name,
#include "frontend/diagnostics.def"
    DIAG_COUNT,
} DiagCode;

typedef enum Severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE } Severity;

typedef struct Label {
    Span span;
    Text text;
} Label;

enum {
    LABELS_MAX = 6,
    NOTES_MAX = 4,
    DIAGS_MAX = 1000,  // Kept in a list; further ones are only counted.
};

typedef struct Diag {
    DiagCode code;
    Text     message;             // The headline; defaults to the code's title.
    Label    labels[LABELS_MAX];  // labels[0] is the primary one.
    uint32_t label_count;
    Text     notes[NOTES_MAX];    // Printed as "= ...".
    uint32_t note_count;
    Text     fix;                 // Printed as "= fix: ..."; empty: none.
    uint32_t order;               // Private to printing: keeps the sort by place stable.
} Diag;

typedef struct Diags {
    Arena     *arena;
    SourceSet *sources;
    Diag     **items;
    size_t     count, cap;
    uint32_t   errors, warnings;
} Diags;

Diags *diags_new(Arena *arena, SourceSet *sources);

// Starts a diagnostic at `span` with a headline (printf). The result may be given more; it is
// already in the list. The same code, place and message are listed once.
Diag *diag_add(Diags *diags, DiagCode code, Span span, const char *message, ...)
    __attribute__((format(printf, 4, 5)));
void diag_label(Diags *diags, Diag *diag, Span span, const char *text, ...)
    __attribute__((format(printf, 4,
                          5)));  // The first call labels the primary span if `span` is it.
void diag_note(Diags *diags, Diag *diag, const char *text, ...)
    __attribute__((format(printf, 3, 4)));
void diag_fix(Diags *diags, Diag *diag, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

// The closest of `names` to `wrong`, or an empty text when none is close.
Text diag_did_you_mean(Text wrong, const Text *names, size_t count);

// The diagnostics sorted by file and offset, in the arena.
Diag **diags_by_place(const Diags *diags);

// Sorted by place, as text (with or without colour) or as JSON lines, one object a diagnostic.
void diags_print(TextBuf *buf, const Diags *diags, bool colour);
void diags_print_json(TextBuf *buf, const Diags *diags);

const char *diag_code(DiagCode code);            // "SB0501"
const char *diag_title(DiagCode code);
Severity    diag_severity(DiagCode code);
bool        diag_find(Text code_text, DiagCode *code);
const char *diag_page(DiagCode code);            // What `sbc explain` prints below the title.

#endif
