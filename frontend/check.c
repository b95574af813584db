// Check: the program as a whole. What it declares, in which order that is checked, what is unused.
#include "frontend/checker.h"

#include "frontend/lex.h"
#include "frontend/parse.h"

#include <errno.h>
#include <string.h>

enum { FILES_MAX = 64, LOST_NAMES_MAX = 4 };

// ---- files --------------------------------------------------------------------------------------

// The path without `.` and `folder/..`, so that a file has one name however it is reached.
static Text plain_path(Checker *checker, Text path) {
    TextBuf buf = {0};
    size_t floor = path.len && path.at[0] == '/';
    for (size_t at = 0; at < path.len;) {
        size_t end = at;
        while (end < path.len && path.at[end] != '/') end++;
        Text part = {path.at + at, end - at};
        size_t last = buf.len;  // Where the last part that was kept begins.
        while (last > floor && buf.at[last - 1] != '/') last--;
        bool up = text_is(part, "..");
        bool pops = up && buf.len > floor && !text_is((Text){buf.at + last, buf.len - last}, "..");
        if (pops) {
            buf.len = last > floor ? last - 1 : floor;
        } else if (!text_is(part, ".") && (part.len || at == 0)) {
            if (at > 0 && buf.len > floor) text_buf_char(&buf, '/');
            text_buf_add(&buf, part.len ? part : TEXT("/"));
        }
        at = end + 1;
    }
    return text_buf_take(&buf, checker->arena);
}

Text path_beside(Checker *checker, uint32_t file, Text path) {
    Text base = TEXT("");
    if (file < checker->input->sources->file_count)
        base = checker->input->sources->files[file].path;
    size_t folder = base.len;
    while (folder && base.at[folder - 1] != '/') folder--;
    if (!folder || (path.len && path.at[0] == '/')) return plain_path(checker, path);
    return plain_path(checker, text_format(checker->arena, "%.*s%.*s", (int)folder, base.at,
                                           TEXT_ARG(path)));
}

static bool file_known(Checker *checker, Text path) {
    for (size_t i = 0; i < checker->program->file_count; i++) {
        uint32_t file = checker->program->files[i]->file;
        if (text_eq(plain_path(checker, checker->input->sources->files[file].path), path))
            return true;
    }
    return false;
}

static void add_file(Checker *checker, uint32_t file) {
    Program *program = checker->program;
    program->files[program->file_count++] =
        parse_file(checker->arena, checker->input->sources, file, checker->diags);
}

static void use_file(Checker *checker, const AstStmt *stmt) {
    if (!stmt->value || stmt->value->kind != AST_STR) return;
    Text path = path_beside(checker, stmt->span.file, stmt->value->text);
    if (file_known(checker, path)) return;
    uint32_t file;
    bool room = checker->program->file_count < FILES_MAX;
    if (room && source_load(checker->input->sources, path, &file)) {
        add_file(checker, file);
        return;
    }
    checker->lacks_file = true;
    Diag *diag = report(checker, DIAG_USE_FAILED, stmt->value->span, "cannot use '%.*s': %s",
                        TEXT_ARG(path), room ? strerror(errno) : "too many files");
    report_label(checker, diag, stmt->value->span, "relative to this file's folder");
    report_fix(checker, diag, "give the path of an .sbd file beside this one");
}

static void load_files(Checker *checker, uint32_t main_file) {
    Program *program = checker->program;
    program->files = arena_new_array(checker->arena, AstFile *, FILES_MAX);
    add_file(checker, main_file);
    for (size_t f = 0; f < program->file_count; f++) {
        const AstFile *file = program->files[f];
        for (size_t i = 0; i < file->stmt_count; i++)
            if (file->stmts[i].kind == AST_USE) use_file(checker, &file->stmts[i]);
    }
}

// ---- declarations -------------------------------------------------------------------------------

static void declared_twice(Checker *checker, const AstStmt *stmt, const AstStmt *first,
                           const char *what) {
    Diag *diag = report(checker, DIAG_DUPLICATE_NAME, stmt->name.span,
                        "%s '%.*s' is declared twice",
                        what, TEXT_ARG(stmt->name.text));
    report_label(checker, diag, stmt->name.span, "the second one");
    report_label(checker, diag, first->name.span, "the first one");
    report_fix(checker, diag, "rename one of them");
}

static void declare_type(Checker *checker, const AstStmt *stmt) {
    const TypeDecl *old = find_type_decl(checker, stmt->name.text);
    TypeKind kind;
    if (old) declared_twice(checker, stmt, old->stmt, "type");
    else if (type_kind_find(stmt->name.text, &kind) || text_is(stmt->name.text, "decimal")) {
        Diag *diag = report(checker, DIAG_BUILT_IN_TYPE, stmt->name.span,
                            "'%.*s' is a built-in type",
                            TEXT_ARG(stmt->name.text));
        report_label(checker, diag, stmt->name.span, "taken");
        report_fix(checker, diag, "choose another name, with a capital: My%.*s",
                   TEXT_ARG(stmt->name.text));
    } else {
        TypeDecl decl = {.stmt = stmt, .type = error_type(checker)};
        arena_push(checker->arena, checker->type_decls, checker->type_count, checker->type_cap,
                   decl);
    }
}

static void declare_stmt(Checker *checker, const AstStmt *stmt) {
    Text name = stmt->name.text;
    switch (stmt->kind) {
    case AST_TYPE: declare_type(checker, stmt); break;
    case AST_FN: case AST_EXTERN: {
        const FnDecl *old = find_fn(checker, name);
        FnDecl decl = {.stmt = stmt, .result = error_type(checker)};
        if (old) declared_twice(checker, stmt, old->stmt, "fn");
        else arena_push(checker->arena, checker->fns, checker->fn_count, checker->fn_cap, decl);
        break;
    }
    case AST_LET: {
        const LetDecl *old = find_let(checker, name);
        LetDecl decl = {.stmt = stmt, .flow = broken_flow()};
        if (old) declared_twice(checker, stmt, old->stmt, "flow");
        else arena_push(checker->arena, checker->lets, checker->let_count, checker->let_cap, decl);
        break;
    }
    case AST_PARAM: {
        const ParamDecl *old = find_param(checker, name);
        ParamDecl decl = {.stmt = stmt, .type = error_type(checker)};
        if (old) declared_twice(checker, stmt, old->stmt, "param");
        else arena_push(checker->arena, checker->params, checker->param_count, checker->param_cap,
                        decl);
        break;
    }
    case AST_USE: case AST_FLOW: case AST_REJECTS: case AST_TEST: case AST_STMT_ERROR: break;
    }
}

static void used_file_statement(Checker *checker, const AstStmt *stmt) {
    if (stmt->kind != AST_FLOW && stmt->kind != AST_REJECTS) return;
    Diag *diag = report(checker, DIAG_USE_STATEMENT, stmt->span,
                        "a file that is used only declares");
    report_label(checker, diag, stmt->span, "a %s", stmt->kind == AST_FLOW ? "flow" : "`rejects`");
    report_fix(checker, diag, "name it with `let`, and write it in the main file");
}

// What could not be read, and the names that it may have declared: `lte rows = read ...`.
static void note_lost(Checker *checker, const AstFile *file) {
    for (size_t i = 0; i < file->stmt_count; i++) {
        const AstStmt *stmt = &file->stmts[i];
        if (!stmt->lost.end) continue;
        arena_push(checker->arena, checker->lost, checker->lost_count, checker->lost_cap,
                   stmt->lost);
        checker->lacks_file |= stmt->kind == AST_LET && !stmt->name.text.len;
        if (stmt->lost.start > stmt->span.start) continue;  // Its name was read.
        Text text = source_text(checker, stmt->lost);
        for (size_t at = 0, names = 0; at < text.len && names < LOST_NAMES_MAX;) {
            size_t end = at;
            while (end < text.len && (lex_is_letter(text.at[end]) || lex_is_digit(text.at[end])))
                end++;
            Name name = {{text.at + at, end - at}, stmt->lost};
            if (end > at)
                arena_push(checker->arena, checker->lost_names, checker->lost_name_count,
                           checker->lost_name_cap, name);
            names += end > at;
            at = end > at ? end : at + 1;
        }
    }
}

static void declare_all(Checker *checker) {
    for (size_t f = 0; f < checker->program->file_count; f++) {
        const AstFile *file = checker->program->files[f];
        note_lost(checker, file);
        for (size_t i = 0; i < file->stmt_count; i++) {
            declare_stmt(checker, &file->stmts[i]);
            if (f > 0) used_file_statement(checker, &file->stmts[i]);
        }
    }
    declare_params(checker);
    for (size_t i = 0; i < checker->type_count; i++) {
        const Type *type;
        resolve_named(checker, checker->type_decls[i].stmt->name.text, &type);
    }
    declare_fns(checker);
}

// ---- flows --------------------------------------------------------------------------------------

// Does the text of the flow end in a write, whatever became of it?
static bool ends_in_write(const AstStep *steps, uint32_t count) {
    if (!count) return false;
    const AstStep *last = &steps[count - 1];
    if (last->kind == AST_WRITE || last->kind == AST_STEP_ERROR) return true;
    return ends_in_write(last->steps, last->step_count);
}

static void unwritten(Checker *checker, const AstStmt *stmt, Flow flow) {
    const AstFlow *ast = stmt->flow;
    if (checker->input->table_sink && !flow.broken) {
        FileUse use;
        find_format(checker, (Name){TEXT("csv"), stmt->span}, SIDE_WRITE, &use);
        default_options(checker, SIDE_WRITE, &use);
        use.path = graph_const_text(checker->graph, TEXT("-"), stmt->span);
        StepId step = graph_step(checker->graph, TEXT("write csv(\"-\")"), stmt->span);
        write_sink(checker, flow, &use, step, stmt->span);
        checker->program->table = (OpId){(uint32_t)checker->graph->op_count - 1};
        return;
    }
    if (ends_in_write(ast->steps, ast->step_count) || ast->kind == AST_HEAD_ERROR) return;
    if (checker->input->table_sink) return;
    Diag *diag = report(checker, DIAG_NO_WRITE, stmt->span, "the flow is not written anywhere");
    report_label(checker, diag, stmt->span, "its rows would be lost");
    report_fix(checker, diag, "end it with | write csv(\"-\"), or name it with `let`");
}

static void check_main(Checker *checker) {
    const AstFile *file = checker->program->files[0];
    for (size_t i = 0; i < file->stmt_count; i++) {
        const AstStmt *stmt = &file->stmts[i];
        if (stmt->kind == AST_REJECTS) check_rejects(checker, stmt);
        if (stmt->kind != AST_FLOW || !stmt->flow) continue;
        checker->depth = 0;
        Flow flow = check_flow(checker, stmt->flow);
        // A step whose `|` is misspelt is a statement that could not be read.
        bool cut = i + 1 < file->stmt_count && file->stmts[i + 1].kind == AST_STMT_ERROR;
        if (!flow.written && !cut) unwritten(checker, stmt, flow);
    }
}

// Lets that no flow uses are checked too; their operators go away again unless tests want them.
static void check_unused_lets(Checker *checker) {
    Graph *graph = checker->graph;
    size_t ops = graph->op_count, steps = graph->step_count;
    for (size_t i = 0; i < checker->let_count; i++) {
        checker->depth = 0;
        check_let(checker, &checker->lets[i]);
    }
    for (size_t f = 0; f < checker->program->file_count; f++)
        check_tests(checker, checker->program->files[f]);
    if (checker->input->want_tests) return;
    graph->op_count = ops;
    graph->step_count = steps;
    checker->program->tests = nullptr;
    checker->program->test_count = 0;
}

// ---- warnings -----------------------------------------------------------------------------------

static void unused(Checker *checker, DiagCode code, const AstStmt *stmt, const char *what) {
    if (stmt->span.file != checker->program->files[0]->file) return;  // A library may hold more.
    Diag *diag = report(checker, code, stmt->name.span, "%s '%.*s' is never used", what,
                        TEXT_ARG(stmt->name.text));
    report_label(checker, diag, stmt->name.span, "unused");
    report_fix(checker, diag, "use it or drop it");
}

// A file whose flows all have names is a library, made to be used by others.
static bool is_library(const AstFile *file) {
    for (size_t i = 0; i < file->stmt_count; i++)
        if (file->stmts[i].kind == AST_FLOW) return false;
    return true;
}

static void warn_unused(Checker *checker) {
    if (is_library(checker->program->files[0])) return;
    for (size_t i = 0; i < checker->let_count; i++)
        if (!checker->lets[i].used) unused(checker, DIAG_UNUSED_LET, checker->lets[i].stmt, "flow");
    for (size_t i = 0; i < checker->param_count; i++)
        if (!checker->params[i].used)
            unused(checker, DIAG_UNUSED_PARAM, checker->params[i].stmt, "param");
    for (size_t i = 0; i < checker->fn_count; i++)
        if (!checker->fns[i].used) unused(checker, DIAG_UNUSED_FN, checker->fns[i].stmt, "fn");
}

static void no_flow(Checker *checker) {
    const AstFile *file = checker->program->files[0];
    bool declares = false;
    for (size_t i = 0; i < file->stmt_count; i++) {
        AstStmtKind kind = file->stmts[i].kind;
        if (kind == AST_FLOW || kind == AST_STMT_ERROR || file->stmts[i].lost.end) return;
        declares |= kind == AST_LET || kind == AST_TYPE || kind == AST_FN || kind == AST_EXTERN ||
                    kind == AST_TEST;
    }
    // Who checks a file or runs its tests may mean a library; a job of it would do nothing.
    if (declares && checker->input->want_tests) return;
    Span span = {0, 0, file->file};
    Diag *diag = report(checker, DIAG_NO_FLOW, span, "the program does nothing");
    report_label(checker, diag, span, "no flow");
    report_fix(checker, diag, "read csv(\"-\") as {name: str} | write csv(\"-\")");
}

Program *check_program(const CheckInput *input, uint32_t file) {
    Checker *checker = arena_new_of(input->arena, Checker);
    *checker = (Checker){.input = input, .arena = input->arena, .types = input->types,
                         .diags = input->diags};
    checker->graph = graph_new(input->arena, input->types);
    Program *program = checker->program = arena_new_of(input->arena, Program);
    program->table = OP_NONE;
    checker->graph->rejects = (RejectsSink){.path = EXPR_NONE, .limit_rows = EXPR_NONE,
                                            .limit_share = EXPR_NONE};
    load_files(checker, file);
    declare_all(checker);
    check_main(checker);
    check_unused_lets(checker);
    check_batches(checker);
    check_paths(checker);
    no_flow(checker);
    if (!input->diags->errors) warn_unused(checker);
    Graph *graph = checker->graph;
    for (size_t i = 0; i < input->sources->file_count; i++)
        arena_push(graph->arena, graph->files, graph->file_count, graph->file_cap,
                   input->sources->files[i].path);
    program->graph = input->diags->errors ? nullptr : graph;
    return program;
}
