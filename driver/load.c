#include "driver/load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool wrong(Arena *arena, FileTensor *out, const char *why) {
    out->wrong = text_of(text_c(arena, text_of(why)));
    return false;
}

// The format of the file, by the end of its name. Null: none that holds tensors.
static const FormatInfo *format_of(Text path) {
    for (Format f = 0; f < FORMAT_COUNT; f++) {
        const FormatInfo *info = format_info(f);
        for (size_t i = 0; info->tensor_of && i < countof(info->suffixes); i++) {
            const char *suffix = info->suffixes[i].name;
            if (suffix && text_ends(path, suffix)) return info;
        }
    }
    return nullptr;
}

// The bytes of the file, until munmap(). False: out->wrong.
static bool map_file(Arena *arena, Text path, Text *bytes, FileTensor *out) {
    int fd = open(text_c(arena, path), O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        out->wrong = text_format(arena, "cannot be read: %s", strerror(errno));
        if (fd >= 0) close(fd);
        return false;
    }
    size_t len = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
    void *map = len ? mmap(nullptr, len, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (map == MAP_FAILED) return wrong(arena, out, "is no file with bytes");
    *bytes = (Text){map, len};
    return true;
}

bool load_tensor(Arena *arena, TypeTable *types, Text path, FileTensor *out) {
    *out = (FileTensor){0};
    const FormatInfo *info = format_of(path);
    if (!info) return wrong(arena, out, "has not the name of a file of tensors: it ends in .npy");
    Text bytes;
    if (!map_file(arena, path, &bytes, out)) return false;
    bool good = info->tensor_of(arena, types, bytes, out);
    if (good) out->bytes = text_copy(arena, bytes);
    munmap((void *)(uintptr_t)bytes.at, bytes.len);
    return good;
}
