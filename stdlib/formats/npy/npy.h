// The header of an npy file, versions 1 to 3: a magic word, a length, and a dictionary as Python
// writes it, which ends in a line end.
//
//   "\x93NUMPY" 1 0 | u16 length | {'descr': '<f8', 'fortran_order': False, 'shape': (3,), }  \n
//   versions 2 and 3 have a u32 length
//
// The checker, the runtime and the interpreter read headers with these functions.
#ifndef SBC_STDLIB_FORMATS_NPY_NPY_H
#define SBC_STDLIB_FORMATS_NPY_NPY_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The types of one value, by the kind and the size that a descr has. `kind` is one of TypeKind and
// of SbKind, which agree.
typedef struct NpyType {
    char    letter;
    uint8_t size, kind;
    const char *name;
} NpyType;

static const NpyType npy_types[] = {
    {'b', 1, 0, "bool"}, {'i', 1, 1, "i8"},  {'i', 2, 2, "i16"}, {'i', 4, 3, "i32"},
    {'i', 8, 4, "i64"},  {'u', 1, 5, "u8"},  {'u', 2, 6, "u16"}, {'u', 4, 7, "u32"},
    {'u', 8, 8, "u64"},  {'f', 2, 9, "f16"}, {'f', 4, 11, "f32"},
    {'f', 8, 12, "f64"},
};
enum { NPY_TYPES = sizeof npy_types / sizeof *npy_types };

enum : int64_t { NPY_HEADER_MAX = 1 << 20 };  // Bytes of a header that anybody writes.
enum : int64_t { NPY_ONE_ROW = -1 };           // In place of a number of rows.
enum { NPY_WRITTEN = 128, NPY_WORDS = 256 };  // Bytes of a header of ours; of what is said of one.
// The NaN that is written: that of numpy.
static inline uint64_t npy_nan(const NpyType *type) {
    return type->size == 2   ? UINT64_C(0x7e00)
           : type->size == 4 ? UINT64_C(0x7fc00000)
                             : UINT64_C(0x7ff8000000000000);
}
// Of a row, as a tensor has them (ir/type.h): with these limits NPY_WRITTEN is enough.
enum { NPY_RANK_MAX = 8, NPY_ROW_MAX = 1 << 30 };

// What a row is: a value, or a tensor of them. The first dimension of a file counts its rows.
typedef struct NpyRow {
    const NpyType *type;
    uint32_t rank;                 // 0: a value.
    uint32_t shape[NPY_RANK_MAX];  // 0, of a type: each file has its own size.
} NpyRow;

// What a reader keeps of a file's header, as words: the byte order, the number of rows, the bytes
// of a row and then its dimensions.
enum { NPY_FIELD_BIG, NPY_FIELD_ROWS, NPY_FIELD_ROWS_HIGH, NPY_FIELD_WIDTH, NPY_FIELD_SHAPE,
       NPY_FIELDS = NPY_FIELD_SHAPE + NPY_RANK_MAX };

typedef struct NpyHeader {
    int64_t begin;           // Offset of the first value.
    int64_t rows;
    NpyRow  row;
    bool    big;             // Values are big-endian.
    bool    fortran;         // The first index is the fastest.
    char    wrong[NPY_WORDS];  // What is wrong, after the path; empty: nothing.
} NpyHeader;

// Of the kind of a TypeKind or SbKind; null: npy has none.
static inline const NpyType *npy_type_of(unsigned kind) {
    for (int i = 0; i < NPY_TYPES; i++)
        if (npy_types[i].kind == kind) return &npy_types[i];
    return nullptr;
}

// Bytes of the front and the header of a file that begins so. -1: more is to be seen. 0: the file
// is no npy file, or its header is longer than any.
static inline int64_t npy_front(const char *bytes, int64_t len) {
    const unsigned char *at = (const unsigned char *)bytes;
    int64_t seen = len < 6 ? len : 6;
    if (memcmp(bytes, "\x93NUMPY", (size_t)seen) != 0) return 0;
    if (len < 12) return -1;
    if (at[6] < 1 || at[6] > 3) return 0;
    uint32_t wide = (uint32_t)at[8] | (uint32_t)at[9] << 8;
    if (at[6] > 1) wide |= (uint32_t)at[10] << 16 | (uint32_t)at[11] << 24;
    return wide > NPY_HEADER_MAX ? 0 : (at[6] == 1 ? 10 : 12) + (int64_t)wide;
}

typedef struct NpyText {
    const char *begin, *at, *end;
} NpyText;

static inline bool npy_take(NpyText *text, const char *word) {
    while (text->at < text->end && *text->at == ' ') text->at++;
    size_t len = strlen(word);
    if ((size_t)(text->end - text->at) < len || memcmp(text->at, word, len) != 0) return false;
    text->at += len;
    return true;
}

// 'text', without its quotes.
static inline bool npy_string(NpyText *text, const char **word, int *len) {
    char quote = npy_take(text, "'") ? '\'' : npy_take(text, "\"") ? '"' : 0;
    const char *close = quote ? memchr(text->at, quote, (size_t)(text->end - text->at)) : nullptr;
    if (!close || close - text->at > 64) return false;
    *word = text->at;
    *len = (int)(close - text->at);
    text->at = close + 1;
    return true;
}

static inline bool npy_number(NpyText *text, int64_t *number) {
    const char *first = text->at;
    *number = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        int digit = *text->at - '0';
        if (*number > (INT64_MAX - digit) / 10) return false;
        *number = *number * 10 + digit;
    }
    return text->at > first;
}

// Values of a row.
static inline int64_t npy_values(const NpyRow *row) {
    int64_t values = 1;
    for (uint32_t i = 0; i < row->rank; i++) values *= row->shape[i];
    return values;
}

// Bytes of a row.
static inline int64_t npy_width(const NpyRow *row) { return npy_values(row) * row->type->size; }

// The row of a column: the kind of its value or element, and the shape of a tensor.
static inline NpyRow npy_row(unsigned kind, uint32_t rank, const uint32_t *shape) {
    NpyRow row = {.type = npy_type_of(kind), .rank = rank};
    for (uint32_t i = 0; i < rank && i < NPY_RANK_MAX; i++)
        row.shape[i] = shape[i] <= NPY_ROW_MAX ? shape[i] : 0;  // Open in the compiler's types.
    return row;
}

static inline bool npy_is_open(const NpyRow *row) {
    for (uint32_t i = 0; i < row->rank; i++)
        if (row->shape[i] == 0) return true;
    return false;
}

static inline bool npy_same_shape(const uint32_t *shape, const uint32_t *wanted, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++)
        if (wanted[i] != 0 && shape[i] != wanted[i]) return false;
    return true;
}

// Is the file made of such rows? One whose array is as a row is, without a dimension for rows, is
// one row.
static inline bool npy_has_rows(NpyHeader *header, const NpyRow *wanted) {
    const NpyRow *row = &header->row;
    if (row->type != wanted->type) return false;
    if (row->rank == wanted->rank) return npy_same_shape(row->shape, wanted->shape, row->rank);
    uint32_t first = header->rows <= NPY_ROW_MAX ? (uint32_t)header->rows : 0;
    if (row->rank + 1 != wanted->rank || first == 0 ||
        !npy_same_shape(&first, wanted->shape, 1) ||
        !npy_same_shape(row->shape, wanted->shape + 1, row->rank))
        return false;
    NpyRow whole = {.type = row->type, .rank = wanted->rank, .shape = {first}};
    memcpy(whole.shape + 1, row->shape, row->rank * sizeof *row->shape);
    if (npy_width(&whole) > NPY_ROW_MAX) return false;
    header->row = whole;
    header->rows = 1;
    return true;
}

// "f32[2, 3]", as a type is written.
static inline const char *npy_row_name(const NpyRow *row, char name[NPY_WORDS]) {
    int len = snprintf(name, NPY_WORDS, "%s", row->type->name);
    for (uint32_t i = 0; i < row->rank; i++) {
        len += snprintf(name + len, (size_t)(NPY_WORDS - len), i ? ", " : "[");
        len += snprintf(name + len, (size_t)(NPY_WORDS - len), row->shape[i] ? "%u" : "_",
                        row->shape[i]);
    }
    if (row->rank) snprintf(name + len, (size_t)(NPY_WORDS - len), "]");
    return name;
}

// Takes the number of the rows, and then the dimensions of a row. One that no row has is 0.
static inline void npy_dimension(NpyHeader *header, int dimension, int64_t number) {
    if (!dimension) header->rows = number;
    else if (dimension <= NPY_RANK_MAX)
        header->row.shape[dimension - 1] = number <= NPY_ROW_MAX ? (uint32_t)number : 0;
}

// (3,) and its like. How many dimensions, or -1: it is damaged.
static inline int npy_shape(NpyText *text, NpyHeader *header) {
    int dimensions = 0;
    if (!npy_take(text, "(")) return -1;
    while (!npy_take(text, ")")) {
        int64_t number;
        npy_take(text, "");  // Spaces.
        if (dimensions > 99 || !npy_number(text, &number)) return -1;
        npy_dimension(header, dimensions++, number);
        npy_take(text, "L");
        if (npy_take(text, ",")) continue;
        // One dimension has a comma, else it would be a number in parentheses.
        if (dimensions == 1 || !npy_take(text, ")")) return -1;
        break;
    }
    return dimensions;
}

// The type of '<f8' and its like.
static inline const NpyType *npy_descr(const char *word, int len, bool *big) {
    if (len != 3) return nullptr;
    *big = word[0] == '>';
    for (int i = 0; i < NPY_TYPES; i++) {
        bool same = npy_types[i].letter == word[1] && npy_types[i].size == word[2] - '0';
        if (same && strchr(npy_types[i].size == 1 ? "|<>=" : "<>=", word[0])) return &npy_types[i];
    }
    return nullptr;
}

// One of the three entries. False: header->wrong says why, unless `wrong` is empty.
static inline bool npy_entry(NpyText *text, NpyHeader *header, unsigned *seen) {
    const char *key, *word;
    int key_len, len, dimensions;
    if (!npy_string(text, &key, &key_len) || !npy_take(text, ":")) return false;
    unsigned which = key_len == 5 && memcmp(key, "descr", 5) == 0            ? 1
                     : key_len == 5 && memcmp(key, "shape", 5) == 0          ? 2
                     : key_len == 13 && memcmp(key, "fortran_order", 13) == 0 ? 4
                                                                              : 0;
    if (!which || *seen & which) return false;
    *seen |= which;
    if (which == 4) {
        header->fortran = npy_take(text, "True");
        return header->fortran || npy_take(text, "False");
    }
    if (which == 2) {
        dimensions = npy_shape(text, header);
        if (dimensions == 0) header->rows = 1;
        if (dimensions > NPY_RANK_MAX + 1)
            snprintf(header->wrong, NPY_WORDS, "has %d dimensions: the first one counts the rows, "
                     "and a row has up to %d", dimensions, NPY_RANK_MAX);
        else if (dimensions > 0) header->row.rank = (uint32_t)dimensions - 1;
        return !header->wrong[0] && dimensions >= 0;
    }
    if (npy_take(text, "[")) {
        snprintf(header->wrong, NPY_WORDS, "has values of several fields");
        return false;
    }
    if (!npy_string(text, &word, &len)) return false;
    header->row.type = npy_descr(word, len, &header->big);
    if (!header->row.type)
        snprintf(header->wrong, NPY_WORDS, "has values of type '%.*s'", len, word);
    return header->row.type;
}

// Can rows be like that? False: header->wrong says why not.
static inline bool npy_rows_good(NpyHeader *header) {
    const NpyRow *row = &header->row;
    if (row->rank && header->fortran) {
        snprintf(header->wrong, NPY_WORDS, "is in Fortran order: a row of it is not in one place");
        return false;
    }
    int64_t bytes = row->type->size;
    for (uint32_t i = 0; i < row->rank && bytes > 0 && bytes <= NPY_ROW_MAX; i++)
        bytes *= row->shape[i];
    if (bytes > 0 && bytes <= NPY_ROW_MAX) return true;
    snprintf(header->wrong, NPY_WORDS, "has rows of no values, or of more than 1 GiB");
    return false;
}

// Reads the front of a file, whatever its rows are. False: header->wrong says why.
static inline bool npy_read_header(const char *bytes, int64_t len, NpyHeader *header) {
    *header = (NpyHeader){0};
    int64_t front = npy_front(bytes, len);
    if (front == 0 && len >= 8 && memcmp(bytes, "\x93NUMPY", 6) == 0)
        snprintf(header->wrong, NPY_WORDS, "is no npy file of version 1 to 3 with a header of "
                 "up to %lld bytes", (long long)NPY_HEADER_MAX);
    else if (front == 0) snprintf(header->wrong, NPY_WORDS, "is no npy file");
    else if (front < 0 || front > len)
        snprintf(header->wrong, NPY_WORDS, "ends within its header, at byte %lld", (long long)len);
    if (header->wrong[0]) return false;
    NpyText text = {.begin = bytes, .at = bytes + (bytes[6] == 1 ? 10 : 12), .end = bytes + front};
    unsigned seen = 0;
    bool good = npy_take(&text, "{");
    while (good && !npy_take(&text, "}")) {
        good = npy_entry(&text, header, &seen);
        if (good && !npy_take(&text, ",")) {
            good = npy_take(&text, "}");
            break;
        }
    }
    if (good && seen == 7 && npy_take(&text, "\n") && text.at == text.end) {
        header->begin = front;
        return true;
    }
    if (!header->wrong[0])
        snprintf(header->wrong, NPY_WORDS, "has a damaged header, at byte %lld",
                 (long long)(text.at - text.begin));
    return false;
}

// The same of a file whose rows are read one after the other.
static inline bool npy_read(const char *bytes, int64_t len, NpyHeader *header) {
    return npy_read_header(bytes, len, header) && npy_rows_good(header);
}

// Has a file of `size` bytes the values that its header says? False: header->wrong says why not.
static inline bool npy_whole(NpyHeader *header, int64_t size) {
    int64_t width = npy_width(&header->row), bytes = size - header->begin;
    if (header->rows <= bytes / width && header->rows * width == bytes) return true;
    snprintf(header->wrong, NPY_WORDS, "has %lld %s in its header and %lld bytes after it, "
             "from byte %lld on: %lld of them are %lld bytes", (long long)header->rows,
             header->row.rank ? "rows" : "values", (long long)bytes,
             (long long)header->begin, (long long)(bytes / width),
             (long long)(bytes / width * width));
    return false;
}

// The header of a file with so many rows: version 1, NPY_WRITTEN bytes, the first value aligned.
// NPY_ONE_ROW: of one row, without a dimension for rows.
static inline void npy_write(const NpyRow *row, int64_t rows, char header[NPY_WRITTEN]) {
    char text[NPY_WRITTEN];
    const NpyType *type = row->type;
    int len = snprintf(text, sizeof text,
                       "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                       type->size == 1 ? '|' : '<', type->letter, type->size);
    bool stacked = rows != NPY_ONE_ROW;
    if (stacked) len += snprintf(text + len, sizeof text - (size_t)len, "%lld", (long long)rows);
    for (uint32_t i = 0; i < row->rank; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, i || stacked ? ", %u" : "%u",
                        row->shape[i]);
    len += snprintf(text + len, sizeof text - (size_t)len,
                    row->rank + stacked == 1 ? ",), }" : "), }");
    memset(header, ' ', NPY_WRITTEN);
    memcpy(header, "\x93NUMPY\1\0", 8);
    header[8] = (char)(NPY_WRITTEN - 10);
    header[9] = 0;
    memcpy(header + 10, text, (size_t)len);
    header[NPY_WRITTEN - 1] = '\n';
}

// A value of `size` bytes as it is on this machine.
static inline uint64_t npy_value(const NpyType *type, bool big, const char *bytes) {
    uint64_t value = 0;
    for (int i = 0; i < type->size; i++)
        value |= (uint64_t)(unsigned char)bytes[big ? type->size - 1 - i : i] << 8 * i;
    return value;
}

#endif
