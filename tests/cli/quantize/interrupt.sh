# Ctrl-C ends it, and nothing is written.
timeout --foreground --preserve-status -s INT 1 \
    "$HONE" quantize "$SOURCE/models/digits_cnn.onnx" -o q.onnx --data synthetic:digits,n=1000000 --samples 0
echo "exit $?"
ls
