# Every family ends in a reference that runs anywhere; a family by name; a name nobody has.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" kernels --json >kernels.json
documented kernels kernels.json
# The last kernel of each family is its reference, and there are as many as families.
[ "$("$HONE" kernels | grep -c ' ref  *portable  *x ')" -eq "$("$HONE" kernels | grep -c '^[a-z0-9_]*: ')" ] &&
    echo "a reference in every family"
"$HONE" kernels copy | tail -n 2
HONE_ISA=portable "$HONE" kernels | grep -E ' (avx2|avx512|amx|neon) +x' && echo "a row that is not allowed"
hone kernels conv_f23
