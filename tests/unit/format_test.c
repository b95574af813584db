// The formatter's promises over every program in tests/syntax: formatting twice changes nothing
// more, the tree stays the same, no comment is lost.
#include "frontend/ast_print.h"
#include "frontend/format.h"
#include "frontend/parse.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdlib.h>

typedef struct Formatted {
    uint32_t errors;
    size_t   comments;
    Text     tree, text;
} Formatted;

static Formatted format_text(Arena *arena, Text text) {
    SourceSet *sources = source_set_new(arena);
    Diags *diags = diags_new(arena, sources);
    AstFile *file = parse_file(arena, sources, source_add(sources, TEXT("x.sbd"), text), diags);
    Formatted result = {.errors = diags->errors, .comments = file->comment_count};
    TextBuf buf = {0};
    ast_print(&buf, file);
    result.tree = text_buf_take(&buf, arena);
    if (!diags->errors) format_file(&buf, sources, file);
    else diags_print(&buf, diags, false);
    result.text = text_buf_take(&buf, arena);
    return result;
}

static size_t widest_line(Text text) {
    size_t widest = 0, width = 0;
    for (size_t i = 0; i < text.len; i++) {
        width = text.at[i] == '\n' ? 0 : width + (((unsigned char)text.at[i] & 0xc0) != 0x80);
        if (width > widest) widest = width;
    }
    return widest;
}

static void check_file(Arena *arena, const char *path) {
    SourceSet *sources = source_set_new(arena);
    uint32_t file;
    bool loaded = source_load(sources, text_of(path), &file);
    CHECK_SAYS(loaded, "%s", path);
    if (!loaded) return;
    Formatted once = format_text(arena, sources->files[file].text);
    CHECK_SAYS(once.errors == 0, "%s:\n%.*s", path, TEXT_ARG(once.text));
    if (once.errors) return;
    Formatted twice = format_text(arena, once.text);
    CHECK_SAYS(twice.errors == 0, "%s: the formatted text has mistakes", path);
    CHECK_SAYS(text_eq(once.text, twice.text), "%s:\n%.*s\n--- again\n%.*s", path,
               TEXT_ARG(once.text), TEXT_ARG(twice.text));
    CHECK_SAYS(text_eq(once.tree, twice.tree), "%s: the tree changed", path);
    CHECK_SAYS(once.comments == twice.comments, "%s: %zu comments of %zu", path, twice.comments,
               once.comments);
    bool narrow = strstr(path, "wide") || widest_line(once.text) <= 100;
    CHECK_SAYS(narrow, "%s: %zu columns", path, widest_line(once.text));
}

static int is_program(const struct dirent *entry) {
    return strstr(entry->d_name, ".sbd") != nullptr;
}

static void formatting_is_stable_and_faithful(void) {
    Arena *arena = arena_new();
    struct dirent **entries;
    int count = scandir("tests/syntax", &entries, is_program, alphasort);
    CHECK_SAYS(count > 0, "no program in tests/syntax; run it in the repository's root");
    for (int i = 0; i < count; i++) {
        check_file(arena, text_c(arena, text_format(arena, "tests/syntax/%s", entries[i]->d_name)));
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    arena_free(arena);
}

static void check_layout(const char *written, const char *want) {
    Arena *arena = arena_new();
    Formatted got = format_text(arena, text_of(written));
    CHECK_SAYS(text_is(got.text, want), "got\n%.*s\nwant\n%s", TEXT_ARG(got.text), want);
    arena_free(arena);
}

static void layouts_are_as_documented(void) {
    check_layout("", "");
    check_layout("# only a comment", "# only a comment\n");
    check_layout("a|write csv( out )", "a | write csv(out)\n");
    check_layout("let b=a|where x>1 and(y<2)", "let b = a\n| where x > 1 and (y < 2)\n");
    check_layout("a|group by k{n=count() where x>0}|write csv(\"-\")",
                 "a\n| group by k { n = count() where x > 0 }\n| write csv(\"-\")\n");
    check_layout("type T={a:i64,  b:[str?]?}\n\n\n\nparam n:i64=1_000 # rows\n",
                 "type T = {a: i64, b: [str?]?}\n\nparam n: i64 = 1_000  # rows\n");
    check_layout("a|on gpu with(batch=2){derive x=1\nwhere x>0|drop y}|write csv(o)",
                 "a\n| on gpu with (batch = 2) {\n    derive x = 1\n    where x > 0\n"
                 "    drop y\n  }\n| write csv(o)\n");
    check_layout("a|select b,# first\nc# second\n|write csv(o)",
                 "a\n| select b,  # first\n    c        # second\n| write csv(o)\n");
    check_layout("param in:str=\"a\" # x\nparam o:i64=1  # y\n\nparam far_away:i64=1",
                 "param in: str = \"a\"  # x\nparam o:  i64 = 1    # y\n\n"
                 "param far_away: i64 = 1\n");
    check_layout("type T={\na:i64, # x\nlong:{b:str,\nccc:str}?}",
                 "type T = {\n  a:    i64,  # x\n  long: {b: str, ccc: str}?,\n}\n");
    check_layout("[\n{a:1,b:\"é\"},{a:200,b:\"x\"}]|where a>1|write csv(o)",
                 "[\n  { a: 1,   b: \"é\" },\n  { a: 200, b: \"x\" },\n]\n| where a > 1\n"
                 "| write csv(o)\n");
    check_layout("a|group by k{\nn=count(),m=sum(x)}|write csv(o)",
                 "a\n| group by k {\n    n = count(),\n    m = sum(x),\n  }\n| write csv(o)\n");
}

static const UnitTest tests[] = {
    {"formatting_is_stable_and_faithful", formatting_is_stable_and_faithful},
    {"layouts_are_as_documented", layouts_are_as_documented},
};

UNIT_MAIN("format", tests)
