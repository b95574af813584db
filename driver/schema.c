// sbc schema: the type of a data file and the `read` that goes with it, to paste.
#include "codegen/reference/read_csv.h"
#include "driver/commands.h"
#include "driver/infer.h"
#include "driver/peek.h"

#include <ctype.h>
#include <string.h>

typedef struct Guessed {
    const char *format;      // As after `read`.
    InferText   input;
    CsvOptions  csv;
    SbEncoding  encoding;
} Guessed;

// ---- what the name and the first bytes say ------------------------------------------------------

// Of the format's names the one with this delimiter; the first one has the usual one.
static const FormatName *name_with(const FormatInfo *info, char delimiter) {
    for (size_t i = 0; i < countof(info->names) && info->names[i].name; i++)
        if (delimiter && info->names[i].delimiter == delimiter) return &info->names[i];
    return &info->names[0];
}

static Format format_by_name(Text path, Text text, char *delimiter) {
    *delimiter = 0;
    for (Format format = 0; format < FORMAT_COUNT; format++) {
        const FormatInfo *info = format_info(format);
        for (size_t i = 0; i < countof(info->suffixes) && info->suffixes[i].name; i++) {
            if (!text_ends(path, info->suffixes[i].name)) continue;
            *delimiter = info->suffixes[i].delimiter;
            return format;
        }
    }
    if (text.len && text.at[0] == '[') return FORMAT_JSON;
    return text.len && text.at[0] == '{' ? FORMAT_JSONL : FORMAT_CSV;
}

// What the first bytes say; of bytes that are no UTF-8 the encoding that most such files have.
static SbEncoding encoding_of(Text text) {
    if (text_starts(text, TEXT("\xff\xfe")) || text_starts(text, TEXT("\xfe\xff")))
        return SB_ENCODING_UTF16;
    bool known = sb_never_text(text.at, (int64_t)text.len) != nullptr;
    return known || sb_utf8_valid(text.at, (int64_t)text.len) ? SB_ENCODING_UTF8
                                                              : SB_ENCODING_WINDOWS_1252;
}

// The one that a line `sep=;` names, else the character that the first line has most of; a comma if
// it has none of them.
static char delimiter_of(Text text) {
    CsvOptions none = {0};
    TextCursor cursor = {.text = text, .csv = &none};
    char named;
    if (csv_skip_lead(&cursor, &named) && named) return named;
    static const char candidates[] = {',', ';', '\t', '|'};
    size_t counts[countof(candidates)] = {0}, best = 0;
    for (size_t i = 0; i < text.len && text.at[i] != '\n'; i++)
        for (size_t c = 0; c < countof(candidates); c++) counts[c] += text.at[i] == candidates[c];
    for (size_t c = 1; c < countof(candidates); c++) if (counts[c] > counts[best]) best = c;
    return candidates[best];
}

// A first row that holds a number or a time is no header.
static bool has_header(const InferText *input) {
    CsvOptions csv = *input->csv;
    csv.header = false;
    const char *end = memchr(input->text.at, '\n', input->text.len);
    InferText first = *input;
    first.csv = &csv;
    if (end) first.text.len = (size_t)(end - input->text.at) + 1;
    Inferred inferred;
    TextBuf error = {0};
    bool header = true;
    if (infer_text(&first, &inferred, &error)) {
        for (uint32_t i = 0; i < inferred.type->field_count; i++)
            header &= type_base(inferred.type->fields[i].type)->kind == TYPE_STR;
    }
    text_buf_free(&error);
    return header;
}

static void guess(Arena *arena, TypeTable *types, Text path, Text text, Guessed *out) {
    Text name = peek_plain_name(path);
    char delimiter;
    Format format = format_by_name(name, text, &delimiter);
    const FormatInfo *info = format_info(format);
    out->csv = (CsvOptions){.delimiter = delimiter ? delimiter : delimiter_of(text),
                            .quote = '"', .header = true, .decimal = '.'};
    out->input = (InferText){.arena = arena, .types = types, .format = format, .csv = &out->csv,
                             .text = text};
    out->format = name_with(info, out->csv.delimiter)->name;
    if (info->dialect) out->csv.header = has_header(&out->input);
}

// The type that the printed `read` has without `as`: with the null words that its file asks for, if
// there are any.
static bool infer(Guessed *found, Inferred *out, TextBuf *error) {
    Inferred again;
    if (!infer_text(&found->input, out, error)) return false;
    if (!out->null_count) return true;
    found->csv.nulls = out->null_words;
    found->csv.null_count = out->null_count;
    found->csv.strict_nulls = true;
    if (!infer_text(&found->input, &again, error)) return false;
    out->type = again.type;
    return true;
}

static uint32_t number_columns(const Type *row) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < row->field_count; i++) {
        TypeKind kind = type_base(row->fields[i].type)->kind;
        count += kind == TYPE_I64 || kind == TYPE_U64 || kind == TYPE_F64;
    }
    return count;
}

// Numbers as other countries write them: the form in which more columns are numbers.
static bool infer_numbers(Guessed *found, Inferred *out, TextBuf *error) {
    static const struct { char decimal, thousands; } forms[] = {{',', 0}, {',', '.'}, {'.', ','}};
    if (!infer(found, out, error)) return false;
    if (!format_info(found->input.format)->dialect) return true;
    CsvOptions best = found->csv, plain = found->csv;
    for (size_t i = 0; i < countof(forms); i++) {
        Inferred other;
        TextBuf why = {0};
        found->csv = plain;
        found->csv.decimal = forms[i].decimal;
        found->csv.thousands = forms[i].thousands;
        bool good = forms[i].decimal != plain.delimiter && infer(found, &other, &why);
        text_buf_free(&why);
        if (!good || number_columns(other.type) <= number_columns(out->type)) continue;
        *out = other;
        best = found->csv;
    }
    found->csv = best;
    return true;
}

// ---- printing -----------------------------------------------------------------------------------

// flights-2013.csv.gz -> Flights
static Text type_name(Arena *arena, Text path) {
    size_t begin = path.len;
    while (begin && path.at[begin - 1] != '/') begin--;
    size_t end = begin;
    while (end < path.len && (isalnum((unsigned char)path.at[end]) || path.at[end] == '_')) end++;
    if (end == begin || !isalpha((unsigned char)path.at[begin])) return TEXT("Row");
    Text name = text_copy(arena, (Text){path.at + begin, end - begin});
    char *letters = arena_copy(arena, name.at, name.len, 1);
    letters[0] = (char)toupper((unsigned char)letters[0]);
    return (Text){letters, name.len};
}

static Text field_name(Arena *arena, Text name) {
    TextBuf buf = {0};
    type_print_name(&buf, name);
    return text_buf_take(&buf, arena);
}

static void print_type(TextBuf *buf, Arena *arena, const Type *type) {
    size_t width = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        size_t len = field_name(arena, type->fields[i].name).len;
        if (len > width && len <= 30) width = len;
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        Text name = field_name(arena, type->fields[i].name);
        text_buf_format(buf, "  %.*s: ", TEXT_ARG(name));
        if (name.len < width) text_buf_pad(buf, width - name.len);
        type_print(buf, type->fields[i].type);
        text_buf_add(buf, TEXT(",\n"));
    }
}

static void print_schema(TextBuf *buf, Text path, const Guessed *found, const Inferred *inferred) {
    Arena *arena = found->input.arena;
    Text name = type_name(arena, path);
    bool declared = format_info(found->input.format)->row == FORMAT_ROW_DECLARED;
    if (declared) text_buf_add(buf, TEXT("# From the header"));
    else text_buf_format(buf, "# From %zu row%s", inferred->rows, inferred->rows == 1 ? "" : "s");
    text_buf_format(buf, " of %.*s. To read it:\n#   read %s(", TEXT_ARG(path), found->format);
    text_buf_quoted(buf, path);
    bool csv = format_info(found->input.format)->dialect;
    char delimiter = found->csv.delimiter;
    if (csv && delimiter != ',' && delimiter != '\t')
        text_buf_format(buf, ", delimiter = \"%c\"", delimiter);
    if (csv && found->csv.decimal != '.')
        text_buf_format(buf, ", decimal = \"%c\"", found->csv.decimal);
    if (csv && found->csv.thousands)
        text_buf_format(buf, ", thousands = \"%c\"", found->csv.thousands);
    SbStr encoding = sb_encoding_name(found->encoding);
    if (found->encoding != SB_ENCODING_UTF8)
        text_buf_format(buf, ", encoding = \"%.*s\"", (int)encoding.len, encoding.ptr);
    if (csv && !found->csv.header) text_buf_add(buf, TEXT(", header = false"));
    if (inferred->null_count) {
        text_buf_add(buf, TEXT(", "));
        infer_print_nulls(buf, inferred);
    }
    text_buf_format(buf, ") as %.*s\ntype %.*s = {\n", TEXT_ARG(name), TEXT_ARG(name));
    print_type(buf, arena, inferred->type);
    text_buf_add(buf, TEXT("}\n"));
}

static bool schema_one(const Options *options, const char *word, TextBuf *out, TextBuf *error) {
    TypeTable *types = type_table_new(options->arena);
    Text path = peek_path(options->arena, text_of(word)), text;
    if (!path.len) {
        text_buf_format(error, "no file matches %s", word);
        return false;
    }
    if (!peek_file(options->arena, path, SB_ENCODING_UTF8, &text, error)) return false;
    Guessed found = {.encoding = encoding_of(text)};
    Inferred inferred;
    if (found.encoding != SB_ENCODING_UTF8 &&
        !peek_file(options->arena, path, found.encoding, &text, error))
        return false;
    guess(options->arena, types, path, text, &found);
    const FormatInfo *info = format_info(found.input.format);
    if (info->row == FORMAT_ROW_FIXED) {
        const Type *row = format_fixed_row(types, info);
        text_buf_format(error, "%.*s is %s: `read %s(...)` gives the column %s: ", TEXT_ARG(path),
                        found.format, found.format, info->fixed[0].name);
        type_print(error, row->fields[0].type);
        return false;
    }
    TextBuf why = {0};
    bool good = infer_numbers(&found, &inferred, &why);
    if (good) print_schema(out, text_of(word), &found, &inferred);
    else
        text_buf_format(error, "the columns of %.*s cannot be inferred: ", TEXT_ARG(path));
    // A second line is the fix; here all is one.
    for (size_t i = 0; !good && i < why.len; i++)
        text_buf_add(error, why.at[i] == '\n' ? TEXT("; ") : (Text){&why.at[i], 1});
    text_buf_free(&why);
    return good;
}

int schema_command(const Options *options) {
    int status = EXIT_DONE;
    for (size_t i = 0; i < options->file_count; i++) {
        TextBuf out = {0}, error = {0};
        if (!schema_one(options, options->files[i], &out, &error))
            status = complain_of(options, DIAG_NO_SCHEMA, &error, EXIT_WRONG_PROGRAM);
        if (out.len) fwrite(out.at, 1, out.len, stdout);
        text_buf_free(&out);
    }
    return status;
}
