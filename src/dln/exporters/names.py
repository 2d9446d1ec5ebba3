"""The user's names -> identifiers, the same in every target that needs identifiers.

Letters lose their accents, and every run of other characters than ASCII letters and digits becomes
one underscore. Words with a meaning in a target get an underscore at the end, and names that would
then be equal are numbered. `Export.inputs` lists the identifier of each column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from dln.errors import OptionError

MISSING = "_missing"
"""The end of the name of a column's flag. No other column gets that name."""
NUMBER = "_number"
"""The end of the name of the C function that finds codes of numbers, after the column's name."""

_WORDS = """
abstract accept_on alias alignas alignof always always_comb always_ff always_latch and and_eq as
asm assert assign assume async auto automatic await become before begin bind bins binsof bit
bitand bitor bool boolean box break buf bufif0 bufif1 byte case casex casez catch cell chandle
char char16_t char32_t char8_t checker class class_number classes clk clocking cmos co_await
co_return co_yield columns compl complex concept config const const_cast consteval constexpr
constinit constraint context continue cover covergroup coverpoint crate cross deassign debugger
decltype def default defparam del delete design disable dist do double dyn dynamic_cast edge
elif else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup
endinterface endmodule endpackage endprimitive endprogram endproperty endsequence endspecify
endtable endtask enum errno event eventually except expect explain explanation explicit export
extends extern false final finally first_match float fn for force foreach forever fork forkjoin
friend from function gen generate genvar global goto highz0 highz1 i386 id if iff ifnone
ignore_bins illegal_bins imaginary impl implements implies import in incdir include initial
inline inout input inputs inside instance instanceof int integer interconnect interface
intersect is join join_any join_none lambda large let liblist library linux local localparam
logic long longint loop macro macromodule main match matches medium missing mod model modport
module move mut mutable namespace nand native negedge nettype new nexttime nmos noexcept
nonlocal nor noreturn noshowcancelled not not_eq notif0 notif1 null nullptr operator or or_eq
output override package packed parameter pass pmos points posedge predict primitive print
priority priv private program property protected pub public pull0 pull1 pulldown pullup pure
raise rand randc randcase randsequence rcmos real realtime record ref reg register
reinterpret_cast reject_on release repeat requires restrict return rnmos row rows rpmos rtran
rtranif0 rtranif1 rules s_always s_eventually s_nexttime s_until s_until_with scalared sealed
self sequence short shortint shortreal showcancelled signed sizeof small soft solve specify
specparam static static_assert static_cast stderr stdin stdout strictfp string strong strong0
strong1 struct super supply0 supply1 switch sync_accept_on sync_reject_on synchronized table
tagged task template this thread_local throughout throw throws time timeprecision timeunit tran
tranif0 tranif1 transient tri tri0 tri1 triand trior trireg true try type typedef typeid
typename typeof typeof_unqual union unique unique0 unix unsafe unsigned unsized until until_with
untyped use using uwire valid var vectored virtual void volatile votes wait wait_order wand
wchar_t weak weak0 weak1 where while wildcard wire with within wor words xnor xor xor_eq yield
"""
_RESERVED = frozenset(_WORDS.split())
"""Keywords of C, C++, Verilog, SystemVerilog, Rust and Java, and the names that exports use."""

_JAVA_TYPES = frozenset({"double", "long", "math", "object", "override", "string", "system"})
"""Classes that the Java export uses, in lower case."""

_MACROS = """
BUFSIZ CLOCKS_PER_SEC E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY
EBADE EBADF EBADFD EBADMSG EBADR EBADRQC EBADSLT EBFONT EBUSY ECANCELED ECHILD ECHRNG ECOMM
ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST
EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN
EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD
ELIBEXEC ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG
ENAVAIL ENETDOWN ENETRESET ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENODEV ENOENT
ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR
ENOSTR ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY
ENOTUNIQ ENXIO EOF EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO
EPROTONOSUPPORT EPROTOTYPE ERANGE EREMCHG EREMOTE EREMOTEIO ERESTART ERFKILL EROFS ESHUTDOWN
ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN
EUNATCH EUSERS EWOULDBLOCK EXDEV EXFULL FLT_EVAL_METHOD FLT_RADIX FLT_ROUNDS HUGE_VAL HUGE_VALF
HUGE_VALL I INFINITY L_tmpnam NAN SIGUSR1 SIGUSR2 TIME_UTC TSS_DTOR_ITERATIONS WEOF
math_errhandling
"""
_C_MACROS = frozenset(_MACROS.split())
"""Macros of the C standard library that stand for values; a program may include any header."""

_C_MACRO = re.compile(
    r"(PRI|SCN)[A-Za-z]\w*|(ATOMIC|EXIT|FE|FP|LC|MATH|SEEK)_\w+|SIG(_\w+|[A-Z]+)"
    r"|\w+_(BIT|DIG|EPSILON|EXP|HAS_SUBNORM|INIT|LOCK_FREE|MAX|MIN)"
)
"""Families of such macros: PRId64, SIGINT, FE_INVALID, INT_MAX."""

_NOT_ALLOWED = _RESERVED - {"model"} | _JAVA_TYPES
"""Names that code cannot have. A Java class `String`, for example, would hide java.lang.String."""

_LIKE_WIRES = re.compile(r"[a-z]\d+(_\d+)?$")
"""Names like those of wires: l0, g12, s3_7."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def identifiers(names: Sequence[str]) -> tuple[str, ...]:
    """Return an identifier for each name; they differ even where letter case does not count.

    >>> identifiers(["größe (cm)", "Größe-cm", "7", "class", "", "age", "age_missing"])
    ('grosse_cm', 'Grosse_cm_2', 'x7', 'class_', 'column', 'age', 'age_missing_2')
    """
    # No column may be named like the flag or the function of another column.
    wanted = [_spell(name) for name in names]
    taken = {name.lower() + end for name in wanted for end in (MISSING, NUMBER)}
    next_number: dict[str, int] = {}
    given: list[str] = []
    for stem in wanted:
        name = stem
        while name.lower() in taken:
            number = next_number.get(stem.lower(), 2)
            next_number[stem.lower()] = number + 1
            name = f"{stem}_{number}"
        given.append(name)
        taken.add(name.lower())
    return tuple(given)


def _spell(name: str, otherwise: str = "column") -> str:
    """Make an identifier of a name; `otherwise` if it has no ASCII letter or digit."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss").replace("ẞ", "SS"))
    ascii_only = "".join(letter for letter in plain if not unicodedata.combining(letter))
    spelled = re.sub(r"[^A-Za-z0-9]+", "_", ascii_only).strip("_")
    if not spelled:
        return otherwise
    if spelled[0].isdigit():
        return f"x{spelled}"
    return f"{spelled}_" if _is_taken(spelled) else spelled


def _is_taken(word: str) -> bool:
    """Return whether a word means something in a target, or is like the name of a wire."""
    is_macro = word in _C_MACROS or _C_MACRO.fullmatch(word) is not None
    return word.lower() in _RESERVED or is_macro or _LIKE_WIRES.match(word) is not None


def name_after(stem: str) -> str:
    """Return a name for code after the name of its file: the same, or an identifier like it.

    >>> [name_after(stem) for stem in ("heart", "Herz-2", "2024", "class", "心")]
    ['heart', 'Herz_2', 'x2024', 'class_', 'model']
    """
    if _is_name(stem):
        return stem
    spelled = _spell(stem, otherwise="model")
    return spelled if _is_name(spelled) else f"{spelled}_"


def check_name(name: str) -> str:
    """Refuse a name for the code that is not an identifier, or has a meaning in a target."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise OptionError(
            f"name is {name!r}, expected an identifier: ASCII letters, digits and _, "
            "with a letter first"
        )
    if name.lower() in _NOT_ALLOWED:
        raise OptionError(
            f"name is {name!r}, a word that a target uses itself; choose another name"
        )
    return name


def _is_name(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None and name.lower() not in _NOT_ALLOWED
