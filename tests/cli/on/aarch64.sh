# A device of another kind: the statically linked program of scripts/build cross, run by qemu's user emulation.
# label: slow
. "$SOURCE/tests/cli/lib.sh"
standin
[ "$(uname -m)" = x86_64 ] || { echo "the emulated machine is an aarch64, as this one" >&2; exit 77; }
command -v qemu-aarch64 >/dev/null || { echo "qemu-aarch64 is missing (scripts/bootstrap cross)" >&2; exit 77; }
program=$(dirname "$HONE")/cross/hone
[ -x "$program" ] || { echo "$program is missing (scripts/build cross hone)" >&2; exit 77; }
cp "$digits" m.onnx
echo aarch64 >uname
echo qemu-aarch64 >emulator
on="--on ssh:board --program $program"
"$HONE" run -q m.onnx --fill ones $on
"$HONE" eval -q m.onnx --data synthetic:digits,n=50 >here.txt
"$HONE" eval -q m.onnx --data synthetic:digits,n=50 $on | cmp - here.txt && echo same
"$HONE" machine -q -o target.json $on >/dev/null
"$HONE" machine target.json | sed -n 's/^cpu  .*, \(aarch64\), .*/\1/p; s/^isa  *\(neon\).*/\1/p'
"$HONE" machine target.json | grep -c '^f32 *fmla .* GFLOP/s$'
"$HONE" machine target.json --json | grep -o '"arch": "[a-z0-9_]*"'
left
