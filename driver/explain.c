// sbc explain: the page of a code, of a program's mistakes (SB0...), of a row's (SB7...) or of what
// ends a job (SB8...).
#include "codegen/reference/value.h"
#include "driver/commands.h"
#include "frontend/diag.h"
#include "runtime/abi.h"

#include <string.h>

typedef struct Fault {
    const char *code, *message, *fix, *computed_fix;
} Fault;

static const Fault faults[] = {
#define FAULT(name, ...) {__VA_ARGS__},
#include "runtime/abi/faults.def"
#undef FAULT
};

static const char rejects_row[] =
    "A row in which this happens is rejected: it goes to the rejects file, if there is\n"
    "one, with this code, its place and its text, and it counts towards the limit of\n"
    "`rejects ... limit`, which is 0 if nothing is said. The other rows go on.\n";

// Of no row but of the flows: no row can be left out.
static const char ends_job[] =
    "It is no fault of a single row: the job ends with exit code 1, whatever limit\n"
    "`rejects` has, and no output appears under its name.\n";

static bool explain_fault(const char *code) {
    for (size_t i = 0; i < countof(faults); i++) {
        if (strcmp(faults[i].code, code) != 0) continue;
        // {} stands for the offending text; `: {}` at the end for words of the function.
        const char *message = faults[i].message, *hole = strstr(message, "{}");
        const char *rest = hole ? hole + 2 : message;
        bool words = hole && !*rest && hole - message > 2 && hole[-2] == ':';
        printf("%s: %.*s%s%s\n\n", code, hole ? (int)(hole - message) - 2 * words : 0, message,
               hole && !words ? "the value" : "", rest);
        printf("%s\nfix: %s\n", i == SB_FAULT_ZIP_LENGTH - SB_FAULT_FIRST ? ends_job : rejects_row,
               faults[i].fix);
        if (faults[i].computed_fix[0])
            printf("fix of a value that is computed: %s\n", faults[i].computed_fix);
        return true;
    }
    return false;
}

typedef struct JobEnd {
    const char *code;
    int         exit_code;
    const char *title, *fix;
} JobEnd;

static const JobEnd job_ends[] = {
#define TROUBLE(name, code, exit, title, fix) {code, exit, title, fix},
#include "runtime/report/troubles.def"
#undef TROUBLE
};

static const char *exit_reason(int exit_code) {
    switch (exit_code) {
    case 1: return "The job ends with exit code 1: the program or its data is wrong.";
    case 2: return "The job ends with exit code 2: it was not used as it should be.";
    case 3: return "The job ends with exit code 3: the machine lacks something.";
    case 130: return "The job ends with exit code 130.";
    case 0: return "It is a warning: the job goes on.";
    default:
        return "The signal that the message names ends the job; a shell shows 128 and its number:\n"
               "139 for SIGSEGV, 134 for SIGABRT. The message shows the line of the pipeline, its\n"
               "step and the functions that were called from there. A temporary file, whose name\n"
               "begins with a dot, may stay beside an output.";
    }
}

static bool explain_job_end(const char *code) {
    for (size_t i = 0; i < countof(job_ends); i++) {
        const JobEnd *end = &job_ends[i];
        if (strcmp(end->code, code) != 0) continue;
        printf("%s: %s\n\n%s\n%s\nfix: %s\n", code, end->title, exit_reason(end->exit_code),
               end->exit_code ? "No output appears under its name.\n" : "", end->fix);
        return true;
    }
    return false;
}

// sb0501 is SB0501.
static const char *in_capitals(Arena *arena, const char *word) {
    TextBuf buf = {0};
    for (; *word; word++)
        text_buf_char(&buf, *word >= 'a' && *word <= 'z' ? (char)(*word - 'a' + 'A') : *word);
    return text_c(arena, text_buf_take(&buf, arena));
}

static bool explain_one(const Options *options, const char *given) {
    DiagCode code;
    const char *word = in_capitals(options->arena, given);
    if (diag_find(text_of(word), &code)) {
        printf("%s: %s\n\n%s", diag_code(code), diag_title(code), diag_page(code));
        return true;
    }
    if (explain_fault(word) || explain_job_end(word)) return true;
    Text codes[DIAG_COUNT + countof(faults) + countof(job_ends)];
    for (uint32_t c = 0; c < DIAG_COUNT; c++) codes[c] = text_of(diag_code((DiagCode)c));
    for (size_t f = 0; f < countof(faults); f++) codes[DIAG_COUNT + f] = text_of(faults[f].code);
    for (size_t i = 0; i < countof(job_ends); i++)
        codes[DIAG_COUNT + countof(faults) + i] = text_of(job_ends[i].code);
    complain_unknown(options, "code", given, codes, countof(codes));
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
    puts("# Diagnostics\n\nMade by `sbc explain --markdown` from `frontend/diagnostics.def`, "
         "`runtime/abi/faults.def` and\n`runtime/report/troubles.def`. The tests compile each "
         "wrong and each right example.\n\n"
         "## Programs\n");
    for (uint32_t c = 0; c < DIAG_COUNT; c++) {
        printf("### %s: %s\n\n", diag_code((DiagCode)c), diag_title((DiagCode)c));
        print_markdown_page(diag_page((DiagCode)c));
        putchar('\n');
    }
    puts("## Rows\n\nA row in which this happens is rejected, unless the expression says what "
         "else; `{}` is the offending text.\n\n| code | message | fix |\n|---|---|---|");
    for (size_t i = 0; i < countof(faults); i++)
        printf("| %s | %s | %s%s%s |\n", faults[i].code, faults[i].message, faults[i].fix,
               faults[i].computed_fix[0] ? "; of a computed value: " : "", faults[i].computed_fix);
    puts("\n## Jobs\n\nWhat ends a job early, and of what it warns. 128: by a signal, which a "
         "shell shows as 128 and its\nnumber; 0: a warning, the job goes on.\n\n"
         "| code | exit | what | fix |\n|---|---|---|---|");
    for (size_t i = 0; i < countof(job_ends); i++)
        printf("| %s | %d | %s | %s |\n", job_ends[i].code, job_ends[i].exit_code,
               job_ends[i].title, job_ends[i].fix);
}

int explain_command(const Options *options) {
    int status = EXIT_DONE;
    if (options->markdown) print_markdown();
    for (size_t i = 0; i < options->file_count; i++)
        if (!explain_one(options, options->files[i])) status = EXIT_WRONG_USAGE;
    return status;
}
