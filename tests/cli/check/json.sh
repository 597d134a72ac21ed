. "$SOURCE/tests/cli/lib.sh"
"$HONE" check -q --json "$models/broken.onnx" >broken.json
echo "exit $?"
cat broken.json
documented check broken.json
echo 'this is a text' >text.onnx
hone check --json text.onnx
hone check --json "$digits"
