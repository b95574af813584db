// Emit: the state of code generation for one module, and small helpers over the LLVM C API.
//
// Code is generated once, for no particular CPU; codegen/target.c then specialises copies of the
// module. Layouts of runtime/abi.h are used by offsetof: no mirror of them exists here.
#ifndef SBC_CODEGEN_EMIT_H
#define SBC_CODEGEN_EMIT_H

#include "codegen/codegen.h"
#include "ir/plan.h"
#include "runtime/abi.h"

#include <llvm-c/Core.h>

typedef LLVMValueRef Val;
typedef LLVMTypeRef  Ty;
typedef LLVMBasicBlockRef Block;

// A value of the pipeline in registers. str, bytes, json, list: `a` is the address, `b` the length
// (i64). A struct: `a` is the address of its memory. Others: `a`. `valid` (i1) only where the type
// is T?.
typedef struct Value {
    Val a, b, valid;
} Value;

// Where a fault goes: blocks with phis for (site, status, detail address, detail length).
typedef struct FaultTarget {
    Val   fn;         // The function in which it was opened.
    Block block;      // Made at the first use.
    Val   site, status, detail, detail_len;  // Phis, without incoming edges of their own.
    bool  silent;     // An `else VALUE`: nobody looks at the phis; there are none.
    Val   raised;     // In a column loop, of a silent one: i1, did it come to it? Null: no.
    struct FaultTarget *outer;  // What `else reject` and `else fail` go to.
    // Of a row: as its step has it, where the loop goes on, and where it ends. Null: of no row.
    const struct Frame *frame;
    Block next, stop;
} FaultTarget;

typedef struct Site {
    uint32_t step;
    Span     span;
    Text     what;
    bool     fails;
    int8_t   merges;   // SbSite.merges
    Val      known;    // Its number, where the job knows it only; else null.
} Site;

// A column loop under construction: code without a branch, in which conditions are masks.
typedef struct Lanes {
    Val active;   // i1: does the row count where the builder stands? Null: all do.
    Val raised;   // i1: did a row that counts fault, or may it have? Null: none.
    Val kept;     // Of a loop over elements: a slot that keeps `raised` of all of them.
} Lanes;

// A function with its parts; see emit_part.h.
typedef struct Body Body;

// The columns of an operator while a row is on its way; see emit_row.h.
typedef struct Frame Frame;

// A loop over the elements of tensors; see emit_tensor.c.
typedef struct TensorLoop TensorLoop;

typedef struct Emit {
    Arena       *arena;
    const Plan  *plan;
    const Graph *graph;
    const CodegenOptions *options;
    LLVMContextRef ctx;
    LLVMModuleRef  module;
    LLVMBuilderRef b;
    Ty  type_void, i1, i8, i16, i32, i64, i128, f32, f64, ptr, str_pair;
    // The function being emitted.
    Val   fn, task;
    Block entry;            // Allocas go here.
    uint32_t weight;        // How much was emitted into it: blocks, calls, loads and stores.
    Body *body;
    // Undo log of memoised values: leaving a region of control flow forgets what it computed.
    Value **undo;
    size_t  undo_count, undo_cap;
    FaultTarget *faults;    // Where a fault goes here.
    bool  columns_are_plain;  // Loading a column of the stage's input is cheap and cannot fault.
    Lanes *lanes;           // Of the column loop being emitted; null: rows.
    Value *locals;          // By number: parameters of the lambdas around; null: none yet.
    struct Walk *walk;      // Of emit_lambda.c; null: none yet.
    struct Once *onces;     // Of the outermost lambda: what its loop computes at most once.
    size_t once_count, once_cap;
    uint32_t loops;         // Of lambdas, around the builder.
    bool  faults_fail;      // A fault fails the job: inside `else fail`, upstream of a zip.
    bool  judges;           // Operators on tensors are judged one by one (emit_tensor.c).
    // Of the module.
    TensorLoop *tensor_loops;  // Whose functions are not emitted yet.
    struct SinkField *sink_fields;  // The same.
    Site   *sites;
    size_t  site_count, site_cap;
    Val    *python_fns;  // The Python functions that stages call.
    const FnRef **python_refs;
    size_t  python_count, python_fn_cap, python_ref_cap;
    struct StageEmit *stage;    // Of the function being emitted.
    struct DebugInfo *debug;
    struct LineStarts *lines;  // Where lines begin, by source file; null before the first look-up.
    struct ConstCache *types;   // SbType constants by Type.
    uint32_t name_count;
} Emit;

// ---- types and constants ---------------------------------------------------------------------

Ty  emit_type(const Emit *e, const Type *type);     // Of Value.a.
Val emit_int(const Emit *e, Ty type, uint64_t value);
static inline Val emit_i64(const Emit *e, int64_t v) { return emit_int(e, e->i64, (uint64_t)v); }
static inline Val emit_i32(const Emit *e, uint32_t v) { return emit_int(e, e->i32, v); }
static inline Val emit_i1(const Emit *e, bool v) { return emit_int(e, e->i1, v); }
Val emit_i128(const Emit *e, __int128 value);

// ---- control flow ------------------------------------------------------------------------------

// What is emitted from here on is the body of `fn`; its entry block is made (emit_part.c).
void emit_function_open(Emit *e, Val fn);
Block emit_outermost_entry(const Emit *e);  // The entry of the outermost function, also where a
                                            // part is emitted.
Block emit_block(Emit *e, const char *name);       // At the end of the function, not yet entered.
static inline void emit_at(Emit *e, Block block) { LLVMPositionBuilderAtEnd(e->b, block); }
static inline Block emit_here(const Emit *e) { return LLVMGetInsertBlock(e->b); }
static inline void emit_jump(Emit *e, Block to) { LLVMBuildBr(e->b, to); }
void emit_branch(Emit *e, Val condition, Block yes, Block no);
void emit_branch_likely(Emit *e, Val condition, Block likely, Block rare);
// Of the branch at the end of a loop. Unrolling comes before the vectoriser, which then has to put
// the elements together again. A short loop goes away by it, and leaves the next one to the
// vectoriser.
void emit_keep_rolled(Emit *e, Val branch);
Val  emit_alloca(Emit *e, Ty type, const char *name);  // In the entry block.
// The same in the outermost function's, with a constant in it from there on.
Val  emit_alloca_of(Emit *e, Val value, const char *name);
Val  emit_phi(Emit *e, Ty type, const char *name);
void emit_phi_add(Val phi, Val value, Block from);

// Marks and leaves a region: values memoised since the mark are forgotten.
static inline size_t emit_region_begin(const Emit *e) { return e->undo_count; }
void emit_region_end(Emit *e, size_t mark);
void emit_memo(Emit *e, Value *slot, Value value);

// ---- memory -------------------------------------------------------------------------------------

Val  emit_offset(Emit *e, Val address, size_t bytes);           // address + bytes
Val  emit_index(Emit *e, Ty element, Val address, Val index);   // &address[index]
Val  emit_load(Emit *e, Ty type, Val address, const char *name);
Val  emit_load_at(Emit *e, Ty type, Val address, size_t offset, const char *name);
void emit_store(Emit *e, Val value, Val address);
void emit_store_at(Emit *e, Val value, Val address, size_t offset);

// The value as one of `type`, which may be null where the value's own type may not.
static inline Value emit_as_type(const Emit *e, const Type *type, Value value) {
    if (type->nullable && !value.valid) value.valid = emit_i1(e, true);
    return value;
}
// i1: is the pointer null?
static inline Val emit_is_nullptr(const Emit *e, Val pointer) {
    return LLVMBuildICmp(e->b, LLVMIntEQ, pointer, LLVMConstNull(e->ptr), "");
}
// A value of `type` from and to its memory layout (runtime/abi/value.h).
Value emit_load_value(Emit *e, const Type *type, Val address);
void  emit_store_value(Emit *e, const Type *type, Value value, Val address);
Val   emit_value_address(Emit *e, const Type *type, Value value);  // In a fresh alloca.

// ---- floats (emit_half.c) -----------------------------------------------------------------------

// An f16 or bf16 is an f32 in registers. Bits: an integer of the width in memory.
Val emit_float_of_bits(Emit *e, const Type *type, Val bits);
Val emit_float_bits(Emit *e, const Type *type, Val value);
// A float of any width as the nearest of type `to`.
Val emit_float_round(Emit *e, const Type *to, Val value);

// ---- calls --------------------------------------------------------------------------------------

// Calls a C function by its name, declaring it at the first use. Arguments: for each, one LLVM
// value; a str or list argument is two (address, length) and counts once in `args`.
typedef struct Arg {
    Val a, b;            // b: of a pair, else null.
    bool is_signed;      // i8, i16: how C extends it.
    bool is_context;     // SbCall: a function that fails may name there what is at fault.
} Arg;

static inline Arg arg(Val a) { return (Arg){.a = a}; }
static inline Arg arg_pair(Val a, Val b) { return (Arg){.a = a, .b = b}; }

Val emit_call(Emit *e, const char *symbol, Ty result, const Arg *args, unsigned count);
Val emit_intrinsic(Emit *e, const char *name, Ty *types, unsigned type_count, Val *args,
                   unsigned count);
// `index`: LLVMAttributeFunctionIndex, or 1 and up for parameters; `type` of one that has a type.
void emit_attribute(Emit *e, Val fn, unsigned index, const char *name, Ty type);
void emit_cold(Emit *e, Val call);  // Marks a call as unlikely: never inlined.
void emit_no_builtin(Emit *e, Val call);  // LLVM takes nothing for granted of the function.
Val emit_hot(Emit *e,
             Val call);  // Marks a call on the way of every row: inlined if the body of the callee
                         // is there.

#define emit_callv(e, symbol, result, ...)                                                         \
    emit_call((e), (symbol), (result), (Arg[]){__VA_ARGS__},                                       \
              sizeof((Arg[]){__VA_ARGS__}) / sizeof(Arg))

#define emit_hotv(e, symbol, result, ...)                                                          \
    emit_hot((e), emit_callv((e), symbol, (result), __VA_ARGS__))

// ---- constants of the module (emit_const.c) -----------------------------------------------------

// A constant with C layout: parts are added in the order of their offsets; gaps are zero.
typedef struct Parts {
    Val   *values;
    size_t count, cap;
    size_t end;
} Parts;

void part_add(Emit *e, Parts *parts, size_t offset, Val value, size_t size);
void part_add_text(Emit *e, Parts *parts, size_t offset, Text text);  // An SbStr.
Val  parts_struct(Emit *e, Parts *parts, size_t size);
Val  emit_global(Emit *e, Val initializer, const char *name);         // Private, constant.

// Constants one after the other; null where there is none.
Val   emit_sequence(Emit *e, Val *items, uint32_t count, const char *name);
Val   emit_bytes(Emit *e, Text bytes, const char *name);             // A private global, padded.
Val   emit_null_words(Emit *e, const CsvOptions *csv);               // SbStr[null_count]
Value emit_text(Emit *e, Text text);                                 // A str constant.
Value emit_const(Emit *e, const Type *type, const Const *value);
Val   emit_sbtype(Emit *e, const Type *type);                        // Address of its SbType.
// const SbRegex *. `with`: what replaces matches, if that is a constant; null: nothing is known.
Val   emit_regex(Emit *e, Text pattern, const Text *with);
bool emit_regex_is_runs(Text pattern);  // REGEX_RUNS of stdlib/regex/regex.h.
Val   emit_zone(Emit *e, Text name);                                 // const SbZone *

typedef struct LineColumn {
    uint32_t line, column;  // From 1, in bytes; 0: the span is in no file.
} LineColumn;

LineColumn emit_locate(Emit *e, Span span);  // The line and column where the span begins.
void  emit_debug_open(Emit *e);
void  emit_debug_function(Emit *e, Span span, const char *name);
void  emit_debug_close(Emit *e);
// Debug locations: code emitted until the matching leave belongs to `span`.
LLVMMetadataRef emit_debug_enter(Emit *e, Span span);
void  emit_debug_leave(Emit *e, LLVMMetadataRef before);
// A part of the function: what is emitted in it belongs to the same line.
typedef struct DebugPlace {
    LLVMMetadataRef scope, location;
} DebugPlace;
DebugPlace emit_debug_place(const Emit *e);
void  emit_debug_part(Emit *e, const char *name);
void  emit_debug_return(Emit *e, DebugPlace place);
// A constant in memory layout, for the data module and for nested constants.
Val   emit_const_memory(Emit *e, const Type *type, const Const *value);

#endif
