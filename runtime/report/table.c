#include "runtime/report/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sb_table_close(TextTable *table) {
    for (uint32_t i = 0; i < table->count; i++) sb_text_close(&table->cells[i]);
    free(table->cells);
    *table = (TextTable){0};
}

Text *sb_table_cell(TextTable *table) {
    if (table->count == table->cap) {
        uint32_t cap = table->cap ? 2 * table->cap : 64;
        Text *cells = realloc(table->cells, cap * sizeof *cells);
        if (!cells) abort();
        table->cells = cells;
        table->cap = cap;
    }
    table->cells[table->count] = (Text){0};
    return &table->cells[table->count++];
}

void sb_table_add(TextTable *table, const char *bytes, int64_t len) {
    sb_text_add(sb_table_cell(table), bytes, len);
}

void sb_table_word(TextTable *table, const char *word) {
    sb_table_add(table, word, (int64_t)strlen(word));
}

void sb_table_figure(TextTable *table, int64_t figure) {
    sb_text_add_figure(sb_table_cell(table), figure);
}

static int64_t width(const Text *text) {
    int64_t characters = 0;
    for (int64_t i = 0; i < text->len; i++)
        characters += ((unsigned char)text->ptr[i] & 0xc0) != 0x80;
    return characters;
}

void sb_table_print(const TextTable *table, Text *text) {
    int64_t widths[TABLE_COLUMNS_MAX] = {0};
    assert(table->columns <= TABLE_COLUMNS_MAX);
    for (uint32_t i = 0; i < table->count; i++) {
        int64_t own = width(&table->cells[i]), *widest = &widths[i % table->columns];
        if (own > *widest) *widest = own;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t column = i % table->columns;
        const Text *cell = &table->cells[i];
        int pad = (int)(widths[column] - width(cell));
        bool last = column + 1 == table->columns;
        if (last && cell->len == 0) {
            sb_text_str(text, "\n");
            continue;
        }
        if (column > 0) sb_text_str(text, "  ");
        if (column >= table->left) sb_text_format(text, "%*s", pad, "");
        sb_text_add(text, cell->ptr, cell->len);
        if (column < table->left && !last) sb_text_format(text, "%*s", pad, "");
        if (last) sb_text_str(text, "\n");
    }
}
