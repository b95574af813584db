// Words of `null` that stay text because their column is of type str: how many, and the warning.
#include "codegen/reference/job.h"

#include <stdio.h>

enum { COLUMNS_NAMED_MAX = 8 };

void null_words_count(Job *job, Node *node, uint32_t column, Text raw) {
    const SourceOp *source = &node->op->source;
    const CsvOptions *csv = &source->options.csv;
    bool quoted = csv->quote && raw.len && raw.at[0] == csv->quote, word = false;
    if (!raw.len || quoted || !source_keeps_words(source, column)) return;
    for (uint32_t i = 0; i < csv->null_count; i++) word |= text_eq(csv->nulls[i], raw);
    if (!word) return;
    if (!node->words) node->words = arena_new_array(job->arena, int64_t, source->column_count);
    node->words[column]++;
}

static void print_source(const Job *job, const Node *node, FILE *to) {
    const SourceOp *source = &node->op->source;
    TextBuf counts = {0}, types = {0};
    uint32_t found = 0;
    for (uint32_t c = 0; c < source->column_count; c++) {
        Text name = source->columns[c].name;
        if (!node->words[c] || found++ >= COLUMNS_NAMED_MAX) continue;
        const char *comma = found > 1 ? ", " : "";
        text_buf_format(&counts, "%s'%.*s' (%lld)", comma, TEXT_ARG(name),
                        (long long)node->words[c]);
        text_buf_format(&types, "%s%.*s: str?", comma, TEXT_ARG(name));
    }
    if (found > COLUMNS_NAMED_MAX)
        text_buf_format(&counts, " and %u more", found - COLUMNS_NAMED_MAX);
    Text label = node->op->step.i < job->graph->step_count
                     ? job->graph->steps[node->op->step.i].label
                     : TEXT("");
    fprintf(to, "warning[SB8126]: words of null stay text in str columns of '%.*s': %.*s; "
            "declare %.*s\n", TEXT_ARG(label), TEXT_ARG(text_buf_view(&counts)),
            TEXT_ARG(text_buf_view(&types)));
    text_buf_free(&counts);
    text_buf_free(&types);
}

void null_words_print(const Job *job, FILE *to) {
    for (size_t i = 0; i < job->graph->op_count; i++)
        if (job->nodes[i].words) print_source(job, &job->nodes[i], to);
}
