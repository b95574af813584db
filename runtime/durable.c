#define _GNU_SOURCE
#include "runtime/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// What the path or the program is to blame for, and what the machine.
static TroubleKind kind_of(int error) {
    bool path = error == EACCES || error == ENOENT || error == ENOTDIR || error == EISDIR ||
                error == EROFS || error == EPERM || error == ENAMETOOLONG || error == ELOOP;
    return path ? TROUBLE_OUTPUT_PATH : TROUBLE_WRITE;
}

static bool failed(const char *what, const char *path, Trouble *trouble) {
    int error = errno;
    return trouble_set(trouble, kind_of(error), "cannot %s '%s': %s", what, path, strerror(error));
}

bool durable_make_folder(const char *path, Trouble *trouble) {
    char *copy = strdup(path);
    if (!copy) return trouble_set(trouble, TROUBLE_MEMORY, "no memory for a path");
    bool good = true;
    for (char *at = copy + 1; good; at++) {
        if (*at != '/' && *at != '\0') continue;
        char end = *at;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            good = failed("make the folder", copy, trouble);
        *at = end;
        if (end == '\0') break;
    }
    free(copy);
    return good;
}

bool durable_create(DurableFile *file, const char *path, bool replace, Trouble *trouble) {
    *file = (DurableFile){.fd = -1, .replace = replace};
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    if (folder > 1) {
        char *parent = strndup(path, (size_t)folder - 1);
        bool made = parent && durable_make_folder(parent, trouble);
        free(parent);
        if (!made) return false;
    }
    file->path = strdup(path);
    if (!file->path ||
        asprintf(&file->temporary, "%.*s.%s.XXXXXX", folder, path, path + folder) < 0) {
        file->temporary = nullptr;
        return trouble_set(trouble, TROUBLE_MEMORY, "no memory for a path");
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd < 0) {
        failed("create a file beside", path, trouble);
        free(file->temporary);
        file->temporary = nullptr;
        return false;
    }
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(file->fd, 0666 & ~mask) != 0) return failed("set the mode of", path, trouble);
    return true;
}

// Behind its first CACHED_MAX bytes a file goes to the disk as it is written and leaves the page
// cache: the job waits for the disk in any case, and the memory of a page that was just written
// takes the next one. Growing the page cache costs more than the writing itself.
static ssize_t write_some(int fd, const char *bytes, int64_t len, int64_t offset) {
    enum : int64_t { CACHED_MAX = 64 << 20 };
    enum { UNCACHED = 0x80 };  // RWF_DONTCACHE, of Linux 6.14.
    if (offset >= CACHED_MAX) {
        const struct iovec part = {(void *)(uintptr_t)bytes, (size_t)len};
        ssize_t put = pwritev2(fd, &part, 1, offset, UNCACHED);
        if (put >= 0 || (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS)) return put;
    }
    return pwrite(fd, bytes, (size_t)len, offset);
}

bool durable_write(const DurableFile *file, const char *bytes, int64_t len, int64_t offset,
                   Trouble *trouble) {
    while (len > 0) {
        ssize_t put = write_some(file->fd, bytes, len, offset);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return failed("write", file->path, trouble);
        bytes += put;
        len -= put;
        offset += put;
    }
    return true;
}

bool durable_sync(DurableFile *file, Trouble *trouble) {
    if (file->fd < 0) return true;
    bool good = fdatasync(file->fd) == 0 || failed("sync", file->path, trouble);
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0 && good) good = failed("close", file->path, trouble);
    return good;
}

bool durable_publish(DurableFile *file, Trouble *trouble) {
    unsigned flags = file->replace ? 0 : RENAME_NOREPLACE;
    int status = renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, flags);
    if (status != 0 && errno == EINVAL && flags) status = rename(file->temporary, file->path);
    if (status != 0 && errno == EEXIST) {
        return trouble_set(trouble, TROUBLE_OUTPUT_EXISTS, "'%s' exists since the job began",
                           file->path);
    }
    if (status != 0) return failed("rename a file to", file->path, trouble);
    free(file->temporary);
    file->temporary = nullptr;
    return true;
}

bool durable_sync_folder_of(const char *path, Trouble *trouble) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) return trouble_set(trouble, TROUBLE_MEMORY, "no memory for a path");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Some file systems do not sync folders; that is not the job's fault.
    bool good = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (!good) failed("sync the folder", folder, trouble);
    if (fd >= 0) close(fd);
    free(folder);
    return good;
}

void durable_remove(const char *path) {
    unlink(path);
}

void durable_close(DurableFile *file) {
    if (file->fd >= 0) close(file->fd);
    if (file->temporary) unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (DurableFile){.fd = -1};
}
