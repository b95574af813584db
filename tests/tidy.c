// tidy: the house rules that a machine can check. `tidy FILE...` reads each file once and prints
// "path:line: rule"; the last line counts files as tests.
#include <stdio.h>
#include <string.h>

enum { COLUMNS_MAX = 100, FUNCTION_LINES_MAX = 70, FILE_LINES_MAX = 800, LINE_BYTES = 1 << 16 };

#define COUNTOF(array) (sizeof(array) / sizeof *(array))

// Which project headers a folder may include besides its own. Longer prefixes stand first.
static const struct Layer {
    const char *folder;
    const char *may[8];
} layers[] = {
    {"ir/", {nullptr}},
    {"frontend/", {"ir/", nullptr}},
    // The interpreter shares the scalar library, and the scratch memory that it allocates from.
    {"codegen/reference/",
     {"codegen/", "ir/", "stdlib/", "runtime/abi", "runtime/report/troubles.def",
      "runtime/options/options.def", "runtime/memory.h", nullptr}},
    {"codegen/", {"ir/", "stdlib/", "runtime/abi", nullptr}},
    {"runtime/core/", {"runtime/abi/bits.h", nullptr}},
    {"runtime/", {"runtime/", "stdlib/", nullptr}},
    {"stdlib/", {"runtime/abi", "stdlib/", nullptr}},
    {"tests/", {"", nullptr}},
    {"driver/",
     {"frontend/", "ir/", "codegen/", "stdlib/", "runtime/abi", "runtime/report/troubles.def",
      "runtime/options/options.def", nullptr}},
    {"sbc.c", {"driver/", "ir/", nullptr}},
};

// The rooms of the runtime and the standard library, lowest first. A file includes headers of its
// own room and of rooms before it.
static const char *const rooms[] = {
    "runtime/abi/", "runtime/memory/", "stdlib/text/", "stdlib/number/", "stdlib/time/",
    "stdlib/hash/", "stdlib/value/", "stdlib/aggregate/", "stdlib/regex/", "stdlib/json/",
    "stdlib/csv/", "stdlib/field/", "stdlib/cast/", "runtime/report/", "runtime/crash/",
    "runtime/host/", "runtime/compression/", "runtime/rows/", "runtime/disk/",
    "runtime/breakers/", "runtime/input/", "runtime/output/", "runtime/rejects/", "runtime/task/",
    "runtime/core/", "runtime/options/", "runtime/plan/", "runtime/job/", "runtime/dispatch/",
    "runtime/limits/", "runtime/resume/", "runtime/observe/", "runtime/main/",
};

// A third-party header belongs to one place.
static const struct Owner {
    const char *header;
    const char *places[3];
} owners[] = {
    {"<yaml.h>", {"runtime/options/config", "codegen/build/", nullptr}},
    {"<uv.h>", {"runtime/main/control", "runtime/observe/http", nullptr}},
    {"<llvm-c/", {"codegen/", nullptr, nullptr}},
    {"<zlib.h>", {"runtime/", "codegen/reference/", "driver/peek"}},
    {"<zstd.h>", {"runtime/", "codegen/reference/", "driver/peek"}},
    {"<xxhash.h>", {"runtime/host/checksum", nullptr, nullptr}},
    {"<utf8proc.h>", {"stdlib/", "driver/table", nullptr}},
    {"<ffi.h>", {"codegen/reference/", nullptr, nullptr}},
};

static const struct Banned {
    const char *call, *instead;
} banned[] = {
    {" strcpy(", "memcpy with a length"}, {" sprintf(", "snprintf"},  {" strtok(", "a loop"},
    {" gets(", "fgets"},                  {" alloca(", "the arena"}, {" strcat(", "a text buffer"},
    {"setlocale(", "nothing: jobs have no locale"},
};

static int problems;

static bool starts(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void problem(const char *path, int line, const char *rule, const char *detail) {
    printf("%s:%d: %s%s\n", path, line, rule, detail);
    problems++;
}

static void check_owner(const char *path, int line, const char *what) {
    for (size_t i = 0; i < COUNTOF(owners); i++) {
        if (!starts(what, owners[i].header)) continue;
        for (size_t p = 0; p < COUNTOF(owners[i].places) && owners[i].places[p]; p++)
            if (starts(path, owners[i].places[p])) return;
        if (!starts(path, "tests/")) problem(path, line, "header outside its owner: ", what);
    }
}

// The cores of the scheduler are pure: nothing that reads a clock, does I/O or allocates.
static void check_core(const char *path, int line, const char *what) {
    static const char *const pure[] = {"<stdbool.h>", "<stddef.h>", "<stdint.h>", "<string.h>"};
    for (size_t i = 0; i < COUNTOF(pure); i++)
        if (starts(what, pure[i])) return;
    problem(path, line, "a core includes ", what);
}

// The number of the room that a path is in: of a file of its folder, or of the public header beside
// that, runtime/disk.h of runtime/disk/. COUNTOF(rooms): none.
static size_t room_of(const char *path) {
    size_t room = 0;
    for (; room < COUNTOF(rooms); room++) {
        size_t len = strlen(rooms[room]) - 1;
        if (strncmp(path, rooms[room], len) != 0) continue;
        if (path[len] == '/' || starts(path + len, ".h\"") || strcmp(path + len, ".h") == 0) break;
    }
    return room;
}

// Rooms whose headers are all public: the seam with generated code, in parts by who uses them.
static bool is_open(size_t room) { return strcmp(rooms[room], "runtime/abi/") == 0; }

// A room includes from itself and lower ones; who stands outside of a room includes its public
// header, or a table of it.
static void check_room(const char *path, int line, const char *what) {
    bool has_rooms = starts(path, "runtime/") || starts(path, "stdlib/");
    size_t from = room_of(path), to = room_of(what);
    if (has_rooms && from == COUNTOF(rooms)) problem(path, line, "file outside every room", "");
    if (to == COUNTOF(rooms) || from == to || starts(path, "tests/")) return;
    if (has_rooms && to > from) problem(path, line, "include from a higher room: ", what);
    bool inside = starts(what, rooms[to]) && !strstr(what, ".def\"");
    if (inside && !is_open(to)) problem(path, line, "not the public header of its room: ", what);
}

static void check_include(const char *path, int line, const char *what) {
    check_owner(path, line, what);
    if (*what != '"' && starts(path, "runtime/core/")) check_core(path, line, what);
    if (*what != '"') return;
    check_room(path, line, what + 1);
    for (size_t i = 0; i < COUNTOF(layers); i++) {
        if (!starts(path, layers[i].folder)) continue;
        if (starts(what + 1, layers[i].folder)) return;
        for (const char *const *may = layers[i].may; *may; may++)
            if (starts(what + 1, *may)) return;
        problem(path, line, "include against the layering: ", what);
        return;
    }
}

// Columns of a line of UTF-8: bytes that begin a character.
static int columns(const char *text) {
    int count = 0;
    for (; *text; text++) count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void check_line(const char *path, int line, const char *text, char last) {
    bool table = strstr(path, ".def") != nullptr;
    if (columns(text) > COLUMNS_MAX && !table) problem(path, line, "line over 100 columns", "");
    if (last == ' ' || last == '\t') problem(path, line, "trailing space", "");
    if (strchr(text, '\t')) problem(path, line, "tab", "");
    if (starts(text, "#include ")) check_include(path, line, text + strlen("#include "));
    for (size_t i = 0; i < COUNTOF(banned) && !starts(path, "tests/"); i++)
        if (strstr(text, banned[i].call)) problem(path, line, "use ", banned[i].instead);
}

// A comment, or the file's own header, which has it.
static bool opens_well(const char *text) {
    return starts(text, "//") || starts(text, "#include \"") || starts(text, "#define _GNU_SOURCE");
}

// What a merge leaves behind.
static bool is_conflict(const char *text) {
    return starts(text, "<<<<<<< ") || starts(text, ">>>>>>> ");
}

static bool is_c(const char *path) {
    const char *end = strrchr(path, '.');
    return end && (strcmp(end, ".c") == 0 || strcmp(end, ".h") == 0);
}

static void check_merged(const char *path, FILE *file) {
    static char text[LINE_BYTES];
    for (int line = 1; fgets(text, sizeof text, file); line++)
        if (is_conflict(text)) problem(path, line, "a conflict that nobody solved", "");
}

// A function is what stands between a line at column 0 that ends in "{" and the next "}" there.
static void check_file(const char *path, FILE *file) {
    static char text[LINE_BYTES];
    int line = 0, start = 0;
    bool comment_first = false;
    while (fgets(text, sizeof text, file)) {
        line++;
        text[strcspn(text, "\n")] = '\0';
        size_t len = strlen(text);
        char last = len ? text[len - 1] : '\0';
        if (line == 1) comment_first = opens_well(text);
        check_line(path, line, text, last);
        if (last == '{' && strchr(text, '(') && text[0] != ' ' && text[0] != '#') start = line;
        if (text[0] != '}' || !start) continue;
        if (line - start >= FUNCTION_LINES_MAX) problem(path, start, "function over 70 lines", "");
        start = 0;
    }
    bool table = strstr(path, ".def") != nullptr;
    if (!comment_first && !table)
        problem(path, 1, "no sentence that says what the file is for", "");
    if (line > FILE_LINES_MAX && !table) problem(path, line, "file over 800 lines", "");
}

// Each C file is a test; that no other text keeps the marks of a merge is one more.
int main(int argc, char **argv) {
    int failed = 0, passed = 0;
    bool merged = true;
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "r");
        if (!file) return perror(argv[i]), 2;
        int before = problems;
        if (is_c(argv[i])) check_file(argv[i], file);
        rewind(file);
        check_merged(argv[i], file);
        bool good = problems == before;
        if (is_c(argv[i])) passed += good, failed += !good;
        else merged &= good;
        fclose(file);
    }
    passed += merged, failed += !merged;
    printf("tidy: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
