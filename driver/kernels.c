#include "driver/kernels.h"

#include "codegen/build/cache.h"
#include "codegen/cuda/codes.h"
#include "codegen/cuda/sass.h"
#include "driver/commands.h"
#include "ir/plan_cost.h"

// A unit for each stage that has kernels.
typedef struct Units {
    CudaUnit *items;
    uint32_t *stages;
    size_t    count;
} Units;

static Units render(const Kernels *kernels) {
    Arena *arena = kernels->session->arena;
    const Plan *plan = kernels->plan;
    Units units = {arena_new_array(arena, CudaUnit, plan->stage_count + 1),
                   arena_new_array(arena, uint32_t, plan->stage_count + 1), 0};
    for (size_t i = 0; i < plan->stage_count; i++) {
        if (!plan->stages[i].kernels.op_count) continue;
        units.items[units.count] = cuda_render(arena, plan, &plan->stages[i], kernels->sources);
        units.stages[units.count++] = (uint32_t)i;
    }
    return units;
}

void kernels_print(const Kernels *kernels, TextBuf *out) {
    cuda_print(out, kernels->session->arena, kernels->plan, kernels->sources);
}

bool kernels_can_compile(Arena *arena) {
    CudaCompiler compiler;
    TextBuf error = {0};
    bool there = cuda_compiler_open(&compiler, arena, &error);
    text_buf_free(&error);
    return there;
}

// ---- architectures ------------------------------------------------------------------------------

typedef struct Architectures {
    const unsigned *items;
    size_t          count;
} Architectures;

static Architectures architectures(const Kernels *kernels) {
    const Target *target = &kernels->target;
    if (target->gpu_count) return (Architectures){target->gpus, target->gpu_count};
    if (kernels->present.count)
        return (Architectures){kernels->present.items, kernels->present.count};
    return (Architectures){cuda_architectures, cuda_architecture_count};
}

static unsigned least_of(const Kernels *kernels) {
    Architectures all = architectures(kernels);
    unsigned least = all.items[0];
    for (size_t i = 1; i < all.count; i++)
        if (all.items[i] < least) least = all.items[i];
    return least;
}

static bool asks_for_gpu(const Graph *graph) {
    for (size_t i = 0; i < graph->resources_count; i++)
        if (graph->resources[i].on == ON_GPU) return true;
    return false;
}

CudaPresent kernels_present(const Session *s, const Target *target) {
    bool some = s->is_for_here && !target->gpu_count && asks_for_gpu(s->program->graph);
    return some ? cuda_present() : (CudaPresent){0};
}

// A GPU that is too new for NVRTC runs PTX, which all have who do not know where they run.
static void forget_unknown(const CudaCompiler *compiler, CudaPresent *present) {
    TextBuf error = {0};
    bool good = true;
    for (size_t i = 0; i < present->count && good; i++)
        good = cuda_compiler_knows(compiler, present->items[i], &error);
    if (!good) present->count = 0;
    text_buf_free(&error);
}

// An exit code; what is wrong was said.
static int complain_of_unknown(const Kernels *kernels, const CudaCompiler *compiler) {
    Architectures all = architectures(kernels);
    for (size_t i = 0; i < all.count; i++) {
        TextBuf error = {0};
        if (cuda_compiler_knows(compiler, all.items[i], &error)) continue;
        return complain_of(kernels->session->options, DIAG_TARGET_FILE, &error, EXIT_WRONG_USAGE);
    }
    return EXIT_DONE;
}

// ---- compiling ----------------------------------------------------------------------------------

// What each unit is compiled to: a cubin for each architecture, PTX of the least one, or both.
typedef enum Form { FORM_CUBIN = 1, FORM_PTX = 2, FORM_BOTH = FORM_CUBIN | FORM_PTX } Form;

// The tasks of a unit lie side by side, that of PTX at their end.
typedef struct Made {
    CudaTask *tasks;
    size_t    each;  // Of a unit.
} Made;

static void add_tasks(const Kernels *kernels, Text unit, Form form, CudaTask *to) {
    Architectures all = architectures(kernels);
    for (size_t i = 0; i < all.count && form & FORM_CUBIN; i++)
        *to++ = (CudaTask){.unit = unit, .architecture = all.items[i]};
    if (form & FORM_PTX)
        *to = (CudaTask){.unit = unit, .architecture = least_of(kernels), .is_ptx = true};
}

// An exit code; what is wrong was said.
static int compile(const Kernels *kernels, const CudaCompiler *compiler, Units units, Form form,
                   Made *made) {
    const Session *s = kernels->session;
    size_t cubins = form & FORM_CUBIN ? architectures(kernels).count : 0;
    made->each = cubins + (form & FORM_PTX ? 1 : 0);
    size_t count = units.count * made->each;
    int status = complain_of_unknown(kernels, compiler);
    if (status != EXIT_DONE) return status;
    made->tasks = arena_new_array(s->arena, CudaTask, count + 1);
    for (size_t i = 0; i < units.count; i++)
        add_tasks(kernels, units.items[i].text, form, made->tasks + i * made->each);
    const char *folder = s->options->no_cache ? nullptr : cache_folder(s->arena);
    bool good = cuda_compile_all(compiler, s->arena, folder, made->tasks, count);
    for (size_t i = 0; i < count && !good; i++) {
        if (!made->tasks[i].error.len) continue;
        TextBuf error = {0};
        text_buf_add(&error, made->tasks[i].error);
        return complain_of(s->options, DIAG_NOT_BUILT, &error, EXIT_MACHINE);
    }
    return EXIT_DONE;
}

// Compiles all units for the least architecture. An exit code; what is wrong was said.
static int compile_least(const Kernels *kernels, Units units, Form form, Made *made) {
    const Session *s = kernels->session;
    CudaCompiler compiler;
    TextBuf error = {0};
    Kernels least = *kernels;
    if (!cuda_compiler_open(&compiler, s->arena, &error))
        return complain_of(s->options, DIAG_NOT_BUILT, &error, EXIT_MACHINE);
    int status = complain_of_unknown(kernels, &compiler);
    least.target.gpus[0] = least_of(kernels);
    least.target.gpu_count = 1;
    return status == EXIT_DONE ? compile(&least, &compiler, units, form, made) : status;
}

int kernels_print_ptx(const Kernels *kernels, TextBuf *out) {
    Units units = render(kernels);
    Made made;
    int status = units.count ? compile_least(kernels, units, FORM_PTX, &made) : EXIT_DONE;
    for (size_t i = 0; i < units.count && status == EXIT_DONE; i++)
        text_buf_add(out, made.tasks[i].code.bytes);
    return status;
}

int kernels_print_sass(const Kernels *kernels, TextBuf *out) {
    const Session *s = kernels->session;
    Units units = render(kernels);
    Made made;
    TextBuf error = {0};
    int status = units.count ? compile_least(kernels, units, FORM_CUBIN, &made) : EXIT_DONE;
    for (size_t i = 0; i < units.count && status == EXIT_DONE; i++)
        if (!cuda_disassemble(s->arena, made.tasks[i].code.bytes, out, &error))
            status = complain_of(s->options, DIAG_NOT_BUILT, &error, EXIT_MACHINE);
    return status;
}

static CudaPart part_of(Arena *arena, const CudaTask *task) {
    Text bytes = task->code.bytes;
    // The driver wants a zero at the end of PTX.
    if (task->is_ptx) bytes = (Text){text_c(arena, bytes), bytes.len + 1};
    return (CudaPart){task->architecture, task->is_ptx, bytes};
}

static void fill(const Kernels *kernels, const CudaCompiler *compiler, Units units,
                 const Made *made, CodegenKernels *to) {
    Arena *arena = kernels->session->arena;
    for (size_t i = 0; i < units.count; i++) {
        CudaPart *parts = arena_new_array(arena, CudaPart, made->each + 1);
        for (size_t k = 0; k < made->each; k++)
            parts[k] = part_of(arena, &made->tasks[i * made->each + k]);
        to[units.stages[i]] = (CodegenKernels){&units.items[i], parts, made->each,
                                               cuda_toolkit(compiler)};
    }
}

int kernels_make(const Kernels *kernels, const CodegenKernels **made) {
    const Session *s = kernels->session;
    CudaCompiler compiler;
    Made codes;
    TextBuf error = {0};
    Units units = render(kernels);
    *made = nullptr;
    if (!units.count) return EXIT_DONE;
    if (!cuda_compiler_open(&compiler, s->arena, &error)) {
        bool wanted = kernels->target.gpu_count;
        return complain_of(s->options, wanted ? DIAG_NOT_BUILT : DIAG_NO_KERNELS, &error,
                           wanted ? EXIT_MACHINE : EXIT_DONE);
    }
    Kernels known = *kernels;
    forget_unknown(&compiler, &known.present);
    Form form = known.present.count ? FORM_CUBIN : FORM_BOTH;
    int status = compile(&known, &compiler, units, form, &codes);
    if (status != EXIT_DONE) return status;
    CodegenKernels *all = arena_new_array(s->arena, CodegenKernels, kernels->plan->stage_count + 1);
    fill(&known, &compiler, units, &codes, all);
    *made = all;
    return EXIT_DONE;
}

// ---- explaining ---------------------------------------------------------------------------------

static const char *const team_words[] = {
    [CUDA_THREAD] = "one thread", [CUDA_WARP] = "lanes of a warp", [CUDA_BLOCK] = "a block",
};

static const char *goes_over(const CudaKernel *kernel) {
    return kernel->product ? "is a product"
           : kernel->team  ? "reduces"
           : kernel->shape ? "goes over elements of another shape"
                           : "goes over rows";
}

static size_t row_bytes(const CudaColumn *columns, size_t count, bool temps) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (columns[i].temp != temps) continue;
        const Type *type = columns[i].type;
        uint64_t elements = type->kind == TYPE_TENSOR ? type_elements(type) : 1;
        bytes += elements * type_size(type_base(type_element(type))) + type->nullable;
    }
    return bytes;
}

// Of a row; of a kernel that brings rows together, of one of these.
static size_t moved_bytes(const CudaKernel *kernel) {
    size_t bytes = 0;
    if (kernel->keeps == SB_KERNEL_COUNTS) return 1;
    for (int temps = 0; temps < 2; temps++)
        bytes += row_bytes(kernel->inputs, kernel->input_count, temps) +
                 row_bytes(kernel->outputs, kernel->output_count, temps);
    return kernel->keeps ? 2 * bytes + 1 : bytes;
}

// What takes longer, memory or arithmetic, hides the other.
static void explain_time(TextBuf *out, const CudaKernel *kernel) {
    double memory = cost_of_bytes(moved_bytes(kernel)), work = kernel->work_ns;
    text_buf_format(out,
                    "        about %.4f ns a row; the bandwidth of memory allows %.4f: %s is the "
                    "limit\n", work > memory ? work : memory, memory,
                    work > memory ? "arithmetic" : "memory");
}

static void explain_keeper(TextBuf *out, const CudaKernel *kernel) {
    text_buf_format(out, "    %.*s ", TEXT_ARG(kernel->name));
    if (kernel->keeps == SB_KERNEL_COUNTS)
        text_buf_format(out, "counts kept rows of each %u\n", SB_KERNEL_SEGMENT);
    else
        text_buf_format(out, "brings kept rows together, %zu bytes of each\n",
                        row_bytes(kernel->inputs, kernel->input_count, false));
}

static void explain_uses(TextBuf *out, const CudaKernel *kernel, const CudaTask *tasks,
                         size_t count) {
    for (size_t t = 0; t < count; t++)
        for (size_t u = 0; u < tasks[t].code.use_count; u++) {
            const CudaUse *use = &tasks[t].code.uses[u];
            if (!text_eq(use->kernel, kernel->name)) continue;
            text_buf_format(out,
                            "        sm_%u: %u registers, %u bytes spilled, %u bytes of shared "
                            "memory\n",
                            tasks[t].architecture, use->registers, use->spill_bytes,
                            use->shared_bytes);
        }
}

// `apart`: the kernel before; null: it is the first one.
static void explain_kernel(TextBuf *out, const CudaKernel *kernel, const CudaKernel *apart,
                           const CudaTask *tasks, size_t count) {
    const CudaProduct *product = kernel->product;
    if (kernel->keeps) {
        explain_keeper(out, kernel);
        explain_time(out, kernel);
        explain_uses(out, kernel, tasks, count);
        return;
    }
    if (product)
        text_buf_format(out, "    cuBLASLt multiplies by a matrix of %u x %u %s, sums in f32%s%s\n",
                        product->of.k, product->of.n, type_kind_name(product->of.elem->kind),
                        product->bias.len ? ", adds a bias" : "",
                        product->of.relu ? ", and makes zero of what is below" : "");
    else if (kernel->team)
        text_buf_format(out, "    %.*s reduces %u elements at a time, %s each\n",
                        TEXT_ARG(kernel->name), kernel->size, team_words[kernel->team]);
    else
        text_buf_format(out, "    %.*s goes over %s, %u at a time\n", TEXT_ARG(kernel->name),
                        kernel->shape ? "elements" : "rows", kernel->width);
    if (apart)
        text_buf_format(out, "        apart from the one before, which %s\n", goes_over(apart));
    size_t in = row_bytes(kernel->inputs, kernel->input_count, false);
    if (!product)
        text_buf_format(out, "        takes %zu bytes of a row, gives %zu; one more where the CPU "
                             "has\n            to judge rows\n",
                        in, row_bytes(kernel->outputs, kernel->output_count, false));
    else if (in) text_buf_format(out, "        takes %zu bytes of a row\n", in);
    size_t taken = row_bytes(kernel->inputs, kernel->input_count, true),
           left = row_bytes(kernel->outputs, kernel->output_count, true);
    if (left) text_buf_format(out, "        leaves %zu bytes of a row on the GPU\n", left);
    if (taken)
        text_buf_format(out, "        takes %zu bytes of a row that are on the GPU\n", taken);
    if (kernel->groups)
        text_buf_format(out, "        fills %u groups at most, %u of each block without waiting\n",
                        kernel->groups->slots,
                        kernel->groups->hot ? kernel->groups->hot : kernel->groups->slots);
    if (kernel->tiled)
        text_buf_format(out, "        puts lists together in shared memory, %u rows at a time\n",
                        SB_KERNEL_LANES);
    explain_time(out, kernel);
    explain_uses(out, kernel, tasks, count);
}

int kernels_explain(const Kernels *kernels, TextBuf *out) {
    const Session *s = kernels->session;
    CudaCompiler compiler;
    Made made = {0};
    TextBuf error = {0};
    Units units = render(kernels);
    if (!units.count) return EXIT_DONE;
    bool there = cuda_compiler_open(&compiler, s->arena, &error);
    if (!there && kernels->target.gpu_count)
        return complain_of(s->options, DIAG_NOT_BUILT, &error, EXIT_MACHINE);
    int status = there ? compile(kernels, &compiler, units, FORM_CUBIN, &made) : EXIT_DONE;
    if (status != EXIT_DONE) return status;
    text_buf_add(out, TEXT("kernels"));
    if (!there) text_buf_format(out, ", not compiled: %.*s", (int)error.len, error.at);
    text_buf_char(out, '\n');
    text_buf_free(&error);
    for (size_t i = 0; i < units.count; i++) {
        text_buf_format(out, "stage %u\n", units.stages[i]);
        for (size_t k = 0; k < units.items[i].kernel_count; k++)
            explain_kernel(out, &units.items[i].kernels[k],
                           k ? &units.items[i].kernels[k - 1] : nullptr,
                           made.tasks ? made.tasks + i * made.each : nullptr, made.each);
    }
    return EXIT_DONE;
}
