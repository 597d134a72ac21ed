# Tables keep to the width of the screen; names lose their beginning, types their end.
. "$SOURCE/tests/cli/lib.sh"
COLUMNS=80 hone inspect "$models/branches.onnx"
COLUMNS=60 hone inspect "$digits" --top 3
COLUMNS=10 hone inspect "$digits" --top 3 | tail -n 6
