// The page that a program is printed on: lines, comments, lists that may break.
#include "frontend/formatter.h"

#include <string.h>

void page_put(Page *page, const char *text) { text_buf_add(page->buf, text_of(text)); }

void page_put_span(Page *page, Span span) {
    text_buf_add(page->buf, (Text){page->source.at + span.start, span.end - span.start});
}

void page_put_name(Page *page, Name name) { page_put_span(page, name.span); }

size_t page_width(const Page *page, size_t from, size_t to) {
    size_t count = 0;
    for (size_t i = from; i < to; i++) count += ((unsigned char)page->buf->at[i] & 0xc0) != 0x80;
    return count;
}

static size_t line_begin(const Page *page, size_t at) {
    while (at > 0 && page->buf->at[at - 1] != '\n') at--;
    return at;
}

// Characters on the line that is being written.
static size_t column(const Page *page) {
    return page_width(page, line_begin(page, page->buf->len), page->buf->len);
}

size_t page_measure(Page *page, EmitFn *emit, const void *item) {
    size_t len = page->buf->len;
    bool flat = page->flat;
    page->flat = true;
    emit(page, item);
    size_t width = page_width(page, len, page->buf->len);
    page->flat = flat;
    page->buf->len = len;
    return width;
}

void page_put_label(Page *page, Name name) {
    size_t from = page->buf->len, label = page->label;
    page->label = 0;
    page_put_name(page, name);
    size_t own = page_width(page, from, page->buf->len);
    page_put(page, ":");
    text_buf_pad(page->buf, 1 + (label > own ? label - own : 0));
}

// ---- comments ----------------------------------------------------------------------------------

bool page_has_comment(const Page *page, Span span) {
    size_t low = 0, high = page->file->comment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (page->file->comments[middle].span.start < span.start) low = middle + 1;
        else high = middle;
    }
    return low < page->file->comment_count && page->file->comments[low].span.start < span.end;
}

// Is there a comment before `end` that is not on the page yet?
static bool has_comment_left(const Page *page, uint32_t end) {
    const AstFile *file = page->file;
    return page->comment < file->comment_count && file->comments[page->comment].span.start < end;
}

static void put_comment(Page *page) {
    Span span = page->file->comments[page->comment++].span;
    while (span.end > span.start + 1 && strchr(" \t\r", page->source.at[span.end - 1])) span.end--;
    page_put_span(page, span);
}

void page_align_comments(Page *page) {
    const TextBuf *buf = page->buf;
    size_t target = 0, widest = 0;
    for (size_t i = 0; i < page->mark_count; i++) {
        size_t mark = page->marks[i], end = mark;
        while (end < buf->len && buf->at[end] != '\n') end++;
        size_t before = page_width(page, line_begin(page, mark), mark);
        size_t comment = page_width(page, mark, end);
        if (before > target) target = before;
        if (comment > widest) widest = comment;
    }
    bool fits = target + widest <= COLUMNS_MAX;
    for (size_t i = page->mark_count; fits && i-- > 0;) {  // From the end: places stay true.
        size_t mark = page->marks[i], len = buf->len;
        size_t pad = target - page_width(page, line_begin(page, mark), mark);
        text_buf_pad(page->buf, pad);
        memmove(buf->at + mark + pad, buf->at + mark, len - mark);
        memset(buf->at + mark, ' ', pad);
    }
    page->mark_count = 0;
}

static bool same_line(const Page *page, uint32_t from, uint32_t to) {
    return from >= to || !memchr(page->source.at + from, '\n', to - from);
}

void page_break(Page *page, uint32_t done, uint32_t next) {
    const AstFile *file = page->file;
    if (page->comment < file->comment_count) {
        const AstComment *comment = &file->comments[page->comment];
        bool behind = !comment->own_line && comment->span.start < next &&
                      same_line(page, done, comment->span.start);
        if (behind) {
            arena_push(page->arena, page->marks, page->mark_count, page->mark_cap, page->buf->len);
            page_put(page, "  ");
            put_comment(page);
        }
    }
    text_buf_char(page->buf, '\n');
    while (has_comment_left(page, next)) {
        text_buf_pad(page->buf, page->indent);
        put_comment(page);
        text_buf_char(page->buf, '\n');
    }
    text_buf_pad(page->buf, page->indent);
}

uint32_t page_find(const Page *page, uint32_t from, char sign) {
    size_t comment = 0;
    for (uint32_t i = from; i < page->source.len; i++) {
        if (page->source.at[i] == sign) return i;
        if (page->source.at[i] != '#') continue;
        while (comment < page->file->comment_count && page->file->comments[comment].span.start < i)
            comment++;
        bool found =
            comment < page->file->comment_count && page->file->comments[comment].span.start == i;
        if (found) i = page->file->comments[comment].span.end - 1;
    }
    return (uint32_t)page->source.len;
}

// ---- fitting -----------------------------------------------------------------------------------

// A comma or a bracket may follow what is tried: one column is kept for it.
bool page_try_flat(Page *page, Span span, EmitFn *emit, const void *item) {
    if (page->flat) {
        emit(page, item);
        return true;
    }
    if (page_has_comment(page, span)) return false;
    size_t len = page->buf->len;
    page->flat = true;
    emit(page, item);
    page->flat = false;
    if (column(page) + page->reserve < COLUMNS_MAX) return true;
    page->buf->len = len;
    return false;
}

static Span item_span(const Seq *seq, size_t i) {
    return seq->span((const char *)seq->items + i * seq->stride);
}

static void emit_item(Page *page, const Seq *seq, size_t i) {
    seq->emit(page, (const char *)seq->items + i * seq->stride);
}

static void emit_seq_flat(Page *page, const void *item) {
    const Seq *seq = item;
    const size_t *cells = page->cells;
    page->cells = nullptr;
    page_put(page, seq->open);
    if (seq->padded && seq->count) page_put(page, " ");
    for (size_t i = 0; i < seq->count; i++) {
        size_t from = page->buf->len;
        emit_item(page, seq, i);
        if (i + 1 == seq->count) break;
        page_put(page, ", ");
        size_t own = page_width(page, from, page->buf->len) - strlen(", ");
        if (cells && cells[i] > own) text_buf_pad(page->buf, cells[i] - own);
    }
    if (seq->padded && seq->count) page_put(page, " ");
    page_put(page, seq->close);
}

// Was there a line end directly after the opening bracket?
static bool was_broken(const Page *page, const Seq *seq) {
    for (uint32_t i = seq->whole.start + 1; i < seq->whole.end; i++) {
        char c = page->source.at[i];
        if (c == '\n') return true;
        if (c != ' ' && c != '\t' && c != '\r') return false;
    }
    return false;
}

// The widest label of a list.
static size_t label_width(const Page *page, const Seq *seq) {
    size_t widest = 0;
    for (size_t i = 0; seq->label && i < seq->count; i++) {
        Span span = seq->label((const char *)seq->items + i * seq->stride);
        size_t width = 0;
        for (uint32_t at = span.start; at < span.end; at++)
            width += ((unsigned char)page->source.at[at] & 0xc0) != 0x80;
        if (width > widest) widest = width;
    }
    return widest;
}

static void emit_broken(Page *page, const Seq *seq) {
    bool bracket = *seq->open != '\0';
    size_t indent = page->indent, label = label_width(page, seq);
    page_put(page, seq->open);
    size_t close = indent + (seq->in_step ? INDENT : 0);
    if (bracket && !seq->in_step) page->indent += INDENT;
    else page->indent += bracket || seq->count > 1 ? INDENT_ITEMS : INDENT;
    uint32_t done = bracket ? seq->whole.start + 1 : seq->whole.start;
    for (size_t i = 0; i < seq->count; i++) {
        Span span = item_span(seq, i);
        if (bracket || i) page_break(page, done, span.start);
        page->label = label;
        page->cells = seq->cells;
        emit_item(page, seq, i);
        page->label = 0;
        page->cells = nullptr;
        if (bracket || i + 1 < seq->count) page_put(page, ",");
        done = span.end;
    }
    if (bracket && has_comment_left(page, seq->whole.end)) {
        // Comments after the last item, and those within it that found no place, stand at its
        // indentation.
        uint32_t last = seq->whole.end - 1;
        page_break(page, done, last);
        while (page->buf->at[page->buf->len - 1] == ' ') page->buf->len--;
        page->indent = close;
        text_buf_pad(page->buf, close);
    } else {
        page->indent = close;
        if (bracket) page_break(page, done, seq->whole.end);
    }
    page->indent = indent;
    page_put(page, seq->close);
}

void page_put_seq(Page *page, const Seq *seq) {
    bool broken = seq->keeps_break && seq->count && !page->flat && was_broken(page, seq);
    if (!broken && page_try_flat(page, seq->whole, emit_seq_flat, seq)) return;
    page->cells = nullptr;
    page->label = 0;
    if (seq->count || page_has_comment(page, seq->whole)) emit_broken(page, seq);
    else emit_seq_flat(page, seq);
}
