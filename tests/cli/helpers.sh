# Sourced by the command line tests; their first argument is the path of mega.
mega=$1
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failed() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# expect STATUS TEXT ARGUMENT...: the command exits with STATUS, and its output contains TEXT.
expect() {
  local status=$1 text=$2 output actual
  shift 2
  output=$("$mega" "$@" 2>&1)
  actual=$?
  if [ "$actual" != "$status" ] || ! grep -qF -- "$text" <<<"$output"; then
    failed "mega $*: status $actual instead of $status, or no \"$text\" in:"
    echo "$output"
  fi
}
