#include "runtime/python/find.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "python3";

bool fault_set(PythonFault *fault, PythonFaultKind kind, const char *format, ...) {
    va_list args;
    if (fault->kind != PYTHON_FAULT_NONE) return false;
    fault->kind = kind;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return false;
}

static bool runs(const char *path) { return access(path, X_OK) == 0; }

// In the folders of $PATH, as a shell finds it.
static bool on_path(const char *program, char path[PATH_BYTES]) {
    const char *at = getenv("PATH");
    for (size_t len; at && *at; at += len + (at[len] == ':')) {
        len = strcspn(at, ":");
        if (len == 0) continue;
        snprintf(path, PATH_BYTES, "%.*s/%s", (int)len, at, program);
        if (runs(path)) return true;
    }
    return false;
}

bool find_interpreter(const char *given, char path[PATH_BYTES], PythonFault *fault) {
    const char *env = getenv("VIRTUAL_ENV");
    if (given) {
        bool there = strchr(given, '/') ? runs(given) : on_path(given, path);
        if (strchr(given, '/')) snprintf(path, PATH_BYTES, "%s", given);
        return there || fault_set(fault, PYTHON_FAULT_START,
                                    "--python=%s is no program that can be run", given);
    }
    if (env && *env) {
        snprintf(path, PATH_BYTES, "%s/bin/%s", env, name);
        return runs(path) || fault_set(fault, PYTHON_FAULT_START,
                                         "$VIRTUAL_ENV is %s, and has no bin/%s", env, name);
    }
    return on_path(name, path) ||
           fault_set(fault, PYTHON_FAULT_START, "no %s is in the folders of $PATH", name);
}

static bool beside_program(char path[PATH_BYTES]) {
    ssize_t len = readlink("/proc/self/exe", path, PATH_BYTES - 1);
    if (len <= 0) return false;
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash) return false;
    slash[slash == path] = '\0';
    return true;
}

void find_folder(const SbPython *python, const SbPythonFn *fn, char path[PATH_BYTES]) {
    bool whole = fn->folder.len && fn->folder.ptr[0] == '/';
    snprintf(path, PATH_BYTES, "%.*s%s%.*s", whole ? 0 : (int)python->folder.len,
             python->folder.len ? python->folder.ptr : "", whole ? "" : "/", (int)fn->folder.len,
             fn->folder.len ? fn->folder.ptr : "");
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') path[--len] = '\0';
    char own[PATH_BYTES];
    if (access(path, X_OK) != 0 && beside_program(own)) memcpy(path, own, PATH_BYTES);
}
