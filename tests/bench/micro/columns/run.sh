#!/bin/sh
# run.sh [ROWS [NAME...]]: pipelines over a range against loops by hand, one thread, the CPU level
# that the job picks: nanoseconds a row, the least of five turns; and instructions a row under
# callgrind, where both run at x86-64-v3.
cd "$(dirname "$0")" || exit 2
sbc=${SBC:-../../../../zig-out/bin/sbc}
rows=${1:-200000000}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- integers floats keys
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
level=x86-64-v3
grep -q -m1 avx512vl /proc/cpuinfo && level=x86-64-v4
for cpu in x86-64-v3 "$level"; do
    ../../../../bootstrap.sh zig cc -O3 -march="$(echo $cpu | tr - _)" -mprefer-vector-width=512 -ffp-contract=off \
        -fno-sanitize=undefined -o "$work/by_hand-$cpu" "$PWD/by_hand.c" || exit 1
done

# nanoseconds COMMAND...: user time a row, the least of five.
nanoseconds() {
    python3 - "$rows" "$@" <<'END'
import os, subprocess, sys
rows, command = int(sys.argv[1]), sys.argv[2:]
best = None
for _ in range(5):
    before = os.times().children_user
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    spent = os.times().children_user - before
    best = spent if best is None else min(best, spent)
print(f"{best * 1e9 / rows:.2f}")
END
}

# instructions SMALL LARGE: a row, from two runs that differ by a million rows; 0 without valgrind.
count() {
    command -v valgrind >/dev/null || { echo 0; return; }
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null |
        sed -n 's/.*Collected : //p'
}

echo "| | sbc ns | by hand ns | sbc instructions | by hand instructions |"
echo "|---|---|---|---|---|"
for name in "$@"; do
    "$sbc" "$name.sbd" -o "$work/$name" || exit 1
    job="$work/$name --threads=1"
    ours=$(nanoseconds $job --n="$rows") || exit 1
    theirs=$(nanoseconds "$work/by_hand-$level" "$name" "$rows") || exit 1
    a=$(count $job --n=1000000) b=$(count $job --n=2000000)
    c=$(count "$work/by_hand-x86-64-v3" "$name" 1000000)
    d=$(count "$work/by_hand-x86-64-v3" "$name" 2000000)
    echo "| $name | $ours | $theirs | $(echo "$a $b" | awk '{printf "%.2f", ($2 - $1) / 1e6}') |" \
        "$(echo "$c $d" | awk '{printf "%.2f", ($2 - $1) / 1e6}') |"
done
