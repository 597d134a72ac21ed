# --min-accuracy, --min and --max decide the exit status.
. "$SOURCE/tests/cli/lib.sh"
printf '1,2,3,2\n3,2,1,0\n1,3,2,0\n0,0,1,2\n' >d.csv
hone eval -q "$models/batch1.onnx" --data csv:d.csv --min-accuracy 75%
hone eval -q "$models/batch1.onnx" --data csv:d.csv --min-accuracy 0.76
hone eval -q "$models/batch4.onnx" --data csv:d.csv --min-accuracy 1
hone eval -q "$models/batch4.onnx" --data csv:d.csv --min-accuracy 75
hone eval -q "$models/batch4.onnx" --data csv:d.csv --min-accuracy best
hone eval -q "$models/batch4.onnx" --data csv:d.csv --min f1=0.5 --max f1=56%
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric recall --min f1=60% --max recall=0.4
hone eval -q "$models/batch4.onnx" --data csv:d.csv --min top5=0.1
hone eval -q "$models/batch4.onnx" --data csv:d.csv --min f1
hone eval -q "$models/batch4.onnx" --data csv:d.csv --max f1=little
hone eval -q "$models/batch4.onnx" --data csv:d.csv --min f2=1
