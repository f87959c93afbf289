"""The parts of an HTML page that stands on its own: no script, no network, readable on a phone and in print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:#111;background:#fff;
overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.25rem;margin:0 0 .25rem}
section{border-top:2px solid #111;margin-top:2.5rem;padding-top:1rem}
.charts{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr));margin:1rem 0}
.charts figure{margin:0;border:1px solid #ddd;border-radius:4px;padding:.25rem;max-width:30rem}
.charts svg{display:block;width:100%;height:auto}
table{border-collapse:collapse;overflow-wrap:break-word;width:100%;font-size:.9rem;margin:1rem 0}
th,td{border-bottom:1px solid #ccc;padding:.3rem .4rem;text-align:left;vertical-align:top}
ul{padding-left:0;list-style:none}li{margin:.6rem 0;padding-left:.75rem;border-left:4px solid #999}
li.holds{border-color:#111}li.does-not-hold{border:2px dashed #111;border-left-width:4px;padding:.4rem .75rem}
.state{font-weight:bold}.rule,.note,.facts{color:#444;font-size:.9rem}code{background:#f2f2f2;padding:0 .2rem}
nav{columns:2 16rem;font-size:.95rem}nav a{display:block;color:#111}
.missing{border:1px dashed #111;padding:.5rem .75rem}
@media print{section{break-inside:avoid}}
"""


def page(title: str, body: Iterable[str]) -> str:
    """A whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain text."""
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>"


def charts(pictures: Iterable[str]) -> str:
    """Pictures in as many columns as there is room for."""
    return '<div class="charts">' + "\n".join(f"<figure>{picture}</figure>" for picture in pictures) + "</div>"


def statement(state: str, data: str, text: str, rule: str, numbers: str) -> str:
    """A checked statement, as an item of a list; `data` says on which other data than the paper's it was checked."""
    told = f" Here: {escape(numbers)}." if numbers else ""
    where = f" ({escape(data)})" if data else ""
    return (
        f'<li class="{state.replace(" ", "-")}"><span class="state">{escape(state.capitalize())}{where}:</span> '
        f'{escape(text)}{told}<br><span class="rule">Checked: {escape(rule)}.</span></li>'
    )


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
