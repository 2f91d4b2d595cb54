"""A comment with the user's line never changes what the text means, and never shows a line that is not the user's."""

from __future__ import annotations

import linecache

import pytest

from depyf.decompiler.bytecode.location_table import positions_of
from depyf.record.vocabulary import BY_PROOF, BY_RESUME
from depyf.torch_hooks.frames.line_comments import WIDTH, ShortPaths, UserSource, with_comments
from depyf.torch_hooks.frames.line_links import UserLine

SOURCE = '''\
def function(x, self):
    first(x.attribute, key="a # b")
    second("""one
    two""", x)
    self.__private = third(x) + 1.5e3
    return f"{x}" + 'it\\'s' + x.long(x.very_long(x.very_very_long(x.name), x.another), x.one_more, x.and_more)
'''


@pytest.fixture
def compiled(tmp_path):
    path = tmp_path / "user.py"
    path.write_text(SOURCE)
    space = {}
    exec(compile(SOURCE, str(path), "exec"), space)
    yield path, space["function"].__code__
    linecache.clearcache()


def comment(code, *user_lines, text="call()", found_by=BY_PROOF, line=1):
    positions = [position for position in positions_of(code) if position[0] in user_lines]
    lines = [UserLine(line, position, found_by) for position in positions]
    return with_comments(text, lines, UserSource(code), ShortPaths())


def test_a_line_shows_its_file_and_source(compiled):
    _, code = compiled
    assert comment(code, 2) == 'call()  # user.py:2: first(x.attribute, key="a # b")'
    assert comment(code, 3) == 'call()  # user.py:3: second("""one'
    assert comment(code, 5) == "call()  # user.py:5: self.__private = third(x) + 1.5e3"
    assert comment(code, 5, found_by=BY_RESUME) == "call()  # after user.py:5: self.__private = third(x) + 1.5e3"


def test_a_statement_of_several_lines_names_them_all(compiled):
    _, code = compiled
    assert comment(code, 2, 3, 5) == 'call()  # user.py:2-3, 5: first(x.attribute, key="a # b")'


@pytest.mark.parametrize("width", [6, 60, 80, 99, 100, 101, 105, 120, 130])
def test_long_lines_are_cut_but_name_the_place_where_there_is_room(compiled, width):
    _, code = compiled
    text = "x" * width
    shown = comment(code, 6, text=text)
    place = text + "  # user.py:6"
    assert shown.startswith(place) if len(place) <= WIDTH else shown == text
    assert len(shown) <= max(WIDTH, width)
    assert shown in (place, text) or shown.endswith("...")


def test_a_comment_never_gets_into_a_string_or_behind_a_backslash(compiled):
    _, code = compiled
    for text in ('x = """a\nb"""', "x = '''a\nb'''", "x = a + \\\nb"):
        for line in (1, 2):
            assert ast_of(comment(code, 2, text=text, line=line)) == ast_of(text)


def ast_of(text):
    import ast

    return ast.dump(ast.parse(text))


def test_a_source_that_changed_is_not_shown(compiled):
    path, code = compiled
    lines = SOURCE.splitlines(keepends=True)
    for changed in (
        ["# a new line\n", *lines],
        [lines[0], *lines[2:]],
        [line.replace("first", "other") for line in lines],
        [],
    ):
        path.write_text("".join(changed))
        linecache.checkcache(str(path))
        assert comment(code, 2) == "call()  # user.py:2"


def test_a_source_that_is_nowhere_is_not_shown():
    space = {}
    exec(compile(SOURCE, "<string>", "exec"), space)
    assert comment(space["function"].__code__, 2) == "call()  # <string>:2"


def test_cells_of_notebooks_have_their_source():
    name = "<ipython-input-3-0123456789ab>"
    space = {}
    exec(compile(SOURCE, name, "exec"), space)
    linecache.cache[name] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), name)
    try:
        assert comment(space["function"].__code__, 2) == f'call()  # {name}:2: first(x.attribute, key="a # b")'
    finally:
        linecache.cache.pop(name)


def test_characters_that_end_a_line_are_escaped(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text('def function(x):\n\treturn x("\f\x1b\u2028ä")\n', encoding="utf-8")
    space = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    shown = comment(space["function"].__code__, 2)
    assert shown == 'call()  # odd.py:2: return x("\\x0c\\x1b\\u2028ä")'


def test_two_files_of_one_name_are_distinguished_and_stay_so():
    paths = ShortPaths()
    assert paths.of("/home/ada/model.py") == "model.py"
    assert paths.of("/home/ada/other/model.py") == "other/model.py"
    assert paths.of("/srv/other/model.py") == "srv/other/model.py"
    assert paths.of("/home/ada/model.py") == "model.py"
    assert paths.of("/home/ada/package/__init__.py") == "package/__init__.py"
    assert paths.of("C:\\ada\\train.py") == "train.py"
