// sbc doc: the standard library as its declarations describe it, and the steps.
#include "driver/commands.h"
#include "driver/doc_topics.h"
#include "driver/session.h"
#include "frontend/foreign.h"
#include "frontend/lambdas.h"
#include "frontend/steps.h"
#include "frontend/tensors.h"

#include <string.h>

// What the language itself knows: the place of a row, and types that are called like functions.
typedef struct BuiltIn {
    const char *names;  // Each between spaces.
    const char *signature, *doc;
    bool        fallible;
} BuiltIn;

static const BuiltIn built_ins[] = {
    {" source ", "source() -> str", "The path of the file that the row was read from.", false},
    {" line ", "line() -> i64", "The line on which the row begins, from 1.", false},
    {" offset ", "offset() -> i64",
     "The byte at which the row begins, from 0, of what a compressed file holds.", false},
    {" bool ", "bool(x: str) -> bool", "Reads true or false.", true},
    {" i8 i16 i32 i64 u8 u16 u32 u64 ", "TYPE(x) -> TYPE",
     "A number, bool, text or duration (its microseconds) as an integer; what does not fit exactly "
     "is a fault.", true},
    {" f16 bf16 f32 f64 ", "TYPE(x) -> TYPE", "A number, bool or text as a float.", true},
    {" decimal ", "decimal(x, p, s) -> decimal(p, s)",
     "A number or text as a decimal of p digits, s of them after the point.", true},
    {" str ", "str(x) -> str", "The text of a value, as text sinks write it.", false},
    {" bytes ", "bytes(x: str) -> bytes", "The UTF-8 bytes of a text.", false},
    {" date timestamp timestamp_s timestamp_ms timestamp_us timestamp_ns ", "TYPE(x) -> TYPE",
     "An ISO 8601 text, a date or a timestamp as this type; one that is written out is checked "
     "when the program is compiled.", true},
    {" duration ", "duration(x) -> duration",
     "A text such as 90s, or an integer of microseconds, as a duration.", true},
    {" json ", "json(x) -> json", "A value as JSON; a text has to be some.", true},
};

static bool print_built_ins(TextBuf *buf, const char *word) {
    char padded[32];
    bool found = false;
    size_t len = (size_t)snprintf(padded, sizeof padded, " %s ", word);
    for (size_t i = 0; i < countof(built_ins) && len < sizeof padded; i++) {
        const BuiltIn *what = &built_ins[i];
        if (!strstr(what->names, padded)) continue;
        const char *form = strstr(what->signature, "TYPE");
        text_buf_add(buf, TEXT("fn "));
        if (form) text_buf_format(buf, "%s(x) -> %s", word, word);
        else text_buf_add(buf, text_of(what->signature));
        text_buf_format(buf, "\n    %s\n", what->doc);
        if (what->fallible) text_buf_add(buf, TEXT("    It can fail: `else` says what then.\n"));
        found = true;
    }
    return found;
}

static void print_function(TextBuf *buf, const Decl *decl) {
    text_buf_format(buf, "%s%.*s\n", decl->aggregate ? "agg " : "fn ", TEXT_ARG(decl->signature));
    text_buf_format(buf, "    %.*s\n", TEXT_ARG(decl->doc));
    if (decl->fn.domain.len) text_buf_format(buf, "    %.*s.\n", TEXT_ARG(decl->fn.domain));
    bool fallible = decl->aggregate ? decl->agg.traits & AGG_FALLIBLE
                                    : decl->fn.traits & FN_FALLIBLE;
    if (fallible)
        text_buf_add(buf, decl->aggregate ? TEXT("    It can fail; that fails the job.\n")
                                          : TEXT("    It can fail: `else` says what then.\n"));
    for (uint32_t i = 0; i < decl->example_count; i++)
        text_buf_format(buf, "    %s%.*s\n", i ? "           " : "for example ",
                        TEXT_ARG(decl->examples[i]));
}

static void print_group(TextBuf *buf, const DeclTable *table, Text group) {
    enum { SIGNATURE_COLUMNS = 46 };
    text_buf_format(buf, "%.*s\n", TEXT_ARG(group));
    for (size_t i = 0; i < table->count; i++) {
        const Decl *decl = &table->items[i];
        if (!text_eq(decl->group, group)) continue;
        Text line = doc_summary(decl->doc);
        text_buf_format(buf, "  %.*s", TEXT_ARG(decl->signature));
        if (decl->signature.len < SIGNATURE_COLUMNS)
            text_buf_pad(buf, SIGNATURE_COLUMNS - decl->signature.len);
        text_buf_format(buf, "  %.*s\n", TEXT_ARG(line));
    }
}

static void print_markdown_row(TextBuf *buf, const Decl *decl) {
    text_buf_add(buf, TEXT("| `"));
    doc_cell(buf, decl->signature);
    text_buf_add(buf, TEXT("` | "));
    doc_cell(buf, decl->doc);
    if (decl->fn.domain.len) text_buf_format(buf, " %.*s.", TEXT_ARG(decl->fn.domain));
    text_buf_add(buf, TEXT(" | "));
    for (uint32_t i = 0; i < decl->example_count; i++) {
        text_buf_add(buf, i ? TEXT("<br>`` ") : TEXT("`` "));
        doc_cell(buf, decl->examples[i]);
        text_buf_add(buf, TEXT(" ``"));
    }
    text_buf_add(buf, TEXT(" |\n"));
}

static void print_markdown_group(TextBuf *buf, const DeclTable *table, Text group) {
    text_buf_format(buf, "## %.*s\n\n| function | result | examples |\n|---|---|---|\n",
                    TEXT_ARG(group));
    for (size_t i = 0; i < table->count; i++)
        if (text_eq(table->items[i].group, group)) print_markdown_row(buf, &table->items[i]);
}

// ---- steps --------------------------------------------------------------------------------------

static bool print_step(TextBuf *buf, const char *word) {
    for (size_t i = 0; i < STEP_COUNT; i++) {
        const StepDoc *step = &step_docs[i];
        if (strcmp(step->word, word) != 0) continue;
        for (const char *at = step->forms; *at;) {
            Text form = doc_line(&at);
            text_buf_format(buf, "| %.*s\n", TEXT_ARG(form));
        }
        text_buf_format(buf, "    %s\n    for example %s\n", step->doc, step->example);
        return true;
    }
    return false;
}

static void print_step_line(TextBuf *buf, const StepDoc *step) {
    enum { FORM_COLUMNS = 52 };
    const char *at = step->forms;
    Text form = doc_line(&at), line = doc_summary(text_of(step->doc));
    text_buf_format(buf, "  | %.*s", TEXT_ARG(form));
    if (form.len < FORM_COLUMNS) text_buf_pad(buf, FORM_COLUMNS - form.len);
    text_buf_format(buf, "  %.*s\n", TEXT_ARG(line));
}

static void print_steps(TextBuf *buf) {
    text_buf_add(buf, TEXT("Steps\n"));
    for (size_t i = 0; i < STEP_COUNT; i++) print_step_line(buf, &step_docs[i]);
}

static void print_steps_about(TextBuf *buf, const char *word) {
    for (size_t i = 0; i < STEP_COUNT; i++) {
        bool about = doc_mentions(text_of(step_docs[i].doc), word) ||
                     doc_mentions(text_of(step_docs[i].forms), word);
        if (about) print_step_line(buf, &step_docs[i]);
    }
}

static void print_markdown_steps(TextBuf *buf) {
    text_buf_add(buf, TEXT("\n## Steps\n\n| step | what it does | example |\n|---|---|---|\n"));
    for (size_t i = 0; i < STEP_COUNT; i++) {
        text_buf_add(buf, TEXT("| "));
        for (const char *at = step_docs[i].forms; *at;) {
            if (at != step_docs[i].forms) text_buf_add(buf, TEXT("<br>"));
            text_buf_char(buf, '`');
            doc_cell(buf, doc_line(&at));
            text_buf_char(buf, '`');
        }
        text_buf_format(buf, " | %s | `` ", step_docs[i].doc);
        doc_cell(buf, text_of(step_docs[i].example));
        text_buf_add(buf, TEXT(" `` |\n"));
    }
}

// ---- what is asked for --------------------------------------------------------------------------

// The functions whose types the checker finds, of lambdas and of whole tensors, as declarations:
// what is printed of them.
static const DeclTable *checked_table(Arena *arena) {
    DeclTable *table = arena_new_of(arena, DeclTable);
    for (size_t i = 0; i < LAMBDA_FN_COUNT; i++) {
        const LambdaFn *fn = &lambda_functions[i];
        Text *example = arena_new_of(arena, Text);
        *example = text_of(fn->example);
        Decl decl = {.name = text_of(fn->name), .signature = text_of(fn->signature),
                     .doc = text_of(fn->doc), .group = TEXT("Lambdas"), .examples = example,
                     .example_count = 1};
        arena_push(arena, table->items, table->count, table->cap, decl);
    }
    for (size_t i = 0; i < TENSOR_FN_COUNT; i++) {
        const TensorFn *fn = &tensor_functions[i];
        Text *example = arena_new_of(arena, Text);
        *example = text_of(fn->example);
        Decl decl = {.name = text_of(fn->name), .signature = text_of(fn->signature),
                     .doc = text_of(fn->doc), .group = TEXT("Tensors"), .examples = example,
                     .example_count = 1, .fn.traits = fn->fallible ? FN_FALLIBLE : 0};
        arena_push(arena, table->items, table->count, table->cap, decl);
    }
    return table;
}

// Each group once, in the order of the declarations.
static void print_all(TextBuf *buf, const DeclTable *table,
                      void (*print)(TextBuf *, const DeclTable *, Text group)) {
    for (size_t i = 0; i < table->count; i++) {
        bool known = false;
        for (size_t j = 0; j < i; j++)
            known |= text_eq(table->items[j].group, table->items[i].group);
        if (known) continue;
        if (buf->len) text_buf_char(buf, '\n');
        print(buf, table, table->items[i].group);
    }
}

static void print_markdown(TextBuf *buf, const DeclTable *table, const DeclTable *checked) {
    text_buf_add(buf, TEXT("# Functions and steps\n\nMade by `sbc doc --markdown` from "
                           "`stdlib/functions.decl`, `frontend/lambdas.def`, "
                           "`frontend/tensors.def`, `frontend/steps.def`, "
                           "`frontend/topics.def` and `frontend/options.def`. The tests run the "
                           "examples; each of a function is true.\n"));
    print_markdown_steps(buf);
    print_markdown_topics(buf);
    print_all(buf, table, print_markdown_group);
    print_all(buf, checked, print_markdown_group);
}

// All functions of that name, or the group. False: there is none.
static bool print_found(TextBuf *buf, const DeclTable *table, const char *word, bool first) {
    size_t count = 0;
    const Decl *decl = declare_find(table, text_of(word), &count);
    for (size_t i = 0; i < count; i++) {
        if (!first) text_buf_char(buf, '\n');
        print_function(buf, &decl[i]);
        first = false;
    }
    for (size_t i = 0; !count && i < table->count; i++) {
        if (!doc_same_word(table->items[i].group, text_of(word))) continue;
        if (!first) text_buf_char(buf, '\n');
        print_group(buf, table, table->items[i].group);
        return true;
    }
    return count > 0;
}

// What a word of another tool is called here.
static bool print_foreign(TextBuf *buf, const Options *options, const char *word) {
    Text answer = foreign_function(options->arena, text_of(word));
    if (!answer.len) return false;
    text_buf_format(buf, "%s, in other tools\n    %.*s\n", word, TEXT_ARG(answer));
    return true;
}

static void print_functions_about(TextBuf *buf, const DeclTable *table, const char *word) {
    for (size_t i = 0; i < table->count; i++) {
        const Decl *decl = &table->items[i];
        if (!doc_mentions(decl->doc, word)) continue;
        text_buf_format(buf, "  %.*s  %.*s\n", TEXT_ARG(decl->signature),
                        TEXT_ARG(doc_summary(decl->doc)));
    }
}

// A line for all of which the text has the word, where nothing has the name.
static bool print_about(TextBuf *buf, const DeclTable *table, const DeclTable *checked,
                        const char *word) {
    enum { LEN_MIN = 3 };
    if (strlen(word) < LEN_MIN) return false;
    size_t before = buf->len;
    text_buf_format(buf, "No name is '%s'. Where the word stands:\n", word);
    size_t begin = buf->len;
    print_steps_about(buf, word);
    print_topics_about(buf, word);
    print_functions_about(buf, table, word);
    print_functions_about(buf, checked, word);
    if (buf->len > begin) return true;
    buf->len = before;
    return false;
}

static void blame_word(const Options *options, const DeclTable *table, const char *word) {
    Text *names = arena_new_array(options->arena, Text, 2 * table->count + TENSOR_FN_COUNT +
                                  LAMBDA_FN_COUNT + STEP_COUNT + topic_names(nullptr) + 3);
    for (size_t i = 0; i < table->count; i++) {
        names[2 * i] = table->items[i].name;
        names[2 * i + 1] = table->items[i].group;
    }
    size_t count = 2 * table->count;
    names[count++] = TEXT("Tensors");
    names[count++] = TEXT("Lambdas");
    names[count++] = TEXT("Steps");
    for (size_t i = 0; i < STEP_COUNT; i++) names[count++] = text_of(step_docs[i].word);
    count += lambda_function_names(names + count);
    count += tensor_function_names(names + count);
    count += topic_names(names + count);
    complain_unknown(options, "function, step or topic", word, names, count);
}

static bool print_one(TextBuf *buf, const Options *options, const DeclTable *table,
                      const char *word) {
    const DeclTable *checked = checked_table(options->arena);
    size_t before = buf->len;
    if (before) text_buf_char(buf, '\n');
    size_t begin = buf->len;
    bool found = print_built_ins(buf, word);
    found |= print_step(buf, word);
    if (doc_same_word(TEXT("Steps"), text_of(word))) print_steps(buf), found = true;
    if (found) text_buf_char(buf, '\n');
    // A step, a topic and a function may have one name.
    bool topic = print_topics(buf, word);
    if (found && !topic) buf->len--;
    found |= topic;
    found |= print_found(buf, table, word, buf->len == begin);
    found |= print_found(buf, checked, word, buf->len == begin);
    found = found || print_foreign(buf, options, word) || print_about(buf, table, checked, word);
    if (found) return true;
    buf->len = before;
    blame_word(options, table, word);
    return false;
}

int doc_command(const Options *options) {
    Session s = session_new(options);
    const DeclTable *table = declare_stdlib(s.arena, s.types, s.diags);
    TextBuf buf = {0};
    int status = EXIT_DONE;
    if (options->markdown) print_markdown(&buf, table, checked_table(s.arena));
    else if (!options->file_count) {
        print_steps(&buf);
        print_all_topics(&buf);
        print_all(&buf, table, print_group);
        print_all(&buf, checked_table(s.arena), print_group);
    }
    for (size_t i = 0; i < options->file_count; i++)
        if (!print_one(&buf, options, table, options->files[i])) status = EXIT_WRONG_USAGE;
    put(stdout, &buf);
    return status;
}
