#include "runtime/python/arrays.h"

#include <string.h>

enum { BUFFERS_MAX = 3, ALIGN = 64 };
enum : int64_t { WORD = sizeof(int64_t) };

// ---- forms --------------------------------------------------------------------------------------

static int64_t bits_bytes(int64_t count) { return (count + 7) / 8; }

// Bytes of buffer 1 or 2 of `count` values; `end` is the last offset of texts.
static int64_t buffer_bytes(const SbType *type, int64_t i, int64_t count, int64_t end) {
    if (i == 0) return bits_bytes(count);
    if (i == 2) return end;
    if (type->kind == SB_BOOL) return bits_bytes(count);
    if (sb_is_text(type) || sb_is_sequence(type)) return (count + 1) * (int64_t)sizeof(int32_t);
    if (type->kind == SB_DECIMAL) return count * 16;
    return count * sb_base_size(type);
}

static int64_t text_end(const SbType *type, const struct ArrowArray *array) {
    return sb_is_text(type) ? ((const int32_t *)array->buffers[1])[array->length] : 0;
}

uint32_t arrays_count(const SbType *type) {
    uint32_t count = 1;
    for (uint32_t i = 0; i < sb_arrow_children(type); i++)
        count += arrays_count(sb_arrow_child(type, i));
    return count;
}

static int64_t words_of(const SbType *type) {
    int64_t words = 2 + 2 * sb_arrow_buffers(type);
    for (uint32_t i = 0; i < sb_arrow_children(type); i++)
        words += words_of(sb_arrow_child(type, i));
    return words;
}

// ---- writing ------------------------------------------------------------------------------------

typedef struct Writer {
    char   *to;     // Null: only the size is wanted.
    int64_t word;
    int64_t at;     // Where the next buffer goes.
} Writer;

static void put_word(Writer *writer, int64_t value) {
    if (writer->to) memcpy(writer->to + writer->word++ * WORD, &value, sizeof value);
}

static void put_array(Writer *writer, const SbType *type, const struct ArrowArray *array) {
    put_word(writer, array->length);
    put_word(writer, array->null_count);
    for (int64_t i = 0; i < sb_arrow_buffers(type); i++) {
        int64_t bytes = buffer_bytes(type, i, array->length, text_end(type, array));
        bool there = array->buffers[i] || i > 0;
        put_word(writer, there ? writer->at : 0);
        put_word(writer, there ? bytes : 0);
        if (!there) continue;
        if (writer->to && bytes)
            memcpy(writer->to + writer->at, array->buffers[i], (size_t)bytes);
        writer->at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    for (uint32_t i = 0; i < sb_arrow_children(type); i++)
        put_array(writer, sb_arrow_child(type, i), array->children[i]);
}

static Writer write_rows(const SbType *type, const struct ArrowArray *rows, char *to) {
    int64_t words = 1;
    for (uint32_t i = 0; i < type->field_count; i++) words += words_of(type->fields[i].type);
    Writer writer = {.to = to, .at = (words * WORD + ALIGN - 1) / ALIGN * ALIGN};
    put_word(&writer, rows->length);
    for (uint32_t i = 0; i < type->field_count; i++)
        put_array(&writer, type->fields[i].type, rows->children[i]);
    return writer;
}

int64_t arrays_bytes(const SbType *type, const struct ArrowArray *rows) {
    return write_rows(type, rows, nullptr).at;
}

void arrays_write(const SbType *type, const struct ArrowArray *rows, char *to) {
    write_rows(type, rows, to);
}

// ---- reading ------------------------------------------------------------------------------------

int64_t arrays_word(ArraysFrom *from) {
    int64_t value = -1;
    if (from->word >= from->bytes / WORD) return -1;
    memcpy(&value, from->at + from->word++ * WORD, sizeof value);
    return value;
}

bool arrays_note(ArraysFrom *from, int64_t rows, ArraysNote *note) {
    int64_t row = arrays_word(from), kind = arrays_word(from);
    int64_t at = arrays_word(from), len = arrays_word(from);
    bool good = row >= 0 && row < rows && at > 0 && at < from->bytes && len >= 0 &&
                len < from->bytes - at && from->at[at + len] == '\0';
    if (good) *note = (ArraysNote){row, kind, from->at + at};
    return good;
}

static bool read_buffers(ArraysFrom *from, const SbType *type, struct ArrowArray *array) {
    int64_t end = 0;
    for (int64_t i = 0; i < array->n_buffers; i++) {
        int64_t at = arrays_word(from), bytes = arrays_word(from);
        if (at == 0 && i == 0) continue;
        int64_t wanted = buffer_bytes(type, i, array->length, end);
        // No overflow: both are checked against what is mapped before they are added.
        if (at <= 0 || at % WORD || bytes < wanted || at > from->bytes || bytes > from->bytes - at)
            return false;
        array->buffers[i] = from->at + at;
        if (i != 1 || !sb_is_text(type)) continue;
        int32_t last;
        memcpy(&last, from->at + at + array->length * (int64_t)sizeof last, sizeof last);
        if (last < 0) return false;
        end = last;
    }
    return true;
}

static void keep(struct ArrowArray *array) { array->release = nullptr; }

bool arrays_read(ArraysFrom *from, const SbType *type, int64_t count, struct ArrowArray *array) {
    int64_t length = arrays_word(from), nulls = arrays_word(from);
    bool good = count < 0 ? length >= 0 && length <= INT32_MAX : length == count;
    if (!good) return false;
    *array = (struct ArrowArray){.length = length, .null_count = nulls,
                                 .n_buffers = sb_arrow_buffers(type),
                                 .n_children = sb_arrow_children(type),
                                 .buffers = from->buffers, .release = keep};
    from->buffers += BUFFERS_MAX;
    if (!read_buffers(from, type, array)) return false;
    struct ArrowArray **cells = (struct ArrowArray **)(void *)from->buffers;
    from->buffers += array->n_children;
    array->children = cells;
    for (uint32_t i = 0; i < sb_arrow_children(type); i++) {
        cells[i] = from->arrays++;
        int64_t inside = type->kind == SB_STRUCT || sb_open_count(type) ? length
                         : type->kind == SB_TENSOR ? length * sb_arrow_elements(type)
                                                   : -1;
        if (!arrays_read(from, sb_arrow_child(type, i), inside, cells[i])) return false;
    }
    return true;
}
