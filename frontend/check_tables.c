// Tables written out: inline sources, and the rows that tests give and expect.
#include "frontend/checker.h"

// ---- rows ---------------------------------------------------------------------------------------

static bool is_table(Checker *checker, const AstExpr *table) {
    if (!table || table->kind == AST_ERROR) return false;
    bool good = table->kind == AST_LIST;
    Span span = table->span;
    for (uint32_t i = 0; good && i < table->arg_count; i++) {
        const AstExpr *row = table->args[i].value;
        if (!row || row->kind == AST_ERROR) return false;
        good = row->kind == AST_STRUCT;
        for (uint32_t k = 0; good && k < row->arg_count; k++) good = !row->args[k].spread;
        if (!good) span = row->span;
    }
    if (good) return true;
    Diag *diag = report(checker, DIAG_TABLE_FORM, span, "a table is a list of rows");
    report_label(checker, diag, span, "no row");
    report_fix(checker, diag, "[{name: \"a\", n: 1}, {name: \"b\", n: 2}]");
    return false;
}

static const AstArg *cell(const AstExpr *row, Text name) {
    for (uint32_t i = 0; i < row->arg_count; i++)
        if (text_eq(row->args[i].name.text, name)) return &row->args[i];
    return nullptr;
}

static void not_constant(Checker *checker, Span span) {
    Diag *diag = report(checker, DIAG_NOT_CONSTANT, span, "a table holds constants");
    report_label(checker, diag, span, "computed");
    report_fix(checker, diag, "write the value out, or derive it after the table");
}

// One row as constants of the given columns; absent nullable ones are null.
static bool row_constants(Checker *checker, const AstExpr *row, const Field *fields, uint32_t count,
                          Const *out) {
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    Const *items = arena_new_array(checker->arena, Const, count + 1);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        const AstArg *arg = cell(row, fields[i].name);
        if (!arg && fields[i].type->nullable) {
            items[i].is_null = true;
        } else if (!arg && is_error(fields[i].type)) {
            good = false;  // The cells that there are say why.
        } else if (!arg) {
            Diag *diag = report(checker, DIAG_TABLE_ROW, row->span, "the row lacks '%.*s'",
                                TEXT_ARG(fields[i].name));
            report_label(checker, diag, row->span, "expected %.*s: %s", TEXT_ARG(fields[i].name),
                         type_say(checker, fields[i].type));
            report_fix(checker, diag, "add %.*s: ...", TEXT_ARG(fields[i].name));
            good = false;
        } else {
            Value value = check_as(checker, &scope, arg->value, fields[i].type);
            good &= !is_error(value.type);
            if (is_error(value.type) || const_of(checker, value.id, &items[i])) continue;
            not_constant(checker, arg->value->span);
            good = false;
        }
    }
    *out = (Const){.items = items, .item_count = count};
    return good;
}

static bool row_names(Checker *checker, const AstExpr *row, const Field *fields, uint32_t count) {
    bool good = true;
    for (uint32_t i = 0; i < row->arg_count; i++) {
        const Name *name = &row->args[i].name;
        bool found = false;
        for (uint32_t j = 0; j < count; j++) found |= text_eq(fields[j].name, name->text);
        if (cell(row, name->text) != &row->args[i]) {
            Diag *diag = report(checker, DIAG_DUPLICATE_FIELD, name->span,
                                "column '%.*s' stands twice in this row", TEXT_ARG(name->text));
            report_label(checker, diag, name->span, "the second one");
            report_fix(checker, diag, "drop one of them");
            good = false;
        } else if (!found) {
            Text *names = arena_new_array(checker->arena, Text, count + 1);
            for (uint32_t j = 0; j < count; j++) names[j] = fields[j].name;
            Diag *diag = report(checker, DIAG_UNKNOWN_COLUMN, name->span, "no column '%.*s'",
                                TEXT_ARG(name->text));
            report_label(checker, diag, name->span, "the table does not have it");
            fix_names(checker, diag, name->text, names, count);
            good = false;
        }
    }
    return good;
}

static bool table_rows(Checker *checker, const AstExpr *table, const Field *fields, uint32_t count,
                       Const **rows) {
    *rows = arena_new_array(checker->arena, Const, table->arg_count + 1);
    bool good = true;
    for (uint32_t i = 0; i < table->arg_count; i++) {
        const AstExpr *row = table->args[i].value;
        good &= row_names(checker, row, fields, count);
        good &= row_constants(checker, row, fields, count, &(*rows)[i]);
    }
    return good;
}

// ---- inline tables ------------------------------------------------------------------------------

// The type of a column: what its cells have in common, T? if one is null or absent.
static const Type *column_type(Checker *checker, const AstExpr *table, Text name, bool *good) {
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    const Type *type = nullptr;
    bool absent = false;
    Span span = table->span;
    for (uint32_t i = 0; i < table->arg_count; i++) {
        const AstArg *arg = cell(table->args[i].value, name);
        if (!arg) {
            absent = true;
            continue;
        }
        checker->quiet++;
        const Type *own = check_expr(checker, &scope, arg->value, nullptr).type;
        checker->quiet--;
        if (is_error(own)) continue;  // Reported when the row is read.
        bool mixed = type && is_flexible(arg->value) && type_is_numeric(type_base(type)) &&
                     type_is_numeric(own);
        if (mixed && type_base(type)->kind == TYPE_I64 && own->kind == TYPE_F64)
            type = type->nullable ? type_nullable(own) : own;
        if (mixed) continue;
        const Type *both = type ? common_type(checker, type, own) : own;
        if (!both) {
            Diag *diag = report(checker, DIAG_NO_COMMON_TYPE, arg->value->span,
                                "column '%.*s' holds %s and %s", TEXT_ARG(name),
                                type_say(checker, type), type_say(checker, own));
            report_label(checker, diag, arg->value->span, "%s", type_say(checker, own));
            report_fix(checker, diag, "give the column one type");
            *good = false;
            return error_type(checker);
        }
        type = both;
        span = arg->value->span;
    }
    if (!type || !is_null(type)) return !type ? error_type(checker)
                                              : absent ? type_nullable(type) : type;
    Diag *diag = report(checker, DIAG_NULL_TYPE, span, "null of which type?");
    report_label(checker, diag, span, "every row has null in column '%.*s'", TEXT_ARG(name));
    report_fix(checker, diag, "give one row a value");
    *good = false;
    return error_type(checker);
}

Flow check_table(Checker *checker, const AstFlow *ast) {
    const AstExpr *table = ast->table;
    if (!is_table(checker, table)) return broken_flow();
    if (!table->arg_count || !table->args[0].value->arg_count) {
        Diag *diag = report(checker, DIAG_TABLE_FORM, table->span, "a table without columns");
        report_label(checker, diag, table->span, "nothing says which columns it has");
        report_fix(checker, diag, "give it a row: [{n: 1}]; then `where false` for none");
        return broken_flow();
    }
    Field *fields = nullptr;
    size_t count = 0, cap = 0;
    bool good = true;
    for (uint32_t i = 0; i < table->arg_count; i++) {
        const AstExpr *row = table->args[i].value;
        for (uint32_t j = 0; j < row->arg_count; j++) {
            bool seen = false;
            for (size_t k = 0; k < count; k++)
                seen |= text_eq(fields[k].name, row->args[j].name.text);
            if (seen) continue;
            Field field = {row->args[j].name.text, nullptr};
            field.type = column_type(checker, table, field.name, &good);
            arena_push(checker->arena, fields, count, cap, field);
        }
    }
    Const *rows;
    good &= table_rows(checker, table, fields, (uint32_t)count, &rows);
    if (!good) return broken_flow();
    Flow flow = {.op = OP_NONE, .lost_place = "an inline table"};
    Op *op = add_op(checker, OP_SOURCE, &flow, make_step(checker, ast->head_span), ast->head_span);
    op->columns = arena_new_array(checker->arena, Column, count);
    op->source = (SourceOp){.kind = SOURCE_INLINE, .path = EXPR_NONE, .rows = rows,
                            .row_count = table->arg_count, .column_count = (uint32_t)count};
    op->source.options = file_options_none();
    op->source.columns = arena_new_array(checker->arena, SourceColumn, count);
    op->column_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        op->columns[i] = (Column){.name = fields[i].name, .type = fields[i].type};
        op->source.columns[i] = (SourceColumn){.name = fields[i].name, .type = fields[i].type,
                                               .span = ast->head_span};
    }
    return flow;
}

// ---- tests --------------------------------------------------------------------------------------

static bool test_rows(Checker *checker, const AstGiven *given, TestRows *rows) {
    LetDecl *let = find_let(checker, given->name.text);
    if (!let && may_be_declared(checker, given->name.text)) return false;
    if (!let) {
        Diag *diag = report(checker, DIAG_TEST_FLOW, given->name.span, "no flow '%.*s' to %s",
                            TEXT_ARG(given->name.text), given->expect ? "look at" : "replace");
        report_label(checker, diag, given->name.span, "no `let` declares it");
        Text *names = arena_new_array(checker->arena, Text, checker->let_count + 1);
        for (size_t i = 0; i < checker->let_count; i++) names[i] = checker->lets[i].stmt->name.text;
        fix_names(checker, diag, given->name.text, names, checker->let_count);
        return false;
    }
    let->used |= !given->expect || checker->input->want_tests;
    Flow flow = check_let(checker, let);
    if (!is_table(checker, given->table) || flow.broken || flow.unsure) return false;
    const Op *op = graph_op_at(checker->graph, flow.op);
    Field *fields = arena_new_array(checker->arena, Field, op->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->column_count; i++)
        if (!op->columns[i].hidden)
            fields[count++] = (Field){op->columns[i].name, op->columns[i].type};
    *rows = (TestRows){.expect = given->expect, .flow = flow.op, .span = given->span,
                       .name = given->name.text, .row_count = given->table->arg_count};
    return table_rows(checker, given->table, fields, count, &rows->rows);
}

static void check_test(Checker *checker, const AstStmt *stmt) {
    TestBlock test = {.title = stmt->title, .span = stmt->span};
    test.rows = arena_new_array(checker->arena, TestRows, stmt->given_count + 1);
    bool expects = false;
    for (uint32_t i = 0; i < stmt->given_count; i++) {
        const AstGiven *given = &stmt->givens[i];
        expects |= given->expect;
        for (uint32_t j = 0; j < i; j++) {
            const AstGiven *old = &stmt->givens[j];
            if (old->expect || given->expect || !text_eq(old->name.text, given->name.text))
                continue;
            Diag *diag = report(checker, DIAG_TEST_TWICE, given->name.span,
                                "flow '%.*s' is given twice", TEXT_ARG(given->name.text));
            report_label(checker, diag, given->name.span, "the second time");
            report_fix(checker, diag, "put all rows into one table, or make two tests");
        }
        if (test_rows(checker, given, &test.rows[test.row_count])) test.row_count++;
    }
    if (!expects && stmt->given_count) {
        Diag *diag = report(checker, DIAG_TEST_EMPTY, stmt->span, "the test expects nothing");
        report_label(checker, diag, stmt->span, "it cannot fail");
        report_fix(checker, diag, "add: expect FLOW == [{...}]");
    }
    Program *program = checker->program;
    size_t cap = program->test_count;
    arena_push(checker->arena, program->tests, program->test_count, cap, test);
}

void check_tests(Checker *checker, const AstFile *file) {
    for (size_t i = 0; i < file->stmt_count; i++)
        if (file->stmts[i].kind == AST_TEST) check_test(checker, &file->stmts[i]);
}
