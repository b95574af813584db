// Parts: what a long function does next goes on in a function of its own.
//
//   stage ── call ─▶ part ── call ─▶ part      memory: values that inner parts use (a frame of the
//     ▲  which exit?  │  which exit?  │        outermost function), each with a home that is filled
//     └───────────────┴───────────────┘        after its definition
//
// LLVM's work on a function grows faster than the function: liveness, register allocation and
// debug values go over all blocks for all values. So code is emitted as if it stood in one
// function, and a part is closed over it afterwards. An operand that an outer function defines is
// loaded from its home. A jump to a block of an outer function, a return or a fault becomes the
// number of an exit, by which the caller goes on.
#include "codegen/emit_part.h"

#include <assert.h>
#include <stdio.h>

typedef struct Home {
    Val    value;     // Null: the place is free.
    size_t offset;    // In the memory.
} Home;

typedef struct Exit {
    Block to;             // In an outer function; null: it returns, or the row faults.
    FaultTarget *faults;  // An outer function's; null: it does not fault.
    Block stub;
} Exit;

// Where a fault goes whose target is an outer function's.
typedef struct Bridge {
    FaultTarget *outer, here;
} Bridge;

typedef struct Part Part;

struct Part {
    Part  *outer;
    Val    fn, memory;
    Block  entry, from;      // `from`: where the outer function calls it.
    size_t number;
    // Of the outer function.
    Val       outer_fn;
    Block     outer_entry;
    uint32_t  outer_weight;
    DebugPlace outer_place;
    size_t    mark;
    Exit  *exits;
    size_t exit_count, exit_cap;
    Bridge **bridges;
    size_t bridge_count, bridge_cap;
};

struct Body {
    Val    fn;               // The outermost function.
    Block  entry;
    Val    memory;           // Null: none yet.
    size_t bytes;
    size_t part_count, depth;
    Part  *inner;            // The one that is being emitted; null: the outermost function is.
    Home  *homes;            // A hash table by value.
    size_t home_count, home_cap;
    size_t fault_home, return_home;   // Offsets; 0: none yet.
};

enum {
    WEIGHT_MAX = 2500,   // Of a function (Emit.weight); a row of 50 columns keeps below it.
    HOME_BYTES = 16,     // The largest value: a pair, or 128 bits.
};

void emit_function_open(Emit *e, Val fn) {
    e->fn = fn;
    e->entry = emit_block(e, "entry");
    e->faults = nullptr;
    e->weight = 0;
    e->body = arena_new_of(e->arena, Body);
    *e->body = (Body){.fn = fn, .entry = e->entry, .bytes = HOME_BYTES};
}

Block emit_outermost_entry(const Emit *e) { return e->body->entry; }

size_t part_depth(const Emit *e) { return e->body->depth; }

// ---- memory -------------------------------------------------------------------------------------

static Val function_of(Val value) {
    if (LLVMIsAArgument(value)) return LLVMGetParamParent(value);
    if (!LLVMIsAInstruction(value)) return nullptr;
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(value));
}

static Val memory_in(const Emit *e, Val fn) {
    return fn == e->body->fn ? e->body->memory : LLVMGetParam(fn, 0);
}

static size_t take_home(Emit *e, size_t bytes) {
    Body *body = e->body;
    size_t offset = body->bytes;
    body->bytes += bytes;
    LLVMSetOperand(body->memory, 0, emit_i64(e, (int64_t)body->bytes));
    return offset;
}

static Home *find_home(const Body *body, Val value) {
    enum : uint64_t { SPREAD = 0x9e3779b97f4a7c15 };
    size_t mask = body->home_cap - 1, at = (size_t)((uintptr_t)value * SPREAD >> 32) & mask;
    while (body->homes[at].value && body->homes[at].value != value) at = (at + 1) & mask;
    return &body->homes[at];
}

static void make_room(Emit *e) {
    Body *body = e->body;
    enum { FIRST = 64 };
    if (2 * (body->home_count + 1) <= body->home_cap) return;
    Body old = *body;
    body->home_cap = old.home_cap ? 2 * old.home_cap : FIRST;
    body->homes = arena_new_array(e->arena, Home, body->home_cap);
    for (size_t i = 0; i < old.home_cap; i++)
        if (old.homes[i].value) *find_home(body, old.homes[i].value) = old.homes[i];
}

// What stands there takes no line: it may be another function's.
static void go_before_end(Emit *e, Block block) {
    Val end = LLVMGetBasicBlockTerminator(block);
    if (end) LLVMPositionBuilderBefore(e->b, end);
    else emit_at(e, block);
    LLVMSetCurrentDebugLocation2(e->b, nullptr);
}

// After the definition; of what is there when its function begins, at the end of the entry.
static void go_behind(Emit *e, Val value) {
    if (LLVMIsAArgument(value)) {
        go_before_end(e, LLVMGetEntryBasicBlock(LLVMGetParamParent(value)));
        return;
    }
    Block block = LLVMGetInstructionParent(value);
    Val next = LLVMGetNextInstruction(value);
    while (next && LLVMIsAPHINode(next)) next = LLVMGetNextInstruction(next);
    if (LLVMIsAAllocaInst(value)) go_before_end(e, block);
    else if (next) LLVMPositionBuilderBefore(e->b, next);
    else emit_at(e, block);
    LLVMSetCurrentDebugLocation2(e->b, nullptr);
}

static bool is_outer(const Part *part, Val fn) {
    while (part && part->outer_fn != fn) part = part->outer;
    return part != nullptr;
}

static Home *home_of(Emit *e, const Part *part, Val value) {
    make_room(e);
    Home *home = find_home(e->body, value);
    if (home->value) return home;
    assert(is_outer(part, function_of(value)));  // A part leaves no value to who comes after it.
    *home = (Home){.value = value, .offset = take_home(e, HOME_BYTES)};
    e->body->home_count++;
    go_behind(e, value);
    emit_store_at(e, value, memory_in(e, function_of(value)), home->offset);
    return home;
}

// ---- opening ------------------------------------------------------------------------------------

static void take_memory(Emit *e) {
    if (e->body->memory) return;
    Block here = emit_here(e);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b);
    Val first = LLVMGetFirstInstruction(e->body->entry);
    if (first) LLVMPositionBuilderBefore(e->b, first);
    else emit_at(e, e->body->entry);
    // Its length, the operand, grows with each home.
    e->body->memory = LLVMBuildArrayAlloca(e->b, e->i8, emit_i64(e, HOME_BYTES), "parts");
    LLVMSetAlignment(e->body->memory, HOME_BYTES);
    emit_at(e, here);
    LLVMSetCurrentDebugLocation2(e->b, line);
}

static Val declare(Emit *e, size_t number) {
    char name[96];
    size_t len;
    const char *of = LLVMGetValueName2(e->body->fn, &len);
    snprintf(name, sizeof name, "%.*s_part_%zu", (int)len, of, number);
    Val fn = LLVMAddFunction(e->module, name, LLVMFunctionType(e->i32, &e->ptr, 1, false));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    emit_attribute(e, fn, (unsigned)LLVMAttributeFunctionIndex, "noinline", nullptr);
    emit_attribute(e, fn, (unsigned)LLVMAttributeFunctionIndex, "nounwind", nullptr);
    return fn;
}

static void open(Emit *e) {
    DebugPlace place = emit_debug_place(e);
    take_memory(e);
    Body *body = e->body;
    Part *part = arena_new_of(e->arena, Part);
    *part = (Part){.outer = body->inner, .from = emit_here(e), .number = ++body->part_count,
                   .outer_fn = e->fn, .outer_entry = e->entry,
                   .outer_weight = e->weight, .outer_place = place,
                   .mark = emit_region_begin(e)};
    part->fn = e->fn = declare(e, part->number);
    part->entry = e->entry = emit_block(e, "entry");
    e->weight = 0;
    body->inner = part;
    body->depth++;
    size_t len;
    emit_debug_part(e, LLVMGetValueName2(part->fn, &len));
    Block begin = emit_block(e, "begin");
    emit_at(e, e->entry);
    emit_jump(e, begin);
    emit_at(e, begin);
}

void part_split(Emit *e) {
    if (e->weight > WEIGHT_MAX && !e->lanes && !(e->faults && e->faults->silent)) open(e);
}

// ---- closing ------------------------------------------------------------------------------------

// Operand `i`, which an outer function defines, is loaded from its home: by each user for itself,
// so that a part that uses many values does not hold them all.
static void load_operand(Emit *e, Part *part, Val user, unsigned i, Val value) {
    size_t offset = home_of(e, part, value)->offset;
    if (LLVMIsAPHINode(user)) go_before_end(e, LLVMGetIncomingBlock(user, i));
    else LLVMPositionBuilderBefore(e->b, user);
    LLVMSetOperand(user, i, emit_load_at(e, LLVMTypeOf(value), LLVMGetParam(part->fn, 0), offset,
                                         ""));
}

static Exit *exit_to(Emit *e, Part *part, Block to, FaultTarget *faults) {
    for (size_t i = 0; i < part->exit_count; i++)
        if (part->exits[i].to == to && part->exits[i].faults == faults) return &part->exits[i];
    Exit exit = {.to = to, .faults = faults, .stub = emit_block(e, "exit")};
    emit_at(e, exit.stub);
    LLVMBuildRet(e->b, emit_i32(e, (uint32_t)part->exit_count));
    arena_push(e->arena, part->exits, part->exit_count, part->exit_cap, exit);
    return &part->exits[part->exit_count - 1];
}

// A return becomes an exit with the value in memory.
static void leave_by_return(Emit *e, Part *part, Val old) {
    Body *body = e->body;
    if (!body->return_home) body->return_home = take_home(e, HOME_BYTES);
    LLVMPositionBuilderBefore(e->b, old);
    emit_store_at(e, LLVMGetOperand(old, 0), LLVMGetParam(part->fn, 0), body->return_home);
    Block stub = exit_to(e, part, nullptr, nullptr)->stub;
    LLVMPositionBuilderBefore(e->b, old);
    emit_jump(e, stub);
    LLVMInstructionEraseFromParent(old);
}

static void close_terminator(Emit *e, Part *part, Val end) {
    if (LLVMIsAReturnInst(end)) {
        leave_by_return(e, part, end);
        return;
    }
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
        Block to = LLVMGetSuccessor(end, i);
        if (LLVMGetBasicBlockParent(to) == part->fn) continue;
        assert(!LLVMGetFirstInstruction(to) || !LLVMIsAPHINode(LLVMGetFirstInstruction(to)));
        LLVMSetSuccessor(end, i, exit_to(e, part, to, nullptr)->stub);
    }
}

static size_t fault_home(Emit *e) {
    enum { WORDS = 4 };
    Body *body = e->body;
    if (!body->fault_home) body->fault_home = take_home(e, WORDS * sizeof(uint64_t));
    return body->fault_home;
}

FaultTarget *part_target(Emit *e, FaultTarget *target) {
    if (target->fn == e->fn) return target;
    Part *part = e->body->inner;
    for (size_t i = 0; i < part->bridge_count; i++)
        if (part->bridges[i]->outer == target) return &part->bridges[i]->here;
    Bridge *bridge = arena_new_of(e->arena, Bridge);
    bridge->outer = target;
    fault_target_open(e, &bridge->here, target->outer, target->silent);
    arena_push(e->arena, part->bridges, part->bridge_count, part->bridge_cap, bridge);
    return &bridge->here;
}

// What the fault is goes through memory to the target of the outer function.
static void close_bridge(Emit *e, Part *part, const Bridge *bridge) {
    const FaultTarget *target = &bridge->here;
    Val what[] = {target->site, target->status, target->detail, target->detail_len};
    emit_at(e, target->block);
    for (size_t i = 0; i < countof(what); i++)
        emit_store_at(e, what[i], LLVMGetParam(part->fn, 0), fault_home(e) + 8 * i);
    Block stub = exit_to(e, part, nullptr, bridge->outer)->stub;
    emit_at(e, target->block);
    emit_jump(e, stub);
}

static void close_over(Emit *e, Part *part) {
    for (Block block = LLVMGetFirstBasicBlock(part->fn); block;
         block = LLVMGetNextBasicBlock(block)) {
        for (Val i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
            for (int k = 0; k < LLVMGetNumOperands(i); k++) {
                Val value = LLVMGetOperand(i, (unsigned)k), fn = function_of(value);
                if (fn && fn != part->fn) load_operand(e, part, i, (unsigned)k, value);
            }
        Val end = LLVMGetBasicBlockTerminator(block);
        bool is_stub = false;
        for (size_t x = 0; x < part->exit_count; x++) is_stub |= part->exits[x].stub == block;
        if (end && !is_stub) close_terminator(e, part, end);
    }
}

// Goes on, in the outer function, at an exit.
static void take_exit(Emit *e, const Exit *exit) {
    const Body *body = e->body;
    Val memory = memory_in(e, e->fn);
    if (exit->faults) {
        Ty types[] = {e->i32, e->i32, e->ptr, e->i64};
        Val fault[4];
        for (size_t i = 0; i < countof(fault); i++)
            fault[i] = emit_load_at(e, types[i], memory, body->fault_home + 8 * i, "");
        fault_pass_on(e, exit->faults, fault[0], fault[1], (Detail){fault[2], fault[3]});
    } else if (exit->to) {
        emit_jump(e, exit->to);
    } else {
        Ty type = LLVMGetReturnType(LLVMGlobalGetValueType(body->fn));
        LLVMBuildRet(e->b, emit_load_at(e, type, memory, body->return_home, "result"));
    }
}

static void emit_call_of(Emit *e, const Part *part) {
    Val memory = memory_in(e, e->fn);
    Val which = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(part->fn), part->fn, &memory, 1, "");
    Block *blocks = arena_new_array(e->arena, Block, part->exit_count + 1);
    for (size_t i = 0; i < part->exit_count; i++) {
        blocks[i] = emit_block(e, "left");
    }
    Val choice = LLVMBuildSwitch(e->b, which, blocks[0], (unsigned)part->exit_count);
    for (size_t i = 1; i < part->exit_count; i++)
        LLVMAddCase(choice, emit_i32(e, (uint32_t)i), blocks[i]);
    for (size_t i = 0; i < part->exit_count; i++) {
        emit_at(e, blocks[i]);
        take_exit(e, &part->exits[i]);
    }
}

static void close_inner(Emit *e) {
    Part *part = e->body->inner;
    emit_region_end(e, part->mark);
    for (size_t i = 0; i < part->bridge_count; i++)
        if (part->bridges[i]->here.block) close_bridge(e, part, part->bridges[i]);
    LLVMSetCurrentDebugLocation2(e->b, nullptr);
    close_over(e, part);
    e->fn = part->outer_fn;
    e->entry = part->outer_entry;
    e->weight = part->outer_weight;
    e->body->inner = part->outer;
    e->body->depth--;
    emit_debug_return(e, part->outer_place);
    emit_at(e, part->from);
    emit_call_of(e, part);
}

void part_leave(Emit *e, size_t depth) {
    if (e->body->depth == depth) return;
    const Part *first = e->body->inner;
    for (size_t i = e->body->depth; i > depth + 1; i--) first = first->outer;
    Block behind = LLVMAppendBasicBlockInContext(e->ctx, first->outer_fn, "behind");
    emit_jump(e, behind);
    part_join(e, depth);
    emit_at(e, behind);
}

void part_join(Emit *e, size_t depth) {
    while (e->body->depth > depth) close_inner(e);
}
