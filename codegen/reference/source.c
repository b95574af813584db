// Sources: opens what a source names, makes its rows and judges their columns.
#include "codegen/reference/format.h"
#include "codegen/reference/identity.h"
#include "codegen/reference/job.h"
#include "codegen/reference/library.h"
#include "ir/walk.h"

#include <string.h>
#include <sys/stat.h>

typedef struct Source {
    Job        *job;
    Node       *node;
    const SourceOp *op;
    const struct SbZone *zone;
    Text       *paths;
    size_t      path_count, path;     // The open file, or the one to open.
    bool        open;
    const FormatReference *format;    // Null: without files.
    FileRows    rows;                 // With files.
    size_t      reads;                // Of the job's: where those of this source begin.
    int64_t     row_max, row_count, next_row;  // Without files: rows, and the next one.
    // The row that is being judged.
    Row        *row;
    bool       *judged;               // By column.
    ReadFault   fault;                // Of a column.
} Source;

// ---- opening ----------------------------------------------------------------------------------

// A row that has the path of a file and nothing else.
static void eval_path(Source *source, Text path) {
    Origin *origin = arena_new_of(source->job->arena, Origin);
    Row *row = row_new(source->job, source->node->op);
    *origin = (Origin){.has_file = true, .path = path};
    row->origin = origin;
    eval_row(&source->job->eval, row, nullptr);
}

static bool keys_fit(Source *source, Text path) {
    Job *job = source->job;
    for (uint32_t i = 0; i < source->op->key_count; i++) {
        Value key;
        if (!eval_expr(&job->eval, source->op->keys[i].expr, &key)) continue;
        Text detail = job->eval.detail;
        job_fail(job, JOB_PATH_KEY, "'%.*s': the key '%.*s' does not fit its type: '%.*s'",
                 TEXT_ARG(path), TEXT_ARG(source->op->keys[i].name), TEXT_ARG(detail));
        return false;
    }
    return true;
}

// A condition that faults is for the rows to judge.
static bool path_opens(Source *source) {
    PathConditions by_path = source_path_conditions(source->job->graph, source->op);
    for (uint32_t i = 0; i < by_path.count; i++) {
        Value value;
        if (eval_expr(&source->job->eval, by_path.items[i], &value)) return true;
        if (!value.i) return false;
    }
    return true;
}

// Leaves out files whose keys the filters refuse.
static void judge_paths(Source *source) {
    size_t kept = 0;
    for (size_t i = 0; i < source->path_count && !source->job->exit_code; i++) {
        eval_path(source, source->paths[i]);
        if (keys_fit(source, source->paths[i]) && path_opens(source))
            source->paths[kept++] = source->paths[i];
    }
    source->path_count = kept;
}

static Source *source_new(Job *job, Node *node) {
    const SourceOp *op = &node->op->source;
    Source *source = node->state = arena_new_of(job->arena, Source);
    Value value = {0};
    *source = (Source){.job = job, .node = node, .op = op};
    source->judged = arena_new_array(job->arena, bool, op->column_count + 1);
    if (op->kind == SOURCE_FILES) source->format = format_reference(op->format);
    if (op->options.zone.len && !text_is(op->options.zone, "UTC"))
        source->zone = library_zone(op->options.zone);
    if (op->kind != SOURCE_INLINE && !job_setting(job, op->path, &value)) return source;
    source->row_count = op->kind == SOURCE_INLINE ? op->row_count : value.i;
    if (op->kind != SOURCE_FILES) {
        source->path_count = 1;
        source->paths = arena_new_of(job->arena, Text);
        source->paths[0] = node->op->step.i == UINT32_MAX
                               ? op->type_name
                               : job->graph->steps[node->op->step.i].label;
    } else {
        paths_find(job, graph_at(job->graph, op->path)->type, &value, &source->paths,
                   &source->path_count);
    }
    if (op->key_count > 0) judge_paths(source);
    if (!expr_is_none(op->options.row_max) && job_setting(job, op->options.row_max, &value))
        source->row_max = value.i;
    source->reads = job->read_count;
    for (size_t i = 0; i < source->path_count; i++) {
        FileRead read = {.source = node->op->id.i, .file = i, .path = source->paths[i]};
        arena_push(job->arena, job->reads, job->read_count, job->read_cap, read);
    }
    return source;
}

static FileRead *file_read(Source *source) {
    return &source->job->reads[source->reads + source->path];
}

static void file_open(Source *source) {
    Job *job = source->job;
    source->open = true;
    source->next_row = 0;
    if (!source->format) return;
    Text text = {0};
    if (!file_load(job, source->paths[source->path], source->op->options.encoding, &text)) return;
    source->rows = (FileRows){.job = job, .op = source->op, .zone = source->zone,
                              .path = source->paths[source->path],
                              .cursor = {.arena = job->arena, .text = text, .line = 1,
                                         .csv = &source->op->options.csv,
                                         .row_max = source->row_max}};
    if (source->format->open) source->format->open(&source->rows);
}

// Is it a file that can be read at any place, so that a job sees its header before it begins?
static bool is_plain(Job *job, Text path) {
    struct stat st;
    return !text_is(path, "-") && !file_is_packed(path) &&
           stat(text_c(job->arena, path), &st) == 0 && S_ISREG(st.st_mode);
}

void source_check(Job *job, Node *node) {
    Source *source = source_new(job, node);
    if (!source->format || !source->format->open) return;
    for (source->path = 0; source->path < source->path_count && !job->exit_code; source->path++)
        if (is_plain(job, source->paths[source->path])) file_open(source);
    source->path = 0;
    source->open = false;
}

// ---- judging columns --------------------------------------------------------------------------

static bool column_fault(Source *source, uint32_t column, int32_t status, Text detail) {
    if (status) source->fault = (ReadFault){
        .status = status, .column = &source->op->columns[column].name, .detail = detail,
        .weight = 1};
    return !status;
}

static Text raw_of(const Source *source, uint32_t column) {
    return source->format && source->format->raw ? source->format->raw(&source->rows, column)
                                                 : (Text){0};
}

// A number's null without the spaces around its word; all else as it is.
static Text unpadded_of(const Source *source, uint32_t column) {
    const Type *type = source->op->columns[column].type;
    const CsvOptions *csv = &source->op->options.csv;
    Text raw = raw_of(source, column), word = raw;
    while (word.len && strchr(" \t", word.at[0])) word.at++, word.len--;
    while (word.len && strchr(" \t", word.at[word.len - 1])) word.len--;
    bool pads = type->nullable && type_is_numeric(type_base(type));
    Text null_word = csv->null_count ? csv->nulls[0] : (Text){0};
    return pads && text_eq(word, null_word) ? word : raw;
}

// The bytes of some columns of the type as a row of them has them.
static Text raws_of(const Source *source, RawSpan raw) {
    if (raw.first == raw.last) return raw_of(source, raw.first);
    TextBuf buf = {0};
    for (uint32_t c = raw.first; c <= raw.last; c++) {
        if (c > raw.first) text_buf_char(&buf, source->op->options.csv.delimiter);
        text_buf_add(&buf, unpadded_of(source, c));
    }
    return text_buf_take(&buf, source->job->arena);
}

// Reads a column once; false: source->fault says why not.
static bool judge(Source *source, uint32_t column) {
    Value *out = &source->row->values[column];
    bool good = true;
    if (source->judged[column]) return true;
    if (source->format) {
        JsonFault fault = source->format->column(&source->rows, column, out);
        good = column_fault(source, column, fault.status, fault.text);
    } else if (source->op->kind == SOURCE_RANGE) {
        *out = value_i64(source->next_row - 1);
    } else {
        *out = source->op->rows[source->next_row - 1].items[column];
    }
    source->judged[column] = good;
    if (good) source->row->raws[column] = raw_of(source, column);
    return good;
}

// For filters that run before the columns are judged: reads what they name. A fault in a column
// is the read's, so no `else` of the expression handles it.
static int32_t judge_for_filter(void *self, uint32_t column, Value *out) {
    Source *source = self;
    if (column >= source->op->column_count) {
        *out = value_text(raws_of(source, source->op->raw_of[column - source->op->column_count]));
        return SB_OK;
    }
    if (!judge(source, column)) {
        source->job->eval.settled = true;
        return source->fault.status;
    }
    *out = source->row->values[column];
    return SB_OK;
}

// What a prefilter says of the row. Steps before it have let it pass.
typedef enum Verdict { PASSES, DROPPED, REJECTED } Verdict;

static Verdict run_filters(Source *source, uint32_t *passed, int32_t *status) {
    Eval *eval = &source->job->eval;
    Verdict verdict = PASSES;
    for (*passed = 0; *passed < source->op->filter_count; ++*passed) {
        Value keep;
        eval_row(eval, source->row, nullptr);
        eval->judge = judge_for_filter;
        eval->judge_self = source;
        *status = eval_expr(eval, source->op->filters[*passed].pred, &keep);
        eval->judge = nullptr;
        if (*status || !keep.i) {
            verdict = *status ? REJECTED : DROPPED;
            break;
        }
    }
    return verdict;
}

static Counts *filter_counts(Source *source, uint32_t filter) {
    if (!source->node->filter_counts)
        source->node->filter_counts =
            arena_new_array(source->job->arena, Counts, source->op->filter_count + 1);
    return &source->node->filter_counts[filter];
}

// Books the row: the read lets it on to the filters, those before `passed` let it on.
static void count_filters(Source *source, uint32_t passed) {
    for (uint32_t i = 0; i < passed; i++) {
        filter_counts(source, i)->in++;
        filter_counts(source, i)->on++;
    }
}

// Of a row whose columns are judged.
static void count_words(Source *source) {
    for (uint32_t c = 0; c < source->op->column_count; c++)
        if (source->judged[c]) null_words_count(source->job, source->node, c, raw_of(source, c));
}

static bool judge_columns(Source *source) {
    for (uint32_t c = 0; c < source->op->column_count; c++) {
        if ((source->op->columns[c].read || source->node->needed[c]) && !judge(source, c))
            return false;
    }
    return true;
}

// Judges a row of good structure and delivers, drops or rejects it.
static void judge_row(Source *source) {
    Job *job = source->job;
    Node *node = source->node;
    uint32_t passed;
    memset(source->judged, 0, source->op->column_count * sizeof *source->judged);
    source->fault = (ReadFault){0};
    int32_t status = SB_OK;
    Verdict verdict = run_filters(source, &passed, &status);
    bool read_fault = source->fault.status != SB_OK;
    if (verdict == PASSES) read_fault = !judge_columns(source);
    if (read_fault) {
        reject_read(job, node, source->row->origin, source->fault);
        return;
    }
    count_filters(source, passed);
    if (verdict == REJECTED) {
        Counts *counts = filter_counts(source, passed);
        counts->in++;
        counts->rejected++;
        node->counts.on++;
        reject_filter(job, node, source->op->filters[passed].step, source->row, status);
        return;
    }
    if (verdict == DROPPED) {
        Counts *counts = filter_counts(source, passed);
        counts->in++;
        counts->filtered++;
        node->counts.on++;
        return;
    }
    count_words(source);
    for (uint32_t c = source->op->column_count; c < node->op->column_count; c++) {
        RawSpan raw = source->op->raw_of[c - source->op->column_count];
        source->row->values[c] = value_text(raws_of(source, raw));
    }
    node_add(job, node, source->row);
}

// ---- rows -------------------------------------------------------------------------------------

static Origin *origin_new(Source *source, int64_t offset) {
    Origin *origin = arena_new_of(source->job->arena, Origin);
    *origin = (Origin){.source = source->node->source, .file = (uint32_t)source->path,
                       .has_file = source->format != nullptr, .offset = offset,
                       .path = source->paths[source->path]};
    source->row = row_new(source->job, source->node->op);
    source->row->origin = origin;
    source->row->identity = identity_of(origin->source, origin->file, (uint64_t)offset);
    return origin;
}

// The row as JSON, for sources without a text of their own.
static Text row_as_json(Source *source, int64_t number) {
    TextBuf buf = {0};
    text_buf_char(&buf, '{');
    for (uint32_t c = 0; c < source->op->column_count; c++) {
        Value value = source->op->kind == SOURCE_RANGE ? value_i64(number)
                                                         : source->op->rows[number].items[c];
        if (c) text_buf_char(&buf, ',');
        json_print_string(&buf, source->op->columns[c].name);
        text_buf_char(&buf, ':');
        value_print_json(&buf, source->op->columns[c].type, &value);
    }
    text_buf_char(&buf, '}');
    return text_buf_take(&buf, source->job->arena);
}

// A row of the open file; false at its end. *fault is what is wrong with its structure.
static bool next_file_row(Source *source, ReadFault *fault) {
    FileRows *rows = &source->rows;
    bool found = source->format->next(rows, fault);
    file_read(source)->bytes = (int64_t)(found ? rows->row.end : rows->cursor.text.len);
    if (!found) return false;
    Origin *origin = origin_new(source, (int64_t)rows->row.begin);
    origin->has_line = format_info(source->op->format)->lines;
    origin->line = rows->row.line;
    origin->length = (int64_t)(rows->row.end - rows->row.begin);
    rows->raw = (Text){rows->cursor.text.at + rows->row.begin, rows->row.end - rows->row.begin};
    origin->raw = source->format->show ? source->format->show(rows) : rows->raw;
    return true;
}

static bool next_row(Source *source, ReadFault *fault) {
    *fault = (ReadFault){.weight = 1};
    if (source->format) return next_file_row(source, fault);
    if (source->next_row >= source->row_count) return false;
    origin_new(source, source->next_row)->raw = row_as_json(source, source->next_row);
    source->next_row++;
    return true;
}

void source_advance(Job *job, Node *node) {
    Source *source = node->state ? node->state : source_new(job, node);
    if (job->exit_code) return;
    if (source->path == source->path_count) {
        node->done = true;
        return;
    }
    if (!source->open) file_open(source);
    ReadFault fault;
    if (job->exit_code) return;
    if (!next_row(source, &fault)) {
        source->open = false;
        source->path++;
        return;
    }
    file_read(source)->rows++;
    node->counts.made++;
    RowMark mark = {node->source, (uint32_t)source->path, source->row->origin->offset,
                    fault.weight};
    arena_push(job->arena, job->marks, job->mark_count, job->mark_cap, mark);
    if (fault.status) reject_read(job, node, source->row->origin, fault);
    else judge_row(source);
}
