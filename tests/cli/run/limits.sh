# Time and memory that a run may take; what is made up is checked before it is.
. "$SOURCE/tests/cli/lib.sh"
hone run "$models/forever.onnx" --fill zeros -o out --time-limit 0.3
hone run "$models/forever.onnx" --fill zeros -o out --time-limit 0.3 --backend reference
hone bench "$models/forever.onnx" --time-limit 0.3
hone run "$models/forever.onnx" --fill zeros -o out --time-limit soon
hone run "$models/hostile/input.onnx" --fill zeros -o out --max-memory 1000
"$HONE" run "$models/hostile/input.onnx" --fill zeros -o out 2>&1 | sed 's/, [0-9]* are available/, N are available/'
hone run "$models/add.onnx" --fill zeros -o out --dim batch=100000000 --max-memory 1000
hone run "$models/hostile/loop_stacks.onnx" --fill zeros -o out --max-memory 1000
ls out 2>&1
