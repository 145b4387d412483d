-- literals and types
SELECT 1, 2147483648, 1.5, 0.05, 100.0, 1e3, 'text', true, NULL, DATE '2025-01-31', TIMESTAMP '2025-01-31 10:00:00', TIMESTAMP '2025-01-31 10:00:00.123 UTC';

-- typeof
SELECT typeof(1), typeof(1.50), typeof(1e0), typeof(time), typeof(tags), typeof("callInfo".tx), typeof(ARRAY[1, 2]), typeof(TIMESTAMP '2025-01-31 10:00:00.5 Europe/Vienna') FROM apilogs LIMIT 1;

-- integer division
SELECT 5 / 2, -5 / 2, 5 % 3, -5 % 3, 5 / 2.0, 7 / 2e0, 1 / 3;

-- decimal arithmetic
SELECT 1.0 / 3, 100.0 * 2 / 3, 1.25 + 2.5, 1.25 * 2.5, 10.00 - 0.1, 100 / 0.001, CAST(10 AS decimal(10, 4)) / 3, 2.005 * 100, -1.0 / 3;

-- shares of a total
SELECT bucket, count(*) AS calls, 100.0 * count(*) / sum(count(*)) OVER () AS percent, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS rounded FROM apilogs GROUP BY bucket ORDER BY bucket;

-- rounding
SELECT round(2.5e0), round(-2.5e0), round(2.567e0, 2), round(2.5), round(-2.5), round(2.567, 2), ceil(1.2), floor(-1.2), ceil(1.2e0), CAST(2.5 AS bigint), CAST(2.5e0 AS bigint), CAST(-2.5e0 AS bigint), CAST(1.005e0 AS decimal(10, 2));

-- casts to text
SELECT CAST(1 AS varchar), CAST(1.50 AS varchar), CAST(1e0 AS varchar), CAST(123456.789e0 AS varchar), CAST(0.00012e0 AS varchar), CAST(true AS varchar), CAST(DATE '2025-01-31' AS varchar), CAST(TIMESTAMP '2025-01-31 10:00:00' AS varchar), CAST(TIMESTAMP '2025-01-31 10:00:00.120 UTC' AS varchar), CAST(TIMESTAMP '2025-01-31 10:00:00.120 Europe/Vienna' AS varchar), CAST('abcdef' AS varchar(3)), CAST(0.05 AS varchar), CAST(-0.5 AS varchar), CAST(0e0 AS varchar);

-- casts from text
SELECT CAST('12' AS integer), CAST('12' AS bigint), CAST('1.5' AS double), CAST('1.567' AS decimal(10, 2)), CAST('true' AS boolean), CAST('2025-01-31' AS date), CAST('2025-01-31 10:00:00.123' AS timestamp(3)), CAST('2025-01-31 10:00:00 UTC' AS timestamp(3) with time zone);

-- try
SELECT try(1 / 0), try(CAST('x' AS integer)), try_cast('x' AS bigint), try_cast('12' AS bigint), try_cast('2025-02-30' AS date), coalesce(try(1 / 0), -1), nullif(1, 1), nullif(2, 1), if(1 > 2, 'yes', 'no'), if(1 > 2, 'yes');

-- floating point
SELECT 1e0 / 0, nan() = nan(), nan() <> nan(), is_nan(nan()), infinity(), sqrt(2e0), power(2, 10), ln(e()), log10(1000), log2(8), log(2, 8), abs(-3), abs(-2.5), round(-0e0), mod(7, 3), greatest(1, 2, 3), least(1, NULL, 3), pi() > 3.14;

-- text
SELECT length('Fotos-ünïcode'), upper('straße'), lower('ÀB'), trim('  a  '), ltrim('  a '), rtrim(' a  '), substr('abcdef', 2), substr('abcdef', 2, 3), substr('abcdef', -3), substr('abcdef', -3, 2), substr('abc', 0), substr('abc', 9), replace('banana', 'a', 'o'), reverse('abc'), reverse(''), strpos(CAST(NULL AS varchar), ''), strpos('banana', 'na'), position('na' IN 'banana'), starts_with('banana', 'ban'), lpad('7', 3, '0'), rpad('7', 3, '0'), concat('a', 'b', 'c'), 'a' || 'b', concat_ws('-', 'a', NULL, 'b'), chr(65), translate('abc', 'ab', 'xy'), trim(LEADING 'x' FROM 'xxaxx'), trim(' 203.0.113.99 '), rtrim('u2028 '), ltrim('	E2003'), trim('x y
'), trim(chr(8195) || 'a' || chr(160));

-- text with nulls
SELECT 'a' || CAST(NULL AS varchar), concat('a', CAST(NULL AS varchar)), length(NULL), upper(NULL), substr(CAST(NULL AS varchar), 1), NULL LIKE 'a';

-- split
SELECT split('a,b,,c', ','), split_part('a/b/c', '/', 2), split_part('a/b/c', '/', 9), cardinality(split('', ','));

-- regular expressions
SELECT regexp_like('s3.GetObject', 'Get|Put'), regexp_like('abc', '^b'), regexp_extract('api-errors.go:150', '(\w+)\.go:(\d+)'), regexp_extract('api-errors.go:150', '(\w+)\.go:(\d+)', 2), regexp_extract('abc', 'x'), regexp_extract_all('1a 2b 14m', '\d+'), regexp_extract_all('1a 2b 14m', '(\d+)([a-z]+)', 2), regexp_replace('1a 2b 14m', '\d+[ab] '), regexp_replace('1a 2b 14m', '(\d+)([ab]) ', '3c$2 '), regexp_split('1a 2b 14m', '\s*[a-z]+\s*'), regexp_count('1a 2b 14m', '\s*[a-z]+\s*');

-- like
SELECT 'abc' LIKE 'a%', 'abc' LIKE 'A%', 'a_c' LIKE 'a!_c' ESCAPE '!', 'abc' LIKE '_b_', 'abc' NOT LIKE 'b%', 'a\b' LIKE 'a\b', 'abc' NOT LIKE 'a!%' ESCAPE '!', NULL NOT LIKE 'a', 3 NOT BETWEEN 1 AND 2, 1 IS NOT DISTINCT FROM 1;

-- encodings
SELECT to_hex(md5(to_utf8('abc'))), to_hex(sha256(to_utf8('abc'))), to_base64(to_utf8('abc')), from_utf8(from_base64('YWJj')), to_utf8('ü'), X'414243', from_hex('4142'), levenshtein_distance('kitten', 'sitting');

-- json extraction
SELECT json_extract_scalar('{"a": {"b": [1, 2, "x"]}, "c": null}', '$.a.b[2]'), json_extract_scalar('{"a": {"b": 1.50}}', '$.a.b'), json_extract_scalar('{"a": {"b": 1}}', '$.a'), json_extract_scalar('{"a": 1}', '$.x'), json_extract_scalar('{"c": null}', '$.c'), json_extract('{"a": {"b": [1, 2]}}', '$.a'), json_extract('{"a": "x"}', '$.a'), json_extract_scalar('{"a-b": true}', '$["a-b"]'), json_extract_scalar('not json', '$.a'), json_array_length('[1, 2, 3]');

-- json values
SELECT json_parse('{"b": 1, "a": [true, null, "x", 1.5]}'), json_format(json_parse('{"b":1,"a":2}')), CAST(json_parse('[1, 2]') AS array(integer)), CAST(json_extract('{"a": 5}', '$.a') AS bigint), CAST(json_parse('"text"') AS varchar);

-- arrays
SELECT ARRAY[1, 2, 3][1], element_at(ARRAY[1, 2, 3], -1), element_at(ARRAY[1, 2], 5), cardinality(ARRAY[1, 2]), contains(ARRAY[1, 2], 2), contains(ARRAY[1, NULL], 2), array_distinct(ARRAY[2, 1, 2]), array_sort(ARRAY[3, NULL, 1]), array_join(ARRAY['a', NULL, 'b'], ','), array_join(ARRAY['a', NULL], ',', '?'), array_max(ARRAY[1, 3, 2]), array_min(ARRAY[1, NULL]), array_position(ARRAY['a', 'b'], 'b'), array_position(ARRAY['a'], 'z'), array_join(ARRAY[1, NULL, 3], ','), array_join(ARRAY[1.5], ','), ARRAY[1] || ARRAY[2], sequence(1, 3), sequence(3, 1), reverse(ARRAY[1, 2]), flatten(ARRAY[ARRAY[1], ARRAY[2, 3]]);

-- maps
SELECT MAP(ARRAY['a', 'b'], ARRAY[1, 2]), MAP(ARRAY['a'], ARRAY[1])['a'], element_at(MAP(ARRAY['a'], ARRAY[1]), 'z'), cardinality(MAP(ARRAY['a'], ARRAY[1])), map_keys(MAP(ARRAY['a', 'b'], ARRAY[1, 2])), map_values(MAP(ARRAY['a', 'b'], ARRAY[1, 2]));

-- date fields
SELECT year(t), quarter(t), month(t), week(t), day(t), day_of_week(t), day_of_year(t), hour(t), minute(t), second(t), millisecond(t), year_of_week(t), extract(dow FROM t), extract(hour FROM t), last_day_of_month(t) FROM (VALUES TIMESTAMP '2024-12-30 13:45:56.789') AS x (t);

-- date arithmetic
SELECT date_trunc('hour', t), date_trunc('day', t), date_trunc('week', t), date_trunc('month', t), date_trunc('quarter', t), date_add('day', 3, t), date_add('month', 1, DATE '2025-01-31'), date_add('hour', -5, t), date_add('millisecond', 7, t), date_diff('day', DATE '2025-01-01', DATE '2025-03-01'), date_diff('hour', t, TIMESTAMP '2025-01-02 12:00:00'), date_diff('month', DATE '2025-01-31', DATE '2025-02-28'), date_diff('minute', t, t), date_diff('week', DATE '2025-01-01', DATE '2025-01-20') FROM (VALUES TIMESTAMP '2025-01-01 13:45:56.789') AS x (t);

-- intervals
SELECT t + INTERVAL '1' DAY, t - INTERVAL '90' MINUTE, t + INTERVAL '1' MONTH, DATE '2025-01-31' + INTERVAL '1' MONTH, DATE '2025-01-31' + INTERVAL '2' DAY, t - TIMESTAMP '2025-01-01 00:00:00', INTERVAL '1' DAY + INTERVAL '2' HOUR, INTERVAL '3' MONTH, INTERVAL '1' HOUR * 3, DATE '2025-01-03' - DATE '2025-01-01' FROM (VALUES TIMESTAMP '2025-01-31 10:00:00.000') AS x (t);

-- time zones
SELECT at_timezone(t, 'Europe/Vienna'), t AT TIME ZONE 'America/New_York', date_trunc('day', t AT TIME ZONE 'Europe/Vienna'), hour(t AT TIME ZONE 'Asia/Kolkata'), CAST(t AT TIME ZONE 'Europe/Vienna' AS timestamp), CAST(t AT TIME ZONE 'Europe/Vienna' AS date), t AT TIME ZONE '+05:30', date_format(t AT TIME ZONE 'Europe/Vienna', '%H:%i'), TIMESTAMP '2025-07-01 12:00:00 Europe/Vienna' = TIMESTAMP '2025-07-01 10:00:00 UTC' FROM (VALUES TIMESTAMP '2025-01-15 23:30:00.000 UTC') AS x (t);

-- formats
SELECT date_format(t, '%Y-%m-%d %H:%i:%s.%f'), date_format(t, '%e %b %Y, %W %j %y %k %l%p %M %a %T %r %%'), to_iso8601(t), to_iso8601(DATE '2025-01-31'), date_parse('2025-01-31 10:20', '%Y-%m-%d %H:%i') FROM (VALUES TIMESTAMP '2025-01-05 03:04:05.678') AS x (t);

-- unix time and ISO
SELECT from_unixtime(1736937000), from_unixtime(1736937000.5e0), to_unixtime(TIMESTAMP '2025-01-15 10:30:00 UTC'), from_iso8601_timestamp('2025-01-15T10:30:00Z'), from_iso8601_timestamp('2025-01-15T10:30:00.123+02:00'), from_iso8601_date('2025-01-15'), date('2025-01-15'), CAST(TIMESTAMP '2025-01-15 10:30:00' AS date), from_unixtime(1736937000, 'Europe/Vienna');

-- current time
SELECT current_timestamp > TIMESTAMP '2025-01-01 00:00:00 UTC', now() = current_timestamp, current_date >= DATE '2025-01-01', typeof(current_timestamp), typeof(localtimestamp), date_diff('day', current_date, current_date);

-- comparisons and nulls
SELECT 1 = 1.0, 1 < 1.5e0, 'a' < 'b', 'a' = 'A', NULL = NULL, NULL IS NULL, 1 IS DISTINCT FROM NULL, NULL IS NOT DISTINCT FROM NULL, 1 IN (1, NULL), 2 IN (1, NULL), 2 NOT IN (1, 3), 2 BETWEEN 1 AND 3, 'Z' < 'a', 'ä' > 'z', true AND NULL, false AND NULL, true OR NULL, NOT CAST(NULL AS boolean);

-- case
SELECT CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END, CASE WHEN false THEN 1 ELSE 2.5 END, CASE WHEN NULL THEN 1 END;

-- bits
SELECT bitwise_and(6, 3), bitwise_or(6, 3), bitwise_xor(6, 3), bitwise_not(6);

-- percentiles
SELECT approx_percentile(x, 0.5), approx_percentile(x, 0.9), approx_percentile(x, 0.7), approx_percentile(x, 1.0), approx_percentile(CAST(x AS double), 0.3) FROM (VALUES 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) AS t (x);

-- not a number
SELECT count(x) FROM (VALUES 1e0, nan(), 3e0) AS t (x);

-- zones of casts
SELECT CAST(TIMESTAMP '2025-10-26 02:30:00.5 Europe/Vienna' AS timestamp(0) with time zone), TIMESTAMP '2025-01-01 00:00:00 +05:30' > TIMESTAMP '2025-01-01 00:00:00', date_diff('millisecond', TIMESTAMP '2025-01-01 00:00:00.123456 UTC', TIMESTAMP '2025-01-01 00:00:01.123400 UTC'), date_add('millisecond', 13, TIMESTAMP '2025-01-01 00:00:00.5'), date_format(TIMESTAMP '2025-01-01 00:00:00.123456', '%f');

-- json as it is written
SELECT json_extract('{"a": 1, "a": 2.50, "b": "é"}', '$'), json_extract('{"a": {"z": 1, "b": 2}}', '$.a'), CAST(json_parse('[1, null, "x"]') AS array(varchar));
