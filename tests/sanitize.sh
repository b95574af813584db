#!/bin/bash
# sanitize.sh: the compiler, the runtime, jobs and unit tests under AddressSanitizer and
# UBSan; jobs on several threads under ThreadSanitizer; jobs under valgrind. Everything is built by
# clang-22 (zig cannot link the runtimes of the sanitizers) into build/sanitize/, file by file when
# something is newer. One line a test; a failure prints the end of its log.
#
# usage: tests/sanitize.sh          all of that
#        tests/sanitize.sh races [CASE...]   end-to-end cases under ThreadSanitizer, with threads
#                                            and workers
set -u
cd "$(dirname "$0")/.." || exit 2
work=$PWD/build/sanitize
mkdir -p "$work/plain" "$work/asan" "$work/tsan" "$work/times"
: >"$work/results"
LIBRARIES="-l:libuv_a.a -lyaml -lzstd -llz4 -lz -lpcre2-8 -lutf8proc -lffi -lm -ldl"
CFLAGS="-std=gnu23 -gline-tables-only -gdwarf-4 -O1 -march=x86-64-v3 -ffp-contract=off -fno-omit-frame-pointer -w
    -I. --embed-dir=stdlib --embed-dir=runtime/main --embed-dir=runtime/python --embed-dir=codegen/cuda
    --embed-dir=stdlib/number"
LLVM=${LLVM:-/usr/lib/llvm-22}

# What came of each test stands in a file: tests run beside each other.
pass() { echo "ok   $1$taken"; echo passed >>"$work/results"; }
skip() { echo "skip $1: $2"; echo skipped >>"$work/results"; }
fail() { echo "FAIL $1, $2:"; tail -n 40 "$2" | sed 's/^/    /'; echo failed >>"$work/results"; }
count() { grep -c "^$1\$" "$work/results"; }

finish() {
    local failed
    wait
    # One that never came to its end has failed.
    failed=$(($(count begun) - $(count passed)))
    echo "$(count passed) passed, $failed failed, $(count skipped) skipped"
    [ "$failed" = 0 ]
    exit
}

# timed COMMAND...: its exit code is in `code`, and what it took in `taken`. The name of the file of
# times stands in no variable meanwhile: commands are functions of this script, which could set it.
taken=
timed() {
    local TIMEFORMAT="%R %U %S"
    { time "$@" 2>&3; code=$?; } 3>&2 2>"$work/times/$BASHPID"
    taken=$BASHPID
    taken=$(awk 'END { printf ": %.1f s, processor %.1f s", $1, $2 + $3 }' "$work/times/$taken")
}

# beside COMMAND...: it runs beside the others; as many at once as there are processors.
beside() {
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    "$@" &
}

# check NAME LOG COMMAND...: one test, which passes when the command does.
check() {
    local name=$1 log=$2
    shift 2
    echo begun >>"$work/results"
    timed "$@" >"$log" 2>&1
    if [ "$code" = 0 ]; then pass "$name"; else fail "$name" "$log"; fi
    taken=
}

# need NAME LOG COMMAND...: what all tests after it need.
need() {
    timed "${@:3}" >"$2" 2>&1
    [ "$code" = 0 ] || { echo begun >>"$work/results"; fail "$1" "$2"; finish; }
    echo "     $1$taken"
    taken=
}

# The C files of a folder and its sub-folders, as build.zig finds them.
files() { find "$@" -name '*.c' | sort; }

# objects KIND FLAGS FILE...: compiles what is older than any header or its source.
objects() {
    local kind=$1 flags=$2 file object header
    shift 2
    header=$(find ir frontend driver codegen runtime stdlib tests/unit \
        \( -name '*.h' -o -name '*.def' -o -name '*.decl' -o -name '*.html' \) -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
    for file; do
        object=$work/$kind/${file%.c}.o
        [ "$object" -nt "$file" ] && [ "$object" -nt "$header" ] && continue
        mkdir -p "${object%/*}"
        # shellcheck disable=SC2086
        printf '%s\0' "clang-22 ${CFLAGS//$'\n'/ } $flags -c $file -o $object"
    done | xargs -0 -r -P "$(nproc)" -I{} sh -c '{}'
}

# archive KIND NAME FILE...: a library of their objects.
archive() {
    local library=$work/$1/lib/$2.a kind=$1
    shift 2
    mkdir -p "${library%/*}"
    rm -f "$library"
    # q: files of one name in two folders are two members.
    "$LLVM/bin/llvm-ar" qcs "$library" $(printf "$work/$kind/%s\n" "${@%.c}" | sed 's/$/.o/')
}

# A linker for sbc, found as `mold` in PATH: links its objects with clang and a sanitizer.
linker() {
    mkdir -p "$work/$1/path"
    cat >"$work/$1/path/mold" <<END
#!/bin/bash
objects=() output=
while [ \$# -gt 0 ]; do
    case \$1 in
    -o) output=\$2; shift ;;
    */crt*.o | */Scrt*.o) ;;
    *.o) objects+=("\$1") ;;
    esac
    shift
done
exec clang-22 -fuse-ld=lld -Wl,--threads=1 $2 -pie -rdynamic -o "\$output" "\${objects[@]}" $work/$1/lib/libsbrt.a $LIBRARIES
END
    chmod +x "$work/$1/path/mold"
}

# The hot files of the standard library as bitcode, as build.zig makes it, for codegen to embed.
bitcode() {
    local out=$work/bitcode name names file files
    files=$(sed -n '/^const stdlib_hot: /,/^};/s/^ *"\(.*\)".*/\1/p' build.zig)
    names=$(printf '%s\n' $files | sed 's/.*\///; s/\.c$//')
    mkdir -p "$out"
    for file in $files; do
        name=$(basename "$file" .c)
        [ "$out/$name.bc" -nt "$file" ] && continue
        clang-22 -std=gnu23 -O2 -c -emit-llvm -I. -target x86_64-linux-gnu -march=x86-64-v3 \
            -fno-stack-protector -ffp-contract=off "$file" -o "$out/$name.bc" || return
    done
    {
        for name in $names; do
            printf 'static const unsigned char %s_bc[] = {\n#embed <%s.bc>\n};\n' "$name" "$name"
        done
        printf '#define EACH_FILE(X)'
        printf ' X(%s)' $names
        echo
    } >"$out/stdlib_bitcode.inc"
}

# The files of stdlib/formats/ that are called LAYER.c or LAYER_*.c.
layer() { files stdlib/formats | grep -E "/$1(_[a-z_]*)?\.c$"; }

RUNTIME="$(files runtime) $(layer read) $(layer write)"
STDLIB=$(files stdlib | grep -v ^stdlib/formats/)
IR="$(files ir) $(layer describe)"
CORE="$IR $(files frontend codegen/reference codegen/build codegen/cuda driver runtime/python) $(layer reference)"
CODEGEN="$(files codegen | grep -v -e ^codegen/reference/ -e ^codegen/build/ -e ^codegen/cuda/) $(layer emit)"

# ---- AddressSanitizer and UBSan ----------------------------------------------------------------

ASAN="-fsanitize=address,undefined -fno-sanitize-recover=undefined"

# The compiler is small work beside LLVM: without optimisation it takes a third of the time to build.
COMPILED="$ASAN -O0 -fPIC"

# shellcheck disable=SC2086
build_asan() {
    bitcode && objects asan "$ASAN" $RUNTIME $STDLIB && objects asan "$COMPILED" $CORE sbc.c &&
        objects asan "$COMPILED -I$work/bitcode --embed-dir=$work/bitcode -isystem $LLVM/include" $CODEGEN &&
        archive asan libcore $CORE && archive asan libstd $STDLIB runtime/memory/foreign.c &&
        archive asan libsbrt $RUNTIME $STDLIB && linker asan "$ASAN" && mkdir -p "$work/asan/bin" &&
        clang-22 $ASAN -shared -o "$work/asan/lib/libsbc-codegen.so" \
            $(printf "$work/asan/%s.o\n" $(echo $IR $CODEGEN | sed 's/\.c\b//g')) \
            -L"$LLVM/lib" -lLLVM-22 &&
        link_asan "$work/asan/sbc.o" "$work/asan/bin/sbc"
}

# Whole, with its names exported: the reference interpreter finds functions by name.
# shellcheck disable=SC2086
link_asan() {
    clang-22 $ASAN -rdynamic -o "$2" "$1" -Wl,--whole-archive "$work/asan/lib/libstd.a" -Wl,--no-whole-archive \
        "$work/asan/lib/libcore.a" "$work/asan/lib/libsbrt.a" $LIBRARIES
}

unit_test() {
    local program=$work/asan/tests/unit/$1
    [ "$program" -nt "$program.o" ] && [ "$program" -nt "$work/asan/lib/libsbrt.a" ] ||
        link_asan "$program.o" "$program" || return
    "$program"
}

unit_tests() {
    local name names
    names=$(basename -s .c tests/unit/*.c)
    # shellcheck disable=SC2046
    objects asan "$ASAN" $(printf 'tests/unit/%s.c\n' $names) || return
    for name in $names; do
        beside check "asan unit $name" "$work/asan/$name.log" unit_test "$name"
    done
}

# ---- jobs --------------------------------------------------------------------------------------

JOBS="group sort join copy rejects streams"

data() {
    mkdir -p "$work/data"
    [ "$work/data/small.csv" -nt tests/sanitize/data.awk ] && return
    awk -v rows=120000 -f tests/sanitize/data.awk >"$work/data/large.csv"
    awk -v rows=120000 -v bad=1 -f tests/sanitize/data.awk >"$work/data/large_bad.csv"
    awk -v rows=3000 -f tests/sanitize/data.awk >"$work/data/small.csv"
    awk -v rows=3000 -v bad=1 -f tests/sanitize/data.awk >"$work/data/small_bad.csv"
}

input_of() {
    case $1 in
    rejects) echo "$work/data/$2_bad.csv" ;;
    *) echo "$work/data/$2.csv" ;;
    esac
}

# job KIND NAME SIZE OPTION...: runs a job that KIND linked, in a folder of its own.
job() {
    local kind=$1 name=$2 size=$3
    local folder=$work/$kind/out/$name.$size
    shift 3
    rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" || return
    $WRAPPER "$work/$kind/$name" --input="$(input_of "$name" "$size")" --out=. "$@"
}

# compile KIND NAME COMPILER: through the linker of KIND. The compiler lets its arenas go at its end,
# and its two libraries hold the same tables.
compile() {
    PATH=$work/$1/path:$PATH ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 "$3" "tests/sanitize/$2.sbd" -o "$work/$1/$2"
}

asan_job() {
    compile asan "$1" "$work/asan/bin/sbc" && (job asan "$1" small --threads=2 --overwrite) &&
        (job asan "$1" large --threads=2 --overwrite)
}

# The end-to-end cases, or a share of them: the interpreter, and jobs that are compiled once and run in two ways.
asan_e2e() {
    PATH=$work/asan/path:$PATH ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 \
        SBC=$work/asan/bin/sbc tests/e2e/run.py --brief --share
}

asan_check() {
    local file
    export ASAN_OPTIONS=detect_leaks=0
    for file in tests/sanitize/*.sbd tests/syntax/*.sbd; do
        "$work/asan/bin/sbc" check "$file" >/dev/null 2>&1
        [ $? -le 1 ] || { "$work/asan/bin/sbc" check "$file"; return 1; }
    done
}

# ---- ThreadSanitizer ---------------------------------------------------------------------------

# shellcheck disable=SC2086
build_tsan() {
    objects tsan "-fsanitize=thread" $RUNTIME $STDLIB && archive tsan libsbrt $RUNTIME $STDLIB &&
        linker tsan "-fsanitize=thread"
}

# Four threads must give what ASan's two gave, and tiny partitions too, which let stages meet most often,
# and breakers that spill.
# With a journal each unit is committed. The sanitizer needs a fixed layout of addresses.
tsan_job() {
    compile tsan "$1" "$COMPILER" &&
        (WRAPPER="setarch -R" job tsan "$1" large --threads=4 --overwrite --partition=1MiB) &&
        diff -r "$work/asan/out/$1.large" "$work/tsan/out/$1.large" &&
        (WRAPPER="setarch -R" job tsan "$1" small --threads=4 --overwrite --partition=300) &&
        diff -r "$work/asan/out/$1.small" "$work/tsan/out/$1.small" &&
        (export SBC_TEST_SPILL=1
         WRAPPER="setarch -R" job tsan "$1" small --threads=4 --overwrite --partition=3000) &&
        diff -r "$work/asan/out/$1.small" "$work/tsan/out/$1.small" &&
        (export SBC_TEST_COMMIT=1
         WRAPPER="setarch -R" job tsan "$1" small --threads=4 --partition=3000 --resume=journal) &&
        diff -r -x journal -x '*.manifest.json' "$work/asan/out/$1.small" "$work/tsan/out/$1.small" &&
        tsan_signals "$1"
}

# A job that is asked to end at any of its commits, the last one too.
tsan_signals() {
    local at code
    for at in 1 3 6 9; do
        (export SBC_TEST_COMMIT=1 SBC_FAILPOINT=committed=SIGTERM:$at
         WRAPPER="setarch -R" job tsan "$1" small --threads=3 --partition=6000 --resume=journal)
        code=$?
        [ $code = 0 ] || [ $code = 1 ] || [ $code = 130 ] || return
    done
}

# Those of what has threads of its own.
TSAN_UNITS="runtime_test links_test links_tcp_test"

# shellcheck disable=SC2086
tsan_unit() {
    local flags="-fsanitize=thread"
    objects tsan "$flags" "tests/unit/$1.c" &&
        clang-22 $flags -o "$work/tsan/$1" "$work/tsan/tests/unit/$1.o" \
            "$work/tsan/lib/libsbrt.a" $LIBRARIES && setarch -R "$work/tsan/$1"
}

# Jobs that are killed while they commit, and go on; or a share of them.
tsan_resume() {
    local case
    for case in $(tests/share.py killed_file killed_several killed_breakers killed_edges); do
        PATH=$work/tsan/path:$PATH SBC=$COMPILER setarch -R tests/resume_test.sh "$case" || return
    done
}

# The end-to-end cases on several threads and in workers.
tsan_e2e() {
    PATH=$work/tsan/path:$PATH SBC=$COMPILER setarch -R tests/e2e/run.py --races "$@"
}

# ---- valgrind ----------------------------------------------------------------------------------

# valgrind 3.19 knows x86-64-v3, which a job falls back to on a CPU that says no more.
valgrind_job() {
    "$COMPILER" "tests/sanitize/$1.sbd" -o "$work/plain/$1" &&
        (WRAPPER="valgrind -q --error-exitcode=9 --fair-sched=yes" job plain "$1" small --threads=2 --overwrite) &&
        diff -r "$work/asan/out/$1.small" "$work/plain/out/$1.small"
}

# ---- the suite ---------------------------------------------------------------------------------

case ${1:-} in
"" | races) ;;
*) sed -n '/^# usage/,/^set/s/^# //p' tests/sanitize.sh >&2; exit 2 ;;
esac
WRAPPER=
COMPILER=${SBC:-$PWD/zig-out/bin/sbc}
for tool in clang-22 "$LLVM/bin/llvm-ar" "$LLVM/include/llvm-c/Core.h" "$COMPILER"; do
    command -v "$tool" >/dev/null || [ -e "$tool" ] || { skip sanitizers "$tool is missing"; finish; }
done
if [ "${1:-}" = races ]; then
    need "tsan build" "$work/tsan.log" build_tsan
    check "tsan e2e" "$work/tsan.e2e.log" tsan_e2e "${@:2}"
    finish
fi
data
need "asan build" "$work/asan.log" build_asan
need "tsan build" "$work/tsan.log" build_tsan
unit_tests
beside check "asan compiler" "$work/check.log" asan_check
for name in $JOBS; do beside check "asan job $name" "$work/asan.$name.log" asan_job "$name"; done
wait  # What they wrote is what jobs under the other tools have to write.
beside check "asan e2e" "$work/asan.e2e.log" asan_e2e
beside check "tsan resume" "$work/tsan.resume.log" tsan_resume
for name in $TSAN_UNITS; do beside check "tsan unit $name" "$work/tsan.$name.log" tsan_unit "$name"; done
for name in $JOBS; do beside check "tsan job $name" "$work/tsan.$name.log" tsan_job "$name"; done
for name in $JOBS; do
    if command -v valgrind >/dev/null; then beside check "valgrind job $name" "$work/valgrind.$name.log" valgrind_job "$name"
    else skip "valgrind job $name" "valgrind is not installed"; fi
done
finish
