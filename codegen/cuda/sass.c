#include "codegen/cuda/sass.h"

#include "codegen/build/build.h"
#include "codegen/build/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_file(const char *path, Text bytes) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool good = fwrite(bytes.at, 1, bytes.len, file) == bytes.len;
    return !fclose(file) && good;
}

static bool disassemble(const char *path, TextBuf *out, TextBuf *error) {
    const char *given = getenv("SBC_NVDISASM"), *name = given && *given ? given : "nvdisasm";
    Command command = {0};
    TextBuf said = {0};
    command_add(&command, name);
    command_add(&command, "--print-code");
    command_add(&command, "--print-line-info");
    command_add(&command, path);
    CommandOutcome outcome = command_run(&command, &said);
    if (outcome == COMMAND_DONE) text_buf_add(out, text_buf_view(&said));
    else if (outcome == COMMAND_NOT_THERE)
        text_buf_format(error, "there is no %s, which makes text of machine code: "
                        "`pip install nvidia-cuda-nvdisasm`, and put it into PATH or SBC_NVDISASM",
                        name);
    else text_buf_format(error, "%s fails:\n%.*s", name, (int)said.len, said.at ? said.at : "");
    text_buf_free(&said);
    return outcome == COMMAND_DONE;
}

bool cuda_disassemble(Arena *arena, Text cubin, TextBuf *out, TextBuf *error) {
    const char *folder;
    if (!build_folder(arena, &folder, error)) return false;
    const char *path = text_c(arena, text_format(arena, "%s/kernels.cubin", folder));
    bool good = write_file(path, cubin);
    if (!good) text_buf_format(error, "%s cannot be written: %s", path, strerror(errno));
    good = good && disassemble(path, out, error);
    unlink(path);
    rmdir(folder);
    return good;
}
