// sbc: the table of its commands, and which of them runs.
#include "driver/commands.h"
#include "driver/crash.h"
#include "driver/header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SBC_VERSION "0.1.0"

typedef struct Command {
    const char *name, *operands, *about;
    int       (*run)(const Options *options);
    bool        alone;  // Means something without operands.
} Command;

static const Command commands[] = {
    {"run", "FILE [-- JOB OPTIONS]", "compile, and run", run_command, true},
    {"compile", "FILE [-o JOB]", "compile; the same as FILE -o JOB", compile_command, false},
    {"check", "FILE...", "diagnose only", check_command, false},
    {"fmt", "FILE...", "rewrite in the one true layout; - is standard input to output",
     format_command, false},
    {"test", "FILE...", "run the test blocks", test_command, false},
    {"schema", "FILE...", "infer the type of a data file, to paste", schema_command, false},
    {"header", "FILE...", "print the C prototypes of extern functions", header_command, false},
    {"doc", "[NAME...]", "print what the language has, or what a name means", doc_command, true},
    {"explain", "CODE...", "print the page of a diagnostic", explain_command, false},
};

static void print_usage(FILE *stream) {
    fputs("usage: sbc FILE.sbd -o JOB\n       sbc COMMAND [OPTIONS] ...\n\ncommands:\n", stream);
    for (size_t i = 0; i < countof(commands); i++) {
        int width = (int)(strlen(commands[i].name) + 1 + strlen(commands[i].operands));
        fprintf(stream, "  %s %s%*s  %s\n", commands[i].name, commands[i].operands,
                width < 26 ? 26 - width : 0, "", commands[i].about);
    }
    fputs("\noptions:\n", stream);
    command_line_print(stream);
    fputs("\nexit codes: 0 done, 1 the program or its data is wrong, 2 wrong usage, 3 the machine "
          "failed\n", stream);
}

static bool is_program(const char *word) {
    size_t len = strlen(word);
    return (len > 4 && strcmp(word + len - 4, ".sbd") == 0) || access(word, R_OK) == 0;
}

static int dispatch(Options *options) {
    const char *word = options->files[0];
    Text names[countof(commands)];
    for (size_t i = 0; i < countof(commands); i++) {
        names[i] = text_of(commands[i].name);
        if (strcmp(word, commands[i].name) != 0) continue;
        bool alone = commands[i].alone || options->markdown;
        if (!command_line_fits(options, word)) return EXIT_WRONG_USAGE;
        options->files++;
        if (--options->file_count || alone) return commands[i].run(options);
        complain(options, DIAG_WRONG_USAGE, nullptr, "sbc %s needs operands: sbc %s %s",
                 commands[i].name, commands[i].name, commands[i].operands);
        return EXIT_WRONG_USAGE;
    }
    if (options->output || options->dump != DUMP_NONE || options->explain)
        return command_line_fits(options, "compile") ? compile_command(options) : EXIT_WRONG_USAGE;
    if (is_program(word))
        complain(options, DIAG_WRONG_USAGE,
                 text_c(options->arena, text_format(options->arena, "sbc run %s, or sbc %s -o JOB",
                                                    word, word)),
                 "what shall become of %s?", word);
    else if (strpbrk(word, "/."))
        complain(options, DIAG_UNKNOWN_WORD, "see sbc --help",
                 "there is no file and no command '%s'", word);
    else complain_unknown(options, "command", word, names, countof(commands));
    return EXIT_WRONG_USAGE;
}

static int run(Options *options, int argc, char **argv) {
    if (!command_line_read(options, argc, argv)) return EXIT_WRONG_USAGE;
    if (options->version) return puts("sbc " SBC_VERSION), EXIT_DONE;
    if (options->help) return print_usage(stdout), EXIT_DONE;
    if (options->file_count) return dispatch(options);
    print_usage(stderr);
    return EXIT_WRONG_USAGE;
}

// False: what was printed is lost, which is said.
static bool print_all(const Options *options) {
    bool lost = ferror(stdout), left = fflush(stdout) == 0;
    if (!lost && left) return true;
    const char *why = left ? "its end was not taken" : strerror(errno);
    complain(options, DIAG_OUTPUT_LOST, "free disk space, or print to somewhere else",
             "standard output cannot be written: %s", why);
    return false;
}

int main(int argc, char **argv) {
    crash_report();
    Arena *arena = arena_new();
    Options options = {.arena = arena, .colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR")};
    int status = run(&options, argc, argv);
    if (!print_all(&options) && status == EXIT_DONE) status = EXIT_MACHINE;
    arena_free(arena);
    return status;
}
