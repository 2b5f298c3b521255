# Help, suggestions, exit codes, completion and manual pages; and that none of this loads libtorch.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
run=$2
commands="presets data train eval predict generate score translate inspect quantize average bench help"

# The commands, one line each.
for arguments in "" help --help -h; do
  # shellcheck disable=SC2086  # no argument at all if it is empty
  output=$("$mega" $arguments) || failed "mega $arguments: status $?"
  for command in $commands; do
    [ "$(grep -cE "^  $command( |\$)" <<<"$output")" = 1 ] || failed "mega $arguments: not one line for $command"
  done
  grep -q "completion\|  man " <<<"$output" && failed "mega $arguments shows hidden commands"
done
for command in $commands; do
  same=$("$mega" help $command)
  [ "$same" = "$("$mega" $command --help)" ] || failed "mega help $command and mega $command --help differ"
  grep -q "^Usage: mega $command" <<<"$same" || failed "mega help $command: no usage"
done
expect 0 "Usage: mega data make listops" help data make listops
expect 0 "Exit status: 0 done, 1 failed, 2 wrong" help

# What is not known, and what is like it.
expect 2 'unknown command "trian"; did you mean train?' trian
expect 2 'unknown command "trian"; did you mean train?' trian text-small --data x
expect 2 'unknown command "trian"; did you mean train?' help trian
expect 2 'unknown command "chekc"; did you mean check?' data chekc
expect 2 'unknown command "chekc"; did you mean check?' help data chekc
expect 2 'unknown option "--dta"; did you mean --data?' train text-small --dta x
expect 2 'unknown option "--dta"; did you mean --data?' train text-small --dta=x
expect 2 'unknown option "--josn"; did you mean --json?' predict --josn
expect 2 'unknown option "--verison"; did you mean --version?' --verison
expect 2 'unknown command "qqqqqqqqq"' qqqqqqqqq
expect 2 '"a\x0ab\x1b[31m"' "$(printf 'a\nb\033[31m')" # shown escaped
expect 2 'unexpected argument "b"' train text-small b
expect 2 '`mega train --help`' train text-small b
expect 2 "a command is missing: make, check" data
expect 2 "model is required" inspect
expect 2 "int4" quantize x --type int4
expect 2 "--type" quantize x
expect 2 "mega predict: --top: expected a positive number, got 0" predict x --top 0
expect 2 "--threads: expected a positive number, got -1" predict x --threads -1
expect 2 "--split" eval x --split all
expect 1 "did you mean text-small?" train text-smal --data x

# Plain options are the --set of the same name, errors included.
for option in "--lr train.learning_rate" "--updates train.updates" "--batch train.batch" "--seed train.seed"; do
  read -r flag key <<<"$option"
  expect 1 "$key" train text-small "$flag" many
  expect 1 "$key" train text-small "$flag" -3
  expect 0 "* $key = 77" train text-small "$flag" 77 --options "$key"
  expect 0 "* $key = 5" train text-small "$flag" 77 --set "$key=5" --options "$key" # --set wins
done
# A preset's warm-up makes room for fewer updates, one that the user set does not.
expect 0 "train.warmup = 7" train text-small --updates 77 --set train.warmup=7 --options train.warmup
warmup() { "$mega" train text-small "$@" --options train.warmup | grep -oE 'train\.warmup = [0-9]+' | grep -oE '[0-9]+'; }
[ "$(warmup)" -gt 40 ] || failed "text-small warms up for $(warmup) updates: the next line shows nothing"
[ "$(warmup --updates 40)" -lt 40 ] || failed "a warm-up of $(warmup --updates 40) for 40 updates"
[ "$(warmup --updates 40 --set train.warmup=50)" = 50 ] || failed "the user's warm-up was changed"
expect 0 "* data.text_column = review" train text-small --text-column review --options column
expect 0 "* data.label_column = stars" train text-small --label-column stars --options column
expect 0 "(short for --set" help train

# --options knows the preset, and filters.
expect 0 "train.learning_rate = 0.001" train --options
expect 0 "(default: " train text-small --options
options() { "$mega" train "$@" 2>/dev/null | grep -c '^[* ] [a-z]'; }
all=$(options --options) few=$(options --options LEARNING_rate)
[ "$all" -gt 60 ] || failed "--options lists $all options"
[ "$few" -ge 3 ] && [ "$few" -lt 20 ] || failed "--options LEARNING_rate lists $few options"
[ "$(options --options text-small)" = "$(options text-small --options)" ] || failed "--options PRESET"
[ "$("$mega" train --options | grep -c '^\*')" = 0 ] || failed "a default differs from the default"
[ "$("$mega" train text-small --options | grep -c '^\*')" -gt 5 ] || failed "no value of the preset is marked"
expect 1 "no option has" train --options qqqqqq
expect 1 "did you mean train.learning_rate?" train --options train.learning_raet
for width in 40 80 132; do
  widest=$(COLUMNS=$width "$mega" train text-small --options | LC_ALL=C.UTF-8 wc -L)
  [ "$widest" -le $width ] || failed "--options is $widest columns wide with COLUMNS=$width"
done

# At once: the quickest of a few tries, as the machine may be busy.
if ! ldd "$mega" | grep -q libasan; then
  for arguments in "" "help" "trian" "help train" "completion bash" "train --options"; do
    best=1000000
    for _ in $(seq 20); do
      start=${EPOCHREALTIME/[.,]/}
      # shellcheck disable=SC2086
      "$mega" $arguments >/dev/null 2>&1
      took=$((${EPOCHREALTIME/[.,]/} - start))
      [ $took -ge $best ] || best=$took
    done
    [ $best -lt 50000 ] || failed "mega $arguments takes $best microseconds"
  done
fi

# None of it needs libtorch.
ldd "$mega" | grep -q torch && failed "mega links libtorch"
mkdir "$work/alone"
cp "$mega" "$work/alone/mega"
whole=$mega
mega=$work/alone/mega # without mega-torch beside it
for arguments in "" "help train" "presets" "inspect lra-text" "train --options" "completion bash"; do
  # shellcheck disable=SC2086
  "$mega" $arguments >/dev/null || failed "mega $arguments needs mega-torch"
done
expect 2 "did you mean train?" trian
expect 1 "did you mean text-small?" train text-smal --data x
expect 1 "mega-torch" train text-small --data x --out "$work/run"
expect 1 "$work/libexec/mega/mega-torch" eval x
mkdir -p "$work/libexec/mega"
printf '#!/bin/sh\necho "$OMP_WAIT_POLICY $GOMP_SPINCOUNT:$*"\n' >"$work/libexec/mega/mega-torch"
expect 1 "cannot be run" eval x
chmod +x "$work/libexec/mega/mega-torch"
unset OMP_WAIT_POLICY GOMP_SPINCOUNT
expect 0 "passive 3000:eval x --json" eval x --json # idle threads sleep; what the user has set is left alone
expect 0 ":train text-small --data a b" train text-small --data "a b"
OMP_WAIT_POLICY=active expect 0 "active :eval x" eval x
GOMP_SPINCOUNT=7 expect 0 " 7:eval x" eval x
# Models: the engine's are run here, baselines there.
models=$(dirname "${BASH_SOURCE[0]}")/../compatibility/0.1/models
expect 0 "%" predict "$models/classifier-bytes.safetensors" --text abc
expect 0 ":predict $models/transformer-bytes.safetensors --text abc" predict "$models/transformer-bytes.safetensors" \
  --text abc
for command in generate score; do
  expect 0 ":$command $models/transformer-language.safetensors" $command "$models/transformer-language.safetensors"
done
expect 1 "use \`predict\`" score "$models/transformer-bytes.safetensors" # known without libtorch
mega=$whole

# Standard output that cannot be written.
if [ -e /dev/full ]; then
  for arguments in "" "help train" "presets" "train --options"; do
    # shellcheck disable=SC2086
    "$mega" $arguments >/dev/full 2>"$work/error"
    status=$?
    [ $status = 1 ] && grep -q "standard output" "$work/error" || failed "mega $arguments >/dev/full: status $status"
  done
fi

# Completion in bash: words offered after a command line.
"$mega" completion bash >"$work/mega.bash" && "$run" completion bash >"$work/mega-run.bash"
offered() {
  bash -c '. "$1"; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    function=$(complete -p "$1" | sed "s/.*-F \([^ ]*\).*/\1/")
    "$function"
    printf "%s\n" "${COMPREPLY[@]}"' - "$work/$1.bash" "$@"
}
# offers WORD COMMAND...: the last word of the command may be completed to WORD.
offers() {
  local word=$1
  shift
  offered "$@" | grep -qxF -- "$word" || failed "completion of '$*' does not offer $word: $(offered "$@" | tr '\n' ' ')"
}
offers train mega tr
offers train mega ""
offers check mega data ch
offers listops mega data make ""
offers --lr mega train text-small --l
offers --help mega data make listops --h
offers text-small mega train text
offers text-small mega train --data x text
offers text-small mega inspect text
offers lra-text mega bench step --preset lra
offers lra-text mega bench step --preset = lra
offers int8 mega quantize model --type i
offers valid mega eval model --split ""
offers decode mega bench d
offers train mega help tr
offers generate mega-run gen
offers --prompt mega-run generate model --prom
touch "$work/a file.txt"
offers "$work/a file.txt" mega predict "$work/a"
offers "$work/a file.txt" mega train --data "$work/a"
[ -z "$(offered mega train --lr "$work/a")" ] || failed "files offered for a number"
[ -z "$(offered mega eval --nothing-like)" ] || failed "something offered for an unknown option"

# The other shells, as far as they are here.
for program in "$mega" "$run"; do
  for shell in bash zsh fish; do
    "$program" completion $shell >"$work/script" || failed "$program completion $shell"
    if command -v $shell >/dev/null; then $shell -n "$work/script" || failed "$shell does not read its script"; fi
  done
  expect 2 "shell" completion tcsh
done

# Manual pages: one of each program and command, and roff has nothing to complain about.
"$mega" man "$work/man" && "$run" man "$work/man"
for name in mega mega-run $(printf 'mega-%s ' $commands); do
  page=$work/man/$name.1
  [ -s "$page" ] || { failed "no page $name"; continue; }
  grep -q "EXIT STATUS" "$page" || failed "$name.1 has no exit status"
  if command -v groff >/dev/null; then
    complaints=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
    [ -z "$complaints" ] || failed "$name.1: $complaints"
    groff -man -Tutf8 "$page" | grep -q "User Commands" || failed "$name.1 is empty"
  fi
done
grep -q 'learning_rate' "$work/man/mega-train.1" || failed "mega-train.1 does not explain its options"
grep -q 'mega data make pathfinder' "$work/man/mega-data.1" || failed "mega-data.1 has not all its commands"

# mega-run alike.
mega=$run
for arguments in "" help --help; do
  # shellcheck disable=SC2086
  output=$("$mega" $arguments) || failed "mega-run $arguments: status $?"
  for command in generate score translate predict inspect help; do
    [ "$(grep -cE "^  $command( |\$)" <<<"$output")" = 1 ] || failed "mega-run $arguments: not one line for $command"
  done
done
expect 2 'unknown command "genrate"; did you mean generate?' genrate
expect 2 'unknown command "train"' train
expect 2 "unknown option" generate x --promptt y
expect 2 "model is required" score

echo "$failures failures"
[ "$failures" = 0 ]
