// Sources: opens what a source names, makes its rows and judges their columns.
#include "codegen/reference/identity.h"
#include "codegen/reference/job.h"
#include "codegen/reference/library.h"
#include "codegen/reference/read_csv.h"
#include "codegen/reference/read_json.h"

#include <string.h>

typedef struct Source {
    Job        *job;
    Node       *node;
    const SourceOp *op;
    const struct SbZone *zone;
    Text       *paths;
    size_t      path_count, path;     // The open file, or the one to open.
    bool        open;
    TextCursor  cursor;
    TextRow     text_row;
    uint32_t   *field_of;             // CSV: by column, the number of its field.
    size_t      reads;                // Of the job's: where those of this source begin.
    int64_t     row_max, row_count, next_row;  // Without files: rows, and the next one.
    Value      *rows;
    // The row that is being judged.
    Row        *row;
    JsonNode   *object;
    bool       *judged;               // By column.
    ReadFault   fault;                // Of a column.
} Source;

// ---- opening ----------------------------------------------------------------------------------

static Source *source_new(Job *job, Node *node) {
    const SourceOp *op = &node->op->source;
    Source *source = node->state = arena_new_of(job->arena, Source);
    Value value = {0};
    *source = (Source){.job = job, .node = node, .op = op};
    source->judged = arena_new_array(job->arena, bool, op->column_count + 1);
    source->field_of = arena_new_array(job->arena, uint32_t, op->column_count + 1);
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

static int64_t header_field(const TextRow *header, Text name, size_t *times) {
    int64_t found = -1;
    *times = 0;
    for (size_t i = 0; i < header->field_count; i++) {
        if (!text_eq(header->fields[i].text, name)) continue;
        if (!(*times)++) found = (int64_t)i;
    }
    return found;
}

// Reads the header and finds the field of every column.
static void csv_open(Source *source) {
    TextCursor *cursor = &source->cursor;
    const SourceOp *op = source->op;
    Text path = source->paths[source->path];
    TextRow header = {0};
    cursor->field_count = op->column_count;
    for (uint32_t c = 0; c < op->column_count; c++) source->field_of[c] = c;
    if (!op->options.csv.header) return;
    cursor->field_count = 0;
    bool found = csv_next(cursor, &header);
    if (!found) {
        job_fail(source->job, JOB_HEADER, "'%.*s' is empty: it has no header", TEXT_ARG(path));
        return;
    }
    if (header.status) {
        job_fail(source->job, JOB_HEADER, "the header of '%.*s' is damaged: %s", TEXT_ARG(path),
                 fault_message(header.status));
        job_fix(source->job, "correct the first row of the file");
        return;
    }
    cursor->field_count = header.field_count;
    for (uint32_t c = 0; c < op->column_count; c++) {
        size_t times;
        int64_t field = header_field(&header, op->columns[c].name, &times);
        if (times != 1) {
            job_fail(source->job, JOB_HEADER, "'%.*s' has %s '%.*s'", TEXT_ARG(path),
                     times ? "two columns" : "no column", TEXT_ARG(op->columns[c].name));
            if (times) job_fix(source->job, "rename one of them in the file's header");
            return;
        }
        source->field_of[c] = (uint32_t)field;
    }
}

static bool has_files(const SourceOp *op) { return op->kind == SOURCE_FILES; }

static void file_open(Source *source) {
    Job *job = source->job;
    source->open = true;
    source->next_row = 0;
    if (!has_files(source->op)) return;
    Text text = {0};
    if (!file_load(job, source->paths[source->path], &text)) return;
    source->cursor = (TextCursor){.arena = job->arena,
                                  .text = text,
                                  .line = 1,
                                  .csv = &source->op->options.csv,
                                  .row_max = source->row_max};
    if (source->op->format == FORMAT_FILES) return;
    // A byte order mark is dropped; offsets count it.
    if (text_starts(text, TEXT("\xef\xbb\xbf"))) source->cursor.at = 3;
    if (source->op->format == FORMAT_CSV) csv_open(source);
}

// ---- judging columns --------------------------------------------------------------------------

static bool column_fault(Source *source, uint32_t column, int32_t status, Text detail) {
    if (status) source->fault = (ReadFault){
        .status = status, .column = &source->op->columns[column].name, .detail = detail,
        .weight = 1};
    return !status;
}

static bool is_null_word(const CsvOptions *csv, Text text) {
    if (!csv->null_count && !csv->strict_nulls) return text.len == 0;
    for (uint32_t i = 0; i < csv->null_count; i++) {
        if (text_eq(csv->nulls[i], text)) return true;
    }
    return false;
}

static Text trimmed(Text text) {
    while (text.len && strchr(" \t", *text.at)) text.at++, text.len--;
    while (text.len && strchr(" \t", text.at[text.len - 1])) text.len--;
    return text;
}

static bool judge_csv(Source *source, uint32_t column, Value *out) {
    const Type *type = source->op->columns[column].type, *base = type_base(type);
    const CsvField *field = &source->text_row.fields[source->field_of[column]];
    const CsvOptions *csv = &source->op->options.csv;
    Text word = type_is_numeric(base) ? trimmed(field->text) : field->text;
    bool null_word = !field->quoted && is_null_word(csv, word);
    if (null_word && type->nullable) {
        *out = value_null();
        return true;
    }
    if (base->kind == TYPE_STR) {
        *out = value_text(field->text);
        return true;
    }
    if (null_word || (!field->quoted && !word.len))
        return column_fault(source, column, SB_FAULT_MISSING, (Text){0});
    if (base->kind == TYPE_JSON || type_is_nested(base)) {
        JsonFault fault = json_read_value(source->job->arena, base, field->text,
                                          source->zone, out);
        return column_fault(source, column, fault.status, fault.text);
    }
    ReadOptions options = {csv->decimal ? csv->decimal : '.', source->zone};
    int32_t status = value_read(source->job->arena, base, field->text, options, out);
    return column_fault(source, column, status, field->text);
}

static bool judge_json(Source *source, uint32_t column, Value *out) {
    const SourceColumn *declared = &source->op->columns[column];
    JsonFault fault = json_read_column(source->job->arena, declared->type, source->object,
                                       declared->name, source->zone, out);
    return column_fault(source, column, fault.status, fault.text);
}

static bool judge_file(Source *source, uint32_t column, Value *out) {
    bool path = text_is(source->op->columns[column].name, "path");
    *out = value_text(path ? source->paths[source->path] : source->cursor.text);
    return true;
}

static Text raw_of(const Source *source, uint32_t column) {
    if (!has_files(source->op)) return (Text){0};
    if (source->op->format == FORMAT_CSV)
        return source->text_row.fields[source->field_of[column]].raw;
    if (source->op->format == FORMAT_TEXT) return source->row->origin->raw;
    if (source->op->format != FORMAT_JSONL) return (Text){0};
    for (const JsonNode *child = source->object->first; child; child = child->next) {
        if (text_eq(child->key, source->op->columns[column].name)) return child->text;
    }
    return (Text){0};
}

// The bytes of some columns of the type as a row of them has them.
static Text raws_of(const Source *source, RawSpan raw) {
    if (raw.first == raw.last) return raw_of(source, raw.first);
    TextBuf buf = {0};
    for (uint32_t c = raw.first; c <= raw.last; c++) {
        if (c > raw.first) text_buf_char(&buf, source->op->options.csv.delimiter);
        text_buf_add(&buf, raw_of(source, c));
    }
    return text_buf_take(&buf, source->job->arena);
}

// Reads a column once; false: source->fault says why not.
static bool judge(Source *source, uint32_t column) {
    Value *out = &source->row->values[column];
    bool good = true;
    if (source->judged[column]) return true;
    if (source->op->kind == SOURCE_RANGE) *out = value_i64(source->next_row - 1);
    if (source->op->kind == SOURCE_INLINE)
        *out = source->op->rows[source->next_row - 1].items[column];
    if (has_files(source->op)) switch (source->op->format) {
    case FORMAT_COUNT: break;
    case FORMAT_CSV: good = judge_csv(source, column, out); break;
    case FORMAT_JSONL: good = judge_json(source, column, out); break;
    case FORMAT_TEXT: *out = value_text(source->row->origin->raw); break;
    case FORMAT_FILES: good = judge_file(source, column, out); break;
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
                       .has_file = has_files(source->op), .offset = offset,
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
static bool next_text_row(Source *source, ReadFault *fault) {
    TextRow *row = &source->text_row;
    Format format = source->op->format;
    bool found = format == FORMAT_CSV ? csv_next(&source->cursor, row)
                                      : line_next(&source->cursor, format == FORMAT_JSONL, row);
    file_read(source)->bytes = (int64_t)(found ? row->end : source->cursor.at);
    if (!found) return false;
    Origin *origin = origin_new(source, (int64_t)row->begin);
    origin->has_line = true;
    origin->line = row->line;
    origin->length = (int64_t)(row->end - row->begin);
    origin->raw = (Text){source->cursor.text.at + row->begin, row->end - row->begin};
    fault->status = row->status;
    if (fault->status == SB_FAULT_OPEN_QUOTE) fault->weight = row->lines;
    if (fault->status == SB_FAULT_FIELD_COUNT) {
        fault->detail = text_format(source->job->arena, "%zu instead of %zu", row->field_count,
                                    source->cursor.field_count);
        fault->bare = true;
    }
    bool bytes =
        source->op->column_count && type_base(source->op->columns[0].type)->kind == TYPE_BYTES;
    bool any_bytes = format == FORMAT_TEXT && bytes;
    if (any_bytes && fault->status == SB_FAULT_BAD_UTF8) fault->status = SB_OK;
    if (format == FORMAT_JSONL && !fault->status) {
        source->object = json_parse(source->job->arena, origin->raw);
        bool good = source->object && source->object->kind == JSON_OBJECT;
        if (!good) fault->status = SB_FAULT_BAD_JSON;
    }
    return true;
}

static bool next_row(Source *source, ReadFault *fault) {
    *fault = (ReadFault){.weight = 1};
    if (has_files(source->op) && source->op->format == FORMAT_FILES) {
        if (source->next_row++) return false;
        Origin *origin = origin_new(source, 0);
        origin->length = (int64_t)source->cursor.text.len;
        origin->raw = source->paths[source->path];
        file_read(source)->bytes = origin->length;
        bool long_row = source->row_max && origin->length > source->row_max;
        if (long_row) fault->status = SB_FAULT_ROW_TOO_LONG;
        return true;
    }
    if (has_files(source->op)) return next_text_row(source, fault);
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
