// The closing summary (docs/summary.md).
#include "codegen/reference/job.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 7 };

typedef struct Line {
    Text cells[COLUMNS_MAX];
} Line;

typedef struct Sheet {
    Arena *arena;
    Line  *lines;
    size_t count, cap, columns;
} Sheet;

// Characters, not bytes.
static size_t width(Text text) {
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) count += (text.at[i] & 0xc0) != 0x80;
    return count;
}

Text figure(Arena *arena, int64_t number) {
    Text digits = text_format(arena, "%lld", (long long)number);
    TextBuf buf = {0};
    for (size_t i = 0; i < digits.len; i++) {
        if (i && (digits.len - i) % 3 == 0) text_buf_char(&buf, ',');
        text_buf_char(&buf, digits.at[i]);
    }
    return text_buf_take(&buf, arena);
}

static Line *add_line(Sheet *sheet, Text first) {
    Line line = {.cells = {first}};
    arena_push(sheet->arena, sheet->lines, sheet->count, sheet->cap, line);
    return &sheet->lines[sheet->count - 1];
}

static Sheet sheet_new(Arena *arena, size_t columns, const char *const *heads) {
    Sheet sheet = {.arena = arena, .columns = columns};
    Line *line = add_line(&sheet, text_of(heads[0]));
    for (size_t c = 1; c < columns; c++) line->cells[c] = text_of(heads[c]);
    return sheet;
}

static void print_sheet(TextBuf *buf, const Sheet *sheet) {
    size_t widths[COLUMNS_MAX] = {0};
    if (sheet->count < 2) return;
    for (size_t i = 0; i < sheet->count; i++) {
        for (size_t c = 0; c < sheet->columns; c++) {
            size_t own = width(sheet->lines[i].cells[c]);
            if (own > widths[c]) widths[c] = own;
        }
    }
    if (buf->len) text_buf_char(buf, '\n');
    for (size_t i = 0; i < sheet->count; i++) {
        const Line *line = &sheet->lines[i];
        text_buf_add(buf, line->cells[0]);
        text_buf_pad(buf, widths[0] - width(line->cells[0]));
        for (size_t c = 1; c < sheet->columns; c++) {
            text_buf_pad(buf, 2 + widths[c] - width(line->cells[c]));
            text_buf_add(buf, line->cells[c]);
        }
        text_buf_char(buf, '\n');
    }
}

// ---- steps ------------------------------------------------------------------------------------

static bool same_step(StepId a, StepId b) { return a.i == b.i; }

// A step may be several operators: what passes between them is neither in nor on.
static bool stays_inside(const Job *job, const Op *op) {
    for (size_t i = op->id.i + 1; i < job->graph->op_count; i++) {
        const Op *user = &job->graph->ops[i];
        for (uint32_t k = 0; k < user->input_count; k++) {
            if (user->inputs[k].i == op->id.i && same_step(user->step, op->step)) return true;
        }
    }
    return false;
}

static void add_counts(Counts *into, const Counts *from) {
    into->in += from->in;
    into->made += from->made;
    into->on += from->on;
    into->filtered += from->filtered;
    into->rejected += from->rejected;
    into->merged += from->merged;
}

static bool begins_inside(const Job *job, const Op *op) {
    for (uint32_t k = 0; k < op->input_count; k++) {
        if (same_step(graph_op_at(job->graph, op->inputs[k])->step, op->step)) return true;
    }
    return false;
}

// The counts of a step; false: nothing of it ran.
static bool step_counts(const Job *job, StepId step, Counts *out) {
    bool found = false, several = false;
    *out = (Counts){0};
    for (size_t i = 0; i < job->graph->op_count; i++) {
        const Node *node = &job->nodes[i];
        if (!node->reached) continue;
        if (same_step(node->op->step, step)) {
            Counts counts = node->counts;
            if (begins_inside(job, node->op)) counts.in = 0;
            several |= stays_inside(job, node->op);
            add_counts(out, &counts);
            found = true;
        }
        if (node->op->kind != OP_SOURCE) continue;
        for (uint32_t f = 0; f < node->op->source.filter_count; f++) {
            if (!same_step(node->op->source.filters[f].step, step)) continue;
            if (node->filter_counts) add_counts(out, &node->filter_counts[f]);
            found = true;
        }
    }
    // The last of several may have passed on less than the one before it has: a limit asks no more.
    if (several)
        out->on = out->in + out->made - out->filtered - out->rejected - out->merged;
    return found;
}

static void print_steps(const Job *job, TextBuf *buf) {
    static const char *const heads[] = {"step",     "in",       "made",  "on",
                                        "filtered", "rejected", "merged"};
    Sheet sheet = sheet_new(job->arena, 7, heads);
    for (size_t s = 0; s < job->graph->step_count; s++) {
        Counts counts;
        if (!step_counts(job, (StepId){(uint32_t)s}, &counts)) continue;
        Line *line = add_line(&sheet, job->graph->steps[s].label);
        const int64_t figures[] = {counts.in,       counts.made,     counts.on,
                                   counts.filtered, counts.rejected, counts.merged};
        for (size_t c = 0; c < countof(figures); c++)
            line->cells[c + 1] = figure(job->arena, figures[c]);
    }
    print_sheet(buf, &sheet);
}

static int compare_reads(const void *left, const void *right) {
    const FileRead *a = left, *b = right;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    return a->file < b->file ? -1 : a->file > b->file;
}

void summary_print(const Job *job, TextBuf *buf) {
    static const char *const sources[] = {"source", "rows", "bytes"};
    static const char *const sinks[] = {"sink", "rows", "bytes", "files"};
    print_steps(job, buf);
    Sheet sheet = sheet_new(job->arena, 3, sources);
    if (job->read_count) qsort(job->reads, job->read_count, sizeof *job->reads, compare_reads);
    for (size_t i = 0; i < job->read_count; i++) {
        const FileRead *read = &job->reads[i];
        Line *line = add_line(&sheet, read->path);
        line->cells[1] = figure(job->arena, read->rows);
        line->cells[2] = figure(job->arena, read->bytes);
    }
    print_sheet(buf, &sheet);
    sheet = sheet_new(job->arena, job->by_key ? 4 : 3, sinks);
    for (size_t i = 0; i < job->write_count && !job->exit_code; i++) {
        const FileWritten *written = &job->writes[i];
        Line *line = add_line(&sheet, written->path);
        line->cells[1] = figure(job->arena, written->rows);
        line->cells[2] = figure(job->arena, written->bytes);
        line->cells[3] = figure(job->arena, written->files);
    }
    print_sheet(buf, &sheet);
}
