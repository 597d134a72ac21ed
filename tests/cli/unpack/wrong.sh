# External data comes back too, but never over a file that is there.
. "$SOURCE/tests/cli/lib.sh"
cp "$models/external.onnx" "$models/external.data" .
"$HONE" package -q external.onnx -o external.hone >/dev/null
hone unpack external.hone
hone unpack external.hone -o external.hone
hone unpack external.hone -o copy.onnx
mkdir out
hone unpack external.hone -o out/copy.onnx | sed 's/of [0-9]* B/of SIZE/'
cmp external.onnx out/copy.onnx && cmp external.data out/external.data && echo "both are back"
hone unpack external.onnx -o b.onnx
hone unpack missing.hone -o b.onnx
head -c 100 external.hone >cut.hone
hone unpack cut.hone -o b.onnx
ls . out
