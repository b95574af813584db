// Formatter: what the files format*.c share: the page, its comments, and lists that may break.
//
// Everything is first tried on one line. What does not fit, or holds a comment, or was written
// with a line end after its opening bracket, is broken at its outermost border. Wherever a line
// ends, the comments that stood up to there in the source are put out, so none is ever lost.
//
// Three things are brought to one column. The types of a broken record, and of params that follow
// each other. The values of an inline table whose rows have the same names. The comments at the end
// of lines, up to the next empty line. What would not fit then stays as narrow as it is.
#ifndef SBC_FRONTEND_FORMATTER_H
#define SBC_FRONTEND_FORMATTER_H

#include "frontend/format.h"

enum {
    COLUMNS_MAX = 100,
    INDENT = 2,         // Of what stands in broken brackets.
    INDENT_ITEMS = 4,   // Of the further items of a step, and of the steps of a block.
};

typedef struct Page {
    Arena           *arena;
    TextBuf         *buf;
    Text             source;
    const AstFile   *file;
    size_t           comment;  // The first one that is not printed yet.
    size_t           indent;
    size_t           reserve;  // Columns to keep for what follows on the line.
    bool             flat;     // Everything on this line; no comment is put out.
    size_t           label;    // Columns of the next label; fewer are filled up.
    const size_t    *cells;    // Columns of the items of the next brackets, but the last; or null.
    size_t          *marks;    // Where comments after lines begin, since the last empty line.
    size_t           mark_count, mark_cap;
} Page;

typedef void EmitFn(Page *page, const void *item);
typedef Span SpanFn(const void *item);

// Things with commas between them, in brackets or up to the end of a step.
typedef struct Seq {
    const char *open, *close;  // "" and "" without brackets.
    const void *items;
    size_t      stride, count;
    SpanFn     *span;
    EmitFn     *emit;
    SpanFn     *label;         // Of an item that begins with page_put_label; or null.
    Span        whole;         // From the opening bracket to the closing one.
    const size_t *cells;       // What page->cells is while an item of the broken list is put out.
    bool        padded;        // { a } and not {a}.
    bool        in_step;       // The brackets close below the step's word, as those of blocks do.
    bool        keeps_break;   // A line end after the opening bracket is kept.
} Seq;

void page_put(Page *page, const char *text);
void page_put_span(Page *page, Span span);       // The text of the span as it stands in the source.
void page_put_name(Page *page, Name name);
void page_put_label(Page *page, Name name);      // With a colon, as wide as page->label says.
void page_put_seq(Page *page, const Seq *seq);
// Columns of [from, to) of the page's text.
size_t page_width(const Page *page, size_t from, size_t to);
// Columns that `emit` takes on one line.
size_t page_measure(Page *page, EmitFn *emit, const void *item);
// Brings the comments after lines to one column, and forgets them.
void page_align_comments(Page *page);
// Ends the line. `done` is the source offset up to which things are printed, `next` where the
// next one begins.
void page_break(Page *page, uint32_t done, uint32_t next);
bool page_has_comment(const Page *page, Span span);
// Prints by `emit` on this line if that fits and `span` holds no comment. False: nothing printed.
bool page_try_flat(Page *page, Span span, EmitFn *emit, const void *item);
// The offset of `sign` at or after `from`, comments skipped.
uint32_t page_find(const Page *page, uint32_t from, char sign);

void format_type(Page *page, const AstType *type);
void format_expr(Page *page, const AstExpr *expr);
void format_arguments(Page *page, const AstArg *args, uint32_t count, Span whole);
void format_flow(Page *page, const AstFlow *flow, bool may_be_one_line);

#endif
