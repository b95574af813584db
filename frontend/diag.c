// Diagnostics: the collection, the table of the codes, and did-you-mean.
#include "frontend/diag.h"

#include <string.h>

typedef struct DiagRow {
    const char *code, *title, *page;
    Severity    severity;
} DiagRow;

static const DiagRow rows[DIAG_COUNT + 1] = {
#define DIAG(name, code, severity, title, page) {code, title, page, SEVERITY_##severity},
#include "frontend/diagnostics.def"
};

const char *diag_code(DiagCode code) { return rows[code].code; }
const char *diag_title(DiagCode code) { return rows[code].title; }
const char *diag_page(DiagCode code) { return rows[code].page; }
Severity diag_severity(DiagCode code) { return rows[code].severity; }

bool diag_find(Text code_text, DiagCode *code) {
    for (uint32_t i = 0; i < DIAG_COUNT; i++) {
        if (!text_is(code_text, rows[i].code)) continue;
        *code = (DiagCode)i;
        return true;
    }
    return false;
}

Diags *diags_new(Arena *arena, SourceSet *sources) {
    Diags *diags = arena_new_of(arena, Diags);
    diags->arena = arena;
    diags->sources = sources;
    return diags;
}

// Names come from files too: what would move the cursor of a terminal is shown as U+FFFD.
static Text format_text(Arena *arena, const char *format, va_list args) {
    TextBuf raw = {0}, shown = {0};
    text_buf_formatv(&raw, format, args);
    for (size_t i = 0; i < raw.len; i++) {
        unsigned char c = (unsigned char)raw.at[i];
        bool control = (c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
        if (control) text_buf_add(&shown, TEXT("\uFFFD"));
        else text_buf_char(&shown, raw.at[i]);
    }
    text_buf_free(&raw);
    return text_buf_take(&shown, arena);
}

// A function that is checked at each of its calls would report its mistakes once a call.
static bool was_said(const Diags *diags, DiagCode code, Span span, Text message) {
    for (size_t i = diags->count; i-- > 0;) {
        const Diag *old = diags->items[i];
        Span at = old->labels[0].span;
        if (old->code == code && at.file == span.file && at.start == span.start &&
            at.end == span.end && text_eq(old->message, message)) return true;
    }
    return false;
}

Diag *diag_add(Diags *diags, DiagCode code, Span span, const char *message, ...) {
    Diag *diag = arena_new_of(diags->arena, Diag);
    diag->code = code;
    diag->labels[0].span = span;
    diag->label_count = 1;
    va_list args;
    va_start(args, message);
    diag->message = format_text(diags->arena, message, args);
    va_end(args);
    if (diags->count < DIAGS_MAX && was_said(diags, code, span, diag->message)) return diag;
    if (rows[code].severity == SEVERITY_ERROR) diags->errors++;
    if (rows[code].severity == SEVERITY_WARNING) diags->warnings++;
    if (diags->count < DIAGS_MAX) {
        arena_push(diags->arena, diags->items, diags->count, diags->cap, diag);
    }
    return diag;
}

void diag_label(Diags *diags, Diag *diag, Span span, const char *text, ...) {
    va_list args;
    va_start(args, text);
    Label label = {span, format_text(diags->arena, text, args)};
    va_end(args);
    Label *first = &diag->labels[0];
    bool primary = !first->text.len && first->span.file == span.file &&
                   first->span.start == span.start && first->span.end == span.end;
    if (primary) *first = label;
    else if (diag->label_count < LABELS_MAX) diag->labels[diag->label_count++] = label;
}

void diag_note(Diags *diags, Diag *diag, const char *text, ...) {
    if (diag->note_count == NOTES_MAX) return;
    va_list args;
    va_start(args, text);
    diag->notes[diag->note_count++] = format_text(diags->arena, text, args);
    va_end(args);
}

void diag_fix(Diags *diags, Diag *diag, const char *text, ...) {
    va_list args;
    va_start(args, text);
    diag->fix = format_text(diags->arena, text, args);
    va_end(args);
}

enum { NAME_BYTES_MAX = 64 };

static Text lower(Text text, char bytes[NAME_BYTES_MAX]) {
    if (text.len > NAME_BYTES_MAX) return text;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bytes[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    return (Text){bytes, text.len};
}

// Case does not count as a difference: GROUP means group. One edit is allowed for two letters,
// two for five, and so on, so that short names are not guessed at random.
Text diag_did_you_mean(Text wrong, const Text *names, size_t count) {
    char wrong_bytes[NAME_BYTES_MAX], name_bytes[NAME_BYTES_MAX];
    Text wrong_lower = lower(wrong, wrong_bytes), best = {0};
    unsigned best_distance = (unsigned)(wrong.len + 1) / 3 + 1;
    for (size_t i = 0; i < count && best_distance; i++) {
        if (text_eq(names[i], wrong)) continue;
        unsigned distance = text_distance(wrong_lower, lower(names[i], name_bytes), best_distance);
        if (distance >= best_distance) continue;
        best_distance = distance;
        best = names[i];
    }
    return best;
}
