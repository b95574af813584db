#!/bin/sh
# all.sh PROGRAM...: runs every test program given and prints the sum as the last line.
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for program; do
    case $program in
    */tidy)
        # shellcheck disable=SC2046 # No path here has spaces.
        "$program" sbc.c $(find ir frontend codegen runtime stdlib driver tests docs examples -name '*.[ch]' -o \
            -name '*.py' -o -name '*.sh' -o -name '*.md' -o -name '*.decl' -o -name '*.case' -o -name '*.sbd' | sort)
        ;;
    *) "$program" ;;
    esac
    status=$?
    [ $status -le 1 ] || echo "$program: 0 passed, 1 failed, 0 skipped (exit $status)"
done | tee "$log"
awk '/[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped/ {
         for (i = 2; i <= NF; i++) {
             if ($i ~ /^passed,?$/) p += $(i-1); if ($i ~ /^failed,?$/) f += $(i-1)
             if ($i ~ /^skipped,?$/) s += $(i-1)
         } }
     END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }' "$log"
