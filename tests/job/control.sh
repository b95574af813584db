# Words of cases that tell a running job something. `listener` names any job, `socket` is where the running one listens.

# tell COMMAND: says it to the job, which began to listen or soon does.
tell() {
    for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
        $listener --tell="$1" --control=socket >"$work/told" 2>"$work/err" && return
        grep -q -e SB8088 -e "not begun" "$work/err" || return 0
        sleep 0.1
    done
    wrong "the job takes no commands: $1"
}
told() { grep -qF -e "$1" "$work/told" || { cat "$work/told"; wrong "not told: $1"; }; }
# pid_of WORKER: never 0, which would be all processes of the group.
pid_of() { found=$(field "$1" 2) && [ "${found:-0}" -gt 0 ] && echo "$found" || echo none; }
field() { awk -v worker="$1" -v field="$2" '$1 == worker { print $field }' "$work/told"; }
# awaits COUNT WORDS: so many workers of the status say that.
awaits() {
    for try in $(seq 80); do
        tell status
        [ "$(grep -c -e "$2" "$work/told")" != "$1" ] || return
        sleep 0.05
    done
    cat "$work/told"
    wrong "not $1 workers say: $2"
}
