// What stands in the parentheses of read and write: the path and the options of a format.
#include "frontend/checker.h"
#include "frontend/options.h"

#include <stdio.h>
#include <string.h>

// ---- formats ------------------------------------------------------------------------------------

// What other programs call a format.
static const char *const foreign_formats[][2] = {
    {"ndjson", "one object a line is jsonl"},
    {"lines", "use text: its column is `line`"},
    {"line", "use text: its column is `line`"},
    {"txt", "use text: its column is `line`"},
    {"file", "use files: their paths and bytes"},
    {"binary", "use files: their paths and bytes"},
};

static const char *const later_formats[] = {"parquet", "npz", "arrow", "orc", "avro",
                                            "webdataset", "tar", "kafka", "sql"};

bool find_format(Checker *checker, Name name, OptionSide side, FileUse *use) {
    Text names[FORMAT_COUNT * countof(((FormatInfo *)nullptr)->names)];
    size_t count = 0;
    for (Format format = 0; format < FORMAT_COUNT; format++) {
        const FormatInfo *info = format_info(format);
        bool there = side == SIDE_READ ? info->reads : info->writes;
        for (size_t i = 0; there && i < countof(info->names) && info->names[i].name; i++) {
            names[count++] = text_of(info->names[i].name);
            if (!text_is(name.text, info->names[i].name)) continue;
            use->format = format;
            use->name = &info->names[i];
            return true;
        }
    }
    for (size_t i = 0; i < countof(later_formats); i++) {
        if (!text_is(name.text, later_formats[i])) continue;
        Diag *diag = report(checker, DIAG_LATER_FORMAT, name.span, "%s is not in this version",
                            later_formats[i]);
        report_label(checker, diag, name.span, "this format");
        report_fix(checker, diag, "use csv or jsonl");
        return false;
    }
    if (!name.text.len) return false;
    Diag *diag = report(checker, DIAG_UNKNOWN_FORMAT, name.span, "no format '%.*s' to %s",
                        TEXT_ARG(name.text), side == SIDE_READ ? "read" : "write");
    report_label(checker, diag, name.span, "unknown");
    for (size_t i = 0; i < countof(foreign_formats); i++) {
        if (!text_is(name.text, foreign_formats[i][0])) continue;
        report_fix(checker, diag, "%s", foreign_formats[i][1]);
        return false;
    }
    fix_names(checker, diag, name.text, names, count);
    return false;
}

// ---- options ------------------------------------------------------------------------------------

const OptionDoc option_docs[OPTION_COUNT] = {
#define OPTION(KIND, name, usual, doc) {FORMAT_OPTION_##KIND, name, usual, doc},
#include "frontend/options.def"
};

typedef struct OptionCheck {
    Checker     *checker;
    FileOptions *options;
    OptionSide   side;
    unsigned     known;    // FormatOption: those that the format has on this side.
    bool         good;
} OptionCheck;

static void bad_value(OptionCheck *check, const AstArg *arg, const char *expected,
                      const char *fix) {
    Diag *diag = report(check->checker, DIAG_OPTION_VALUE, arg->value->span, "'%.*s' takes %s",
                        TEXT_ARG(arg->name.text), expected);
    report_label(check->checker, diag, arg->value->span, "expected %s", expected);
    report_fix(check->checker, diag, "%.*s = %s", TEXT_ARG(arg->name.text), fix);
    check->good = false;
}

static bool constant_option(OptionCheck *check, const AstArg *arg, const Type *type, Const *value) {
    Scope scope = {.kind = SCOPE_CONSTANT, .no_row = true};
    Value checked = check_as(check->checker, &scope, arg->value, type);
    if (!is_error(checked.type) && const_of(check->checker, checked.id, value)) return true;
    if (!is_error(checked.type)) bad_value(check, arg, "a constant", "a value written out");
    check->good = false;
    return false;
}

static Text text_option(OptionCheck *check, const AstArg *arg) {
    Const value = {0};
    constant_option(check, arg, kind_type(check->checker, TYPE_STR), &value);
    return value.text;
}

// One byte of ASCII that ends no line; `none`: may be empty.
static char char_option(OptionCheck *check, const AstArg *arg, bool none, const char *fix) {
    bool good = check->good;
    check->good = true;
    Text text = text_option(check, arg);
    bool read = check->good;
    check->good = good && read;
    if (!read || (none && !text.len)) return 0;
    bool fine = text.len == 1 && (unsigned char)text.at[0] < 0x80 && text.at[0] != '\n' &&
                text.at[0] != '\r' && text.at[0] != '\0';
    if (!fine) bad_value(check, arg, none ? "one ASCII character, or \"\" for none"
                                          : "one ASCII character", fix);
    return fine ? text.at[0] : 0;
}

static void null_option(OptionCheck *check, const AstArg *arg) {
    Checker *checker = check->checker;
    CsvOptions *csv = &check->options->csv;
    const Type *str = kind_type(checker, TYPE_STR);
    Const value = {0};
    if (arg->value->kind == AST_STR) {  // null = "NA" is a list of one.
        if (!constant_option(check, arg, str, &value)) return;
        csv->nulls = arena_new_array(checker->arena, Text, 1);
        csv->nulls[0] = value.text;
        csv->null_count = 1;
    } else {
        if (!constant_option(check, arg, type_list(checker->types, str), &value)) return;
        csv->nulls = arena_new_array(checker->arena, Text, value.item_count + 1);
        csv->null_count = value.item_count;
        for (uint32_t i = 0; i < value.item_count; i++) csv->nulls[i] = value.items[i].text;
    }
    csv->strict_nulls = true;
}

// An i64 over params, above zero when it is known.
static ExprId count_option(OptionCheck *check, const AstArg *arg, const char *expected,
                           const char *fix) {
    Scope scope = {.kind = SCOPE_JOB, .no_row = true};
    Value value = check_as(check->checker, &scope, arg->value, kind_type(check->checker, TYPE_I64));
    Const constant;
    check->good &= !is_error(value.type);
    if (const_of(check->checker, value.id, &constant) && constant.i <= 0)
        bad_value(check, arg, expected, fix);
    return value.id;
}

static void decimal_option(OptionCheck *check, const AstArg *arg) {
    char c = char_option(check, arg, false, "\",\"");
    if (c && c != '.' && c != ',') bad_value(check, arg, "\".\" or \",\"", "\",\"");
    else check->options->csv.decimal = c;
}

static void thousands_option(OptionCheck *check, const AstArg *arg) {
    char c = char_option(check, arg, false, "\",\"");
    if (c && !strchr(",.'_ ", c))
        bad_value(check, arg, "\",\", \".\", \"'\", \"_\" or \" \"", "\",\"");
    else check->options->csv.thousands = c;
}

static void skip_option(OptionCheck *check, const AstArg *arg) {
    Const value = {0};
    if (!constant_option(check, arg, kind_type(check->checker, TYPE_I64), &value)) return;
    if (value.i < 0) bad_value(check, arg, "a number of lines", "3");
    else check->options->csv.skip = value.i;
}

static void missing_option(OptionCheck *check, const AstArg *arg) {
    bool null = arg->value->kind == AST_NULL;
    if (null) check->options->csv.missing_null = true;
    else bad_value(check, arg, "null: what a column is that a header lacks", "null");
}

// A name that the library judges.
static void name_option(OptionCheck *check, const AstArg *arg, DomainKind domain, Text *name) {
    Text given = text_option(check, arg);
    if (given.len && !judge_constant(check->checker, domain, given, arg->value->span))
        check->good = false;
    else if (given.len) *name = given;
}

static void set_option(OptionCheck *check, FormatOption id, const AstArg *arg) {
    FileOptions *file = check->options;
    Const value = {0};
    switch (id) {
    case FORMAT_OPTION_DELIMITER:
        file->csv.delimiter = char_option(check, arg, false, "\";\"");
        break;
    case FORMAT_OPTION_QUOTE: file->csv.quote = char_option(check, arg, true, "\"'\""); break;
    case FORMAT_OPTION_HEADER:
        if (constant_option(check, arg, kind_type(check->checker, TYPE_BOOL), &value))
            file->csv.header = value.i != 0;
        break;
    case FORMAT_OPTION_COMMENT: file->csv.comment = text_option(check, arg); break;
    case FORMAT_OPTION_NULL: null_option(check, arg); break;
    case FORMAT_OPTION_DECIMAL: decimal_option(check, arg); break;
    case FORMAT_OPTION_ZONE: name_option(check, arg, DOMAIN_ZONE, &file->zone); break;
    case FORMAT_OPTION_ENCODING:
        name_option(check, arg, DOMAIN_ENCODING, &file->encoding);
        break;
    case FORMAT_OPTION_SKIP: skip_option(check, arg); break;
    case FORMAT_OPTION_THOUSANDS: thousands_option(check, arg); break;
    case FORMAT_OPTION_MISSING: missing_option(check, arg); break;
    case FORMAT_OPTION_STACKED:
        if (constant_option(check, arg, kind_type(check->checker, TYPE_BOOL), &value))
            file->apart = value.i == 0;
        break;
    case FORMAT_OPTION_APPEND:
        if (constant_option(check, arg, kind_type(check->checker, TYPE_BOOL), &value))
            file->append = value.i != 0;
        break;
    case FORMAT_OPTION_ROW_MAX:
        file->row_max = count_option(check, arg, "a number of bytes above zero", "16MiB");
        break;
    case FORMAT_OPTION_BYTES:
        file->bytes = count_option(check, arg, "a number of bytes above zero", "16MiB");
        break;
    case FORMAT_OPTION_FILES:
        file->files = count_option(check, arg, "a number of files above zero", "100_000");
        break;
    }
}

// A second path, or an option without its name.
static void lone_value(OptionCheck *check, const AstArg *arg, Name format) {
    check->good = false;
    if (!arg->value || arg->value->kind == AST_ERROR) return;
    Diag *diag = report(check->checker, DIAG_UNKNOWN_OPTION, arg->value->span,
                        "%.*s takes one path; what else it takes has a name",
                        TEXT_ARG(format.text));
    report_label(check->checker, diag, arg->value->span, "the value of which option?");
    bool text = arg->value->kind == AST_STR && check->side == SIDE_READ;
    report_fix(check->checker, diag, text ? "several files are a list: [\"a.csv\", \"b.csv\"]"
                                          : "name the option: header = false");
}

// What other tools call an option, and what to do here.
static const char *foreign_option(Text name) {
    static const struct {
        const char *names, *fix;
    } foreign[] = {
        {" sep separator delim field_delimiter ", "write delimiter = \";\""},
        {" quotechar quote_char ", "write quote = \"'\""},
        {" na na_values null_values nullstr null_value nulls ", "write null = [\"NA\"]"},
        {" has_header names headers ", "write header = false"},
        {" tz timezone ", "write zone = \"Europe/Berlin\""},
        {" compression compress codec ", "end the name of the file in .gz, .zst or .lz4"},
        {" charset file_encoding ", "write encoding = \"windows-1252\""},
        {" skiprows skip_rows skip_lines ",
         "write skip = 1 for lines in front of the header; | skip 1 leaves rows out"},
        {" skip ", "leave rows out by a step: | skip 1"},
        {" encoding ", "files are written as UTF-8: iconv -f UTF-8 -t UTF-16 FILE converts one"},
        {" thousand thousands_sep thousands_separator ", "write thousands = \",\""},
        {" union_by_name missing_columns allow_missing_columns ", "write missing = null"},
        {" nrows n_rows limit ", "leave rows out by a step: | limit 100"},
        {" schema dtype dtypes columns types ", "declare them: read csv(...) as {a: i64, b: str?}"},
        {" date dateformat date_format timestampformat timestamp_format datetime_format "
         "parse_dates ",
         "declare the column as str, and | derive d = date(d, \"%d.%m.%Y\")"},
        {" filename include_path source_file file_row_number ",
         "directly after the read: | derive file = source(), number = line()"},
        {" partition_by partitionby partition_cols ",
         "put the keys into the path: write csv(\"out/year={year}/\")"},
        {" hive_partitioning ", "put the keys into the path: \"out/year={year: i64}/*.csv\""},
        {" bom ", "a byte order mark is left out when a file is read, and none is written"},
        {" mode ", "write append = true, or give the job --overwrite"},
        {" overwrite if_exists exist_ok ", "give the job --overwrite"},
        {" append ", "rows are appended to csv, jsonl and text by `write`; of other formats give "
                     "each run a file of its own"},
    };
    char word[40];
    snprintf(word, sizeof word, " %.*s ", TEXT_ARG(name));
    for (size_t i = 0; i < countof(foreign); i++)
        if (strstr(foreign[i].names, word)) return foreign[i].fix;
    return nullptr;
}

static void named_option(OptionCheck *check, const AstArg *arg, Name format) {
    Text names[OPTION_COUNT];
    size_t count = 0;
    if (!arg->name.text.len) {
        lone_value(check, arg, format);
        return;
    }
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        bool there = option_docs[i].id & check->known;
        if (there) names[count++] = text_of(option_docs[i].name);
        if (!there || !text_is(arg->name.text, option_docs[i].name)) continue;
        if (arg->value) set_option(check, option_docs[i].id, arg);
        return;
    }
    const char *meant = foreign_option(arg->name.text);
    Diag *diag = report(check->checker, DIAG_UNKNOWN_OPTION, arg->name.span,
                        "%.*s has no option '%.*s'", TEXT_ARG(format.text),
                        TEXT_ARG(arg->name.text));
    report_label(check->checker, diag, arg->name.span, "unknown");
    if (meant) report_fix(check->checker, diag, "%s", meant);
    else fix_names(check->checker, diag, arg->name.text, names, count);
    check->good = false;
}

void default_options(Checker *checker, OptionSide side, FileUse *use) {
    FileOptions *file = &use->options;
    use->key = EXPR_NONE;
    use->shape = TEXT("");
    use->keys = nullptr;
    use->key_count = 0;
    *file = file_options_none();
    if (format_info(use->format)->dialect) {
        file->csv = (CsvOptions){.delimiter = use->name->delimiter, .quote = '"', .header = true,
                                 .decimal = '.', .null_count = 1};
        file->csv.nulls = arena_new_array(checker->arena, Text, 1);
        file->csv.nulls[0] = TEXT("");
    }
    if (side == SIDE_READ) file->row_max = graph_const_i64(checker->graph, 16 << 20);
    else file->bytes = graph_const_i64(checker->graph, 256 << 20);
    if (side == SIDE_WRITE) file->files = graph_const_i64(checker->graph, SINK_FILES_MAX);
}

// ---- paths --------------------------------------------------------------------------------------

static bool check_url(Checker *checker, OptionSide side, Value path, Span span) {
    Const value;
    if (!const_of(checker, path.id, &value)) return true;
    bool list = path.type->kind == TYPE_LIST;
    uint32_t count = list ? value.item_count : 1;
    for (uint32_t i = 0; i < count; i++) {
        Text text = list ? value.items[i].text : value.text;
        if (!text_is_url(text)) continue;
        Diag *diag = report(checker, DIAG_URL, span, "URLs are not in this version");
        report_label(checker, diag, span, "a URL");
        report_fix(checker, diag, side == SIDE_READ
            ? "download the file, or read \"-\" from a pipe: curl ... | JOB"
            : "write a file and upload it, or write \"-\" into a pipe: JOB | curl -T - ...");
        return false;
    }
    return true;
}

// Rejects go to one file, whose name has no values in it.
static bool check_braces(Checker *checker, const AstExpr *written) {
    Text text = written->text;
    bool braces = written->kind == AST_STR && !written->raw && text.len > 0 &&
                  memchr(text.at, '{', text.len);
    if (!braces) return true;
    Diag *diag = report(checker, DIAG_PATH_BRACES, written->span,
                        "all rejects go to one file, which no column names");
    report_label(checker, diag, written->span, "the braces would be in the name");
    report_note(checker, diag, "for braces in the name of a file: write r\"...\"");
    report_fix(checker, diag, "name one file; a param stands in f\"...\"");
    return false;
}

static bool check_path(Checker *checker, const FileCall *call, const AstArg *arg, FileUse *use,
                       OptionSide side) {
    if (call->row && arg->value->kind == AST_FSTRING)
        return check_key_path(checker, call->row, arg->value, use) &&
               check_url(checker, side, (Value){use->path, kind_type(checker, TYPE_STR)},
                         arg->value->span);
    if (side == SIDE_READ && arg->value->kind == AST_FSTRING)
        return check_key_pattern(checker, arg->value, use) &&
               check_url(checker, side, (Value){use->path, kind_type(checker, TYPE_STR)},
                         arg->value->span);
    Scope scope = {.kind = SCOPE_JOB, .no_row = true};
    const Type *str = kind_type(checker, TYPE_STR), *list = type_list(checker->types, str);
    Value value = check_expr(checker, &scope, arg->value,
                             arg->value->kind == AST_LIST ? list : str);
    if (is_error(value.type)) return false;
    bool fits = value.type == str || (side == SIDE_READ && value.type == list);
    if (!fits) {
        Diag *diag = report(checker, DIAG_PATH_TYPE, arg->value->span, "a path is text, not %s",
                            type_say(checker, value.type));
        report_label(checker, diag, arg->value->span, "%s", type_say(checker, value.type));
        report_fix(checker, diag, "write it in quotes, or name a param of type str");
        return false;
    }
    use->path = value.id;
    return check_url(checker, side, value, arg->value->span) &&
           (side == SIDE_READ || check_braces(checker, arg->value));
}

// Options of which two would mean the same character. A delimiter may stand between groups of
// digits: then such numbers are quoted.
static void clash(OptionCheck *check, Span span) {
    const CsvOptions *csv = &check->options->csv;
    const struct {
        char a, b;
        const char *first, *second, *fix;
    } pairs[] = {
        {csv->decimal, csv->delimiter, "delimiter", "decimal point", "set delimiter = \";\""},
        {csv->quote, csv->delimiter, "delimiter", "quote", "set quote = \"\""},
        {csv->thousands, csv->decimal, "thousands separator", "decimal point",
         "set decimal = \",\" or thousands = \",\""},
        {csv->thousands, csv->quote, "thousands separator", "quote", "set quote = \"\""},
    };
    if (check->good && csv->missing_null && csv->strict_nulls && !csv->null_count) {
        Diag *diag = report(check->checker, DIAG_OPTION_CLASH, span,
                            "a missing column would be null, and `null = []` says that nothing is");
        report_label(check->checker, diag, span, "these two");
        report_fix(check->checker, diag, "leave out null = []");
        check->good = false;
    }
    for (size_t i = 0; i < countof(pairs) && check->good; i++) {
        if (pairs[i].a != pairs[i].b || !pairs[i].a) continue;
        Diag *diag = report(check->checker, DIAG_OPTION_CLASH, span,
                            "the %s and the %s are the same character", pairs[i].first,
                            pairs[i].second);
        report_label(check->checker, diag, span, "'%c' means both", pairs[i].a);
        report_fix(check->checker, diag, "%s", pairs[i].fix);
        check->good = false;
    }
}

// An option that stands before the argument number `index` too.
static void option_twice(OptionCheck *check, const FileCall *call, uint32_t index) {
    const AstArg *arg = &call->args[index];
    for (uint32_t j = 0; j < index && arg->name.text.len; j++) {
        if (!text_eq(call->args[j].name.text, arg->name.text)) continue;
        Diag *diag = report(check->checker, DIAG_OPTION_TWICE, arg->name.span,
                            "'%.*s' stands twice", TEXT_ARG(arg->name.text));
        report_label(check->checker, diag, arg->name.span, "the second one");
        report_fix(check->checker, diag, "keep one of them");
        check->good = false;
    }
}

static void no_path(Checker *checker, const FileCall *call, OptionSide side) {
    Text format = call->format.text;
    Diag *diag = report(checker, DIAG_NO_PATH, call->span, "%.*s of which file?", TEXT_ARG(format));
    report_label(checker, diag, call->span, "no path");
    report_fix(checker, diag, "%.*s(\"-\") is standard %s", TEXT_ARG(format),
               side == SIDE_READ ? "input" : "output");
}

bool check_options(Checker *checker, const FileCall *call, OptionSide side, FileUse *use) {
    use->path = EXPR_NONE;
    if (!find_format(checker, call->format, side, use)) return false;
    default_options(checker, side, use);
    const FormatInfo *info = format_info(use->format);
    OptionCheck check = {checker, &use->options, side,
                         side == SIDE_READ ? info->read_options : info->write_options, true};
    bool has_path = false;
    for (uint32_t i = 0; i < call->count; i++) {
        const AstArg *arg = &call->args[i];
        if (!arg->name.text.len && !has_path && arg->value) {
            has_path = true;
            check.good &= check_path(checker, call, arg, use, side);
            continue;
        }
        option_twice(&check, call, i);
        named_option(&check, arg, call->format);
    }
    if (info->dialect) clash(&check, call->span);
    if (!has_path) no_path(checker, call, side);
    return has_path && check.good;
}
