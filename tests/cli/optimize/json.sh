# label: full
. "$SOURCE/tests/cli/lib.sh"
"$HONE" optimize "$digits" -q --data synthetic:digits,n=400,seed=7 -o a.onnx --report page.html --json >optimize.json
documented optimize optimize.json
ls
