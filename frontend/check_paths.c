// Keys in paths.
//
// An output by key has a file, or a folder of parts, for each value of what stands in the braces:
//
//   write csv("{dir}/year={year}/{month}.csv")    dir is a param
//              ─────────── path: over params
//                          ────────────────── key: over the row
//
// The rows are sorted by the key, in front of the sink. So one file is filled after the other.
//
// A source reads such folders back. Its keys become columns after those of the files:
//
//   read csv("{dir}/year={year: i32}/*.csv")      path: "DIR/year=*/*.csv"
//                                                 key:  i32(path_key(source(), pattern, 0))
//
// The job judges the keys of all paths before it opens a file. So no row faults by them. A `where`
// directly after the read sees them too: it may refuse a file by its path.
#include "frontend/checker.h"
#include "ir/walk.h"

// ---- what stands in the braces ------------------------------------------------------------------

static bool differs_by_row(const Expr *node) {
    if (node->op == EXPR_CALL) return (node->fn->traits & (FN_RANDOM | FN_IMPURE)) != 0;
    return node->op == EXPR_COLUMN || node->op == EXPR_PLACE;
}

static bool is_over_row(Checker *checker, ExprId root) {
    Walk walk = walk_make(checker->graph);
    walk_start(&walk);
    walk_add(&walk, root);
    for (ExprId id; walk_next(&walk, &id);)
        if (differs_by_row(graph_at(checker->graph, id))) return true;
    return false;
}

// Texts of these types are never empty, have no `/` and begin with no dot.
static bool is_plain(const Type *type) {
    return type_is_integer(type) || type_is_float(type) || type->kind == TYPE_BOOL ||
           type->kind == TYPE_DECIMAL || type->kind == TYPE_DATE || type->kind == TYPE_TIMESTAMP ||
           type->kind == TYPE_DURATION;
}

// What is no part of a path is a reject.
static ExprId checked_part(Checker *checker, ExprId text, Span span) {
    const Expr *made = graph_at(checker->graph, text);
    if (made->op == EXPR_TEXT && is_plain(graph_at(checker->graph, made->args[0])->type))
        return text;
    Value part = {text, kind_type(checker, TYPE_STR)};
    return call_by_name(checker, "path_part", span, &part, 1).id;
}

// ---- the parts of a path ------------------------------------------------------------------------

typedef struct PathParts {
    ExprId  *path, *key;
    uint32_t path_count, key_count;
    TextBuf  shape, frame;  // The key as it is written; the same with nothing in the braces.
} PathParts;

static bool add_part(Checker *checker, Scope *row, const AstExpr *part, PathParts *to) {
    Value value = fstring_part(checker, row, part);
    if (is_error(value.type)) return false;
    bool text = part->kind == AST_STR;
    if (!text && is_over_row(checker, value.id)) {
        value.id = checked_part(checker, value.id, part->span);
    } else if (to->key_count == 0) {
        to->path[to->path_count++] = value.id;
        return true;
    }
    to->key[to->key_count++] = value.id;
    Text written = text ? part->text : step_label(checker, part->span);
    text_buf_format(&to->shape, text ? "%.*s" : "{%.*s}", TEXT_ARG(written));
    text_buf_add(&to->frame, text ? written : TEXT("{}"));
    return true;
}

static ExprId joined(Checker *checker, const ExprId *ids, uint32_t count, Span span) {
    if (count == 0) return graph_const_text(checker->graph, TEXT(""), span);
    if (count == 1) return ids[0];
    return node(checker, EXPR_CONCAT, kind_type(checker, TYPE_STR), span, ids, count).id;
}

// After the first brace each folder has a name, and the last of them too, unless it ends in /.
static bool stays_inside(Checker *checker, Text frame, Span span) {
    for (size_t at = 0, end; at < frame.len; at = end + 1) {
        end = at;
        while (end < frame.len && frame.at[end] != '/') end++;
        Text name = {frame.at + at, end - at};
        bool leaves = text_is(name, "..") || text_is(name, ".") ||
                      (name.len == 0 && end < frame.len && at > 0);
        if (!leaves) continue;
        Diag *diag = report(checker, DIAG_PATH_BRACES, span,
                            "'%.*s' after a brace is the name of no folder", TEXT_ARG(name));
        report_label(checker, diag, span, "the files of all keys stay below one folder");
        report_fix(checker, diag, "leave it out");
        return false;
    }
    return true;
}

bool check_key_path(Checker *checker, Scope *row, const AstExpr *written, FileUse *use) {
    PathParts parts = {.path = arena_new_array(checker->arena, ExprId, written->arg_count + 1),
                       .key = arena_new_array(checker->arena, ExprId, written->arg_count + 1)};
    bool good = true;
    for (uint32_t i = 0; i < written->arg_count; i++)
        good &= add_part(checker, row, written->args[i].value, &parts);
    Text shape = text_buf_take(&parts.shape, checker->arena),
         frame = text_buf_take(&parts.frame, checker->arena);
    if (!good || !stays_inside(checker, frame, written->span)) return false;
    use->path = joined(checker, parts.path, parts.path_count, written->span);
    if (parts.key_count == 0) return true;
    use->key = joined(checker, parts.key, parts.key_count, written->span);
    use->shape = shape;
    return true;
}

// ---- reading ------------------------------------------------------------------------------------

// What Hive, Spark and DuckDB name the folder of rows whose key is null.
static const char null_folder[] = "__HIVE_DEFAULT_PARTITION__";

static bool is_key_type(const Type *type) {
    const Type *base = type_base(type);
    return base->kind == TYPE_STR || is_plain(base);
}

// The text in the path as its type.
static Value key_value(Checker *checker, Value text, const Type *type, Span span) {
    const Type *base = type_base(type), *truth = kind_type(checker, TYPE_BOOL);
    Value value = text;
    if (base->kind != TYPE_STR) value = node1(checker, EXPR_CAST, base, span, text);
    if (!type->nullable) return value;
    Value none = str_value(checker, text_of(null_folder), span);
    ExprId parts[] = {node2(checker, EXPR_EQ, truth, span, text, none).id,
                      null_value(checker, type, span).id,
                      node1(checker, EXPR_SOME, type, span, value).id};
    return node(checker, EXPR_IF, type, span, parts, countof(parts));
}

static bool add_key(Checker *checker, const AstArg *part, ExprId pattern, FileUse *use) {
    Span span = part->value->span;
    const Type *type = resolve_type(checker, part->type), *str = kind_type(checker, TYPE_STR);
    if (is_error(type)) return false;
    if (!is_key_type(type)) {
        Diag *diag = report(checker, DIAG_PATH_KEY, part->type->span, "a key in a path is no %s",
                            type_say(checker, type));
        report_label(checker, diag, part->type->span,
                     "expected a text, a number, a bool or a time");
        report_fix(checker, diag, "take it as a str, and derive from it");
        return false;
    }
    for (uint32_t i = 0; i < use->key_count; i++) {
        if (!text_eq(use->keys[i].name, part->value->name.text)) continue;
        Diag *diag = report(checker, DIAG_PATH_KEY, span, "the key '%.*s' stands twice in a path",
                            TEXT_ARG(part->value->name.text));
        report_label(checker, diag, span, "the second one");
        report_fix(checker, diag, "give it another name, or write * in its place");
        return false;
    }
    Expr place = {.op = EXPR_PLACE, .type = str, .span = span, .index = PLACE_SOURCE};
    ExprId number = graph_const_i64(checker->graph, use->key_count);
    Value args[] = {{graph_expr(checker->graph, place, nullptr, 0), str}, {pattern, str},
                    {number, kind_type(checker, TYPE_I64)}};
    Value text = call_by_name(checker, "path_key", span, args, countof(args));
    use->keys[use->key_count++] =
        (NamedExpr){.name = part->value->name.text,
                    .expr = key_value(checker, text, type, span).id};
    return true;
}

// A name that is no param may be meant as a key.
static bool is_known(Checker *checker, const Scope *scope, const AstArg *part) {
    const AstExpr *value = part->value;
    size_t count;
    const Text *names = scope_names(checker, scope, &count);
    bool known = part->type || value->kind != AST_NAME;
    for (size_t i = 0; i < count && !known; i++) known = text_eq(names[i], value->name.text);
    if (known) return true;
    Diag *diag = report(checker, DIAG_PATH_KEY, value->span, "'%.*s' is no param, and a key has a "
                        "type", TEXT_ARG(value->name.text));
    report_label(checker, diag, value->span, "a param, or a key without its type");
    report_fix(checker, diag, "for a column of what stands there write {%.*s: str}",
               TEXT_ARG(value->name.text));
    return false;
}

bool check_key_pattern(Checker *checker, const AstExpr *written, FileUse *use) {
    Scope scope = {.kind = SCOPE_JOB, .no_row = true};
    uint32_t count = written->arg_count;
    ExprId *path = arena_new_array(checker->arena, ExprId, count + 1),
           *pattern = arena_new_array(checker->arena, ExprId, count + 1);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        const AstArg *part = &written->args[i];
        good &= is_known(checker, &scope, part);
        if (!good) continue;
        Value value = part->type ? str_value(checker, TEXT("*"), part->value->span)
                                 : fstring_part(checker, &scope, part->value);
        good &= !is_error(value.type);
        path[i] = pattern[i] = value.id;
        if (part->type) pattern[i] = str_value(checker, TEXT("{}"), part->value->span).id;
    }
    if (!good) return false;
    use->path = joined(checker, path, count, written->span);
    use->keys = arena_new_array(checker->arena, NamedExpr, count + 1);
    ExprId whole = joined(checker, pattern, count, written->span);
    for (uint32_t i = 0; i < count; i++)
        if (written->args[i].type) good &= add_key(checker, &written->args[i], whole, use);
    return good;
}

// The value where no row faults by it: the job has judged the path.
Value safe_key(Checker *checker, const NamedExpr *key) {
    const Expr *made = graph_at(checker->graph, key->expr);
    const Type *type = made->type;
    Span span = made->span;
    Const zero = {.text = TEXT("")};
    ExprId args[] = {key->expr, type->nullable ? null_value(checker, type, span).id
                                               : graph_const(checker->graph, type, zero, span)};
    Expr safe = {.op = EXPR_ELSE, .type = type, .span = span, .handler = ELSE_VALUE};
    return (Value){graph_expr(checker->graph, safe, args, countof(args)), type};
}

void bind_keys(Checker *checker, Scope *scope, const Op *source, const bool *present) {
    const NamedExpr *keys = source->source.keys;
    uint32_t count = source->source.key_count;
    for (uint32_t i = 0; i < count; i++) {
        Value value = safe_key(checker, &keys[i]);
        if (present && present[source->column_count + i])
            value = present_value(checker, value, keys[i].name, source->span);
        scope_bind(checker, scope, keys[i].name, value);
    }
}
