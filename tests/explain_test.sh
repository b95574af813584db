#!/bin/sh
# explain_test.sh [--update] [NAME]: what --explain says of each tests/explain/NAME.sbd is NAME.txt.
# --update writes the files anew: look at the difference before you keep it.
sbc=$(realpath "${SBC:-zig-out/bin/sbc}")
cd "$(dirname "$0")/explain" || exit 1
update=
[ "$1" = --update ] && update=1 && shift
export SBC_NVRTC=/nowhere  # What NVRTC says belongs to tests/cuda.
passed=0 failed=0
for program in ${1:-*}.sbd; do
    name=${program%.sbd}
    [ -z "$update" ] || "$sbc" "$program" --explain >"$name.txt"
    if said=$("$sbc" "$program" --explain 2>&1 | diff -u "$name.txt" -); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$said"
        echo "explain $name: failed; alone: tests/explain_test.sh $name"
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ] && [ $passed != 0 ]
