# Wrong names, values, texts and paths.
. "$SOURCE/tests/cli/lib.sh"
hone make
hone make resnet21 -o m.onnx
hone make nothing-like-it -o m.onnx | cut -c1-100
hone make lenet5
hone make lenet5 --width 0 -o m.onnx
hone make lenet5 --width -1 -o m.onnx
hone make lenet5 --width x -o m.onnx
hone make lenet5 --width '1 classes=2' -o m.onnx
hone make lenet5 --classes 100000000000 -o m.onnx
hone make lenet5 --classes 2.5 -o m.onnx
hone make lenet5 --resolution 13 -o m.onnx
hone make lenet5 --depth 2 -o m.onnx
hone make lenet5 --compound 1 -o m.onnx
hone make resnet20 --compound 99 -o m.onnx
hone make resnet20 zero_gamma=yes -o m.onnx
hone make mlp 784-x -o m.onnx
hone make mlp layers=5 -o m.onnx
hone make mlp 1000000-1000000-10 -o m.onnx
hone make lenet5 --seed -1 -o m.onnx
hone make lenet5 -o no/such/folder/m.onnx
hone make lenet5 -o .
hone make --from missing.txt -o m.onnx
printf 'vector 4\nlinear 2 3 4\n' >bad.txt
hone make bad.txt -o m.onnx
printf 'image 3 8 8\nbasic 4 stride=0\n' >bad.txt
hone make bad.txt -o m.onnx
hone make bad.txt -o bad.txt
: >empty.txt
hone make empty.txt -o m.onnx
ls
