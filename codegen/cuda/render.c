// Kernels as text: a function for one row, or one element of a tensor, and a loop around it.
//
//   struct NAME_args {...};
//   u8 NAME_element(a, row, e, k, x0, &y0) statements of the steps; must the CPU judge the row?
//   void NAME(a)                           loads 16 bytes a lane, calls it, stores
//
// A stage has at most one kernel that goes over rows, which judges filters too. For each shape of
// the tensors that it computes one more kernel goes over their elements.
#include "codegen/cuda/render.h"

#include "codegen/build/cache.h"

#include <math.h>

enum {
    LANE_BYTES = 16,     // What a lane loads at once of the widest column.
    LANE_NODES = 256,    // Operations that a lane does at once: more would not stay in registers.
    TURN_BYTES = 32,     // What a lane loads before it uses the first value: at least, if it can.
    GROUP_BYTES = 128,   // The same where a processor has fewer lanes, for memory of their groups.
    TURN_MAX = 4,
    TILE_BYTES = 160,    // Of a row in shared memory, of which a block of all lanes has 48 KiB.
    // Blocks for each processor. 8 have all lanes that it holds. Half of these find more of what
    // others have loaded one by one in the first cache. Blocks whose lanes wait for each other
    // come and go.
    BLOCKS_WHOLE = 8, BLOCKS_SINGLE = 4, BLOCKS_TILED = 64,
    BLOCKS_GROUPS = 6,   // Whose lanes have words for groups: up to 28 KiB of each block.
};

static const Op *member_op(const CudaEmit *e, uint32_t m) {
    return graph_op_at(e->plan->graph, e->stage->ops[m]);
}

bool cuda_same_shape(const Type *a, const Type *b) {
    if (!a || !b) return a == b;
    bool same = a->rank == b->rank;
    for (uint32_t i = 0; same && i < a->rank; i++) same = a->shape[i] == b->shape[i];
    return same;
}

const Type *cuda_shape_of(const Type *type) {
    return type->kind == TYPE_TENSOR ? type : nullptr;
}

// Does the item list numbers of the row, as a tensor? An element of the tensor would need all of
// them. So lanes go over rows, and put the lists of a block together in shared memory.
static bool is_list(const Plan *plan, const Op *op, uint32_t i) {
    const Expr *x = graph_at(plan->graph, op->project.items[i].expr);
    return x->op == EXPR_LIST && !cuda_is_table(plan->graph, x);
}

// ---- what a kernel computes ---------------------------------------------------------------------

void cuda_each_item(const Plan *plan, const Stage *stage, void *self, CudaItemFn *see) {
    for (uint32_t m = 1; m < stage->kernels.op_count; m++) {
        const Op *op = graph_op_at(plan->graph, stage->ops[m]);
        for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++) {
            ExprId id = op->project.items[i].expr;
            bool output = stage->kernels.outputs[m][i], used = plan->usage.columns[op->id.i][i];
            bool copy = graph_passed_on(plan->graph, id)->op == EXPR_COLUMN;
            bool here = used && !copy && !stage->kernels.beside[m][i];
            if (here && (output || graph_faults(plan->graph, id))) see(self, m, i, output);
        }
    }
}

typedef struct Item {
    CudaEmit *e;
    TextBuf   judged;  // What makes the CPU judge the row, each after " | ".
} Item;

static void judge(Item *to, Text raise) {
    if (raise.len) text_buf_format(&to->judged, " | %.*s", TEXT_ARG(raise));
}

size_t cuda_add_output(CudaEmit *e, CudaColumn column) {
    CudaKernel *kernel = e->kernel;
    arena_push(e->arena, kernel->outputs, kernel->output_count, kernel->output_cap, column);
    return kernel->output_count - 1;
}

static void give(CudaEmit *e, KernelItem from, const Type *type, const CudaValue *is) {
    size_t i = cuda_add_output(e, (CudaColumn){.item = from, .type = type});
    text_buf_format(&e->body, "    y%zu = %.*s;\n", i, TEXT_ARG(is->value));
    if (!type->nullable) return;
    Text valid = is->valid.len ? is->valid : TEXT("1");
    text_buf_format(&e->body, "    y%zun = %.*s;\n", i, TEXT_ARG(valid));
}

Text cuda_nan_of(const CudaEmit *e, uint32_t member, ExprId id, const CudaValue *is) {
    const Type *type = graph_at(e->plan->graph, id)->type;
    Text valid = is->valid.len ? is->valid : TEXT("1");
    if (!type_is_float(type_base(type_element(type))) ||
        cuda_range(e, member, id).most < INFINITY)
        return (Text){0};
    return text_format(e->arena, "(%.*s & sb_nan(%.*s))", TEXT_ARG(valid), TEXT_ARG(is->value));
}

static void judge_nan(Item *to, uint32_t member, ExprId id, const CudaValue *is) {
    judge(to, cuda_nan_of(to->e, member, id, is));
}

static void compute_list(Item *to, uint32_t m, uint32_t i, bool output) {
    CudaEmit *e = to->e;
    const Expr *x = graph_at(e->plan->graph, member_op(e, m)->project.items[i].expr);
    CudaColumn column = {.item = {m, i}, .type = x->type, .tile = true};
    size_t at = output ? cuda_add_output(e, column) : 0;
    e->kernel->tiled |= output;
    for (uint32_t k = 0; k < x->arg_count; k++) {
        CudaValue is = cuda_value(e, m, x->args[k]);
        judge(to, is.raise);
        if (!output) continue;
        text_buf_format(&e->body, "    y%zu[%u] = %.*s;\n", at, k, TEXT_ARG(is.value));
        judge_nan(to, m, x->args[k], &is);
    }
}

static void compute_item(void *self, uint32_t m, uint32_t i, bool output) {
    Item *to = self;
    CudaEmit *e = to->e;
    const Op *op = member_op(e, m);
    ExprId id = op->project.items[i].expr;
    const Type *type = graph_at(e->plan->graph, id)->type;
    bool list = is_list(e->plan, op, i) && e->tiles;
    if (list && !e->kernel->shape) compute_list(to, m, i, output);
    if (list || !cuda_same_shape(cuda_shape_of(type), e->kernel->shape)) return;
    if (cuda_class(e->arena, e->plan, e->stage, m, id).shape) return;  // reduce.c computes it.
    CudaValue is = cuda_value(e, m, id);
    judge(to, is.raise);
    if (!output) return;
    give(e, (KernelItem){m, i}, type, &is);
    judge_nan(to, m, id, &is);
}

// What is judged here is judged once more with the item that it stands in.
static void compute_only(Item *to) {
    CudaEmit *e = to->e;
    ExprId id = {e->only->item.column};
    const Type *type = graph_at(e->plan->graph, id)->type;
    CudaValue is = cuda_same_shape(type, e->only->type) ? cuda_value(e, e->only->item.member, id)
                                                        : cuda_padded(e, e->only->item.member, id);
    judge(to, is.raise);
    text_buf_format(&e->body, "    y%zu = %.*s;\n", cuda_add_output(e, *e->only),
                    TEXT_ARG(is.value));
}

static uint32_t filter_count(const CudaEmit *e) {
    uint32_t count = 0;
    for (uint32_t m = 1; m < e->stage->kernels.op_count; m++)
        count += member_op(e, m)->kind == OP_FILTER;
    return count;
}

// The first filter that takes the row out goes to `out`.
static void compute_filters(Item *to) {
    CudaEmit *e = to->e;
    if (e->kernel->shape) return;
    e->kernel->filters = filter_count(e);
    bool numbered = e->kernel->filters <= CUDA_FILTERS_MAX;
    for (uint32_t m = 1, n = 0; m < e->stage->kernels.op_count; m++) {
        const Op *op = member_op(e, m);
        if (op->kind != OP_FILTER) continue;
        CudaValue is = cuda_value(e, m, op->filter.pred);
        judge(to, is.raise);
        text_buf_format(&e->body, "    out = out | %.*s ? out : %u;\n", TEXT_ARG(is.value),
                        numbered ? CUDA_FILTERED(n++) : 1);
    }
}

// Kernels that this one reads of have run before it, and may have marked rows. Known once all of it
// is computed.
static bool is_after_others(const CudaEmit *e) { return e->maker->unit->kernel_count > 0; }

// Where another kernel may fault, a row that a filter takes out might be one to reject: the CPU
// judges it.
static bool tells_filters(const CudaEmit *e) {
    return e->kernel->filters && e->kernel->filters <= CUDA_FILTERS_MAX && !e->tensors_fault &&
           !is_after_others(e);
}

// ---- the loop around it -------------------------------------------------------------------------

static bool is_whole(const CudaKernel *kernel, size_t input) {
    return cuda_is_whole(kernel, kernel->inputs[input].type);
}

static uint32_t width_of(const CudaEmit *e) {
    const CudaKernel *kernel = e->kernel;
    size_t widest = 1;
    for (size_t i = 0; i < kernel->input_count; i++) {
        size_t size = type_size(type_base(type_element(kernel->inputs[i].type)));
        if (is_whole(kernel, i) && size > widest) widest = size;
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        size_t size = type_size(type_base(type_element(kernel->outputs[i].type)));
        if (size > widest) widest = size;
    }
    if (kernel->tiled) return 1;
    uint32_t width = LANE_BYTES / (uint32_t)widest;
    while (width > 1 && width * e->node_count > LANE_NODES) width /= 2;
    while (kernel->shape && type_elements(kernel->shape) % width) width /= 2;
    return width;
}

static uint32_t turn_of(const CudaEmit *e) {
    const CudaKernel *kernel = e->kernel;
    size_t loaded = 0;
    for (size_t i = 0; i < kernel->input_count; i++)
        if (is_whole(kernel, i))
            loaded += kernel->width * type_size(type_base(type_element(kernel->inputs[i].type)));
    uint32_t turn = 1, least = kernel->groups && kernel->groups->hot ? GROUP_BYTES : TURN_BYTES;
    while (turn < TURN_MAX && turn * loaded < least &&
           2 * turn * kernel->width * e->node_count <= LANE_NODES)
        turn *= 2;
    return turn;
}

static uint32_t blocks_of(const CudaEmit *e) {
    if (e->kernel->tiled) return BLOCKS_TILED;
    if (e->kernel->groups && e->kernel->groups->hot) return BLOCKS_GROUPS;
    return e->reads ? BLOCKS_SINGLE : BLOCKS_WHOLE;
}

static const char *name_of(const CudaColumn *column) {
    return cuda_type(type_element(column->type));
}

// "    const i64 *x0;  // fare"
static void print_pointer(CudaEmit *e, TextBuf *buf, size_t i, bool output) {
    const CudaColumn *column = output ? &e->kernel->outputs[i] : &e->kernel->inputs[i];
    const char *is_const = output ? "" : "const ";
    char kind = output ? 'y' : 'x';
    TextBuf name = {0};
    if (column->temp)
        text_buf_format(&name, "(%u.%u)", column->item.member, column->item.column);
    else
        type_print_name(&name,
                        member_op(e, column->item.member)->columns[column->item.column].name);
    text_buf_format(buf, "    %s%s *%c%zu;  // %.*s\n", is_const, name_of(column), kind, i,
                    (int)name.len, name.at);
    text_buf_free(&name);
    if (column->type->nullable) text_buf_format(buf, "    %su8 *%c%zun;\n", is_const, kind, i);
}

void cuda_print_arguments(CudaEmit *e, TextBuf *buf) {
    const CudaKernel *kernel = e->kernel;
    text_buf_add(buf, TEXT("struct " CUDA_NAME "_args {\n    i64 rows;\n"
                           "    u8 *status, *some;\n"));
    if (kernel->groups) text_buf_add(buf, TEXT("    u64 *groups;\n"));
    if (kernel->keeps) text_buf_add(buf, TEXT("    u32 *kept, *counts;\n    u8 *columns;\n"));
    for (size_t i = 0; i < kernel->input_count; i++) print_pointer(e, buf, i, false);
    for (size_t i = 0; i < kernel->output_count; i++) print_pointer(e, buf, i, true);
    for (size_t i = 0; i < kernel->param_count; i++) {
        const Param *param = &e->plan->graph->params[kernel->params[i]];
        text_buf_format(buf, "    alignas(8) %s p%u;\n", cuda_type(param->type),
                        kernel->params[i]);
    }
    text_buf_add(buf, TEXT("};\n\n"));
}

typedef enum Columns { INPUTS, OUTPUTS, TILES } Columns;

// A format with the column's type T, its number # and its elements N; the same for its column of
// u8.
static void each_column(const CudaKernel *kernel, TextBuf *buf, Columns which, const char *text) {
    size_t count = which == INPUTS ? kernel->input_count : kernel->output_count;
    for (size_t i = 0; i < count; i++) {
        const CudaColumn *column = which == INPUTS ? &kernel->inputs[i] : &kernel->outputs[i];
        if (which == INPUTS ? !is_whole(kernel, i) : column->tile != (which == TILES)) continue;
        for (int valid = 0; valid <= column->type->nullable; valid++)
            for (const char *at = text; *at; at++) {
                if (*at == 'T') text_buf_add(buf, text_of(valid ? "u8" : name_of(column)));
                else if (*at == '#') text_buf_format(buf, "%zu%s", i, valid ? "n" : "");
                else if (*at == 'N') text_buf_format(buf, "%u", column->type->shape[0]);
                else text_buf_char(buf, *at);
            }
    }
}

static void print_element(CudaEmit *e, TextBuf *buf, const Item *item) {
    text_buf_format(buf, "%s%s u8 " CUDA_NAME "_element(const " CUDA_NAME
                         "_args &a, i32 row, u32 e, u32 k",
                    e->has_far ? "template <int way> " : "", e->dialect->function);
    each_column(e->kernel, buf, INPUTS, ", const T x#");
    each_column(e->kernel, buf, OUTPUTS, ", T &y#");
    each_column(e->kernel, buf, TILES, ", T *y#");
    if (e->kernel->groups) text_buf_add(buf, TEXT(", " CUDA_NAME "_groups &g"));
    text_buf_add(buf, TEXT(") {\n"));
    if (e->kernel->shape) cuda_print_own(buf, e->kernel->shape, e->kernel->width);
    if (e->has_far) text_buf_add(buf, TEXT("    u8 far = 0;\n"));
    if (e->kernel->filters) text_buf_add(buf, TEXT("    u8 out = 0;\n"));
    text_buf_add(buf, text_buf_view(&e->body));
    text_buf_add(buf, TEXT("#line 1 \"kernel\"\n    const u8 judged = (0"));
    if (e->kernel->groups) text_buf_add(buf, TEXT(" | bad"));
    text_buf_add(buf, text_buf_view(&item->judged));
    const char *all = !e->kernel->filters ? "judged"
                      : tells_filters(e)  ? "judged ? judged : out"
                                          : "judged | (out != 0)";
    text_buf_format(buf, ") != 0%s;\n    return %s;\n}\n\n", e->has_far ? " | far" : "", all);
    if (!tells_filters(e)) e->kernel->filters = 0;
}

// Do divisions that have to go the long way do so after all others?
static bool is_later(const CudaEmit *e) { return e->has_far && e->reads; }

static const char *first_form(const CudaEmit *e) {
    return is_later(e) ? "<SB_LATER>" : e->has_far ? "<SB_AT_ONCE>" : "";
}

// The call for one row or element: of packs, or of what is left after them. The function has forms
// where divisions may have to go the long way.
static void print_form(CudaEmit *e, TextBuf *buf, bool packed, const char *form) {
    const CudaKernel *kernel = e->kernel;
    const char *row = kernel->shape ? "row" : packed ? "at + k" : "at";
    const char *element = kernel->shape ? "element, k" : "0, 0";
    text_buf_format(buf, CUDA_NAME "_element%s(a, %s, %s", form, row, element);
    each_column(kernel, buf, INPUTS, packed ? ", x#[u].at[k]" : ", sb_read(a.x# + at)");
    each_column(kernel, buf, OUTPUTS, packed ? ", y#.at[k]" : ", a.y#[at]");
    each_column(kernel, buf, TILES, ", tile# + lane * N");
    text_buf_add(buf, kernel->groups ? TEXT(", g)") : TEXT(")"));
}

// One row by itself.
static void print_row(CudaEmit *e, TextBuf *buf) {
    text_buf_add(buf, TEXT("            u8 is = "));
    print_form(e, buf, false, first_form(e));
    if (is_later(e)) {
        text_buf_add(buf, TEXT(";\n            if (is & 2) is = "));
        print_form(e, buf, false, "<SB_FAR>");
    }
    text_buf_add(buf, TEXT(";\n            if (is) a.status[at] = is, *a.some = 1;\n"));
}

// All loads of a turn are under way before the first value is used: so many bytes are what hides
// the time that memory takes.
static void print_loads(CudaEmit *e, TextBuf *buf, uint32_t turn) {
    const CudaKernel *kernel = e->kernel;
    char text[128];
    snprintf(text, sizeof text, "        SbPack<T, %u> x#[%u];\n", kernel->width, turn);
    each_column(kernel, buf, INPUTS, text);
    text_buf_format(buf, "        %s\n        for (int u = 0; u < %u; u++) {\n"
                         "            const i32 at = (pack + u * step) * %u;\n",
                    e->dialect->unroll, turn, kernel->width);
    snprintf(text, sizeof text, "            x#[u] = sb_load<T, %u>(a.x# + at);\n", kernel->width);
    each_column(kernel, buf, INPUTS, text);
    text_buf_add(buf, TEXT("        }\n"));
}

static void print_place(CudaEmit *e, TextBuf *buf) {
    const CudaKernel *kernel = e->kernel;
    if (!kernel->shape) return;
    unsigned long long elements = type_elements(kernel->shape);
    text_buf_format(buf, "            const i32 row = (i32)((u32)at / %lluu);\n"
                         "            const u32 element = (u32)at - (u32)row * %lluu;\n",
                    elements, elements);
    if (e->after_rows) text_buf_add(buf, TEXT("            if (a.status[row]) continue;\n"));
}

static void print_lanes(CudaEmit *e, TextBuf *buf, const char *form) {
    const CudaKernel *kernel = e->kernel;
    text_buf_format(buf, "            %s\n            for (int k = 0; k < %u; k++)\n"
                         "                some |= %s",
                    e->dialect->unroll, kernel->width, kernel->shape ? "" : "raised.at[k] = ");
    print_form(e, buf, true, form);
    text_buf_add(buf, TEXT(";\n"));
}

// Rows that a kernel before this one has marked stay marked.
static void print_raised(const CudaEmit *e, TextBuf *buf) {
    const uint32_t width = e->kernel->width;
    text_buf_add(buf, TEXT("            if (some) {\n"));
    if (is_after_others(e))
        text_buf_format(buf, "                const SbPack<u8, %u> was = "
                             "sb_load<u8, %u>(a.status + at);\n"
                             "                for (int k = 0; k < %u; k++) "
                             "raised.at[k] |= was.at[k];\n", width, width, width);
    text_buf_format(buf, "                sb_store<u8, %u>(a.status + at, raised);\n"
                         "                *a.some = 1;\n            }\n", width);
}

static void print_pack(CudaEmit *e, TextBuf *buf) {
    const CudaKernel *kernel = e->kernel;
    uint32_t width = kernel->width;
    char text[96];
    snprintf(text, sizeof text, "            SbPack<T, %u> y#;\n", width);
    each_column(kernel, buf, OUTPUTS, text);
    text_buf_add(buf, TEXT("            u8 some = 0;\n"));
    if (!kernel->shape) text_buf_format(buf, "            SbPack<u8, %u> raised;\n", width);
    print_lanes(e, buf, first_form(e));
    if (is_later(e)) {
        text_buf_add(buf, TEXT("            if (some & 2) {\n                some = 0;\n"));
        print_lanes(e, buf, "<SB_FAR>");
        text_buf_add(buf, TEXT("            }\n"));
    }
    snprintf(text, sizeof text, "            sb_store<T, %u>(a.y# + at, y#);\n", width);
    each_column(kernel, buf, OUTPUTS, text);
    if (kernel->shape)
        text_buf_add(buf, TEXT("            if (some) a.status[row] = *a.some = 1;\n"));
    else
        print_raised(e, buf);
}

// A block takes as many rows at once as it has lanes: each computes one, and all of them store what
// the block has put together.
static void print_tiles(CudaEmit *e, TextBuf *buf) {
    const CudaKernel *kernel = e->kernel;
    const Dialect *words = e->dialect;
    char text[96];
    snprintf(text, sizeof text, "    SB_SHARED(T, tile#, %u * N);\n", SB_KERNEL_LANES);
    text_buf_format(buf, "%s " CUDA_NAME "(%s " CUDA_NAME "_args a) {\n", words->kernel,
                    words->arguments);
    each_column(kernel, buf, TILES, text);
    text_buf_format(buf, "    const u32 lane = %s;\n"
                         "    const i64 step = (i64)%s * %s;\n"
                         "    for (i64 first = (i64)%s * %s; first < a.rows; first += step) {\n"
                         "        const i64 at = first + lane, left = a.rows - first;\n"
                         "        const u32 rows = left < %s ? (u32)left : %s;\n"
                         "        if (lane < rows) {\n", words->lane, words->lanes, words->blocks,
                    words->block, words->lanes, words->lanes, words->lanes);
    print_row(e, buf);
    text_buf_format(buf, "        }\n        %s\n", words->barrier);
    each_column(kernel, buf, TILES,
                "        sb_store_tile(a.y# + first * N, tile#, rows * N);\n");
    text_buf_format(buf, "        %s\n    }\n}\n", words->barrier);
}

// Turns of so many packs, as long as all of them are there.
static void print_turns(CudaEmit *e, TextBuf *buf, uint32_t turn) {
    uint32_t width = e->kernel->width;
    if (turn > 1)
        text_buf_format(buf, "    for (; (pack + %u * step) * %u < whole; pack += step * %u) {\n",
                        turn - 1, width, turn);
    else text_buf_format(buf, "    for (; pack * %u < whole; pack += step) {\n", width);
    print_loads(e, buf, turn);
    text_buf_format(buf, "        %s\n        for (int u = 0; u < %u; u++) {\n"
                         "            const i32 at = (pack + u * step) * %u;\n",
                    e->dialect->unroll, turn, width);
    print_place(e, buf);
    print_pack(e, buf);
    text_buf_add(buf, TEXT("        }\n    }\n"));
}

static void print_loop(CudaEmit *e, TextBuf *buf) {
    const CudaKernel *kernel = e->kernel;
    if (kernel->tiled) return print_tiles(e, buf);
    unsigned long long elements = kernel->shape ? type_elements(kernel->shape) : 1;
    text_buf_format(buf, "%s " CUDA_NAME "(%s " CUDA_NAME "_args a) {\n", e->dialect->kernel,
                    e->dialect->arguments);
    text_buf_format(buf, "    const i32 first = (i32)(%s), step = (i32)(%s);\n",
                    e->dialect->first, e->dialect->step);
    text_buf_format(buf, "    const i32 count = (i32)(a.rows * %llu), whole = count / %u * %u;\n",
                    elements, kernel->width, kernel->width);
    if (kernel->groups) cuda_print_groups_begin(kernel, e->dialect, buf);
    text_buf_add(buf, TEXT("    i32 pack = first;\n"));
    if (kernel->turn > 1) print_turns(e, buf, kernel->turn);
    print_turns(e, buf, 1);
    if (!kernel->shape && kernel->width > 1) {
        text_buf_add(buf, TEXT("    for (i32 at = whole + first; at < count; at += step) {\n"));
        print_row(e, buf);
        text_buf_add(buf, TEXT("    }\n"));
    }
    if (kernel->groups) cuda_print_groups_end(kernel, e->dialect, buf);
    text_buf_add(buf, TEXT("}\n"));
}

// ---- units --------------------------------------------------------------------------------------

void cuda_settle(CudaEmit *e, TextBuf *text) {
    TextBuf parts = {0}, out = {0};
    cache_key_add(&parts, "kernel", text_buf_view(text));
    e->kernel->name = text_format(e->arena, "sb_kernel_%.16s", cache_key(e->arena, &parts));
    text_buf_free(&parts);
    for (size_t i = 0; i < text->len; i++) {
        if (text->at[i] == CUDA_NAME[0]) text_buf_add(&out, e->kernel->name);
        else text_buf_char(&out, text->at[i]);
    }
    text_buf_free(text);
    e->kernel->text = text_buf_take(&out, e->arena);
}

static void print_head(const CudaEmit *e, TextBuf *buf) {
    const CudaKernel *kernel = e->kernel;
    text_buf_add(buf, TEXT("// " CUDA_NAME ": "));
    if (kernel->shape)
        text_buf_format(buf, "%llu elements of a row",
                        (unsigned long long)type_elements(kernel->shape));
    else text_buf_add(buf, TEXT("rows"));
    text_buf_format(buf, ", %u at a time; %u blocks a processor; %zu columns in, %zu out\n",
                    kernel->width, kernel->blocks, kernel->input_count, kernel->output_count);
    each_column(kernel, buf, TILES, "// " CUDA_NAME ".y#: N elements of a row\n");
    if (kernel->groups) cuda_print_groups_head(e, buf);
}

// False: it gives nothing, and nothing that it computes can fault.
static bool render_kernel(CudaEmit *e, CudaKernel *kernel) {
    Item item = {.e = e};
    e->kernel = kernel;
    e->place = cuda_own_place(e->arena, kernel->shape);
    if (e->only) {
        compute_only(&item);
    } else if (e->stage->kernels.groups) {
        cuda_compute_groups(e);
    } else {
        compute_filters(&item);
        cuda_each_item(e->plan, e->stage, &item, compute_item);
    }
    kernel->width = width_of(e);
    kernel->turn = turn_of(e);
    kernel->blocks = blocks_of(e);
    TextBuf text = {0};
    print_head(e, &text);
    text_buf_add(&text, text_buf_view(&e->tables));
    cuda_print_arguments(e, &text);
    if (kernel->groups) cuda_print_groups(kernel, &text);
    print_element(e, &text, &item);
    print_loop(e, &text);
    cuda_settle(e, &text);
    bool useful = item.judged.len || (!kernel->shape && filter_count(e)) || kernel->output_count ||
                  kernel->groups;
    text_buf_free(&item.judged);
    text_buf_free(&e->body);
    text_buf_free(&e->tables);
    return useful;
}

typedef struct Shapes {
    Arena      *arena;
    const Plan *plan;
    const Stage *stage;
    CudaUnit   *unit;
    uint64_t    tile_bytes;  // Of all lists of a row.
    bool        faults;      // Of a tensor or a reduction: a row may do so that a filter takes out.
} Shapes;

static void need_shape(Shapes *to, const Type *shape) {
    CudaUnit *unit = to->unit;
    for (size_t i = 0; i < unit->kernel_count; i++)
        if (cuda_same_shape(unit->kernels[i].shape, shape)) return;
    arena_push(to->arena, unit->kernels, unit->kernel_count, unit->kernel_cap,
               (CudaKernel){.shape = shape});
}

// Lists that are too long for shared memory are computed by element.
static void see_tiles(void *self, uint32_t m, uint32_t i, bool output) {
    Shapes *to = self;
    const Op *op = graph_op_at(to->plan->graph, to->stage->ops[m]);
    const Type *type = op->columns[i].type;
    if (output && is_list(to->plan, op, i))
        to->tile_bytes += type_elements(type) * type_size(type->elem);
}

static bool is_tile(const Shapes *to, const Op *op, uint32_t i) {
    return to->tile_bytes <= TILE_BYTES && is_list(to->plan, op, i);
}

// Does reduce.c compute the item?
static bool reduces(const Shapes *to, uint32_t m, uint32_t i) {
    const Op *op = graph_op_at(to->plan->graph, to->stage->ops[m]);
    return cuda_class(to->arena, to->plan, to->stage, m, op->project.items[i].expr).shape;
}

static void see_rows(void *self, uint32_t m, uint32_t i, bool) {
    Shapes *to = self;
    const Op *op = graph_op_at(to->plan->graph, to->stage->ops[m]);
    if (reduces(to, m, i)) return;
    if (!cuda_shape_of(op->columns[i].type) || is_tile(to, op, i)) need_shape(to, nullptr);
}

static void see_faults(void *self, uint32_t m, uint32_t i, bool) {
    Shapes *to = self;
    const Op *op = graph_op_at(to->plan->graph, to->stage->ops[m]);
    bool tensor = cuda_shape_of(op->columns[i].type) && !is_tile(to, op, i);
    to->faults |= (tensor || reduces(to, m, i)) &&
                  graph_faults(to->plan->graph, op->project.items[i].expr);
}

static void see_tensors(void *self, uint32_t m, uint32_t i, bool) {
    Shapes *to = self;
    const Op *op = graph_op_at(to->plan->graph, to->stage->ops[m]);
    const Type *shape = cuda_shape_of(op->columns[i].type);
    if (shape && !is_tile(to, op, i) && !reduces(to, m, i)) need_shape(to, shape);
}

// Of an item that the CPU computes of kept rows: a row may fault there that a filter takes out.
static bool faults_beside(const Shapes *to) {
    bool faults = false;
    for (uint32_t m = 1; m < to->stage->kernels.op_count; m++) {
        const Op *op = graph_op_at(to->plan->graph, to->stage->ops[m]);
        for (uint32_t i = 0; op->kind == OP_PROJECT && i < op->project.count; i++)
            faults |= to->stage->kernels.beside[m][i] &&
                      graph_faults(to->plan->graph, op->project.items[i].expr);
    }
    return faults;
}

// The kernel over rows comes first: it writes the status of each row.
static void find_kernels(Shapes *to) {
    if (to->stage->kernels.groups) return need_shape(to, nullptr);
    cuda_each_item(to->plan, to->stage, to, see_tiles);
    for (uint32_t m = 1; m < to->stage->kernels.op_count; m++)
        if (graph_op_at(to->plan->graph, to->stage->ops[m])->kind == OP_FILTER)
            need_shape(to, nullptr);
    cuda_each_item(to->plan, to->stage, to, see_rows);
    cuda_each_item(to->plan, to->stage, to, see_tensors);
    cuda_each_item(to->plan, to->stage, to, see_faults);
    to->faults |= faults_beside(to);
}

void cuda_add_kernel(CudaMaker *maker, const CudaKernel *kernel) {
    CudaUnit *unit = maker->unit;
    text_buf_char(&maker->text, '\n');
    text_buf_add(&maker->text, kernel->text);
    arena_push(maker->arena, unit->kernels, unit->kernel_count, unit->kernel_cap, *kernel);
}

// The tensor with a last dimension of that size.
static const Type *with_last(Arena *arena, const Type *type, uint32_t size) {
    Type *to = arena_new_of(arena, Type);
    uint32_t *shape = arena_new_array(arena, uint32_t, type->rank);
    for (uint32_t i = 0; i < type->rank; i++)
        shape[i] = i + 1 < type->rank ? type->shape[i] : size;
    *to = *type;
    to->shape = shape;
    return to;
}

CudaColumn cuda_need_elements(CudaMaker *maker, uint32_t member, ExprId id, uint32_t size) {
    CudaUnit *unit = maker->unit;
    const Type *type = with_last(maker->arena, graph_at(maker->plan->graph, id)->type, size);
    CudaColumn column = {.item = {member, id.i}, .type = type, .temp = true};
    for (size_t i = 0; i < unit->temp_count; i++)
        if (cuda_same_column(&unit->temps[i], &column)) return column;
    CudaEmit e = {.arena = maker->arena, .plan = maker->plan, .stage = maker->stage,
                  .sources = maker->sources, .dialect = &cuda_dialect, .maker = maker,
                  .only = &column};
    CudaKernel kernel = {.shape = type};
    render_kernel(&e, &kernel);
    cuda_add_kernel(maker, &kernel);
    arena_push(maker->arena, unit->temps, unit->temp_count, unit->temp_cap, column);
    return column;
}

CudaUnit cuda_render(Arena *arena, const Plan *plan, const Stage *stage, CudaSources sources) {
    CudaUnit unit = {0}, wanted = {0};
    Shapes shapes = {.arena = arena, .plan = plan, .stage = stage, .unit = &wanted};
    CudaMaker maker = {.arena = arena, .plan = plan, .stage = stage, .sources = sources,
                       .unit = &unit};
    find_kernels(&shapes);
    if (!stage->kernels.groups) cuda_render_reductions(&maker);
    bool rows = false;
    for (size_t i = 0; i < wanted.kernel_count; i++) {
        CudaEmit e = {.arena = arena, .plan = plan, .stage = stage, .sources = sources,
                      .dialect = &cuda_dialect, .maker = &maker,
                      .tiles = shapes.tile_bytes <= TILE_BYTES, .after_rows = rows,
                      .tensors_fault = shapes.faults};
        CudaKernel kernel = wanted.kernels[i];
        bool last = i + 1 == wanted.kernel_count;
        if (!render_kernel(&e, &kernel) && (unit.kernel_count || !last)) continue;
        cuda_add_kernel(&maker, &kernel);
        rows |= !kernel.shape;
    }
    if (stage->kernels.keeps) cuda_render_keepers(&maker);
    TextBuf text = {0};
    text_buf_add(&text, text_of(cuda_dialect.include));
    if (stage->kernels.groups) text_buf_add(&text, text_of(cuda_dialect.include_groups));
    if (maker.reduces) text_buf_add(&text, text_of(cuda_dialect.include_reductions));
    if (stage->kernels.keeps) text_buf_add(&text, text_of(cuda_dialect.include_keepers));
    text_buf_add(&text, text_buf_view(&maker.text));
    text_buf_free(&maker.text);
    unit.text = text_buf_take(&text, arena);
    return unit;
}

void cuda_print(TextBuf *buf, Arena *arena, const Plan *plan, CudaSources sources) {
    for (size_t i = 0; i < plan->stage_count; i++) {
        const Stage *stage = &plan->stages[i];
        if (!stage->kernels.op_count) continue;
        text_buf_format(buf, "// stage %zu: %.*s\n", i, TEXT_ARG(stage->label));
        text_buf_add(buf, cuda_render(arena, plan, stage, sources).text);
    }
}
