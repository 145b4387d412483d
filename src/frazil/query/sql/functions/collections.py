"""Functions of arrays and maps (Trino documentation, Array functions, Map functions, Lambda expressions)."""

from __future__ import annotations

from frazil.query.sql.functions.signatures import declared

COLLECTIONS = declared(
    """
    all_match(array(T), T=>boolean) -> boolean = frazil_all_match(list_transform({0}, {1}))
    any_match(array(T), T=>boolean) -> boolean = frazil_any_match(list_transform({0}, {1}))
    none_match(array(T), T=>boolean) -> boolean = (NOT frazil_any_match(list_transform({0}, {1})))
    array_distinct(array(T)) -> array(T) = frazil_distinct({0})
    array_except(array(T), array(T)) -> array(T) = frazil_except({0}, {1})
    array_intersect(array(T), array(T)) -> array(T) = frazil_intersect({0}, {1})
    array_union(array(T), array(T)) -> array(T) = frazil_distinct({0} || {1})
    array_max(array(T)) -> T = frazil_greatest({0})
    array_min(array(T)) -> T = frazil_least({0})
    array_position(array(T), T) -> bigint = frazil_position({0}, {1})
    array_remove(array(T), T) -> array(T) = frazil_remove({0}, {1})
    arrays_overlap(array(T), array(T)) -> boolean = frazil_overlap({0}, {1})
    cardinality(array(T)) -> bigint = CAST(len({0}) AS BIGINT)
    cardinality(map(K,V)) -> bigint = CAST(len(map_keys({0})) AS BIGINT)
    contains(array(T), T) -> boolean = frazil_contains({0}, {1})
    element_at(array(T), bigint) -> T = frazil_element({0}, {1})
    element_at(map(K,V), K) -> V = ({0})[{1}]
    filter(array(T), T=>boolean) -> array(T) = list_filter({0}, {1})
    flatten(array(array(T))) -> array(T) = flatten({0})
    map() -> map(unknown,unknown) = MAP {}
    map(array(K), array(V)) -> map(K,V) = map({0}, {1})
    map_concat(map(K,V)...) -> map(K,V) = map_concat({all})
    map_entries(map(K,V)) -> array(row(K,V)) = frazil_entries({0})
    map_from_entries(array(row(K,V))) -> map(K,V) = map_from_entries({0})
    map_keys(map(K,V)) -> array(K) = map_keys({0})
    map_values(map(K,V)) -> array(V) = map_values({0})
    repeat(T, bigint) -> array(T) = list_transform(range({1}), lambda x: {0})
    sequence(bigint, bigint) -> array(bigint) = frazil_sequence({0}, {1})
    sequence(bigint, bigint, bigint) -> array(bigint) = generate_series({0}, {1}, {2})
    slice(array(T), bigint, bigint) -> array(T) = frazil_slice({0}, {1}, {2})
    transform(array(T), T=>U) -> array(U) = list_transform({0}, {1})
    trim_array(array(T), bigint) -> array(T) = ({0})[1:len({0}) - {1}]
    """
)
