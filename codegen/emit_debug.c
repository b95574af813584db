// Debug locations: generated code belongs to lines of the .sbd file (DWARF 4).
#include "codegen/emit.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

struct LineStarts {
    const uint32_t *at;  // Byte offsets; the first is 0.
    size_t          count;
};

struct DebugInfo {
    LLVMDIBuilderRef builder;
    LLVMMetadataRef *files;    // By source file.
    LLVMMetadataRef  unit, scope;
    size_t           file_count;
};

static struct LineStarts find_lines(Emit *e, Text text) {
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++) count += text.at[i] == '\n';
    uint32_t *starts = arena_new_array(e->arena, uint32_t, count);
    size_t line = 1;
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '\n') starts[line++] = (uint32_t)i + 1;
    return (struct LineStarts){starts, count};
}

LineColumn emit_locate(Emit *e, Span span) {
    if (span.file == SPAN_NONE || span.file >= e->graph->file_count) return (LineColumn){0};
    if (!e->lines) e->lines = arena_new_array(e->arena, struct LineStarts, e->graph->file_count);
    struct LineStarts *lines = &e->lines[span.file];
    if (!lines->count) *lines = find_lines(e, e->options->sources[span.file]);
    size_t low = 0, high = lines->count;  // The line begins in [low, high).
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (lines->at[middle] <= span.start) low = middle;
        else high = middle;
    }
    return (LineColumn){(uint32_t)low + 1, span.start - lines->at[low] + 1};
}

void emit_debug_open(Emit *e) {
    struct DebugInfo *debug = arena_new_of(e->arena, struct DebugInfo);
    debug->builder = LLVMCreateDIBuilder(e->module);
    debug->file_count = e->graph->file_count;
    debug->files = arena_new_array(e->arena, LLVMMetadataRef, debug->file_count + 1);
    for (size_t i = 0; i < debug->file_count; i++) {
        Text path = e->options->paths[i];
        debug->files[i] = LLVMDIBuilderCreateFile(debug->builder, path.at, path.len, ".", 1);
    }
    LLVMMetadataRef first = debug->file_count
                                ? debug->files[0]
                                : LLVMDIBuilderCreateFile(debug->builder, "job", 3, ".", 1);
    if (!debug->file_count) debug->files[0] = first;
    debug->unit = LLVMDIBuilderCreateCompileUnit(
        debug->builder, LLVMDWARFSourceLanguageC, first, "sbc", 3, true, "", 0, 0, "", 0,
        LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
    e->debug = debug;
    Val dwarf = emit_i32(e, 4), version = emit_i32(e, LLVMDebugMetadataVersion());
    LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, "Dwarf Version", 13,
                      LLVMValueAsMetadata(dwarf));
    LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18,
                      LLVMValueAsMetadata(version));
}

static LineColumn line_of(LLVMMetadataRef location) {
    return (LineColumn){LLVMDILocationGetLine(location), LLVMDILocationGetColumn(location)};
}

static void set_location(Emit *e, LineColumn at) {
    LLVMMetadataRef location = LLVMDIBuilderCreateDebugLocation(e->ctx, at.line, at.column,
                                                                e->debug->scope, nullptr);
    LLVMSetCurrentDebugLocation2(e->b, location);
}

// What the function that is emitted now is called, and where it begins.
static void name_function(Emit *e, const char *name, LLVMMetadataRef file, LineColumn at) {
    struct DebugInfo *debug = e->debug;
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(debug->builder, file, nullptr, 0,
                                                             LLVMDIFlagZero);
    debug->scope = LLVMDIBuilderCreateFunction(debug->builder, file, name, strlen(name), name,
                                               strlen(name), file, at.line, type, true, true,
                                               at.line, LLVMDIFlagZero, true);
    LLVMSetSubprogram(e->fn, debug->scope);
    set_location(e, at);
}

void emit_debug_function(Emit *e, Span span, const char *name) {
    bool known = span.file != SPAN_NONE && span.file < e->debug->file_count;
    LineColumn at = known ? emit_locate(e, span) : (LineColumn){1, 1};
    name_function(e, name, e->debug->files[known ? span.file : 0], at);
}

LLVMMetadataRef emit_debug_enter(Emit *e, Span span) {
    LLVMMetadataRef before = LLVMGetCurrentDebugLocation2(e->b);
    bool known = e->debug && e->debug->scope && span.file != SPAN_NONE &&
                 span.file < e->debug->file_count;
    if (known) set_location(e, emit_locate(e, span));
    return before;
}

// A part may have begun or ended since: the line is the same, the function another.
void emit_debug_leave(Emit *e, LLVMMetadataRef before) {
    if (before && LLVMDILocationGetScope(before) != e->debug->scope)
        set_location(e, line_of(before));
    else LLVMSetCurrentDebugLocation2(e->b, before);
}

DebugPlace emit_debug_place(const Emit *e) {
    return (DebugPlace){e->debug->scope, LLVMGetCurrentDebugLocation2(e->b)};
}

void emit_debug_part(Emit *e, const char *name) {
    LLVMMetadataRef at = LLVMGetCurrentDebugLocation2(e->b);
    if (!at) {
        name_function(e, name, e->debug->files[0], (LineColumn){1, 1});
        return;
    }
    name_function(e, name, LLVMDIScopeGetFile(e->debug->scope), line_of(at));
}

void emit_debug_return(Emit *e, DebugPlace place) {
    e->debug->scope = place.scope;
    LLVMSetCurrentDebugLocation2(e->b, place.location);
}

void emit_debug_close(Emit *e) {
    LLVMDIBuilderFinalize(e->debug->builder);
    LLVMDisposeDIBuilder(e->debug->builder);
    e->debug = nullptr;
}
