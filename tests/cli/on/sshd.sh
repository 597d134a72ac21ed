# By ssh itself, with a server of our own on the loopback.
# label: full
. "$SOURCE/tests/cli/lib.sh"
standin
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) && command -v ssh >/dev/null && command -v ssh-keygen >/dev/null ||
    { echo "ssh or sshd is missing (Debian: openssh-client, openssh-server)" >&2; exit 77; }
[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd # which sshd asks for
ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f user || exit 77
for port in $(seq 22100 22140); do
    cat >conf <<END
Port $port
ListenAddress 127.0.0.1
HostKey $PWD/host
PidFile $PWD/server
AuthorizedKeysFile $PWD/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
SetEnv TMPDIR=$PWD/there
END
    rm -f server
    "$sshd" -f conf -E log
    for wait in $(seq 50); do [ ! -s server ] || break 2; sleep 0.1; done
done
[ -s server ] || { echo "sshd does not start: $(tail -1 log)" >&2; exit 77; }
trap 'kill "$(cat server)"' EXIT
options="-F /dev/null -p $port -o StrictHostKeyChecking=no -o UserKnownHostsFile='$PWD/known' -o IdentityAgent=none -o IdentitiesOnly=yes"
export HONE_SSH="ssh $options -i '$PWD/user'"
on="--on ssh:127.0.0.1"
"$HONE" run -q "$digits" --fill ones $on >/dev/null 2>why || { echo "no login here: $(cat why)" >&2; exit 77; }
cp "$digits" "m n.onnx"

"$HONE" eval -q "m n.onnx" --data synthetic:digits,n=50 >here.txt
"$HONE" eval -q "m n.onnx" --data synthetic:digits,n=50 $on | cmp - here.txt && echo same
hone eval -q "m n.onnx" --data synthetic:digits --min-accuracy 99.99% $on | tail -1
"$HONE" bench -q "m n.onnx" --runs 5 --report r.html --json $on | awk -f "$SOURCE/tests/cli/keys.awk" | sort -u >there.keys
"$HONE" bench -q "m n.onnx" --runs 5 --json | awk -f "$SOURCE/tests/cli/keys.awk" | sort -u | cmp - there.keys && echo same
[ ! -f r.html ] || head -c 15 r.html && echo
"$HONE" run -q - --fill ones -o out $on <"m n.onnx"

echo "no key:"
HONE_SSH="ssh $options -i '$PWD/host'" "$HONE" run -q "m n.onnx" --fill ones $on 2>&1 | sed 's/: [^:]*: Perm/: ...: Perm/'

# run_there WORD...: begins a long measurement and waits until it runs; its process is $!.
run_there() {
    "$HONE" bench "m n.onnx" --dim batch=1 --seconds 100 $on 2>messages &
    for wait in $(seq 600); do
        pid=$(cat there/hone-on-*/pid 2>/dev/null) && [ -n "$pid" ] &&
            tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q '^../hone bench' && break
        sleep 0.05
    done
}
gone() {
    for wait in $(seq 300); do [ -n "$(find there -mindepth 1)" ] || break; sleep 0.1; done
    find there -mindepth 1
    kill -0 "$pid" 2>/dev/null && echo "the command still runs"
}
echo "Ctrl-C:"
run_there
kill -INT $!
wait $!
echo "exit $?"
gone
echo "lost, and begun again:"
run_there
first=$pid
# The process of the server that has this connection.
for process in /proc/[0-9]*; do
    grep -q "^PPid:.$(cat server)\$" "$process/status" 2>/dev/null && kill -KILL "${process#/proc/}"
done
for wait in $(seq 600); do
    pid=$(cat there/hone-on-*/pid 2>/dev/null) && [ -n "$pid" ] && [ "$pid" != "$first" ] && break
    sleep 0.05
done
kill -INT $!
wait $!
echo "exit $?"
grep -o 'the connection was lost while the command ran.*once more in 1 s' messages | sed 's/ran: .*;/ran;/'
gone
echo "left behind:"
left
