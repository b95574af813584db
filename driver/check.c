// sbc check, and the program as a tree (--dump=ast).
#include "driver/commands.h"
#include "driver/externs.h"
#include "driver/session.h"
#include "frontend/ast_print.h"

static int check_one(const Options *options, const char *path) {
    Session s = session_new(options);
    bool loaded = session_load(&s, path);
    if (loaded && options->dump == DUMP_AST) {
        TextBuf buf = {0};
        const AstFile *ast = session_parse(&s);
        if (ast) ast_print(&buf, ast);
        put(stdout, &buf);
    } else if (loaded) {
        session_check(&s, (CheckAs){.want_tests = true});
    }
    int status = session_report(&s);
    return status == EXIT_DONE && s.program ? externs_check(&s) : status;
}

int check_command(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++) {
        int one = check_one(options, options->files[i]);
        if (one > status) status = one;
    }
    return status;
}
