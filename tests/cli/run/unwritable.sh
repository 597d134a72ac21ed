# Where nothing can be written, nothing is written in part.
. "$SOURCE/tests/cli/lib.sh"
: >file
hone run "$models/batch1.onnx" --fill ones -o file/out
hone run "$models/batch1.onnx" --fill ones -o file
hone run "$models/batch1.onnx" --fill ones -o none/out
ls
