# The paths of the keys of a JSON text: `a`, `a.b`, `a[].b`.
{ text = text $0 }
END {
    depth = 0
    while (text != "") {
        c = substr(text, 1, 1)
        if (c == "\"") {
            n = 2
            while (substr(text, n, 1) != "\"") n += substr(text, n, 1) == "\\" ? 2 : 1
            word = substr(text, 2, n - 2)
            text = substr(text, n + 1)
            if (text ~ /^: /) print path[depth] (name[depth] = (path[depth] == "" ? "" : ".") word)
            continue
        }
        if (c == "{") { path[depth + 1] = path[depth] name[depth]; name[++depth] = "" }
        if (c == "[") { path[depth + 1] = path[depth] name[depth] "[]"; name[++depth] = "" }
        if (c == "}" || c == "]") depth--
        text = substr(text, 2)
    }
}
