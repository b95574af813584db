// Link key: the same file gives the same key, another file another one, and a file that others may
// read gives none. Run alone: zig-out/test/link_key_test
#include "runtime/worker.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char path[] = "link_key_test.key";

static void put(const char *byte, int count, mode_t mode) {
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && fchmod(fd, mode) == 0);
    for (int i = 0; i < count; i++) CHECK(write(fd, byte, 1) == 1);
    close(fd);
}

static bool reads(LinkKey *key) {
    Trouble trouble = {0};
    bool good = link_key_read(path, key, &trouble);
    CHECK_SAYS(good || trouble.kind == TROUBLE_KEY_FILE, "%s", trouble.text);
    trouble_close(&trouble);
    return good;
}

static void a_file_is_a_key(void) {
    LinkKey one, same, other;
    put("a", 32, 0600);
    CHECK(reads(&one) && reads(&same) && memcmp(&one, &same, sizeof one) == 0);
    put("b", 32, 0400);
    CHECK(reads(&other) && memcmp(&one, &other, sizeof one) != 0);
    put("a", 33, 0600);
    CHECK(reads(&other) && memcmp(&one, &other, sizeof one) != 0);
    put("a", 4096, 0600);
    CHECK(reads(&other));
    unlink(path);
}

static void other_files_are_none(void) {
    LinkKey key;
    put("a", 31, 0600);
    CHECK(!reads(&key));
    put("a", 0, 0600);
    CHECK(!reads(&key));
    put("a", 4097, 0600);
    CHECK(!reads(&key));
    for (mode_t bit = 1; bit <= 040; bit *= 2) {
        put("a", 32, 0600 | bit);
        CHECK(!reads(&key));
    }
    unlink(path);
    CHECK(!reads(&key));
    CHECK(mkdir(path, 0700) == 0 && !reads(&key));
    rmdir(path);
    CHECK(mkfifo(path, 0600) == 0 && !reads(&key));  // Nobody writes to it: that takes no time.
    unlink(path);
}

static void addresses_are_of_tcp(void) {
    LinkAddress address;
    link_tcp_address("host:7000", &address);
    CHECK(strcmp(address.text, "tcp:host:7000") == 0);
    link_tcp_address("tcp:host:7000", &address);
    CHECK(strcmp(address.text, "tcp:host:7000") == 0);
}

static const UnitTest tests[] = {
    {"a_file_is_a_key", a_file_is_a_key},
    {"other_files_are_none", other_files_are_none},
    {"addresses_are_of_tcp", addresses_are_of_tcp},
};

UNIT_MAIN("link_key", tests)
