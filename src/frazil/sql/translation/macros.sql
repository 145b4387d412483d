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
CREATE MACRO frazil_number(x) AS CASE WHEN isnan(x) THEN frazil_fail('the embedded engine does not put NaN in order here; ask Trino with --engine trino', x) ELSE x END;

-- text
CREATE MACRO frazil_spaces() AS chr(9) || chr(10) || chr(11) || chr(12) || chr(13) || chr(28) || chr(29) || chr(30) || chr(31) || chr(32) || chr(133) || chr(5760) || chr(8192) || chr(8193) || chr(8194) || chr(8195) || chr(8196) || chr(8197) || chr(8198) || chr(8200) || chr(8201) || chr(8202) || chr(8232) || chr(8233) || chr(8287) || chr(12288);
-- a sharp s has no upper case of one letter in Java
CREATE MACRO frazil_upper(s) AS CASE WHEN contains(s, 'ß') THEN replace(upper(replace(s, 'ß', chr(57344))), chr(57344), 'ß') ELSE upper(s) END;
CREATE MACRO frazil_reverse(s) AS CASE WHEN s = '' THEN '' ELSE list_aggregate(list_reverse(string_to_array(s, '')), 'string_agg', '') END;
CREATE MACRO frazil_replace(s, a, b) AS CASE WHEN a = '' THEN regexp_replace(s, '(?s)(.)', b || '\1', 'g') || b ELSE replace(s, a, b) END;
CREATE MACRO frazil_substr(s, n, l) AS CASE
    WHEN n = 0 OR l <= 0 OR n > length(s) OR -n > length(s) THEN (CASE WHEN s IS NULL THEN NULL ELSE '' END)
    ELSE substr(s, CASE WHEN n > 0 THEN n ELSE length(s) + n + 1 END, l) END;
CREATE MACRO frazil_bytes(b, n, l) AS unhex(frazil_substr(hex(b), CASE WHEN n > 0 THEN least(n, 1073741823) * 2 - 1 ELSE greatest(n, -1073741823) * 2 END, least(l, 1073741823) * 2));
CREATE MACRO frazil_split(s, d) AS CASE
    WHEN d = '' THEN frazil_fail('The delimiter may not be the empty string', string_split(s, d)) ELSE string_split(s, d) END;
CREATE MACRO frazil_split_part(s, d, n) AS CASE
    WHEN n < 1 THEN frazil_error('Index must be greater than zero') ELSE string_split(s, d)[n] END;

-- text to other types
CREATE MACRO frazil_cast_error(s, kind) AS frazil_error('Cannot cast ''' || s || ''' to ' || kind);
CREATE MACRO frazil_whole_text(s, kind) AS CASE WHEN regexp_full_match(s, '[+-]?[0-9]+') THEN s ELSE frazil_cast_error(s, kind) END;
CREATE MACRO frazil_number_text(s, kind) AS CASE
    WHEN regexp_full_match(s, '\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*') THEN trim(s) ELSE frazil_cast_error(s, kind) END;
CREATE MACRO frazil_floating_text(s, kind) AS CASE
    WHEN regexp_full_match(s, '\s*[+-]?(NaN|Infinity)\s*') THEN trim(s) ELSE frazil_number_text(s, kind) END;
CREATE MACRO frazil_boolean_text(s, kind) AS CASE WHEN lower(s) IN ('true', 'false', 't', 'f', '1', '0') THEN s ELSE frazil_cast_error(s, kind) END;
CREATE MACRO frazil_date_text(s, kind) AS CASE
    WHEN regexp_full_match(trim(s), '[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}') THEN trim(s) ELSE frazil_error('Value cannot be cast to date: ' || s) END;
CREATE MACRO frazil_text_moment(s) AS CASE
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
CREATE MACRO frazil_whole_days(i) AS CASE
    WHEN epoch_us(i) % 86400000000 <> 0 THEN frazil_fail('Cannot add hour, minutes or seconds to a date', i) ELSE i END;

-- arrays and maps
CREATE MACRO frazil_at_index(a, i) AS CASE
    WHEN i = 0 THEN frazil_fail('SQL array indices start at 1', a[i])
    WHEN i < 0 THEN frazil_fail('Array subscript is negative: ' || i, a[i])
    WHEN i > len(a) THEN frazil_fail('Array subscript must be less than or equal to array length: ' || i || ' > ' || len(a), a[i])
    ELSE a[i] END;
CREATE MACRO frazil_at_key(m, k) AS CASE
    WHEN m IS NOT NULL AND NOT map_contains(m, k) THEN frazil_fail('Key not present in map: ' || k || '; element_at gives NULL instead', m[k])
    ELSE m[k] END;
CREATE MACRO frazil_element(a, i) AS CASE WHEN i = 0 THEN frazil_fail('SQL array indices start at 1', a[i]) ELSE a[i] END;
CREATE MACRO frazil_contains(l, x) AS CASE
    WHEN l IS NULL OR x IS NULL THEN NULL WHEN list_contains(l, x) THEN true
    WHEN len(list_filter(l, lambda e: e IS NULL)) > 0 THEN NULL ELSE false END;
CREATE MACRO frazil_position(l, x) AS CASE
    WHEN l IS NULL OR x IS NULL THEN NULL ELSE CAST(coalesce(list_position(l, x), 0) AS BIGINT) END;
CREATE MACRO frazil_sequence(a, b) AS CASE
    WHEN abs(a::HUGEINT - b) >= 10000 THEN frazil_fail('result of sequence function must not have more than 10000 entries', [0::BIGINT])
    WHEN a <= b THEN generate_series(a, b) ELSE generate_series(a, b, -1) END;

-- JSON in text
CREATE MACRO frazil_json_array_length(s) AS CASE WHEN json_valid(s) AND json_type(s) = 'ARRAY' THEN CAST(json_array_length(s) AS BIGINT) END;
CREATE MACRO frazil_json_text(s) AS CASE
    WHEN json_type(s) = 'NULL' THEN NULL WHEN json_type(s) IN ('OBJECT', 'ARRAY') THEN frazil_error('Cannot cast ' || s || ' to varchar')
    ELSE json_extract_string(s, '$') END;
