# The model takes bytes as they come, and gives classes; it is as good as before, also in integers.
. "$SOURCE/tests/cli/lib.sh"
bytes=synthetic:digits,scale=1,layout=nhwc
hone embed "$digits" -o a.onnx --scale 1/255 --input-type u8 --layout nhwc
hone embed "$digits" -o b.onnx --scale 1/255 --mean 0.1307 --std 0.3081 --input-type u8 --layout nhwc --softmax --top-k 3
"$HONE" check a.onnx b.onnx
top1() { "$HONE" eval "$@" -q | awk '$1 == "top1" { print $1, $2 }'; }
top1 "$digits" --data synthetic:digits
top1 a.onnx --data $bytes
"$HONE" quantize a.onnx -o a8.onnx --data $bytes,skip=1000,n=300 -q >/dev/null
top1 a8.onnx --data $bytes
# A recipe with the other transforms makes the same.
printf 'hone recipe 2\nembed scale=1/255 input-type=u8 layout=nhwc\nsimplify\nquantize\n' >recipe
"$HONE" quantize "$digits" -o r8.onnx --data $bytes,skip=1000,n=300 --recipe recipe -q >/dev/null
top1 r8.onnx --data $bytes
# And what was done can be done again.
"$HONE" inspect a.onnx --json | grep -o '"recipe": "[^"]*"' | sed 's/.*: "//; s/"$//; s/; /\n/g' >again
"$HONE" quantize "$digits" -o c.onnx --recipe again -q >/dev/null
cmp a.onnx c.onnx && echo same bytes
# Keys are those of docs/json.md.
"$HONE" embed "$digits" -o d.onnx -q --scale 1/255 --mean 0.5 --json >d.json
documented embed d.json
