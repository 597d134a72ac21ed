# Characters that do not belong in a file's name are replaced, and no output takes another's place.
. "$SOURCE/tests/cli/lib.sh"
hone run "$models/names.onnx" --fill ones -o out
ls out
cp out/a_b.npy x.npy
hone run "$models/names.onnx" --in in=1=x.npy
