// Path: parts of the names of files, and patterns that match them.
#include "stdlib/text/path.h"

// A name that begins with a dot is hidden, or one of the folders . and .. themselves.
int32_t sb_path_part(SbCall *call, SbStr text, SbStr *out) {
    enum { PART_MAX = 200, DELETE = 0x7f };
    bool good = text.len > 0 && text.len <= PART_MAX && text.ptr[0] != '.';
    for (int64_t i = 0; good && i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        good = c >= ' ' && c != '/' && c != DELETE;
    }
    *out = text;
    if (good) return SB_OK;
    call->detail = text;
    return SB_FAULT_PATH_PART;
}


// ---- patterns -----------------------------------------------------------------------------------

static SbStr after(SbStr text, int64_t count) {
    return (SbStr){text.ptr + count, text.len - count};
}

static bool begins(SbStr text, const char *with) {
    int64_t i = 0;
    while (with[i] && i < text.len && text.ptr[i] == with[i]) i++;
    return !with[i];
}

int sb_path_class(SbStr *pattern, unsigned char byte) {
    SbStr at = after(*pattern, 1);
    bool inverted = at.len > 0 && (at.ptr[0] == '!' || at.ptr[0] == '^'), found = false;
    if (inverted) at = after(at, 1);
    for (bool first = true; at.len > 0 && (at.ptr[0] != ']' || first); first = false) {
        unsigned char low = (unsigned char)at.ptr[0], high = low;
        if (at.len > 2 && at.ptr[1] == '-' && at.ptr[2] != ']') {
            high = (unsigned char)at.ptr[2];
            at = after(at, 2);
        }
        found |= low <= byte && byte <= high;
        at = after(at, 1);
    }
    if (at.len == 0) return -1;
    *pattern = after(at, 1);
    return found != inverted;
}

typedef struct Match {
    int64_t wanted;   // The `{}` of this number is kept,
    SbStr   key;      // here.
} Match;

static bool match(Match *m, SbStr pattern, SbStr path, int64_t number, bool begun);

// The pattern goes on after a text of the path that has no /. The shortest one that fits counts.
static bool match_any(Match *m, SbStr rest, SbStr path, int64_t number, bool is_key) {
    for (int64_t len = 0;; len++) {
        if (match(m, rest, after(path, len), number + is_key, false)) {
            if (is_key && number == m->wanted) m->key = (SbStr){path.ptr, len};
            return true;
        }
        if (len == path.len || path.ptr[len] == '/') return false;
    }
}

// No folder at all, or any.
static bool match_folders(Match *m, SbStr rest, SbStr path, int64_t number) {
    while (!match(m, rest, path, number, true)) {
        while (path.len > 0 && path.ptr[0] != '/') path = after(path, 1);
        if (path.len == 0) return false;
        path = after(path, 1);
    }
    return true;
}

static bool match_class(Match *m, SbStr pattern, SbStr path, int64_t number) {
    SbStr rest = pattern;
    if (path.len == 0 || path.ptr[0] == '/') return false;
    int in = sb_path_class(&rest, (unsigned char)path.ptr[0]);
    if (in < 0 && path.ptr[0] != '[') return false;
    if (in < 0) rest = after(pattern, 1);
    return in != 0 && match(m, rest, after(path, 1), number, false);
}

static bool match_slash(Match *m, SbStr pattern, SbStr path, int64_t number) {
    if (path.len == 0 || path.ptr[0] != '/') return false;
    while (pattern.len > 0 && pattern.ptr[0] == '/') pattern = after(pattern, 1);
    while (path.len > 0 && path.ptr[0] == '/') path = after(path, 1);
    return match(m, pattern, path, number, true);
}

// `begun`: a name begins here.
static bool match(Match *m, SbStr pattern, SbStr path, int64_t number, bool begun) {
    while (pattern.len > 0) {
        char c = pattern.ptr[0];
        if (begun && begins(pattern, "**/"))
            return match_folders(m, after(pattern, 3), path, number);
        if (begun && begins(pattern, "**") && pattern.len == 2) return true;
        if (begins(pattern, "{}")) return match_any(m, after(pattern, 2), path, number, true);
        if (c == '*') return match_any(m, after(pattern, 1), path, number, false);
        if (c == '[') return match_class(m, pattern, path, number);
        if (c == '/') return match_slash(m, pattern, path, number);
        if (path.len == 0 || path.ptr[0] == '/' || (c != '?' && c != path.ptr[0])) return false;
        pattern = after(pattern, 1);
        path = after(path, 1);
        begun = false;
    }
    return path.len == 0;
}

int32_t sb_path_key(SbCall *call, SbStr path, SbStr pattern, int64_t number, SbStr *out) {
    Match m = {.wanted = number, .key = {nullptr, -1}};
    bool good = match(&m, pattern, path, 0, true) && m.key.len >= 0;
    *out = m.key;
    if (good) return SB_OK;
    call->detail = path;
    return SB_FAULT_BAD_ARGUMENT;
}
