# The documented keys; what must hold on any machine.
. "$SOURCE/tests/cli/lib.sh"
env -u HONE_ISA "$HONE" machine -q --json >machine.json
documented machine machine.json
HONE_ISA=portable "$HONE" machine -q >machine.txt
grep -c '^cpu  \|^cores  ' machine.txt
grep -c 'f32\|bf16\|int8' machine.txt
hone machine now
