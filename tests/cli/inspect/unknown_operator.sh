# An operator that cannot run does not keep one from looking; control characters are not printed.
. "$SOURCE/tests/cli/lib.sh"
hone inspect "$models/unknown.onnx"
