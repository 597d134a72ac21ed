. "$SOURCE/tests/cli/lib.sh"
hone check "$digits"
hone check -q "$models/external.onnx"
