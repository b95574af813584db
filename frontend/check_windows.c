// Windows: what a row is beside the other rows of its partition; and the steps that follow from
// them, `top` and `distinct K keep first by S`.
#include "frontend/checker.h"

// ---- calls --------------------------------------------------------------------------------------

typedef struct WindowCall {
    Checker       *checker;
    WindowBuild   *build;
    const AstExpr *call;
    WindowFn       fn;
    const Type    *value;   // Of fn.arg; null: there is none.
} WindowCall;

enum DefaultFrame { NONE, RUNNING, WHOLE };

static const struct {
    bool              order;
    enum DefaultFrame frame;
} rules[] = {
#define WINDOW(name, text, order, frame, doc) [WINDOW_##name] = {order, frame},
#include "ir/windows.def"
};

static bool is_aggregate(WindowKind kind) { return kind >= WINDOW_COUNT; }

bool is_window_call(Checker *checker, const AstExpr *call) {
    WindowKind kind;
    if (call->frame) return true;
    if (!window_kind_find(call->name.text, &kind)) return false;
    size_t count;
    declarations(checker, call->name.text, false, &count);
    return count == 0 || call->arg_count < 2;  // min(x, y) looks at one row.
}

Value misplaced_window(Checker *checker, const AstExpr *call) {
    Diag *diag = report(checker, DIAG_WINDOW_PLACE, call->span,
                        "'%.*s' looks at other rows; it means something only in `window`",
                        TEXT_ARG(call->name.text));
    report_label(checker, diag, call->span, "one row is at hand here");
    report_fix(checker, diag, "write | window by K sort S { x = %.*s }, and use x after it",
               TEXT_ARG(source_text(checker, call->span)));
    return error_value(checker);
}

static bool blame_call(WindowCall *of, Span span, const char *what, const char *fix) {
    Diag *diag = report(of->checker, DIAG_WINDOW_CALL, span, "'%.*s' %s",
                        TEXT_ARG(of->call->name.text), what);
    report_label(of->checker, diag, span, "here");
    report_fix(of->checker, diag, "%s", fix);
    return false;
}

static bool takes(WindowCall *of, uint32_t least, uint32_t most) {
    uint32_t count = of->call->arg_count, wanted = count < least ? least : most;
    if (count >= least && count <= most) return true;
    Diag *diag = report(of->checker, DIAG_ARGUMENT_COUNT, of->call->span,
                        "'%.*s' takes %u argument%s, not %u", TEXT_ARG(of->call->name.text),
                        wanted, wanted == 1 ? "" : "s", count);
    report_label(of->checker, diag, of->call->span, "%u here", count);
    report_fix(of->checker, diag, "`sbc explain SB0419` lists what a window computes");
    return false;
}

// A constant argument that is not below `least`.
static bool number(WindowCall *of, uint32_t index, int64_t least) {
    const AstExpr *written = of->call->args[index].value;
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    Value value = check_as(of->checker, &scope, written, kind_type(of->checker, TYPE_I64));
    Const constant;
    if (is_error(value.type)) return false;
    if (const_of(of->checker, value.id, &constant) && constant.i >= least)
        return of->fn.n = constant.i, true;
    return blame_call(of, written->span, "takes a number that is written out",
                      least ? "write a number from 1 on" : "write a number from 0 on");
}

// The value of the first argument, over the rows that come in.
static bool take_value(WindowCall *of) {
    Checker *checker = of->checker;
    checker->in_aggregate = true;
    Value value = check_expr(checker, of->build->input, of->call->args[0].value, nullptr);
    checker->in_aggregate = false;
    if (is_error(value.type)) return false;
    if (is_null(value.type))
        return blame_call(of, of->call->span, "of null has no type", "name a column");
    of->fn.arg = value.id;
    of->value = value.type;
    return true;
}

// Under `where` other rows have no value.
static bool take_where(WindowCall *of) {
    Checker *checker = of->checker;
    Span span = of->call->span;
    Value where = check_condition(checker, of->build->input, of->call->where);
    if (is_error(where.type)) return false;
    Value value = {of->fn.arg, of->value};
    if (!of->value) {
        const Type *truth = kind_type(checker, TYPE_BOOL);
        value = const_value(checker, truth, (Const){.i = 1}, span);
    }
    const Type *type = type_nullable(value.type);
    if (!value.type->nullable) value = node1(checker, EXPR_SOME, type, span, value);
    ExprId parts[] = {where.id, value.id, null_value(checker, type, span).id};
    of->fn.arg = node(checker, EXPR_IF, type, span, parts, countof(parts)).id;
    of->value = type;
    return true;
}

// The overload gives the type of the result, and widens the value.
static bool take_aggregate(WindowCall *of) {
    Checker *checker = of->checker;
    bool rows = of->fn.kind == WINDOW_COUNT && of->call->arg_count == 0;
    of->fn.type = kind_type(checker, TYPE_I64);
    if (!rows) {
        size_t count;
        const Decl **decls = declarations(checker, of->call->name.text, true, &count);
        Arguments args;
        checker->in_aggregate = true;
        gather_arguments(checker, of->build->input, of->call, &args);
        checker->in_aggregate = false;
        Choice choice = choose_overload(checker, of->build->input, &args, decls, count);
        if (!choice.decl) return false;
        of->fn.type = choice.result;
        of->fn.arg = args.values[0].id;
        of->value = args.values[0].type;
    }
    if (of->call->where && !take_where(of)) return false;
    // The row itself is in each frame: then there is a value.
    if (of->value && !of->value->nullable) of->fn.type = type_base(of->fn.type);
    return true;
}

static bool is_whole(const Type *type) {
    return type_is_integer(type) || type->kind == TYPE_DATE || type->kind == TYPE_DURATION ||
           type->kind == TYPE_TIMESTAMP;
}

// A duration in the units of a type of time. What is left over decides no comparison of whole ones.
static int64_t in_units(const Type *type, int64_t micros) {
    static const int64_t per_unit[] = {[UNIT_S] = 1'000'000, [UNIT_MS] = 1'000, [UNIT_US] = 1};
    const int64_t day = INT64_C(86'400'000'000);
    if (type->kind == TYPE_DATE) return micros / day;
    if (type->kind != TYPE_TIMESTAMP) return micros;
    if (type->unit != UNIT_NS) return micros / per_unit[type->unit];
    int64_t nanos;
    return __builtin_mul_overflow(micros, INT64_C(1'000), &nanos) ? FRAME_ALL - 1 : nanos;
}

// A constant distance between values of the type; -1: reported.
static int64_t distance(WindowCall *of, const AstExpr *written, const Type *type) {
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    bool number = type_is_integer(type);
    Value value = check_as(of->checker, &scope, written,
                           kind_type(of->checker, number ? TYPE_I64 : TYPE_DURATION));
    Const constant;
    if (is_error(value.type)) return -1;
    if (const_of(of->checker, value.id, &constant) && constant.i >= 0)
        return number ? constant.i : in_units(type, constant.i);
    blame_call(of, written->span, "takes a distance that is written out",
               number ? "write a number from 0 on" : "write a duration, as 30min");
    return -1;
}

static bool take_session(WindowCall *of) {
    if (!takes(of, 2, 2) || !take_value(of)) return false;
    if (!is_whole(of->value))
        return blame_call(of, of->call->args[0].value->span,
                          "takes a time or a whole number that is never null",
                          "say what null means: ... ?? ..., or leave such rows out with where");
    const AstExpr *gap = of->call->args[1].value;
    if (is_months(gap))
        return blame_call(of, gap->span, "takes a gap of a fixed length, which months have not",
                          "write days, as 31d; for sessions by month, window by truncate(t, 1mo)");
    of->fn.n = distance(of, gap, of->value);
    of->fn.type = kind_type(of->checker, TYPE_I64);
    return of->fn.n >= 0;
}

static bool take_arguments(WindowCall *of) {
    WindowFn *fn = &of->fn;
    fn->type = kind_type(of->checker, TYPE_I64);
    switch (fn->kind) {
    case WINDOW_ROW_NUMBER: case WINDOW_RANK: case WINDOW_DENSE_RANK: return takes(of, 0, 0);
    case WINDOW_NTILE: return takes(of, 1, 1) && number(of, 0, 1);
    case WINDOW_LAG: case WINDOW_LEAD:
        fn->n = 1;
        if (!takes(of, 1, 2) || !take_value(of)) return false;
        fn->type = type_nullable(of->value);
        return of->call->arg_count == 1 || number(of, 1, 0);
    case WINDOW_NTH:
        if (!takes(of, 2, 2) || !take_value(of)) return false;
        fn->type = type_nullable(of->value);
        return number(of, 1, 1);
    case WINDOW_FIRST: case WINDOW_LAST: case WINDOW_FILL:
        if (!takes(of, 1, 1) || !take_value(of)) return false;
        fn->type = of->value;
        return true;
    case WINDOW_SESSION: return take_session(of);
    case WINDOW_COUNT: return takes(of, 0, 1) && take_aggregate(of);
    case WINDOW_SUM: case WINDOW_MEAN: case WINDOW_MIN: case WINDOW_MAX:
        return takes(of, 1, 1) && take_aggregate(of);
    }
    return false;
}

// ---- frames -------------------------------------------------------------------------------------

static bool blame_frame(WindowCall *of, const char *what, const char *fix) {
    Diag *diag = report(of->checker, DIAG_WINDOW_FRAME, of->call->frame->span, "%s", what);
    report_label(of->checker, diag, of->call->frame->span, "this frame");
    report_fix(of->checker, diag, "%s", fix);
    return false;
}

// Months of the calendar; -1: reported.
static int64_t months(WindowCall *of, const AstExpr *written) {
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    if (!is_months(written)) {
        if (is_error(check_expr(of->checker, &scope, written, nullptr).type)) return -1;
        blame_call(of, written->span, "has months on its other side",
                   "write months on both sides, or durations: range 30d back 30d ahead");
        return -1;
    }
    Value value = count_of_months(of->checker, &scope, written);
    Const constant;
    if (is_error(value.type)) return -1;
    if (const_of(of->checker, value.id, &constant) && constant.i >= 0) return constant.i;
    blame_call(of, written->span, "takes a distance that is written out",
               "write a number of months from 0 on, as 3mo");
    return -1;
}

static bool reach(WindowCall *of, const AstExpr *written, const Type *type, int64_t *out) {
    bool calendar = of->fn.frame.unit == FRAME_MONTHS;
    *out = !written ? 0 : calendar ? months(of, written) : distance(of, written, type);
    return *out >= 0;
}

static bool counts_months(const AstFrame *frame) {
    return (frame->back && is_months(frame->back)) || (frame->ahead && is_months(frame->ahead));
}

static bool take_frame(WindowCall *of) {
    const AstFrame *frame = of->call->frame;
    WindowFrame *out = &of->fn.frame;
    enum DefaultFrame rule = rules[of->fn.kind].frame;
    out->back = rule == NONE ? 0 : FRAME_ALL;
    out->ahead = rule == WHOLE ? FRAME_ALL : 0;
    if (!frame) return true;
    if (rule == NONE)
        return blame_frame(of, "this function looks at no frame",
                           "leave the frame out; sum, mean, min, max, count, first, last and nth "
                           "take one");
    if (frame->all && frame->range)
        return blame_frame(of, "`range` takes a distance", "write `rows all`");
    if (frame->all) {
        out->back = FRAME_ALL;
        out->ahead = frame->to_here ? 0 : FRAME_ALL;
        return true;
    }
    const Type *type = kind_type(of->checker, TYPE_I64);
    if (frame->range) {
        out->unit = FRAME_RANGE;
        if (of->build->sort_count != 1)
            return blame_frame(of, "a range is a distance between the values of one sort key",
                               "sort the window by one key, or count rows: rows 3 back");
        const ExprId key = of->build->sort[0].key;
        if (expr_is_none(key)) return false;  // It is wrong, which has been said.
        type = type_base(graph_at(of->checker->graph, key)->type);
        if (!is_whole(type))
            return blame_frame(of, "a range needs a sort key that is a time or a whole number",
                               "count rows instead: rows 3 back");
        if (counts_months(frame)) {
            if (type->kind != TYPE_DATE)
                return blame_frame(of, "months are counted between dates",
                                   type->kind == TYPE_TIMESTAMP
                                       ? "sort by the day, sort date(t), or write a duration: 30d"
                                       : "sort by a date, or write a distance of the key's type");
            out->unit = FRAME_MONTHS;
        }
    }
    return reach(of, frame->back, type, &out->back) && reach(of, frame->ahead, type, &out->ahead);
}

// Without an order and a frame it is easily taken for a figure of all rows of the key.
static void warn_of_running(WindowCall *of) {
    bool running = rules[of->fn.kind].frame == RUNNING;
    if (!running || of->call->frame || of->build->sort_count) return;
    Diag *diag = report(of->checker, DIAG_RUNNING_WINDOW, of->call->span,
                        "'%.*s' runs from the first row to this one",
                        TEXT_ARG(of->call->name.text));
    report_label(of->checker, diag, of->call->span, "in the order of the flow");
    Text call = source_text(of->checker, of->call->span);
    report_fix(of->checker, diag, "write `%.*s rows all` for all rows, `rows all back` for a "
                                  "running figure",
               TEXT_ARG(call));
}

static bool has_order(WindowCall *of) {
    if (!rules[of->fn.kind].order || of->build->sort_count) {
        warn_of_running(of);
        return true;
    }
    Diag *diag = report(of->checker, DIAG_WINDOW_ORDER, of->call->span,
                        "'%.*s' needs an order of the rows", TEXT_ARG(of->call->name.text));
    report_label(of->checker, diag, of->call->span, "nothing says which row comes before");
    report_fix(of->checker, diag, "say it: window by K sort TIME { ... }");
    return false;
}

// ---- building -----------------------------------------------------------------------------------

static bool same_fn(const WindowFn *a, const WindowFn *b) {
    return a->kind == b->kind && expr_same(a->arg, b->arg) && a->n == b->n && a->type == b->type &&
           a->frame.unit == b->frame.unit && a->frame.back == b->frame.back &&
           a->frame.ahead == b->frame.ahead;
}

// The result of a function, as a column after those of the input.
static Value add_fn(Checker *checker, WindowBuild *build, WindowFn fn) {
    uint32_t at = 0;
    while (at < build->fn_count && !same_fn(&build->fns[at], &fn)) at++;
    if (at == build->fn_count) {
        size_t cap = build->fn_cap;
        fn.name = step_label(checker, fn.span);
        arena_push(checker->arena, build->fns, build->fn_count, cap, fn);
        build->fn_cap = (uint32_t)cap;
    }
    return (Value){graph_column(checker->graph, 0, build->columns + at, fn.type, fn.span), fn.type};
}

Value check_window_call(Checker *checker, Scope *scope, const AstExpr *call) {
    WindowCall of = {.checker = checker, .build = scope->window, .call = call,
                     .fn = {.arg = EXPR_NONE, .span = call->span}};
    if (!window_kind_find(call->name.text, &of.fn.kind)) {
        size_t aggregates;
        declarations(checker, call->name.text, true, &aggregates);
        if (aggregates) return windowless_aggregate(checker, call);
        blame_call(&of, call->frame->span, "takes no frame", "leave the frame out");
        return error_value(checker);
    }
    if (call->where && !is_aggregate(of.fn.kind)) {
        blame_call(&of, call->where->span, "takes no `where`",
                   "filter the rows before the window, or take the rows that count by `if`");
        return error_value(checker);
    }
    bool good = take_arguments(&of);
    good &= has_order(&of);
    good = good && take_frame(&of);
    return good ? add_fn(checker, of.build, of.fn) : error_value(checker);
}

// The keys of the step. False: reported.
static bool open_window(Checker *checker, const AstStep *step, Flow flow, WindowBuild *build) {
    Scope *input = build->input;
    build->columns = flow.broken ? 0 : graph_op_at(checker->graph, flow.op)->column_count;
    build->key_count = step->item_count;
    build->sort_count = step->order_count;
    build->keys = arena_new_array(checker->arena, ExprId, step->item_count + 1);
    build->sort = arena_new_array(checker->arena, SortKey, step->order_count + 1);
    bool good = true;
    for (uint32_t i = 0; i < step->item_count; i++) {
        Value value = check_item(checker, input, &step->items[i]);
        good &= good_key(checker, value, step->items[i].span, DIAG_KEY_TYPE,
                         "a key of a partition");
        build->keys[i] = value.id;
    }
    return sort_keys(checker, input, step->order, step->order_count, build->sort) && good;
}

// A function that is all of an item goes by the item's name, others by their text: that is what a
// reject after the window shows.
static void name_fns(Checker *checker, WindowBuild *build, const Scope *out) {
    for (uint32_t i = 0; i < out->count; i++) {
        if (expr_is_none(out->names[i].value.id)) continue;  // It is wrong, which has been said.
        const Expr *value = graph_at(checker->graph, out->names[i].value.id);
        if (value->op == EXPR_COLUMN && value->index >= build->columns)
            build->fns[value->index - build->columns].name = out->names[i].name;
    }
}

// The operator: the columns of the input, then the results.
static void close_window(Checker *checker, Flow *flow, StepId id, Span span,
                         const WindowBuild *build) {
    const Op *input = graph_op_at(checker->graph, flow->op);
    const Column *columns = input->columns;
    uint32_t count = input->column_count, all = count + build->fn_count;
    Op *op = add_op(checker, OP_WINDOW, flow, id, span);
    op->columns = arena_new_array(checker->arena, Column, all + 1);
    op->column_count = all;
    op->window = (WindowOp){build->keys, build->key_count, build->sort, build->sort_count,
                            build->fns, build->fn_count,
                            arena_new_array(checker->arena, uint32_t, all + 1),
                            KEEPS_ALL, EXPR_NONE};
    for (uint32_t i = 0; i < all; i++) {
        bool own = i >= count;
        op->window.from[i] = own ? (i - count) | WINDOW_OWN : i;
        op->columns[i] = own ? (Column){.name = build->fns[i - count].name,
                                        .type = build->fns[i - count].type}
                             : columns[i];
    }
}

Flow step_window(Checker *checker, Flow flow, const AstStep *step) {
    Scope input = scope_of_flow(checker, flow), out = {.kind = SCOPE_ROW};
    WindowBuild build = {.input = &input};
    bool good = open_window(checker, step, flow, &build);
    Scope result = input;
    result.kind = SCOPE_WINDOW;
    result.window = &build;
    result.has_place = false;
    result.lost_place = "`window`";
    for (uint32_t i = 0; i < input.count; i++)
        scope_bind(checker, &out, input.names[i].name, input.names[i].value);
    Name *names = arena_new_array(checker->arena, Name, step->agg_count + 1);
    for (uint32_t i = 0; i < step->agg_count; i++) {
        Value value = check_item(checker, &result, &step->aggs[i]);
        Name name;
        good &= item_name(&step->aggs[i], &name) && !written_before(checker, name, names, i);
        names[i] = name;
        good &= !is_error(value.type);
        scope_bind(checker, &out, name.text, value);
    }
    if (!good || flow.broken) return broken_flow();
    StepId id = make_step(checker, step->span);
    name_fns(checker, &build, &out);
    close_window(checker, &flow, id, step->span, &build);
    return lose_place(project(checker, flow, &out, id, step->span), "`window`");
}

// ---- top, distinct ... keep ---------------------------------------------------------------------

// Of each partition the first rows, or the last one.
static Flow keep_rows(Checker *checker, Flow flow, const AstStep *step, const WindowBuild *build,
                      WindowKeeps keeps, ExprId most) {
    StepId id = make_step(checker, step->span);
    close_window(checker, &flow, id, step->span, build);
    WindowOp *window = &graph_op_at(checker->graph, flow.op)->window;
    window->keeps = keeps;
    window->most = most;
    return flow;
}

Flow step_top(Checker *checker, Flow flow, const AstStep *step) {
    Scope input = scope_of_flow(checker, flow), job = {.kind = SCOPE_JOB, .no_row = true};
    WindowBuild build = {.input = &input};
    Value most = check_as(checker, &job, step->count->value, kind_type(checker, TYPE_I64));
    Const constant;
    bool good = open_window(checker, step, flow, &build) && !is_error(most.type);
    if (const_of(checker, most.id, &constant) && constant.i < 0) {
        Diag *diag = report(checker, DIAG_NEGATIVE_COUNT, step->count->span,
                            "`top` of fewer than no rows");
        report_label(checker, diag, step->count->span, "negative");
        report_fix(checker, diag, "give a number from 0 on");
        good = false;
    }
    if (!good || flow.broken) return lose_place(flow, "`top`");
    return lose_place(keep_rows(checker, flow, step, &build, KEEPS_FIRST, most.id), "`top`");
}

Flow keep_one(Checker *checker, Flow flow, const AstStep *step) {
    Scope input = scope_of_flow(checker, flow);
    WindowBuild build = {.input = &input};
    bool good = open_window(checker, step, flow, &build);
    // Nulls are neither first nor last.
    for (uint32_t i = 0; i < build.sort_count; i++) build.sort[i].nulls_first ^= step->keeps_last;
    if (!good || flow.broken) return lose_place(flow, "`distinct`");
    WindowKeeps keeps = step->keeps_last ? KEEPS_LAST : KEEPS_FIRST;
    ExprId most = step->keeps_last ? EXPR_NONE : graph_const_i64(checker->graph, 1);
    return lose_place(keep_rows(checker, flow, step, &build, keeps, most), "`distinct`");
}
