# generate at a terminal: greeting, line editing, history, commands, Ctrl-C. On a pseudo-terminal, with a tiny model.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/helpers.sh"
run=$2
mega=$run # `expect` runs this
models=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../compatibility/0.1/models")
model=$models/language-bytes.safetensors
export XDG_STATE_HOME=$work/state TERM=xterm
if ! command -v script >/dev/null; then
  echo "script (bsdutils) is not installed"
  exit 0
fi

# at_terminal ARGUMENT...: runs generate on a terminal, types what standard input has, and keeps what the screen shows.
at_terminal() {
  local status
  # exec: a shell in between would take the signals of Ctrl-C, too, and end by them.
  script -qec "exec $(printf '%q ' "$run" generate "$model" --threads 1 --temperature 0 --max-tokens "${tokens:-8}" "$@")" /dev/null >"$work/screen"
  status=$?
  # Without the escape sequences that draw the line again with each key.
  sed -e 's/\x1b\[[0-9;?]*[A-Za-z]//g' -e 's/\r$//' -e 's/.*\r//' "$work/screen" >"$work/text"
  rm "$work/screen"
  return $status
}
# slowly KEYS...: waits for the greeting, then a moment between the keys, so that the program acts on each by itself.
slowly() {
  for _ in $(seq 100); do
    [ $# = 0 ] || grep -qs "/help lists" "$work/screen" && break
    sleep 0.1
  done
  for keys in "$@"; do
    sleep "${pace:-0.3}"
    printf "$keys"
  done
  sleep 0.4
}
shows() { grep -qF -- "$1" "$work/text" || failed "no \"$1\" in: $(cat "$work/text")"; }
lacks() { ! grep -qF -- "$1" "$work/text" || failed "\"$1\" in: $(cat "$work/text")"; }
answers() { grep -c "tokens/s" "$work/text"; }
same() { [ "$1" = "$2" ] || failed "$3: expected \"$1\", got \"$2\""; }

# A greeting, an answer, the end.
slowly 'ab\r' '\004' | at_terminal || failed "status $?"
shows "/quit ends"
shows "> ab"
same 1 "$(answers)" "answers"
while IFS= read -r line; do [ ${#line} -le 80 ] || failed "wider than 80 columns: $line"; done <"$work/text"
slowly '/quit\r' | at_terminal || failed "/quit: status $?"
same 0 "$(answers)" "answers before /quit"

# Editing: "ac", left, "b", home, delete, end, "d" makes "bcd", and that is what the model reads.
slowly 'ac\033[Db\033[H\033[3~\033[Fd\r' '/save '"$work/edited"'\r' '/quit\r' | at_terminal
shows "> bcd"
shows "saved to $work/edited"
"$run" generate "$model" --threads 1 --temperature 0 --max-tokens 8 --prompt bcd --save-state "$work/plain" >/dev/null 2>&1
cmp -s "$work/edited" "$work/plain" || failed "the edited line was read as another"

# History: up brings back lines of this program and of the one before; private, and not for pipes.
slowly 'first line\r' '\033[A\r' '/quit\r' | at_terminal
same 2 "$(grep -c '^> first line$' "$work/text")" "the line again"
slowly '\033[A\033[A\r' '/quit\r' | at_terminal
shows "> first line"
history=$XDG_STATE_HOME/mega/history
same 600 "$(stat -c %a "$history")" "mode of the history"
printf 'from a pipe\n' | "$run" generate "$model" --interactive --max-tokens 1 >/dev/null 2>&1
! grep -q "from a pipe" "$history" || failed "a pipe's line is in the history"

# Commands.
slowly '/help\r' '/rest\r' '/xyzzy 1\r' '/save\r' '/quit now\r' '/\r' '/quit\r' | at_terminal || failed "status $?"
for text in "/reset" "/save FILE" "//TEXT" "did you mean /reset?" "unknown command /xyzzy" "expected /save FILE" \
  "/quit takes no argument"; do shows "$text"; done
same 0 "$(answers)" "answers to commands"
slowly '//etc\r' '/quit\r' | at_terminal
same 1 "$(answers)" "answers to a text with a slash"
slowly "/load $work/none\r" "/save $work/no/where\r" 'ab\r' '/quit\r' | at_terminal || failed "status $?"
shows "$work/none"
shows "no/where"
same 1 "$(answers)" "answers after errors"

# /reset: the same text again. /load: as after /save.
slowly 'ab\r' "/save $work/one\r" '/reset\r' 'ab\r' "/save $work/two\r" "/load $work/one\r" 'cd\r' '/quit\r' | at_terminal
shows "the text so far is forgotten"
cmp -s "$work/one" "$work/two" || failed "/reset: another state"
same 3 "$(answers)" "answers with /load"

# Ctrl-C stops an answer; at the prompt it discards the line; the program goes on. (With an answer, the terminal may
# throw away what was just printed, so files are the witnesses.)
ctrl_c() {
  slowly 'ab\r' '\003' "/save $work/stopped\r" 'discard me' '\003' 'cd\r' '\003' "/save $work/again\r" '/quit\r' |
    tokens=1000000000 at_terminal && [ -s "$work/stopped" ] && [ -s "$work/again" ]
}
# A busy machine takes its time: what is typed before an answer has ended is thrown away.
for pace in 0.3 1 3; do ctrl_c && break; done || failed "Ctrl-C does not end an answer: $(tail -n 5 "$work/text")"
unset pace
shows "(Ctrl-D or /quit to end)"

# Wide characters, a line longer than the screen, and a paste of several lines, which is one text.
slowly '世界é\033[D\033[D\177!\r' '/quit\r' | at_terminal
shows "> !界é"
long=$(printf 'word %.0s' $(seq 60))
slowly "$long\r" '/quit\r' | at_terminal
shows "> $long"
slowly '\033[200~one\r\ntwo\033[201~' '\r' '/quit\r' | at_terminal
shows "> one↵two"
same 1 "$(answers)" "answers to a paste"

# The terminal is left as it was, also by a signal.
cat >"$work/killed.sh" <<END
tty >$work/tty
stty -a >$work/before
bash -c 'echo \$\$ >$work/pid; exec "\$@"' - "$run" generate "$model"
stty -a >$work/after
END
sleep 3 | script -qec "bash $work/killed.sh" /dev/null >/dev/null &
terminal=$!
sleep 1.5
stty -a -F "$(cat "$work/tty")" | grep -q -- "-icanon" || failed "the terminal hands over lines, not keys"
kill -TERM "$(cat "$work/pid")"
wait $terminal
[ -s "$work/after" ] && cmp -s "$work/before" "$work/after" || failed "the terminal: $(diff "$work/before" "$work/after")"

# A prompt, JSON, a state or a pipe: no dialogue.
slowly | at_terminal --prompt ab
lacks "/quit"
same 1 "$(answers)" "answers to --prompt"
slowly | at_terminal --json
lacks "/quit"
slowly | at_terminal --load-state "$work/one"
lacks "/quit"
out=$("$run" generate "$model" --max-tokens 3 2>&1 </dev/null)
! grep -q "/quit" <<<"$out" || failed "a greeting without a terminal: $out"
# What comes through a pipe is text, never a command.
printf '/save %s/stolen\n' "$work" | "$run" generate "$model" --interactive --max-tokens 1 >/dev/null 2>&1
[ ! -e "$work/stolen" ] || failed "a pipe's line was a command"
# A terminal that cannot move its cursor.
slowly 'ab\r' '/quit\r' | TERM=dumb at_terminal || failed "dumb: status $?"
same 1 "$(answers)" "answers at a dumb terminal"

echo "$failures failures"
[ "$failures" = 0 ]
