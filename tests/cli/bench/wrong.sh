# What cannot be measured is said before anything is.
. "$SOURCE/tests/cli/lib.sh"
hone bench "$models/batch4.onnx" -b 1,4
hone bench "$models/batch4.onnx" -b 4 --runs 1 --warmup 0 -q --json | grep -o '"batch": [0-9]*'
hone bench "$digits" -b 1,0
hone bench "$digits" -b 1..
hone bench "$digits" -b 4 --dim batch=8
hone bench "$digits" --dim bach=8
hone bench "$digits" --precision int8
hone bench "$digits" --precision int4
hone bench "$digits" --isa sse9 | sed 's/;.*/; .../'
hone bench "$digits" --seconds 1 --runs 1
hone bench "$digits" --seconds nan
hone bench "$models/unknown.onnx" -q
hone bench none.onnx
hone bench "$digits" --hint speed
hone bench "$digits" --json --csv
hone bench "$digits" --data csv:none.csv -q
printf '1,2,3\n' >three.csv
hone bench "$digits" --data csv:three.csv -q
hone bench "$digits" --data synthetic:digits,n=3 -b 4 -q
hone bench "$models/batch4.onnx" --data random,n=8 -b 2 -q
