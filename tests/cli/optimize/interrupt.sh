# Ctrl-C: the table so far, and no file. How long the first row takes is the machine's affair.
for seconds in 2 8 30 120; do
    timeout --foreground --preserve-status -s INT $seconds \
        "$HONE" optimize "$SOURCE/models/digits_cnn.onnx" --data synthetic:digits,n=1000000 -o a.onnx >out 2>err
    code=$?
    ! grep -q '^. original' out || break
done
cat err >&2
rm err
echo "exit $code"
grep -c '^. original' out
grep -o 'interrupted while doing' out
ls
