# Streams: an output of one step is an input of the next.
. "$SOURCE/tests/cli/lib.sh"
m=$models/stream.onnx x=$models/stream.npz
pairs='*0=*1'
numbers() { od -A n -t f4 -w8 -j 128 "$1" | sed 's/  */ /g'; }

hone run "$m" --in "$x" --state "$pairs" --over x -o out --save-state all.npz
numbers out/y.npy
numbers out/most.npy
# In two halves, the second where the first has ended; pairs one by one.
hone run "$m" --in "$x" --state echo0=echo1 --state list0=list1 --over x:0 --steps 2 -o half --save-state half.npz
"$HONE" run -q "$m" --in x=half/y.npy --state "$pairs" --over x --load-state half.npz --save-state more.npz -o more
numbers more/y.npy
numbers more/most.npy
# The same step again and again.
hone run "$m" --fill ones --state "$pairs" --steps 3 -o ones
numbers ones/y.npy
# A first value, and sizes of one.
"$HONE" run -q "$m" --fill ones --dim batch=2 --state "$pairs" -o two >two.txt
hone run "$m" --fill ones --in echo0=two/y.npy --state "$pairs" -o begun
numbers begun/y.npy
hone run "$m" --fill ones --dim length=5 --state echo0=echo1,list0=list1 --save-state five.npz
hone run "$m" --fill ones --state echo0=echo1,list0=list1 --load-state five.npz --json | tr , '\n' | grep -e steps -e dims
# What is not kept is stacked, and made up, like anything else.
hone run "$m" --in "$x" --fill zeros --dim length=2 --state echo0=echo1 --over x

# What is wrong.
hone run "$m" --fill ones --steps 2
hone run "$m" --fill ones --save-state s.npz
hone run "$m" --fill ones --state echo0
hone run "$m" --fill ones --state echo0=echo2
hone run "$m" --fill ones --state echo=echo1
hone run "$m" --fill ones --state echo0=list1
hone run "$m" --fill ones --state echo0=y,echo0=echo1
hone run "$m" --fill ones --state "$pairs" --over x
hone run "$m" --in "$x" --state "$pairs" --over echo0
hone run "$m" --in "$x" --state "$pairs" --over z
hone run "$m" --in "$x" --state "$pairs" --over x:3
hone run "$m" --in "$x" --state "$pairs" --over x --over x
hone run "$m" --in "$x" --state "$pairs" --over x --steps 5
hone run "$m" --in "$x" --state "$pairs" --over x --steps 0
hone run "$m" --fill ones --state "$pairs" --load-state none.npz
hone run "$m" --fill ones --state "$pairs" --in echo0=ones/y.npy
hone run "$m" --fill ones --state "$pairs" --in echo0=two/y.npy --load-state all.npz
hone run "$m" --fill ones --state echo0=echo1 --in list0=ones/y.npy --load-state all.npz
hone run "$m" --in "$x" --state "$pairs" --over x --load-state half.npz --backend reference
hone run "$m" --fill ones --state "$pairs" --load-state "$x"
hone run "$m" --fill ones --state "$pairs" --save-state none/all.npz
hone run "$m" --fill ones --state "$pairs" --save-state "$m"
hone run "$m" --in "$x" --state "$pairs" --over x --save-state "$x"
