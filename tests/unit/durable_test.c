// Files that last: what the real disk does, and what is left of it when the model's power fails.
#define _GNU_SOURCE
#include "runtime/host/durable.h"
#include "tests/unit/model_disk.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

static bool make(DurableFile *file, const char *path, const char *bytes) {
    Trouble trouble = {0};
    DurableSetup setup = {.path = path};
    return durable_create(file, &setup, &trouble) &&
           durable_write(file, bytes, (int64_t)strlen(bytes), 0, &trouble);
}

static void a_file_appears_when_it_is_published(void) {
    durable_use(&durable_system);
    char root[] = "/tmp/sbc-durable-XXXXXX", path[64];
    CHECK(mkdtemp(root));
    snprintf(path, sizeof path, "%s/a/b.txt", root);
    DurableFile file;
    Trouble trouble = {0};
    CHECK(make(&file, path, "text"));
    CHECK(access(path, F_OK) != 0);
    CHECK(durable_sync(&file, &trouble) && durable_publish(&file, &trouble));
    struct stat is;
    mode_t mask = umask(0);
    umask(mask);
    CHECK(stat(path, &is) == 0 && is.st_size == 4 && (is.st_mode & 0777) == (0666 & ~mask));
    durable_close(&file);
    CHECK(make(&file, path, "other") && durable_sync(&file, &trouble));
    CHECK(!durable_publish(&file, &trouble) && trouble.kind == TROUBLE_OUTPUT_EXISTS);
    durable_close(&file);
    CHECK(unlink(path) == 0);
    *strrchr(path, '/') = '\0';
    CHECK(rmdir(path) == 0 && rmdir(root) == 0);
}

static void a_folder_is_locked_once(void) {
    durable_use(&durable_system);
    char root[] = "/tmp/sbc-durable-XXXXXX";
    CHECK(mkdtemp(root));
    int first = durable_lock_folder(root);
    CHECK(first >= 0 && durable_lock_folder(root) == -1 && errno == EWOULDBLOCK);
    durable_unlock(first);
    int again = durable_lock_folder(root);
    CHECK(again >= 0);
    durable_unlock(again);
    rmdir(root);
}

// Whatever the crash: a file that was published and whose folder was synced is there and whole;
// one that was not synced need not be, and over many crashes is seen lost, torn and whole.
static void what_was_synced_is_there_after_a_crash(void) {
    enum { ROUNDS = 500, BYTES = 4 * MODEL_SECTOR };
    int whole = 0, torn = 0, none = 0;
    char text[BYTES + 1] = {0};
    memset(text, 'x', BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        model_begin();
        DurableFile safe, loose;
        Trouble trouble = {0};
        CHECK(make(&safe, "d/safe", text) && durable_sync(&safe, &trouble) &&
              durable_publish(&safe, &trouble) && durable_sync_folder_of("d/safe", &trouble));
        CHECK(make(&loose, "d/loose", text) && durable_publish(&loose, &trouble));
        model_crash();
        int64_t len = 0;
        const char *bytes = model_holds("d/safe", &len);
        CHECK(bytes && len == BYTES && memcmp(bytes, text, BYTES) == 0);
        bytes = model_holds("d/loose", &len);
        bool same = bytes && len == BYTES && memcmp(bytes, text, BYTES) == 0;
        none += !bytes;
        whole += same;
        torn += bytes && !same;
        durable_close(&safe);
        durable_close(&loose);
    }
    CHECK_SAYS(none > 0 && whole > 0 && torn > 0, "%d %d %d", none, whole, torn);
    durable_use(&durable_system);
}

static void a_sync_that_failed_is_not_tried_again(void) {
    model_begin();
    DurableFile file;
    Trouble trouble = {0};
    CHECK(make(&file, "f", "text"));
    model_fail_sync(1);
    CHECK(!durable_flush(&file, &trouble) && trouble.kind == TROUBLE_WRITE);
    int64_t calls = model.calls;
    trouble = (Trouble){0};
    CHECK(!durable_flush(&file, &trouble) && model.calls == calls);
    durable_close(&file);
    durable_use(&durable_system);
}

// The name says where a resumed job goes on; what it does not want of the file is cut off.
static void a_tagged_file_is_found_again(void) {
    model_begin();
    DurableFile file;
    Trouble trouble = {0};
    DurableSetup setup = {.path = "f", .tag = "abcdef"};
    CHECK(durable_create(&file, &setup, &trouble));
    CHECK(durable_write(&file, "0123456789", 10, 0, &trouble));
    durable_close(&file);
    CHECK(durable_name(&file, &setup, &trouble) && durable_find(&file));
    CHECK(durable_cut(&file, 4, &trouble));
    char bytes[16];
    CHECK(durable_read(&file, bytes, sizeof bytes, 0, &trouble) == 4);
    CHECK(memcmp(bytes, "0123", 4) == 0 && durable_size(".f.abcdef") == 4);
    CHECK(durable_sync(&file, &trouble) && durable_publish(&file, &trouble));
    CHECK(durable_rename(".f.abcdef", "f", false, 4, &trouble));
    CHECK(!durable_rename(".f.abcdef", "f", false, 5, &trouble));
    durable_close(&file);
    durable_use(&durable_system);
}

static void what_is_abandoned_goes_unless_it_is_kept(void) {
    model_begin();
    DurableFile plain, kept;
    Trouble trouble = {0};
    CHECK(make(&plain, "f", "text"));
    CHECK(durable_create(&kept, &(DurableSetup){.path = "g", .tag = "abcdef"}, &trouble));
    DurableFile gone;
    CHECK(make(&gone, "h", "text"));
    durable_close(&gone);
    CHECK(durable_size(plain.temporary) == 4);
    durable_abandon();
    CHECK(durable_size(plain.temporary) == -1 && durable_size(kept.temporary) == 0);
    // Nothing is closed behind it: the process ends.
    DurableFile *left[] = {&plain, &kept};
    for (int i = 0; i < 2; i++) free(left[i]->path), free(left[i]->temporary);
    durable_use(&durable_system);
}

static const UnitTest tests[] = {
    {"a_file_appears_when_it_is_published", a_file_appears_when_it_is_published},
    {"a_folder_is_locked_once", a_folder_is_locked_once},
    {"what_was_synced_is_there_after_a_crash", what_was_synced_is_there_after_a_crash},
    {"a_sync_that_failed_is_not_tried_again", a_sync_that_failed_is_not_tried_again},
    {"a_tagged_file_is_found_again", a_tagged_file_is_found_again},
    {"what_is_abandoned_goes_unless_it_is_kept", what_is_abandoned_goes_unless_it_is_kept},
};

UNIT_MAIN("durable_test", tests)
