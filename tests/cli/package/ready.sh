# A package that is ready to run: the same answers, on the CPU it is for and on others; damage is noticed.
. "$SOURCE/tests/cli/lib.sh"
cp "$digits" digits.onnx
short='s/made on .*: [0-9]* packed weights in [0-9.]* [kM]B.*/made on this CPU/p'
"$HONE" package -q digits.onnx -o digits.hone --ready --isa portable | sed -n "$short"
"$HONE" inspect digits.hone | sed -n "$short"
hone check digits.hone
for isa in "--isa portable" ""; do
    "$HONE" run -q digits.onnx --fill random $isa -o a >/dev/null
    "$HONE" run -q digits.hone --fill random $isa -o b >/dev/null
    cmp a/logits.npy b/logits.npy && echo "the same bytes"
done
hone unpack -q digits.hone -o back.onnx
cmp digits.onnx back.onnx && echo "the bytes are back"
{ head -c -1 digits.hone; printf X; } >bad.hone
hone check bad.hone | sed 's/the [0-9]* bytes at [0-9]*/the N bytes at N/'
"$HONE" run -q bad.hone --fill random --isa portable -o b >/dev/null && echo "it still runs"
hone package digits.onnx -o other.hone --ready --dim batch=x
