#include "driver/session.h"

#include "codegen/reference/reference.h"
#include "driver/infer.h"
#include "driver/judge.h"
#include "driver/load.h"
#include "driver/read_graph.h"
#include "frontend/parse.h"
#include "ir/pass.h"

#include <errno.h>
#include <string.h>

void put(FILE *stream, TextBuf *buf) {
    if (buf->len) fwrite(buf->at, 1, buf->len, stream);
    text_buf_free(buf);
}

Session session_new(const Options *options) {
    SourceSet *sources = source_set_new(options->arena);
    return (Session){.options = options, .arena = options->arena, .sources = sources,
                     .diags = diags_new(options->arena, sources),
                     .types = type_table_new(options->arena),
                     .remarks = remarks_new(options->arena)};
}

bool session_load(Session *s, const char *path) {
    s->name = path;
    if (source_load(s->sources, text_of(path), &s->file)) return true;
    Span nowhere = {0, 0, SPAN_NONE};
    const char *why = errno == EFBIG ? "it is bigger than 16 MiB" : strerror(errno);
    Diag *d = diag_add(s->diags, DIAG_FILE_UNREADABLE, nowhere, "%s cannot be read: %s", path, why);
    diag_fix(s->diags, d, "check the path and its permissions");
    return false;
}

bool session_take(Session *s, Text text) {
    s->name = "command line";
    if (text.len > SOURCE_BYTES_MAX) return false;
    s->file = source_add(s->sources, text_of(s->name), text);
    return true;
}

AstFile *session_parse(Session *s) {
    if (!is_graph_text(s->name)) return parse_file(s->arena, s->sources, s->file, s->diags);
    Span nowhere = {0, 0, SPAN_NONE};
    diag_add(s->diags, DIAG_GRAPH_TEXT, nowhere, "%s is the text of a graph, and no program",
             s->name);
    return nullptr;
}

void session_check(Session *s, CheckAs as) {
    if (is_graph_text(s->name)) {
        s->program = read_graph(s);
        return;
    }
    CheckInput input = {.arena = s->arena, .types = s->types, .sources = s->sources,
                        .diags = s->diags, .infer = infer_first_file, .infer_self = s->arena,
                        .judge = judge_constant_text, .load = load_tensor,
                        .want_tests = as.want_tests, .table_sink = as.table_sink,
                        .decls = declare_stdlib(s->arena, s->types, s->diags)};
    s->program = check_program(&input, s->file);
}

static void list_pass(const char *name, const char *doc) {
    fprintf(stderr, "  %-8s %s\n", name, doc);
}

static void complain_no_pass(const Session *s, const char *after) {
    size_t count = pass_count + plan_pass_count;
    Text *names = arena_new_array(s->arena, Text, count);
    for (size_t i = 0; i < pass_count; i++) names[i] = text_of(passes[i].name);
    for (size_t i = 0; i < plan_pass_count; i++)
        names[pass_count + i] = text_of(plan_passes[i].name);
    complain_unknown(s->options, "pass", after, names, count);
    fputs("The passes over the graph are, in order:\n", stderr);
    for (size_t i = 0; i < pass_count; i++) list_pass(passes[i].name, passes[i].doc);
    fputs("and those over the plan, with --dump=plan:\n", stderr);
    for (size_t i = 0; i < plan_pass_count; i++) list_pass(plan_passes[i].name, plan_passes[i].doc);
}

bool session_optimise(Session *s) {
    PassContext context = {.graph = s->program->graph, .eval = reference_const_eval,
                           .remarks = s->remarks};
    const char *after = s->options->after;
    uint32_t passed = context.graph->passed;
    bool none = after && strcmp(after, "none") == 0;
    bool over_plan = after && plan_pass_find(text_of(after));
    if (over_plan && s->options->dump != DUMP_PLAN) {
        complain(s->options, DIAG_WRONG_USAGE, "--dump=plan --after=PASS",
                 "pass %s makes the plan, and nothing else can stop there", after);
        return false;
    }
    if (!none && !passes_run(&context, over_plan ? nullptr : after))
        return complain_no_pass(s, after), false;
    if (after && !over_plan && passed > pass_find(text_of(after))) {
        complain(s->options, DIAG_WRONG_USAGE, "leave --after out", "%s is after pass %s already",
                 s->name, passes[passed - 1].name);
        return false;
    }
    return true;
}

Session session_later(const Session *s) {
    Session later = *s;
    later.diags = diags_new(s->arena, s->sources);
    return later;
}

int session_report(const Session *s) {
    TextBuf buf = {0};
    if (s->options->json) diags_print_json(&buf, s->diags);
    else diags_print(&buf, s->diags, s->options->colour);
    if (!s->options->json && s->diags->errors) {
        text_buf_format(&buf, "\n%u error%s\n", s->diags->errors, s->diags->errors == 1 ? "" : "s");
    }
    put(stderr, &buf);
    return s->diags->errors ? EXIT_WRONG_PROGRAM : EXIT_DONE;
}
