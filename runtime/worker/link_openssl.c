// OpenSSL of the machine, opened once by the first connection with a key.
#define OPENSSL_OWN
#include "runtime/worker/link_openssl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

OpenSsl openssl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char failed[160];  // Why it could not be opened; "": it could.

static void *find(void *library, const char *name) {
    void *call = dlsym(library, name);
    if (!call && !*failed) snprintf(failed, sizeof failed, "libssl.so.3 has no %s", name);
    return call;
}

// libssl has its functions of libcrypto beside it, which dlsym finds, too.
static void open_library(void) {
    void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(failed, sizeof failed, "%s", dlerror());
        return;
    }
#define OPENSSL_CALL(name) openssl.name = (typeof(openssl.name))find(library, #name);
    OPENSSL_CALLS(OPENSSL_CALL)
#undef OPENSSL_CALL
}

bool openssl_open(char *why, size_t room) {
    pthread_once(&once, open_library);
    snprintf(why, room, "%s", failed);
    return !*failed;
}
