#include "codegen/target.h"

#include "codegen/stdlib_bitcode.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

const TargetLevel target_levels[TARGET_LEVELS] = {{"v3", "x86-64-v3"}, {"v4", "x86-64-v4"}};

static const char triple[] = "x86_64-unknown-linux-gnu";

void target_init(void) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
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

// Functions of the library that the module calls are looked for in the embedded bitcode. They are
// there to be inlined: what is not inlined is called in libsbrt.a.
static bool link_library(TargetWork *work, LLVMModuleRef module) {
    LLVMContextRef ctx = LLVMGetModuleContext(module);
    for (size_t i = 0; i < stdlib_bitcode_count; i++) {
        StdlibBitcode bc = stdlib_bitcode[i];
        LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange((const char *)bc.bytes, bc.len, bc.name, 0);
        LLVMModuleRef library;
        bool failed = LLVMParseBitcodeInContext2(ctx, buffer, &library);
        LLVMDisposeMemoryBuffer(buffer);
        if (failed) {
            fail(work, "library bitcode", bc.name);
            return false;
        }
        LLVMSetTarget(library, triple);
        LLVMSetDataLayout(library, LLVMGetDataLayoutStr(module));
        for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f))
            if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage)
                LLVMSetLinkage(f, LLVMAvailableExternallyLinkage);
        if (LLVMLinkModules2(module, library)) {
            fail(work, "linking the library", bc.name);
            return false;
        }
    }
    return true;
}

// sb_stage_0 becomes sb_stage_0_v3, so that levels lie side by side in one job.
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
        LLVMContextRef ctx = LLVMGetModuleContext(module);
        LLVMAddAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex,
            LLVMCreateStringAttribute(ctx, "target-cpu", 10, work->level->cpu, (unsigned)strlen(work->level->cpu)));
        LLVMRemoveStringAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex, "target-features", 15);
        LLVMRemoveStringAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex, "tune-cpu", 8);
    }
}

static bool optimise(TargetWork *work, LLVMModuleRef module, LLVMTargetMachineRef machine) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, "default<O2>", machine, options);
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

static bool prepare(TargetWork *work, LLVMModuleRef module, LLVMTargetMachineRef machine) {
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    char *layout_text = LLVMCopyStringRepOfTargetData(layout);
    LLVMSetTarget(module, triple);
    LLVMSetDataLayout(module, layout_text);
    LLVMDisposeMessage(layout_text);
    LLVMDisposeTargetData(layout);
    if (!work->level) return true;
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
    if (module && verify(work, module) && prepare(work, module, machine)) emit_result(work, module, machine);
    if (module) LLVMDisposeModule(module);
    if (machine) LLVMDisposeTargetMachine(machine);
    LLVMContextDispose(ctx);
}
