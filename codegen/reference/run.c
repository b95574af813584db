// Runs a graph as its job would: options, params, sinks, rejects, summary, exit code.
#include "codegen/reference/job.h"

#include "codegen/reference/read_json.h"

#include <stdlib.h>
#include <string.h>

// What a job knows. Most of it says how fast or how loud, which changes nothing here;
static const char *const known[] = {
#define OPTION(name, word, value, text) word,
#define LATER(word) word,
#include "runtime/options/options.def"
#undef OPTION
#undef LATER
};
// but for what only a job can do.
static const char *const of_jobs[] = {"help",  "params", "plan",   "licenses",
                                      "check", "config", "resume", "journal"};

static bool is_one_of(Text name, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (text_is(name, words[i])) return true;
    return false;
}

static void set_other(Job *job, Text name, const char *arg) {
    if (is_one_of(name, of_jobs, countof(of_jobs)))
        job_fail(job, JOB_UNKNOWN_OPTION, "'%s' is for compiled jobs", arg);
    else if (!is_one_of(name, known, countof(known)))
        job_fail(job, JOB_UNKNOWN_OPTION, "there is no option '%s'", arg);
}

static void set_reject_limit(Job *job, Text value) {
    Options *options = &job->options;
    bool share = value.len && value.at[value.len - 1] == '%';
    const char *number = text_c(job->arena, value);
    char *end;
    options->has_rows = !share;
    options->has_share = share;
    if (share) options->share = strtod(number, &end) / 100;
    else options->rows = strtoll(number, &end, 10);
    if (end == number || *end != (share ? '%' : 0) || *number == '-')
        job_fail(job, JOB_USAGE, "--reject-limit=%s: '%s' is no limit", number, number);
}

// 16MiB as a whole number, 2% as a float: the number without its unit.
static Text plain_number(Job *job, const Type *type, Text text) {
    static const struct { const char *unit; double bytes; } units[] = {
        {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
        {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
    };
    char *end;
    const char *start = text_c(job->arena, text);
    double number = strtod(start, &end);
    if (end == start || strpbrk(start, "xX")) return text;
    bool fraction = type_is_float(type);
    if (fraction && text.len > 1 && text_is(text_of(end), "%"))
        return text_format(job->arena, "%.*se-2", (int)text.len - 1, text.at);
    for (size_t i = 0; type_is_integer(type) && i < countof(units); i++) {
        double bytes = number * units[i].bytes;
        bool whole = bytes >= 0 && bytes < 0x1p63 && bytes == (double)(int64_t)bytes;
        if (whole && text_is(text_of(end), units[i].unit))
            return text_format(job->arena, "%lld", (long long)bytes);
    }
    return text;
}

static void set_param(Job *job, uint32_t index, Text text) {
    const Param *param = &job->graph->params[index];
    const Type *type = type_base(param->type);
    bool list = type->kind == TYPE_LIST;
    const Type *scalar = list ? type_base(type->elem) : type;
    Value value;
    int32_t status = value_read(job->arena, scalar, plain_number(job, scalar, text),
                                (ReadOptions){.point = '.'}, &value);
    if (status) {
        job_fail(job, JOB_PARAM_VALUE, "--%.*s: '%.*s' is no %.*s", TEXT_ARG(param->name),
                 TEXT_ARG(text), TEXT_ARG(type_text(job->arena, scalar)));
        return;
    }
    if (!list) {
        job->params[index] = value;
        return;
    }
    Value *into = &job->params[index];
    Value *items = arena_new_array(job->arena, Value, into->item_count + 1);
    if (into->item_count) memcpy(items, into->items, into->item_count * sizeof *items);
    items[into->item_count] = value;
    *into = (Value){.items = items, .item_count = into->item_count + 1};
}

static void set_option(Job *job, const char *arg, bool *given) {
    Text text = text_of(arg);
    const char *equals = memchr(text.at, '=', text.len);
    if (!text_starts(text, TEXT("--"))) {
        job_fail(job, JOB_USAGE, "'%s' is no option: options begin with --", arg);
        return;
    }
    Text name = {text.at + 2, (equals ? (size_t)(equals - text.at) : text.len) - 2};
    Text value = equals ? text_of(equals + 1) : TEXT("true");
    for (uint32_t i = 0; i < job->graph->param_count; i++) {
        if (!text_eq(job->graph->params[i].name, name)) continue;
        // The first value given replaces the default; a list grows with each one more.
        if (!given[i]) job->params[i] = (Value){0};
        given[i] = true;
        set_param(job, i, value);
        return;
    }
    if (text_is(name, "overwrite")) job->options.overwrite = true;
    else if (text_is(name, "rejects")) job->options.rejects = value;
    else if (text_is(name, "python")) job->options.python = text_c(job->arena, value);
    else if (text_is(name, "reject-limit")) set_reject_limit(job, value);
    else set_other(job, name, arg);
}

static void set_defaults(Job *job) {
    for (uint32_t i = 0; i < job->graph->param_count; i++) {
        const Param *param = &job->graph->params[i];
        if (!expr_is_none(param->value)) job_setting(job, param->value, &job->params[i]);
    }
}

static void check_params(Job *job, const bool *given) {
    for (uint32_t i = 0; i < job->graph->param_count; i++) {
        const Param *param = &job->graph->params[i];
        if (expr_is_none(param->value) && !given[i])
            job_fail(job, JOB_PARAM_MISSING, "the parameter --%.*s must be given",
                     TEXT_ARG(param->name));
    }
}

// What a job refuses before its first row.
static void check_files(Job *job) {
    for (size_t i = 0; i < job->graph->op_count && !job->exit_code; i++) {
        Node *node = &job->nodes[i];
        if (node->op->kind == OP_SOURCE && node->reached) source_check(job, node);
    }
    sinks_check(job);
}

static void run_sinks(Job *job) {
    for (size_t i = 0; i < job->graph->op_count; i++) {
        if (job->graph->ops[i].kind == OP_SINK) job_want(job, job->graph->ops[i].id);
    }
    check_files(job);
    job->began = !job->exit_code;
    for (size_t i = 0; i < job->graph->op_count && !job->exit_code; i++) {
        if (job->graph->ops[i].kind == OP_SINK) sink_run(job, &job->nodes[i]);
    }
}

int reference_run(const ReferenceRun *run) {
    Arena *arena = arena_new();
    Job job;
    TextBuf out = {0};
    if (!job_open(&job, run->graph, arena)) return 3;
    bool *given = arena_new_array(arena, bool, run->graph->param_count + 1);
    set_defaults(&job);
    for (size_t i = 0; i < run->arg_count; i++) set_option(&job, run->args[i], given);
    check_params(&job, given);
    if (!job.exit_code) reference_python_open(&job);
    if (!job.exit_code) run_sinks(&job);
    rejects_judge(&job);
    sinks_publish(&job);
    if (job.began) rejects_publish(&job);
    if (job.began && !job.exit_code) null_words_print(&job, stderr);
    text_buf_add(&out, text_buf_view(&job.error));
    if (job.began) summary_print(&job, &out);
    fwrite(out.at, 1, out.len, stderr);
    text_buf_free(&out);
    int exit_code = job.exit_code;
    job_close(&job);
    arena_free(arena);
    return exit_code;
}

// ---- tables of tests --------------------------------------------------------------------------

static Text given_as_json(const Job *job, const ReferenceTable *given, uint32_t r) {
    const Op *op = graph_op_at(job->graph, given->op);
    TextBuf buf = {0};
    uint32_t visible = 0;
    for (uint32_t c = 0; c < op->column_count; c++) {
        if (op->columns[c].hidden) continue;
        text_buf_char(&buf, visible ? ',' : '{');
        json_print_string(&buf, op->columns[c].name);
        text_buf_char(&buf, ':');
        value_print_json(&buf, op->columns[c].type, &given->rows[r].items[visible++]);
    }
    text_buf_add(&buf, visible ? TEXT("}") : TEXT("{}"));
    return text_buf_take(&buf, job->arena);
}

// Each row is a line of a source that is called like the flow.
static const Origin *given_origin(Job *job, const ReferenceTable *given, uint32_t r) {
    Origin *origin = arena_new_of(job->arena, Origin);
    *origin = (Origin){.source = given->op.i, .has_file = true, .has_line = true,
                       .path = given->name, .line = (int64_t)r + 1,
                       .raw = given_as_json(job, given, r)};
    return origin;
}

static void give_rows(Job *job, const ReferenceTable *given) {
    Node *node = job_node(job, given->op);
    node->done = true;
    for (uint32_t r = 0; r < given->row_count; r++) {
        Row *row = row_new(job, node->op);
        uint32_t visible = 0;
        for (uint32_t c = 0; c < node->op->column_count; c++) {
            if (node->op->columns[c].hidden) row->values[c] = value_null();
            else row->values[c] = given->rows[r].items[visible++];
        }
        row->origin = given_origin(job, given, r);
        row->identity = r;
        node_add(job, node, row);
    }
}

static Value row_as_struct(Arena *arena, const Op *op, const Row *row) {
    Value value = {.items = arena_new_array(arena, Value, op->column_count + 1)};
    for (uint32_t c = 0; c < op->column_count; c++) {
        if (!op->columns[c].hidden) value.items[value.item_count++] = row->values[c];
    }
    return value;
}

// A param without a default that a test's rows depend on: it has no value to go by.
static void fail_lacking(Job *job) {
    const Param *param = job->eval.lacked;
    TextBuf type = {0};
    type_print(&type, param->type);
    job->exit_code = 0;
    job->error.len = 0;
    job_fail(job, JOB_PARAM_MISSING,
             "the param '%.*s' has no default, and a test gives it no value",
             TEXT_ARG(param->name));
    job_fix(job, "give it one: param %.*s: %.*s = ...", TEXT_ARG(param->name), (int)type.len,
            type.at);
    text_buf_free(&type);
}

bool reference_table(const Graph *graph, Arena *arena, const ReferenceTable *given,
                     size_t given_count, ReferenceTable *want, TextBuf *error) {
    Job job;
    size_t cap = 0;
    if (!job_open(&job, graph, arena)) return false;
    set_defaults(&job);
    job.eval.wants_defaults = true;
    job_want(&job, want->op);
    for (size_t i = 0; i < given_count; i++) give_rows(&job, &given[i]);
    job.options.python = want->python;
    reference_python_open(&job);
    want->rows = nullptr;
    want->row_count = 0;
    for (const Row *row; (row = job_row(&job, want->op, want->row_count));) {
        Value value = row_as_struct(arena, graph_op_at(graph, want->op), row);
        arena_push(arena, want->rows, want->row_count, cap, value);
    }
    // In a test a rejected row fails it, whatever the limit of the job.
    job.options.has_rows = true;
    rejects_judge(&job);
    if (job.eval.lacked) fail_lacking(&job);
    text_buf_add(error, text_buf_view(&job.error));
    bool good = !job.exit_code;
    job_close(&job);
    return good;
}
