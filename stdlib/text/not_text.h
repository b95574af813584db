// Not text: what bytes are that somebody took for CSV, JSON lines or text: a packed file, another
// encoding, lines that end in CR alone.
//
//   sb_not_text("\x1f\x8b...", 40)->what    "it is packed by gzip"
//   sb_not_text("a,b\r1,2\r", 8)->what      "its lines end in CR alone"
//   sb_not_packed("a,b\n1,2\n", 8)->what    "it is text"
#ifndef SBC_STDLIB_NOT_TEXT_H
#define SBC_STDLIB_NOT_TEXT_H

#include <stdint.h>

typedef struct SbNotText {
    const char *what;  // Of a file, as the end of a sentence.
    const char *fix;
} SbNotText;

// Of a file that begins with these bytes, and could not be read; nullptr: nothing is known.
const SbNotText *sb_not_text(const char *bytes, int64_t len);
// The same where no text begins so, so that nobody has to try: it is no UTF-8.
const SbNotText *sb_never_text(const char *bytes, int64_t len);
// Of a file that is not packed as its name says.
const SbNotText *sb_not_packed(const char *bytes, int64_t len);
// Of a line: CR stands for line ends in it, outside of quotes; else nullptr.
const SbNotText *sb_cr_lines(const char *bytes, int64_t len);

#endif
