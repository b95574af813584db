// Goldens: every .sbd in tests/diagnostics/syntax (parsed) and tests/diagnostics/check (checked)
// gives exactly the text in the .txt beside it.
//
//     PROGRAM [NAME]                       one case alone: golden_test single_quotes
//     SBC_UPDATE=1 zig build test          writes the .txt files anew; review them as a diff
#include "driver/judge.h"
#include "frontend/check.h"
#include "frontend/declare.h"
#include "frontend/parse.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

typedef struct Run {
    const char *only;     // The case that is asked for; null: all.
    bool        update;
    int         passed, failed;
} Run;

static Text diagnose(Arena *arena, const char *folder, const char *name, bool checked) {
    SourceSet *sources = source_set_new(arena);
    Diags *diags = diags_new(arena, sources);
    uint32_t loaded, file;
    Text path = text_format(arena, "%s/%s.sbd", folder, name);
    if (!source_load(sources, path, &loaded)) return TEXT("cannot be read\n");
    // Shown under its bare name, so that goldens do not depend on where the tests stand.
    Text shown = checked ? path : text_format(arena, "%s.sbd", name);
    file = source_add(sources, shown, sources->files[loaded].text);
    if (checked) {
        TypeTable *types = type_table_new(arena);
        const DeclTable *decls = declare_stdlib(arena, types, diags);
        CheckInput input = {.arena = arena, .types = types, .sources = sources, .diags = diags,
                            .decls = decls, .judge = judge_constant_text,
                            .want_tests = true};
        check_program(&input, file);
    } else {
        parse_file(arena, sources, file, diags);
    }
    TextBuf buf = {0};
    diags_print(&buf, diags, false);
    return text_buf_take(&buf, arena);
}

static void write_file(const char *path, Text text) {
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(text.at, 1, text.len, out) != text.len) perror(path);
    if (out) fclose(out);
}

static void run_case(Run *run, const char *folder, const char *name, bool checked) {
    Arena *arena = arena_new();
    Text got = diagnose(arena, folder, name, checked);
    Text path = text_format(arena, "%s/%s.txt", folder, name);
    if (run->update) write_file(text_c(arena, path), got);
    SourceSet *goldens = source_set_new(arena);
    uint32_t file;
    Text want = source_load(goldens, path, &file) ? goldens->files[file].text : TEXT("");
    if (got.len && text_eq(got, want)) {
        run->passed++;
    } else {
        run->failed++;
        fprintf(stderr,
                "golden %s: FAILED; run it alone: golden_test %s\n--- wanted\n%.*s--- got\n%.*s",
                name, name, TEXT_ARG(want), TEXT_ARG(got));
    }
    arena_free(arena);
}

static int is_program(const struct dirent *entry) {
    size_t len = strlen(entry->d_name);
    return len > 4 && strcmp(entry->d_name + len - 4, ".sbd") == 0;
}

static void run_folder(Run *run, const char *folder, bool checked) {
    struct dirent **entries;
    int count = scandir(folder, &entries, is_program, alphasort);
    for (int i = 0; i < count; i++) {
        char *name = entries[i]->d_name;
        name[strlen(name) - 4] = '\0';
        if (!run->only || strcmp(run->only, name) == 0) run_case(run, folder, name, checked);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

int main(int argc, char **argv) {
    Run run = {.only = argc > 1 ? argv[1] : nullptr, .update = getenv("SBC_UPDATE") != nullptr};
    run_folder(&run, "tests/diagnostics/syntax", false);
    run_folder(&run, "tests/diagnostics/check", true);
    if (run.passed + run.failed == 0) {
        fprintf(stderr, "golden: no case found; run it in the repository's root\n");
        run.failed++;
    }
    printf("golden: %d passed, %d failed, 0 skipped\n", run.passed, run.failed);
    return run.failed > 0;
}
