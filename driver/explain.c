// sbc explain: the page of a code, of a program's mistakes (SB0...) or of a row's (SB7...).
#include "codegen/reference/value.h"
#include "driver/commands.h"
#include "frontend/diag.h"

#include <string.h>

typedef struct Fault {
    const char *code, *message, *fix;
} Fault;

static const Fault faults[] = {
#define FAULT(name, code, message, fix) {code, message, fix},
#include "runtime/faults.def"
#undef FAULT
};

static bool explain_fault(const char *code) {
    for (size_t i = 0; i < countof(faults); i++) {
        if (strcmp(faults[i].code, code) != 0) continue;
        // {} stands for the offending text.
        const char *hole = strstr(faults[i].message, "{}");
        const char *rest = hole ? hole + 2 : faults[i].message;
        printf("%s: %.*s%s%s\n\n", code, hole ? (int)(hole - faults[i].message) : 0,
               faults[i].message, hole ? "the value" : "", rest);
        printf("A row in which this happens is rejected: it goes to the rejects file, if there is\n"
               "one, with this code, its place and its text, and it counts towards the limit of\n"
               "`rejects ... limit`, which is 0 if nothing is said. The other rows go on.\n\n"
               "fix: %s\n", faults[i].fix);
        return true;
    }
    return false;
}

static bool explain_one(const char *word) {
    DiagCode code;
    if (diag_find(text_of(word), &code)) {
        printf("%s: %s\n\n%s", diag_code(code), diag_title(code), diag_page(code));
        return true;
    }
    if (explain_fault(word)) return true;
    Text codes[DIAG_COUNT + countof(faults)];
    for (uint32_t c = 0; c < DIAG_COUNT; c++) codes[c] = text_of(diag_code((DiagCode)c));
    for (size_t f = 0; f < countof(faults); f++) codes[DIAG_COUNT + f] = text_of(faults[f].code);
    command_line_unknown("code", word, codes, countof(codes));
    return false;
}

// Examples of bad characters hold them: a page shows U+FFFD.
static void print_markdown_line(Text line) {
    TextBuf buf = {0};
    utf8_repair(&buf, line);
    for (size_t i = 0; i < buf.len; i++) {
        if ((unsigned char)buf.at[i] < ' ') fputs("\uFFFD", stdout);
        else putchar(buf.at[i]);
    }
    putchar('\n');
    text_buf_free(&buf);
}

// The examples of a page are indented by four spaces: code, once an empty line is before them.
static void print_markdown_page(const char *page) {
    bool code = false;
    for (const char *line = page; *line;) {
        size_t len = strcspn(line, "\n");
        bool indented = len > 4 && strncmp(line, "    ", 4) == 0;
        if (indented && !code) putchar('\n');
        code = indented;
        print_markdown_line((Text){line, len});
        line += len + (line[len] == '\n');
    }
}

static void print_markdown(void) {
    puts("# Diagnostics\n\nMade by `sbc explain --markdown` from `frontend/diagnostics.def` and "
         "`runtime/faults.def`. The tests compile\neach wrong and each right example.\n\n"
         "## Programs\n");
    for (uint32_t c = 0; c < DIAG_COUNT; c++) {
        printf("### %s: %s\n\n", diag_code((DiagCode)c), diag_title((DiagCode)c));
        print_markdown_page(diag_page((DiagCode)c));
        putchar('\n');
    }
    puts("## Rows\n\nA row in which this happens is rejected, unless the expression says what "
         "else; `{}` is the offending text.\n\n| code | message | fix |\n|---|---|---|");
    for (size_t i = 0; i < countof(faults); i++)
        printf("| %s | %s | %s |\n", faults[i].code, faults[i].message, faults[i].fix);
}

int explain_command(const Options *options) {
    int status = EXIT_DONE;
    if (options->markdown) print_markdown();
    for (size_t i = 0; i < options->file_count; i++)
        if (!explain_one(options->files[i])) status = EXIT_WRONG_USAGE;
    return status;
}
