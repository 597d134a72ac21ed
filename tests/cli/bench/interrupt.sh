# Ctrl-C ends it, the child too, though no run ends.
. "$SOURCE/tests/cli/lib.sh"
interrupted bench -q "$models/forever.onnx"
