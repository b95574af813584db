// Kernels that fill groups: what a row adds to them, and what a block does before and after its
// rows.
//
//   judge filters and what may fault ─▶ bad: the CPU judges the row
//       └─ a filter takes it out ─▶ a number of the lane
//       └─ key, words ─▶ words of the lane ─▶ after all rows: the table
//
// Without keys the words are registers. Else each lane has words in shared memory for the first
// groups that its block meets: no lane waits for another one.
#include "codegen/cuda/render.h"

enum {
    GROUP_LANES = 128,    // Of a block with keys: fewer have room for more groups.
    OWN_WORDS = 26,       // Of each lane in shared memory: loads under way need the rest of it.
    HOT_MAX = 8,
    TABLE_WORDS = 4096,
    SLOTS_MAX = 1024,
    KEY_BITS = 63,
    SLOT_WORDS = 2,       // The key and the first row.
};

typedef struct Words {
    Text *items;          // What a row adds: of each word.
    size_t count, cap;
} Words;

static const Breaker *breaker_of(const CudaEmit *e) {
    return &e->plan->breakers[e->stage->terminals[0].index];
}

static void say(CudaEmit *e, const char *text, Text value) {
    text_buf_format(&e->body, text, TEXT_ARG(value));
}

static void judge(CudaEmit *e, Text raise) {
    if (raise.len) say(e, "    bad |= on & (%.*s != 0);\n", raise);
}

// ---- steps --------------------------------------------------------------------------------------

static void filter(CudaEmit *e, uint32_t member, const Op *op, uint32_t number) {
    CudaValue is = cuda_value(e, member, op->filter.pred);
    judge(e, is.raise);
    text_buf_format(&e->body, "    g.heads[%u] += on & !bad & !%.*s;\n", number,
                    TEXT_ARG(is.value));
    say(e, "    on &= %.*s;\n", is.value);
}

static void project(CudaEmit *e, uint32_t member, const Op *op) {
    const Graph *graph = e->plan->graph;
    for (uint32_t i = 0; i < op->project.count; i++) {
        ExprId id = op->project.items[i].expr;
        if (e->plan->usage.columns[op->id.i][i] && graph_faults(graph, id))
            judge(e, cuda_value(e, member, id).raise);
    }
}

// Returns how many filters there are.
static uint32_t steps(CudaEmit *e) {
    uint32_t filters = 0;
    text_buf_add(&e->body, TEXT("    u8 on = 1, bad = 0;\n"));
    for (uint32_t m = 1; m < e->stage->kernels.op_count; m++) {
        const Op *op = graph_op_at(e->plan->graph, e->stage->ops[m]);
        if (op->kind == OP_FILTER) filter(e, m, op, filters++);
        if (op->kind == OP_PROJECT) project(e, m, op);
    }
    return filters;
}

// ---- keys ---------------------------------------------------------------------------------------

// How many bits each key has. Where all of their types have too many, rows whose keys need more
// than there are go to the CPU.
static CudaKeyPart *key_parts_of(const CudaEmit *e) {
    const Breaker *breaker = breaker_of(e);
    CudaKeyPart *parts = arena_new_array(e->arena, CudaKeyPart, breaker->key_count + 1);
    uint32_t all = 0;
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        const Type *type = breaker->slots[k].type;
        parts[k] = (CudaKeyPart){type, plan_kernel_bits(type) + type->nullable};
        all += parts[k].bits;
    }
    for (; all > KEY_BITS; all--) {
        uint32_t widest = 0;
        for (uint32_t k = 1; k < breaker->key_count; k++)
            if (parts[k].bits > parts[widest].bits) widest = k;
        parts[widest].bits--;
    }
    return parts;
}

// Does the value fit so many bits? Empty: it always does.
static Text fits(CudaEmit *e, const Type *type, uint32_t bits, Text value) {
    if (bits >= plan_kernel_bits(type)) return (Text){0};
    if (!type_is_signed(type_base(type)))
        return text_format(e->arena, "(%.*s >> %u) == 0", TEXT_ARG(value), bits);
    return text_format(e->arena, "((%.*s >> %u) + 1 & ~1ll) == 0", TEXT_ARG(value), bits - 1);
}

static void add_key(CudaEmit *e, const CudaKeyPart *part, ExprId id) {
    const uint32_t own = part->type->nullable, bits = part->bits - own;
    CudaValue is = cuda_value(e, e->stage->op_count, id);
    Text valid = is.valid.len ? is.valid : TEXT("1");
    judge(e, is.raise);
    Text fit = fits(e, part->type, bits, is.value);
    if (fit.len)
        text_buf_format(&e->body, "    bad |= on & %.*s & !(%.*s);\n", TEXT_ARG(valid),
                        TEXT_ARG(fit));
    text_buf_format(&e->body, "    key = key << %u | (", part->bits);
    if (own) text_buf_format(&e->body, "!%.*s ? 0 : 1 | ", TEXT_ARG(valid));
    text_buf_format(&e->body, "((u64)%.*s & 0x%llxull) << %u);\n", TEXT_ARG(is.value),
                    (1ull << bits) - 1, own);
}

static void keys(CudaEmit *e, CudaGroups *groups) {
    const Breaker *breaker = breaker_of(e);
    groups->parts = key_parts_of(e);
    if (!breaker->key_count) return;
    text_buf_add(&e->body, TEXT("    u64 key = 1;\n"));
    for (uint32_t k = 0; k < breaker->key_count; k++)
        add_key(e, &groups->parts[k], breaker->keys[k]);
}

// ---- aggregates ---------------------------------------------------------------------------------

// The word that rows add `value` to where the condition holds. Equal ones are one.
static uint32_t word(CudaEmit *e, CudaGroups *groups, Words *words, Text when, Text value,
                     bool greatest) {
    Text item = when.len ? text_format(e->arena, "%.*s ? %.*s : 0ull", TEXT_ARG(when),
                                       TEXT_ARG(value))
                         : value;
    for (uint32_t i = 0; i < words->count; i++)
        if (text_eq(words->items[i], item) && (groups->greatest >> i & 1) == greatest) return i;
    arena_push(e->arena, words->items, words->count, words->cap, item);
    uint32_t i = (uint32_t)words->count - 1;
    groups->greatest |= (uint64_t)greatest << i;
    return i;
}

static Text both(CudaEmit *e, Text a, Text b) {
    if (!a.len) return b;
    return b.len ? text_format(e->arena, "(%.*s & %.*s)", TEXT_ARG(a), TEXT_ARG(b)) : a;
}

// A number of 64 bits that orders as the value does.
static Text ordered(CudaEmit *e, const Type *type, Text value) {
    bool is_signed = type_is_signed(type_base(type));
    return text_format(e->arena, is_signed ? "((u64)(i64)%.*s ^ 1ull << 63)" : "(u64)%.*s",
                       TEXT_ARG(value));
}

// A number that is too large to be added as often as a block has rows is left to the CPU. None of
// 32 bits is.
static void judge_size(CudaEmit *e, const Expr *x, Text when, Text value) {
    const Type *from = x->op == EXPR_WIDEN ? graph_at(e->plan->graph, x->args[0])->type : x->type;
    if (type_size(type_base(from)) <= sizeof(uint32_t)) return;
    const char *most = type_is_signed(type_base(x->type)) ? "+ (u64)g.most > 2 *" : ">";
    text_buf_format(&e->body, "    bad |= on & %.*s & ((u64)%.*s %s (u64)g.most);\n",
                    TEXT_ARG(when.len ? when : TEXT("1")), TEXT_ARG(value), most);
}

static CudaGroupAgg aggregate(CudaEmit *e, CudaGroups *groups, Words *words, const Agg *agg) {
    const uint32_t member = e->stage->op_count;
    CudaGroupAgg out = {.kind = plan_kernel_agg(agg)};
    CudaValue is = {0};
    Text when = {0};
    if (!expr_is_none(agg->where)) {
        CudaValue where = cuda_value(e, member, agg->where);
        judge(e, where.raise);
        when = both(e, where.value, where.valid);
    }
    if (agg->arg_count) {
        is = cuda_value(e, member, agg->args[0]);
        if (is.raise.len && when.len)
            judge(e, text_format(e->arena, "(%.*s ? %.*s : 0)", TEXT_ARG(when),
                                 TEXT_ARG(is.raise)));
        else judge(e, is.raise);
        when = both(e, when, is.valid);
    }
    const Expr *x = agg->arg_count ? graph_at(e->plan->graph, agg->args[0]) : nullptr;
    Text sum = text_format(e->arena, "(u64)(i64)%.*s", TEXT_ARG(is.value));
    switch (out.kind) {
    case KERNEL_NO_AGG: case KERNEL_COUNT: break;
    case KERNEL_SUM:
        judge_size(e, x, when, is.value);
        out.value = word(e, groups, words, when, sum, false);
        groups->wide |= 1ull << out.value;
        break;
    case KERNEL_LEAST: case KERNEL_GREATEST: {
        Text order = ordered(e, x->type, is.value);
        if (out.kind == KERNEL_LEAST) order = text_format(e->arena, "~%.*s", TEXT_ARG(order));
        out.value = word(e, groups, words, when, order, true);
        break;
    }
    case KERNEL_BOOLS:
        out.value = word(e, groups, words, both(e, when, is.value), TEXT("1ull"), false);
        when = both(e, when, text_format(e->arena, "!%.*s", TEXT_ARG(is.value)));
        break;
    }
    out.count = word(e, groups, words, when, TEXT("1ull"), false);
    return out;
}

// Where the upper half of a sum is among the words of a slot.
static uint32_t beyond(const CudaGroups *groups, uint32_t word) {
    uint64_t before = groups->wide & ((1ull << word) - 1);
    return groups->words + (uint32_t)__builtin_popcountll(before);
}

static Words aggregates(CudaEmit *e, CudaGroups *groups) {
    const Breaker *breaker = breaker_of(e);
    const Op *op = graph_op_at(e->plan->graph, breaker->op);
    Words words = {0};
    groups->aggs = arena_new_array(e->arena, CudaGroupAgg, op->group.agg_count + 1);
    for (uint32_t i = 0; i < op->group.agg_count; i++)
        if (plan_owns_state(breaker, i))
            groups->aggs[i] = aggregate(e, groups, &words, &op->group.aggs[i]);
    groups->words = (uint32_t)words.count;
    for (uint32_t i = 0; i < op->group.agg_count; i++)
        if (groups->aggs[i].kind == KERNEL_SUM)
            groups->aggs[i].beyond = beyond(groups, groups->aggs[i].value);
    groups->stride = SLOT_WORDS + groups->words + (uint32_t)__builtin_popcountll(groups->wide);
    return words;
}

// ---- a row --------------------------------------------------------------------------------------

// "own[3 * 128] += w3;"
static void add_own(CudaEmit *e, const CudaGroups *groups, uint32_t i, Text at) {
    bool greatest = groups->greatest >> i & 1;
    if (greatest)
        text_buf_format(&e->body, "%.*s = sb_most(%.*s, w%u);\n", TEXT_ARG(at), TEXT_ARG(at), i);
    else text_buf_format(&e->body, "%.*s += w%u;\n", TEXT_ARG(at), i);
}

static void add_to_registers(CudaEmit *e, const CudaGroups *groups) {
    text_buf_add(&e->body, TEXT("        if (!g.first) g.first = ~(u64)row;\n"));
    for (uint32_t i = 0; i < groups->words; i++) {
        text_buf_add(&e->body, TEXT("        "));
        add_own(e, groups, i, text_format(e->arena, "g.words[%u]", i));
    }
}

static void add_to_group(CudaEmit *e, const CudaGroups *groups) {
    TextBuf *buf = &e->body;
    const uint32_t words = groups->words;
    text_buf_format(buf, "        const int at = sb_hot<%u, %u, %u>"
                         "(g.keys, a.groups + %u, key);\n"
                         "        if (at < 0) bad = 1;\n        else if (at < %u) {\n"
                         "            u64 *own = g.own + at * %u;\n"
                         "            if (~(u64)row > sb_now(g.firsts + at))\n"
                         "                atomicMax(g.firsts + at, ~(u64)row);\n",
                    groups->hot, groups->slots, groups->stride, groups->heads, groups->hot,
                    words * groups->lanes);
    for (uint32_t i = 0; i < words; i++) {
        text_buf_add(buf, TEXT("            "));
        add_own(e, groups, i, text_format(e->arena, "own[%u]", i * groups->lanes));
    }
    text_buf_format(buf, "        } else {\n"
                         "            u64 *slot = a.groups + %u + (at - %u) * %u;\n"
                         "            atomicMax(slot + SB_GROUP_FIRST, ~(u64)row);\n",
                    groups->heads, groups->hot, groups->stride);
    for (uint32_t i = 0; i < words; i++)
        text_buf_format(buf, "            " CUDA_NAME "_words::into(slot, %u, w%u);\n", i, i);
    text_buf_add(buf, TEXT("        }\n"));
}

void cuda_compute_groups(CudaEmit *e) {
    CudaGroups *groups = arena_new_of(e->arena, CudaGroups);
    const Breaker *breaker = breaker_of(e);
    *groups = (CudaGroups){.op = breaker->op, .slots = 1, .lanes = SB_KERNEL_LANES};
    e->kernel->groups = groups;
    groups->heads = steps(e) + 1;
    keys(e, groups);
    Words words = aggregates(e, groups);
    if (breaker->key_count) {
        uint32_t hot = (OWN_WORDS - groups->heads) / (groups->words ? groups->words : 1);
        groups->lanes = GROUP_LANES;
        groups->hot = hot < HOT_MAX ? hot : HOT_MAX;
        while (groups->slots < SLOTS_MAX &&
               2 * groups->slots * groups->stride <= TABLE_WORDS)
            groups->slots *= 2;
    }
    for (uint32_t i = 0; i < words.count; i++)
        text_buf_format(&e->body, "    const u64 w%u = %.*s;\n", i, TEXT_ARG(words.items[i]));
    text_buf_add(&e->body, TEXT("    if (on & !bad) {\n"));
    if (breaker->key_count) add_to_group(e, groups);
    else add_to_registers(e, groups);
    text_buf_format(&e->body, "        g.heads[%u] += !bad;\n    }\n", groups->heads - 1);
}

// ---- a block ------------------------------------------------------------------------------------

static bool has_keys(const CudaKernel *kernel) { return kernel->groups->hot > 0; }

static void print_agg(const CudaEmit *e, TextBuf *buf, uint32_t i) {
    static const char *const kinds[] = {[KERNEL_COUNT] = "count", [KERNEL_SUM] = "sum",
                                        [KERNEL_LEAST] = "least", [KERNEL_GREATEST] = "greatest",
                                        [KERNEL_BOOLS] = "bools"};
    const Agg *agg = &graph_op_at(e->plan->graph, breaker_of(e)->op)->group.aggs[i];
    const CudaGroupAgg *how = &e->kernel->groups->aggs[i];
    text_buf_format(buf, "//   word %u", how->value);
    if (how->kind == KERNEL_SUM)
        text_buf_format(buf, " and %u", how->beyond);
    text_buf_format(buf, ", word %u: %s ", how->count, kinds[how->kind]);
    if (agg->arg_count) type_print(buf, graph_at(e->plan->graph, agg->args[0])->type);
    text_buf_format(buf, " of %.*s\n", TEXT_ARG(agg->name));
}

void cuda_print_groups_head(const CudaEmit *e, TextBuf *buf) {
    const CudaGroups *groups = e->kernel->groups;
    const Breaker *breaker = breaker_of(e);
    text_buf_format(buf, "// " CUDA_NAME ".groups: blocks of %u lanes, %u numbers, %u slots of "
                         "%u words\n", groups->lanes, groups->heads, groups->slots,
                    groups->stride);
    for (uint32_t k = 0; k < breaker->key_count; k++) {
        text_buf_format(buf, "//   %u bits of the key: ", groups->parts[k].bits);
        type_print(buf, groups->parts[k].type);
        text_buf_format(buf, " of %.*s\n", TEXT_ARG(breaker->slots[k].name));
    }
    const Op *op = graph_op_at(e->plan->graph, breaker->op);
    for (uint32_t i = 0; i < op->group.agg_count; i++)
        if (plan_owns_state(breaker, i)) print_agg(e, buf, i);
}

void cuda_print_groups(const CudaKernel *kernel, TextBuf *buf) {
    const CudaGroups *groups = kernel->groups;
    text_buf_format(buf, "struct " CUDA_NAME "_groups {\n    u64 heads[%u];\n    i64 most;\n",
                    groups->heads);
    if (has_keys(kernel)) text_buf_add(buf, TEXT("    u64 *keys, *firsts, *own;\n"));
    else text_buf_format(buf, "    u64 first, words[%u];\n", groups->words ? groups->words : 1);
    text_buf_format(buf, "};\n\nusing " CUDA_NAME "_words = SbWords<%u, 0x%llxull, 0x%llxull>;\n\n",
                    groups->words, (unsigned long long)groups->greatest,
                    (unsigned long long)groups->wide);
}

// A number up to `most` can be added as often as a block has rows: its share, and a pack of each
// lane.
void cuda_print_groups_begin(const CudaKernel *kernel, const Dialect *words, TextBuf *buf) {
    const CudaGroups *groups = kernel->groups;
    const uint32_t own = groups->heads + groups->hot * groups->words;
    text_buf_format(buf, "    " CUDA_NAME "_groups g = {};\n"
                         "    g.most = 0x3fffffffffffffffll / (a.rows / %s + 16 * %s + 16);\n",
                    words->blocks, words->lanes);
    if (!has_keys(kernel)) {
        text_buf_format(buf, "    SB_SHARED(u64, own, %u);\n",
                        (groups->heads + 1 + groups->words) * groups->lanes);
        return;
    }
    text_buf_format(buf, "    SB_SHARED(u64, known, %u);\n    SB_SHARED(u64, own, %u);\n",
                    2 * groups->hot, own * groups->lanes);
    text_buf_format(buf, "    g.firsts = known;\n    g.keys = known + %u;\n"
                         "    g.own = own + %u + %s;\n", groups->hot,
                    groups->heads * groups->lanes, words->lane);
    text_buf_format(buf, "    for (u32 i = %s; i < %u; i += %s) known[i] = 0;\n", words->lane,
                    2 * groups->hot, words->lanes);
    text_buf_format(buf, "    for (u32 i = 0; i < %u; i++) g.own[i * %u] = 0;\n    %s\n",
                    groups->hot * groups->words, groups->lanes, words->barrier);
}

void cuda_print_groups_end(const CudaKernel *kernel, const Dialect *words, TextBuf *buf) {
    const CudaGroups *groups = kernel->groups;
    text_buf_format(buf, "    %s\n    for (u32 i = 0; i < %u; i++)\n"
                         "        own[i * %u + %s] = g.heads[i];\n", words->unroll,
                    groups->heads, groups->lanes, words->lane);
    if (has_keys(kernel)) {
        text_buf_format(buf, "    %s\n    sb_flush<%u, %u, %u, %u, " CUDA_NAME "_words, %u>"
                             "(a.groups, g.keys, g.firsts, own);\n", words->barrier, groups->heads,
                        groups->hot, groups->words, groups->slots, groups->lanes);
        return;
    }
    text_buf_format(buf, "    own[%u + %s] = g.first;\n", groups->heads * groups->lanes,
                    words->lane);
    text_buf_format(buf, "    %s\n    for (u32 i = 0; i < %u; i++)\n"
                         "        own[(i + %u) * %u + %s] = g.words[i];\n",
                    words->unroll, groups->words, groups->heads + 1, groups->lanes, words->lane);
    text_buf_format(buf, "    %s\n    sb_flush_one<%u, %u, " CUDA_NAME "_words, %u>"
                         "(a.groups, own);\n", words->barrier, groups->heads, groups->words,
                    groups->lanes);
}
