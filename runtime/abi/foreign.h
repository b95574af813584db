// What the C files of a user meet in a job: the names that their functions are given, and the
// malloc family. By that family a job counts the memory that the C files take.
//
// Used by codegen/build, which renames symbols, and by runtime/memory (foreign.c).
#ifndef SBC_RUNTIME_ABI_FOREIGN_H
#define SBC_RUNTIME_ABI_FOREIGN_H

#include <stddef.h>

// Stands in a job before the name of an extern function, and of all else that a user's C files
// define.
#define SB_USER_PREFIX "sb_user_"

// Stands before calls of a user's C files that a job answers itself. The job counts the memory that
// they take (runtime/memory/foreign.h).
#define SB_FOREIGN_PREFIX "sb_foreign_"
#define SB_FOREIGN_CALLS(X)                                                                    \
    X(malloc) X(calloc) X(realloc) X(reallocarray) X(aligned_alloc) X(memalign)                \
    X(posix_memalign) X(free)

void *sb_foreign_malloc(size_t bytes);
void *sb_foreign_calloc(size_t count, size_t bytes);
void *sb_foreign_realloc(void *block, size_t bytes);
void *sb_foreign_reallocarray(void *block, size_t count, size_t bytes);
void *sb_foreign_aligned_alloc(size_t align, size_t bytes);
void *sb_foreign_memalign(size_t align, size_t bytes);
int   sb_foreign_posix_memalign(void **block, size_t align, size_t bytes);
void  sb_foreign_free(void *block);

#endif
