#!/bin/sh
# crash_test.sh: what a job says when a signal ends it, and that the signal does end it.
# Run alone: SBC=zig-out/bin/sbc tests/crash_test.sh [CASE]
sbc=$(realpath "${SBC:-zig-out/bin/sbc}")
only=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
passed=0 failed=0

# crashes NAME STATUS PATTERN... : the job that the files NAME.sbd and crash.c make ends with STATUS
# and every pattern is in what it says. Nothing may appear under the output's name.
crashes() {
    name=$1 want=$2 good=1
    shift 2
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    cat > "$name.sbd"
    "$sbc" "$name.sbd" -o job || good=0
    # In a shell of its own, which says that its child was killed.
    sh -c 'ulimit -c 0; timeout 60 ./job --threads=2 2>said; exit $?' 2>/dev/null
    code=$?
    [ $code = "$want" ] || { good=0; echo "  exit $code instead of $want"; }
    for pattern; do
        grep -Eq -e "$pattern" said || { good=0; echo "  not said: $pattern"; }
    done
    [ ! -e out.csv ] || { good=0; echo "  an output appeared"; }
    rm -f .out.csv.* out.csv
    if [ $good = 1 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$name: failed; alone: tests/crash_test.sh $name"
        sed 's/^/    /' said
    fi
}

cat > crash.c <<'C'
#define _GNU_SOURCE
#include "pipeline.h"
#include <stdlib.h>
#include <unistd.h>
static int *volatile nowhere;
static void (*volatile no_function)(void);
int64_t dereference(int64_t x) {
    return x == 7 ? *nowhere : x;
}
int64_t aborts(int64_t x) {
    if (x == 7) abort();
    return x;
}
static int64_t deep(volatile int64_t *up, int64_t x) {
    volatile int64_t here[64];
    here[x & 63] = *up + x;
    int64_t result = deep(here, x + 1);
    return result + here[0];
}
int64_t overflows(int64_t x) {
    volatile int64_t top = x;
    return x == 7 ? deep(&top, x) : x;
}
int64_t divides(int64_t x) {
    return 100 / (x - 7);
}
int64_t calls_nothing(int64_t x) {
    if (x == 7) no_function();
    return x + 1;
}
int64_t in_second_thread(int64_t x) {
    while (gettid() == getpid()) pause();
    return x + *nowhere;
}
int64_t breaks_stack(int64_t x) {
    if (x == 7) __asm__ volatile("mov $16, %rsp\n\tmov $16, %rbp\n\tpush %rax");
    return x;
}
C

crashes null 139 'error\[SB8026\]: the job crashed: SIGSEGV, invalid memory access at address 0x0$' \
    '--> null\.sbd:4:9$' ' 4 \|     z = dereference\(y\)' '^ +\|         \^$' \
    '= step: derive y = i \+ 1, z = dereference\(y\)' \
    'dereference \(.*crash\.c:8\)$' 'sb_stage_0_v[34] \(null\.sbd:4\)$' '= fix: ' <<'SBD'
extern fn dereference(x: i64) -> i64 from "crash.c" pure
range(100)
| derive y = i + 1,
    z = dereference(y)
| write csv("out.csv")
SBD

# The interpreter runs the function inside sbc.
if [ -z "$only" ] || [ "$only" = interpreted ]; then
    sh -c 'ulimit -c 0; "$0" run --engine=reference null.sbd 2>said; exit $?' "$sbc" 2>/dev/null
    if [ $? = 139 ] && grep -q '^error\[SB0011\]: sbc was ended by SIGSEGV$' said && [ ! -e out.csv ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "interpreted: failed; alone: tests/crash_test.sh"
        sed 's/^/    /' said
    fi
fi

crashes aborts 134 'SB8026.*SIGABRT, abort$' '--> aborts\.sbd:3:9$' 'step: where aborts\(i\) > 3' \
    '\(libc\.so\.6\)$' 'aborts \(.*crash\.c:11\)$' <<'SBD'
extern fn aborts(x: i64) -> i64 from "crash.c" pure
range(100)
| where aborts(i) > 3
| write csv("out.csv")
SBD

crashes overflows 139 'SB8026.*SIGSEGV, stack overflow$' '--> overflows\.sbd:3:14$' \
    'deep \(.*crash\.c:1[4-9]\)$' '\.\.\. [0-9]+ more \.\.\.$' \
    'sb_stage_0_v[34] \(overflows\.sbd:3\)$' <<'SBD'
extern fn overflows(x: i64) -> i64 from "crash.c" pure
range(100)
| derive z = overflows(i)
| write csv("out.csv")
SBD

crashes divides 136 'SB8026.*SIGFPE, arithmetic error at 0x' '--> divides\.sbd:4:' \
    'step: derive z = divides\(i\)' <<'SBD'
extern fn divides(x: i64) -> i64 from "crash.c" pure
range(100)
| where i < 50
| derive z = divides(i)
| write csv("out.csv")
SBD

crashes calls_nothing 139 'SIGSEGV, invalid memory access at address 0x0$' \
    '--> calls_nothing\.sbd:3:' '^      0x0$' 'calls_nothing \(.*crash\.c:' <<'SBD'
extern fn calls_nothing(x: i64) -> i64 from "crash.c" pure
range(100)
| derive z = calls_nothing(i)
| write csv("out.csv")
SBD

# In a function: no step holds the line, the stage is named.
crashes in_function 139 '--> in_function\.sbd:2:27$' '= stage: range\(100\)' <<'SBD'
extern fn dereference(x: i64) -> i64 from "crash.c" pure
fn twice(x: i64) -> i64 = dereference(x) * 2
range(100)
| derive z = twice(i)
| write csv("out.csv")
SBD

# A stage behind a breaker, whose rows come in another stage.
crashes behind_sort 139 '--> behind_sort\.sbd:4:14$' 'sb_stage_1_v[34]' <<'SBD'
extern fn dereference(x: i64) -> i64 from "crash.c" pure
range(100)
| sort i desc
| derive z = dereference(i)
| write csv("out.csv")
SBD

crashes second_thread 139 'SIGSEGV, invalid memory' '--> second_thread\.sbd:3:' \
    'in_second_thread \(.*crash\.c:33\)$' 'sb_stage_0_v' <<'SBD'
extern fn in_second_thread(x: i64) -> i64 from "crash.c" pure
range(10000000)
| derive z = in_second_thread(i)
| write csv("out.csv")
SBD

crashes broken_stack 139 'SB8026.*SIGSEGV' 'the stack is broken: nothing more can be said$' <<'SBD'
extern fn breaks_stack(x: i64) -> i64 from "crash.c" pure
range(100)
| derive z = breaks_stack(i)
| write csv("out.csv")
SBD

# Without debug information and symbols there is less to say, but nothing breaks.
if [ -z "$only" ] && command -v strip >/dev/null; then
    "$sbc" null.sbd -o job && strip job
    sh -c 'ulimit -c 0; timeout 60 ./job 2>said; exit $?' 2>/dev/null
    if [ $? = 139 ] && grep -q 'SB8026.*SIGSEGV' said && grep -q '^      0x' said; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "stripped: failed:"
        sed 's/^/    /' said
    fi
fi

if [ -z "$only" ]; then
    if "$sbc" explain SB8026 | grep -q 'signal that the message names ends'; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "explain: failed"
    fi
fi

echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
