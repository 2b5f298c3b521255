#!/usr/bin/env bash
# Fails on a documented command line that does not parse. Commands are taken from fenced blocks of README.md,
# CONTRIBUTING.md and docs/*.md and, where they have arguments, from `code` in the text (`--set key=value` too); the
# programs and scripts read them under MEGA_PARSE_ONLY, which ends before anything is done. No file has to be there, and
# words such as MODEL or FILE are as good as any. The same for what the sources, and so the programs' own messages, name
# as `mega COMMAND`.
# usage: scripts/check_docs.sh MEGA MEGA-RUN [FOLDER OF THE SOURCE TREE]
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 MEGA MEGA-RUN [FOLDER]" >&2 && exit 2; }
mega=$(realpath "$1") mega_run=$(realpath "$2")
scripts=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
cd "${3:-$scripts}"

# A line per command: FILE:LINE, "1" for a whole command or "partly" for one named in a sentence, and its words, all
# separated by the character 31.
# shellcheck disable=SC2016  # fields of awk, not of the shell
extract='
function is_ours(word) {
  return word ~ /^((build\/)?mega(-run)?|\.\/check|\.\/quickstart|bench\/results\.sh)$/
}
# Ends the command that is being read: prints it if it is one of ours. Assignments and the like stand before it.
function end_command(where, how, first, i, line) {
  end_word()
  for (first = 1; first <= count && (words[first] ~ /^[A-Z_]+=/ || words[first] ~ /^(sudo|time|env)$/);) ++first
  if (first <= count && is_ours(words[first])) {
    line = where separator how
    for (i = first; i <= count; ++i) if (words[i] != "...") line = line separator words[i]
    print line
  }
  count = 0
}
function end_word() {
  if (in_word && !skip_word) words[++count] = word
  if (in_word) skip_word = 0
  in_word = 0
  word = ""
}
# Splits as a shell would: quotes, comments, pipes and redirections; it expands nothing.
function read_line(line, where, how, n, i, c, quote) {
  n = length(line)
  quote = ""
  count = in_word = skip_word = 0
  word = ""
  for (i = 1; i <= n; ++i) {
    c = substr(line, i, 1)
    if (quote != "") {
      if (c == quote) quote = ""
      else if (c == "\\" && quote == "\"" && i < n) word = word substr(line, ++i, 1)
      else word = word c
    } else if (c == "\"" || c == "\047") {
      quote = c
      in_word = 1
    } else if (c == "\\" && i < n) {
      word = word substr(line, ++i, 1)
      in_word = 1
    } else if (c == " " || c == "\t") {
      end_word()
    } else if (c == "#" && !in_word) {
      break
    } else if (c == "|" || c == ";" || c == "&" || c == "(" || c == ")") {
      end_command(where, how)
    } else if (c == ">" || c == "<") {
      if (word ~ /^[0-9]+$/) in_word = 0
      end_word()
      skip_word = 1
      while (substr(line, i + 1, 1) ~ /[>&]/) ++i
    } else {
      word = word c
      in_word = 1
    }
  }
  if (quote != "") print where separator "unclosed quote" separator line
  else end_command(where, how)
}
# With prompts in it, a block shows what commands print, and only lines with a prompt are commands.
function end_block(i, line, where, prompts) {
  for (i = 1; i <= lines; ++i) if (block[i] ~ /^[ \t]*\$ /) prompts = 1
  for (i = 1; i <= lines; ++i) {
    line = block[i]
    where = block_file ":" (block_start + i)
    while (line ~ /\\$/ && i < lines) line = substr(line, 1, length(line) - 1) block[++i]
    if (prompts && line !~ /^[ \t]*\$ /) continue
    sub(/^[ \t]*(\$ )?/, "", line)
    read_line(line, where, "1")
  }
  lines = 0
}
# Code may go on in the next line of its paragraph.
function end_paragraph(pieces, n, i, line, where, preset) {
  n = split(paragraph, pieces, "`")
  where = paragraph_start
  for (i = 1; i <= n; ++i) {
    line = pieces[i]
    if (i % 2 == 0) {
      gsub(/\n[ \t]*/, " ", line)
      sub(/^\$ /, "", line)
      if (index(presets, " " line " ")) preset = line " "  # what follows is said of it
      if (line ~ /^--set [a-z]/ && line !~ /key=value/) line = "mega train " preset line
      if (line ~ / [^ ]/ && line !~ /\|/ && is_ours(substr(line, 1, index(line, " ") - 1)))
        read_line(line, paragraph_file ":" where, "partly")
    }
    where += gsub(/\n/, "", pieces[i])
  }
  paragraph = ""
}
BEGIN { separator = "\037" }
FNR == 1 { end_paragraph(); lines = fenced = 0 }
/^[ \t]*(```|~~~)/ {
  if (fenced) {
    if (shell) end_block()
  } else {
    end_paragraph()
    language = $0
    gsub(/[`~ \t]/, "", language)
    shell = language ~ /^(sh|bash|shell|console)?$/
    block_file = FILENAME
    block_start = FNR
    lines = 0
  }
  fenced = !fenced
  next
}
fenced { block[++lines] = $0; next }
/^[ \t]*$/ { end_paragraph(); next }
{
  if (paragraph == "") { paragraph_file = FILENAME; paragraph_start = FNR }
  paragraph = paragraph $0 "\n"
}
END { end_paragraph() }
'

documents=()
for document in README.md CONTRIBUTING.md docs/*.md; do
  if [ -f "$document" ]; then documents+=("$document"); fi
done
presets=' '
for preset in presets/*.toml; do presets+="$(basename "$preset" .toml) "; done
mapfile -t commands < <(awk -v presets="$presets" "$extract" "${documents[@]}")
sources=()
for folder in bench cli mega; do
  if [ -d "$folder" ]; then sources+=("$folder"); fi
done
if [ ${#sources[@]} -gt 0 ]; then
  # shellcheck disable=SC2016  # backticks as they are
  mapfile -t -O ${#commands[@]} commands < <(grep -rnoE '`mega(-run)? [^`]+`' "${sources[@]}" |
    sed -E 's/^([^:]*:[0-9]+):`(.*)`$/\1 partly \2/; s/ /\x1f/g')
fi
[ ${#commands[@]} -gt 0 ] || { echo "no commands in ${documents[*]}" >&2 && exit 2; }

failed=0
declare -A known
for command in "${commands[@]}"; do
  IFS=$'\037' read -r where how line <<<"$command"
  mapfile -d $'\037' -t words < <(printf '%s' "$line")
  if [ "${known[$how $line]:-}" = yes ]; then continue; fi
  case ${words[0]} in
    mega | build/mega) program=$mega ;;
    mega-run | build/mega-run) program=$mega_run ;;
    *) program=$scripts/${words[0]} ;;
  esac
  if [ "$how" = "unclosed quote" ]; then
    echo "$where: $how: $line" >&2
  elif output=$(MEGA_PARSE_ONLY=$how "$program" "${words[@]:1}" 2>&1 </dev/null); then
    known[$how $line]=yes
    continue
  else
    printf '%s: %s\n  %s\n' "$where" "${words[*]}" "$(head -n 3 <<<"$output")" >&2
  fi
  failed=$((failed + 1))
done
if [ $failed -gt 0 ]; then
  echo "$failed of ${#commands[@]} documented commands do not parse" >&2
  exit 1
fi
echo "${#commands[@]} documented commands parse"
