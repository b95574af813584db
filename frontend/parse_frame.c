// Frames: which rows a call in `window` looks at.
#include "frontend/parser.h"

static const char frame_forms[] = "write `rows 6 back`, `range 1h back 1h ahead`, `rows all back` "
                                  "up to this row, or `rows all`";

// SQL's `between`, `unbounded preceding` and `current row`.
static bool blame_foreign_frame(Parser *p) {
    static const char *const words[] = {"between", "unbounded", "current"};
    for (size_t i = 0; i < countof(words); i++) {
        if (!parser_at(p, TOKEN_WORD)) return false;
        if (!parser_word_is(p, parser_token(p, 0), words[i])) continue;
        Diag *d = parser_error(p, DIAG_FRAME_FORM, parser_span(p, parser_token(p, 0)),
                               "a frame says how far it goes back and ahead");
        diag_fix(p->in.diags, d, "%s", frame_forms);
        return true;
    }
    return false;
}

// One end of a frame: an operand, then `back` or `ahead`.
static bool parse_reach(Parser *p, AstFrame *frame) {
    AstExpr *reach = parse_operand(p);
    bool back = !p->panic && parser_skip_word(p, "back");
    if (!back && (p->panic || !parser_skip_word(p, "ahead"))) {
        if (p->panic) return false;
        Diag *d = parser_unexpected(p, DIAG_FRAME_FORM, "`back` or `ahead` after the distance");
        diag_fix(p->in.diags, d, "%s", frame_forms);
        return false;
    }
    AstExpr **end = back ? &frame->back : &frame->ahead;
    if (*end) {
        Diag *d = parser_slip(p, DIAG_FRAME_FORM, reach->span, "`%s` stands twice",
                              back ? "back" : "ahead");
        diag_fix(p->in.diags, d, "one of them goes back, the other one ahead");
    }
    *end = reach;
    return true;
}

// frame = ("rows" | "range") ("all" ["back"] | reach [reach]),  reach = operand ("back" | "ahead")
AstFrame *parse_frame(Parser *p) {
    bool range = parser_at_word(p, "range");
    if (!range && !parser_at_word(p, "rows")) return nullptr;
    bool clear = parser_ahead(p, 1, TOKEN_NUMBER) || parser_ahead_word(p, 1, "all");
    if (!p->windows && !clear) return nullptr;
    AstFrame *frame = arena_new_of(p->in.arena, AstFrame);
    frame->range = range;
    frame->span = parser_span(p, parser_take(p));
    if (blame_foreign_frame(p)) return frame;
    if (parser_skip_word(p, "all")) {
        frame->all = true;
        frame->to_here = parser_skip_word(p, "back");
    } else if (parse_reach(p, frame)) {
        bool more = parser_begins_operand(p, 0) && !parser_at(p, TOKEN_MINUS) &&
                    !parser_at_line_end(p);
        if (more) parse_reach(p, frame);
    }
    frame->span = parser_since(p, frame->span);
    if (!p->windows) {
        Diag *d = parser_slip(p, DIAG_FRAME_FORM, frame->span, "only `window` has frames");
        diag_fix(p->in.diags, d, "write | window by K sort S { NAME = ... }");
        parser_lose(p);
    }
    return frame;
}
