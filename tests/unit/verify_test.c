// Each rule of the verifier has a graph that breaks it and nothing else.
#include "ir/pass.h"
#include "tests/unit/unit.h"

// Operator 0 of every graph here: columns a: i64, l: [i64], s: str.
static const char source[] =
    "%0 = source csv {\n    $0 = const str \"a.csv\"\n    path $0\n"
    "    column a : i64\n    column l : [i64]\n    column s : str\n"
    "    out a : i64\n    out l : [i64]\n    out s : str\n}\n";

typedef struct Wrong {
    const char *text, *error;  // The operators behind the source; what the verifier says.
} Wrong;

static const Wrong operators[] = {
    {"%1 = filter %0 {\n out a : i64\n}\n", "%1 filter: it has no predicate"},
    {"%1 = filter %0 {\n $0 = column 0:0 : i64\n pred $0\n out a : i64\n}\n",
     "%1 filter: an expression is no bool"},
    {"%1 = filter %0 {\n $0 = const bool true\n pred $0\n out a : i32\n}\n",
     "%1 filter: column 0 has not the type of its input's"},
    {"%1 = sort %0 step 7 {\n out a : i64\n}\n", "%1 sort: step 7 does not exist"},
    {"%1 = limit %0 {\n out a : i64\n out l : [i64]\n out s : str\n out t : str\n}\n",
     "%1 limit: it has more columns than its input"},
    {"%1 = limit %0 {\n $0 = column 0:0 : i64\n count $0\n}\n",
     "%1 limit: $1 column 0.0: no such column of that type"},
    {"%1 = limit %0 {\n $0 = const i32 1\n count $0\n}\n", "%1 limit: an expression is no i64"},
    {"%1 = limit %0 {\n $0 = place line : i64\n count $0\n}\n",
     "%1 limit: $1 place: there is no row here"},
    {"%1 = project %0 {\n out a : i64\n}\n", "%1 project: items and columns differ in number"},
    {"%1 = project %0 {\n $0 = column 0:0 : i64\n item a $0\n out a : str\n}\n",
     "%1 project: item 0 has not the type of its column"},
    {"%1 = project %0 {\n $0 = column 0:9 : i64\n item a $0\n out a : i64\n}\n",
     "%1 project: $1 column 0.9: no such column of that type"},
    {"%1 = project %0 {\n $0 = column 1:0 : i64\n item a $0\n out a : i64\n}\n",
     "%1 project: $1 column 1.0: no such column of that type"},
    {"%1 = explode %0 {\n list 0\n out a : i64\n}\n", "%1 explode: column 0 is no list"},
    {"%1 = explode %0 {\n list 1\n out a : i64\n out l : [i64]\n}\n",
     "%1 explode: column 1 is no element of the list"},
    {"%1 = group %0 {\n agg n : i64 of\n}\n",
     "%1 group: keys, aggregates and columns differ in number"},
    {"%1 = group %0 {\n agg n : i64 of\n out n : i32\n}\n", "%1 group: aggregate 0 has two types"},
    {"%1 = group %0 {\n $0 = column 0:0 : i64\n agg n : i64 of $0\n out n : i64\n}\n",
     "%1 group: aggregate 0 counts rows but has arguments"},
    {"%1 = group %0 {\n $0 = column 0:0 : i64\n key k $0\n out k : str\n}\n",
     "%1 group: key 0 has not the type of its column"},
    {"%1 = join %0 %0 {\n $0 = column 0:0 : i64\n $1 = column 1:2 : str\n kind inner\n key $0 "
     "$1\n}\n",
     "%1 join: the sides of key 0 differ in type"},
    {"%1 = join %0 %0 {\n kind inner\n from 0:0\n out a : i64\n}\n", "%1 join: it has no key"},
    {"%1 = join %0 %0 {\n kind inner\n from 2:0\n out a : i64\n}\n",
     "%1 join: column 0 comes from nowhere"},
    {"%1 = join %0 %0 {\n kind semi\n from 1:0\n out a : i64\n}\n",
     "%1 join: column 0 is of the right side"},
    {"%1 = join %0 %0 {\n kind inner\n from 1:0\n out a : str\n}\n",
     "%1 join: column 0 has another type"},
    {"%1 = join %0 %0 {\n kind inner\n from 0:0 merged 3\n out a : i64\n}\n",
     "%1 join: merged column 0 has no right side"},
    {"%1 = union %0 %0 {\n right 2\n out a : i64\n}\n",
     "%1 union: column 0 has no match on the right"},
    {"%1 = zip %0 %0 {\n out a : i64\n}\n", "%1 zip: its columns are not those of both inputs"},
    {"%1 = zip %0 %0 {\n out a : i64\n out l : [i64]\n out s : str\n"
     " out a2 : i64\n out l2 : [i64]\n out s2 : i8\n}\n",
     "%1 zip: column 5 has another type"},
    {"%1 = sink csv %0 {\n}\n", "%1 sink: it has no path"},
    {"%1 = sink csv %0 {\n $0 = const str \"o\"\n path $0\n column a none\n}\n",
     "%1 sink: column 0 has no value"},
    {"%1 = sink csv %0 {\n $0 = const str \"o\"\n $1 = column 0:0 : i64\n path $0\n"
     " column a $1 spelling $1\n}\n",
     "%1 sink: the spelling of column 0 is no str"},
    {"%1 = sink csv %0 {\n $0 = const str \"o\"\n $1 = column 0:0 : i64\n path $0\n"
     " column a $1 verbatim\n}\n",
     "%1 sink: column 0 is verbatim but has no spelling"},
    {"%1 = sink csv %0 {\n $0 = const str \"o\"\n $1 = const str \"p\"\n path $0\n"
     " column a $0 spelling $0 verbatim\n column b $1 spelling $1 verbatim within\n}\n",
     "%1 sink: column 1 is not within the one before"},
    {"%1 = sink csv %0 {\n $0 = const str \"o\"\n path $0\n out a : i64\n}\n",
     "%1 sink: it puts out columns"},
    {"%1 = sink csv %0 {\n $0 = const str \"o\"\n path $0\n}\n%2 = hint %1 {\n}\n",
     "%2 hint: input 0 does not come before it"},
    {"%1 = source range {\n column i : i64\n out i : i64\n}\n", "%1 source: it reads nothing"},
    {"%1 = source inline {\n column i : i64\n out i : str\n}\n",
     "%1 source: column 0 has two types"},
    {"%1 = source inline {\n column i : i64\n raw_of 1\n out i : i64\n out h : str hidden\n}\n",
     "%1 source: spelling 1 is of no column"},
    {"%1 = source csv {\n $0 = const str \"i\"\n path $0\n column i : i64\n raw_of 0 to 1\n"
     " out i : i64\n out h : str hidden\n}\n",
     "%1 source: spelling 1 is of no column"},
    {"%1 = source jsonl {\n $0 = const str \"i\"\n path $0\n column i : i64\n column k : i64\n"
     " raw_of 0 to 1\n out i : i64\n out k : i64\n out h : str hidden\n}\n",
     "%1 source: spelling 2 is of several columns, but they are of no dialect"},
    {"%1 = source inline {\n column i : i64\n raw_of 0\n out i : i64\n out h : str\n}\n",
     "%1 source: spelling 1 is not hidden"},
    {"%1 = source inline {\n column i : i64\n raw_of 0\n out i : i64\n out h : i8 hidden\n}\n",
     "%1 source: spelling 1 is no str"},
    {"%1 = sort %0 {\n $0 = column 0:1 : [i64]\n $1 = local 0 : str\n"
     " $2 = list_map 0 $0 $1 : [str]\n key $2\n out a : i64\n}\n",
     "list_map: a local has another type"},
    {"%1 = sort %0 {\n $0 = column 0:1 : [i64]\n $1 = local 5 : i64\n"
     " $2 = list_map 3 $0 $1 : [i64]\n $3 = list_map 5 $0 $2 : [[i64]]\n key $3\n out a : i64\n}\n",
     "list_map: a lambda around it has a greater number"},
    {"%1 = source inline {\n column i : null\n out i : null\n}\n",
     "%1 source: column 0 has no type"},
};

// Nodes of one project; $0 to $5 stand above them.
static const char nodes[] =
    " $0 = column 0:0 : i64\n $1 = column 0:1 : [i64]\n $2 = column 0:2 : str\n"
    " $3 = const bool true\n $4 = const f64 1\n $5 = some $0 : i64?\n";

static const Wrong expressions[] = {
    {"const i64 null", "const: a null of a type without null"},
    {"const [i64] [null]", "const: the value does not fit the type"},
    {"param 0 : i64", "param: no such parameter"},
    {"place line : str", "place: no such place"},
    {"raw 0:0 : i64", "raw: a spelling is a str"},
    {"add $0 $4 : i64", "add: operands differ in type"},
    {"neg $5 : i64?", "neg: an operand may be null"},
    {"div $0 $0 : i64", "div: operands are no floats of one type"},
    {"and $3 $0 : bool", "and: an operand is no bool"},
    {"not $3 : i64", "not: the result is no bool"},
    {"eq $0 $2 : bool", "eq: operands differ in type"},
    {"lt $0 $0 : i64", "lt: the result is no bool"},
    {"in : bool", "in: it has no operand"},
    {"is_null $5 : i64", "is_null: the result is no bool"},
    {"if $0 $0 $0 : i64", "if: the condition is no bool"},
    {"if $3 $0 $4 : i64", "if: a branch has another type"},
    {"coalesce $5 $4 : i64", "coalesce: the sides differ in type"},
    {"else reject $0 $0 : i64", "else: arguments do not fit the handler"},
    {"else value $0 $4 : i64", "else: it has another type"},
    {"some $0 : i64", "some: it is not the argument's type with null"},
    {"cast $5 : i32", "cast: null appears or is lost"},
    {"to_f64 $0 : i64", "to_f64: the result is no f64"},
    {"concat $0 : str", "concat: an operand is no str"},
    {"text $0 : i64", "text: the result is no str"},
    {"struct $0 : {a: i64, b: i64}", "struct: arguments are not the fields of the type"},
    {"struct $0 : {a: i32}", "struct: a field has another type"},
    {"field 0 $0 : i64", "field: the argument has no such field"},
    {"list $0 : i64", "list: the type is no list"},
    {"list $0 : [i32]", "list: an element has another type"},
    {"index $0 $0 : i64", "index: the argument is no list of the type"},
    {"index $1 $2 : i64", "index: the index is no integer"},
    {"local 0 : i64", "local 0: no lambda around it binds it"},
    {"list_map 0 $0 $0 : [i64]", "list_map: its first argument is no list"},
    {"list_map 0 $1 $2 : [i64]", "list_map: it is no list of what the lambda gives"},
    {"list_filter 0 $1 $0 : [i64]", "list_filter: the result of the lambda is no bool"},
    {"list_filter 0 $1 $3 : [str]", "list_filter: it has another type than its list"},
    {"list_any 0 $1 $3 : i64", "list_any: the result is no bool"},
    {"list_reduce 0 $1 $0 $4 : i64",
     "list_reduce: start and result of the lambda have other types"},
};

static void check_wrong(const char *text, const char *error) {
    Arena *arena = arena_new();
    GraphFault fault = {0};
    Graph *graph = graph_read(arena, type_table_new(arena), text_of(text), &fault);
    TextBuf *said = &fault.message;
    CHECK_SAYS(graph, "%.*s in\n%s", (int)said->len, said->at, text);
    if (graph) {
        CHECK_SAYS(!graph_verify(graph, said), "%s passes:\n%s", error, text);
        text_buf_char(said, '\0');
        CHECK_SAYS(strstr(said->at, error), "'%s', not '%s'\n", said->at, error);
    }
    text_buf_free(said);
    arena_free(arena);
}

static void every_rule_of_operators_can_be_broken(void) {
    for (size_t i = 0; i < countof(operators); i++) {
        Arena *arena = arena_new();
        Text text = text_format(arena, "%s%s", source, operators[i].text);
        check_wrong(text_c(arena, text), operators[i].error);
        arena_free(arena);
    }
}

// The wrong node is $6, the key of a sort, which takes any type.
static void every_rule_of_expressions_can_be_broken(void) {
    for (size_t i = 0; i < countof(expressions); i++) {
        Arena *arena = arena_new();
        Text text = text_format(arena, "%s%%1 = sort %%0 {\n%s $6 = %s\n key $6\n out a : i64\n}\n",
                                source, nodes, expressions[i].text);
        check_wrong(text_c(arena, text), expressions[i].error);
        arena_free(arena);
    }
}

static void the_frames_of_the_tables_are_right(void) {
    Arena *arena = arena_new();
    GraphFault fault = {0};
    Text text = text_format(arena, "%s%%1 = sort %%0 {\n%s $6 = add $0 $0 : i64\n key $6\n"
                            " out a : i64\n}\n", source, nodes);
    Graph *graph = graph_read(arena, type_table_new(arena), text, &fault);
    TextBuf *said = &fault.message;
    CHECK_SAYS(graph && graph_verify(graph, said), "%.*s", (int)said->len, said->at);
    text_buf_free(said);
    arena_free(arena);
}

static const UnitTest tests[] = {
    {"every_rule_of_operators_can_be_broken", every_rule_of_operators_can_be_broken},
    {"every_rule_of_expressions_can_be_broken", every_rule_of_expressions_can_be_broken},
    {"the_frames_of_the_tables_are_right", the_frames_of_the_tables_are_right},
};

UNIT_MAIN("verify", tests)
