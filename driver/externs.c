#include "driver/externs.h"

static const Span nowhere = {0, 0, SPAN_NONE};

static Span span_of_file(const Session *s, Text path) {
    for (size_t i = 0; path.len && i < s->program->extern_count; i++) {
        const ExternFn *fn = &s->program->externs[i];
        if (text_eq(fn->ref->file, path)) return fn->file_span;
    }
    return nowhere;
}

static Span span_of_fn(const Session *s, const FnRef *ref) {
    for (size_t i = 0; i < s->program->extern_count; i++)
        if (s->program->externs[i].ref == ref) return s->program->externs[i].name_span;
    return nowhere;
}

// One file, or what was needed to compile it.
static void complain_of_file(const Session *s, const ExternFault *fault, Diags *diags) {
    Span span = span_of_file(s, fault->path);
    Diag *diag = diag_add(diags, DIAG_EXTERN_REFUSED, span, "%.*s", (int)fault->message.len,
                          fault->message.at);
    size_t len = fault->said.len;
    while (len && fault->said.at[len - 1] == '\n') len--;
    if (len) diag_note(diags, diag, "it said:\n%.*s", (int)len, fault->said.at);
    else if (fault->path.len)
        diag_fix(diags, diag, "correct the path; it is relative to the folder of the program");
}

static void complain_of_missing(const Session *s, const ExternFault *fault, const FnRef *ref,
                                Diags *diags) {
    Span span = span_of_fn(s, ref);
    Diag *diag = diag_add(diags, DIAG_EXTERN_REFUSED, span, "%.*s defines no function '%.*s'",
                          TEXT_ARG(ref->file), TEXT_ARG(ref->symbol));
    if (span.file != SPAN_NONE) diag_label(diags, diag, span, "declared here");
    Text *names = arena_new_array(s->arena, Text, fault->defined.count + 1);
    for (size_t i = 0; i < fault->defined.count; i++) names[i] = text_of(fault->defined.items[i]);
    Text near = diag_did_you_mean(ref->symbol, names, fault->defined.count);
    if (near.len) diag_fix(diags, diag, "did you mean '%.*s'?", TEXT_ARG(near));
    else
        diag_fix(diags, diag, "define it there, and not as `static`: `sbc header %s` prints its "
                              "prototype", s->name);
}

int externs_complain(const Session *s, ExternFault *fault) {
    Session later = session_later(s);
    if (fault->message.len) complain_of_file(s, fault, later.diags);
    for (size_t i = 0; i < fault->missing_count; i++)
        complain_of_missing(s, fault, fault->missing[i], later.diags);
    text_buf_free(&fault->message);
    text_buf_free(&fault->said);
    return session_report(&later);
}
