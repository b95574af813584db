// Words: amounts of bytes as people read them, and the name that somebody may have meant.
#ifndef SBC_RUNTIME_WORDS_H
#define SBC_RUNTIME_WORDS_H

#include "runtime/abi/value.h"

// About so many bytes, as a user writes them: "512B", "64KiB", "50.5MiB", "1GiB".
enum { SIZE_TEXT = 24 };
void size_text(int64_t bytes, char text[static SIZE_TEXT]);
// The same in a sentence: "512 bytes", "50.5 MiB", "1.0 GiB".
void size_say(int64_t bytes, char text[static SIZE_TEXT]);

// The one of `count` names that differs least from `word`; nullptr when none is near.
// names(self, i) gives name i.
typedef SbStr NameFn(const void *self, uint32_t index);
SbStr nearest_name(SbStr word, NameFn *names, const void *self, uint32_t count);

#endif
