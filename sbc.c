// sbc: the driver. It is the only file that knows every phase.
#include "codegen/build/build.h"
#include "codegen/reference/reference.h"
#include "frontend/ast_print.h"
#include "frontend/check.h"
#include "frontend/declare.h"
#include "frontend/format.h"
#include "frontend/parse.h"
#include "ir/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SBC_VERSION "0.1.0"

// What the process ends with; LANGUAGE.md, Commands.
enum { EXIT_DONE = 0, EXIT_WRONG_PROGRAM = 1, EXIT_WRONG_USAGE = 2 };

typedef enum DumpKind { DUMP_NONE, DUMP_AST, DUMP_IR, DUMP_PLAN, DUMP_LLVM, DUMP_ASM } DumpKind;

typedef struct Options {
    Arena      *arena;
    const char **files;       // What is no flag; for `explain` the codes.
    size_t      file_count, file_cap;
    bool        json, colour, check_only, help, version;
    DumpKind    dump;
    const char *output;       // -o
    const char *after;        // --after=PASS
    const char *const *job_args;  // Behind `--`, for `run`.
    size_t      job_arg_count;
    bool        no_fuse, reference, explain;
} Options;

typedef struct Command {
    const char *name, *operands, *about;
    int       (*run)(const Options *options);
} Command;

// A program while the phases work on it.
typedef struct Session {
    const Options *options;
    SourceSet     *sources;
    Diags         *diags;
} Session;

static Session session_new(const Options *options) {
    SourceSet *sources = source_set_new(options->arena);
    return (Session){options, sources, diags_new(options->arena, sources)};
}

static void put(FILE *stream, TextBuf *buf) {
    fwrite(buf->at, 1, buf->len, stream);
    text_buf_free(buf);
}

// Loads a text; what hinders is a diagnostic.
static bool load(Session *s, const char *path, uint32_t *file) {
    if (source_load(s->sources, text_of(path), file)) return true;
    Span nowhere = {0, 0, SPAN_NONE};
    const char *why = errno == EFBIG ? "it is bigger than 16 MiB" : strerror(errno);
    Diag *d = diag_add(s->diags, DIAG_FILE_UNREADABLE, nowhere, "%s cannot be read: %s", path, why);
    diag_fix(s->diags, d, "check the path and its permissions");
    return false;
}

// Prints what was found and turns it into an exit code.
static int report(const Session *s) {
    TextBuf buf = {0};
    if (s->options->json) diags_print_json(&buf, s->diags);
    else diags_print(&buf, s->diags, s->options->colour);
    if (!s->options->json && s->diags->errors) {
        text_buf_format(&buf, "\n%u error%s\n", s->diags->errors, s->diags->errors == 1 ? "" : "s");
    }
    put(stderr, &buf);
    return s->diags->errors ? EXIT_WRONG_PROGRAM : EXIT_DONE;
}

static int worse(int a, int b) { return a > b ? a : b; }

// ---- commands ----------------------------------------------------------------------------------

static int dump_one(const Options *options, const char *path) {
    Session s = session_new(options);
    uint32_t file;
    if (load(&s, path, &file)) {
        TextBuf buf = {0};
        ast_print(&buf, parse_file(options->arena, s.sources, file, s.diags));
        put(stdout, &buf);
    }
    return report(&s);
}

static int check_one(const Options *options, const char *path) {
    if (options->dump == DUMP_AST) return dump_one(options, path);
    Session s = session_new(options);
    uint32_t file;
    if (load(&s, path, &file)) {
        TypeTable *types = type_table_new(options->arena);
        CheckInput input = {.arena = options->arena, .types = types, .sources = s.sources,
                            .diags = s.diags, .want_tests = true,
                            .decls = declare_stdlib(options->arena, types, s.diags)};
        check_program(&input, file);
    }
    return report(&s);
}

static int run_check(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++) {
        status = worse(status, check_one(options, options->files[i]));
    }
    return status;
}

// Writes to a name beside the file and renames, so that a full disk loses nothing.
static bool rewrite(Arena *arena, const char *path, Text text) {
    const char *beside = text_c(arena, text_format(arena, "%s.sbc-fmt", path));
    FILE *out = fopen(beside, "wb");
    if (!out) return false;
    bool written = fwrite(text.at, 1, text.len, out) == text.len && fflush(out) == 0 &&
                   fsync(fileno(out)) == 0;
    written = fclose(out) == 0 && written;
    if (written && rename(beside, path) == 0) return true;
    int why = errno;
    unlink(beside);
    errno = why;
    return false;
}

static int format_one(const Options *options, const char *path) {
    Session s = session_new(options);
    uint32_t file;
    if (!load(&s, path, &file)) return report(&s);
    AstFile *ast = parse_file(options->arena, s.sources, file, s.diags);
    if (s.diags->errors) return report(&s);
    TextBuf buf = {0};
    format_file(&buf, s.sources, ast);
    Text formatted = text_buf_take(&buf, options->arena);
    bool same = text_eq(formatted, s.sources->files[file].text);
    if (options->check_only) {
        if (!same) printf("%s\n", path);
        return same ? EXIT_DONE : EXIT_WRONG_PROGRAM;
    }
    if (strcmp(path, "-") == 0) {
        fwrite(formatted.at, 1, formatted.len, stdout);
        return EXIT_DONE;
    }
    if (same || rewrite(options->arena, path, formatted)) return EXIT_DONE;
    Span nowhere = {0, 0, SPAN_NONE};
    Diag *d = diag_add(s.diags, DIAG_FILE_UNWRITABLE, nowhere, "%s cannot be written: %s", path,
                       strerror(errno));
    diag_fix(s.diags, d, "check the permissions of its folder, or use `sbc fmt - < FILE`");
    return report(&s);
}

static int run_format(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++) {
        status = worse(status, format_one(options, options->files[i]));
    }
    return status;
}

static int run_explain(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++) {
        DiagCode code;
        if (diag_find(text_of(options->files[i]), &code)) {
            printf("%s: %s\n\n%s", diag_code(code), diag_title(code), diag_page(code));
            continue;
        }
        Text codes[DIAG_COUNT];
        for (uint32_t c = 0; c < DIAG_COUNT; c++) codes[c] = text_of(diag_code((DiagCode)c));
        Text near = diag_did_you_mean(text_of(options->files[i]), codes, DIAG_COUNT);
        fprintf(stderr, "sbc: there is no diagnostic %s", options->files[i]);
        if (near.len) fprintf(stderr, "; did you mean %.*s?", TEXT_ARG(near));
        fputc('\n', stderr);
        status = EXIT_WRONG_USAGE;
    }
    return status;
}

// ---- compiling ---------------------------------------------------------------------------------

static Graph *check_to_graph(Session *s, const char *path) {
    uint32_t file;
    if (!load(s, path, &file)) return nullptr;
    TypeTable *types = type_table_new(s->options->arena);
    CheckInput input = {
        .arena = s->options->arena, .types = types, .sources = s->sources, .diags = s->diags,
        .decls = declare_stdlib(s->options->arena, types, s->diags),
    };
    Graph *graph = check_program(&input, file)->graph;
    if (!graph) return nullptr;
    PassContext passes = {.graph = graph, .eval = reference_const_eval};
    passes_run(&passes, s->options->after);
    return graph;
}

static CodegenOptions codegen_options(const Session *s, const char *path, TextBuf *plan_text) {
    Text *paths = arena_new_array(s->options->arena, Text, s->sources->file_count);
    Text *texts = arena_new_array(s->options->arena, Text, s->sources->file_count);
    for (size_t i = 0; i < s->sources->file_count; i++) {
        paths[i] = s->sources->files[i].path;
        texts[i] = s->sources->files[i].text;
    }
    enum { BOTH_LEVELS = 3 };
    return (CodegenOptions){.job_name = path, .plan_text = text_c(s->options->arena, text_buf_view(plan_text)),
                            .source_hash = "", .paths = paths, .sources = texts, .levels = BOTH_LEVELS, .verify = true};
}

static int dump(Session *s, const Plan *plan, const CodegenOptions *codegen) {
    TextBuf buf = {0}, error = {0};
    bool ok = true;
    switch (s->options->dump) {
    case DUMP_NONE: case DUMP_AST: break;
    case DUMP_IR: graph_print(&buf, plan->graph); break;
    case DUMP_PLAN: plan_print(&buf, plan); break;
    case DUMP_LLVM: ok = build_text(s->options->arena, plan, codegen, CODEGEN_LLVM, &buf, &error); break;
    case DUMP_ASM: ok = build_text(s->options->arena, plan, codegen, CODEGEN_ASM, &buf, &error); break;
    }
    put(stdout, &buf);
    if (!ok) fprintf(stderr, "sbc: %.*s\n", TEXT_ARG(error));
    return ok ? EXIT_DONE : EXIT_WRONG_PROGRAM;
}

static int compile_to(const Options *options, const char *path, const char *output) {
    Session s = session_new(options);
    Graph *graph = check_to_graph(&s, path);
    int status = report(&s);
    if (!graph) return status;
    Plan *plan = plan_make(graph, (PlanOptions){.no_fuse = options->no_fuse});
    TextBuf plan_text = {0}, error = {0};
    plan_explain(&plan_text, plan);
    CodegenOptions codegen = codegen_options(&s, path, &plan_text);
    if (options->dump != DUMP_NONE) return dump(&s, plan, &codegen);
    if (build_job(options->arena, plan, &codegen, output, nullptr, &error)) return EXIT_DONE;
    fprintf(stderr, "sbc: %.*s\n", TEXT_ARG(error));
    return EXIT_WRONG_PROGRAM;
}

static int run_compile(const Options *options) {
    return compile_to(options, options->files[0], options->output);
}

static const Command commands[] = {
    {"check", "FILE...", "diagnose only", run_check},
    {"fmt", "FILE...", "rewrite in the one true layout; --check lists files, - is stdin to stdout",
     run_format},
    {"explain", "CODE...", "the page of a diagnostic", run_explain},
    {"compile", "FILE", "the same as FILE -o JOB", run_compile},
};

// ---- the command line --------------------------------------------------------------------------

static void print_usage(FILE *stream) {
    fputs("usage: sbc COMMAND [OPTIONS] FILE...\n\ncommands:\n", stream);
    for (size_t i = 0; i < countof(commands); i++) {
        fprintf(stream, "  %-8s %-8s  %s\n", commands[i].name, commands[i].operands,
                commands[i].about);
    }
    fputs("\noptions:\n"
          "  --dump=ast                show the program as a tree\n"
          "  --diagnostics=json|text   how mistakes are printed\n"
          "  --help, --version\n"
          "\nexit codes: 0 done, 1 the program is wrong, 2 wrong usage\n", stream);
}

typedef struct Flag {
    const char *text;
    void      (*set)(Options *options);
} Flag;

static void set_json(Options *o) { o->json = true; }
static void set_text(Options *o) { o->json = false; }
static void set_check(Options *o) { o->check_only = true; }
static void set_dump_ast(Options *o) { o->dump = DUMP_AST; }
static void set_dump_ir(Options *o) { o->dump = DUMP_IR; }
static void set_dump_plan(Options *o) { o->dump = DUMP_PLAN; }
static void set_dump_llvm(Options *o) { o->dump = DUMP_LLVM; }
static void set_dump_asm(Options *o) { o->dump = DUMP_ASM; }
static void set_no_fuse(Options *o) { o->no_fuse = true; }
static void set_help(Options *o) { o->help = true; }
static void set_version(Options *o) { o->version = true; }

static const Flag flags[] = {
    {"--diagnostics=json", set_json},
    {"--diagnostics=text", set_text},
    {"--check", set_check},
    {"--dump", set_dump_ir},
    {"--dump=ast", set_dump_ast},
    {"--dump=ir", set_dump_ir},
    {"--dump=plan", set_dump_plan},
    {"--dump=llvm", set_dump_llvm},
    {"--dump=asm", set_dump_asm},
    {"--no-fuse", set_no_fuse},
    {"--help", set_help},
    {"-h", set_help},
    {"--version", set_version},
};

static bool wrong_usage(const char *what, const char *text, const Text *names, size_t count) {
    Text near = diag_did_you_mean(text_of(text), names, count);
    fprintf(stderr, "sbc: unknown %s %s", what, text);
    if (near.len) fprintf(stderr, "; did you mean %.*s?\n", TEXT_ARG(near));
    else fputs("; see sbc --help\n", stderr);
    return false;
}

static bool take_flag(Options *options, const char *argument) {
    Text names[countof(flags)];
    for (size_t i = 0; i < countof(flags); i++) {
        names[i] = text_of(flags[i].text);
        if (strcmp(argument, flags[i].text) != 0) continue;
        flags[i].set(options);
        return true;
    }
    return wrong_usage("option", argument, names, countof(flags));
}

static bool read_options(Options *options, int argc, char **argv) {
    bool only_files = false;
    for (int i = 1; i < argc; i++) {
        bool flag = !only_files && argv[i][0] == '-' && argv[i][1];
        if (flag && strcmp(argv[i], "--") == 0) only_files = true;
        else if (flag && strcmp(argv[i], "-o") == 0 && i + 1 < argc) options->output = argv[++i];
        else if (flag && !take_flag(options, argv[i])) return false;
        else if (!flag)
            arena_push(options->arena, options->files, options->file_count, options->file_cap,
                       argv[i]);
    }
    return true;
}

static int dispatch(Options *options) {
    const char *word = options->files[0];
    Text names[countof(commands)];
    for (size_t i = 0; i < countof(commands); i++) {
        names[i] = text_of(commands[i].name);
        if (strcmp(word, commands[i].name) != 0) continue;
        options->files++;
        if (--options->file_count) return commands[i].run(options);
        fprintf(stderr, "usage: sbc %s %s\n", commands[i].name, commands[i].operands);
        return EXIT_WRONG_USAGE;
    }
    if (options->dump == DUMP_AST) return run_check(options);
    if (options->dump != DUMP_NONE || options->output) return compile_to(options, word, options->output);
    wrong_usage("command", word, names, countof(commands));
    return EXIT_WRONG_USAGE;
}

static int run(Options *options, int argc, char **argv) {
    if (!read_options(options, argc, argv)) return EXIT_WRONG_USAGE;
    if (options->version) return puts("sbc " SBC_VERSION), EXIT_DONE;
    if (options->help) return print_usage(stdout), EXIT_DONE;
    if (options->file_count) return dispatch(options);
    print_usage(stderr);
    return EXIT_WRONG_USAGE;
}

int main(int argc, char **argv) {
    Arena *arena = arena_new();
    Options options = {.arena = arena, .colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR")};
    int status = run(&options, argc, argv);
    if (fflush(stdout) != 0 && status == EXIT_DONE) status = EXIT_WRONG_PROGRAM;
    arena_free(arena);
    return status;
}
