// read FORMAT(...) [as TYPE] and range(n): where rows come from.
#include "frontend/checker.h"

#include <string.h>

// ---- the type of the rows -----------------------------------------------------------------------

// The first path that is known at compile time: written out, or a param's default.
static bool known_path(Checker *checker, ExprId id, Text *path) {
    const Expr *expr = graph_at(checker->graph, id);
    if (expr->op == EXPR_PARAM) {
        id = checker->graph->params[expr->index].value;
        if (expr_is_none(id)) return false;
    }
    Const value;
    if (!const_of(checker, id, &value)) return false;
    bool list = expr->type->kind == TYPE_LIST;
    if (list && !value.item_count) return false;
    *path = list ? value.items[0].text : value.text;
    return true;
}

static const Type *infer_type(Checker *checker, const AstFlow *flow, const SourceOp *source) {
    Text path = TEXT("");
    bool known = known_path(checker, source->path, &path);
    if (!known || !checker->input->infer || text_is(path, "-")) {
        Diag *diag = report(checker, DIAG_SCHEMA_NEEDED, flow->head_span,
                            "the columns of this source are not known");
        report_label(checker, diag, flow->head_span, known ? "nothing is read before the job runs"
                                                           : "its path is known only to the job");
        report_fix(checker, diag, "declare them: read ... as {name: str, ...}; "
                                  "`sbc schema FILE` prints the type");
        return error_type(checker);
    }
    TextBuf error = {0};
    const Type *type = checker->input->infer(checker->input->infer_self, source, path,
                                             checker->types, &error);
    if (type) {
        Diag *diag = report(checker, DIAG_INFERRED, flow->head_span, "'%.*s' has the type %s",
                            TEXT_ARG(path), type_say(checker, type));
        report_label(checker, diag, flow->head_span, "inferred from the first file");
        if (error.len) report_note(checker, diag, "%.*s", (int)error.len, error.at);
        report_fix(checker, diag, "to fix it, write: as %s", type_say(checker, type));
    } else {
        Diag *diag = report(checker, DIAG_SCHEMA_FAILED, flow->head_span,
                            "the columns of '%.*s' cannot be inferred", TEXT_ARG(path));
        // A second line is a better fix.
        const char *text = error.at ? error.at : "";
        const char *line = error.len ? memchr(text, '\n', error.len) : nullptr;
        int len = (int)(line ? (size_t)(line - text) : error.len);
        report_label(checker, diag, flow->head_span, "%.*s", len, text);
        if (line) report_fix(checker, diag, "%.*s", (int)error.len - len - 1, line + 1);
        else report_fix(checker, diag, "declare them: read ... as {name: str, ...}");
        type = error_type(checker);
    }
    text_buf_free(&error);
    return type;
}

static void unreadable(Checker *checker, const AstFlow *flow, const Type *row, uint32_t column,
                       const FormatColumns *reads) {
    bool inside = flow->as->kind == AST_TYPE_STRUCT;
    Span span = inside ? flow->as->fields[column].type->span : flow->as->span;
    const Type *type = row->fields[column].type, *base = type_base(type);
    Diag *diag = report(checker, DIAG_COLUMN_TYPE, span, "%s cannot be read as %s", reads->words,
                        type_say(checker, reads->fits(base) ? type : base));
    report_label(checker, diag, span, "column '%.*s'", TEXT_ARG(row->fields[column].name));
    report_fix(checker, diag, "%s", reads->fix);
}

// May the format have columns of these types?
static bool readable(Checker *checker, const AstFlow *flow, const Type *type, Format format) {
    const FormatColumns *reads = &format_info(format)->read_columns;
    if (reads->count && reads->count != type->field_count) {
        Diag *diag = report(checker, DIAG_SOURCE_TYPE, flow->as->span, "%.*s has %u column%s",
                            TEXT_ARG(flow->name.text), reads->count, reads->count == 1 ? "" : "s");
        report_label(checker, diag, flow->as->span, "%u columns", type->field_count);
        report_fix(checker, diag, "%s", reads->fix);
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < type->field_count && reads->fits; i++) {
        if (reads->fits(type->fields[i].type)) continue;
        unreadable(checker, flow, type, i, reads);
        good = false;
    }
    return good;
}

static const Type *row_type(Checker *checker, const AstFlow *flow, const SourceOp *source) {
    const FormatInfo *info = format_info(source->format);
    if (info->row == FORMAT_ROW_FIXED) {
        const Type *type = format_fixed_row(checker->types, info);
        if (!flow->as) return type;
        const Type *written = resolve_type(checker, flow->as);
        if (written == type || is_error(written)) return written;
        Diag *diag = report(checker, DIAG_SOURCE_TYPE, flow->as->span, "%.*s has the type %s",
                            TEXT_ARG(flow->name.text), type_say(checker, type));
        report_label(checker, diag, flow->as->span, "another type");
        report_fix(checker, diag, "drop `as`, and rename or derive columns after it");
        return error_type(checker);
    }
    if (!flow->as) return infer_type(checker, flow, source);
    const Type *type = resolve_type(checker, flow->as);
    if (is_error(type)) return type;
    if (type->kind == TYPE_STRUCT && !type->nullable && type->field_count)
        return readable(checker, flow, type, source->format) ? type : error_type(checker);
    Diag *diag = report(checker, DIAG_SOURCE_TYPE, flow->as->span, "a row is a struct, not %s",
                        type_say(checker, type));
    report_label(checker, diag, flow->as->span, "%s", type_say(checker, type));
    if (type->kind == TYPE_MAP)
        report_fix(checker, diag, "for a column called str: as {`str`: %s}",
                   type_say(checker, type_map_value(type)));
    else report_fix(checker, diag, "name the columns: as {name: %s}",
               type->kind == TYPE_STRUCT ? "str" : type_say(checker, type));
    return error_type(checker);
}

// ---- read ---------------------------------------------------------------------------------------

static void source_columns(Checker *checker, const AstFlow *flow, Op *op, const Type *type) {
    uint32_t count = type->field_count;
    op->columns = arena_new_array(checker->arena, Column, count + 1);
    op->source.columns = arena_new_array(checker->arena, SourceColumn, count + 1);
    op->column_count = op->source.column_count = count;
    const AstType *written = flow->as;
    if (written && written->kind == AST_TYPE_NAME) {
        const TypeDecl *decl = find_type_decl(checker, written->name.text);
        if (decl) op->source.type_name = written->name.text;
        written = decl ? decl->stmt->type : nullptr;
    }
    bool spans = written && written->kind == AST_TYPE_STRUCT && written->field_count == count;
    for (uint32_t i = 0; i < count; i++) {
        const Field *field = &type->fields[i];
        Span span = spans ? written->fields[i].name.span : flow->head_span;
        op->columns[i] = (Column){.name = field->name, .type = field->type};
        op->source.columns[i] = (SourceColumn){.name = field->name, .type = field->type,
                                               .span = span};
    }
}

// The keys stand beside the columns of the files. What a file has of an inferred column that is a
// key of the path, too, is left out. Null: reported.
static const Type *apart_from_keys(Checker *checker, const AstFlow *ast, const Type *type,
                                   const FileUse *use) {
    Field *fields = arena_new_array(checker->arena, Field, type->field_count + 1);
    uint32_t count = 0;
    bool inferred = !ast->as && format_info(use->format)->row != FORMAT_ROW_FIXED;
    for (uint32_t i = 0; i < type->field_count; i++) {
        bool key = false;
        for (uint32_t k = 0; k < use->key_count; k++)
            key |= text_eq(use->keys[k].name, type->fields[i].name);
        if (!key) fields[count++] = type->fields[i];
        if (!key || inferred) continue;
        Text name = type->fields[i].name;
        Diag *diag = report(checker, DIAG_PATH_KEY, ast->head_span,
                            "'%.*s' is a column of the files and a key of the path",
                            TEXT_ARG(name));
        report_label(checker, diag, ast->as ? ast->as->span : ast->head_span, "the column");
        report_fix(checker, diag, ast->as ? "leave it out of the type, or name the key otherwise"
                                          : "name the key otherwise");
        return nullptr;
    }
    return count < type->field_count ? type_struct(checker->types, fields, count) : type;
}

// Words for null mean nothing where all columns are str: there they are text.
static void judge_nulls(Checker *checker, const AstFlow *ast, const Type *type) {
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].type->nullable || type->fields[i].type->kind != TYPE_STR) return;
    const AstArg *option = nullptr;
    for (uint32_t i = 0; i < ast->option_count && !option; i++)
        if (text_is(ast->options[i].name.text, "null")) option = &ast->options[i];
    if (!option || !type->field_count) return;
    Diag *diag = report(checker, DIAG_NULL_UNUSED, option->name.span,
                        "words for null are text in columns of type str");
    report_label(checker, diag, option->name.span, "means nothing here");
    report_fix(checker, diag, "give a column that may have such words the type str?, as in "
                              "%.*s: str?, or drop the option", TEXT_ARG(type->fields[0].name));
}

// Have the types an open dimension of one name, `_` apart?
static bool share_name(const Type *a, const Type *b, bool one) {
    for (uint32_t i = 0; i < a->rank; i++)
        for (uint32_t k = one ? i + 1 : 0; k < b->rank; k++)
            if (a->shape[i] == b->shape[k] && dimension_is_open(a->shape[i]) &&
                a->shape[i] != DIMENSION_ANY)
                return true;
    return false;
}

// In a row a name of dimensions is one size: each column is held against those before it.
static Flow agree_names(Checker *checker, Flow flow) {
    Scope scope = scope_of_flow(checker, flow);
    const Op *source = graph_op_at(checker->graph, flow.op);
    bool any = false;
    for (uint32_t i = 0; i < source->column_count; i++) {
        Value *value = &scope.names[i].value;
        const Value own = *value;
        for (uint32_t k = 0; k <= i; k++) {
            Value other = k < i ? scope.names[k].value : own;
            if (!share_name(type_base(own.type), type_base(other.type), k == i)) continue;
            *value = node2(checker, EXPR_AGREE, own.type, source->source.columns[i].span, *value,
                           other);
            any = true;
        }
    }
    if (!any) return flow;
    flow.keyed = false;
    return project(checker, flow, &scope, source->step, source->span);
}

Flow check_read(Checker *checker, const AstFlow *ast) {
    SourceOp source = {.path = EXPR_NONE};
    FileCall call = {ast->name, ast->options, ast->option_count, ast->head_span};
    FileUse use;
    if (!check_options(checker, &call, SIDE_READ, &use)) {
        if (ast->as) resolve_type(checker, ast->as);
        return broken_flow();
    }
    source.format = use.format;
    source.path = use.path;
    source.options = use.options;
    source.keys = use.keys;
    source.key_count = use.key_count;
    const Type *type = row_type(checker, ast, &source);
    if (is_error(type)) return broken_flow();
    type = apart_from_keys(checker, ast, type, &use);
    if (!type) return broken_flow();
    if (ast->as) judge_nulls(checker, ast, type);
    Flow flow = {.op = OP_NONE, .has_place = true};
    Op *op = add_op(checker, OP_SOURCE, &flow, make_step(checker, ast->head_span), ast->head_span);
    op->source = source;
    source_columns(checker, ast, op, type);
    flow.fresh = true;
    flow.keyed = use.key_count > 0;
    return agree_names(checker, flow);
}

// ---- range --------------------------------------------------------------------------------------

Flow check_range(Checker *checker, const AstFlow *ast) {
    Scope scope = {.kind = SCOPE_JOB, .no_row = true};
    if (ast->option_count != 1 || !ast->options[0].value) {
        Diag *diag = report(checker, DIAG_ARGUMENT_COUNT, ast->head_span,
                            "'range' takes 1 argument, not %u", ast->option_count);
        report_label(checker, diag, ast->head_span, "%u here", ast->option_count);
        report_fix(checker, diag, "range(10): the rows i = 0 to 9");
        return broken_flow();
    }
    Value count = check_as(checker, &scope, ast->options[0].value, kind_type(checker, TYPE_I64));
    Const constant;
    if (const_of(checker, count.id, &constant) && constant.i < 0) {
        Diag *diag = report(checker, DIAG_NEGATIVE_COUNT, ast->options[0].value->span,
                            "a range of fewer than no rows");
        report_label(checker, diag, ast->options[0].value->span, "negative");
        report_fix(checker, diag, "give a number from 0 on");
        return broken_flow();
    }
    if (is_error(count.type)) return broken_flow();
    Flow flow = {.op = OP_NONE, .lost_place = "`range`"};
    Op *op = add_op(checker, OP_SOURCE, &flow, make_step(checker, ast->head_span), ast->head_span);
    Field field = {TEXT("i"), kind_type(checker, TYPE_I64)};
    op->source = (SourceOp){.kind = SOURCE_RANGE, .path = count.id};
    op->source.options = file_options_none();
    source_columns(checker, ast, op, type_struct(checker->types, &field, 1));
    return flow;
}
