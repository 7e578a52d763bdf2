"""Build paper.pdf from paper.md, by pandoc and typst, which `make paper` installs from the package index.

Run: ``python paper/build.py``.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "paper.pdf"


def main() -> int:
    """Write the file; return 1 if a tool is missing."""
    try:
        import pypandoc
        import typst
    except ImportError as error:
        print(f"The paper is not built: {error.name} is not installed. Hint: pip install pypandoc_binary typst")
        return 1
    text = (HERE / "paper.md").read_text(encoding="utf-8")
    number = {label: str(place) for place, label in enumerate(re.findall(r"\\label\{(.+?)\}", text), 1)}
    text = re.sub(r"\\label\{.+?\}", "", text)  # the journal numbers figures by LaTeX
    text = re.sub(r"\\autoref\{(.+?)\}", lambda match: f"Figure {number[match[1]]}", text)
    author = re.search(r"- name: (.+)", text)[1]  # pandoc has another key than the journal
    options = ["--standalone", "--citeproc", f"--bibliography={HERE / 'paper.bib'}", f"--metadata=author={author}"]
    source = HERE / "paper.typ"
    try:
        source.write_text(pypandoc.convert_text(text, "typst", "markdown", extra_args=options), encoding="utf-8")
        OUT.parent.mkdir(exist_ok=True)
        typst.compile(source, output=OUT, root=HERE.parent)
    finally:
        source.unlink(missing_ok=True)
    n_words = len(re.findall(r"\w+", text.partition("# Summary")[2]))
    print(f"wrote {OUT.relative_to(HERE.parent)}, {n_words:,} words")
    return 0


if __name__ == "__main__":
    sys.exit(main())
