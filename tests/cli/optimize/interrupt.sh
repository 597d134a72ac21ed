# Ctrl-C: the table so far, and the best that had passed by then. When that is so is the machine's affair: the
# search takes several times as long as it takes until the first has passed.
# label: full
for seconds in 1 2 3 4 6 8 11 15 20 30 45 60 90 120; do
    timeout --foreground --preserve-status -s INT $seconds \
        "$HONE" optimize "$SOURCE/models/digits_cnn.onnx" --data synthetic:digits,n=1000000 -o a.onnx >out 2>err
    code=$?
    [ $code -eq 130 ] || break
    grep -q '^\* .* chosen$' out && break
    grep -o 'no file was written' err >none
    [ ! -e a.onnx ] || echo "a.onnx was written though nothing had passed"
done
echo "exit $code"
grep -c '^. original' out
grep -c '^\* .* chosen$' out
grep -o 'interrupted while doing' out
grep -o 'a.onnx is the best that had passed by then' err
grep -A1 '^  no .*documented?' out | tr -s ' ' | grep -o 'cut short'
rm -f err none
ls
"$HONE" check a.onnx
