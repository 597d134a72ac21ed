# A limit that the model meets already, one that is met, one that cannot be, and time that is spent at once: nothing is written then.
# label: full
. "$SOURCE/tests/cli/lib.sh"
opt() { "$HONE" optimize "$digits" -q --data synthetic:digits,n=400,seed=7 "$@" >out; code=$?; }
opt --max-size 1 -o a.onnx; echo $code; grep -o 'already met\|nothing was done' out; ls
opt --use video -o a.onnx; echo $code; grep -o 'already met\|nothing was done' out; ls
opt --use video --max-latency 0.000001 --time-budget 0.001 -o a.onnx; echo $code; grep -o 'already met' out; ls
opt --max-size 0.08 -o a.onnx; echo $code; grep -o 'what was asked for is met' out; ls
rm -f a.*
opt --max-size 0.001 -o a.onnx; echo $code; grep -o 'what was asked for cannot be met' out; ls
opt --time-budget 0.001 -o a.onnx; echo $code; grep -o 'the time of 0.001 s was spent' out; grep -o 'not finished$' out; ls
