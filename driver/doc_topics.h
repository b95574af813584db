// Topics in `sbc doc`: statements, expressions, formats with their options, windows.
#ifndef SBC_DRIVER_DOC_TOPICS_H
#define SBC_DRIVER_DOC_TOPICS_H

#include "ir/text.h"

// The first sentence.
Text doc_summary(Text doc);
// The next line of a text of lines.
Text doc_line(const char **at);
// A cell of a table: `|` would end it, and a line end too.
void doc_cell(TextBuf *buf, Text text);
bool doc_same_word(Text a, Text b);

// Each topic and option of that name, or the group. False: there is none.
bool print_topics(TextBuf *buf, const char *word);
// All of them, a line each.
void print_all_topics(TextBuf *buf);
void print_markdown_topics(TextBuf *buf);
// Their names and groups. Returns how many; with null it only counts.
size_t topic_names(Text *names);

// A line for each topic and option of which the text has the word.
void print_topics_about(TextBuf *buf, const char *word);
// Has the text this word, in either case?
bool doc_mentions(Text text, const char *word);

#endif
