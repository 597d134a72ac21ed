# Data that can be used, and is warned of; data that cannot.
. "$SOURCE/tests/cli/lib.sh"
quantize() { "$HONE" quantize "$digits" -o q.onnx "$@" 2>&1 >/dev/null | grep -v '^hone: note'; }
quantize --data synthetic:digits,n=20
quantize --data random,n=120,seed=3 | grep noise
seq 784 | sed 's/.*/0.5/' | paste -sd, | sed 's/$/,0/' >row
for i in $(seq 120); do cat row; done >same.csv
quantize --data csv:same.csv
sed '7s/0.5/1e30/' same.csv >odd.csv
quantize --data csv:odd.csv,scale=1e30
ls q.onnx
