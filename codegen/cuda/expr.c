// Expressions as statements: each node is computed once, and a branch is a choice between values.
//
//   where x // y > 3  ─▶  const i64 v1 = sb_div_i64(x0, x1);
//                         const u8 r1 = sb_div_fault_i64(x0, x1);
//                         const u8 v2 = 1 & (v1 > v3);
//
// Nothing is skipped, so what no branch needs is computed too. Its faults do not count: each
// operator says which of its arguments' faults are its own.
#include "codegen/cuda/divide.h"
#include "codegen/cuda/render.h"
#include "ir/plan_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Text format(const CudaEmit *e, const char *text, Text a, Text b) {
    return text_format(e->arena, text, TEXT_ARG(a), TEXT_ARG(b));
}

static Text valid_of(const CudaValue *value) { return value->valid.len ? value->valid : TEXT("1"); }
static Text raise_of(const CudaValue *value) { return value->raise.len ? value->raise : TEXT("0"); }

Text cuda_either(const CudaEmit *e, Text a, Text b) {
    if (!a.len) return b;
    return b.len && !text_eq(a, b) ? format(e, "(%.*s | %.*s)", a, b) : a;
}

// ---- statements ---------------------------------------------------------------------------------

// Says where in the program the next statement comes from, if that differs.
static void locate(CudaEmit *e, Span span) {
    if (span.file >= e->sources.count) return;
    Text text = e->sources.texts[span.file];
    uint32_t line = 1;
    for (uint32_t i = 0; i < span.start && i < text.len; i++) line += text.at[i] == '\n';
    if (line == e->line && span.file == e->file) return;
    e->line = line;
    e->file = span.file;
    text_buf_format(&e->body, "#line %u ", line);
    text_buf_quoted(&e->body, e->sources.paths[span.file]);
    text_buf_char(&e->body, '\n');
}

static Text declare(CudaEmit *e, const char *type, char kind, unsigned number, Text value) {
    text_buf_format(&e->body, "    const %s %c%u = %.*s;\n", type, kind, number, TEXT_ARG(value));
    return text_format(e->arena, "%c%u", kind, number);
}

// Gives names to what a node computes.
static CudaValue declare_all(CudaEmit *e, const Expr *x, CudaValue is) {
    unsigned number = e->names++;
    locate(e, x->span);
    is.value = declare(e, cuda_value_type(type_element(x->type)), 'v', number, is.value);
    if (is.valid.len > 1) is.valid = declare(e, "u8", 'n', number, is.valid);
    if (is.raise.len) is.raise = declare(e, "u8", 'r', number, is.raise);
    return is;
}

// ---- leaves -------------------------------------------------------------------------------------

static void print_float(TextBuf *buf, const Type *type, double value) {
    bool narrow = type->kind != TYPE_F64;
    float as_f32 = (float)value;
    uint32_t bits32;
    uint64_t bits64;
    memcpy(&bits32, &as_f32, sizeof bits32);
    memcpy(&bits64, &value, sizeof bits64);
    if (isfinite(value)) text_buf_format(buf, narrow ? "%af" : "%a", value);
    else if (narrow) text_buf_format(buf, "sb_f32_of(0x%xu)", bits32);
    else text_buf_format(buf, "sb_f64_of(0x%llxull)", (unsigned long long)bits64);
}

static void print_constant(TextBuf *buf, const Type *type, const Const *value) {
    const Type *base = type_base(type);
    bool is_unsigned = base->kind >= TYPE_U8 && base->kind <= TYPE_U64;
    uint64_t bits = is_unsigned ? value->u : (uint64_t)value->i;
    if (value->is_null) text_buf_char(buf, '0');
    else if (type_is_float(base)) print_float(buf, base, value->f);
    else text_buf_format(buf, "(%s)0x%llxull", cuda_value_type(base), (unsigned long long)bits);
}

Text cuda_index(CudaEmit *e, Text value) { return declare(e, "i32", 'j', e->names++, value); }

const Const *cuda_item_at(const Graph *graph, const Expr *x, uint32_t i) {
    return x->op == EXPR_LIST ? &graph_at(graph, x->args[i])->value : &x->value.items[i];
}

uint32_t cuda_item_count(const Expr *x) {
    return x->op == EXPR_LIST ? x->arg_count : x->value.item_count;
}

// Which number of a constant: itself, or a part of its inverse (divide.h).
typedef enum Number { ITSELF, HIGH, LOW } Number;

static double number_of(double c, Number which) {
    CudaInverse inverse;
    if (which == ITSELF || !cuda_inverse((float)c, &inverse)) return c;
    return (double)(which == HIGH ? inverse.high : inverse.low);
}

static void print_item(const CudaEmit *e, TextBuf *buf, const Expr *x, uint32_t i, Number number) {
    Const item = *cuda_item_at(e->plan->graph, x, i);
    if (number != ITSELF) item.f = number_of(item.f, number);
    print_constant(buf, x->type->elem, &item);
}

enum { CHOICES_MAX = 4 };

// The item whose number, counted on from `shift` and from the first again, is `which`.
static void print_choice(const CudaEmit *e, TextBuf *buf, const Expr *x, Text which, uint32_t shift,
                         Number number) {
    uint32_t count = cuda_item_count(x);
    text_buf_char(buf, '(');
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 < count) text_buf_format(buf, "%.*s == %u ? ", TEXT_ARG(which), i);
        print_item(e, buf, x, (i + shift) % count, number);
        text_buf_add(buf, i + 1 < count ? TEXT(" : ") : TEXT(")"));
    }
}

// Of a few items: the one of the element, in registers.
static Text choice(CudaEmit *e, const Expr *x, Text which, Number number) {
    TextBuf buf = {0};
    print_choice(e, &buf, x, which, 0, number);
    return text_buf_take(&buf, e->arena);
}

// Lanes of a pack go round in the items, from that of the first one: the compiler knows how far, so
// that it compares once for a pack.
static Text choice_in_turn(CudaEmit *e, const Expr *x, Number number) {
    uint32_t count = cuda_item_count(x);
    Text far = text_format(e->arena, "k %% %uu", count);
    TextBuf buf = {0};
    text_buf_char(&buf, '(');
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 < count) text_buf_format(&buf, CUDA_TURN " == %u ? ", i);
        print_choice(e, &buf, x, far, i, number);
        text_buf_add(&buf, i + 1 < count ? TEXT(" : ") : TEXT(")"));
    }
    return text_buf_take(&buf, e->arena);
}

// Of more items: an array of the unit.
static Text array(CudaEmit *e, const Expr *x, Text which, Number number) {
    unsigned name = e->names++;
    text_buf_format(&e->tables, "%s %s " CUDA_NAME "_t%u[] = {", e->dialect->table,
                    cuda_value_type(x->type->elem), name);
    for (uint32_t i = 0; i < cuda_item_count(x); i++) {
        if (i) text_buf_add(&e->tables, TEXT(", "));
        print_item(e, &e->tables, x, i, number);
    }
    text_buf_add(&e->tables, TEXT("};\n"));
    return text_format(e->arena, CUDA_NAME "_t%u[%.*s]", name, TEXT_ARG(which));
}

bool cuda_is_table(const Graph *graph, const Expr *x) {
    bool constant = x->op == EXPR_LIST || x->op == EXPR_CONST;
    for (uint32_t i = 0; constant && i < x->arg_count; i++)
        constant = graph_at(graph, x->args[i])->op == EXPR_CONST;
    return constant && x->type->kind == TYPE_TENSOR;
}

// The number of a constant tensor at the element.
static Text table(CudaEmit *e, const Expr *x, Number number) {
    Text at = cuda_element(e->arena, x->type, &e->place);
    if (cuda_item_count(x) > CHOICES_MAX) return array(e, x, at, number);
    if (cuda_is_in_turn(e, x->type)) return choice_in_turn(e, x, number);
    return choice(e, x, cuda_index(e, at), number);
}

static CudaValue constant(CudaEmit *e, const Expr *x) {
    if (cuda_is_table(e->plan->graph, x)) return (CudaValue){table(e, x, ITSELF), {0}, {0}};
    TextBuf buf = {0};
    print_constant(&buf, x->type, &x->value);
    return (CudaValue){text_buf_take(&buf, e->arena),
                       x->value.is_null ? TEXT("0") : (Text){0}, {0}};
}

static CudaValue param(CudaEmit *e, const Expr *x) {
    CudaKernel *kernel = e->kernel;
    size_t i = 0;
    while (i < kernel->param_count && kernel->params[i] != x->index) i++;
    if (i == kernel->param_count)
        arena_push(e->arena, kernel->params, kernel->param_count, kernel->param_cap, x->index);
    return (CudaValue){text_format(e->arena, "a.p%u", x->index), {0}, {0}};
}

static size_t add_input(CudaEmit *e, const CudaColumn *column) {
    CudaKernel *kernel = e->kernel;
    for (size_t i = 0; i < kernel->input_count; i++)
        if (cuda_same_column(&kernel->inputs[i], column)) return i;
    arena_push(e->arena, kernel->inputs, kernel->input_count, kernel->input_cap, *column);
    return kernel->input_count - 1;
}

size_t cuda_input(CudaEmit *e, uint32_t column, const Type *type) {
    CudaColumn input = {.item = {0, column}, .type = type};
    return add_input(e, &input);
}

bool cuda_is_whole(const CudaKernel *kernel, const Type *type) {
    if (kernel->team) return false;
    if (!kernel->shape) return true;
    return type->kind == TYPE_TENSOR && type_elements(type) == type_elements(kernel->shape);
}

// The value of input `i`, whose type is that of `x`.
static CudaValue input(CudaEmit *e, size_t i, const Expr *x) {
    const Type *type = x->type;
    CudaValue is = {0};
    if (!e->place.number && cuda_is_whole(e->kernel, type)) {
        is.value = text_format(e->arena, "x%zu", i);
        if (type->nullable) is.valid = text_format(e->arena, "x%zun", i);
        return is;
    }
    Text at = TEXT("row");
    if (type->kind == TYPE_TENSOR) {
        Text element = cuda_element(e->arena, type, &e->place);
        at = text_format(e->arena, "row * %llu + (%.*s)",
                         (unsigned long long)type_elements(type), TEXT_ARG(element));
    }
    e->reads = true;
    is.value = text_format(e->arena, "sb_read(a.x%zu + %.*s)", i, TEXT_ARG(at));
    if (type->nullable) is.valid = text_format(e->arena, "sb_read(a.x%zun + row)", i);
    return declare_all(e, x, is);
}

CudaValue cuda_at_place(CudaEmit *e, CudaColumn column) {
    ExprId id = {column.item.column};
    return input(e, add_input(e, &column), graph_at(e->plan->graph, id));
}

// A column of an earlier step was judged there: its faults are not those of who reads it.
static CudaValue column(CudaEmit *e, uint32_t member, const Expr *x) {
    KernelItem item = plan_kernel_item(e->plan, e->stage, member - 1, x->index);
    if (!item.member) return input(e, cuda_input(e, item.column, x->type), x);
    const Op *op = graph_op_at(e->plan->graph, e->stage->ops[item.member]);
    CudaValue is = cuda_value(e, item.member, op->project.items[item.column].expr);
    is.raise = (Text){0};
    return is;
}

// ---- operators ----------------------------------------------------------------------------------

static Text fill(CudaEmit *e, const char *from, const Expr *x, const CudaValue *args, Text valid) {
    TextBuf buf = {0};
    for (const char *at = from; *at; at++) {
        if (*at != '$') {
            text_buf_char(&buf, *at);
            continue;
        }
        at++;
        if (*at == 'T') text_buf_add(&buf, text_of(cuda_value_type(type_element(x->type))));
        else if (*at == 'n') text_buf_add(&buf, valid);
        else text_buf_add(&buf, args[*at - '0'].value);
    }
    return text_buf_take(&buf, e->arena);
}

static CudaValue by_template(CudaEmit *e, const Expr *x, const CudaValue *args) {
    Template is = cuda_template(x, graph_at(e->plan->graph, x->args[0])->type);
    Text valid = {0};
    for (uint32_t i = 0; i < x->arg_count; i++)
        if (args[i].valid.len)
            valid = valid.len ? format(e, "%.*s & %.*s", valid, args[i].valid) : args[i].valid;
    CudaValue out = {.value = fill(e, is.value, x, args, valid.len ? valid : TEXT("1"))};
    if (x->type->nullable && x->op != EXPR_SOME) out.valid = valid;
    if (is.fault && !x->proven) {
        out.raise = fill(e, is.fault, x, args, valid);
        if (valid.len) out.raise = format(e, "%.*s & (%.*s)", valid, out.raise);
        out.raise = text_format(e->arena, "(%.*s)", TEXT_ARG(out.raise));
    }
    for (uint32_t i = 0; i < x->arg_count; i++)
        out.raise = cuda_either(e, out.raise, args[i].raise);
    return out;
}

// What a division by constants needs: whether all have an inverse, and keep the sign of zero.
static bool find_inverses(const Graph *graph, const Expr *by, bool *signs) {
    bool table = cuda_is_table(graph, by), good = true;
    if (!table && (by->op != EXPR_CONST || by->value.is_null)) return false;
    *signs = true;
    for (uint32_t i = 0; good && i < (table ? cuda_item_count(by) : 1); i++) {
        CudaInverse is = {0};
        good = cuda_inverse((float)(table ? cuda_item_at(graph, by, i) : &by->value)->f, &is);
        *signs &= is.signs;
    }
    return good;
}

bool cuda_divides_by_constants(const Graph *graph, const Expr *x) {
    const Expr *by = x->op == EXPR_DIV ? graph_at(graph, x->args[1]) : nullptr;
    bool signs;
    return by && type_element(x->type)->kind == TYPE_F32 && find_inverses(graph, by, &signs);
}

static Text inverse(CudaEmit *e, const Expr *by, Number part) {
    if (cuda_is_table(e->plan->graph, by)) return table(e, by, part);
    TextBuf buf = {0};
    print_float(&buf, type_base(by->type), number_of(by->value.f, part));
    return text_buf_take(&buf, e->arena);
}

static CudaValue divide(CudaEmit *e, uint32_t member, const Expr *x, const CudaValue *args) {
    const Expr *by = graph_at(e->plan->graph, x->args[1]);
    Text high = inverse(e, by, HIGH), low = inverse(e, by, LOW);
    CudaRange range = cuda_range(e, member, x->args[0]);
    bool far = !(range.least >= 0x1p-70 && range.most <= 0x1p90), signs;
    find_inverses(e->plan->graph, by, &signs);
    CudaValue out = {.valid = args[0].valid, .raise = args[0].raise};
    signs |= !far && !range.minus;
    if (far)
        out.value = text_format(e->arena, "sb_over<way, %d>(%.*s, %.*s, %.*s, %.*s, far)", signs,
                                TEXT_ARG(args[0].value), TEXT_ARG(args[1].value), TEXT_ARG(high),
                                TEXT_ARG(low));
    else
        out.value = text_format(e->arena, "sb_over_near<%d>(%.*s, %.*s, %.*s)", signs,
                                TEXT_ARG(args[0].value), TEXT_ARG(high), TEXT_ARG(low));
    e->has_far |= far;
    return out;
}

static CudaValue call(CudaEmit *e, const Expr *x, const CudaValue *args) {
    TextBuf buf = {0};
    CudaValue out = {0};
    text_buf_format(&buf, "(%s)%.*s(", cuda_value_type(type_element(x->type)),
                    TEXT_ARG(x->fn->symbol));
    for (uint32_t i = 0; i < x->arg_count; i++) {
        text_buf_format(&buf, i ? ", %.*s" : "%.*s", TEXT_ARG(args[i].value));
        out.raise = cuda_either(e, out.raise, args[i].raise);
    }
    text_buf_char(&buf, ')');
    out.value = text_buf_take(&buf, e->arena);
    return out;
}

static Text choose(CudaEmit *e, Text which, Text one, Text other) {
    return text_format(e->arena, "(%.*s ? %.*s : %.*s)", TEXT_ARG(which), TEXT_ARG(one),
                       TEXT_ARG(other));
}

CudaValue cuda_choose(CudaEmit *e, Text which, const CudaValue *one, const CudaValue *other) {
    CudaValue out = {.value = choose(e, which, one->value, other->value)};
    if (one->valid.len || other->valid.len)
        out.valid = choose(e, which, valid_of(one), valid_of(other));
    if (one->raise.len || other->raise.len)
        out.raise = choose(e, which, raise_of(one), raise_of(other));
    return out;
}

// The second argument is judged where the first one is `needs`.
static CudaValue logic(CudaEmit *e, const Expr *x, const CudaValue *args) {
    bool is_and = x->op == EXPR_AND;
    CudaValue out = {.value = format(e, is_and ? "%.*s & %.*s" : "%.*s | %.*s", args[0].value,
                                     args[1].value)};
    Text second = args[1].raise;
    if (second.len)
        second = format(e, is_and ? "(%.*s ? %.*s : 0)" : "(%.*s ? 0 : %.*s)", args[0].value,
                        second);
    out.raise = cuda_either(e, args[0].raise, second);
    return out;
}

static CudaValue in_list(CudaEmit *e, const Expr *x, const CudaValue *args) {
    TextBuf buf = {0};
    text_buf_format(&buf, "%.*s & (0", TEXT_ARG(valid_of(&args[0])));
    for (uint32_t i = 1; i < x->arg_count; i++)
        text_buf_format(&buf, " | (%.*s & (%.*s == %.*s))", TEXT_ARG(valid_of(&args[i])),
                        TEXT_ARG(args[0].value), TEXT_ARG(args[i].value));
    text_buf_char(&buf, ')');
    return (CudaValue){.value = text_buf_take(&buf, e->arena), .raise = args[0].raise};
}

static CudaValue handle(CudaEmit *e, const Expr *x, const CudaValue *args) {
    if (!args[0].raise.len) return args[0];
    if (x->handler != ELSE_VALUE) {
        CudaValue out = args[0];
        out.raise = text_format(e->arena, "(%.*s ? 3 : 0)", TEXT_ARG(args[0].raise));
        return out;
    }
    CudaValue out = cuda_choose(e, args[0].raise, &args[1], &args[0]);
    out.raise = text_format(e->arena, "((%.*s & 2) | (%.*s ? %.*s : 0))", TEXT_ARG(args[0].raise),
                            TEXT_ARG(args[0].raise), TEXT_ARG(raise_of(&args[1])));
    return out;
}

static CudaValue operate(CudaEmit *e, uint32_t member, const Expr *x,
                         const CudaValue *args) {
    switch ((int)x->op) {
    case EXPR_CALL: return call(e, x, args);
    case EXPR_AND: case EXPR_OR: return logic(e, x, args);
    case EXPR_IN: return in_list(e, x, args);
    case EXPR_ELSE: return handle(e, x, args);
    case EXPR_IF: case EXPR_CHOOSE: {
        CudaValue out = cuda_choose(e, args[0].value, &args[1], &args[2]);
        out.raise = cuda_either(e, args[0].raise, out.raise);
        return out;
    }
    case EXPR_COALESCE: {
        CudaValue present = args[0], out;
        present.valid = present.raise = (Text){0};
        out = cuda_choose(e, valid_of(&args[0]), &present, &args[1]);
        out.raise = cuda_either(e, args[0].raise, out.raise);
        return out;
    }
    case EXPR_PRESENT: {
        CudaValue out = args[0];
        if (x->proven) out.valid = (Text){0};
        if (!out.valid.len) return out;
        Text null = text_format(e->arena, "(%.*s ? 0 : 1)", TEXT_ARG(out.valid));
        out.raise = cuda_either(e, args[0].raise, null);
        out.valid = (Text){0};
        return out;
    }
    default:
        if (!e->segment && cuda_divides_by_constants(e->plan->graph, x))
            return divide(e, member, x, args);
        return by_template(e, x, args);
    }
}

static CudaValue compute(CudaEmit *e, uint32_t member, const Expr *x) {
    switch ((int)x->op) {
    case EXPR_CONST: return constant(e, x);
    case EXPR_LIST:
        return cuda_is_table(e->plan->graph, x) ? constant(e, x) : cuda_listed(e, member, x);
    case EXPR_PARAM: return param(e, x);
    case EXPR_COLUMN: return column(e, member, x);
    case EXPR_EXPAND: return cuda_value(e, member, x->args[0]);
    default: break;
    }
    if (cuda_is_layout(x)) return cuda_layout(e, member, x);
    CudaValue *args = arena_new_array(e->arena, CudaValue, x->arg_count + 1);
    for (uint32_t i = 0; i < x->arg_count; i++) args[i] = cuda_value(e, member, x->args[i]);
    return declare_all(e, x, operate(e, member, x, args));
}

CudaValue cuda_value(CudaEmit *e, uint32_t member, ExprId id) {
    for (size_t i = e->node_count; i-- > 0;)
        if (e->nodes[i].member == member && e->nodes[i].place == e->place.number &&
            expr_same(e->nodes[i].id, id))
            return e->nodes[i].is;
    const CudaValue *kept = cuda_kept(e, member, id);
    if (kept) return *kept;
    const Expr *x = graph_at(e->plan->graph, id);
    CudaNode node = {.member = member, .id = id, .place = e->place.number};
    PlanProduct product;
    bool is_product = cuda_is_product(e->plan, e->stage, id, &product);
    if (is_product)
        node.is = cuda_at_place(e, cuda_need_product(e->maker, member, id));
    else if (graph_is_reduction(x)) node.is = cuda_reduced(e, member, id);
    else node.is = compute(e, member, x);
    if (!is_product) e->kernel->work_ns += cost_of_node(e->plan->graph, x);
    arena_push(e->arena, e->nodes, e->node_count, e->node_cap, node);
    cuda_keep(e, &node);
    return node.is;
}
