#!/bin/sh
# debug_test.sh: a debugger and addr2line find lines of the pipeline in the code made from it.
# Run alone: SBC=zig-out/bin/sbc tests/debug_test.sh
sbc=$(realpath "${SBC:-zig-out/bin/sbc}")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
passed=0 failed=0 skipped=0

check() {  # NAME PATTERN TEXT
    if printf '%s\n' "$3" | grep -Eq "$2"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'debug %s: FAILED; expected %s in:\n%s\n' "$1" "$2" "$3" >&2
    fi
}

cat > lines.sbd <<'SBD'
range(100)
| derive q = i * i
| where q % 3 == 0
| aggregate { s = sum(q) }
| write csv("out.csv")
SBD
"$sbc" lines.sbd -o job || exit 1

if command -v gdb >/dev/null; then
    cat > script.gdb <<'GDB'
set debuginfod enabled off
set breakpoint pending off
break lines.sbd:3
run --threads=1
info line
backtrace 1
GDB
    said=$(gdb -batch -x script.gdb ./job 2>&1)
    check "a breakpoint on a line of the pipeline stops" 'lines\.sbd:3' "$said"
    check "the debugger shows the step" 'where q % 3 == 0' "$said"
else
    echo "debug: gdb is not installed" >&2
    skipped=$((skipped + 2))
fi

if command -v addr2line >/dev/null && command -v nm >/dev/null; then
    address=$(nm job | awk '$3 ~ /^sb_stage_0_v3$/ { print $1 }')
    check "addr2line names the file" 'lines\.sbd:[0-9]+' "$(addr2line -e job "$address")"
    check "only libc and libm are shared" '^libc.so.6 libm.so.6$' \
        "$(readelf -d job | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs)"
else
    echo "debug: addr2line is not installed" >&2
    skipped=$((skipped + 1))
fi

check "a job is small" '^small$' "$([ "$(wc -c < job)" -lt 4000000 ] && echo small)"

echo "debug: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
