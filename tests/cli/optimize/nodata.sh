# Without real samples only what computes the same is tried, unless that is asked for. What is tried beside depends on the instruction set.
# label: full
. "$SOURCE/tests/cli/lib.sh"
for data in "" "--data random,n=64" "--allow-unchecked --isa portable"; do
    echo "options: $data"
    "$HONE" optimize "$digits" -q -o a.onnx $data >out
    sed -n 1p out | tr -s ' ' | grep -o 'signal kept'
    grep -o '^. \(original\|simplified\|bf16\|int8\) ' out | cut -c 3-
    sed -n '/^not tried/,/^$/p' out
    grep -A1 '^  no  *accuracy validated?' out | tr -s ' '
done
