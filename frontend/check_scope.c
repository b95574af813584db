// What a name means, and the reports that say when it means nothing.
#include "frontend/checker.h"

// ---- reports ------------------------------------------------------------------------------------

static bool is_lost(const Checker *checker, Span span) {
    for (size_t i = 0; i < checker->lost_count; i++) {
        const Span *lost = &checker->lost[i];
        bool here = lost->file == span.file;
        if (here && span.end > lost->start && span.start < lost->end) return true;
    }
    return false;
}

Diag *report(Checker *checker, DiagCode code, Span span, const char *message, ...) {
    if (checker->quiet || is_lost(checker, span)) return &checker->unheard;
    TextBuf buf = {0};
    va_list args;
    va_start(args, message);
    text_buf_formatv(&buf, message, args);
    va_end(args);
    Diag *diag = diag_add(checker->diags, code, span, "%.*s", (int)buf.len, buf.at);
    text_buf_free(&buf);
    return diag;
}

static Text formatted(Checker *checker, const char *format, va_list args) {
    TextBuf buf = {0};
    text_buf_formatv(&buf, format, args);
    return text_buf_take(&buf, checker->arena);
}

void report_label(Checker *checker, Diag *diag, Span span, const char *text, ...) {
    if (diag == &checker->unheard) return;
    va_list args;
    va_start(args, text);
    Text shown = formatted(checker, text, args);
    diag_label(checker->diags, diag, span, "%.*s", TEXT_ARG(shown));
    va_end(args);
}

void report_note(Checker *checker, Diag *diag, const char *text, ...) {
    if (diag == &checker->unheard) return;
    va_list args;
    va_start(args, text);
    Text shown = formatted(checker, text, args);
    diag_note(checker->diags, diag, "%.*s", TEXT_ARG(shown));
    va_end(args);
}

void report_fix(Checker *checker, Diag *diag, const char *text, ...) {
    if (diag == &checker->unheard) return;
    va_list args;
    va_start(args, text);
    Text shown = formatted(checker, text, args);
    diag_fix(checker->diags, diag, "%.*s", TEXT_ARG(shown));
    va_end(args);
}

const char *type_say(Checker *checker, const Type *type) {
    return text_c(checker->arena, type_text(checker->arena, type));
}

Text source_text(const Checker *checker, Span span) {
    const SourceSet *sources = checker->input->sources;
    if (span.file >= sources->file_count) return TEXT("");
    Text text = sources->files[span.file].text;
    size_t end = span.end < text.len ? span.end : text.len;
    if (span.start >= end) return TEXT("");
    return (Text){text.at + span.start, end - span.start};
}

// The names there are, shortened, when none is close.
static Text name_list(Checker *checker, const Text *names, size_t count) {
    enum { SHOWN_MAX = 12 };
    TextBuf buf = {0};
    for (size_t i = 0; i < count && i < SHOWN_MAX; i++)
        text_buf_format(&buf, i ? ", '%.*s'" : "'%.*s'", TEXT_ARG(names[i]));
    if (count > SHOWN_MAX) text_buf_format(&buf, " and %zu more", count - SHOWN_MAX);
    return text_buf_take(&buf, checker->arena);
}

void fix_names(Checker *checker, Diag *diag, Text wrong, const Text *names, size_t count) {
    Text near = diag_did_you_mean(wrong, names, count);
    if (near.len) report_fix(checker, diag, "did you mean '%.*s'?", TEXT_ARG(near));
    else if (count)
        report_fix(checker, diag, "use one of %.*s", TEXT_ARG(name_list(checker, names, count)));
}

// ---- scopes -------------------------------------------------------------------------------------

static void scope_add(Checker *checker, Scope *scope, Text name, Value value) {
    Binding binding = {.name = name, .value = value, .from = {.file = SPAN_NONE}};
    size_t cap = scope->cap;
    arena_push(checker->arena, scope->names, scope->count, cap, binding);
    scope->cap = (uint32_t)cap;
}

void scope_bind(Checker *checker, Scope *scope, Text name, Value value) {
    Binding *old = scope_find(scope, name);
    if (old) *old = (Binding){.name = old->name, .value = value, .from = {.file = SPAN_NONE}};
    else scope_add(checker, scope, name, value);
}

Binding *scope_find(const Scope *scope, Text name) {
    for (uint32_t i = 0; i < scope->count; i++)
        if (text_eq(scope->names[i].name, name)) return &scope->names[i];
    return nullptr;
}

// So many names come, and then a few more.
static void scope_reserve(Checker *checker, Scope *scope, uint32_t count) {
    enum { MORE = 4 };
    scope->cap = count + MORE;
    scope->names = arena_new_array(checker->arena, Binding, scope->cap);
}

Scope scope_of_flow(Checker *checker, Flow flow) {
    Scope scope = {.kind = SCOPE_ROW, .has_place = flow.has_place, .lost_place = flow.lost_place};
    if (flow.broken) {
        scope.unknown = true;
        scope.has_place = true;
        return scope;
    }
    scope.unknown = flow.unsure;
    const Op *op = graph_op_at(checker->graph, flow.op);
    scope_reserve(checker, &scope, op->column_count);
    for (uint32_t i = 0; i < op->column_count; i++) {
        const Column *column = &op->columns[i];
        if (column->hidden) continue;
        Value value = {.type = column->type};
        value.id = is_error(column->type)
                       ? EXPR_NONE
                       : graph_column(checker->graph, 0, i, column->type, op->span);
        if (flow.present && flow.present[i])
            value = present_value(checker, value, column->name, op->span);
        scope_add(checker, &scope, column->name, value);  // Each name of a flow is there once.
        Binding *added = &scope.names[scope.count - 1];
        added->is_column = true;
        added->op = flow.op;
        added->column = i;
    }
    if (flow.keyed) bind_keys(checker, &scope, op, flow.present);
    return scope;
}

Text *scope_names(Checker *checker, const Scope *scope, size_t *count) {
    size_t room = scope->count + checker->param_count;
    Text *names = arena_new_array(checker->arena, Text, room + 1);
    *count = 0;
    for (uint32_t i = 0; i < scope->count; i++) names[(*count)++] = scope->names[i].name;
    if (scope->kind != SCOPE_CONSTANT)
        for (size_t i = 0; i < checker->param_count; i++)
            names[(*count)++] = checker->params[i].stmt->name.text;
    return names;
}

static const char *scope_noun(ScopeKind kind) {
    switch (kind) {
    case SCOPE_ROW: case SCOPE_WINDOW: return "column or param";
    case SCOPE_CONSTANT: return "constant";
    case SCOPE_JOB: return "param";
    case SCOPE_FN: return "parameter of the fn and no param";
    case SCOPE_RESULT: return "key of the group";
    }
    return "name";
}

// Is it the name of another item of the step? Then the next step has it.
static bool fix_later(Checker *checker, const Scope *scope, Diag *diag, Text name) {
    const AstStep *step = scope->kind == SCOPE_RESULT ? scope->group->step : nullptr;
    for (uint32_t i = 0; step && i < step->agg_count; i++) {
        if (!text_eq(step->aggs[i].name.text, name)) continue;
        report_fix(checker, diag, "items do not see each other: put this one into the next step, "
                                  "| derive x = ... %.*s ...", TEXT_ARG(name));
        return true;
    }
    return false;
}

static Value unknown_name(Checker *checker, Scope *scope, Name name, Span span) {
    if (scope->unknown || may_be_declared(checker, name.text)) return error_value(checker);
    if (scope->kind == SCOPE_CONSTANT) {
        Diag *diag = report(checker, DIAG_NOT_CONSTANT, span, "'%.*s' is not a constant",
                            TEXT_ARG(name.text));
        report_label(checker, diag, span, "a constant is expected here");
        report_fix(checker, diag, "write the value out; a text stands in quotes: \"%.*s\"",
                   TEXT_ARG(name.text));
        return error_value(checker);
    }
    bool input = scope->kind == SCOPE_RESULT && scope_find(scope->group->input, name.text);
    if (input) {
        Diag *diag = report(checker, DIAG_NOT_GROUPED, span,
                            "column '%.*s' has many values in a group", TEXT_ARG(name.text));
        report_label(checker, diag, span, "neither a key nor inside an aggregate");
        report_fix(checker, diag, "choose one value: first(%.*s), max(%.*s); or make it a key",
                   TEXT_ARG(name.text), TEXT_ARG(name.text));
        return error_value(checker);
    }
    Diag *diag = report(checker, DIAG_UNKNOWN_NAME, span, "unknown name '%.*s'",
                        TEXT_ARG(name.text));
    report_label(checker, diag, span, "no %s has this name", scope_noun(scope->kind));
    size_t count;
    Text *names = scope_names(checker, scope, &count);
    if (find_let(checker, name.text))
        report_note(checker, diag, "'%.*s' is a flow; a flow is not a value", TEXT_ARG(name.text));
    if (fix_later(checker, scope, diag, name.text)) return error_value(checker);
    if (count) fix_names(checker, diag, name.text, names, count);
    else report_fix(checker, diag, "declare a param of this name; a text stands in quotes");
    return error_value(checker);
}

Value scope_name(Checker *checker, Scope *scope, Name name, Span span) {
    Binding *binding = scope_find(scope, name.text);
    ParamDecl *param = scope->kind == SCOPE_CONSTANT ? nullptr : find_param(checker, name.text);
    bool row = scope->kind == SCOPE_ROW || scope->kind == SCOPE_WINDOW;
    if (binding && param && row) {
        param->used = true;
        Diag *diag = report(checker, DIAG_AMBIGUOUS_NAME, span,
                            "'%.*s' is both a column and a param", TEXT_ARG(name.text));
        report_label(checker, diag, span, "which of the two?");
        report_label(checker, diag, param->stmt->name.span, "the param");
        report_fix(checker, diag, "rename the param, or the column with a `rename` step");
        return error_value(checker);
    }
    if (binding) {
        note_tensor_name(checker, binding, span);
        return binding->value;
    }
    if (!param) return unknown_name(checker, scope, name, span);
    param->used = true;
    if (is_error(param->type)) return error_value(checker);
    Expr payload = {.op = EXPR_PARAM, .type = param->type, .span = span,
                    .index = (uint32_t)(param - checker->params)};
    return (Value){graph_expr(checker->graph, payload, nullptr, 0), param->type};
}

// ---- declarations -------------------------------------------------------------------------------

bool may_be_declared(const Checker *checker, Text name) {
    for (size_t i = 0; i < checker->lost_name_count; i++)
        if (text_eq(checker->lost_names[i].text, name)) return true;
    return checker->lacks_file;
}

TypeDecl *find_type_decl(Checker *checker, Text name) {
    for (size_t i = 0; i < checker->type_count; i++)
        if (text_eq(checker->type_decls[i].stmt->name.text, name)) return &checker->type_decls[i];
    return nullptr;
}

FnDecl *find_fn(Checker *checker, Text name) {
    for (size_t i = 0; i < checker->fn_count; i++)
        if (text_eq(checker->fns[i].stmt->name.text, name)) return &checker->fns[i];
    return nullptr;
}

LetDecl *find_let(Checker *checker, Text name) {
    for (size_t i = 0; i < checker->let_count; i++)
        if (text_eq(checker->lets[i].stmt->name.text, name)) return &checker->lets[i];
    return nullptr;
}

ParamDecl *find_param(Checker *checker, Text name) {
    for (size_t i = 0; i < checker->param_count; i++)
        if (text_eq(checker->params[i].stmt->name.text, name)) return &checker->params[i];
    return nullptr;
}
