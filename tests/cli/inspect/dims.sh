# Sizes of symbolic axes.
. "$SOURCE/tests/cli/lib.sh"
hone inspect "$digits" --dim batch=64 --top 0 | grep -E '^.|arithmetic|memory|symbols' | head -n 10
hone inspect "$digits" --dim batch
hone inspect "$digits" --dim batch=many
hone inspect "$digits" --dim batch=-1
hone inspect "$digits" --dim =2
hone inspect "$digits" --dim bacth=2
hone inspect "$models/batch1.onnx" --dim batch=2
