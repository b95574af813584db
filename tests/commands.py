"""commands.py: how commands_test.py tries each command that a page names: its shortest form, run in the root of the repository.

$TMP is a folder that goes afterwards. BY_TESTS is for what `./bootstrap.sh test` runs itself. A form in NETWORK is skipped where
tests/data/fetch.sh cannot get anything.
"""
BY_TESTS = object()
AS_NAMED = object()

FLIGHTS = "examples/data/flights.csv"
CARRIERS = "examples/01-carriers.sbd"
ROWS = "sbc run -e 'range(3) | write csv(\"-\")'"
AS_IR = f"sbc {CARRIERS} --dump=ir >$TMP/a.ir; "
TESTED = """cat >$TMP/t.sbd <<'END'
let few = range(3) | where i > 1
few | write csv("-")
test "one row" {
    expect few == [{ i: 2 }]
}
END
sbc test $TMP/t.sbd"""
MEMORY = "tests/memory/run.py stream"
BENCH = "tests/bench/run.sh --no-peers --scale=0.0001 --rounds=1 a4_q6"
STREAMING = "tests/bench/streaming/run.py --scale=1000 four"
COLUMNS = "tests/bench/micro/columns/run.sh 1000 integers"
MATRIX = "tests/bench/matrix/matrix.py --scale=0.0001 --rounds=1 --no-peers sort_few"
TEXTS = "tests/bench/texts/run.py --scale=0.001 --rounds=1 quoted"
DEMO = "./bootstrap.sh demo"
FETCH = "tests/data/fetch.sh"
SIM = "./bootstrap.sh zig build sim; sim "
CHAIN = "chain 2 1 8 100 10 1000000000 plain a:0:0.001:0.001:100 b:1:0.001:0.001:100"
NETWORK = (DEMO, FETCH)

_FORMS = {
    # Set-up and builds.
    "./bootstrap.sh build": "./bootstrap.sh build",
    "./bootstrap.sh demo": DEMO,
    "./bootstrap.sh test": "./bootstrap.sh check",
    "./bootstrap.sh test all": "./bootstrap.sh check",
    "./bootstrap.sh zig build test": "./bootstrap.sh zig build -h | grep -w test",
    "SBC_UPDATE=1 ./bootstrap.sh zig build test": "./bootstrap.sh zig build -h | grep -w test",
    "./bootstrap.sh zig build unit": "./bootstrap.sh zig build -h | grep -w unit",
    "./bootstrap.sh zig build sim": AS_NAMED,
    "./bootstrap.sh zig build programs": AS_NAMED,
    # Suites that need what another machine has, or a library from outside: as far as a machine without a GPU goes.
    "tests/gpu.sh": "sh -n tests/gpu.sh",
    "tests/gpu.sh build": "sh -n tests/gpu.sh",
    "tests/gpu.sh run": "sh -n tests/gpu.sh",
    "tests/cuda/bench.py jobs": "python3 -m py_compile tests/cuda/bench.py",
    "tests/cuda/bench.py opening": "python3 -m py_compile tests/cuda/bench.py",
    "tests/data/fetch.sh": FETCH,
    "examples/resume.sh": AS_NAMED,
    # The compiler.
    "sbc FILE --explain": f"sbc {CARRIERS} --explain",
    "sbc FILE.sbd --explain": f"sbc {CARRIERS} --explain",
    "sbc FILE.sbd --dump": f"sbc {CARRIERS} --dump",
    # Of a program without kernels those of the GPU are empty.
    "sbc FILE.sbd --dump[=ast|ir|plan|llvm|asm|cuda|ptx|sass] [--after=PASS]":
        f"for form in ast ir plan llvm asm cuda ptx sass; do sbc {CARRIERS} --dump=$form >$TMP/$form; done; sbc {CARRIERS} --dump=ir --after=fold",
    "sbc FILE.sbd -o JOB": f"sbc {CARRIERS} -o $TMP/job",
    "sbc FILE.ir --dump": AS_IR + "sbc $TMP/a.ir --dump",
    "sbc FILE.ir -o JOB": AS_IR + "sbc $TMP/a.ir -o $TMP/job",
    "sbc run FILE.ir": "echo 'range(3) | write csv(\"-\")' >$TMP/r.sbd; sbc $TMP/r.sbd --dump=ir >$TMP/r.ir; sbc run $TMP/r.ir",
    "sbc check": f"sbc check {CARRIERS}",
    "sbc check FILE...": f"sbc check {CARRIERS} examples/04-words.sbd",
    "sbc doc NAME": "sbc doc sum",
    "sbc doc": "sbc doc",
    "sbc --help": "sbc --help",
    **{f"sbc doc {name}": AS_NAMED for name in ("csv", "extern", "frame", "lag", "melt", "param", "pivot", "read", "session", "strings", "write")},
    "sbc doc [NAME...]": "sbc doc >$TMP/doc; sbc doc sum trim",
    "sbc explain CODE": "sbc explain SB0313",
    "sbc explain CODE...": "sbc explain SB0313 SB7011",
    "sbc explain SB0313": AS_NAMED,
    "sbc explain SB7011": AS_NAMED,
    "sbc fmt": f"sbc fmt --check {CARRIERS}",
    "sbc fmt FILE": f"cp {CARRIERS} $TMP/f.sbd; sbc fmt $TMP/f.sbd",
    "sbc fmt FILE...": f"cp {CARRIERS} $TMP/f.sbd; cp $TMP/f.sbd $TMP/g.sbd; sbc fmt $TMP/f.sbd $TMP/g.sbd",
    "sbc header": "sbc header examples/07-extern.sbd",
    "sbc header FILE": "sbc header examples/07-extern.sbd",
    "sbc header FILE...": "sbc header examples/07-extern.sbd examples/07-extern.sbd",
    "sbc run": ROWS,
    "sbc run -e": ROWS,
    "sbc run -e 'TEXT'": ROWS,
    "sbc run --engine=reference FILE": "echo 'range(3) | write csv(\"-\")' >$TMP/r.sbd; sbc run --engine=reference $TMP/r.sbd",
    "sbc run FILE.sbd [-- JOB OPTIONS]":
        "echo 'range(3) | write csv(\"-\")' >$TMP/r.sbd; sbc run $TMP/r.sbd; sbc run $TMP/r.sbd -- --threads=1",
    "sbc schema": f"sbc schema {FLIGHTS}",
    "sbc schema FILE": f"sbc schema {FLIGHTS}",
    "sbc schema FILE...": f"sbc schema {FLIGHTS} examples/data/events.jsonl",
    "sbc test": TESTED,
    "sbc test FILE...": TESTED,
    "sbc top.sbd -o top": "echo 'range(3000) | top 3 by i per i % 10 | write csv(\"-\")' >$TMP/top.sbd; sbc $TMP/top.sbd -o $TMP/top; $TMP/top --stats",
    "sbc limit.sbd -o limit": "echo 'range(3000) | sort i desc | limit 10 | write csv(\"-\")' >$TMP/limit.sbd; sbc $TMP/limit.sbd -o $TMP/limit; $TMP/limit --stats",
    "sbc many.sbd -o many": "echo 'range(300) | derive k = i % 7 | group by k { n = count() } | write csv(\"-\")' >$TMP/many.sbd; sbc $TMP/many.sbd -o $TMP/many; $TMP/many --threads=1",
    "sbc rates.sbd -o rates": "echo 'range(3) | write csv(\"-\")' >$TMP/rates.sbd; sbc $TMP/rates.sbd -o $TMP/rates",
    "zig-out/bin/sbc tests/bench/pipelines/a0.sbd -o a0": "zig-out/bin/sbc tests/bench/pipelines/a0.sbd -o $TMP/a0",
    # The simulator.
    "sim chain": SIM + CHAIN,
    "sim chain WORDS": SIM + CHAIN,
    "sim cluster": SIM + "cluster 1 5",
    "sim cluster A B": SIM + "cluster 1 5",
    "sim near": SIM + "near 3",
    "sim near N": SIM + "near 3",
    "sim large A B": SIM + "large 1 1",
    "sim exchange": SIM + "exchange 1 5",
    "sim exchange A B": SIM + "exchange 1 5",
    "sim nodes": SIM + "nodes 1 5",
    "sim nodes A B": SIM + "nodes 1 5",
    "sim optimum N": SIM + "optimum 3",
    "sim random A B": SIM + "random 1 5",
    "sim restart A B": SIM + "restart 1 5",
    "sim shuffle": SIM + "shuffle 100",
    "sim shuffle N": SIM + "shuffle 100",
    "sim speed N": SIM + "speed 2000 >$TMP/speed || tail -1 $TMP/speed | grep failed",  # Its targets are for a quiet machine.
    "sim table": SIM + "table",
    "sim trace SEED": SIM + "trace 1 >$TMP/trace",
    "sim workers A B": SIM + "workers 1 5",
    "zig-out/bin/sim": "./bootstrap.sh zig build sim; zig-out/bin/sim random 1 2",
    # Tests.
    "SBC_CRASH_STATES=10000 zig-out/test/crash_states_test": "./bootstrap.sh zig build programs; SBC_CRASH_STATES=5 zig-out/test/crash_states_test",
    "tests/cases.py FOLDER": BY_TESTS,
    "tests/chaos/run.py": BY_TESTS,
    "tests/chaos/run.py --count 1 --seed N": "tests/chaos/run.py --count 1 --seed 3",
    "tests/chaos/run.py --count 200": "tests/chaos/run.py --count 1 --seed 3",
    "tests/cuda/run.py": "tests/cuda/run.py chain",
    "tests/cuda/run.py NAME": "tests/cuda/run.py chain",
    "tests/cuda/run.py chaos": "tests/cuda/run.py chain",
    "tests/cases.py job NAME": "tests/cases.py job header",
    "diagnostics/one_error.py": BY_TESTS,
    "tests/diagnostics/one_error.py": BY_TESTS,
    "tests/differential/formatting.py": BY_TESTS,
    "tests/differential/run.py": BY_TESTS,
    "tests/differential/run.py --count 1 --seed N": "tests/differential/run.py --count 1 --seed 7",
    "tests/differential/run.py --count 10000 --seed N": "tests/differential/run.py --count 2 --seed 7",
    "tests/docs.py PAGE": "tests/docs.py docs/summary.md",
    "tests/docs.py --update": "tests/docs.py docs/summary.md",
    "tests/e2e/run.py NAME": "tests/e2e/run.py --brief steps/params",
    "tests/e2e/run.py --update NAME": "tests/e2e/run.py --brief steps/params",
    "tests/examples.sh": BY_TESTS,
    "tests/growth_test.py": BY_TESTS,
    "tests/growth_test.py NAME": BY_TESTS,
    "tests/instructions_test.py": BY_TESTS,
    "tests/instructions_test.py NAME": BY_TESTS,
    "tests/instructions_test.py columns_written narrow_columns swapped_columns": BY_TESTS,
    "tests/instructions_test.py decimals": BY_TESTS,
    "tests/instructions_test.py ends_of_texts": BY_TESTS,
    "tests/instructions_test.py keys_of_their_own": BY_TESTS,
    "tests/instructions_test.py matches groups_of_matches replaced_runs": BY_TESTS,
    "tests/instructions_test.py moments": BY_TESTS,
    "tests/instructions_test.py times_with_fraction times_with_offset": BY_TESTS,
    "tests/names_test.py": BY_TESTS,
    "tests/pyarrow.sh": BY_TESTS,
    "tests/rooms.py": BY_TESTS,
    "tests/rooms.py --table": AS_NAMED,
    "tests/words.py PATH": "tests/words.py docs/summary.md",
    "tests/memory/run.py CASE": MEMORY,
    "tests/memory/run.py --all --times=20 distinct": MEMORY,
    "tests/memory/run.py --duckdb": MEMORY,
    "tests/memory/run.py --all --times=20 --table=FILE": MEMORY,
    "tests/memory/run.py --all --times=20 --table=tests/memory/RESULTS.md": MEMORY,
    "tests/names_test.py NAME": "tests/names_test.py to_timestamp",
    "tests/operate_test.sh NAME": "tests/operate_test.sh drains",
    "tests/resume_test.sh CASE": "tests/resume_test.sh killed_file",
    "tests/sanitize.sh": BY_TESTS,
    "tests/sanitize.sh races": "tests/sanitize.sh races steps/zip_and_group",
    "tests/stress/run.py --runs 200 NAME": "tests/stress/run.py --runs 1 --joins 1 zip",
    "tests/commands_test.py TEXT": BY_TESTS,
    "tests/suites_test.py NAME": "tests/suites_test.py good",
    # Measurements.
    "tests/bench/workers/run.py joined": "tests/bench/workers/run.py --rounds 1 joined",
    "tests/bench/workers/run.py --check": BY_TESTS,
    "tests/bench/workers/run.py --write": "tests/bench/workers/run.py --rounds 1 start",
    "tests/bench/workers/run.py --ray PYTHON --write": "tests/bench/workers/run.py --rounds 1 start",
    "tests/bench/python/run.py --write": "python3 tests/bench/python/run.py --help",
    "tests/bench/run.sh": BENCH,
    "tests/bench/run.sh a4 b1_413": BENCH,
    "tests/bench/run.sh --scale=0.01": BENCH,
    "tests/bench/run.sh --no-peers a4": BENCH,
    "tests/bench/run.sh --write": BENCH,
    "tests/bench/run.sh --rounds=4 --write": BENCH,
    "tests/bench/run.sh --rounds=7 --write": BENCH,
    "tests/bench/run.sh --rounds=5 --table=tests/bench/C3_700.md c3_700 c3_records_700": BENCH,
    "tests/bench/run.sh --before=SBC": "tests/bench/run.sh --before=zig-out/bin/sbc --scale=0.0001 --rounds=1 a4_q6",
    "tests/bench/micro/columns/run.sh": COLUMNS,
    "tests/bench/texts/run.py": TEXTS,
    "texts/run.py": TEXTS,
    "tests/bench/matrix/matrix.py": MATRIX,
    "tests/bench/matrix/matrix.py --before=SBC keys": MATRIX,
    "tests/bench/matrix/matrix.py --scale=0.1 sort_few": MATRIX,
    "tests/bench/matrix/matrix.py --check NAME": "tests/bench/matrix/matrix.py --check sort_int",
    "bench/matrix/matrix.py --check": "tests/bench/matrix/matrix.py --check sort_int",
    "tests/bench/matrix/matrix.py --check": "tests/bench/matrix/matrix.py --check sort_int",
    "tests/bench/matrix/matrix.py --scale=0.25 --write": MATRIX,
    "tests/bench/matrix/matrix.py --instructions --write": "tests/bench/matrix/matrix.py --instructions sort_int",
    "tests/bench/matrix/matrix.py --scale=1 --rounds=2 --write": MATRIX,
    "tests/bench/texts/run.py quoted": TEXTS,
    "micro/columns/run.sh": COLUMNS,
    "tests/bench/streaming/run.py --write": STREAMING,
}
SHORT = {command: command if short is AS_NAMED else short for command, short in _FORMS.items()}
