-- counts by name
SELECT name, count(*) AS count FROM apilogs GROUP BY name ORDER BY count DESC, name;

-- nested fields
SELECT bucket, name, time, "callInfo"."httpStatusCode" AS status, "callInfo"."sourceHost" AS client_ip FROM apilogs WHERE bucket IS NOT NULL ORDER BY time DESC, object LIMIT 20;

-- nested fields in any case
SELECT callinfo.httpstatuscode, CallInfo.TX, a."CALLINFO"."requestHeader"['Range'] FROM apilogs a ORDER BY object LIMIT 3;

-- maps of a table
SELECT object, tags['number'] AS number, element_at(tags, 'nosuch') AS missing, cardinality(tags) AS size, map_keys(tags) AS keys FROM apilogs WHERE tags IS NOT NULL ORDER BY object LIMIT 5;

-- a whole row
SELECT trace, trace.source, trace.source[1], trace.variables['bucket'] FROM errorlogs ORDER BY message LIMIT 2;

-- a whole map
SELECT tags FROM errorlogs ORDER BY message LIMIT 4;

-- entries of a map
SELECT k, v, count(*) AS n FROM apilogs CROSS JOIN UNNEST(tags) AS t (k, v) GROUP BY k, v ORDER BY k, v LIMIT 10;

-- elements of an array
SELECT message, source, n FROM errorlogs CROSS JOIN UNNEST(trace.source) WITH ORDINALITY AS t (source, n) ORDER BY message, n LIMIT 6;

-- left join unnest
SELECT object, k FROM apilogs LEFT JOIN UNNEST(tags) AS t (k, v) ON TRUE ORDER BY object, k LIMIT 9;

-- unnest of several
SELECT * FROM UNNEST(ARRAY[1, 2], ARRAY['a', 'b', 'c']) AS t (x, y) ORDER BY y;

-- order with nulls
SELECT bucket, origin FROM apilogs ORDER BY bucket DESC, origin, object LIMIT 60;

-- order with nulls first
SELECT DISTINCT bucket FROM apilogs ORDER BY bucket NULLS FIRST;

-- order by position and expression
SELECT name, length(name) FROM apilogs GROUP BY name ORDER BY 2 DESC, 1;

-- order by alias in an expression
SELECT bucket, count(*) AS n FROM apilogs GROUP BY bucket ORDER BY -n, bucket;

-- hours
SELECT date_trunc('hour', time) AS hour, count(*) AS calls, sum("callInfo".tx) AS bytes FROM apilogs GROUP BY 1 ORDER BY 1 LIMIT 10;

-- days in Vienna
SELECT date_trunc('day', time AT TIME ZONE 'Europe/Vienna') AS day, count(*) FROM apilogs GROUP BY 1 ORDER BY 1;

-- one day
SELECT count(*), min(time), max(time) FROM apilogs WHERE time >= TIMESTAMP '2025-01-16 00:00:00 UTC' AND time < TIMESTAMP '2025-01-17 00:00:00 UTC' AND bucket = 'photos';

-- date of a timestamp
SELECT count(*) FROM apilogs WHERE date(time) = DATE '2025-01-16' OR CAST(time AS date) > DATE '2025-01-17';

-- times and intervals
SELECT count(*) FROM apilogs WHERE time BETWEEN TIMESTAMP '2025-01-16 00:00:00 UTC' AND TIMESTAMP '2025-01-16 00:00:00 UTC' + INTERVAL '6' HOUR;

-- aggregates
SELECT count(*), count(bucket), count(DISTINCT bucket), count_if(bucket IS NULL), sum("callInfo".tx), avg("callInfo"."httpStatusCode"), min(object), max(time), bool_and(version = '1'), bool_or(bucket = 'logs'), every(type = 'object') FROM apilogs;

-- approximations
SELECT approx_distinct(bucket), approx_distinct(object) BETWEEN 150 AND 200, approx_percentile("callInfo"."httpStatusCode", 0.5) FROM apilogs;

-- by another column
SELECT max_by(object, time), min_by(object, time), arbitrary(version), any_value(version) FROM apilogs WHERE bucket = 'photos' AND object <> '';

-- collected values
SELECT array_agg(DISTINCT name ORDER BY name), array_sort(array_agg(DISTINCT bucket)) FROM apilogs WHERE object = 'ordner/ø ''quoted'' "7".txt' OR object LIKE '%"1_".txt';

-- filter and case in aggregates
SELECT bucket, count(*) FILTER (WHERE "callInfo"."httpStatusCode" >= 400) AS errors, sum(CASE WHEN name LIKE 's3.Get%' THEN 1 ELSE 0 END) AS reads FROM apilogs GROUP BY bucket HAVING count(*) > 10 ORDER BY bucket;

-- statistics
SELECT round(stddev(tx), 3), round(variance(tx), 3), round(stddev_pop(tx), 3), round(var_pop(tx), 3), avg(tx) FROM (VALUES (1, 2), (2, 4), (4, 7)) AS t (tx, rx);

-- sums of decimals
SELECT sum(x), avg(x), min(x), max(x) FROM (VALUES 1.10, 2.25, 3.333) AS t (x);

-- nothing to aggregate
SELECT count(*), sum("callInfo".tx), max(time), array_agg(bucket) FROM apilogs WHERE bucket = 'nosuch';

-- grouping sets
SELECT bucket, name, grouping(bucket, name) AS level, count(*) AS n FROM apilogs GROUP BY GROUPING SETS ((bucket), (name), ()) ORDER BY level, bucket, name;

-- rollup
SELECT category, action, count(*) AS n FROM auditlogs GROUP BY ROLLUP (category, action) ORDER BY category, action, n;

-- cube
SELECT category, action, count(*) AS n FROM auditlogs GROUP BY CUBE (category, action) ORDER BY category, action, n;

-- window functions
SELECT object, time, row_number() OVER (PARTITION BY bucket ORDER BY time, object) AS number, lag(object) OVER (PARTITION BY bucket ORDER BY time, object) AS before, lead(object, 2, 'none') OVER (PARTITION BY bucket ORDER BY time, object) AS after FROM apilogs WHERE bucket = 'logs' ORDER BY number LIMIT 10;

-- ranks
SELECT name, n, rank() OVER (ORDER BY n DESC, name) AS rank, dense_rank() OVER (ORDER BY n DESC) AS dense, ntile(2) OVER (ORDER BY n, name) AS half, first_value(name) OVER (ORDER BY n, name) AS least, last_value(name) OVER (ORDER BY n, name ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS most, percent_rank() OVER (ORDER BY name), cume_dist() OVER (ORDER BY name) FROM (SELECT name, count(*) AS n FROM apilogs GROUP BY name) ORDER BY name;

-- running totals
SELECT day, n, sum(n) OVER (ORDER BY day) AS running, avg(n) OVER (ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS mean FROM (SELECT date(time) AS day, count(*) AS n FROM apilogs GROUP BY 1) ORDER BY day;

-- newest per bucket
SELECT bucket, object FROM (SELECT bucket, object, row_number() OVER (PARTITION BY bucket ORDER BY time DESC, object) AS n FROM apilogs) WHERE n = 1 ORDER BY bucket;

-- named window
SELECT category, count(*) OVER w AS n FROM auditlogs WINDOW w AS (PARTITION BY category) ORDER BY category, n LIMIT 3;

-- with
WITH errors AS (SELECT bucket, "callInfo"."httpStatusCode" AS status FROM apilogs WHERE "callInfo"."httpStatusCode" >= 400), counted AS (SELECT bucket, status, count(*) AS n FROM errors GROUP BY bucket, status) SELECT * FROM counted WHERE bucket = 'photos' ORDER BY status;

-- with used twice
WITH calls AS (SELECT name, bucket FROM apilogs) SELECT (SELECT count(*) FROM calls WHERE bucket = 'logs') AS logs, (SELECT count(*) FROM calls WHERE bucket IS NULL) AS none;

-- with columns
WITH a (x, y) AS (VALUES (1, 'a'), (2, 'b')), b AS (SELECT x + 1 AS x, y FROM a) SELECT a.x, b.y FROM a JOIN b ON a.x = b.x ORDER BY 1;

-- union
SELECT bucket FROM apilogs UNION SELECT bucket FROM auditlogs ORDER BY bucket;

-- union of types
SELECT 1 AS x UNION ALL SELECT 2.5 UNION ALL SELECT NULL ORDER BY x;

-- except and intersect
(SELECT bucket FROM apilogs EXCEPT SELECT 'logs') INTERSECT SELECT bucket FROM auditlogs ORDER BY 1;

-- joins
SELECT e.message, a.object, u.action FROM errorlogs e JOIN auditlogs u ON e.message = u.message AND e.node <> u.node JOIN apilogs a ON a.object LIKE '%"' || substr(e.message, 9) || '".txt' ORDER BY e.message, a.object LIMIT 5;

-- join using
SELECT node, count(*) AS n FROM errorlogs JOIN (SELECT DISTINCT node FROM auditlogs) USING (node) GROUP BY node ORDER BY node;

-- left join
SELECT b.name, count(a.object) AS n FROM (VALUES 'photos', 'logs', 'nosuch') AS b (name) LEFT JOIN apilogs a ON a.bucket = b.name GROUP BY b.name ORDER BY b.name;

-- full join
SELECT a.x, b.x FROM (VALUES 1, 2) AS a (x) FULL JOIN (VALUES 2, 3) AS b (x) ON a.x = b.x ORDER BY a.x, b.x;

-- subqueries in conditions
SELECT count(*) FROM apilogs WHERE node IN (SELECT node FROM errorlogs WHERE "apiName" IS NOT NULL) AND EXISTS (SELECT 1 FROM auditlogs WHERE auditlogs.bucket = apilogs.bucket) AND time > (SELECT min(time) FROM errorlogs);

-- correlated subquery
SELECT DISTINCT bucket, (SELECT count(*) FROM auditlogs u WHERE u.bucket = a.bucket) AS n FROM apilogs a ORDER BY bucket;

-- quantified comparison
SELECT count(*) FROM apilogs WHERE "callInfo"."httpStatusCode" >= ALL (SELECT "callInfo"."httpStatusCode" FROM apilogs) AND 'photos' = ANY (SELECT bucket FROM apilogs);

-- values
VALUES (1, 'a', NULL), (2, 'b', 2.5);

-- table
SELECT * FROM (TABLE auditlogs) ORDER BY message LIMIT 1;

-- limit and offset
SELECT object FROM apilogs ORDER BY object OFFSET 5 LIMIT 3;

-- fetch first
SELECT object FROM apilogs ORDER BY object FETCH FIRST 2 ROWS ONLY;

-- qualified names
SELECT apilogs.bucket, a.name FROM apilogs, (SELECT name FROM apilogs WHERE bucket = 'logs' ORDER BY time, object LIMIT 1) a WHERE apilogs.bucket IS NULL ORDER BY apilogs.object LIMIT 1;

-- error logs
SELECT time, message, "apiName" FROM errorlogs ORDER BY time DESC, message LIMIT 10;

-- audit logs
SELECT category, action, time, "accessKey" FROM auditlogs WHERE category = 'bucket' ORDER BY time DESC, message LIMIT 10;

-- an empty table
SELECT * FROM empty;

-- tables
SHOW TABLES;

-- tables like
SHOW TABLES LIKE 'a%';

-- catalogs
SHOW CATALOGS LIKE 'kafka%';

-- describe
DESCRIBE apilogs;

-- columns
SHOW COLUMNS FROM errorlogs;

-- columns of snapshots
DESCRIBE "apilogs$snapshots";

-- columns of history
DESCRIBE "apilogs$history";

-- columns of refs
DESCRIBE "apilogs$refs";

-- columns of manifests
DESCRIBE "apilogs$manifests";

-- columns of files
DESCRIBE "apilogs$files";

-- columns of partitions
DESCRIBE "apilogs$partitions";

-- columns of properties
DESCRIBE "apilogs$properties";

-- columns of metadata log entries
DESCRIBE "apilogs$metadata_log_entries";

-- snapshots
SELECT operation, summary['added-records'], parent_id IS NULL FROM "apilogs$snapshots" ORDER BY committed_at;

-- history
SELECT is_current_ancestor, parent_id IS NULL FROM "apilogs$history" ORDER BY made_current_at;

-- refs
SELECT name, type, max_reference_age_in_ms, min_snapshots_to_keep, max_snapshot_age_in_ms FROM "apilogs$refs";

-- partitions
SELECT partition.category, record_count, file_count, data.time.min, data.time.max, data.time.null_count FROM "auditlogs$partitions" ORDER BY partition.time_day, partition.category LIMIT 5;

-- files
SELECT content, file_format, record_count, spec_id, partition FROM "auditlogs$files" ORDER BY partition.time_day, partition.category, record_count LIMIT 5;

-- manifests
SELECT partition_spec_id, added_data_files_count, added_rows_count, existing_data_files_count, deleted_rows_count, partition_summaries FROM "auditlogs$manifests" ORDER BY added_data_files_count, length;

-- path and partition
SELECT "$path" LIKE 's3%.parquet', "$partition", count(*) FROM auditlogs GROUP BY 1, 2 ORDER BY 2;

-- modification time
SELECT count(*), count("$file_modified_time"), typeof(max("$file_modified_time")), max("$file_modified_time") > TIMESTAMP '2025-01-01 00:00:00 UTC' FROM errorlogs;
