# Bad options, bad files, damaged packages; nothing is written.
. "$SOURCE/tests/cli/lib.sh"
cp "$models/add.onnx" add.onnx
hone package add.onnx
hone package add.onnx -o add.onnx
hone package missing.onnx -o a.hone
hone package "$models/broken.onnx" -o a.hone 2>&1 | sed "s,$models/,,"
hone package add.onnx -o no/such/a.hone | sed 's/tmp-[0-9a-f]*/tmp-X/'
"$HONE" package -q add.onnx -o add.hone >/dev/null
hone package add.hone -o b.hone
head -c 200 add.hone >cut.hone
hone run cut.hone
{ head -c 130 add.hone; printf X; tail -c +132 add.hone; } >bad.hone
hone inspect bad.hone
ls
