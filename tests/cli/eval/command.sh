# --metric-command: files it gets, and what it may not do.
. "$SOURCE/tests/cli/lib.sh"
export TMPDIR="$PWD/tmp"
mkdir tmp
printf '1,2,3,2\n3,2,1,0\n1,3,2,0\n0,0,1,2\n9,0,0,0\n' >d.csv
cat >count <<'END'
#!/bin/sh
ls "$1" >&2
grep -ac 'output.y.npy' "$1/000000.npz" >&2
grep -ac 'label.npy' "$1/000001.npz" >&2
echo 0.75
END
chmod +x count
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command ./count
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command ./count --metric top1 --min command=0.8
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command 'echo many words; true'
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command 'echo nan; true'
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command 'true; true'
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command 'exit 3;'
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command 'kill -9 $$;'
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command 'sleep 9; true' --metric-time-limit 0.2
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command 'yes'
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command ./none 2>&1 | grep -v '^sh'
hone eval -q "$models/batch4.onnx" --data csv:d.csv --min command=1
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command true --metric-time-limit 0
ls tmp
rmdir tmp
hone eval -q "$models/batch4.onnx" --data csv:d.csv --metric-command true
