// unit.h: the smallest test harness. A test program lists its tests in one table and prints
// "NAME: N passed, N failed" last. `PROGRAM NAME` runs one test alone.
#ifndef SBC_TESTS_UNIT_UNIT_H
#define SBC_TESTS_UNIT_UNIT_H

#include <stdio.h>
#include <string.h>

typedef struct UnitTest {
    const char *name;
    void (*run)(void);
} UnitTest;

static int unit_failures;

// Fails the running test, says where, and goes on.
#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            unit_failures++;                                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);               \
        }                                                                                         \
    } while (0)

// As CHECK, with a printf of what was seen.
#define CHECK_SAYS(condition, ...)                                                                \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            unit_failures++;                                                                      \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);               \
            fprintf(stderr, __VA_ARGS__);                                                         \
            fputc('\n', stderr);                                                                  \
        }                                                                                         \
    } while (0)

static inline int unit_main(const char *name, const UnitTest *tests, size_t count, int argc,
                            char **argv) {
    int passed = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
        int before = unit_failures;
        tests[i].run();
        if (unit_failures == before) {
            passed++;
            continue;
        }
        failed++;
        fprintf(stderr, "%s %s: FAILED; run it alone: %s %s\n", name, tests[i].name, argv[0],
                tests[i].name);
    }
    printf("%s: %d passed, %d failed, 0 skipped\n", name, passed, failed);
    return failed > 0;
}

#define UNIT_MAIN(name, tests)                                                                    \
    int main(int argc, char **argv) {                                                             \
        return unit_main(name, tests, sizeof(tests) / sizeof *(tests), argc, argv);               \
    }

#endif
