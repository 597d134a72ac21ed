# Ctrl-C: the table so far, and no file.
timeout --foreground --preserve-status -s INT 2 \
    "$HONE" optimize "$SOURCE/models/digits_cnn.onnx" --data synthetic:digits,n=1000000 -o a.onnx >out
echo "exit $?"
grep -o '^.  original' out
grep -o 'interrupted while doing' out
ls
