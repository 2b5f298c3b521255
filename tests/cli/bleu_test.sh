# mega bleu: scores of translations as a user meets them, in both programs.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
run=$2
cd "$work" || exit 1

# The example of sacreBLEU's README; its tests have 48.5308, and chrF2 = 59.73.
printf '%s\n' "The dog bit the man." "It wasn't surprising." "The man had just bitten him." >hyp
printf '%s\n' "The dog bit the man." "It was not unexpected." "The man bit him first." >ref0
printf '%s\n' "The dog had bit the man." "No one was surprised." "The man had bitten the dog." >ref1

# scores TEXT ARGUMENT...: of hyp, from standard input, by both programs.
scores() {
  local text=$1 program output
  shift
  for program in "$mega" "$run"; do
    output=$("$program" bleu "$@" <hyp 2>&1) || failed "$program bleu $*: status $?"
    grep -qF -- "$text" <<<"$output" || failed "$program bleu $*: no \"$text\" in: $output"
  done
}
scores "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:mega-" ref0 ref1
scores "= 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)" ref0 ref1
scores "= 48.5308 " ref0 ref1 --width 4
scores "= 49.1920 " ref0 ref1 --width 4 --tokenize none
scores "= 43.9162 " ref0 ref1 --width 4 --tokenize intl
scores "= 59.73" --metric bleu,chrf ref0 ref1
scores "chrF2++|nrefs:2|" ref0 ref1 --metric chrf++
scores "TER|nrefs:1|case:lc|tok:tercom|" ref0 --metric ter
scores "case:lc" ref0 --lowercase
scores "smooth:floor[0.20]" ref0 --smooth floor --smooth-value 0.2
scores '"bleu": 48.5308' ref0 ref1 --json
scores '"bleu_signature": "nrefs:2|' ref0 ref1 --json

# multi-bleu.perl's own line: of tokens, so "man." is one; the score is that of sacreBLEU without tokenisation.
scores "BLEU = 49.19, 71.4/54.5/50.0/40.0 (BP=0.931, ratio=0.933, hyp_len=14, ref_len=15)" ref0 ref1 --multi-bleu
echo "a well-known fact" >words
expect 0 "hyp_len=5, ref_len=5" bleu words --hypothesis words --multi-bleu --compounds

# A score per line, plain and as JSON.
[ "$("$mega" bleu ref0 --sentence --metric bleu,ter <hyp | head -n 1)" = "$(printf '100.00\t0.00')" ] ||
  failed "--sentence"
[ "$("$mega" bleu ref0 --sentence --json <hyp | wc -l)" = 3 ] || failed "--sentence --json"

# Several systems.
tac hyp >other
scores "BLEU p" ref0 ref1 --compare other --samples 100
scores '"bleu_p_value":' ref0 ref1 --compare other hyp --samples 100 --json
scores "bs:100|seed:7|" ref0 --compare other --samples 100 --seed 7
[ "$("$mega" bleu ref0 --compare other <hyp)" = "$("$mega" bleu ref0 --compare other <hyp)" ] || failed "not the same twice"

# Compressed files, and a file in place of standard input.
gzip -k ref0
if command -v xz >/dev/null; then xz -k hyp && expect 0 "= 48.53 " bleu ref0.gz ref1 --hypothesis hyp.xz; fi
expect 0 "= 48.53 " bleu ref0.gz ref1 --hypothesis hyp

# Wrong use.
head -n 2 hyp >short
expect 1 "ref0 has 3 lines, short has 2 lines" bleu ref0 --hypothesis short
expect 1 "ref0 has 3 lines, short has 2 lines" bleu ref0 short --hypothesis hyp
head -n 1 hyp >one
expect 1 "one has 1 line" bleu ref0 --hypothesis hyp --compare one
: >empty
expect 1 "empty is empty" bleu empty --hypothesis empty
expect 1 "empty has 0 lines" bleu ref0 --hypothesis empty
expect 1 "missing" bleu missing --hypothesis hyp
expect 1 "read only once" bleu - --hypothesis -
expect 1 "exp takes no value" bleu ref0 --hypothesis hyp --smooth-value 1
expect 1 "multi-bleu" bleu ref0 --hypothesis hyp --compounds
expect 1 "leave --metric out" bleu ref0 --hypothesis hyp --multi-bleu --metric chrf
expect 2 "references" bleu
expect 2 "comet" bleu ref0 --metric comet
expect 2 "14a" bleu ref0 --tokenize 14a
expect 2 "excludes" bleu ref0 --multi-bleu --tokenize intl

# Hostile text: NUL, invalid UTF-8, empty lines, a line of white space, no newline at the end.
printf 'a\0b\n\xff\xfe\n\n \t \nlast' >odd
for metric in bleu chrf chrf++ ter; do
  expect 0 "= " bleu odd --hypothesis odd --metric $metric
  expect 0 "" bleu odd --hypothesis odd --metric $metric --sentence --lowercase
done
expect 0 "= 0.00" bleu odd --hypothesis odd --metric ter
head -c 100000 /dev/urandom >noise
expect 0 "= " bleu noise --hypothesis noise --metric bleu,chrf,chrf++ --tokenize intl --lowercase

# Text that somebody tokenised.
for i in $(seq 120); do echo "Sentence $i ."; done >tokens
expect 0 "120 lines of tokens end in" bleu tokens --hypothesis tokens
"$mega" bleu tokens --hypothesis tokens --multi-bleu 2>&1 | grep -q "end in" && failed "a note for tokens"

echo "$failures failures"
[ "$failures" = 0 ]
