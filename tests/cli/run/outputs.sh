# Outputs are written as .npy files, which can be inputs.
. "$SOURCE/tests/cli/lib.sh"
hone run "$models/add.onnx" --fill ones --dim batch=3 -o out
ls out
hone run "$models/add.onnx" --in a=out/y.npy --in b=out/ab.npy
hone run "$models/add.onnx" -i a=out/y.npy -i b=out/ab.npy -o .
ls
