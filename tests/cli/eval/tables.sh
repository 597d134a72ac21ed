# --metric, --per-class and --confusion.
. "$SOURCE/tests/cli/lib.sh"
printf '1,2,3,2\n3,2,1,0\n1,3,2,0\n0,0,1,2\n' >d.csv
hone eval -q "$models/batch4.onnx" --data csv:d.csv --per-class --confusion
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric f1,top1,f1 --batch 1
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric default,f1_micro --score y
hone eval -q "$digits" --data synthetic:digits,n=20,seed=5 --confusion --threads 1 --precision bf16
hone eval "$models/batch4.onnx" --data csv:d.csv --metric f1,f2
hone eval "$models/batch4.onnx" --data csv:d.csv --metric ''
hone eval "$models/batch4.onnx" --data csv:d.csv --score z
hone eval "$models/batch4.onnx" --data csv:d.csv --precision int8
hone eval "$models/batch4.onnx" --data csv:d.csv --metric mse
hone eval "$models/batch4.onnx" --data csv:d.csv --metric miou
hone eval "$models/batch4.onnx" --data csv:d.csv --metric map
hone eval "$models/batch4.onnx" --data csv:d.csv --metric perplexity
hone eval "$models/batch4.onnx" --data csv:d.csv --metric cosine
