#define _GNU_SOURCE
#include "runtime/host/durable.h"

#include "runtime/host/failpoint.h"
#include "runtime/host/leftover.h"
#include "runtime/host/retry.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// ---- the system -----------------------------------------------------------------------------

static int system_open(const char *path, int flags, mode_t mode) {
    return open(path, flags | O_CLOEXEC, mode);
}

// After its first CACHED_MAX bytes a file goes to the disk as it is written and leaves the page
// cache: the job waits for the disk in any case, and the memory of a page that was just written
// takes the next one. Growing the page cache costs more than the writing itself.
static ssize_t system_write(int fd, const void *bytes, size_t len, off_t offset) {
    enum : int64_t { CACHED_MAX = 64 << 20 };
    enum { UNCACHED = 0x80 };  // RWF_DONTCACHE, of Linux 6.14.
    if (offset >= CACHED_MAX) {
        const struct iovec part = {(void *)(uintptr_t)bytes, len};
        ssize_t put = pwritev2(fd, &part, 1, offset, UNCACHED);
        if (put >= 0 || (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS)) return put;
    }
    return pwrite(fd, bytes, len, offset);
}

static int system_reserve(int fd, off_t len) { return posix_fallocate(fd, 0, len); }

static off_t system_size(int fd) {
    struct stat is;
    return fstat(fd, &is) == 0 ? is.st_size : -1;
}

static int system_rename(const char *from, const char *to, bool replace) {
    if (!replace) {
        int status = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
        if (status == 0 || errno != EINVAL) return status;
    }
    return rename(from, to);
}

static int system_make_folder(const char *path) { return mkdir(path, 0777); }

static int system_lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }

static int system_about(int fd, DurableBase *base) {
    struct stat is;
    if (fstat(fd, &is) != 0) return -1;
    if (!S_ISREG(is.st_mode)) return errno = EINVAL, -1;
    base->is = true;
    base->size = is.st_size;
    base->inode = (int64_t)is.st_ino;
    base->seconds = is.st_mtim.tv_sec;
    base->nanoseconds = is.st_mtim.tv_nsec;
    return 0;
}

// Where the file system can, both files have the same blocks. What it cannot the caller does.
static int64_t system_clone(int from, int to, int64_t len) {
    struct stat is;
    int64_t done = 0;
    if (fstat(from, &is) == 0) fchmod(to, is.st_mode & 0777);
    if (failpoint_fails("output-clone")) return 0;
    while (done < len) {
        off_t at = done, into = done;
        ssize_t some = copy_file_range(from, &at, to, &into, (size_t)(len - done), 0);
        if (some < 0 && errno == EINTR) continue;
        if (some <= 0) break;
        done += some;
    }
    return done;
}

const DurableCalls durable_system = {
    .open = system_open, .close = close, .read = pread, .write = system_write,
    .sync_data = fdatasync, .sync = fsync, .truncate = ftruncate, .reserve = system_reserve,
    .size = system_size, .rename = system_rename, .unlink = unlink,
    .make_folder = system_make_folder, .lock = system_lock, .about = system_about,
    .clone = system_clone,
};

static const DurableCalls *disk = &durable_system;

void durable_use(const DurableCalls *calls) { disk = calls; }

// ---- messages -------------------------------------------------------------------------------

// What the path or the program is to blame for, and what the machine.
bool durable_blames_path(int error) {
    return error == EACCES || error == ENOENT || error == ENOTDIR || error == EISDIR ||
           error == EROFS || error == EPERM || error == ENAMETOOLONG || error == ELOOP;
}

static bool failed(const char *what, const char *path, Trouble *trouble) {
    int error = errno;
    TroubleKind kind = durable_blames_path(error) ? TROUBLE_OUTPUT_PATH : TROUBLE_WRITE;
    return retry_fail(trouble, error, kind, what, path);
}

// ---- folders --------------------------------------------------------------------------------

// Makes one folder of a path, and its name durable.
static bool make_one(const char *path, Trouble *trouble) {
    Retry retry = {.path = path};
    int status;
    do status = disk->make_folder(path);
    while (status != 0 && retry_again(&retry));
    retry_done(&retry);
    if (status == 0) return durable_sync_folder_of(path, trouble);
    return errno == EEXIST || failed("make the folder", path, trouble);
}

bool durable_make_folder(const char *path, Trouble *trouble) {
    char *copy = strdup(path);
    if (!copy) return trouble_no_memory(trouble, "for a path");
    bool good = true;
    for (char *at = copy + 1; good; at++) {
        if (*at != '/' && *at != '\0') continue;
        char end = *at;
        *at = '\0';
        good = make_one(copy, trouble);
        *at = end;
        if (end == '\0') break;
    }
    free(copy);
    return good;
}

bool durable_sync_folder_of(const char *path, Trouble *trouble) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) return trouble_no_memory(trouble, "for a path");
    int fd = disk->open(folder, O_RDONLY | O_DIRECTORY, 0);
    // Some file systems do not sync folders; that is not the job's fault.
    bool good = fd >= 0 && (disk->sync(fd) == 0 || errno == EINVAL);
    if (!good) failed("sync the folder", folder, trouble);
    if (fd >= 0) disk->close(fd);
    free(folder);
    return good;
}

bool durable_remove(const char *path) { return disk->unlink(path) == 0; }

// ---- files ----------------------------------------------------------------------------------

// Temporary files that go when the process ends at once.
static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static DurableFile *listed;

static void list(DurableFile *file) {
    file->next = listed;
    file->link = &listed;
    if (listed) listed->link = &file->next;
    listed = file;
}

static void unlist(DurableFile *file) {
    if (!file->link) return;
    *file->link = file->next;
    if (file->next) file->next->link = file->link;
    file->link = nullptr;
}

void durable_abandon(void) {
    pthread_mutex_lock(&listing);
    for (const DurableFile *file = listed; file; file = file->next) disk->unlink(file->temporary);
}

// The temporary name: hidden, beside the final one.
static char *temporary_name(const char *path, const char *tag) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    char *name = nullptr;
    int len = asprintf(&name, "%.*s.%s.%.*s", folder, path, path + folder, DURABLE_TAG, tag);
    return len < 0 ? nullptr : name;
}

// `marked`: the next job may remove the file when this one is killed.
static void random_tag(char tag[static DURABLE_TAG + 1], bool marked) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    uint8_t bytes[DURABLE_TAG];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) memset(bytes, 0, sizeof bytes);
    tag[0] = marked ? LEFTOVER_MARK : 'a';
    for (int i = 1; i < DURABLE_TAG; i++) tag[i] = letters[bytes[i] % (sizeof letters - 1)];
    tag[DURABLE_TAG] = '\0';
}

static int open_retried(const char *path, const char *shown, int flags) {
    Retry retry = {.path = shown};
    int fd;
    do fd = failpoint_fails("output-create") ? -1 : disk->open(path, flags, 0666);
    while (fd < 0 && retry_again(&retry));
    retry_done(&retry);
    return fd;
}

static bool open_random(DurableFile *file, bool marked) {
    enum { TRIES = 100 };
    char tag[DURABLE_TAG + 1];
    for (int i = 0; i < TRIES && file->fd < 0; i++) {
        random_tag(tag, marked);
        free(file->temporary);
        file->temporary = temporary_name(file->path, tag);
        if (!file->temporary) return false;
        file->fd = open_retried(file->temporary, file->path, O_RDWR | O_CREAT | O_EXCL);
        if (file->fd < 0 && errno != EEXIST) return false;
    }
    return file->fd >= 0;
}

// What an earlier run left under the name was not committed.
static bool open_empty(DurableFile *file) {
    file->fd = open_retried(file->temporary, file->path, O_RDWR | O_CREAT);
    return file->fd >= 0 && disk->truncate(file->fd, 0) == 0;
}

static bool open_listed(DurableFile *file) {
    bool marked = disk != &durable_system || leftover_sweep(file->path);
    pthread_mutex_lock(&listing);
    bool good = open_random(file, marked);
    if (good) list(file);
    pthread_mutex_unlock(&listing);
    return good;
}

bool durable_find(DurableFile *file) {
    file->fd = open_retried(file->temporary, file->path, O_RDWR);
    return file->fd >= 0;
}

bool durable_cut(const DurableFile *file, int64_t len, Trouble *trouble) {
    return disk->truncate(file->fd, len) == 0 || failed("cut", file->temporary, trouble);
}

bool durable_name(DurableFile *file, const DurableSetup *setup, Trouble *trouble) {
    *file = (DurableFile){.fd = -1, .replace = setup->replace, .keep = setup->tag};
    file->path = strdup(setup->path);
    if (file->path && setup->tag) file->temporary = temporary_name(setup->path, setup->tag);
    return (file->path && (file->temporary || !setup->tag)) ||
           trouble_no_memory(trouble, "for a path");
}

bool durable_create(DurableFile *file, const DurableSetup *setup, Trouble *trouble) {
    if (!durable_name(file, setup, trouble)) return false;
    const char *slash = strrchr(setup->path, '/');
    if (slash && slash > setup->path) {
        char *parent = strndup(setup->path, (size_t)(slash - setup->path));
        bool made = parent ? durable_make_folder(parent, trouble)
                           : trouble_no_memory(trouble, "for a path");
        free(parent);
        if (!made) return false;
    }
    if (setup->tag ? open_empty(file) : open_listed(file)) return true;
    failed("create a file beside", setup->path, trouble);
    if (file->fd < 0 && !setup->tag) {
        free(file->temporary);
        file->temporary = nullptr;
    }
    return false;
}

static bool put_all(int fd, const char *path, const char *bytes, int64_t len, int64_t offset) {
    Retry retry = {.path = path};
    while (len > 0) {
        ssize_t put = failpoint_fails("output-write") ? -1
                                                      : disk->write(fd, bytes, (size_t)len, offset);
        if (put < 0 && !retry_again(&retry)) break;
        if (put < 0) continue;
        retry_done(&retry);
        retry.tries = 0;
        bytes += put;
        len -= put;
        offset += put;
    }
    retry_done(&retry);
    return len == 0;
}

bool durable_write(const DurableFile *file, const char *bytes, int64_t len, int64_t offset,
                   Trouble *trouble) {
    return put_all(file->fd, file->path, bytes, len, offset) ||
           failed("write", file->path, trouble);
}

static int64_t read_all(int fd, char *bytes, int64_t len, int64_t offset) {
    int64_t at = 0;
    while (at < len) {
        ssize_t got = disk->read(fd, bytes + at, (size_t)(len - at), offset + at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        at += got;
    }
    return at;
}

int64_t durable_read(const DurableFile *file, char *bytes, int64_t len, int64_t offset,
                     Trouble *trouble) {
    int64_t got = read_all(file->fd, bytes, len, offset);
    if (got < 0) failed("read back", file->temporary, trouble);
    return got;
}

// ---- files that begin with another one ------------------------------------------------------

// What is known of the file under the name; -1: errno says why nothing is. It stays open in *fd
// until the caller closes that; -1: there is none.
static int look_up(const char *path, DurableBase *base, int *fd) {
    *base = (DurableBase){.appends = true};
    *fd = disk->open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (*fd < 0) return errno == ENOENT ? 0 : -1;
    if (disk->about(*fd, base) == 0) return 0;
    disk->close(*fd);
    *fd = -1;
    return -1;
}

static bool copy_rest(const DurableFile *file, int from, int64_t at, Trouble *trouble) {
    enum { BLOCK_BYTES = 1 << 20 };
    char *block = malloc(BLOCK_BYTES);
    if (!block) return trouble_no_memory(trouble, "to write '%s'", file->path);
    bool good = true;
    while (good && at < file->base.size) {
        int64_t want = file->base.size - at < BLOCK_BYTES ? file->base.size - at : BLOCK_BYTES;
        int64_t got = read_all(from, block, want, at);
        if (got < 0) good = failed("read", file->path, trouble);
        else if (got == 0)
            good = trouble_set(trouble, TROUBLE_APPEND_CHANGED,
                               "'%s' became shorter while it was read", file->path);
        else good = durable_write(file, block, got, at, trouble);
        at += got;
    }
    free(block);
    return good;
}

bool durable_copy_base(DurableFile *file, Trouble *trouble) {
    int from;
    if (look_up(file->path, &file->base, &from) != 0) return failed("read", file->path, trouble);
    if (from < 0) return true;
    int64_t done = disk->clone(from, file->fd, file->base.size);
    bool good = copy_rest(file, from, done, trouble);
    disk->close(from);
    return good;
}

bool durable_check_base(const char *path, const DurableBase *base, Trouble *trouble) {
    DurableBase now;
    int fd;
    if (look_up(path, &now, &fd) != 0) return failed("read", path, trouble);
    if (fd >= 0) disk->close(fd);
    if (base->is != now.is)
        return trouble_set(trouble, TROUBLE_APPEND_CHANGED, "'%s' %s since the job began", path,
                           now.is ? "exists" : "is gone");
    bool same = base->size == now.size && base->inode == now.inode &&
                base->seconds == now.seconds && base->nanoseconds == now.nanoseconds;
    return same || trouble_set(trouble, TROUBLE_APPEND_CHANGED,
                               "'%s' was changed since the job began", path);
}

// Who replaces a base locks it first. So another process that began with it finds it changed.
bool durable_rename_base(const char *temporary, const char *path, const DurableBase *base,
                         int64_t size, Trouble *trouble) {
    if (size >= 0 && !durable_is_there(temporary) && durable_size(path) >= size) return true;
    int fd = base->is ? disk->open(path, O_RDONLY | O_NOFOLLOW, 0) : -1;
    bool busy = fd >= 0 && disk->lock(fd) != 0 && errno == EWOULDBLOCK;
    bool good = busy ? trouble_set(trouble, TROUBLE_APPEND_CHANGED,
                                   "another process replaces '%s'", path)
                     : durable_check_base(path, base, trouble);
    good = good && durable_rename(temporary, path, base->is, size, trouble);
    if (fd >= 0) disk->close(fd);
    return good;
}

// ---- to the disk ----------------------------------------------------------------------------

bool durable_flush(DurableFile *file, Trouble *trouble) {
    if (file->failed)
        return trouble_set(trouble, TROUBLE_WRITE, "'%s' could not be synced", file->path);
    if (disk->sync_data(file->fd) == 0) return true;
    file->failed = true;
    return failed("sync", file->path, trouble);
}

bool durable_sync(DurableFile *file, Trouble *trouble) {
    if (file->fd < 0) return true;
    bool good = durable_flush(file, trouble);
    int fd = file->fd;
    file->fd = -1;
    if (disk->close(fd) != 0 && good) good = failed("close", file->path, trouble);
    return good;
}

bool durable_publish(DurableFile *file, Trouble *trouble) {
    pthread_mutex_lock(&listing);
    bool good = file->base.appends
                    ? durable_rename_base(file->temporary, file->path, &file->base, -1, trouble)
                    : durable_rename(file->temporary, file->path, file->replace, -1, trouble);
    if (good) unlist(file);
    pthread_mutex_unlock(&listing);
    if (!good) return false;
    free(file->temporary);
    file->temporary = nullptr;
    return true;
}

void durable_close(DurableFile *file) {
    if (file->fd >= 0) disk->close(file->fd);
    pthread_mutex_lock(&listing);
    if (file->temporary && !file->keep) disk->unlink(file->temporary);
    unlist(file);
    pthread_mutex_unlock(&listing);
    free(file->temporary);
    free(file->path);
    *file = (DurableFile){.fd = -1};
}

// ---- by name --------------------------------------------------------------------------------

static bool exists_since(const char *path, Trouble *trouble) {
    return trouble_set(trouble, TROUBLE_OUTPUT_EXISTS, "'%s' exists since the job began", path);
}

static bool opens(const char *path, int flags) {
    int fd = disk->open(path, O_PATH | O_NOFOLLOW | flags, 0);
    if (fd >= 0) disk->close(fd);
    return fd >= 0;
}

bool durable_is_there(const char *path) { return opens(path, 0); }

bool durable_is_folder(const char *path) { return opens(path, O_DIRECTORY); }

bool durable_check_name(const char *path, bool replace, Trouble *trouble) {
    if (durable_is_folder(path))
        return trouble_set(trouble, TROUBLE_OUTPUT_PATH, "'%s' is a folder since the job began",
                           path);
    return replace || !durable_is_there(path) || exists_since(path, trouble);
}

// A pipe that nobody writes to is not waited for.
int64_t durable_front(const char *path, char *bytes, int64_t len) {
    int fd = disk->open(path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0) return -1;
    int64_t got = read_all(fd, bytes, len, 0);
    disk->close(fd);
    return got;
}

bool durable_rename(const char *temporary, const char *path, bool replace, int64_t size,
                    Trouble *trouble) {
    if (disk->rename(temporary, path, replace) == 0) return true;
    if (errno == ENOENT && size >= 0 && durable_size(path) == size) return true;
    if (errno == EEXIST) return exists_since(path, trouble);
    return failed("rename a file to", path, trouble);
}

int64_t durable_size(const char *path) {
    int fd = disk->open(path, O_RDONLY, 0);
    if (fd < 0) return -1;
    int64_t size = disk->size(fd);
    disk->close(fd);
    return size;
}

int durable_lock_folder(const char *path) {
    int fd = disk->open(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || disk->lock(fd) == 0) return fd;
    int error = errno;
    disk->close(fd);
    errno = error;
    return -1;
}

void durable_unlock(int fd) { disk->close(fd); }

int durable_open(const char *path, bool make) {
    return make ? disk->open(path, O_RDWR | O_CREAT | O_TRUNC, 0666) : disk->open(path, O_RDWR, 0);
}

char *durable_load(const char *path, int64_t *len) {
    int fd = disk->open(path, O_RDONLY, 0);
    if (fd < 0) return nullptr;
    int64_t size = disk->size(fd);
    char *bytes = size >= 0 ? malloc((size_t)size + 1) : nullptr;
    *len = bytes ? read_all(fd, bytes, size, 0) : -1;
    int error = errno;
    disk->close(fd);
    errno = error;
    if (*len >= 0) return bytes;
    free(bytes);
    return nullptr;
}

bool durable_reserve(int fd, int64_t len) {
    Retry retry = {.path = "the journal"};
    int error;
    // Some file systems cannot: the room is then found, or not, when it is needed.
    do {
        error = failpoint_fails("journal-reserve") ? errno : disk->reserve(fd, len);
        if (error == EOPNOTSUPP || error == EINVAL) error = 0;
        errno = error;
    } while (error != 0 && retry_again(&retry));
    retry_done(&retry);
    return error == 0;
}

bool durable_get(int fd, char *bytes, int64_t len, int64_t offset) {
    return read_all(fd, bytes, len, offset) == len;
}

bool durable_put(int fd, const char *bytes, int64_t len, int64_t offset) {
    return put_all(fd, "the journal", bytes, len, offset);
}

bool durable_put_sync(int fd) { return disk->sync_data(fd) == 0; }

void durable_shut(int fd) { disk->close(fd); }
