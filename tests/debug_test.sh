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

seq 0 99 | sed '1s/^/i\n/' > in.csv
cat > lines.sbd <<'SBD'
read csv("in.csv") as { i: i64 }
| derive q = i * i
| where q % 3 == 0
| aggregate {
    s = sum(q),
    n = count() where q > 9,
  }
| write csv("out.csv")
SBD
"$sbc" lines.sbd -o job || exit 1
sed 's/^read.*/range(100000)/' lines.sbd > columns.sbd
"$sbc" columns.sbd -o columns || exit 1

if command -v gdb >/dev/null; then
    cat > script.gdb <<'GDB'
set debuginfod enabled off
set breakpoint pending off
break lines.sbd:3
run --threads=1
info line
backtrace 1
delete
break lines.sbd:6
run --threads=1 --overwrite
backtrace 1
GDB
    said=$(gdb -batch -x script.gdb ./job 2>&1)
    loops=$(sed 's/lines/columns/' script.gdb > loops.gdb && gdb -batch -x loops.gdb ./columns 2>&1)
    check "a breakpoint on a line of the pipeline stops" 'lines\.sbd:3' "$said"
    check "the debugger shows the step" 'where q % 3 == 0' "$said"
    check "an aggregate has lines of its own" '^#0 .*sb_stage_0.* lines\.sbd:6' "$said"
    check "loops over columns have lines" '^#0 .*column_loop.* columns\.sbd:3' "$loops"
else
    echo "debug: gdb is not installed" >&2
    skipped=$((skipped + 4))
fi

if command -v addr2line >/dev/null && command -v nm >/dev/null; then
    address=$(nm job | awk '$3 ~ /^sb_stage_0_v3$/ { print $1 }')
    check "addr2line names the file" 'lines\.sbd:[0-9]+' "$(addr2line -e job "$address")"
    # Each step has code in the stage.
    lines=$(for i in $(seq 0 8 2000); do printf '%x\n' $((0x$address + i)); done |
        addr2line -f -i -e job | awk '/^sb_stage_0$/ { getline; print }' | sed 's/.*lines/lines/' | sort -u)
    for line in 2 3 5 6; do
        check "addr2line knows line $line" "^lines\.sbd:$line" "$lines"
    done
    check "only libc and libm are shared" '^libc.so.6 libm.so.6$' \
        "$(readelf -d job | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs)"
    check "glibc 2.35 will do" '^GLIBC_2\.([0-9]|[12][0-9]|3[0-5])$' \
        "$(readelf -V job | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -1)"
else
    echo "debug: addr2line is not installed" >&2
    skipped=$((skipped + 7))
fi

check "a job is small" '^small$' "$([ "$(wc -c < job)" -lt 4000000 ] && echo small)"

echo "debug: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
