# Steps add up, whatever the machine; wrong options are named.
. "$SOURCE/tests/cli/lib.sh"
digits=$SOURCE/models/digits_cnn.onnx
"$HONE" profile "$digits" -q --runs 2 --json >profile.json
documented profile profile.json
"$HONE" profile "$digits" -q --runs 2 --trace trace.json | tail -n 1 | sed 's/[0-9][0-9.]*/N/g; s/ [kM]B/ B/g'
head -c 15 trace.json && tail -n 1 trace.json
hone profile "$digits" -q --isa sse9 | sed 's/;.*/; .../'
hone profile "$digits" -q --trace trace.json
hone profile "$SOURCE/tests/models/unknown.onnx" -q
