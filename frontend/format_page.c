// The page that a program is printed on: lines, comments, lists that may break.
#include "frontend/formatter.h"

#include <string.h>

void page_put(Page *page, const char *text) { text_buf_add(page->buf, text_of(text)); }

void page_put_span(Page *page, Span span) {
    text_buf_add(page->buf, (Text){page->source.at + span.start, span.end - span.start});
}

void page_put_name(Page *page, Name name) { page_put_span(page, name.span); }

// Characters on the line that is being written.
static size_t column(const Page *page) {
    size_t count = 0;
    for (size_t i = page->buf->len; i > 0 && page->buf->at[i - 1] != '\n'; i--) {
        count += ((unsigned char)page->buf->at[i - 1] & 0xc0) != 0x80;
    }
    return count;
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

static void put_comment(Page *page) {
    Span span = page->file->comments[page->comment++].span;
    while (span.end > span.start + 1 && strchr(" \t\r", page->source.at[span.end - 1])) span.end--;
    page_put_span(page, span);
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
        if (behind) page_put(page, "  ");
        if (behind) put_comment(page);
    }
    text_buf_char(page->buf, '\n');
    while (page->comment < file->comment_count && file->comments[page->comment].span.start < next) {
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
    page_put(page, seq->open);
    if (seq->padded && seq->count) page_put(page, " ");
    for (size_t i = 0; i < seq->count; i++) {
        if (i) page_put(page, ", ");
        emit_item(page, seq, i);
    }
    if (seq->padded && seq->count) page_put(page, " ");
    page_put(page, seq->close);
}

// Was there a line end directly behind the opening bracket?
static bool was_broken(const Page *page, const Seq *seq) {
    for (uint32_t i = seq->whole.start + 1; i < seq->whole.end; i++) {
        char c = page->source.at[i];
        if (c == '\n') return true;
        if (c != ' ' && c != '\t' && c != '\r') return false;
    }
    return false;
}

static void emit_broken(Page *page, const Seq *seq) {
    bool bracket = *seq->open != '\0';
    size_t indent = page->indent;
    page_put(page, seq->open);
    page->indent += bracket ? INDENT : seq->count > 1 ? INDENT_ITEMS : 0;
    uint32_t done = bracket ? seq->whole.start + 1 : seq->whole.start;
    for (size_t i = 0; i < seq->count; i++) {
        Span span = item_span(seq, i);
        if (bracket || i) page_break(page, done, span.start);
        emit_item(page, seq, i);
        if (bracket || i + 1 < seq->count) page_put(page, ",");
        done = span.end;
    }
    if (bracket && page_has_comment(page, (Span){done, seq->whole.end, seq->whole.file})) {
        // Comments behind the last item stand at its indentation.
        uint32_t last = seq->whole.end - 1;
        page_break(page, done, last);
        while (page->buf->at[page->buf->len - 1] == ' ') page->buf->len--;
        page->indent = indent;
        text_buf_pad(page->buf, indent);
    } else {
        page->indent = indent;
        if (bracket) page_break(page, done, seq->whole.end);
    }
    page->indent = indent;
    page_put(page, seq->close);
}

void page_put_seq(Page *page, const Seq *seq) {
    bool broken = seq->keeps_break && seq->count && !page->flat && was_broken(page, seq);
    if (!broken && page_try_flat(page, seq->whole, emit_seq_flat, seq)) return;
    if (seq->count || page_has_comment(page, seq->whole)) emit_broken(page, seq);
    else emit_seq_flat(page, seq);
}
