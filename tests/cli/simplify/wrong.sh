# Bad options, bad files, and nothing is written.
. "$SOURCE/tests/cli/lib.sh"
cp "$models/add.onnx" add.onnx
hone simplify add.onnx
hone simplify add.onnx -o add.onnx
ln -s add.onnx link.onnx
hone simplify add.onnx -o link.onnx
cmp "$models/add.onnx" add.onnx
hone simplify add.onnx -o a.onnx --level 4
hone simplify add.onnx -o a.onnx --without fold_constant
hone simplify add.onnx -o a.onnx --stop-after fold_pads
hone simplify add.onnx -o a.onnx --set-dim a=3
hone simplify add.onnx -o a.onnx --set-dim none:0=3
hone simplify add.onnx -o a.onnx --opset 99
hone simplify missing.onnx -o a.onnx
hone simplify add.onnx -o missing/a.onnx | sed 's/tmp-[0-9a-f]*/tmp-X/'
ls
