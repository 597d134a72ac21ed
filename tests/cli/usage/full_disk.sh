# Output that cannot be written is not a success.
[ -w /dev/full ] || { echo "there is no /dev/full" >&2; exit 77; }
"$HONE" ops >/dev/full
echo "exit $?"
