#include "ir/remark.h"

#include <stdlib.h>
#include <string.h>

Remarks *remarks_new(Arena *arena) {
    Remarks *remarks = arena_new_of(arena, Remarks);
    *remarks = (Remarks){.arena = arena};
    return remarks;
}

static void add(Remarks *to, Remark new) {
    for (size_t i = 0; i < to->count; i++) {
        const Remark *old = &to->items[i];
        if (old->pass == new.pass && span_same(old->span, new.span) &&
            span_same(old->other, new.other) && text_eq(old->text, new.text))
            return;
    }
    arena_push(to->arena, to->items, to->count, to->cap, new);
}

static void addv(Remarks *to, Span span, Span other, const char *format, va_list args) {
    if (!to || span.file == SPAN_NONE) return;
    TextBuf buf = {0};
    text_buf_formatv(&buf, format, args);
    add(to, (Remark){to->pass, span, other, text_buf_take(&buf, to->arena)});
}

void remark(Remarks *to, Span span, const char *format, ...) {
    va_list args;
    va_start(args, format);
    addv(to, span, (Span){.file = SPAN_NONE}, format, args);
    va_end(args);
}

void remark_as(Remarks *to, Span span, Span other, const char *format, ...) {
    va_list args;
    va_start(args, format);
    addv(to, span, other, format, args);
    va_end(args);
}

void remark_whole(Remarks *to, Span span, const char *format, ...) {
    if (!to || span.file == SPAN_NONE) return;
    size_t count = 0;
    for (size_t i = 0; i < to->count; i++) {
        const Remark *old = &to->items[i];
        bool part = old->pass == to->pass && old->span.file == span.file &&
                    old->span.start >= span.start && old->span.end <= span.end;
        if (!part) to->items[count++] = *old;
    }
    to->count = count;
    va_list args;
    va_start(args, format);
    addv(to, span, (Span){.file = SPAN_NONE}, format, args);
    va_end(args);
}

void remark_name(RemarkNames *names, Text name) {
    text_buf_format(&names->text, names->count++ ? ", %.*s" : "%.*s", TEXT_ARG(name));
}

// ---- printing -----------------------------------------------------------------------------------

typedef struct Line {
    uint32_t number, start, end;  // From 1; bytes of the text, without the line end.
} Line;

// Where the lines of a file begin.
typedef struct Lines {
    Text      text;
    uint32_t *starts;
    size_t    count, cap;
} Lines;

static Lines lines_of(Arena *arena, Text text) {
    Lines lines = {.text = text};
    arena_push(arena, lines.starts, lines.count, lines.cap, 0);
    for (uint32_t i = 0; i < text.len; i++)
        if (text.at[i] == '\n') arena_push(arena, lines.starts, lines.count, lines.cap, i + 1);
    return lines;
}

static Line line_of(const Lines *lines, uint32_t at) {
    size_t low = 0, high = lines->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (lines->starts[middle] <= at) low = middle;
        else high = middle;
    }
    Line line = {.number = (uint32_t)low + 1, .start = lines->starts[low]};
    Text text = lines->text;
    for (line.end = line.start; line.end < text.len; line.end++)
        if (text.at[line.end] == '\n' || text.at[line.end] == '\r') break;
    return line;
}

typedef struct Printer {
    TextBuf       *buf;
    const Remarks *remarks;
    const Graph   *graph;
    const Lines   *files;   // By Span.file.
} Printer;

// A step is what its line shows: only parts of it are spelled.
static bool is_step(const Graph *graph, Span span) {
    for (size_t i = 0; i < graph->step_count; i++)
        if (span_same(graph->steps[i].span, span)) return true;
    return false;
}

// The code that the remark speaks of, on one line.
static void print_code(const Printer *to, Span span) {
    enum { CODE_MAX = 48 };
    Text all = to->files[span.file].text;
    Text code = {all.at + span.start, span.end - span.start};
    TextBuf line = {0};
    for (size_t i = 0; i < code.len; i++) {
        bool space = code.at[i] == ' ' || code.at[i] == '\n' || code.at[i] == '\t';
        if (!space) text_buf_char(&line, code.at[i]);
        else if (line.len && line.at[line.len - 1] != ' ') text_buf_char(&line, ' ');
    }
    bool cut = line.len > CODE_MAX;
    size_t len = cut ? CODE_MAX : line.len;
    while (cut && len && ((unsigned char)line.at[len] & 0xc0) == 0x80) len--;  // Whole characters.
    text_buf_format(to->buf, "`%.*s%s`: ", (int)len, line.len ? line.at : "", cut ? "..." : "");
    text_buf_free(&line);
}

static void print_remark(const Printer *to, const Remark *item) {
    text_buf_format(to->buf, "      %s: ", item->pass);
    if (!is_step(to->graph, item->span)) print_code(to, item->span);
    text_buf_add(to->buf, item->text);
    if (item->other.file < to->graph->file_count) {
        uint32_t line = line_of(&to->files[item->other.file], item->other.start).number;
        text_buf_format(to->buf, " line %u", line);
    }
    text_buf_char(to->buf, '\n');
}

typedef struct Order {
    const Remark *item;
    Line          line;
} Order;

static int compare(const void *a, const void *b) {
    const Order *x = a, *y = b;
    if (x->item->span.file != y->item->span.file)
        return x->item->span.file < y->item->span.file ? -1 : 1;
    if (x->line.number != y->line.number) return x->line.number < y->line.number ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

void remarks_print(TextBuf *buf, const Remarks *remarks, const Graph *graph, const Text *texts) {
    Lines *files = arena_new_array(remarks->arena, Lines, graph->file_count + 1);
    for (size_t i = 0; i < graph->file_count; i++) files[i] = lines_of(remarks->arena, texts[i]);
    Printer printer = {buf, remarks, graph, files};
    Order *order = arena_new_array(remarks->arena, Order, remarks->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < remarks->count; i++) {
        const Remark *item = &remarks->items[i];
        if (item->span.file >= graph->file_count || item->span.end > texts[item->span.file].len)
            continue;
        order[count++] = (Order){item, line_of(&files[item->span.file], item->span.start)};
    }
    qsort(order, count, sizeof *order, compare);
    for (size_t i = 0; i < count; i++) {
        uint32_t file = order[i].item->span.file;
        const Order *before = i ? &order[i - 1] : nullptr;
        bool new_file = !before || before->item->span.file != file;
        if (new_file) text_buf_format(buf, "%.*s\n", TEXT_ARG(graph->files[file]));
        if (new_file || before->line.number != order[i].line.number)
            text_buf_format(buf, "%5u | %.*s\n", order[i].line.number,
                            (int)(order[i].line.end - order[i].line.start),
                            texts[file].at + order[i].line.start);
        print_remark(&printer, order[i].item);
    }
}
