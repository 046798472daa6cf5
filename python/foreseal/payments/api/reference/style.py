"""Style of the reference page: light and dark, without files of other hosts."""

STYLE = """
:root{color-scheme:light dark;--line:#d5d9e0;--soft:#f5f6f8;--text:#1c2330;--dim:#5b6575;--link:#2a4fc4}
@media(prefers-color-scheme:dark){:root{--line:#343c49;--soft:#1d222b;--text:#e4e8ee;--dim:#9aa5b5;--link:#8fb0ff}}
*{box-sizing:border-box}
body{margin:0;font:16px/1.5 system-ui,sans-serif;color:var(--text);background:Canvas}
main{max-width:60rem;margin:0 auto;padding:1rem}
a{color:var(--link)}
h2{margin-top:3rem;border-bottom:1px solid var(--line)}
h3{margin:2.5rem 0 .5rem;overflow-wrap:anywhere}
h3 a{color:inherit;text-decoration:none}
code,pre{font:14px/1.5 ui-monospace,monospace}
pre{padding:.75rem;overflow-x:auto;background:var(--soft);border:1px solid var(--line);border-radius:.4rem}
.table{overflow-x:auto}
table{width:100%;border-collapse:collapse}
th,td{padding:.35rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600}
.method{display:inline-block;min-width:3.2rem;color:var(--dim)}
.dim{color:var(--dim)}
nav ul{columns:20rem;padding-left:1.2rem}
""".strip()
