#define _GNU_SOURCE
#include "runtime/disk/folder.h"

#include "runtime/disk/spill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "sbc-spill-";

static bool is_folder(const char *path) {
    struct stat is;
    return stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

const char *spill_default_root(void) {
    const char *given = getenv("TMPDIR");
    if (given && given[0] != '\0') return given;
    return is_folder("/var/tmp") ? "/var/tmp" : "/tmp";
}

// Does the descriptor still stand for the path? Another job may have swept the folder before it was
// locked.
static bool is_there(const char *path, int folder) {
    struct stat named, held;
    return stat(path, &named) == 0 && fstat(folder, &held) == 0 && named.st_ino == held.st_ino &&
           named.st_dev == held.st_dev;
}

static void empty(int folder) {
    int copy = dup(folder);
    DIR *dir = copy >= 0 ? fdopendir(copy) : nullptr;
    if (!dir) {
        if (copy >= 0) close(copy);
        return;
    }
    for (struct dirent *item; (item = readdir(dir));)
        if (item->d_name[0] != '.') unlinkat(folder, item->d_name, 0);
    closedir(dir);
}

// A folder of a job of the same user that no longer runs: its lock can be had.
static void sweep_one(int root, const char *name) {
    struct stat is;
    int folder = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    bool own = fstat(folder, &is) == 0 && is.st_uid == geteuid();
    if (own && flock(folder, LOCK_EX | LOCK_NB) == 0) {
        empty(folder);
        unlinkat(root, name, AT_REMOVEDIR);
    }
    close(folder);
}

static void sweep(const char *path) {
    DIR *dir = opendir(path);
    if (!dir) return;
    for (struct dirent *item; (item = readdir(dir));)
        if (strncmp(item->d_name, prefix, sizeof prefix - 1) == 0)
            sweep_one(dirfd(dir), item->d_name);
    closedir(dir);
}

static bool failed(const char *root, Trouble *trouble) {
    int error = errno;
    bool full = error == ENOSPC || error == EDQUOT || error == EIO;
    return trouble_set(trouble, full ? TROUBLE_SPILL_WRITE : TROUBLE_SPILL_FOLDER,
                       "cannot make a folder in '%s': %s", root, strerror(error));
}

bool spill_folder_make(const char *root, char **path, int *folder, Trouble *trouble) {
    enum { TRIES = 100 };
    sweep(root);
    for (int i = 0; i < TRIES; i++) {
        if (asprintf(path, "%s/%sXXXXXX", root, prefix) < 0) {
            *path = nullptr;
            return trouble_no_memory(trouble, "for a path");
        }
        if (!mkdtemp(*path)) break;
        *folder = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        // Waits for nobody but a job that sweeps.
        if (*folder >= 0 && flock(*folder, LOCK_EX) == 0 && is_there(*path, *folder)) return true;
        int error = errno;
        if (*folder >= 0) close(*folder);
        rmdir(*path);
        errno = error;
        free(*path);
        *path = nullptr;
    }
    failed(root, trouble);
    free(*path);
    *path = nullptr;
    *folder = -1;
    return false;
}

void spill_folder_remove(const char *path, int folder) {
    empty(folder);
    rmdir(path);
    close(folder);
}
