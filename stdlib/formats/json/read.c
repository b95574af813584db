// JSON files: a row is a value, with what stands between it and the value before.
//
//   [{"a": 1}, {"a": 2}]      rows  `{"a": 1}`  `, {"a": 2}`  and at the end `]`, which is none
//   {"a": 1} {"a": 2}         rows  `{"a": 1}`  ` {"a": 2}`
//
// So a row ends with its value, wherever a unit ends. What a row shows begins with its value.
#include "stdlib/formats/json/json.h"

#include "runtime/input.h"
#include "stdlib/json.h"
#include "stdlib/text.h"

#include <assert.h>
#include <string.h>

// ---- files ----

static bool is_space(char byte) {
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

static int64_t pass_space(SbStr text, int64_t at) {
    while (at < text.len && is_space(text.ptr[at])) at++;
    return at;
}

static bool header_whole(const Source *, SbStr front) {
    return pass_space(front, source_mark_bytes(front)) < front.len;
}

static bool header(const Source *, SourceFile *file, SbStr front, Trouble *trouble) {
    int64_t at = pass_space(front, source_mark_bytes(front));
    bool any = at < front.len, array = any && front.ptr[at] == '[';
    if (any && !array && front.ptr[at] != '{') {
        trouble_set(trouble, TROUBLE_HEADER,
                    "'%s' holds no JSON objects: it begins with neither '[' nor '{'", file->path);
        return trouble_fix(trouble, "give a file that is an array, [{...}, {...}], or objects one "
                           "after the other"), false;
    }
    if (!source_file_fields(file, JSON_FIELDS, trouble)) return false;
    file->begin = any ? at + array : front.len;
    file->begin_lines = sb_lines_count(front.ptr, file->begin);
    file->field_count = 1;
    file->fields[JSON_FIELD_ARRAY] = array;
    file->fields[JSON_FIELD_BEGIN] = (uint32_t)file->begin;
    return true;
}

// The last byte of a plain file that is no white space; 0: there is none.
static char last_of(const SourceFile *file, int64_t size) {
    char block[4096];
    for (int64_t end = size; end > 0;) {
        int64_t begin = end > (int64_t)sizeof block ? end - (int64_t)sizeof block : 0;
        ssize_t got = source_read(file, block, end - begin, begin);
        if (got != end - begin) return ']';  // Who reads the rows says what is wrong.
        for (int64_t at = got; at-- > 0;)
            if (!is_space(block[at])) return block[at];
        end = begin;
    }
    return 0;
}

static bool ends(const Source *, const SourceFile *file, int64_t size, Trouble *trouble) {
    if (!file->fields[JSON_FIELD_ARRAY]) return true;
    char last = file->stream ? file->last : last_of(file, size);
    if (last == ']') return true;
    trouble_set(trouble, TROUBLE_HEADER, "'%s' ends within its array: there is no ']' at its end",
                file->path);
    return trouble_fix(trouble, "give the whole file: this one is cut short"), false;
}

// ---- rows ----

static int64_t row_end(const Window *window, int64_t pos, int64_t from) {
    for (int64_t at = pos;;) {
        SbJsonPass pass = {0};
        at = sb_json_pass(&pass, window->text, at, window->len);
        if (!pass.done) return -1;
        if (at >= from) return at;
    }
}

// After what looks like the end of an object, before the beginning of another one.
static int64_t row_start(const Window *window, int64_t to) {
    const char *text = window->text;
    for (int64_t at = 0; at < to; at++) {
        const char *end = memchr(text + at, '}', (size_t)(to - at));
        if (!end) return -1;
        at = end - text;
        int64_t next = at + 1;
        while (next < to && sb_json_is_front(text[next]) && text[next] != ']') next++;
        if (next < to && text[next] == '{') return at + 1;
    }
    return -1;
}

static int64_t pass(uint64_t state[], SbStr text, bool *done) {
    SbJsonPass walk;
    static_assert(sizeof walk <= ROW_STATE_WORDS * sizeof *state);
    memcpy(&walk, state, sizeof walk);
    int64_t at = sb_json_pass(&walk, text.ptr, 0, text.len);
    memcpy(state, &walk, sizeof walk);
    *done = walk.done;
    return at;
}

static int64_t row_begin(SbStr text, int64_t pos) {
    while (pos < text.len && sb_json_is_front(text.ptr[pos])) pos++;
    return pos;
}

// ---- the index ----

// What stands before a value, or at the end.
typedef struct Front {
    int64_t value;   // Where the value begins.
    int64_t commas, closes;
    int64_t mark;    // The first that is no white space.
} Front;

static Front front_at(const char *text, int64_t at, int64_t end) {
    Front front = {.value = at, .mark = -1};
    for (; front.value < end && sb_json_is_front(text[front.value]); front.value++) {
        char byte = text[front.value];
        front.commas += byte == ',';
        front.closes += byte == ']';
        if (front.mark < 0 && !is_space(byte)) front.mark = front.value;
    }
    return front;
}

// Does the front go with the file? `begun`: another call has judged it.
static bool front_fits(const SbInput *input, int64_t pos, const Front *front, bool begun) {
    bool array = input->fields[JSON_FIELD_ARRAY];
    bool first = input->offset + pos == input->fields[JSON_FIELD_BEGIN];
    return front->closes == 0 && (begun || front->commas == (array && !first));
}

static void set_fault(SbIndex *index, const char *text, int64_t begin, int64_t end,
                      int32_t fault) {
    index->fault = fault;
    index->fault_begin = begin;
    index->fault_end = end;
    index->fault_lines = 1 + sb_lines_count(text + begin, end - begin);
}

// The end of text[begin, end) without white space.
static int64_t trimmed(const char *text, int64_t begin, int64_t end) {
    while (end > begin && is_space(text[end - 1])) end--;
    return end;
}

// After the last value of a file.
static void judge_end(SbIndex *index, const SbInput *input, const Front *front, int64_t end) {
    bool array = input->fields[JSON_FIELD_ARRAY];
    if (front->mark < 0 || (array && !front->commas && front->closes == 1)) return;
    set_fault(index, input->text, front->mark, trimmed(input->text, front->mark, end),
              SB_FAULT_JSON_BETWEEN);
}

// Takes rows back from the first that is not UTF-8: it is the fault. Gives where to go on.
static int64_t check_utf8(SbIndex *index, const char *text, int64_t pos, int64_t next) {
    if (sb_utf8_valid(text + pos, next - pos)) return next;
    for (uint32_t row = 0; row < index->rows; row++) {
        int64_t begin = index->starts[row], end = index->ends[row];
        if (sb_utf8_valid(text + begin, end - begin)) continue;
        index->rows = row;
        set_fault(index, text, begin, end, SB_FAULT_BAD_UTF8);
        return end;
    }
    bool fault = index->fault && !sb_utf8_valid(text + index->fault_begin,
                                                index->fault_end - index->fault_begin);
    if (fault) index->fault = SB_FAULT_BAD_UTF8;
    return next;
}

// Indexes the values of input->text[pos, end) as sb_lines_index does lines.
void sb_json_index(SbIndex *index, const SbInput *input, int64_t pos, int64_t end);

void sb_json_index(SbIndex *index, const SbInput *input, int64_t pos, int64_t end) {
    assert(end <= UINT32_MAX);
    const uint32_t rows_max = index->rows_max < index->ends_max ? index->rows_max : index->ends_max;
    const char *text = input->text;
    int64_t at = pos;
    sb_index_next(index);
    // A task that goes on with a row does so at its value.
    bool begun = pos > input->begin && (is_space(text[pos - 1]) || text[pos - 1] == ',');
    while (index->rows < rows_max && at < end && !index->fault) {
        Front front = front_at(text, at, end);
        if (front.value == end) {
            judge_end(index, input, &front, end);
            at = end;
            break;
        }
        SbJsonPass walk = {0};
        int64_t stop = sb_json_pass(&walk, text, front.value, end);
        bool fits = front_fits(input, at, &front, begun);
        at = stop;
        if (!walk.done) stop = trimmed(text, front.value, stop);
        if (fits) {
            index->starts[index->rows] = (uint32_t)front.value;
            index->ends[index->rows++] = (uint32_t)stop;
        } else {
            set_fault(index, text, front.mark >= 0 ? front.mark : front.value, stop,
                      SB_FAULT_JSON_BETWEEN);
        }
        begun = false;
    }
    index->next = check_utf8(index, text, pos, at);
    index->lines = sb_lines_count(text + pos, index->next - pos);
}

const SbReader sb_reader_json = {
    .lines = true, .header_whole = header_whole, .header = header, .ends = ends,
    .row_end = row_end, .row_start = row_start, .pass = pass, .row_begin = row_begin,
};
