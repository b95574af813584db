//! The whole build on one page (Zig 0.17). `zig build -h` lists the verbs: install (default), unit, test, run.
const std = @import("std");

// Strict from day one; -Wconversion because offsets and row counts cross u32/u64 everywhere.
// gnu23, not c23: uv.h needs pthread_rwlock_t, which strict c23 hides.
// -ffp-contract=off: the same digits on every CPU.
const cflags: []const []const u8 = &.{
    "-std=gnu23",             "-Wall",          "-Wextra",             "-Wpedantic",
    "-Wshadow",               "-Wconversion",   "-Wstrict-prototypes", "-Wmissing-prototypes",
    "-Wimplicit-fallthrough", "-Werror=switch", "-fvisibility=hidden", "-ffp-contract=off",
    "-Wno-gnu-statement-expression", "-Wno-bit-int-extension", "-gdwarf-4", "-ffunction-sections", "-fdata-sections",
};

// The C files of these folders are found, sub-folders included: a new file needs no line here. tests/tidy.c
// knows which folder may include from which.

// Compiled once more, to bitcode that stages inline. The other users of stdlib/ are libsbrt.a and sbc, whose
// interpreter and folding call it.
const stdlib_hot: []const []const u8 = &.{
    "stdlib/number/math.c",
    "stdlib/aggregate/aggregate_distinct.c",
    "stdlib/aggregate/aggregate_extreme.c",
    "stdlib/aggregate/aggregate_sum.c",
    "stdlib/aggregate/aggregate_word.c",
    "stdlib/time/date.c",
    "stdlib/time/date_parts.c",
    "stdlib/hash/hash.c",
    "stdlib/hash/key.c",
    "stdlib/number/number.c",
    "stdlib/hash/xxhash.c",
    "stdlib/number/put_small.c",
    "stdlib/text/text_out.c",
    "stdlib/text/string.c",
    "stdlib/regex/cut.c",
};
// Scratch memory for the library functions that the reference interpreter calls.
const scratch: []const []const u8 = &.{ "runtime/memory/arena.c", "runtime/memory/hold.c", "runtime/memory/huge.c", "runtime/memory/memory.c", "runtime/memory/scratch.c" };

// Scripts that run sbc and its jobs, long ones first: some run at a time (tests/suites.py).
const suites: []const []const u8 = &.{
    "tests/stress/run.py",
    "tests/chaos/run.py",
    "tests/resume_test.sh",
    "tests/memory/run.py",
    "tests/driver_test.sh",
    "tests/diagnostics/one_error.py",
    "tests/names_test.py",
    "tests/examples.sh",
    "tests/crash_test.sh",
    "tests/growth_test.py",
    "tests/instructions_test.py",
    "tests/bench/matrix/matrix.py --check",
    "tests/docs.py",
    "tests/words.py",
    "tests/debug_test.sh",
    "tests/explain_test.sh",
    "tests/differential/formatting.py",
    "tests/bench/workers/run.py --check",
    "tests/suites_test.py",
    "tests/cases_test.py",
    "tests/words_test.py",
    "tests/rooms.py",
};
// Those that wait most of their time: one at a time, beside the others.
const suites_waiting: []const []const u8 = &.{
    "tests/operate_test.sh",
    "tests/metrics_test.py",
};
// Those that use all processors by themselves: one at a time, beside cases, many of which wait.
const suites_wide: []const []const u8 = &.{
    "tests/differential/run.py",
    "tests/e2e/run.py",
};
const suites_cases: []const []const u8 = &.{"tests/cases.py job --beside"};
// Those that measure times.
const suites_quiet: []const []const u8 = &.{"tests/cases.py job --alone"};

// OpenSSL is opened by jobs that connect with a key (runtime/worker/link_openssl.c): its headers are all that is needed.
const sbrt_libraries: []const []const u8 = &.{ "uv_a", "yaml", "zstd", "lz4", "z", "utf8proc" };

pub fn build(b: *std.Build) void {
    // Not the build machine's own CPU: jobs travel, and valgrind 3.19 knows no AVX-512.
    const target = b.standardTargetOptions(.{ .default_target = .{
        .cpu_model = .{ .explicit = &std.Target.x86.cpu.x86_64_v3 },
    } });
    // What is built is what is tested.
    const optimize = b.option(std.builtin.Optimize, "optimize", "ReleaseSafe, unless it is given") orelse .safe;
    const llvm = b.option([]const u8, "llvm", "LLVM 22 prefix") orelse "/usr/lib/llvm-22";

    // libsbrt.a: what every compiled pipeline links. It knows nothing of the compiler.
    const sbrt = b.addLibrary(.{ .name = "sbrt", .linkage = .static, .root_module = module(b, target, .ReleaseFast) });
    const runtime = find(b, "runtime", ".c", &.{});
    const stdlib = find(b, "stdlib", ".c", &.{"stdlib/formats"});
    // Lines are all that a crash shows of it; types and variables would double the size of a job.
    const readers = layer(b, "read");
    const writers = layer(b, "write");
    for ([_][]const []const u8{ runtime, stdlib, readers, writers }) |files| compile(b, sbrt.root_module, files, "-gline-tables-only");
    // A copy whose folder is named by its content: the cache does not look into what is embedded.
    const page = b.addWriteFiles();
    _ = page.addCopyFile(b.path("runtime/main/page.html"), "page.html");
    _ = page.addCopyFile(b.path("runtime/python/host.py"), "host.py");
    sbrt.root_module.addEmbedPath(page.getDirectory()); // #embed <page.html>, <host.py>
    sbrt.bundle_compiler_rt = false; // jobs are linked by lld against libgcc
    b.installArtifact(sbrt);

    // Everything but main and LLVM: the tests link it too.
    const core = module(b, target, optimize);
    // The parts of formats belong to the layers that their names say (stdlib/formats/README.md).
    const ir: []const []const []const u8 = &.{ find(b, "ir", ".c", &.{}), layer(b, "describe") };
    for (ir) |files| sources(b, core, files);
    for ([_][]const []const u8{
        find(b, "frontend", ".c", &.{}),
        find(b, "codegen/reference", ".c", &.{}),
        layer(b, "reference"),
        find(b, "codegen/build", ".c", &.{}),
        find(b, "codegen/cuda", ".c", &.{}), // Kernels are texts: no LLVM is needed for them.
        find(b, "driver", ".c", &.{}), // What each command of sbc does with the phases; sbc.c is the table of them.
        scratch,
        // The interpreter calls Python functions in processes too.
        find(b, "runtime/python", ".c", &.{}),
    }) |files| sources(b, core, files);
    // A copy whose folder is named by its content: the cache does not look into what is embedded.
    const embedded = b.addWriteFiles();
    _ = embedded.addCopyFile(b.path("stdlib/functions.decl"), "functions.decl");
    _ = embedded.addCopyFile(b.path("codegen/cuda/device.cuh"), "device.cuh");
    _ = embedded.addCopyFile(b.path("codegen/cuda/group.cuh"), "group.cuh");
    _ = embedded.addCopyFile(b.path("codegen/cuda/keep.cuh"), "keep.cuh");
    _ = embedded.addCopyFile(b.path("stdlib/number/math_lanes.h"), "math_lanes.h");
    _ = embedded.addCopyFile(b.path("codegen/cuda/reduce.cuh"), "reduce.cuh");
    for ([_][]const u8{ "half.h", "math_f32.h", "math_f64.h", "math_pair.h" }) |name|
        _ = embedded.addCopyFile(b.path(b.fmt("stdlib/number/{s}", .{name})), name);
    _ = embedded.addCopyFile(b.path("runtime/python/host.py"), "host.py");
    core.addEmbedPath(embedded.getDirectory()); // #embed <functions.decl>, <host.py>, and what kernels include
    const libsbc = b.addLibrary(.{ .name = "sbc", .linkage = .static, .root_module = core });

    // Whole, not as an archive, and with its names exported: the interpreter finds functions by name.
    const library = module(b, target, optimize);
    compile(b, library, stdlib, "-fvisibility=default");
    // C files of users call it where a job counts their memory (codegen/build/user_symbols.h).
    compile(b, library, &.{"runtime/memory/foreign.c"}, "-fvisibility=default");
    const libstd = b.addObject(.{ .name = "stdlib", .root_module = library });

    // Opened with dlopen, with LLVM: loaded for code generation only.
    const gen = module(b, target, optimize);
    for (ir) |files| sources(b, gen, files);
    sources(b, gen, find(b, "codegen", ".c", &.{ "codegen/reference", "codegen/build", "codegen/cuda" }));
    sources(b, gen, layer(b, "emit"));
    const bitcode = stdlib_bitcode(b, stdlib_hot);
    gen.addEmbedPath(bitcode);
    gen.addIncludePath(bitcode); // <stdlib_bitcode.inc>, which embeds them
    gen.addSystemIncludePath(.{ .cwd_relative = b.fmt("{s}/include", .{llvm}) });
    gen.addLibraryPath(.{ .cwd_relative = b.fmt("{s}/lib", .{llvm}) });
    gen.linkSystemLibrary("LLVM-22", .{ .use_pkg_config = .no });
    const libgen = b.addLibrary(.{ .name = "sbc-codegen", .linkage = .dynamic, .root_module = gen });
    b.installArtifact(libgen);

    const sbc = program(b, "sbc", target, optimize, .{ .sbc = libsbc, .std = libstd });
    sources(b, sbc.root_module, &.{"sbc.c"});
    b.installArtifact(sbc);

    const run = b.addRunArtifact(sbc);
    run.addPassthruArgs();
    b.step("run", "Run sbc: zig build run -- pipeline.sbd").dependOn(&run.step);

    const interpret = program(b, "interpret", target, optimize, .{ .sbc = libsbc, .std = libstd });
    sources(b, interpret.root_module, &.{"tests/differential/interpret.c"});
    b.getInstallStep().dependOn(&b.addInstallArtifact(interpret, .{ .dest_dir = .{ .override = .{ .custom = "test" } } }).step);

    const quick = b.addSystemCommand(&.{ "python3", "tests/suites.py" });
    const all = b.addSystemCommand(&.{ "python3", "tests/suites.py" });
    // tidy reads every C file; tests/tidy.sh names them.
    const tidy = b.addExecutable(.{ .name = "tidy", .root_module = module(b, b.graph.host, .Debug) });
    sources(b, tidy.root_module, &.{"tests/tidy.c"});
    for ([_]*std.Build.Step.Run{ quick, all }) |tests| {
        tests.has_side_effects = true;
        tests.step.dependOn(b.getInstallStep());
        tests.addPrefixedArtifactArg("tests/tidy.sh ", tidy);
    }
    const programs = b.step("programs", "The test programs of modules, zig-out/test");
    for (find(b, "tests/unit", ".c", &.{})) |file| {
        const name = std.fs.path.stem(file);
        const t = program(b, name, target, optimize, .{ .sbc = libsbc, .std = libstd });
        sources(b, t.root_module, &.{file});
        t.root_module.linkLibrary(sbrt);
        sbrt_link(t.root_module);
        // The oracle of regular expressions; jobs match without it.
        if (std.mem.eql(u8, name, "regex_test"))
            t.root_module.linkSystemLibrary("pcre2-8", .{ .use_pkg_config = .no, .preferred_link_mode = .static });
        programs.dependOn(&b.addInstallArtifact(t, .{ .dest_dir = .{ .override = .{ .custom = "test" } } }).step);
        for ([_]*std.Build.Step.Run{ quick, all }) |tests| tests.addArtifactArg(t);
    }
    const sim = b.addExecutable(.{ .name = "sim", .root_module = module(b, target, .ReleaseSafe) });
    // Which task runs next, as pure step functions that tests/sim drives in virtual time.
    sources(b, sim.root_module, find(b, "runtime/core", ".c", &.{}));
    sources(b, sim.root_module, find(b, "tests/sim", ".c", &.{}));
    for ([_]*std.Build.Step.Run{ quick, all }) |tests| tests.addArtifactArg(sim);
    const no_command = b.addRunArtifact(sim);
    no_command.addArg("bogus");
    no_command.expectStdErrMatch("is no command");
    no_command.expectExitCode(2);
    for ([_]*std.Build.Step.Run{ quick, all }) |tests| tests.step.dependOn(&no_command.step);
    b.step("sim", "The simulator of the scheduler, zig-out/bin/sim").dependOn(&b.addInstallArtifact(sim, .{}).step);
    for ([_]struct { []const u8, []const []const u8 }{
        .{ "--waiting", suites_waiting },
        .{ "--together", suites },
        .{ "--waiting", suites_cases },
        .{ "--alone", suites_wide },
        .{ "--alone", suites_quiet },
    }) |group| {
        all.addArg(group[0]);
        all.addArgs(group[1]);
    }
    b.step("unit", "The tests of modules, in seconds").dependOn(&quick.step);
    b.step("test", "Every test that needs nothing installed by pip").dependOn(&all.step);
}

/// stdlib/.../X.c -> X.bc by zig's own clang 22, which LLVM 22 reads. All in one directory for #embed.
fn stdlib_bitcode(b: *std.Build, files: []const []const u8) std.Build.LazyPath {
    const dir = b.addWriteFiles();
    const headers = find(b, "stdlib", ".h", &.{});
    const tables = find(b, "stdlib", ".def", &.{});
    const shared = find(b, "runtime/abi", ".h", &.{});
    var embeds: []const u8 = "";
    var names: []const u8 = "#define EACH_FILE(X)";
    for (files) |file| {
        const name = std.fs.path.stem(file);
        const cc = b.addSystemCommand(&.{ b.graph.zig_exe, "cc", "-std=gnu23", "-O2", "-c", "-emit-llvm", "-I." });
        // The least level that jobs run on; each stage sets its own.
        cc.addArgs(&.{ "-target", "x86_64-linux-gnu", "-mcpu=x86_64_v3", "-fno-sanitize=undefined", "-fno-stack-protector", "-ffp-contract=off", "-fno-math-errno" });
        // Without lines of its own, what is inlined has that of the call: the line of the pipeline.
        cc.addArg("-g0");
        cc.addFileArg(b.path(file));
        cc.addArg("-o");
        _ = dir.addCopyFile(cc.addOutputFileArg(b.fmt("{s}.bc", .{name})), b.fmt("{s}.bc", .{name}));
        // Not -MMD: zig cc 0.17.0 -emit-llvm with -MMD exits 0 and writes no .bc.
        for ([_][]const []const u8{ headers, tables, shared, &.{"runtime/abi/faults.def"} }) |read|
            for (read) |h| cc.addFileInput(b.path(h));
        embeds = b.fmt("{s}static const unsigned char {s}_bc[] = {{\n#embed <{s}.bc>\n}};\n", .{ embeds, name, name });
        names = b.fmt("{s} X({s})", .{ names, name });
    }
    _ = dir.add("stdlib_bitcode.inc", b.fmt("{s}{s}\n", .{ embeds, names }));
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

fn sources(b: *std.Build, m: *std.Build.Module, files: []const []const u8) void {
    m.addCSourceFiles(.{ .root = b.path("."), .files = files, .flags = cflags });
}

/// As `sources`, with one more flag, which comes last.
fn compile(b: *std.Build, m: *std.Build.Module, files: []const []const u8, comptime flag: []const u8) void {
    m.addCSourceFiles(.{ .root = b.path("."), .files = files, .flags = cflags ++ .{flag} });
}

/// The files of a folder and its sub-folders that have this extension, sorted. A file that comes or goes makes
/// zig configure the build anew. `except` names sub-folders that belong elsewhere.
fn find(b: *std.Build, top: []const u8, extension: []const u8, except: []const []const u8) []const []const u8 {
    var files: std.ArrayList([]const u8) = .empty;
    var folders: std.ArrayList([]const u8) = .empty;
    folders.append(b.allocator, top) catch @panic("OOM");
    while (folders.pop()) |folder| {
        b.dependOnDirectoryContents(b.path(folder));
        const dir = b.root.root_dir.handle.openDir(b.graph.io, folder, .{ .iterate = true }) catch |err|
            std.process.fatal("cannot open {s}: {t}", .{ folder, err });
        defer dir.close(b.graph.io);
        var entries = dir.iterate();
        while (entries.next(b.graph.io) catch |err| std.process.fatal("cannot read {s}: {t}", .{ folder, err })) |entry| {
            if (entry.name[0] == '.') continue; // What editors leave.
            const path = b.fmt("{s}/{s}", .{ folder, entry.name });
            if (entry.kind == .directory) {
                if (!among(except, path)) folders.append(b.allocator, path) catch @panic("OOM");
            } else if (std.mem.endsWith(u8, entry.name, extension)) {
                files.append(b.allocator, path) catch @panic("OOM");
            }
        }
    }
    std.mem.sort([]const u8, files.items, {}, before);
    return files.items;
}

/// The files of stdlib/formats/ that are called LAYER.c or LAYER_*.c.
fn layer(b: *std.Build, comptime name: []const u8) []const []const u8 {
    var files: std.ArrayList([]const u8) = .empty;
    for (find(b, "stdlib/formats", ".c", &.{})) |file| {
        const stem = std.fs.path.stem(file);
        const of_layer = std.mem.eql(u8, stem, name) or std.mem.startsWith(u8, stem, name ++ "_");
        if (of_layer) files.append(b.allocator, file) catch @panic("OOM");
    }
    return files.items;
}

fn among(list: []const []const u8, one: []const u8) bool {
    for (list) |each| if (std.mem.eql(u8, each, one)) return true;
    return false;
}

fn before(_: void, a: []const u8, b: []const u8) bool {
    return std.mem.lessThan(u8, a, b);
}
