// Table: rows of cells as text in columns, each as wide as its widest cell.
#ifndef SBC_RUNTIME_TABLE_H
#define SBC_RUNTIME_TABLE_H

#include "runtime/report/text.h"

enum { TABLE_COLUMNS_MAX = 16 };

typedef struct TextTable {
    uint32_t columns;
    uint32_t left;       // Columns aligned left; those after them are aligned right.
    Text    *cells;      // Row by row; the first row holds the heads.
    uint32_t count, cap;
} TextTable;

void sb_table_close(TextTable *table);
// The next cell, which the caller fills; it lives until the next one is asked for. Without memory
// for so little the process aborts.
Text *sb_table_cell(TextTable *table);
void sb_table_add(TextTable *table, const char *bytes, int64_t len);
void sb_table_word(TextTable *table, const char *word);
void sb_table_figure(TextTable *table, int64_t figure);  // 1,234,567
// All rows; where the last cell is empty the row ends with the one before.
void sb_table_print(const TextTable *table, Text *text);

#endif
