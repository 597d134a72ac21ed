# bench on several hosts: a row for each and each configuration, the slowest named; one that is down is left out.
. "$SOURCE/tests/cli/lib.sh"
standin
cp "$digits" m.onnx
shown() { sed 's/[0-9][0-9.e+-]* ms, [0-9.]* times/N ms, N times/; s/: \(a\|b\), p50/: HOST, p50/; s/, threads [0-9]*, f32:/:/; s/  *[0-9]*  f32 .*//; /^-/d; /^host /d'; }
"$HONE" bench -q m.onnx -b 1,2 --runs 5 --on ssh:a --on ssh:b | shown
"$HONE" bench -q m.onnx -b 1,2 --runs 5 --csv --on ssh:a --on ssh:b | cut -d, -f1-3
"$HONE" bench -q m.onnx -b 1 -t 1,2 --runs 5 --on ssh:a --on ssh:b 2>&1 | sed -n 's/^\(worst[^:]*\):.*/\1/p' # each has a name
echo "one is down:"
echo "me@b: Permission denied (publickey)." >why
echo b >down
{ "$HONE" bench -q m.onnx --runs 5 --on ssh:b --on ssh:a 2>&1; echo "exit $?"; } | shown
for option in --json --report=r.html --baseline=m.json; do hone bench -q m.onnx --on ssh:a --on ssh:b $option; done
hone bench -q m.onnx --on ssh:a --on far
hone eval -q m.onnx --on ssh:a --on ssh:b
echo "left behind:"
left
