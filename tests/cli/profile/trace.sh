# One trace of start-up, copies, steps and memory; folded stacks of the same.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" profile "$digits" -q --runs 2 --no-roofline --trace trace.json --folded stacks.txt >/dev/null
if command -v python3 >/dev/null; then python3 -m json.tool trace.json >/dev/null; fi
grep -o '"cat": "[a-z]*"' trace.json | sort -u
grep -o '"name": "[a-z]*", "cat": "\(load\|compile\|run\)"' trace.json | sort -u
grep -o '"name": "activations", "ph": "C"' trace.json | sort -u
# Steps lie inside runs: the warm-up, the first run and two that count.
awk -F '[; ]' '{ print $2, (NF > 3 ? "step" : "itself") }' stacks.txt | sort -u
awk '{ if ($NF !~ /^[0-9]+$/ || NF != 2) print "not a stack: " $0 }' stacks.txt
# Files that exist are replaced, unless they are the model.
echo old >trace.json
"$HONE" profile "$digits" -q --runs 1 --no-roofline --trace trace.json >/dev/null
grep -c old trace.json
cp "$digits" copy.onnx
hone profile copy.onnx -q --no-roofline --trace copy.onnx
hone profile "$digits" -q --no-roofline --folded "$PWD/none/stacks.txt"
