// Prints diagnostics as JSON lines for editors, one object a diagnostic.
//
//     {"code":"SB0130","severity":"error","message":"...","labels":[{"file":"a.sbd","start":
//      {"line":1,"column":9,"offset":8},"end":{...},"text":"...","primary":true}],
//      "notes":["..."],"fix":"..."}
//
// Lines and columns count from 1, columns in characters; offsets are bytes from 0.
#include "frontend/diag.h"

// Sources may hold wrong UTF-8 and messages may quote it: such bytes become U+FFFD.
static size_t character_length(Text text, size_t at) {
    unsigned char c = (unsigned char)text.at[at];
    size_t len = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3
               : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (!len || text.len - at < len) return 0;
    for (size_t i = 1; i < len; i++) if (((unsigned char)text.at[at + i] & 0xc0) != 0x80) return 0;
    unsigned char next = len > 1 ? (unsigned char)text.at[at + 1] : 0;
    bool overlong = (c == 0xe0 && next < 0xa0) || (c == 0xf0 && next < 0x90);
    bool outside = (c == 0xed && next > 0x9f) || (c == 0xf4 && next > 0x8f);
    return overlong || outside ? 0 : len;
}

static void add_string(TextBuf *buf, Text text) {
    text_buf_char(buf, '"');
    for (size_t i = 0, len; i < text.len; i += len) {
        unsigned char c = (unsigned char)text.at[i];
        len = character_length(text, i);
        if (!len) {
            text_buf_add(buf, TEXT("\uFFFD"));
            len = 1;
        } else if (c == '"' || c == '\\') {
            text_buf_format(buf, "\\%c", c);
        } else if (c < 0x20) {
            text_buf_format(buf, "\\u%04x", c);
        } else {
            text_buf_add(buf, (Text){text.at + i, len});
        }
    }
    text_buf_char(buf, '"');
}

static void add_position(TextBuf *buf, const Diags *diags, Span span, uint32_t offset) {
    Position at = source_position(diags->sources, span.file, offset);
    text_buf_format(buf, "{\"line\":%u,\"column\":%u,\"offset\":%u}", at.line, at.column, offset);
}

static void add_label(TextBuf *buf, const Diags *diags, const Label *label, bool primary) {
    text_buf_add(buf, TEXT("{\"file\":"));
    add_string(buf, diags->sources->files[label->span.file].path);
    text_buf_add(buf, TEXT(",\"start\":"));
    add_position(buf, diags, label->span, label->span.start);
    text_buf_add(buf, TEXT(",\"end\":"));
    add_position(buf, diags, label->span, label->span.end);
    text_buf_add(buf, TEXT(",\"text\":"));
    add_string(buf, label->text);
    text_buf_format(buf, ",\"primary\":%s}", primary ? "true" : "false");
}

static void add_diag(TextBuf *buf, const Diags *diags, const Diag *diag) {
    static const char *const severities[] = {"error", "warning", "note"};
    text_buf_format(buf, "{\"code\":\"%s\",\"severity\":\"%s\",\"message\":", diag_code(diag->code),
                    severities[diag_severity(diag->code)]);
    add_string(buf, diag->message);
    text_buf_add(buf, TEXT(",\"labels\":["));
    bool first = true;
    for (uint32_t i = 0; i < diag->label_count; i++) {
        if (diag->labels[i].span.file == SPAN_NONE) continue;
        if (!first) text_buf_char(buf, ',');
        first = false;
        add_label(buf, diags, &diag->labels[i], i == 0);
    }
    text_buf_add(buf, TEXT("],\"notes\":["));
    for (uint32_t i = 0; i < diag->note_count; i++) {
        if (i) text_buf_char(buf, ',');
        add_string(buf, diag->notes[i]);
    }
    text_buf_add(buf, TEXT("]"));
    if (diag->fix.len) {
        text_buf_add(buf, TEXT(",\"fix\":"));
        add_string(buf, diag->fix);
    }
    text_buf_add(buf, TEXT("}\n"));
}

void diags_print_json(TextBuf *buf, const Diags *diags) {
    Diag **sorted = diags_by_place(diags);
    for (size_t i = 0; i < diags->count; i++) add_diag(buf, diags, sorted[i]);
}
