// Kernels that bring kept rows together, after all others of a stage.
//
//   NAME(a)  counts the rows of status 0 in each segment
//   NAME(a)  moves these rows to a second region of columns, by the counts before: a block lists
//            the kept rows of a segment, then its lanes go along the elements of these
//
// Where all rows have status 0 nothing is moved.
#include "codegen/cuda/render.h"

enum {
    BLOCKS_KEEP = 8,      // For each processor.
    PACK_BYTES = 16,      // What a lane moves at once.
};

static void print_begin(CudaEmit *e, TextBuf *buf) {
    cuda_print_arguments(e, buf);
    text_buf_format(buf, "%s " CUDA_NAME "(%s " CUDA_NAME "_args a) {\n", e->dialect->kernel,
                    e->dialect->arguments);
}

// ---- counts -------------------------------------------------------------------------------------

static void print_counts(CudaEmit *e, TextBuf *buf) {
    const uint32_t width = e->kernel->width;
    text_buf_format(buf, "// " CUDA_NAME ": counts kept rows of each %u\n", SB_KERNEL_SEGMENT);
    print_begin(e, buf);
    text_buf_format(buf, "    if (!*a.some) return;\n"
                         "    const i64 first = %s, step = %s;\n"
                         "    for (i64 at = first * %u; at < a.rows; at += step * %u) {\n"
                         "        const i64 end = at + %u < a.rows ? at + %u : a.rows;\n"
                         "        const u32 count = sb_count_kept(a.status, at, end);\n"
                         "        if (count) atomicAdd(a.counts + at / %u, count);\n    }\n}\n",
                    e->dialect->first, e->dialect->step, width, width, width, width,
                    SB_KERNEL_SEGMENT);
}

// ---- columns ------------------------------------------------------------------------------------

// Of a row, and how many of them a lane moves at once.
static uint64_t elements_of(const Type *type) {
    return type->kind == TYPE_TENSOR ? type_elements(type) : 1;
}

static uint32_t pack_of(const Type *type) {
    uint32_t pack = PACK_BYTES / (uint32_t)type_size(type_base(type_element(type)));
    while (elements_of(type) % pack) pack /= 2;
    return pack;
}

// "        sb_move<64, 4>(to, base, a.x0 + first * 64, list, count);"
static void print_move(TextBuf *buf, size_t i, const char *null, unsigned long long n,
                       uint32_t pack) {
    text_buf_format(buf, "        sb_move<%llu, %u>(to, base, a.x%zu%s + first * %llu, list, "
                         "count);\n        to += sb_bytes_of(a.x%zu%s, kept * %llu);\n", n, pack,
                    i, null, n, i, null, n);
}

// Columns of kept rows follow each other.
static void print_moves(const CudaEmit *e, TextBuf *buf) {
    text_buf_add(buf, TEXT("        u8 *to = a.columns;\n"));
    for (size_t i = 0; i < e->kernel->input_count; i++) {
        const Type *type = e->kernel->inputs[i].type;
        print_move(buf, i, "", elements_of(type), pack_of(type));
        if (type->nullable) print_move(buf, i, "n", 1, 1);
    }
}

static void print_mover(CudaEmit *e, TextBuf *buf) {
    const Dialect *words = e->dialect;
    const unsigned segment = SB_KERNEL_SEGMENT;
    text_buf_format(buf, "// " CUDA_NAME ": moves kept rows of each %u; %zu columns\n", segment,
                    e->kernel->input_count);
    print_begin(e, buf);
    text_buf_format(buf, "    SB_SHARED(u32, own, %u);\n    SB_SHARED(u32, before, %u);\n"
                         "    SB_SHARED(u32, shares, %u);\n    SB_SHARED(u16, list, %u);\n"
                         "    if (!*a.some) return;\n    const u32 lane = %s, lanes = %s;\n",
                    SB_KERNEL_LANES, SB_KERNEL_LANES, SB_KERNEL_LANES, segment, words->lane,
                    words->lanes);
    text_buf_format(buf, "    shares[lane] = sb_share_of(a.counts, (u32)((a.rows + %u - 1) / "
                         "%u));\n", segment, segment);
    text_buf_format(buf, "    for (i64 first = (i64)%s * %u; first < a.rows; "
                         "first += (i64)%s * %u) {\n", words->block, segment, words->blocks,
                    segment);
    text_buf_format(buf, "        const u32 rows = a.rows - first < %u ? (u32)(a.rows - first) : "
                         "%u;\n", segment, segment);
    text_buf_format(buf, "        const u32 each = (rows + lanes - 1) / lanes;\n"
                         "        const u32 from = lane * each;\n"
                         "        const u32 end = from + each < rows ? from + each : rows;\n"
                         "        own[lane] = sb_count_kept(a.status + first, from, end);\n"
                         "        before[lane] = sb_share_of(a.counts, (u32)(first / %u));\n"
                         "        %s\n", segment, words->barrier);
    text_buf_format(buf, "        const u64 base = sb_sum_of(before, lanes);\n"
                         "        const u64 kept = sb_sum_of(shares, lanes);\n"
                         "        const u32 count = sb_sum_of(own, lanes);\n"
                         "        u16 *const at = list + sb_sum_of(own, lane);\n"
                         "        sb_list_kept(at, a.status + first, from, end);\n"
                         "        %s\n", words->barrier);
    print_moves(e, buf);
    text_buf_add(buf, TEXT("        if (!lane && !first) *a.kept = (u32)kept;\n    }\n}\n"));
}

// ---- units --------------------------------------------------------------------------------------

static void add_kernel(CudaMaker *maker, CudaKernel kernel,
                       void (*print)(CudaEmit *e, TextBuf *buf)) {
    CudaEmit e = {.arena = maker->arena, .plan = maker->plan, .stage = maker->stage,
                  .sources = maker->sources, .dialect = &cuda_dialect, .maker = maker,
                  .kernel = &kernel};
    TextBuf text = {0};
    kernel.turn = 1;
    kernel.width = SB_KERNEL_SEGMENT / SB_KERNEL_LANES;
    kernel.blocks = BLOCKS_KEEP;
    print(&e, &text);
    cuda_settle(&e, &text);
    cuda_add_kernel(maker, &kernel);
}

static bool has_column(const CudaKernel *kernel, const CudaColumn *column) {
    for (size_t i = 0; i < kernel->input_count; i++)
        if (cuda_same_column(&kernel->inputs[i], column)) return true;
    return false;
}

// What comes back, in the order of the kernels that give it.
static void find_columns(CudaMaker *maker, CudaKernel *mover) {
    for (size_t k = 0; k < maker->unit->kernel_count; k++) {
        const CudaKernel *kernel = &maker->unit->kernels[k];
        for (size_t i = 0; i < kernel->output_count; i++) {
            CudaColumn column = kernel->outputs[i];
            if (column.temp || has_column(mover, &column)) continue;
            arena_push(maker->arena, mover->inputs, mover->input_count, mover->input_cap, column);
        }
    }
}

void cuda_render_keepers(CudaMaker *maker) {
    CudaKernel mover = {.keeps = SB_KERNEL_MOVES};
    find_columns(maker, &mover);
    add_kernel(maker, (CudaKernel){.keeps = SB_KERNEL_COUNTS}, print_counts);
    add_kernel(maker, mover, print_mover);
}
