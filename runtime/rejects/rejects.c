#include "runtime/rejects/rejects.h"

#include "runtime/report.h"
#include "stdlib/text.h"

#include <stdlib.h>
#include <string.h>

enum { DETAIL_BYTES_MAX = 60, WORDS_BYTES_MAX = 1024, SHOWN_BYTES_MAX = 120, RAW_MAX = 64 * 1024 };

static const int64_t SHARE_ROWS_MIN = 10000;

// What to do about a reject: a value that the program computes is no matter of a column's type, and
// a line that is several lines is no matter of its fields.
static const char *fix_of(const Reject *reject, const SbJob *job) {
    const FaultInfo *info = fault_info(reject->fault);
    bool row = reject->fault == SB_FAULT_FIELD_COUNT || reject->fault == SB_FAULT_BAD_JSON;
    const SbNotText *is = row ? sb_cr_lines(reject->raw, reject->raw_len) : nullptr;
    if (is) return is->fix;
    bool computed = reject->site < job->site_count && job->sites[reject->site].line > 0;
    SbStr message = {reject->message, reject->message_len};
    const char *said = computed ? nullptr
        : sb_fix_by_row(reject->fault, message, (SbStr){reject->raw, reject->raw_len});
    if (said) return said;
    return computed && info->computed_fix[0] ? info->computed_fix : info->fix;
}

// ---- records --------------------------------------------------------------------------------

static void add_message(Text *text, const SbJob *job, const RejectFacts *facts) {
    uint32_t site = facts->place.site;
    if (site < job->site_count) {
        SbStr what = job->sites[site].what;
        if (what.len > 8 && memcmp(what.ptr, "column '", 8) == 0) {
            sb_text_add(text, what.ptr, what.len);
            sb_text_str(text, ": ");
        }
    }
    const char *message = fault_info(facts->place.fault)->message, *gap = strstr(message, "{}");
    if (!gap) {
        sb_text_str(text, message);
        return;
    }
    sb_text_add(text, message, gap - message);
    if (facts->detail) {
        if (facts->bare || sb_fault_is_worded(facts->place.fault))
            sb_text_add_short(text, facts->detail, facts->detail_len, WORDS_BYTES_MAX);
        else {
            sb_text_str(text, "'");
            sb_text_add_short(text, facts->detail, facts->detail_len, DETAIL_BYTES_MAX);
            sb_text_str(text, "'");
        }
    } else {
        sb_text_str(text, "the value");
    }
    sb_text_str(text, gap + 2);
}

static bool grow(RejectList *list, uint32_t more) {
    if (list->count + more <= list->cap) return true;
    uint32_t cap = list->cap ? 2 * list->cap : 8;
    while (cap < list->count + more) cap *= 2;
    Reject *items = realloc(list->items, cap * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->cap = cap;
    return true;
}

static int64_t bytes_of(const Reject *reject) {
    return reject->message_len + reject->raw_len + (int64_t)sizeof *reject;
}

static int64_t weight_of(const Reject *reject) { return reject->fails ? 0 : reject->weight; }

// Adds a record whose texts are its own, and frees them where that fails.
static bool add(RejectList *list, const Reject *reject) {
    int64_t bytes = bytes_of(reject);
    if (!grow(list, 1) || !sb_memory_charge(list->memory, bytes)) {
        free(reject->message);
        return false;
    }
    list->items[list->count++] = *reject;
    list->weight += weight_of(reject);
    list->bytes += bytes;
    return true;
}

bool rejects_add(RejectList *list, const SbJob *job, const RejectFacts *facts) {
    Text text = {0};
    add_message(&text, job, facts);
    int64_t message_len = text.len;
    sb_text_add_shown(&text, facts->raw, sb_text_cut(facts->raw, facts->raw_len, RAW_MAX));
    if (text.failed) {
        sb_text_close(&text);
        return false;
    }
    sb_text_trim(&text);
    Reject reject = facts->place;
    reject.message = text.ptr;
    reject.message_len = message_len;
    reject.raw = text.ptr + message_len;
    reject.raw_len = text.len - message_len;
    return add(list, &reject);
}

bool rejects_copy(RejectList *list, const Reject *reject) {
    Reject copy = *reject;
    char *texts = malloc((size_t)(reject->message_len + reject->raw_len) + 1);
    if (!texts) return false;
    memcpy(texts, reject->message, (size_t)reject->message_len);
    memcpy(texts + reject->message_len, reject->raw, (size_t)reject->raw_len);
    copy.message = texts;
    copy.raw = texts + reject->message_len;
    return add(list, &copy);
}

bool rejects_move(RejectList *list, RejectList *from) {
    if (!grow(list, from->count)) return false;
    if (from->count > 0)
        memcpy(list->items + list->count, from->items, from->count * sizeof *from->items);
    list->count += from->count;
    list->weight += from->weight;
    list->bytes += from->bytes;
    from->count = 0;
    from->weight = from->bytes = 0;
    return true;
}

bool rejects_move_last(RejectList *list, RejectList *from) {
    if (!grow(list, 1)) return false;
    const Reject *last = &from->items[--from->count];
    list->items[list->count++] = *last;
    list->weight += weight_of(last);
    from->weight -= weight_of(last);
    list->bytes += bytes_of(last);
    from->bytes -= bytes_of(last);
    return true;
}

void rejects_cut(RejectList *list, uint32_t count) {
    while (list->count > count) {
        const Reject *last = &list->items[--list->count];
        list->weight -= weight_of(last);
        list->bytes -= bytes_of(last);
        sb_memory_release(list->memory, bytes_of(last));
        free(last->message);
    }
}

void rejects_close(RejectList *list) {
    rejects_cut(list, 0);
    free(list->items);
    *list = (RejectList){.memory = list->memory};
}

// ---- order and limits -----------------------------------------------------------------------

enum { RANK_SHIFT = 56 };  // Of an order key.

int rejects_by_place(const Reject *a, const Reject *b) {
    if (a->origin != b->origin) return a->origin < b->origin ? -1 : 1;
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

int rejects_by_file(const Reject *a, const Reject *b) {
#define BY(member) if (a->member != b->member) return a->member < b->member ? -1 : 1
    BY(behind);
    if (!a->behind) {
        BY(source);
        BY(file);
        BY(offset);
    }
    BY(step);
    if (a->behind && b->behind) {
        // In the order in which rows come to the step, wherever they began.
        BY(result);
        BY(came >> RANK_SHIFT);
        BY(way);
    }
    BY(origin);
    BY(came);
    BY(stage);  // What a stage rejects stands before the row that it hands over next.
    BY(sequence);
#undef BY
    return 0;
}

void rejects_share_open(RejectShare *share, double most, uint32_t source) {
    *share = (RejectShare){.most = most, .source = source, .begun = source == UINT32_MAX};
}

static bool is_passed(const RejectShare *share, int64_t rows) {
    return (double)share->rejected > share->most * (double)rows;
}

void rejects_share_take(RejectShare *share, const Reject *reject) {
    bool one = share->source != UINT32_MAX;
    if (one && (reject->behind || reject->source != share->source)) return;
    if (!share->begun && reject->row + reject->weight >= SHARE_ROWS_MIN) {
        share->begun = true;
        share->over |= reject->row >= SHARE_ROWS_MIN && is_passed(share, SHARE_ROWS_MIN);
    }
    share->rejected += reject->weight;
    // Rows without a reject only lower the share: it is judged where it rises.
    share->over |= one && share->begun && is_passed(share, reject->row + reject->weight);
}

bool rejects_share_over(const RejectShare *share, int64_t rows) {
    bool first = !share->begun && rows >= SHARE_ROWS_MIN;
    return share->over || (first && is_passed(share, SHARE_ROWS_MIN)) || is_passed(share, rows);
}

// ---- texts ----------------------------------------------------------------------------------

static void add_field(Text *text, SbRecords form, const char *name, const char *bytes,
                      int64_t len) {
    bool first = text->len == 0 || text->ptr[text->len - 1] == '\n';
    if (form == SB_RECORDS_CSV) {
        if (!first) sb_text_str(text, ",");
        if (bytes && len == 0) sb_text_str(text, "\"\"");  // Null is the empty field.
        else sb_text_add_csv(text, bytes, len);
        return;
    }
    sb_text_format(text, "%s\"%s\":", first ? "{" : ",", name);
    if (bytes) sb_text_add_json(text, bytes, len);
    else sb_text_str(text, "null");
}

static void add_number(Text *text, SbRecords form, const char *name, bool known, int64_t number) {
    sb_text_str(text, ",");
    if (form != SB_RECORDS_CSV) sb_text_format(text, "\"%s\":", name);
    if (known) sb_text_format(text, "%lld", (long long)number);
    else if (form != SB_RECORDS_CSV) sb_text_str(text, "null");
}

void rejects_text(const Reject *reject, const SbJob *job, SbRecords form, Text *text) {
    SbStr step = job->steps[reject->step].label;
    const char *path = reject->behind ? nullptr : reject->path;
    const char *code = fault_info(reject->fault)->code;
    bool place = reject->has_place && !reject->behind;
    add_field(text, form, "step", step.ptr, step.len);
    add_field(text, form, "source", path, path ? (int64_t)strlen(path) : 0);
    add_number(text, form, "line", place && reject->line > 0, reject->line);
    add_number(text, form, "offset", place, reject->offset);
    add_number(text, form, "length", place, reject->length);
    add_field(text, form, "code", code, (int64_t)strlen(code));
    add_field(text, form, "message", reject->message, reject->message_len);
    add_field(text, form, "raw", reject->raw, reject->raw_len);
    sb_text_str(text, form == SB_RECORDS_CSV ? "\n" : "}\n");
}

void rejects_explain(const Reject *reject, const SbJob *job, const char *limit, int64_t weight,
                     Text *text) {
    const FaultInfo *info = fault_info(reject->fault);
    SbStr step = job->steps[reject->step].label;
    sb_text_format(text, "error[%s]: %.*s\n", info->code, (int)reject->message_len,
                   reject->message);
    if (reject->path && !reject->behind) {
        sb_text_format(text, "  --> %s", reject->path);
        if (reject->line > 0)
            sb_text_format(text, ":%lld, byte %lld", (long long)reject->line,
                           (long long)reject->offset);
        sb_text_str(text, "\n");
    }
    Text shown = {0};
    sb_text_add_short(&shown, reject->raw, reject->raw_len, SHOWN_BYTES_MAX);
    if (shown.len > 0) sb_text_format(text, "   | %.*s\n", (int)shown.len, shown.ptr);
    sb_text_close(&shown);
    sb_text_format(text, "   = in step: %.*s\n", (int)step.len, step.ptr);
    if (limit) {
        sb_text_str(text, "   = ");
        sb_text_add_figure(text, weight);
        sb_text_format(text, " row%s rejected, the limit is %s\n", weight == 1 ? "" : "s", limit);
    }
    sb_text_format(text, "   = fix: %s\n", fix_of(reject, job));
    if (limit && strcmp(limit, "0") != 0) {
        sb_text_str(text, "   = fix: raise the limit to go on without such rows\n");
    } else if (limit) {
        sb_text_str(text, "   = fix: write `rejects write jsonl(\"rejects.jsonl\") limit 0.1%` to "
                          "go on without such rows\n");
    }
}

void rejects_event(const Reject *reject, const SbJob *job, const char *limit, int64_t weight,
                   Text *text) {
    Text record = {0};
    rejects_text(reject, job, SB_RECORDS_JSONL, &record);
    sb_text_str(text, ",");
    sb_text_add(text, record.ptr + 1, record.len - 3);  // Without the braces and the line end.
    sb_text_close(&record);
    const char *fix = fix_of(reject, job);
    sb_text_str(text, ",\"fix\":");
    sb_text_add_json(text, fix, (int64_t)strlen(fix));
    if (limit)
        sb_text_format(text, ",\"rejected\":%lld,\"limit\":\"%s\"", (long long)weight, limit);
}
