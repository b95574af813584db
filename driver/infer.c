#include "driver/infer.h"

#include "codegen/reference/read_csv.h"
#include "codegen/reference/read_json.h"
#include "driver/peek.h"
#include "runtime/abi.h"
#include "stdlib/json.h"
#include "stdlib/text.h"

#include <string.h>
#include <strings.h>

// What a column may still be, in the order of preference.
enum Can : unsigned {
    CAN_BOOL = 1u << 0, CAN_I64 = 1u << 1, CAN_U64 = 1u << 2, CAN_F64 = 1u << 3,
    CAN_DATE = 1u << 4, CAN_TIME = 1u << 5, CAN_TIME_NS = 1u << 6,
    CAN_CLOCK = 1u << 7, CAN_LIST = 1u << 8, CAN_STRUCT = 1u << 9, CAN_STR = 1u << 10,
    CAN_NUMBER = CAN_I64 | CAN_U64 | CAN_F64,
    CAN_SCALAR = CAN_BOOL | CAN_NUMBER | CAN_DATE | CAN_TIME | CAN_TIME_NS | CAN_CLOCK,
    CAN_ALL = (1u << 11) - 1,
};

enum { DEPTH_MAX = 8, FIELDS_MAX = 4096, WORDS_MAX = 8 };

typedef struct Guess {
    Text     name;
    unsigned can;         // By the values that are no null words.
    unsigned can_words;   // By the null words.
    size_t   seen, nulls; // Values that are not null; nulls, of members that objects lack too.
    size_t   lacking;     // Objects without the member.
    Text     words[WORDS_MAX];
    uint32_t word_count;
    struct Guess *elem;   // LIST.
    struct Guess *fields; // STRUCT.
    size_t   field_count, field_cap;
} Guess;

typedef struct Infer {
    const InferText *input;
    Arena     *arena;
    TypeTable *types;
} Infer;

static Guess fresh(Text name) {
    return (Guess){.name = name, .can = CAN_ALL, .can_words = CAN_ALL};
}

static const Type *scalar_type(const Infer *infer, unsigned can) {
    switch (can) {
    case CAN_BOOL: return type_of(infer->types, TYPE_BOOL);
    case CAN_I64: return type_of(infer->types, TYPE_I64);
    case CAN_U64: return type_of(infer->types, TYPE_U64);
    case CAN_F64: return type_of(infer->types, TYPE_F64);
    case CAN_DATE: return type_of(infer->types, TYPE_DATE);
    case CAN_TIME: return type_timestamp(infer->types, UNIT_US);
    case CAN_TIME_NS: return type_timestamp(infer->types, UNIT_NS);
    case CAN_CLOCK: return type_of(infer->types, TYPE_DURATION);
    default: return type_of(infer->types, TYPE_STR);  // No enum: a set of bits.
    }
}

// ---- CSV ----------------------------------------------------------------------------------------

static bool has_leading_zero(Text text) {
    size_t at = text.len && text.at[0] == '-';
    return text.len > at + 1 && text.at[at] == '0' && text.at[at + 1] >= '0' &&
           text.at[at + 1] <= '9';
}

static bool is_digits(Text text) {
    size_t at = text.len && text.at[0] == '-';
    for (size_t i = at; i < text.len; i++)
        if (text.at[i] < '0' || text.at[i] > '9') return false;
    return text.len > at;
}

// 14:05:00, of all durations: 90s and 3:10 may be anything.
static bool is_clock(Text text) {
    size_t colons = 0;
    for (size_t i = 0; i < text.len; i++) colons += text.at[i] == ':';
    return colons == 2;
}

// Those of `can` that take the text of a field.
static unsigned field_can(const Infer *infer, Text field, unsigned can) {
    ReadOptions options = {.point = infer->input->csv->decimal};
    unsigned left = can & CAN_STR;
    Text text = csv_ungroup(infer->arena, infer->input->csv, field);
    if (text.len != field.len) can &= CAN_NUMBER | CAN_STR;
    if (has_leading_zero(text)) can &= ~(unsigned)CAN_NUMBER;
    if (!is_clock(text)) can &= ~(unsigned)CAN_CLOCK;
    for (unsigned bit = CAN_BOOL; bit <= CAN_CLOCK; bit <<= 1) {
        Value value;
        if (can & bit && !value_read(infer->arena, scalar_type(infer, bit), text, options, &value))
            left |= bit;
    }
    // As a float, an integer that no integer type holds would lose digits.
    enum { DIGITS_ALWAYS_HELD = 18 };
    Value value;
    if (text.len > DIGITS_ALWAYS_HELD && is_digits(text) &&
        value_read(infer->arena, scalar_type(infer, CAN_I64), text, options, &value) &&
        value_read(infer->arena, scalar_type(infer, CAN_U64), text, options, &value))
        left &= ~(unsigned)CAN_F64;
    return left;
}

static bool is_null_word(Text text) {
    static const char *const words[] = {"NA", "N/A", "#N/A", "NULL", "null", "None", "none", "nil",
                                        "\\N", "-", "--", ".", "?"};
    for (size_t i = 0; i < countof(words); i++)
        if (text_is(text, words[i])) return true;
    return false;
}

static bool is_null_field(const CsvOptions *csv, const CsvField *field) {
    if (field->quoted) return false;
    if (!field->text.len && !csv->strict_nulls) return true;
    for (uint32_t i = 0; i < csv->null_count; i++)
        if (text_eq(csv->nulls[i], field->text)) return true;
    return false;
}

static void see_field(const Infer *infer, Guess *guess, const CsvField *field) {
    const CsvOptions *csv = infer->input->csv;
    Text text = field->text;
    if (is_null_field(csv, field)) {
        guess->nulls++;
        return;
    }
    if (field->quoted || csv->strict_nulls || !is_null_word(text)) {
        guess->seen++;
        if (guess->can != CAN_STR) guess->can = field_can(infer, text, guess->can);
        return;
    }
    for (uint32_t i = 0; i < guess->word_count; i++)
        if (text_eq(guess->words[i], text)) return;
    guess->can_words = field_can(infer, text, guess->can_words);
    if (guess->word_count < WORDS_MAX) guess->words[guess->word_count++] = text;
    else guess->can = CAN_STR;  // Too many to be marks of absence.
}

// The second line of the error is the fix.
static bool not_text(const SbNotText *is, TextBuf *error) {
    text_buf_format(error, "%s\n%s", is->what, is->fix);
    return false;
}

// Of what is `read` as text all the same: only CR for line ends up to the first LF.
static const SbNotText *what_instead(const Infer *infer, bool read) {
    Text text = infer->input->text;
    const char *line = text.len ? memchr(text.at, '\n', text.len) : nullptr;
    int64_t len = line ? line - text.at : (int64_t)text.len;
    return read ? sb_cr_lines(text.at, len) : sb_not_text(text.at, len);
}

static bool csv_header(const Infer *infer, TextCursor *cursor, Guess *row, TextBuf *error) {
    TextRow header = {0};
    TextCursor first = *cursor;
    bool read = csv_next(&first, &header) && !header.status;
    const SbNotText *is = what_instead(infer, read);
    if (is) return not_text(is, error);
    if (!read) {
        text_buf_add(error, header.field_count ? TEXT("its first row is no row of a CSV")
                                               : TEXT("it is empty"));
        return false;
    }
    bool named = infer->input->csv->header;
    for (size_t i = 0; i < header.field_count; i++) {
        Text name = named ? header.fields[i].text
                          : text_format(infer->arena, "column%zu", i + 1);
        for (size_t j = 0; j < row->field_count; j++) {
            if (!text_eq(row->fields[j].name, name)) continue;
            text_buf_format(error, "its header names '%.*s' twice", TEXT_ARG(name));
            return false;
        }
        if (!name.len || row->field_count == FIELDS_MAX) {
            text_buf_format(error, name.len ? "it has more than %d columns"
                                            : "its header leaves a column without a name",
                            FIELDS_MAX);
            return false;
        }
        Guess guess = fresh(name);
        arena_push(infer->arena, row->fields, row->field_count, row->field_cap, guess);
    }
    if (named) *cursor = first;
    cursor->field_count = row->field_count;
    return true;
}

static bool see_csv(const Infer *infer, Guess *row, size_t *rows, TextBuf *error) {
    TextCursor cursor = {.arena = infer->arena, .text = infer->input->text,
                         .csv = infer->input->csv};
    char named, own = cursor.csv->delimiter;
    if (!csv_skip_lead(&cursor, &named)) {
        text_buf_add(error, TEXT("it ends within the lines to skip"));
        return false;
    }
    if (named && named != own) {
        text_buf_format(error, "it begins with a line `sep=%c`, and the delimiter is '%c'\n"
                        "give the read delimiter = \"%c\"", named, own, named);
        return false;
    }
    if (!csv_header(infer, &cursor, row, error)) return false;
    for (TextRow next = {0}; *rows < INFER_ROWS_MAX && csv_next(&cursor, &next);) {
        if (next.status) continue;  // The job will reject it.
        for (size_t i = 0; i < row->field_count; i++)
            see_field(infer, &row->fields[i], &next.fields[i]);
        ++*rows;
    }
    return true;
}

// ---- JSON lines ---------------------------------------------------------------------------------

// The number of a member, or how many there are.
static size_t field_at(const Guess *guess, Text name) {
    size_t i = 0;
    while (i < guess->field_count && !text_eq(guess->fields[i].name, name)) i++;
    return i;
}

static void see_json(const Infer *infer, Guess *guess, const JsonNode *node, unsigned depth);

static void see_object(const Infer *infer, Guess *guess, const JsonNode *object, unsigned depth) {
    size_t seen = guess->seen;  // Objects before this one.
    for (const JsonNode *member = object->first; member; member = member->next) {
        if (!member->key.len) continue;  // No program can name it.
        const size_t i = field_at(guess, member->key);
        if (i == guess->field_count) {
            Guess field = fresh(member->key);
            field.nulls = field.lacking = seen;  // They did not have it.
            arena_push(infer->arena, guess->fields, guess->field_count, guess->field_cap, field);
        }
        see_json(infer, &guess->fields[i], member, depth + 1);
    }
    guess->seen++;
    for (size_t i = 0; i < guess->field_count; i++) {
        Guess *field = &guess->fields[i];
        if (field->seen + field->nulls >= guess->seen) continue;
        field->nulls++;
        field->lacking++;
    }
}

static void see_json(const Infer *infer, Guess *guess, const JsonNode *node, unsigned depth) {
    unsigned left = 0;
    switch (node->kind) {
    case JSON_NULL: guess->nulls++; return;
    case JSON_BOOL: left = CAN_BOOL; break;
    case JSON_NUMBER: left = CAN_NUMBER; break;
    case JSON_STRING:
        left = CAN_DATE | CAN_TIME | CAN_TIME_NS | CAN_STR | (is_clock(node->text) ? CAN_CLOCK : 0);
        break;
    case JSON_ARRAY: left = depth < DEPTH_MAX ? CAN_LIST : 0; break;
    case JSON_OBJECT: left = depth < DEPTH_MAX ? CAN_STRUCT : 0; break;
    }
    guess->can &= left;
    for (unsigned bit = CAN_BOOL; bit <= CAN_CLOCK; bit <<= 1) {
        Value value;
        if (guess->can & bit &&
            json_read(infer->arena, scalar_type(infer, bit), node, nullptr, &value).status)
            guess->can &= ~bit;
    }
    if (node->kind == JSON_OBJECT && guess->can) {
        see_object(infer, guess, node, depth);
        return;
    }
    guess->seen++;
    if (node->kind != JSON_ARRAY || !guess->can) return;
    if (!guess->elem) {
        guess->elem = arena_new_of(infer->arena, Guess);
        *guess->elem = fresh((Text){0});
    }
    for (const JsonNode *item = node->first; item; item = item->next)
        see_json(infer, guess->elem, item, depth + 1);
}

// An object that a row of JSON may be.
static void see_row(const Infer *infer, Guess *row, size_t *rows, Text text) {
    const JsonNode *node = json_parse(infer->arena, text);
    if (!node || node->kind != JSON_OBJECT) return;  // The job will reject it.
    see_object(infer, row, node, 0);
    ++*rows;
}

// Of files whose rows may span lines. A value that is cut off is none.
static void see_values(const Infer *infer, Guess *row, size_t *rows) {
    Text text = infer->input->text;
    size_t at = 0;
    while (at < text.len && strchr(" \t\r\n", text.at[at])) at++;
    at += at < text.len && text.at[at] == '[';
    while (*rows < INFER_ROWS_MAX) {
        while (at < text.len && sb_json_is_front(text.at[at])) at++;
        SbJsonPass pass = {0};
        int64_t end = sb_json_pass(&pass, text.at, (int64_t)at, (int64_t)text.len);
        if (!pass.done) return;
        see_row(infer, row, rows, (Text){text.at + at, (size_t)end - at});
        at = (size_t)end;
    }
}

static bool see_lines(const Infer *infer, Guess *row, size_t *rows, TextBuf *error) {
    TextCursor cursor = {.arena = infer->arena, .text = infer->input->text};
    bool spans = format_info(infer->input->format)->row == FORMAT_ROW_VALUES;
    if (spans) see_values(infer, row, rows);
    for (TextRow line = {0}; !spans && *rows < INFER_ROWS_MAX && line_next(&cursor, true, &line);) {
        Text text = {infer->input->text.at + line.begin, line.end - line.begin};
        if (!line.status) see_row(infer, row, rows, text);
    }
    const SbNotText *is = *rows ? nullptr : what_instead(infer, false);
    if (is) return not_text(is, error);
    if (!row->field_count)
        text_buf_add(error, *rows ? TEXT("its objects have no keys")
                            : spans ? TEXT("it holds no JSON objects")
                                    : TEXT("it holds no JSON object on a line of its own"));
    return row->field_count > 0;
}

// ---- types --------------------------------------------------------------------------------------

static bool is_json(Format format) {
    FormatRow row = format_info(format)->row;
    return row == FORMAT_ROW_OBJECTS || row == FORMAT_ROW_VALUES;
}

static const Type *guess_type(const Infer *infer, const Guess *guess);

static const Type *guess_struct(const Infer *infer, const Guess *guess) {
    Field *fields = arena_new_array(infer->arena, Field, guess->field_count + 1);
    for (size_t i = 0; i < guess->field_count; i++)
        fields[i] = (Field){guess->fields[i].name, guess_type(infer, &guess->fields[i])};
    return type_struct(infer->types, fields, (uint32_t)guess->field_count);
}

// Objects of many keys, each of which few of them have: the keys are data.
static bool is_map(const Guess *guess) {
    enum { KEYS_MIN = 20, RARE = 4 };
    size_t members = 0;
    for (size_t i = 0; i < guess->field_count; i++)
        members += guess->seen - guess->fields[i].lacking;
    return guess->field_count > KEYS_MIN && members < guess->field_count * guess->seen / RARE;
}

// What all values that both were made of may be.
static void merge(const Infer *infer, Guess *into, const Guess *from) {
    into->can &= from->can;
    for (size_t i = 0; i < into->field_count; i++)
        if (field_at(from, into->fields[i].name) == from->field_count)
            into->fields[i].nulls += from->seen;
    for (size_t i = 0; i < from->field_count; i++) {
        const size_t at = field_at(into, from->fields[i].name);
        if (at == into->field_count) {
            Guess field = fresh(from->fields[i].name);
            field.nulls = into->seen;
            arena_push(infer->arena, into->fields, into->field_count, into->field_cap, field);
        }
        merge(infer, &into->fields[at], &from->fields[i]);
    }
    into->seen += from->seen;
    into->nulls += from->nulls;
    if (!from->elem) return;
    if (!into->elem) {
        into->elem = arena_new_of(infer->arena, Guess);
        *into->elem = fresh((Text){0});
    }
    merge(infer, into->elem, from->elem);
}

static const Type *guess_map(const Infer *infer, const Guess *guess) {
    Guess value = fresh((Text){0});
    for (size_t i = 0; i < guess->field_count; i++) {
        Guess member = guess->fields[i];
        member.nulls -= member.lacking;
        merge(infer, &value, &member);
    }
    return type_map(infer->types, guess_type(infer, &value));
}

static const Type *guess_type(const Infer *infer, const Guess *guess) {
    bool lines = is_json(infer->input->format);
    unsigned can = guess->can & guess->can_words;
    const Type *type = nullptr;
    if (!guess->seen && !guess->word_count) can = lines ? 0 : CAN_STR;
    for (unsigned bit = CAN_BOOL; !type && bit <= CAN_STR; bit <<= 1) {
        if (!(can & bit)) continue;
        if (bit == CAN_LIST && guess->elem)
            type = type_list(infer->types, guess_type(infer, guess->elem));
        else if (bit == CAN_STRUCT && guess->field_count)
            type = is_map(guess) ? guess_map(infer, guess) : guess_struct(infer, guess);
        else if (bit != CAN_LIST && bit != CAN_STRUCT) type = scalar_type(infer, bit);
    }
    if (!type) type = type_of(infer->types, TYPE_JSON);
    return guess->nulls || (lines && !guess->seen) ? type_nullable(type) : type;
}

// The words of columns that are more than str without them.
static void collect_words(const Infer *infer, const Guess *row, Inferred *out) {
    Text *words = nullptr;
    size_t count = 0, cap = 0;
    bool empty = false;  // The option replaces the rule that an empty field is null.
    for (size_t i = 0; i < row->field_count; i++) empty |= row->fields[i].nulls > 0;
    if (empty) arena_push(infer->arena, words, count, cap, TEXT(""));
    for (size_t i = 0; i < row->field_count; i++) {
        const Guess *guess = &row->fields[i];
        if (!guess->word_count || !guess->seen || !(guess->can & CAN_SCALAR)) continue;
        if (!out->null_column.len) out->null_column = guess->name;
        for (uint32_t j = 0; j < guess->word_count; j++) {
            bool known = false;
            for (size_t k = 0; k < count; k++) known |= text_eq(words[k], guess->words[j]);
            if (!known) arena_push(infer->arena, words, count, cap, guess->words[j]);
        }
    }
    out->null_words = words;
    out->null_count = out->null_column.len ? (uint32_t)count : 0;
}

void infer_print_nulls(TextBuf *buf, const Inferred *inferred) {
    text_buf_add(buf, TEXT("null = ["));
    for (uint32_t i = 0; i < inferred->null_count; i++) {
        if (i) text_buf_add(buf, TEXT(", "));
        text_buf_quoted(buf, inferred->null_words[i]);
    }
    text_buf_char(buf, ']');
}

bool infer_text(const InferText *input, Inferred *out, TextBuf *error) {
    const FormatInfo *info = format_info(input->format);
    if (info->row == FORMAT_ROW_DECLARED) {
        *out = (Inferred){.type = info->row_of(input->types, input->text, error)};
        return out->type;
    }
    Infer infer = {.input = input, .arena = input->arena, .types = input->types};
    InferText plain = *input;
    if (text_starts(input->text, TEXT("\xef\xbb\xbf")))
        plain.text = (Text){input->text.at + 3, input->text.len - 3};
    infer.input = &plain;
    *out = (Inferred){0};
    Guess row = fresh((Text){0});
    bool objects = is_json(input->format);
    bool good = objects ? see_lines(&infer, &row, &out->rows, error)
                        : see_csv(&infer, &row, &out->rows, error);
    if (!good) return false;
    collect_words(&infer, &row, out);
    // A file with another header may lack any of the columns.
    for (size_t i = 0; !objects && input->csv->missing_null && i < row.field_count; i++)
        row.fields[i].nulls++;
    out->type = guess_struct(&infer, &row);
    return true;
}

// ---- for the checker ----------------------------------------------------------------------------

const Type *infer_first_file(void *self, const SourceOp *source, Text path, TypeTable *types,
                             TextBuf *error) {
    Arena *arena = self;
    InferText input = {.arena = arena, .types = types, .format = source->format,
                       .csv = &source->options.csv};
    Text first = peek_path(arena, path);
    if (!first.len) {
        text_buf_add(error, TEXT("no such file"));
        return nullptr;
    }
    Inferred inferred;
    Text name = source->options.encoding;
    SbEncoding encoding = name.len ? sb_encoding_of((SbStr){name.at, (int64_t)name.len})
                                   : SB_ENCODING_UTF8;
    if (!peek_file(arena, first, encoding, &input.text, error)) return nullptr;
    if (!infer_text(&input, &inferred, error)) {
        if (!text_eq(first, path)) text_buf_format(error, ", in %.*s", TEXT_ARG(first));
        return nullptr;
    }
    if (inferred.null_count && !source->options.csv.strict_nulls) {
        text_buf_add(error, TEXT("with "));
        infer_print_nulls(error, &inferred);
        text_buf_format(error, ", column '%.*s' would be more than text",
                        TEXT_ARG(inferred.null_column));
    }
    return inferred.type;
}
