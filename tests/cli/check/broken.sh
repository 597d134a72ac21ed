# Every finding of a model, not the first.
. "$SOURCE/tests/cli/lib.sh"
hone check "$models/broken.onnx"
hone check -q "$models/broken.onnx"
