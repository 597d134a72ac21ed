# Sizes of symbolic axes: what is given settles what is made up.
. "$SOURCE/tests/cli/lib.sh"
hone run "$digits" --fill random
hone run "$digits" --fill random --dim batch=5
hone run -q "$digits" --fill random --dim bach=5
hone run -q "$models/batch1.onnx" --fill random --dim n=5
"$HONE" run -q "$models/add.onnx" --fill ones --dim batch=7 -o seven >/dev/null
hone run "$models/add.onnx" --in b=seven/y.npy --fill ones
