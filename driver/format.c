// sbc fmt: rewrites programs in the one true layout.
#include "frontend/format.h"

#include "driver/commands.h"
#include "driver/session.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Writes to a name beside the file and renames, so that a full disk loses nothing. A link stays:
// the file that it leads to is written.
static bool rewrite(Arena *arena, const char *given, Text text) {
    char path[PATH_MAX];
    if (!realpath(given, path)) return false;
    const char *beside = text_c(arena, text_format(arena, "%s.sbc-fmt", path));
    struct stat st;
    FILE *out = stat(path, &st) == 0 ? fopen(beside, "wb") : nullptr;
    if (!out) return false;
    bool written = fwrite(text.at, 1, text.len, out) == text.len && fflush(out) == 0 &&
                   fchmod(fileno(out), st.st_mode & 07777) == 0 && fsync(fileno(out)) == 0;
    written = fclose(out) == 0 && written;
    if (written && rename(beside, path) == 0) return true;
    int why = errno;
    unlink(beside);
    errno = why;
    return false;
}

static int format_one(const Options *options, const char *path) {
    Session s = session_new(options);
    if (!session_load(&s, path)) return session_report(&s);
    AstFile *ast = session_parse(&s);
    if (s.diags->errors) return session_report(&s);
    TextBuf buf = {0};
    format_file(&buf, s.sources, ast);
    Text formatted = text_buf_take(&buf, s.arena);
    bool same = text_eq(formatted, s.sources->files[s.file].text);
    if (options->check_only) {
        if (!same) printf("%s\n", path);
        return same ? EXIT_DONE : EXIT_WRONG_PROGRAM;
    }
    if (strcmp(path, "-") == 0) {
        fwrite(formatted.at, 1, formatted.len, stdout);
        return EXIT_DONE;
    }
    if (same || rewrite(s.arena, path, formatted)) return EXIT_DONE;
    Span nowhere = {0, 0, SPAN_NONE};
    Diag *d = diag_add(s.diags, DIAG_FILE_UNWRITABLE, nowhere, "%s cannot be written: %s", path,
                       strerror(errno));
    diag_fix(s.diags, d, "check the permissions of its folder, or use `sbc fmt - < FILE`");
    return session_report(&s);
}

int format_command(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++) {
        int one = format_one(options, options->files[i]);
        if (one > status) status = one;
    }
    return status;
}
