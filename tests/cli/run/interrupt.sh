# Ctrl-C ends a run that would take for ever.
. "$SOURCE/tests/cli/lib.sh"
interrupted run "$models/forever.onnx" --fill zeros
