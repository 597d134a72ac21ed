# Several processes that share the parts of a batch give the bytes of one. One that dies ends the others.
. "$SOURCE/tests/cli/lib.sh"
command -v mpirun >/dev/null || { echo "mpirun is not installed (Debian: openmpi-bin)" >&2; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mpi_yield_when_idle=1
# Open MPI gives back less memory than it takes, which a sanitizer counts as leaks.
mpirun() { ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" command mpirun "$@"; }
"$HONE" make lenet5 -q -o m.onnx >/dev/null
train="$HONE train m.onnx --data synthetic:digits,n=128 --batch 32 --parts 4 -t 1 -q --augment crop=1"
$train --epochs 2 -o 0.onnx >/dev/null
for n in 1 2 4; do
    mpirun -n $n $train --epochs 2 -o $n.onnx >$n.txt 2>$n.err || cat $n.err
    cmp 0.onnx $n.onnx && echo "$n: the same bytes, $(grep -c '^epoch' $n.txt) lines"
done
mpirun -n 3 $train --epochs 2 -o 3.onnx 2>&1 | grep '^hone' | sort -u
echo "one of two dies:"
mpirun -n 2 $train --epochs 100000 --checkpoint c --save-every 5 -o x.onnx >/dev/null 2>&1 &
for wait in $(seq 300); do [ -e c/last.onnx ] && break; sleep 0.1; done
pkill -KILL -n -f "$HONE train m.onnx .* --epochs 100000"
wait $! && echo "mpirun did not fail"
"$HONE" eval c/last.onnx -q --data synthetic:digits,n=32 >/dev/null && echo "the checkpoint is whole"
ls x.onnx 2>/dev/null
