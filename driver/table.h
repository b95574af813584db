// Table: rows that a job writes as CSV, aligned for a person at a terminal.
#ifndef SBC_DRIVER_TABLE_H
#define SBC_DRIVER_TABLE_H

#include "ir/graph.h"

// Reads CSV with a header from `fd` to its end; prints the first rows aligned, numbers at the
// right, and says how many more there are. `sink` is the operator that wrote it.
void table_show(Arena *arena, const Graph *graph, OpId sink, int fd);

#endif
