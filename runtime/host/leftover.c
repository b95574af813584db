#define _GNU_SOURCE
#include "runtime/host/leftover.h"

#include "runtime/host/durable.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// A folder that is held; its descriptor stays open until the process ends.
typedef struct Held {
    dev_t device;
    ino_t number;
    struct Held *next;
} Held;

static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;
static Held *held;

static bool is_left(const char *name) {
    const char *tag = strrchr(name, '.');
    if (name[0] != '.' || !tag || tag == name || *++tag != LEFTOVER_MARK) return false;
    for (const char *at = tag + 1; *at; at++)
        if (!isalnum((unsigned char)*at)) return false;
    return strlen(tag) == DURABLE_TAG;
}

// Plain files of the same user.
static void remove_left(int folder, const char *name) {
    struct stat is;
    if (fstatat(folder, name, &is, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (S_ISREG(is.st_mode) && is.st_uid == geteuid()) unlinkat(folder, name, 0);
}

static void sweep(int folder) {
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : nullptr;
    if (!dir) {
        if (copy >= 0) close(copy);
        return;
    }
    for (struct dirent *item; (item = readdir(dir));)
        if (is_left(item->d_name)) remove_left(folder, item->d_name);
    closedir(dir);
}

// Another job may be sweeping, which is over soon. Who holds the folder longer is no job of ours,
// or one whose journal is there.
static bool hold(int folder) {
    enum { TRIES = 20, PAUSE_NS = 1000000 };
    for (int i = 0; i < TRIES; i++) {
        if (flock(folder, LOCK_SH | LOCK_NB) == 0) return true;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, nullptr);
    }
    return false;
}

// Folders that are held stay open: of more no more are.
static bool is_full(void) {
    enum { HELD_MAX = 64 };
    int count = 0;
    for (const Held *one = held; one; one = one->next) count++;
    return count >= HELD_MAX;
}

static bool is_held(const struct stat *is) {
    for (const Held *one = held; one; one = one->next)
        if (one->device == is->st_dev && one->number == is->st_ino) return true;
    return false;
}

bool leftover_sweep(const char *path) {
    struct stat is;
    const char *slash = strrchr(path, '/');
    char *name = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int folder = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    Held *own = nullptr;
    free(name);
    pthread_mutex_lock(&holding);
    bool known = folder >= 0 && fstat(folder, &is) == 0 && is_held(&is);
    bool guarded = known || !is_full();
    bool keep = folder >= 0 && !known && guarded && fstat(folder, &is) == 0 &&
                (own = malloc(sizeof *own)) != nullptr;
    if (keep) {
        *own = (Held){is.st_dev, is.st_ino, held};
        held = own;
        // Nothing of this job is there yet, so that the lock may be given up for a moment.
        if (flock(folder, LOCK_EX | LOCK_NB) == 0) sweep(folder);
        keep = hold(folder);
    }
    pthread_mutex_unlock(&holding);
    if (folder >= 0 && !keep) close(folder);
    return guarded;
}
