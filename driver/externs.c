#include "driver/externs.h"

#include "codegen/build/cache.h"
#include "driver/header.h"

#include <string.h>

static const Span nowhere = {0, 0, SPAN_NONE};

static Span span_of_file(const Session *s, Text path) {
    for (size_t i = 0; path.len && i < s->program->extern_count; i++) {
        const ExternFn *fn = &s->program->externs[i];
        if (text_eq(fn->ref->file, path)) return fn->file_span;
    }
    return nowhere;
}

// The declaration that asks for it, or for a function of this name whose state it makes. Null: the
// text of a graph declares nothing.
static const ExternFn *extern_of(const Session *s, const FnRef *ref) {
    for (size_t i = 0; i < s->program->extern_count; i++) {
        const FnRef *own = s->program->externs[i].ref;
        if (text_eq(own->name, ref->name) && text_eq(own->file, ref->file))
            return &s->program->externs[i];
    }
    return nullptr;
}

static void note_said(const ExternFault *fault, Diag *diag, Diags *diags) {
    size_t len = fault->said.len;
    while (len && fault->said.at[len - 1] == '\n') len--;
    if (len) diag_note(diags, diag, "it said:\n%.*s", (int)len, fault->said.at);
}

// The C compiler lacks a type of ours.
static bool lacks_types(Text said) {
    Text lead = TEXT("unknown type name 'Sb");
    for (size_t i = 0; i < said.len; i++)
        if (text_starts((Text){said.at + i, said.len - i}, lead)) return true;
    return false;
}

// One file, or what was needed to compile it.
static void complain_of_file(const Session *s, const ExternFault *fault, Diags *diags) {
    Span span = span_of_file(s, fault->path);
    Diag *diag = diag_add(diags, DIAG_EXTERN_REFUSED, span, "%.*s", (int)fault->message.len,
                          fault->message.at);
    note_said(fault, diag, diags);
    if (!fault->said.len && fault->path.len)
        diag_fix(diags, diag, "correct the path; it is relative to the folder of the program");
    if (lacks_types(text_buf_view(&fault->said)))
        diag_fix(diags, diag, "write #include \"pipeline.h\" in it; `sbc header %s` prints what "
                              "that declares", s->name);
}

static void complain_of_missing(const Session *s, const ExternFault *fault, const FnRef *ref,
                                Diags *diags) {
    const ExternFn *fn = extern_of(s, ref);
    Span span = fn ? fn->name_span : nowhere;
    Diag *diag = diag_add(diags, DIAG_EXTERN_REFUSED, span, "%.*s defines no function '%.*s'",
                          TEXT_ARG(ref->file), TEXT_ARG(ref->symbol));
    if (fn) diag_label(diags, diag, span, "declared here");
    Text *names = arena_new_array(s->arena, Text, fault->defined.count + 1);
    for (size_t i = 0; i < fault->defined.count; i++) names[i] = text_of(fault->defined.items[i]);
    Text near = diag_did_you_mean(ref->symbol, names, fault->defined.count);
    if (near.len) diag_fix(diags, diag, "did you mean '%.*s'?", TEXT_ARG(near));
    else
        diag_fix(diags, diag, "define it there, and not as `static`: `sbc header %s` prints its "
                              "prototype", s->name);
}

static void complain_of_types(const Session *s, const ExternFault *fault, const ExternDecl *decl,
                              Diags *diags) {
    const ExternFn *fn = extern_of(s, decl->ref);
    Diag *diag = diag_add(diags, DIAG_EXTERN_REFUSED, fn->name_span,
                          "%.*s has '%.*s' with other types", TEXT_ARG(decl->ref->file),
                          TEXT_ARG(decl->ref->symbol));
    diag_label(diags, diag, fn->name_span, "declared here");
    if (decl == fault->differing[0]) note_said(fault, diag, diags);
    Text prototype = header_prototype(s->arena, fn);
    bool ours = memchr(prototype.at, 'S', prototype.len);  // SbStr
    diag_fix(diags, diag, "define it as %.*s%s", TEXT_ARG(prototype),
             ours ? " with #include \"pipeline.h\"" : "");
}

#include <string.h>

int externs_complain(const Session *s, ExternFault *fault) {
    Session later = session_later(s);
    if (fault->message.len) complain_of_file(s, fault, later.diags);
    for (size_t i = 0; i < fault->differing_count; i++)
        complain_of_types(s, fault, fault->differing[i], later.diags);
    for (size_t i = 0; i < fault->missing_count; i++)
        complain_of_missing(s, fault, fault->missing[i], later.diags);
    text_buf_free(&fault->message);
    text_buf_free(&fault->said);
    return session_report(&later);
}

// ---- sbc check ----------------------------------------------------------------------------------

static ExternFiles declared_files(const Session *s) {
    ExternFiles files = {0};
    for (size_t i = 0; i < s->program->extern_count; i++) {
        const FnRef *ref = s->program->externs[i].ref;
        bool known = false;
        if (ref->traits & FN_PYTHON) continue;
        for (size_t j = 0; j < files.count; j++) known |= text_eq(files.paths[j], ref->file);
        if (!known) arena_push(s->arena, files.paths, files.count, files.cap, ref->file);
        arena_push(s->arena, files.fns, files.fn_count, files.fn_cap, ref);
    }
    return files;
}

// What the verdict depends on. Null: there is no cache, or a file cannot be read.
static const char *verdict_key(const Session *s, const char *cache, const ExternFiles *files,
                               const ExternHeader *header) {
    TextBuf parts = {0};
    ExternFault fault = {0};
    Text build;
    bool good = cache && cache_build_id(s->arena, cache, &build) &&
                extern_key(s->arena, files, &parts, &fault);
    const char *key = nullptr;
    if (good) {
        cache_key_add(&parts, "build", build);
        cache_key_add(&parts, "header", header->text);
        key = cache_key(s->arena, &parts);
    }
    text_buf_free(&fault.message);
    text_buf_free(&parts);
    return key;
}

int externs_check(const Session *s) {
    ExternFiles files = declared_files(s);
    if (!files.count) return EXIT_DONE;
    ExternHeader header = header_of(s);
    ExternBuild objects;
    ExternFault fault = {0};
    const char *cache = cache_folder(s->arena), *key = verdict_key(s, cache, &files, &header);
    if (key && cache_is_good(s->arena, cache, key)) return EXIT_DONE;
    if (!extern_compile(s->arena, &files, &header, &objects, &fault))
        return externs_complain(s, &fault);
    extern_remove(&objects);
    text_buf_free(&fault.said);
    if (key) cache_keep_good(s->arena, cache, key);
    return EXIT_DONE;
}
