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

static void make_entry(Arena *arena, const char *folder, const char *name, long used) {
    const char *path = text_c(arena, text_format(arena, "%s/%s", folder, name));
    struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10 && futimens(fd, times) == 0);
    close(fd);
}

static bool is_there(Arena *arena, const char *folder, const char *name) {
    return access(text_c(arena, text_format(arena, "%s/%s", folder, name)), F_OK) == 0;
}

static void the_least_recently_used_go_first(void) {
    Arena *arena = arena_new();
    char folder[] = "/tmp/sbc-cache-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    make_entry(arena, folder, "a", 1000);
    make_entry(arena, folder, "b", 2000);
    make_entry(arena, folder, "c", 3000);
    make_entry(arena, folder, "left.1.tmp", 1000);
    int fd = cache_open(arena, folder, "a");  // Now the newest.
    CHECK(fd >= 0);
    close(fd);
    CHECK(cache_open(arena, folder, "nothing") < 0);
    cache_trim(arena, folder, 30);
    CHECK(is_there(arena, folder, "b") && !is_there(arena, folder, "left.1.tmp"));
    cache_trim(arena, folder, 20);
    CHECK(!is_there(arena, folder, "b") && is_there(arena, folder, "c"));
    cache_trim(arena, folder, 19);
    CHECK(!is_there(arena, folder, "c") && is_there(arena, folder, "a"));
    cache_trim(arena, folder, 0);
    unlink(text_c(arena, text_format(arena, "%s/lock", folder)));
    CHECK(rmdir(folder) == 0);
    arena_free(arena);
}

static const UnitTest tests[] = {
    {"parts_of_a_key_do_not_run_together", parts_of_a_key_do_not_run_together},
    {"the_least_recently_used_go_first", the_least_recently_used_go_first},
};

UNIT_MAIN("cache", tests)
