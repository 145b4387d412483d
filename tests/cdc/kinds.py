"""A table of PostgreSQL with a column of each type, for comparisons of what becomes of their values."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg

KINDS: dict[str, tuple[LiteralString, LiteralString, LiteralString, LiteralString]] = {
    "b": ("boolean", "true", "false", "null"),
    "i2": ("smallint", "-32768", "7", "null"),
    "i4": ("integer", "2147483647", "-1", "null"),
    "i8": ("bigint", "-9223372036854775808", "1", "null"),
    "o": ("oid", "4294967295", "1", "null"),
    "f4": ("real", "1.1", "'NaN'", "'-Infinity'"),
    "f8": ("double precision", "0.1", "1e300", "'Infinity'"),
    "n102": ("numeric(10,2)", "1.50", "-99999999.99", "0"),
    "n5": ("numeric(5)", "12345", "0", "-1"),
    "n3810": ("numeric(38,10)", "1234567890123456789012345678.0123456789", "0.0000000001", "0"),
    "nv": ("numeric", "1.500", "-12345678901234567890.123", "0"),
    "nv2": ("numeric", "1e20", "0.00000001", "100"),
    "mo": ("money", "12.34", "-0.01", "92233720368547758.07"),
    "t": ("text", "'Zoë 😀'", "''", "null"),
    "toast": (
        "text",
        "(SELECT string_agg(md5(g::text), '') FROM generate_series(1, 500) g)",
        "(SELECT string_agg(md5(g::text), '') FROM generate_series(1, 5000) g)",
        "null",
    ),
    "vc": ("varchar(20)", "'a'", "'b '", "null"),
    "bc": ("char(5)", "'ab'", "''", "null"),
    "ch": ('"char"', "'x'", "'y'", "null"),
    "by": ("bytea", "'\\x00ff10'", "''", "null"),
    "d": ("date", "'2024-02-29'", "'1969-12-31'", "'0001-01-01'"),
    "d2": ("date", "'9999-12-31'", "'20000-01-01'", "'1500-03-01'"),
    "tm": ("time", "'12:34:56.123456'", "'00:00:00'", "'23:59:59.999999'"),
    "tm3": ("time(3)", "'12:34:56.123'", "'00:00:00'", "'23:59:59.999'"),
    "tm24": ("time", "'24:00:00'", "'00:00:01'", "null"),
    "ts": ("timestamp", "'2024-02-29 12:34:56.123456'", "'1969-12-31 23:59:59.999999'", "'0001-01-01 00:00:00'"),
    "ts3": ("timestamp(3)", "'2024-02-29 12:34:56.123'", "'1969-12-31 23:59:59.999'", "'9999-12-31 23:59:59.999'"),
    "ts0": ("timestamp(0)", "'2024-02-29 12:34:56'", "'1582-10-04 00:00:00'", "'12000-01-01 00:00:00'"),
    "tsi": ("timestamp", "'infinity'", "'-infinity'", "null"),
    "tsi3": ("timestamp(3)", "'infinity'", "'-infinity'", "null"),
    "tz": ("timestamptz", "'2024-02-29 12:34:56.123456+02'", "'1969-12-31 23:59:59.999999Z'", "'2020-01-01Z'"),
    "tz3": ("timestamptz(3)", "'2024-02-29 12:34:56.123+02'", "'1582-10-04 00:00:00Z'", "'9999-12-31 23:59:59.1Z'"),
    "tz0": ("timestamptz(0)", "'2024-02-29 12:34:56.123+02'", "'0001-01-01 00:00:00Z'", "'12000-01-01Z'"),
    "tzi": ("timestamptz", "'infinity'", "'-infinity'", "null"),
    "iv": ("interval", "'1 year 2 months 3 days 04:05:06.789'", "'-1 month -1 second'", "'0'"),
    "js": ("json", '\'{"b" : 1,"a":[1.50, null]}\'', "'null'", "null"),
    "jb": ("jsonb", '\'{"b" : 1,"a":[1.50, null]}\'', "'\"x\"'", "null"),
    "u": ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "'00000000-0000-0000-0000-000000000000'", "null"),
    "e": ("mood", "'sad'", "'ok'", "null"),
    "ine": ("inet", "'10.0.0.1'", "'10.0.0.0/8'", "'::1'"),
    "cid": ("cidr", "'10.0.0.0/8'", "'10.0.0.1/32'", "null"),
    "mac": ("macaddr", "'08:00:2b:01:02:03'", "null", "null"),
    "mac8": ("macaddr8", "'08:00:2b:01:02:03:04:05'", "null", "null"),
    "r4": ("int4range", "'[1,5)'", "'empty'", "null"),
    "r8": ("int8range", "'[1,5]'", "'(,)'", "null"),
    "rn": ("numrange", "'[1.5,5)'", "'empty'", "null"),
    "rd": ("daterange", "'[2020-01-01,2021-01-01)'", "'empty'", "null"),
    "rt": ("tsrange", "'[2020-01-01,2021-01-01)'", "'empty'", "null"),
    "rz": ("tstzrange", "'[2020-01-01 00:00+02,2021-01-01 00:00Z)'", "'empty'", "null"),
    "b1": ("bit(1)", "B'1'", "B'0'", "null"),
    "tv": ("tsvector", "'a fat cat'", "null", "null"),
    "ai": ("int[]", "'{1,NULL,3}'", "'{}'", "null"),
    "a2": ("smallint[]", "'{1,NULL,3}'", "'{}'", "null"),
    "ab": ("bigint[]", "'{1,NULL,3}'", "'{}'", "null"),
    "at": ("text[]", "'{a,NULL,\"b c\"}'", "'{}'", "null"),
    "av": ("varchar(5)[]", "'{a,NULL,\"b c\"}'", "'{}'", "null"),
    "af4": ("real[]", "'{1.5,NULL}'", "'{}'", "null"),
    "af": ("float8[]", "'{1.5,NULL}'", "'{}'", "null"),
    "abo": ("boolean[]", "'{t,NULL,f}'", "'{}'", "null"),
    "au": ("uuid[]", "'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'", "'{}'", "null"),
    "dom": ("posint", "5", "6", "null"),
    "domt": ("short", "'5'", "'6'", "null"),
}
"""Type and three values of each column."""
FROM_RECORDS: dict[str, tuple[LiteralString, LiteralString, str]] = {
    "hs": ("hstore", '\'"a b"=>"x\\\\y", b=>NULL\'', "string"),
    "ci": ("citext", "'Ann'", "string"),
    "lt": ("ltree", "'a.b'", "string"),
    "pt": ("point", "'(1.5,-2)'", "struct<x: double, y: double, wkb: binary, srid: int>"),
    "b9": ("bit(9)", "B'100000011'", "binary"),
    "vb": ("varbit(5)", "B'101'", "binary"),
    "tz": ("timetz", "'12:34:56.123456+02'", "string"),
    "ad": ("date[]", "'{2024-02-29,NULL}'", "list<int>"),
    "ve": ("vector(3)", "'[1,2.5,-3]'", "list<double>"),
}
"""Type and value of columns that a snapshot refuses, and the column that records make."""
LATE = ("d2", "tm24", "ts0", "tsi", "tsi3")
"""Columns with values that Connect's own types of times cannot have."""
MODES: dict[str, dict[str, str]] = {
    "first": {},
    "second": {
        "decimal.handling.mode": "string",
        "time.precision.mode": "adaptive_time_microseconds",
        "binary.handling.mode": "base64",
    },
    "third": {
        "decimal.handling.mode": "double",
        "time.precision.mode": "connect",
        "binary.handling.mode": "hex",
        "column.exclude.list": f"public.kinds.(excluded|{'|'.join(LATE)})",
    },
}
"""Keys of Debezium about the form of values."""


def make_kinds(connection: psycopg.Connection[Any]) -> None:
    """Make the table `kinds` with three rows, and a column that a snapshot refuses."""
    connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    connection.execute("CREATE DOMAIN posint AS int CHECK (value > 0)")
    connection.execute("CREATE DOMAIN short AS varchar(9)")
    columns = ", ".join(f"{name} {kind[0]}" for name, kind in KINDS.items())
    connection.execute(f"CREATE TABLE kinds (id int PRIMARY KEY, touched int NOT NULL, excluded point, {columns})")
    for row in range(3):
        values = ", ".join(kind[1 + row] for kind in KINDS.values())
        connection.execute(f"INSERT INTO kinds VALUES ({row}, 0, NULL, {values})")  # noqa: S608


def make_others(connection: psycopg.Connection[Any]) -> None:
    """Make the table `others` with a column of each type that comes from records only, with a value and without."""
    for extension in ("hstore", "citext", "ltree", "vector"):
        connection.execute(f"CREATE EXTENSION {extension}")
    columns = ", ".join(f"{name} {kind[0]}" for name, kind in FROM_RECORDS.items())
    connection.execute(f"CREATE TABLE others (id int PRIMARY KEY, {columns})")
    values = ", ".join(kind[1] for kind in FROM_RECORDS.values())
    connection.execute(f"INSERT INTO others VALUES (1, {values})")  # noqa: S608
    connection.execute("INSERT INTO others VALUES (2)")
