"""Write certificates for check_certificate.py."""

from __future__ import annotations

from collections.abc import Sequence

from dln.cli.files import STANDARD, check_output
from dln.cli.output import print_message
from dln.errors import OptionError
from dln.prove.certificate import write_certificate
from dln.prove.claim import Claim

CERTIFICATE_SECONDS = 300.0
"""Time limit of a certificate of a reason: it takes seconds, but minutes for the largest models."""


def check_certificate_output(certificate: str, model: str, data: str | None) -> None:
    """Raise `OptionError` if a certificate cannot be written to a file."""
    if STANDARD in (model, certificate):
        raise OptionError("--certificate needs a model file and an output file, not -")
    check_output(certificate, model, data)


def write_checked_certificate(
    claims: Sequence[Claim],
    model: str,
    certificate: str,
    time_limit: float,
    *,
    other: str | None = None,
    quiet: bool,
) -> None:
    """Write the proofs of claims, and say how to check them."""
    if not write_certificate(claims, model, certificate, other=other, time_limit=time_limit):
        command = "dln prove" if other is None else "dln verify"
        raise OptionError(
            f"the certificate was not written within {time_limit:g} s; give {command} a larger "
            "--time-limit"
        )
    print_written(certificate, model if other is None else f"{model} {other}", quiet=quiet)


def print_written(certificate: str, models: str, *, quiet: bool) -> None:
    """Say which file was written, and how to check it."""
    if not quiet:
        print_message(
            f"wrote {certificate}; check it: python check_certificate.py {models} {certificate}"
        )


def print_not_written(certificate: str, *, quiet: bool) -> None:
    """Say that there is no certificate of a claim that is not proven."""
    if not quiet:
        print_message(f"{certificate} was not written, because the claim is not proven")
