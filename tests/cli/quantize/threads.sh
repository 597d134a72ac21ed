# The same bytes for any number of threads, whatever rounds the weights.
. "$SOURCE/tests/cli/lib.sh"
data=synthetic:digits,n=120
same() {
    "$HONE" quantize "$digits" -o one.onnx "$@" --threads 1 --quiet >/dev/null
    "$HONE" quantize "$digits" -o more.onnx "$@" --threads 3 --quiet >/dev/null
    cmp one.onnx more.onnx && echo "$*"
}
for type in int8-dynamic int8-weights int4 bf16; do same --type $type; done
same --type int4 --group 0 --weights u4
same --type int8-weights --per-tensor
same --simulate --bits 1
same --type int4 --data $data --methods gptq
same --type int4 --data $data --methods awq
same --type int8 --data $data --methods equalize,bias,adaround
same --type int8 --data $data --methods smooth
same --type w4a8 --data $data --methods adaround,bias
same --data $data --mix int8,w4a8 --methods gptq --bits-per-weight 6
