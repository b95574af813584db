// The cache of jobs: keys, and that it stays within its bound.
#include "codegen/build/cache.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *key_of(Arena *arena, const char *first, const char *second) {
    TextBuf parts = {0};
    cache_key_add(&parts, "text", text_of(first));
    cache_key_add(&parts, "text", text_of(second));
    const char *key = cache_key(arena, &parts);
    text_buf_free(&parts);
    return key;
}

static void parts_of_a_key_do_not_run_together(void) {
    Arena *arena = arena_new();
    CHECK(strcmp(key_of(arena, "ab", "c"), key_of(arena, "ab", "c")) == 0);
    CHECK(strcmp(key_of(arena, "ab", "c"), key_of(arena, "a", "bc")) != 0);
    CHECK(strlen(key_of(arena, "", "")) == 32);
    arena_free(arena);
}

enum { ENTRY_BYTES = 10 + 16 };  // With the hash behind it.

static const char *path_of(Arena *arena, const char *folder, const char *name) {
    return text_c(arena, text_format(arena, "%s/%s", folder, name));
}

static void make_file(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10);
    close(fd);
}

static void use_at(const char *path, long used) {
    struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static void make_entry(Arena *arena, const char *folder, const char *name, long used) {
    const char *job = cache_beside(arena, folder, name);
    make_file(job);
    CHECK(cache_keep(arena, folder, name, job));
    use_at(path_of(arena, folder, name), used);
}

static bool is_there(Arena *arena, const char *folder, const char *name) {
    return access(path_of(arena, folder, name), F_OK) == 0;
}

static void the_least_recently_used_go_first(void) {
    Arena *arena = arena_new();
    char folder[] = "/tmp/sbc-cache-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    make_entry(arena, folder, "a", 1000);
    make_entry(arena, folder, "b", 2000);
    make_entry(arena, folder, "c", 3000);
    make_file(path_of(arena, folder, "left.1.tmp"));
    use_at(path_of(arena, folder, "left.1.tmp"), 1000);
    int fd = cache_open(arena, folder, "a");  // Now the newest.
    CHECK(fd >= 0);
    close(fd);
    CHECK(cache_open(arena, folder, "nothing") < 0);
    cache_trim(arena, folder, 3 * ENTRY_BYTES);
    CHECK(is_there(arena, folder, "b") && !is_there(arena, folder, "left.1.tmp"));
    cache_trim(arena, folder, 2 * ENTRY_BYTES);
    CHECK(!is_there(arena, folder, "b") && is_there(arena, folder, "c"));
    cache_trim(arena, folder, 2 * ENTRY_BYTES - 1);
    CHECK(!is_there(arena, folder, "c") && is_there(arena, folder, "a"));
    cache_trim(arena, folder, 0);
    unlink(path_of(arena, folder, "lock"));
    CHECK(rmdir(folder) == 0);
    arena_free(arena);
}

// Opens the entry with the byte at `place` changed, or cut there.
static int open_damaged(Arena *arena, const char *folder, off_t place, bool cut) {
    const char *path = path_of(arena, folder, "a");
    make_entry(arena, folder, "a", 1000);
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && (cut ? ftruncate(fd, place) == 0 : pwrite(fd, "?", 1, place) == 1));
    close(fd);
    return cache_open(arena, folder, "a");
}

static void damaged_entries_are_made_anew(void) {
    Arena *arena = arena_new();
    char folder[] = "/tmp/sbc-cache-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    static const off_t places[] = {0, 9, 10, ENTRY_BYTES - 1};
    for (size_t i = 0; i < countof(places); i++) {
        for (int cut = 0; cut < 2; cut++) {
            CHECK(open_damaged(arena, folder, places[i], cut) < 0);
            CHECK(!is_there(arena, folder, "a"));
        }
    }
    CHECK(rmdir(folder) == 0);
    arena_free(arena);
}

static const UnitTest tests[] = {
    {"parts_of_a_key_do_not_run_together", parts_of_a_key_do_not_run_together},
    {"the_least_recently_used_go_first", the_least_recently_used_go_first},
    {"damaged_entries_are_made_anew", damaged_entries_are_made_anew},
};

UNIT_MAIN("cache", tests)
