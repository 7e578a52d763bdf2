import argparse
import io
import os
import re
import shlex
import subprocess
import sys

import pytest

from nearlabel import __version__, cli
from nearlabel.cli import _COMMANDS, _data, build_parser

COMMANDS = list(_COMMANDS)


def fresh_python(*arguments):
    """Run a new interpreter on our sources."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_module_runs():
    """``python -m nearlabel`` is the command."""
    done = fresh_python("-m", "nearlabel", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"nearlabel {__version__}\n", "")


@pytest.mark.long
def test_importing_needs_no_extra():
    """The commands can be imported, and their help read, without any optional library.

    faiss, which slows scikit-learn down, is imported by the search that needs it, not before.
    """
    code = "import sys; sys.modules |= dict.fromkeys(['rich', 'matplotlib', 'pooch', 'pandas']); import nearlabel.cli"
    searches = "import nearlabel.lazy, nearlabel.neighbors; nearlabel.neighbors.FaissIVFNeighbors()"
    unused = "assert {'faiss', 'usearch'}.isdisjoint(sys.modules)"
    done = fresh_python("-c", f"{code}; {searches}; {unused}; nearlabel.cli.main(['evaluate', '--help'])")
    assert (done.returncode, done.stderr) == (0, "")
    assert "nearlabel evaluate emotions" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_that_parses(nearlabel, command):
    """The help of every command ends in examples, each on one line to be copied, whose arguments are right."""
    answer = nearlabel(command, "--help")
    assert (answer.code, answer.err) == (0, "")
    head, *examples = answer.out[re.search(r"^examples?:$", answer.out, re.MULTILINE).start() :].splitlines()
    assert head == ("example:" if len(examples) == 1 else "examples:")
    for program, *arguments in map(shlex.split, examples):
        assert (program, arguments[0]) == ("nearlabel", command)
        assert build_parser().parse_args(arguments).command == command


@pytest.mark.parametrize("command", ["describe", "fit", "tune"])
def test_help_shows_a_table(nearlabel, command):
    """What a newcomer brings is a CSV file: an example says how to tell its labels from its features."""
    assert re.search(r"^  nearlabel \w+ songs.csv --labels.* --ignore id,title", nearlabel(command, "--help").out, re.M)


def test_help_lists_the_commands_and_exit_codes(nearlabel):
    """What a script has to know is in the help."""
    answer = nearlabel("--help")
    assert answer.code == 0
    assert all(command in answer.out for command in COMMANDS)
    assert "Exit codes: 0 success" in answer.out
    assert "130 interrupted" in " ".join(answer.out.split())


def test_without_a_command_the_help_is_printed(nearlabel):
    """A newcomer who types the name alone sees what there is."""
    assert nearlabel() == nearlabel("--help")


def test_every_option_is_explained():
    """No argument of any command lacks its help."""
    subparsers = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name, parser in subparsers.choices.items():
        for action in parser._actions:
            assert action.help, f"{name} {action.option_strings} lacks its help"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prophesy"], "unrecognized command: prophesy. Hint: nearlabel --help."),
        (
            ["evaluate", "d", "--validate", "5"],
            "unrecognized arguments: --validate 5 (did you mean --cv?). Hint: nearlabel evaluate --help.",
        ),
        (["evalute", "yeast"], "unrecognized command: evalute (did you mean evaluate?). Hint: nearlabel --help."),
        (["--quiet", "exmaine"], "unrecognized command: exmaine (did you mean examine?). Hint: nearlabel --help."),
        (["evaluate"], "the following arguments are required: DATA. Hint: nearlabel evaluate --help."),
        (["evaluate", "yeast", "--fooo", "3"], "unrecognized arguments: --fooo 3. Hint: nearlabel evaluate --help."),
        (["evaluate", "yeast", "--folds", "3"], "--folds 3 (did you mean --cv?). Hint: nearlabel evaluate --help."),
        (["fit", "x.csv", "--folds=3"], "arguments: --folds=3 (did you mean --validate?). Hint: nearlabel fit --help."),
        (["fit", "x.csv", "--n-neighbors", "3"], "arguments: --n-neighbors 3 (did you mean --k?). Hint: nearlabel fit"),
        (
            ["predict", "m", "x.csv", "--folds", "3"],
            "arguments: --folds 3 (--cv is an option of evaluate and tune; --validate is an option of fit). Hint: near",
        ),
        (
            ["fit", "x.csv", "--cv", "10"],
            "unrecognized arguments: --cv 10 (did you mean --validate?). Hint: nearlabel fit",
        ),
        (
            ["fit", "x.csv", "-o", "m.skops"],
            "unrecognized arguments: -o m.skops (did you mean --out?). Hint: nearlabel fit",
        ),
        (["fit", "x.csv", "-k", "5", "--out", "m.skops"], "arguments: -k 5 (did you mean --k?). Hint: nearlabel fit"),
        (["fit", "x.csv", "--target=t"], "--target=t (did you mean --labels-column or --labels?). Hint: nearlabel fit"),
        (
            ["fit", "x.csv", "--features", "a,b"],
            "--features a,b (did you mean --ignore? It names the columns that are not features). Hint: nearlabel fit -",
        ),
        (
            ["describe", "x.csv", "--label-column=tags"],
            "unrecognized arguments: --label-column=tags (did you mean --labels-column?). Hint: nearlabel describe -",
        ),
        (["predict", "m", "x.csv", "--score", "--jobs", "2", "y"], "--jobs 2 y (--jobs is an option of evaluate and"),
        (
            ["fit", "x.csv", "--label-column", "tags"],  # what is missing, too, is told when this is mended
            "unrecognized arguments: --label-column tags (did you mean --labels-column?). Hint: nearlabel fit --help.",
        ),
        (["fit", "x.csv", "--labels-col", "tags"], "the following arguments are required: --out. Hint: nearlabel fit"),
        (["fit", "--", "--label-column"], "the following arguments are required: --out. Hint: nearlabel fit --help."),
        (["predict", "m", "x.csv", "--score", "--seed", "3"], "--seed 3 (--seed is an option of evaluate and sug"),
        (["explain", "m", "x.csv", "--rows=3"], "arguments: --rows=3 (did you mean --row?). Hint: nearlabel explain -"),
        (["--quite"], "unrecognized arguments: --quite (did you mean --quiet?). Hint: nearlabel --help."),
        (["evaluate", "yeast", "--jobs", "two"], "argument --jobs: invalid int value: 'two'"),
        (["describe", "yeast", "--format", "xml"], "invalid choice: 'xml'"),
    ],
)
def test_bad_arguments(nearlabel, arguments, message):
    """One line on standard error, nothing on standard output, exit code 2."""
    answer = nearlabel(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("nearlabel: ")
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_mistyped_options_of_every_command(nearlabel, command):
    """An option that lacks a letter is suggested, with the help of the command, whatever else is missing."""
    subparsers = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    options = [word for word in subparsers.choices[command]._option_string_actions if len(word) > len("--k")]
    for option in options:
        mistyped = option[:-2] + option[-1]
        if not any(other.startswith(mistyped) for other in options):
            answer = nearlabel(command, mistyped)
            near = [one for one in options if one[:-2] + one[-1] == mistyped]  # --tet: --test and --text
            hints = [f": {mistyped} (did you mean {one}?). Hint: nearlabel {command} --help.\n" for one in near]
            assert any(hint in answer.err for hint in hints)


def test_an_error_of_several_lines_is_one_line(nearlabel):
    """Whatever an error quotes, a script reads one line."""
    answer = nearlabel("describe", "two\nlines.xls")
    assert answer.err.startswith("nearlabel: two lines.xls must end in one of .arff, ")
    assert answer.err.count("\n") == 1


def test_a_file_that_is_not_there(nearlabel):
    """Its name and what is the matter, without the system's number."""
    assert nearlabel("describe", "nosuch.arff") == (2, "", "nearlabel: nosuch.arff: No such file or directory.\n")


def interrupt(*_, **__):
    """Press Ctrl-C."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "yeast"], "nearlabel: interrupted.\n"),
        (["evaluate", "yeast"], "nearlabel: interrupted.\n"),
        (["evaluate", "yeast", "--out", "results"], "nearlabel: interrupted. The same command resumes.\n"),
    ],
)
def test_interrupted_while_loading(nearlabel, monkeypatch, arguments, message):
    """Ctrl-C ends with 130, and says so where the same command resumes."""
    monkeypatch.setattr(_data, "open_data", interrupt)
    assert nearlabel(*arguments) == (130, "", message)


def test_interrupted_demo_does_not_resume(nearlabel, monkeypatch, tmp_path):
    """The demo keeps no records, and does not claim to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nearlabel.experiments.run", interrupt)
    assert nearlabel("demo") == (130, "", "nearlabel: interrupted.\n")


@pytest.mark.parametrize("format_", ["table", "json", "csv"])
def test_reader_that_goes_away(monkeypatch, meka, capfd, format_):
    """When `head` has enough, the command ends quietly with 1."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed_pipe:
        monkeypatch.setattr(sys, "stdout", closed_pipe)
        assert quiet_exit(meka, format_) == 1
    assert capfd.readouterr() == ("", "")


def quiet_exit(file, format_):
    """Describe a file and return the exit code."""
    try:
        return cli.main(["describe", str(file), "--format", format_])
    except SystemExit as stop:  # rich ends in this way
        return stop.code


def test_terminal_that_lacks_our_signs(monkeypatch, meka):
    """Arrows and plus-minus become question marks in ASCII; the figures are there."""
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    assert cli.main(["evaluate", str(meka), "--k", "3", "--cv", "2", "--metrics", "hamming_loss"]) == 0
    screen.flush()
    text = screen.buffer.getvalue().decode("ascii")
    assert "fruit: k = 3, mean ? deviation over folds" in text
    assert "Hamming loss ?" in text


def without(monkeypatch, *modules):
    """Make some modules impossible to import."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize("command", ["describe", "evaluate"])
def test_without_rich(nearlabel, monkeypatch, meka, command):
    """The error names the extra that installs what the command line needs."""
    without(monkeypatch, "rich.table", "rich.box", "rich.console", "rich.progress")
    answer = nearlabel(command, meka)
    assert answer == (2, "", "nearlabel: The command line needs rich: pip install 'nearlabel[cli]'.\n")


def test_json_needs_no_rich(nearlabel, monkeypatch, meka):
    """Data for a script are printed by the standard library."""
    without(monkeypatch, "rich.table", "rich.box", "rich.console", "rich.progress")
    assert nearlabel("describe", meka, "--format", "json").code == 0


@pytest.mark.long
def test_a_closed_screen(meka):
    """Without a standard output the command does its work, and a file that it opens does not become the screen."""
    screen = f"sys.stdout = None; code = cli.main(['describe', {str(meka)!r}]); sys.stdout = sys.__stdout__"
    errors = f"sys.stderr = None; print(code, cli.main(['describe', {str(meka.with_name('none.arff'))!r}]))"
    done = fresh_python("-c", f"import sys; from nearlabel import cli; {screen}; {errors}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 2\n", "")
