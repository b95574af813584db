#!/bin/sh
# driver_test.sh [SBC]: the commands of sbc, their messages and exit codes.
#
# Run it alone: sh tests/driver_test.sh zig-out/bin/sbc
sbc=$(realpath "${1:-zig-out/bin/sbc}")
top=$(pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CACHE_HOME="$work/cache"
passed=0 failed=0

# expect NAME CODE TEXT ARGUMENT...: sbc ends with CODE and says TEXT somewhere.
expect() {
    name=$1 code=$2 text=$3
    shift 3
    "$sbc" "$@" >out 2>err </dev/null
    got=$?
    if [ $got -eq "$code" ] && { [ -z "$text" ] || cat out err | grep -qF -e "$text"; }; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "driver_test: $name: FAILED: sbc $*: exit $got, expected $code and '$text'" >&2
    sed 's/^/    /' out err >&2
}

# same NAME WANTED: what the last command wrote to standard output.
same() {
    if [ "$(cat out)" = "$2" ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "driver_test: $1: FAILED: expected" >&2
    printf '%s\n' "$2" | diff - out >&2
}

# holds NAME COMMAND...: the command succeeds.
holds() {
    name=$1
    shift
    if "$@" >/dev/null 2>&1; then passed=$((passed + 1)); return; fi
    failed=$((failed + 1))
    echo "driver_test: $name: FAILED: not so: $*" >&2
}

cat >small.sbd <<'END'
param n: i64 = 4
range(n) | where i > 1 | derive x = i * 2 | write csv("-")
END
cat >wrong.sbd <<'END'
range(3) | derive x = j | write csv("-")
END

# ---- usage
expect no_command 2 'usage: sbc'
expect help 0 'run FILE [-- JOB OPTIONS]' --help
for word in run compile check fmt test schema header doc explain; do
    holds "help_names_$word" grep -q "^  $word " out
done
expect version 0 'sbc ' --version
expect unknown_command 2 "did you mean 'check'?" chek small.sbd
expect unknown_option 2 "did you mean '--explain'?" small.sbd --explan
expect no_files 2 'sbc check FILE...' check
expect what_now 2 'sbc run small.sbd' small.sbd
expect missing_value 2 '-o needs a value' small.sbd -o
expect missing_file 1 'error[SB0001]' check nothere.sbd
expect wrong_program 1 'error[SB0' check wrong.sbd
expect json 1 '"code":' check --diagnostics=json wrong.sbd

# ---- a disk without room for the job: the linker's own words would blame the linker
mkdir full
if mount -t tmpfs -o size=64k none full 2>/dev/null; then
    # The linker may lose its own file or leave it: more than one try.
    for try in 1 2 3 4 5 6 7 8; do
        expect full_disk 3 'is the disk full?' small.sbd -o full/job
        holds nothing_stays sh -c '[ -z "$(ls -A full)" ]'
    done
    umount -l full
fi

# ---- a library: what others use may be checked, but there is nothing to run
cat >library.sbd <<'END'
fn twice(x: i64) -> i64 = x * 2
let some = range(3)
END
expect library_check 0 '' check library.sbd
holds library_is_not_unused sh -c '! grep -q unused err'
expect library_run 1 'error[SB0707]: the program does nothing' run library.sbd
expect library_compile 1 'error[SB0707]: the program does nothing' library.sbd -o nothing

# ---- compile
expect compile 0 '' small.sbd -o job
holds job_runs sh -c './job | grep -q 2,4'
expect compile_default 0 '' compile small.sbd
holds default_name test -x small
expect compile_nowhere 1 'mkdir -p nowhere' small.sbd -o nowhere/job
expect compile_folder 1 "'.' is a folder" small.sbd -o .
# A job replaces a job, and nothing else.
expect job_again 0 '' small.sbd -o job
strip job
expect job_stripped 0 '' small.sbd -o job
cp small.sbd precious.sbd
printf 'a\n1\n' >precious.csv
cp /bin/true precious.elf
ln -s precious.csv precious.link
for file in precious.sbd precious.csv precious.elf precious.link; do
    cp $file was
    expect "keeps_$file" 1 "'$file' is there already, and is no job" small.sbd -o $file
    holds "kept_$file" cmp $file was
done
expect keeps_program 1 "replace its program 'precious.sbd'" precious.sbd -o precious.sbd
expect keeps_program_always 1 "replace its program" precious.sbd -o precious.sbd --overwrite
ln precious.sbd precious.twin
expect keeps_program_by_link 1 "replace its program" precious.sbd -o precious.twin --overwrite
holds kept_program cmp precious.sbd small.sbd
mkdir default && cp small.sbd default/precious.sbd && echo text >precious
expect keeps_default 1 "'precious' is there already" compile default/precious.sbd
"$sbc" run small.sbd >out 2>&1
expect keeps_cached 1 "'precious.csv' is there already" small.sbd -o precious.csv
expect no_overwrite_for_run 2 'is an option of the job: sbc run small.sbd -- --overwrite' run small.sbd --overwrite
expect overwrites 0 '' small.sbd -o precious.csv --overwrite
holds overwritten sh -c './precious.csv | grep -q 2,4'
: >empty
expect empty_is_free 0 '' small.sbd -o empty
ln -s empty link
expect link_is_followed 0 '' small.sbd -o link
holds link_stays sh -c 'test -L link && ./empty | grep -q 2,4'
expect null_device 0 '' small.sbd -o /dev/null
holds null_device_stays test -c /dev/null
mkfifo pipe
expect no_pipe 1 "'pipe' is a device, a pipe or a socket" small.sbd -o pipe --overwrite
holds pipe_stays test -p pipe
expect mistyped_option 2 "did you mean '--after'?" --afer=fold --dump small.sbd
expect mistyped_job_option 2 'did you mean: sbc run small.sbd -- --threads=1' run small.sbd --treads=1
expect job_option_before 2 "'--threads' is an option of the job: sbc run small.sbd -- --threads=1" run --threads=1 small.sbd
expect job_option_operand 2 ': sbc run small.sbd -- --memory=2GiB' run small.sbd --memory 2GiB
expect job_option_no_operand 2 ': sbc run small.sbd -- --memory' run --memory small.sbd
expect job_option_of_text 2 ": sbc run -e 'TEXT' -- --overwrite" run -e 'range(3)' --overwrite
expect job_option_of_fmt 2 ': sbc run small.sbd -- --check' run small.sbd --check
expect job_option_compile 2 ': ./job --threads=2, or sbc run small.sbd -- --threads=2' small.sbd -o ./job --threads=2
# Every option of a job: one line, which names the way.
for option in $(sed -n 's/^OPTION([A-Z_]*, *"\([a-z-]*\)".*/\1/p' "$top/runtime/options/options.def"); do
    test $option = help && continue  # Of sbc too.
    line="error[SB0004]: '--$option' is an option of the job: sbc run small.sbd -- --$option"
    expect job_option_$option 2 "$line" run small.sbd --$option
    holds job_option_${option}_line test "$(cat err)" = "$line"
done
expect mistyped_file 2 'no file' run.sdb
expect dump 0 'range' small.sbd --dump
expect dump_after 0 'range' small.sbd --dump=ir --after=fold
expect dump_no_pass 2 "did you mean 'fold'?" small.sbd --dump --after=fols
expect dump_llvm 0 'define' small.sbd --dump=llvm
expect explain 0 'range' small.sbd --explain

expect no_fit 2 'sbc run takes no --dump' run small.sbd --dump
expect no_fit_fix 2 'it goes with: doc explain' check --markdown small.sbd
expect dump_unknown 2 '--dump=ast|ir|plan|llvm|asm|cuda|ptx|sass' small.sbd --dump=cubin
echo 'range(9) | on gpu { derive x = i * 2 } | write csv("-")' >kernel.sbd
expect dump_cuda 0 '__global__' kernel.sbd --dump=cuda
expect dump_sass_none 0 '' small.sbd --dump=sass
expect dump_cuda_none 0 '' small.sbd --dump=cuda
holds dump_cuda_none_empty test ! -s out
export SBC_NVRTC=/nowhere/libnvrtc.so
expect dump_sass_without 3 'there is no NVRTC' kernel.sbd --dump=sass
expect dump_ptx_without 3 'there is no NVRTC: /nowhere/libnvrtc.so cannot be opened' kernel.sbd --dump=ptx
unset SBC_NVRTC
expect dump_tree_after 2 'before the first pass' small.sbd --dump=ast --after=fold

# ---- the text of a graph: what is dumped behind any pass goes on from there
for example in 01-carriers 03-events 06-clean 10-penguins; do
    expect "graph_dump_$example" 0 '' "$top/examples/$example.sbd" --dump
    mv out whole.ir
    for pass in none reads spell span fold cse prune ranges; do
        "$sbc" "$top/examples/$example.sbd" --dump --after=$pass >part.ir
        expect "graph_same_${example}_$pass" 0 '' part.ir --dump
        holds "graph_goes_on_${example}_$pass" cmp out whole.ir
    done
done
expect graph_text 0 '' small.sbd --dump
mv out small.ir
expect graph_run 0 '4,8' run small.ir -- --n=5
expect graph_reference 0 '2,4' run --engine=reference small.ir
expect graph_compile 0 '' compile small.ir
holds graph_job sh -c './small | grep -q 2,4'
expect graph_plan 0 'scan of source 0' small.ir --dump=plan
expect graph_check 0 '' check small.ir
expect plan_after 0 'scan of source 0, rank 0' small.ir --dump=plan --after=fuse
holds plan_unmeasured sh -c '! grep -q memory out'
expect plan_after_ir 2 '--dump=plan --after=PASS' small.sbd --dump --after=fuse
expect graph_after 2 'is after pass ranges already' small.ir --dump --after=fold
expect graph_no_tree 1 'is the text of a graph' small.ir --dump=ast
expect graph_no_layout 1 'is the text of a graph' fmt small.ir
sed 's/path \$0/pith $0/' small.ir >bad.ir
expect graph_unread 1 "expected a line of this operator, found 'pith'" check bad.ir
holds graph_place grep -Eq -e '--> bad.ir:[0-9]+:5$' err
sed 's/ step 1 / step 7 /' small.ir >bad.ir
expect graph_unverified 1 'step 7 does not exist' run bad.ir

# ---- column loops
cat >columns.sbd <<'END'
param n: i64 = 100
let some = range(n)
    | where i != 3
    | derive x = f64(i) * 0.5, y = i * i - 7
    | where y % 5 != 1
some | aggregate { total = sum(x), most = max(y) where x > 1.0 } | write csv("-")
some | derive t = f"{y}" | where x > 2.0 | write csv("some.csv")
END
expect columns_plan 0 '' columns.sbd --dump=plan
sed -n '1,/^stage 1/p' out >stage && mv stage out
same columns_plan_text "stage 0: scan of source 0, rank 0, row 64 bytes, in the job: it fills what waits for all rows and hands rows on, too
    %0 source 'range(n)'
    %1 filter 'where i != 3', by columns
    %2 project 'derive x = f64(i) * 0.5, y = i * i - 7', 2 of 3 items by columns
    %3 filter 'where y % 5 != 1', by columns
    %6 project 'derive t = f\"{y}\"', counts what comes in
    %7 filter 'where x > 2.0'
    %3 -> breaker 0 input 0, by columns
    %7 -> sink 1 input 0
    row by row from %6 project 'derive t = f\"{y}\"': its rows go several ways
stage 1: rows of breaker 0, rank 0, row 24 bytes"
expect columns_explain 0 'loops over columns, 1024 rows at a time, as far as `aggregate' \
    columns.sbd --explain -o job
expect columns_why 0 'row by row from `write csv("-")` on: rows are written one at a time' \
    small.sbd --explain -o job
expect columns_llvm 0 'define' columns.sbd --dump=llvm
awk '/^define.*@sb_columns_0/, /^}/' out >loop
for operation in 'fmul <[0-9]+ x double>' 'mul <[0-9]+ x i64>' 'icmp eq <[0-9]+ x i64>' \
    'store <[0-9]+ x double>' 'store <[0-9]+ x i8>'; do
    holds "columns_vector: $operation" grep -qE "$operation" loop
done
holds columns_no_call sh -c '! grep -v llvm.vector.reduce loop | grep "call.*@sb_"'
cat >written.sbd <<'END'
read npy("x.npy") as {x: f32} | select y = x * 0.5 + 1.0 | write npy("y.npy")
END
expect columns_written 0 'loops over columns, 1024 rows at a time, as far as `write npy("y.npy")`' \
    written.sbd --explain -o job
expect written_llvm 0 'define' written.sbd --dump=llvm
awk '/^define.*@sb_columns_0/, /^}/' out >loop
holds columns_written_vector grep -qE 'store <[0-9]+ x (float|i32)>' loop
holds columns_side_by_side sh -c '! grep -q "strided.vec" loop'

# ---- run
expect run 0 '2,4' run small.sbd
same run_rows 'i,x
2,4
3,6'
entries=$(ls cache/sbc | wc -l)
expect run_again 0 '2,4' run small.sbd
holds cache_hit test "$(ls cache/sbc | wc -l)" -eq "$entries"
expect run_options 0 '4,8' run small.sbd -- --n=5
expect run_bad_option 2 'SB80' run small.sbd -- --m=5
expect run_misplaced 2 'a param of the program goes to the job: sbc run small.sbd -- --n=5' run small.sbd --n=5
expect run_reference 0 '4,8' run --engine=reference small.sbd -- --n=5
expect run_no_cache 0 '2,4' run --no-cache small.sbd
holds no_cache_keeps test "$(ls cache/sbc | wc -l)" -eq "$entries"
expect run_text 0 '1,2' run -e 'range(2) | derive x = i * 2'
same run_text_rows 'i,x
0,0
1,2'
expect run_text_write 0 '{"i":0}' run -e 'range(1) | write jsonl("-")'
expect run_nothing 2 'run takes one file' run
expect run_wrong 1 'error[SB0' run wrong.sbd
echo '# another' >>small.sbd
expect run_changed 0 '2,4' run small.sbd
holds cache_miss test "$(ls cache/sbc | wc -l)" -gt "$entries"
for entry in cache/sbc/????????????????????????????????; do : >"$entry"; done
expect cache_damaged 0 '2,4' run small.sbd
for i in 1 2 3 4; do
    XDG_CACHE_HOME=$work/busy "$sbc" run small.sbd >out.$i 2>/dev/null &
done
wait
for i in 1 2 3 4; do holds "at_once_$i" grep -qx 3,6 out.$i; done

# ---- schema
printf 'year,dep,code,when,ok,t\n2013,517,007,2013-01-01T05:00:00Z,true,1.5\n2014,NA,010,2013-01-01T06:00:00Z,false,2\n' >f.csv
expect schema 0 'type F = {' schema f.csv
same schema_text '# From 2 rows of f.csv. To read it:
#   read csv("f.csv", null = ["NA"]) as F
type F = {
  year: i64,
  dep:  i64?,
  code: str,
  when: timestamp,
  ok:   bool,
  t:    f64,
}'
# Numbers as other countries write them, where more columns are numbers then.
printf 'name;amount;n\nM;1.234,50;1.000\nN;-2,5;7\n' >de.csv
expect schema_decimal 0 'read csv("de.csv", delimiter = ";", decimal = ",", thousands = ".") as De' schema de.csv
holds schema_decimal_types sh -c 'grep -q "amount: f64" out && grep -q "n:      i64" out'
printf 'name,amount\nM,"1,234.5"\n' >us.csv
expect schema_thousands 0 'read csv("us.csv", thousands = ",") as Us' schema us.csv
printf 'version;n\n1.234;5\n' >version.csv
expect schema_point 0 'read csv("version.csv", delimiter = ";") as Version' schema version.csv
gzip -k f.csv
expect schema_gz 0 'dep:  i64?' schema f.csv.gz
printf '{"a":1,"b":{"c":[1,2.5]}}\n{"a":null,"b":{"c":[]},"d":"2020-01-01"}\n' >j.jsonl
expect schema_json 0 'd: date?' schema j.jsonl
holds schema_nested grep -qF 'b: {c: [f64]},' out
# 30 keys, each in one object of six: data. In half of them: names.
awk 'BEGIN { for (i = 0; i < 60; i++) { printf "{\"m\":{"
    for (k = 0; k < 5; k++) printf "%s\"k%d\":{\"n\":%s}", k ? "," : "", (i + 6 * k) % 30, k == 3 ? "null" : i
    printf "},\"s\":{"; c = ""
    for (k = i % 2; k < 30; k += 2) { printf "%s\"f%d\":1", c, k; c = "," }
    print "}}" } }' >maps.jsonl
expect schema_maps 0 'm: {str: {n: i64?}},' schema maps.jsonl
holds schema_names grep -qF 'f29: i64?' out
printf 'a,b\n1,x\n' >few1.csv
printf 'b\ny\n' >few2.csv
expect infer_missing 0 'as {a: i64?, b: str?}' run -e 'read csv("few*.csv", missing = null)'
# What is printed means what the same `read` means without `as`.
pasted() {
    "$sbc" schema "$1" >printed 2>err
    read=$(sed -n 's/^#   //p' printed)
    { grep -v '^#' printed; echo "$read | write jsonl(\"-\")"; } >pasted.sbd
    echo "${read% as *} | write jsonl(\"-\")" >inferred.sbd
    for form in pasted inferred; do
        "$sbc" $form.sbd --dump --after=none >$form.ir 2>>err || : >$form.ir
        grep '^    out ' $form.ir >$form.columns
    done
    holds "schema_means_$1" sh -c 'grep -q out pasted.columns && cmp pasted.columns inferred.columns'
}
printf 'tailnum,dep_delay\nN1,2\nNA,NA\n' >na.csv
pasted na.csv
holds schema_na grep -qF 'tailnum:   str?,' printed
holds schema_na_words grep -qF 'null = ["NA"]' printed
printf 'name,n,m\n,1,-\nx,-,2\n"NA",NA,"-"\n' >mixed.csv
pasted mixed.csv
printf '{"a b":{"c d":1,"`":[{"where":2}]},"":3,"x`y":{"":1,"z":null}}\n' >odd.jsonl
pasted odd.jsonl
printf 'a b;1x;x`y;where\nNA;1;;2020-01-01\n1;x;NULL;\n' >odd.csv
pasted odd.csv
for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
    awk -v seed=$seed 'BEGIN {
        srand(seed)
        n = split("1 2.5 007 true NA NULL - . \"NA\" \"\" 2020-01-01 x ? null", words, " ")
        print "a,b,c,d"
        for (row = 0; row < 1 + rand() * 6; row++) {
            line = ""
            for (i = 0; i < 4; i++) {
                at = int(rand() * (i == 3 ? n + 1 : 6 + i)) + (rand() < 0.3 ? 0 : 1)
                line = line (i ? "," : "") words[at > n ? n : at]
            }
            print line
        }
    }' >random$seed.csv
    pasted random$seed.csv
done
expect schema_missing 1 'no file matches' schema nothere.csv
: >empty.csv
expect schema_empty 1 'it is empty' schema empty.csv
expect inferred 0 'note[SB0611]' run -e 'read csv("f.csv") | select year, t'
expect inferred_words 0 'null = ["NA"]' run -e 'read csv("f.csv") | select dep'

# What is no text says what it is, and what to do.
printf 'name,value\ra,1\rb,2\r' >cr.csv
printf '{"a":1}\r{"a":2}\r' >cr.jsonl
printf 'a\n1\n' | gzip >packed.csv
expect schema_cr 1 "its lines end in CR alone; end its lines in LF: tr '" schema cr.csv
expect schema_cr_json 1 'its lines end in CR alone; end its lines in LF' schema cr.jsonl
expect schema_packed 1 'it is packed by gzip; unpack it: gzip -dc' schema packed.csv
expect inferred_cr 1 "fix: end its lines in LF: tr '" run -e 'read csv("cr.csv")'
expect inferred_packed 1 'fix: unpack it: gzip -dc' run -e 'read csv("packed.csv")'

# ---- test
cat >t.sbd <<'END'
let rows = [{a: 1, b: "x"}]
let big = rows | where a > 1 | derive c = a * 2
big | write csv("-")
test "good" {
  given rows = [{a: 3, b: "q"}]
  expect big == [{a: 3, b: "q", c: 6}]
}
END
expect test_passes 0 '1 passed, 0 failed' test t.sbd
cat >>t.sbd <<'END'
test "bad" {
  given rows = [{a: 3, b: "q"}, {a: 4, b: "r"}, {a: 5, b: "z"}]
  expect big == [{a: 3, b: "q", c: 7}, {a: 9, b: "u", c: 18}, {a: 4, b: "r", c: 8}]
}
END
expect test_fails 1 '1 passed, 1 failed' test t.sbd
same test_difference 'ok      t.sbd:4  good
FAILED  t.sbd:8  bad
    big: 3 rows are not as expected (3 expected, 3 found)
      ~ row 1 {a: 3, b: "q", c: 7}
        c: expected 7, got 6
      - missing {a: 9, b: "u", c: 18}
      + unexpected {a: 5, b: "z", c: 10}
1 passed, 1 failed'
cat >order.sbd <<'END'
let rows = [{a: 1}, {a: 2}, {a: 3}] | where a > 0
rows | write csv("-")
test "swapped" {
  expect rows == [{a: 2}, {a: 1}, {a: 3}]
}
test "moved and changed" {
  expect rows == [{a: 3}, {a: 1}, {a: 5}]
}
END
expect test_order 1 '0 passed, 2 failed' test order.sbd
same test_order_text 'FAILED  order.sbd:3  swapped
    rows: the 3 rows are as expected, but in another order
      > row 1 {a: 2} came as row 2
FAILED  order.sbd:6  moved and changed
    rows: 2 rows are not as expected (3 expected, 3 found)
      > row 1 {a: 3} came as row 3
      ~ row 3 {a: 5}
        a: expected 5, got 2
0 passed, 2 failed'
cat >places.sbd <<'END'
let raw = read csv("t.csv") as { a: i64 }
let placed = raw | derive l = line(), s = source(), o = offset()
let share = raw | derive c = 6 // a
placed | write csv("placed.csv")
share | write csv("share.csv")
test "given rows have places" {
  given raw = [{a: 7}, {a: 8}]
  expect placed == [{a: 7, l: 1, s: "raw", o: 0}, {a: 8, l: 2, s: "raw", o: 0}]
}
test "a reject names the row" {
  given raw = [{a: 6}, {a: 0}]
  expect share == [{a: 6, c: 1}]
}
END
expect test_places 1 'ok      places.sbd:6  given rows have places' test places.sbd
holds test_places_of_reject grep -qF '  --> raw:2, byte 0' out
holds test_places_raw grep -qF '   | {"a":0}' out
cat >lacks.sbd <<'END'
param least: i64
param input: str
let big = [{a: 1}] | where a > least
let read_it = read csv(input) as { a: i64 } | where a > 1
big | write csv("-")
read_it | write csv("read.csv")
test "a param without a default" { expect big == [] }
test "a param that nothing asks for" { given read_it = [{a: 1}] expect read_it == [{a: 1}] }
END
expect test_lacks 1 '1 passed, 1 failed' test lacks.sbd
holds test_lacks_code grep -qF "big: error[SB8004]: the param 'least' has no default, and a test gives it no value" out
holds test_lacks_fix grep -qF '  = fix: give it one: param least: i64 = ...' out
expect test_none 0 'has no tests' test small.sbd

# ---- doc, explain
expect doc 0 'Strings' doc
expect doc_one 0 'trim(s: str) -> str' doc trim
expect doc_aggregate 0 '| aggregate { ok = sum(x) == 4 }' doc sum
expect doc_unknown 2 "did you mean 'hour'?" doc hout
expect explain_code 0 'SB0322: ' explain SB0322
expect explain_fault 0 'SB7021: division by zero' explain SB7021
expect doc_place 0 'fn line() -> i64' doc line
expect doc_type 0 'fn u16(x) -> u16' doc u16
expect doc_both 0 'The date by the clocks of the zone.' doc date
holds doc_both_type grep -qF 'fn date(x) -> date' out
expect doc_step 0 '| where P' doc where
expect doc_forms 0 '| distinct k, ... keep first|last by s' doc distinct
holds doc_forms_function grep -qF 'fn distinct(xs: [T]) -> [T]' out
expect doc_step_unknown 2 "did you mean 'where'?" doc wher
expect doc_format 0 'thousands = none          read: ' doc tsv
expect doc_option 0 'encoding = "utf-8" of csv, jsonl, json, text' doc encoding
expect doc_window 0 'lag(x), lag(x, n), lead(x), lead(x, n)' doc lag
expect doc_statement 0 'extern fn NAME(a: T, ...) -> R from "FILE.c"' doc extern
expect doc_topics 0 'One of two values.' doc expressions
expect doc_foreign 0 '| unpivot (x, y) as (name, value)' doc melt
expect doc_about 0 'is_zone(s: str) -> bool' doc 'time zone'
# What the tables have has a name there: formats, options, functions of windows.
sed -n 's/^WINDOW([A-Z_]*, *"\([a-z_]*\)".*/\1/p; s/^OPTION([A-Z_]*, "\([a-z_]*\)".*/\1/p' \
    "$top/ir/windows.def" "$top/frontend/options.def" >names
holds doc_names sh -c '[ "$(wc -l <names)" -gt 30 ]'
printf '%s\n' csv tsv jsonl json text files npy >>names
while read -r word; do expect "doc_name: $word" 0 "" doc "$word"; done <names
# The examples of topics are programs that pass; some need files.
printf 'def twice(x):\n    return x * 2\n' >twice.py
printf '#include <stdint.h>\nint64_t twice(int64_t x) { return x * 2; }\n' >twice.c
printf 'fn half(x: i64) -> i64 = x // 2\n' >lib.sbd
"$sbc" doc --markdown | sed -n '/^## Statements/,/^## Options/p' | grep '^| `' |
    sed 's/^.*| `` //; s/ `` |$//; s/ ``<br>`` /\n/g; s/\\|/|/g; a@@' >examples
holds doc_examples sh -c '[ "$(grep -c "^@@" examples)" -gt 30 ]'
awk -v RS='@@\n' '{ file = "topic" NR ".sbd"; printf "%s", $0 >file; close(file) }' examples
for file in topic*.sbd; do
    grep -q 'write\|^fn half' "$file" || sed -i '$s/$/ | write csv("-")/' "$file"
    expect "doc_topic: $(head -n 1 "$file")" 0 "" check "$file"
done
# The example of each step runs, and has rows.
"$sbc" doc --markdown | awk -F' `` ' '/^## /{ steps = /Steps/ } steps && NF == 3 { gsub(/\\\|/, "|"); print $2 }' >steps
holds doc_steps sh -c '[ "$(wc -l <steps)" -gt 20 ]'
# The reference has each step, too.
"$sbc" doc --markdown | sed -n '/^## Steps/,/^## [^S]/s/^| `\([a-z]*\) .*/\1/p' >words
holds doc_words sh -c '[ "$(wc -l <words)" -gt 20 ]'
while read -r word; do
    holds "doc_in_the_reference: $word" grep -q "^|.*\`$word[ \`]" "$top/docs/reference.md"
done <words
while read -r flow; do
    expect "doc_example: $flow" 0 "" run -e "$flow"
    holds "doc_example_rows: $flow" sh -c '[ "$(wc -l <out)" -gt 1 ]'
done <steps
expect explain_zip 0 'It is no fault of a single row: the job ends' explain SB7029
expect explain_small 0 'SB0322: ' explain sb0322
expect explain_warning 0 'It is a warning: the job goes on.' explain SB8062
holds explain_warning_alone sh -c '! grep -q "No output" out'
expect explain_unknown 2 'did you mean' explain SB7999

# ---- fmt
printf 'range(3)|write csv("-")\n' >ugly.sbd
expect fmt_check 1 'ugly.sbd' fmt --check ugly.sbd
expect fmt 0 '' fmt ugly.sbd
expect fmt_done 0 '' fmt --check ugly.sbd
printf 'range(3)|write csv("-")\n' >ugly.sbd
ln -s ugly.sbd link.sbd
expect fmt_link 0 '' fmt link.sbd
holds fmt_link_stays test -L link.sbd
holds fmt_link_target grep -qx 'range(3) | write csv("-")' ugly.sbd
expect fmt_examples 0 '' fmt --check "$top"/examples/*.sbd

# ---- extern, header
cat >c.sbd <<'END'
extern fn twice(x: f64) -> f64 from "c.c"
extern fn positive(x: i64) -> i64 from "c.c" fallible
extern fn first_byte(s: str) -> i64? from "c.c"
extern fn or_seven(x: i64?) -> i64 from "c.c"
[{x: 1.5, n: 3, s: "A", m: null}, {x: 2.5, n: 4, s: "", m: 5}]
| derive a = twice(x), b = positive(n), c = first_byte(s), d = or_seven(m)
| select a, b, c, d
| write csv("-")
END
cat >c.c <<'END'
#include "pipeline.h"
#include "part.h"
double twice(double x) { return x * FACTOR; }
int32_t positive(int64_t x, int64_t *out) { return x < 0 ? SB_FAILED : (*out = x, SB_OK); }
int32_t first_byte(SbStr s, int64_t *out) { return s.len ? (*out = s.ptr[0], SB_OK) : SB_NULL; }
int64_t or_seven(const int64_t *x) { return x ? *x : 7; }
END
echo '#define FACTOR 2' >part.h
expect extern 0 '3.0,3,65,7' run c.sbd
same extern_rows 'a,b,c,d
3.0,3,65,7
5.0,4,,5'
expect extern_reference 0 '5.0,4,,5' run --engine=reference c.sbd
echo '#define FACTOR 4' >part.h
expect extern_changed 0 '6.0,3,65,7' run c.sbd
expect header 0 'double twice(double x);' header c.sbd
holds header_status grep -qF 'int32_t first_byte(SbStr s, int64_t *out);' out
holds header_null grep -qF 'int64_t or_seven(const int64_t *x);' out
cat >shaped.sbd <<'END'
extern fn f(x: f32[h, 3]?, y: i64[4]) -> [u8[n]] from "c.c" batch
END
expect header_shapes 0 '' header shaped.sbd
holds header_open grep -qF 'x "+s" of {data "+l" of "f", shape "+w:2" of "i"} or null, y "+w:4" of "l", result: "+l" of "+s" of {' out
# Names of the runtime, of libc and of other files of the same program.
cat >clash.sbd <<'END'
extern fn go(x: i64) -> i64 from "clash.c"
extern fn act(x: i64) -> i64 from "clash.c"
extern fn malloc_stats(x: i64) -> i64 from "clash.c"
extern fn log_warn(x: i64) -> i64 from "clash.c"
extern fn read(x: i64) -> i64 from "clash.c"
extern fn sb_main(x: i64) -> i64 from "other.c"
range(2) | select a = go(i), b = act(i), c = malloc_stats(i), d = log_warn(i), e = read(i), f = sb_main(i) | write csv("-")
END
cat >clash.c <<'END'
#include "pipeline.h"
int64_t touch = 1;
int64_t pwrite(int64_t x) { return x + touch; }
int64_t go(int64_t x) { return pwrite(x); }
int64_t act(int64_t x) { return go(x) + 1; }
int64_t malloc_stats(int64_t x) { return act(x) + 1; }
int64_t log_warn(int64_t x) { return malloc_stats(x) + 1; }
int64_t read(int64_t x) { return log_warn(x) + 1; }
END
cat >other.c <<'END'
#include "pipeline.h"
extern int64_t touch;
int64_t sb_main(int64_t x) { return read(x) + touch; }
END
expect extern_clash 0 '1,2,3,4,5,6' run clash.sbd
expect extern_clash_reference 0 '2,3,4,5,6,7' run --engine=reference clash.sbd
echo 'double twice(' >c.c
expect extern_wrong 1 'the C compiler refused c.c' run c.sbd
holds extern_wrong_place grep -qF -e '--> c.sbd:1:37' err
printf 'extern fn size(s: str) -> i64 from "size.c"\nrange(3) | derive n = size("a") | write csv("-")\n' >size.sbd
printf '#include <string.h>\n#include <stdint.h>\nint64_t size(SbStr s) { return strchr(s.ptr, 97) != 0; }\n' >size.c
expect extern_types_lacking 1 'fix: write #include "pipeline.h" in it; `sbc header size.sbd` prints what that declares' run size.sbd
echo 'long size(const char *s) { return *s; }' >size.c
expect extern_types_other 1 'fix: define it as int64_t size(SbStr s); with #include "pipeline.h"' run size.sbd
echo 'double twise(double x) { return x; }' >c.c
for how in 'run c.sbd' 'run --engine=reference c.sbd' 'compile c.sbd'; do
    expect extern_unknown 1 "error[SB0006]: c.c defines no function 'twice'" $how
    holds extern_unknown_place grep -qF -e '--> c.sbd:1:11' err
    holds extern_unknown_near grep -qF "did you mean 'twise'?" err
    holds extern_unknown_all grep -qF '4 errors' err
done
# Types are held against the declaration, whether or not the C file includes the header.
mkdir parts
cat >types.sbd <<'END'
extern fn mean(x: f64, n: i64) -> f64 from "parts/types.c"
extern fn length(s: str) -> i64? from "parts/types.c"
extern fn month(d: date) -> i64 from "parts/types.c"
[{x: 1.5, s: "A", day: date("2020-03-01")}] | select a = mean(x, 3), b = length(s), c = month(day)
| write csv("-")
END
"$sbc" header types.sbd >parts/old.h
cat >parts/good.c <<'END'
#define _GNU_SOURCE
#include <string.h>
#include "part.h"
INCLUDED
#define n 3  // The name of a parameter.
#define length(text) (length(text))
double mean(double x, int64_t count) { return x / (double)count + 0.0 * (double)n; }
int32_t (length)(SbStr text, int64_t *out) {
    *out = text.len;
    return memrchr(text.ptr, 'B', (size_t)text.len) ? SB_NULL : SB_OK;
}
int64_t month(int32_t days) { return days / 30; }
END
echo '#include <stdint.h>' >parts/part.h
for included in pipeline.h old.h; do
    sed "s/INCLUDED/#include \"$included\"/" parts/good.c >parts/types.c
    expect "extern_types_$included" 0 '' check types.sbd
    expect "extern_types_run_$included" 0 '0.5,1,610' run types.sbd
done
sed 's/INCLUDED/#include "old.h"\n#include "pipeline.h"/' parts/good.c >parts/types.c
expect extern_types_twice 0 '0.5,1,610' run types.sbd
expect extern_built 0 '' types.sbd -o types
cp types types.was
expect extern_built_again 0 '' types.sbd -o types
holds extern_same_bytes cmp types types.was
sed 's/INCLUDED/#include "own.h"/' parts/good.c >parts/good2.c
printf '#include <stdint.h>\ntypedef struct SbStr { const char *ptr; int64_t len; } SbStr;\nenum { SB_OK, SB_NULL = -1 };\n' >parts/own.h
# differs NAME LINE SED: with this change of the C file the function of that line is refused.
differs() {
    sed "$3" parts/good2.c >parts/types.c
    for how in 'check types.sbd' 'types.sbd -o types' 'run types.sbd' \
               'run --engine=reference types.sbd' 'test types.sbd'; do
        expect "extern_differs_$1" 1 "error[SB0006]: parts/types.c has '$1' with other types" $how
        holds "extern_differs_place_$1" grep -qF -e "--> types.sbd:$2:11" err
        holds "extern_differs_c_$1" grep -qE '^parts/types.c:[0-9]+:[0-9]+: note: previous' err
    done
}
differs mean 1 's/^double mean/float mean/'
holds extern_differs_fix grep -qF 'fix: define it as double mean(double x, int64_t n);' err
differs mean 1 's/int64_t count/int32_t count/'
differs length 2 's/^int32_t (length)/int64_t (length)/'
differs month 3 's/int32_t days/int64_t days/'
differs month 3 's/int32_t days/int32_t days, double more/'
# What is declared and not called is judged by check; a job does without it.
cat >uncalled.sbd <<'END'
extern fn called(x: i64) -> i64 from "uncalled.c"
extern fn _missing(x: i64) -> i64 from "uncalled.c"
range(2) | derive y = called(i) | write csv("-")
END
echo 'long called(long x) { return x; }' >uncalled.c
expect extern_uncalled 1 "uncalled.c defines no function '_missing'" check uncalled.sbd
expect extern_uncalled_run 0 '' run uncalled.sbd
echo 'long _missing(long x) { return x; }' >>uncalled.c
expect extern_defined 0 '' check uncalled.sbd
printf '#!/bin/sh\nPATH=/nothing exec "%s" "$@"\n' "$sbc" >no_compiler
chmod +x no_compiler
with=$sbc sbc=$work/no_compiler
expect extern_known 0 '' check uncalled.sbd
echo '/* changed */' >>uncalled.c
expect extern_forgotten 1 'no C compiler was found' check uncalled.sbd
sbc=$with
sed -i 's/^long called/static long called/' uncalled.c
expect extern_static 1 "uncalled.c defines no function 'called'" check uncalled.sbd
holds extern_static_fix grep -qF 'and not as `static`' err
rm c.c
for how in 'run c.sbd' 'test c.sbd' 'compile c.sbd'; do
    expect extern_missing 1 'c.c cannot be read: No such file or directory' $how
    holds extern_missing_place grep -qF -e '--> c.sbd:1:37' err
done

# ---- a program that is too large for one job
{ echo 'let t = range(3)'; seq -f 't | write csv("%g.csv")' 1030; } >wide.sbd
expect too_wide 1 'error[SB0708]: the program has 1 stages and 1030 sinks' compile wide.sbd
expect too_wide_unfused 1 'error[SB0708]: the program has 2 stages and 1030 sinks' \
    compile --no-fuse wide.sbd

# ---- names and files in messages
expect param_twice 2 'give it once: only a list takes several values' run small.sbd -- --n=1 --n=2
printf 'a,b\n1,2\n' >ab.csv
echo 'read csv("ab.csv") as { b: i64, c: i64 } | write csv("-")' >header.sbd
expect header_far 1 'take a name of the header: a, b' run header.sbd
mkdir twice
printf 'a,a\n1,2\n' >twice/x.csv
echo 'read csv("twice/") | write csv("-")' >header.sbd
expect schema_file 1 "its header names 'a' twice, in twice/x.csv" check header.sbd
printf 'a\033[31m,b\n1,2\n' >ab.csv
echo 'read csv("ab.csv") | write csv("-")' >header.sbd
expect schema_control 0 'a�[31m' check header.sbd

# ---- constants that are too long to be computed beforehand
cat >long.sbd <<'END'
[{a: 1}]
| derive a = pad_left("x", 30000), b = repeat("x", 2000000000), c = pad_left("x", 70000)
| derive d = a + a, e = [c, c]
| select short = len(a), long = len(d), list = len(e)
| write csv("-")
END
expect fold_long 0 '30000,60000,2' run long.sbd
expect fold_long_dump 0 'pad_left' long.sbd --dump

# ---- what is printed has to get there
if [ -w /dev/full ]; then
    "$sbc" small.sbd -o job
    for how in 'doc' 'doc len' 'explain SB0101' '--help' 'small.sbd --dump' 'run --engine=reference small.sbd'; do
        holds full_out sh -c "'$sbc' $how >/dev/full 2>err; [ \$? -eq 3 ] && grep -qF 'error[SB0012]' err"
    done
    for how in --help --params --plan --licenses; do
        holds full_out_job sh -c "./job $how >/dev/full 2>err; [ \$? -eq 3 ] && grep -qF 'error[SB8018]' err"
    done
fi

# ---- target
echo 'levels: [x86-64-v3]' >target.yaml
expect target 0 '2,4' run --target=target.yaml small.sbd
printf 'levels:\n  - x86-64-v3\n  - x86-64-v5\n' >target.yaml
expect target_wrong 2 'target.yaml:3:5' run --target=target.yaml small.sbd
holds target_caret grep -qF '^^^^^^^^^' err
printf 'level: 3\nlevels: [x86-64-v5, x86-64-v6]\n' >target.yaml
expect target_all 2 'target.yaml:2:21' run --target=target.yaml small.sbd
holds target_all_count test "$(grep -c '^error' err)" = 3
echo 'level: x' >target.yaml
printf 'gpus: [sm_80, sm_x, 90]\n' >target.yaml
expect target_gpus_wrong 2 'target.yaml:1:15' run --target=target.yaml small.sbd
holds target_gpus_count test "$(grep -c '^error' err)" = 2
echo 'gpus: []' >target.yaml
expect target_gpus_none 2 'no architecture is left' run --target=target.yaml small.sbd
echo 'gpus: [sm_80, sm_90]' >target.yaml
expect target_gpus 0 '2,4' run --target=target.yaml small.sbd
export SBC_NVRTC=/nowhere
expect target_gpus_without 3 'there is no NVRTC' kernel.sbd -o ./kernel --target=target.yaml
expect without 0 'warning[SB0014]' kernel.sbd -o ./kernel
holds without_reason grep -qF 'there is no NVRTC: /nowhere cannot be opened' err
holds without_once test "$(grep -c '^warning' err)" = 1
holds without_runs sh -c './kernel --progress=none >out 2>err && test "$(wc -l <out)" = 10'
expect explain_without 0 'kernels, not compiled: there is no NVRTC: /nowhere' kernel.sbd --explain
expect explain_without_target 3 'there is no NVRTC' kernel.sbd --explain --target=target.yaml
unset SBC_NVRTC
echo 'level: x' >target.yaml
expect target_name 2 'no such name' run --target=target.yaml small.sbd
expect target_native 0 '2,4' run --target=native small.sbd
expect target_missing 2 'cannot be read' run --target=nothere.yaml small.sbd

echo "driver_test: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
