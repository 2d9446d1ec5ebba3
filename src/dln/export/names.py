"""The user's names -> identifiers: the same ones in every target that needs identifiers.

Letters lose their accents, everything but ASCII letters, digits and underscores becomes an
underscore, words that mean something in a target get an underscore at the end, and names that
would then be the same are numbered. `Export.inputs` lists what became what.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from dln.errors import OptionError

MISSING = "_missing"
"""What the name of the flag of a column ends with; no other column gets that name."""

_WORDS = """
abstract alias always and as asm assert assign async auto automatic await become begin bool
boolean box break buf bufif0 bufif1 byte case casex casez catch cell char class class_number
classes clk cmos columns complex config const constraint continue cover crate cross deassign
debugger def default defparam del delete design disable do double dyn edge elif else end endcase
endconfig endfunction endgenerate endmodule endprimitive endspecify endtable endtask enum event
except explain explanation export extends extern false final finally float fn for force forever
fork from function generate genvar global goto highz0 highz1 id if ifnone imaginary impl
implements import in incdir include initial inline inout input inputs instance instanceof int
integer interface is join lambda large let liblist library local localparam logic long loop
macro macromodule main match medium missing mod model module move mut nand native negedge new
nmos nonlocal nor noshowcancelled not notif0 notif1 null or output override package parameter
pass pmos posedge predict primitive print priv private program property protected pub public
pull0 pull1 pulldown pullup raise rcmos real realtime record ref reg register release repeat
restrict return rnmos row rows rpmos rtran rtranif0 rtranif1 rules scalared sealed self short
showcancelled signed sizeof small specify specparam static strictfp strong0 strong1 struct super
supply0 supply1 switch synchronized table task this throw throws time tran tranif0 tranif1
transient tri tri0 tri1 triand trior trireg true try type typedef typeof union unique unsafe
unsigned unsized use valid var vectored virtual void volatile votes wait wand weak0 weak1 where
while wire with wor words xnor xor yield
"""
_RESERVED = frozenset(_WORDS.split())
"""Words of C, Verilog, Rust and Java, and the names that exports themselves use."""

_NO_NAMES = _RESERVED - {"model"} | {"string"}
"""Words that code cannot be called: a Java class `String` would hide Java's own."""

_OWN = re.compile(r"[a-z]\d+(_\d+)?$")
"""Names like those of wires: l0, g12, s3_7."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def identifiers(names: Sequence[str]) -> tuple[str, ...]:
    """Give each name an identifier; all differ, whatever case they are read in.

    >>> identifiers(["größe (cm)", "Größe-cm", "7", "class", "", "age", "age_missing"])
    ('grosse_cm', 'Grosse_cm_2', 'x7', 'class_', 'column', 'age', 'age_missing_2')
    """
    taken: set[str] = set()
    given: list[str] = []
    # Flags too are taken beforehand, so that no column is named like the flag of another.
    flags = {_spell(name).lower() + MISSING for name in names}
    for name in names:
        wanted = _spell(name)
        given.append(_free(wanted, taken, flags))
        taken.add(given[-1].lower())
    return tuple(given)


def _free(wanted: str, taken: Iterable[str], flags: Iterable[str]) -> str:
    number, name = 1, wanted
    while name.lower() in taken or name.lower() in flags:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _spell(name: str, otherwise: str = "column") -> str:
    """Make an identifier of a name; `otherwise` where it holds no letter or digit of ASCII."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss").replace("ẞ", "SS"))
    ascii_only = "".join(letter for letter in plain if not unicodedata.combining(letter))
    spelled = re.sub(r"[^A-Za-z0-9]+", "_", ascii_only).strip("_")
    if not spelled:
        return otherwise
    if spelled[0].isdigit():
        return f"x{spelled}"
    is_taken = spelled.lower() in _RESERVED or _OWN.match(spelled) is not None
    return f"{spelled}_" if is_taken else spelled


def name_after(stem: str) -> str:
    """Call code after its file: by the same name, or an identifier like it.

    >>> [name_after(stem) for stem in ("heart", "Herz-2", "2024", "class", "心")]
    ['heart', 'Herz_2', 'x2024', 'class_', 'model']
    """
    if _is_name(stem):
        return stem
    spelled = _spell(stem, otherwise="model")
    return spelled if _is_name(spelled) else f"{spelled}_"


def check_name(name: str) -> str:
    """Refuse a name for the code that is no plain identifier, or a word of some target."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise OptionError(
            f"name is {name!r}, expected an identifier: ASCII letters, digits and _, "
            "with a letter first"
        )
    if name.lower() in _NO_NAMES:
        raise OptionError(f"name is {name!r}, a word that a target uses itself; choose another")
    return name


def _is_name(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None and name.lower() not in _NO_NAMES
