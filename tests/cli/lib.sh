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

# documented VERB FILE: the file is JSON, and its keys are those that docs/json.md lists for the verb.
# Keys are written as paths (`inputs[].name`); those below an object that is a map are `*`.
documented() {
    if command -v python3 >/dev/null; then python3 -m json.tool "$2" >/dev/null || return; fi
    awk -f "$SOURCE/tests/cli/keys.awk" "$2" | sed 's/^dims\..*/dims.*/' | sort -u >found.keys
    awk -v section="## hone $1" '
        /^## / { inside = $0 == section }
        inside && /^\| `/ { split($0, part, "`"); print part[2] }' "$SOURCE/docs/json.md" |
        sort >documented.keys
    diff -u documented.keys found.keys && echo "$(wc -l <found.keys) keys as documented"
}
