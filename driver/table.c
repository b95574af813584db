#include "driver/table.h"

#include "codegen/reference/read_csv.h"

#include <errno.h>
#include <unistd.h>
#include <utf8proc.h>

enum { ROWS_SHOWN_MAX = 1000, SHOWN_BYTES_MAX = 8 << 20, CELL_COLUMNS_MAX = 60 };

typedef struct Table {
    Arena       *arena;
    const Graph *graph;
    const Op    *sink;
    TextRow     *rows;     // The header first.
    size_t       count, cap;
    size_t      *widths;
} Table;

// Columns on a terminal: wide characters take two.
static size_t columns_of(Text text) {
    size_t columns = 0;
    for (size_t at = 0; at < text.len;) {
        utf8proc_int32_t point;
        utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)text.at + at,
                                                 (utf8proc_ssize_t)(text.len - at), &point);
        if (step < 1) return columns + (text.len - at);
        columns += (size_t)utf8proc_charwidth(point);
        at += (size_t)step;
    }
    return columns;
}

// What a cell shows: one line, cut when it is long.
static Text cell_text(Arena *arena, Text text) {
    TextBuf buf = {0};
    size_t columns = 0;
    for (size_t at = 0; at < text.len; at++) {
        unsigned char c = (unsigned char)text.at[at];
        bool begins = (c & 0xc0) != 0x80;
        if (begins && ++columns > CELL_COLUMNS_MAX) {
            text_buf_add(&buf, TEXT("…"));
            break;
        }
        text_buf_char(&buf, c < ' ' || c == 0x7f ? ' ' : (char)c);
    }
    return text_buf_take(&buf, arena);
}

static bool is_number(const Table *table, size_t column) {
    ExprId value = table->sink->sink.columns[column].value;
    return type_is_numeric(type_base(graph_at(table->graph, value)->type));
}

static size_t fields_of(const Table *table, const TextRow *row) {
    size_t columns = table->sink->sink.column_count;
    return row->field_count < columns ? row->field_count : columns;
}

static void print_row(const Table *table, const TextRow *row) {
    size_t owed = 0;  // Spaces that a cell further right needs.
    for (size_t i = 0; i < fields_of(table, row); i++) {
        Text cell = cell_text(table->arena, row->fields[i].text);
        size_t columns = columns_of(cell), width = table->widths[i];
        size_t pad = width > columns ? width - columns : 0;
        bool right = is_number(table, i);
        printf("%*s%.*s", (int)(owed + (right ? pad : 0)), "", TEXT_ARG(cell));
        owed = 2 + (right ? 0 : pad);
    }
    putchar('\n');
}

static void measure(Table *table) {
    table->widths = arena_new_array(table->arena, size_t, table->sink->sink.column_count + 1);
    for (size_t r = 0; r < table->count; r++) {
        const TextRow *row = &table->rows[r];
        for (size_t i = 0; i < fields_of(table, row); i++) {
            size_t columns = columns_of(cell_text(table->arena, row->fields[i].text));
            if (columns > table->widths[i]) table->widths[i] = columns;
        }
    }
}

// Reads to the end, keeps the first bytes, and counts the line ends outside quotes of the others.
static Text read_rows(Arena *arena, int fd, size_t *rows_more) {
    TextBuf kept = {0};
    char bytes[1 << 16];
    bool quoted = false;
    for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) != 0;) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        bool keep = kept.len < SHOWN_BYTES_MAX;
        if (keep) text_buf_add(&kept, (Text){bytes, (size_t)got});
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] == '"') quoted = !quoted;
            if (!keep && bytes[i] == '\n' && !quoted) ++*rows_more;
        }
    }
    return text_buf_take(&kept, arena);
}

void table_show(Arena *arena, const Graph *graph, OpId sink, int fd) {
    static const CsvOptions csv = {.delimiter = ',', .quote = '"', .header = true};
    Table table = {.arena = arena, .graph = graph, .sink = graph_op_at(graph, sink)};
    size_t more = 0;
    TextCursor cursor = {.arena = arena, .text = read_rows(arena, fd, &more), .csv = &csv,
                         .field_count = table.sink->sink.column_count};
    for (TextRow row = {0}; csv_next(&cursor, &row); row = (TextRow){0}) {
        if (table.count <= ROWS_SHOWN_MAX)
            arena_push(arena, table.rows, table.count, table.cap, row);
        else more++;
    }
    measure(&table);
    for (size_t i = 0; i < table.count; i++) print_row(&table, &table.rows[i]);
    if (more) printf("and %zu more row%s; all of them: | write csv(\"FILE\")\n", more,
                     more == 1 ? "" : "s");
    fflush(stdout);
}
