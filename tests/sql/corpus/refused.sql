-- decimal arithmetic 1
SELECT 7.5 % 2;

-- rounding 1
SELECT truncate(1.9e0);

-- casts to text 1
SELECT CAST(CAST(1.5 AS real) AS varchar);

-- casts to text 2
SELECT CAST(CAST(123456.789e0 AS real) AS varchar);

-- floating point 1
SELECT sign(-3);

-- floating point 2
SELECT truncate(-2.55);

-- floating point 3
SELECT truncate(7);

-- floating point 4
SELECT sign(-0e0);

-- split 1
SELECT split('a,b,c', ',', 2);

-- split 2
SELECT split_to_map('a=1,b=2', ',', '=');

-- encodings 1
SELECT url_encode('a b/ü');

-- encodings 2
SELECT url_decode('a+b%2F');

-- encodings 3
SELECT url_extract_host('http://minio:9000/bucket/a?x=1&y=2');

-- encodings 4
SELECT url_extract_host('abc');

-- encodings 5
SELECT url_extract_host('a b');

-- encodings 6
SELECT url_extract_path('http://minio:9000/bucket/a?x=1');

-- encodings 7
SELECT url_extract_port('http://minio:9000/');

-- encodings 8
SELECT url_extract_query('http://minio/?x=1&y=2');

-- encodings 9
SELECT url_extract_parameter('http://minio/?x=1&y=2', 'y');

-- encodings 10
SELECT from_base('ff', 16);

-- encodings 11
SELECT to_base(255, 16);

-- json extraction 1
SELECT json_array_contains('[1, 2, 3]', 2);

-- json extraction 2
SELECT json_size('{"x": {"a": 1, "b": 2}}', '$.x');

-- json extraction 3
SELECT is_json_scalar('1');

-- json values 1
SELECT CAST(json_parse('{"a": "x"}') AS map(varchar, varchar));

-- json values 2
SELECT json_format(CAST(MAP(ARRAY['k2', 'k1'], ARRAY[1, 2]) AS json));

-- json values 3
SELECT json_format(CAST(ARRAY['a', NULL] AS json));

-- arrays 1
SELECT array_remove(ARRAY[1, 2, NULL, 1], 1);

-- arrays 2
SELECT array_union(ARRAY[1, 2], ARRAY[2, 3]);

-- arrays 3
SELECT array_intersect(ARRAY[1, 2], ARRAY[2, 3]);

-- arrays 4
SELECT array_except(ARRAY[1, 2], ARRAY[2, 3]);

-- arrays 5
SELECT slice(ARRAY[1, 2, 3, 4], 2, 2);

-- arrays 6
SELECT slice(ARRAY[1, 2, 3, 4], -2, 2);

-- arrays 7
SELECT arrays_overlap(ARRAY[1, 2], ARRAY[2]);

-- arrays 8
SELECT repeat('a', 2);

-- arrays 9
SELECT trim_array(ARRAY[1, 2, 3], 1);

-- lambdas 1
SELECT transform(ARRAY[1, 2, 3], x -> x * 2);

-- lambdas 2
SELECT filter(ARRAY[1, 2, 3], x -> x > 1);

-- lambdas 3
SELECT reduce(ARRAY[1, 2, 3], 0, (s, x) -> s + x, s -> s * 10);

-- lambdas 4
SELECT any_match(ARRAY[1, 2], x -> x > 1);

-- lambdas 5
SELECT all_match(ARRAY[1, 2], x -> x > 1);

-- lambdas 6
SELECT none_match(ARRAY[1, 2], x -> x > 2);

-- lambdas 7
SELECT transform(ARRAY['a', 'b'], x -> upper(x) || '!');

-- maps 1
SELECT map_concat(MAP(ARRAY['a'], ARRAY[1]), MAP(ARRAY['a', 'b'], ARRAY[9, 2]));

-- maps 2
SELECT map_filter(MAP(ARRAY['a', 'b'], ARRAY[1, 2]), (k, v) -> v > 1);

-- maps 3
SELECT transform_values(MAP(ARRAY['a'], ARRAY[1]), (k, v) -> v + 1);

-- maps 4
SELECT transform_keys(MAP(ARRAY['a'], ARRAY[1]), (k, v) -> k || 'x');

-- maps 5
SELECT map_entries(MAP(ARRAY['a'], ARRAY[1]));

-- maps 6
SELECT map_from_entries(ARRAY[ROW('a', 1)]);

-- maps 7
SELECT MAP();

-- rows 1
SELECT ROW(1, 'a');

-- rows 2
SELECT CAST(ROW(1, 'a') AS row(x integer, y varchar));

-- rows 3
SELECT CAST(ROW(1, 'a') AS row(x integer, y varchar)).y;

-- rows 4
SELECT ROW(1, 'a')[1];

-- intervals 1
SELECT INTERVAL '1 02:30' DAY TO MINUTE FROM (VALUES TIMESTAMP '2025-01-31 10:00:00.000') AS x (t);

-- time zones 1
SELECT with_timezone(TIMESTAMP '2025-07-01 12:00:00', 'Europe/Vienna') FROM (VALUES TIMESTAMP '2025-01-15 23:30:00.000 UTC') AS x (t);

-- formats 1
SELECT format_datetime(t, 'yyyy-MM-dd''T''HH:mm:ss.SSS') FROM (VALUES TIMESTAMP '2025-01-05 03:04:05.678') AS x (t);

-- formats 2
SELECT format_datetime(t, 'EEE, d MMM yyyy h:mm a') FROM (VALUES TIMESTAMP '2025-01-05 03:04:05.678') AS x (t);

-- formats 3
SELECT format_datetime(t, 'xxxx-ww e DDD') FROM (VALUES TIMESTAMP '2025-01-05 03:04:05.678') AS x (t);

-- formats 4
SELECT parse_datetime('2025/01/31 10:20', 'yyyy/MM/dd HH:mm') FROM (VALUES TIMESTAMP '2025-01-05 03:04:05.678') AS x (t);

-- durations 1
SELECT parse_duration('42.8ms');

-- durations 2
SELECT parse_duration('5m');

-- durations 3
SELECT to_milliseconds(parse_duration('2.5s'));

-- durations 4
SELECT to_milliseconds(INTERVAL '1' DAY);

-- equality of nested values 1
SELECT ARRAY[1, NULL] = ARRAY[1, NULL];

-- equality of nested values 2
SELECT ARRAY[1, 2] = ARRAY[1, 2];

-- equality of nested values 3
SELECT ARRAY[1, NULL] = ARRAY[2, NULL];

-- equality of nested values 4
SELECT ARRAY[1] <> ARRAY[1, 2];

-- equality of nested values 5
SELECT ROW(1, NULL) = ROW(1, 2);

-- equality of nested values 6
SELECT ROW(1, NULL) = ROW(2, 2);

-- equality of nested values 7
SELECT (1, 2) = (1, 2);

-- equality of nested values 8
SELECT (1, 'a') IN ((1, 'a'), (2, 'b'));

-- percentiles 1
SELECT approx_percentile(x, ARRAY[0.0, 0.25, 0.5]) FROM (VALUES 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) AS t (x);

-- not a number 1
SELECT max(x) FROM (VALUES 1e0, nan(), 3e0) AS t (x);

-- not a number 2
SELECT min(x) FROM (VALUES 1e0, nan(), 3e0) AS t (x);

-- json as it is written 1
SELECT json_size('{"a": 1, "a": 2}', '$');

-- json as it is written 2
SELECT CAST(json_parse('{"a": [1, 2]}') AS map(varchar, array(integer)));

-- json as it is written 3
SELECT try(CAST(json_parse('{"a": [1, 2]}') AS map(varchar, varchar)));

-- unnest of rows
SELECT a, b FROM UNNEST(ARRAY[ROW(1, 'x'), ROW(2, 'y')]) AS t (a, b) ORDER BY a;

-- recursive
WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT x, x * x FROM n ORDER BY x;

-- several least values
SELECT min(x, 2), max(x, 2) FROM (VALUES 1, 2, 3) AS t (x);

-- texts in one
SELECT listagg(x, ', ') WITHIN GROUP (ORDER BY x) FROM (VALUES 'a', 'b') AS t (x);

-- correlation
SELECT round(corr(tx, rx), 3) FROM (VALUES (1, 2), (2, 4), (4, 7)) AS t (tx, rx);

-- histogram
SELECT histogram(x) FROM (VALUES 1, 1, 2) AS t (x);

-- maps of rows
SELECT map_agg(x, y) FROM (VALUES (1, 'a'), (2, 'b')) AS t (x, y);
