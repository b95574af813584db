#define _GNU_SOURCE
#include "runtime/input/glob.h"

#include "stdlib/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// One "[...]" of a pattern against a byte. Moves `pattern` after it; -1: not a class.
static int match_class(const char **pattern, unsigned char byte) {
    SbStr rest = {*pattern, (int64_t)strlen(*pattern)};
    int in = sb_path_class(&rest, byte);
    *pattern = rest.ptr;
    return in;
}

bool glob_match(const char *pattern, const char *name) {
    const char *star = nullptr, *retry = nullptr;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = name;
            continue;
        }
        if (*name == '\0' && *pattern == '\0') return true;
        const char *next = pattern + 1;
        bool same = false;
        if (*name != '\0' && *pattern == '?') {
            same = true;
        } else if (*name != '\0' && *pattern == '[') {
            next = pattern;
            int in = match_class(&next, (unsigned char)*name);
            same = in > 0 || (in < 0 && *name == '[');
            if (in < 0) next = pattern + 1;
        } else if (*name != '\0') {
            same = *pattern == *name;
        }
        if (same) {
            pattern = next;
            name++;
            continue;
        }
        if (!star || *retry == '\0') return false;
        pattern = star;
        name = ++retry;
    }
}

char *glob_copy(const char *path) {
    size_t len = strlen(path);
    char *copy = calloc(1, len + 1 + SB_SLACK);
    return copy ? memcpy(copy, path, len) : nullptr;
}

static bool add(PathList *list, const char *path, Trouble *trouble) {
    if (list->count == list->cap) {
        uint32_t cap = list->cap ? 2 * list->cap : 16;
        char **paths = realloc(list->paths, cap * sizeof *paths);
        if (!paths)
            return trouble_no_memory(trouble, "for the list of files");
        list->paths = paths;
        list->cap = cap;
    }
    char *copy = glob_copy(path);
    if (!copy) return trouble_no_memory(trouble, "for the list of files");
    list->paths[list->count++] = copy;
    return true;
}

static bool cannot(const char *what, const char *path, Trouble *trouble) {
    return trouble_set(trouble, TROUBLE_OPEN_SOURCE, "cannot %s '%s': %s", what, path,
                       strerror(errno));
}

typedef struct Walk {
    PathList *list;
    Trouble  *trouble;
    uint32_t  depth;
} Walk;

enum { WALK_DEPTH_MAX = 64 };

static bool walk(Walk *walk_, const char *folder, const char *pattern);

// Folder and name as one path.
static char *join(const char *folder, const char *name) {
    char *path = nullptr;
    bool bare = folder[0] == '\0' || folder[strlen(folder) - 1] == '/';
    return asprintf(&path, "%s%s%s", folder, bare ? "" : "/", name) < 0 ? nullptr : path;
}

// An entry of a folder that matched the first component of `pattern`; `rest` is what follows.
static bool take(Walk *w, const char *path, const char *rest) {
    struct stat about;
    if (stat(path, &about) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? true : cannot("read", path, w->trouble);
    }
    if (*rest == '\0') return S_ISDIR(about.st_mode) ? true : add(w->list, path, w->trouble);
    return S_ISDIR(about.st_mode) ? walk(w, path, rest) : true;
}

// Everything in `folder` whose name matches `component`; `**` keeps itself for what lies below.
static bool walk_folder(Walk *w, const char *folder, const char *component, const char *rest) {
    DIR *dir = opendir(folder[0] == '\0' ? "." : folder);
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR ? true
                                                   : cannot("read the folder", folder, w->trouble);
    bool deep = strcmp(component, "**") == 0, good = true;
    for (struct dirent *entry; good && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        if (name[0] == '.' && (deep || component[0] != '.')) continue;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (!deep && !glob_match(component, name)) continue;
        char *path = join(folder, name);
        if (!path) {
            good = trouble_no_memory(w->trouble, "for the list of files");
        } else if (!deep) {
            good = take(w, path, rest);
        } else {
            // Below a matching folder the pattern goes on with "**/rest".
            struct stat about;
            char *again = join("**", *rest ? rest : "*");
            if (!again) good = trouble_no_memory(w->trouble, "for a path");
            else if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode))
                good = walk(w, path, again);
            free(again);
        }
        free(path);
    }
    closedir(dir);
    return good;
}

static bool walk(Walk *w, const char *folder, const char *pattern) {
    if (w->depth == WALK_DEPTH_MAX) {
        return trouble_set(w->trouble, TROUBLE_NO_MATCH, "folders are nested too deeply at '%s'",
                           folder);
    }
    w->depth++;
    size_t len = strcspn(pattern, "/");
    const char *rest = pattern + len;
    while (*rest == '/') rest++;
    char *component = strndup(pattern, len);
    bool good = component != nullptr;
    if (!good) {
        trouble_no_memory(w->trouble, "for a path");
    } else if (strcmp(component, "**") == 0) {
        // No folder at all, then any.
        good = walk(w, folder, *rest ? rest : "*") && walk_folder(w, folder, component, rest);
    } else if (strpbrk(component, "*?[")) {
        good = walk_folder(w, folder, component, rest);
    } else {
        char *path = join(folder, component);
        good = path && take(w, path, rest);
        free(path);
    }
    free(component);
    w->depth--;
    return good;
}

// Plain files of a folder that are not hidden.
static bool add_folder(PathList *list, const char *path, Trouble *trouble) {
    DIR *dir = opendir(path);
    if (!dir) return cannot("read the folder", path, trouble);
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char *file = join(path, entry->d_name);
        struct stat about;
        if (!file) good = trouble_no_memory(trouble, "for a path");
        else if (stat(file, &about) == 0 && S_ISREG(about.st_mode)) good = add(list, file, trouble);
        free(file);
    }
    closedir(dir);
    return good;
}

bool glob_is_url(const char *path) {
    size_t at = 0;
    while (isalnum((unsigned char)path[at]) || (path[at] && strchr("+-.", path[at]))) at++;
    return at > 1 && strncmp(path + at, "://", 3) == 0;
}

bool glob_add(PathList *list, const char *path, Trouble *trouble) {
    if (strcmp(path, "-") == 0) return add(list, path, trouble);
    uint32_t before = list->count;
    struct stat about;
    if (stat(path, &about) == 0) {
        if (!S_ISDIR(about.st_mode)) return add(list, path, trouble);
        if (!add_folder(list, path, trouble)) return false;
        if (list->count > before) return true;
        return trouble_set(trouble, TROUBLE_NO_MATCH, "the folder '%s' holds no files", path);
    }
    if (glob_is_url(path))
        return trouble_set(trouble, TROUBLE_URL, "URLs are not in this version: '%s'", path);
    if (strpbrk(path, "*?[") == nullptr) {
        trouble_set(trouble, errno == EACCES ? TROUBLE_OPEN_SOURCE : TROUBLE_NO_MATCH,
                    "cannot open '%s': %s", path, strerror(errno));
        return false;
    }
    Walk w = {.list = list, .trouble = trouble};
    const char *pattern = path;
    while (*pattern == '/') pattern++;
    if (!walk(&w, pattern > path ? "/" : "", pattern)) return false;
    if (list->count > before) return true;
    return trouble_set(trouble, TROUBLE_NO_MATCH, "no file matches '%s'", path);
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void glob_sort(PathList *list) {
    if (list->count == 0) return;
    qsort(list->paths, list->count, sizeof *list->paths, compare_paths);
    uint32_t kept = 1;
    for (uint32_t i = 1; i < list->count; i++) {
        if (strcmp(list->paths[i], list->paths[kept - 1]) == 0) free(list->paths[i]);
        else list->paths[kept++] = list->paths[i];
    }
    list->count = kept;
}

void glob_close(PathList *list) {
    for (uint32_t i = 0; i < list->count; i++) free(list->paths[i]);
    free(list->paths);
    *list = (PathList){0};
}
