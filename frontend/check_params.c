// Params, which become the job's options, and the `rejects` statement.
#include "frontend/checker.h"

// ---- params -------------------------------------------------------------------------------------

// Options that every job has; a param of the same name could not be given.
static const char *const job_options[] = {
    "help", "params", "plan", "licenses", "config", "memory", "threads", "workers", "resource",
    "partition", "overwrite", "resume", "spill", "rejects", "progress", "stats", "trace",
};

static void check_option_name(Checker *checker, const AstStmt *stmt) {
    for (size_t i = 0; i < countof(job_options); i++) {
        if (!text_is(stmt->name.text, job_options[i])) continue;
        Diag *diag = report(checker, DIAG_PARAM_OPTION, stmt->name.span,
                            "'--%s' is an option of every job", job_options[i]);
        report_label(checker, diag, stmt->name.span, "the param would hide it");
        report_fix(checker, diag, "rename it: %s_%s", job_options[i], "value");
    }
}

static bool scalar(const Type *type) {
    return !type_is_nested(type) && type->kind != TYPE_JSON && type->kind != TYPE_NULL &&
           type->kind != TYPE_TENSOR;
}

static const Type *param_type(Checker *checker, const AstStmt *stmt, Value value) {
    if (!stmt->type && !stmt->value) {
        Diag *diag = report(checker, DIAG_PARAM_TYPE, stmt->name.span, "param '%.*s' has no type",
                            TEXT_ARG(stmt->name.text));
        report_label(checker, diag, stmt->name.span, "neither a type nor a default");
        report_fix(checker, diag, "param %.*s: str", TEXT_ARG(stmt->name.text));
        return error_type(checker);
    }
    const Type *type = stmt->type ? resolve_type(checker, stmt->type) : value.type;
    bool list = type->kind == TYPE_LIST && scalar(type->elem) && !type->elem->nullable;
    if (is_error(type) || (scalar(type) && !type->nullable) || (list && !type->nullable))
        return type;
    Span span = stmt->type ? stmt->type->span : stmt->value->span;
    Diag *diag = report(checker, DIAG_PARAM_TYPE, span, "a param cannot be %s",
                        type_say(checker, type));
    report_label(checker, diag, span, "expected a scalar or a list of scalars");
    if (type->nullable)
        report_fix(checker, diag, "give it a default instead: param %.*s: %s = ...",
                   TEXT_ARG(stmt->name.text), type_say(checker, type_base(type)));
    else report_fix(checker, diag, "take it apart into params of simple types");
    return error_type(checker);
}

static ExprId default_value(Checker *checker, const AstStmt *stmt, const Type *type) {
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    Value value = check_as(checker, &scope, stmt->value, type);
    Const constant;
    if (is_error(value.type)) return EXPR_NONE;
    if (const_of(checker, value.id, &constant))
        return const_value(checker, type, constant, stmt->value->span).id;
    Diag *diag = report(checker, DIAG_NOT_CONSTANT, stmt->value->span,
                        "the default of a param must be a constant");
    report_label(checker, diag, stmt->value->span, "computed");
    report_fix(checker, diag, "write the value out");
    return EXPR_NONE;
}

static void declare_param(Checker *checker, ParamDecl *decl) {
    const AstStmt *stmt = decl->stmt;
    check_option_name(checker, stmt);
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    Value value = error_value(checker);
    if (!stmt->type && stmt->value) value = check_expr(checker, &scope, stmt->value, nullptr);
    decl->type = stmt->lost.end ? error_type(checker) : param_type(checker, stmt, value);
    Param param = {.name = stmt->name.text, .type = decl->type, .value = EXPR_NONE,
                   .doc = stmt->doc, .span = stmt->span};
    if (stmt->value && !is_error(decl->type))
        param.value = default_value(checker, stmt, decl->type);
    Graph *graph = checker->graph;
    arena_push(graph->arena, graph->params, graph->param_count, graph->param_cap, param);
}

void declare_params(Checker *checker) {
    for (size_t i = 0; i < checker->param_count; i++) declare_param(checker, &checker->params[i]);
}

// ---- rejects ------------------------------------------------------------------------------------

static void bad_limit(Checker *checker, const AstExpr *limit) {
    Diag *diag = report(checker, DIAG_REJECTS_LIMIT, limit->span,
                        "a limit is a number of rows from 0 on, or a share from 0%% to 100%%");
    report_label(checker, diag, limit->span, "neither");
    report_fix(checker, diag, "limit 100, or limit 0.1%%");
}

static void rejects_limit(Checker *checker, RejectsSink *rejects, const AstExpr *limit) {
    Scope scope = {.kind = SCOPE_JOB, .no_row = true};
    Const constant;
    Value value = check_expr(checker, &scope, limit, nullptr);
    if (is_error(value.type)) return;
    bool share = limit->kind == AST_PERCENT || type_is_float(value.type);
    const Type *want = kind_type(checker, share ? TYPE_F64 : TYPE_I64);
    value = coerce(checker, value, want, limit->span);
    bool known = const_of(checker, value.id, &constant);
    if (known && (share ? !(constant.f >= 0 && constant.f <= 1) : constant.i < 0)) {
        bad_limit(checker, limit);
        return;
    }
    rejects->has_share = share;
    rejects->has_rows = !share;
    if (share) rejects->limit_share = value.id;
    else rejects->limit_rows = value.id;
}

void check_rejects(Checker *checker, const AstStmt *stmt) {
    RejectsSink *rejects = &checker->graph->rejects;
    if (rejects->present) {
        Diag *diag = report(checker, DIAG_REJECTS_TWICE, stmt->span,
                            "a second `rejects` statement");
        report_label(checker, diag, stmt->span, "rejects go to one place");
        report_label(checker, diag, rejects->span, "the first one");
        report_fix(checker, diag, "keep one of them");
        return;
    }
    *rejects = (RejectsSink){.present = true, .path = EXPR_NONE, .limit_rows = EXPR_NONE,
                             .limit_share = EXPR_NONE, .span = stmt->span,
                             .format = FORMAT_JSONL};
    if (stmt->limit) rejects_limit(checker, rejects, stmt->limit);
    if (!stmt->format.text.len) return;
    FileCall call = {stmt->format, stmt->options, stmt->option_count, stmt->span};
    FileUse use;
    bool good = check_options(checker, &call, SIDE_WRITE, &use);
    rejects->path = use.path;
    if (!good) return;
    rejects->format = use.format;
    rejects->append = use.options.append;
    note_sink_path(checker, &use, stmt->span);
    const FormatInfo *info = format_info(use.format);
    if (info->records != FORMAT_RECORDS_NONE && use.name == &info->names[0]) return;
    Diag *diag = report(checker, DIAG_REJECTS_FORMAT, stmt->format.span,
                        "rejects are written as jsonl or csv");
    report_label(checker, diag, stmt->format.span, "'%.*s'", TEXT_ARG(stmt->format.text));
    report_fix(checker, diag, "rejects write jsonl(\"rejects.jsonl\")");
}
