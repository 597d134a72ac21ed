# The ways to write the same thing.
. "$SOURCE/tests/cli/lib.sh"
for level in -l0 '-l 0' --level=0 '--level 0'; do
    "$HONE" simplify $level "$models/batch1.onnx" -o a.onnx | tail -n 1
done
cp "$models/batch1.onnx" ./-dash.onnx
hone check -- -dash.onnx
hone check ./-dash.onnx -q
