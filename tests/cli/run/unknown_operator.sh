# An operator that cannot run is named before anything is read or written.
. "$SOURCE/tests/cli/lib.sh"
hone run "$models/unknown.onnx" --fill ones -o out
ls
