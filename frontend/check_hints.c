// Steps that say how to run and change no row: with, on, repartition.
#include "frontend/checker.h"
#include "ir/walk.h"

typedef struct Demand {
    Resources resources;
    bool      cpus_given;
    size_t    custom_cap;
} Demand;

static const struct {
    const char *name;
    TypeKind    type;
} hints[] = {
    {"cpus", TYPE_F64}, {"gpus", TYPE_F64},         {"memory", TYPE_I64},
    {"batch", TYPE_I64}, {"timeout", TYPE_DURATION}, {"concurrency", TYPE_I64},
    {"approx", TYPE_BOOL},
};

static bool hint_type(Text name, TypeKind *type) {
    for (size_t i = 0; i < countof(hints); i++) {
        if (!text_is(name, hints[i].name)) continue;
        *type = hints[i].type;
        return true;
    }
    *type = TYPE_F64;  // A custom resource: any amount.
    return false;
}

static void near_hint(Checker *checker, Name name) {
    Text names[countof(hints)];
    for (size_t i = 0; i < countof(hints); i++) names[i] = text_of(hints[i].name);
    Text near = diag_did_you_mean(name.text, names, countof(names));
    if (!near.len) return;
    Diag *diag = report(checker, DIAG_CUSTOM_RESOURCE, name.span,
                        "'%.*s' is taken as a resource of your own", TEXT_ARG(name.text));
    report_label(checker, diag, name.span, "not a resource of ours");
    report_fix(checker, diag, "did you mean '%.*s'?", TEXT_ARG(near));
}

// Puts what the hint says in place of what the blocks around say. `value`: a constant above zero.
static bool set_hint(Checker *checker, Demand *demand, Text name, const Type *type,
                     const Const *value) {
    static const double amount_max = 1e6;
    Resources *resources = &demand->resources;
    double whole = type->kind == TYPE_F64 ? value->f : (double)value->i;
    if (text_is(name, "memory")) return resources->memory = value->i, true;
    if (text_is(name, "batch")) return resources->batch = value->i, true;
    if (text_is(name, "timeout")) return resources->timeout = value->i, true;
    if (text_is(name, "approx")) return resources->approx = value->i, true;
    double thousandths = whole * RESOURCE_WHOLE + 0.5;
    if (whole > amount_max || thousandths < 1) return false;
    if (text_is(name, "concurrency")) return resources->concurrency = (uint32_t)whole, true;
    if (text_is(name, "cpus"))
        return demand->cpus_given = true, resources->cpus = (uint32_t)thousandths, true;
    Resource custom = {name, (uint32_t)thousandths};
    for (uint32_t i = 0; i < resources->custom_count; i++)
        if (text_eq(resources->customs[i].name, name)) return resources->customs[i] = custom, true;
    arena_push(checker->arena, resources->customs, resources->custom_count, demand->custom_cap,
               custom);
    return true;
}

// The names that blocks so far and this one give to resources of the run.
static bool is_counted(const Checker *checker, Text name) {
    for (size_t i = 0; i < checker->custom_count; i++)
        if (text_eq(checker->customs[i], name)) return true;
    return false;
}

static void count_custom(Checker *checker, Name name) {
    if (is_counted(checker, name.text)) return;
    arena_push(checker->arena, checker->customs, checker->custom_count, checker->custom_cap,
               name.text);
    if (checker->custom_count != CUSTOMS_MAX + 1) return;
    Diag *diag = report(checker, DIAG_RESOURCE_COUNT, name.span,
                        "'%.*s' is one resource too many", TEXT_ARG(name.text));
    report_label(checker, diag, name.span, "number %d", CUSTOMS_MAX + 1);
    report_fix(checker, diag, "give steps that never run at once one name");
}

static bool positive(const Type *type, const Const *value) {
    return type->kind == TYPE_F64 ? value->f > 0 : type->kind == TYPE_BOOL || value->i > 0;
}

// Digits may differ where a library of the GPU computes them, and nowhere else.
static void check_approx(Checker *checker, const Demand *demand, const AstArg *hint) {
    if (!text_is(hint->name.text, "approx") || demand->resources.on == ON_GPU) return;
    Diag *diag = report(checker, DIAG_APPROX, hint->name.span, "'approx' is no resource");
    report_label(checker, diag, hint->name.span, "of a block that is not for a GPU");
    report_fix(checker, diag, "on gpu with (approx = true) { ... }");
}

static void check_hint(Checker *checker, Demand *demand, const AstArg *hint) {
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    if (!hint->name.text.len) {
        Diag *diag = report(checker, DIAG_HINT_VALUE,
                            hint->value ? hint->value->span : hint->name.span,
                            "a resource needs a name");
        report_label(checker, diag, hint->value ? hint->value->span : hint->name.span, "of what?");
        report_fix(checker, diag, "with (cpus = 2)");
        return;
    }
    check_approx(checker, demand, hint);
    TypeKind kind;
    bool known = hint_type(hint->name.text, &kind);
    if (!known) near_hint(checker, hint->name);
    // Counted like those of the program: only who supplies them differs.
    if (!known || text_is(hint->name.text, "gpus")) count_custom(checker, hint->name);
    Value value = check_as(checker, &scope, hint->value, kind_type(checker, kind));
    Const constant;
    if (is_error(value.type)) return;
    bool good = const_of(checker, value.id, &constant) && positive(value.type, &constant);
    if (good && set_hint(checker, demand, hint->name.text, value.type, &constant)) return;
    Diag *diag = report(checker, DIAG_HINT_VALUE, hint->value->span,
                        kind == TYPE_BOOL ? "'%.*s' is true or false"
                                          : "'%.*s' takes a constant above zero",
                        TEXT_ARG(hint->name.text));
    report_label(checker, diag, hint->value->span,
                 good                ? "from a thousandth to a million"
                 : kind == TYPE_BOOL ? "not a constant"
                                     : "not above zero");
    report_fix(checker, diag, "with (%.*s = %s)", TEXT_ARG(hint->name.text),
               text_is(hint->name.text, "memory")    ? "2GiB"
               : text_is(hint->name.text, "timeout") ? "2s"
               : kind == TYPE_BOOL                    ? "true"
                                                      : "1");
}

// What tasks inside the block hold: what stands around it, but for what it says itself. A block
// that names a resource of its own and no cpus takes none: the resource does the work.
static Demand demand_begin(const Checker *checker) {
    const Resources *around = &checker->graph->resources[checker->resources.i];
    Demand demand = {.resources = *around, .cpus_given = checker->cpus_given,
                     .custom_cap = around->custom_count};
    demand.resources.customs = arena_copy(checker->arena, around->customs,
                                          around->custom_count * sizeof *around->customs,
                                          alignof(Resource));
    return demand;
}

static Op *hint_op(Checker *checker, Flow *flow, const AstStep *step, Span span) {
    const Op *input = graph_op_at(checker->graph, flow->op);
    Column *columns = input->columns;
    uint32_t count = input->column_count;
    StepId id = make_step(checker, span);
    Op *op = add_op(checker, OP_HINT, flow, id, step->span);
    copy_columns(checker, op, columns, count);
    op->hint.text = checker->graph->steps[id.i].label;
    op->hint.rows = op->hint.bytes = EXPR_NONE;
    return op;
}

// Is an item wrong, so that nobody knows what it calls?
static bool is_broken(const Op *op) {
    bool broken = false;
    for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++)
        broken |= expr_is_none(op->project.items[i].expr);
    return broken;
}

static bool calls_extern(const Graph *graph, const Op *op) {
    return is_broken(op) || op_is_foreign(graph, op) ||
           (op->kind == OP_PROJECT && op_batch_call(graph, op, nullptr));
}

// A time limit ends calls of foreign code, and nothing else.
static void check_timeout(Checker *checker, const AstStep *step, size_t first) {
    const AstArg *limit = nullptr;
    for (uint32_t i = 0; i < step->option_count; i++)
        if (text_is(step->options[i].name.text, "timeout")) limit = &step->options[i];
    for (size_t i = first; limit && i < checker->graph->op_count; i++)
        if (calls_extern(checker->graph, &checker->graph->ops[i])) limit = nullptr;
    if (!limit) return;
    Diag *diag = report(checker, DIAG_TIMEOUT, limit->name.span,
                        "'timeout' around steps that call no extern function");
    report_label(checker, diag, limit->name.span, "nothing here can be ended");
    report_fix(checker, diag, "drop it, or put it around the step that calls the function");
}

static bool computes(const AstStep *step) {
    switch (step->kind) {
    case AST_WHERE: case AST_DERIVE: case AST_SELECT: case AST_GROUP: case AST_AGGREGATE:
        return true;
    case AST_WITH: case AST_ON:
        for (uint32_t i = 0; i < step->step_count; i++)
            if (computes(&step->steps[i])) return true;
        return false;
    default: return false;
    }
}

// What the steps of the block are meant for. Kernels compute what `where`, `derive` and `select`
// say, and fill groups, so a block without them gives a GPU nothing to do.
static void set_device(Checker *checker, Demand *demand, const AstStep *step) {
    demand->resources.on = text_is(step->device.text, "gpu") ? ON_GPU : ON_CPU;
    demand->resources.approx &= demand->resources.on == ON_GPU;
    if (demand->resources.on == ON_CPU || computes(step)) return;
    Diag *diag = report(checker, DIAG_GPU, step->device.span,
                        "the block gives the GPU nothing to compute");
    report_label(checker, diag, step->device.span,
                 "no `where`, `derive`, `select`, `group` or `aggregate` in it");
    report_fix(checker, diag, "drop the block's head");
}

Flow step_with(Checker *checker, Flow flow, const AstStep *step) {
    Demand demand = demand_begin(checker);
    if (step->kind == AST_ON) set_device(checker, &demand, step);
    for (uint32_t i = 0; i < step->option_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (!text_eq(step->options[i].name.text, step->options[j].name.text)) continue;
            Diag *diag = report(checker, DIAG_OPTION_TWICE, step->options[i].name.span,
                                "'%.*s' stands twice", TEXT_ARG(step->options[i].name.text));
            report_label(checker, diag, step->options[i].name.span, "the second one");
            report_fix(checker, diag, "keep one of them");
        }
        check_hint(checker, &demand, &step->options[i]);
    }
    ResourcesId around = checker->resources;
    bool around_given = checker->cpus_given;
    if (!demand.cpus_given && demand.resources.custom_count) demand.resources.cpus = 0;
    checker->resources = graph_resources(checker->graph, demand.resources);
    checker->cpus_given = demand.cpus_given;
    if (!flow.broken) {
        Span head = step->span;
        if (step->block && step->step_count) head.end = step->steps[0].span.start;
        Op *op = hint_op(checker, &flow, step, head);
        Text text = op->hint.text;
        while (text.len && (text.at[text.len - 1] == '{' || text.at[text.len - 1] == ' '))
            text.len--;
        op->hint.text = text;
        checker->graph->steps[op->step.i].label = text;
    }
    size_t first = checker->graph->op_count;
    flow = check_steps(checker, flow, step->steps, step->step_count);
    if (!flow.broken) check_timeout(checker, step, first);
    checker->resources = around;
    checker->cpus_given = around_given;
    return flow;
}

static ExprId repartition_size(Checker *checker, const AstStep *step) {
    Scope scope = {.kind = SCOPE_JOB, .no_row = true};
    Value size = check_as(checker, &scope, step->items[0].value, kind_type(checker, TYPE_I64));
    Const constant;
    if (!const_of(checker, size.id, &constant) || constant.i > 0) return size.id;
    Diag *diag = report(checker, DIAG_HINT_VALUE, step->items[0].span, "a partition of nothing");
    report_label(checker, diag, step->items[0].span, "not above zero");
    report_fix(checker, diag, "repartition rows 10000");
    return EXPR_NONE;
}

Flow step_repartition(Checker *checker, Flow flow, const AstStep *step) {
    Scope scope = scope_of_flow(checker, flow);
    ExprId keys[countof(((HintOp *)nullptr)->partition_key)];
    uint32_t count = 0;
    bool good = step->item_count > 0;
    for (uint32_t i = 0; i < step->item_count && step->repartition == AST_BY; i++) {
        Value value = check_item(checker, &scope, &step->items[i]);
        good &= !is_error(value.type);
        if (i < countof(keys)) keys[count++] = value.id;
        if (is_error(value.type) || type_is_key(value.type)) continue;
        Diag *diag = report(checker, DIAG_KEY_TYPE, step->items[i].span,
                            "%s cannot be a key of `repartition`", type_say(checker, value.type));
        report_label(checker, diag, step->items[i].span, "%s", type_say(checker, value.type));
        report_fix(checker, diag, "use a part of it, or its text: str(...)");
    }
    ExprId size = EXPR_NONE;
    if (good && step->repartition != AST_BY) size = repartition_size(checker, step);
    if (flow.broken || !good) return flow;
    Op *op = hint_op(checker, &flow, step, step->span);
    for (uint32_t i = 0; i < count; i++) op->hint.partition_key[i] = keys[i];
    op->hint.partition_key_count = count;
    if (step->repartition == AST_ROWS) op->hint.rows = size;
    if (step->repartition == AST_BYTES) op->hint.bytes = size;
    return flow;
}
