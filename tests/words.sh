# words.sh: what cases in shell say. Who reads it in has set `work` (a folder for what is not the case's own), `sbc`,
# `case_name`, `checks=0`, and `alone`,
# which runs a case by itself. A case is good if it has checked something and there is no file $work/failed.

# A file, and no variable: what stands in a pipe is run by a shell of its own.
wrong() {
    [ -e "$work/failed" ] || echo "$case_name: failed; alone: $alone $case_name"
    : >"$work/failed"
    echo "  $*"
    sed 's/^/    /' "$work/err" 2>/dev/null | cut -c 1-200 | head -12
}
# gives CODE COMMAND...: runs it, streams to $work/out and $work/err.
gives() {
    checks=$((checks + 1))
    want=$1
    shift
    timeout 60 "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code = "$want" ] || wrong "exit $code instead of $want: $*"
}
says() { checks=$((checks + 1)); grep -qF -e "$1" "$work/err" || wrong "not said: $1"; }
silent_on() { ! grep -qF -e "$1" "$work/err" || wrong "said: $1"; }
prints() { grep -qF -e "$1" "$work/out" || wrong "not printed: $1"; }
# holds FILE TEXT: the whole of it.
holds() { [ "$(cat "$1" 2>&1)" = "$2" ] || wrong "$1 holds: $(head -c 600 "$1" 2>&1)"; }
only_files() {
    found=$(find . -type f | LC_ALL=C sort | tr '\n' ' ')
    [ "$found" = "$1" ] || wrong "files: $found, expected: $1"
}
numbers() { awk -v n="$1" 'BEGIN { print "a,b,x"; for (i = 0; i < n; i++) printf "%d,name%d,%.1f\n", i, i % 100, i / 2 }'; }

# least JOB [OPTION...]: the option --memory with the minimum of the job, or with --over=N as many MiB
# more.
least() {
    over=0
    for option; do case $option in --over=*) over=${option#--over=} ;; esac; done
    options=
    for option; do case $option in --over=*) ;; *) options="$options $option" ;; esac; done
    $options --plan | awk -v over="$over" '$1 == "--memory" { printf "--memory=%.1fMiB\n", $2 + over }'
}
