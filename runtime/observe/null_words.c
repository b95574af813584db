#include "runtime/observe/null_words.h"

#include "runtime/report.h"

enum { COLUMNS_NAMED_MAX = 8 };

// Counts are by word_columns of the source.
static void warn_source(Job *job, const SbSource *source, const int64_t *counts) {
    Text columns = {0}, types = {0};
    uint32_t found = 0;
    for (uint32_t i = 0; i < source->word_column_count; i++) {
        SbStr name = source->columns[source->word_columns[i]].name;
        if (counts[i] == 0 || found++ >= COLUMNS_NAMED_MAX) continue;
        const char *comma = found > 1 ? ", " : "";
        sb_text_format(&columns, "%s'%.*s' (%lld)", comma, (int)name.len, name.ptr,
                       (long long)counts[i]);
        sb_text_format(&types, "%s%.*s: str?", comma, (int)name.len, name.ptr);
    }
    if (found > COLUMNS_NAMED_MAX)
        sb_text_format(&columns, " and %u more", found - COLUMNS_NAMED_MAX);
    if (found > 0 && !columns.failed && !types.failed)
        log_warn(&job->log, TROUBLE_NULL_WORDS,
                 "words of null stay text in str columns of '%.*s': %.*s; declare %.*s",
                 (int)source->label.len, source->label.ptr, (int)columns.len, columns.ptr,
                 (int)types.len, types.ptr);
    sb_text_close(&columns);
    sb_text_close(&types);
}

void null_words_warn(Job *job) {
    const SbJob *what = job->ask.what;
    const int64_t *counts = job->figures.counts + what->step_count * SB_COUNTS;
    for (uint32_t s = 0; s < what->source_count; s++) {
        warn_source(job, &what->sources[s], counts);
        counts += what->sources[s].word_column_count;
    }
}
