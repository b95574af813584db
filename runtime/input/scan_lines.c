#include "runtime/input/scan_lines.h"

#include "runtime/input/source.h"

#include <string.h>

bool scan_text_front(const Source *source, SourceFile *file, SbStr front, Trouble *trouble) {
    (void)source, (void)trouble;
    file->begin = source_mark_bytes(front);
    return true;
}

int64_t scan_line_end(const Window *window, int64_t pos, int64_t from) {
    int64_t at = from - 1 > pos ? from - 1 : pos;
    if (at >= window->len) return -1;
    const char *end = memchr(window->text + at, '\n', (size_t)(window->len - at));
    return end ? end + 1 - window->text : -1;
}

int64_t scan_line_start(const Window *window, int64_t to) {
    const char *end = memchr(window->text, '\n', (size_t)to);
    return end ? end + 1 - window->text : -1;
}
