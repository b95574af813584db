// Rejects: their records, their order and their limits (docs/rejects.md).
#include "codegen/reference/job.h"
#include "stdlib/text.h"

#include <stdlib.h>
#include <string.h>

enum { DETAIL_BYTES = 60, WORDS_BYTES = 1024 };
enum { RAW_LINE_BYTES = 120, RAW_BYTES = 65536, SHARE_ROWS_MIN = 10000 };

static const struct {
    const char *code, *message, *fix, *computed_fix;
} faults[] = {
#define FAULT(name, ...) {__VA_ARGS__},
#include "runtime/abi/faults.def"
#undef FAULT
};

const char *fault_code(int32_t status) { return faults[status - SB_FAULT_FIRST].code; }

const char *fault_message(int32_t status) { return faults[status - SB_FAULT_FIRST].message; }

// The first bytes of a text, not cutting a character.
static Text cut(Text text, size_t bytes) {
    if (text.len <= bytes) return text;
    for (int back = 0; back < 3 && bytes && (text.at[bytes] & 0xc0) == 0x80; back++) bytes--;
    return (Text){text.at, bytes};
}

static void print_visible(TextBuf *buf, Text text, size_t bytes) {
    TextBuf repaired = {0};
    utf8_repair(&repaired, cut(text, bytes));
    for (size_t i = 0; i < repaired.len; i++) {
        unsigned char c = (unsigned char)repaired.at[i];
        if (c == '\n') text_buf_add(buf, TEXT("\\n"));
        else if (c == '\r') text_buf_add(buf, TEXT("\\r"));
        else if (c == '\t') text_buf_add(buf, TEXT("\\t"));
        else if (c < 0x20 || c == 0x7f) text_buf_format(buf, "\\u{%x}", c);
        else text_buf_char(buf, (char)c);
    }
    if (text.len > bytes) text_buf_add(buf, TEXT("..."));
    text_buf_free(&repaired);
}

static Text message_of(Arena *arena, ReadFault fault) {
    const char *message = faults[fault.status - SB_FAULT_FIRST].message,
               *hole = strstr(message, "{}");
    TextBuf buf = {0};
    if (fault.column) text_buf_format(&buf, "column '%.*s': ", TEXT_ARG(*fault.column));
    if (!hole) {
        text_buf_add(&buf, text_of(message));
        return text_buf_take(&buf, arena);
    }
    text_buf_add(&buf, (Text){message, (size_t)(hole - message)});
    if (fault.detail.at) {
        if (fault.bare || sb_fault_is_worded(fault.status))
            print_visible(&buf, fault.detail, WORDS_BYTES);
        else {
            text_buf_char(&buf, '\'');
            print_visible(&buf, fault.detail, DETAIL_BYTES);
            text_buf_char(&buf, '\'');
        }
    } else {
        text_buf_add(&buf, TEXT("the value"));
    }
    text_buf_add(&buf, text_of(hole + 2));
    return text_buf_take(&buf, arena);
}

static Text label_of(const Job *job, StepId step) {
    return step.i == UINT32_MAX ? (Text){0} : job->graph->steps[step.i].label;
}

// ---- failing ----------------------------------------------------------------------------------

// What a job that passed its limit says after the record: the line about it, and one more fix.
typedef struct LimitLines {
    Text limit;
    const char *fix;
} LimitLines;

static const char begin_limit[] =
    "write `rejects write jsonl(\"rejects.jsonl\") limit 0.1%` to go on without such rows";
static const char raise_limit[] = "raise the limit to go on without such rows";

// Ends the job with a record's message; `lines` are empty where no limit was passed.
static void fail_record(Job *job, const Reject *reject, LimitLines lines) {
    if (job->exit_code) return;
    TextBuf *out = &job->error;
    job->exit_code = 1;
    text_buf_format(out, "error[%s]: %.*s\n", fault_code(reject->status),
                    TEXT_ARG(reject->message));
    const Origin *origin = reject->origin;
    if (origin && origin->has_line)
        text_buf_format(out, "  --> %.*s:%lld, byte %lld\n", TEXT_ARG(origin->path),
                        (long long)origin->line, (long long)origin->offset);
    else if (origin && origin->has_file)
        text_buf_format(out, "  --> %.*s\n", TEXT_ARG(origin->path));
    if (reject->raw.len) {
        text_buf_add(out, TEXT("   | "));
        print_visible(out, reject->raw, RAW_LINE_BYTES);
        text_buf_char(out, '\n');
    }
    if (reject->step.i != UINT32_MAX)
        text_buf_format(out, "   = in step: %.*s\n", TEXT_ARG(label_of(job, reject->step)));
    text_buf_add(out, lines.limit);
    const char *fix = faults[reject->status - SB_FAULT_FIRST].fix,
               *computed = faults[reject->status - SB_FAULT_FIRST].computed_fix;
    bool row = reject->status == SB_FAULT_FIELD_COUNT || reject->status == SB_FAULT_BAD_JSON;
    const SbNotText *is =
        row ? sb_cr_lines(reject->raw.at, (int64_t)reject->raw.len) : nullptr;
    SbStr message = {reject->message.at, (int64_t)reject->message.len},
          raw = {reject->raw.at, (int64_t)reject->raw.len};
    const char *said = is || reject->computed ? nullptr
                                              : sb_fix_by_row(reject->status, message, raw);
    if (is) fix = computed = is->fix;
    if (said) fix = said;
    text_buf_format(out, "   = fix: %s\n", reject->computed && computed[0] ? computed : fix);
    if (lines.fix) text_buf_format(out, "   = fix: %s\n", lines.fix);
}

void fail_fault(Job *job, StepId step, int32_t status, Text detail) {
    ReadFault fault = {.status = status, .detail = detail};
    Reject reject = {.step = step, .status = status, .computed = true,
                     .message = message_of(job->arena, fault)};
    fail_record(job, &reject, (LimitLines){0});
}

// ---- records ----------------------------------------------------------------------------------

static void add_reject(Job *job, const Node *node, Reject reject) {
    reject.place = job->places++;
    if (node->feeds_zip || job->eval.fails) {
        fail_record(job, &reject, (LimitLines){0});
        return;
    }
    arena_push(job->arena, job->rejects, job->reject_count, job->reject_cap, reject);
}

static Text raw_of_origin(Job *job, const Origin *origin) {
    TextBuf buf = {0};
    utf8_repair(&buf, cut(origin->raw, RAW_BYTES));
    return text_buf_take(&buf, job->arena);
}

// A row after a meeting: what that operator passed on and something reads.
static Text row_as_json(Job *job, const Row *row) {
    const Node *node = job_node(job, row->met_op);
    TextBuf buf = {0};
    bool first = true;
    text_buf_char(&buf, '{');
    for (uint32_t c = 0; c < node->op->column_count; c++) {
        Column column = node->op->columns[c];
        if (column.hidden || column.unread || !node->needed[c]) continue;
        if (!first) text_buf_char(&buf, ',');
        first = false;
        json_print_string(&buf, node->op->columns[c].name);
        text_buf_char(&buf, ':');
        value_print_json(&buf, node->op->columns[c].type, &row->met->values[c]);
    }
    text_buf_char(&buf, '}');
    Text json = text_buf_take(&buf, job->arena);
    return cut(json, RAW_BYTES);
}

void reject_filter(Job *job, Node *node, StepId step, const Row *row, int32_t status) {
    ReadFault fault = {.status = status, .detail = job->eval.detail};
    Reject reject = {
        .step = step, .weight = 1, .status = status, .computed = true,
        .message = message_of(job->arena, fault)};
    reject.origin = row->met ? nullptr : row->origin;
    reject.raw = row->met      ? row_as_json(job, row)
                 : row->origin ? raw_of_origin(job, row->origin)
                               : (Text){0};
    add_reject(job, node, reject);
}

void reject_row(Job *job, Node *node, const Row *row, int32_t status) {
    node->counts.rejected++;
    reject_filter(job, node, node->op->step, row, status);
}

void reject_read(Job *job, Node *node, const Origin *origin, ReadFault fault) {
    node->counts.rejected++;
    job->eval.fails = false;
    Reject reject = {
        .origin = origin, .step = node->op->step, .weight = fault.weight, .status = fault.status};
    reject.message = message_of(job->arena, fault);
    reject.raw = raw_of_origin(job, origin);
    add_reject(job, node, reject);
}

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_order(const void *a, const void *b) {
    const Reject *x = a, *y = b;
    int sign = compare(!x->origin, !y->origin);
    if (!sign && x->origin) sign = compare(x->origin->source, y->origin->source);
    if (!sign && x->origin) sign = compare(x->origin->file, y->origin->file);
    if (!sign && x->origin)
        sign = compare((uint64_t)x->origin->offset, (uint64_t)y->origin->offset);
    if (!sign) sign = compare(x->step.i, y->step.i);
    return sign ? sign : compare(x->place, y->place);
}

// ---- limits -----------------------------------------------------------------------------------

static void judge_rows(Job *job, int64_t limit) {
    int64_t weight = 0;
    for (size_t i = 0; i < job->reject_count; i++) {
        weight += job->rejects[i].weight;
        if (weight <= limit) continue;
        Text line = text_format(job->arena, "   = %.*s row%s rejected, the limit is %lld\n",
                                TEXT_ARG(figure(job->arena, weight)), weight == 1 ? "" : "s",
                                (long long)limit);
        fail_record(job, &job->rejects[0],
                    (LimitLines){line, limit ? raise_limit : begin_limit});
        job->reject_count = i + 1;
        return;
    }
}

static int by_mark(const void *a, const void *b) {
    const RowMark *x = a, *y = b;
    int sign = compare(x->source, y->source);
    if (!sign) sign = compare(x->file, y->file);
    return sign ? sign : compare((uint64_t)x->offset, (uint64_t)y->offset);
}

// Is a reject's row at or before the mark, in its source?
static bool is_behind(const Reject *reject, const RowMark *mark) {
    RowMark own = {reject->origin->source, reject->origin->file, reject->origin->offset, 0};
    return by_mark(&own, mark) <= 0;
}

static bool passes_share(Job *job, double share) {
    int64_t rows = 0, rejected = 0, all_rows = 0, all_rejected = 0;
    size_t next = 0;
    if (job->mark_count) qsort(job->marks, job->mark_count, sizeof *job->marks, by_mark);
    for (size_t i = 0; i < job->mark_count; i++) {
        const RowMark *mark = &job->marks[i];
        if (i && mark->source != mark[-1].source) rows = rejected = 0;
        rows += mark->weight;
        all_rows += mark->weight;
        while (next < job->reject_count && job->rejects[next].origin &&
               is_behind(&job->rejects[next], mark))
            rejected += job->rejects[next++].weight;
        bool last = i + 1 == job->mark_count || mark[1].source != mark->source;
        if ((rows >= SHARE_ROWS_MIN || last) && (double)rejected > share * (double)rows)
            return true;
    }
    for (size_t i = 0; i < job->reject_count; i++) all_rejected += job->rejects[i].weight;
    return (double)all_rejected > share * (double)all_rows;
}

static void judge_share(Job *job, double share) {
    int64_t rejected = 0;
    if (!job->reject_count || !passes_share(job, share)) return;
    for (size_t i = 0; i < job->reject_count; i++) rejected += job->rejects[i].weight;
    Text line = text_format(job->arena, "   = %.*s row%s rejected, the limit is %g%%\n",
                            TEXT_ARG(figure(job->arena, rejected)), rejected == 1 ? "" : "s",
                            share * 100);
    fail_record(job, &job->rejects[0], (LimitLines){line, raise_limit});
}

void rejects_judge(Job *job) {
    const RejectsSink *sink = &job->graph->rejects;
    const Options *options = &job->options;
    Value limit;
    if (job->reject_count) qsort(job->rejects, job->reject_count, sizeof *job->rejects, by_order);
    if (job->exit_code) return;
    if (options->has_rows) judge_rows(job, options->rows);
    else if (options->has_share) judge_share(job, options->share);
    else if (!sink->has_rows && !sink->has_share) judge_rows(job, 0);
    else if (sink->has_rows && job_setting(job, sink->limit_rows, &limit)) judge_rows(job, limit.i);
    else if (sink->has_share && job_setting(job, sink->limit_share, &limit))
        judge_share(job, limit.f);
}

// ---- the rejects file -------------------------------------------------------------------------

static void print_json(const Job *job, TextBuf *buf, const Reject *reject) {
    const Origin *origin = reject->origin;
    text_buf_add(buf, TEXT("{\"step\":"));
    json_print_string(buf, label_of(job, reject->step));
    text_buf_add(buf, TEXT(",\"source\":"));
    if (origin && origin->has_file) json_print_string(buf, origin->path);
    else text_buf_add(buf, TEXT("null"));
    if (origin && origin->has_line) text_buf_format(buf, ",\"line\":%lld", (long long)origin->line);
    else text_buf_add(buf, TEXT(",\"line\":null"));
    if (origin && origin->has_file)
        text_buf_format(buf, ",\"offset\":%lld,\"length\":%lld", (long long)origin->offset,
                        (long long)origin->length);
    else text_buf_add(buf, TEXT(",\"offset\":null,\"length\":null"));
    text_buf_format(buf, ",\"code\":\"%s\",\"message\":", fault_code(reject->status));
    json_print_string(buf, reject->message);
    text_buf_add(buf, TEXT(",\"raw\":"));
    json_print_string(buf, reject->raw);
    text_buf_add(buf, TEXT("}\n"));
}

static void csv_text(TextBuf *buf, Text text) {
    bool quote = text_starts(text, TEXT("\xef\xbb\xbf")) || !text.len;
    for (size_t i = 0; i < text.len; i++) quote |= strchr(",\"\r\n", text.at[i]) && text.at[i];
    if (quote) text_buf_char(buf, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '"') text_buf_char(buf, '"');
        text_buf_char(buf, text.at[i]);
    }
    if (quote) text_buf_char(buf, '"');
}

static void print_csv(const Job *job, TextBuf *buf, const Reject *reject) {
    const Origin *origin = reject->origin;
    csv_text(buf, label_of(job, reject->step));
    text_buf_char(buf, ',');
    if (origin && origin->has_file) csv_text(buf, origin->path);
    text_buf_char(buf, ',');
    if (origin && origin->has_line) text_buf_format(buf, "%lld", (long long)origin->line);
    text_buf_char(buf, ',');
    if (origin && origin->has_file)
        text_buf_format(buf, "%lld,%lld", (long long)origin->offset, (long long)origin->length);
    else text_buf_char(buf, ',');
    text_buf_format(buf, ",%s,", fault_code(reject->status));
    csv_text(buf, reject->message);
    text_buf_char(buf, ',');
    csv_text(buf, reject->raw);
    text_buf_char(buf, '\n');
}

void rejects_print(const Job *job, TextBuf *buf, bool csv) {
    for (size_t i = 0; i < job->reject_count; i++) {
        if (csv) print_csv(job, buf, &job->rejects[i]);
        else print_json(job, buf, &job->rejects[i]);
    }
}
