#include "runtime/options/commands.h"

#include "runtime/options/options.h"

#include <string.h>

typedef struct CommandInfo {
    const char *name, *value, *doc;
} CommandInfo;

static const CommandInfo infos[] = {
#define COMMAND(kind, text, value, doc) {text, value, doc},
#include "runtime/options/commands.def"
#undef COMMAND
};

static SbStr name_of(const void *self, uint32_t index) {
    (void)self;
    return (SbStr){infos[index].name, (int64_t)strlen(infos[index].name)};
}

static bool no_command(const char *text, size_t len, Trouble *trouble) {
    trouble_set(trouble, TROUBLE_USAGE, "'%.*s' is no command to a running job", (int)len, text);
    SbStr near = nearest_name((SbStr){text, (int64_t)len}, name_of, nullptr, COMMAND_KINDS);
    if (near.len == 0) return trouble_fix(trouble, "JOB --help lists the commands"), false;
    return trouble_fix(trouble, "write --tell=%.*s", (int)near.len, near.ptr), false;
}

static bool no_value(const CommandInfo *info, const char *value, Trouble *trouble) {
    bool size = strcmp(info->value, "SIZE") == 0;
    if (info->value[0] == '\0') {
        trouble_set(trouble, TROUBLE_USAGE, "the command '%s' takes no value", info->name);
        return trouble_fix(trouble, "write --tell=%s", info->name), false;
    }
    if (value)
        trouble_set(trouble, TROUBLE_USAGE, "--tell=%s=%s: '%s' is no %s", info->name, value, value,
                    size ? "size" : "whole number");
    else
        trouble_set(trouble, TROUBLE_USAGE, "the command '%s' needs a value", info->name);
    return trouble_fix(trouble, "write --tell=%s=%s", info->name, size ? "512MiB" : "2"), false;
}

static bool read_value(const CommandInfo *info, const char *value, int64_t *into) {
    if (strcmp(info->value, "SIZE") == 0) return value && options_size(value, into) && *into > 0;
    return value ? info->value[0] != '\0' && options_whole(value, into) : info->value[0] == '\0';
}

bool command_read(const char *text, Command *command, Trouble *trouble) {
    const char *equals = strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    for (uint32_t i = 0; i < COMMAND_KINDS; i++) {
        const CommandInfo *info = &infos[i];
        if (strlen(info->name) != len || memcmp(info->name, text, len) != 0) continue;
        *command = (Command){.kind = (CommandKind)i};
        const char *value = equals ? equals + 1 : nullptr;
        return read_value(info, value, &command->value) || no_value(info, value, trouble);
    }
    return no_command(text, len, trouble);
}

void commands_print_help(FILE *file) {
    enum { LEFT = 27 };
    fputs("\nCommands to a running job (--tell=COMMAND):\n", file);
    for (uint32_t i = 0; i < COMMAND_KINDS; i++) {
        char left[64];
        const char *equals = infos[i].value[0] ? "=" : "";
        snprintf(left, sizeof left, "%s%s%s", infos[i].name, equals, infos[i].value);
        fprintf(file, "  %-*s %s\n", LEFT, left, infos[i].doc);
    }
}
