# Sizes below 0 conform, as ONNX's checker has it; they are pointed out, and read as unknown.
. "$SOURCE/tests/cli/lib.sh"
hone check "$models/sizes.onnx"
"$HONE" inspect --json "$models/sizes.onnx" | grep -o '"dims": \["[^]]*\]'
hone run -q "$models/sizes.onnx" --dim u0=2 --dim u1=4 --dim u2=6 --fill ones -o out
ls out
