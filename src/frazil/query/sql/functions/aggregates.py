"""Aggregate and window functions (Trino documentation, Aggregate functions, Window functions).

`<name|arguments>` is the call that DISTINCT, ORDER BY, FILTER and OVER of the statement belong to. The approximations
are computed exactly, which lies within Trino's error.
"""

from __future__ import annotations

from frazil.query.sql.functions.signatures import declared

AGGREGATES = declared(
    """
    any_value(T) -> T = <any_value|{0}>
    approx_distinct(T) -> bigint = <count|DISTINCT {0}>
    approx_distinct(T, double) -> bigint = <count|DISTINCT {0}>
    arbitrary(T) -> T = <any_value|{0}>
    array_agg(T) -> array(T) = <list|{0}>
    avg(bigint) -> double = <avg|{0}>
    avg(double) -> double = <avg|{0}>
    bitwise_and_agg(bigint) -> bigint = <bit_and|{0}>
    bitwise_or_agg(bigint) -> bigint = <bit_or|{0}>
    bool_and(boolean) -> boolean = <bool_and|{0}>
    bool_or(boolean) -> boolean = <bool_or|{0}>
    corr(real, real) -> real = CAST(<corr|{0}, {1}> AS FLOAT)
    corr(double, double) -> double = <corr|{0}, {1}>
    count(T) -> bigint = <count|{0}>
    count_if(boolean) -> bigint = <count|CASE WHEN {0} THEN 1 END>
    covar_pop(real, real) -> real = CAST(<covar_pop|{0}, {1}> AS FLOAT)
    covar_pop(double, double) -> double = <covar_pop|{0}, {1}>
    covar_samp(real, real) -> real = CAST(<covar_samp|{0}, {1}> AS FLOAT)
    covar_samp(double, double) -> double = <covar_samp|{0}, {1}>
    every(boolean) -> boolean = <bool_and|{0}>
    geometric_mean(double) -> double = exp(<avg|ln({0})>)
    histogram(T) -> map(T,bigint) = CAST(<histogram|{0}> AS {result})
    map_agg(K, V) -> map(K,V) = frazil_map_agg(<list|CASE WHEN {0} IS NOT NULL THEN row({0}, {1}) END>)
    max(real) -> real = coalesce(<max|CASE WHEN isnan({0}) THEN NULL ELSE {0} END>, <max|{0}>)
    max(double) -> double = coalesce(<max|CASE WHEN isnan({0}) THEN NULL ELSE {0} END>, <max|{0}>)
    max(T) -> T = <max|{0}>
    max(T, bigint) -> array(T) = <max|{0}, {1}>
    max_by(T, U) -> T = <arg_max_null|{0}, {1}>
    max_by(T, U, bigint) -> array(T) = <arg_max|{0}, {1}, {2}>
    min(T) -> T = <min|{0}>
    min(T, bigint) -> array(T) = <min|{0}, {1}>
    min_by(T, U) -> T = <arg_min_null|{0}, {1}>
    min_by(T, U, bigint) -> array(T) = <arg_min|{0}, {1}, {2}>
    regr_intercept(real, real) -> real = CAST(<regr_intercept|{0}, {1}> AS FLOAT)
    regr_intercept(double, double) -> double = <regr_intercept|{0}, {1}>
    regr_slope(real, real) -> real = CAST(<regr_slope|{0}, {1}> AS FLOAT)
    regr_slope(double, double) -> double = <regr_slope|{0}, {1}>
    stddev(double) -> double = <stddev_samp|{0}>
    stddev_pop(double) -> double = <stddev_pop|{0}>
    stddev_samp(double) -> double = <stddev_samp|{0}>
    sum(bigint) -> bigint = CAST(<sum|{0}> AS BIGINT)
    sum(double) -> double = <sum|{0}>
    var_pop(double) -> double = <var_pop|{0}>
    var_samp(double) -> double = <var_samp|{0}>
    variance(double) -> double = <var_samp|{0}>
    """
)

WINDOWS = declared(
    """
    cume_dist() -> double = <cume_dist|>
    dense_rank() -> bigint = <dense_rank|>
    first_value(T) -> T = <first_value|{0}>
    lag(T) -> T = <lag|{0}>
    lag(T, bigint) -> T = <lag|{0}, {1}>
    lag(T, bigint, T) -> T = <lag|{0}, {1}, {2}>
    last_value(T) -> T = <last_value|{0}>
    lead(T) -> T = <lead|{0}>
    lead(T, bigint) -> T = <lead|{0}, {1}>
    lead(T, bigint, T) -> T = <lead|{0}, {1}, {2}>
    nth_value(T, bigint) -> T = <nth_value|{0}, {1}>
    ntile(bigint) -> bigint = <ntile|{0}>
    percent_rank() -> double = <percent_rank|>
    rank() -> bigint = <rank|>
    row_number() -> bigint = <row_number|>
    """
)
