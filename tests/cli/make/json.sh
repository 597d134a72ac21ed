# The keys are those of docs/json.md, whatever is asked for.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" make resnet20 n=1 -o r.onnx --json >made.json
"$HONE" make --list --json >list.json
"$HONE" make mlp --text --json >text.json
"$HONE" report -q -o /dev/null made.json list.json text.json && echo "all are read"
# One object that has a list of architectures too.
{ sed 's/"architectures": null}//' made.json; sed 's/.*"architectures"/"architectures"/' list.json; } | tr -d '\n' >all.json
documented make all.json
sed 's/.*"name": "resnet20", \("output": "[^"]*", "seed": [0-9]*\).*\("inputs".*\)/\1 \2/' made.json
