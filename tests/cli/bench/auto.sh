# A quantized model that is faster with parts in float: bench measures it, run learns it from the tuning cache.
# In portable C for x86-64, and in NEON without dot products, integers take several times as long as floats.
. "$SOURCE/tests/cli/lib.sh"
unset HONE_ISA
case $(uname -m) in
    aarch64) isa=neon ;;
    *) isa=portable ;;
esac
"$HONE" quantize "$digits" -q -o int8.onnx --data synthetic:digits,n=16 >/dev/null
told() { grep 'faster in float' | sed 's/takes [0-9.e-]* instead of [0-9.e-]* ms/takes N instead of N ms/'; }
"$HONE" bench int8.onnx -t 1 -n 30 --isa "$isa" --json 2>&1 >/dev/null | told
echo "asked for, float, quiet:"
"$HONE" bench int8.onnx -t 1 -n 5 --isa "$isa" --precision int8 2>&1 >/dev/null | told
"$HONE" bench "$digits" -t 1 -n 5 --isa "$isa" 2>&1 >/dev/null | told
"$HONE" bench int8.onnx -q -t 1 -n 5 --isa "$isa" 2>&1 >/dev/null | told
echo "run:"
run() { "$HONE" run int8.onnx --fill random --threads 1 --isa "$isa" --tune-cache tune.txt "$@" 2>&1 >/dev/null | told; }
run
run --precision auto
run
run --precision int8
run --precision auto
run --precision f32
