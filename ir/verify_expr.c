// The verifier of expressions: the rules of ops.def, node by node.
#include "ir/verify.h"

#include <string.h>

typedef struct Check {
    Verifier     *verifier;
    const Expr   *node;
    uint32_t      id;
    const Type  **types;  // Of the arguments.
} Check;

static void want(const Check *check, bool condition, const char *rule) {
    if (condition) return;
    verify_say(check->verifier, "$%u %s: %s", check->id, expr_op_name(check->node->op), rule);
}

static bool is_bool(const Type *type) { return type->kind == TYPE_BOOL && !type->nullable; }

static bool same_base(const Type *a, const Type *b) { return type_base(a) == type_base(b); }

static bool const_fits(const Type *type, const Const *value) {
    if (value->is_null || !type_is_nested(type)) return true;
    if (type->kind == TYPE_STRUCT && value->item_count != type->field_count) return false;
    if (type->kind == TYPE_TENSOR &&
        (type_open_count(type) || value->item_count != type_elements(type)))
        return false;
    for (uint32_t i = 0; i < value->item_count; i++) {
        const Type *item = type_is_sequence(type) ? type->elem : type->fields[i].type;
        if (value->items[i].is_null && !item->nullable) return false;
        if (!const_fits(item, &value->items[i])) return false;
    }
    return true;
}

static void check_leaf(const Check *check) {
    const Expr *node = check->node;
    const Graph *graph = check->verifier->graph;
    if (node->op == EXPR_CONST) {
        want(check, !node->value.is_null || node->type->nullable, "a null of a type without null");
        want(check, const_fits(node->type, &node->value), "the value does not fit the type");
    } else if (node->op == EXPR_PARAM) {
        bool known = node->index < graph->param_count;
        want(check, known && graph->params[node->index].type == node->type, "no such parameter");
    } else if (node->op == EXPR_PLACE) {
        TypeKind kind = node->index == PLACE_SOURCE ? TYPE_STR : TYPE_I64;
        want(check, node->index <= PLACE_OFFSET && node->type->kind == kind, "no such place");
    } else if (node->op == EXPR_RAW) {
        want(check, node->type->kind == TYPE_STR, "a spelling is a str");
    }
}

static void check_arithmetic(const Check *check) {
    const Expr *node = check->node;
    want(check, !type_is_half(node->type), "16 bits are computed with as f32");
    bool plain = type_is_integer(node->type) || type_is_float(node->type);
    for (uint32_t i = 0; i < node->arg_count; i++) {
        want(check, !check->types[i]->nullable, "an operand may be null");
        bool counted = type_is_integer(check->types[i]) || type_is_float(check->types[i]);
        if (plain && counted) want(check, check->types[i] == node->type, "operands differ in type");
    }
    if (node->op == EXPR_DIV)
        want(check, type_is_float(node->type) && check->types[0] == node->type &&
             check->types[1] == node->type, "operands are no floats of one type");
}

static void check_logic(const Check *check) {
    want(check, is_bool(check->node->type), "the result is no bool");
    for (uint32_t i = 0; i < check->node->arg_count; i++)
        want(check, is_bool(check->types[i]), "an operand is no bool");
}

static void check_compare(const Check *check) {
    want(check, is_bool(check->node->type), "the result is no bool");
    want(check, check->node->arg_count > 0, "it has no operand");
    for (uint32_t i = 1; i < check->node->arg_count; i++)
        want(check, same_base(check->types[0], check->types[i]), "operands differ in type");
}

static void check_choice(const Check *check) {
    const Expr *node = check->node;
    if (node->op == EXPR_IF) {
        want(check, is_bool(check->types[0]), "the condition is no bool");
        want(check, check->types[1] == node->type && check->types[2] == node->type,
             "a branch has another type");
    } else if (node->op == EXPR_COALESCE) {
        want(check, same_base(check->types[0], check->types[1]) && check->types[1] == node->type,
             "the sides differ in type");
    } else if (node->op == EXPR_ELSE) {
        uint32_t count = node->handler == ELSE_VALUE ? 2 : 1;
        want(check, node->arg_count == count, "arguments do not fit the handler");
        for (uint32_t i = 0; i < node->arg_count; i++)
            want(check, same_base(check->types[i], node->type), "it has another type");
    }
}

static void check_convert(const Check *check) {
    const Expr *node = check->node;
    if (node->op == EXPR_SOME) {
        want(check, node->type->nullable && type_base(node->type) == check->types[0],
             "it is not the argument's type with null");
        return;
    }
    if (node->op == EXPR_PRESENT) {
        want(check, check->types[0]->nullable && type_base(check->types[0]) == node->type,
             "it is not the argument's type without null");
        return;
    }
    want(check, node->type->nullable == check->types[0]->nullable, "null appears or is lost");
    if (node->op == EXPR_TO_F64) want(check, node->type->kind == TYPE_F64, "the result is no f64");
    if (node->op == EXPR_ROUND) {
        const Type *from = type_base(check->types[0]), *to = type_base(node->type);
        want(check, type_is_float(from) && type_is_float(to) && type_bits(to) < type_bits(from),
             "it is no narrower float");
    }
}

static void check_struct(const Check *check) {
    const Expr *node = check->node;
    const Type *type = type_base(node->type);
    bool fits = type->kind == TYPE_STRUCT && type->field_count == node->arg_count;
    want(check, fits, "arguments are not the fields of the type");
    for (uint32_t i = 0; fits && i < node->arg_count; i++)
        want(check, check->types[i] == type->fields[i].type, "a field has another type");
}

static void check_nested(const Check *check) {
    const Expr *node = check->node;
    const Type *first = node->arg_count ? type_base(check->types[0]) : nullptr;
    if (node->op == EXPR_STRUCT) {
        check_struct(check);
    } else if (node->op == EXPR_FIELD) {
        bool known = first->kind == TYPE_STRUCT && node->index < first->field_count;
        want(check, known, "the argument has no such field");
        if (known)
            want(check, same_base(first->fields[node->index].type, node->type),
                 "it has another type");
    } else if (node->op == EXPR_LIST) {
        bool list = type_is_sequence(node->type), tensor = node->type->kind == TYPE_TENSOR;
        want(check, list, "the type is no list");
        want(check, !tensor || (!type_open_count(node->type) &&
                                type_elements(node->type) == node->arg_count),
             "the elements are not as many as the shape has");
        for (uint32_t i = 0; list && i < node->arg_count; i++)
            want(check, check->types[i] == node->type->elem, "an element has another type");
    } else if (node->op == EXPR_INDEX) {
        TypeTable *types = check->verifier->graph->types;
        const Type *part = first->kind == TYPE_TENSOR ? type_tensor_part(types, first)
                           : first->kind == TYPE_LIST ? first->elem
                                                      : nullptr;
        want(check, part && same_base(part, node->type), "the argument is no list of the type");
        want(check, type_is_integer(check->types[1]), "the index is no integer");
    }
}

// Each operand is a tensor that broadcasts to the node's shape, or a number.
static void check_elements(const Check *check) {
    const Expr *node = check->node;
    bool arithmetic = node->op >= EXPR_NEG && node->op <= EXPR_MOD;
    bool comparison = node->op >= EXPR_EQ && node->op <= EXPR_GE;
    const Type *elem = arithmetic ? node->type->elem : type_element(check->types[0]);
    bool tensor = false;
    bool like = node->op == EXPR_EXPAND && node->arg_count == 2;
    if (like)
        want(check, check->types[1]->kind == TYPE_TENSOR &&
                        check->types[1]->rank == node->type->rank,
             "what has the open dimensions has another rank");
    for (uint32_t i = 0; i < node->arg_count - like; i++) {
        const Type *type = check->types[i];
        uint32_t shape[TENSOR_RANK_MAX], wrong;
        want(check, type_is_element(type_element(type)), "an operand is no number");
        if (node->op == EXPR_CHOOSE)
            want(check, type_element(type) == (i ? node->type->elem : elem) &&
                            elem->kind == TYPE_BOOL,
                 "the mask is no bool, or operands differ in type");
        if (node->op == EXPR_EXPAND)
            want(check, type_element(type) == node->type->elem, "it has another element type");
        if (arithmetic || comparison)
            want(check, type_element(type) == elem, "operands differ in type");
        if (type->kind != TYPE_TENSOR) continue;
        tensor = true;
        uint32_t rank = type_broadcast(node->type, type, shape, &wrong);
        want(check, rank == node->type->rank &&
                        memcmp(shape, node->type->shape, sizeof *shape * rank) == 0,
             "an operand does not broadcast to its shape");
    }
    want(check, tensor || node->op == EXPR_EXPAND, "no operand is a tensor");
    if (comparison) want(check, node->type->elem->kind == TYPE_BOOL, "its elements are no bool");
}

// The constant that argument `i` is, if it is below `end`. False: said.
static bool place_below(const Check *check, uint32_t i, uint32_t end, uint32_t *place) {
    const Expr *arg = graph_at(check->verifier->graph, check->node->args[i]);
    bool good = arg->op == EXPR_CONST && arg->type->kind == TYPE_I64 && arg->value.i >= 0 &&
                arg->value.i < end;
    want(check, good, "a dimension or place is no constant, or there is none such");
    *place = good ? (uint32_t)arg->value.i : 0;
    return good;
}

static void check_reduction(const Check *check, const Type *x) {
    const Expr *node = check->node;
    TypeTable *types = check->verifier->graph->types;
    uint32_t axis;
    if (!place_below(check, 1, x->rank, &axis)) return;
    const Type *elem = type_element(node->type), *own = x->elem;
    bool places = node->op == EXPR_REDUCE_ARGMIN || node->op == EXPR_REDUCE_ARGMAX;
    bool bools = node->op == EXPR_REDUCE_ANY || node->op == EXPR_REDUCE_ALL;
    if (places) want(check, elem->kind == TYPE_I64, "a place is no i64");
    else if (node->op == EXPR_REDUCE_SUM && type_is_integer(own))
        want(check, type_is_integer(elem) && type_bits(elem) == 64 &&
                        type_is_signed(elem) == type_is_signed(own),
             "the sum of integers has no 64 bits");
    else want(check, elem == own, "it has another element type");
    if (bools) want(check, own->kind == TYPE_BOOL, "its elements are no bool");
    if (node->op == EXPR_REDUCE_PROD) want(check, type_is_float(own), "its elements are no floats");
    const Type *rest = type_without_axis(types, x, axis);
    bool same = rest->kind != TYPE_TENSOR
                    ? node->type == elem
                    : node->type == type_tensor_like(types, elem, rest);
    want(check, same, "it has another shape");
}

static void check_permute(const Check *check, const Type *x) {
    uint32_t order[TENSOR_RANK_MAX], seen = 0;
    if (check->node->arg_count != x->rank + 1) {
        want(check, false, "it names more or fewer dimensions than there are");
        return;
    }
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!place_below(check, i + 1, x->rank, &order[i])) return;
        seen |= 1u << order[i];
    }
    want(check, seen == (1u << x->rank) - 1, "it names a dimension twice");
    if (seen != (1u << x->rank) - 1) return;
    want(check, check->node->type == type_permuted(check->verifier->graph->types, x, order),
         "it has another shape");
}

static uint32_t most_parts(const Type *x, uint32_t axis) {
    return dimension_is_open(x->shape[axis]) ? TENSOR_BYTES_MAX : x->shape[axis];
}

static void check_slice(const Check *check, const Type *x) {
    const Type *type = check->node->type;
    uint32_t axis, from;
    if (!place_below(check, 1, x->rank, &axis) ||
        !place_below(check, 2, most_parts(x, axis), &from) || type->kind != TYPE_TENSOR ||
        type->rank != x->rank)
        return want(check, type->kind == TYPE_TENSOR && type->rank == x->rank,
                    "it has another rank");
    want(check, !dimension_is_open(type->shape[axis]) &&
                    type->shape[axis] <= most_parts(x, axis) - from, "it goes beyond the end");
    want(check, type == type_resized(check->verifier->graph->types, x, axis, type->shape[axis]),
         "it has another shape");
}

static void check_append(const Check *check) {
    const Type *type = check->node->type;
    uint32_t axis;
    uint64_t size = 0;
    bool open = false;
    if (type->kind != TYPE_TENSOR || !place_below(check, 0, type->rank, &axis))
        return want(check, false, "it is no tensor");
    for (uint32_t i = 1; i < check->node->arg_count; i++) {
        const Type *part = check->types[i];
        bool fits = part->kind == TYPE_TENSOR && part->rank == type->rank;
        if (fits) size += part->shape[axis];
        if (fits) open |= dimension_is_open(part->shape[axis]);
        fits = fits && type_may_be(type_resized(check->verifier->graph->types, part, axis,
                                                type->shape[axis]), type);
        want(check, fits, "a part has another shape or type");
    }
    bool whole = open ? dimension_is_open(type->shape[axis]) : size == type->shape[axis];
    want(check, whole, "the parts are not as long as the whole");
}

static void check_reshape(const Check *check, const Type *x) {
    const Expr *node = check->node;
    const Type *type = node->type;
    if (type->kind != TYPE_TENSOR || type->elem != x->elem)
        return want(check, false, "it has other elements");
    uint32_t open = type_open_count(type), own = type_open_count(x);
    for (uint32_t i = 1; i < node->arg_count; i++)
        want(check, check->types[i]->kind == TYPE_I64, "a size is no i64");
    if (node->arg_count > 1) want(check, node->arg_count == open + 1, "it has other sizes");
    else if (!open && !own)
        want(check, type_elements(type) == type_elements(x), "it has other elements");
    else want(check, open < 2 || open == own, "its sizes are not known");
}

static void check_agree(const Check *check, const Type *x) {
    const Expr *node = check->node;
    bool others = node->arg_count == 2 && node->type == x && check->types[1]->kind == TYPE_TENSOR;
    bool as = type_may_be(x, node->type) || type_list_may_be(x, node->type);
    want(check, others || (node->arg_count == 1 && as),
         "it has another type");
}

// What takes a whole tensor, and dimensions of it that are constants.
static void check_whole(const Check *check) {
    const Expr *node = check->node;
    const Type *x = node->arg_count ? check->types[0] : nullptr;
    uint32_t axis;
    if (node->op == EXPR_APPEND) return check_append(check);
    if (x && node->op == EXPR_AGREE) return check_agree(check, x);
    if (!x || x->kind != TYPE_TENSOR || x->nullable)
        return want(check, false, "its first argument is no tensor");
    if (graph_is_reduction(node)) check_reduction(check, x);
    else if (node->op == EXPR_PERMUTE) check_permute(check, x);
    else if (node->op == EXPR_SLICE) check_slice(check, x);
    else if (node->op == EXPR_RESHAPE) check_reshape(check, x);
    else if (node->op == EXPR_SIZE && place_below(check, 1, x->rank, &axis))
        want(check, node->type->kind == TYPE_I64 && !node->type->nullable, "it is no i64");
    else if (node->op == EXPR_GATHER && place_below(check, 1, x->rank, &axis)) {
        const Type *index = check->types[2];
        bool good = index->kind == TYPE_TENSOR && index->elem->kind == TYPE_I64;
        want(check, good && node->type == type_gathered(check->verifier->graph->types, x, axis,
                                                        index),
             "it has another shape, or places are no i64");
    } else want(check, node->op == EXPR_GATHER || node->op == EXPR_SIZE, "its type is no tensor");
}

static void check_texts(const Check *check) {
    want(check, type_base(check->node->type)->kind == TYPE_STR, "the result is no str");
    for (uint32_t i = 0; check->node->op == EXPR_CONCAT && i < check->node->arg_count; i++)
        want(check, type_base(check->types[i])->kind == TYPE_STR, "an operand is no str");
}

// ---- lambdas ----

// The type of local `number` of the node, which is one of its own.
static const Type *local_type(const Check *check, uint32_t number) {
    bool value = check->node->op == EXPR_LIST_REDUCE && number == check->node->index;
    return value ? check->node->type : check->types[0]->elem;
}

// Does local `number` stand below `root` where no lambda below `root` binds it?
static bool is_free(Verifier *verifier, ExprId root, uint32_t number) {
    Walk *walk = &verifier->free;
    walk_start(walk);
    walk_add(walk, root);
    while (walk->count) {
        const Expr *node = graph_at(verifier->graph, (ExprId){walk->stack[--walk->count]});
        if (node->op == EXPR_LOCAL && node->index == number) return true;
        bool binds = expr_has_lambda(node) && number >= node->index &&
                     number < node->index + expr_local_count(node);
        for (uint32_t i = 0; i + binds < node->arg_count; i++) walk_add(walk, node->args[i]);
    }
    return false;
}

// Locals that the lambda binds have their types. What else is free in it has smaller numbers
// (Expr.outermost relies on that).
static void check_locals(const Check *check) {
    Verifier *verifier = check->verifier;
    const Expr *node = check->node;
    uint32_t end = node->index + expr_local_count(node);
    walk_start(&verifier->lambda);
    walk_add(&verifier->lambda, expr_lambda(node));
    for (ExprId id; walk_next(&verifier->lambda, &id);) {
        const Expr *inner = graph_at(verifier->graph, id);
        if (inner->op != EXPR_LOCAL || inner->index < node->index) continue;
        if (inner->index < end)
            want(check, inner->type == local_type(check, inner->index), "a local has another type");
        else
            want(check, !is_free(verifier, expr_lambda(node), inner->index),
                 "a lambda around it has a greater number");
    }
}

static void check_list_lambda(const Check *check) {
    const Expr *node = check->node;
    const Type *list = check->types[0], *result = check->types[node->arg_count - 1];
    bool is_list = list->kind == TYPE_LIST && !list->nullable;
    want(check, is_list, "its first argument is no list");
    if (!is_list) return;
    bool judges = node->op != EXPR_LIST_MAP && node->op != EXPR_LIST_REDUCE;
    if (judges) want(check, is_bool(result), "the result of the lambda is no bool");
    if (node->op == EXPR_LIST_MAP)
        want(check, node->type->kind == TYPE_LIST && node->type->elem == result,
             "it is no list of what the lambda gives");
    else if (node->op == EXPR_LIST_FILTER)
        want(check, node->type == list, "it has another type than its list");
    else if (node->op == EXPR_LIST_REDUCE)
        want(check, node->type == result && node->type == check->types[1],
             "start and result of the lambda have other types");
    else want(check, is_bool(node->type), "the result is no bool");
    check_locals(check);
}

static void check_call(const Check *check) {
    const FnRef *fn = check->node->fn;
    want(check, fn != nullptr, "it calls nothing");
    for (uint32_t i = 0; fn && fn->zones >> i; i++) {
        bool number = i < check->node->arg_count && check->types[i]->kind == TYPE_I64;
        want(check, !(fn->zones >> i & 1) || number, "the number of a zone is no i64");
    }
}

static void check_types(const Check *check) {
    if (graph_is_elementwise(check->node)) {
        check_elements(check);
        return;
    }
    switch (check->node->op) {
    case EXPR_CONST: case EXPR_PARAM: case EXPR_COLUMN: case EXPR_RAW: case EXPR_PLACE:
    case EXPR_REGEX: case EXPR_ZONE:
        check_leaf(check);
        break;
    case EXPR_NEG: case EXPR_ADD: case EXPR_SUB: case EXPR_MUL: case EXPR_DIV: case EXPR_IDIV:
    case EXPR_MOD:
        check_arithmetic(check);
        break;
    case EXPR_EQ:
    case EXPR_NE:
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_GT:
    case EXPR_GE:
    case EXPR_IN: check_compare(check); break;
    case EXPR_NOT: case EXPR_AND: case EXPR_OR: check_logic(check); break;
    case EXPR_IS_NULL: want(check, is_bool(check->node->type), "the result is no bool"); break;
    case EXPR_COALESCE: case EXPR_IF: case EXPR_ELSE: check_choice(check); break;
    case EXPR_SOME: case EXPR_PRESENT: case EXPR_CAST: case EXPR_WIDEN: case EXPR_TO_F64:
    case EXPR_ROUND:
        check_convert(check); break;
    case EXPR_CALL: check_call(check); break;
    case EXPR_CONCAT: case EXPR_TEXT: check_texts(check); break;
    case EXPR_STRUCT: case EXPR_FIELD: case EXPR_LIST: case EXPR_INDEX: check_nested(check); break;
    case EXPR_EXPAND: case EXPR_CHOOSE: case EXPR_SIZE: case EXPR_AGREE:
    case EXPR_RESHAPE: case EXPR_PERMUTE: case EXPR_SLICE:
    case EXPR_APPEND: case EXPR_GATHER: case EXPR_REDUCE_SUM: case EXPR_REDUCE_PROD:
    case EXPR_REDUCE_MIN: case EXPR_REDUCE_MAX: case EXPR_REDUCE_ANY: case EXPR_REDUCE_ALL:
    case EXPR_REDUCE_ARGMIN: case EXPR_REDUCE_ARGMAX:
        check_whole(check);
        break;
    case EXPR_LOCAL: break;  // Its lambda is held against it.
    case EXPR_LIST_MAP: case EXPR_LIST_FILTER: case EXPR_LIST_ANY: case EXPR_LIST_ALL:
    case EXPR_LIST_REDUCE:
        check_list_lambda(check);
        break;
    }
}

void verify_node(Verifier *verifier, ExprId id) {
    const Expr *node = graph_at(verifier->graph, id);
    Check check = {.verifier = verifier, .node = node, .id = id.i};
    int arity = expr_op_arity(node->op);
    bool good = (arity < 0 || (uint32_t)arity == node->arg_count) && node->type &&
                node->type->kind != TYPE_ERROR;
    want(&check, good, "it has no type, or not as many arguments as it takes");
    for (uint32_t i = 0; good && i < node->arg_count; i++) {
        good = node->args[i].i < id.i;
        want(&check, good, "an argument does not come before it");
    }
    if (!good) return;
    check.types = arena_new_array(verifier->graph->arena, const Type *, node->arg_count);
    for (uint32_t i = 0; i < node->arg_count; i++)
        check.types[i] = graph_at(verifier->graph, node->args[i])->type;
    check_types(&check);
}

// The operator whose columns an expression of the scope names, or null.
static const Op *columns_of(const Verifier *verifier, ColumnScope scope, uint32_t input) {
    const Op *op = verifier->op;
    switch (scope) {
    case SCOPE_PARAMS: return nullptr;
    case SCOPE_OWN: return input == 0 ? op : nullptr;
    case SCOPE_INPUT: return input == 0 ? graph_op_at(verifier->graph, op->inputs[0]) : nullptr;
    case SCOPE_PAIR: return input < 2 ? graph_op_at(verifier->graph, op->inputs[input]) : nullptr;
    case SCOPE_RIGHT: return input == 1 ? graph_op_at(verifier->graph, op->inputs[1]) : nullptr;
    }
    return nullptr;
}

// A function over batches takes columns, in the only such call of a project.
static void verify_batch(Verifier *verifier, ExprId id) {
    const Expr *node = graph_at(verifier->graph, id);
    bool good = verifier->op && verifier->op->kind == OP_PROJECT &&
                op_batch_call(verifier->graph, verifier->op, nullptr) == node &&
                node->fn->param_count == node->arg_count;
    for (uint32_t i = 0; i < node->arg_count; i++)
        good &= graph_at(verifier->graph, node->args[i])->op == EXPR_COLUMN;
    if (!good) verify_say(verifier, "$%u call: a batch function takes columns in a project", id.i);
}

// What the place asks of a column.
static void verify_column(Verifier *verifier, ExprId id, ColumnScope scope) {
    const Expr *node = graph_at(verifier->graph, id);
    const Op *from = columns_of(verifier, scope, node->input);
    bool good = from && node->index < from->column_count;
    if (good && node->op == EXPR_COLUMN) good = from->columns[node->index].type == node->type;
    if (!good)
        verify_say(verifier, "$%u %s %u.%u: no such column of that type", id.i,
                   expr_op_name(node->op), node->input, node->index);
}

void verify_expr(Verifier *verifier, ExprId root, ColumnScope scope) {
    if (root.i >= verifier->graph->expr_count) {
        verify_say(verifier, "$%u does not exist", root.i);
        return;
    }
    // Most places only hand a column on.
    if (verifier->checked[root.i] && graph_at(verifier->graph, root)->op == EXPR_COLUMN) {
        verify_column(verifier, root, scope);
        return;
    }
    walk_start(&verifier->walk);
    walk_add(&verifier->walk, root);
    for (ExprId id; walk_next(&verifier->walk, &id);) {
        const Expr *node = graph_at(verifier->graph, id);
        if (!verifier->checked[id.i]) verify_node(verifier, id);
        verifier->checked[id.i] = true;
        if (node->op == EXPR_LOCAL && is_free(verifier, root, node->index))
            verify_say(verifier, "$%u local %u: no lambda around it binds it", id.i, node->index);
        if (node->op == EXPR_PLACE && scope == SCOPE_PARAMS)
            verify_say(verifier, "$%u place: there is no row here", id.i);
        if (node->op == EXPR_CALL && node->fn && node->fn->traits & FN_BATCH)
            verify_batch(verifier, id);
        if (node->op == EXPR_COLUMN || node->op == EXPR_RAW) verify_column(verifier, id, scope);
    }
}
