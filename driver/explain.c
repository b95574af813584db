// sbc explain: the page of a code, of a program's mistakes (SB0...) or of a row's (SB7...).
#include "driver/commands.h"
#include "frontend/diag.h"

#include <string.h>

typedef struct Fault {
    const char *code, *message, *fix;
} Fault;

static const Fault faults[] = {
#define FAULT(name, code, message, fix) {code, message, fix},
#include "runtime/faults.def"
#undef FAULT
};

static bool explain_fault(const char *code) {
    for (size_t i = 0; i < countof(faults); i++) {
        if (strcmp(faults[i].code, code) != 0) continue;
        // {} stands for the offending text.
        const char *hole = strstr(faults[i].message, "{}");
        const char *rest = hole ? hole + 2 : faults[i].message;
        printf("%s: %.*s%s%s\n\n", code, hole ? (int)(hole - faults[i].message) : 0,
               faults[i].message, hole ? "the value" : "", rest);
        printf("A row in which this happens is rejected: it goes to the rejects file, if there is\n"
               "one, with this code, its place and its text, and it counts towards the limit of\n"
               "`rejects ... limit`, which is 0 if nothing is said. The other rows go on.\n\n"
               "fix: %s\n", faults[i].fix);
        return true;
    }
    return false;
}

static bool explain_one(const char *word) {
    DiagCode code;
    if (diag_find(text_of(word), &code)) {
        printf("%s: %s\n\n%s", diag_code(code), diag_title(code), diag_page(code));
        return true;
    }
    if (explain_fault(word)) return true;
    Text codes[DIAG_COUNT + countof(faults)];
    for (uint32_t c = 0; c < DIAG_COUNT; c++) codes[c] = text_of(diag_code((DiagCode)c));
    for (size_t f = 0; f < countof(faults); f++) codes[DIAG_COUNT + f] = text_of(faults[f].code);
    command_line_unknown("code", word, codes, countof(codes));
    return false;
}

int explain_command(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++)
        if (!explain_one(options->files[i])) status = EXIT_WRONG_USAGE;
    return status;
}
