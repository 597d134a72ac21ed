# A run that does not fit is refused.
. "$SOURCE/tests/cli/lib.sh"
hone run "$models/large.onnx" --fill ones --max-memory 50 -o out
ls out
hone run "$models/add.onnx" --fill ones --max-memory 0.00001 -o out
hone run "$models/add.onnx" --fill ones --max-memory 50% -q
for limit in 0 101% 5x %; do hone run "$models/add.onnx" --fill ones --max-memory $limit; done
hone run "$SOURCE/models/digits_cnn.onnx" --fill ones --dim batch=1000 --max-memory 10 -o out -q | sed 's/[0-9]* of/N of/g; s/takes [0-9]*/takes N/'
