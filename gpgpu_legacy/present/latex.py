"""Tables in LaTeX."""

from __future__ import annotations

import re

from gpgpu_legacy.present.grid import Entry, Formula, Grid, is_numeric, plain


def as_latex(grids: list[Grid]) -> str:
    """A `table` environment for each table, with the rules of booktabs."""
    lines = []
    for grid in grids:
        columns = zip(*grid.rows, strict=True)
        layout = "".join("r" if is_numeric(column) else "l" for column in columns)
        lines += [
            r"\begin{table}",
            rf"\caption{{{_escape(grid.caption)}}}",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            " & ".join(map(_escape, grid.heads)) + r" \\",
            r"\midrule",
            *(" & ".join(map(_latex_entry, row)) + r" \\" for row in grid.rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\small {_escape(note)}" for note in grid.notes),
            r"\end{table}",
            "",
        ]
    return "\n".join(lines)


def _latex_entry(entry: Entry) -> str:
    if isinstance(entry, Formula):
        from sympy import Symbol, latex, sympify

        text = re.sub(r"log\((\w+), 2\)", r"\1__log2", entry.text)
        letters = re.findall(r"\b[a-zA-Z]\b", text)  # S and N are functions of sympy's
        logarithms = set(re.findall(r"\b(\w+)__log2\b", text))
        formula = sympify(text, locals={x: Symbol(x) for x in letters})
        names = {Symbol(f"{x}__log2"): rf"(\log_2 {x})" for x in logarithms}
        return f"${latex(formula, symbol_names=names)}$"
    return _escape(plain(entry))


_LATEX_SPECIALS = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\u202f": r"\,",
        "–": "--",
        "³": "$^3$",
        "⁹": "$^9$",
        "×": r"$\times$",
    }
)


def _escape(text: str) -> str:
    return text.translate(_LATEX_SPECIALS)
