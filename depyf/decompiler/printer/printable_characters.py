"""Printable characters: those that `repr` of each Python shows as they are, which depends on its version of Unicode.

So the text of a file is the same whichever Python reads it.
"""

from __future__ import annotations

import bisect
import functools
import re
from typing import Dict, List, Tuple

Version = Tuple[int, int]

# Version -> the characters that `str.isprintable` accepts since then, by number; none of them was lost again. Made by
# comparing the answers of the interpreters for all characters (Unicode 11 in 3.7, 17 in 3.15).
_SINCE: Dict[Version, str] = {
    (3, 8): (
        "c77 e86 e89 e8c e8e-e93 e98 ea0 ea8-ea9 eac eba 1cfa 2bc9 2bff 2e4f 32ff a7ba-a7bf a7c2-a7c6 ab66-ab67 "
        "10fe0-10ff6 1145f 116b8 119a0-119a7 119aa-119d7 119da-119e4 11a84-11a85 11fc0-11ff1 11fff 16f45-16f4a 16f4f "
        "16f7f-16f87 16fe2-16fe3 187f2-187f7 1b150-1b152 1b164-1b167 1e100-1e12c 1e130-1e13d 1e140-1e149 1e14e-1e14f "
        "1e2c0-1e2f9 1e2ff 1e94b 1ed01-1ed3d 1f16c 1f6d5 1f6fa 1f7e0-1f7eb 1f90d-1f90f 1f93f 1f971 1f97b 1f9a5-1f9aa "
        "1f9ae-1f9af 1f9ba-1f9bf 1f9c3-1f9ca 1f9cd-1f9cf 1fa00-1fa53 1fa70-1fa73 1fa78-1fa7a 1fa80-1fa82 1fa90-1fa95 "
    ),
    (3, 9): (
        "8be-8c7 b55 d04 d81 1abf-1ac0 2b97 2e50-2e52 31bb-31bf 4db6-4dbf 9ff0-9ffc a7c7-a7ca a7f5-a7f6 a82c "
        "ab68-ab6b 1019c 10e80-10ea9 10eab-10ead 10eb0-10eb1 10fb0-10fcb 11147 111ce-111cf 1145a 11460-11461 "
        "11900-11906 11909 1190c-11913 11915-11916 11918-11935 11937-11938 1193b-11946 11950-11959 11fb0 16fe4 "
        "16ff0-16ff1 18af3-18cd5 18d00-18d08 1f10d-1f10f 1f16d-1f16f 1f1ad 1f6d6-1f6d7 1f6fb-1f6fc 1f8b0-1f8b1 1f90c "
        "1f972 1f977-1f978 1f9a3-1f9a4 1f9ab-1f9ad 1f9cb 1fa74 1fa83-1fa86 1fa96-1faa8 1fab0-1fab6 1fac0-1fac2 "
        "1fad0-1fad6 1fb00-1fb92 1fb94-1fbca 1fbf0-1fbf9 2a6d7-2a6dd 30000-3134a "
    ),
    (3, 11): (
        "61d 870-88e 898-89f 8b5 8c8-8d2 c3c c5d cdd 170d 1715 171f 180f 1ac1-1ace 1b4c 1b7d-1b7e 1dfa 20c0 2c2f 2c5f "
        "2e53-2e5d 9ffd-9fff a7c0-a7c1 a7d0-a7d1 a7d3 a7d5-a7d9 a7f2-a7f4 fbc2 fd40-fd4f fdcf fdfe-fdff 10570-1057a "
        "1057c-1058a 1058c-10592 10594-10595 10597-105a1 105a3-105b1 105b3-105b9 105bb-105bc 10780-10785 10787-107b0 "
        "107b2-107ba 10f70-10f89 11070-11075 110c2 116b9 11740-11746 11ab0-11abf 12f90-12ff2 16a70-16abe 16ac0-16ac9 "
        "1aff0-1aff3 1aff5-1affb 1affd-1affe 1b11f-1b122 1cf00-1cf2d 1cf30-1cf46 1cf50-1cfc3 1d1e9-1d1ea 1df00-1df1e "
        "1e290-1e2ae 1e7e0-1e7e6 1e7e8-1e7eb 1e7ed-1e7ee 1e7f0-1e7fe 1f6dd-1f6df 1f7f0 1f979 1f9cc 1fa7b-1fa7c "
        "1faa9-1faac 1fab7-1faba 1fac3-1fac5 1fad7-1fad9 1fae0-1fae7 1faf0-1faf6 2a6de-2a6df 2b735-2b738 "
    ),
    (3, 12): (
        "cf3 ece 10efd-10eff 1123f-11241 11b00-11b09 11f00-11f10 11f12-11f3a 11f3e-11f59 1342f 13440-13455 1b132 "
        "1b155 1d2c0-1d2d3 1df25-1df2a 1e030-1e06d 1e08f 1e4d0-1e4f9 1f6dc 1f774-1f776 1f77b-1f77f 1f7d9 1fa75-1fa77 "
        "1fa87-1fa88 1faad-1faaf 1fabb-1fabd 1fabf 1face-1facf 1fada-1fadb 1fae8 1faf7-1faf8 2b739 31350-323af "
    ),
    (3, 13): ("2ffc-2fff 31ef 2ebf0-2ee5d "),
    (3, 14): (
        "897 1b4e-1b4f 1b7f 1c89-1c8a 2427-2429 31e4-31e5 a7cb-a7cd a7da-a7dc 105c0-105f3 10d40-10d65 10d69-10d85 "
        "10d8e-10d8f 10ec2-10ec4 10efc 11380-11389 1138b 1138e 11390-113b5 113b7-113c0 113c2 113c5 113c7-113ca "
        "113cc-113d5 113d7-113d8 113e1-113e2 116d0-116e3 11bc0-11be1 11bf0-11bf9 11f5a 13460-143fa 16100-16139 "
        "16d40-16d79 18cff 1cc00-1ccf9 1cd00-1ceb3 1e5d0-1e5fa 1e5ff 1f8b2-1f8bb 1f8c0-1f8c1 1fa89 1fa8f 1fabe 1fac6 "
        "1fadc 1fadf 1fae9 1fbcb-1fbef "
    ),
    (3, 15): (
        "88f c5c cdc 1acf-1add 1ae0-1aeb 20c1 2b96 a7ce-a7cf a7d2 a7d4 a7f1 fbc3-fbd2 fd90-fd91 fdc8-fdce 10940-10959 "
        "10ec5-10ec7 10ed0-10ed8 10efa-10efb 11b60-11b67 11db0-11ddb 11de0-11de9 16ea0-16eb8 16ebb-16ed3 16ff2-16ff6 "
        "187f8-187ff 18d09-18d1e 18d80-18df2 1ccfa-1ccfc 1ceba-1ced0 1cee0-1cef0 1e6c0-1e6de 1e6e0-1e6f5 1e6fe-1e6ff "
        "1f6d8 1f777-1f77a 1f8d0-1f8d8 1fa54-1fa57 1fa8a 1fa8e 1fac8 1facd 1faea 1faef 1fbfa 2b73a-2b73f 2cea2-2cead "
        "323b0-33479 "
    ),
}


def as_repr_of(literal: str, version: Version | None) -> str:
    """Return a literal that `repr` of the running Python wrote as that of another version writes it.

    None for the version stands for the running one.
    """
    if version is None or (literal.isascii() and "\\u" not in literal and "\\U" not in literal):
        return literal
    return _pattern().sub(lambda found: _shown(found[0], version), literal)


def is_printable_in(text: str, version: Version | None) -> bool:
    """Return whether `str.isprintable` of a version accepts the text; None stands for the running one."""
    if version is None or text.isascii():
        return text.isprintable()
    firsts = [(character, _first_version(character)) for character in text]
    return all(character.isprintable() if first is None else first <= version for character, first in firsts)


def _shown(part: str, version: Version) -> str:
    character = part if len(part) == 1 else chr(int(part[2:], 16)) if part != "\\\\" else ""
    first = _first_version(character) if character else None
    if first is None:
        return part
    if first <= version:
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _first_version(character: str) -> Version | None:
    """Return the version that shows a character first; None for those that all show, or none does."""
    starts, ends, versions = _ranges()
    place = bisect.bisect_right(starts, ord(character)) - 1
    return versions[place] if place >= 0 and ord(character) <= ends[place] else None


@functools.lru_cache(maxsize=None)
def _ranges() -> Tuple[List[int], List[int], List[Version]]:
    """Return the first and last characters of all ranges, in ascending order, and their versions."""
    found = []
    for version, text in _SINCE.items():
        for part in text.split():
            first, _, last = part.partition("-")
            found.append((int(first, 16), int(last or first, 16), version))
    found.sort()
    return [row[0] for row in found], [row[1] for row in found], [row[2] for row in found]


@functools.lru_cache(maxsize=None)
def _pattern() -> re.Pattern[str]:
    """Return what finds these characters in a literal, and escapes that may stand for one."""
    starts, ends, _ = _ranges()
    characters = "".join([f"{chr(first)}-{chr(last)}" for first, last in zip(starts, ends)])
    return re.compile(r"\\\\|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|[" + characters + "]")
