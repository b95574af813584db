// tidy: the house rules that a machine can check. `tidy FILE...` reads each file once and prints
// "path:line: rule"; the last line counts files as tests.
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS_MAX = 100, FUNCTION_LINES_MAX = 70, FILE_LINES_MAX = 800, LINE_BYTES = 1 << 16,
       NAME_BYTES = 256, NAMES_MAX = 512 };

#define COUNTOF(array) (sizeof(array) / sizeof *(array))

// Which project headers a folder may include besides its own. Longer prefixes stand first.
static const struct Layer {
    const char *folder;
    const char *may[9];
} layers[] = {
    {"ir/", {nullptr}},
    {"frontend/", {"ir/", nullptr}},
    // The interpreter shares the scalar library, the scratch memory that it allocates from, and
    // processes of Python.
    {"codegen/reference/",
     {"codegen/", "ir/", "stdlib/", "runtime/abi", "runtime/report/troubles.def",
      "runtime/options/options.def", "runtime/memory.h", "runtime/python.h", nullptr}},
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

// The parts of formats, stdlib/formats/NAME/PART.c or PART_*.c: each belongs to another layer. All
// include headers of their own folder.
static const struct Layer format_parts[] = {
    {"describe", {"ir/", nullptr}},
    {"emit", {"codegen/emit", "ir/", "stdlib/", "runtime/abi", nullptr}},
    {"read", {"runtime/", "stdlib/", nullptr}},
    {"write", {"runtime/", "stdlib/", nullptr}},
    {"reference", {"codegen/reference/", "ir/", "stdlib/", "runtime/abi", nullptr}},
};
static const char formats[] = "stdlib/formats/";

// The rooms of the runtime and the standard library, lowest first. A file includes headers of its
// own room and of rooms before it.
static const char *const rooms[] = {
    "runtime/abi/", "runtime/memory/", "stdlib/text/", "stdlib/number/", "stdlib/time/",
    "stdlib/hash/", "stdlib/value/", "stdlib/aggregate/", "stdlib/regex/", "stdlib/json/",
    "stdlib/csv/", "stdlib/field/", "stdlib/cast/", "stdlib/arrow/", "runtime/python/",
    "runtime/report/", "runtime/crash/", "runtime/host/", "runtime/worker/", "runtime/device/",
    "runtime/compression/", "runtime/rows/", "runtime/disk/", "runtime/breakers/",
    "runtime/format/", "runtime/input/", "runtime/output/", "stdlib/formats/", "runtime/rejects/",
    "runtime/task/", "runtime/wire/", "runtime/core/", "runtime/options/", "runtime/plan/",
    "runtime/job/", "runtime/serve/", "runtime/dispatch/", "runtime/limits/", "runtime/resume/",
    "runtime/observe/", "runtime/main/",
};

// A third-party header belongs to one place.
static const struct Owner {
    const char *header;
    const char *places[4];
} owners[] = {
    {"<yaml.h>", {"runtime/options/config", "codegen/build/", nullptr}},
    {"<uv.h>", {"runtime/main/control", "runtime/observe/http", "runtime/worker/links", nullptr}},
    {"<openssl/", {"runtime/worker/link_tls", "runtime/worker/link_openssl", nullptr}},
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

static bool may_include(const struct Layer *layer, const char *what) {
    for (const char *const *may = layer->may; *may; may++)
        if (starts(what, *may)) return true;
    return false;
}

// A part of a format, by the name of its file.
static void check_format_part(const char *path, int line, const char *what) {
    const char *slash = strrchr(path, '/');
    size_t folder = (size_t)(slash + 1 - path);
    bool header = strcmp(path + strlen(path) - 2, ".h") == 0;
    for (size_t i = 0; i < COUNTOF(format_parts); i++) {
        size_t len = strlen(format_parts[i].folder);
        bool of_part = starts(slash + 1, format_parts[i].folder) &&
                       (slash[1 + len] == '.' || slash[1 + len] == '_');
        if (!of_part) continue;
        if (strncmp(what + 1, path, folder) != 0 && !may_include(&format_parts[i], what + 1))
            problem(path, line, "include against the layering: ", what);
        return;
    }
    if (!header) problem(path, line, "no part of a format has this name", "");
    else problem(path, line, "headers of a format include nothing of the project: ", what);
}

static void check_include(const char *path, int line, const char *what) {
    check_owner(path, line, what);
    if (*what != '"' && starts(path, "runtime/core/")) check_core(path, line, what);
    if (*what != '"') return;
    check_room(path, line, what + 1);
    if (starts(path, formats)) {
        check_format_part(path, line, what);
        return;
    }
    for (size_t i = 0; i < COUNTOF(layers); i++) {
        if (!starts(path, layers[i].folder)) continue;
        if (!starts(what + 1, layers[i].folder) && !may_include(&layers[i], what + 1))
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

// A file of the project that a line names, by its folders, is there.
static void check_names(const char *path, int line, const char *text) {
    static const char *const tops[] = {"codegen/", "driver/", "frontend/", "ir/", "runtime/",
                                       "stdlib/"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_/.";
    for (size_t i = 0; i < COUNTOF(tops); i++) {
        const char *at = strstr(text, tops[i]);
        char name[NAME_BYTES];
        if (!at || (at > text && strchr("/_<", at[-1]))) continue;
        size_t len = strspn(at, letters);
        if (len >= sizeof name) continue;
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        if (len && name[len - 1] == '.') name[--len] = '\0';  // The end of a sentence.
        const char *end = strrchr(name, '.');
        bool file = end && (strcmp(end, ".c") == 0 || strcmp(end, ".h") == 0 ||
                            strcmp(end, ".def") == 0 || strcmp(end, ".decl") == 0);
        if (file && access(name, F_OK) != 0) problem(path, line, "there is no ", name);
    }
}

static void check_line(const char *path, int line, const char *text, char last) {
    bool table = strstr(path, ".def") != nullptr;
    if (columns(text) > COLUMNS_MAX && !table) problem(path, line, "line over 100 columns", "");
    if (last == ' ' || last == '\t') problem(path, line, "trailing space", "");
    if (strchr(text, '\t')) problem(path, line, "tab", "");
    check_names(path, line, text);
    if (starts(text, "#include ")) check_include(path, line, text + strlen("#include "));
    for (size_t i = 0; i < COUNTOF(banned) && !starts(path, "tests/"); i++)
        if (strstr(text, banned[i].call)) problem(path, line, "use ", banned[i].instead);
}

// The name that a line of a header declares as a function, or "".
static void declared(const char *text, char name[static NAME_BYTES]) {
    static const char *const no[] = {"typedef ", "static ", "#", "//", "_", "}", " "};
    const char *open = strchr(text, '('), *begin = open;
    name[0] = '\0';
    for (size_t i = 0; i < COUNTOF(no); i++)
        if (starts(text, no[i])) return;
    if (!open || open == text) return;
    while (begin > text && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_')) begin--;
    if (begin > text) snprintf(name, NAME_BYTES, "%.*s", (int)(open - begin), begin);
}

// No function stands twice in a header.
static void check_declared(const char *path, FILE *file) {
    static char names[NAMES_MAX][NAME_BYTES], text[LINE_BYTES];
    int count = 0;
    for (int line = 1; fgets(text, sizeof text, file); line++) {
        if (count == NAMES_MAX) break;
        declared(text, names[count]);
        if (!names[count][0]) continue;
        for (int i = 0; i < count; i++)
            if (strcmp(names[i], names[count]) == 0)
                problem(path, line, "declared twice: ", names[i]);
        count++;
    }
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
        rewind(file);
        if (strstr(argv[i], ".h") && is_c(argv[i])) check_declared(argv[i], file);
        bool good = problems == before;
        if (is_c(argv[i])) passed += good, failed += !good;
        else merged &= good;
        fclose(file);
    }
    passed += merged, failed += !merged;
    printf("tidy: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
