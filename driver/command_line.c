#include "driver/command_line.h"

#include <stdarg.h>
#include <string.h>

// A flag without a value has `set`, one with a value (--after=fold, or -o FILE) has `take`.
typedef struct Flag {
    const char *text;
    void      (*set)(Options *options);
    void      (*take)(Options *options, const char *value);
    const char *commands;         // That take it, spaces around each; null: all.
    const char *operand, *about;  // For --help; null: a spelling of the flag above.
} Flag;

static void set_json(Options *o) { o->json = true; }
static void set_text(Options *o) { o->json = false; }
static void set_check(Options *o) { o->check_only = true; }
static void set_dump_ast(Options *o) { o->dump = DUMP_AST; }
static void set_dump_ir(Options *o) { o->dump = DUMP_IR; }
static void set_dump_plan(Options *o) { o->dump = DUMP_PLAN; }
static void set_dump_llvm(Options *o) { o->dump = DUMP_LLVM; }
static void set_dump_asm(Options *o) { o->dump = DUMP_ASM; }
static void set_dump_cuda(Options *o) { o->dump = DUMP_CUDA; }
static void set_dump_ptx(Options *o) { o->dump = DUMP_PTX; }
static void set_dump_sass(Options *o) { o->dump = DUMP_SASS; }
static void set_no_fuse(Options *o) { o->no_fuse = true; }
static void set_no_cache(Options *o) { o->no_cache = true; }
static void set_reference(Options *o) { o->reference = true; }
static void set_compiled(Options *o) { o->reference = false; }
static void set_explain(Options *o) { o->explain = true; }
static void set_overwrite(Options *o) { o->overwrite = true; }
static void set_markdown(Options *o) { o->markdown = true; }
static void set_help(Options *o) { o->help = true; }
static void set_version(Options *o) { o->version = true; }
static void take_output(Options *o, const char *value) { o->output = value; }
static void take_program(Options *o, const char *value) { o->text = value; }
static void take_after(Options *o, const char *value) { o->after = value; }
static void take_python(Options *o, const char *value) { o->python = value; }
static void take_target(Options *o, const char *value) { o->target = value; }

static const char to_compile[] = " compile ", to_run[] = " run ", to_build[] = " compile run ";

static const Flag flags[] = {
    {"-o", nullptr, take_output, to_compile, " JOB", "where the executable goes"},
    {"--overwrite", set_overwrite, nullptr, to_compile, "",
     "compile: replace a file that is no job"},
    {"-e", nullptr, take_program, to_run, " 'TEXT'", "run: the program itself, in one argument"},
    {"--dump", set_dump_ir, nullptr, to_compile, "",
     "print the IR; --dump=ast|ir|plan|llvm|asm|cuda|ptx|sass: another form"},
    {"--dump=ast", set_dump_ast, nullptr, to_compile, nullptr, nullptr},
    {"--dump=ir", set_dump_ir, nullptr, to_compile, nullptr, nullptr},
    {"--dump=plan", set_dump_plan, nullptr, to_compile, nullptr, nullptr},
    {"--dump=llvm", set_dump_llvm, nullptr, to_compile, nullptr, nullptr},
    {"--dump=asm", set_dump_asm, nullptr, to_compile, nullptr, nullptr},
    {"--dump=cuda", set_dump_cuda, nullptr, to_compile, nullptr, nullptr},
    {"--dump=ptx", set_dump_ptx, nullptr, to_compile, nullptr, nullptr},
    {"--dump=sass", set_dump_sass, nullptr, to_compile, nullptr, nullptr},
    {"--after", nullptr, take_after, to_build, "=PASS",
     "stop after this pass; none: before the first one"},
    {"--explain", set_explain, nullptr, to_compile, "",
     "say what fused, what did not and why, and how much"},
    {"--target", nullptr, take_target, to_build, "=FILE.yaml",
     "CPU levels to compile for; native: that of this machine"},
    {"--engine=reference", set_reference, nullptr, to_run, "",
     "run: interpret, slowly and plainly"},
    {"--engine=compiled", set_compiled, nullptr, to_run, nullptr, nullptr},
    {"--no-cache", set_no_cache, nullptr, to_run, "", "run: compile anew, and keep nothing"},
    {"--no-fuse", set_no_fuse, nullptr, to_build, "",
     "a border after every step: the same bytes, slower"},
    {"--python", nullptr, take_python, " test ", "=PATH",
     "test: the Python interpreter; else that of $VIRTUAL_ENV, else python3"},
    {"--check", set_check, nullptr, " fmt ", "", "fmt: list the files that would change"},
    {"--markdown", set_markdown, nullptr, " doc explain ", "",
     "doc, explain: everything, as a page of docs/"},
    {"--diagnostics=json", set_json, nullptr, nullptr, "", "print mistakes for an editor"},
    {"--diagnostics=text", set_text, nullptr, nullptr, nullptr, nullptr},
    {"--help", set_help, nullptr, nullptr, "", "print this"},
    {"-h", set_help, nullptr, nullptr, nullptr, nullptr},
    {"--version", set_version, nullptr, nullptr, "", "print the version"},
};
static_assert(countof(flags) <= 64);  // Bits of Options.given.

void command_line_print(FILE *stream) {
    for (size_t i = 0; i < countof(flags); i++) {
        if (!flags[i].about) continue;
        int width = (int)(strlen(flags[i].text) + strlen(flags[i].operand));
        fprintf(stream, "  %s%s%*s  %s\n", flags[i].text, flags[i].operand,
                width < 20 ? 20 - width : 0, "", flags[i].about);
    }
}

void complain(const Options *options, DiagCode code, const char *fix, const char *format, ...) {
    static const Span nowhere = {0, 0, SPAN_NONE};
    Diags *diags = diags_new(options->arena, source_set_new(options->arena));
    va_list args;
    va_start(args, format);
    TextBuf message = {0};
    text_buf_formatv(&message, format, args);
    va_end(args);
    Diag *diag = diag_add(diags, code, nowhere, "%.*s", (int)message.len, message.at);
    text_buf_free(&message);
    if (fix) diag_fix(diags, diag, "%s", fix);
    TextBuf buf = {0};
    if (options->json) diags_print_json(&buf, diags);
    else diags_print(&buf, diags, options->colour);
    fwrite(buf.at, 1, buf.len, stderr);
    text_buf_free(&buf);
}

int complain_of(const Options *options, DiagCode code, TextBuf *error, int status) {
    if (error->len) complain(options, code, nullptr, "%.*s", (int)error->len, error->at);
    text_buf_free(error);
    return status;
}

void complain_unknown(const Options *options, const char *what, const char *text,
                      const Text *names, size_t count) {
    Text near = diag_did_you_mean(text_of(text), names, count);
    Text fix = near.len ? text_format(options->arena, "did you mean '%.*s'?", TEXT_ARG(near))
                        : TEXT("see sbc --help");
    complain(options, DIAG_UNKNOWN_WORD, text_c(options->arena, fix), "unknown %s '%s'", what,
             text);
}

// The options of a job, for those who give them to sbc.
static const struct {
    Text        name;
    const char *operand;
} job_options[] = {
#define OPTION(name, text, operand, about) {TEXT("--" text), operand},
#define LATER(text)
#include "runtime/options/options.def"
#undef LATER
#undef OPTION
};

enum { NO_JOB_OPTION = countof(job_options) };

// The option of a job that `word` is, or nearly is; NO_JOB_OPTION: it is none.
static size_t job_option(Text word) {
    Text names[countof(job_options)];
    for (size_t i = 0; i < countof(job_options); i++) names[i] = job_options[i].name;
    Text near = diag_did_you_mean(word, names, countof(names));
    for (int exact = 1; exact >= 0; exact--)
        for (size_t i = 0; i < countof(names); i++)
            if (text_eq(names[i], exact ? word : near)) return i;
    return NO_JOB_OPTION;
}

static bool is_run(const Options *options) {
    return options->file_count && strcmp(options->files[0], "run") == 0;
}

// A program that stands among the words, or null.
static const char *program_in(const char *const *words, size_t count) {
    for (size_t i = 0; i < count && words[i]; i++)
        if (text_ends(text_of(words[i]), ".sbd")) return words[i];
    return nullptr;
}

// What was meant by `args`, as the job takes it: --memory=2GiB.
static Text job_word(const Options *options, char *const *args, size_t option) {
    Text word = {args[0], strcspn(args[0], "=")}, value = text_of(args[0] + word.len);
    if (option == NO_JOB_OPTION) return text_of(args[0]);
    bool wants = job_options[option].operand[0] && !value.len;
    if (wants && args[1] && args[1][0] != '-' && !text_ends(text_of(args[1]), ".sbd"))
        value = text_format(options->arena, "=%s", args[1]);
    return text_format(options->arena, "%.*s%.*s", TEXT_ARG(job_options[option].name),
                       TEXT_ARG(value));
}

// The command that gives `word` to the job: sbc run FILE -- WORD.
static Text job_command(const Options *options, char *const *args, Text word) {
    const char *file = program_in((const char *const *)options->files, options->file_count);
    if (!file) file = program_in((const char *const *)args, SIZE_MAX);
    if (options->text) file = "-e 'TEXT'";
    return text_format(options->arena, "sbc run %s -- %.*s", file ? file : "FILE", TEXT_ARG(word));
}

// An option of the job, given to sbc: says in one line where it goes.
static void complain_misplaced(const Options *options, char *const *args, size_t option) {
    Text word = job_word(options, args, option), way = job_command(options, args, word);
    Text job = text_format(options->arena, "%s %.*s, or ",
                           options->output ? options->output : "JOB", TEXT_ARG(word));
    complain(options, DIAG_UNKNOWN_WORD, nullptr, "'%.*s' is an option of the job: %.*s%.*s",
             TEXT_ARG(job_options[option].name), is_run(options) ? 0 : (int)job.len, job.at,
             TEXT_ARG(way));
}

// A flag that is none: perhaps one of ours with a letter wrong, or one of the job.
static void unknown_flag(const Options *options, char *const *args) {
    const char *text = args[0];
    Text names[countof(flags)], word = {text, strcspn(text, "=")};
    for (size_t i = 0; i < countof(flags); i++) names[i] = text_of(flags[i].text);
    Text near = diag_did_you_mean(text_of(text), names, countof(flags));
    if (!near.len) near = diag_did_you_mean(word, names, countof(flags));
    size_t job = job_option(word);
    if (job != NO_JOB_OPTION && text_eq(job_options[job].name, word)) {
        complain_misplaced(options, args, job);
        return;
    }
    Text fix = TEXT("see sbc --help");
    Text way = job_command(options, args, job_word(options, args, job));
    if (text_starts(text_of(text), TEXT("--dump=")))
        fix = TEXT("--dump=ast|ir|plan|llvm|asm|cuda|ptx|sass");
    else if (near.len) fix = text_format(options->arena, "did you mean '%.*s'?", TEXT_ARG(near));
    else if (job != NO_JOB_OPTION)
        fix = text_format(options->arena, "did you mean: %.*s", TEXT_ARG(way));
    else if (is_run(options))
        fix = text_format(options->arena, "a param of the program goes to the job: %.*s",
                          TEXT_ARG(way));
    complain(options, DIAG_UNKNOWN_WORD, text_c(options->arena, fix), "unknown option '%s'", text);
}

// Some flags of one command are options of jobs, too. After `run` such a word is meant for the job.
static bool is_of_job(const Options *options, const Flag *flag) {
    return is_run(options) && flag->commands && !strstr(flag->commands, " run ") &&
           job_option(text_of(flag->text)) != NO_JOB_OPTION &&
           text_eq(job_options[job_option(text_of(flag->text))].name, text_of(flag->text));
}

// How many arguments the flag at `args` takes with it: 0 when it is wrong, which was said.
static int take_flag(Options *options, char *const *args) {
    for (size_t i = 0; i < countof(flags); i++) {
        const Flag *flag = &flags[i];
        size_t len = strlen(flag->text);
        if (strncmp(args[0], flag->text, len) != 0) continue;
        bool whole = args[0][len] == '\0', equals = args[0][len] == '=' && flag->text[1] == '-';
        if ((flag->set && whole) || (flag->take && (whole || equals)))
            options->given |= UINT64_C(1) << i;
        if (flag->set && whole) return flag->set(options), 1;
        if (!flag->take || !(whole || equals)) continue;
        if (is_of_job(options, flag)) break;
        if (equals) return flag->take(options, args[0] + len + 1), 1;
        if (args[1]) return flag->take(options, args[1]), 2;
        complain(options, DIAG_WRONG_USAGE, nullptr, "%s needs a value: %s%s", flag->text,
                 flag->text, flag->operand);
        return 0;
    }
    unknown_flag(options, args);
    return 0;
}

bool command_line_fits(const Options *options, const char *command) {
    Text word = text_format(options->arena, " %s ", command);
    for (size_t i = 0; i < countof(flags); i++) {
        const Flag *flag = &flags[i];
        bool given = options->given >> i & 1;
        if (!given || !flag->commands || strstr(flag->commands, text_c(options->arena, word)))
            continue;
        char *const words[] = {(char *)flag->text, nullptr};
        size_t job = job_option(text_of(flag->text));
        if (is_run(options) && job != NO_JOB_OPTION &&
            text_is(job_options[job].name, flag->text)) {  // --check: of fmt, and of the job.
            complain_misplaced(options, words, job);
            return false;
        }
        Text takers = text_of(flag->commands);
        Text fix = text_format(options->arena, "it goes with:%.*s", (int)takers.len - 1, takers.at);
        complain(options, DIAG_WRONG_USAGE, text_c(options->arena, fix), "sbc %s takes no %s",
                 command, flag->text);
        return false;
    }
    return true;
}

bool command_line_read(Options *options, int argc, char **argv) {
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "--") == 0) {
            bool run = options->file_count && strcmp(options->files[0], "run") == 0;
            options->job_args = (const char *const *)(argv + i + 1);
            options->job_arg_count = (size_t)(argc - i - 1);
            for (i++; i < argc && !run; i++)
                arena_push(options->arena, options->files, options->file_count,
                           options->file_cap, argv[i]);
            return true;
        }
        if (argv[i][0] == '-' && argv[i][1]) {
            int taken = take_flag(options, argv + i);
            if (!taken) return false;
            i += taken;
        } else {
            arena_push(options->arena, options->files, options->file_count, options->file_cap,
                       argv[i]);
            i++;
        }
    }
    return true;
}
