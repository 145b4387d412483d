"""Words of Trino's SQL that the shell completes: those of statements that read, and the functions they use most."""

from __future__ import annotations

_KEYWORDS = """
ALL AND ANY AS ASC AT BETWEEN BY CASE CAST CATALOGS COLUMNS CROSS CUBE CURRENT_DATE CURRENT_TIMESTAMP DATE DAY DESC
DESCRIBE DISTINCT ELSE END ESCAPE EXCEPT EXISTS EXPLAIN FALSE FETCH FILTER FIRST FOLLOWING FOR FROM FULL GROUP
GROUPING HAVING HOUR IN INNER INTERSECT INTERVAL IS JOIN LAST LATERAL LEFT LIKE LIMIT MINUTE MONTH NOT NULL NULLS
OF OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING RANGE RECURSIVE RIGHT ROLLUP ROW ROWS SCHEMAS SECOND SELECT
SETS SHOW TABLE TABLES THEN TIME TIMESTAMP TRUE TRY_CAST UNBOUNDED UNION UNNEST USING VALUES VERSION WHEN WHERE
WINDOW WITH WITHIN YEAR ZONE
"""
_FUNCTIONS = """
abs any_match approx_distinct approx_percentile arbitrary array_agg array_distinct array_join avg bool_and bool_or
cardinality ceil coalesce concat contains count count_if cume_dist current_timezone date date_add date_diff
date_format date_trunc day day_of_week dense_rank element_at every filter first_value floor format
format_datetime from_iso8601_timestamp from_unixtime greatest histogram hour if json_extract json_extract_scalar
json_format json_parse lag last_value lead least length lower ltrim map_agg map_entries map_filter map_keys
map_values max max_by min min_by minute mod month ntile nullif percent_rank power rank reduce regexp_extract
regexp_like regexp_replace replace reverse round row_number rtrim second slice split split_part sqrt starts_with
stddev strpos substr sum to_unixtime transform trim try upper url_extract_host variance week year
"""

KEYWORDS = tuple(_KEYWORDS.split())
FUNCTIONS = tuple(_FUNCTIONS.split())
