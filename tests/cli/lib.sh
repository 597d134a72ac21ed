# What the cases share; they begin with `. "$SOURCE/tests/cli/lib.sh"`.
models=$SOURCE/tests/models
digits=$SOURCE/models/digits_cnn.onnx

# hone WORD...: the command line, what it prints on either stream, and its exit status unless it is 0.
hone() {
    echo "\$ hone $*"
    "$HONE" "$@" 2>&1
    code=$?
    [ $code -eq 0 ] || echo "exit $code"
}

# interrupted WORD...: hone is interrupted a little after it has said that it will listen.
interrupted() {
    "$HONE" "$@" &
    for wait in $(seq 600); do
        caught=$(sed -n 's/^SigCgt:.*\(.\)$/\1/p' /proc/$!/status)
        case $caught in 2|3|6|7|a|b|e|f) break ;; esac
        sleep 0.1
    done
    sleep 0.2
    kill -INT $!
    wait $!
    echo "exit $?"
}

# documented VERB FILE...: each file is JSON that a report can be made of, and the keys of all are
# those that docs/json.md lists for the verb.
# Keys are written as paths (`inputs[].name`); those below an object that is a map are `*`.
documented() {
    verb=$1
    shift
    for file in "$@"; do
        if command -v python3 >/dev/null; then python3 -m json.tool "$file" >/dev/null || return; fi
        "$HONE" report -q -o /dev/null "$file" || return
    done
    for file in "$@"; do awk -f "$SOURCE/tests/cli/keys.awk" "$file"; done | sed 's/^dims\..*/dims.*/' | sort -u >found.keys
    awk -v section="## hone $verb" '
        /^## / { inside = $0 == section }
        inside && /^\| `/ { split($0, part, "`"); print part[2] }' "$SOURCE/docs/json.md" |
        sort >documented.keys
    diff -u documented.keys found.keys && echo "$(wc -l <found.keys) keys as documented"
}
