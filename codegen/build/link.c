// Link: the linker's command line for a dynamic PIE that needs libc and libm only.
#include "codegen/build/link.h"

#include "codegen/build/command.h"

#include <glob.h>

// In order of preference; all take the same command line.
static const char *const linkers[] = {"mold", "ld.lld-22", "ld.lld", "ld.gold", "ld"};

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

static void add_all(Arena *arena, Command *command, const LinkInput *input, const char *gcc) {
    static const char libc_folder[] = "/usr/lib/x86_64-linux-gnu";
    static const char *const libraries[] = {
        "-luv_a", "-lyaml", "-lzstd", "-llz4", "-lz", "-lutf8proc"};
    command_add(command, "-pie");
    command_add(command, "--eh-frame-hdr");
    command_add(command, "--gc-sections");
    command_add(command, "-dynamic-linker");
    command_add(command, "/lib64/ld-linux-x86-64.so.2");
    command_add(command, "-o");
    command_add(command, input->output);
    command_add(command, in(arena, libc_folder, "Scrt1.o"));
    command_add(command, in(arena, libc_folder, "crti.o"));
    command_add(command, in(arena, gcc, "crtbeginS.o"));
    for (const char *const *object = input->objects; *object; object++)
        command_add(command, *object);
    command_add(command, text_c(arena, text_format(arena, "-L%s", libc_folder)));
    command_add(command, text_c(arena, text_format(arena, "-L%s", gcc)));
    command_add(command, input->runtime);
    command_add(command, "-Bstatic");
    for (size_t i = 0; i < countof(libraries); i++) command_add(command, libraries[i]);
    command_add(command, "-Bdynamic");
    command_add(command, "-lm");
    command_add(command, "-lc");
    command_add(command, "-lgcc");
    command_add(command, in(arena, gcc, "crtendS.o"));
    command_add(command, in(arena, libc_folder, "crtn.o"));
}

bool link_run(Arena *arena, const LinkInput *input, TextBuf *error) {
    const char *gcc = newest(arena, "/usr/lib/gcc/x86_64-linux-gnu/*");
    if (!gcc) {
        text_buf_add(error, TEXT("the C start files are missing: install libc6-dev and "
                                 "libgcc-12-dev"));
        return false;
    }
    for (size_t i = 0; i < countof(linkers); i++) {
        Command command = {0};
        command_add(&command, linkers[i]);
        add_all(arena, &command, input, gcc);
        CommandOutcome outcome = command_run(&command, error);
        if (outcome == COMMAND_DONE) return true;
        if (outcome == COMMAND_REFUSED) return false;
    }
    text_buf_add(error, TEXT("no linker was found: install lld-22 or mold"));
    return false;
}
