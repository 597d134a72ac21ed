# Ctrl-C ends it, the child too, though no run ends.
timeout --foreground --preserve-status -s INT 1 "$HONE" bench -q "$SOURCE/tests/models/forever.onnx"
echo "exit $?"
