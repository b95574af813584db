// Cache: finished jobs by the content that they were made of.
//
// An entry is an executable whose name is its key, with a hash of its bytes after it. It is
// written under another name and renamed, so several sbc may use one cache at once; the oldest
// unused entries go when it grows too large.
#ifndef SBC_CODEGEN_BUILD_CACHE_H
#define SBC_CODEGEN_BUILD_CACHE_H

#include "codegen/build/build.h"

enum { CACHE_BYTES_MAX = 512 << 20 };

// $XDG_CACHE_HOME/sbc or ~/.cache/sbc, made if it is missing. Null: there is none to be had.
const char *cache_folder(Arena *arena);

// Adds one part to the text that a key is made of; parts do not run together.
void cache_key_add(TextBuf *parts, const char *what, Text part);
const char *cache_key(Arena *arena, const TextBuf *parts);  // 32 hexadecimal digits.

// The build of sbc: a hash of its executable and libraries. It is kept in the cache folder for as
// long as their sizes and times stay the same. False: they cannot be read.
bool cache_build_id(Arena *arena, const char *folder, Text *id);

// Where a job is written that shall become an entry.
const char *cache_beside(Arena *arena, const char *folder, const char *key);

// Makes the job at that place the entry. False: it could not be written; it is still there.
bool cache_keep(Arena *arena, const char *folder, const char *key, const char *job);

// An open entry, now the most recently used one; -1: there is none. A damaged one is removed.
int cache_open(Arena *arena, const char *folder, const char *key);

// An entry that holds other bytes than a job. False: there is none, or it could not be kept.
bool cache_get(Arena *arena, const char *folder, const char *key, Text *bytes);
bool cache_put(Arena *arena, const char *folder, const char *key, Text bytes);

// Was what the key stands for found to be good, and that kept?
bool cache_is_good(Arena *arena, const char *folder, const char *key);
void cache_keep_good(Arena *arena, const char *folder, const char *key);

// Removes the least recently used entries until `bytes_max` are left, and what a killed sbc left
// after. Does nothing while another sbc does it.
void cache_trim(Arena *arena, const char *folder, int64_t bytes_max);

#endif
