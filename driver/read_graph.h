// Read graph: a program given as the text of its graph, as --dump prints it.
#ifndef SBC_DRIVER_READ_GRAPH_H
#define SBC_DRIVER_READ_GRAPH_H

#include "driver/session.h"

// Does the name of the main file say that it holds such a text (FILE.ir)?
bool is_graph_text(const char *name);

// Reads and verifies it. s->sources then holds the files that its spans speak of, by their numbers;
// what is wrong is among the diagnostics.
Program *read_graph(Session *s);

#endif
