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

# standin: HONE_SSH becomes a program that runs the command of `hone --on` here, as a host would: in a session of its
# own, with the folder `there` for temporary files. `here` is for those of hone itself. What it does beside comes from
# the files fail (how often it cannot connect), lose (how often the connection breaks when the command begins), down (a host that never answers), uname and
# emulator (what runs programs there).
standin() {
    [ "$(head -c 4 "$HONE" | tail -c 3)" = ELF ] || { echo "the program is run by an emulator, which would be copied" >&2; exit 77; }
    command -v setsid >/dev/null && command -v tar >/dev/null || { echo "setsid or tar is missing" >&2; exit 77; }
    mkdir -p here there bin
    cat >ssh <<'END'
#!/bin/sh
top=${0%/*}
for word; do host=$last last=$word; done
# less FILE: counts it down; false once it is 0.
less() {
    n=$(cat "$top/$1" 2>/dev/null || echo 0)
    [ "$n" -gt 0 ] || return 1
    echo $((n - 1)) >"$top/$1"
}
case $last in
    *mktemp*)
        echo $$ >"$top/keeper"
        if less fail || [ "$host" = "$(cat "$top/down" 2>/dev/null)" ]; then
            cat "$top/why" >&2
            exit 255
        fi ;;
    */run\')
        if less lose; then
            kill -HUP "$(cat "$top/keeper")"
            exit 255
        fi
        if [ -f "$top/emulator" ]; then
            folder=${last#*\'} folder=${folder%/run*}
            mv "$folder/hone" "$folder/device"
            printf '#!/bin/sh\nexec %s "%s/device" "$@"\n' "$(cat "$top/emulator")" "$folder" >"$folder/hone"
        fi ;;
esac
[ ! -f "$top/uname" ] || PATH=$top/bin:$PATH
TMPDIR=$top/there exec setsid sh -c "$last"
END
    printf '#!/bin/sh\ncat "%s/uname"\n' "$PWD" >bin/uname
    echo "ssh: connect to host far port 22: Connection refused" >why
    chmod +x ssh bin/uname
    export HONE_SSH="'$PWD/ssh'" TMPDIR="$PWD/here"
}
# left: what --on has left behind, here and there.
left() { find here there -mindepth 1; }
