# On a terminal a bar names what is done; it never is wider than the terminal, and nothing of it stays behind.
. "$SOURCE/tests/cli/lib.sh"
command -v script >/dev/null || { echo "script is not installed" >&2; exit 77; }
for columns in 100 46 24; do
    script -qec "stty cols $columns; '$HONE' quantize '$digits' -o q.onnx --data synthetic:digits,n=128 2>&1 >/dev/null" log </dev/null >/dev/null
    sed '1d;$d' log | tr '\r' '\n' | sed 's/\x1b\[K//' >bars
    awk -v columns=$columns '/ [0-9 ]* %/ && length > columns { print "too wide:", $0 }
        { n += /%/; named += /^(look|calibrate|choose ranges) .*[0-9] %/ } END { print (n > 0 ? "there are bars" : "there is none"), (n == named ? "all named" : "") }' bars
    tail -1 bars
    grep -v % bars | grep .
done
