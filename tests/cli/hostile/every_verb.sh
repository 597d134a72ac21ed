# label: full
# Graphs that ask for more memory or time than there is: every verb ends, by itself and within its
# limits. Memory is limited from outside as well, where sanitizers and emulators allow that.
. "$SOURCE/tests/cli/lib.sh"
limits='--max-memory 500 --time-limit 1'

# In braces: the shell itself says "Aborted" of a program that sanitizers end.
most=unlimited
{ (ulimit -v 4000000 && "$HONE" --version >/dev/null) && most=4000000; } 2>/dev/null

bounded() {
    ulimit -v $most
    timeout 100 "$HONE" "$@" >said 2>&1
}

for model in "$models"/hostile/*.onnx; do
    name=$(basename "$model" .onnx)
    for verb in check inspect simplify run bench profile quantize eval compare optimize; do
        case $verb in
            check | inspect) more='--time-limit 1' ;;
            simplify) more='--time-limit 1 -o small.onnx' ;;
            run) more="$limits --fill ones -o out" ;;
            bench) more="$limits --seconds 0.1" ;;
            profile) more=$limits ;;
            quantize) more="$limits --data random,n=2 -o small.onnx" ;;
            eval) more="$limits --data random,n=2" ;;
            compare) more="$limits $model" ;;
            optimize) more='--time-limit 1 --data random,n=8 -o small.onnx' ;;
        esac
        rm -rf out small.onnx*
        (bounded $verb "$model" $more)
        code=$?
        case $code in
            [0-4]) ;;
            *) echo "hone $verb $name.onnx $more: exit $code"; cat said ;;
        esac
        grep -nE '(^|[^a-z])-?nan([^a-z]|$)' said && echo "hone $verb $name.onnx $more prints nan"
    done
    echo "$name: every verb ends"
done
