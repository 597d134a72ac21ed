# An output does not overwrite an input.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" run -q "$models/add.onnx" --fill ones -o . >/dev/null
hone run -q "$models/add.onnx" --in a=y.npy --fill ones -o .
ln -s . link
hone run -q "$models/add.onnx" --in a=link/ab.npy --fill ones -o .
