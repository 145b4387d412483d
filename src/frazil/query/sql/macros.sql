-- Trino's functions in the embedded engine, where one expression of it is not enough.

-- An error with a message, of the type of `sample`; unlike error() it may stand inside TRY.
CREATE MACRO frazil_fail(message, sample) AS cast_to_type(frazil_error(message), sample);

-- numbers
CREATE MACRO frazil_int_divide(a, b) AS CASE WHEN b = 0 THEN frazil_fail('Division by zero', a) ELSE a // b END;
CREATE MACRO frazil_int_modulus(a, b) AS CASE WHEN b = 0 THEN frazil_fail('Division by zero', a) ELSE a % b END;
CREATE MACRO frazil_fmod(a, b) AS CASE WHEN b = 0 OR isinf(a) THEN 'nan'::DOUBLE WHEN isinf(b) THEN a ELSE a % b END;
CREATE MACRO frazil_rounded_quotient(a, b) AS CASE
    WHEN b = 0 THEN frazil_fail('Division by zero', a)
    ELSE (CASE WHEN (a < 0) = (b < 0) THEN 1 ELSE -1 END) * ((abs(a) * 2 + abs(b)) // (abs(b) * 2)) END;
CREATE MACRO frazil_round(x) AS CASE WHEN isfinite(x) THEN round(x) + 0::DOUBLE ELSE x END;
CREATE MACRO frazil_round_to(x, digits) AS CASE WHEN isfinite(x) THEN round(x, digits) + 0::DOUBLE ELSE x END;
CREATE MACRO frazil_sign(x) AS CASE WHEN isnan(x) OR x = 0 THEN x ELSE CAST(sign(x) AS DOUBLE) END;
CREATE MACRO frazil_number(x) AS CASE WHEN isnan(x) THEN frazil_fail('the embedded engine does not put NaN in order here; ask Trino with --engine trino', x) ELSE x END;
CREATE MACRO frazil_to_base(x, base) AS CASE WHEN x < 0 THEN '-' || lower(to_base(-x, CAST(base AS INTEGER))) ELSE lower(to_base(x, CAST(base AS INTEGER))) END;
CREATE MACRO frazil_from_digits(digits, base) AS list_reduce(
    list_transform(string_split(digits, ''), lambda c: CAST(strpos('0123456789abcdefghijklmnopqrstuvwxyz', c) - 1 AS HUGEINT)),
    lambda whole, digit: CASE WHEN digit < base AND whole >= 0 THEN whole * base + digit ELSE -1 END);
CREATE MACRO frazil_from_base(x, base) AS CASE
    WHEN base < 2 OR base > 36 THEN frazil_fail('Radix must be between 2 and 36', 0::BIGINT)
    WHEN NOT regexp_full_match(lower(x), '[+-]?[0-9a-z]{1,70}') OR frazil_from_digits('0' || ltrim(lower(x), '+-'), base) < 0
        THEN frazil_fail('Not a valid base-' || base || ' number: ' || x, 0::BIGINT)
    ELSE CAST(CASE WHEN x[1] = '-' THEN -1 ELSE 1 END * frazil_from_digits('0' || ltrim(lower(x), '+-'), base) AS BIGINT) END;

-- text
CREATE MACRO frazil_spaces() AS chr(9) || chr(10) || chr(11) || chr(12) || chr(13) || chr(28) || chr(29) || chr(30) || chr(31) || chr(32) || chr(133) || chr(5760) || chr(8192) || chr(8193) || chr(8194) || chr(8195) || chr(8196) || chr(8197) || chr(8198) || chr(8200) || chr(8201) || chr(8202) || chr(8232) || chr(8233) || chr(8287) || chr(12288);
-- a sharp s has no upper case of one letter in Java
CREATE MACRO frazil_upper(s) AS CASE WHEN contains(s, 'ß') THEN replace(upper(replace(s, 'ß', chr(57344))), chr(57344), 'ß') ELSE upper(s) END;
CREATE MACRO frazil_from_utf8(x) AS TRY(decode(x));
CREATE MACRO frazil_reverse(s) AS CASE WHEN s = '' THEN '' ELSE list_aggregate(list_reverse(string_to_array(s, '')), 'string_agg', '') END;
CREATE MACRO frazil_replace(s, a, b) AS CASE WHEN a = '' THEN regexp_replace(s, '(?s)(.)', b || '\1', 'g') || b ELSE replace(s, a, b) END;
CREATE MACRO frazil_substr(s, n) AS CASE
    WHEN n = 0 OR n > length(s) OR -n > length(s) THEN (CASE WHEN s IS NULL THEN NULL ELSE '' END)
    ELSE substr(s, n) END;
CREATE MACRO frazil_substr_length(s, n, l) AS CASE
    WHEN n = 0 OR l <= 0 OR n > length(s) OR -n > length(s) THEN (CASE WHEN s IS NULL THEN NULL ELSE '' END)
    WHEN n > 0 THEN substr(s, n, l)
    ELSE substr(s, length(s) + n + 1, l) END;
CREATE MACRO frazil_split(s, d) AS CASE
    WHEN d = '' THEN frazil_fail('The delimiter may not be the empty string', string_split(s, d)) ELSE string_split(s, d) END;
CREATE MACRO frazil_split_limit(s, d, n) AS CASE
    WHEN d = '' OR n < 1 THEN frazil_fail('split needs a delimiter and a positive limit', string_split(s, d))
    WHEN len(string_split(s, d)) <= n THEN string_split(s, d)
    ELSE string_split(s, d)[1:n - 1] || [array_to_string(string_split(s, d)[n:], d)] END;
CREATE MACRO frazil_split_part(s, d, n) AS CASE
    WHEN n < 1 THEN frazil_error('Index must be greater than zero') ELSE string_split(s, d)[n] END;
CREATE MACRO frazil_split_to_map(s, d, k) AS CASE WHEN s = '' THEN MAP {} ELSE map_from_entries(
    list_transform(string_split(s, d), lambda p: CASE WHEN len(string_split(p, k)) = 2
        THEN row(string_split(p, k)[1], string_split(p, k)[2])
        ELSE frazil_fail('Key-value delimiter must appear exactly once in each entry. Bad input: ' || p, row(p, p)) END)) END;
CREATE MACRO frazil_regexp_extract(s, p, g) AS regexp_extract_all(s, p, CAST(g AS INTEGER))[1];

-- text to other types
CREATE MACRO frazil_whole_text(s, kind) AS CASE
    WHEN regexp_full_match(s, '[+-]?[0-9]+') THEN s ELSE frazil_error('Cannot cast ''' || s || ''' to ' || kind) END;
CREATE MACRO frazil_number_text(s, kind) AS CASE
    WHEN regexp_full_match(s, '\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*') THEN trim(s)
    ELSE frazil_error('Cannot cast ''' || s || ''' to ' || kind) END;
CREATE MACRO frazil_floating_text(s, kind) AS CASE
    WHEN regexp_full_match(s, '\s*[+-]?(NaN|Infinity)\s*') THEN trim(s) ELSE frazil_number_text(s, kind) END;
CREATE MACRO frazil_boolean_text(s) AS CASE
    WHEN lower(s) IN ('true', 'false', 't', 'f', '1', '0') THEN s ELSE frazil_error('Cannot cast ''' || s || ''' to boolean') END;
CREATE MACRO frazil_date_text(s) AS CASE
    WHEN regexp_full_match(trim(s), '[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}') THEN trim(s)
    ELSE frazil_error('Value cannot be cast to date: ' || s) END;
CREATE MACRO frazil_text_moment(s, zoned) AS CASE
    WHEN NOT regexp_full_match(trim(s), '[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]{1,6})?)?)?( ?(UTC|Z|[+]00:00))?')
        THEN frazil_fail('Value cannot be cast to timestamp: ' || s, NULL::TIMESTAMP)
    ELSE CAST(regexp_replace(trim(s), ' ?(UTC|Z|[+]00:00)$', '') AS TIMESTAMP) END;
CREATE MACRO frazil_iso_moment(s) AS CASE
    WHEN regexp_full_match(s, '[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?(Z|[+-]00:?00)?)?')
        THEN make_timestamptz(((epoch_us(CAST(regexp_replace(regexp_replace(s, '(Z|[+-]00:?00)$', ''), '^(.*T[0-9]{2})$', '\1:00') AS TIMESTAMP))) // 1000) * 1000)
    WHEN regexp_full_match(s, '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]*[+-][0-9]{2}:?[0-9]{2}')
        THEN frazil_fail('the embedded engine reads no text with an offset other than UTC: ' || s || '; ask Trino with --engine trino', NULL::TIMESTAMPTZ)
    ELSE frazil_fail('Invalid format: "' || s || '"', NULL::TIMESTAMPTZ) END;

-- times
CREATE MACRO frazil_whole_ms(t) AS make_timestamp(epoch_us(t) - ((epoch_us(t) % 1000) + 1000) % 1000);
CREATE MACRO frazil_between(a, b) AS to_microseconds(epoch_us(b) - epoch_us(a));
CREATE MACRO frazil_whole_days(i) AS CASE
    WHEN epoch_us(i) % 86400000000 <> 0 THEN frazil_fail('Cannot add hour, minutes or seconds to a date', i) ELSE i END;
CREATE MACRO frazil_duration_ms(s) AS CASE
    WHEN NOT regexp_full_match(s, '\s*[0-9]+(\.[0-9]+)?\s*(ns|us|ms|s|m|h|d)\s*') THEN frazil_fail('duration is not a valid data duration string: ' || s, 0::BIGINT)
    ELSE CAST(floor(CAST(regexp_extract(s, '([0-9]+(\.[0-9]+)?)', 1) AS DOUBLE) * CASE regexp_extract(s, '(ns|us|ms|s|m|h|d)\s*$', 1)
        WHEN 'ns' THEN 1e-6::DOUBLE WHEN 'us' THEN 1e-3::DOUBLE WHEN 'ms' THEN 1e0::DOUBLE WHEN 's' THEN 1e3::DOUBLE
        WHEN 'm' THEN 6e4::DOUBLE WHEN 'h' THEN 3.6e6::DOUBLE ELSE 8.64e7::DOUBLE END + 0.5::DOUBLE) AS BIGINT) END;

-- arrays and maps
CREATE MACRO frazil_same_arrays(a, b) AS CASE
    WHEN a IS NULL OR b IS NULL THEN NULL WHEN len(a) <> len(b) THEN false
    WHEN len(list_filter(a, lambda x, i: x <> b[i])) > 0 THEN false
    WHEN len(list_filter(a, lambda x, i: x IS NULL OR b[i] IS NULL)) > 0 THEN NULL ELSE true END;
CREATE MACRO frazil_remove(l, e) AS CASE WHEN e IS NOT NULL THEN list_filter(l, lambda x: x IS NULL OR x <> e) END;
CREATE MACRO frazil_at_index(a, i) AS CASE
    WHEN i = 0 THEN frazil_fail('SQL array indices start at 1', a[i])
    WHEN i < 0 THEN frazil_fail('Array subscript is negative: ' || i, a[i])
    WHEN i > len(a) THEN frazil_fail('Array subscript must be less than or equal to array length: ' || i || ' > ' || len(a), a[i])
    ELSE a[i] END;
CREATE MACRO frazil_at_key(m, k) AS CASE
    WHEN m IS NOT NULL AND NOT map_contains(m, k) THEN frazil_fail('Key not present in map: ' || k || '; element_at gives NULL instead', m[k])
    ELSE m[k] END;
CREATE MACRO frazil_element(a, i) AS CASE WHEN i = 0 THEN frazil_fail('SQL array indices start at 1', a[i]) ELSE a[i] END;
CREATE MACRO frazil_any_match(l) AS CASE
    WHEN l IS NULL THEN NULL WHEN coalesce(list_bool_or(l), false) THEN true
    WHEN len(list_filter(l, lambda x: x IS NULL)) > 0 THEN NULL ELSE false END;
CREATE MACRO frazil_all_match(l) AS CASE
    WHEN l IS NULL THEN NULL WHEN NOT coalesce(list_bool_and(l), true) THEN false
    WHEN len(list_filter(l, lambda x: x IS NULL)) > 0 THEN NULL ELSE true END;
CREATE MACRO frazil_distinct(l) AS list_filter(l, lambda x, i: list_position(l, x) = i);
CREATE MACRO frazil_contains(l, x) AS CASE
    WHEN l IS NULL OR x IS NULL THEN NULL WHEN list_contains(l, x) THEN true
    WHEN len(list_filter(l, lambda e: e IS NULL)) > 0 THEN NULL ELSE false END;
CREATE MACRO frazil_position(l, x) AS CASE
    WHEN l IS NULL OR x IS NULL THEN NULL ELSE CAST(coalesce(list_position(l, x), 0) AS BIGINT) END;
CREATE MACRO frazil_except(a, b) AS frazil_distinct(list_filter(a, lambda x: list_position(b, x) IS NULL OR list_position(b, x) = 0));
CREATE MACRO frazil_intersect(a, b) AS frazil_distinct(list_filter(a, lambda x: coalesce(list_position(b, x), 0) > 0));
CREATE MACRO frazil_overlap(a, b) AS CASE
    WHEN len(list_filter(a, lambda x: x IS NOT NULL AND coalesce(list_position(b, x), 0) > 0)) > 0 THEN true
    WHEN len(list_filter(a, lambda x: x IS NULL)) + len(list_filter(b, lambda x: x IS NULL)) > 0 THEN NULL
    WHEN a IS NULL OR b IS NULL THEN NULL ELSE false END;
CREATE MACRO frazil_greatest(l) AS CASE WHEN len(list_filter(l, lambda x: x IS NULL)) > 0 THEN NULL ELSE list_max(l) END;
CREATE MACRO frazil_least(l) AS CASE WHEN len(list_filter(l, lambda x: x IS NULL)) > 0 THEN NULL ELSE list_min(l) END;
CREATE MACRO frazil_join(l, d) AS CASE WHEN l IS NULL THEN NULL ELSE array_to_string(list_filter(l, lambda x: x IS NOT NULL), d) END;
CREATE MACRO frazil_join_nulls(l, d, n) AS CASE WHEN l IS NULL THEN NULL ELSE array_to_string(list_transform(l, lambda x: coalesce(x, n)), d) END;
CREATE MACRO frazil_sequence(a, b) AS CASE
    WHEN abs(a::HUGEINT - b) >= 10000 THEN frazil_fail('result of sequence function must not have more than 10000 entries', [0::BIGINT])
    WHEN a <= b THEN generate_series(a, b) ELSE generate_series(a, b, -1) END;
CREATE MACRO frazil_slice(l, s, n) AS CASE
    WHEN s = 0 THEN frazil_fail('SQL array indices start at 1', l) WHEN n < 0 THEN frazil_fail('length must be greater than or equal to 0', l)
    WHEN n = 0 OR abs(s) > len(l) THEN l[1:0]
    WHEN s > 0 THEN l[s:s + n - 1] ELSE l[len(l) + s + 1:len(l) + s + n] END;
CREATE MACRO frazil_entries(m) AS CASE WHEN m IS NULL THEN NULL ELSE list_transform(map_keys(m), lambda k, i: struct_pack(field0 := k, field1 := map_values(m)[i])) END;
CREATE MACRO frazil_map_agg(l) AS map_from_entries(list_filter(l, lambda e: e IS NOT NULL));

-- JSON in text
CREATE MACRO frazil_json_size(j) AS CAST(CASE json_type(j)
    WHEN 'OBJECT' THEN len(json_keys(j)) WHEN 'ARRAY' THEN json_array_length(j) ELSE CASE WHEN j IS NOT NULL THEN 0 END END AS BIGINT);
CREATE MACRO frazil_json_array_length(s) AS CASE WHEN json_valid(s) AND json_type(s) = 'ARRAY' THEN CAST(json_array_length(s) AS BIGINT) END;
CREATE MACRO frazil_json_array_contains(s, x) AS CASE WHEN json_valid(s) AND json_type(s) = 'ARRAY' THEN list_contains(CAST(json_extract(s, '$[*]') AS VARCHAR[]), x) END;
CREATE MACRO frazil_is_json_scalar(s) AS CASE
    WHEN json_valid(s) THEN json_type(s) NOT IN ('OBJECT', 'ARRAY') WHEN s IS NOT NULL THEN frazil_fail('Invalid JSON value: ' || s, true) END;
CREATE MACRO frazil_json_text(s) AS CASE
    WHEN json_type(s) = 'NULL' THEN NULL WHEN json_type(s) IN ('OBJECT', 'ARRAY') THEN frazil_error('Cannot cast ' || s || ' to varchar')
    ELSE json_extract_string(s, '$') END;
