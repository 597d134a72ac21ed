# A run that does not fit is refused.
. "$SOURCE/tests/cli/lib.sh"
hone run "$models/large.onnx" --fill ones --max-memory 50 -o out
ls out
