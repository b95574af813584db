// Declare: reads stdlib/functions.decl, which is embedded here. A line reader; the form is fixed.
#include "frontend/declare.h"

static const char declarations[] = {
#embed <functions.decl>
};

typedef struct Reader {
    Arena     *arena;
    TypeTable *types;
    Diags     *diags;
    Text       text;
    size_t     at;         // The next character.
    uint32_t   file;
    size_t     line_start, line_end, next_line;
    Text       group;
    bool       failed;     // The current line is already blamed.
} Reader;

static Span here(const Reader *reader) {
    return (Span){(uint32_t)reader->at, (uint32_t)reader->line_end, reader->file};
}

static void fail(Reader *reader, const char *expected) {
    if (!reader->failed)
        diag_add(reader->diags, DIAG_DECLARATION, here(reader), "expected %s", expected);
    reader->failed = true;
    reader->at = reader->line_end;
}

static void skip_spaces(Reader *reader) {
    while (reader->at < reader->line_end && reader->text.at[reader->at] == ' ') reader->at++;
}

static bool next_line(Reader *reader) {
    if (reader->next_line >= reader->text.len) return false;
    size_t end = reader->next_line;
    while (end < reader->text.len && reader->text.at[end] != '\n') end++;
    reader->line_start = reader->at = reader->next_line;
    reader->line_end = end;
    reader->next_line = end + 1;
    reader->failed = false;
    skip_spaces(reader);
    return true;
}

static bool is_word_char(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static Text word(Reader *reader) {
    skip_spaces(reader);
    size_t start = reader->at;
    while (reader->at < reader->line_end && is_word_char(reader->text.at[reader->at])) reader->at++;
    return (Text){reader->text.at + start, reader->at - start};
}

static bool take(Reader *reader, char c) {
    skip_spaces(reader);
    if (reader->at >= reader->line_end || reader->text.at[reader->at] != c) return false;
    reader->at++;
    return true;
}

static void expect(Reader *reader, char c, const char *expected) {
    if (!take(reader, c)) fail(reader, expected);
}

static Text rest(Reader *reader) {
    skip_spaces(reader);
    size_t end = reader->line_end;
    while (end > reader->at && reader->text.at[end - 1] == ' ') end--;
    Text text = {reader->text.at + reader->at, end - reader->at};
    reader->at = reader->line_end;
    return text;
}

static int64_t number(Reader *reader) {
    enum { DIGITS_MAX = 18 };
    Text digits = word(reader);
    int64_t value = 0;
    for (size_t i = 0; i < digits.len && i < DIGITS_MAX; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9') fail(reader, "a number");
        else value = value * 10 + (digits.at[i] - '0');
    }
    if (!digits.len || digits.len > DIGITS_MAX) fail(reader, "a number");
    return value;
}

static int64_t signed_number(Reader *reader) {
    return take(reader, '-') ? -number(reader) : number(reader);
}

// ---- types --------------------------------------------------------------------------------------

// What a declared type is; `type` is null for the variable T.
typedef struct DeclType {
    const Type   *type;
    DeclParamKind kind;
    DomainKind    domain;
    DeclAround    around;
    uint8_t       lists;   // As those of DeclParam.
    bool          nullable, decimal, any_unit;
} DeclType;

static DeclType read_type(Reader *reader);

// Is `type` the variable T, without lists around it and never null?
static bool is_variable(const DeclType *type) {
    return !type->type && !type->lists && !type->nullable;
}

// {a: A, ...} of fixed types, {str: T} or {key: str, value: T}. The last stands in a list only.
static void read_struct(Reader *reader, DeclType *out) {
    Field fields[8];
    uint32_t count = 0;
    do {
        Text name = word(reader);
        expect(reader, ':', "':' after the field's name");
        DeclType type = read_type(reader);
        bool map = !count && text_is(name, "str"), entry = count == 1 && text_is(name, "value");
        if (!reader->failed && is_variable(&type) && (map || entry)) {
            out->around = map ? AROUND_MAP : AROUND_ENTRIES;
            out->lists = 1;
            break;
        }
        if (reader->failed || count == countof(fields) || !type.type) {
            fail(reader, "at most eight fields of fixed types");
            break;
        }
        fields[count++] = (Field){name, type.type};
    } while (take(reader, ','));
    expect(reader, '}', "'}'");
    if (!out->lists) out->type = type_struct(reader->types, fields, count);
}

static const Type *read_unit(Reader *reader) {
    static const char *const names[] = {"s", "ms", "us", "ns"};
    Text unit = word(reader);
    expect(reader, ']', "']'");
    for (unsigned i = 0; i < countof(names); i++)
        if (text_is(unit, names[i])) return type_timestamp(reader->types, (TimeUnit)i);
    fail(reader, "a unit: s, ms, us or ns");
    return type_of(reader->types, TYPE_TIMESTAMP);
}

// Type -> '[' Type ']' | '{' fields '}' | '{' 'str' ':' 'T' '}' | 'T' | 'decimal' | kind, each
// with '?' after it.
static DeclType read_bare_type(Reader *reader) {
    DeclType type = {0};
    if (take(reader, '[')) {
        DeclType elem = read_type(reader);
        expect(reader, ']', "']'");
        if (elem.nullable || elem.decimal) fail(reader, "a list of T or of one type");
        else if (elem.around == AROUND_ENTRIES) type = elem;
        else if (elem.type) type.type = type_list(reader->types, elem.type);
        else type.lists = elem.lists + 1;
        return type;
    }
    if (take(reader, '{')) {
        read_struct(reader, &type);
        return type;
    }
    Text name = word(reader);
    TypeKind kind;
    if (text_is(name, "T")) return type;
    if (text_is(name, "decimal")) {
        type.decimal = true;
        type.type = type_decimal(reader->types, DECIMAL_PRECISION_MAX, 0);
    } else if (text_is(name, "timestamp") && take(reader, '[')) {
        type.type = read_unit(reader);
    } else if (type_kind_find(name, &kind)) {
        type.type = type_of(reader->types, kind);
        type.any_unit = kind == TYPE_TIMESTAMP;
    } else {
        fail(reader, "a type");
        type.type = type_of(reader->types, TYPE_ERROR);
    }
    return type;
}

static DeclType read_type(Reader *reader) {
    DeclType type = read_bare_type(reader);
    if (!take(reader, '?')) return type;
    type.nullable = true;
    if (type.type && !type.decimal) type.type = type_nullable(type.type);
    return type;
}

static DeclType read_param_type(Reader *reader) {
    size_t start = reader->at;
    Text name = word(reader);
    static const struct { const char *name; DeclParamKind kind; DomainKind domain; } texts[] = {
        {"regex", DECL_REGEX, DOMAIN_PATTERN},        {"zone", DECL_ZONE, DOMAIN_ZONE},
        {"read_form", DECL_CONST, DOMAIN_READ_FORM},  {"write_form", DECL_CONST, DOMAIN_WRITE_FORM},
        {"read_clock", DECL_CONST, DOMAIN_READ_CLOCK},
        {"write_clock", DECL_CONST, DOMAIN_WRITE_CLOCK},
        {"date_unit", DECL_CONST, DOMAIN_DATE_UNIT},  {"time_unit", DECL_CONST, DOMAIN_TIME_UNIT},
    };
    for (size_t i = 0; i < countof(texts); i++) {
        if (text_is(name, texts[i].name))
            return (DeclType){.type = type_of(reader->types, TYPE_STR), .kind = texts[i].kind,
                              .domain = texts[i].domain};
    }
    bool constant = text_is(name, "const");
    if (!constant) reader->at = start;
    DeclType type = read_type(reader);
    if (constant) type.kind = DECL_CONST;
    return type;
}

// ---- paragraphs ---------------------------------------------------------------------------------

static void read_params(Reader *reader, Decl *decl) {
    expect(reader, '(', "'(' after the name");
    if (take(reader, ')')) return;
    do {
        if (decl->param_count == DECL_PARAMS_MAX) {
            fail(reader, "at most six parameters");
            return;
        }
        DeclParam *param = &decl->params[decl->param_count++];
        param->name = word(reader);
        expect(reader, ':', "':' after the parameter's name");
        DeclType type = read_param_type(reader);
        param->kind = type.kind;
        param->domain.kind = type.domain;
        param->type = type.type;
        param->around = type.around;
        param->lists = type.lists;
        param->nullable = type.nullable;
        param->decimal = type.decimal;
        param->any_unit = type.any_unit;
    } while (!reader->failed && take(reader, ','));
    expect(reader, ')', "')' or ','");
}

// The parameters that C takes by pointer: of type T, T? or a struct.
static uint32_t pointer_params(const Decl *decl) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < decl->param_count; i++) {
        const DeclParam *param = &decl->params[i];
        bool variable = !param->type && !param->lists;
        bool nested = param->type && type_base(param->type)->kind == TYPE_STRUCT;
        if (variable || nested || param->nullable) bits |= 1u << i;
    }
    return bits;
}

// fn NAME(PARAMS) -> TYPE = SYMBOL
static void read_head(Reader *reader, DeclTable *table, bool aggregate) {
    Decl decl = {.aggregate = aggregate, .group = reader->group};
    skip_spaces(reader);
    size_t start = reader->at;
    decl.name = word(reader);
    read_params(reader, &decl);
    skip_spaces(reader);
    if (!take(reader, '-') || !take(reader, '>')) fail(reader, "'->' and the type of the result");
    DeclType result = read_type(reader);
    decl.signature = (Text){reader->text.at + start, reader->at - start};
    while (decl.signature.len && decl.signature.at[decl.signature.len - 1] == ' ')
        decl.signature.len--;
    decl.result = result.type;
    decl.result_around = result.around;
    decl.result_lists = result.lists;
    decl.result_nullable = result.nullable;
    decl.result_decimal = result.decimal;
    decl.result_unit = result.any_unit;
    expect(reader, '=', "'=' and the C function");
    Text symbol = word(reader);
    if (!symbol.len) fail(reader, "the C function");
    uint32_t pointers = pointer_params(&decl);
    decl.fn = (FnRef){.name = decl.name, .symbol = symbol, .pointers = pointers};
    decl.agg = (AggRef){
        .name = decl.name, .symbol = symbol, .pointers = pointers, .state_align = 8};
    if (!result.type && !result.lists && !result.nullable) decl.fn.traits |= FN_OUT;
    if (result.nullable) {
        decl.fn.traits |= FN_MAYBE;
        decl.agg.traits |= AGG_MAYBE;
    }
    if (!reader->failed) arena_push(reader->arena, table->items, table->count, table->cap, decl);
}

static void read_traits(Reader *reader, Decl *decl) {
    static const struct { const char *name; uint32_t fn, agg; } traits[] = {
        {"fallible", FN_FALLIBLE, AGG_FALLIBLE}, {"call", FN_CALL, AGG_CALL},
        {"typed", FN_TYPED, AGG_TYPED},          {"random", FN_RANDOM, 0},
        {"costly", FN_COSTLY, 0},                {"order", 0, AGG_ORDER},
        {"nulls", 0, AGG_NULLS},                 {"columns", FN_COLUMNS, AGG_COLUMNS},
        {"looks", 0, AGG_LOOKS},                 {"sums", 0, AGG_SUMS},
        {"impure", FN_IMPURE, 0},                {"each", FN_EACH, 0},
        {"cuts", FN_CUTS, 0},                    {"kernels", FN_KERNELS, 0},
        {"narrow", 0, AGG_NARROW},
    };
    skip_spaces(reader);
    while (reader->at < reader->line_end && !reader->failed) {
        Text name = word(reader);
        take(reader, ',');
        bool found = false;
        for (size_t i = 0; i < countof(traits); i++) {
            uint32_t bit = decl->aggregate ? traits[i].agg : traits[i].fn;
            if (!bit || !text_is(name, traits[i].name)) continue;
            found = true;
            if (decl->aggregate) decl->agg.traits |= bit;
            else decl->fn.traits |= bit;
        }
        if (!found)
            fail(reader, decl->aggregate
                             ? "call, typed, order, nulls, columns, looks or fallible"
                             : "fallible, call, typed, random, columns, costly, each, cuts, "
                               "impure or kernels");
        skip_spaces(reader);
    }
}

// range MIN..MAX | range MIN.. | range first | range args
static void read_range(Reader *reader, Decl *decl) {
    ResultRange range = {.of = RANGE_OF_BOUNDS, .max = INT64_MAX};
    size_t start = reader->at;
    Text name = word(reader);
    if (text_is(name, "first")) range.of = RANGE_OF_FIRST;
    else if (text_is(name, "args")) range.of = RANGE_OF_ARGS;
    else {
        reader->at = start;
        range.min = signed_number(reader);
        if (!take(reader, '.') || !take(reader, '.')) fail(reader, "'..'");
        skip_spaces(reader);
        if (reader->at < reader->line_end) range.max = number(reader);
        if (range.max < range.min) fail(reader, "an upper bound that is no less than the lower");
    }
    decl->fn.range = decl->agg.range = range;
}

// The parameter of that name; fails where there is none.
static uint32_t param_named(Reader *reader, const Decl *decl, Text name) {
    for (uint32_t i = 0; i < decl->param_count; i++)
        if (text_eq(decl->params[i].name, name)) return i;
    fail(reader, "the name of a parameter");
    return 0;
}

// MIN..MAX | MIN.. | PARAM..
static void read_bounds(Reader *reader, Decl *decl, DeclParam *param) {
    Domain *domain = &param->domain;
    bool time = param->type && type_base(param->type)->kind == TYPE_DURATION;
    *domain = (Domain){.kind = DOMAIN_RANGE, .max = INT64_MAX};
    skip_spaces(reader);
    char first = reader->at < reader->line_end ? reader->text.at[reader->at] : '\0';
    if (first != '-' && !(first >= '0' && first <= '9')) {
        domain->kind = DOMAIN_FROM;
        domain->other = param_named(reader, decl, word(reader));
    } else domain->min = signed_number(reader);
    if (!take(reader, '.') || !take(reader, '.')) fail(reader, "'..'");
    skip_spaces(reader);
    if (reader->at < reader->line_end) domain->max = signed_number(reader);
    if (domain->kind == DOMAIN_FROM)
        domain->says = text_format(reader->arena, "from '%.*s' on",
                                   TEXT_ARG(decl->params[domain->other].name));
    else if (time) domain->says = TEXT("longer than 0s");
    else if (domain->max == INT64_MAX)
        domain->says = text_format(reader->arena, "from %lld on", (long long)domain->min);
    else
        domain->says = text_format(reader->arena, "from %lld to %lld", (long long)domain->min,
                                   (long long)domain->max);
}

// domain PARAM BOUNDS | domain PARAM RULE [of PATTERN] | domain PARAM says WORDS
static void read_domain(Reader *reader, Decl *decl) {
    static const struct { const char *name; DomainKind kind; const char *says; } rules[] = {
        {"whole_form", DOMAIN_WHOLE_FORM, "a format such as 08, + or x"},
        {"number_form", DOMAIN_NUMBER_FORM, "a format such as 08.2, +.1e or .0%"},
        {"json_path", DOMAIN_JSON_PATH, "a path such as a.b[0]"},
        {"json_paths", DOMAIN_JSON_PATHS, "a path such as a[*].b"},
        {"character", DOMAIN_CHARACTER, "one character"},
        {"some_text", DOMAIN_SOME_TEXT, "a text that is not empty"},
        {"group", DOMAIN_GROUP, "a group of the pattern"},
        {"replacement", DOMAIN_REPLACEMENT, "a text whose $ stand before groups of the pattern"},
        {"says", DOMAIN_SAID, ""},
    };
    DeclParam *param = &decl->params[param_named(reader, decl, word(reader))];
    size_t start = reader->at, found = countof(rules);
    Text rule = word(reader);
    for (size_t i = 0; i < countof(rules); i++)
        if (text_is(rule, rules[i].name)) found = i;
    if (found == countof(rules)) {
        reader->at = start;
        read_bounds(reader, decl, param);
    } else {
        Text says = text_of(rules[found].says);
        param->domain = (Domain){.kind = rules[found].kind, .says = says};
    }
    Domain *domain = &param->domain;
    if (domain->kind == DOMAIN_SAID) domain->says = rest(reader);
    if (domain->kind == DOMAIN_GROUP || domain->kind == DOMAIN_REPLACEMENT) {
        if (!text_is(word(reader), "of")) fail(reader, "'of' and the pattern");
        domain->other = param_named(reader, decl, word(reader));
    }
    Text before = decl->fn.domain;
    decl->fn.domain =
        before.len ? text_format(reader->arena, "%.*s, '%.*s' %.*s", TEXT_ARG(before),
                                 TEXT_ARG(param->name), TEXT_ARG(domain->says))
                   : text_format(reader->arena, "'%.*s' of '%.*s' is %.*s", TEXT_ARG(param->name),
                                 TEXT_ARG(decl->name), TEXT_ARG(domain->says));
}

static void read_example(Reader *reader, Decl *decl) {
    Text *examples = arena_new_array(reader->arena, Text, decl->example_count + 1);
    for (uint32_t i = 0; i < decl->example_count; i++) examples[i] = decl->examples[i];
    examples[decl->example_count++] = rest(reader);
    decl->examples = examples;
}

static void read_doc(Reader *reader, Decl *decl) {
    Text more = rest(reader);
    decl->doc = decl->doc.len ? text_format(reader->arena, "%.*s %.*s", TEXT_ARG(decl->doc),
                                            TEXT_ARG(more))
                              : more;
}

static void read_line(Reader *reader, DeclTable *table) {
    if (reader->at == reader->line_end || reader->text.at[reader->at] == '#') return;
    bool indented = reader->at > reader->line_start;
    Decl *decl = table->count ? &table->items[table->count - 1] : nullptr;
    Text keyword = word(reader);
    if (!indented && text_is(keyword, "group")) reader->group = rest(reader);
    else if (!indented && text_is(keyword, "fn")) read_head(reader, table, false);
    else if (!indented && text_is(keyword, "agg")) read_head(reader, table, true);
    else if (!indented || !decl) fail(reader, "group, fn or agg");
    else if (text_is(keyword, "doc")) read_doc(reader, decl);
    else if (text_is(keyword, "example")) read_example(reader, decl);
    else if (text_is(keyword, "traits")) read_traits(reader, decl);
    else if (text_is(keyword, "range")) read_range(reader, decl);
    else if (text_is(keyword, "domain")) read_domain(reader, decl);
    else if (text_is(keyword, "blames")) decl->fn.blames = word(reader);
    else if (text_is(keyword, "state") && decl->aggregate) {
        decl->agg.state_bytes = (uint32_t)number(reader);
        decl->agg.state_align = (uint32_t)number(reader);
        decl->agg.held = word(reader);
    } else fail(reader, "doc, example, traits, range, domain, blames or state");
}

DeclTable *declare_stdlib(Arena *arena, TypeTable *types, Diags *diags) {
    Text text = {declarations, sizeof declarations};
    return declare_text(arena, types, diags, text);
}

DeclTable *declare_text(Arena *arena, TypeTable *types, Diags *diags, Text text) {
    DeclTable *table = arena_new_of(arena, DeclTable);
    Reader reader = {.arena = arena, .types = types, .diags = diags, .text = text};
    reader.file = source_add(diags->sources, TEXT("stdlib/functions.decl"), text);
    while (next_line(&reader)) read_line(&reader, table);
    for (size_t i = 1; i < table->count; i++) {  // Overloads stand together.
        Decl decl = table->items[i];
        size_t at = i;
        for (size_t j = 0; j < i; j++)
            if (text_eq(table->items[j].name, decl.name)) at = j + 1;
        for (size_t j = i; j > at; j--) table->items[j] = table->items[j - 1];
        table->items[at] = decl;
    }
    return table;
}

const Decl *declare_find(const DeclTable *table, Text name, size_t *count) {
    *count = 0;
    const Decl *first = nullptr;
    for (size_t i = 0; i < table->count; i++) {
        if (!text_eq(table->items[i].name, name)) continue;
        if (!first) first = &table->items[i];
        ++*count;
    }
    return first;
}
