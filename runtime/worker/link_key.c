// The key of a job, from a file that the job and its workers have.
#define _GNU_SOURCE
#include "runtime/worker/links.h"

#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 4096 };

static bool refuse(const char *path, const char *what, Trouble *trouble) {
    trouble_set(trouble, TROUBLE_KEY_FILE, "the key file '%s' %s", path, what);
    return trouble_fix(trouble, "(umask 077; head -c 32 /dev/urandom >%s), and a copy of it on "
                       "each machine", path), false;
}

static bool is_private(const char *path, const struct stat *about, Trouble *trouble) {
    if (!S_ISREG(about->st_mode)) return refuse(path, "is no file", trouble);
    if (about->st_mode & (S_IRWXG | S_IRWXO)) {
        refuse(path, "may be read by others", trouble);
        return trouble_fix(trouble, "chmod 600 %s", path), false;
    }
    if (about->st_uid == geteuid() || about->st_uid == 0) return true;
    refuse(path, "belongs to another user", trouble);
    return trouble_fix(trouble, "make a copy of your own: (umask 077; cat %s >FILE)", path), false;
}

bool link_key_read(const char *path, LinkKey *key, Trouble *trouble) {
    char bytes[FILE_MAX + 1];
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool there = fd >= 0 && fstat(fd, &about) == 0;
    ssize_t got = there && S_ISREG(about.st_mode) ? pread(fd, bytes, sizeof bytes, 0) : 0;
    int error = errno;
    if (fd >= 0) close(fd);
    if (!there || got < 0) {
        char what[128];
        snprintf(what, sizeof what, "cannot be read: %s", strerror(error));
        return refuse(path, what, trouble);
    }
    if (!is_private(path, &about, trouble)) return false;
    bool fits = got >= LINK_KEY_BYTES && got <= FILE_MAX;
    bool good = fits ? link_key_of(bytes, got, key, trouble)
                     : refuse(path, "has not 32 to 4096 bytes", trouble);
    explicit_bzero(bytes, sizeof bytes);
    return good;
}
