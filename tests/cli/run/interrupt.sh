# Ctrl-C ends a run that would take for ever.
timeout --foreground --preserve-status -s INT 1 "$HONE" run "$SOURCE/tests/models/forever.onnx" --fill zeros
echo "exit $?"
