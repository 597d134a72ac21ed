# Runs the model on this machine; numbers differ, the form does not.
# label: full
. "$SOURCE/tests/cli/lib.sh"
export XDG_CACHE_HOME=$PWD
"$HONE" advise "$digits" -q --runs 2 --data synthetic:digits,n=20 --max-latency 1000 --use video >text
sed -n 's/^\(verdict  *stop: what is wanted is met already\).*/\1/p' text
grep -c 'with its measured limits' text
"$HONE" advise "$digits" -q --runs 2 --json --data synthetic:digits --max-latency 1e-5 --requests-per-day 1e6 --machine-price 100 --report page.html >advise.json
documented advise advise.json
grep -o '"measured": [a-z]*' advise.json
grep -o '"typical": [a-z]*' advise.json
grep -o '"stop": [a-z]*' advise.json
grep -c '<h2>' page.html
# A model of two inputs whose axes have names, and names that a shell would split.
cp "$digits" "my model.onnx"
"$HONE" advise "my model.onnx" --no-run --target mobile_npu | grep command
cp "$digits" ./-m.onnx
"$HONE" advise --no-run --target mobile_npu -- -m.onnx | grep 'command.*quantize'
