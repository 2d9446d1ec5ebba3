"""The databases that SQL is written for."""

from __future__ import annotations

from typing import Literal as OneOf

from dln.exporters.databases.bigquery import BIGQUERY
from dln.exporters.databases.database import Database
from dln.exporters.databases.duckdb import DUCKDB
from dln.exporters.databases.mysql import MYSQL
from dln.exporters.databases.postgresql import POSTGRESQL
from dln.exporters.databases.snowflake import SNOWFLAKE
from dln.exporters.databases.spark import SPARK
from dln.exporters.databases.sqlite import SQLITE
from dln.exporters.databases.tsql import TSQL

DatabaseName = OneOf[
    "sqlite", "duckdb", "postgresql", "mysql", "spark", "bigquery", "snowflake", "tsql"
]

DATABASES: dict[DatabaseName, Database] = {
    "sqlite": SQLITE,
    "duckdb": DUCKDB,
    "postgresql": POSTGRESQL,
    "mysql": MYSQL,
    "spark": SPARK,
    "bigquery": BIGQUERY,
    "snowflake": SNOWFLAKE,
    "tsql": TSQL,
}
"""All supported databases."""
