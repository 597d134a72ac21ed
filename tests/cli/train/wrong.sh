# What cannot be trained is said, with what was found and wanted, and nothing is written.
. "$SOURCE/tests/cli/lib.sh"
data="--data synthetic:digits,n=64"
hone train "$digits" $data
hone train "$digits" -o o.onnx
hone train "$digits" $data -o "$digits"
hone train "$digits" --data synthetic:digits,n=20 -o o.onnx
hone train "$digits" $data --optimizer rmsprop -o o.onnx
hone train "$digits" $data --schedule linear -o o.onnx
hone train "$digits" $data --loss hinge -o o.onnx
hone train "$digits" $data --loss mse -o o.onnx
hone train "$digits" $data --augment flip:turn=3 -o o.onnx
hone train "$digits" $data --augment crop=x -o o.onnx
hone train "$digits" $data --freeze 'nothing*' -o o.onnx
hone train "$digits" $data --freeze '*' -o o.onnx
hone train "$digits" $data --lr 0 -o o.onnx
hone train "$digits" $data --keep best -o o.onnx
hone train "$digits" $data --patience 2 -o o.onnx
hone train "$digits" $data --lr 1e6 --optimizer sgd --epochs 5 --batch 16 -o o.onnx | grep -v '^epoch' | sed 's/step [0-9]* is .*/step N is not finite/; s/memory: .* planned/memory: M planned/'
ls
