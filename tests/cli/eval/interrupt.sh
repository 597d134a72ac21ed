# Ctrl-C ends an evaluation.
timeout --foreground --preserve-status -s INT 1 \
    "$HONE" eval "$SOURCE/models/digits_cnn.onnx" --data synthetic:digits,n=1000000
echo "exit $?"
