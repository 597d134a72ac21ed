# Another runtime: its times count, from a Python that is asked for them; without one rules serve.
. "$SOURCE/tests/cli/lib.sh"
opt() { "$HONE" optimize "$digits" -q --data synthetic:digits,n=400,seed=7 "$@"; }
# It answers as the script would: the second model takes half as long.
cat >python <<'EOF'
#!/bin/sh
echo "$3 $4" >asked
echo "ready Pretended 1.0"
while IFS='	' read -r what first second rest; do
    case $what in
        open) [ -s "$second" ] && [ -s "$rest" ] && echo ok || echo "error no file" ;;
        round) [ "$first" = "$second" ] && echo "times 2 2 2 2 1" || echo "times 2 1 2 1 1" ;;
        close) echo ok ;;
    esac
done
EOF
chmod +x python
mkdir tmp
HONE_PYTHON=./python TMPDIR=$PWD/tmp opt --for onnxruntime --threads 1 -o a.onnx >out
cat asked
grep -c '^\* .* 2.00x .* chosen$' out
grep '^speeds' out
grep '^for' a.recipe
grep -o 'bf16: ONNX Runtime has no' out
ls tmp
# The recipe does it again, for the same runtime.
opt --recipe a.recipe -o b.onnx >out && cmp a.onnx b.onnx && echo same
# One that is not there, one that cannot be measured, one that ends while it is asked.
HONE_PYTHON=./absent opt --for onnxruntime -o c.onnx >out
sed -n '/^by rule/,/^$/p' out
grep -c ' by rule  .* \(chosen\|passed\)$' out
"$HONE" optimize "$digits" --data synthetic:digits,n=400,seed=7 --for tensorrt -o d.onnx 2>&1 >out | grep 'note: hone'
grep -o 'by rule, not measured' out
printf '#!/bin/sh\necho ready Pretended 1.0\n' >python
HONE_PYTHON=./python TMPDIR=$PWD/tmp hone optimize "$digits" -q --for onnxruntime -o e.onnx
ls tmp
hone optimize "$digits" -q --for onnxrutime
HONE_PYTHON=./absent hone optimize "$digits" -q --for onnxruntime --max-latency 1 -o e.onnx
ls *.onnx
