// Prints diagnostics as text: the headline, the source lines with marks under them, notes, the fix.
//
//     error[SB0501]: tensor shapes do not broadcast
//       --> classify.sbd:8:17
//        |
//      8 |     derive x = (f32(x) / 255.0 - [0.485, 0.456]) / 0.225
//        |                 ^^^^^^^^^^^^^^   -------------- f32[2]
//        |                 f32[224, 224, 3]
//        = the last dimensions, 3 and 2, differ
//        = fix: give one value per channel, or a single number for all
#include "frontend/diag.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAB_COLUMNS = 4,
    LINE_COLUMNS_MAX = 160,  // Longer source lines are cut to a window around their first mark.
    LEAD_COLUMNS = 40,       // Of that window: what stands before the mark.
    ELLIPSIS_COLUMNS = 4,    // "... "
};

// ---- characters and columns ------------------------------------------------------------------

// Decodes the character at `at`; a byte that begins none is one wrong character.
static uint32_t decode(const char *at, const char *end, size_t *len) {
    unsigned char c = (unsigned char)*at;
    size_t want = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3
                : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    *len = 1;
    if (want == 1) return c;
    if (!want || (size_t)(end - at) < want) return 0xfffd;
    uint32_t value = c & (0xffu >> (want + 1));
    for (size_t i = 1; i < want; i++) {
        unsigned char next = (unsigned char)at[i];
        if ((next & 0xc0) != 0x80) return 0xfffd;
        value = value << 6 | (next & 0x3f);
    }
    *len = want;
    return value;
}

// Columns that a terminal gives a character: the wide blocks of East Asian Width (Unicode annex
// 11) and the common marks without a width of their own.
static size_t columns_of(uint32_t c) {
    static const struct { uint32_t first, last; } none[] = {
        {0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
    }, wide[] = {
        {0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff},
        {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
        {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    for (size_t i = 0; i < countof(none); i++) {
        if (c >= none[i].first && c <= none[i].last) return 0;
    }
    for (size_t i = 0; i < countof(wide); i++) {
        if (c >= wide[i].first && c <= wide[i].last) return 2;
    }
    return 1;
}

// Walks `line` and adds what stands in columns [from, to) to `buf` (null: only measures). Returns
// the column at which byte `stop` begins. Tabs become spaces; what would move the terminal's
// cursor becomes U+FFFD.
static size_t walk(Text line, size_t stop, size_t from, size_t to, TextBuf *buf) {
    size_t column = 0;
    const char *end = line.at + line.len;
    for (size_t i = 0, len; i < stop && i < line.len; i += len) {
        uint32_t c = decode(line.at + i, end, &len);
        bool tab = c == '\t', bad = c == 0xfffd || c < 0x20 || (c >= 0x7f && c < 0xa0) ||
                                    (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
        size_t width = tab ? TAB_COLUMNS - column % TAB_COLUMNS : bad ? 1 : columns_of(c);
        if (buf && column >= from && column + width <= to) {
            if (tab) text_buf_pad(buf, width);
            else if (bad) text_buf_add(buf, TEXT("\uFFFD"));
            else text_buf_add(buf, (Text){line.at + i, len});
        }
        column += width;
    }
    return column;
}

static size_t column_of(Text line, size_t byte) { return walk(line, byte, 0, 0, nullptr); }

// ---- one diagnostic --------------------------------------------------------------------------

typedef struct Mark {        // A label on the line that it stands on.
    uint32_t file, line;
    size_t   from, to;       // Columns, from 0; at least one.
    bool     primary;
    Text     text;
} Mark;

typedef struct Page {
    TextBuf     *buf;
    const Diags *diags;
    bool         colour;
    size_t       gutter;     // Columns of the widest line number.
    Mark         marks[LABELS_MAX];
    uint32_t     mark_count;
} Page;

static const char *const severity_names[] = {"error", "warning", "note"};
static const char *const severity_colours[] = {"\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m"};

static void colour(Page *page, const char *sequence) {
    if (page->colour) text_buf_add(page->buf, text_of(sequence));
}

#define BOLD "\x1b[1m"
#define BLUE "\x1b[1;34m"
#define PLAIN "\x1b[0m"

// "   |", or " 8 |" with a line number.
static void margin(Page *page, uint32_t line) {
    colour(page, BLUE);
    if (line) text_buf_format(page->buf, " %*u |", (int)page->gutter, line);
    else text_buf_format(page->buf, " %*s |", (int)page->gutter, "");
    colour(page, PLAIN);
}

static Mark mark_of(const Diags *diags, const Label *label, bool primary) {
    Span span = label->span;
    uint32_t line = source_position(diags->sources, span.file, span.start).line;
    Text text = source_line(diags->sources, span.file, line);
    size_t start = span.start - diags->sources->files[span.file].lines[line - 1];
    size_t end = start + (span.end > span.start ? span.end - span.start : 0);
    if (end > text.len) end = text.len;  // A span over several lines is marked on its first one.
    size_t from = column_of(text, start), to = column_of(text, end);
    Mark mark = {span.file, line, from, to, primary, label->text};
    if (mark.to <= mark.from) mark.to = mark.from + 1;
    return mark;
}

// By file (the primary one's first), line, and column.
static bool mark_before(const Mark *a, const Mark *b, uint32_t first_file) {
    bool a_first = a->file == first_file, b_first = b->file == first_file;
    if (a_first != b_first) return a_first;
    if (a->file != b->file) return a->file < b->file;
    if (a->line != b->line) return a->line < b->line;
    return a->from < b->from;
}

static void collect_marks(Page *page, const Diag *diag) {
    uint32_t first_file = diag->labels[0].span.file;
    for (uint32_t i = 0; i < diag->label_count; i++) {
        if (diag->labels[i].span.file == SPAN_NONE) continue;
        Mark mark = mark_of(page->diags, &diag->labels[i], i == 0);
        uint32_t at = page->mark_count++;
        for (; at > 0 && mark_before(&mark, &page->marks[at - 1], first_file); at--) {
            page->marks[at] = page->marks[at - 1];
        }
        page->marks[at] = mark;
        char digits[16];
        size_t width = (size_t)snprintf(digits, sizeof digits, "%u", mark.line);
        if (width > page->gutter) page->gutter = width;
    }
}

static void mark_colour(Page *page, const Mark *mark, Severity severity) {
    colour(page, mark->primary ? severity_colours[severity] : BLUE);
}

// The line of ^^^ and ---; the last mark's text stands after it.
static void print_underline(Page *page, const Mark *marks, uint32_t count, Severity severity) {
    margin(page, 0);
    size_t end = 0;
    for (uint32_t i = 0; i < count; i++) if (marks[i].to > end) end = marks[i].to;
    char *line = malloc(end + 1);
    if (!line) abort();
    memset(line, ' ', end);
    for (uint32_t pass = 0; pass < 2; pass++) {  // The primary mark covers the others.
        for (uint32_t i = 0; i < count; i++) {
            if (marks[i].primary == (pass == 1)) {
                memset(line + marks[i].from, pass ? '^' : '-', marks[i].to - marks[i].from);
            }
        }
    }
    text_buf_char(page->buf, ' ');
    for (size_t i = 0; i < end; i++) {
        bool begins = line[i] != ' ' && (i == 0 || line[i] != line[i - 1]);
        if (begins) colour(page, line[i] == '^' ? severity_colours[severity] : BLUE);
        text_buf_char(page->buf, line[i]);
        bool ends = line[i] != ' ' && (i + 1 == end || line[i + 1] != line[i]);
        if (ends) colour(page, PLAIN);
    }
    free(line);
    const Mark *last = &marks[count - 1];
    if (last->text.len) {
        text_buf_char(page->buf, ' ');
        mark_colour(page, last, severity);
        text_buf_add(page->buf, last->text);
        colour(page, PLAIN);
    }
    text_buf_char(page->buf, '\n');
}

// The texts of the marks left of the last one, each on a line of its own, rightmost first; a `|`
// leads down to those that are still to come.
static void print_hanging(Page *page, const Mark *marks, uint32_t count, Severity severity) {
    for (uint32_t i = count - 1; i-- > 0;) {
        if (!marks[i].text.len) continue;
        margin(page, 0);
        size_t column = 0;
        text_buf_char(page->buf, ' ');
        for (uint32_t j = 0; j < i; j++) {
            bool hidden = marks[j].from < column || marks[j].from == marks[i].from;
            if (!marks[j].text.len || hidden) continue;
            text_buf_pad(page->buf, marks[j].from - column);
            text_buf_char(page->buf, '|');
            column = marks[j].from + 1;
        }
        text_buf_pad(page->buf, marks[i].from - column);
        mark_colour(page, &marks[i], severity);
        text_buf_add(page->buf, marks[i].text);
        colour(page, PLAIN);
        text_buf_char(page->buf, '\n');
    }
}

// A source line and the marks on it. Lines that are too wide are cut on both sides.
static void print_line(Page *page, Mark *marks, uint32_t count, Severity severity) {
    Text line = source_line(page->diags->sources, marks[0].file, marks[0].line);
    size_t width = column_of(line, line.len), from = 0, to = width;
    if (width > LINE_COLUMNS_MAX) {
        from = marks[0].from > LEAD_COLUMNS ? marks[0].from - LEAD_COLUMNS : 0;
        to = from + LINE_COLUMNS_MAX < width ? from + LINE_COLUMNS_MAX : width;
    }
    margin(page, marks[0].line);
    if (width) text_buf_char(page->buf, ' ');
    if (from) text_buf_add(page->buf, TEXT("... "));
    walk(line, line.len, from, to, page->buf);
    if (to < width) text_buf_add(page->buf, TEXT(" ..."));
    text_buf_char(page->buf, '\n');
    for (uint32_t i = 0; i < count; i++) {
        size_t shift = from ? from - ELLIPSIS_COLUMNS : 0;
        size_t last = to > from ? to : from + 1;
        if (marks[i].from > last) marks[i].from = last;
        if (marks[i].to > last + 1) marks[i].to = last + 1;
        marks[i].from -= shift;
        marks[i].to -= shift;
        if (marks[i].to <= marks[i].from) marks[i].to = marks[i].from + 1;
    }
    print_underline(page, marks, count, severity);
    print_hanging(page, marks, count, severity);
}

static void print_place(Page *page, const char *arrow, const Diag *diag, const Mark *mark) {
    const Diags *diags = page->diags;
    Position at = {mark->line, 1};
    for (uint32_t i = diag->label_count; i-- > 0;) {
        Span span = diag->labels[i].span;
        if (span.file != mark->file) continue;
        Position here = source_position(diags->sources, span.file, span.start);
        if (i == 0 || here.line == mark->line) at = here;
    }
    colour(page, BLUE);
    text_buf_format(page->buf, "%*s%s", (int)page->gutter + 1, "", arrow);
    colour(page, PLAIN);
    text_buf_format(page->buf, " %.*s:%u:%u\n", TEXT_ARG(diags->sources->files[mark->file].path),
                    at.line, at.column);
    margin(page, 0);
    text_buf_char(page->buf, '\n');
}

// What stands between the marks of two lines: nothing, the one line between, or "...".
static void print_gap(Page *page, const Mark *above, const Mark *below) {
    if (below->line - above->line <= 1) return;
    if (below->line - above->line > 2) {
        text_buf_add(page->buf, TEXT("...\n"));
        return;
    }
    Text line = source_line(page->diags->sources, above->file, above->line + 1);
    margin(page, above->line + 1);
    if (line.len) text_buf_char(page->buf, ' ');
    walk(line, line.len, 0, LINE_COLUMNS_MAX, page->buf);
    text_buf_char(page->buf, '\n');
}

static void print_source(Page *page, const Diag *diag, Severity severity) {
    for (uint32_t i = 0, next; i < page->mark_count; i = next) {
        Mark *marks = &page->marks[i];
        for (next = i + 1; next < page->mark_count; next++) {
            const Mark *other = &page->marks[next];
            if (other->file != marks->file || other->line != marks->line) break;
        }
        bool new_file = i == 0 || marks[-1].file != marks->file;
        if (new_file) print_place(page, i == 0 ? "-->" : ":::", diag, marks);
        else print_gap(page, &marks[-1], marks);
        print_line(page, marks, next - i, severity);
    }
}

static void print_note(Page *page, const char *lead, Text text) {
    colour(page, BLUE);
    text_buf_format(page->buf, "%*s=", (int)page->gutter + 2, "");
    colour(page, PLAIN);
    text_buf_char(page->buf, ' ');
    colour(page, BOLD);
    text_buf_add(page->buf, text_of(lead));
    colour(page, PLAIN);
    text_buf_add(page->buf, text);
    text_buf_char(page->buf, '\n');
}

static void print_diag(TextBuf *buf, const Diags *diags, const Diag *diag, bool with_colour) {
    Page page = {buf, diags, with_colour, 1, {}, 0};
    Severity severity = diag_severity(diag->code);
    collect_marks(&page, diag);
    colour(&page, severity_colours[severity]);
    text_buf_format(buf, "%s[%s]", severity_names[severity], diag_code(diag->code));
    colour(&page, PLAIN);
    colour(&page, BOLD);
    text_buf_format(buf, ": %.*s", TEXT_ARG(diag->message));
    colour(&page, PLAIN);
    text_buf_char(buf, '\n');
    print_source(&page, diag, severity);
    for (uint32_t i = 0; i < diag->note_count; i++) print_note(&page, "", diag->notes[i]);
    if (diag->fix.len) print_note(&page, "fix: ", diag->fix);
}

// ---- all of them -----------------------------------------------------------------------------

static int by_place(const void *left, const void *right) {
    const Diag *a = *(Diag *const *)left, *b = *(Diag *const *)right;
    Span x = a->labels[0].span, y = b->labels[0].span;
    if (x.file != y.file) return x.file < y.file ? -1 : 1;
    if (x.start != y.start) return x.start < y.start ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

Diag **diags_by_place(const Diags *diags) {
    Diag **sorted = arena_new_array(diags->arena, Diag *, diags->count);
    for (uint32_t i = 0; i < diags->count; i++) {
        sorted[i] = diags->items[i];
        sorted[i]->order = i;
    }
    if (diags->count) qsort(sorted, diags->count, sizeof *sorted, by_place);
    return sorted;
}

void diags_print(TextBuf *buf, const Diags *diags, bool with_colour) {
    Diag **sorted = diags_by_place(diags);
    for (size_t i = 0; i < diags->count; i++) {
        if (i) text_buf_char(buf, '\n');
        print_diag(buf, diags, sorted[i], with_colour);
    }
}
