# Connections that cannot be made or break, and hosts that are of another kind.
# label: full
. "$SOURCE/tests/cli/lib.sh"
standin
cp "$digits" m.onnx
there() { hone run -q m.onnx --fill ones --on ssh:far "$@"; }

echo "refused once:"
echo 1 >fail
there | sed 's/  .*//'
echo "and said:"
echo 1 >fail
"$HONE" run m.onnx --fill ones --dim batch=1 --on ssh:far 2>&1 >/dev/null

echo "lost while the command ran:"
echo 1 >lose
"$HONE" run m.onnx --fill ones --dim batch=1 --on ssh:far 2>&1 | sed 's/  .*//'

echo "always refused:"
echo 9 >fail
there
cat fail

echo "not wanted there:"
echo "me@far: Permission denied (publickey)." >why
echo 9 >fail
there
cat fail
echo 0 >fail

echo "no ssh:"
HONE_SSH=/nowhere/ssh "$HONE" run -q m.onnx --fill ones --on ssh:far 2>&1 | grep -c 'no connection: .*/nowhere/ssh: not found'

echo "no room there:"
mv there elsewhere
there 2>&1 | sed 's/mktemp: .*/mktemp: .../'
mv elsewhere there

echo "hosts:"
for host in far ssh: ssh:-oProxyCommand=x 'ssh:a b'; do hone run -q m.onnx --on "$host"; done
hone run -q m.onnx --program m.onnx

echo "of another kind:"
case $(uname -m) in x86_64) other=aarch64 ;; *) other=x86_64 ;; esac
echo $other >uname
there | sed "s/$(uname -m)/HERE/g; s/$other/THERE/g"
there --program m.onnx
echo riscv64 >uname
there
rm uname

echo "a program that does not run there:"
head -c 4000 "$HONE" >broken
there --program broken 2>&1 | sed '/^[^h$e]/d; s/^.*hone-on[^:]*: //'

echo "left behind:"
left
