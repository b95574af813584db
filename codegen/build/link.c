// The command line of DESIGN.md's toolchain: a dynamic PIE that needs libc and libm only.
#define _GNU_SOURCE  // pipe2
#include "codegen/build/link.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 64 };

// In order of preference; all take the same command line.
static const char *const linkers[] = {"mold", "ld.lld-22", "ld.lld", "ld.gold", "ld"};

typedef struct Command {
    const char *args[ARGS_MAX];
    unsigned    count;
} Command;

static void add(Command *command, const char *arg) {
    if (command->count + 1 < ARGS_MAX) command->args[command->count++] = arg;
}

// The newest folder that matches, as GCC numbers its own.
static const char *newest(Arena *arena, const char *pattern) {
    glob_t found = {0};
    const char *best = nullptr;
    if (glob(pattern, 0, nullptr, &found) == 0)
        best = text_c(arena, text_of(found.gl_pathv[found.gl_pathc - 1]));
    globfree(&found);
    return best;
}

static const char *in(Arena *arena, const char *folder, const char *file) {
    return text_c(arena, text_format(arena, "%s/%s", folder, file));
}

// Reads what comes through `fd` until its end.
static void drain(int fd, TextBuf *out) {
    char bytes[4096];
    for (;;) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return;
        text_buf_add(out, (Text){bytes, (size_t)got});
    }
}

typedef enum Outcome { LINKED, REFUSED, NOT_THERE } Outcome;

extern char **environ;

static Outcome run(const Command *command, TextBuf *said) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return REFUSED;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    pid_t child;
    int failed = posix_spawnp(&child, command->args[0], &actions, nullptr,
                              (char *const *)(uintptr_t)command->args, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    int status = 0;
    if (!failed) {
        drain(ends[0], said);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
    if (failed == ENOENT) return NOT_THERE;
    return !failed && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? LINKED : REFUSED;
}

static void add_all(Arena *arena, Command *command, const LinkInput *input, const char *gcc) {
    static const char libc_folder[] = "/usr/lib/x86_64-linux-gnu";
    static const char *const libraries[] = {
        "-luv_a", "-lyaml", "-lzstd", "-llz4", "-lz", "-lpcre2-8", "-lutf8proc"};
    add(command, "-pie");
    add(command, "--eh-frame-hdr");
    add(command, "--gc-sections");
    add(command, "-dynamic-linker");
    add(command, "/lib64/ld-linux-x86-64.so.2");
    add(command, "-o");
    add(command, input->output);
    add(command, in(arena, libc_folder, "Scrt1.o"));
    add(command, in(arena, libc_folder, "crti.o"));
    add(command, in(arena, gcc, "crtbeginS.o"));
    for (const char *const *object = input->objects; *object; object++) add(command, *object);
    add(command, text_c(arena, text_format(arena, "-L%s", libc_folder)));
    add(command, text_c(arena, text_format(arena, "-L%s", gcc)));
    add(command, input->runtime);
    add(command, "-Bstatic");
    for (size_t i = 0; i < countof(libraries); i++) add(command, libraries[i]);
    add(command, "-Bdynamic");
    add(command, "-lm");
    add(command, "-lc");
    add(command, "-lgcc");
    add(command, in(arena, gcc, "crtendS.o"));
    add(command, in(arena, libc_folder, "crtn.o"));
}

bool link_run(Arena *arena, const LinkInput *input, TextBuf *error) {
    const char *gcc = newest(arena, "/usr/lib/gcc/x86_64-linux-gnu/*");
    if (!gcc) {
        text_buf_add(error, TEXT("the C start files are missing: install libc6-dev and libgcc-12-dev"));
        return false;
    }
    for (size_t i = 0; i < countof(linkers); i++) {
        Command command = {0};
        add(&command, linkers[i]);
        add_all(arena, &command, input, gcc);
        Outcome outcome = run(&command, error);
        if (outcome == LINKED) return true;
        if (outcome == REFUSED) return false;
    }
    text_buf_add(error, TEXT("no linker was found: install lld-22 or mold"));
    return false;
}
