"""A real Spark session on one core, which takes some seconds to start."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.tools import find_module, find_tool

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "America/New_York",
    # To compile Java for a few rows takes longer than to interpret the plan.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
}


@cache
def spark() -> Any:
    """Return the session that all tests of a process share."""
    find_module("pyspark")
    find_tool("java", package="default-jdk-headless")
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="dln-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    builder = SparkSession.builder.master("local[1]").appName("dln")
    for name, value in {**_SETTINGS, "spark.sql.warehouse.dir": str(folder)}.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    atexit.register(session.stop)
    return session
