#define _GNU_SOURCE  // pipe2
#include "codegen/build/command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void command_add(Command *command, const char *arg) {
    if (command->count + 1 < COMMAND_ARGS_MAX) command->args[command->count++] = arg;
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

extern char **environ;

CommandOutcome command_run(const Command *command, TextBuf *said) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return COMMAND_REFUSED;
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
    if (failed == ENOENT) return COMMAND_NOT_THERE;
    if (failed) {
        text_buf_format(said, "%s cannot be started: %s", command->args[0], strerror(failed));
    } else if (WIFSIGNALED(status)) {
        // A linker maps its output: it ends like this where the disk is full, and blames itself.
        text_buf_free(said);
        text_buf_format(said, "%s was ended by a signal (%s): is the disk full?",
                        command->args[0], strsignal(WTERMSIG(status)));
    }
    return !failed && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? COMMAND_DONE
                                                                         : COMMAND_REFUSED;
}
