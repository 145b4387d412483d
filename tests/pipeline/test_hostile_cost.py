"""The cost of a record is bounded by its size, whatever it holds: twice the input takes at most 2.5 times the time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from frazil.pipeline.convert import infer
from frazil.pipeline.convert.decode import DecodeSpec, RecordDecoder
from frazil.pipeline.json_schema import checker
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.task_spec import ANY_COLUMNS
from frazil.pipeline.transforms.chain import Transformer
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, ScalarKind, Struct
from frazil.text.java_dates import JavaDateFormat
from frazil.text.java_regex import compile_java
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.transforms.chains import chain

Work = Callable[[], object]
_SIZE = 1 << 16
_NOTHING_S = 0.005
_MOST_S = 2
_MOST_RATIO = 2.5
KINDS: tuple[ScalarKind, ...] = (
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "uuid",
    "binary",
    "date",
    "time",
    "timestamp",
    "timestamptz_ns",
)
TYPES: dict[str, Scalar] = {
    **{kind: Scalar(kind) for kind in KINDS},
    "decimal": Scalar("decimal", 9, 2),
    "fixed": Scalar("fixed", length=3),
}
TEXTS: dict[str, Callable[[int], str]] = {
    "digits": lambda n: "9" * n + "x",
    "a fraction": lambda n: "0." + "9" * n + "x",
    "an exponent": lambda n: "1e" + "9" * n + "x",
    "signs": lambda n: "+-" * (n // 2),
    "blanks": lambda n: " " * n + "x",
    "zeros": lambda n: "0" * n + "x",
    "a time": lambda n: "2026-01-31T10:30:00." + "1" * n + "x",
    "a zone": lambda n: "2026-01-31T10:30:00" + " " * n + "+",
}
NUMBERS: dict[str, Callable[[int], str]] = {
    "digits": lambda n: "9" * n,
    "a fraction": lambda n: "0." + "9" * n,
    "small": lambda n: "0." + "0" * n + "1",
    "an exponent": lambda n: "1e-" + "9" * n,
}


def cost(work: Work, until: float) -> float:
    """The least CPU time of some calls, in seconds; one that takes `until` is enough."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
        if best <= until:
            break
    return best


def grows_linearly(make: Callable[[int], Work]) -> None:
    """Compare a size with twice that size, unless it takes so little that a megabyte could not take a second.

    The caches of a busy machine may make a difference, but not each time.
    """
    gc.disable()
    try:
        ratios: list[float] = []
        while (single := cost(make(_SIZE), _NOTHING_S)) > _NOTHING_S:
            assert single < _MOST_S
            double = cost(make(2 * _SIZE), _MOST_RATIO * single)
            if double <= _MOST_RATIO * single:
                break
            ratios.append(double / single)
            assert len(ratios) < 5, f"twice the input takes {ratios} times as long"
    finally:
        gc.enable()


def decoding(columns: Struct, record: bytes, *, legacy: bool = False) -> Work:
    decoder = RecordDecoder(DecodeSpec(columns, evolve=False, legacy=legacy))
    return lambda: decoder.decode([record])


@pytest.mark.parametrize("legacy", [False, True], ids=["strict", "legacy"])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("type_", TYPES)
def test_a_text_for_any_column(type_: str, text: str, legacy: bool) -> None:
    columns = Struct((Field("v", TYPES[type_]), Field("w", STRING)))
    grows_linearly(lambda n: decoding(columns, msgspec.json.encode({"v": TEXTS[text](n)}), legacy=legacy))


@pytest.mark.parametrize("legacy", [False, True], ids=["strict", "legacy"])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("type_", [*TYPES, "string"])
def test_a_number_for_any_column(type_: str, number: str, legacy: bool) -> None:
    columns = Struct((Field("v", TYPES.get(type_, STRING)), Field("w", STRING)))
    grows_linearly(lambda n: decoding(columns, b'{"v":%b}' % NUMBERS[number](n).encode(), legacy=legacy))


RECORDS: dict[str, Callable[[int], bytes]] = {
    "a long name": lambda n: b'{"%b":1}' % (b"n" * n),
    "many names": lambda n: b"{%b}" % b",".join(b'"a%d":1' % i for i in range(n // 10)),
    "one name many times": lambda n: b"{%b}" % b",".join([b'"a":1'] * (n // 6)),
    "many names in one object": lambda n: b'{"o":{%b}}' % b",".join(b'"a%d":1' % i for i in range(n // 10)),
    "objects with a name each": lambda n: b'{"l":[%b]}' % b",".join(b'{"a%d":1}' % i for i in range(n // 12)),
    "lists of objects with a name each": lambda n: (
        b'{"l":[%b]}' % b",".join(b'[{"a%d":[%d.5]},{}]' % (i, i) for i in range(n // 20))
    ),
    "elements of many kinds": lambda n: b'{"l":[%b]}' % b",".join([b'1,"a",null,{"b":1},[],2.5,{}'] * (n // 30)),
    "deep objects with a long text": lambda n: b'{"a":' * 800 + b'"%b"' % (b"x" * n) + b"}" * 800,
    "deep lists with a long text": lambda n: b'{"a":' + b"[" * 800 + b'"%b"' % (b"x" * n) + b"]" * 800 + b"}",
    "escapes": lambda n: b'{"a":"%b"}' % (b"\\ud800" * (n // 6)),
    "a map": lambda n: b'{"m":{%b}}' % b",".join(b'"a%d":"x"' % i for i in range(n // 12)),
}


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_that_brings_columns(record: str) -> None:
    def make(size: int) -> Work:
        value, decoder = RECORDS[record](size), RecordDecoder(ANY_COLUMNS)
        return lambda: decoder.decode([value])

    grows_linearly(make)


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_for_nested_columns(record: str) -> None:
    inner = Struct((Field("b", Scalar("double")), Field("a1", Scalar("float"))))
    columns = Struct((Field("a", STRING), Field("o", inner), Field("l", List(inner)), Field("m", Map(STRING, STRING))))
    grows_linearly(lambda n: decoding(columns, RECORDS[record](n)))


def test_records_that_bring_a_column_each() -> None:
    def make(count: int) -> Work:
        values = [b'{"id":%d,"labels":{"k%d":1}}' % (i, i) for i in range(count // 16)]
        decoder = RecordDecoder(DecodeSpec(Struct((Field("id", Scalar("long")),)), evolve=True))
        return lambda: decoder.decode(values)

    grows_linearly(make)


STEPS = {
    "Flatten": ("Flatten$Value", {}),
    "Cast": ("Cast$Value", {"spec": "a:float32,v:int64"}),
    "Replace": ("ReplaceField$Value", {"exclude": "a1"}),
    "Mask": ("MaskField$Value", {"fields": "a,v"}),
    "Convert": ("TimestampConverter$Value", {"field": "a", "target.type": "unix", "format": "yyyy MM dd HH:mm.SSS z"}),
    "Map": ("org.apache.iceberg.connect.transforms.JsonToMapTransform", {}),
    "Extract": ("ExtractField$Value", {"field": "a.a.a", "field.syntax.version": "V2"}),
}
MORE_RECORDS = RECORDS | {
    "a wide object under long names": lambda n: (
        b'{"%b":{"%b":{%b}}}' % (b"n" * (n // 3), b"n" * (n // 3), b",".join(b'"a%d":1' % i for i in range(n // 30)))
    ),
    "a text of digits": lambda n: b'{"a":"%b","v":"%b"}' % (b"9" * (n // 2), b"9" * (n // 2)),
    "a text of blanks": lambda n: b'{"a":"2026 %b"}' % (b" " * n),
    "digits": lambda n: b'{"a":%b,"v":1.%b}' % (b"9" * (n // 2), b"9" * (n // 2)),
    "exponents": lambda n: b'{"a":1e%b,"v":1e-%b}' % (b"9" * (n // 2), b"9" * (n // 2)),
}


@pytest.mark.parametrize("record", MORE_RECORDS)
@pytest.mark.parametrize("step", STEPS)
def test_a_record_that_is_transformed(step: str, record: str) -> None:
    transformer = Transformer(chain(STEPS[step]))

    def make(size: int) -> Work:
        rows = chunk([Row(0, MORE_RECORDS[record](size))])
        return lambda: transformer.transform(rows)

    grows_linearly(make)


@pytest.mark.parametrize("regex", ["(a+)+", "(a|a)*b", "(?:.*,)*x", "^(?!.*b).*a.*a.*a.*b", r"(\w+\s?)*z"])
@pytest.mark.parametrize("text", ["a", "a,", "aa ", "9"])
def test_an_expression_of_a_route(regex: str, text: str) -> None:
    compiled = compile_java(regex)
    assert compiled.is_linear
    grows_linearly(lambda size: partial(compiled.matches, text * (size // len(text)) + "!"))


@pytest.mark.parametrize("text", ["2026-01-31 " + "1" * 10, " ", "12", "+01", "GMT", "AM ", ".5"])
def test_a_text_for_a_date_pattern(text: str) -> None:
    form = JavaDateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS z EEE MMM a")

    def make(size: int) -> Work:
        def work() -> None:
            with pytest.raises(ValueError, match="pattern"):
                form.parse(text * (size // len(text)))

        return work

    grows_linearly(make)


@pytest.mark.parametrize(
    "reason", [" (", "not valid by the schema: {", "'", 'not valid by the schema: "\\', " is not "]
)
def test_the_reason_of_a_dead_letter(reason: str) -> None:
    def make(size: int) -> Work:
        context = {"exception.message": reason * (size // len(reason)) + ")"}
        return lambda: Letter("t", 0, 0, 0, None, None, context=context).kind

    grows_linearly(make)


@pytest.mark.parametrize("pattern", [r"^(\w+\s?)*(?<!x)$", "^(?:a|a(?=a))*c", "^((a+)+)+\\2b$"])
def test_a_pattern_of_a_json_schema(pattern: str) -> None:
    check = checker(msgspec.json.encode({"items": {"pattern": pattern}}), formats=False)
    text = b'"' + b"a" * 200 + b'!"'
    grows_linearly(lambda size: partial(check, [b"[%b]" % b",".join([text] * (size // len(text)))]))


def test_types_that_are_merged() -> None:
    def make(size: int) -> Work:
        types = [Struct((Field(f"a{i}", STRING),)) for i in range(size // 100)]
        return lambda: infer.merge_types(types)

    grows_linearly(make)
