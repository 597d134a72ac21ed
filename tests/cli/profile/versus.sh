# Two models side by side, by the names of their nodes.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" profile "$digits" "$digits" -q --dim batch=2 --runs 2 --no-roofline --top 1 \
    --requests-per-day 10 --machine-price 3 >table
sed -n 1p table | tr -s ' '
sed 's/: [0-9].*the second is .*/: .../' table | tail -n 2
"$HONE" profile "$digits" "$models/quantized.onnx" -q --runs 1 --no-roofline --json >both.json
grep -o '"model": "[^"]*"' both.json
hone profile "$digits" "$models/nothing.onnx" -q --no-roofline --runs 1
# Steps of a model and of its int8 form have the same names: only the Quantize of the input is new.
"$HONE" quantize "$digits" --data synthetic:digits,n=16 -o int8.onnx -q >/dev/null
COLUMNS=200 "$HONE" profile "$digits" int8.onnx -q --runs 1 --no-roofline --top all >table
awk 'NR > 2 && NF > 3 && !/^run/ { if (/ -  /) alone++; else paired++ }
     END { print (paired > 5 ? "paired" : "not paired"), alone, "alone" }' table
