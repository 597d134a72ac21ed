# The whole table: every operator has a row, and runs.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" ops >table
grep -v '^-' table | head -n 3 | tr -s ' '
tail -n 5 table | sed 's/^[0-9]* /N /'
rows=$(grep -cE '^[A-Za-z0-9.]+ +x ' table)
grep -q "^$rows operators" table && echo "as many rows as operators"
"$HONE" ops --json >ops.json
[ "$(grep -o '"signature"' ops.json | wc -l)" -eq $rows ] && echo "as many in JSON"
documented ops ops.json
! grep -o '"ref": false' ops.json
