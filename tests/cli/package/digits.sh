# The commands of the manual: packaging, every kind of verb on a package, and the bytes come back.
. "$SOURCE/tests/cli/lib.sh"
cp "$digits" digits.onnx
hone package digits.onnx -o digits.hone | sed 's/  *[0-9.]* [kM]\{0,1\}B/ SIZE/g; s/[0-9]\.[0-9][0-9]$/RATIO/; s/(zstd)/(text)/'
hone check digits.hone
hone inspect digits.hone | sed -n 's/([0-9.]* kB)/(SIZE)/; s/in [0-9.]* kB/in SIZE/; 1,6p'
hone eval -q digits.onnx --data synthetic:digits,n=50 | grep top1 >onnx.top1
hone eval -q digits.hone --data synthetic:digits,n=50 | grep top1 | diff onnx.top1 - && echo "the same answers"
hone run -q digits.onnx --fill random --dim batch=2 -o a
hone run -q digits.hone --fill random --dim batch=2 -o b
cmp a/logits.npy b/logits.npy && echo "the same bytes"
"$HONE" simplify -q digits.hone -o from_package.onnx >simplified
"$HONE" simplify -q digits.onnx -o from_onnx.onnx >simplified
cmp from_package.onnx from_onnx.onnx && echo "the same model"
hone compare -q digits.onnx digits.hone --data synthetic:digits,n=20 >/dev/null && echo "compared"
hone unpack digits.hone -o back.onnx | sed 's/of [0-9.]* kB/of SIZE/'
cmp digits.onnx back.onnx && echo "the bytes are back"
hone package -q digits.onnx -o again.hone >/dev/null
cmp digits.hone again.hone && echo "a package repeats"
