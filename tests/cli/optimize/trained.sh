# label: full
# With time to train in, models that want training are tried as well: each has its row, trained or not.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" optimize "$digits" -q --data synthetic:digits,n=200,seed=7 --train-budget 1s --augment shift=1 -o t.onnx >table
grep -o '^. \(blocks-60\|channels-30\|channels-50\|heads-25\|low-rank\|sparse-80\|w4a8-qat\) ' table | cut -c 3- | sort
! grep 'trained models' table
