//! The whole build on one page (Zig 0.17). `zig build -h` lists the verbs: install (default), unit, test, run.
const std = @import("std");

// Strict from day one; -Wconversion because offsets and row counts cross u32/u64 everywhere.
// gnu23, not c23: uv.h needs pthread_rwlock_t, which strict c23 hides.
// -ffp-contract=off: the same digits on every CPU.
const cflags: []const []const u8 = &.{
    "-std=gnu23",             "-Wall",          "-Wextra",             "-Wpedantic",
    "-Wshadow",               "-Wconversion",   "-Wstrict-prototypes", "-Wmissing-prototypes",
    "-Wimplicit-fallthrough", "-Werror=switch", "-fvisibility=hidden", "-ffp-contract=off",
    "-Wno-gnu-statement-expression", "-Wno-bit-int-extension", "-gdwarf-4",
};

// Every C file, bottom layer first. tests/tidy.c checks that a folder includes only from
// folders above it in this list (and codegen only runtime/abi.h of the runtime).
const ir: []const []const u8 = &.{
    "arena.c",
    "text.c",
    "type.c",
    "expr.c",
    "graph.c",
    "resources.c",
    "walk.c",
    "plan.c",
    "plan_counts.c",
    "plan_stages.c",
    "plan_columns.c",
    "plan_layout.c",
    "plan_memory.c",
    "plan_print.c",
    "plan_verify.c",
    "remark.c",
    "rewrite.c",
    "pass.c",
    "verify.c",
    "verify_expr.c",
    "print.c",
    "read.c",
    "read_token.c",
    "passes/reads.c",
    "passes/carry.c",
    "passes/spell.c",
    "passes/span.c",
    "passes/fold.c",
    "passes/cse.c",
    "passes/prune.c",
    "passes/interval.c",
    "passes/prover.c",
    "passes/ranges.c",
};
const frontend: []const []const u8 = &.{
    "check.c",
    "check_branches.c",
    "check_calls.c",
    "check_casts.c",
    "check_columns.c",
    "check_domains.c",
    "check_exprs.c",
    "check_flows.c",
    "check_fns.c",
    "check_groups.c",
    "check_hints.c",
    "check_joins.c",
    "check_literals.c",
    "check_operators.c",
    "check_options.c",
    "check_overloads.c",
    "check_params.c",
    "check_scope.c",
    "check_sinks.c",
    "check_sources.c",
    "check_tables.c",
    "check_time.c",
    "check_types.c",
    "declare.c",
    "source.c",
    "diag.c",
    "diag_print.c",
    "diag_json.c",
    "lex.c",
    "lex_value.c",
    "parse_token.c",
    "parse_type.c",
    "parse_expr.c",
    "parse_step.c",
    "parse_flow.c",
    "parse.c",
    "ast_print.c",
    "format_page.c",
    "format_expr.c",
    "format_flow.c",
    "format.c",
};
const codegen_reference: []const []const u8 = &.{
    "aggregate.c",
    "arithmetic.c",
    "big.c",
    "cast.c",
    "const_eval.c",
    "eval.c",
    "eval_call.c",
    "files.c",
    "group.c",
    "job.c",
    "join.c",
    "json_value.c",
    "library.c",
    "lines.c",
    "read_csv.c",
    "read_json.c",
    "rejects.c",
    "relational.c",
    "run.c",
    "sort.c",
    "source.c",
    "summary.c",
    "value.c",
    "value_read.c",
    "value_text.c",
    "write.c",
};
const codegen_build: []const []const u8 = &.{
    "build.c",
    "cache.c",
    "command.c",
    "extern.c",
    "job_mark.c",
    "link.c",
    "target_file.c",
    "user_symbols.c",
};
// What each command of sbc does with the phases; sbc.c is the table of them.
const driver: []const []const u8 = &.{
    "check.c",
    "command_line.c",
    "compile.c",
    "crash.c",
    "doc.c",
    "explain.c",
    "externs.c",
    "format.c",
    "header.c",
    "infer.c",
    "job_place.c",
    "judge.c",
    "peek.c",
    "read_graph.c",
    "run.c",
    "schema.c",
    "session.c",
    "table.c",
    "test.c",
};
// Behind dlopen, with LLVM: loaded for code generation only.
const codegen: []const []const u8 = &.{
    "codegen.c",
    "emit.c",
    "emit_arith.c",
    "emit_breaker.c",
    "emit_cast.c",
    "emit_columns.c",
    "emit_compare.c",
    "emit_compound.c",
    "emit_const.c",
    "emit_data.c",
    "emit_debug.c",
    "emit_entries.c",
    "emit_explode.c",
    "emit_expr.c",
    "emit_fault.c",
    "emit_function.c",
    "emit_batch.c",
    "emit_group.c",
    "emit_inside.c",
    "emit_join.c",
    "emit_keep.c",
    "emit_key.c",
    "emit_part.c",
    "emit_place.c",
    "emit_read.c",
    "emit_scan.c",
    "emit_scan_csv.c",
    "emit_scan_json.c",
    "emit_scan_lines.c",
    "emit_setup.c",
    "emit_sink.c",
    "emit_stage.c",
    "emit_wide.c",
    "stdlib_bitcode.c",
    "target.c",
};
const runtime: []const []const u8 = &.{
    "batch.c",
    "batches.c",
    "bound.c",
    "breaker.c",
    "check.c",
    "checksum.c",
    "compress.c",
    "config.c",
    "control.c",
    "control_http.c",
    "cpu.c",
    "crash.c",
    "crew.c",
    "dispatch.c",
    "dispatch_batch.c",
    "dispatch_journal.c",
    "dispatch_live.c",
    "dispatch_memory.c",
    "dispatch_run.c",
    "dispatch_sink.c",
    "dispatch_spool.c",
    "dispatch_task.c",
    "dispatch_watch.c",
    "dispatch_need.c",
    "dispatch_zip.c",
    "doubt.c",
    "doubt_keep.c",
    "doubt_unit.c",
    "durable.c",
    "engine.c",
    "failpoint.c",
    "feed.c",
    "files.c",
    "flow_job.c",
    "flow_plan.c",
    "foreign.c",
    "glob.c",
    "groups.c",
    "hold.c",
    "image.c",
    "image_line.c",
    "job.c",
    "job_paths.c",
    "join_table.c",
    "journal.c",
    "leave.c",
    "licenses.c",
    "log.c",
    "manifest.c",
    "memory.c",
    "memory_need.c",
    "memory_plan.c",
    "metrics.c",
    "options.c",
    "params.c",
    "partition.c",
    "place.c",
    "pool.c",
    "probe.c",
    "probe_ahead.c",
    "progress.c",
    "reject_set.c",
    "reject_set.c",
    "rejects.c",
    "replay.c",
    "resume.c",
    "resume_breakers.c",
    "resume_commit.c",
    "resume_cut.c",
    "resume_groups.c",
    "resume_input.c",
        "resume_marks.c",
    "resume_publish.c",
    "resume_show.c",
    "resume_state.c",
    "retry.c",
    "row_json.c",
    "rows.c",
    "runs.c",
    "sample.c",
    "scratch.c",
    "sink.c",
    "sink_mark.c",
    "slab.c",
    "slots.c",
    "sort.c",
    "source.c",
    "spill.c",
    "spill_folder.c",
    "spill_groups.c",
    "spill_table.c",
    "spill_index.c",
    "spill_join.c",
    "spill_merge.c",
    "spill_range.c",
    "spill_rows.c",
    "spill_sort.c",
    "spill_units.c",
    "spool.c",
    "stage.c",
    "stage_times.c",
    "stream.c",
    "summary.c",
    "table.c",
    "task.c",
    "text.c",
    "trace.c",
    "trouble.c",
    "unit.c",
    "unwind.c",
    "verdict.c",
    "verdict_needs.c",
    "watch.c",
};
// Compiled three ways: into libsbrt.a, into sbc (reference interpreter, folding), and, those of
// stdlib_hot, to bitcode that stages inline.
// Which task runs next, as pure step functions; tests/sim drives them in virtual time.
const runtime_core: []const []const u8 = &.{
    "batch.c",
    "choose.c",
    "finish.c",
    "launch.c",
    "ledger.c",
    "membership.c",
    "order.c",
    "pacing.c",
    "policy.c",
    "pool.c",
    "records.c",
    "repair.c",
    "schedule.c",
    "shape.c",
    "spill.c",
    "states.c",
    "stop.c",
};
const sim_files: []const []const u8 = &.{
    "bounds.c",
    "chain.c",
    "machine.c",
    "main.c",
    "network.c",
    "optimum.c",
    "plan_text.c",
    "random_plans.c",
    "restart.c",
    "shrink.c",
    "sim.c",
    "speed.c",
    "streams.c",
    "table.c",
    "workers.c",
    "workloads.c",
};
const stdlib: []const []const u8 = &.{
    "cast.c",
    "cast_any.c",
    "aggregate_distinct.c",
    "aggregate_column.c",
    "aggregate_extreme.c",
    "aggregate_sample.c",
    "aggregate_spread.c",
    "aggregate_sum.c",
    "aggregate_value.c",
    "aggregate_whole.c",
    "held.c",
    "put_small.c",
    "date.c",
    "date_format.c",
    "date_math.c",
    "date_parts.c",
    "date_text.c",
    "decimal.c",
    "exact_sum.c",
    "field.c",
    "generic.c",
    "csv_cut.c",
    "identity.c",
    "integer.c",
    "key.c",
    "sink_field.c",
    "csv_index.c",
    "csv_row.c",
    "hash.c",
    "lines.c",
    "math.c",
    "math_angle.c",
    "math_exp.c",
    "number.c",
    "number_powers.c",
    "number_put.c",
    "number_read.c",
    "utf8.c",
    "zone.c",
    "zone_data.c",
    "regex.c",
    "regex_automaton.c",
    "regex_backtrack.c",
    "regex_compile.c",
    "regex_functions.c",
    "regex_program.c",
    "regex_sets.c",
    "regex_syntax.c",
    "json_put.c",
    "json_read.c",
    "json_row.c",
    "json_form.c",
    "text_out.c",
    "string.c",
    "string_make.c",
    "cut.c",
    "unicode.c",
    "list.c",
    "digest.c",
    "xxhash.c",
    "encode.c",
    "format.c",
    "random.c",
    "hold.c",
    "condition.c",
    "json_access.c",
};
const stdlib_hot: []const []const u8 = &.{ // without .c
    "math",
    "aggregate_distinct",
    "aggregate_extreme",
    "aggregate_sum",
    "date",
    "date_parts",
    "hash",
    "key",
    "number",
    "xxhash",
    "put_small",
    "text_out",
    "string",
    "cut",
};
const stdlib_headers: []const []const u8 = &.{
    "math.h",
    "math_pair.h",
    "cast.h",
    "aggregate.h",
    "bytes64.h",
    "decimal.h",
    "exact_sum.h",
    "date.h",
    "date_parts.h",
    "zone.h",
    "generic.h",
    "csv.h",
    "csv_quotes.h",
    "field.h",
    "identity.h",
    "key.h",
    "sink_field.h",
    "hash.h",
    "lines.h",
    "list_build.h",
    "number.h",
    "regex.h",
    "regex_runs.h",
    "cut.h",
    "regex_match.h",
    "utf8.h",
    "json.h",
    "json_text.h",
    "text_out.h",
    "string.h",
    "list.h",
    "digest.h",
    "encode.h",
    "random.h",
    "condition.h",
    "json_access.h",
};
const unit: []const []const u8 = &.{ // tests/unit/X.c, one program each
    "cache_test",
    "generic_test",
    "reference_csv_test",
    "reference_library_test",
    "ranges_test",
    "reference_steps_test",
    "reference_json_test",
    "breaker_test",
    "rows_test",
    "feed_test",
    "spill_test",
    "spill_groups_test",
    "spill_join_test",
    "spill_units_test",
    "watch_test",
    "batches_test",
    "core_batch_test",
    "core_zip_test",
    "flow_test",
    "diag_test",
    "aggregate_column_test",
    "aggregate_test",
    "cast_test",
    "format_test",
    "golden_test",
    "lex_test",
    "parse_test",
    "date_test",
    "math_test",
    "number_test",
    "regex_test",
    "pages_test",
    "check_test",
    "type_test",
    "durable_test",
    "journal_test",
    "crash_states_test",
    "runtime_test",
    "graph_test",
    "plan_test",
    "ir_test",
    "verify_test",
    "csv_test",
    "lines_test",
    "json_test",
    "string_test",
    "cut_test",
    "list_test",
    "digest_test",
    "text_functions_test",
};

// Scripts that run sbc and its jobs, quick ones first; each prints "N passed, N failed, N skipped".
const suites: []const []const u8 = &.{
    "tests/docs.py",
    "tests/driver_test.sh",
    "tests/examples.sh",
    "tests/debug_test.sh",
    "tests/crash_test.sh",
    "tests/memory/run.py",
    "tests/explain_test.sh",
    "tests/growth_test.py",
    "tests/job_test.sh",
    "tests/operate_test.sh",
    "tests/resume_test.sh",
    "tests/metrics_test.py",
    "tests/stress/run.py",
    "tests/differential/run.py",
    "tests/differential/formatting.py",
    "tests/e2e/run.py",
};

const sbrt_libraries: []const []const u8 = &.{ "uv_a", "yaml", "zstd", "lz4", "z", "utf8proc" };

pub fn build(b: *std.Build) void {
    // Not the build machine's own CPU: jobs travel, and valgrind 3.19 knows no AVX-512.
    const target = b.standardTargetOptions(.{ .default_target = .{
        .cpu_model = .{ .explicit = &std.Target.x86.cpu.x86_64_v3 },
    } });
    const optimize = b.standardOptimizeOption(.{});
    const llvm = b.option([]const u8, "llvm", "LLVM 22 prefix") orelse "/usr/lib/llvm-22";

    // libsbrt.a: what every compiled pipeline links. It knows nothing of the compiler.
    const sbrt = b.addLibrary(.{ .name = "sbrt", .linkage = .static, .root_module = module(b, target, .ReleaseFast) });
    // Lines are all that a crash shows of it; types and variables would double the size of a job.
    for ([_][]const u8{ "runtime", "runtime/core", "stdlib" }, [_][]const []const u8{ runtime, runtime_core, stdlib }) |folder, files|
        sbrt.root_module.addCSourceFiles(.{ .root = b.path(folder), .files = files, .flags = cflags ++ .{"-gline-tables-only"} });
    sources(b, sbrt.root_module, "runtime", runtime);
    sources(b, sbrt.root_module, "runtime/core", runtime_core);
    sources(b, sbrt.root_module, "stdlib", stdlib);
    // A copy whose folder is named by its content: the cache does not look into what is embedded.
    const page = b.addWriteFiles();
    _ = page.addCopyFile(b.path("runtime/page.html"), "page.html");
    sbrt.root_module.addEmbedPath(page.getDirectory()); // #embed <page.html>
    sbrt.bundle_compiler_rt = false; // jobs are linked by lld against libgcc
    b.installArtifact(sbrt);

    // Everything but main and LLVM: the tests link it too.
    const core = module(b, target, optimize);
    sources(b, core, "ir", ir);
    sources(b, core, "frontend", frontend);
    sources(b, core, "codegen/reference", codegen_reference);
    sources(b, core, "codegen/build", codegen_build);
    sources(b, core, "driver", driver);
    // Scratch memory for the library functions that the reference interpreter calls.
    sources(b, core, "runtime", &.{ "hold.c", "memory.c", "scratch.c" });
    // A copy whose folder is named by its content: the cache does not look into what is embedded.
    const embedded = b.addWriteFiles();
    _ = embedded.addCopyFile(b.path("stdlib/functions.decl"), "functions.decl");
    core.addEmbedPath(embedded.getDirectory()); // #embed <functions.decl>
    const libsbc = b.addLibrary(.{ .name = "sbc", .linkage = .static, .root_module = core });

    // Whole, not as an archive, and with its names exported: the interpreter finds functions by name.
    const library = module(b, target, optimize);
    library.addCSourceFiles(.{ .root = b.path("stdlib"), .files = stdlib, .flags = cflags ++ .{"-fvisibility=default"} });
    const libstd = b.addObject(.{ .name = "stdlib", .root_module = library });

    const gen = module(b, target, optimize);
    sources(b, gen, "ir", ir);
    sources(b, gen, "codegen", codegen);
    const bitcode = stdlib_bitcode(b);
    gen.addEmbedPath(bitcode);
    gen.addIncludePath(bitcode); // <stdlib_bitcode.inc>, which embeds them
    gen.addSystemIncludePath(.{ .cwd_relative = b.fmt("{s}/include", .{llvm}) });
    gen.addLibraryPath(.{ .cwd_relative = b.fmt("{s}/lib", .{llvm}) });
    gen.linkSystemLibrary("LLVM-22", .{ .use_pkg_config = .no });
    const libgen = b.addLibrary(.{ .name = "sbc-codegen", .linkage = .dynamic, .root_module = gen });
    b.installArtifact(libgen);

    const sbc = program(b, "sbc", target, optimize, .{ .sbc = libsbc, .std = libstd });
    sources(b, sbc.root_module, ".", &.{"sbc.c"});
    b.installArtifact(sbc);

    const run = b.addRunArtifact(sbc);
    run.addPassthruArgs();
    b.step("run", "Run sbc: zig build run -- pipeline.sbd").dependOn(&run.step);

    const interpret = program(b, "interpret", target, optimize, .{ .sbc = libsbc, .std = libstd });
    sources(b, interpret.root_module, "tests/differential", &.{"interpret.c"});
    b.getInstallStep().dependOn(&b.addInstallArtifact(interpret, .{ .dest_dir = .{ .override = .{ .custom = "test" } } }).step);

    const quick = b.addSystemCommand(&.{ "sh", "tests/all.sh" });
    const all = b.addSystemCommand(&.{ "sh", "tests/all.sh" });
    // tidy reads every C file that git knows; tests/all.sh names them.
    const tidy = b.addExecutable(.{ .name = "tidy", .root_module = module(b, b.graph.host, .Debug) });
    sources(b, tidy.root_module, "tests", &.{"tidy.c"});
    for ([_]*std.Build.Step.Run{ quick, all }) |tests| {
        tests.has_side_effects = true;
        tests.step.dependOn(b.getInstallStep());
        tests.addArtifactArg(tidy);
    }
    for (unit) |name| {
        const t = program(b, name, target, optimize, .{ .sbc = libsbc, .std = libstd });
        sources(b, t.root_module, "tests/unit", &.{b.fmt("{s}.c", .{name})});
        t.root_module.linkLibrary(sbrt);
        sbrt_link(t.root_module);
        // The oracle of regular expressions; jobs match without it.
        if (std.mem.eql(u8, name, "regex_test"))
            t.root_module.linkSystemLibrary("pcre2-8", .{ .use_pkg_config = .no, .preferred_link_mode = .static });
        for ([_]*std.Build.Step.Run{ quick, all }) |tests| tests.addArtifactArg(t);
    }
    const sim = b.addExecutable(.{ .name = "sim", .root_module = module(b, target, .ReleaseSafe) });
    sources(b, sim.root_module, "runtime/core", runtime_core);
    sources(b, sim.root_module, "tests/sim", sim_files);
    for ([_]*std.Build.Step.Run{ quick, all }) |tests| tests.addArtifactArg(sim);
    const no_command = b.addRunArtifact(sim);
    no_command.addArg("bogus");
    no_command.expectStdErrMatch("is no command");
    no_command.expectExitCode(2);
    for ([_]*std.Build.Step.Run{ quick, all }) |tests| tests.step.dependOn(&no_command.step);
    b.step("sim", "The simulator of the scheduler, zig-out/bin/sim").dependOn(&b.addInstallArtifact(sim, .{}).step);
    for (suites) |suite| all.addFileArg(b.path(suite));
    b.step("unit", "The tests of modules, in seconds").dependOn(&quick.step);
    b.step("test", "Every test that needs nothing installed by pip").dependOn(&all.step);
}

/// stdlib/X.c -> X.bc by zig's own clang 22, which LLVM 22 reads. All in one directory for #embed.
fn stdlib_bitcode(b: *std.Build) std.Build.LazyPath {
    const dir = b.addWriteFiles();
    for (stdlib_hot) |name| {
        const cc = b.addSystemCommand(&.{ b.graph.zig_exe, "cc", "-std=gnu23", "-O2", "-c", "-emit-llvm", "-I." });
        // The least level that jobs run on; each stage sets its own.
        cc.addArgs(&.{ "-target", "x86_64-linux-gnu", "-mcpu=x86_64_v3", "-fno-sanitize=undefined", "-fno-stack-protector", "-ffp-contract=off", "-fno-math-errno" });
        // Without lines of its own, what is inlined has that of the call: the line of the pipeline.
        cc.addArg("-g0");
        cc.addFileArg(b.path(b.fmt("stdlib/{s}.c", .{name})));
        cc.addArg("-o");
        _ = dir.addCopyFile(cc.addOutputFileArg(b.fmt("{s}.bc", .{name})), b.fmt("{s}.bc", .{name}));
        // Not -MMD: zig cc 0.17.0 -emit-llvm with -MMD exits 0 and writes no .bc.
        for (stdlib_headers) |h| cc.addFileInput(b.path(b.fmt("stdlib/{s}", .{h})));
        cc.addFileInput(b.path("runtime/abi.h"));
        cc.addFileInput(b.path("runtime/faults.def"));
    }
    var text: []const u8 = "";
    for (stdlib_hot) |name|
        text = b.fmt("{s}static const unsigned char {s}_bc[] = {{\n#embed <{s}.bc>\n}};\n", .{ text, name, name });
    text = b.fmt("{s}#define EACH_FILE(X)", .{text});
    for (stdlib_hot) |name| text = b.fmt("{s} X({s})", .{ text, name });
    _ = dir.add("stdlib_bitcode.inc", b.fmt("{s}\n", .{text}));
    return dir.getDirectory();
}

fn program(
    b: *std.Build,
    name: []const u8,
    target: std.Build.ResolvedTarget,
    optimize: std.builtin.OptimizeMode,
    parts: struct { sbc: *std.Build.Step.Compile, std: *std.Build.Step.Compile },
) *std.Build.Step.Compile {
    const m = module(b, target, optimize);
    m.linkLibrary(parts.sbc);
    m.addObject(parts.std);
    sbrt_link(m);
    const exe = b.addExecutable(.{ .name = name, .root_module = m });
    exe.rdynamic = true; // The reference interpreter finds library functions by name.
    return exe;
}

fn sbrt_link(m: *std.Build.Module) void {
    for (sbrt_libraries) |library| m.linkSystemLibrary(library, .{ .use_pkg_config = .no, .preferred_link_mode = .static });
    m.linkSystemLibrary("ffi", .{ .use_pkg_config = .no, .preferred_link_mode = .static });
}

fn module(b: *std.Build, target: std.Build.ResolvedTarget, optimize: std.builtin.OptimizeMode) *std.Build.Module {
    // .trap: no ubsan runtime (saves 20 s of a cold build; jobs are not linked by zig anyway).
    // None where speed is asked for: a trap for each sum of a pointer and an offset doubles a scanner.
    const sanitize: std.zig.SanitizeC = if (optimize == .fast) .off else .trap;
    const m = b.createModule(.{ .target = target, .optimize = optimize, .link_libc = true, .sanitize_c = sanitize });
    m.addIncludePath(b.path(".")); // so that every include names its folder: "ir/arena.h"
    return m;
}

fn sources(b: *std.Build, m: *std.Build.Module, folder: []const u8, files: []const []const u8) void {
    m.addCSourceFiles(.{ .root = b.path(folder), .files = files, .flags = cflags });
}
