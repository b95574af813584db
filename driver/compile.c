#include "driver/compile.h"

#include "codegen/build/build.h"
#include "codegen/build/cache.h"
#include "codegen/build/target_file.h"
#include "driver/commands.h"
#include "driver/externs.h"
#include "driver/header.h"
#include "driver/job_place.h"
#include "driver/kernels.h"
#include "driver/read_graph.h"
#include "ir/pass.h"
#include "runtime/abi.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// False: the target file is wrong, which has been said.
static bool read_target(const Session *s, Target *target) {
    const char *path = s->options->target;
    TargetMistakes mistakes = {0};
    *target = (Target){.levels = LEVELS_BOTH};
    if (!path) return true;
    if (strcmp(path, "native") == 0) return target->levels = target_native(), true;
    bool good = target_file_read(s->arena, path, target, &mistakes);
    for (size_t i = 0; i < mistakes.count; i++)
        complain(s->options, DIAG_TARGET_FILE, nullptr, "%.*s", TEXT_ARG(mistakes.items[i]));
    return good;
}

// ---- the key ------------------------------------------------------------------------------------

// The types of sources: of an inferred one the text of the program does not say it.
static void add_sources(const Session *s, TextBuf *parts) {
    const Graph *graph = s->program->graph;
    for (size_t i = 0; i < graph->op_count; i++) {
        const Op *op = &graph->ops[i];
        if (op->kind != OP_SOURCE) continue;
        for (uint32_t j = 0; j < op->source.column_count; j++) {
            cache_key_add(parts, "column", op->source.columns[j].name);
            cache_key_add(parts, "type", type_text(s->arena, op->source.columns[j].type));
        }
    }
}

// What the program has of files.
static void add_loaded(const Session *s, TextBuf *parts) {
    for (size_t i = 0; i < s->program->loaded_count; i++)
        cache_key_add(parts, "loaded", s->program->loaded[i]);
}

static void add_program(const Session *s, TextBuf *parts, unsigned levels) {
    cache_key_add(parts, "name", text_of(s->name));
    cache_key_add(parts, "options",
                  text_format(s->arena, "%u %d %s", levels, s->options->no_fuse,
                              s->options->after ? s->options->after : ""));
    for (size_t i = 0; i < s->sources->file_count; i++) {
        cache_key_add(parts, "file", s->sources->files[i].path);
        cache_key_add(parts, "text", s->sources->files[i].text);
    }
    add_loaded(s, parts);
    add_sources(s, parts);
}

int compile_key(const Session *s, const char *cache, const char **key) {
    TextBuf parts = {0};
    ExternFault fault = {0};
    Text build;
    Target target;
    ExternFiles externs = extern_files(s->program->graph);
    if (!read_target(s, &target)) return EXIT_WRONG_USAGE;
    if (!cache_build_id(s->arena, cache, &build)) {
        complain(s->options, DIAG_NOT_BUILT, nullptr, "the parts of sbc cannot be read");
        return EXIT_MACHINE;
    }
    cache_key_add(&parts, "build", build);
    for (uint32_t i = 0; i < target.gpu_count; i++)
        cache_key_add(&parts, "gpu", text_format(s->arena, "%u", target.gpus[i]));
    CudaPresent present = kernels_present(s, &target);
    for (size_t i = 0; i < present.count; i++)
        cache_key_add(&parts, "present", text_format(s->arena, "%u", present.items[i]));
    const char *nvrtc = getenv("SBC_NVRTC");  // It says which kernels the job has, if any.
    cache_key_add(&parts, "nvrtc", text_of(nvrtc ? nvrtc : ""));
    add_program(s, &parts, target.levels);
    bool good = extern_key(s->arena, &externs, &parts, &fault);
    if (good) *key = cache_key(s->arena, &parts);
    text_buf_free(&parts);
    return good ? EXIT_DONE : externs_complain(s, &fault);
}

// ---- from plan to executable --------------------------------------------------------------------

typedef struct Work {
    Plan          *plan;
    Target         target;
    CodegenOptions codegen;
} Work;

static Kernels kernels_of(Session *s, const Work *work) {
    CudaSources sources = {work->codegen.paths, work->codegen.sources, s->sources->file_count};
    return (Kernels){s, work->plan, sources, work->target, kernels_present(s, &work->target)};
}

static const char *source_hash(const Session *s) {
    TextBuf parts = {0};
    for (size_t i = 0; i < s->sources->file_count; i++)
        cache_key_add(&parts, "text", s->sources->files[i].text);
    add_loaded(s, &parts);
    const char *hash = cache_key(s->arena, &parts);
    text_buf_free(&parts);
    return hash;
}

static bool can_place(void *self) { return kernels_can_compile(self); }

// False: what is wrong has been said.
static bool prepare(Session *s, Work *work) {
    *work = (Work){0};
    if (!read_target(s, &work->target) || !session_optimise(s)) return false;
    work->codegen.levels = work->target.levels;
    uint32_t last = s->options->after ? plan_pass_find(text_of(s->options->after)) : 0;
    // Who names GPUs has some where the job is to run.
    PlanPlacing placing = {work->target.gpu_count ? can_place : nullptr, s->arena};
    work->plan = plan_make(s->program->graph, (PlanOptions){.no_fuse = s->options->no_fuse,
                                                            .placing = placing,
                                                            .remarks = s->remarks,
                                                            .last = last});
    size_t count = s->sources->file_count;
    Text *paths = arena_new_array(s->arena, Text, count + 1);
    Text *texts = arena_new_array(s->arena, Text, count + 1);
    for (size_t i = 0; i < count; i++) {
        paths[i] = s->sources->files[i].path;
        texts[i] = s->sources->files[i].text;
    }
    TextBuf explained = {0};
    plan_explain(&explained, work->plan);
    // The job itself knows better.
    if (s->options->explain) {
        plan_explain_memory(&explained, work->plan);
        plan_explain_exchange(&explained, work->plan);
    }
    remarks_print(&explained, s->remarks, s->program->graph, texts);
    Text plan_text = text_buf_take(&explained, s->arena);
    work->codegen.job_name = s->name;
    work->codegen.plan_text = text_c(s->arena, plan_text);
    work->codegen.source_hash = source_hash(s);
    char folder[PATH_MAX];
    work->codegen.folder = text_c(s->arena, text_of(getcwd(folder, sizeof folder) ? folder : "."));
    work->codegen.paths = paths;
    work->codegen.sources = texts;
#ifndef NDEBUG
    work->codegen.verify = true;
#endif
    return true;
}

// The job judges it too, and by what else its tables hold.
static bool fits_one_job(const Session *s, const Plan *plan) {
    if (plan->stage_count + plan->sink_count <= SB_STAGES_MAX) return true;
    Session later = session_later(s);
    Span span = graph_op_at(plan->graph, plan->sinks[plan->sink_count - 1])->span;
    Diag *diag = diag_add(later.diags, DIAG_TOO_WIDE, span,
                          "the program has %zu stages and %zu sinks, more than %d together",
                          plan->stage_count, plan->sink_count, SB_STAGES_MAX);
    diag_label(later.diags, diag, span, "the last sink");
    diag_fix(later.diags, diag, "make several programs of it; --explain lists its stages");
    session_report(&later);
    return false;
}

int compile_to(Session *s, const char *output) {
    Work work;
    TextBuf error = {0};
    if (!prepare(s, &work)) return EXIT_WRONG_USAGE;
    if (!fits_one_job(s, work.plan)) return EXIT_WRONG_PROGRAM;
    Kernels kernels = kernels_of(s, &work);
    int status = kernels_make(&kernels, &work.codegen.kernels);
    if (status != EXIT_DONE) return status;
    ExternFiles externs = extern_files(s->program->graph);
    ExternHeader header = header_of(s);
    ExternBuild objects;
    ExternFault fault = {0};
    if (!extern_compile(s->arena, &externs, &header, &objects, &fault))
        return externs_complain(s, &fault);
    JobFile file = {output, objects.objects};
    bool built = build_job(s->arena, work.plan, &work.codegen, file, &error);
    extern_remove(&objects);
    return built ? EXIT_DONE : complain_of(s->options, DIAG_NOT_BUILT, &error, EXIT_MACHINE);
}

static int compile_dump(Session *s) {
    Work work;
    TextBuf buf = {0}, error = {0};
    if (!prepare(s, &work)) return EXIT_WRONG_USAGE;
    Kernels kernels = kernels_of(s, &work);
    int status = EXIT_DONE;
    bool ok = true;
    switch (s->options->dump) {
    case DUMP_NONE: case DUMP_AST: break;
    case DUMP_IR: graph_print(&buf, s->program->graph); break;
    case DUMP_PLAN: plan_print(&buf, work.plan); break;
    case DUMP_CUDA: kernels_print(&kernels, &buf); break;
    case DUMP_PTX: status = kernels_print_ptx(&kernels, &buf); break;
    case DUMP_SASS: status = kernels_print_sass(&kernels, &buf); break;
    case DUMP_LLVM:
        work.codegen.form = CODEGEN_LLVM;
        ok = build_text(s->arena, work.plan, &work.codegen, &buf, &error);
        break;
    case DUMP_ASM:
        work.codegen.form = CODEGEN_ASM;
        ok = build_text(s->arena, work.plan, &work.codegen, &buf, &error);
        break;
    }
    put(stdout, &buf);
    return ok ? status : complain_of(s->options, DIAG_NOT_BUILT, &error, EXIT_MACHINE);
}

static int compile_explain(Session *s) {
    Work work;
    if (!prepare(s, &work)) return EXIT_WRONG_USAGE;
    fputs(work.codegen.plan_text, stdout);
    Kernels kernels = kernels_of(s, &work);
    TextBuf said = {0};
    int status = kernels_explain(&kernels, &said);
    put(stdout, &said);
    return status;
}

int compile_unnamed(Session *s, int *fd) {
    const char *folder;
    TextBuf error = {0};
    if (!build_folder(s->arena, &folder, &error))
        return complain_of(s->options, DIAG_NOT_BUILT, &error, EXIT_MACHINE);
    const char *job = text_c(s->arena, text_format(s->arena, "%s/job", folder));
    int status = compile_to(s, job);
    *fd = status == EXIT_DONE ? open(job, O_RDONLY | O_CLOEXEC) : -1;
    unlink(job);
    rmdir(folder);
    return status;
}

static int compile_away(Session *s) {
    int fd;
    int status = compile_unnamed(s, &fd);
    if (fd >= 0) close(fd);
    return status;
}

int compile_command(const Options *options) {
    if (options->dump == DUMP_AST && !options->after) return check_command(options);
    if (options->dump == DUMP_AST) {
        complain(options, DIAG_WRONG_USAGE, "--dump=ir --after=PASS",
                 "the tree is there before the first pass");
        return EXIT_WRONG_USAGE;
    }
    if (options->file_count != 1) {
        complain(options, DIAG_WRONG_USAGE, "sbc FILE.sbd -o JOB",
                 "one program is compiled at a time");
        return EXIT_WRONG_USAGE;
    }
    const char *path = options->files[0];
    bool prints = options->dump != DUMP_NONE || options->explain;
    JobPlace place = {0};
    if (!prints && !job_place_find(options, path, &place)) return EXIT_WRONG_PROGRAM;
    Session s = session_new(options);
    if (session_load(&s, path)) session_check(&s, (CheckAs){0});
    int status = session_report(&s);
    if (status != EXIT_DONE) return status;
    if (options->dump != DUMP_NONE) return compile_dump(&s);
    if (options->explain) return compile_explain(&s);
    return place.discard ? compile_away(&s) : compile_to(&s, place.path);
}
