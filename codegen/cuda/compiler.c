#include "codegen/cuda/compiler.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const unsigned cuda_architectures[] = {75, 80, 89, 90, 100, 120};
const size_t cuda_architecture_count = countof(cuda_architectures);

// ---- the library --------------------------------------------------------------------------------

typedef struct NvrtcProgram NvrtcProgram;

// The functions of NVRTC that are called, by their names there. Each returns 0, or an error.
#define NVRTC_CALLS(X)                                                                             \
    X(Version, (int *major, int *minor))                                                           \
    X(GetNumSupportedArchs, (int *count))                                                          \
    X(GetSupportedArchs, (int *items))                                                             \
    X(CreateProgram, (NvrtcProgram **program, const char *text, const char *name, int headers,     \
                      const char *const *header_texts, const char *const *header_names))           \
    X(DestroyProgram, (NvrtcProgram **program))                                                    \
    X(CompileProgram, (NvrtcProgram *program, int count, const char *const *options))              \
    X(GetProgramLogSize, (NvrtcProgram *program, size_t *bytes))                                   \
    X(GetProgramLog, (NvrtcProgram *program, char *log))                                           \
    X(GetCUBINSize, (NvrtcProgram *program, size_t *bytes))                                        \
    X(GetCUBIN, (NvrtcProgram *program, char *code))                                               \
    X(GetPTXSize, (NvrtcProgram *program, size_t *bytes))                                          \
    X(GetPTX, (NvrtcProgram *program, char *code))

typedef struct NvrtcCalls {
#define X(name, parameters) int (*name) parameters;
    NVRTC_CALLS(X)
#undef X
} NvrtcCalls;

static const struct {
    const char *name;
    size_t      at;
} call_names[] = {
#define X(name, parameters) {"nvrtc" #name, offsetof(NvrtcCalls, name)},
    NVRTC_CALLS(X)
#undef X
};

static void *open_library(void) {
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    const char *given = getenv("SBC_NVRTC");
    if (given && *given) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    void *library = nullptr;
    for (size_t i = 0; !library && i < countof(names); i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool find_calls(void *library, NvrtcCalls *calls, TextBuf *error) {
    for (size_t i = 0; i < countof(call_names); i++) {
        void *symbol = dlsym(library, call_names[i].name);
        if (!symbol) {
            text_buf_format(error, "libnvrtc has no %s: it is too old", call_names[i].name);
            return false;
        }
        memcpy((char *)calls + call_names[i].at, &symbol, sizeof symbol);
    }
    return true;
}

// Stays open until the process ends, as do its threads.
bool cuda_compiler_open(CudaCompiler *compiler, Arena *arena, TextBuf *error) {
    *compiler = (CudaCompiler){0};
    void *library = open_library();
    if (!library) {
        const char *given = getenv("SBC_NVRTC");
        text_buf_format(error, "there is no NVRTC: %s cannot be opened",
                        given && *given ? given : "libnvrtc.so.13");
        return false;
    }
    NvrtcCalls *calls = arena_new_of(arena, NvrtcCalls);
    int count = 0, items[CUDA_ARCHITECTURES_MAX] = {0};
    bool good = find_calls(library, calls, error) &&
                !calls->Version(&compiler->major, &compiler->minor) &&
                !calls->GetNumSupportedArchs(&count) && count <= CUDA_ARCHITECTURES_MAX &&
                !calls->GetSupportedArchs(items);
    for (int i = 0; good && i < count; i++) compiler->architectures[i] = (unsigned)items[i];
    compiler->architecture_count = good ? (size_t)count : 0;
    compiler->calls = calls;
    if (!good && !error->len) text_buf_add(error, TEXT("NVRTC does not say what it compiles for"));
    return good;
}

// ---- compiling ----------------------------------------------------------------------------------

typedef struct Form {
    const char *architecture;  // "sm_80", "compute_75".
    bool        keeps_lines;   // Says of its code from which lines of the program it comes.
    int (*size)(NvrtcProgram *program, size_t *bytes);
    int (*take)(NvrtcProgram *program, char *code);
} Form;

static Text take(Arena *arena, NvrtcProgram *program, const Form *form) {
    size_t bytes = 0;
    if (form->size(program, &bytes) || !bytes) return (Text){0};
    char *at = arena_new_array(arena, char, bytes + 1);
    return form->take(program, at) ? (Text){0} : (Text){at, bytes};
}

// "ptxas info    : Used 18 registers, used 0 barriers, 392 bytes cmem[0]", after a line that names
// the kernel; "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads".
void cuda_read_uses(Arena *arena, CudaCode *code) {
    static const char entry[] = "entry function '", used[] = "Used ", spills[] = "bytes spill";
    const char *log = text_c(arena, code->log);
    for (const char *at = log; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        Text line = {at, strcspn(at, "\n")};
        const char *text = text_c(arena, line), *word = strstr(text, entry);
        if (word) {
            word += sizeof entry - 1;
            CudaUse use = {.kernel = {word, strcspn(word, "'")}};
            arena_push(arena, code->uses, code->use_count, code->use_cap, use);
        }
        CudaUse *use = code->use_count ? &code->uses[code->use_count - 1] : nullptr;
        if (use && (word = strstr(text, used))) use->registers = (unsigned)atoi(word + 5);
        if (use && strstr(text, spills) && (word = strstr(text, "frame, ")))
            use->spill_bytes = (unsigned)atoi(word + 7);
        if (use && (word = strstr(text, " bytes smem"))) {
            while (word > text && word[-1] >= '0' && word[-1] <= '9') word--;
            use->shared_bytes = (unsigned)atoi(word);
        }
    }
}

// The same bits as the CPU's: no product is added without being rounded.
#define CUDA_OPTIONS                                                                               \
    "--fmad=false", "--std=c++17", "--device-int128", "--device-as-default-execution-space",       \
        "--ptxas-options=-v", "--diag-suppress=177", "--generate-line-info"

Text cuda_compiler_text(const CudaCompiler *compiler, Arena *arena) {
    static const char *const options[] = {CUDA_OPTIONS};
    TextBuf buf = {0};
    text_buf_format(&buf, "NVRTC %d.%d", compiler->major, compiler->minor);
    for (size_t i = 0; i < countof(options); i++) text_buf_format(&buf, " %s", options[i]);
    for (size_t i = 0; i < CUDA_HEADERS; i++) text_buf_add(&buf, cuda_headers[i].text);
    return text_buf_take(&buf, arena);
}

static bool compile(const CudaCompiler *compiler, Arena *arena, Text unit, const Form *form,
                    CudaCode *code) {
    const NvrtcCalls *calls = compiler->calls;
    const char *names[CUDA_HEADERS], *texts[CUDA_HEADERS];
    for (size_t i = 0; i < CUDA_HEADERS; i++) {
        names[i] = cuda_headers[i].name;
        texts[i] = text_c(arena, cuda_headers[i].text);
    }
    const char *options[] = {
        text_c(arena, text_format(arena, "--gpu-architecture=%s", form->architecture)),
        CUDA_OPTIONS};
    int option_count = countof(options) - !form->keeps_lines;  // The last one.
    NvrtcProgram *program = nullptr;
    if (calls->CreateProgram(&program, text_c(arena, unit), "kernel", CUDA_HEADERS, texts, names))
        return false;
    bool good = !calls->CompileProgram(program, option_count, options);
    Form log = {nullptr, false, calls->GetProgramLogSize, calls->GetProgramLog};
    code->log = take(arena, program, &log);
    if (code->log.len && !code->log.at[code->log.len - 1]) code->log.len--;
    if (good) code->bytes = take(arena, program, form);
    calls->DestroyProgram(&program);
    return good && code->bytes.len;
}

bool cuda_compiler_knows(const CudaCompiler *compiler, unsigned architecture, TextBuf *error) {
    for (size_t i = 0; i < compiler->architecture_count; i++)
        if (compiler->architectures[i] == architecture) return true;
    text_buf_format(error, "NVRTC %d.%d does not know sm_%u; it knows", compiler->major,
                    compiler->minor, architecture);
    for (size_t i = 0; i < compiler->architecture_count; i++)
        text_buf_format(error, "%s sm_%u", i ? "," : "", compiler->architectures[i]);
    return false;
}

unsigned cuda_toolkit(const CudaCompiler *compiler) {
    return (unsigned)(compiler->major * 1000 + compiler->minor * 10);
}

static bool compile_for(const CudaCompiler *compiler, Arena *arena, Text unit, const Form *form,
                        CudaCode *code, TextBuf *error) {
    *code = (CudaCode){0};
    if (compile(compiler, arena, unit, form, code)) return cuda_read_uses(arena, code), true;
    text_buf_format(error, "kernels do not compile for %s:\n%.*s", form->architecture,
                    TEXT_ARG(code->log));
    return false;
}

bool cuda_compile(const CudaCompiler *compiler, Arena *arena, Text unit, unsigned architecture,
                  CudaCode *code, TextBuf *error) {
    if (!cuda_compiler_knows(compiler, architecture, error)) return false;
    Form form = {text_c(arena, text_format(arena, "sm_%u", architecture)), true,
                 compiler->calls->GetCUBINSize, compiler->calls->GetCUBIN};
    return compile_for(compiler, arena, unit, &form, code, error);
}

bool cuda_compile_ptx(const CudaCompiler *compiler, Arena *arena, Text unit,
                      unsigned architecture, CudaCode *code, TextBuf *error) {
    if (!cuda_compiler_knows(compiler, architecture, error)) return false;
    Form form = {text_c(arena, text_format(arena, "compute_%u", architecture)), false,
                 compiler->calls->GetPTXSize, compiler->calls->GetPTX};
    if (!compile_for(compiler, arena, unit, &form, code, error)) return false;
    if (code->bytes.len && !code->bytes.at[code->bytes.len - 1]) code->bytes.len--;
    return true;
}
