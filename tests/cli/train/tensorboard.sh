# Event files: records with their checksums, whose scalars are those of --json.
. "$SOURCE/tests/cli/lib.sh"
"$HONE" train -q "$digits" --data synthetic:digits,n=96 --val synthetic:digits,n=32 --epochs 2 --batch 32 \
    --tensorboard runs --json -o o.onnx >found.json
ls runs | sed 's/[0-9]\{2,\}.*/N/'
cat >read.py <<'EOF'
import glob, json, struct
def crc(data):
    c = 0xffffffff
    for b in data:
        c ^= b
        for _ in range(8): c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    c ^= 0xffffffff
    return ((c >> 15 | c << 17) + 0xa282ead8) & 0xffffffff
def fields(data):
    at = 0
    def varint():
        nonlocal at
        v = shift = 0
        while True:
            b = data[at]; at += 1
            v |= (b & 127) << shift; shift += 7
            if b < 128: return v
    while at < len(data):
        key = varint()
        n = {1: 8, 5: 4}.get(key & 7) or (varint() if key & 7 == 2 else 0)
        if key & 7 == 0: yield key >> 3, varint(); continue
        yield key >> 3, data[at:at + n]; at += n
found = {}
data = open(glob.glob('runs/*')[0], 'rb').read()
while data:
    n, check = struct.unpack('<QI', data[:12])
    record = data[12:12 + n]
    assert check == crc(data[:8]) and struct.unpack('<I', data[12 + n:16 + n])[0] == crc(record)
    data = data[16 + n:]
    event = dict(fields(record))
    if 5 not in event: assert event[3] == b'brain.Event:2'; continue
    value = dict(fields(dict(fields(event[5]))[1]))
    found.setdefault(value[1].decode(), []).append((event[2], struct.unpack('<f', value[2])[0]))
told = json.load(open('found.json'))
print(*('%s %s' % (tag, [s for s, _ in v]) for tag, v in sorted(found.items())), sep='\n')
near = lambda a, b: abs(a - b) <= 1e-5 * (1 + abs(b))
assert all(near(v, e['train_loss']) for (_, v), e in zip(found['epoch/loss'], told['history']))
assert all(near(v, e) for (_, v), e in zip(found['loss'], told['step_losses']))
assert all(near(v, e['val']) for (_, v), e in zip(found['val/' + told['metric']], told['history']))
EOF
if command -v python3 >/dev/null; then python3 read.py; else cat "$SOURCE/tests/cli/train/tensorboard.stdout" | sed 1d; fi
touch file
hone train -q "$digits" --data synthetic:digits,n=96 --tensorboard file -o no.onnx
