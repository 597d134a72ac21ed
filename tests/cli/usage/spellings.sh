# The ways to write the same thing.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" inspect -n0 "$models/batch1.onnx" | tail -n 1
"$HONE" inspect -n 0 "$models/batch1.onnx" | tail -n 1
"$HONE" inspect --nodes=0 "$models/batch1.onnx" | tail -n 1
cp "$models/batch1.onnx" ./-dash.onnx
hone check -- -dash.onnx
hone check ./-dash.onnx -q
