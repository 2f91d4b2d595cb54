"""What a contributor relies on besides the code: CI, pre-commit, templates, docs. All of it agrees with the Makefile."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import yaml
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import house  # noqa: E402

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CI = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
HOOKS = {
    hook["id"]: hook
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    for hook in repo["hooks"]
}
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"
DOCS = ROOT / "docs"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(DOCS.glob("**/*.md"))


def commands(job: str) -> list[str]:
    return [step["run"] for step in CI["jobs"][job]["steps"] if "run" in step]


def rows_of(heading: str, text: str) -> list[list[str]]:
    """Return the cells of the first table below a heading, without its head."""
    section = text[text.index(f"## {heading}\n") :].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return rows[2:]


def test_make_clean_removes_every_environment_that_a_command_makes():
    (removed,) = re.findall(r"^clean:.*\n\trm -rf (.+)$", MAKEFILE, re.MULTILINE)
    removed = re.sub(
        r"\$\((\w+)\)", lambda name: re.findall(rf"^{name[1]} := (\S+)$", MAKEFILE, re.MULTILINE)[0], removed
    )
    sources = MAKEFILE + "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tools").glob("*.py"))
    made = set(re.findall(r"(\.venv-[a-z]+)", sources))
    assert {".venv-demo", ".venv-pairs"} <= made
    assert made == set(re.findall(r"(\.venv-[a-z]+)", removed))


# ---------------------------------------------------------------- CI


@pytest.mark.parametrize("job", CI["jobs"])
def test_ci_runs_what_a_contributor_can_run(job):
    targets = set(re.findall(r"^(\w+):", MAKEFILE, re.MULTILINE))
    assert commands(job)
    for command in commands(job):
        assert command.startswith("make ") and command.split()[1] in targets


def test_ci_runs_lint_and_everything():
    assert {"make lint", "make test"} <= {" ".join(run.split()[:2]) for job in CI["jobs"] for run in commands(job)}
    assert not any("ROOM" in command for command in commands("test"))


def test_ci_tests_every_python_that_is_promised():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    promised = re.findall(r"Python :: (3\.\d+)\"", project)
    assert CI["jobs"]["plain"]["strategy"]["matrix"]["python"] == promised
    (everything,) = [s for s in CI["jobs"]["test"]["steps"] if "setup-python" in s.get("uses", "")]
    assert sorted(everything["with"]["python-version"].split(), key=lambda version: int(version[2:])) == promised


def test_ci_tries_the_pairs_whose_runs_are_in_the_docs():
    tried = rows_of("Pairs of Python and torch", (DOCS / "test-runs.md").read_text(encoding="utf-8"))
    pairs = CI["jobs"]["pair"]["strategy"]["matrix"]["include"]
    assert [(".".join(row[0].split(".")[:2]), row[1]) for row in tried] == [(p["python"], p["torch"]) for p in pairs]


# ---------------------------------------------------------------- pre-commit and ruff


@pytest.mark.parametrize("hook, tool", [("ruff-check", "ruff"), ("ruff-format", "ruff"), ("mypy", "mypy")])
def test_a_commit_is_checked_by_the_versions_of_make_lint(hook, tool):
    (pinned,) = re.findall(rf"\b{tool}==[\d.]+", MAKEFILE)
    assert HOOKS[hook]["additional_dependencies"] == [pinned]


@pytest.mark.parametrize("command", ["ruff check", "ruff format --check", "mypy", "tools/house.py --check"])
def test_make_lint_checks_all_that_a_commit_hook_checks(command):
    recipe = MAKEFILE[MAKEFILE.index("\nlint:") :].split("\n\n")[0]
    assert command in recipe


def test_the_formatter_leaves_alone_what_is_tested_for_its_layout():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (excluded,) = re.findall(r"\[tool\.ruff\.format\]\n(?:#.*\n)*exclude = \[(.*)\]", project)
    for folder in ("tests/decompiler", "tests/programs", "tests/support"):
        assert f'"{folder}/**"' in excluded and (ROOT / folder).is_dir()


def test_the_house_map_command_of_the_hook_exists():
    command = HOOKS["house"]["entry"].replace("python", sys.executable, 1).split()
    assert subprocess.run(command, cwd=ROOT).returncode == 0


# ---------------------------------------------------------------- templates


@pytest.mark.parametrize("name", ["bug_report.yml", "feature_request.yml"])
def test_an_issue_form_has_all_that_github_needs_to_show_it(name):
    form = yaml.safe_load((TEMPLATES / name).read_text(encoding="utf-8"))
    assert form["name"] and form["description"]
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids)) and all(field["attributes"]["label"] for field in form["body"])


def test_a_bug_report_asks_for_what_a_bug_is_found_with():
    form = yaml.safe_load((TEMPLATES / "bug_report.yml").read_text(encoding="utf-8"))
    required = {field["id"] for field in form["body"] if field.get("validations", {}).get("required")}
    assert {"program", "manifest", "versions"} <= required
    text = str(form)
    assert "manifest.json" in text
    for command in set(re.findall(r"python -m depyf (\w+)", text)):
        done = subprocess.run([sys.executable, "-m", "depyf", command, "--help"], cwd=ROOT, stdout=subprocess.DEVNULL)
        assert done.returncode == 0, command


# ---------------------------------------------------------------- docs


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_the_docs_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            file, _, anchor = target.partition("#")
            linked = (page.parent / file) if file else page
            assert linked.exists(), target
            assert not anchor or anchor in anchors(linked.read_text(encoding="utf-8")), target


def test_every_page_is_in_the_index_of_the_docs():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert [
        page.name for page in DOCS.glob("*.md") if page.name != "README.md" and f"]({page.name})" not in index
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_the_docs_name_exist(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w/.<])(?:depyf|tests|tools|bench|docs|examples)/[\w/.\-]*(?![\w<])", text))
    assert sorted(name for name in named if not (ROOT / name.rstrip(".")).exists()) == []


DIALECT = r"\b(?:say|says|said|tell|tells|told|knows?|knew|hears?|heard|minds?|looks?|looked|go on|goes on|lets? go)\b"
# What a person does.
BY_PEOPLE = ("where to look", "where you know that", "Where you know that", "that you know", "people who know")


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "house.md"], ids=lambda page: page.name)
def test_the_docs_use_plain_words(page):
    """Code, and texts that depyf saves in its files, are quoted as they are; house.md consists of docstrings."""
    prose = re.sub(
        r"^```.*?^```|^    .*$|`[^`]*`|^\| `[A-Z_]+` \|[^|]*\|", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    for allowed in BY_PEOPLE:
        prose = prose.replace(allowed, "")
    assert re.findall(rf".*{DIALECT}.*", prose, re.IGNORECASE) == []


def test_paths_in_the_recipes_exist():
    """They are spelled from the package, or from the decompiler, down."""
    tops = (ROOT, ROOT / "depyf", ROOT / "depyf" / "decompiler")
    for page in (DOCS / "recipes.md", ROOT / "CONTRIBUTING.md"):
        named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text(encoding="utf-8")))
        named = {name for name in named if "3XX" not in name}
        assert named and [name for name in sorted(named) if not any((top / name).exists() for top in tops)] == []


def test_the_drawing_has_every_stage_of_the_decompiler_in_the_order_of_the_map():
    drawing = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("torch.compile(f)(x)")[1].split("\n| where")[0]
    )
    drawn = re.findall(r"[a-z_]+", drawing[drawing.index("decode") : drawing.index("prove") + len("prove")])
    beside_the_way = (
        "bytecode",
        "analysis",
        "syntax",
        "attempt",
        "pipeline",
        "code_search",
        "callables",
        "pyc",
        "other_pythons",
    )
    rooms = [room.split(".")[2] for room in house.ROOMS if room.startswith("depyf.decompiler.")]
    assert drawn == [room for room in rooms if room not in beside_the_way]


# ---------------------------------------------------------------- glossary

GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")
TERMS = [row[0] for heading in re.findall(r"^## (.+)$", GLOSSARY, re.MULTILINE) for row in rows_of(heading, GLOSSARY)]
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "depyf").rglob("*.py")))


def test_the_pictures_have_every_stage_and_the_large_rooms():
    stages = (DOCS / "pictures" / "stages.svg").read_text(encoding="utf-8")
    order = [room.rpartition(".")[2] for room in house.ROOMS if room.startswith("depyf.decompiler.")]
    drawn = [name for name in order if f">{name}<" in stages]
    assert drawn == sorted(drawn, key=lambda name: stages.index(f">{name}<"))
    assert {"decode", "clean_program", "flow", "clean_graph", "fold", "structure", "build", "printer"} < set(drawn)
    picture = (DOCS / "pictures" / "house.svg").read_text(encoding="utf-8")
    for room in ("torch_hooks", "page", "report", "decompiler", "line_table", "record", "commands"):
        assert f"depyf.{room}" in house.ROOMS and room in picture


@pytest.mark.parametrize("term", TERMS)
def test_a_term_of_the_glossary_is_one_that_the_source_uses(term):
    spelled = re.sub(r"[ -]", "[ _-]?", term)
    assert re.search(rf"(?<![a-z]){spelled}(?:s|ed|es)?(?![a-z])", SOURCE, re.IGNORECASE)


def test_the_glossary_has_each_term_once_and_explains_it():
    assert len(TERMS) == len(set(TERMS)) >= 12
    rows = [row for heading in re.findall(r"^## (.+)$", GLOSSARY, re.MULTILINE) for row in rows_of(heading, GLOSSARY)]
    assert [row for row in rows if len(row) != 2 or len(row[1]) < 40] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_a_reader_of_the_front_pages_finds_the_glossary(page):
    assert "](docs/glossary.md)" in (ROOT / page).read_text(encoding="utf-8")
