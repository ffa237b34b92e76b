"""The notebooks of the documentation, executed again: they say what the package says today."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

nbformat = pytest.importorskip("nbformat", reason="the notebooks' reader is not installed")
nbclient = pytest.importorskip("nbclient", reason="what executes notebooks is not installed")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
TUTORIALS = (ROOT / "docs" / "tutorials").glob("*.md")
VARIES = {"varies", "player"}
"""The tags of cells that show times, and of those that hold a page, whose scripts may change."""


def executed(path: Path) -> Any:
    """The notebook with the outputs that it has now."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def shown(cell: Any) -> list[dict[str, Any]]:
    """What the outputs of a cell say, without counters; pictures as their pixels."""
    tags = cell.metadata.get("tags", [])
    outputs = []
    for output in cell.outputs:
        assert output.output_type in ("stream", "execute_result"), output
        data = {"text": output.text} if "text" in output else dict(output.data)
        if "text" in data and outputs and "text" in outputs[-1] and not VARIES & set(tags):
            outputs[-1]["text"] += data["text"]  # what is printed arrives in pieces
            continue
        if VARIES & set(tags):
            data = dict.fromkeys(data)
        if "image/png" in data:
            picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
            data["image/png"] = np.asarray(picture.convert("RGB")).tolist()
        outputs.append(data)
    return outputs


def test_each_tutorial_has_a_notebook() -> None:
    for path in NOTEBOOKS:
        tutorial = ROOT / "docs" / "tutorials" / f"{path.stem}.md"
        assert f"../notebooks/{path.name}" in tutorial.read_text(encoding="utf-8")
    assert {path.stem for path in NOTEBOOKS} == {path.stem for path in TUTORIALS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_shows_when_executed(path: Path, update_golden: bool) -> None:
    now = executed(path)
    if update_golden:
        nbformat.write(now, path)
        return
    kept = nbformat.read(path, as_version=4)
    for before, after in zip(kept.cells, now.cells, strict=True):
        if before.cell_type == "code":
            assert shown(after) == shown(before), before.source
    assert any(cell.get("outputs") for cell in kept.cells)
