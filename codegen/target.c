#include "codegen/target.h"

#include "codegen/stdlib_bitcode.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

const TargetLevel target_levels[TARGET_LEVELS] = {{"v3", "x86-64-v3"}, {"v4", "x86-64-v4"}};

static const char triple[] = "x86_64-unknown-linux-gnu";

void target_init(size_t bitcode_bytes) {
    // A program of some hundred columns. Its time to compile is what people wait for: without the
    // scheduler of machine instructions that is a sixth less, and rows take 1 % more.
    enum { WIDE_BYTES = 256 << 10 };
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // The scheduler compares loads and stores of a block pair by pair. In blocks with more of them
    // than this it forgets the earlier ones, so that wide rows take time by their columns.
    static const char *const options[] = {"sbc", "-dag-maps-huge-region=64",
                                          "-enable-misched=false"};
    LLVMParseCommandLineOptions(bitcode_bytes > WIDE_BYTES ? 3 : 2, options, nullptr);
}

static void fail(TargetWork *work, const char *what, const char *why) {
    text_buf_format(&work->error, "%s: %s", what, why ? why : "no reason given");
}

static LLVMTargetMachineRef machine_for(TargetWork *work) {
    LLVMTargetRef target;
    char *why = nullptr;
    if (LLVMGetTargetFromTriple(triple, &target, &why)) {
        fail(work, "no target", why);
        LLVMDisposeMessage(why);
        return nullptr;
    }
    return LLVMCreateTargetMachine(target, triple, work->level ? work->level->cpu : "x86-64", "",
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
}

// Does the module call a function that the library file defines?
static bool is_wanted(LLVMModuleRef module, LLVMModuleRef library) {
    for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || LLVMGetLinkage(f) != LLVMExternalLinkage) continue;
        size_t len;
        const char *name = LLVMGetValueName2(f, &len);
        LLVMValueRef here = LLVMGetNamedFunctionWithLength(module, name, len);
        if (here && LLVMIsDeclaration(here)) return true;
    }
    return false;
}

// The library is there to be inlined: what is not inlined is called in libsbrt.a.
static bool link_file(TargetWork *work, LLVMModuleRef module, LLVMModuleRef library) {
    LLVMSetTarget(library, triple);
    LLVMSetDataLayout(library, LLVMGetDataLayoutStr(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage)
            LLVMSetLinkage(f, LLVMAvailableExternallyLinkage);
    if (!LLVMLinkModules2(module, library)) return true;
    fail(work, "linking", "the library's bitcode");
    return false;
}

// Function bodies are read when a file is linked, so that looking at one costs little.
static LLVMModuleRef open_file(TargetWork *work, LLVMContextRef ctx, StdlibBitcode bc) {
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange((const char *)bc.bytes, bc.len, bc.name, 0);
    LLVMModuleRef library = nullptr;
    if (!LLVMGetBitcodeModuleInContext2(ctx, buffer, &library)) return library;
    fail(work, "library bitcode", bc.name);
    return nullptr;
}

// Links the files that the module needs, and those that these need.
static bool link_library(TargetWork *work, LLVMModuleRef module) {
    enum { FILES_MAX = 64 };
    bool linked[FILES_MAX] = {0}, again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < stdlib_bitcode_count && i < FILES_MAX; i++) {
            if (linked[i]) continue;
            LLVMModuleRef library = open_file(work, LLVMGetModuleContext(module),
                                              stdlib_bitcode[i]);
            if (!library) return false;
            if (!is_wanted(module, library)) {
                LLVMDisposeModule(library);
                continue;
            }
            if (!link_file(work, module, library)) return false;
            linked[i] = again = true;
        }
    }
    return true;
}

// So that the stack of a crash can be walked at every instruction; it costs no instruction.
static LLVMAttributeRef unwind_table(LLVMContextRef ctx) {
    enum { ASYNCHRONOUS = 2 };
    static const char name[] = "uwtable";
    return LLVMCreateEnumAttribute(ctx, LLVMGetEnumAttributeKindForName(name, sizeof name - 1),
                                   ASYNCHRONOUS);
}

// After O1, for the one loop of a function that works on columns.
static const char vector_passes[] =
    "loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse";

static bool has_prefix(LLVMValueRef fn, const char *prefix) {
    size_t len, most = strlen(prefix);
    const char *name = LLVMGetValueName2(fn, &len);
    return len >= most && memcmp(name, prefix, most) == 0;
}

static bool works_on_columns(LLVMValueRef fn) {
    return !LLVMIsDeclaration(fn) && has_prefix(fn, "sb_columns_");
}

// A loop over a chunk was to stay rolled (emit_keep_rolled); LLVM then has one vector in a turn. It
// may now have several. Tensors may have fewer elements than that.
static void let_interleave(LLVMValueRef fn) {
    static const char kind[] = "llvm.loop";
    unsigned id = LLVMGetMDKindIDInContext(LLVMGetModuleContext(LLVMGetGlobalParent(fn)), kind,
                                           sizeof kind - 1);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block;
         block = LLVMGetNextBasicBlock(block))
        LLVMSetMetadata(LLVMGetBasicBlockTerminator(block), id, nullptr);
}

static void add_text_attribute(LLVMValueRef fn, const char *name, const char *value) {
    LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
    LLVMAddAttributeAtIndex(fn, (unsigned)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(ctx, name, (unsigned)strlen(name), value,
                                                      (unsigned)strlen(value)));
}

// sb_stage_0 becomes sb_stage_0_v3, so that levels lie side by side in one job. Column loops may
// use 512 bits, of which LLVM prefers half (measured: they then take 0.5 to 0.8 of the time).
static void name_level(TargetWork *work, LLVMModuleRef module) {
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || LLVMGetLinkage(f) != LLVMExternalLinkage) continue;
        char name[96];
        size_t len;
        const char *old = LLVMGetValueName2(f, &len);
        int written = snprintf(name, sizeof name, "%.*s_%s", (int)len, old, work->level->name);
        LLVMSetValueName2(f, name, (size_t)written);
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f)) continue;
        add_text_attribute(f, "target-cpu", work->level->cpu);
        LLVMRemoveStringAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex, "target-features",
                                         15);
        LLVMRemoveStringAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex, "tune-cpu", 8);
        if (works_on_columns(f)) add_text_attribute(f, "prefer-vector-width", "512");
    }
}

// O1: row loops call and branch, so that the loop passes of O2 find nothing in them (measured: the
// same speed, a quarter less time to compile). What must be inlined says so itself. Column loops
// get the passes that they are made for.
static bool optimise(TargetWork *work, LLVMModuleRef module, LLVMTargetMachineRef machine) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, "default<O1>", machine, options);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f && !error; f = LLVMGetNextFunction(f)) {
        if (!works_on_columns(f)) continue;
        if (!has_prefix(f, "sb_columns_tensor_")) let_interleave(f);
        error = LLVMRunPassesOnFunction(f, vector_passes, machine, options);
    }
    LLVMDisposePassBuilderOptions(options);
    if (!error) return true;
    char *why = LLVMGetErrorMessage(error);
    fail(work, "optimising", why);
    LLVMDisposeErrorMessage(why);
    return false;
}

static void emit_result(TargetWork *work, LLVMModuleRef module, LLVMTargetMachineRef machine) {
    if (work->form == CODEGEN_LLVM) {
        char *text = LLVMPrintModuleToString(module);
        work->result = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "llvm");
        LLVMDisposeMessage(text);
        return;
    }
    char *why = nullptr;
    LLVMCodeGenFileType type = work->form == CODEGEN_ASM ? LLVMAssemblyFile : LLVMObjectFile;
    if (!LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &why, &work->result)) return;
    fail(work, "emitting code", why);
    LLVMDisposeMessage(why);
}

// What is no stage is called as the lowest level has it.
static void drop_others(LLVMModuleRef module) {
    LLVMValueRef next;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = next) {
        bool stage = has_prefix(f, "sb_stage_");
        next = LLVMGetNextFunction(f);
        bool here = !LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage;
        if (here && !stage && !LLVMGetFirstUse(f)) LLVMDeleteFunction(f);
    }
}

static bool prepare(TargetWork *work, LLVMModuleRef module, LLVMTargetMachineRef machine) {
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    char *layout_text = LLVMCopyStringRepOfTargetData(layout);
    LLVMSetTarget(module, triple);
    LLVMSetDataLayout(module, layout_text);
    LLVMDisposeMessage(layout_text);
    LLVMDisposeTargetData(layout);
    if (!work->level) return true;
    if (!work->lowest) drop_others(module);
    if (!link_library(work, module)) return false;
    name_level(work, module);
    return optimise(work, module, machine);
}

static bool verify(TargetWork *work, LLVMModuleRef module) {
    char *why = nullptr;
    bool bad = work->verify && LLVMVerifyModule(module, LLVMReturnStatusAction, &why);
    if (bad) fail(work, "generated code is wrong", why);
    LLVMDisposeMessage(why);
    return !bad;
}

void target_run(TargetWork *work) {
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMTargetMachineRef machine = machine_for(work);
    LLVMModuleRef module = nullptr;
    if (machine && LLVMParseBitcodeInContext2(ctx, work->bitcode, &module)) {
        module = nullptr;
        fail(work, "generated bitcode", "it does not parse");
    }
    if (module && verify(work, module) && prepare(work, module, machine))
        emit_result(work, module, machine);
    if (module) LLVMDisposeModule(module);
    if (machine) LLVMDisposeTargetMachine(machine);
    LLVMContextDispose(ctx);
}
