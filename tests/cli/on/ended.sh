# A command that is ended while it runs elsewhere leaves nothing there: by Ctrl-C, by a signal, by force, by its time
# limit, by a signal there.
# label: full
. "$SOURCE/tests/cli/lib.sh"
standin
exec 2>said # where the shell also says what was killed
cp "$digits" m.onnx
# begun WORD...: a long measurement has begun there; its process is $!.
begun() {
    "$HONE" bench -q m.onnx --seconds 100 --on ssh:far "$@" &
    for wait in $(seq 600); do
        pid=$(cat there/hone-on-*/pid 2>/dev/null) && [ -n "$pid" ] &&
            tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q '^../hone bench' && break
        sleep 0.05
    done
}
# gone: waits until nothing is left of it there, neither files nor processes.
gone() {
    for wait in $(seq 300); do
        [ -n "$(find there -mindepth 1)" ] || pgrep -f "$PWD/there" >/dev/null || break
        sleep 0.1
    done
    find there -mindepth 1
    kill -0 "$pid" 2>/dev/null && echo "the command still runs"
}

for signal in INT TERM KILL; do
    echo "$signal:"
    begun
    kill -$signal $!
    wait $!
    echo "exit $?"
    gone
    [ $signal = KILL ] || find here -mindepth 1
done
rm -rf here/*
echo "its time limit:"
"$HONE" bench m.onnx --seconds 100 --time-limit 1.5 --on ssh:far 2>&1 | grep -v note
gone
echo "a signal there:"
begun
kill -KILL "$pid"
wait $!
echo "exit $?"
gone
echo "said:"
grep '^hone: ' said
echo "left behind:"
left
