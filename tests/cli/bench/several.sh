# Several models, one after another: a line of CSV or an object each, one heading, and the first failure.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" bench "$models/add.onnx" "$digits" -q -n 1 -t 1 --csv | cut -d , -f 1-3 | sed "s|$SOURCE|SOURCE|"
"$HONE" bench "$models/add.onnx" "$digits" -q -n 1 -t 1,1 --json | grep -o '"model": "[^"]*"' | sed "s|$SOURCE|SOURCE|"
"$HONE" bench none.onnx "$digits" -q -n 1 -t 1 --csv | cut -d , -f 1-3 | sed "s|$SOURCE|SOURCE|"
"$HONE" bench none.onnx "$digits" -q -n 1 -t 1 --csv >/dev/null 2>&1
echo "exit $?"
"$HONE" bench - -q -n 1 -t 1 --csv <"$digits" | cut -d , -f 1-3
