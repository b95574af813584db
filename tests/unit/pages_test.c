// The page of every code of this table whose mistake can be seen in a program: its wrong example
// gives the code, its right one does not.
#include "driver/judge.h"
#include "frontend/check.h"
#include "frontend/format.h"
#include "frontend/parse.h"
#include "tests/unit/unit.h"

// Takes the lines below `heading` off the page, without their indentation.
static bool example(Arena *arena, const char *page, const char *heading, Text *program) {
    const char *at = strstr(page, heading);
    if (!at) return false;
    TextBuf buf = {0};
    for (at += strlen(heading); strncmp(at, "    ", 4) == 0;) {
        const char *end = strchr(at, '\n');
        text_buf_add(&buf, (Text){at + 4, (size_t)(end - at) - 4 + 1});
        at = end + 1;
    }
    *program = text_buf_take(&buf, arena);
    return program->len > 0;
}

static bool gives(Arena *arena, Text program, DiagCode code, uint32_t *errors) {
    SourceSet *sources = source_set_new(arena);
    Diags *diags = diags_new(arena, sources);
    parse_file(arena, sources, source_add(sources, TEXT("page.sbd"), program), diags);
    *errors = diags->errors;
    for (size_t i = 0; i < diags->count; i++) if (diags->items[i]->code == code) return true;
    return false;
}

static bool is_syntax(DiagCode code) { return strncmp(diag_code(code), "SB01", 4) == 0; }

static void every_page_says_what_to_do(void) {
    Arena *arena = arena_new();
    for (uint32_t i = 0; i < DIAG_COUNT; i++) {
        DiagCode code = (DiagCode)i;
        Text wrong, right;
        bool has_wrong = example(arena, diag_page(code), "\nwrong:\n", &wrong);
        bool has_right = example(arena, diag_page(code), "\nright:\n", &right);
        CHECK_SAYS(has_wrong == has_right, "%s has half an example", diag_code(code));
        // No program that is short enough to print is nested too deeply.
        bool must = is_syntax(code) && code != DIAG_TOO_DEEP;
        CHECK_SAYS(has_wrong || !must, "%s has no example", diag_code(code));
    }
    arena_free(arena);
}

static void examples_of_syntax_are_true(void) {
    Arena *arena = arena_new();
    for (uint32_t i = 0; i < DIAG_COUNT; i++) {
        DiagCode code = (DiagCode)i;
        Text wrong, right;
        uint32_t errors;
        if (!is_syntax(code) || !example(arena, diag_page(code), "\nwrong:\n", &wrong)) continue;
        CHECK_SAYS(gives(arena, wrong, code, &errors), "%s: the wrong example does not give it",
                   diag_code(code));
        if (!example(arena, diag_page(code), "\nright:\n", &right)) continue;
        gives(arena, right, code, &errors);
        CHECK_SAYS(errors == 0, "%s: the right example has %u errors", diag_code(code), errors);
    }
    arena_free(arena);
}

static bool checks(Arena *arena, Text program, DiagCode code, uint32_t *errors) {
    SourceSet *sources = source_set_new(arena);
    Diags *diags = diags_new(arena, sources);
    TypeTable *types = type_table_new(arena);
    CheckInput input = {.arena = arena, .types = types, .sources = sources, .diags = diags,
                        .decls = declare_stdlib(arena, types, diags),
                        .judge = judge_constant_text};
    check_program(&input, source_add(sources, TEXT("page.sbd"), program));
    *errors = diags->errors;
    for (size_t i = 0; i < diags->count; i++) if (diags->items[i]->code == code) return true;
    return false;
}

// As for syntax; the wrong example gives no other error, and the right one not even a warning.
static void examples_of_the_checker_are_true(void) {
    for (uint32_t i = 0; i < DIAG_COUNT; i++) {
        Arena *arena = arena_new();
        DiagCode code = (DiagCode)i;
        Text wrong, right;
        uint32_t errors, own = diag_severity(code) == SEVERITY_ERROR;
        bool shown = strncmp(diag_code(code), "SB02", 4) >= 0 &&
                     example(arena, diag_page(code), "\nwrong:\n", &wrong) &&
                     example(arena, diag_page(code), "\nright:\n", &right);
        if (shown) {
            bool found = checks(arena, wrong, code, &errors);
            CHECK_SAYS(found, "%s: the wrong example does not give it", diag_code(code));
            CHECK_SAYS(errors == own, "%s: the wrong example has %u errors", diag_code(code),
                       errors);
            found = checks(arena, right, code, &errors);
            CHECK_SAYS(!found && !errors, "%s: the right example has %u errors", diag_code(code),
                       errors);
        }
        arena_free(arena);
    }
}

// The codes of all three tables: two things may not share one.
static void every_code_stands_once(void) {
    static const char *const codes[] = {
#define DIAG(name, code, ...) code,
#include "frontend/diagnostics.def"
#undef DIAG
#define FAULT(name, code, ...) code,
#include "runtime/abi/faults.def"
#undef FAULT
#define TROUBLE(name, code, ...) code,
#include "runtime/report/troubles.def"
#undef TROUBLE
    };
    for (size_t i = 0; i < countof(codes); i++) {
        for (size_t k = 0; k < i; k++)
            CHECK_SAYS(strcmp(codes[i], codes[k]) != 0, "%s stands twice", codes[i]);
    }
}

static const UnitTest tests[] = {
    {"every_code_stands_once", every_code_stands_once},
    {"examples_of_the_checker_are_true", examples_of_the_checker_are_true},
    {"every_page_says_what_to_do", every_page_says_what_to_do},
    {"examples_of_syntax_are_true", examples_of_syntax_are_true},
};

UNIT_MAIN("pages", tests)
