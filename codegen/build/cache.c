#include "codegen/build/cache.h"

#include "stdlib/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- the folder ---------------------------------------------------------------------------------

static bool make_folders(char *path) {
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!there) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

const char *cache_folder(Arena *arena) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    Text path;
    if (base && base[0] == '/') path = text_format(arena, "%s/sbc", base);
    else if (home && home[0] == '/') path = text_format(arena, "%s/.cache/sbc", home);
    else return nullptr;
    const char *name = text_c(arena, path);
    char *own = arena_copy(arena, name, path.len + 1, 1);
    return make_folders(own) && access(name, R_OK | W_OK | X_OK) == 0 ? name : nullptr;
}

static const char *entry_path(Arena *arena, const char *folder, const char *name) {
    return text_c(arena, text_format(arena, "%s/%s", folder, name));
}

// ---- keys ---------------------------------------------------------------------------------------

void cache_key_add(TextBuf *parts, const char *what, Text part) {
    text_buf_format(parts, "%s %zu\n", what, part.len);
    text_buf_add(parts, part);
}

enum : uint64_t { SEED_LOW = 0, SEED_HIGH = 0x9e3779b97f4a7c15 };

static unsigned long long half_digest(Text bytes, uint64_t seed) {
    return sb_xxh64(bytes.at, (int64_t)bytes.len, seed);
}

// 128 bits: two XXH64 of different seeds.
static Text digest(Arena *arena, Text bytes) {
    return text_format(arena, "%016llx%016llx", half_digest(bytes, SEED_HIGH),
                       half_digest(bytes, SEED_LOW));
}

const char *cache_key(Arena *arena, const TextBuf *parts) {
    return text_c(arena, digest(arena, text_buf_view(parts)));
}

// ---- the build of sbc ---------------------------------------------------------------------------

static bool read_open(Arena *arena, int fd, Text *bytes) {
    struct stat st;
    bool good = fstat(fd, &st) == 0 && st.st_size >= 0;
    size_t len = good ? (size_t)st.st_size : 0, at = 0;
    char *room = arena_alloc(arena, len + 1, 1);
    while (good && at < len) {
        ssize_t got = pread(fd, room + at, len - at, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        good = got > 0;
        if (good) at += (size_t)got;
    }
    *bytes = (Text){room, len};
    return good;
}

static bool read_file(Arena *arena, const char *path, Text *bytes) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read_open(arena, fd, bytes);
    if (fd >= 0) close(fd);
    return good;
}

static bool write_file(Arena *arena, const char *path, Text bytes) {
    const char *beside = text_c(arena, text_format(arena, "%s.%ld.tmp", path, (long)getpid()));
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, bytes.at, bytes.len) == (ssize_t)bytes.len;
    if (fd >= 0) good = close(fd) == 0 && good;
    good = good && rename(beside, path) == 0;
    if (!good && fd >= 0) unlink(beside);
    return good;
}

bool cache_build_id(Arena *arena, const char *folder, Text *id) {
    Installation installation;
    TextBuf stamp = {0}, hashes = {0};
    bool good = installation_find(arena, &installation, &stamp);
    const char *files[] = {"/proc/self/exe", installation.codegen, installation.runtime};
    for (size_t i = 0; good && i < countof(files); i++) {
        struct stat st;
        good = stat(files[i], &st) == 0;
        if (good)
            text_buf_format(&stamp, "%lu %lu %lld %lld.%09ld\n", (unsigned long)st.st_dev,
                            (unsigned long)st.st_ino, (long long)st.st_size,
                            (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    }
    Text name = digest(arena, text_buf_view(&stamp));
    const char *kept = text_c(arena, text_format(arena, "%s/build-%.*s", folder, TEXT_ARG(name)));
    bool known = good && read_file(arena, kept, id) && id->len == name.len;
    for (size_t i = 0; good && !known && i < countof(files); i++) {
        Text bytes;
        good = read_file(arena, files[i], &bytes);
        if (good) text_buf_add(&hashes, digest(arena, bytes));
    }
    if (good && !known) {
        *id = digest(arena, text_buf_view(&hashes));
        write_file(arena, kept, *id);  // A full disk costs time, nothing else.
    }
    text_buf_free(&stamp);
    text_buf_free(&hashes);
    return good;
}

// ---- entries ------------------------------------------------------------------------------------

// After the executable stands a hash of its bytes. A machine that stopped before an entry reached
// its disk leaves an empty or torn file, which would be found for ever.
enum { SEAL_BYTES = 16 };

static Text seal_of(Arena *arena, Text bytes) {
    return text_format(arena, "%016llx", half_digest(bytes, SEED_LOW));
}

static bool is_sealed(Arena *arena, int fd) {
    Text bytes;
    if (!read_open(arena, fd, &bytes) || bytes.len < SEAL_BYTES) return false;
    size_t len = bytes.len - SEAL_BYTES;
    return text_eq(seal_of(arena, (Text){bytes.at, len}), (Text){bytes.at + len, SEAL_BYTES});
}

bool cache_keep(Arena *arena, const char *folder, const char *key, const char *job) {
    Text bytes;
    int fd = open(job, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool good = fd >= 0 && read_file(arena, job, &bytes);
    if (good) {
        Text seal = seal_of(arena, bytes);
        good = write(fd, seal.at, seal.len) == (ssize_t)seal.len;
    }
    if (fd >= 0) good = close(fd) == 0 && good;
    return good && rename(job, entry_path(arena, folder, key)) == 0;
}

int cache_open(Arena *arena, const char *folder, const char *key) {
    const char *path = entry_path(arena, folder, key);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    if (is_sealed(arena, fd)) {
        futimens(fd, nullptr);  // Fails only where entries are never removed either.
        return fd;
    }
    unlink(path);
    close(fd);
    return -1;
}

const char *cache_beside(Arena *arena, const char *folder, const char *key) {
    return text_c(arena, text_format(arena, "%s/%s.%ld.tmp", folder, key, (long)getpid()));
}

bool cache_get(Arena *arena, const char *folder, const char *key, Text *bytes) {
    int fd = cache_open(arena, folder, key);
    bool good = fd >= 0 && read_open(arena, fd, bytes) && bytes->len >= SEAL_BYTES;
    if (good) bytes->len -= SEAL_BYTES;
    if (fd >= 0) close(fd);
    return good;
}

bool cache_put(Arena *arena, const char *folder, const char *key, Text bytes) {
    TextBuf whole = {0};
    text_buf_add(&whole, bytes);
    text_buf_add(&whole, seal_of(arena, bytes));
    bool good = write_file(arena, entry_path(arena, folder, key), text_buf_view(&whole));
    text_buf_free(&whole);
    return good;
}

// A file without bytes: nothing of it can be torn.
static const char *good_path(Arena *arena, const char *folder, const char *key) {
    return text_c(arena, text_format(arena, "%s/good-%s", folder, key));
}

bool cache_is_good(Arena *arena, const char *folder, const char *key) {
    return access(good_path(arena, folder, key), F_OK) == 0;
}

void cache_keep_good(Arena *arena, const char *folder, const char *key) {
    write_file(arena, good_path(arena, folder, key), TEXT(""));  // A full disk costs time only.
}

typedef struct Entry {
    const char *path;
    int64_t     bytes;
    struct timespec used;
} Entry;

static int by_use(const void *a, const void *b) {
    const struct timespec *x = &((const Entry *)a)->used, *y = &((const Entry *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

// What is unfinished after so long was left by a process that is gone.
enum { UNFINISHED_SECONDS_MAX = 3600 };

static void trim(Arena *arena, const char *folder, DIR *dir, int64_t bytes_max) {
    Entry *entries = nullptr;
    size_t count = 0, cap = 0;
    int64_t bytes = 0;
    time_t now = time(nullptr);
    for (struct dirent *found; (found = readdir(dir));) {
        struct stat st;
        Entry entry = {.path = entry_path(arena, folder, found->d_name)};
        if (found->d_name[0] == '.' || strcmp(found->d_name, "lock") == 0) continue;
        if (stat(entry.path, &st) || !S_ISREG(st.st_mode)) continue;
        size_t len = strlen(found->d_name);
        if (len > 4 && strcmp(found->d_name + len - 4, ".tmp") == 0) {
            if (now - st.st_mtim.tv_sec > UNFINISHED_SECONDS_MAX) unlink(entry.path);
            continue;
        }
        entry.bytes = st.st_size;
        entry.used = st.st_mtim;
        bytes += entry.bytes;
        arena_push(arena, entries, count, cap, entry);
    }
    if (count) qsort(entries, count, sizeof *entries, by_use);
    for (size_t i = 0; i < count && bytes > bytes_max; i++) {
        if (unlink(entries[i].path) == 0) bytes -= entries[i].bytes;
    }
}

void cache_trim(Arena *arena, const char *folder, int64_t bytes_max) {
    int lock = open(entry_path(arena, folder, "lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) return;
    DIR *dir = flock(lock, LOCK_EX | LOCK_NB) == 0 ? opendir(folder) : nullptr;
    if (dir) {
        trim(arena, folder, dir, bytes_max);
        closedir(dir);
    }
    close(lock);
}
