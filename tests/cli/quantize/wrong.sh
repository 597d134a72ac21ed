# Bad options, models and data; nothing is written.
. "$SOURCE/tests/cli/lib.sh"
cp "$digits" m.onnx
data=synthetic:digits,n=120
hone quantize m.onnx
hone quantize m.onnx -o m.onnx --type f16
ln -s m.onnx link.onnx
hone quantize m.onnx -o link.onnx --type f16
hone quantize m.onnx -o q.onnx
hone quantize m.onnx -o q.onnx --type int9
hone quantize m.onnx -o q.onnx --type int8-dynamics
hone quantize m.onnx -o q.onnx --data $data --methods equalise
hone quantize m.onnx -o q.onnx --data $data --ranges average-ish
hone quantize m.onnx -o q.onnx --data $data --for tensorflow
hone quantize m.onnx -o q.onnx --type f16 --layer conv
hone quantize m.onnx -o q.onnx --type f16 --layer nothing=f32
hone quantize m.onnx -o q.onnx --data $data --keep-f32 'none*'
hone quantize m.onnx -o q.onnx --data $data --weights f64
hone quantize m.onnx -o q.onnx --data $data --activations s4
hone quantize m.onnx -o q.onnx --type int4 --bits 6 --weights s4
hone quantize m.onnx -o q.onnx --type int4 --per-tensor --group 32
hone quantize "$models/quantized.onnx" -o q.onnx --type int8-weights
hone quantize missing.onnx -o q.onnx --type f16
hone quantize "$models/broken.onnx" -o q.onnx --type f16 | sed 's/: .*//'
echo '1,2,3,0' >d.csv
hone quantize m.onnx -o q.onnx --data csv:d.csv
hone quantize m.onnx -o q.onnx --data csv:missing.csv
ls
# What cannot be quantized as asked is refused; a larger file is called so.
hone quantize "$models/add.onnx" -o q.onnx --type int8-dynamic
hone quantize m.onnx -o q.onnx --type int8-weights --layer 'gap*=int4'
hone quantize "$models/layers.onnx" -o q.onnx --type int8-dynamic | grep '^file'
