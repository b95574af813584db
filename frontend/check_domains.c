// Domains: is a constant argument among the values that its parameter takes?
//
// stdlib/functions.decl says what a parameter takes. Numbers are compared here; patterns, zones,
// formats and paths are judged by the library, which the driver asks.
#include "frontend/checker.h"

#include "ir/pass.h"

#include <string.h>

// ---- texts that the library judges --------------------------------------------------------------

// Where byte `position` of a constant's text stands in the program; the whole literal when the two
// differ because of escapes, or when the constant is no literal.
static Span part_span(Checker *checker, Text text, size_t position, Span span) {
    Text written = source_text(checker, span);
    size_t lead = written.len && written.at[0] == 'r' ? 2 : 1;
    bool same = written.len == text.len + lead + 1 &&
                memcmp(written.at + lead, text.at, text.len) == 0;
    if (!same || position > text.len) return span;
    uint32_t at = span.start + (uint32_t)(lead + position);
    return (Span){at, at + 1, span.file};
}

// What to do about a mistake in a pattern, by how its message begins; the first that fits.
static const struct {
    const char *message, *fix;
} pattern_fixes[] = {
    {"lookaround", "match the text around it too, and extract a group"},
    {"backreferences", "extract the group, and compare with it: extract(x, p) == y"},
    {"a repeat count", "use `*` or `+`, and test the length with len(...)"},
    {"the repeat counts", "write the smaller count first: {2,5}"},
    {"a repeat of a repeat", "put the inner one into a group: (?:a+)*"},
    {"nothing before", "write what is repeated first, or put the character in brackets: [*]"},
    {"( is never closed", "close it with ), or write \\( for the character"},
    {"[ is never closed", "close it with ], or write \\[ for the character"},
    {"\\p{ is never closed", "close it: \\p{Greek}"},
    {") without", "remove it, or write \\) for the character"},
    {"the range ends", "write the lower character first: [a-z]"},
    {"no such class", "use one of alnum alpha ascii blank cntrl digit graph lower print punct "
                      "space upper word xdigit"},
    {"no such property", "take a category or script: \\p{L}, \\p{Lu}, \\p{Greek}"},
    {"a backslash at the end", "double it for the character itself"},
    {"\\x", "write the character in hexadecimal: \\x41, \\x{1F600}"},
    {"two groups of one name", "rename one of them"},
    {"a group's name", "name it by a word: (?P<year>...)"},
    {"the name of the group", "write (?P<name>...)"},
    {"unknown group", "write (?:...) for a group that is not extracted"},
    {"two minus signs", "write the flags once: (?i-s)"},
    {"no flag after", "write the flags once: (?i-s)"},
    {"groups nest", "name parts of it: test several patterns with `and`"},
    {"more than", "write (?:...) for groups that are not extracted"},
    {"the pattern is longer", "test several patterns with `and`"},
    {"", "drop the backslash, or put the character in brackets: [x]"},
};

static void blame_pattern(Checker *checker, Span at, Text message) {
    Diag *diag = report(checker, DIAG_BAD_PATTERN, at, "wrong pattern: %.*s", TEXT_ARG(message));
    report_label(checker, diag, at, "%.*s", TEXT_ARG(message));
    size_t i = 0;
    while (!text_starts(message, text_of(pattern_fixes[i].message))) i++;
    report_fix(checker, diag, "%s", pattern_fixes[i].fix);
}

static void blame_form(Checker *checker, Span at, DomainKind domain, Text message) {
    bool clock = domain == DOMAIN_READ_CLOCK || domain == DOMAIN_WRITE_CLOCK;
    Diag *diag = report(checker, DIAG_BAD_TIME_FORM, at, "wrong format: %.*s", TEXT_ARG(message));
    report_label(checker, diag, at, "%.*s", TEXT_ARG(message));
    report_fix(checker, diag, "as in \"%s%%H:%%M:%%S\"; `sbc doc format` has the letters, "
                              "%%%% is a percent sign", clock ? "" : "%Y-%m-%d ");
}

// A format of another tool: its letters would stand for themselves.
static bool is_foreign_form(const char *form) {
    static const char *const marks[] = {"YYYY", "yyyy", "DD", "dd", "HH", "hh"};
    for (size_t i = 0; i < countof(marks); i++)
        if (strstr(form, marks[i])) return !strchr(form, '%');
    return false;
}

static void blame_unit(Checker *checker, Span span, Text text, const ConstantFault *fault) {
    Diag *diag = report(checker, DIAG_BAD_TIME_FORM, span, "no unit '%.*s'", TEXT_ARG(text));
    report_label(checker, diag, span, "%.*s", TEXT_ARG(fault->message));
    if (fault->near.len) report_fix(checker, diag, "did you mean \"%.*s\"?", TEXT_ARG(fault->near));
    else report_fix(checker, diag, "use one of these units");
}

static void blame_zone(Checker *checker, Span span, Text text, const ConstantFault *fault) {
    Diag *diag = report(checker, DIAG_UNKNOWN_ZONE, span, "no time zone '%.*s'", TEXT_ARG(text));
    report_label(checker, diag, span, "no name of the IANA database");
    if (fault->near.len) report_fix(checker, diag, "did you mean \"%.*s\"?", TEXT_ARG(fault->near));
    else report_fix(checker, diag, "a region and a city: \"Europe/Berlin\", or \"UTC\"");
}

static void blame_encoding(Checker *checker, Span span, Text text, const ConstantFault *fault) {
    Diag *diag = report(checker, DIAG_OPTION_VALUE, span, "no encoding '%.*s'", TEXT_ARG(text));
    report_label(checker, diag, span, "unknown");
    report_note(checker, diag, "there are %.*s", TEXT_ARG(fault->message));
    if (fault->near.len) report_fix(checker, diag, "did you mean \"%.*s\"?", TEXT_ARG(fault->near));
    else report_fix(checker, diag, "use one of these; spreadsheets write windows-1252 or utf-16");
}

// Is the constant text good? Otherwise reported, but for those of which only the parameter's name
// says what is wrong.
static bool judge_text(Checker *checker, const ConstantText *asked, Span span,
                       ConstantFault *fault) {
    bool form = asked->domain >= DOMAIN_READ_FORM && asked->domain <= DOMAIN_WRITE_CLOCK;
    if (form && asked->text.len && is_foreign_form(text_c(checker->arena, asked->text))) {
        blame_form(checker, span, asked->domain,
                   TEXT("no letter after a %: the text stands for itself"));
        return false;
    }
    if (!checker->input->judge || checker->input->judge(checker->arena, asked, fault)) return true;
    Span at = part_span(checker, asked->text, fault->position, span);
    switch (asked->domain) {
    case DOMAIN_PATTERN: blame_pattern(checker, at, fault->message); break;
    case DOMAIN_READ_FORM: case DOMAIN_WRITE_FORM: case DOMAIN_READ_CLOCK: case DOMAIN_WRITE_CLOCK:
        blame_form(checker, at, asked->domain, fault->message);
        break;
    case DOMAIN_DATE_UNIT: case DOMAIN_TIME_UNIT:
        blame_unit(checker, span, asked->text, fault);
        break;
    case DOMAIN_ZONE: blame_zone(checker, span, asked->text, fault); break;
    case DOMAIN_ENCODING: blame_encoding(checker, span, asked->text, fault); break;
    case DOMAIN_ALL: case DOMAIN_RANGE: case DOMAIN_FROM: case DOMAIN_SAID: case DOMAIN_WHOLE_FORM:
    case DOMAIN_NUMBER_FORM: case DOMAIN_JSON_PATH: case DOMAIN_JSON_PATHS: case DOMAIN_CHARACTER:
    case DOMAIN_SOME_TEXT: case DOMAIN_GROUP: case DOMAIN_REPLACEMENT: break;
    }
    return false;
}

bool judge_constant(Checker *checker, DomainKind domain, Text text, Span span) {
    ConstantFault fault = {0};
    return judge_text(checker, &(ConstantText){.domain = domain, .text = text}, span, &fault);
}

// ---- arguments ----------------------------------------------------------------------------------

// An argument that is constant, and what it is an argument of.
typedef struct Judged {
    const Decl   *decl;
    const Domain *domain;
    Text          param;
    const Type   *type;
    Const         value;
    Span          span;
} Judged;

static const char *fix_of(DomainKind kind) {
    switch (kind) {
    case DOMAIN_GROUP: return "put the part that is wanted in parentheses; group 0 is the match";
    case DOMAIN_REPLACEMENT:
        return "put the part that is wanted in parentheses; $$ is a dollar, ${1}0 ends the number";
    case DOMAIN_WHOLE_FORM:
        return "as in \"06\", \"+\", \",\", \".2f\" or \"x\"; `sbc doc format` has the parts";
    case DOMAIN_NUMBER_FORM:
        return "as in \"08.2\", \",.0\", \".1e\" or \".1%\"; `sbc doc format` has the parts";
    case DOMAIN_JSON_PATH:
        return "as in \"a.b[0]\"; quotes go round odd keys: \"a.\\\"odd key\\\"\"";
    case DOMAIN_JSON_PATHS: return "as in \"a[*].b\"; * stands for all parts of a list or struct";
    case DOMAIN_CHARACTER: return "write one character: \"0\"";
    case DOMAIN_SOME_TEXT: return "write one character or more: \",\"";
    case DOMAIN_ALL: case DOMAIN_RANGE: case DOMAIN_FROM: case DOMAIN_SAID: case DOMAIN_PATTERN:
    case DOMAIN_ZONE: case DOMAIN_ENCODING: case DOMAIN_READ_FORM: case DOMAIN_WRITE_FORM:
    case DOMAIN_READ_CLOCK: case DOMAIN_WRITE_CLOCK: case DOMAIN_DATE_UNIT: case DOMAIN_TIME_UNIT:
        break;
    }
    return "";
}

static void blame(Checker *checker, const Judged *judged, Span at, Text label) {
    const Domain *domain = judged->domain;
    Diag *diag = report(checker, DIAG_DOMAIN, at, "'%.*s' of '%.*s' is %.*s",
                        TEXT_ARG(judged->param), TEXT_ARG(judged->decl->name),
                        TEXT_ARG(domain->says));
    report_label(checker, diag, at, "%.*s", TEXT_ARG(label));
    report_note(checker, diag, "%.*s", TEXT_ARG(judged->decl->signature));
    if (domain->kind == DOMAIN_RANGE && judged->type->kind == TYPE_DURATION)
        report_fix(checker, diag, "write a duration such as 15min");
    else if (domain->kind == DOMAIN_RANGE || domain->kind == DOMAIN_FROM)
        report_fix(checker, diag, "write a number %.*s", TEXT_ARG(domain->says));
    else report_fix(checker, diag, "%s", fix_of(domain->kind));
}

static Text value_said(Checker *checker, const Judged *judged) {
    if (judged->type->kind == TYPE_DURATION) return source_text(checker, judged->span);
    TextBuf buf = {0};
    graph_print_const(&buf, judged->type, &judged->value);
    return text_buf_take(&buf, checker->arena);
}

static bool in_range(const Type *type, const Const *value, int64_t min, int64_t max) {
    if (type_is_float(type))
        return value->f >= (double)min && (max == INT64_MAX || value->f <= (double)max);
    return value->i >= min && value->i <= max;
}

// Texts, and groups by number.
static bool judge_argument(Checker *checker, const Judged *judged, Text pattern) {
    bool number = judged->type->kind != TYPE_STR;
    ConstantText asked = {.domain = judged->domain->kind, .pattern = pattern, .is_number = number};
    if (number) asked.number = judged->value.i;
    else asked.text = judged->value.text;
    ConstantFault fault = {0};
    if (judge_text(checker, &asked, judged->span, &fault)) return true;
    Text label = fault.message;
    if (!label.len) label = value_said(checker, judged);
    blame(checker, judged, number ? judged->span
                                  : part_span(checker, asked.text, fault.position, judged->span),
          label);
    return false;
}

bool check_domain(Checker *checker, const Arguments *args, const Decl *decl, uint32_t i) {
    const DeclParam *param = &decl->params[i];
    const Domain *domain = &param->domain;
    Judged judged = {.decl = decl, .domain = domain, .param = param->name,
                     .type = type_base(args->values[i].type), .span = args->exprs[i]->span};
    Const other;
    if (!const_of(checker, args->values[i].id, &judged.value) || judged.value.is_null) return true;
    switch (domain->kind) {
    case DOMAIN_ALL: case DOMAIN_SAID: return true;
    case DOMAIN_PATTERN: case DOMAIN_ZONE: case DOMAIN_ENCODING: case DOMAIN_READ_FORM:
    case DOMAIN_WRITE_FORM: case DOMAIN_READ_CLOCK: case DOMAIN_WRITE_CLOCK:
    case DOMAIN_DATE_UNIT: case DOMAIN_TIME_UNIT:
        return judge_constant(checker, domain->kind, judged.value.text, judged.span);
    case DOMAIN_WHOLE_FORM: case DOMAIN_NUMBER_FORM: case DOMAIN_JSON_PATH: case DOMAIN_JSON_PATHS:
    case DOMAIN_CHARACTER: case DOMAIN_SOME_TEXT:
        return judge_argument(checker, &judged, (Text){0});
    case DOMAIN_GROUP: case DOMAIN_REPLACEMENT: {
        const Expr *pattern = graph_at(checker->graph, args->values[domain->other].id);
        return judge_argument(checker, &judged, pattern->value.text);
    }
    case DOMAIN_FROM:
        if (!const_of(checker, args->values[domain->other].id, &other) ||
            judged.value.i >= other.i)
            return true;
        break;
    case DOMAIN_RANGE:
        if (in_range(judged.type, &judged.value, domain->min, domain->max)) return true;
        break;
    }
    blame(checker, &judged, judged.span, value_said(checker, &judged));
    return false;
}
