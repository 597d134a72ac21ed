# Wrong options and arguments.
. "$SOURCE/tests/cli/lib.sh"
hone inspect
hone inspect a.onnx b.onnx
hone inspect --jsno a.onnx
hone inspect --colour a.onnx
hone inspect -x a.onnx
hone check --json=yes a.onnx
hone run a.onnx -o
hone run a.onnx --fill zeros --fill ones
hone run a.onnx --fill twos
hone run a.onnx --threads 0
hone run a.onnx --threads two
hone run a.onnx --max-memory -1
hone run a.onnx --seed 1e3
hone inspect a.onnx --top few
"$HONE" ops $(yes -- -q | head -n 65) 2>&1 || echo "exit $?"
