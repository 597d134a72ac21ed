# Inputs that are missing or wrong.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" run -q "$models/add.onnx" --fill ones --dim batch=2 -o two >/dev/null
"$HONE" run -q "$models/add.onnx" --fill ones --dim batch=3 -o three >/dev/null
"$HONE" run -q "$models/names.onnx" --fill ones -o flat >/dev/null
hone run "$models/add.onnx"
hone run "$models/add.onnx" --in a=two/y.npy
hone run "$models/add.onnx" --in aa=two/y.npy
hone run "$models/add.onnx" --in weights=two/y.npy
hone run "$models/add.onnx" --in two/y.npy
hone run "$models/add.onnx" --in a=two/y.npy --in a=two/y.npy
hone run "$models/add.onnx" --in a=none.npy
hone run "$models/add.onnx" --in a=two/y.npy --in b=three/y.npy
hone run "$models/add.onnx" --in a=flat/a_b.npy --in b=two/y.npy
hone run "$models/add.onnx" --in "$models/add.npz" -o sums
od -A n -t f4 -j 128 sums/y.npy
hone run "$models/add.onnx" --in "$models/add.npz" --in a=two/y.npy
hone run "$digits" --in "$models/add.npz"
hone run "$models/add.onnx" --in none.npz
echo 'this is a text' >text.npy
hone run "$models/add.onnx" --in a=text.npy
hone run "$models/add.onnx" --fill ones --precision f31
hone run "$models/add.onnx" --fill ones --exec backwards
